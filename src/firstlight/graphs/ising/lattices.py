"""Where the spins stand: distances between sites, nearest neighbours, and hops along the graph.

Lattices are grids of cells. A displacement between two cells is kept on a grid of its own, in the order of the discrete
Fourier transform (0, 1, …, -2, -1 along each axis), which is the order in which convolutions want it.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
from jaxtyping import Float64, Int64
from scipy import sparse
from scipy.fft import next_fast_len
from scipy.sparse.csgraph import shortest_path

# Primitive vectors of the triangular lattice as rows; all six neighbours are at distance 1.
TRIANGULAR = np.array([[1.0, 0.0], [0.5, np.sqrt(3) / 2]])


def displacement_shape(shape: Sequence[int], periodic: bool) -> tuple[int, ...]:
    """Shape of the grid of displacements: the lattice itself if periodic, else room for both signs.

    Open lattices get lengths that are quick to transform, so that convolutions padded to them do not wrap around.
    """
    return tuple(shape) if periodic else tuple(int(next_fast_len(2 * length - 1, real=True) or 0) for length in shape)


def displacements(shape: Sequence[int], periodic: bool) -> Int64[np.ndarray, "displacements d"]:
    """All displacements in the order of their grid, signed: on a torus the shortest along each axis."""
    axes = [np.rint(np.fft.fftfreq(length, 1 / length)).astype(int) for length in displacement_shape(shape, periodic)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(shape))


def displacement_lengths(shape: Sequence[int], lattice: str, periodic: bool) -> Float64[np.ndarray, " displacements"]:
    """Euclidean lengths of all displacements, in lattice spacings; on a torus those of the nearest image.

    Displacements that do not occur in an open lattice have infinite length.
    """
    steps = displacements(shape, periodic)
    basis = TRIANGULAR if lattice == "triangular" else np.eye(len(shape))
    # Along orthogonal axes the signed displacement already is the nearest image; in a rhombus a next one may be.
    images = product((-1, 0, 1), repeat=len(shape)) if periodic and lattice == "triangular" else [(0,) * len(shape)]
    lengths = np.min([np.linalg.norm((steps + np.multiply(image, shape)) @ basis, axis=1) for image in images], axis=0)
    if not periodic:
        lengths[(np.abs(steps) >= shape).any(axis=1)] = np.inf
    return lengths


def lattice_edges(shape: Sequence[int], lattice: str, periodic: bool) -> Int64[np.ndarray, "2 edges"]:
    """Nearest neighbours as directed pairs of cells, both ways, sorted, each once, never a cell with itself."""
    steps = [*np.eye(len(shape), dtype=int)] + ([np.array([1, -1])] if lattice == "triangular" else [])
    cells = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
    pairs = []
    for step in steps:
        ends = cells + step
        inside = slice(None) if periodic else ((ends >= 0) & (ends < shape)).all(axis=1)
        starts, ends = (np.ravel_multi_index(tuple(at[inside].T), shape, mode="wrap") for at in (cells, ends))
        pairs += [np.stack([starts, ends]), np.stack([ends, starts])]
    edges = np.unique(np.concatenate(pairs, axis=1), axis=1)
    return edges[:, edges[0] != edges[1]]


def kept_edges(edges: Int64[np.ndarray, "2 edges"], kept: np.ndarray) -> Int64[np.ndarray, "2 kept"]:
    """Edges between the cells of a mask, renumbered by their order among these cells."""
    number = np.cumsum(kept) - 1
    return number[edges[:, kept[edges].all(axis=0)]]


def hops(
    edges: Int64[np.ndarray, "2 edges"], n_sites: int, start: int | Int64[np.ndarray, " starts"] | None = None
) -> Int64[np.ndarray, "..."]:
    """Fewest edges from one site, some or all of them to every site; `n_sites` where no path leads."""
    graph = sparse.csr_array((np.ones(edges.shape[1]), tuple(edges)), shape=(n_sites, n_sites))
    lengths = shortest_path(graph, method="D", unweighted=True, indices=start)
    return np.where(np.isinf(lengths), n_sites, lengths).astype(np.int64)
