import numpy as np
import pytest
import torch
from e3nn import o3
from pyscf import df, dft, gto
from scipy.spatial.transform import Rotation
from tests.chem.scf.sources import water

from firstlight.chem.scf import fit_density
from firstlight.chem.scf.auxiliary_basis import (
    JFIT,
    JKFIT,
    auxiliary_molecule,
    e3nn_order,
    function_dipoles,
    function_integrals,
    irreps,
    shells,
)
from firstlight.errors import InvalidInput


@pytest.mark.parametrize("auxbasis", [JFIT, JKFIT])
def test_integrals_and_dipoles_equal_numerical_quadrature(auxbasis):
    auxmol = auxiliary_molecule(water(), auxbasis)
    grids = dft.Grids(auxmol).set(level=5, verbose=0).build()
    weighted = dft.numint.eval_ao(auxmol, grids.coords) * grids.weights[:, None]
    np.testing.assert_allclose(function_integrals(auxmol), weighted.sum(axis=0), atol=1e-4)
    np.testing.assert_allclose(function_dipoles(auxmol), grids.coords.T @ weighted, atol=1e-4)


def test_functions_are_those_of_pyscf_where_there_are_no_ghosts():
    mol = water()
    ours, theirs = auxiliary_molecule(mol, JFIT), df.make_auxmol(mol, JFIT)
    np.testing.assert_allclose(ours.intor("int2c2e"), theirs.intor("int2c2e"), rtol=1e-12)


def test_ghosts_have_no_functions_and_cartesian_orbitals_leave_them_spherical():
    ghosts = gto.M(atom="O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587; ghost-N 0 0 3", basis="def2-svp", verbose=0)
    assert auxiliary_molecule(ghosts, JFIT).nao == auxiliary_molecule(water(), JFIT).nao
    assert auxiliary_molecule(water("6-31g*", cart=True), JFIT).nao == auxiliary_molecule(water(), JFIT).nao


@pytest.mark.parametrize("element", ["H", "C", "N", "O", "F", "P", "S", "Cl", "Br"])
@pytest.mark.parametrize("auxbasis", [JFIT, JKFIT])
def test_order_is_a_permutation_and_irreps_count_every_function(element, auxbasis):
    functions = sum(2 * momentum + 1 for momentum in shells(element, auxbasis))
    assert sorted(e3nn_order(element, auxbasis)) == list(range(functions))
    assert o3.Irreps(irreps(element, auxbasis)).dim == functions


@pytest.mark.parametrize("seed", [0, 1])
def test_coefficients_turn_as_e3nn_says(seed):
    """Fitted densities of a molecule and of the turned molecule are related by the representation matrices of e3nn."""
    rotation = Rotation.random(random_state=seed).as_matrix()
    mol = water()
    turned = mol.set_geom_(mol.atom_coords() @ rotation.T, unit="Bohr", inplace=False)
    blocks = []
    for molecule in (mol, turned):
        mf = dft.RKS(molecule, xc="lda,vwn")
        dm = mf.get_init_guess(key="1e")  # no superposition of atoms: it has moments of every order
        c = fit_density(molecule, np.asarray(dm))
        parts = auxiliary_molecule(molecule, JFIT).aoslice_by_atom()[:, 2:]
        blocks.append(
            [c[first:last][e3nn_order(molecule.atom_symbol(a), JFIT)] for a, (first, last) in enumerate(parts)]
        )
    axes = np.eye(3)[[1, 2, 0]]  # e3nn is given (y, z, x)
    for a, (before, after) in enumerate(zip(*blocks, strict=True)):
        representation = o3.Irreps(irreps(mol.atom_symbol(a), JFIT)).D_from_matrix(
            torch.tensor(axes @ rotation @ axes.T)
        )
        np.testing.assert_allclose(representation.numpy() @ before, after, atol=1e-6)


def test_an_element_without_functions_is_named():
    uranium = gto.M(atom="U", basis={"U": [[0, [1.0, 1.0]]]}, verbose=0)
    with pytest.raises(InvalidInput, match="does not cover U"):
        auxiliary_molecule(uranium, JFIT)
