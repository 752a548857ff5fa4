"""The verbs that train a model and put it beside what is local."""

from typer.testing import CliRunner

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.commands import app
from firstlight.graphs.ising.data import generate
from firstlight.graphs.ising.results import BenchmarkResult


def firstlight_ising(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_train_then_report(tmp_path):
    run, root = tmp_path / "mlp", tmp_path / "sets"
    generate("lrim_16_0.6_200", root)
    arguments = ["train", "lrim_16_0.6_200", "--model", "mlp", "--width", 4, "--depth", 1, "--epochs", 1]
    trained = firstlight_ising(*arguments, "--root", root, "--out", run)
    assert trained.exit_code == 0, trained.output
    result = BenchmarkResult.load(run)
    assert (result.radius, result.cost, result.model) == (0, "O(L·N)", "mlp, 1 × 4")
    assert f"LogMSE {result.logmse:.3f}" in trained.output

    again = firstlight_ising(*arguments, "--root", root, "--out", run)
    assert isinstance(again.exception, InvalidInput)
    assert "holds a run already" in str(again.exception)

    picture = tmp_path / "report.png"
    report = firstlight_ising("report", run, "--root", root, "--plot", picture)
    assert report.exit_code == 0, report.output
    assert f"{result.logmse:.3f}" in report.output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_folder_without_a_result_is_refused(tmp_path):
    assert isinstance(firstlight_ising("report", tmp_path).exception, OSError)
