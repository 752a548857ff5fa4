"""The verbs of ``firstlight flow``: generate, fit, rollout, reverse, evaluate."""

import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from firstlight.errors import InvalidInput
from firstlight.files import writable
from firstlight.pictures import FORMATS, save_picture
from firstlight.terminal import console, print_fields, print_table, readable

app = typer.Typer()

FILE = "Trajectories: .h5, .hdf5 (PDEBench, The Well), .nc or .zarr (xarray)."
MODEL = "A shipped model (lorenz, burgers, diffusion-reaction, shallow-water) or a folder of firstlight flow fit."

Samples = Annotated[int | None, Option(min=1, help="Read only the first so many trajectories.")]
Skip = Annotated[int, Option(min=0, help="Leave out the first so many frames, such as white noise.")]
Seed = Annotated[int, Option(min=0, help="Seed of everything random.")]
Scheme = Annotated[Literal["euler", "heun", "rk4", "ab4"], Option(help="Integration.")]
Nfe = Annotated[int | None, Option(min=1, help="Evaluations of the network at the most.")]
Plot = Annotated[Path | None, Option(help="Draw the first trajectory (.png, .svg, .pdf).")]


@app.command()
def generate(
    problem: Annotated[str, Argument(help="lorenz, burgers, diffusion-reaction, shallow-water, …")],
    out: Annotated[Path, Option("--out", "-o", help="File in PDEBench's layout (.h5, .hdf5).")],
    count: Annotated[int, Option("--count", "-n", min=1, help="Number of trajectories.")] = 100,
    points: Annotated[
        int | None, Option(min=4, help="Grid points along each side; the problem's unless given.")
    ] = None,
    jobs: Annotated[int, Option(min=1, help="Processes.")] = 1,
    seed: Seed = 0,
) -> None:
    """Solve a problem from random initial states with a reference solver.

    Example: firstlight flow generate burgers -n 200 -o burgers.h5
    """
    from firstlight.pde.flow.problems import PROBLEMS, simulate

    writable(out, ".h5", ".hdf5")
    if problem not in PROBLEMS:
        raise InvalidInput(f"no problem is called {problem!r}; choose {', '.join(PROBLEMS)}")
    kind: Any = PROBLEMS[problem]
    if points is not None and "points" not in kind.__dataclass_fields__:
        raise InvalidInput(f"{problem} has no grid; leave out --points")
    made = simulate(
        kind() if points is None else kind(points=points), count, seed=seed, workers=jobs if jobs > 1 else None
    )
    made.save(out)
    size = out.stat().st_size / 1e6
    console().print(f"{out}: {count} trajectories, {len(made.times)} frames to t = {made.times[-1]:g}, {size:.3g} MB")


@app.command()
def fit(
    file: Annotated[Path, Argument(help=FILE)],
    out: Annotated[Path, Option("--out", "-o", help="Folder for checkpoints and the model.")],
    model: Annotated[
        Literal["flow", "state", "increment", "neural-ode"],
        Option(help="The flow operator, a map to the next state or of increments, or a neural ODE."),
    ] = "flow",
    backbone: Annotated[
        Literal["auto", "mlp", "unet", "fno", "uno"], Option(help="Network; auto is mlp without a grid, else unet.")
    ] = "auto",
    boundary: Annotated[Literal["periodic", "neumann"], Option(help="neumann is no flux, or outflow.")] = "periodic",
    spline: Annotated[
        Literal["linear", "quintic", "hermite5", "cubic", "c4"], Option(help="Path through the frames.")
    ] = "quintic",
    keep: Annotated[float, Option(help="Share of the frames to train on, at random times.")] = 1.0,
    keep_ends: Annotated[bool, Option("--keep-ends", help="Keep the first and the last frame always.")] = False,
    steps: Annotated[int, Option(min=1, help="Steps of the optimiser, rounded up to epochs of 500.")] = 5000,
    batch_size: Annotated[int, Option(min=1, help="Points, or runs of frames, per step.")] = 64,
    learning_rate: Annotated[float, Option(help="Largest learning rate.")] = 1e-3,
    samples: Samples = None,
    skip: Skip = 0,
    seed: Seed = 0,
    resume: Annotated[bool, Option("--resume", help="Go on with the run in the folder.")] = False,
) -> None:
    """Learn dynamics from snapshots at any times.

    A tenth of the trajectories, if there are ten with the same times, tells the best epoch.

    Example: firstlight flow fit burgers.h5 --keep 0.25 --spline c4 -o runs/burgers
    """
    from firstlight.pde.flow.recipes import learn

    data = _read(file, samples, skip)
    made = learn(
        data, out, model=model, backbone=backbone, boundary=boundary, spline=spline, keep=keep, keep_ends=keep_ends,
        steps=steps, batch_size=batch_size, learning_rate=learning_rate, seed=seed, resume=resume, source=file,
    )  # fmt: skip
    print_fields(
        {
            "model": f"{out / 'model'}, {sum(p.numel() for p in made.model.parameters()):,} weights",
            "trained on": f"{made.trajectories} trajectories, {made.frames} frames",
            made.score_name: f"{readable(made.run.score)} at epoch {made.run.epoch} of {made.run.epochs}",
            "label error": made.label_error,
        }
    )


@app.command()
def rollout(
    model: Annotated[str, Argument(help=MODEL)],
    file: Annotated[Path, Argument(help=FILE + " Their first frames are where it begins.")],
    out: Annotated[
        Path | None, Option("--out", "-o", help="Write the states in PDEBench's layout (.h5, .hdf5).")
    ] = None,
    until: Annotated[float | None, Option(help="Last time; that of the file unless given.")] = None,
    frames: Annotated[int | None, Option(min=2, help="Equally spaced times; those of the file unless given.")] = None,
    method: Scheme = "rk4",
    nfe: Nfe = None,
    samples: Samples = None,
    skip: Skip = 0,
    plot: Plot = None,
) -> None:
    """Follow states in time from the first frames in a file.

    Example: firstlight flow rollout burgers burgers.h5 --until 2 --frames 201 -o predicted.h5
    """
    import torch

    from firstlight.pde.flow.evaluation import batches, evaluate
    from firstlight.pde.flow.saved_models import load_model
    from firstlight.pde.flow.trajectories import Trajectories

    _check_outputs(out, plot)
    loaded, data = load_model(model), _read(file, samples, skip)
    options = _integration(loaded, method, nfe)
    pairs: list[Any] = [None] * len(data)
    report: dict[str, str] = {}
    for rows, own, u in batches(data):
        t = own if until is None and frames is None else torch.linspace(
            float(own[0]), float(own[-1] if until is None else until), frames or len(own), dtype=torch.float64
        )  # fmt: skip
        made = loaded.predict(u[0], t, **options)
        for k, row in enumerate(rows):
            pairs[row] = (t, made.u[:, k])
        if not report:
            report["times"] = f"{len(t)} from {float(t[0]):g} to {float(t[-1]):g}"
            report["evaluations"] = f"{made.evaluations}, {made.evaluations / max(1, len(t) - 1):.3g} per frame"
            if hasattr(loaded, "integration_error"):
                halved = float(loaded.integration_error(u[0], t, **options).max())
                report["integration error"] = f"{readable(halved)} (relative, against half the step)"
            if plot:
                save_picture(plot, made.plot)
    if until is None and frames is None:
        errors = evaluate(loaded, data, **options).errors
        report["error"] = f"{readable(errors.mean())} (relative L², mean of {len(errors)} trajectories)"
    if out:
        Trajectories.from_list(pairs, data.channels, data.names).to_hdf5(out)
    print_fields(report)


@app.command()
def reverse(
    model: Annotated[str, Argument(help=MODEL)],
    file: Annotated[Path, Argument(help=FILE + " Their last frames are where it begins.")],
    back: Annotated[float, Option(help="How long to go back.")],
    method: Scheme = "rk4",
    nfe: Nfe = None,
    samples: Samples = None,
    plot: Annotated[Path | None, Option(help="Draw error against time gone back (.png, .svg, .pdf).")] = None,
) -> None:
    """Follow states back in time from the last frames in a file, and say how errors grow on the way.

    Example: firstlight flow reverse lorenz lorenz.h5 --back 0.3
    """
    from firstlight.pde.flow.reversal import IllPosedReversal
    from firstlight.pde.flow.reversed_frames import reverse_errors
    from firstlight.pde.flow.saved_models import load_model

    _check_outputs(None, plot)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IllPosedReversal)  # it is the verdict below
        made = reverse_errors(load_model(model), _read(file, samples, 0), back, method=method, nfe=nfe)
    print_table(made.rows())
    print_fields(
        {
            "growth rate": f"{readable(made.reversal.growth_rate.max())} per time unit, of the worst sample",
            "amplification": f"{readable(made.reversal.amplification[-1])} over {back:g} time units",
            "round trip": f"{readable(made.reversal.round_trip.max())} (relative L², of the worst sample)",
            "verdict": "ill-posed: errors drown the past"
            if made.reversal.ill_posed
            else "errors grow less than tenfold",
        }
    )
    if plot:
        save_picture(plot, made.plot)


@app.command()
def evaluate(
    models: Annotated[list[str], Argument(help=MODEL + " Several are compared.")],
    file: Annotated[Path, Option("--on", help=FILE)],
    method: Scheme = "rk4",
    nfe: Nfe = None,
    samples: Samples = None,
    skip: Skip = 0,
) -> None:
    """Hold models against trajectories, beside the assumption that nothing ever changes.

    Example: firstlight flow evaluate runs/flow runs/increment --on test.h5
    """
    from firstlight.pde.flow.baselines import Persistence
    from firstlight.pde.flow.evaluation import evaluate as evaluated
    from firstlight.pde.flow.saved_models import load_model

    data = _read(file, samples, skip)
    rows = []
    for name in [*models, "persistence"]:
        loaded = Persistence() if name == "persistence" else load_model(name)
        found = evaluated(loaded, data, **_integration(loaded, method, nfe))
        rows.append(
            {
                "model": name,
                "error": found.errors.mean(),
                "worst": found.errors.max(),
                "mean drift": found.mean_drift,
                "evaluations per frame": found.evaluations,
                "seconds": found.seconds,
            }
        )
    print_table(rows, f"{file}: {len(data)} trajectories")


def _read(file: Path, samples: int | None, skip: int) -> Any:
    """Read trajectories, and say what the reader found."""
    from firstlight.pde.flow.trajectories import Trajectories

    data = Trajectories.from_file(file, samples=samples)
    for note in data.notes:
        console(stderr=True).print(f"{file}: {note}")
    return data.skip(skip) if skip else data


def _integration(model: Any, method: str, nfe: int | None) -> dict[str, Any]:
    """Options of integration, which only a velocity field takes."""
    return {"method": method, "nfe": nfe} if hasattr(model, "integration_error") else {}


def _check_outputs(out: Path | None, plot: Path | None) -> None:
    if out:
        writable(out, ".h5", ".hdf5")
    if plot:
        writable(plot, *FORMATS)
