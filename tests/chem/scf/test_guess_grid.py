import numpy as np
import pytest
from pyscf import dft
from tests.chem.scf.sources import water

from firstlight.chem.scf.auxiliary_basis import JFIT, auxiliary_molecule, function_integrals
from firstlight.chem.scf.experiments import growth_exponent, polyglycine
from firstlight.chem.scf.guess_grid import guess_grid
from firstlight.chem.scf.molecules import check_atoms
from firstlight.chem.scf.real_space import density_values


def test_small_molecules_have_the_grid_of_pyscf():
    points, weights = guess_grid(water(), 1)
    exact = dft.Grids(water()).set(level=1, verbose=0).build()
    np.testing.assert_array_equal(points, exact.coords)
    np.testing.assert_array_equal(weights, exact.weights)


def test_integrals_over_large_molecules_are_those_of_the_whole_partition():
    mol = polyglycine(9).mole("sto-3g")
    auxmol = auxiliary_molecule(mol, JFIT)
    q = function_integrals(auxmol)
    c = np.where(q > 0.5, q, 0)  # smooth charges on every atom
    whole = dft.Grids(mol).set(level=0, verbose=0).build()
    grids = (guess_grid(mol, 0), (whole.coords, whole.weights))
    values = [density_values(auxmol, c, points)[0] for points, _ in grids]
    for power in (1, 4 / 3):
        ours, exact = (weights @ rho**power for rho, (_, weights) in zip(values, grids, strict=True))
        assert ours == pytest.approx(exact, rel=3e-5)


def test_chains_of_glycine_have_their_atoms_and_bonds():
    for residues in (6, 13):
        chain = polyglycine(residues)
        check_atoms(chain.symbols, chain.positions)
        assert len(chain.symbols) == 7 * residues + 3
        assert chain.mole("sto-3g").nelectron == 30 * residues + 10
        distances = np.linalg.norm(chain.positions[:, None] - chain.positions, axis=-1)
        heavy = np.array([symbol != "H" for symbol in chain.symbols])
        bonded = (distances < 1.7) & heavy[:, None] & heavy
        # Four heavy atoms a residue and the last oxygen, in one chain without rings.
        assert np.triu(bonded, 1).sum() == 4 * residues


def test_growth_exponent_is_that_of_a_power_law():
    sizes = [10.0, 20.0, 40.0]
    assert growth_exponent(sizes, [3 * size**2.2 for size in sizes]) == pytest.approx(2.2)
