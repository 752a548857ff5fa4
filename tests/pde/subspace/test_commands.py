import re

import numpy as np
import pytest
from typer.testing import CliRunner

from firstlight.errors import InvalidInput
from firstlight.files import load_arrays, save_arrays
from firstlight.pde.subspace import SubspaceRegressor, projection_error
from firstlight.pde.subspace.commands import app
from firstlight.pde.subspace.problems import FlattopProblem, generate

DATA = generate(FlattopProblem(cells=8, n_vectors=3), 30)


@pytest.fixture
def samples(tmp_path):
    DATA.save(tmp_path / "samples.npz")
    return tmp_path / "samples.npz"


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def fields(text):
    return dict(re.split(r"  +", line, maxsplit=1) for line in text.strip().splitlines())


def test_what_is_trained_predicts_as_the_library_does_and_is_judged(samples, tmp_path):
    options = ["--net", "pod-mlp", "--columns", "6", "--steps", "40"]
    printed = fields(run("train", samples, "-o", tmp_path / "mine", *options))
    assert printed["model"] == str(tmp_path / "mine" / "model")
    weights = ["--weights", tmp_path / "mine" / "model"]
    picture = tmp_path / "angles.png"
    printed = fields(run("predict", samples, *weights, "-o", tmp_path / "w.npz", "--plot", picture))
    W = load_arrays(tmp_path / "w.npz")["W"]
    model = SubspaceRegressor.from_pretrained(tmp_path / "mine" / "model")
    np.testing.assert_allclose(W, model.predict(DATA.fields), atol=1e-6)
    mean = np.mean([projection_error(w, v) for w, v in zip(W, DATA.bases, strict=True)])
    assert float(printed["mean ‖(I − P)v‖"].split(",")[0]) == pytest.approx(mean, rel=1e-3)
    assert picture.stat().st_size > 1000
    table = run("bench", samples, "--judged", "5", *weights)
    assert "global POD" in table
    assert "predicted" in table
    run("train", samples, "-o", tmp_path / "mine", *options, "--resume")
    with pytest.raises(InvalidInput, match="holds a run already"):
        run("train", samples, "-o", tmp_path / "mine", *options)


def test_fields_alone_are_predicted_for_by_the_shipped_model(tmp_path):
    field = FlattopProblem().sample(0).field
    np.save(tmp_path / "field.npy", field)
    printed = fields(run("predict", tmp_path / "field.npy", "-o", tmp_path / "w.npz", "--columns", "20"))
    assert printed["predicted"] == "1 subspaces of 20 dimensions in 1,024"
    assert load_arrays(tmp_path / "w.npz")["W"].shape == (1, 1024, 20)


def test_bad_input_is_refused_and_nothing_is_written(samples, tmp_path):
    out = tmp_path / "w.npz"
    np.save(tmp_path / "field.npy", np.ones((1, 5)))
    (tmp_path / "broken.npy").write_text("no array")
    save_arrays(tmp_path / "other.npz", x=np.ones(3))
    for words, message in {
        ("predict", tmp_path / "none.npz", "-o", out): "there is no file",
        ("predict", tmp_path / "broken.npy", "-o", out): "not a readable .npy",
        ("predict", tmp_path / "other.npz", "-o", out): "no array 'fields', only x",
        ("predict", tmp_path / "field.npy", "-o", out): "expected one field of shape",
        ("predict", tmp_path / "field.npy", "-o", out, "--plot", tmp_path / "a.png"): "holds no bases",
        ("predict", samples, "-o", tmp_path / "w.csv"): r"ends in \.npz",
        ("train", "nothing", "-o", tmp_path / "run"): "there is no file nothing",
        ("bench", samples, "--judged", "29"): "lower --judged",
        ("bench", samples, "--judged", "0"): "at least one sample",
    }.items():
        with pytest.raises(InvalidInput, match=message):
            run(*words)
    assert not out.exists()
    assert not (tmp_path / "run").exists()
