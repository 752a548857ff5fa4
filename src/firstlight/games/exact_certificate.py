"""The certificate of a profile in exact arithmetic, for small games.

Nothing is rounded: chance, payoffs and strategies become fractions that round to the given float64 numbers, those
of each chance node and information set summing to exactly one (see `firstlight.games.exact_fractions`).
"""

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

from firstlight.errors import InvalidInput
from firstlight.games.exact_fractions import exact_distribution, simple_fraction
from firstlight.games.flat_game import FlatGame, Treeplex
from firstlight.games.game_tree import CHANCE, TERMINAL, GameTree
from firstlight.games.profile import Profile

# Fractions take microseconds where floats take nanoseconds, and their denominators grow with the game.
LARGEST_GAME = 20_000


@dataclass(frozen=True)
class ExactCertificate:
    """How far a profile is from equilibrium, as fractions; see `Certificate` for the meaning and the units.

    Attributes
    ----------
    improvements : what each player would gain by a best response, at least 0.
    value : what player 1 expects under the profile.
    value_bounds : lowest and highest possible value of the game.
    """

    improvements: tuple[Fraction, Fraction]
    value: Fraction
    value_bounds: tuple[Fraction, Fraction]

    @property
    def nash_conv(self) -> Fraction:
        """Sum of both improvements; 0 proves an equilibrium."""
        return self.improvements[0] + self.improvements[1]

    @property
    def exploitability(self) -> Fraction:
        """Mean of both improvements, the convention of OpenSpiel: half of `nash_conv`."""
        return self.nash_conv / 2


def certify_exactly(game: FlatGame, profile: Profile) -> ExactCertificate:
    """Measure a profile by best responses in exact arithmetic.

    Parameters
    ----------
    game : a game of at most 20,000 nodes.
    profile : strategies of both players in that game.

    Raises
    ------
    InvalidInput
        If the game is larger.
    """
    if len(game.tree) > LARGEST_GAME:
        raise InvalidInput(
            f"exact arithmetic is for games of at most {LARGEST_GAME:,} nodes, this one has {len(game.tree):,}; "
            "certify bounds its rounding errors and works at any size"
        )
    profile = Profile.of(game, profile)
    plan_1, plan_2 = (
        _plan(treeplex, values.tolist()) for treeplex, values in zip(game.treeplexes, profile.behaviour, strict=True)
    )
    gradient_1, gradient_2 = [Fraction(0)] * len(plan_1), [Fraction(0)] * len(plan_2)
    leaves = game.leaves()
    for own_1, own_2, worth in zip(*leaves.sequences.tolist(), _leaf_worths(game.tree), strict=True):
        gradient_1[own_1] += worth * plan_2[own_2]
        gradient_2[own_2] -= worth * plan_1[own_1]
    value = sum((chance * payoff for chance, payoff in zip(plan_1, gradient_1, strict=True)), Fraction(0))
    highest = _best(game.treeplexes[0], gradient_1)
    lowest = -_best(game.treeplexes[1], gradient_2)
    return ExactCertificate((highest - value, value - lowest), value, (lowest, highest))


def _plan(treeplex: Treeplex, behaviour: list[float]) -> list[Fraction]:
    plan = [Fraction(1)] * len(behaviour)
    for parent, start, after in _sets(treeplex):
        for sequence, chance in enumerate(exact_distribution(tuple(behaviour[start:after])), start):
            plan[sequence] = plan[parent] * chance
    return plan


def _best(treeplex: Treeplex, gradient: list[Fraction]) -> Fraction:
    for parent, start, after in reversed(_sets(treeplex)):
        gradient[parent] += max(gradient[start:after])
    return gradient[0]


def _sets(treeplex: Treeplex) -> list[tuple[int, int, int]]:
    """Parent sequence, first and last-plus-one sequence of each information set."""
    ends = treeplex.start + treeplex.n_actions
    return list(zip(treeplex.parent.tolist(), treeplex.start.tolist(), ends.tolist(), strict=True))


def _leaf_worths(tree: GameTree) -> list[Fraction]:
    """Payoff times chance of each leaf, in depth-first order."""
    parent, player, probability, payoff = (
        array.tolist() for array in (tree.parent, tree.player, tree.probability, tree.payoff)
    )
    branches = defaultdict(list)
    for node in range(1, len(tree)):
        if player[parent[node]] == CHANCE:
            branches[parent[node]].append(node)
    chance = [Fraction(1)] * len(tree)
    for nodes in branches.values():
        for node, fraction in zip(nodes, exact_distribution(tuple(probability[node] for node in nodes)), strict=True):
            chance[node] = fraction
    for node in range(1, len(tree)):
        chance[node] *= chance[parent[node]]
    return [chance[node] * simple_fraction(payoff[node]) for node in range(len(tree)) if player[node] == TERMINAL]
