"""Trained models in folders, each with a line on what it is."""

import json
from pathlib import Path
from typing import Any

from firstlight.errors import InvalidInput
from firstlight.files import write_text
from firstlight.pde.flow.baselines import Autoregressive, NeuralODE
from firstlight.pde.flow.dynamics_model import DynamicsModel
from firstlight.pde.flow.flow_operator import FlowOperator

RECIPE = "recipe.json"
KINDS: dict[str, type[DynamicsModel]] = {
    "FlowOperator": FlowOperator,
    "Autoregressive": Autoregressive,
    "NeuralODE": NeuralODE,
}


def save_model(model: DynamicsModel, folder: str | Path, **recipe: Any) -> None:
    """Write a model with the recipe that made it.

    Parameters
    ----------
    model : to be written.
    folder : made if absent.
    **recipe : plain values, for whoever finds the folder.
    """
    model.save_pretrained(folder)
    line = {"model": type(model).__name__, **recipe}
    write_text(Path(folder) / RECIPE, json.dumps(line, indent=2, default=str) + "\n")


def load_model(name: str | Path) -> Any:
    """Load a shipped flow operator by its name, or any model that `save_model` wrote.

    Raises
    ------
    InvalidInput
        If there is no such model, or it is damaged.
    """
    folder = Path(name)
    if not (folder / RECIPE).is_file():
        inside = folder / "model"  # where training leaves it
        return load_model(inside) if (inside / RECIPE).is_file() else FlowOperator.from_pretrained(name)
    try:
        kind = KINDS[json.loads((folder / RECIPE).read_text(encoding="utf-8"))["model"]]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{folder / RECIPE} does not say which model this is: {error}") from error
    return kind.from_pretrained(folder)
