"""The verbs of ``firstlight subspace``: train, predict, bench."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from firstlight.errors import InvalidInput
from firstlight.files import writable
from firstlight.pictures import FORMATS, save_picture
from firstlight.terminal import print_fields, print_table

if TYPE_CHECKING:
    from firstlight.pde.subspace.problems import SubspaceData
    from firstlight.pde.subspace.regressor import SubspaceRegressor

app = typer.Typer()

DATA = "Samples: a .npz file with fields (samples, channels, …) and bases (samples, n, k)"


@app.command()
def train(
    data: Annotated[str, Argument(help=f"{DATA}; or flattop or burgers, the recipes of the models that ship.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder for checkpoints, scores, and the finished model/.")],
    net: Annotated[str, Option(help="unet or ffno for fields on a grid, pod-mlp for any mesh or parameters.")] = "unet",
    columns: Annotated[
        int | None, Option(help="Columns of the prediction; twice those of a basis if not given.")
    ] = None,
    loss: Annotated[str, Option(help="l1 (exact) or l2 (estimated from random combinations).")] = "l1",
    steps: Annotated[int, Option(help="Steps of the optimiser.")] = 3000,
    seed: Annotated[int, Option(help="Seed of first weights and order.")] = 0,
    resume: Annotated[bool, Option("--resume", help="Go on with the run in the folder.")] = False,
) -> None:
    """Train a network that predicts subspaces from fields.

    Example: firstlight subspace train samples.npz --net pod-mlp --columns 20 -o runs/mine
    """
    from firstlight.pde.subspace.problems import SubspaceData
    from firstlight.pde.subspace.regressor import SubspaceRegressor
    from firstlight.pde.subspace.training import RECIPES, train_recipe

    if data in RECIPES:
        model = train_recipe(data, out, resume=resume)
    else:
        samples = SubspaceData.load(_existing(data))
        model = SubspaceRegressor(out_dim=columns, net=net, loss=loss, steps=steps, seed=seed)
        model.fit(samples.fields, samples.bases, folder=out / "run", resume=resume)
        model.save_pretrained(out / "model")
    network = model.network_
    print_fields(
        {
            "network": f"{network.kind}, {sum(weight.numel() for weight in network.parameters()):,} weights",
            "validation loss": f"{model.run_.score:.4g} at epoch {model.run_.epoch} of {model.run_.epochs}",
            "model": str(out / "model"),
        }
    )


@app.command()
def predict(
    fields: Annotated[Path, Argument(help="Fields: .npy, or .npz with fields and, to be judged by, bases.")],
    out: Annotated[Path, Option("--out", "-o", help="Where the predicted bases go, as the array W (.npz).")],
    weights: Annotated[str, Option(help="flattop or burgers, which ship, or a folder or repository.")] = "flattop",
    columns: Annotated[int | None, Option(help="Keep the first so many columns of each prediction.")] = None,
    plot: Annotated[Path | None, Option(help="Draw the principal angles to the bases (.png, .svg, .pdf).")] = None,
) -> None:
    """Predict a subspace for every field; where the true ones are there too, say how near they are.

    Example: firstlight subspace predict samples.npz --weights runs/mine/model -o predicted.npz --plot angles.png
    """
    import numpy as np

    from firstlight.files import save_arrays
    from firstlight.pde.subspace.angles import projection_error

    writable(out, ".npz")
    if plot:
        writable(plot, *FORMATS)
    given, bases = _read_fields(fields)
    if plot and bases is None:
        raise InvalidInput(f"{fields} holds no bases, to which angles could be drawn; leave --plot out")
    model = _model(weights)
    W = model.predict(given)
    W = (W if W.ndim == 3 else W[None])[:, :, :columns]
    save_arrays(out, W=W)
    lines = {"predicted": f"{len(W):,} subspaces of {W.shape[2]} dimensions in {W.shape[1]:,}", "written": str(out)}
    if bases is not None:
        if bases.shape[:2] != W.shape[:2]:
            raise InvalidInput(f"bases of shape {bases.shape} do not go with predictions of shape {W.shape}")
        errors = [projection_error(one, wanted) for one, wanted in zip(W, bases, strict=True)]
        lines["mean ‖(I − P)v‖"] = f"{np.mean(errors):.4g}, from {min(errors):.4g} to {max(errors):.4g}"
    if plot and bases is not None:
        save_picture(plot, lambda ax: _plot_angles(W, bases, ax))
        lines["picture"] = str(plot)
    print_fields(lines)


@app.command()
def bench(
    data: Annotated[
        Path | None, Argument(help=f"{DATA}. Without any: the flattop family and the shipped model.")
    ] = None,
    weights: Annotated[str | None, Option(help="A model to compare on the data: a folder or repository.")] = None,
    judged: Annotated[int, Option(help="How many samples are kept apart and judged by.")] = 20,
    samples: Annotated[int, Option(help="Training samples of the peers, without data of one's own.")] = 500,
) -> None:
    """Compare predictions with a global basis and interpolation; on the flattop family also in conjugate gradients.

    Example: firstlight subspace bench
    Example: firstlight subspace bench samples.npz --weights runs/mine/model
    """
    if judged < 1:
        raise InvalidInput(f"expected at least one sample to judge by, got --judged {judged}")
    if data is None:
        from firstlight.pde.subspace.experiments import deflation_iterations, flattop_errors

        print_table(flattop_errors(samples, judged), "mean ‖(I − P)v‖ over the 10 lowest eigenvectors, flattop 32 × 32")
        print_table(deflation_iterations(judged, samples), "iterations of conjugate gradients to 1e-8")
        return
    from firstlight.pde.subspace.problems import SubspaceData

    own = SubspaceData.load(data)
    if len(own) <= judged + 1:
        raise InvalidInput(f"{data} holds {len(own)} samples, too few to keep {judged} apart; lower --judged")
    print_table(_comparison(own[:-judged], own[-judged:], weights), "mean ‖(I − P)v‖")


def _comparison(train: "SubspaceData", test: "SubspaceData", weights: str | None) -> list[dict[str, Any]]:
    import numpy as np

    from firstlight.pde.subspace.angles import projection_error
    from firstlight.pde.subspace.global_pod import GlobalPOD
    from firstlight.pde.subspace.grassmann import GrassmannInterpolator

    k = train.bases.shape[2]
    largest = min(train.bases.shape[1] - 1, k * len(train))
    rows = []
    for columns in (k, 2 * k, 4 * k):
        if columns <= largest:
            pod = GlobalPOD(k, out_dim=columns).fit(train.fields, train.bases)
            rows.append({"method": "global POD", "columns": columns, "error": -pod.score(test.fields, test.bases)})
    for method in ("nearest", "geodesic"):
        peer = GrassmannInterpolator(k, method).fit(train.fields, train.bases)
        rows.append({"method": method, "columns": k, "error": -peer.score(test.fields, test.bases)})
    if weights is not None:
        model = _model(weights)
        W = model.predict(test.fields)
        for columns in model.network_.out_dims:
            error = np.mean([projection_error(w[:, :columns], v) for w, v in zip(W, test.bases, strict=True)])
            rows.append({"method": "predicted", "columns": columns, "error": float(error)})
    return rows


def _plot_angles(W: Any, bases: Any, ax: Any) -> Any:
    import numpy as np

    from firstlight.pde.subspace.angles import plot_angles, principal_angles

    angles = np.sort([principal_angles(one, wanted) for one, wanted in zip(W, bases, strict=True)], axis=1)
    return plot_angles({"median over samples": np.median(angles, axis=0), "worst": angles.max(axis=0)}, ax)


def _model(weights: str) -> "SubspaceRegressor":
    from firstlight.pde.subspace.regressor import SubspaceRegressor

    return SubspaceRegressor.from_pretrained(weights)


def _read_fields(path: Path) -> tuple[Any, Any]:
    """Return fields and, if they are there, bases."""
    import numpy as np

    from firstlight.files import load_arrays

    if _existing(path).suffix == ".npy":
        try:
            return np.load(path, allow_pickle=False), None
        except (ValueError, EOFError) as error:
            raise InvalidInput(f"{path} is not a readable .npy file of numbers: {error}") from error
    arrays = load_arrays(path)
    if "fields" not in arrays:
        raise InvalidInput(f"{path} holds no array 'fields', only {', '.join(sorted(arrays)) or 'nothing'}")
    return arrays["fields"], arrays.get("bases")


def _existing(path: str | Path) -> Path:
    path = Path(path)
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}")
    return path
