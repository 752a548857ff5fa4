import numpy as np
import pytest
import scipy.linalg
from pyscf import gto
from tests.chem.scf.sources import METHANOL

from firstlight.chem.scf.atom_metric import atom_coulomb, atom_norm, hold_electrons
from firstlight.chem.scf.auxiliary_basis import JFIT, JKFIT, auxiliary_molecule, function_integrals
from firstlight.chem.scf.density_fit import coulomb_matrix, with_electrons

SYMBOLS = ["C", "O", "H", "H", "H", "H"]


@pytest.fixture(params=[JFIT, JKFIT])
def methanol(request):
    """Methanol's auxiliary basis, its Coulomb matrix with all between atoms set to zero, and random coefficients."""
    auxmol = auxiliary_molecule(gto.M(atom=METHANOL, basis="sto-3g", verbose=0), request.param)
    matrix = coulomb_matrix(auxmol)
    blocks = [matrix[begin:end, begin:end] for *_, begin, end in auxmol.aoslice_by_atom()]
    c = np.random.default_rng(0).standard_normal((3, auxmol.nao))
    return request.param, auxmol, scipy.linalg.block_diag(*blocks), c


def test_atoms_are_the_diagonal_blocks_of_the_molecule(methanol):
    auxbasis, _, blocks, _ = methanol
    ours = scipy.linalg.block_diag(*(atom_coulomb(symbol, auxbasis) for symbol in SYMBOLS))
    np.testing.assert_allclose(ours, blocks, rtol=1e-10, atol=1e-10)


def test_electrons_are_held_at_the_least_change(methanol):
    """Against the Lagrange multiplier of the fit, given the same metric."""
    auxbasis, auxmol, blocks, c = methanol
    ours = hold_electrons(c, SYMBOLS, auxbasis, 18)
    np.testing.assert_allclose(ours @ function_integrals(auxmol), 18, rtol=1e-12)
    for one, before in zip(ours, c, strict=True):
        np.testing.assert_allclose(one, with_electrons(before, auxmol, 18.0, blocks), rtol=1e-9, atol=1e-9)


def test_norm_is_that_of_the_blocks(methanol):
    auxbasis, _, blocks, c = methanol
    assert atom_norm(c[0], SYMBOLS, auxbasis) == pytest.approx(np.sqrt(c[0] @ blocks @ c[0]), rel=1e-10)
