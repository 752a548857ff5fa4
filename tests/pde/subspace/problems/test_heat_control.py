import numpy as np
import pytest
from scipy.linalg import solve_continuous_lyapunov

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.problems import HeatControlProblem
from firstlight.pde.subspace.problems.heat_control import DURATION, STEPS, Control

SAMPLE = HeatControlProblem(cells=40, n_vectors=20).sample(0)


def simulated(controls):
    """The rod under given controls, by plain implicit Euler."""
    dt = DURATION / STEPS
    implicit = np.eye(40) - dt * SAMPLE.matrix
    states = [SAMPLE.initial]
    for u in controls:
        states.append(np.linalg.solve(implicit, states[-1] + dt * (SAMPLE.actuators @ u - SAMPLE.loss)))
    return Control(np.array(states), np.array(controls))


def test_no_other_control_costs_less():
    best = SAMPLE.optimum
    np.testing.assert_allclose(simulated(best.controls).states, best.states, atol=1e-10)
    rng = np.random.default_rng(0)
    for _ in range(5):
        change = rng.normal(size=best.controls.shape)
        costs = [simulated(best.controls + step * change).cost(SAMPLE.sensors) for step in (-1e-3, 0, 1e-3)]
        assert abs(costs[2] - costs[0]) < 1e-6 * (costs[0] + costs[2] - 2 * costs[1])
        assert costs[0] + costs[2] > 2 * costs[1]


def test_hankel_values_are_roots_of_the_product_of_gramians():
    A, C, Psi = SAMPLE.matrix, SAMPLE.actuators, SAMPLE.sensors
    reached, seen = (solve_continuous_lyapunov(A, -side @ side.T) for side in (C, Psi))
    product = np.sort(np.linalg.eigvals(reached @ seen).real)[::-1]
    np.testing.assert_allclose(SAMPLE.balanced[1][:8], np.sqrt(product[:8]), rtol=1e-6)


def test_more_balanced_directions_are_nearer_and_all_of_space_is_exact():
    errors = [SAMPLE.reduced_errors(SAMPLE.basis()[:, :k])[1] for k in (5, 10, 20)]
    assert errors[2] < errors[1] < errors[0]
    assert max(SAMPLE.reduced_errors(np.eye(40))) < 1e-10


def test_field_shows_conductivity_actuators_and_sensors():
    assert SAMPLE.field.shape == (11, 40)
    np.testing.assert_array_equal(SAMPLE.field[1:6].T, SAMPLE.actuators)
    with pytest.raises(InvalidInput, match="rank ≤ n_vectors"):
        HeatControlProblem(rank=20)
