import numpy as np
import pytest
import scipy.sparse as sp

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.problems import BurgersProblem, ConvectionProblem


@pytest.mark.parametrize(("family", "channels"), [("I", 1), ("II", 2), ("III", 3)])
def test_families_show_what_is_random_in_them(family, channels):
    sample = BurgersProblem(family).sample(0)
    assert sample.field.shape == (channels, 128)
    np.testing.assert_array_equal(sample.field[0], sample.system.initial)
    assert (sample.system.source.any()) == (family == "III")


def test_without_forcing_the_energy_falls():
    energies = np.sum(BurgersProblem("II").sample(1).trajectory ** 2, axis=1)
    assert (np.diff(energies) < 0).all()


def test_the_flux_neither_makes_nor_takes_mass_inside():
    quadratic = BurgersProblem("I").sample(0).system.quadratic
    np.testing.assert_allclose(quadratic.sum(axis=0)[1:-1], 0, atol=1e-12)


def test_the_rate_nears_that_of_burgers_equation():
    n, nu = 2000, 0.05
    x = np.linspace(0, 1, n + 2)[1:-1]
    system = BurgersProblem("I", cells=n).sample(0).system
    bump = np.sin(np.pi * x)
    rate = system.linear @ bump + system.quadratic @ bump**2
    exact = -nu * np.pi**2 * bump - bump * np.pi * np.cos(np.pi * x)
    np.testing.assert_allclose(rate, exact, atol=2e-5)


def test_convection_is_taken_from_where_the_stream_comes():
    sample = ConvectionProblem(cells=30).sample(0)
    system, (_, _, c, r, _) = sample.system, sample.field
    rng, h = np.random.default_rng(0), 1 / 31
    u = np.concatenate([[0.0], rng.normal(size=30), [0.0]])
    without = system.linear + sp.diags_array(-r)  # what is left is diffusion, symmetric, and convection
    slope = np.where(c > 0, u[1:-1] - u[:-2], u[2:] - u[1:-1]) / h
    symmetric = without @ u[1:-1] + c * slope
    v = rng.normal(size=30)
    padded = np.concatenate([[0.0], v, [0.0]])
    other = without @ v + c * np.where(c > 0, padded[1:-1] - padded[:-2], padded[2:] - padded[1:-1]) / h
    assert v @ symmetric == pytest.approx(u[1:-1] @ other)
    assert u[1:-1] @ symmetric < 0


def test_pod_modes_are_the_best_basis_of_their_number():
    sample = BurgersProblem("II", n_vectors=6).sample(2)
    values = np.linalg.svd(sample.trajectory, compute_uv=False)
    best = np.sqrt(np.sum(values[6:] ** 2) / np.sum(values**2))
    assert sample.projection_error(sample.basis()) == pytest.approx(best)
    other = np.linalg.qr(np.random.default_rng(0).normal(size=(128, 6)))[0]
    assert sample.projection_error(other) > best


@pytest.mark.parametrize("problem", [BurgersProblem("III"), ConvectionProblem()])
def test_a_reduced_model_is_no_better_than_the_projection_and_nears_it(problem):
    sample = problem.sample(0)
    W = sample.basis()
    assert sample.projection_error(W) <= sample.reduced_error(W) < 5 * sample.projection_error(W) + 1e-6
    assert sample.reduced_error(W) < sample.reduced_error(W[:, :4])


@pytest.mark.parametrize("options", [{"family": "IV"}, {"cells": 3}, {"n_vectors": 66}])
def test_impossible_problems_are_refused(options):
    with pytest.raises(InvalidInput):
        BurgersProblem(**options)
