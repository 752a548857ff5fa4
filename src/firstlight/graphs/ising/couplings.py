"""The long-range Ising model: H = -½ Σ_{i≠j} J_ij s_i s_j with J_ij = r_ij^-(d+σ).

On lattices the local field h_i = Σ_j J_ij s_j is a convolution, computed for all sites at once by fast Fourier
transform. A vacant cell carries the spin 0, and an open lattice is padded with vacant cells against wrapping round.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float64, Int64, Num
from numpy import fft

from firstlight.errors import InvalidInput
from firstlight.graphs.ising import lattices

CHUNK = 2**20  # spins whose fields are computed at a time, which bounds the memory for it
MOST_DENSE = 20_000  # sites up to which a dense matrix of couplings (3.2 GB) is made

Target = Literal["lrim", "delta_e", "field"]
TARGETS = {
    "lrim": "-s h, the benchmark's label",
    "delta_e": "2 s h, the energy that flipping the spin costs",
    "field": "h, the local field",
}


class PowerLawIsing:
    """Ising spins s_i = ±1 coupled by J_ij = r_ij^-(d+σ), with energy -½ Σ_{i≠j} J_ij s_i s_j.

    Distances are Euclidean, in lattice spacings; on periodic lattices r_ij is that to the nearest image (no sum over
    images), as in the LRIM benchmark, which is ``PowerLawIsing((L, L), sigma)``. Energies and temperatures are in units
    of the nearest-neighbour coupling, with k_B = 1. Sites are numbered row by row. Scattered sites: `from_positions`.

    Parameters
    ----------
    shape : sites along each of d = 1, 2 or 3 axes, at least 2 each.
    sigma : exponent of decay beyond the dimension; positive, else the energy per site grows with the size.
    lattice : ``"hypercubic"`` (chain, square, simple cubic) or ``"triangular"`` (d = 2; a rhombus).
    boundary : ``"periodic"`` or ``"open"``.
    occupied : mask of the cells that carry a spin, of that shape; all if not given. Vacant cells are no sites.
    couplings : symmetric matrix that replaces the J_ij, of either sign, as for spin glasses. Fields are then sums.
    allow_nonextensive : accept sigma ≤ 0.

    Attributes
    ----------
    n_sites : number of spins N.

    Raises
    ------
    InvalidInput
        If the parameters do not describe a model.

    Examples
    --------
    >>> model = PowerLawIsing((16, 16), sigma=0.6)
    >>> round(float(model.energy(np.ones(256))), 6)
    -1322.911158
    """

    def __init__(
        self,
        shape: Sequence[int],
        sigma: float | int,
        *,
        lattice: Literal["hypercubic", "triangular"] = "hypercubic",
        boundary: Literal["periodic", "open"] = "periodic",
        occupied: np.ndarray | None = None,
        couplings: Num[np.ndarray, "n n"] | None = None,
        allow_nonextensive: bool = False,
    ) -> None:
        self.shape = _checked_shape(shape, lattice, boundary)
        self.sigma = _checked_sigma(sigma, allow_nonextensive)
        self.lattice, self.boundary = lattice, boundary
        self.occupied = np.ones(self.shape, bool) if occupied is None else np.array(occupied)
        if self.occupied.shape != self.shape or self.occupied.dtype != bool or self.occupied.sum() < 2:
            raise InvalidInput(
                f"occupied must be a mask of shape {self.shape} with at least two cells that are True, got shape "
                f"{self.occupied.shape} of {self.occupied.dtype} with {np.count_nonzero(self.occupied)} of them"
            )
        self.n_sites = int(self.occupied.sum())
        self.matrix = None if couplings is None else _checked_matrix(couplings, self.n_sites)

    @staticmethod
    def from_positions(
        positions: Float64[np.ndarray, "n d"],
        sigma: float | int,
        *,
        radius: float | int,
        box: Sequence[float | int] | None = None,
        allow_nonextensive: bool = False,
    ) -> "PowerLawIsing":
        """Spins at scattered points, with couplings r_ij^-(d+σ); a random geometric graph.

        Parameters
        ----------
        positions : coordinates of the sites.
        sigma : as for lattices.
        radius : points up to this distance apart are joined by an edge; couplings reach all.
        box : edges of a periodic box from the origin, for distances to the nearest image.
        allow_nonextensive : accept sigma ≤ 0.
        """
        n, d = positions.shape
        if n < 2 or not np.isfinite(positions).all() or not radius > 0:
            raise InvalidInput(f"expected at least two points, finite, and a positive radius, got {n} and {radius}")
        if n > MOST_DENSE:
            raise InvalidInput(f"couplings of scattered points are kept as a matrix, too large for {n:,} points")
        steps = positions[:, None] - positions
        if box is not None:
            steps -= np.multiply(box, np.rint(steps / np.asarray(box)))
        lengths = np.linalg.norm(steps, axis=2)
        np.fill_diagonal(lengths, np.inf)
        if not lengths.all():
            raise InvalidInput("two points coincide, which makes their coupling infinite; move or drop one of them")
        model = PowerLawIsing(
            (n,), sigma, couplings=lengths ** -(d + float(sigma)), allow_nonextensive=allow_nonextensive
        )
        model.edge_index = np.stack(np.nonzero(lengths <= radius))
        return model

    @cached_property
    def edge_index(self) -> Int64[np.ndarray, "2 edges"]:
        """Nearest neighbours as directed pairs of sites, both ways, sorted: the graph that a network is given."""
        edges = lattices.lattice_edges(self.shape, self.lattice, self.boundary == "periodic")
        edges = lattices.kept_edges(edges, self.occupied.ravel())
        edges.flags.writeable = False  # it is shared
        return edges

    def hop_distances(self, site: int = 0) -> Int64[np.ndarray, " n"]:
        """Fewest edges from a site to every site; `n_sites` where no path leads."""
        return lattices.hops(self.edge_index, self.n_sites, site)

    @property
    def translation_invariant(self) -> bool:
        """Whether all sites see the same: periodic, all cells occupied, no couplings of one's own."""
        return self.matrix is None and self.boundary == "periodic" and bool(self.occupied.all())

    @cached_property
    def kernel(self) -> Float64[np.ndarray, " displacements"]:
        """Couplings by displacement, in the order of `lattices.displacements`; 0 for none."""
        if self.matrix is not None:
            raise InvalidInput("couplings given as a matrix do not depend on the displacement alone")
        lengths = lattices.displacement_lengths(self.shape, self.lattice, self.boundary == "periodic")
        with np.errstate(divide="ignore"):
            return np.where(lengths > 0, lengths ** -(len(self.shape) + self.sigma), 0.0)

    def couplings(self) -> Float64[np.ndarray, "n n"]:
        """All J_ij as a dense matrix with zero diagonal."""
        if self.matrix is not None:
            return self.matrix
        if self.n_sites > MOST_DENSE:
            raise InvalidInput(f"the couplings of {self.n_sites:,} sites are too many for a matrix; use .kernel")
        return np.stack([self.coupling_row(site) for site in range(self.n_sites)])

    def coupling_row(self, site: int) -> Float64[np.ndarray, " n"]:
        """Couplings J_ij of one site to every site."""
        if self.matrix is not None:
            return self.matrix[site]
        cells = np.argwhere(self.occupied)
        padded = lattices.displacement_shape(self.shape, self.boundary == "periodic")
        steps = np.ravel_multi_index(tuple((cells - cells[site]).T), padded, mode="wrap")
        return self.kernel[steps]

    def local_field(
        self, spins: Num[np.ndarray, "..."], method: Literal["fft", "direct"] | None = None
    ) -> Float64[np.ndarray, "..."]:
        """Local field h_i = Σ_j J_ij s_j of every site.

        Parameters
        ----------
        spins : ±1, one configuration or many along the leading axes; sites along the last axis or, when every cell is
            occupied, along as many last axes as the lattice has.
        method : ``"fft"``, O(N log N), unless there is a matrix of couplings; ``"direct"`` sums, O(N²).

        Returns
        -------
        The fields, in the shape of the spins.
        """
        flat = self.flattened(spins)
        method = method or ("fft" if self.matrix is None else "direct")
        if method not in ("fft", "direct"):
            raise InvalidInput(f"expected the method 'fft' or 'direct', got {method!r}")
        if method == "fft" and self.matrix is not None:
            raise InvalidInput("method='fft' needs couplings that depend on the displacement alone; use 'direct'")
        # Without a matrix the rows are made one by one, so that direct sums need no N² memory.
        field = self._convolution if method == "fft" else self._direct_sum
        rows, found = flat.reshape(-1, self.n_sites), np.empty((flat.size // self.n_sites, self.n_sites))
        step = max(1, CHUNK // self.n_sites)
        for first in range(0, len(rows), step):
            found[first : first + step] = field(rows[first : first + step].astype(np.float64))
        return found.reshape(np.shape(spins))

    def energy(self, spins: Num[np.ndarray, "..."]) -> Float64[np.ndarray, "..."]:
        """Energy -½ Σ_{i≠j} J_ij s_i s_j of every configuration, every pair counted once."""
        flat = self.flattened(spins)
        rows = flat.reshape(-1, self.n_sites)
        step = max(1, CHUNK // self.n_sites)
        chunks = (rows[first : first + step] for first in range(0, len(rows), step))  # all fields at once may be large
        energies = [-0.5 * np.einsum("ni,ni->n", chunk, self.local_field(chunk)) for chunk in chunks]
        return np.concatenate([*energies, np.empty(0)]).reshape(flat.shape[:-1])

    def flip_cost(self, spins: Num[np.ndarray, "..."]) -> Float64[np.ndarray, "..."]:
        """Energy 2 s_i h_i that flipping each spin alone would add."""
        return self.target(spins, "delta_e")

    def target(self, spins: Num[np.ndarray, "..."], kind: Target = "lrim") -> Float64[np.ndarray, "..."]:
        """Label of every site, in the shape of the spins.

        Parameters
        ----------
        spins : as for `local_field`.
        kind : ``"lrim"`` for the benchmark's label y = -s h, half the sum of which is the energy; ``"delta_e"`` for the
            energy of flipping the spin, which is 2 s h = -2 y; ``"field"`` for h.
        """
        if kind not in TARGETS:
            raise InvalidInput(f"expected a target of {', '.join(TARGETS)}, got {kind!r}")
        field = self.local_field(spins)
        return {"lrim": -1.0, "delta_e": 2.0}[kind] * np.asarray(spins) * field if kind != "field" else field

    def flattened(self, spins: Num[np.ndarray, "..."]) -> Num[np.ndarray, "... n"]:
        """Spins with the sites along one last axis.

        Raises
        ------
        InvalidInput
            If they are not ±1 or do not fit the lattice.
        """
        spins, d = np.asarray(spins), len(self.shape)
        if spins.shape[-d:] == self.shape and self.occupied.all():
            spins = spins.reshape(*spins.shape[:-d], self.n_sites)
        if spins.ndim == 0 or spins.shape[-1] != self.n_sites:
            raise InvalidInput(f"expected spins of {self.n_sites} sites along the last axis, got shape {spins.shape}")
        if not (np.abs(spins) == 1).all():
            strange = np.unique(spins[np.abs(spins) != 1])[:3].tolist()
            raise InvalidInput(f"expected spins of ±1, found values {strange}; map spins of 0 and 1 by 2*s - 1")
        return spins

    def _convolution(self, spins: Float64[np.ndarray, "configurations n"]) -> Float64[np.ndarray, "configurations n"]:
        cells = np.zeros((len(spins), *self.shape))
        cells[:, self.occupied] = spins
        axes, padded = tuple(range(1, cells.ndim)), lattices.displacement_shape(self.shape, self.boundary == "periodic")
        waves = fft.rfftn(cells, padded, axes=axes)
        waves *= self._kernel_waves
        field = fft.irfftn(waves, padded, axes=axes)
        return field[:, *(slice(length) for length in self.shape)][:, self.occupied]

    def _direct_sum(self, spins: Float64[np.ndarray, "configurations n"]) -> Float64[np.ndarray, "configurations n"]:
        if self.matrix is not None:
            return spins @ self.matrix
        return np.stack([spins @ self.coupling_row(site) for site in range(self.n_sites)], axis=1)

    @cached_property
    def _kernel_waves(self) -> Float64[np.ndarray, "..."]:
        padded = lattices.displacement_shape(self.shape, self.boundary == "periodic")
        return fft.rfftn(self.kernel.reshape(padded)).real  # an even function has a real transform

    def __repr__(self) -> str:
        kind = "" if self.lattice == "hypercubic" else f", lattice={self.lattice!r}"
        kind += "" if self.boundary == "periodic" else f", boundary={self.boundary!r}"
        kind += "" if self.occupied.all() else ", occupied=…"
        kind += "" if self.matrix is None else ", couplings=…"
        return f"PowerLawIsing({self.shape}, {self.sigma:g}{kind})"


def _checked_shape(shape: Sequence[int], lattice: str, boundary: str) -> tuple[int, ...]:
    try:
        lengths = tuple(int(length) for length in shape)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"expected a shape such as (16, 16), got {shape!r}") from error
    if not 1 <= len(lengths) <= 3 or min(lengths) < 2 or lengths != tuple(shape):
        raise InvalidInput(f"expected a shape of one to three whole numbers, each at least 2, got {tuple(shape)}")
    if lattice not in ("hypercubic", "triangular") or boundary not in ("periodic", "open"):
        raise InvalidInput(
            "expected a lattice that is hypercubic or triangular and a boundary that is periodic or open, got "
            f"{lattice!r} and {boundary!r}"
        )
    if lattice == "triangular" and (len(lengths) != 2 or (boundary == "periodic" and len(set(lengths)) > 1)):
        raise InvalidInput(f"a triangular lattice has two axes, and equal ones if it is periodic, got shape {lengths}")
    return lengths


def _checked_sigma(sigma: float, allow_nonextensive: bool) -> float:
    if not np.isfinite(sigma) or (sigma <= 0 and not allow_nonextensive):
        raise InvalidInput(
            f"sigma must be positive, got {sigma}: at sigma ≤ 0 the energy per site grows with the size; "
            "pass allow_nonextensive=True to accept that"
        )
    return float(sigma)


def _checked_matrix(couplings: Num[np.ndarray, "n n"], n_sites: int) -> Float64[np.ndarray, "n n"]:
    matrix = np.array(couplings, np.float64)
    if matrix.shape != (n_sites, n_sites):
        raise InvalidInput(f"expected couplings of shape {(n_sites, n_sites)}, got {matrix.shape}")
    if not np.isfinite(matrix).all() or not (matrix == matrix.T).all() or matrix.diagonal().any():
        raise InvalidInput(
            "couplings must be finite and symmetric with a zero diagonal; symmetrise by (J + J.T) / 2 and "
            "np.fill_diagonal(J, 0)"
        )
    matrix.flags.writeable = False
    return matrix
