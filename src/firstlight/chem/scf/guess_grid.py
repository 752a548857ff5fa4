"""The grid of a guess: coarse, and for large molecules of a cost that grows with their size alone.

Becke's partition of space gives every point to the atoms by comparing all pairs of them, which costs the number of
atoms cubed. Here a point is compared with the neighbours of its atom only. That changes nothing as long as points
farther out than half the reach of the neighbourhood are dropped: what lies there is near other atoms, whose own points
stand for it, or in a density of less than 10⁻⁷ electrons per cubic bohr.

Between PySCF's levels 0 and 1 stands a grid with half the points of level 1, from which SCF takes as many cycles.
"""

from bisect import bisect_left
from typing import Any

import numpy as np
from jaxtyping import Float64
from pyscf import dft, gto

from firstlight.chem.scf.auxiliary_basis import real_atoms

OUTERMOST = 10.0  # bohr from its own atom that a point may be
PERIODS = (2, 10, 18)  # the last element of each
RADII = (20, 25, 32, 40)  # of an atom's grid, by period
DIRECTIONS = (86, 110, 110, 110)  # the same, of Lebedev's numbers

Points = Float64[np.ndarray, "points 3"]
Weights = Float64[np.ndarray, " points"]


def guess_grid(mol: gto.Mole, level: int | None = None) -> tuple[Points, Weights]:
    """Return points (bohr) and weights for numerical integration, near points together.

    Parameters
    ----------
    mol : the molecule.
    level : of PySCF's grids, 0 to 9; `RADII` and `DIRECTIONS` unless given.
    """
    grids: Any = dft.Grids(mol).set(verbose=0)
    if level is None:
        symbols = [mol.atom_symbol(a) for a in range(mol.natm)]
        periods = {symbol: bisect_left(PERIODS, gto.charge(symbol)) for symbol in symbols}
        grids.atom_grid = {symbol: (RADII[period], DIRECTIONS[period]) for symbol, period in periods.items()}
    else:
        grids.level = level
    distances = gto.inter_distance(mol)
    if distances.max() <= 2 * OUTERMOST:
        grids.build(with_non0tab=False)
        return grids.coords, grids.weights
    tables = grids.gen_atomic_grids(mol, grids.atom_grid, grids.radi_method, grids.level, grids.prune)
    parts = []
    for atom in real_atoms(mol):
        near = [a for a in real_atoms(mol) if a != atom and distances[atom, a] <= 2 * OUTERMOST]
        around, volumes = tables[mol.atom_symbol(atom)]
        inside = np.linalg.norm(around, axis=1) <= OUTERMOST
        parts.append(_partitioned(mol, atom, near, grids, (around[inside], volumes[inside])))
    points, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    together = dft.gen_grid.arg_group_grids(mol, points)
    return points[together], weights[together]


def _partitioned(
    mol: gto.Mole, atom: int, near: list[int], grids: Any, own: tuple[Points, Weights]
) -> tuple[Points, Weights]:
    """Partition the points of one atom between it and its neighbours."""
    here, elsewhere = "1", "2"  # PySCF tells atoms of an element apart by a digit behind the symbol
    atoms = [(mol.atom_pure_symbol(a) + (here if a == atom else elsewhere), mol.atom_coord(a)) for a in [atom, *near]]
    local = gto.Mole()
    one_function = {mol.atom_pure_symbol(a): [[0, [1.0, 1.0]]] for a in [atom, *near]}
    local.set(atom=atoms, unit="Bohr", basis=one_function, spin=None, verbose=0)
    local.build(dump_input=False, parse_arg=False)
    # PySCF partitions the points of all atoms of a molecule; the neighbours are given none.
    none = np.empty((0, 3)), np.empty(0)
    tables = {symbol: own if symbol.endswith(here) else none for symbol, _ in atoms}
    points, weights = grids.get_partition(
        local, tables, grids.radii_adjust, grids.atomic_radii, grids.becke_scheme, concat=False
    )
    return points[0], weights[0]
