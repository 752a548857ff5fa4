"""Game trees in ``.npz`` files: the node arrays as they are, the names as JSON text. Nothing is pickled."""

import json
from pathlib import Path

import numpy as np

from firstlight.errors import InvalidInput
from firstlight.files import load_arrays, save_arrays
from firstlight.games.game_tree import GameTree, InformationSet, check_tree

NODE_ARRAYS = {
    "parent": np.int32,
    "player": np.int8,
    "information_set": np.int32,
    "action": np.int16,
    "probability": np.float64,
    "payoff": np.float64,
}


def save_tree(path: str | Path, tree: GameTree) -> None:
    """Write a game tree to a ``.npz`` file, whole or not at all."""
    names = {
        "title": tree.title,
        "payoff_sum": tree.payoff_sum,
        "information_sets": tree.information_sets,
    }
    text = np.frombuffer(json.dumps(names).encode(), np.uint8)
    save_arrays(path, names=text, **{name: getattr(tree, name) for name in NODE_ARRAYS})


def load_tree(path: str | Path) -> GameTree:
    """Read a game tree that `save_tree` wrote, and check it.

    Raises
    ------
    InvalidInput
        If the file is damaged, holds something else, or holds arrays that are not the tree of a game.
    """
    arrays = load_arrays(path)
    if set(arrays) != {"names", *NODE_ARRAYS}:
        raise InvalidInput(f"{path} is not a game saved by Firstlight: it holds {sorted(arrays)[:8]}")
    shape = arrays["parent"].shape
    for name, dtype in NODE_ARRAYS.items():
        if arrays[name].dtype != dtype or arrays[name].shape != shape or len(shape) != 1:
            raise InvalidInput(f"{path} is damaged: {name} is {arrays[name].dtype} of shape {arrays[name].shape}")
    try:
        names = json.loads(arrays["names"].tobytes())
        first, second = (tuple(_information_set(*known) for known in sets) for sets in names["information_sets"])
        title, payoff_sum = str(names["title"]), float(names["payoff_sum"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InvalidInput(f"{path} is damaged: its names cannot be read ({error})") from error
    nodes = {name: arrays[name] for name in NODE_ARRAYS}
    tree = GameTree(**nodes, information_sets=(first, second), payoff_sum=payoff_sum, title=title)
    try:
        check_tree(tree)
    except InvalidInput as error:
        raise InvalidInput(f"{path} is damaged: {error}") from error
    return tree


def _information_set(name: str, actions: list[str], ids: list[int]) -> InformationSet:
    return InformationSet(str(name), tuple(map(str, actions)), tuple(map(int, ids)))
