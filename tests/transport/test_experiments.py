"""The paper's experiments, made small: what their tables rest on."""

import numpy as np
import pytest
import torch

from firstlight.transport import experiments, tree_sliced_sobolev
from firstlight.transport.data import rippled
from firstlight.transport.experiments import FlowProblem, flow_table, sliced_loss, spectral_errors, spectral_table
from firstlight.transport.tree_sampling import sample_tree_system
from firstlight.transport.tree_systems import TreeSystem


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Run jobs here and now: starting processes takes longer than the small jobs of these tests."""

    def run(function, jobs, *, folder=None, workers=None):
        return {key: function(job) for key, job in jobs.items()}, {}

    monkeypatch.setattr(experiments.parallel, "run", run)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_on_the_line_four_lines_give_the_flow_of_one(p):
    rng = np.random.default_rng(0)
    x, y = torch.from_numpy(rng.random((40, 1))).requires_grad_(), torch.from_numpy(rng.random((40, 1)))
    four = sample_tree_system(np.array([0.5]), 5, 4, spread=0.01, seed=1)
    one = TreeSystem(four.roots, four.directions[:, :1])
    values = [tree_sliced_sobolev(x, y, p=p, trees=trees) for trees in (four, one)]
    slopes = [torch.autograd.grad(value, x)[0].numpy() for value in values]
    factor = 4 ** (1 / p - 1)
    assert values[0].item() == pytest.approx(factor * values[1].item(), rel=1e-12)
    np.testing.assert_allclose(slopes[0], factor * slopes[1], rtol=1e-9, atol=1e-15)


def test_spectral_errors_are_those_of_the_missing_waves():
    # A uniform density misses both waves: 200 bins of sines of heights 0.5 and 0.3 have coefficients 50 and 30.
    uniform = (np.arange(200_000) + 0.5) / 200_000
    np.testing.assert_allclose(spectral_errors(uniform), [50, 30], rtol=1e-3)
    many = rippled(1_000_000, seed=0)[:, 0]
    assert (spectral_errors(many) < 1).all()


@pytest.mark.parametrize("p", [None, 1.0, 2.0])
def test_losses_look_at_new_projections_every_time_and_repeat_by_seed(p):
    x, y = torch.rand(20, 3), torch.rand(20, 3)
    first, again = (sliced_loss(p, 5, 2, delta=1.0, spread=0.1, seed=3) for _ in range(2))
    values = [first(x, y).item() for _ in range(3)]
    assert len(set(values)) == 3
    assert values == [again(x, y).item() for _ in range(3)]


def test_the_flow_table_reports_every_method_at_its_best_rate():
    def target(n_samples, *, seed):
        return np.full((n_samples, 2), 1.0) + 0.1 * seed.standard_normal((n_samples, 2))

    problem = FlowProblem("small", target, grid=(0.05, 0.1))
    rows = flow_table(problem, ("SW", "TS_2"), seeds=2, n_samples=20, n_iter=10)
    assert [row["method"] for row in rows] == ["SW", "TS_2"]
    for row in rows:
        assert row["lr"] in problem.grid
        assert row["W2² at 10"] < row["W2² at 2"]
        assert np.isfinite(row["std"])


def test_the_spectral_table_starts_all_methods_from_the_same_particles():
    rows = spectral_table(("SW", "TSW", "TS_2"), seeds=2, n_samples=200, n_iter=4, n_trees=2)
    assert [row["method"] for row in rows] == ["SW", "TSW", "TS_2"]
    assert len({row["error at 20, start"] for row in rows}) == 1
    assert all(row["std at 20"] > 0 for row in rows)
