"""What a CFR solver remembers between iterations, and how it is written to a file and read again."""

import hashlib
from typing import NamedTuple

import numpy as np

from firstlight.errors import InvalidInput
from firstlight.games.cfr_kernels import PROGRESS, Half
from firstlight.games.flat_game import FlatGame, Treeplex
from firstlight.games.game_tree import TERMINAL
from firstlight.games.sweeps import realise

# The arrays of a `Half` that outlive an iteration.
LASTING = ("aggregate", "regret", "lifted", "behaviour", "plan", "total", "moved")


class Memory(NamedTuple):
    """Both players' halves and the progress, as the kernels take them."""

    first: Half
    second: Half
    progress: np.void


def new_memory(treeplexes: tuple[Treeplex, Treeplex], radius: float) -> Memory:
    """Return the memory before the first iteration: uniform strategies, aggregates in the middle of R·Δ."""
    progress = np.zeros(1, PROGRESS)
    progress["radius"] = radius
    return Memory(_new_half(treeplexes[0], radius), _new_half(treeplexes[1], radius), progress[0])


def _new_half(treeplex: Treeplex, radius: float) -> Half:
    behaviour = np.ones(treeplex.n_sequences)
    behaviour[1:] = np.repeat(1.0 / treeplex.n_actions, treeplex.n_actions)
    plan = np.empty_like(behaviour)
    realise(treeplex.parent, treeplex.start, treeplex.n_actions, behaviour, plan)
    return Half(
        treeplex.parent,
        treeplex.start,
        treeplex.n_actions,
        aggregate=radius * behaviour,
        regret=np.zeros_like(plan),
        lifted=radius * behaviour,
        behaviour=behaviour,
        plan=plan,
        total=np.zeros_like(plan),
        gradient=np.zeros_like(plan),
        moved=np.zeros(2),
    )


def payoff_range(game: FlatGame) -> float:
    """Return the largest payoff of a leaf minus the smallest; 1 where nothing is at stake and any unit will do."""
    return float(np.ptp(game.tree.payoff[game.tree.player == TERMINAL])) or 1.0


def memory_arrays(memory: Memory) -> dict[str, np.ndarray]:
    """Return everything that a later run needs to go on bit by bit, for ``numpy.savez``."""
    arrays = {
        f"{name}_{player}": getattr(half, name)
        for player, half in enumerate((memory.first, memory.second), start=1)
        for name in LASTING
    }
    return arrays | {f"progress_{name}": np.array(memory.progress[name]) for name in PROGRESS.names or ()}


def restore(memory: Memory, arrays: dict[str, np.ndarray]) -> None:
    """Put what `memory_arrays` returned into a new memory of the same game.

    Raises
    ------
    InvalidInput
        If an array is missing, or has another shape or type.
    """
    current = memory_arrays(memory)
    for name, values in current.items():
        stored = arrays.get(name)
        if (
            stored is None
            or stored.shape != values.shape
            or stored.dtype != values.dtype
            or not np.isfinite(stored).all()
        ):
            raise InvalidInput(f"{name} is missing or not {values.shape} finite {values.dtype}")
        if values.shape:
            values[...] = stored
    for name in PROGRESS.names or ():
        memory.progress[name] = arrays[f"progress_{name}"]


def fingerprint(game: FlatGame) -> str:
    """Return a hash of everything about a game that iterates depend on."""
    digest = hashlib.sha256()
    parts = [part for plex in game.treeplexes for part in (plex.parent, plex.start, plex.n_actions)]
    for part in (*parts, game.payoff.indptr, game.payoff.indices, game.payoff.data):
        digest.update(np.ascontiguousarray(part).tobytes())
        digest.update(b"|")
    return digest.hexdigest()
