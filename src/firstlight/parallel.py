"""The one way to run many independent jobs: on the cores of this machine, or on a Dask cluster that is already there.

Long work survives. With a folder every result is on disk as soon as it exists, and the same call after Ctrl-C, a crash
or a night goes on where it stopped.
"""

import io
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from joblib.externals import loky
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from firstlight.errors import FirstlightError, Interrupted, InvalidInput, MissingExtra
from firstlight.files import written_whole
from firstlight.terminal import console

# Jobs fill the cores; threads inside the jobs would only fight over them.
ONE_THREAD_EACH = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def run(
    function: Callable[[Any], Any],
    jobs: Mapping[str, Any],
    *,
    folder: str | Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
) -> tuple[dict[str, Any], dict[str, str]]:
    """Call a function on every job, many at a time.

    A job that raises fails alone. One that takes its process down, as for want of memory, fails with the few others
    that are under way; with a folder, the same call takes those up again.

    Parameters
    ----------
    function : called with one job. On this machine the libraries it uses are held to one thread.
    jobs : the argument of each job, by a key of its own.
    folder : where each result is kept as ``<key>.npz`` as soon as it exists, to be read by
        `firstlight.files.load_arrays`; the function then returns a mapping of names to arrays. A job whose file is
        there is not run again, so a folder is for one function with one set of parameters.
    workers : processes on this machine, one per core unless given.
    scheduler : address of a running Dask scheduler, ``"tcp://host:8786"``, to run the jobs there. The folder is on this
        machine all the same.

    Returns
    -------
    results : of every job that succeeded, by key: what it returned or, with a folder, the file that holds it.
    failures : the traceback of every job that failed, by key.

    Raises
    ------
    InvalidInput
        If a key cannot name a file in the folder, or no scheduler answers.
    MissingExtra
        If Dask is asked for and not installed.
    Interrupted
        On Ctrl-C, or when the cluster is lost. ``.finished`` holds the results so far.

    Examples
    --------
    Random jobs get one seed each, all from a single one:

    >>> seeds = np.random.SeedSequence(7).spawn(3)
    >>> results, failures = run(lambda seed: np.random.default_rng(seed).normal(size=2), dict(zip("abc", seeds)))
    >>> list(results), failures
    (['a', 'b', 'c'], {})
    """
    files = {} if folder is None else _files(Path(folder), jobs)
    results: dict[str, Any] = {key: file for key, file in files.items() if file.exists()}
    failures: dict[str, str] = {}
    attempt = partial(_attempt, function, folder is not None)
    screen = console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    progress = Progress(*columns, console=screen, disable=not screen.is_terminal)
    try:
        with _pool(workers, scheduler) as (submit, cores), progress:
            bar = progress.add_task("jobs", total=len(jobs), completed=len(results))
            missing = iter([key for key in jobs if key not in results])
            under_way: dict[Future, str] = {}
            while True:
                # Two jobs per core keep it busy; more would only pile up their arguments and results.
                for key in islice(missing, 2 * cores - len(under_way)):
                    under_way[submit(attempt, jobs[key])] = key
                if not under_way:
                    break
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    key = under_way.pop(future)
                    if error := future.exception():  # the job's own, or the end of its process
                        failures[key] = str(error)
                    elif folder is None:
                        results[key] = future.result()
                    else:
                        with written_whole(files[key]) as partial_file:
                            partial_file.write_bytes(future.result())
                        results[key] = files[key]
                    progress.advance(bar)
    except (KeyboardInterrupt, CancelledError, BrokenExecutor) as stop:
        reason = "Ctrl-C" if isinstance(stop, KeyboardInterrupt) else "the loss of the workers"
        where = "in .finished" if folder is None else f"in {folder}, and the same call goes on from there"
        raise Interrupted(f"stopped by {reason}; {len(results)} finished results are {where}", results) from None
    return {key: results[key] for key in jobs if key in results}, failures


def _files(folder: Path, keys: Iterable[str]) -> dict[str, Path]:
    if bad := [key for key in keys if Path(key).name != key]:
        raise InvalidInput(f"key {bad[0]!r} cannot name a file in {folder}; use names without slashes")
    folder.mkdir(parents=True, exist_ok=True)
    return {key: folder / f"{key}.npz" for key in keys}


def _attempt(function: Callable[[Any], Any], packed: bool, job: Any) -> Any:
    """Run one job, in a worker; its error comes back as a traceback, since not every error can be sent."""
    try:
        result = function(job)
        if not packed:
            return result
        file = io.BytesIO()  # packed here it travels smaller, and the worker needs no disk in common with us
        np.savez_compressed(file, allow_pickle=False, **result)
        return file.getvalue()
    except Exception:
        failure = traceback.format_exc()
    raise FirstlightError(failure)  # out here, where the error is not its context, which would be sent with it


@contextmanager
def _pool(workers: int | None, scheduler: str | None) -> Iterator[tuple[Callable[..., Future], int]]:
    """Give the way to submit a call to this machine or to a scheduler's cluster, and the number of cores there."""
    if scheduler is None:
        workers = workers or joblib.cpu_count()
        # Ctrl-C reaches every process of a terminal; what becomes of the workers is for this process to say.
        deaf = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}
        # It gives the processes that are there from the last call, and new ones in place of a pool that broke.
        processes = partial(loky.get_reusable_executor, workers, timeout=60, env=ONE_THREAD_EACH, **deaf)
        try:
            yield lambda *call: processes().submit(*call), workers
        except BaseException:
            processes().shutdown(kill_workers=True)
            raise
        return
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise MissingExtra("distributed", "train") from error
    try:
        client: Any = Client(scheduler, timeout=5, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"no Dask scheduler answers at {scheduler}: {error}") from error
    with client:  # which takes back what has not begun when it closes
        yield client.get_executor(pure=False).submit, max(100, sum(client.ncores().values()))  # it may grow under way
