"""The verbs of ``firstlight transport``: distance, flow, recolor."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from firstlight.errors import Interrupted, InvalidInput
from firstlight.files import save_arrays, writable
from firstlight.pictures import FORMATS, save_picture
from firstlight.terminal import print_fields

app = typer.Typer()

SAMPLES = "Points, one per row: .npy, .npz with one array or one named X, or .csv."

Order = Annotated[float, Option(help="Order of the distance, at least 1.")]
Trees = Annotated[int, Option(help="Number of random trees.")]
Lines = Annotated[int, Option(help="Lines of each tree.")]
Delta = Annotated[float, Option(help="Sharpness of the split by distance, per unit of length.")]
Sphere = Annotated[bool, Option("--sphere", help="The points lie on the unit sphere.")]
Seed = Annotated[int, Option(min=0, help="Seed of everything random.")]


@app.command()
def distance(
    source: Annotated[Path, Argument(help=SAMPLES)],
    target: Annotated[Path, Argument(help="The same.")],
    p: Order = 2.0,
    trees: Trees = 250,
    lines: Lines = 4,
    delta: Delta = 2.0,
    splitting: Annotated[
        Literal["distance", "uniform"], Option(help="Split mass by distance to the lines, or evenly.")
    ] = "distance",
    structure: Annotated[
        Literal["concurrent", "chain"], Option(help="Lines through one root, or a chain of lines.")
    ] = "concurrent",
    sphere: Sphere = False,
    normalize: Annotated[bool, Option("--normalize", help="With --sphere: divide points by their norm first.")] = False,
    certify: Annotated[bool, Option("--certify", help="Also bound the distance from below by dual functions.")] = False,
    seed: Seed = 0,
) -> None:
    """Tree-sliced Sobolev distance between two samples, with its Monte-Carlo standard error.

    Example: firstlight transport distance cells_day0.npy cells_day7.npy --p 1.5 --certify
    """
    from firstlight.transport import dual_certificate, tree_sliced_sobolev, tree_sliced_sobolev_sphere
    from firstlight.transport.data import read_samples

    if sphere and structure == "chain":
        raise InvalidInput("--structure chain is for points in space; leave it out with --sphere")
    if normalize and not sphere:
        raise InvalidInput("--normalize is for points on the sphere; give --sphere with it")
    X_s, X_t = read_samples(source), read_samples(target)
    options = {"n_trees": trees, "n_lines": lines, "p": p, "delta": delta, "splitting": splitting, "seed": seed}
    if sphere:
        found, log = tree_sliced_sobolev_sphere(X_s, X_t, normalize=normalize, log=True, **options)
    else:
        found, log = tree_sliced_sobolev(X_s, X_t, structure=structure, log=True, **options)
    fields = {
        "source": f"{source}: {X_s.shape[0]:,} points, {X_s.shape[1]} coordinates",
        "target": f"{target}: {X_t.shape[0]:,} points",
        "distance": f"{found:.10g}",
        "standard error": f"{log['standard_error']:.2g} over {trees} trees of {lines} lines",
    }
    if certify:
        if normalize:
            X_s, X_t = (X / (X**2).sum(axis=1, keepdims=True) ** 0.5 for X in (X_s, X_t))
        certificate = dual_certificate(X_s, X_t, trees=log["trees"], p=p, delta=delta, splitting=splitting)
        gap = abs(found - certificate.bound) / found if found else 0.0
        fields["dual bound"] = f"{certificate.bound:.10g}, from functions on the explicit trees; relative gap {gap:.1g}"
    print_fields(fields)


@app.command()
def flow(
    source: Annotated[Path, Argument(help=f"Where the particles start. {SAMPLES}")],
    target: Annotated[Path, Argument(help="Where they are to go.")],
    out: Annotated[Path, Option(help="Save particles, snapshots on the way and their distances (.npz).")],
    p: Order = 1.2,
    lr: Annotated[float, Option(help="Learning rate of Adam, in units of the points.")] = 0.005,
    iterations: Annotated[int, Option(help="Number of iterations.")] = 2500,
    trees: Trees = 25,
    lines: Lines = 4,
    delta: Delta = 1.0,
    sphere: Sphere = False,
    seed: Seed = 0,
    plot: Annotated[Path | None, Option(help="Draw the exact distance over iterations (.png, .svg, .pdf).")] = None,
) -> None:
    """Move particles to a target down the gradient of the distance; exact transport says how near they came.

    Ctrl-C writes how far the particles came.

    Example: firstlight transport flow noise.npy rings.npy --out flow.npz --plot flow.png
    """
    from firstlight.transport.data import read_samples
    from firstlight.transport.gradient_flow import gradient_flow
    from firstlight.transport.losses import TreeSlicedSobolevLoss

    writable(out, ".npz")
    if plot:
        writable(plot, *FORMATS)
    X_s, X_t = read_samples(source), read_samples(target)
    domain = "sphere" if sphere else "euclidean"
    loss = TreeSlicedSobolevLoss(p, trees, lines, delta, domain=domain, seed=seed)
    stopped = None
    try:
        found = gradient_flow(X_s, X_t, loss, lr=lr, n_iter=iterations, domain=domain, seed=seed, progress=True)
    except Interrupted as error:
        stopped, found = error, error.finished["flow"]
    save_arrays(
        out,
        particles=found.particles,
        iterations=found.iterations,
        snapshots=found.snapshots,
        w2_squared=found.w2_squared,
        losses=found.losses,
    )
    fields = {
        "particles": f"{found.particles.shape[0]:,}, {found.particles.shape[1]} coordinates",
        "ran": f"{len(found.losses):,} iterations in {found.seconds:.1f} s",
        "W2 squared": f"{found.w2_squared[0]:.4g} at the start, {found.w2_squared[-1]:.4g} at the end (exact, ot.emd2)",
        "written": str(out),
    }
    if plot:
        save_picture(plot, found.plot)
        fields["picture"] = str(plot)
    print_fields(fields)
    if stopped:
        raise stopped


@app.command()
def recolor(
    content: Annotated[Path, Argument(help="The image to recolour: .png, .jpg or another that Pillow reads.")],
    style: Annotated[Path, Argument(help="The image whose colours it gets.")],
    out: Annotated[Path, Argument(help="Where to write: .png, .jpg …")],
    p: Order = 1.2,
    samples: Annotated[int, Option(help="Pixels of each image that flow.")] = 1000,
    iterations: Annotated[int, Option(help="Iterations of the flow.")] = 200,
    seed: Seed = 0,
) -> None:
    """Give an image the colours of another.

    Example: firstlight transport recolor portrait.jpg sunset.jpg portrait_at_sunset.png
    """
    from firstlight.transport.color_transfer import color_transfer
    from firstlight.transport.data import read_image, write_image
    from firstlight.transport.losses import TreeSlicedSobolevLoss
    from firstlight.transport.readers import image_path

    image_path(out)
    given = read_image(content)
    image_path(out, channels=given.shape[2])
    loss = TreeSlicedSobolevLoss(p, n_trees=25, n_lines=4, seed=seed)
    made = color_transfer(
        given, read_image(style), loss, n_samples=samples, n_iter=iterations, seed=seed, progress=True
    )
    write_image(out, made.image)
    print_fields(
        {
            "W2 squared": f"{made.w2_squared_before:.4g} before, {made.w2_squared_after:.4g} after (exact, ot.emd2)",
            "floor": f"{made.w2_squared_floor:.4g} between two samples of the style itself",
            "written": str(out),
        }
    )
