"""One call from a mesh and its boundary values to a solution with evidence."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast, get_args

import numpy as np
from jaxtyping import Bool, Float64
from scipy.sparse import diags_array
from scipy.sparse.linalg import cg
from skfem import MeshTri

from firstlight.errors import InvalidInput
from firstlight.pde.schwarz.certificates import Barrier, Certificate
from firstlight.pde.schwarz.coupling import Coupling
from firstlight.pde.schwarz.decomposition import Decomposition
from firstlight.pde.schwarz.elliptic import EllipticProblem, Field, boundary_conditions, nodal
from firstlight.pde.schwarz.iterations import Method, iterate
from firstlight.pde.schwarz.local_operators import LocalOperator


@dataclass(frozen=True)
class Solution:
    """A solution and what speaks for it.

    Attributes
    ----------
    mesh : ``skfem.MeshTri``; `u` are the values of its ``ElementTriP1`` functions.
    u : one value per node.
    history : the defect of the fixed point after each application of the local answers, over that of the start.
    converged : whether it fell below the tolerance.
    certificate : evidence that does not use the truth.
    polish_iterations, saved_iterations : steps of conjugate gradients from u to the finite-element solution, and how
        many fewer than from zero; None without ``polish``.
    seconds : of the whole call.
    notes : what the user may not have meant, in sentences.
    """

    mesh: MeshTri
    u: Float64[np.ndarray, " nodes"]
    history: Float64[np.ndarray, " steps"]
    converged: bool
    certificate: Certificate
    polish_iterations: int | None
    saved_iterations: int | None
    seconds: float
    notes: tuple[str, ...]


@dataclass(frozen=True)
class HeatSolution:
    """The temperature over time.

    Attributes
    ----------
    mesh : ``skfem.MeshTri``.
    times : from the first, that of the initial state, on.
    u : one row per time.
    certificates : one per step: each bounds the error that this step adds.
    """

    mesh: MeshTri
    times: Float64[np.ndarray, " times"]
    u: Float64[np.ndarray, "times nodes"]
    certificates: tuple[Certificate, ...]


class SchwarzSolver:
    """Elliptic problems on one decomposed mesh, by a local operator.

    The local answers are asked for once for each coefficient and each choice of Dirichlet nodes; other values there,
    other sources and fluxes only cost a solve.

    Parameters
    ----------
    operator : a `LocalOperator`, for example ``HarmonicKernel.from_pretrained("laplace")`` or ``ExactLocal()``.
    decomposition : of the mesh.
    method : how the patches are joined, see `iterate`.
    tol : at which defect iterative methods stop, relative to that of zero.
    max_iterations : when they stop without.

    Raises
    ------
    InvalidInput
        If there is no such method.
    """

    def __init__(
        self,
        operator: LocalOperator,
        decomposition: Decomposition,
        *,
        method: str = "direct",
        tol: float = 1e-6,
        max_iterations: int = 5000,
    ) -> None:
        if method not in get_args(Method):
            raise InvalidInput(f"there is no method {method!r}; expected one of {', '.join(get_args(Method))}")
        self.operator, self.decomposition = operator, decomposition
        self.method, self.tol, self.max_iterations = method, tol, max_iterations
        self._latest: tuple[_Key, _Prepared] | None = None

    def solve(
        self,
        dirichlet: Field | Mapping[str, Field],
        neumann: Field | Mapping[str, Field] | None = None,
        *,
        f: Field = 0.0,
        a: Field | None = None,
        polish: bool = False,
    ) -> Solution:
        """Solve −∇·(a ∇u) = f with u given on one part of the boundary and a ∂u/∂n on another.

        Parameters
        ----------
        dirichlet, neumann : values and outward fluxes, as `boundary_conditions` takes them.
        f, a : source and coefficient: a number, a function of x and y, or one value per node.
        polish : go on to the finite-element solution by conjugate gradients, and count.

        Raises
        ------
        InvalidInput
            If the data are refused by `boundary_conditions`, a is not positive, or the operator was not made for such
            a problem.
        """
        began = time.perf_counter()
        mesh = self.decomposition.mesh
        conditions = boundary_conditions(mesh, dirichlet, neumann)
        prepared = self._prepare(conditions.fixed, None if a is None else nodal(mesh, a, "the coefficient a"), 0.0)
        load = conditions.load + prepared.problem.mass @ nodal(mesh, f, "the source f")
        values = np.where(conditions.fixed, conditions.values, 0.0)
        u, history, converged = self._fixed_point(prepared, values, load)
        certificate = prepared.certificate(u, load, self_contained=not load.any())
        steps = saved = None
        if polish:
            u, steps, saved = _polished(prepared.problem, conditions.fixed, u, values, load)
        return Solution(
            mesh, u, history, converged, certificate, steps, saved, time.perf_counter() - began, conditions.notes
        )

    def solve_many(
        self, values: Float64[np.ndarray, "cases nodes"], *, parts: Sequence[str] | None = None, a: Field | None = None
    ) -> Float64[np.ndarray, "cases nodes"]:
        """Solve −∇·(a ∇u) = 0 for many boundary values at once, without certificates.

        Parameters
        ----------
        values : one row per case; only its entries at Dirichlet nodes count.
        parts : names of the parts of the boundary whose nodes have the values; all of it unless given.
        a : as in `solve`.

        Raises
        ------
        InvalidInput
            As `solve`; if rows do not have one value per node.
        """
        mesh = self.decomposition.mesh
        if values.ndim != 2 or values.shape[1] != mesh.nvertices:
            raise InvalidInput(f"values have shape {values.shape}; expected (cases, {mesh.nvertices}), one per node")
        marks = np.zeros(mesh.nvertices)
        fixed = boundary_conditions(mesh, marks if parts is None else dict.fromkeys(parts, marks)).fixed
        if not np.isfinite(values[:, fixed]).all():
            raise InvalidInput("values at Dirichlet nodes are not all finite")
        prepared = self._prepare(fixed, None if a is None else nodal(mesh, a, "the coefficient a"), 0.0)
        answer = np.where(fixed, values, 0.0)
        side = prepared.coupling.right_side(answer, np.zeros_like(answer))
        answer[:, ~fixed] = prepared.coupling.solve(side)
        return answer

    def solve_heat(
        self,
        initial: Field,
        times: Float64[np.ndarray, " times"],
        dirichlet: Field | Mapping[str, Field],
        neumann: Field | Mapping[str, Field] | None = None,
        *,
        alpha: float = 1.0,
    ) -> HeatSolution:
        """Solve ∂u/∂t = α Δu by implicit Euler steps, each an elliptic problem with reaction 1/(α Δt).

        Parameters
        ----------
        initial : temperature at the first time.
        times : equally spaced.
        dirichlet, neumann : as in `solve`; functions take x, y and the time.
        alpha : diffusivity.

        Raises
        ------
        InvalidInput
            As `solve`; if times are not equally spaced and increasing, or alpha is not positive.
        """
        step = _equal_step(times)
        if not alpha > 0:
            raise InvalidInput(f"alpha is {alpha}; expected a positive diffusivity")
        mesh = self.decomposition.mesh
        u = [nodal(mesh, initial, "the initial temperature")]
        certificates = []
        for now in times[1:]:
            conditions = boundary_conditions(mesh, _at(dirichlet, now), None if neumann is None else _at(neumann, now))
            prepared = self._prepare(conditions.fixed, None, 1.0 / (alpha * step))
            load = conditions.load + prepared.problem.reaction * prepared.problem.areas * u[-1]
            state, _, _ = self._fixed_point(prepared, np.where(conditions.fixed, conditions.values, 0.0), load)
            certificates.append(prepared.certificate(state, load, self_contained=False))
            u.append(state)
        return HeatSolution(mesh, np.asarray(times, dtype=float), np.array(u), tuple(certificates))

    def _prepare(self, fixed: Bool[np.ndarray, " nodes"], diffusion: np.ndarray | None, reaction: float) -> "_Prepared":
        key = (fixed.tobytes(), None if diffusion is None else diffusion.tobytes(), reaction)
        if self._latest is None or self._latest[0] != key:
            problem = EllipticProblem(self.decomposition.mesh, diffusion, reaction)
            coupling = Coupling.of(self.operator, self.decomposition, problem, fixed)
            self._latest = key, _Prepared(problem, coupling)
        return self._latest[1]

    def _fixed_point(
        self, prepared: "_Prepared", values: np.ndarray, load: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        side = prepared.coupling.right_side(values, load)
        found = iterate(
            prepared.coupling, side, cast(Method, self.method), tol=self.tol, max_iterations=self.max_iterations
        )
        u = values.copy()
        u[~prepared.coupling.fixed] = found.values
        return u, found.history, found.converged


_Key = tuple[bytes, bytes | None, float]


@dataclass(frozen=True)
class _Prepared:
    """What serves all data of one operator: coupled answers, and the barrier of the certificate."""

    problem: EllipticProblem
    coupling: Coupling

    @cached_property
    def barrier(self) -> Barrier:
        return Barrier(self.problem, self.coupling.fixed)

    def certificate(self, u: np.ndarray, load: np.ndarray, *, self_contained: bool) -> Certificate:
        given = u[self.coupling.fixed]
        beyond = max(u.max() - given.max(), given.min() - u.min(), 0.0)
        return Certificate(
            error_bound=self.barrier.bound(u, load),
            reason=self.barrier.reason,
            overshoot=float(beyond) if self_contained else float("nan"),
            radius_bound=self.coupling.radius_bound,
            hops=float(self.coupling.hops.max(initial=0.0)),
            jump=self.coupling.jump(u, load),
        )


def _polished(
    problem: EllipticProblem, fixed: np.ndarray, u: np.ndarray, values: np.ndarray, load: np.ndarray
) -> tuple[np.ndarray, int, int]:
    """Go to the finite-element solution by conjugate gradients from u, and count against zero."""
    free = ~fixed
    matrix = problem.matrix[free][:, free].tocsr()
    side = (load - problem.matrix @ values)[free]

    def steps_from(start: np.ndarray) -> tuple[np.ndarray, int]:
        count = [0]
        inverse = 1.0 / matrix.diagonal()
        end, _ = cg(
            matrix,
            side,
            x0=start,
            rtol=1e-13,
            maxiter=20 * len(side),
            M=diags_array(inverse),
            callback=lambda _: count.__setitem__(0, count[0] + 1),
        )
        return end, count[0]

    end, steps = steps_from(u[free])
    polished = values.copy()
    polished[free] = end
    return polished, steps, steps_from(np.zeros(len(side)))[1] - steps


def _at(given: Field | Mapping[str, Field], now: float) -> Field | Mapping[str, Field]:
    """Fix the time of functions of x, y and time."""
    if isinstance(given, Mapping):
        return {tag: _at_one(field, now) for tag, field in given.items()}
    return _at_one(given, now)


def _at_one(field: Field, now: float) -> Field:
    return (lambda x, y: field(x, y, now)) if callable(field) else field


def _equal_step(times: np.ndarray) -> float:
    gaps = np.diff(times)
    if times.ndim != 1 or len(times) < 2 or not (gaps > 0).all() or np.ptp(gaps) > 1e-9 * np.ptp(times):
        raise InvalidInput("times are not equally spaced and increasing; give them as numpy.linspace does")
    return float(gaps.mean())
