"""The one way to run many independent jobs: on the cores of this machine, or on a Dask cluster that is already there.

Long work survives. With a folder every result is on disk as soon as it exists, and the same call after Ctrl-C, a crash
or a night goes on where it stopped. A job that fails, even one that takes its process down, costs only its own result.
"""

import io
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from dataclasses import dataclass
from functools import partial
from itertools import count, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from firstlight.errors import FirstlightError, Interrupted, InvalidInput
from firstlight.files import load_arrays, write_arrays, written_whole
from firstlight.parallel_pools import Cluster, Cores, opened
from firstlight.terminal import console

Ended = tuple[str, Any, str | None]  # key, result, and why there is none


@dataclass(frozen=True)
class Finished:
    """What came of many jobs.

    Attributes
    ----------
    results : the result of every job that succeeded, by key, in the order of the jobs. Those kept in a folder are
        read from it each time they are asked for.
    failures : the traceback of every job that failed, by key, in the order of the jobs; its last line is the error.
    """

    results: Mapping[str, Any]
    failures: Mapping[str, str]

    def complete(self) -> Mapping[str, Any]:
        """Return the results if no job failed.

        Raises
        ------
        FirstlightError
            If any did; the text names the first ones and their errors.
        """
        if self.failures:
            raise FirstlightError(self.summary())
        return self.results

    def summary(self) -> str:
        """Say in one line how many jobs failed, and why the first ones did."""
        total = len(self.results) + len(self.failures)
        first = [f"{key}: {text.strip().splitlines()[-1]}" for key, text in list(self.failures.items())[:3]]
        more = ["…"] if len(self.failures) > len(first) else []
        return f"{len(self.failures)} of {total} jobs failed" + "".join(f"; {line}" for line in first + more)


def run(
    function: Callable[[Any], Any],
    jobs: Iterable[Any],
    *,
    keys: Iterable[str] | None = None,
    folder: str | Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    description: str = "jobs",
) -> Finished:
    """Call a function on every job, many at a time.

    Parameters
    ----------
    function : called with one job. On this machine the libraries it uses are held to one thread.
    jobs : the arguments, taken from the iterable shortly before they are needed.
    keys : a name for each job; "0", "1", … unless given.
    folder : where each result is kept as ``<key>.npz`` as soon as it exists. A job whose result is there is not run
        again; one that failed is. The function then returns a mapping of names to arrays, and `keys` are required,
        since a number stands for another job when the list changes. A folder holds the results of one function with
        one set of parameters.
    workers : processes on this machine (one per core unless given), or the most jobs at the same time on a cluster.
    scheduler : address of a running Dask scheduler, ``"tcp://host:8786"``. The folder is on this machine; the cluster
        needs no disk in common with it.
    description : what the progress bar calls the jobs.

    Returns
    -------
    The results and the failures. A job fails by an exception or by taking its process down (out of memory, a crash in
    compiled code); the others are run all the same, those that went down with it a second time.

    Raises
    ------
    InvalidInput
        If keys are missing, repeated, unusable as file names or not as many as jobs, or no scheduler answers.
    Interrupted
        On Ctrl-C, or when the cluster is lost. ``.finished`` holds the results so far.

    Examples
    --------
    Random jobs get one seed each, all from a single one:

    >>> seeds = np.random.SeedSequence(7).spawn(3)
    >>> done = run(lambda seed: np.random.default_rng(seed).normal(size=2), seeds, keys=["a", "b", "c"])
    >>> list(done.complete())
    ['a', 'b', 'c']
    """
    names = None if keys is None else [str(key) for key in keys]
    total = len(jobs) if isinstance(jobs, Sized) else None
    if names is not None:
        _check_keys(names, total)
    if folder is not None and names is None:
        raise InvalidInput("results kept in a folder need keys: give one name per job")
    shelf = None if folder is None else _Shelf(Path(folder), names or [])
    order: list[str] = []
    results: dict[str, Any] = {}
    failures: dict[str, str] = {}
    with opened(workers, scheduler) as pool, _progress() as progress:
        bar = progress.add_task(description, total=total if names is None else len(names))

        def missing() -> Iterator[tuple[str, Any]]:
            for key, job in _named(names, jobs):
                order.append(key)
                if shelf is not None and key in shelf:
                    progress.advance(bar)
                else:
                    yield key, job

        try:
            for key, result, failure in _as_they_end(pool, partial(_attempt, function, shelf is not None), missing()):
                if failure is not None:
                    failures[key] = failure
                elif shelf is not None:
                    shelf.put(key, result)
                else:
                    results[key] = result
                progress.advance(bar)
        except (KeyboardInterrupt, CancelledError) as stop:
            pool.abandon()
            raise _interrupted(stop, results if shelf is None else shelf, folder) from None
    finished = Finished(_sorted(results, order) if shelf is None else shelf, _sorted(failures, order))
    if failures:
        console(stderr=True).print(finished.summary(), markup=False)
    return finished


def _as_they_end(
    pool: Cores | Cluster, attempt: Callable[[Any], Any], jobs: Iterable[tuple[str, Any]]
) -> Iterator[Ended]:
    """Run jobs and yield each when it ends; only few more are under way than can run, whatever their number."""
    under_way: dict[Future, tuple[str, Any]] = {}
    for key, job in jobs:
        under_way[pool.submit(attempt, job)] = key, job
        while len(under_way) >= 2 * pool.slots():
            yield from _ended(pool, attempt, under_way)
    while under_way:
        yield from _ended(pool, attempt, under_way)


def _ended(
    pool: Cores | Cluster, attempt: Callable[[Any], Any], under_way: dict[Future, tuple[str, Any]]
) -> Iterator[Ended]:
    suspects = []
    for future in wait(under_way, return_when=FIRST_COMPLETED).done:
        key, job = under_way.pop(future)
        if isinstance(future.exception(), BrokenExecutor):
            suspects.append((key, job))
        else:
            yield key, *_outcome(future)
    # One of the jobs under way took its process down, and the pool with it. Each is tried alone to find out which.
    for key, job in suspects:
        yield key, *_outcome(pool.submit(attempt, job))


def _outcome(future: Future) -> tuple[Any, str | None]:
    error = future.exception()
    if error is None:
        return future.result()
    failure = "".join(traceback.format_exception_only(error))
    if isinstance(error, BrokenExecutor):
        failure += "the job took its process down: out of memory, or a crash in compiled code"
    return None, failure


def _attempt(function: Callable[[Any], Any], pack: bool, job: Any) -> tuple[Any, str | None]:
    """Run one job, in a worker: its result and no failure, or no result and the traceback."""
    try:
        result = function(job)
        return (_packed(result) if pack else result), None
    except Exception:
        return None, traceback.format_exc()


def _packed(result: Any) -> bytes:
    """Make the ``.npz`` file in the worker: it travels smaller, and needs no disk in common."""
    if not isinstance(result, Mapping):
        raise InvalidInput(f"with a folder a job returns a mapping of names to arrays, got {type(result).__name__}")
    file = io.BytesIO()
    write_arrays(file, result)
    return file.getvalue()


class _Shelf(Mapping[str, dict[str, np.ndarray]]):
    """Results in a folder, a file each."""

    def __init__(self, folder: Path, keys: list[str]) -> None:
        for key in keys:
            if not re.fullmatch(r"\w[\w.+=@,-]*", key):
                raise InvalidInput(f"key {key!r} cannot name a file; use letters, digits and _ . + = @ , -")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.all_keys = folder, keys

    def put(self, key: str, packed: bytes) -> None:
        with written_whole(self._path(key)) as partial_file:
            partial_file.write_bytes(packed)

    def __getitem__(self, key: str) -> dict[str, np.ndarray]:
        if key not in self:
            raise KeyError(key)
        return load_arrays(self._path(key))

    def __contains__(self, key: object) -> bool:
        return self._path(str(key)).exists()

    def __iter__(self) -> Iterator[str]:
        return filter(self.__contains__, self.all_keys)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.npz"


def _check_keys(keys: list[str], jobs: int | None) -> None:
    if len(set(keys)) < len(keys):
        raise InvalidInput("every job needs a key of its own, and some of these are repeated")
    if jobs is not None and jobs != len(keys):
        raise InvalidInput(f"every job needs a key, got {len(keys)} keys for {jobs} jobs")


def _named(keys: list[str] | None, jobs: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    if keys is None:
        yield from zip(map(str, count()), jobs, strict=False)
        return
    absent = object()
    for key, job in zip_longest(keys, jobs, fillvalue=absent):
        if key is absent or job is absent:
            raise InvalidInput(f"there are {'more' if key is absent else 'fewer'} jobs than the {len(keys)} keys")
        yield str(key), job


def _sorted(by_key: dict[str, Any], order: list[str]) -> dict[str, Any]:
    return {key: by_key[key] for key in order if key in by_key}


def _interrupted(stop: BaseException, finished: Mapping[str, Any], folder: str | Path | None) -> Interrupted:
    reason = "Ctrl-C" if isinstance(stop, KeyboardInterrupt) else "the loss of the Dask cluster"
    where = "in .finished" if folder is None else f"in {folder}, and the same call goes on from there"
    return Interrupted(f"stopped by {reason}; {len(finished)} finished results are {where}", finished)


def _progress() -> Progress:
    terminal = console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=terminal, disable=not terminal.is_terminal)
