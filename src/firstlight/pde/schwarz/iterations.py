"""Ways to the fixed point of an affine map: the iteration of the paper, its classical relatives, and Krylov's.

Every way stops by what it can see, the defect M u + b − u, and never by the truth.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float64
from scipy.sparse.linalg import LinearOperator, gmres, splu

from firstlight.pde.schwarz.coupling import Coupling

Method = Literal["direct", "gmres", "anderson", "ras", "multiplicative", "richardson"]
MEMORY = 10  # of Anderson's mixing, in steps


@dataclass(frozen=True)
class Iteration:
    """The end of an iteration and the way there.

    Attributes
    ----------
    values : at the free nodes.
    history : the largest defect after each application of the map, over that of the start.
    converged : whether the defect fell below the tolerance.
    """

    values: Float64[np.ndarray, " free"]
    history: Float64[np.ndarray, " steps"]
    converged: bool


def iterate(
    coupling: Coupling,
    side: Float64[np.ndarray, " free"],
    method: Method,
    *,
    start: Float64[np.ndarray, " free"] | None = None,
    tol: float = 1e-8,
    max_iterations: int = 5000,
) -> Iteration:
    """Find u = M u + side.

    Parameters
    ----------
    method : ``"direct"`` factors I − M; ``"gmres"`` has a coarse space of one unknown per part; ``"anderson"`` mixes
        ten steps of ``"ras"``, u ↦ M u + side; ``"multiplicative"`` does so part after part; ``"richardson"`` is the
        paper's, with τ = 0.99 over the number of parts.
    start : zero unless given.
    tol : of the largest defect, over that of zero.
    max_iterations : applications of the map.
    """
    start = np.zeros_like(side) if start is None else start
    if method == "direct":
        values = coupling.solve(side)
        defect = float(np.abs(coupling.between @ values + side - values).max(initial=0.0))
        return Iteration(values, np.array([defect / _scale(side)]), True)
    steps: dict[str, Callable[..., Iteration]] = {
        "gmres": _gmres,
        "anderson": _anderson,
        "ras": _ras,
        "multiplicative": _multiplicative,
        "richardson": _richardson,
    }
    return steps[method](coupling, side, start, tol, max_iterations)


def _scale(side: np.ndarray) -> float:
    return float(np.abs(side).max(initial=0.0)) or 1.0


def _watched(coupling: Coupling, side: np.ndarray, u: np.ndarray, step, tol: float, limit: int) -> Iteration:
    """Repeat u ← step(u, M u + side − u) until the defect is small."""
    history = []
    for _ in range(limit):
        defect = coupling.between @ u + side - u
        history.append(float(np.abs(defect).max(initial=0.0)) / _scale(side))
        if history[-1] <= tol:
            return Iteration(u, np.array(history), True)
        u = step(u, defect)
    return Iteration(u, np.array(history), False)


def _ras(coupling: Coupling, side: np.ndarray, start: np.ndarray, tol: float, limit: int) -> Iteration:
    return _watched(coupling, side, start, lambda u, defect: u + defect, tol, limit)


def _richardson(coupling: Coupling, side: np.ndarray, start: np.ndarray, tol: float, limit: int) -> Iteration:
    weights = 0.99 / (coupling.owner.max(initial=0) + 1) * coupling.cover
    return _watched(coupling, side, start, lambda u, defect: u + weights * defect, tol, limit)


def _multiplicative(coupling: Coupling, side: np.ndarray, start: np.ndarray, tol: float, limit: int) -> Iteration:
    order = np.argsort(coupling.owner, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(coupling.owner[order])) + 1)
    rows = [coupling.between[group] for group in groups]

    def sweep(u: np.ndarray, defect: np.ndarray) -> np.ndarray:
        u = u.copy()
        for group, block in zip(groups, rows, strict=True):
            u[group] = block @ u + side[group]
        return u

    return _watched(coupling, side, start, sweep, tol, limit)


def _anderson(coupling: Coupling, side: np.ndarray, start: np.ndarray, tol: float, limit: int) -> Iteration:
    """Mix the last steps so that their defects cancel best (Walker and Ni 2011)."""
    steps: list[tuple[np.ndarray, np.ndarray]] = []

    def mixed(u: np.ndarray, defect: np.ndarray) -> np.ndarray:
        steps.append((u, defect))
        del steps[: -MEMORY - 1]
        if len(steps) == 1:
            return u + defect
        moves = np.array([later[0] - earlier[0] for earlier, later in pairwise(steps)]).T
        changes = np.array([later[1] - earlier[1] for earlier, later in pairwise(steps)]).T
        weights = np.linalg.lstsq(changes, defect, rcond=1e-12)[0]
        return u + defect - (moves + changes) @ weights

    return _watched(coupling, side, start, mixed, tol, limit)


def _gmres(coupling: Coupling, side: np.ndarray, start: np.ndarray, tol: float, limit: int) -> Iteration:
    n = len(side)
    scale = _scale(side)
    history: list[float] = []
    system = _operator(n, lambda u: u - coupling.between @ u)
    # GMRES sees the two-norm and the preconditioned defect; what is promised is the largest true one.
    u, target = start, tol * scale
    for tightening in (1.0, 1e-2, 1e-4):
        u, _ = gmres(
            system,
            side,
            x0=u,
            M=_coarse_correction(coupling),
            rtol=0.0,
            atol=target * tightening,
            restart=min(50, n),
            maxiter=max(1, (limit - len(history)) // 50 + 1),
            callback=lambda norm: history.append(float(norm)),
            callback_type="pr_norm",
        )
        defect = float(np.abs(coupling.between @ u + side - u).max(initial=0.0))
        if defect <= target or len(history) >= limit:
            break
    return Iteration(u, np.append(np.array(history), defect / scale), defect <= target)


def _coarse_correction(coupling: Coupling) -> LinearOperator:
    """Return r ↦ z + (r − (I − M) z), z the correction by constants on parts: news cross the domain in one step."""
    n = len(coupling.owner)
    names, part = np.unique(coupling.owner, return_inverse=True)
    constants = sp.csr_array((np.ones(n), (np.arange(n), part)), shape=(n, len(names)))
    moved = constants - coupling.between @ constants
    coarse = splu((constants.T @ moved).tocsc())

    def corrected(r: np.ndarray) -> np.ndarray:
        amounts = coarse.solve(constants.T @ r)
        return constants @ amounts + r - moved @ amounts

    return _operator(n, corrected)


def _operator(n: int, product: Callable[[np.ndarray], np.ndarray]) -> LinearOperator:
    return LinearOperator((n, n), matvec=product, dtype=float)  # type: ignore[call-arg] - its stub is wrong
