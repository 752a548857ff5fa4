import numpy as np
import pytest
from pyscf import dft, gto
from tests.chem.scf.sources import METHANOL, water

from firstlight.chem.scf import density_to_dm, fit_density, fock
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


def test_the_guess_has_half_the_points_and_takes_no_more_cycles():
    """The oracle, whose density has no other error than that of the grid."""
    mol = gto.M(atom=METHANOL, basis="def2-svp", verbose=0)
    plain = dft.RKS(mol, xc="pbe").density_fit()
    plain.grids.level = 1
    plain.run()
    c = fit_density(mol, plain.make_rdm1())
    cycles = {}
    for grid in ("ours", "level 1"):
        with pytest.MonkeyPatch.context() as patch:
            if grid == "level 1":
                patch.setattr(fock, "guess_grid", lambda mol, _: guess_grid(mol, 1))
            run = plain.copy()
            run.kernel(dm0=density_to_dm(plain, c))
            cycles[grid] = run.cycles
    assert cycles["ours"] <= cycles["level 1"] < plain.cycles
    assert len(guess_grid(mol)[0]) < 0.55 * len(guess_grid(mol, 1)[0])


def test_every_kind_of_atom_has_a_grid():
    """Labelled atoms and ghosts too; ∫ρ̃ is known exactly."""
    for atom in ("O1 0 0 0; H1 0 0.757 0.587; H2 0 -0.757 0.587; ghost-N 0 0 4", "Br 0 0 0; H 0 0 1.41"):
        mol = gto.M(atom=atom, basis="def2-svp", verbose=0)
        auxmol = auxiliary_molecule(mol, JFIT)
        c = fit_density(mol, dft.RKS(mol).get_init_guess())
        points, weights = guess_grid(mol)
        exact = function_integrals(auxmol) @ c
        assert weights @ density_values(auxmol, c, points)[0] == pytest.approx(exact, abs=2e-4)


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
