"""What a profile is worth, from exact best responses: a proof that does not trust the solver.

Against y, player 1 can get max_x xᵀ U y; against x, player 2 can hold player 1 to min_y xᵀ U y. The value of the game
lies between the two, whatever method found x and y, and the distance is NashConv.
"""

from dataclasses import dataclass
from math import inf, nextafter

import numpy as np
from jaxtyping import Float64, Int64, Integer

from firstlight.compiled import compiled
from firstlight.games.flat_game import FlatGame, Leaves, Treeplex
from firstlight.games.game_tree import CHANCE
from firstlight.games.profile import Profile
from firstlight.games.sweeps import best_response, multiply

# The largest relative error of one rounding to nearest in float64.
ROUNDING = 2.0**-53
SMALLEST_NORMAL = 2.0**-1022


@dataclass(frozen=True)
class Certificate:
    """How far a profile is from equilibrium.

    Payoffs are player 1's own, in the units of the game; player 2 gets the game's payoff sum minus that.

    Attributes
    ----------
    improvements : what each player would gain by a best response, at least 0.
    value : what player 1 expects under the profile.
    value_bounds : lowest and highest possible value of the game. All rounding of the computation, of the given
        chance probabilities and of the payoffs is counted in, so the true value is inside.
    """

    improvements: tuple[float, float]
    value: float
    value_bounds: tuple[float, float]

    @property
    def nash_conv(self) -> float:
        """Sum of both improvements."""
        return self.improvements[0] + self.improvements[1]

    @property
    def exploitability(self) -> float:
        """Mean of both improvements, the convention of OpenSpiel: half of `nash_conv`."""
        return self.nash_conv / 2


def certify(game: FlatGame, profile: Profile) -> Certificate:
    """Measure a profile by exact best responses of both players.

    Parameters
    ----------
    game : the game.
    profile : strategies of both players in that game.

    Returns
    -------
    The `Certificate`. It costs two sparse products, a pass over each player's sets and one over the leaves.
    """
    profile = Profile.of(game, profile)
    x, y = profile.plans(game)
    gradient_1, gradient_2 = np.empty_like(x), np.empty_like(y)
    multiply(game.payoff.indptr, game.payoff.indices, game.payoff.data, y, gradient_1)
    transposed = game.payoff_transposed
    multiply(transposed.indptr, transposed.indices, transposed.data, -x, gradient_2)
    value = float(x @ gradient_1)
    highest = _best(game.treeplexes[0], gradient_1)
    lowest = -_best(game.treeplexes[1], gradient_2)
    slack_1, slack_2 = _rounding_bounds(game, profile, (x, y))
    # Rounding may put the value a last bit outside; improvements are never negative.
    return Certificate(
        improvements=(max(highest - value, 0.0), max(value - lowest, 0.0)),
        value=value,
        value_bounds=(nextafter(lowest - slack_2, -inf), nextafter(highest + slack_1, inf)),
    )


def _best(treeplex: Treeplex, gradient: Float64[np.ndarray, " sequences"]) -> float:
    return best_response(treeplex.parent, treeplex.start, treeplex.n_actions, gradient)


def _rounding_bounds(
    game: FlatGame,
    profile: Profile,
    plans: tuple[Float64[np.ndarray, " sequences_1"], Float64[np.ndarray, " sequences_2"]],
) -> tuple[float, float]:
    """Bound the rounding errors of both players' best-response values.

    The value of a reply is a sum over leaves of payoff × chance × the opponent's plan. If no term goes through more
    than k roundings, the sum is off by at most γ = k u / (1 - k u) times the sum of the absolute terms, u = 2⁻⁵³
    (Higham 2002, section 3.1). This holds for every reply, hence for the best one.
    """
    leaves = game.leaves()
    gamma = _most_roundings(game, profile, leaves) * ROUNDING
    # The sum of absolute terms is itself computed too small by up to γ; a last factor makes up for this line.
    gamma = 1.01 * gamma / (1 - 2 * gamma)
    sizes = np.abs(leaves.payoff)
    # Products that underflow lose an absolute amount instead.
    underflow = len(game.tree) * max(1.0, float(sizes.max())) * SMALLEST_NORMAL
    slacks = []
    for player, treeplex in enumerate(game.treeplexes):
        opponent = 1 - player
        terms = sizes * leaves.reach * plans[opponent][leaves.sequences[opponent]]
        gradient = np.bincount(leaves.sequences[player], weights=terms, minlength=treeplex.n_sequences)
        slacks.append(gamma * _best(treeplex, gradient) + underflow)
    return slacks[0], slacks[1]


def _most_roundings(game: FlatGame, profile: Profile, leaves: Leaves) -> int:
    """Count the roundings that one term of a best-response value goes through, at most.

    One for its payoff and one for its product with chance; the chance probabilities of its path; the opponent's choices
    on its path; one for each other leaf added to the same sequence; one for each addition on the way up to the root.
    """
    tree = game.tree
    edges = np.arange(1, len(tree))[tree.player[tree.parent[1:]] == CHANCE]
    branches = np.bincount(tree.parent[edges], minlength=len(tree))
    sums = np.bincount(tree.parent[edges], weights=tree.probability[edges], minlength=len(tree)).astype(float)
    chance = _heaviest_path(tree.parent, np.where(tree.player == CHANCE, _missed(sums, branches), 0))
    choices, additions, leaves_shared = [], [], []
    for player, treeplex in enumerate(game.treeplexes):
        set_of_sequence = np.concatenate(([-1], np.repeat(np.arange(len(treeplex.start)), treeplex.n_actions)))
        above = set_of_sequence[treeplex.parent].astype(np.int32)
        sums = profile.sums(player)
        choices.append(_heaviest_path(above, _missed(sums, treeplex.n_actions)))
        siblings = np.bincount(treeplex.parent, minlength=1)[treeplex.parent]
        additions.append(_heaviest_path(above, siblings))
        leaves_shared.append(np.bincount(leaves.sequences[player]).max())
    return int(2 + chance + max(choices) + max(additions) + max(leaves_shared))


def _missed(
    sums: Float64[np.ndarray, " nodes"], branches: Integer[np.ndarray, " nodes"]
) -> Int64[np.ndarray, " nodes"]:
    """Roundings that one probability stands for: its own, its product, and what its sum misses to one."""
    return 2 + branches.astype(np.int64) + np.ceil(np.abs(sums - 1) / ROUNDING).astype(np.int64)


@compiled
def _heaviest_path(above, weights):
    """Largest sum of weights from a root down; `above` is -1 at roots and stands before what is below."""
    totals = weights.copy()
    heaviest = 0
    for place in range(len(above)):
        if above[place] >= 0:
            totals[place] += totals[above[place]]
        heaviest = max(heaviest, totals[place])
    return heaviest
