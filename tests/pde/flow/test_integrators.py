import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from firstlight.errors import InvalidInput
from firstlight.pde.flow.integrators import integrate, steps_within

ORDERS = {"euler": 1, "heun": 2, "rk4": 4, "ab4": 4}


def pendulum(t, u):
    return torch.stack([u[:, 1], -u[:, 0].sin() + 0.1 * t.cos()], dim=1)


def start():
    return torch.tensor([[1.0, 0.0], [0.3, -0.5]], dtype=torch.float64)


def exact(t):
    def flat(time, u):
        return pendulum(torch.tensor(time), torch.from_numpy(u).view(2, 2)).numpy().ravel()

    # One call per time, since dense output is less accurate than the steps.
    runs = [solve_ivp(flat, (0, end), start().numpy().ravel(), "DOP853", rtol=1e-12, atol=1e-13) for end in t.tolist()]
    return torch.from_numpy(np.stack([run.y[:, -1] for run in runs])).view(-1, 2, 2)


@pytest.mark.parametrize("method", ORDERS)
@pytest.mark.parametrize("direction", [1, -1])
def test_methods_converge_at_their_order_at_times_between_steps(method, direction):
    t = direction * torch.tensor([0.0, 0.2371, 0.9, 1.517, 2.0], dtype=torch.float64)
    errors = [
        float((integrate(pendulum, start(), t, steps=n, method=method).u - exact(t)).abs().max()) for n in (100, 200)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDERS[method], abs=0.25)


@pytest.mark.parametrize(("method", "cost"), [("euler", 12), ("heun", 24), ("rk4", 48), ("ab4", 12 + 9)])
def test_evaluations_are_counted_and_paid_for(method, cost):
    calls = 0

    def counted(t, u):
        nonlocal calls
        calls += 1
        return pendulum(t, u)

    t = torch.tensor([0.0, 1.0], dtype=torch.float64)
    found = integrate(counted, start(), t, steps=12, method=method)
    assert found.evaluations == calls == cost
    assert steps_within(cost, method) == 12


def test_asking_at_more_times_changes_no_step():
    few, many = torch.tensor([0.0, 2.0]).double(), torch.linspace(0, 2, 57).double()
    ends = [integrate(pendulum, start(), t, steps=10).u[-1] for t in (few, many)]
    torch.testing.assert_close(*ends, rtol=0, atol=0)


def test_the_first_state_is_the_one_given():
    t = torch.tensor([0.5], dtype=torch.float64)
    found = integrate(pendulum, start(), t, steps=3)
    assert torch.equal(found.u, start()[None])
    assert found.evaluations == 0


def test_too_few_evaluations_are_refused():
    with pytest.raises(InvalidInput, match="3 evaluations do not pay for a step of rk4"):
        steps_within(3, "rk4")
