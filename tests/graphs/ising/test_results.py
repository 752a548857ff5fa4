"""A report puts every model beside what is local on the same graphs."""

import dataclasses

import matplotlib as mpl
import numpy as np
import pytest

from firstlight.errors import InvalidInput
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.results import BenchmarkReport, BenchmarkResult
from firstlight.graphs.ising.sampling import sample

GIN = BenchmarkResult("gin, 3 × 8", "lrim_16_0.6_40", 0.1, 3, "O(L·E)", 1234, 0.5, seed=0)
GLOBAL = BenchmarkResult("gps, 3 × 8", "lrim_16_0.6_40", -1.5, None, "O(L·N²)", 99, 0.25, seed=1)


@pytest.fixture(scope="module")
def samples():
    return sample(PowerLawIsing((8, 8), 0.6), 8.0, 200, thermalize=50, thin=5, seed=0)


def test_results_come_back_from_their_file(tmp_path):
    (tmp_path / "run").mkdir()
    GLOBAL.save(tmp_path / "run" / "result.json")
    assert BenchmarkResult.load(tmp_path / "run") == BenchmarkResult.load(tmp_path / "run" / "result.json") == GLOBAL


@pytest.mark.parametrize("text", ["{}", "[1]", "no json", '{"model": 1}'])
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(InvalidInput, match=r"result\.json is no result of firstlight ising train"):
        BenchmarkResult.load(tmp_path)


def test_oracle_beside_a_model_is_the_truncated_sum_on_the_test_graphs(samples):
    report = BenchmarkReport.of([GLOBAL, GIN], samples)
    ising, spins = samples.model, samples[180:].astype(float)
    hops = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    hops = np.minimum(hops, 8 - hops)
    near = (hops[:, None, :, None] + hops[None, :, None, :]).reshape(64, 64) <= 3
    missed = spins @ np.where(near, 0, ising.couplings())
    gin, everything = report.rows()
    assert gin["model"] == "gin, 3 × 8"
    assert float(gin["oracle there"]) == pytest.approx(np.log10(np.mean(missed**2)), abs=1e-3)
    assert float(gin["best linear there"]) < float(gin["oracle there"])
    assert everything["oracle there"] == "–"
    assert everything["sees"] == "everything"


def test_as_good_as_is_the_radius_that_reaches_the_error(samples):
    local = BenchmarkReport.of([GIN], samples).local
    for radius in (2, 5):
        result = dataclasses.replace(GIN, logmse=float(local.logmse[radius - 1]))
        (row,) = BenchmarkReport.of([result], samples).rows()
        assert row["as good as"] == f"{radius} hops"


def test_picture_shows_curves_and_models(samples):
    with mpl.rc_context({"backend": "agg"}):
        ax = BenchmarkReport.of([GIN, GLOBAL], samples).plot()
    assert len(ax.lines) == 4
    assert ax.lines[2].get_ydata() == [-1.5] or ax.lines[2].get_ydata() == [0.1]


def test_results_on_several_sets_are_refused(samples):
    with pytest.raises(InvalidInput, match=r"lrim_16_0\.6_40, lrim_32_0\.6_10k"):
        BenchmarkReport.of([GIN, dataclasses.replace(GIN, dataset="lrim_32_0.6_10k")], samples)
