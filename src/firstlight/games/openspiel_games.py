"""OpenSpiel games in, OpenSpiel policies in and out."""

from copy import copy
from typing import Any

from firstlight.errors import InvalidInput, MissingExtra
from firstlight.games.game_tree import CHANCE, TERMINAL, GameTree, TreeBuilder


def read_openspiel(game: Any, *, max_nodes: int = 50_000_000) -> GameTree:
    """Read the whole tree of an OpenSpiel game.

    Parameters
    ----------
    game : a ``pyspiel.Game``, or a string for ``pyspiel.load_game``. Games of simultaneous moves are turned into
        turn-based ones, as OpenSpiel itself does.
    max_nodes : refuse games with more nodes than this instead of filling the memory.

    Raises
    ------
    InvalidInput
        If the game is unknown, has not two players, is neither zero- nor constant-sum, samples chance, or is too large.
    MissingExtra
        If OpenSpiel is not installed.
    """
    game = turn_based(game)
    payoff_sum = game.utility_sum()
    tree = TreeBuilder(str(game), payoff_sum)
    # What is still to be read: (state above, move to make there, node above, place among its moves, probability).
    # The branch to read next lies on top; no recursion, so that a deep game cannot exhaust Python's stack.
    waiting = [(game.new_initial_state(), None, -1, 0, 1.0)]
    while waiting:
        state, move, above, place, probability = waiting.pop()
        if move is not None:
            state = state.child(move)
        player = state.current_player()
        if player == TERMINAL:
            payoff, other = state.returns()
            if payoff + other != payoff_sum:
                _check_constant_sum(state, payoff + other, payoff_sum)
            tree.leaf(payoff, above, place, probability)
        elif player == CHANCE:
            node = tree.chance(above, place, probability)
            outcomes = state.chance_outcomes()
            for place in range(len(outcomes) - 1, -1, -1):
                waiting.append((state, outcomes[place][0], node, place, outcomes[place][1]))
        else:
            moves = state.legal_actions()
            node = tree.decision(player, _information_set(tree, state, player, moves), above, place, probability)
            for place in range(len(moves) - 1, -1, -1):
                waiting.append((state, moves[place], node, place, 1.0))
            if node > max_nodes:
                raise InvalidInput(f"{game} has more than {max_nodes:,} nodes; take a smaller game, or raise max_nodes")
    return tree.finish()


def turn_based(game: Any) -> Any:
    """Return a two-player constant-sum ``pyspiel.Game`` in which one player moves at a time.

    Raises
    ------
    InvalidInput
        If the game is unknown to OpenSpiel, or is not two-player, constant-sum, with chance given explicitly.
    MissingExtra
        If OpenSpiel is not installed.
    """
    pyspiel = _pyspiel()
    if isinstance(game, str):
        try:
            game = pyspiel.load_game(game)
        except pyspiel.SpielError as error:
            raise InvalidInput(f"OpenSpiel cannot load {game!r}: {str(error).splitlines()[0]}") from error
    if not isinstance(game, pyspiel.Game):
        raise InvalidInput(f"expected a pyspiel.Game or the name of one, got {type(game).__name__}")
    kind = game.get_type()
    if game.num_players() != 2:
        raise InvalidInput(f"{game} has {game.num_players()} players, expected 2")
    if kind.utility not in (pyspiel.GameType.Utility.ZERO_SUM, pyspiel.GameType.Utility.CONSTANT_SUM):
        raise InvalidInput(f"{game} is {kind.utility.name.lower()}, expected a zero- or constant-sum game")
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise InvalidInput(f"{game} samples chance without listing its outcomes; its tree cannot be read")
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    if not game.get_type().provides_information_state_string:
        raise InvalidInput(f"{game} gives no information state strings, so nobody can say what its players know")
    return game


def _information_set(tree: TreeBuilder, state: Any, player: int, moves: list[int]) -> int:
    name = state.information_state_string()
    known = tree.known(player, name)
    if known is None:
        return tree.place(player, name, name, [state.action_to_string(move) for move in moves], moves)
    return known


def _check_constant_sum(state: Any, total: float, payoff_sum: float) -> None:
    if not abs(total - payoff_sum) <= 1e-9 * max(1.0, *map(abs, state.returns())):
        raise InvalidInput(
            f"{state.get_game()} is not constant-sum: payoffs sum to {total:g} after the moves {state.history()}, "
            f"expected {payoff_sum:g} everywhere"
        )


def tabulate(policy: Any, game: Any) -> dict[str, dict[int, float]]:
    """Return ``{information state: {action: probability}}`` of an OpenSpiel policy, Python or C++.

    Parameters
    ----------
    policy : tables are read as they are; any other policy is asked at every information state of the game.
    game : the ``pyspiel.Game`` or its name.

    Raises
    ------
    InvalidInput
        If it is not a policy.
    """
    pyspiel = _pyspiel()
    from open_spiel.python.policy import TabularPolicy

    if type(policy) is pyspiel.TabularPolicy:
        return {name: dict(choices) for name, choices in policy.policy_table().items()}
    if isinstance(policy, TabularPolicy):
        return {name: dict(choices) for name, choices in policy.to_dict().items()}
    if not hasattr(policy, "action_probabilities"):
        raise InvalidInput(f"expected a Profile, an OpenSpiel policy or a mapping, got {type(policy).__name__}")
    asked = TabularPolicy(turn_based(game))
    states = zip(asked.state_lookup, asked.states, strict=True)
    return {name: policy.action_probabilities(state) for name, state in states}


def python_policy(table: dict[str, dict[int, float]], game: Any) -> Any:
    """Return the ``open_spiel.python.policy.TabularPolicy`` of a table.

    Parameters
    ----------
    table : ``{information state: {action: probability}}``.
    game : the ``pyspiel.Game``, its name, or a ``TabularPolicy`` of it to copy.
    """
    _pyspiel()
    from open_spiel.python.policy import TabularPolicy

    policy = copy(game) if isinstance(game, TabularPolicy) else TabularPolicy(turn_based(game))
    differing = set(table).symmetric_difference(policy.state_lookup)
    if differing:
        raise InvalidInput(
            f"{policy.game} has other information sets than the profile; {min(differing)!r} is in only one of them"
        )
    policy.action_probability_array[:] = 0
    for name, choices in table.items():
        policy.action_probability_array[policy.state_lookup[name], list(choices)] = list(choices.values())
    return policy


def cpp_policy(table: dict[str, dict[int, float]]) -> Any:
    """Return the ``pyspiel.TabularPolicy`` of a table ``{information state: {action: probability}}``."""
    return _pyspiel().TabularPolicy({name: list(choices.items()) for name, choices in table.items()})


def _pyspiel() -> Any:
    try:
        import pyspiel
    except ImportError as error:
        raise MissingExtra("open_spiel", "games") from error
    return pyspiel
