"""Distances beside POT's in one run: equal where theory says so; time, memory and rounding where they differ.

POT's exact solver is the judge of values, its sliced Wasserstein distance with as many projections the peer in speed.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.sparse.csgraph import shortest_path

from firstlight.transport.certificates import dual_certificate, explicit_trees
from firstlight.transport.measures import Clouds, weighed_clouds
from firstlight.transport.tree_sampling import sample_spherical_trees, sample_tree_system
from firstlight.transport.tree_sliced import tree_sliced_sobolev
from firstlight.transport.tree_sliced_sphere import tree_sliced_sobolev_sphere
from firstlight.transport.tree_systems import TreeSystem, tree_graph

Row = dict[str, Any]
KINDS = ("concurrent", "chain", "sphere")
ORDERS = (1.1, 1.5, 2.0, 3.0, 10.0)
DELTA = 2.0
N_LINES = 4  # of each tree: a comparison with k projections of POT has k/4 trees


def exact_transport_errors(n: int, *, repeats: int, seed: int) -> list[Row]:
    """Relative errors of the distance of order 1 against optimal transport on the explicit tree.

    Weighted samples of n and 3n/4 points in three dimensions, on one random tree each.

    Returns
    -------
    A row for each kind of tree with the largest error of all repeats.
    """
    import ot

    rows = []
    for kind in KINDS:
        errors = []
        for repeat in range(repeats):
            clouds, trees, distance = _problem(kind, n, 3 * n // 4, 1, seed + repeat)
            ((parent, length, mass),) = explicit_trees(clouds, trees, DELTA)
            metric = shortest_path(tree_graph(parent, length), directed=False)
            source, target = np.flatnonzero(mass > 0), np.flatnonzero(mass < 0)
            a, b = mass[source], -mass[target]
            exact: Any = ot.emd2(a, b * (a.sum() / b.sum()), metric[np.ix_(source, target)], numItermax=10_000_000)
            errors.append(abs(distance(1.0) / exact - 1))
        rows.append({"trees": kind, "points": f"{n} and {3 * n // 4}", "repeats": repeats, "error": max(errors)})
    return rows


def duality_gaps(n: int, *, n_trees: int, seed: int, orders: Iterable[float] = ORDERS) -> list[Row]:
    """Relative gaps between the distance and the bound by dual functions, and how far their norms are from 1."""
    rows = []
    for kind in KINDS:
        clouds, trees, distance = _problem(kind, n, 3 * n // 4, n_trees, seed)
        for p in orders:
            certificate = dual_certificate(clouds.X_s, clouds.X_t, clouds.a, clouds.b, trees=trees, p=p, delta=DELTA)
            gap = abs(certificate.bound / distance(p) - 1)
            rows.append({"trees": kind, "p": p, "gap": gap, "norm - 1": certificate.largest_norm_error})
    return rows


def _problem(kind: str, n: int, m: int, n_trees: int, seed: int) -> tuple[Clouds, Any, Callable[[float], float]]:
    """Draw weighted clouds and trees of a kind; return them with the distance on them as a function of its order."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, 3)), 1.3 * rng.standard_normal((m, 3)) + 0.5
    a, b = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
    if kind == "sphere":
        X, Y = (points / np.linalg.norm(points, axis=1, keepdims=True) for points in (X, Y))
        spherical = sample_spherical_trees(3, n_trees, N_LINES, seed=rng)
        return (
            weighed_clouds(X, Y, a, b),
            spherical,
            lambda p: tree_sliced_sobolev_sphere(X, Y, a, b, trees=spherical, p=p, delta=DELTA),
        )
    structure = "chain" if kind == "chain" else "concurrent"
    trees = sample_tree_system(b @ Y, n_trees, N_LINES, structure=structure, seed=rng)
    return (
        weighed_clouds(X, Y, a, b),
        trees,
        lambda p: tree_sliced_sobolev(X, Y, a, b, trees=trees, p=p, delta=DELTA),
    )


def chain_errors(n: int, *, n_trees: int, seed: int, orders: Iterable[float] = (1.0, 1.5, 2.0)) -> list[Row]:
    """Relative errors of our chains and of the published formula, against dual functions on the explicit trees."""
    clouds, trees, _ = _problem("chain", n, n, n_trees, seed)
    rows = []
    for splitting, delta in (("distance", DELTA), ("uniform", 0.0)):
        for p in orders:
            exact = dual_certificate(clouds.X_s, clouds.X_t, clouds.a, clouds.b, trees=trees, p=p, delta=delta).bound
            ours = tree_sliced_sobolev(clouds.X_s, clouds.X_t, clouds.a, clouds.b, trees=trees, p=p, delta=delta)
            published = published_chain_distance(clouds, trees, p, delta)
            rows.append(
                {"splitting": splitting, "p": p, "ours": abs(ours / exact - 1), "published": abs(published / exact - 1)}
            )
    return rows


def published_chain_distance(clouds: Clouds, trees: TreeSystem, p: float, delta: float) -> float:
    """Return what the code published with the paper computes for chains. It is not the distance if p > 1.

    It takes the length ω below an edge from the edge's own line alone, without the lines that hang below; right of the
    root it counts from the edge's near end; and a mark at 1000, which stands for the joint missing on the last line,
    counts as part of it. It is here to be compared with.
    """
    points, weight = np.concatenate([clouds.X_s, clouds.X_t]), np.concatenate([clouds.a, -clouds.b])
    joints = np.zeros((trees.n_trees, 0)) if trees.joints is None else trees.joints
    total = 0.0
    for tree in range(trees.n_trees):
        starts = np.broadcast_to(trees.starts(slice(tree, tree + 1))[0], trees.directions[tree].shape)
        masses, hanging = trees.shares(points, tree, delta) * weight, 0.0
        for line in reversed(range(len(starts))):
            at = (points - starts[line]) @ trees.directions[tree, line]
            joint = joints[tree, line] if line < joints.shape[1] else 1e3
            order = np.argsort(at)
            ends = np.sort(np.concatenate([at, [0.0, joint]]))
            near, far = ends[:-1], ends[1:]
            left_of = np.append(0.0, np.cumsum(masses[line][order]))
            left = left_of[np.searchsorted(at[order], near, side="right")] + hanging * (joint <= near)
            right = left_of[-1] - left_of[np.searchsorted(at[order], far, side="left")] + hanging * (joint >= far)
            omega = np.where(near > 0, ends[-1] - near, near - ends[0])
            total += np.sum(naive_edge_weights(omega, far - near, p) * np.abs(np.where(near >= 0, right, left)) ** p)
            hanging += left_of[-1]
    return float((total / trees.n_trees) ** (1 / p))


def naive_edge_weights(below: np.ndarray, length: np.ndarray, p: float) -> np.ndarray:
    """Edge weights β by the subtraction that defines them, in the precision of their arguments."""
    if p == 2:
        return np.log(1 + length / (1 + below))
    return ((1 + below + length) ** (2 - p) - (1 + below) ** (2 - p)) / (2 - p)


def single_precision_errors(n: int, *, n_trees: int, seed: int, orders: Iterable[float] = (1.5, 2.0)) -> list[Row]:
    """Relative errors of the distance in single precision, ours and with naive edge weights, against double."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, 3)).astype(np.float32), (rng.standard_normal((n, 3)) + 0.1).astype(np.float32)
    trees = sample_tree_system(Y.mean(axis=0), n_trees, N_LINES, seed=rng)
    rows = []
    for p in orders:
        exact = tree_sliced_sobolev(X.astype(np.float64), Y.astype(np.float64), trees=trees, p=p, delta=DELTA)
        ours = tree_sliced_sobolev(X, Y, trees=trees, p=p, delta=DELTA)
        naive = _naive_distance(X, Y, trees, p)
        rows.append({"points": n, "p": p, "ours": abs(ours / exact - 1), "naive": abs(naive / exact - 1)})
    return rows


def _naive_distance(X: np.ndarray, Y: np.ndarray, trees: TreeSystem, p: float) -> float:
    """TS_p of equally weighted clouds of one size in their own precision, sums and edge weights included."""
    points, dtype = np.concatenate([X, Y]), X.dtype
    signs = np.repeat(np.array([1, -1], dtype) / dtype.type(len(X)), len(X))
    total = 0.0
    for tree in range(trees.n_trees):
        masses = trees.shares(points, tree, DELTA).astype(dtype) * signs
        for line, direction in enumerate(trees.directions[tree].astype(dtype)):
            at = (points - trees.roots[tree].astype(dtype)) @ direction
            for side in (at >= 0, at < 0):
                order = np.argsort(np.abs(at[side]))
                distance, mass = np.abs(at[side])[order], masses[line][side][order]
                if len(distance):
                    difference = np.cumsum(mass[::-1])[::-1]
                    beta = naive_edge_weights(distance[-1] - distance, np.diff(distance, prepend=dtype.type(0)), p)
                    total += float(np.sum(beta * np.abs(difference) ** dtype.type(p)))
    return (total / trees.n_trees) ** (1 / p)


def speeds(
    n: int, d: int, *, projections: int = 100, repeats: int = 3, backward: bool = True, precision: str = "float32"
) -> Row:
    """Processor seconds of ours and of POT's sliced Wasserstein distance, medians of repeats run by turns.

    One thread; equal numbers of projections; NumPy arrays forward, PyTorch tensors forward and backward.
    """
    import torch
    from ot import sliced_wasserstein_distance

    sliced: Callable[..., Any] = sliced_wasserstein_distance
    rng = np.random.default_rng(0)
    X, Y = (rng.standard_normal((n, d)).astype(precision) for _ in range(2))
    x, y = torch.from_numpy(X).requires_grad_(), torch.from_numpy(Y)
    ours: Row = {"n_trees": projections // N_LINES, "n_lines": N_LINES, "seed": 0}
    theirs: Row = {"n_projections": projections, "seed": 0}
    runs: dict[str, Callable[[], Any]] = {
        "ours": lambda: tree_sliced_sobolev(X, Y, **ours),
        "POT": lambda: sliced(X, Y, **theirs),
    }
    if backward:
        runs["ours, backward too"] = lambda: tree_sliced_sobolev(x, y, **ours).backward()
        runs["POT, backward too"] = lambda: sliced(x, y, **theirs).backward()
    taken: dict[str, list[float]] = {name: [] for name in runs}
    tree_sliced_sobolev(X[:8], Y[:8], n_trees=1)  # compiles
    tree_sliced_sobolev(x[:8], y[:8], n_trees=1).backward()
    with one_thread():
        for _ in range(repeats):
            for name, run in runs.items():
                began = time.process_time()
                run()
                taken[name].append(time.process_time() - began)
    row: Row = {"points": n, "d": d} | {name: median(times) for name, times in taken.items()}
    row["ratio"] = row["ours"] / row["POT"]
    if backward:
        row["ratio, backward too"] = row["ours, backward too"] / row["POT, backward too"]
    return row


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch use one thread within the block."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def extra_memory(method: str, n: int, d: int = 3, *, projections: int = 100) -> int:
    """Most bytes that a call needs beyond what its process held before, in a process of its own.

    Parameters
    ----------
    method : "ours" or "POT", NumPy arrays in single precision forward; with " backward" behind it, PyTorch tensors
        forward and backward.
    n, d, projections : size of both clouds, their dimension, and the number of projections.
    """
    call = f"print_extra_memory({method!r}, {n}, {d}, {projections})"
    script = f"from firstlight.transport.pot_comparison import print_extra_memory; {call}"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)


def print_extra_memory(method: str, n: int, d: int, projections: int) -> None:
    """Make one call of `extra_memory` in this process, and print what it needed."""
    rng = np.random.default_rng(0)
    X, Y = (rng.standard_normal((n, d), dtype=np.float32) for _ in range(2))
    run = _memory_probe(method, projections)
    run(X[:50], Y[:50])  # imports and compiles
    before = _bytes_held("VmRSS")
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak of imports
    run(X, Y)
    print(json.dumps(max(0, _bytes_held("VmHWM") - before)))


def _memory_probe(method: str, projections: int) -> Callable[[np.ndarray, np.ndarray], Any]:
    """Return the call to measure."""
    peer, _, backward = method.partition(" ")
    distance: Any
    if peer == "ours":
        distance = partial(tree_sliced_sobolev, n_trees=projections // N_LINES, n_lines=N_LINES, seed=0)
    else:
        import ot

        distance = partial(ot.sliced_wasserstein_distance, n_projections=projections, seed=0)
    if not backward:
        return distance
    import torch

    torch.set_num_threads(1)
    return lambda x, y: distance(torch.from_numpy(x).requires_grad_(), torch.from_numpy(y)).backward()


def _bytes_held(what: str) -> int:
    """Return the memory of this process now (VmRSS) or at most (VmHWM), from Linux's account of it.

    Raises
    ------
    OSError
        Where there is no /proc.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.partition(f"{what}:")[2].split()[0])
