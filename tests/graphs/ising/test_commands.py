"""The verbs generate and oracle, as typed."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.commands import app
from firstlight.graphs.ising.data import load_samples
from firstlight.graphs.ising.locality import local_lmmse_curve, oracle_curve


def run(*words):
    result = CliRunner().invoke(app, list(map(str, words)))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def data_set(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets") / "new"
    output = run("generate", "--size", 16, "--sigma", 1.5, "--count", 120, "--out", folder, "--jobs", 1, "--seed", 3)
    return folder / "lrim_16_1.5_120.npz", output


def test_generate_writes_the_set_and_says_how_independent_its_graphs_are(data_set):
    path, output = data_set
    report = load_samples(path).report
    assert (report.n, report.seed, report.temperature) == (120, 3, pytest.approx(5.42, abs=0.02))
    assert f"{path}: 120 graphs at T = {report.temperature:g}" in output
    assert f"{report.thin} sweeps between graphs" in output
    assert f"correlate by {report.rho_magnetisation:.3f} in |m|" in output


def test_oracle_prints_and_saves_both_curves(data_set, tmp_path):
    samples = load_samples(data_set[0])
    output = run("oracle", data_set[0], "--out", tmp_path / "curves.csv", "--plot", tmp_path / "curves.png")
    with (tmp_path / "curves.csv").open() as file:
        rows = list(csv.DictReader(file))
    for name, curve in (("oracle", oracle_curve), ("local_linear", local_lmmse_curve)):
        expected = curve(samples.model, samples)
        np.testing.assert_allclose([float(row[f"{name}_logmse"]) for row in rows], expected.logmse, atol=6e-5)
        assert f"{expected.logmse[2]:.4f} ± {expected.logmse_error[2]:.4f}" in output
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_wrong_words_are_refused_before_work_begins(data_set, tmp_path):
    with pytest.raises(InvalidInput, match=r"no data set is named 'lrim_48_0.6_10000'"):
        run("generate", "--size", 48, "--sigma", 0.6, "--out", tmp_path)
    with pytest.raises(InvalidInput, match="at least one graph, got --count 0"):
        run("generate", "--size", 16, "--sigma", 0.6, "--count", 0, "--out", tmp_path)
    with pytest.raises(InvalidInput, match=r"ends in .csv"):
        run("oracle", data_set[0], "--out", tmp_path / "curves.txt")
    with pytest.raises(InvalidInput, match="does not exist"):
        run("oracle", data_set[0], "--plot", tmp_path / "none" / "curves.png")
    with pytest.raises(FileNotFoundError):
        run("oracle", tmp_path / "none.npz")
    assert not list(tmp_path.iterdir())
