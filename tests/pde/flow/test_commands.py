import re
import warnings

import h5py
import numpy as np
import pytest
from tests.pde.flow.linear_fields import circles
from typer.testing import CliRunner

from firstlight.errors import InvalidInput
from firstlight.pde.flow import IllPosedReversal, Trajectories, load_model
from firstlight.pde.flow.commands import app


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def fields(text):
    return dict(re.split(r"  +", line, maxsplit=1) for line in text.strip().splitlines() if re.search(r"\S  +\S", line))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A file of circles and a model of few steps, made by the verbs."""
    folder = tmp_path_factory.mktemp("flow")
    circles(12, even=True).to_hdf5(folder / "circles.h5")
    options = ["--keep", 0.5, "--spline", "c4", "--steps", 60, "--learning-rate", 0.003]
    printed = run("fit", folder / "circles.h5", "-o", folder / "run", *options)
    return folder, fields(printed)


def test_generate_writes_what_fit_reads(tmp_path):
    printed = run("generate", "lorenz", "-n", 2, "-o", tmp_path / "a.h5", "--seed", 1)
    data = Trajectories.from_file(tmp_path / "a.h5")
    assert len(data) == 2
    assert data.channels == ("x", "y", "z")
    assert "2 trajectories" in printed


def test_fit_says_what_it_learned_from_and_leaves_a_model(trained):
    folder, printed = trained
    assert printed["trained on"] == "11 trajectories, 132 frames"
    assert "epoch 1 of 1" in printed["rollout error"]
    assert float(printed["label error"].split()[0]) < 0.3
    assert load_model(folder / "run").channels == 2


def test_rollout_writes_states_at_the_times_asked_for_and_its_own_error(trained):
    folder, _ = trained
    asked = ["--until", 1, "--frames", 5]
    printed = fields(run("rollout", folder / "run", folder / "circles.h5", "-o", folder / "out.h5", *asked))
    assert printed["times"] == "5 from 0 to 1"
    assert float(printed["integration error"].split()[0]) < 1e-4
    written = Trajectories.from_file(folder / "out.h5")
    data = Trajectories.from_file(folder / "circles.h5")
    expected = load_model(folder / "run").predict(data.u[3][:1], np.linspace(0, 1, 5)).u[:, 0]
    np.testing.assert_allclose(written.u[3], expected, atol=1e-6)


def test_rollout_over_the_frames_of_the_file_says_the_error_that_evaluate_says(trained):
    folder, _ = trained
    printed = fields(run("rollout", folder / "run", folder / "circles.h5", "--plot", folder / "a.png"))
    table = run("evaluate", folder / "run", "--on", folder / "circles.h5")
    assert printed["error"].split()[0] in table
    assert "persistence" in table
    assert (folder / "a.png").stat().st_size > 1000


def test_reverse_prints_growth_and_a_verdict(trained):
    folder, _ = trained
    with warnings.catch_warnings():
        warnings.simplefilter("error", IllPosedReversal)
        printed = run("reverse", folder / "run", folder / "circles.h5", "--back", 1, "--plot", folder / "b.png")
    assert {"growth rate", "amplification", "round trip", "verdict"} <= set(fields(printed))
    assert (folder / "b.png").exists()


def test_what_the_reader_found_is_said(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["tensor"] = np.random.default_rng(0).normal(size=(2, 6, 8)).astype(np.float32)
        file["t-coordinate"], file["x-coordinate"] = np.arange(7.0), np.arange(8.0)
    result = CliRunner().invoke(app, ["evaluate", "lorenz", "--on", str(tmp_path / "a.h5")])
    assert "7 times for 6 frames" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["generate", "weather", "-o", "a.h5"], "no problem is called 'weather'"),
        (["generate", "lorenz", "-o", "a.h5", "--points", 8], "has no grid"),
        (["generate", "lorenz", "-o", "a.csv"], "expected a name that ends in"),
        (["rollout", "lorenz", "b.csv"], "cannot tell what b.csv is"),
        (["reverse", "nowhere", "b.h5", "--back", 1], "cannot load FlowOperator"),
    ],
)
def test_bad_requests_are_refused_and_nothing_is_written(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InvalidInput, match=message):
        run(*arguments)
    assert not list(tmp_path.iterdir())
