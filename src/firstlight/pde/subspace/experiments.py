"""What a predicted subspace is worth beside its peers, on the families of `firstlight.pde.subspace.problems`.

The tables behind the claims and the benchmark. Peers that need no training data of their own (Jacobi, multigrid, exact
eigenvectors, a coarse grid) always stand beside those that do.
"""

import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import cg
from threadpoolctl import threadpool_limits

from firstlight.errors import MissingExtra
from firstlight.pde.subspace.adapters import BlockMultigrid
from firstlight.pde.subspace.angles import projection_error
from firstlight.pde.subspace.coarse_space import CoarseSpace
from firstlight.pde.subspace.deflation import deflated_cg
from firstlight.pde.subspace.eigensolvers import warm_eigsh
from firstlight.pde.subspace.factorisations import shift_invert_eigsh
from firstlight.pde.subspace.global_pod import GlobalPOD
from firstlight.pde.subspace.grassmann import GrassmannInterpolator
from firstlight.pde.subspace.grids import on_grid
from firstlight.pde.subspace.problems import (
    BurgersProblem,
    EllipticSample,
    FlattopProblem,
    SubspaceData,
    generate,
    sample_seed,
)
from firstlight.pde.subspace.regressor import SubspaceRegressor
from firstlight.pde.subspace.training import JUDGED

Row = dict[str, Any]

COLUMNS = (10, 20, 40)
CELLS = {2: 32, 3: 12}  # points along an axis of the grids that models have learned on, by dimension
MODELS = {2: "flattop", 3: "flattop-3d"}
INTERPOLATIONS: tuple[tuple[str, int], ...] = (("nearest", 1), ("geodesic", 10), ("rbf", 10), ("gp", 10))
OURS = "predicted"


@cache
def flattop_data(samples: int, first: int = 0, vectors: int = 10, dim: int = 2) -> SubspaceData:
    """Draw and solve flattop eigenproblems on the grid of the model; training samples unless `first` is `JUDGED`."""
    return generate(FlattopProblem(CELLS[dim], dim, vectors), samples, first=first)


@cache
def shipped(name: str) -> SubspaceRegressor:
    """Load a shipped model once."""
    return SubspaceRegressor.from_pretrained(name)


@cache
def flattop_errors(samples: int, judged: int) -> list[Row]:
    """Mean ‖(I − P)v‖ over the 10 lowest eigenvectors, for each number of columns, by several predictors.

    Interpolation on the Grassmann manifold is given the p lowest eigenvectors of each sample to make p columns of, and
    10 neighbours; the best of its methods counts.

    Parameters
    ----------
    samples : training samples of the peers.
    judged : samples to judge by.
    """
    train, test = flattop_data(samples, vectors=max(COLUMNS)), flattop_data(judged, JUDGED)
    wide = shipped("flattop").predict(test.fields)
    rows = []
    for p in COLUMNS:
        pod = GlobalPOD(10, out_dim=p).fit(train.fields, train.bases)
        row: Row = {"p": p, OURS: _mean_error(wide[:, :, :p], test.bases), "global POD": -pod.score(*_both(test))}
        for method, neighbours in INTERPOLATIONS:
            peer = GrassmannInterpolator(p, method, neighbours).fit(train.fields, train.bases)
            row[method] = _mean_error(peer.predict(test.fields), test.bases)
        rows.append(row)
    return rows


@cache
def deflation_iterations(judged: int, samples: int) -> list[Row]:
    """Iterations of conjugate gradients to 1e-8 on flattop problems, for one random right-hand side each.

    Every deflation is combined with Jacobi. The last row is what algebraic multigrid takes.

    Parameters
    ----------
    judged : problems to solve.
    samples : training samples of the global basis.
    """
    pod = GlobalPOD(out_dim=40).fit(*_both(flattop_data(samples))).basis_
    counts: dict[str, list[int]] = {}
    for number in range(judged):
        problem = FlattopProblem(CELLS[2], n_vectors=20).sample(sample_seed(0, JUDGED + number))
        A, exact = problem.matrix, problem.basis()
        b = np.random.default_rng(number).normal(size=CELLS[2] ** 2)
        jacobi = sparse.diags_array(1 / A.diagonal())
        W = shipped("flattop").predict(problem.field)
        spaces = {f"{OURS} p = {p}": W[:, :p] for p in COLUMNS} | {"global POD p = 40": pod}
        spaces |= {"exact k = 10": exact[:, :10], "exact k = 20": exact}
        counts.setdefault("CG", []).append(_cg_iterations(A, b))
        counts.setdefault("Jacobi", []).append(_cg_iterations(A, b, jacobi))
        for name, space in spaces.items():
            counts.setdefault(name, []).append(deflated_cg(A, b, space, M=jacobi)[1].iterations)
        counts.setdefault("AMG", []).append(_cg_iterations(A, b, multigrid(A).aspreconditioner()))
    jacobi_mean = float(np.mean(counts["Jacobi"]))
    return [
        {"method": name, "iterations": float(np.mean(found)), "share of Jacobi": float(np.mean(found)) / jacobi_mean}
        for name, found in counts.items()
    ]


@cache
def eigensolver_starts(cells: int, judged: int, samples: int, dim: int = 2) -> list[Row]:
    """Iterations and processor time of `warm_eigsh` for 10 eigenpairs to 1e-8, by what it starts from.

    The model has learned on a coarser grid; its prediction is carried to that of the problem by splines. Times hold the
    prediction; the multigrid hierarchy, which all starts share, is a row of its own.

    Parameters
    ----------
    cells : points along each axis of the problems.
    judged : problems to solve.
    samples : training samples of the nearest neighbour and of the global basis.
    dim : of the box, 2 or 3.
    """
    train = flattop_data(samples, dim=dim)
    near, pod = GrassmannInterpolator(method="nearest").fit(*_both(train)), GlobalPOD(out_dim=20).fit(*_both(train))
    model = shipped(MODELS[dim])
    predictors: dict[str, Callable[[EllipticSample], np.ndarray]] = {
        "nearest neighbour, 10": lambda seen: near.predict(seen.field),
        "global POD, 20": lambda seen: pod.basis_,
        **{f"{OURS}, {p}": lambda seen, p=p: model.predict(seen.field)[:, :p] for p in (10, 20)},
        "coarse grid's own, 10": lambda seen: seen.basis(),
    }
    model.predict(train.fields[0])  # the first call of a network is slow
    runs = [_eigensolver_runs(cells, dim, number, predictors) for number in range(judged)]
    table = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    return [
        {"start": name, "iterations": found[:, 0].mean(), "seconds": found[:, 1].mean(), "error": found[:, 2].max()}
        for name, found in table.items()
    ]


def _eigensolver_runs(
    cells: int, dim: int, number: int, predictors: Mapping[str, Callable[[EllipticSample], np.ndarray]]
) -> dict[str, tuple[float, float, float]]:
    """Iterations, seconds and largest relative error of the eigenvalues for one problem, by start."""
    seed, coarse, fine = sample_seed(0, JUDGED + number), (CELLS[dim],) * dim, (cells,) * dim
    A = FlattopProblem(cells, dim, 10).sample(seed).matrix
    (exact, _), direct = timed(lambda: shift_invert_eigsh(A, 10))
    M, setup = timed(lambda: BlockMultigrid(multigrid(A)))
    found = {"(shift-invert Lanczos)": (np.nan, direct, 0.0), "(multigrid, set up)": (np.nan, setup, 0.0)}
    rng = np.random.default_rng(number)
    starts: dict[str, Callable[[], np.ndarray]] = {
        "random, 10": lambda: rng.normal(size=(cells**dim, 10)),
        "random, 20": lambda: rng.normal(size=(cells**dim, 20)),
    }
    for name, predictor in predictors.items():
        seen = FlattopProblem(CELLS[dim], dim, 10).sample(seed)  # afresh, since it keeps what it has solved
        starts[name] = lambda predictor=predictor, seen=seen: on_grid(predictor(seen), coarse, fine)
    for name, start in starts.items():
        (values, _, info), seconds = timed(lambda start=start: warm_eigsh(A, 10, start(), M=M))
        found[name] = (info.iterations, seconds, float(np.abs(values / exact - 1).max()))
    return found


def reduced_model_errors(judged: int, samples: int) -> list[Row]:
    """Relative error of Galerkin models of Burgers' equation (family II), over all times, by the basis they stand on.

    Parameters
    ----------
    judged : equations to solve.
    samples : training samples of the peers.
    """
    problem = BurgersProblem("II")
    train = generate(problem, samples)
    near = GrassmannInterpolator(method="nearest").fit(*_both(train))
    pods = {p: GlobalPOD(out_dim=p).fit(*_both(train)).basis_ for p in (10, 20)}
    errors: dict[str, list[float]] = {}
    for number in range(judged):
        sample = problem.sample(sample_seed(0, JUDGED + number))
        W = shipped("burgers").predict(sample.field)
        bases = {f"{OURS}, {p}": W[:, :p] for p in (10, 20)} | {f"global POD, {p}": pods[p] for p in pods}
        bases |= {"nearest neighbour, 10": near.predict(sample.field), "its own POD, 10": sample.basis()}
        for name, basis in bases.items():
            errors.setdefault(name, []).append(sample.reduced_error(basis))
    return [
        {"basis": name, "mean error": float(np.mean(found)), "median error": float(np.median(found))}
        for name, found in errors.items()
    ]


def deflation_overhead(cells: int, p: int = 10, steps: int = 64, repeats: int = 3) -> Row:
    """Processor time of an iteration of `deflated_cg` and of ``scipy.sparse.linalg.cg``, cells² unknowns.

    The difference between a long run and one of half the length, so that what is done once is not counted.
    """
    A = FlattopProblem(cells, n_vectors=1).sample(0).matrix
    rng = np.random.default_rng(0)
    n = cells**2
    b, W = rng.normal(size=n), rng.normal(size=(n, p))
    space = CoarseSpace(A, W)

    def per_step(solve: Callable[[int], Any]) -> float:
        long, short = (min(timed(lambda m=m: solve(m))[1] for _ in range(repeats)) for m in (2 * steps, steps))
        return 1e3 * (long - short) / steps

    ours = per_step(lambda steps: deflated_cg(A, b, space, rtol=1e-30, maxiter=steps))
    scipy = per_step(lambda steps: cg(A, b, rtol=1e-30, maxiter=steps))
    return {"unknowns": n, "p": p, "ms": ours, "SciPy's cg, ms": scipy}


def multigrid(A: Any, candidates: np.ndarray | None = None) -> Any:
    """Return PyAMG's smoothed aggregation for a matrix, at its defaults but for candidates of its near null space."""
    try:
        from pyamg import smoothed_aggregation_solver
    except ModuleNotFoundError as error:
        raise MissingExtra("pyamg", "pde") from error
    csr = sparse.csr_matrix(A)
    csr.indices, csr.indptr = csr.indices.astype(np.int32), csr.indptr.astype(np.int32)
    return smoothed_aggregation_solver(csr, B=candidates, symmetry="symmetric")


def _cg_iterations(A: Any, b: np.ndarray, M: Any = None) -> int:
    steps: list[None] = []
    cg(A, b, rtol=1e-8, M=M, callback=lambda _: steps.append(None))
    return len(steps)


def _mean_error(predicted: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.mean([projection_error(W, V) for W, V in zip(predicted, wanted, strict=True)]))


def _both(data: SubspaceData) -> tuple[np.ndarray, np.ndarray]:
    return data.fields, data.bases


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and its processor time in seconds on one thread.

    With more, threads of BLAS that wait for small blocks of vectors would be charged as work.
    """
    threads = torch.get_num_threads()
    with threadpool_limits(1):
        torch.set_num_threads(1)
        try:
            began = time.process_time()
            result = call()
            return result, time.process_time() - began
        finally:
            torch.set_num_threads(threads)
