"""The verbs of ``firstlight ising``: generate, oracle."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from firstlight.terminal import console

app = typer.Typer()


@app.command()
def generate(
    size: Annotated[int, Option(help="Sites along each side of the square lattice: 16, 32, 64, 128 or 256.")],
    sigma: Annotated[float, Option(help="Exponent of decay beyond the dimension: 0.6 (hard) or 1.5 (easy).")],
    count: Annotated[int, Option(help="Number of graphs.")] = 10_000,
    out: Annotated[Path, Option(help="Folder for the data set; made if it does not exist.")] = Path(),
    seed: Annotated[int, Option(help="Seed of all random numbers; 0 gives the reference set.")] = 0,
    jobs: Annotated[int, Option(help="Processes; -1 for one per core.")] = -1,
    overwrite: Annotated[bool, Option("--overwrite", help="Draw again what is there.")] = False,
) -> None:
    """Draw a data set of the benchmark; after Ctrl-C the same command goes on where it stopped.

    Example: firstlight ising generate --size 64 --sigma 0.6 --count 10000 --out data
    """
    from firstlight.graphs.ising import data

    name = str(data.LRIMName.parse(f"lrim_{size}_{sigma:g}_{count}"))
    path = data.generate(name, out, seed=seed, n_jobs=jobs, overwrite=overwrite)
    report = data.load_samples(path).report
    console().print(
        f"{path}: {report.n:,} graphs at T = {report.temperature:g}, {path.stat().st_size / 1e6:.3g} MB\n"
        f"{report.thin} sweeps between graphs; |m| forgets in {report.tau_magnetisation:.1f} sweeps, the energy in "
        f"{report.tau_energy:.1f}\n"
        f"worth {min(report.effective_size, report.n):,.0f} independent graphs; neighbours correlate by "
        f"{report.rho_magnetisation:.3f} in |m|"
    )
