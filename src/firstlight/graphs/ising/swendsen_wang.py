"""The cluster algorithm of Swendsen and Wang for long-range couplings, exact and O(N) per sweep.

A sweep joins the spins of satisfied bonds (J_ij s_i s_j > 0) that `bond_sampler` draws into clusters, then turns every
cluster over with probability ½ (Swendsen & Wang 1987). Its stationary distribution is exactly exp(-H/T) at any
temperature. With couplings of both signs it stays exact, but clusters no longer follow the physics and it slows down.
"""

import numpy as np
from jaxtyping import Float64, Int8, Int32, Int64

from firstlight.compiled import compiled
from firstlight.errors import InvalidInput
from firstlight.graphs.ising.bond_sampler import LatticeBonds, PairBonds, lattice_bonds, pair_bonds
from firstlight.graphs.ising.couplings import PowerLawIsing


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
        self.bonds = (lattice_bonds if model.matrix is None else pair_bonds)(model, float(temperature))
        self._generator = np.random.default_rng(seed)
        # A vacant cell has the spin 0, which joins nothing; with a matrix there are sites only, and no cells.
        carries = model.occupied.ravel() if model.matrix is None else np.ones(model.n_sites, bool)
        self._sites = np.flatnonzero(carries)
        self._cells = np.zeros(len(carries), np.int8)
        self._cells[carries] = 2 * self._generator.integers(0, 2, model.n_sites) - 1
        self._parent = np.empty(len(carries), np.int32)
        self._turn = np.empty(len(carries), np.int8)

    @property
    def spins(self) -> Int8[np.ndarray, " n"]:
        """A copy of the present configuration."""
        return self._cells[self._sites]

    def sweep(self, n: int = 1) -> Int64[np.ndarray, " sweeps"]:
        """Make `n` sweeps and return the sum of all spins after each."""
        sums = np.empty(n, np.int64)
        work = (self._cells, self._parent, self._turn, self._generator, sums)
        if isinstance(self.bonds, LatticeBonds):
            _sweep_lattice(*self.bonds, *work)
        else:
            _sweep_pairs(*self.bonds, *work)
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
    generator: np.random.Generator,
    sums: Int64[np.ndarray, " sweeps"],
) -> None:
    """Sweep a lattice: the cells in order, each with its proposals, so that memory is walked in order too."""
    layers, rows, columns = shape
    for sweep in range(len(sums)):
        for cell in range(len(spins)):
            parent[cell] = cell
        cell = -1
        for x in range(layers):
            for y in range(rows):
                for z in range(columns):
                    cell += 1
                    if spins[cell] == 0:
                        continue
                    chance = generator.random()
                    count = 0
                    while chance >= count_distribution[count]:
                        count += 1
                        step = int(generator.random() * len(threshold))
                        if generator.random() >= threshold[step]:
                            step = alias[step]
                        to_x, to_y, to_z = x + steps[step, 0], y + steps[step, 1], z + steps[step, 2]
                        if periodic:
                            to_x = _wrapped(to_x, layers)
                            to_y = _wrapped(to_y, rows)
                            to_z = _wrapped(to_z, columns)
                        elif not (0 <= to_x < layers and 0 <= to_y < rows and 0 <= to_z < columns):
                            continue
                        other = (to_x * rows + to_y) * columns + to_z
                        if spins[cell] == spins[other]:
                            _join(parent, cell, other)
        sums[sweep] = _turn_clusters(spins, parent, turn, generator)


@compiled
def _sweep_pairs(
    mean_count: float,
    pairs: Int32[np.ndarray, "pairs 2"],
    sign: Int32[np.ndarray, " pairs"],
    threshold: Float64[np.ndarray, " pairs"],
    alias: Int32[np.ndarray, " pairs"],
    spins: Int8[np.ndarray, " sites"],
    parent: Int32[np.ndarray, " sites"],
    turn: Int8[np.ndarray, " sites"],
    generator: np.random.Generator,
    sums: Int64[np.ndarray, " sweeps"],
) -> None:
    """Sweep spins with any couplings."""
    for sweep in range(len(sums)):
        for site in range(len(spins)):
            parent[site] = site
        for _ in range(generator.poisson(mean_count)):
            pair = int(generator.random() * len(threshold))
            if generator.random() >= threshold[pair]:
                pair = alias[pair]
            site, other = pairs[pair]
            if spins[site] * spins[other] == sign[pair]:
                _join(parent, site, other)
        sums[sweep] = _turn_clusters(spins, parent, turn, generator)


@compiled
def _wrapped(place: int, length: int) -> int:
    """Bring a place less than one length outside back onto a periodic axis; much quicker than a remainder."""
    if place >= length:
        return place - length
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
    generator: np.random.Generator,
) -> int:
    """Turn every cluster over with probability ½ and return the sum of all spins."""
    total = 0
    for site in range(len(spins)):
        root = _root(parent, site)
        # The representative is the first of its cluster, so it decides before the others ask.
        if root == site:
            turn[site] = 1 if generator.random() < 0.5 else -1
        spins[site] *= turn[root]
        total += spins[site]
    return total
