"""The recipes of the weights that ship: problems in, a `SubspaceRegressor` out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firstlight.errors import InvalidInput
from firstlight.pde.subspace.problems import BurgersProblem, FlattopProblem, SubspaceData, generate
from firstlight.pde.subspace.regressor import SubspaceRegressor

JUDGED = 1_000_000  # samples from this number on are for judging, none of those before it


@dataclass(frozen=True)
class Recipe:
    """How weights that ship were made.

    Attributes
    ----------
    problem : the family of problems.
    samples : how many are drawn to train on; a tenth of them is set aside to choose the best epoch.
    parameters : of `SubspaceRegressor`.
    """

    problem: FlattopProblem | BurgersProblem
    samples: int
    parameters: Mapping[str, Any] = field(default_factory=dict)


RECIPES: Mapping[str, Recipe] = {
    "flattop": Recipe(FlattopProblem(cells=32, n_vectors=10), 5000, {"out_dim": (10, 20, 40), "steps": 4000}),
    "flattop-3d": Recipe(
        FlattopProblem(cells=12, dim=3, n_vectors=10), 1500, {"out_dim": (10, 20), "layers": 3, "steps": 400}
    ),
    "burgers": Recipe(BurgersProblem("II", n_vectors=5), 2500, {"out_dim": (10, 20), "steps": 2500}),
}


def train_recipe(
    name: str, folder: str | Path, *, resume: bool = False, workers: int | None = 1, **parameters: Any
) -> SubspaceRegressor:
    """Make weights that ship anew: draw and solve problems, train, and leave the model in ``folder/model``,
    in half precision.

    Parameters
    ----------
    name : of the recipe, as `RECIPES` has them.
    folder : for solved problems, checkpoints, scores and the model.
    resume : go on with the run in `folder`.
    workers : processes that solve problems, None for one per core.
    **parameters : of `SubspaceRegressor`, in place of those of the recipe.

    Raises
    ------
    InvalidInput
        If there is no such recipe or a parameter is wrong.
    Interrupted
        On Ctrl-C; the same call with ``resume=True`` goes on.
    """
    if name not in RECIPES:
        raise InvalidInput(f"there is no recipe {name!r}; choose among {', '.join(RECIPES)}")
    recipe, folder = RECIPES[name], Path(folder)
    data = generate(recipe.problem, recipe.samples, folder=folder / "samples", workers=workers)
    model = SubspaceRegressor(**{**recipe.parameters, **parameters})
    model.fit(data.fields, data.bases, folder=folder / "run", resume=resume)
    # Half precision halves the package and changes errors in the fourth digit; the model returned is the one kept.
    for weight in model.network_.parameters():
        weight.data = weight.data.half()
    model.save_pretrained(folder / "model")
    for weight in model.network_.parameters():
        weight.data = weight.data.float()
    return model


def judged(problem: FlattopProblem | BurgersProblem, count: int, seed: int = 0) -> SubspaceData:
    """Draw and solve problems that no recipe trains on."""
    return generate(problem, count, first=JUDGED, seed=seed)
