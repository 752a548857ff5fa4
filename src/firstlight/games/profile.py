"""A strategy for each player: how likely every move of every information set is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float64, Int64

from firstlight.errors import InvalidInput
from firstlight.files import load_arrays, save_arrays
from firstlight.games.game_tree import InformationSet
from firstlight.games.openspiel_games import cpp_policy, python_policy, tabulate
from firstlight.games.sweeps import condition, realise

if TYPE_CHECKING:
    from firstlight.games.flat_game import FlatGame

# How far the probabilities of a set may miss the sum of one. Strategies from elsewhere may be in single precision;
# those that miss by more than rounding are divided by their sum.
SMALLEST_MISS, LARGEST_MISS = 1e-12, 1e-6


@dataclass(frozen=True, eq=False)
class Profile:
    """Both players' strategies in behaviour form.

    Make one with `uniform`, `from_plans`, `of` or `load`; the plain constructor checks what it is given.

    Attributes
    ----------
    information_sets : of both players, as in `GameTree`: names and moves.
    behaviour : for each player, the probability of every move once its information set is reached, in the order
        of the player's sequences; entry 0, the empty sequence, is 1.
    title : name of the game; for an OpenSpiel game what ``pyspiel.load_game`` takes.
    """

    information_sets: tuple[tuple[InformationSet, ...], tuple[InformationSet, ...]]
    behaviour: tuple[Float64[np.ndarray, " sequences_1"], Float64[np.ndarray, " sequences_2"]]
    title: str = ""

    def __post_init__(self) -> None:
        for player in (0, 1):
            _check_behaviour(self, player)

    @cached_property
    def starts(self) -> tuple[Int64[np.ndarray, " sets_1"], Int64[np.ndarray, " sets_2"]]:
        """First sequence of each information set, for both players."""
        first, second = (_starts(sets) for sets in self.information_sets)
        return first, second

    def sums(self, player: int) -> Float64[np.ndarray, " sets"]:
        """Return the sum of the probabilities of each information set: one, up to rounding."""
        starts = self.starts[player]
        return np.add.reduceat(self.behaviour[player], starts) if len(starts) else np.ones(0)

    @classmethod
    def uniform(cls, game: "FlatGame") -> "Profile":
        """All moves of an information set equally likely."""
        behaviour = [np.ones(treeplex.n_sequences) for treeplex in game.treeplexes]
        for values, treeplex in zip(behaviour, game.treeplexes, strict=True):
            values[1:] = np.repeat(1.0 / treeplex.n_actions, treeplex.n_actions)
        return cls(game.tree.information_sets, (behaviour[0], behaviour[1]), game.tree.title)

    @classmethod
    def from_plans(
        cls,
        game: "FlatGame",
        plans: tuple[Float64[np.ndarray, " sequences_1"], Float64[np.ndarray, " sequences_2"]],
    ) -> "Profile":
        """Return the strategies that realise two plans, or weighted sums of plans over iterations.

        Parameters
        ----------
        game : the game of the plans.
        plans : for each player a weight at least 0 for every sequence, of any scale. Sets that a plan never
            reaches get equal probabilities.
        """
        behaviour = [np.empty(treeplex.n_sequences) for treeplex in game.treeplexes]
        for values, treeplex, plan in zip(behaviour, game.treeplexes, plans, strict=True):
            if plan.shape != values.shape:
                raise InvalidInput(f"expected a plan of {len(values)} sequences, got {len(plan)}")
            condition(treeplex.start, treeplex.n_actions, plan, values)
        return cls(game.tree.information_sets, (behaviour[0], behaviour[1]), game.tree.title)

    @classmethod
    def of(cls, game: "FlatGame", policy: Any) -> "Profile":
        """Return a policy of any kind as a profile of the game.

        Parameters
        ----------
        game : the game that is played.
        policy : a `Profile`, an OpenSpiel policy (Python or C++), or a mapping from the name of each information
            set (as in `to_dict`) to ``{move: probability}`` or pairs of these; moves by label or by number.

        Raises
        ------
        InvalidInput
            If an information set or a move is missing or unknown, or probabilities do not sum to one.
        """
        if isinstance(policy, Profile):
            if policy.information_sets == game.tree.information_sets:
                return policy
            policy = policy.to_dict()
        table = policy if isinstance(policy, Mapping) else tabulate(policy, game.tree.title)
        names = set_names(game.tree.information_sets)
        unknown = set(policy).difference(*names) if isinstance(policy, Mapping) else ()
        if unknown:
            raise InvalidInput(f"the game has no information set named {min(unknown, key=str)!r}")
        behaviour = []
        for player, sets in enumerate(game.tree.information_sets):
            values = np.ones(1 + sum(len(known.actions) for known in sets))
            for known, name, start in zip(sets, names[player], _starts(sets), strict=True):
                if name not in table:
                    raise InvalidInput(f"no probabilities for information set {name!r} of player {player + 1}")
                values[start : start + len(known.actions)] = _probabilities(name, known, dict(table[name]))
            behaviour.append(values)
        return cls(game.tree.information_sets, (behaviour[0], behaviour[1]), game.tree.title)

    @classmethod
    def load(cls, path: str | Path) -> "Profile":
        """Read a profile that `save` wrote; the game is not needed.

        Raises
        ------
        InvalidInput
            If the file is damaged or holds something else.
        """
        arrays = load_arrays(path)
        parts = ("sets", "counts", "moves", "ids", "probabilities")
        if set(arrays) != {"title", *(f"{part}_{player}" for part in parts for player in (1, 2))}:
            raise InvalidInput(f"{path} is not a profile saved by Firstlight: it holds {sorted(arrays)[:8]}")
        try:
            first, second = (_unpack(*(arrays[f"{part}_{player}"] for part in parts)) for player in (1, 2))
            return cls((first[0], second[0]), (first[1], second[1]), str(arrays["title"]))
        except (ValueError, TypeError, IndexError) as error:
            raise InvalidInput(f"{path} is damaged: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write the profile to a ``.npz`` file, whole or not at all.

        NumPy alone reads it. For each player (``_1``, ``_2``): ``sets``, the names of the information sets; ``counts``,
        the number of moves of each; and for all moves in turn ``moves`` (labels), ``ids`` (the numbers they have
        in OpenSpiel) and ``probabilities``.
        """
        arrays = {"title": np.array(self.title)}
        for player, sets in enumerate(self.information_sets, start=1):
            arrays[f"sets_{player}"] = np.array([known.name for known in sets], str)
            arrays[f"counts_{player}"] = np.array([len(known.actions) for known in sets], np.int64)
            arrays[f"moves_{player}"] = np.array([label for known in sets for label in known.actions], str)
            arrays[f"ids_{player}"] = np.array([number for known in sets for number in known.ids], np.int64)
            arrays[f"probabilities_{player}"] = self.behaviour[player - 1][1:]
        save_arrays(path, **arrays)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{information set: {move: probability}}`` with names and labels.

        A name that both players use is told apart as ``"player 1: name"``, labels that repeat inside one information
        set as ``"label (1)"``, ``"label (2)"``.
        """
        return {
            name: dict(zip(move_names(known.actions), values, strict=True)) for name, known, values in self._choices()
        }

    def to_openspiel(self, game: Any = None) -> Any:
        """Return an ``open_spiel.python.policy.TabularPolicy``, for example for ``exploitability.nash_conv``.

        Parameters
        ----------
        game : the ``pyspiel.Game`` or its name, the profile's own `title` unless given. A ``TabularPolicy`` of the
            game may stand in for it and is copied, which saves walking a large game again.

        Raises
        ------
        InvalidInput
            If OpenSpiel does not know the game, or the game has other information sets.
        """
        return python_policy(self._by_id(), self.title if game is None else game)

    def to_pyspiel(self) -> Any:
        """Return a ``pyspiel.TabularPolicy``, the C++ one, for example for ``pyspiel.exploitability``."""
        return cpp_policy(self._by_id())

    def plans(
        self, game: "FlatGame"
    ) -> tuple[Float64[np.ndarray, " sequences_1"], Float64[np.ndarray, " sequences_2"]]:
        """Return both realisation plans: how likely the player makes all moves of each sequence."""
        plans = [np.empty(treeplex.n_sequences) for treeplex in game.treeplexes]
        for plan, treeplex, values in zip(plans, game.treeplexes, self.behaviour, strict=True):
            realise(treeplex.parent, treeplex.start, treeplex.n_actions, values, plan)
        return plans[0], plans[1]

    def _choices(self) -> Iterator[tuple[str, InformationSet, list[float]]]:
        for player, names in enumerate(set_names(self.information_sets)):
            values = self.behaviour[player].tolist()
            for name, known, start in zip(names, self.information_sets[player], self.starts[player], strict=True):
                yield name, known, values[start : start + len(known.actions)]

    def _by_id(self) -> dict[str, dict[int, float]]:
        return {name: dict(zip(known.ids, values, strict=True)) for name, known, values in self._choices()}


def set_names(
    information_sets: tuple[tuple[InformationSet, ...], tuple[InformationSet, ...]],
) -> tuple[list[str], list[str]]:
    """Return a name for every information set that no other set of either player has."""
    first, second = ([known.name for known in sets] for sets in information_sets)
    both = set(first).intersection(second)
    if not both:
        return first, second
    named = (
        [f"player {player}: {name}" if name in both else name for name in names]
        for player, names in enumerate((first, second), start=1)
    )
    first, second = named
    return first, second


@lru_cache(maxsize=4096)
def move_names(actions: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels of the moves of one set, numbered where they repeat."""
    if len(set(actions)) == len(actions):
        return actions
    return tuple(
        f"{label} ({1 + actions[:place].count(label)})" if actions.count(label) > 1 else label
        for place, label in enumerate(actions)
    )


@lru_cache(maxsize=4096)
def _move_places(actions: tuple[str, ...], ids: tuple[int, ...]) -> dict[str | int, int]:
    """Where each move stands, by label and by number."""
    return {name: place for names in (move_names(actions), ids) for place, name in enumerate(names)}


def _probabilities(name: str, known: InformationSet, given: dict) -> list[float]:
    places = _move_places(known.actions, known.ids)
    values = [0.0] * len(known.actions)
    for move, probability in given.items():
        place = places.get(move)
        # OpenSpiel's tables also list the moves that are not legal here, with probability 0.
        if place is not None:
            values[place] += float(probability)
        elif probability != 0:
            raise InvalidInput(f"information set {name!r} has no move {move!r}; its moves are {list(places)}")
    total = sum(values)
    if not (min(values) >= 0 and abs(total - 1) <= LARGEST_MISS):
        raise InvalidInput(f"probabilities of information set {name!r} must be at least 0 and sum to 1, got {values}")
    return [value / total for value in values] if abs(total - 1) > SMALLEST_MISS else values


def _starts(sets: tuple[InformationSet, ...]) -> Int64[np.ndarray, " sets"]:
    counts = np.array([len(known.actions) for known in sets], np.int64)
    return 1 + np.cumsum(counts) - counts


def _check_behaviour(profile: Profile, player: int) -> None:
    sets, values = profile.information_sets[player], profile.behaviour[player]
    expected = 1 + sum(len(known.actions) for known in sets)
    if values.shape != (expected,):
        raise InvalidInput(f"expected {expected} probabilities for player {player + 1}, got shape {values.shape}")
    if not (values >= 0).all() or values[0] != 1:
        raise InvalidInput(f"probabilities of player {player + 1} must be at least 0, the first (no move) must be 1")
    sums = profile.sums(player)
    wrong = np.flatnonzero(~(np.abs(sums - 1) <= SMALLEST_MISS))
    if len(wrong):
        raise InvalidInput(
            f"probabilities of information set {sets[wrong[0]].name!r} of player {player + 1} must sum to 1, "
            f"they sum to {sums[wrong[0]]!r}"
        )


def _unpack(
    sets: np.ndarray, counts: np.ndarray, moves: np.ndarray, ids: np.ndarray, probabilities: np.ndarray
) -> tuple[tuple[InformationSet, ...], Float64[np.ndarray, " sequences"]]:
    if counts.shape != sets.shape or not moves.shape == ids.shape == probabilities.shape == (counts.sum(),):
        raise ValueError(f"{len(sets)} sets with {counts.sum()} moves, but {len(moves)} labels and {len(ids)} numbers")
    ends = np.cumsum(counts)
    known = tuple(
        InformationSet(str(name), tuple(moves[end - count : end].tolist()), tuple(ids[end - count : end].tolist()))
        for name, count, end in zip(sets, counts, ends, strict=True)
    )
    return known, np.concatenate(([1.0], probabilities))
