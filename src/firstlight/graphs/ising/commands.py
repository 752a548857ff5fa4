"""The verbs of ``firstlight ising``."""

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from typer import Argument, Option

from firstlight.errors import InvalidInput
from firstlight.files import writable, write_text
from firstlight.pictures import FORMATS, save_picture
from firstlight.terminal import console, print_table

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

    if count < 1:
        raise InvalidInput(f"expected at least one graph, got --count {count}")
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


@app.command()
def oracle(
    file: Annotated[Path, Argument(help="A data set made by: firstlight ising generate")],
    out: Annotated[Path | None, Option(help="Save the curves as a table (.csv).")] = None,
    plot: Annotated[Path | None, Option(help="Draw the curves (.png, .svg, .pdf).")] = None,
) -> None:
    """How well spins within k hops predict the label: the benchmark's oracle, and the best local linear predictor.

    Example: firstlight ising oracle data/lrim_64_0.6_10k.npz --plot oracle.png
    """
    from firstlight.graphs.ising.data import load_samples
    from firstlight.graphs.ising.locality import local_lmmse_curve, oracle_curve

    if out:
        writable(out, ".csv")
    if plot:
        writable(plot, *FORMATS)
    samples = load_samples(file)
    curves = [oracle_curve(samples.model, samples), local_lmmse_curve(samples.model, samples)]
    lines = ["radius,oracle_logmse,oracle_standard_error,local_linear_logmse,local_linear_standard_error"]
    for row, radius in enumerate(curves[0].radii):
        shown = (f"{curve.logmse[row]:.4f},{curve.logmse_error[row]:.4f}" for curve in curves)
        lines.append(f"{radius},{','.join(shown)}")
    if out:
        write_text(out, "\n".join(lines) + "\n")
    if plot:
        save_picture(plot, lambda ax: [curve.plot(ax) for curve in curves])
    table = Table("hops", "oracle, log₁₀ MSE", "best local linear, log₁₀ MSE", box=box.SIMPLE_HEAD)
    for line in lines[1:]:
        radius, *figures = line.split(",")
        table.add_row(radius, *(f"{value} ± {error}" for value, error in zip(figures[::2], figures[1::2], strict=True)))
    console().print(table)


@app.command()
def train(
    dataset: Annotated[str, Argument(help="Name of the data set, such as lrim_16_0.6_10k; drawn if it is not there.")],
    model: Annotated[
        str, Option(help="radial (the model of linear cost), gin, gatedgcn, gatedgcn-vn, gps or mlp.")
    ] = "radial",
    root: Annotated[Path, Option(help="Folder of the data sets.")] = Path(),
    out: Annotated[Path, Option(help="Folder for checkpoints, weights and result.json.")] = Path("run"),
    width: Annotated[int, Option(help="Channels of a layer; not for radial.")] = 48,
    depth: Annotated[int, Option(help="Layers; not for radial.")] = 14,
    epochs: Annotated[int | None, Option(help="Passes over the training graphs; the recipe's if not given.")] = None,
    seed: Annotated[int, Option(help="Seed of first weights and of the order of the graphs.")] = 0,
    resume: Annotated[bool, Option("--resume", help="Continue the run in the folder.")] = False,
) -> None:
    """Train a model on a data set and score it on the test graphs.

    Example: firstlight ising train lrim_16_0.6_10k --model gin --root data --out runs/gin
    """
    from firstlight.graphs.ising.training import train_on

    result = train_on(
        dataset, model, root=root, folder=out, width=width, depth=depth, epochs=epochs, seed=seed, resume=resume
    )
    console().print(
        f"{result.model} on {result.dataset}: LogMSE {result.logmse:.3f} on the test graphs\n"
        f"{result.parameters:,} weights, {result.cost}, {result.cpu_hours:.3g} CPU hours; written to {out}"
    )


@app.command()
def report(
    runs: Annotated[list[Path], Argument(help="Folders of runs of firstlight ising train on one data set.")],
    root: Annotated[Path, Option(help="Folder of the data sets.")] = Path(),
    plot: Annotated[Path | None, Option(help="Draw the curves and the models (.png, .svg, .pdf).")] = None,
) -> None:
    """Put models beside what local predictors reach on the same test graphs, and beside what they cost.

    Example: firstlight ising report runs/gin runs/radial --root data --plot report.png
    """
    from firstlight.graphs.ising.data import load_samples
    from firstlight.graphs.ising.results import BenchmarkReport, BenchmarkResult

    if plot:
        writable(plot, *FORMATS)
    results = [BenchmarkResult.load(run) for run in runs]
    made = BenchmarkReport.of(results, load_samples(root / f"{results[0].dataset}.npz"))
    print_table(made.rows(), results[0].dataset)
    if plot:
        save_picture(plot, made.plot)
