"""Data sets of parameters and subspaces, drawn from a family of problems, solved one by one, kept in a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from firstlight import parallel
from firstlight.errors import FirstlightError, InvalidInput
from firstlight.files import load_arrays, save_arrays


@runtime_checkable
class Problem(Protocol):
    """A family of problems: draws samples that have a `field` to see and a `basis()` to predict."""

    @property
    def grid(self) -> tuple[int, ...]:
        """Shape of one channel of a field."""
        ...

    def sample(self, seed: int | np.random.SeedSequence) -> Any:
        """Draw one problem."""
        ...


@dataclass(frozen=True, eq=False)
class SubspaceData:
    """Parameters and the subspaces that belong to them.

    Attributes
    ----------
    fields : what a network sees: channels of functions on a grid.
    bases : orthonormal bases of the wanted subspaces, in columns.
    """

    fields: Float64[np.ndarray, "samples channels ..."]
    bases: Float64[np.ndarray, "samples n k"]

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, chosen: slice) -> "SubspaceData":
        return SubspaceData(self.fields[chosen], self.bases[chosen])

    def save(self, path: str | Path) -> None:
        """Write to a ``.npz`` file with the arrays ``fields`` and ``bases``."""
        save_arrays(path, fields=self.fields, bases=self.bases)

    @staticmethod
    def load(path: str | Path) -> "SubspaceData":
        """Read what `save` wrote, or a file of one's own with these two arrays.

        Raises
        ------
        InvalidInput
            If an array is missing or the shapes do not fit.
        """
        arrays = load_arrays(path)
        if missing := {"fields", "bases"} - arrays.keys():
            raise InvalidInput(f"{path} holds no array {min(missing)!r}, only {', '.join(sorted(arrays)) or 'nothing'}")
        fields, bases = (np.asarray(arrays[name], np.float64) for name in ("fields", "bases"))
        if fields.ndim < 2 or bases.ndim != 3 or len(fields) != len(bases):
            raise InvalidInput(
                f"expected fields (samples, channels, …) and bases (samples, n, k) in {path}, "
                f"got {fields.shape} and {bases.shape}"
            )
        return SubspaceData(fields, bases)


def sample_seed(seed: int, index: int) -> np.random.SeedSequence:
    """Seed of the sample of that index in a data set, whatever the size of the set."""
    return np.random.SeedSequence([seed, index])


def generate(
    problem: Problem,
    count: int,
    *,
    seed: int = 0,
    first: int = 0,
    folder: str | Path | None = None,
    workers: int | None = 1,
) -> SubspaceData:
    """Draw and solve samples `first` to `first` + `count` of the endless data set with that seed.

    Parameters
    ----------
    problem : the family.
    count : number of samples.
    seed, first : which data set, and where in it to begin; training and test sets are disjoint ranges of one seed.
    folder : where finished parts are kept, so that the same call goes on where it was stopped.
    workers : processes; one unless given, None for one per core.

    Raises
    ------
    InvalidInput
        If `count` is not positive.
    FirstlightError
        If a sample cannot be solved.
    Interrupted
        On Ctrl-C, with more than one worker or a folder; calling again with the folder goes on.
    """
    if count < 1 or first < 0:
        raise InvalidInput(f"expected a positive number of samples and first ≥ 0, got {count} and {first}")
    size = max(1, min(50, count // 8))
    jobs = {
        f"samples-{seed}-{start}-{min(start + size, first + count)}": (
            problem,
            seed,
            range(start, min(start + size, first + count)),
        )
        for start in range(first, first + count, size)
    }
    if workers == 1 and folder is None:
        parts = [_solve(job) for job in jobs.values()]
    else:
        found, failures = parallel.run(_solve, jobs, folder=folder, workers=workers)
        if failures:
            raise FirstlightError(f"samples could not be solved: {next(iter(failures.values())).strip()}")
        parts = list(found.values()) if folder is None else [load_arrays(file) for file in found.values()]
    return SubspaceData(*(np.concatenate([part[name] for part in parts]) for name in ("fields", "bases")))


def _solve(job: tuple[Problem, int, range]) -> dict[str, np.ndarray]:
    problem, seed, indices = job
    samples = [problem.sample(sample_seed(seed, index)) for index in indices]
    return {
        "fields": np.stack([sample.field for sample in samples]),
        "bases": np.stack([sample.basis() for sample in samples]),
    }
