import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.losses import stochastic_loss, subspace_loss
from firstlight.pde.subspace.network_training import as_tensor


def bases(seed, n=20, p=5, k=3, batch=()):
    generator = torch.Generator().manual_seed(seed)
    W = torch.randn(*batch, n, p, generator=generator, dtype=torch.float64)
    V = torch.linalg.qr(torch.randn(*batch, n, k, generator=generator, dtype=torch.float64)).Q
    return W, V, generator


@given(st.integers(0, 10_000))
def test_loss_is_the_sum_of_squared_sines(seed):
    W, V, _ = bases(seed)
    expected = np.square(np.sin(scipy.linalg.subspace_angles(W.numpy(), V.numpy()))).sum()
    assert float(subspace_loss(W, V)) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 10_000))
def test_loss_does_not_see_the_basis(seed):
    W, V, generator = bases(seed)
    change = torch.randn(5, 5, generator=generator, dtype=torch.float64)
    turn = torch.linalg.qr(torch.randn(3, 3, generator=generator, dtype=torch.float64)).Q
    assert float(subspace_loss(W @ change, V @ turn)) == pytest.approx(float(subspace_loss(W, V)), abs=1e-10)


def test_gradient_equals_finite_differences():
    W, V, _ = bases(3)
    assert torch.autograd.gradcheck(lambda W: subspace_loss(W, V), W.requires_grad_(), atol=1e-6)


def test_gradient_in_a_mass_matrix_equals_finite_differences():
    W, V, generator = bases(4, n=8)
    factor = torch.randn(8, 8, generator=generator, dtype=torch.float64)
    mass = factor @ factor.T + torch.eye(8, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda W: subspace_loss(W, V, mass), W.requires_grad_(), atol=1e-6)


def test_gradient_equals_that_of_the_formula_through_qr():
    W, V, _ = bases(5)
    W.requires_grad_()
    ours = torch.autograd.grad(subspace_loss(W, V), W)[0]
    formula = V.shape[1] - (V.mT @ torch.linalg.qr(W).Q).square().sum()
    torch.testing.assert_close(ours, torch.autograd.grad(formula, W)[0])


@pytest.mark.parametrize("spoil", ["repeat a column", "make a column zero"])
def test_dependent_columns_give_the_loss_of_their_span_and_a_finite_gradient(spoil):
    W, V, _ = bases(6)
    W[:, 4] = W[:, 1] if spoil == "repeat a column" else 0
    W.requires_grad_()
    loss = subspace_loss(W, V)
    assert loss.item() == pytest.approx(float(subspace_loss(W[:, :4], V)), abs=1e-12)
    assert torch.autograd.grad(loss, W)[0].isfinite().all()


@pytest.mark.parametrize("kind", ["diagonal", "dense", "sparse"])
def test_mass_matrix_is_a_change_of_variables(kind):
    W, V, _ = bases(7, batch=(2,))
    rng = np.random.default_rng(0)
    diagonal = rng.uniform(1, 3, 20)
    mass = np.diag(diagonal)
    if kind != "diagonal":
        mass[0, 1] = mass[1, 0] = 0.5
    root = torch.from_numpy(np.linalg.cholesky(mass).T.copy())
    given = {"diagonal": diagonal, "dense": mass, "sparse": sp.csr_array(mass)}[kind]
    tensor = as_tensor(given)
    expected = subspace_loss((root @ W).float(), (root @ V).float())
    torch.testing.assert_close(subspace_loss(W.float(), V.float(), tensor), expected, rtol=1e-4, atol=1e-5)


def test_stochastic_loss_is_an_unbiased_estimate():
    W, V, generator = bases(8)
    many = stochastic_loss(W.expand(20_000, -1, -1), V.expand(20_000, -1, -1), n_probe=1, generator=generator)
    assert abs(float(many.mean()) - float(subspace_loss(W, V))) < 4 * float(many.std()) / 20_000**0.5


def test_more_probes_make_the_estimate_steadier():
    W, V, generator = bases(9)
    one, sixteen = (
        stochastic_loss(W.expand(2000, -1, -1), V.expand(2000, -1, -1), n_probe=n, generator=generator).std()
        for n in (1, 16)
    )
    assert float(one / sixteen) == pytest.approx(4, rel=0.2)


def test_fewer_columns_than_wanted_are_refused():
    W, V, _ = bases(10, p=2)
    for loss in (subspace_loss, stochastic_loss):
        with pytest.raises(InvalidInput, match="raise out_dim"):
            loss(W, V)


def test_bases_on_two_meshes_are_refused():
    with pytest.raises(InvalidInput, match="one mesh"):
        subspace_loss(torch.ones(4, 2), torch.ones(5, 2))


def test_no_probes_are_refused():
    with pytest.raises(InvalidInput, match="n_probe"):
        stochastic_loss(torch.ones(4, 2), torch.ones(4, 2), n_probe=0)
