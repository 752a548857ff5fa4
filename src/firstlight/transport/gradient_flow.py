"""Particles that flow towards a target down the gradient of a distance, checked by exact optimal transport.

A distance is judged as a loss by where it leads: the points of one cloud are moved by Adam, on new random trees in
every iteration, and at some of them the exact squared Wasserstein distance to the target is computed by POT's network
simplex, which knows nothing of the loss.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from rich.progress import Progress
from scipy.spatial.distance import cdist
from torch import Tensor

from firstlight.errors import Interrupted, InvalidInput, MissingExtra
from firstlight.pictures import axes_or_new
from firstlight.terminal import console
from firstlight.transport.losses import TreeSlicedSobolevLoss
from firstlight.transport.measures import as_points, check_space
from firstlight.transport.tree_sliced_sphere import check_unit_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Domain = Literal["euclidean", "sphere"]
Loss = Callable[[Tensor, Tensor], Tensor]

CERTIFIED = 3000  # points of each cloud that exact transport compares at most; its time grows with their cube
BLUE, VERMILION = "#0072B2", "#D55E00"


@dataclass(frozen=True, eq=False)
class GradientFlow:
    """Where the particles went, and how far from the target they were on the way.

    Attributes
    ----------
    iterations : when the particles were looked at: 0, and after each checkpoint.
    snapshots : where they were then.
    w2_squared : exact squared 2-Wasserstein distance to the target then (``ot.emd2``); on the sphere of geodesic
        distances, in radians².
    losses : value of the loss before each iteration.
    X_t : the target.
    domain : "euclidean" or "sphere".
    seconds : wall-clock time of the flow, without the certificates.
    """

    iterations: Int64[np.ndarray, " checks"]
    snapshots: Float[np.ndarray, "checks n d"]
    w2_squared: Float64[np.ndarray, " checks"]
    losses: Float64[np.ndarray, " n_iter"]
    X_t: Float[np.ndarray, "m d"]
    domain: Domain
    seconds: float

    @property
    def particles(self) -> Float[np.ndarray, "n d"]:
        """Where the particles ended."""
        return self.snapshots[-1]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the exact squared Wasserstein distance over iterations."""
        ax = axes_or_new(ax)
        ax.semilogy(self.iterations, self.w2_squared, "o-", color=BLUE, markersize=3)
        unit = "radians²" if self.domain == "sphere" else "squared units of the points"
        ax.set(xlabel="iterations", ylabel=f"exact $W_2^2$ to the target ({unit})")
        return ax

    def plot_snapshot(self, check: int = -1, ax: "Axes | None" = None) -> "Axes":
        """Draw the particles at one of the checkpoints over the target.

        Points in the plane are drawn as they are, points on the sphere in R³ by longitude and latitude, and of points
        in more dimensions the first two coordinates.
        """
        ax = axes_or_new(ax)
        shown = _longitude_latitude if self.domain == "sphere" and self.particles.shape[1] == 3 else _first_two
        for points, colour, name in ((self.X_t, VERMILION, "target"), (self.snapshots[check], BLUE, "particles")):
            ax.scatter(*shown(points).T, s=4, color=colour, label=name, linewidths=0)
        if shown is _longitude_latitude:
            ax.set(xlabel="longitude (degrees)", ylabel="latitude (degrees)", xlim=(-180, 180), ylim=(-90, 90))
        else:
            ax.set(xlabel="first coordinate", ylabel="second coordinate", aspect="equal")
        ax.legend(loc="upper right", frameon=False)
        return ax


def gradient_flow(
    X_s: Any,
    X_t: Any,
    loss: Loss | None = None,
    *,
    lr: float = 0.005,
    n_iter: int = 2500,
    checkpoints: Sequence[int] | None = None,
    domain: Domain = "euclidean",
    seed: int | None = None,
    progress: bool = False,
) -> GradientFlow:
    """Move the points of one cloud towards another down the gradient of a distance.

    Parameters
    ----------
    X_s : array-like or torch.Tensor, shape (n, d)
        Where the particles start. The flow runs in its precision, and a tensor's on its device.
    X_t : array-like or torch.Tensor, shape (m, d)
        The target.
    loss : callable, optional
        Called in every iteration with particles and target, both tensors, and returns a number to descend. It should
        look at new random projections every time, or the particles fit those it sees. A `TreeSlicedSobolevLoss` of
        order 1.2 with 25 trees of 4 lines and delta 1 unless given; a distance of POT works as well, as in
        ``lambda x, y: ot.sliced_wasserstein_distance(x, y, n_projections=100)``.
    lr : float
        Learning rate of Adam, in units of the points: about the farthest a particle moves in one iteration.
    n_iter : int
        Number of iterations.
    checkpoints : sequence of int, optional
        Iterations after which the particles are kept and certified; five evenly spaced ones unless given. The end is
        always one of them.
    domain : {"euclidean", "sphere"}
        On the sphere the particles are divided by their norm after each iteration.
    seed : int, optional
        Seed of the default loss, and of which points are certified where there are more than 3,000.
    progress : bool
        Show a progress bar on the terminal.

    Returns
    -------
    GradientFlow
        Snapshots of the particles, and exact distances to the target.

    Raises
    ------
    InvalidInput
        If the clouds or an option cannot be used, or the loss stops being a finite number.
    MissingExtra
        If POT is not installed.
    Interrupted
        On Ctrl-C; ``.finished["flow"]`` is the flow until then, its end a checkpoint.

    Examples
    --------
    >>> from firstlight.transport.data import eight_gaussians
    >>> start = np.random.default_rng(0).normal(0, 0.25, (50, 2))
    >>> flow = gradient_flow(start, eight_gaussians(50, seed=0), lr=0.1, n_iter=60, seed=0)
    >>> bool(flow.w2_squared[-1] < flow.w2_squared[0] / 10)
    True
    """
    start, target = as_points(X_s, "X_s"), as_points(X_t, "X_t")
    check_space(start, target)
    if domain not in ("euclidean", "sphere"):
        raise InvalidInput(f"domain must be 'euclidean' or 'sphere', got {domain!r}")
    if domain == "sphere":
        check_unit_rows(start, "X_s")
        check_unit_rows(target, "X_t")
    if n_iter < 1 or not (np.isfinite(lr) and lr > 0):
        raise InvalidInput(f"expected n_iter of at least 1 and a positive lr, got n_iter={n_iter}, lr={lr}")
    kept_at = _checkpoints(checkpoints, n_iter)
    if loss is None:
        loss = TreeSlicedSobolevLoss(p=1.2, n_trees=25, n_lines=4, delta=1.0, domain=domain, seed=seed)

    _exact_solver()  # before the flow: without a judge it would be in vain

    device = X_s.device if isinstance(X_s, Tensor) else None
    particles, aim = (torch.tensor(points, dtype=_dtype(start), device=device) for points in (start, target))
    steps = descend(particles, aim, loss, lr, _to_sphere if domain == "sphere" else None)
    latest = start.copy()
    snapshots, losses, began = {0: latest}, [], perf_counter()

    def flow() -> GradientFlow:
        seconds, rng = perf_counter() - began, np.random.default_rng(seed)
        distances = [exact_w2_squared(points, target, domain, rng) for points in snapshots.values()]
        times, places = np.array(list(snapshots)), np.stack(list(snapshots.values()))
        return GradientFlow(times, places, np.array(distances), np.array(losses), target, domain, seconds)

    with Progress(console=console(stderr=True), disable=not progress) as bar:
        try:
            for iteration in bar.track(range(1, n_iter + 1), description="gradient flow"):
                particles, value = next(steps)
                losses.append(value)
                latest = particles.cpu().numpy().copy()
                if iteration in kept_at:
                    snapshots[iteration] = latest
        except KeyboardInterrupt:
            snapshots[len(losses)] = latest
            stopped = f"stopped after {len(losses)} of {n_iter} iterations; the flow so far is in .finished"
            raise Interrupted(stopped, {"flow": flow()}) from None
    return flow()


def descend(
    particles: Tensor, target: Tensor, loss: Loss, lr: float, retract: Callable[[Tensor], object] | None = None
) -> Iterator[tuple[Tensor, float]]:
    """Descend a loss by Adam for as long as the caller asks.

    Parameters
    ----------
    particles : where they start, shape (n, d); moved in place.
    target : shape (m, d).
    loss : as in `gradient_flow`.
    lr : learning rate of Adam.
    retract : moves particles, in place, back to where they may be; called after each step.

    Yields
    ------
    The particles after a step, and the loss before it.

    Raises
    ------
    InvalidInput
        If the loss returns no tensor, or it or a particle is no longer finite.
    """
    particles = particles.requires_grad_()
    optimizer = torch.optim.Adam([particles], lr=lr)
    iteration = 0
    while True:
        iteration += 1
        optimizer.zero_grad()
        value = loss(particles, target)
        if not isinstance(value, Tensor):
            raise InvalidInput(f"a loss returns a tensor that can be differentiated, this one a {type(value).__name__}")
        value.backward()
        optimizer.step()
        with torch.no_grad():
            if retract is not None:
                retract(particles)
            if not (value.isfinite() and particles.isfinite().all()):
                raise InvalidInput(f"the flow is not finite after iteration {iteration}; try a smaller lr than {lr}")
        yield particles.detach(), value.item()


def exact_w2_squared(
    X_s: Float[np.ndarray, "n d"],
    X_t: Float[np.ndarray, "m d"],
    domain: Domain = "euclidean",
    rng: np.random.Generator | None = None,
) -> float:
    """Squared 2-Wasserstein distance of two clouds by POT's exact solver; on the sphere with geodesic distances.

    Of clouds with more than 3,000 points that many are drawn by `rng`.
    """
    rng = np.random.default_rng(rng)
    X_s, X_t = (X if len(X) <= CERTIFIED else X[rng.choice(len(X), CERTIFIED, replace=False)] for X in (X_s, X_t))
    # From differences of coordinates: ot.dist multiplies out, which cancels for clouds that nearly coincide.
    cost = cdist(X_s, X_t, "sqeuclidean")
    if domain == "sphere":
        cost = (2 * np.arcsin(np.minimum(np.sqrt(cost) / 2, 1))) ** 2
    return float(_exact_solver()([], [], cost, numItermax=10_000_000))


def _exact_solver() -> Callable[..., Any]:
    try:
        from ot import emd2
    except ModuleNotFoundError as error:
        raise MissingExtra("ot", "transport") from error
    return emd2


def _dtype(X: Float[np.ndarray, "n d"]) -> torch.dtype:
    return torch.float32 if X.dtype == np.float32 else torch.float64


def _checkpoints(checkpoints: Sequence[int] | None, n_iter: int) -> set[int]:
    if checkpoints is None:
        return {round(n_iter * part / 5) for part in range(1, 6)} - {0}
    kept = {int(iteration) for iteration in checkpoints}
    if kept and not 0 < min(kept) <= max(kept) <= n_iter:
        raise InvalidInput(f"checkpoints must lie between 1 and n_iter={n_iter}, got {sorted(kept)}")
    return kept | {n_iter}


def _to_sphere(particles: Tensor) -> None:
    particles /= particles.norm(dim=1, keepdim=True)


def _longitude_latitude(X: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 2"]:
    return np.degrees(np.stack([np.arctan2(X[:, 1], X[:, 0]), np.arcsin(np.clip(X[:, 2], -1, 1))], axis=1))


def _first_two(X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n 2"]:
    return X[:, :2] if X.shape[1] > 1 else np.column_stack([X, np.zeros(len(X), X.dtype)])
