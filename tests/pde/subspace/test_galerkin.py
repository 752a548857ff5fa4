import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.sparse.linalg import aslinearoperator, spsolve

from firstlight.errors import FirstlightError, InvalidInput
from firstlight.pde.subspace import galerkin_solve
from firstlight.pde.subspace.galerkin import QuadraticSystem
from firstlight.pde.subspace.problems import BurgersProblem, FlattopProblem

SAMPLE = FlattopProblem(cells=12, n_vectors=8).sample(0)
A, W = SAMPLE.matrix, SAMPLE.basis()
BURGERS = BurgersProblem("III", cells=40, n_vectors=12).sample(0).system


@given(st.integers(0, 1000))
@settings(max_examples=20)
def test_no_vector_of_the_span_is_nearer_in_the_energy_norm(seed):
    rng = np.random.default_rng(seed)
    b = rng.normal(size=144)
    exact = spsolve(A.tocsc(), b)
    x, info = galerkin_solve(A, b, W)
    other = x + W @ rng.normal(size=8)
    assert (x - exact) @ (A @ (x - exact)) <= (other - exact) @ (A @ (other - exact))
    assert info.residual == pytest.approx(np.linalg.norm(b - A @ x) / np.linalg.norm(b))


def test_a_solution_in_the_span_is_found_from_any_basis_of_it():
    exact = W @ np.arange(1.0, 9.0)
    mixed = W @ np.random.default_rng(0).normal(size=(8, 8))
    for operator in (A, A.toarray(), aslinearoperator(A)):
        np.testing.assert_allclose(galerkin_solve(operator, A @ exact, mixed)[0], exact, rtol=1e-9)


def test_all_of_space_gives_the_full_model():
    full, reduced = BURGERS.solve(0.01, 10), BURGERS.solve_in(np.random.default_rng(0).normal(size=(40, 40)), 0.01, 10)
    np.testing.assert_allclose(reduced, full, atol=1e-9)
    linear = QuadraticSystem(BURGERS.linear, BURGERS.source, BURGERS.initial)
    np.testing.assert_allclose(linear.solve_in(np.eye(40), 0.01, 10), linear.solve(0.01, 10), atol=1e-9)


def test_implicit_euler_nears_the_exact_evolution_at_first_order():
    def rate(_, u):
        return BURGERS.linear @ u + BURGERS.quadratic @ u**2 + BURGERS.source

    exact = solve_ivp(rate, (0, 0.1), BURGERS.initial, method="BDF", rtol=1e-9, atol=1e-9).y[:, -1]
    errors = [np.linalg.norm(BURGERS.solve(0.1 / steps, steps)[-1] - exact) for steps in (40, 80, 160)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 1, atol=0.1)


def test_an_unsolvable_step_is_said():
    explosive = QuadraticSystem(BURGERS.linear * 0, np.ones(40), np.ones(40), quadratic=abs(BURGERS.quadratic))
    with pytest.raises(FirstlightError, match="did not converge"):
        explosive.solve(1.0, 1)


@pytest.mark.parametrize(
    ("b", "basis", "message"),
    [
        (np.ones(5), W, "144 entries"),
        (np.ones(144), W[:, [0, 0]], "linearly dependent"),
        (np.ones(144), np.zeros((144, 1)), "column 0 of W is zero"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(b, basis, message):
    with pytest.raises(InvalidInput, match=message):
        galerkin_solve(A, b, basis)


def test_an_operator_that_vanishes_on_the_span_is_refused():
    with pytest.raises(InvalidInput, match="A is singular on the span"):
        galerkin_solve(np.diag([0.0, 1.0, 1.0]), np.ones(3), np.eye(3)[:, :1])
