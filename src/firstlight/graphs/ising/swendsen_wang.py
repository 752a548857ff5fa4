"""The cluster algorithm of Swendsen and Wang for long-range couplings, exact and O(N) per sweep.

A sweep joins the spins of satisfied bonds (J_ij s_i s_j > 0) that `bond_sampler` draws into clusters, then turns every
cluster over with probability ½ (Swendsen & Wang 1987). Its stationary distribution is exactly exp(-H/T) at any
temperature. With couplings of both signs clusters no longer follow the physics: they stay exact but freeze. There every
sweep also visits the spins one by one (Metropolis et al. 1953), O(N²), which is as exact.
"""

import numpy as np
from jaxtyping import Float64, Int8, Int32, Int64, UInt64

from firstlight.compiled import compiled
from firstlight.errors import InvalidInput
from firstlight.graphs.ising.bond_sampler import LatticeBonds, lattice_bonds, pair_bonds
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.random_stream import next_uniform, next_word, random_stream


class SwendsenWang:
    """A Markov chain of spin configurations of a model at a temperature.

    Parameters
    ----------
    model : the spins and their couplings.
    temperature : in units of the nearest-neighbour coupling, k_B = 1.
    seed : stream of random numbers of this chain.

    Attributes
    ----------
    spins : the present configuration; at first every spin is random.

    Raises
    ------
    InvalidInput
        If the temperature is not positive or too low for clusters to be drawn.
    """

    def __init__(self, model: PowerLawIsing, temperature: float | int, seed: np.random.SeedSequence | int) -> None:
        if not 0 < temperature < np.inf:
            raise InvalidInput(f"the temperature must be positive and finite, got {temperature}")
        self.model = model
        self.temperature = float(temperature)
        self.bonds = (lattice_bonds if model.matrix is None else pair_bonds)(model, self.temperature)
        self._stream = random_stream(seed)
        # A vacant cell has the spin 0, which joins nothing; with a matrix there are sites only, and no cells.
        carries = model.occupied.ravel() if model.matrix is None else np.ones(model.n_sites, bool)
        self._sites = np.flatnonzero(carries)
        self._cells = np.zeros(len(carries), np.int8)
        self._cells[carries] = 1
        self._parent = np.empty(len(carries), np.int32)
        self._turn = np.empty(len(carries), np.int8)
        # Every spin a cluster of its own, turned over by chance.
        self._parent[:] = np.arange(len(carries))
        _turn_clusters(self._cells, self._parent, self._turn, self._stream)

    @property
    def spins(self) -> Int8[np.ndarray, " n"]:
        """A copy of the present configuration."""
        return self._cells[self._sites]

    def sweep(self, n: int = 1) -> Int64[np.ndarray, " sweeps"]:
        """Make `n` sweeps and return the sum of all spins after each."""
        sums = np.empty(n, np.int64)
        work = (self._cells, self._parent, self._turn, self._stream, sums)
        if isinstance(self.bonds, LatticeBonds):
            _sweep_lattice(*self.bonds, *work)
        else:
            mixed = self.model.couplings() if (self.bonds.sign < 0).any() else np.empty((0, 0))
            _sweep_pairs(*self.bonds, mixed, self.temperature, *work)
        return sums


@compiled
def _sweep_lattice(
    shape: tuple[int, int, int],
    periodic: bool,
    count_distribution: Float64[np.ndarray, " counts"],
    steps: Int32[np.ndarray, "displacements 3"],
    threshold: Float64[np.ndarray, " displacements"],
    alias: Int32[np.ndarray, " displacements"],
    spins: Int8[np.ndarray, " cells"],
    parent: Int32[np.ndarray, " cells"],
    turn: Int8[np.ndarray, " cells"],
    stream: UInt64[np.ndarray, " 4"],
    sums: Int64[np.ndarray, " sweeps"],
) -> None:
    """Sweep a lattice row by row, so that memory is walked in order; hardly a branch is left to chance."""
    layers, rows, columns = shape
    joined = np.empty((len(count_distribution), 2), np.int32)
    for sweep in range(len(sums)):
        for cell in range(len(spins)):
            parent[cell] = cell
        first = 0  # cell of the row
        for x in range(layers):
            for y in range(rows):
                n_joined = 0
                for _ in range(np.searchsorted(count_distribution, next_uniform(stream), side="right")):
                    z = int(next_uniform(stream) * columns)
                    step = int(next_uniform(stream) * len(threshold))
                    replacement = alias[step]
                    step = replacement if next_uniform(stream) >= threshold[step] else step
                    to_x, to_y, to_z = x + steps[step, 0], y + steps[step, 1], z + steps[step, 2]
                    if periodic:
                        to_x, to_y, to_z = _wrapped(to_x, layers), _wrapped(to_y, rows), _wrapped(to_z, columns)
                    elif not (0 <= to_x < layers and 0 <= to_y < rows and 0 <= to_z < columns):
                        continue
                    other = (to_x * rows + to_y) * columns + to_z
                    # Written in any case, kept if the bond is satisfied. Two vacant cells may join, which does nothing.
                    joined[n_joined, 0] = first + z
                    joined[n_joined, 1] = other
                    n_joined += spins[first + z] == spins[other]
                for k in range(n_joined):
                    _join(parent, joined[k, 0], joined[k, 1])
                first += columns
        sums[sweep] = _turn_clusters(spins, parent, turn, stream)


@compiled
def _sweep_pairs(
    mean_count: float,
    pairs: Int32[np.ndarray, "pairs 2"],
    sign: Int32[np.ndarray, " pairs"],
    threshold: Float64[np.ndarray, " pairs"],
    alias: Int32[np.ndarray, " pairs"],
    mixed: Float64[np.ndarray, "n n"],
    temperature: float,
    spins: Int8[np.ndarray, " sites"],
    parent: Int32[np.ndarray, " sites"],
    turn: Int8[np.ndarray, " sites"],
    stream: UInt64[np.ndarray, " 4"],
    sums: Int64[np.ndarray, " sweeps"],
) -> None:
    """Sweep spins with any couplings; those of mixed sign are also given as a matrix, which else is empty."""
    for sweep in range(len(sums)):
        for site in range(len(spins)):
            parent[site] = site
        clock = -np.log1p(-next_uniform(stream))
        while clock < mean_count:  # between events of a Poisson process there are exponential times
            clock -= np.log1p(-next_uniform(stream))
            pair = int(next_uniform(stream) * len(threshold))
            if next_uniform(stream) >= threshold[pair]:
                pair = alias[pair]
            site, other = pairs[pair]
            if spins[site] * spins[other] == sign[pair]:
                _join(parent, site, other)
        sums[sweep] = _turn_clusters(spins, parent, turn, stream)
        if len(mixed):
            sums[sweep] = _visit_spins(spins, mixed, temperature, stream)


@compiled
def _visit_spins(
    spins: Int8[np.ndarray, " sites"],
    couplings: Float64[np.ndarray, "n n"],
    temperature: float,
    stream: UInt64[np.ndarray, " 4"],
) -> int:
    """Turn single spins, one after the other, by Metropolis' rule, and return the sum of all."""
    total = 0
    for site in range(len(spins)):
        field = 0.0
        for other in range(len(spins)):
            field += couplings[site, other] * spins[other]
        if next_uniform(stream) < np.exp(-2 * spins[site] * field / temperature):
            spins[site] = -spins[site]
        total += spins[site]
    return total


@compiled
def _wrapped(place: int, length: int) -> int:
    """Bring a place less than one length outside back onto a periodic axis; much quicker than a remainder."""
    place = place - length if place >= length else place
    return place + length if place < 0 else place


@compiled
def _root(parent: Int32[np.ndarray, " sites"], site: int) -> int:
    """Representative of a site's cluster; halves the path to it."""
    while parent[site] != site:
        parent[site] = parent[parent[site]]
        site = parent[site]
    return site


@compiled
def _join(parent: Int32[np.ndarray, " sites"], site: int, other: int) -> None:
    """Unite two clusters under the smaller of their representatives."""
    site, other = _root(parent, site), _root(parent, other)
    if site < other:
        parent[other] = site
    else:
        parent[site] = other


@compiled
def _turn_clusters(
    spins: Int8[np.ndarray, " sites"],
    parent: Int32[np.ndarray, " sites"],
    turn: Int8[np.ndarray, " sites"],
    stream: UInt64[np.ndarray, " 4"],
) -> int:
    """Turn every cluster over with probability ½ and return the sum of all spins."""
    total = 0
    bits = np.uint64(0)
    for site in range(len(spins)):
        if site % 64 == 0:
            bits = next_word(stream)
        turn[site] = 1 - 2 * np.int8(bits & np.uint64(1))
        bits >>= np.uint64(1)
        # A representative is the first of its cluster: parents come before their children and are done already.
        root = parent[parent[site]]
        parent[site] = root
        spins[site] *= turn[root]
        total += spins[site]
    return total
