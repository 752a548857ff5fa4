"""What the paper and we claim about predicted subspaces, measured against their peers in the same run."""

import numpy as np
import torch
from scipy.sparse.linalg import splu

from firstlight.evidence import Budget, Measurement, claim
from firstlight.pde.subspace import experiments, solver_experiments
from firstlight.pde.subspace.deflation import deflated_cg
from firstlight.pde.subspace.experiments import INTERPOLATIONS, OURS, Row
from firstlight.pde.subspace.losses import stochastic_loss, subspace_loss
from firstlight.pde.subspace.problems import FlattopProblem, sample_seed
from firstlight.pde.subspace.redundancy import (
    box_eigenvectors,
    convergence_orders,
    fixed_dimension,
    hyperbolic_modes,
    lowest_modes,
)
from firstlight.pde.subspace.training import JUDGED

PAPER = "Fanaskov et al. 2026"


@claim("One fixed space of D(k) dimensions holds the lowest k eigenvectors of every anisotropic box", source=PAPER)
def fixed_space_serves_all_anisotropies(budget: Budget) -> Measurement:
    """Largest distance of a numerical eigenvector of −a ∂₁² − ∂₂² from the space, 12 × 12 points, 1,000 ratios a."""
    rng, size = np.random.default_rng(budget.seed), 12
    second = 2 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1)
    across, along = np.kron(second, np.eye(size)), np.kron(np.eye(size), second)
    rows: list[Row] = []
    for k in (5, 10):
        Q = box_eigenvectors((size, size), hyperbolic_modes(k))
        rows.append({"k": k, "D(k)": fixed_dimension(k), "modes met": 0, "largest distance": 0.0, "Q": Q, "met": set()})
    for ratio in np.exp(rng.uniform(-4, 4, budget.pick(quick=1000, full=10_000))):
        vectors = np.linalg.eigh(ratio * across + along)[1]
        for row in rows:
            V, Q = vectors[:, : row["k"]], row["Q"]
            distance = float(np.linalg.norm(V - Q @ (Q.T @ V), axis=0).max())
            row["largest distance"] = max(row["largest distance"], distance)
            row["met"] |= {tuple(mode) for mode in lowest_modes((ratio, 1.0), (size, size), row["k"])}
            row["modes met"] = len(row["met"])
    rows = [{name: row[name] for name in list(row)[:4]} for row in rows]
    return Measurement("largest distance", max(row["largest distance"] for row in rows), bar=1e-12, rows=rows)


@claim("With q derivatives in a constant basis the error falls with order q + 1", source=PAPER)
def taylor_bases_converge_at_their_order(budget: Budget) -> Measurement:
    """Largest deviation from orders 1, 2, 3, for the lowest 3 eigenvectors of a matrix that depends on a parameter."""
    rng = np.random.default_rng(budget.seed)
    first, second = (matrix + matrix.T for matrix in rng.normal(size=(2, 30, 30)) / 8)

    def vectors(t: float) -> np.ndarray:
        return np.linalg.eigh(np.diag(np.arange(30.0)) + t * first + t**2 * second)[1][:, :3]

    rows = [
        {"q": q, "columns": 3 * (q + 1), "order": float(convergence_orders(vectors, q, (0.05, 0.025))[0])}
        for q in (0, 1, 2)
    ]
    return Measurement("largest deviation", max(abs(row["order"] - row["q"] - 1) for row in rows), bar=0.15, rows=rows)


@claim("The loss sees the subspace and not the basis", source=PAPER)
def loss_is_invariant(budget: Budget) -> Measurement:
    """Largest change when W is multiplied by random invertible matrices and V by orthogonal ones, at float64."""
    generator = torch.Generator().manual_seed(budget.seed)
    worst = 0.0
    for _ in range(budget.pick(quick=100, full=1000)):
        W, V, change, turn = (
            torch.randn(shape, generator=generator, dtype=torch.float64)
            for shape in ((200, 20), (200, 10), (20, 20), (10, 10))
        )
        V = torch.linalg.qr(V).Q
        changed = subspace_loss(W @ change, V @ torch.linalg.qr(turn).Q)
        worst = max(worst, float((changed - subspace_loss(W, V)).abs()))
    return Measurement("largest change", worst, bar=1e-10)


@claim("The stochastic loss is an unbiased estimate of the exact one", source="ours, after " + PAPER)
def stochastic_loss_is_unbiased(budget: Budget) -> Measurement:
    """Distance of its mean over 10,000 combinations from the exact loss, in standard errors."""
    generator = torch.Generator().manual_seed(budget.seed)
    W, V = (torch.randn(100, columns, generator=generator, dtype=torch.float64) for columns in (20, 10))
    V = torch.linalg.qr(V).Q
    many = (W.expand(10_000, -1, -1), V.expand(10_000, -1, -1))
    estimates, exact = stochastic_loss(*many, n_probe=1, generator=generator), float(subspace_loss(W, V))
    error = float(estimates.std()) / 100
    return Measurement("distance", abs(float(estimates.mean()) - exact) / error, bar=3.0, unit="standard errors")


@claim("The predicted space is twice as near as the best constant one of as many columns", source=PAPER)
def prediction_beats_global_pod(budget: Budget) -> Measurement:
    """Error over that of the global POD, flattop coefficients on 32 × 32 points, the worst of p = 10, 20, 40."""
    rows = _errors(budget)
    return Measurement(
        "share of the error", max(row[OURS] / row["global POD"] for row in rows), bar=0.5, peer="global POD", rows=rows
    )


@claim("It is nearer than interpolation on the Grassmann manifold by more than a third", source=PAPER)
def prediction_beats_interpolation(budget: Budget) -> Measurement:
    """Error over that of the best method of interpolation, the worst of p = 10, 20, 40."""
    rows = _errors(budget)
    shares = [row[OURS] / min(row[method] for method, _ in INTERPOLATIONS) for row in rows]
    return Measurement("share of the error", max(shares), bar=0.6, peer="best interpolation", rows=rows)


@claim("Four times the columns make a third of the error", source=PAPER)
def redundancy_pays(budget: Budget) -> Measurement:
    """Error at p = 40 over that at p = 10, for 10 wanted vectors; the constant basis gains from columns too."""
    rows = _errors(budget)
    ours, peer = (rows[-1][name] / rows[0][name] for name in (OURS, "global POD"))
    return Measurement("ratio of errors", ours, bar=0.35, peer="global POD", peer_value=peer, rows=rows)


@claim("Deflated conjugate gradients find the same solution", source="Saad et al. 2000")
def deflation_solves_the_same_system(budget: Budget) -> Measurement:
    """Largest relative difference from a sparse direct solution, run to a residual of 1e-12."""
    worst = 0.0
    for number in range(budget.pick(quick=3, full=50)):
        sample = FlattopProblem(experiments.CELLS[2]).sample(sample_seed(budget.seed, JUDGED + number))
        b = np.random.default_rng(number).normal(size=experiments.CELLS[2] ** 2)
        x, _ = deflated_cg(sample.matrix, b, experiments.shipped("flattop").predict(sample.field), rtol=1e-12)
        exact = splu(sample.matrix.tocsc()).solve(b)
        worst = max(worst, float(np.linalg.norm(x - exact) / np.linalg.norm(exact)))
    return Measurement("largest difference", worst, bar=1e-8, peer="sparse direct solver")


@claim("Deflation by 40 predicted columns takes a third of the iterations off Jacobi's", source="ours")
def deflation_takes_fewer_iterations(budget: Budget) -> Measurement:
    """Iterations to 1e-8 over those with Jacobi alone. Multigrid, where it can be had, needs far fewer still."""
    rows = _deflation(budget)
    return Measurement(
        "share of the iterations",
        _found(rows, "method", f"{OURS} p = 40")["share of Jacobi"],
        bar=0.7,
        peer="multigrid",
        peer_value=_found(rows, "method", "AMG")["share of Jacobi"],
        rows=rows,
    )


@claim("40 predicted columns deflate nearly as well as 20 exact eigenvectors", source="ours")
def prediction_deflates_like_exact_vectors(budget: Budget) -> Measurement:
    """Iterations to 1e-8 over those of deflation by 20 exact eigenvectors."""
    rows = _deflation(budget)
    ours, exact = (_found(rows, "method", name)["iterations"] for name in (f"{OURS} p = 40", "exact k = 20"))
    return Measurement("ratio of iterations", ours / exact, bar=1.15, peer="20 exact vectors", rows=rows)


@claim("An eigensolver that starts from the prediction takes fewer steps", source=PAPER)
def warm_start_takes_fewer_steps(budget: Budget) -> Measurement:
    """Steps of LOBPCG with multigrid from 20 predicted columns over those from 10 random ones, 24³ or 32³ points."""
    rows = _starts(budget)
    ours, random, near = (
        _found(rows, "start", name)["iterations"] for name in (f"{OURS}, 20", "random, 10", "nearest neighbour, 10")
    )
    return Measurement(
        "share of the steps", ours / random, bar=0.7, peer="nearest neighbour", peer_value=near / random, rows=rows
    )


@claim("It ends at the same eigenvalues", source="ours")
def warm_start_finds_the_same_eigenvalues(budget: Budget) -> Measurement:
    """Largest relative difference from those of shift-invert Lanczos, over all starts."""
    rows = _starts(budget)
    return Measurement("largest error", max(row["error"] for row in rows), bar=1e-8, peer="shift-invert", rows=rows)


@claim("It saves time, that of the prediction included", source="ours")
def warm_start_saves_time(budget: Budget) -> Measurement:
    """Processor time from 20 predicted columns over that from 10 random ones."""
    rows = _starts(budget)
    ours, random, direct = (
        _found(rows, "start", name)["seconds"] for name in (f"{OURS}, 20", "random, 10", "(shift-invert Lanczos)")
    )
    return Measurement(
        "share of the time", ours / random, bar=0.85, peer="shift-invert", peer_value=direct / random, rows=rows
    )


@claim("In three dimensions it is faster than a factorisation", source="ours")
def warm_start_beats_shift_invert(budget: Budget) -> Measurement:
    """Processor time of shift-invert Lanczos over that from 20 predicted columns; bar 2 at 24³ points, 3 at 32³."""
    rows = _starts(budget)
    ours, setup, direct = (
        _found(rows, "start", name)["seconds"]
        for name in (f"{OURS}, 20", "(multigrid, set up)", "(shift-invert Lanczos)")
    )
    ratio = direct / (ours + setup)
    return Measurement("ratio", ratio, bar=budget.pick(2.0, 3.0), better="higher", unit="×", peer="eigsh", rows=rows)


@claim("A reduced model of Burgers' equation is far more accurate on a predicted basis", source=PAPER)
def reduced_models_are_nearer(budget: Budget) -> Measurement:
    """Mean relative error with 10 predicted columns over that with the global POD's 10, over all times."""
    rows = experiments.reduced_model_errors(budget.pick(quick=20, full=200), samples=budget.pick(100, 2000))
    ours, peer = (_found(rows, "basis", name)["mean error"] for name in (f"{OURS}, 10", "global POD, 10"))
    return Measurement("share of the error", ours / peer, bar=0.6, peer="global POD", rows=rows)


@claim("A start that misses wanted vectors by symmetry ends at the lowest eigenvalues all the same", source="ours")
def missed_vectors_are_found(budget: Budget) -> Measurement:
    """Largest relative error from even vectors only, on mirror-symmetric coefficients; no preconditioner."""
    rows = solver_experiments.symmetric_starts(budget.pick(quick=2, full=20))
    ours, peer = (max(row[name] for row in rows) for name in ("warm_eigsh", "scipy lobpcg"))
    return Measurement("largest error", ours, bar=1e-8, peer="scipy lobpcg", peer_value=peer, rows=rows)


@claim("In space ten eigenpairs take a third of the time of eigsh with its own factorisation", source="ours")
def eigensolver_is_quick_in_space(budget: Budget) -> Measurement:
    """Processor time from a coarse grid's eigenvectors, these included; quick: 20³ unknowns, full: 32³."""
    rows = solver_experiments.eigensolvers_in_space(budget.pick(20, 32), budget.pick(10, 16), budget.pick(1, 3))
    ours, peer = (
        _found(rows, "solver", name)["share of eigsh"]
        for name in ("warm_eigsh, 10 of the coarse grid", "scipy lobpcg, random")
    )
    name = "share of the time"
    return Measurement(name, ours, bar=1 / 3, peer="scipy lobpcg, random", peer_value=peer, rows=rows)


@claim("Multigrid built on six slow modes of a composite takes half the steps", source="ours")
def slow_modes_serve_multigrid(budget: Budget) -> Measurement:
    """Steps of conjugate gradients over those with constants as candidates; rigid bodies stand beside them."""
    rows = solver_experiments.multigrid_candidates(budget.pick(12, 32), budget.pick(4, 20))
    ones, rigid, ours = (row["steps"] for row in rows)
    name = "share of the steps"
    return Measurement(name, ours / ones, bar=0.5, peer="rigid bodies", peer_value=rigid / ones, rows=rows)


def _errors(budget: Budget) -> list[Row]:
    return experiments.flattop_errors(budget.pick(quick=150, full=2000), judged=budget.pick(quick=30, full=200))


def _deflation(budget: Budget) -> list[Row]:
    return experiments.deflation_iterations(budget.pick(quick=4, full=100), samples=budget.pick(150, 2000))


def _starts(budget: Budget) -> list[Row]:
    return experiments.eigensolver_starts(budget.pick(24, 32), budget.pick(2, 10), budget.pick(100, 1500), dim=3)


def _found(rows: list[Row], column: str, name: str) -> Row:
    return next(row for row in rows if row[column] == name)
