"""Data sets come whole from disk, the same bits however often they were interrupted, or are refused with a remedy."""

import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

from firstlight import parallel
from firstlight.errors import Interrupted, InvalidInput
from firstlight.graphs.ising import data
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.data import LRIM_NAMES, LRIMName, generate, load_samples, save_samples
from firstlight.graphs.ising.sampling import sample
from firstlight.graphs.ising.temperatures import LRIM_TEMPERATURES

SMALL = "lrim_16_0.6_150"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return generate(SMALL, tmp_path_factory.mktemp("made"))


def test_a_generated_set_is_the_sample_of_its_model_and_temperature(made):
    found = load_samples(made)
    assert made.name == "lrim_16_0.6_150.npz"
    expected = sample(PowerLawIsing((16, 16), 0.6), 8.8787, 150, seed=0, thermalize=200, thin=20)
    np.testing.assert_array_equal(found.packed, expected.packed)
    for name, value in vars(expected.report).items():
        np.testing.assert_array_equal(getattr(found.report, name), value)
    np.testing.assert_array_equal(found.regenerate(149), found[149])
    assert [path.name for path in made.parent.iterdir()] == [made.name]  # the chains are cleared away


def test_a_set_that_is_there_is_found_and_not_drawn_again(made):
    before = made.stat().st_mtime_ns
    assert generate(SMALL, made.parent) == made
    assert made.stat().st_mtime_ns == before
    with pytest.raises(InvalidInput, match=r"drawn with seed 0, not 7.*--overwrite"):
        generate(SMALL, made.parent, seed=7)


def test_overwriting_draws_again(made, tmp_path):
    path = shutil.copy(made, tmp_path)
    generate(SMALL, tmp_path, seed=7, overwrite=True)
    assert load_samples(path).report.seed == 7


def test_interrupted_work_goes_on_to_the_same_bits(made, tmp_path, monkeypatch):
    run = parallel.run

    def stopped_after_the_first(function, jobs, **options):
        run(function, dict(list(jobs.items())[:1]), **options)
        raise Interrupted("stopped by Ctrl-C")

    monkeypatch.setattr(parallel, "run", stopped_after_the_first)
    with pytest.raises(Interrupted):
        generate(SMALL, tmp_path)
    chains = list(tmp_path.rglob("*.npz"))
    assert [path.name for path in chains] == ["000000.npz"]
    first = chains[0].stat().st_mtime_ns
    monkeypatch.setattr(parallel, "run", lambda *args, **options: _untouched(run, chains[0], first, *args, **options))
    assert generate(SMALL, tmp_path).read_bytes() == made.read_bytes()


def _untouched(run, path, written, *args, **options):
    results = run(*args, **options)
    assert path.stat().st_mtime_ns == written  # the finished chain was taken as it is
    return results


def test_chains_of_other_parameters_are_not_taken_for_ours(tmp_path, monkeypatch):
    folders = set()

    def noted(*args, folder, **options):
        folders.add(folder)
        raise Interrupted("stopped by Ctrl-C")

    monkeypatch.setattr(data, "sample", noted)
    for seed, temperature, occupied in ((0, 7.0, None), (1, 7.0, None), (0, 8.0, None), (0, 7.0, np.eye(4) == 0)):
        model = PowerLawIsing((4, 4), 0.6, occupied=occupied)
        with pytest.raises(Interrupted):
            data.generate_samples(model, temperature, 10, tmp_path / "some.npz", thermalize=1, thin=1, seed=seed)
    assert len(folders) == 4


def test_two_processes_may_make_the_same_set_at_once(made, tmp_path):
    program = f"from firstlight.graphs.ising.data import generate; generate({SMALL!r}, {str(tmp_path)!r})"
    other = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.iterdir()):  # until it has begun, which takes it some seconds
        assert other.poll() is None, other.communicate()[1]
        time.sleep(0.01)
    generate(SMALL, tmp_path)
    assert other.communicate(timeout=120)[1] == ""
    assert other.returncode == 0
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [made.read_bytes()]


def test_the_slower_of_two_processes_takes_what_the_faster_has_made(made, tmp_path, monkeypatch):
    def overtaken(*args, folder, **options):
        shutil.copy(made, tmp_path)
        raise InvalidInput(f"the folder {folder} does not exist")  # the other process has cleared it away

    monkeypatch.setattr(data, "sample", overtaken)
    assert generate(SMALL, tmp_path) == tmp_path / made.name
    (tmp_path / made.name).unlink()
    monkeypatch.setattr(data, "sample", lambda *args, **options: load_samples(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError):
        generate(SMALL, tmp_path)


@pytest.mark.parametrize("place", [0.1, 0.4, 0.7, 0.95])
def test_one_changed_byte_is_found(made, tmp_path, place):
    content = bytearray(made.read_bytes())
    content[int(place * len(content))] ^= 0xFF
    damaged = tmp_path / made.name
    damaged.write_bytes(content)
    with pytest.raises(InvalidInput, match=rf"{damaged}.*delete it and generate it again"):
        load_samples(damaged)
    with pytest.raises(InvalidInput, match="delete it and generate it again"):
        generate(SMALL, tmp_path)


def test_a_file_cut_to_half_is_found(made, tmp_path):
    damaged = tmp_path / made.name
    damaged.write_bytes(made.read_bytes()[: made.stat().st_size // 2])
    with pytest.raises(InvalidInput, match=rf"{damaged}.*delete it and generate it again"):
        load_samples(damaged)


def test_spins_that_do_not_fit_their_checksum_are_found(made, tmp_path):
    with np.load(made) as stored:
        arrays = dict(stored)
    arrays["packed"][3, 5] ^= 1
    np.savez(tmp_path / "forged.npz", **arrays)
    with pytest.raises(InvalidInput, match="its checksum is not that of its contents"):
        load_samples(tmp_path / "forged.npz")
    np.savez(tmp_path / "other.npz", x=np.ones(3))
    with pytest.raises(InvalidInput, match="holds no spin configurations"):
        load_samples(tmp_path / "other.npz")


@pytest.mark.parametrize("model", [
    PowerLawIsing((3, 4), 0.7, boundary="open"),
    PowerLawIsing((4, 4), 0.6, lattice="triangular"),
    PowerLawIsing((3, 4), 0.6, occupied=np.arange(12).reshape(3, 4) > 1),
    PowerLawIsing((2, 2), 0.6, couplings=np.array([[0, 1, 2, 0], [1, 0, -1, 3], [2, -1, 0, 1], [0, 3, 1, 0]])),
    PowerLawIsing.from_positions(np.random.default_rng(0).random((9, 3)), 1.5, radius=0.6),
], ids=repr)  # fmt: skip
def test_samples_of_any_model_come_back_from_their_file(model, tmp_path):
    drawn = sample(model, 6.0, 12, seed=3, thermalize=10, thin=2)
    save_samples(tmp_path / "drawn.npz", drawn)
    found = load_samples(tmp_path / "drawn.npz")
    np.testing.assert_array_equal(found.packed, drawn.packed)
    np.testing.assert_array_equal(found.model.couplings(), model.couplings())
    np.testing.assert_array_equal(found.model.edge_index, model.edge_index)
    np.testing.assert_array_equal(found.regenerate(11), drawn[11])


def test_names_are_taken_apart_and_put_together():
    for name in (*LRIM_NAMES, "lrim_16_0.6_100k", "lrim_32_1.5_500"):
        assert str(LRIMName.parse(name)) == name
    assert len(LRIM_NAMES) == 10
    assert LRIMName.parse("lrim_64_0.6_10k") == LRIMName(64, 0.6, 10_000)
    assert str(LRIMName.parse("lrim_16_0.6_1000")) == "lrim_16_0.6_1k"
    assert data.SWEEPS_BETWEEN_DRAWS.keys() == LRIM_TEMPERATURES.keys()


@pytest.mark.parametrize("name", ["lrim_48_0.6_10k", "lrim_16_0.7_10k", "lrim_16_0.6", "lrim_16_0.6_0k", "ising"])
def test_other_names_are_refused_with_the_list_of_valid_ones(name, tmp_path):
    with pytest.raises(InvalidInput, match=f"no data set is named '{name}'; the benchmark has lrim_16_0.6_10k, .*500"):
        generate(name, tmp_path)
