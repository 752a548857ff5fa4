"""Many independent jobs: in processes of this machine and on a Dask cluster, with and without a folder."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial
from pathlib import Path

import dask
import numpy as np
import psutil
import pytest
from distributed import LocalCluster

from firstlight.errors import FirstlightError, InvalidInput
from firstlight.parallel import run


def square(x: float) -> float:
    return x * x


def powers(x: float) -> dict[str, np.ndarray]:
    return {"x": np.array(x), "powers": x ** np.arange(4.0)}


def noted_powers(diary: Path, x: float) -> dict[str, np.ndarray]:
    """Also write down that the job was run."""
    with diary.open("a") as file:
        file.write(f"{x:g}\n")
    return powers(x)


def inverse(x: float) -> float:
    return 1 / x


def deadly(x: int) -> int:
    if x == 3:
        os.kill(os.getpid(), signal.SIGKILL)  # as the system does when memory runs out
    time.sleep(0.05)
    return x


def assert_powers(results, keys) -> None:
    assert list(results) == keys
    for number, key in enumerate(keys):
        np.testing.assert_array_equal(results[key]["powers"], np.power(float(number), np.arange(4)))
        assert results[key]["x"] == number


def test_results_are_those_of_a_loop_and_in_its_order():
    jobs = np.random.default_rng(2).normal(size=30).tolist()
    keys = [f"job {n}" for n in range(30)]
    assert list(run(square, jobs, keys=keys, workers=2).complete().items()) == list(
        zip(keys, map(square, jobs), strict=True)
    )


def test_jobs_without_keys_are_numbered():
    assert run(square, iter([3, 4]), workers=2).complete() == {"0": 9, "1": 16}
    assert run(square, [], workers=2).complete() == {}


def test_stored_results_are_not_computed_again(tmp_path):
    keys = [f"mol_{n}" for n in range(6)]
    job = partial(noted_powers, tmp_path / "diary")
    call = partial(run, job, [float(n) for n in range(6)], keys=keys, folder=tmp_path / "out", workers=2)
    assert_powers(call().complete(), keys)
    (tmp_path / "out" / "mol_4.npz").unlink()
    assert_powers(call().complete(), keys)
    assert sorted((tmp_path / "diary").read_text().split()) == ["0", "1", "2", "3", "4", "4", "5"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(f"{key}.npz" for key in keys)


def test_failures_do_not_stop_the_others_and_are_tried_again(tmp_path, capsys):
    jobs, keys = [1.0, 0.0, 2.0, 0.0], ["a", "b", "c", "d"]
    done = run(inverse, jobs, keys=keys, workers=2)
    assert dict(done.results) == {"a": 1.0, "c": 0.5}
    assert done.failures["b"].startswith("Traceback")
    assert sorted(done.failures) == ["b", "d"]
    line = (
        "2 of 4 jobs failed; b: ZeroDivisionError: float division by zero; d: ZeroDivisionError: float division by zero"
    )
    assert capsys.readouterr().err.strip() == line
    with pytest.raises(FirstlightError, match="^" + line):
        done.complete()
    stored = run(lambda x: {"inverse": np.array(1 / x)}, jobs, keys=keys, folder=tmp_path, workers=2)
    assert (list(stored.results), sorted(stored.failures)) == (["a", "c"], ["b", "d"])
    mended = run(lambda x: {"inverse": np.array(0.0)}, jobs, keys=keys, folder=tmp_path, workers=2)
    assert [float(mended.complete()[key]["inverse"]) for key in keys] == [1.0, 0.0, 0.5, 0.0]


def test_job_that_takes_its_process_down_costs_only_its_own_result():
    done = run(deadly, range(8), workers=2)
    assert done.results == {str(x): x for x in range(8) if x != 3}
    assert list(done.failures) == ["3"]
    assert "SIGKILL" in done.failures["3"]
    assert done.summary().startswith("1 of 8 jobs failed; 3: the job took its process down")


def test_results_that_cannot_be_stored_or_sent_are_failures(tmp_path):
    stored = run(lambda x: x, [1.5, {"a": [object()]}], keys=["number", "object"], folder=tmp_path, workers=2)
    assert "mapping of names to arrays, got float" in stored.failures["number"]
    assert "array 'a' holds Python objects" in stored.failures["object"]
    sent = run(lambda x: (y for y in [x]), [1], workers=2)
    assert "pickle" in sent.failures["0"]


def test_jobs_are_taken_from_a_generator_only_as_fast_as_they_end(tmp_path):
    ahead = []

    def jobs():
        for number in range(30):
            ahead.append(number - len(list(tmp_path.glob("*.npz"))))
            yield float(number)

    keys = [f"n{n}" for n in range(30)]
    assert_powers(run(powers, jobs(), keys=keys, folder=tmp_path, workers=2).complete(), keys)
    assert max(ahead) <= 4


def test_an_error_of_the_job_generator_is_raised():
    def jobs():
        yield 1
        raise RuntimeError("no more molecules")

    with pytest.raises(RuntimeError, match="no more molecules"):
        run(square, jobs(), workers=2)


def test_workers_hold_libraries_to_one_thread():
    def threads(_):
        import torch

        return torch.get_num_threads()

    assert run(threads, [0], workers=2).complete() == {"0": 1}


INTERRUPTED = """
import sys, time
import numpy as np
from firstlight.errors import Interrupted
from firstlight.parallel import run

def slow(x):
    time.sleep(0.1)
    return {{"x": np.array(x)}}

try:
    run(slow, range(200), keys=[f"k{{n}}" for n in range(200)], folder={folder!r}, workers=2)
except Interrupted as stop:
    print(len(stop.finished), stop, flush=True)
"""


@pytest.mark.parametrize("stored", [True, False])
def test_ctrl_c_keeps_what_is_finished_and_leaves_no_process(tmp_path, stored):
    folder = tmp_path / "out" if stored else None
    script = tmp_path / "jobs.py"
    script.write_text(textwrap.dedent(INTERRUPTED.format(folder=str(folder) if stored else None)))
    command = [sys.executable, str(script)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    children = wait_for_workers(process)
    if stored:
        wait_until(lambda: len(list(folder.glob("*.npz"))) >= 3)
    else:
        time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert psutil.wait_procs(children, timeout=10)[1] == []
    finished = int(out.split()[0])
    assert "stopped by Ctrl-C" in out
    assert finished < 200
    if stored:
        assert finished == len(list(folder.glob("*.npz"))) >= 3
        assert f"in {folder}, and the same call goes on" in out
        assert not list(folder.glob(".*"))
    else:
        assert "in .finished" in out


def wait_for_workers(process: subprocess.Popen) -> list[psutil.Process]:
    """The two workers and whatever else the run has started."""
    parent = psutil.Process(process.pid)
    wait_until(lambda: len(parent.children(recursive=True)) >= 3)
    return parent.children(recursive=True)


def wait_until(happened, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def cluster():
    # A job that kills its worker is given up at once, where Dask would let it kill three more.
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), LocalCluster(**options) as cluster:
        yield cluster


def test_dask_cluster_gives_what_the_cores_give(cluster, tmp_path):
    keys = [f"mol_{n}" for n in range(12)]
    jobs = [float(n) for n in range(12)]
    call = partial(run, keys=keys, scheduler=cluster.scheduler_address)
    assert call(square, jobs).complete() == run(square, jobs, keys=keys, workers=2).complete()
    job = partial(noted_powers, tmp_path / "diary")
    for _ in range(2):
        assert_powers(call(job, jobs, folder=tmp_path / "out").complete(), keys)
    assert len((tmp_path / "diary").read_text().split()) == 12
    pids = call(lambda _: (time.sleep(0.1), os.getpid())[1], jobs).complete().values()
    assert os.getpid() not in pids
    assert len(set(pids)) == 2


def test_failures_on_a_dask_cluster_do_not_stop_the_others(cluster):
    done = run(inverse, [1.0, 0.0, 2.0], scheduler=cluster.scheduler_address)
    assert done.results == {"0": 1.0, "2": 0.5}
    assert "ZeroDivisionError" in done.failures["1"]


def test_job_that_kills_a_dask_worker_is_a_failure_and_the_cluster_goes_on(cluster):
    done = run(deadly, [3], scheduler=cluster.scheduler_address)
    assert "KilledWorker" in done.failures["0"]
    assert run(deadly, [4, 5], scheduler=cluster.scheduler_address).complete() == {"0": 4, "1": 5}


def test_a_generator_of_more_or_fewer_jobs_than_keys_is_noticed_at_its_end():
    for number, message in ((1, "fewer jobs than the 2 keys"), (3, "more jobs than the 2 keys")):
        with pytest.raises(InvalidInput, match=message):
            run(square, iter(range(number)), keys=["a", "b"], workers=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keys": ["a", "a"]}, "a key of its own"),
        ({"keys": ["a"]}, "1 keys for 2 jobs"),
        ({"keys": ["a", "../b"], "folder": "out"}, "'../b' cannot name a file"),
        ({"folder": "out"}, "need keys"),
        ({"workers": 0}, "at least 1, got 0"),
        ({"scheduler": "tcp://127.0.0.1:9"}, "no Dask scheduler answers at tcp://127.0.0.1:9"),
        ({"scheduler": "nowhere"}, "no Dask scheduler answers at nowhere"),
    ],
)
def test_bad_input_gives_one_clear_error(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=message):
        run(square, [1, 2], **({"workers": 2} | options))
