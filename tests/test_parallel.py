"""Many independent jobs: in processes of this machine and on a Dask cluster, with and without a folder."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
from distributed import LocalCluster

from firstlight.errors import InvalidInput
from firstlight.files import load_arrays
from firstlight.parallel import run

SIX = {f"mol_{n}": float(n) for n in range(6)}


def square(x: float) -> float:
    return x * x


def inverse(x: float) -> float:
    return 1 / x


def noted_powers(diary: Path, x: float) -> dict[str, np.ndarray]:
    """Return the first powers of a number, and write down that the job was run."""
    with diary.open("a") as file:
        file.write(f"{x:g}\n")
    return {"x": np.array(x), "powers": x ** np.arange(4.0)}


def deadly(x: int) -> int:
    if x == 3:
        os.kill(os.getpid(), signal.SIGKILL)  # as the system does when memory runs out
    return x


def assert_powers(files) -> None:
    assert list(files) == list(SIX)
    for key, file in files.items():
        stored = load_arrays(file)
        np.testing.assert_array_equal(stored["powers"], np.power(SIX[key], np.arange(4)))
        assert stored["x"] == SIX[key]


def complete(outcome):
    results, failures = outcome
    assert failures == {}
    return results


def test_results_are_those_of_a_loop_and_in_its_order():
    jobs = {f"job {n}": x for n, x in enumerate(np.random.default_rng(2).normal(size=30).tolist())}
    results = complete(run(square, jobs, workers=2))
    assert list(results.items()) == [(key, square(x)) for key, x in jobs.items()]
    assert run(square, {}, workers=2) == ({}, {})


def test_stored_results_are_not_computed_again(tmp_path):
    call = partial(run, partial(noted_powers, tmp_path / "diary"), SIX, folder=tmp_path / "out", workers=2)
    assert_powers(complete(call()))
    (tmp_path / "out" / "mol_4.npz").unlink()
    assert_powers(complete(call()))
    assert sorted((tmp_path / "diary").read_text().split()) == ["0", "1", "2", "3", "4", "4", "5"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(f"{key}.npz" for key in SIX)


def test_failures_do_not_stop_the_others_and_are_tried_again(tmp_path):
    jobs = {"a": 1.0, "b": 0.0, "c": 2.0, "d": 0.0}
    results, failures = run(inverse, jobs, workers=2)
    assert results == {"a": 1.0, "c": 0.5}
    assert sorted(failures) == ["b", "d"]
    assert failures["b"].startswith("Traceback")
    assert "return 1 / x" in failures["b"]
    assert failures["b"].endswith("ZeroDivisionError: float division by zero\n")
    stored, failures = run(lambda x: {"inverse": np.array(1 / x)}, jobs, folder=tmp_path, workers=2)
    assert (list(stored), sorted(failures)) == (["a", "c"], ["b", "d"])
    mended = complete(run(lambda x: {"inverse": np.array(0.0)}, jobs, folder=tmp_path, workers=2))
    assert [float(load_arrays(file)["inverse"]) for file in mended.values()] == [1.0, 0.0, 0.5, 0.0]


def test_a_job_that_takes_its_process_down_costs_only_those_under_way():
    jobs = {str(x): x for x in range(20)}
    results, failures = run(deadly, jobs, workers=2)
    assert "SIGKILL" in failures["3"]
    assert len(failures) <= 4  # two jobs for each of two processes
    assert results == {key: x for key, x in jobs.items() if key not in failures}


class Unsendable(Exception):
    """Cannot be unpickled, as its text is not what it is made from."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code}: {reason}")


def test_results_and_errors_that_cannot_be_stored_or_sent_are_failures(tmp_path):
    jobs = {"number": 1.5, "object": {"a": [object()]}}
    _, failures = run(lambda x: x, jobs, folder=tmp_path, workers=2)
    assert "must be a mapping, not float" in failures["number"]
    assert "Object arrays cannot be saved" in failures["object"]
    assert list(tmp_path.iterdir()) == []
    assert "pickle" in run(lambda x: (y for y in [x]), {"generator": 1}, workers=2)[1]["generator"]

    def fail(x):
        raise Unsendable(x, "no convergence")

    assert "7: no convergence" in run(fail, {"a": 7}, workers=2)[1]["a"]


def test_workers_hold_libraries_to_one_thread():
    def threads(_):
        import numba

        return numba.get_num_threads()

    assert complete(run(threads, {"": 0}, workers=2)) == {"": 1}


INTERRUPTED = """
import sys, time
import numpy as np
from firstlight.errors import Interrupted
from firstlight.parallel import run

def slow(x):
    time.sleep(0.1)
    return {{"x": np.array(x)}}

try:
    run(slow, {{f"k{{n}}": n for n in range(200)}}, folder={folder!r}, workers=2)
except Interrupted as stop:
    print(len(stop.finished), stop, flush=True)
"""


@pytest.mark.parametrize("stored", [True, False])
def test_ctrl_c_keeps_what_is_finished_and_leaves_no_process(tmp_path, stored):
    folder = tmp_path / "out"
    command = [sys.executable, "-c", INTERRUPTED.format(folder=str(folder) if stored else None)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    parent = psutil.Process(process.pid)
    wait_until(lambda: len(parent.children(recursive=True)) >= 3)  # the workers and what watches over them
    children = parent.children(recursive=True)
    if stored:
        wait_until(lambda: len(list(folder.glob("*.npz"))) >= 3)
    else:
        time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    # Stopped while its workers begin, joblib may tell of a semaphore that it has cleared away.
    told = [line for line in err.splitlines() if "resource_tracker" not in line and line.strip() != "warnings.warn("]
    assert (process.returncode, told) == (0, [])
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


def wait_until(happened, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield cluster


def test_dask_cluster_gives_what_the_cores_give(cluster, tmp_path):
    on_cluster = partial(run, scheduler=cluster.scheduler_address)
    assert complete(on_cluster(square, SIX)) == complete(run(square, SIX, workers=2))
    job = partial(noted_powers, tmp_path / "diary")
    for _ in range(2):
        assert_powers(complete(on_cluster(job, SIX, folder=tmp_path / "out")))
    assert len((tmp_path / "diary").read_text().split()) == 6
    pids = complete(on_cluster(lambda _: (time.sleep(0.1), os.getpid())[1], SIX)).values()
    assert os.getpid() not in pids
    assert len(set(pids)) == 2
    results, failures = on_cluster(inverse, {"a": 1.0, "b": 0.0, "c": 2.0})
    assert results == {"a": 1.0, "c": 0.5}
    assert "ZeroDivisionError" in failures["b"]


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere"])
def test_a_scheduler_that_does_not_answer_is_named(address):
    with pytest.raises(InvalidInput, match=f"no Dask scheduler answers at {address}"):
        run(square, SIX, scheduler=address)


def test_a_key_that_would_leave_the_folder_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"'\.\./b' cannot name a file"):
        run(square, {"a": 1.0, "../b": 2.0}, folder=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
