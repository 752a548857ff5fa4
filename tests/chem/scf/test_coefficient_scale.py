import numpy as np
import pytest
import torch
from e3nn import o3
from pyscf import gto

from firstlight.chem.scf.auxiliary_basis import JFIT, auxiliary_molecule, e3nn_order, irreps, shells
from firstlight.chem.scf.coefficient_scale import CoefficientScale
from firstlight.chem.scf.density_fit import coulomb_matrix
from firstlight.errors import InvalidInput

ELEMENTS = ("H", "C")


def samples(atoms=400, seed=0):
    """Coefficients that are correlated within an l and isotropic, in PySCF's order, with a mean of the s shells."""
    rng = np.random.default_rng(seed)
    found = {}
    for element in ELEMENTS:
        order, by_l, begin = e3nn_order(element, JFIT), [], 0
        momenta = shells(element, JFIT)
        for l in sorted(set(momenta)):  # noqa: E741
            count = momenta.count(l)
            first = order[begin : begin + count * (2 * l + 1) : 2 * l + 1]
            begin += count * (2 * l + 1)
            mixing = np.linalg.inv(np.linalg.cholesky(coulomb(element)[np.ix_(first, first)])).T
            mixing = mixing @ (np.eye(count) + 0.3 * rng.standard_normal((count, count)))
            c = np.einsum("ij,ajm->aim", mixing, rng.standard_normal((atoms, count, 2 * l + 1)))
            by_l.append((c + (3.0 if l == 0 else 0.0)).reshape(atoms, -1))
        found[element] = np.concatenate(by_l, axis=1)[:, np.argsort(order)]
    return found


def coulomb(element):
    atom = gto.M(atom=[(element, (0.0, 0.0, 0.0))], basis="sto-3g", spin=None, verbose=0)
    return coulomb_matrix(auxiliary_molecule(atom, JFIT))


def learned():
    scale = CoefficientScale(ELEMENTS, JFIT)
    scale.learn(samples())
    return scale


def standardised(scale, number, c):
    mean, mixing = scale.of_element(number)
    return torch.linalg.solve(mixing, (torch.from_numpy(c) - mean).T).T


@pytest.mark.parametrize("number", [0, 1])
def test_standardised_coefficients_are_uncorrelated_and_of_unit_size(number):
    y = standardised(learned(), number, samples()[ELEMENTS[number]])
    begin = 0
    for count, irrep in o3.Irreps(irreps(ELEMENTS[number], JFIT)):
        shell = y[:, begin : begin + count * irrep.dim].view(len(y), count, irrep.dim)
        covariance = torch.einsum("aim,ajm->ij", shell, shell) / len(y) / irrep.dim
        torch.testing.assert_close(covariance, torch.eye(count).double(), atol=1e-3, rtol=0)
        begin += count * irrep.dim


def test_coulomb_energy_of_an_atom_is_a_sum_of_squares():
    """W diagonalises the Coulomb matrix of an atom, with the largest contributions first."""
    _, mixing = learned().of_element(1)
    energies = mixing.T @ torch.from_numpy(coulomb("C")) @ mixing
    torch.testing.assert_close(energies, energies.diag().diag(), atol=1e-5 * float(energies.max()), rtol=0)
    assert (energies.diag()[:6].diff() <= 0).all()


def test_only_s_shells_have_a_mean():
    mean, _ = learned().of_element(1)
    expected = samples()["C"].mean(axis=0)
    np.testing.assert_allclose(mean[:6], expected[:6], rtol=1e-6)
    assert not mean[6:].any()


def test_shells_stay_shells():
    """Turning y by the matrices of e3nn turns c as PySCF's functions turn."""
    scale = learned()
    turn = o3.rand_matrix().double()
    _, mixing = scale.of_element(1)
    order = torch.from_numpy(e3nn_order("C", JFIT))
    wigner = o3.Irreps(irreps("C", JFIT)).D_from_matrix(turn)
    y = torch.randn(wigner.shape[0], dtype=torch.float64)
    turned_first, turned_last = (mixing @ (wigner @ y))[order], wigner @ (mixing @ y)[order]
    torch.testing.assert_close(turned_first, turned_last, atol=1e-6, rtol=1e-5)


def test_coefficients_stand_in_the_order_of_the_atoms():
    scale, species = learned(), torch.tensor([1, 0, 1, 0, 0])
    atoms = samples(atoms=3, seed=1)
    y = [standardised(scale, number, atoms[element])[None] for number, element in enumerate(ELEMENTS)]
    y[1] = y[1][:, :2]
    found = scale.coefficients(y, species)[0].numpy()
    expected = [atoms["C"][0], atoms["H"][0], atoms["C"][1], atoms["H"][1], atoms["H"][2]]
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-4)


def test_a_scale_that_has_learned_nothing_is_the_order_of_e3nn():
    _, mixing = CoefficientScale(ELEMENTS, JFIT).of_element(1)
    c = torch.arange(49, dtype=torch.float64)
    torch.testing.assert_close(mixing @ c[e3nn_order("C", JFIT)], c)


def test_an_element_without_labels_is_refused():
    with pytest.raises(InvalidInput, match="no label holds C"):
        CoefficientScale(ELEMENTS, JFIT).learn({"H": samples()["H"]})
