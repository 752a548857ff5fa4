"""Random small games with perfect recall, and what they are worth by brute force."""

import itertools
from math import prod

import numpy as np

from firstlight.games.flat_game import FlatGame
from firstlight.games.game_tree import CHANCE, TERMINAL, GameTree, TreeBuilder


def random_tree(seed: int, depth: int = 4, payoff_sum: float = 0.0, magnitude: float = 1.0) -> GameTree:
    """Grow a tree in which players see their own moves and now and then a bit of the rest."""
    rng = np.random.default_rng(seed)
    tree = TreeBuilder(f"random game {seed}", payoff_sum)
    n_moves = {}

    def grow(above: int, place: int, probability: float, own: tuple[tuple, tuple], left: int) -> None:
        kind = rng.choice(["chance", "leaf", "move", "move", "move"]) if left else "leaf"
        if kind == "leaf":
            payoff = float(np.round(rng.normal(), 3) * magnitude ** rng.uniform())
            tree.leaf(payoff, above, place, probability)
        elif kind == "chance":
            node = tree.chance(above, place, probability)
            weights = rng.integers(0, 4, size=rng.integers(1, 4)) + np.array([1])
            for branch, weight in enumerate(weights):
                grow(node, branch, float(weight / weights.sum()), own, left - 1)
        else:
            player = int(rng.integers(2))
            key = (own[player], int(rng.integers(2)))
            moves = n_moves.setdefault((player, key), int(rng.integers(1, 4)))
            known = tree.place(player, key, f"after {key}", [f"move {move}" for move in range(moves)])
            node = tree.decision(player, known, above, place, probability)
            for move in range(moves):
                longer = (*own[player], (key[1], move))
                grow(node, move, 1.0, (longer, own[1]) if player == 0 else (own[0], longer), left - 1)

    grow(-1, 0, 1.0, ((), ()), depth)
    return tree.finish()


def random_behaviour(game: FlatGame, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities for all moves, some of them zero."""
    rng = np.random.default_rng(seed)
    behaviour = []
    for treeplex in game.treeplexes:
        values = np.ones(treeplex.n_sequences)
        for start, n_actions in zip(treeplex.start, treeplex.n_actions, strict=True):
            weights = rng.random(n_actions) * (rng.random(n_actions) < 0.7) + 1e-9
            values[start : start + n_actions] = weights / weights.sum()
        behaviour.append(values)
    return behaviour[0], behaviour[1]


def expected_payoff(game: FlatGame, behaviour: tuple[np.ndarray, np.ndarray]) -> float:
    """Player 1's payoff by walking the tree, without sequences."""
    tree = game.tree
    reach = np.ones(len(tree))
    for node in range(1, len(tree)):
        above = tree.parent[node]
        mover = tree.player[above]
        if mover == CHANCE:
            choice = tree.probability[node]
        else:
            choice = behaviour[mover][game.treeplexes[mover].start[tree.information_set[above]] + tree.action[node]]
        reach[node] = reach[above] * choice
    return float(reach[tree.player == TERMINAL] @ tree.payoff[tree.player == TERMINAL])


def n_pure(game: FlatGame, player: int) -> int:
    """How many ways there are to choose one move in every information set."""
    return prod(game.treeplexes[player].n_actions.tolist())


def best_pure_payoff(game: FlatGame, player: int, behaviour: tuple[np.ndarray, np.ndarray]) -> float:
    """The player's best payoff over all pure strategies, one by one."""
    treeplex = game.treeplexes[player]
    best = -np.inf
    for moves in itertools.product(*map(range, treeplex.n_actions)):
        pure = np.zeros(treeplex.n_sequences)
        pure[0] = 1
        pure[treeplex.start + np.array(moves, int)] = 1
        payoff = expected_payoff(game, (pure, behaviour[1]) if player == 0 else (behaviour[0], pure))
        best = max(best, payoff if player == 0 else game.tree.payoff_sum - payoff)
    return best
