import subprocess
import sys

import numpy as np
import pytest
import torch
from tests.transport.explicit_trees import on_sphere, two_clouds

from firstlight.errors import InvalidInput
from firstlight.transport import TreeSlicedSobolevLoss, tree_sliced_sobolev


def test_new_trees_at_every_call_and_the_same_sequence_for_a_seed():
    X, Y, a, b = map(torch.tensor, two_clouds())
    one, two = (TreeSlicedSobolevLoss(p=1.5, n_trees=10, seed=3) for _ in range(2))
    first, second = one(X, Y, a, b), one(X, Y, a, b)
    assert first != second
    assert [first, second] == [two(X, Y, a, b), two(X, Y, a, b)]
    assert first == tree_sliced_sobolev(X, Y, a, b, p=1.5, n_trees=10, seed=3)


def test_a_step_against_its_gradient_brings_clouds_nearer():
    X, Y, *_ = map(torch.tensor, two_clouds())
    X.requires_grad_()
    TreeSlicedSobolevLoss(seed=0)(X, Y).backward()
    with torch.no_grad():
        nearer = X - 0.05 * X.grad / X.grad.norm()
    assert tree_sliced_sobolev(nearer, Y, seed=1) < tree_sliced_sobolev(X.detach(), Y, seed=1)


def test_the_sphere_is_a_domain_and_others_are_refused():
    X, Y = (torch.tensor(on_sphere(part)) for part in two_clouds()[:2])
    assert TreeSlicedSobolevLoss(domain="sphere", n_trees=5, seed=0)(X, Y) > 0
    with pytest.raises(InvalidInput, match=r"row \d of X_s has norm 2"):
        TreeSlicedSobolevLoss(domain="sphere")(2 * X, Y)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"domain": "torus"}, "domain must be"),
        ({"p": 0.5}, "p must be at least 1"),
        ({"delta": -1}, "delta must be"),
        ({"splitting": "even"}, "splitting must be"),
        ({"n_trees": 0}, "n_trees must be"),
        ({"n_lines": 0}, "n_lines must be"),
    ],
)
def test_options_are_refused_before_training_begins(option, message):
    with pytest.raises(InvalidInput, match=message):
        TreeSlicedSobolevLoss(**option)


def test_its_options_show_in_a_printed_network():
    shown = repr(torch.nn.Sequential(TreeSlicedSobolevLoss(p=1.2, n_lines=7)))
    assert "p=1.2" in shown
    assert "n_lines=7" in shown
    assert "domain='euclidean'" in shown


def test_a_network_with_it_can_be_copied_and_saved(tmp_path):
    loss = TreeSlicedSobolevLoss(n_trees=5, seed=0)
    torch.save(loss.state_dict(), tmp_path / "loss.pt")
    assert not list(loss.parameters())
    assert isinstance(loss(torch.ones(3, 2), torch.zeros(4, 2)).item(), float)
    assert np.isfinite(loss(torch.ones(3, 2), torch.zeros(4, 2)).item())


def test_who_compares_arrays_does_not_load_torch():
    script = "import sys, numpy as np; from firstlight.transport import tree_sliced_sobolev as distance; "
    script += "distance(np.zeros((2, 2)), np.ones((2, 2)), n_trees=1); print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
