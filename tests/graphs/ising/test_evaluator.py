"""The score is log10 of the mean squared error, and nothing broadcasts."""

import math

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.evaluator import LRIMEvaluator, logmse

EVALUATOR = LRIMEvaluator("lrim_16_1.5_10k")


@pytest.mark.parametrize("convert", [torch.tensor, np.asarray, np.ndarray.tolist])
def test_score_is_log_of_the_mean_squared_error(convert):
    rng = np.random.default_rng(0)
    truth, guess = rng.normal(size=(2, 512, 1))
    expected = np.log10(np.mean([(a - b) ** 2 for a, b in zip(truth.ravel(), guess.ravel(), strict=True)]))
    score = EVALUATOR.eval({"y_true": convert(truth), "y_pred": convert(guess)})
    assert score.keys() == {"logmse"}
    assert score["logmse"] == pytest.approx(expected, rel=1e-12)


def test_small_errors_are_squared_in_double_precision():
    truth = torch.full((256,), 1.0, dtype=torch.float32)
    guess = (truth.double() + 1e-30).requires_grad_()
    assert EVALUATOR.eval({"y_true": truth, "y_pred": guess}) == {"logmse": -math.inf}
    single = torch.full((256,), 1e-30)
    score = EVALUATOR.eval({"y_true": torch.zeros(256), "y_pred": single})["logmse"]
    assert score == pytest.approx(-60, abs=1e-5)  # 1e-60 is 0 in single precision


def test_half_precision_is_scored_as_it_is():
    guess = torch.full((256, 1), 1.1).bfloat16()
    score = EVALUATOR.eval({"y_true": torch.ones(256, 1), "y_pred": guess})["logmse"]
    assert score == pytest.approx(2 * math.log10(float(guess[0]) - 1))


def test_columns_against_rows_are_refused_not_broadcast():
    with pytest.raises(InvalidInput, match=r"\(256, 1\) and \(256,\)"):
        EVALUATOR.eval({"y_true": np.zeros((256, 1)), "y_pred": np.zeros(256)})


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"y_true": np.zeros(256)}, "y_pred is missing"),
        ({"y_true": np.zeros(255), "y_pred": np.zeros(255)}, "a multiple of 256"),
        ({"y_true": np.zeros(0), "y_pred": np.zeros(0)}, "a multiple of 256"),
        ({"y_true": np.zeros((128, 2)), "y_pred": np.zeros((128, 2))}, r"\(nodes, 1\) or \(nodes,\)"),
        ({"y_true": np.zeros(256), "y_pred": np.full(256, np.nan)}, "must be finite"),
        (["y_true"], "y_pred is missing"),
        ({"y_true": "a", "y_pred": np.zeros(256)}, "expected numbers"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_bad_input_is_refused(given, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        EVALUATOR.eval(given)


def test_unknown_names_list_the_known():
    with pytest.raises(InvalidInput, match=r"lrim_256_1\.5_10k"):
        LRIMEvaluator("lrim_16_0.7_10k")


def test_score_of_a_model_is_the_mean_over_all_nodes_of_all_graphs():
    rng = np.random.default_rng(1)
    labels = [rng.normal(size=(n, 1)) for n in (5, 2, 11)]
    graphs = [Data(x=torch.zeros(len(y), 1), y=torch.tensor(y)) for y in labels]
    score = logmse(lambda data: torch.full_like(data.y, 0.5), graphs, batch_size=2)
    assert score == pytest.approx(np.log10(np.mean((np.concatenate(labels) - 0.5) ** 2)))


def test_a_model_without_graphs_or_with_other_shapes_than_labels_has_no_score():
    graphs = [Data(x=torch.zeros(3, 1), y=torch.ones(3, 1))]
    with pytest.raises(InvalidInput, match=r"shape of the labels, \(3, 1\), got \(3,\)"):
        logmse(lambda data: data.y[:, 0], graphs)
    with pytest.raises(InvalidInput, match="at least one graph"):
        logmse(lambda data: data.y, [])


def test_every_part_of_a_module_is_left_in_its_mode():
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.frozen, self.drop = torch.nn.BatchNorm1d(1).eval(), torch.nn.Dropout(0.5)

        def forward(self, data):
            return self.drop(self.frozen(data.x))

    module = Scaled()
    graphs = [Data(x=torch.ones(100, 1), y=torch.ones(100, 1))]
    assert logmse(module, graphs) < -9  # dropout would double half of the ones
    assert (module.training, module.frozen.training, module.drop.training) == (True, False, True)
