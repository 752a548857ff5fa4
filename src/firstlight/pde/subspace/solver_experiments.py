"""What the solvers here are worth beside those of SciPy and PyAMG, with starts that need no training.

A prediction is worth what `firstlight.pde.subspace.experiments` finds; these tables tell what is owed to the solver.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import cg, eigsh, lobpcg

from firstlight.pde.subspace.adapters import BlockMultigrid, amg_candidates
from firstlight.pde.subspace.eigensolvers import warm_eigsh
from firstlight.pde.subspace.experiments import Row, multigrid, timed
from firstlight.pde.subspace.factorisations import shift_invert_eigsh
from firstlight.pde.subspace.grids import on_grid
from firstlight.pde.subspace.problems import CompositeProblem, EllipticSample, FlattopProblem, sample_seed

WANTED = 10
RESIDUAL = 5e-5  # share of the lowest eigenvalue at which SciPy's LOBPCG, told so, has eigenvalues right to 1e-8


def eigensolvers_in_space(cells: int, coarse: int, judged: int) -> list[Row]:
    """Steps and processor time for 10 eigenpairs to 1e-8 of flattop problems on cells³ points, by solver and start.

    The start from a coarse grid are the exact eigenvectors there, carried over by splines; its time is counted. Setting
    up multigrid is not, as all but the factorisations share it.

    Parameters
    ----------
    cells : points along each axis.
    coarse : the same of the grid that the start comes from.
    judged : problems to solve.
    """
    runs = [_runs_in_space(cells, coarse, number) for number in range(judged)]
    table = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    first = table["scipy eigsh(sigma=0)"][:, 1].mean()
    return [
        {
            "solver": name,
            "steps": float(found[:, 0].mean()),
            "seconds": float(found[:, 1].mean()),
            "share of eigsh": float(found[:, 1].mean() / first),
            "largest error": float(found[:, 2].max()),
        }
        for name, found in table.items()
    ]


def _runs_in_space(cells: int, coarse: int, number: int) -> dict[str, tuple[float | int, float, float]]:
    """Steps, seconds and largest relative error of the eigenvalues for one problem, by solver and start."""
    seed = sample_seed(0, number)
    A = FlattopProblem(cells, 3, n_vectors=WANTED).sample(seed).matrix
    exact = shift_invert_eigsh(A, WANTED)[0]
    hierarchy = multigrid(A)
    M, tol = BlockMultigrid(hierarchy), RESIDUAL * exact[0]
    X = np.random.default_rng(number).normal(size=(cells**3, WANTED))

    def carried(columns: int) -> np.ndarray:
        V = FlattopProblem(coarse, 3, n_vectors=columns).sample(seed).basis()
        return on_grid(V, (coarse,) * 3, (cells,) * 3)

    solvers: dict[str, Callable[[], tuple[float | int, np.ndarray]]] = {
        "scipy eigsh(sigma=0)": lambda: (np.nan, eigsh(A, WANTED, sigma=0)[0]),
        "eigsh, symmetric factorisation": lambda: (np.nan, shift_invert_eigsh(A, WANTED, tol=1e-8)[0]),
        "scipy lobpcg, random": lambda: _lobpcg(A, X, hierarchy.aspreconditioner(), tol),
        "scipy lobpcg, random, blocks": lambda: _lobpcg(A, X, M, tol),
        "warm_eigsh, random": lambda: _ours(A, X, M),
        "warm_eigsh, 10 of the coarse grid": lambda: _ours(A, carried(10), M),
        "warm_eigsh, 20 of the coarse grid": lambda: _ours(A, carried(20), M),
    }
    found = {}
    for name, solve in solvers.items():
        (steps, values), seconds = timed(solve)
        found[name] = (steps, seconds, float(np.abs(np.sort(values) / exact - 1).max()))
    return found


def multigrid_candidates(cells: int, judged: int, count: int = 6) -> list[Row]:
    """Steps of conjugate gradients with multigrid to 1e-8 on composite plates, by the candidates that it is built on.

    Parameters
    ----------
    cells : elements along the short side of the plate.
    judged : plates.
    count : how many slow modes are candidates.
    """
    problem = CompositeProblem(cells, n_vectors=count)
    found: dict[str, list[tuple[int, float]]] = {}
    for number in range(judged):
        sample = problem.sample(sample_seed(0, number))
        A = sample.matrix
        b = np.random.default_rng(number).normal(size=len(sample.basis()))
        candidates = {
            "ones": np.ones((len(b), 1)),
            "rigid bodies": problem.rigid_body_modes(),
            f"{count} slow modes": amg_candidates(A, sample.basis()),
        }
        for name, B in candidates.items():
            hierarchy = multigrid(A, B)
            steps: list[None] = []
            cg(A, b, rtol=1e-8, M=hierarchy.aspreconditioner(), callback=lambda _, steps=steps: steps.append(None))
            found.setdefault(name, []).append((len(steps), hierarchy.operator_complexity()))
    return [
        {"candidates": name, "steps": float(mean[0]), "operator complexity": float(mean[1])}
        for name, mean in ((name, np.mean(runs, axis=0)) for name, runs in found.items())
    ]


def symmetric_starts(judged: int) -> list[Row]:
    """Largest relative errors of four eigenvalues from a start of even vectors, on coefficients with a mirror.

    The even ones of the lowest eigenvectors are exact, and no even vector has any part in an odd one that is wanted.

    Parameters
    ----------
    judged : problems to solve, 24 × 24 points.
    """
    rows = []
    for number in range(judged):
        plain = FlattopProblem(24, n_vectors=12).sample(sample_seed(0, number))
        mirrored = EllipticSample(plain.field, [face + np.flip(face, axis=0) for face in plain.faces], 12)
        A, (exact, V) = mirrored.matrix, mirrored.eigenpairs
        turned = np.flip(V.reshape(24, 24, -1), axis=0).reshape(V.shape)
        even = V[:, np.einsum("ij,ij->j", V, turned) > 0.5][:, :4]
        ours = warm_eigsh(A, 4, even)[0]
        theirs = lobpcg(A, even, tol=1e-6 * exact[0], maxiter=500, largest=False)[0]
        errors = {"warm_eigsh": ours, "scipy lobpcg": np.sort(theirs)}
        rows.append({name: float(np.abs(values / exact[:4] - 1).max()) for name, values in errors.items()})
    return rows


def _lobpcg(A: Any, X: np.ndarray, M: Any, tol: float) -> tuple[float | int, np.ndarray]:
    solve: Any = lobpcg  # whose stubs do not know the history
    values, _, residuals = solve(A, X, M=M, tol=tol, maxiter=300, largest=False, retResidualNormsHistory=True)
    return len(residuals) - 1, values


def _ours(A: Any, X: np.ndarray, M: Any) -> tuple[float | int, np.ndarray]:
    values, _, info = warm_eigsh(A, WANTED, X, M=M)
    return info.iterations, values
