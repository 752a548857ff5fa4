"""Where the jobs of ``firstlight.parallel`` run: processes of this machine, or the workers of a Dask cluster."""

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager
from typing import Any

import joblib
from joblib.externals import loky

from firstlight.errors import InvalidInput, MissingExtra

IDLE_SECONDS = 60  # that a process waits for the next call

# Jobs fill the cores; threads inside the jobs would only fight over them.
LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA")
ONE_THREAD_EACH = {"VECLIB_MAXIMUM_THREADS": "1", **{f"{library}_NUM_THREADS": "1" for library in LIBRARIES}}


class Cores:
    """Processes on this machine. They stay for the next call, and end when none comes."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def submit(self, function: Callable[[Any], Any], job: Any) -> Future:
        """Start a job when a process is free."""
        try:
            return self._processes().submit(function, job)
        except BrokenExecutor:  # it broke just now
            return self._processes().submit(function, job)

    def slots(self) -> int:
        """Number of jobs that can run at the same time."""
        return self.workers

    def abandon(self) -> None:
        """Kill the processes with whatever they are running."""
        self._processes().shutdown(kill_workers=True)

    def _processes(self) -> Any:
        # loky gives the processes that are there from the last call, and new ones in place of a broken pool.
        return loky.get_reusable_executor(
            self.workers, timeout=IDLE_SECONDS, env=ONE_THREAD_EACH, initializer=_ignore_interrupts
        )


class Cluster:
    """A Dask cluster, which may grow and shrink under way."""

    def __init__(self, client: Any, workers: int | None) -> None:
        self.client, self.workers = client, workers
        self.executor = client.get_executor(pure=False)

    def submit(self, function: Callable[[Any], Any], job: Any) -> Future:
        """Hand a job to the scheduler."""
        return self.executor.submit(function, job)

    def slots(self) -> int:
        """Number of jobs that can run at the same time."""
        return self.workers or max(1, sum(self.client.ncores().values()))

    def abandon(self) -> None:
        """Take back the jobs that have not begun; those that run end unheard."""
        self.executor.shutdown(wait=False)


@contextmanager
def opened(workers: int | None, scheduler: str | None) -> Iterator[Cores | Cluster]:
    """Open the processes of this machine, or the cluster whose scheduler is at an address.

    Raises
    ------
    InvalidInput
        If `workers` is less than 1, or no scheduler answers.
    MissingExtra
        If Dask is asked for and not installed.
    """
    if workers is not None and workers < 1:
        raise InvalidInput(f"workers must be at least 1, got {workers}")
    if scheduler is None:
        yield Cores(workers or joblib.cpu_count())
        return
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise MissingExtra("distributed", "train") from error
    try:
        client = Client(scheduler, timeout=5, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"no Dask scheduler answers at {scheduler}: {error}") from error
    with client:
        yield Cluster(client, workers)


def _ignore_interrupts() -> None:
    # Ctrl-C reaches every process of a terminal; what becomes of the workers is for the process that started them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
