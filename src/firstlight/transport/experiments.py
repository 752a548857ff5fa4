"""The experiments of the paper as functions that return tables: gradient flows, the spectral test, topic coherence.

Every method runs in the same code on the same data from the same starts, and is judged by something other than its
loss: exact optimal transport, a Fourier transform, gensim's coherence. With a folder each run is kept as soon as it
ends, and the same call goes on where it stopped; other settings need another folder.
``benchmarks/transport_experiments.py`` prints the full tables.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from firstlight import parallel
from firstlight.errors import FirstlightError
from firstlight.files import load_arrays
from firstlight.transport.corpora import read_corpus, topic_coherence, topic_diversity
from firstlight.transport.data import eight_gaussians, gaussian, rippled, rippled_density
from firstlight.transport.gradient_flow import Loss, descend, gradient_flow
from firstlight.transport.tree_sampling import sample_tree_system
from firstlight.transport.tree_sliced import tree_sliced_sobolev

Row = Mapping[str, Any]

# Order of the tree-sliced distance; None stands for POT's sliced Wasserstein distance of order 2.
METHODS: Mapping[str, float | None] = {"SW": None, "TSW": 1.0, "TS_1.2": 1.2, "TS_1.5": 1.5, "TS_2": 2.0}
TUNING_SEED = 1000  # learning rates are chosen on this seed, which no reported run uses


@dataclass(frozen=True)
class FlowProblem:
    """A target of the gradient-flow experiment, and the learning rates that every method is tuned on."""

    name: str
    target: Callable[..., Float64[np.ndarray, "n d"]]
    grid: tuple[float, ...]


# From a quarter of the paper's learning rate, 0.005 and 0.05, to four times as much.
FLOW_PROBLEMS = (
    FlowProblem("8 Gaussians", eight_gaussians, (0.00125, 0.0025, 0.005, 0.01, 0.02)),
    FlowProblem("30-d Gaussian", gaussian, (0.0125, 0.025, 0.05, 0.1, 0.2)),
)


def flow_table(
    problem: FlowProblem,
    methods: Iterable[str] = tuple(METHODS),
    *,
    seeds: int = 5,
    n_samples: int = 500,
    n_iter: int = 2500,
    folder: str | Path | None = None,
    workers: int | None = None,
) -> list[Row]:
    """Exact W₂² to the target along the gradient flow of each method, at its own tuned learning rate.

    The paper's protocol: particles from N(0, 0.25² I), a centred target of as many points, Adam, 100 projections per
    iteration (25 trees of 4 lines, δ = 1, roots within 0.001 of the target's mean). The learning rate of each method
    is the one of the problem's grid with the least W₂² at the end on a seed of its own.

    Returns
    -------
    A row per method: the tuned ``lr``; ``W2² at …``, means over seeds at five checkpoints; ``std`` of the last one;
    ``at the edge``, whether the best rate is the smallest or largest of the grid.
    """
    methods = tuple(methods)
    run = partial(_flow, problem, n_samples, n_iter)
    tuning = [(method, lr, TUNING_SEED) for method in methods for lr in problem.grid]
    tuned = _run(run, tuning, problem.name, folder, workers)
    best = {
        method: min(problem.grid, key=lambda lr, method=method: tuned[method, lr, TUNING_SEED]["w2_squared"][-1])
        for method in methods
    }
    reported = [(method, best[method], seed) for method in methods for seed in range(seeds)]
    done = _run(run, reported, problem.name, folder, workers)
    rows = []
    for method in methods:
        curves = np.stack([done[method, best[method], seed]["w2_squared"] for seed in range(seeds)])
        checkpoints = done[method, best[method], 0]["iterations"]
        rows.append(
            {"method": method, "lr": best[method]}
            | dict(zip([f"W2² at {at}" for at in checkpoints[1:]], curves.mean(axis=0)[1:].tolist(), strict=True))
            | {"std": float(curves[:, -1].std(ddof=1)) if seeds > 1 else float("nan")}
            | {"at the edge": best[method] in (problem.grid[0], problem.grid[-1])}
        )
    return rows


def spectral_table(
    methods: Iterable[str] = ("SW", "TSW", "TS_1.5", "TS_2"),
    *,
    seeds: int = 8,
    n_samples: int = 10_000,
    n_iter: int = 1000,
    n_trees: int = 10,
    lr: float = 3e-5,
    folder: str | Path | None = None,
    workers: int | None = None,
) -> list[Row]:
    """How fast flows on the line recover the slow and the fast wave of `rippled_density`.

    The paper's protocol but for the number of projections: uniform particles on [0, 1], one target sample for all
    seeds, Adam with a tiny learning rate, particles kept inside [0, 1]; the error at a frequency is the difference of
    the Fourier coefficients of a histogram of 200 bins and of the density. On the line all lines of a tree coincide
    and share each point's mass evenly, so that one line per tree gives the same flow as the paper's four; and trees
    differ only by a root that moves by 0.01, so that 10 do for its 100.

    Returns
    -------
    A row per method: errors at frequency 2 and 20 before and after the flow, means over seeds and their deviations.
    """
    methods = tuple(methods)
    jobs = [(method, lr, seed) for method in methods for seed in range(seeds)]
    done = _run(partial(_spectral_flow, n_samples, n_iter, n_trees), jobs, "spectral", folder, workers)
    rows = []
    for method in methods:
        errors = np.stack([done[method, lr, seed]["errors"] for seed in range(seeds)])  # seeds, checks, frequencies
        mean, std = errors.mean(axis=0), errors.std(axis=0, ddof=1 if seeds > 1 else 0)
        row: dict[str, Any] = {"method": method}
        for place, frequency in enumerate(FREQUENCIES):
            row |= {
                f"error at {frequency}, start": float(mean[0, place]),
                f"error at {frequency}, end": float(mean[-1, place]),
                f"std at {frequency}": float(std[-1, place]),
            }
        rows.append(row)
    return rows


def topic_table(
    corpus: str | Path,
    methods: Iterable[str] = ("SW", "TSW", "TS_1.5", "TS_2"),
    *,
    seeds: int = 5,
    max_iter: int = 100,
    folder: str | Path | None = None,
    workers: int | None = None,
) -> list[Row]:
    """Coherence of the topics of autoencoders that differ in the distance to their prior.

    The paper's setting: as many topics as the corpus has classes, TF-IDF of all documents, batches of 64, 2,000
    projections (100 trees of 20 lines, δ = 2), a Dirichlet prior. Coherence C_V is gensim's, over the documents, of
    the ten most probable words of each topic.

    Parameters
    ----------
    corpus : a folder for `read_corpus`, with labels.

    Returns
    -------
    A row per method: ``C_V`` and ``diversity`` of topics, means over seeds, and ``std`` of C_V.
    """
    methods, name = tuple(methods), Path(corpus).name
    jobs = [(method, float(max_iter), seed) for method in methods for seed in range(seeds)]
    done = _run(partial(_topics, Path(corpus)), jobs, name, folder, workers)
    rows = []
    for method in methods:
        runs = [done[method, float(max_iter), seed] for seed in range(seeds)]
        coherence, diversity, seconds = (
            np.array([run[name] for run in runs]) for name in ("c_v", "diversity", "seconds")
        )
        rows.append(
            {"method": method, "C_V": float(coherence.mean()), "std": float(coherence.std(ddof=1 if seeds > 1 else 0))}
            | {"diversity": float(diversity.mean()), "seconds": float(seconds.mean())}
        )
    return rows


FREQUENCIES = (2, 20)


def spectral_errors(x: Float[np.ndarray, " n"], bins: int = 200) -> Float64[np.ndarray, " frequencies"]:
    """Distance of the Fourier coefficients of a histogram on [0, 1] from those of `rippled_density`."""
    heights = np.histogram(x, bins, (0, 1), density=True)[0]
    off = np.fft.fft(heights - rippled_density((np.arange(bins) + 0.5) / bins))
    return np.abs(off[list(FREQUENCIES)])


def sliced_loss(p: float | None, n_trees: int, n_lines: int, delta: float, spread: float, seed: int) -> Loss:
    """Return a loss on new projections at every call: tree-sliced of order p, or POT's sliced one for None."""
    rng = np.random.default_rng(seed)
    if p is None:
        import ot

        def sliced(x: Tensor, y: Tensor) -> Tensor:
            seed = int(rng.integers(2**31))
            distance: Any = ot.sliced_wasserstein_distance(x, y, n_projections=n_trees * n_lines, p=2, seed=seed)
            return distance

        return sliced

    def tree_sliced(x: Tensor, y: Tensor) -> Tensor:
        trees = sample_tree_system(y.mean(dim=0).double().numpy(), n_trees, n_lines, spread=spread, seed=rng)
        return tree_sliced_sobolev(x, y, p=p, delta=delta, trees=trees)

    return tree_sliced


def _run(
    function: Callable[[tuple], Mapping[str, Any]],
    jobs: Sequence[tuple[str, float, int]],
    name: str,
    folder: str | Path | None,
    workers: int | None,
) -> dict[tuple, Mapping[str, Any]]:
    """Run jobs of (method, setting, seed), keeping each in the folder, and give the results by job."""
    label = name.replace(" ", "-")
    keyed = {f"{label}_{method}_{setting:g}_{seed}": (method, setting, seed) for method, setting, seed in jobs}
    done, failures = parallel.run(function, keyed, folder=folder, workers=workers)
    if failures:
        raise FirstlightError("\n".join(f"{key} failed:\n{failure}" for key, failure in failures.items()))
    return {job: done[key] if folder is None else load_arrays(done[key]) for key, job in keyed.items()}


def _flow(problem: FlowProblem, n_samples: int, n_iter: int, job: tuple[str, float, int]) -> dict[str, Any]:
    method, lr, seed = job
    rng = np.random.default_rng(seed)
    target = problem.target(n_samples, seed=rng)
    target -= target.mean(axis=0)
    start = rng.normal(0, 0.25, target.shape)
    loss = sliced_loss(METHODS[method], 25, 4, delta=1.0, spread=0.001, seed=seed)
    flow = gradient_flow(start.astype(np.float32), target.astype(np.float32), loss, lr=lr, n_iter=n_iter)
    return {"iterations": flow.iterations, "w2_squared": flow.w2_squared, "seconds": flow.seconds}


def _spectral_flow(n_samples: int, n_iter: int, n_trees: int, job: tuple[str, float, int]) -> dict[str, Any]:
    method, lr, seed = job
    target = torch.from_numpy(rippled(n_samples, seed=TUNING_SEED)).float()
    particles = torch.from_numpy(np.random.default_rng(seed).random((n_samples, 1))).float()
    # On the line sliced distances, and tree-sliced ones at p = 1, are Wasserstein distances whatever is drawn.
    p = METHODS[method]
    loss = sliced_loss(p, 1 if p in (None, 1) else n_trees, 1, delta=2.0, spread=0.01, seed=seed)
    errors = [spectral_errors(particles.numpy()[:, 0])]
    steps = descend(particles, target, loss, lr, lambda x: x.clamp_(0, 1))
    for iteration, (x, _) in zip(range(1, n_iter + 1), steps, strict=False):
        if iteration % max(1, n_iter // 20) == 0 or iteration == n_iter:
            errors.append(spectral_errors(x.numpy()[:, 0]))
    return {"errors": np.stack(errors)}


def _topics(corpus: Path, job: tuple[str, float, int]) -> dict[str, Any]:
    from sklearn.feature_extraction.text import TfidfTransformer

    from firstlight.transport.topic_model import WAETopicModel

    method, max_iter, seed = job
    texts = read_corpus(corpus)
    p = METHODS[method]
    model = WAETopicModel(
        len(set(texts.labels)),
        p=p or 1.0,
        distance=sliced_loss(None, 100, 20, delta=2.0, spread=0.1, seed=seed) if p is None else None,
        max_iter=int(max_iter),
        random_state=seed,
    )
    began = perf_counter()
    model.fit(TfidfTransformer().fit_transform(texts.counts()))
    seconds = perf_counter() - began
    topics = model.topics(texts.vocabulary)
    coherence = topic_coherence(topics, texts.documents)
    return {"c_v": coherence, "diversity": topic_diversity(topics), "topics": np.array(topics), "seconds": seconds}
