"""The ten data sets of the LRIM benchmark, drawn on this machine, and the files they are kept in.

A file holds the bits of all spins, how they were drawn, and a checksum; labels follow from the spins. It is written
whole or not at all. Work that was interrupted goes on from the chains that are finished, and gives the same bits.
"""

import hashlib
import json
import re
import shutil
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from firstlight.errors import InvalidInput
from firstlight.files import load_arrays, save_arrays, writable
from firstlight.graphs.ising.couplings import PowerLawIsing
from firstlight.graphs.ising.sampling import SamplingReport, SpinSamples, sample
from firstlight.graphs.ising.temperatures import LRIM_TEMPERATURES

LRIM_NAMES = tuple(f"lrim_{size}_{sigma}_10k" for size, sigma in LRIM_TEMPERATURES)
# Sweeps between draws: at least 5 autocorrelation times of |m| and of the energy; 10 times as many before the first.
SWEEPS_BETWEEN_DRAWS = {
    (16, 0.6): 20,
    (32, 0.6): 24,
    (64, 0.6): 36,
    (128, 0.6): 48,
    (256, 0.6): 64,
    (16, 1.5): 18,
    (32, 1.5): 20,
    (64, 1.5): 24,
    (128, 1.5): 28,
    (256, 1.5): 32,
}
FORMAT = 1
MAX_BYTES = 2**34  # of a file, unpacked: two million configurations of 256 × 256


@dataclass(frozen=True)
class LRIMName:
    """A name as ``lrim_64_0.6_10k``, taken apart.

    Attributes
    ----------
    size : sites along each side of the square lattice.
    sigma : exponent of decay beyond the dimension: 0.6 for the hard sets, 1.5 for the easy ones.
    count : number of graphs.
    """

    size: int
    sigma: float
    count: int

    @staticmethod
    def parse(name: str) -> "LRIMName":
        """Take a name apart.

        Raises
        ------
        InvalidInput
            If the benchmark has no set of that size and sigma; any count is accepted.
        """
        parts = re.fullmatch(r"lrim_(\d+)_(\d+(?:\.\d+)?)_([1-9]\d*)(k?)", str(name))
        found = parts and LRIMName(int(parts[1]), float(parts[2]), int(parts[3]) * (1000 if parts[4] else 1))
        if not found or (found.size, found.sigma) not in LRIM_TEMPERATURES:
            raise InvalidInput(
                f"no data set is named {name!r}; the benchmark has {', '.join(LRIM_NAMES)}, and the same with any "
                "other count, as lrim_16_0.6_100k or lrim_16_0.6_500"
            )
        return found

    def __str__(self) -> str:
        count = f"{self.count // 1000}k" if self.count % 1000 == 0 else str(self.count)
        return f"lrim_{self.size}_{self.sigma:g}_{count}"

    @property
    def model(self) -> PowerLawIsing:
        """The model of the set."""
        return PowerLawIsing((self.size, self.size), self.sigma)


def generate(name: str, folder: str | Path, *, seed: int = 0, n_jobs: int = 1, overwrite: bool = False) -> Path:
    """Draw a data set of the benchmark into ``folder/<name>.npz``, or find it there.

    The same call goes on where an interrupted one stopped, and several processes may make the same set at once. A file
    of another seed is refused.

    Parameters
    ----------
    name : one of `LRIM_NAMES`, or the same with another count.
    folder : made if it does not exist.
    seed : of all random numbers; 0 for the reference set.
    n_jobs : processes, -1 for one per core.
    overwrite : draw again what is there.

    Returns
    -------
    The file, for `load_samples`.

    Raises
    ------
    InvalidInput
        If there is no such set, or the file there is damaged or of another seed.
    Interrupted
        On Ctrl-C.
    """
    kind = LRIMName.parse(name)
    key = (kind.size, kind.sigma)
    thin = SWEEPS_BETWEEN_DRAWS[key]
    return generate_samples(
        kind.model,
        LRIM_TEMPERATURES[key],
        kind.count,
        Path(folder) / f"{kind}.npz",
        thermalize=10 * thin,
        thin=thin,
        seed=seed,
        n_jobs=n_jobs,
        overwrite=overwrite,
    )


def generate_samples(
    model: PowerLawIsing,
    temperature: float | int,
    n: int,
    path: str | Path,
    *,
    thermalize: int,
    thin: int,
    seed: int,
    n_jobs: int = 1,
    overwrite: bool = False,
) -> Path:
    """Draw configurations of any model into a file, as `generate` does; the numbers are those of `sample`."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    writable(path)
    if path.exists() and not overwrite:
        return _checked_seed(path, seed)
    # One folder for each set of parameters, so that finished chains of another run are never taken for ours.
    settings = f"{model!r} {temperature!r} {n} {thermalize} {thin} {seed}".encode() + _fingerprint(model)
    chains = path.with_name(f".{path.stem}-{hashlib.sha256(settings).hexdigest()[:12]}")
    try:
        samples = sample(
            model, temperature, n, thermalize=thermalize, thin=thin, seed=seed, n_jobs=n_jobs, folder=chains
        )
    except (InvalidInput, FileNotFoundError):
        # Another process that made the same set was faster and has cleared the chains away.
        if not path.exists() or overwrite:
            raise
        shutil.rmtree(chains, ignore_errors=True)
        return _checked_seed(path, seed)
    save_samples(path, samples)
    shutil.rmtree(chains, ignore_errors=True)
    return path


def save_samples(path: str | Path, samples: SpinSamples) -> None:
    """Write configurations to a ``.npz`` file, with their model, their report and a checksum."""
    model, report = samples.model, samples.report
    numbers = {
        each.name: getattr(report, each.name)
        for each in fields(report)
        if each.name not in ("magnetisations", "energies")
    }
    about = {
        "format": FORMAT,
        "shape": model.shape,
        "sigma": model.sigma,
        "lattice": model.lattice,
        "boundary": model.boundary,
        "report": numbers,
    }
    arrays = {"about": np.array(json.dumps(about)), "packed": samples.packed}
    arrays |= {"magnetisations": report.magnetisations, "energies": report.energies}
    if not model.occupied.all():
        arrays["occupied"] = model.occupied
    if model.matrix is not None:
        arrays |= {"couplings": model.matrix, "edge_index": model.edge_index}
    save_arrays(path, **arrays, checksum=np.frombuffer(_checksum(arrays), np.uint8))


def load_samples(path: str | Path) -> SpinSamples:
    """Read configurations that `save_samples` or `generate` has written.

    Raises
    ------
    InvalidInput
        If the file is damaged or of another kind; the text says how to make it anew.
    OSError
        If it cannot be opened.
    """
    remedy = "delete it and generate it again"
    try:
        arrays = load_arrays(path, max_bytes=MAX_BYTES)
    except InvalidInput as error:
        raise InvalidInput(f"{error}; {remedy}") from error
    checksum = arrays.pop("checksum", np.empty(0, np.uint8))
    if not {"about", "packed"} <= arrays.keys():
        raise InvalidInput(f"{path} holds no spin configurations; expected a file written by firstlight ising generate")
    if checksum.tobytes() != _checksum(arrays):
        raise InvalidInput(f"{path} is damaged: its checksum is not that of its contents; {remedy}")
    about = json.loads(str(arrays["about"]))
    if about["format"] != FORMAT:
        raise InvalidInput(f"{path} has format {about['format']}, this version reads {FORMAT}; {remedy}")
    model = PowerLawIsing(
        about["shape"],
        about["sigma"],
        lattice=about["lattice"],
        boundary=about["boundary"],
        occupied=arrays.get("occupied"),
        couplings=arrays.get("couplings"),
        allow_nonextensive=True,
    )
    if "edge_index" in arrays:
        model.edge_index = arrays["edge_index"]
    report = SamplingReport(**about["report"], magnetisations=arrays["magnetisations"], energies=arrays["energies"])
    return SpinSamples(model, arrays["packed"], report)


def _checked_seed(path: Path, seed: int) -> Path:
    found = load_samples(path).report.seed
    if found != seed:
        raise InvalidInput(
            f"{path} was drawn with seed {found}, not {seed}; choose another folder, or overwrite it with --overwrite"
        )
    return path


def _checksum(arrays: dict[str, np.ndarray]) -> bytes:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.digest()


def _fingerprint(model: PowerLawIsing) -> bytes:
    parts = [model.occupied, *([] if model.matrix is None else [model.matrix])]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).digest()
