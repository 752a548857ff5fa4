import math
import warnings

import numpy as np
import pytest
import torch
from tests.pde.flow.linear_fields import Heat, Matrix, rotation

from firstlight.errors import InvalidInput
from firstlight.pde.flow import Autoregressive, FlowOperator, IllPosedReversal, Trajectories
from firstlight.pde.flow.reversal import growth_rate
from firstlight.pde.flow.reversed_frames import reverse_errors

X = (torch.arange(32).double() + 0.5) / 32
RATE = 0.01 * (2 * math.pi * 16) ** 2  # of the finest wave of the grid


def heat(t):
    """Two waves that decay, exactly; (times, 1, 1, 32)."""
    u = torch.zeros(len(t), 32, dtype=torch.float64)
    for k, height in ((1, 1.0), (2, 0.3)):
        u += height * torch.exp(-0.01 * (2 * math.pi * k) ** 2 * t)[:, None] * torch.sin(2 * math.pi * k * X)
    return u.view(len(t), 1, 1, 32)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_growth_rate_of_linear_dynamics_is_that_of_the_most_negative_eigenvalue(seed):
    matrix = np.random.default_rng(seed).normal(size=(6, 6))
    symmetric = matrix + matrix.T
    found = growth_rate(FlowOperator(Matrix(symmetric), 6, grid=()), torch.tensor(0.0), torch.randn(3, 6).double())
    np.testing.assert_allclose(found, -np.linalg.eigvalsh(symmetric)[0], rtol=0.02)


def test_heat_run_backwards_says_how_the_finest_wave_grows():
    """8.8 × 10²¹ over half a time unit on 32 points."""
    model = FlowOperator(Heat(), 1, grid=[32])
    u = heat(torch.tensor([0.5]).double())[0]
    with pytest.warns(IllPosedReversal, match=r"multiplies errors by 8.\de\+21"):
        made = model.reverse(u, [0.5, 0.25, 0.0], nfe=160)
    assert made.ill_posed
    np.testing.assert_allclose(made.amplification, np.exp(RATE * np.array([0, 0.25, 0.5])), rtol=0.2)
    with pytest.warns(IllPosedReversal):
        model.predict(u, [0.5, 0.0], nfe=160)


def test_what_heat_amplifies_is_what_was_there_in_rounding():
    """Rounding of single precision, 10⁻⁷, grows to the size of the solution at the rate that is said."""
    model = FlowOperator(Heat(), 1, grid=[32]).float()
    t = torch.linspace(0.2, 0.0, 21).double()
    with pytest.warns(IllPosedReversal):
        made = model.reverse(heat(t[:1])[0].float(), t, nfe=320)
    error = (made.u.double() - heat(t)).flatten(1).norm(dim=1)
    grown = torch.log(error[15] / error[5]) / float(t[5] - t[15])
    assert float(grown) == pytest.approx(RATE, rel=0.1)


def test_a_rotation_runs_backwards_without_complaint():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = rotation().reverse(torch.tensor([[0.0, 1.0]]), [math.pi / 2, 0.0], nfe=160)
    np.testing.assert_allclose(made.u[-1], [[1, 0]], atol=1e-5)
    assert not made.ill_posed
    assert float(made.round_trip) < 1e-6


def test_errors_against_known_frames_start_at_zero_and_grow():
    t = torch.linspace(0, 0.1, 11).double()
    data = Trajectories.from_list([(t, heat(t)[:, 0]), (t, 2 * heat(t)[:, 0])])
    model = FlowOperator(Heat(0.0099), 1, grid=[32])
    with pytest.warns(IllPosedReversal):
        made = reverse_errors(model, data, 0.05, nfe=160)
    assert [row["time back"] for row in made.rows()] == pytest.approx([0.0, 0.01, 0.02, 0.03, 0.04, 0.05])
    assert float(made.errors[0]) == 0
    assert 0 < float(made.errors[-1]) < 0.01
    assert made.plot().get_xlabel() == "time gone back"
    with pytest.warns(IllPosedReversal):
        beyond = reverse_errors(model, data, 0.2, nfe=160)
    assert bool(beyond.errors.isnan().all())


def test_what_cannot_run_backwards_is_refused():
    with pytest.raises(InvalidInput, match="give decreasing times"):
        rotation().reverse(torch.zeros(1, 2), [0.0, 1.0])
    data = Trajectories.from_list([(np.arange(4.0), np.zeros((4, 2)))])
    with pytest.raises(InvalidInput, match="cannot run backwards"):
        reverse_errors(Autoregressive(Matrix(np.eye(2)), 2), data, 1.0)
    with pytest.raises(InvalidInput, match="positive time"):
        reverse_errors(rotation(), data, 0.0)
