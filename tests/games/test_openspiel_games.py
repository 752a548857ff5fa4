import numpy as np
import pytest
from tests.games.random_games import random_behaviour

from firstlight.errors import InvalidInput
from firstlight.games.flat_game import FlatGame
from firstlight.games.openspiel_games import read_openspiel
from firstlight.games.profile import Profile

pyspiel = pytest.importorskip("pyspiel")
exploitability = pytest.importorskip("open_spiel.python.algorithms.exploitability")
openspiel_policy = pytest.importorskip("open_spiel.python.policy")

GAMES = [
    "kuhn_poker",
    "leduc_poker",
    "liars_dice(numdice=1,dice_sides=4)",
    "matrix_rps",
    "goofspiel(num_cards=4,imp_info=True,points_order=descending)",
    "battleship(board_width=2,board_height=2,ship_sizes=[2],ship_values=[2],num_shots=2,allow_repeated_shots=False)",
    "oshi_zumo(coins=4,size=1,horizon=4)",
]


def random_profile(game, seed=0):
    return Profile(game.tree.information_sets, random_behaviour(game, seed), game.tree.title)


def count_nodes(state):
    return 1 + sum(count_nodes(state.child(action)) for action in state.legal_actions())


@pytest.fixture(params=GAMES)
def game(request):
    return FlatGame.from_openspiel(request.param)


def test_exploitability_equals_openspiels(game):
    original = pyspiel.load_game(game.tree.title)
    for seed in range(3):
        profile = random_profile(game, seed)
        ours = game.exploitability(profile)
        assert ours == pytest.approx(pyspiel.exploitability(original, profile.to_pyspiel()), abs=1e-12)
    by_python = exploitability.exploitability(original, profile.to_openspiel())
    assert ours == pytest.approx(by_python, abs=1e-12)


def test_every_node_and_information_set_is_read(game):
    original = pyspiel.load_game(game.tree.title)
    assert len(game.tree) == count_nodes(original.new_initial_state())
    uniform = openspiel_policy.TabularPolicy(original)
    for player, sets in enumerate(game.tree.information_sets):
        assert {known.name for known in sets} == set(uniform.states_per_player[player])
        for known in sets:
            assert known.ids == tuple(np.flatnonzero(uniform.policy_for_key(known.name)))


def test_a_policy_of_any_kind_is_the_same_profile(game):
    original = pyspiel.load_game(game.tree.title)
    profile = random_profile(game)
    python = profile.to_openspiel()

    class Asked(openspiel_policy.Policy):
        def action_probabilities(self, state, player_id=None):
            return python.action_probabilities(state, player_id)

    kinds = [python, profile.to_pyspiel(), python.to_dict(), profile.to_dict(), Asked(original, [0, 1])]
    for kind in kinds:
        for ours, theirs in zip(profile.behaviour, Profile.of(game, kind).behaviour, strict=True):
            np.testing.assert_allclose(theirs, ours, rtol=1e-15)


def test_uniform_policies_are_equal(game):
    original = pyspiel.load_game(game.tree.title)
    for policy in (pyspiel.UniformRandomPolicy(original), openspiel_policy.UniformRandomPolicy(original)):
        read = Profile.of(game, policy)
        for ours, theirs in zip(Profile.uniform(game).behaviour, read.behaviour, strict=True):
            np.testing.assert_allclose(theirs, ours, rtol=1e-15)


def test_a_policys_layout_can_be_copied_without_touching_it():
    game = FlatGame.from_openspiel("kuhn_poker")
    layout = openspiel_policy.TabularPolicy(pyspiel.load_game("kuhn_poker"))
    before = layout.action_probability_array.copy()
    policy = random_profile(game).to_openspiel(layout)
    np.testing.assert_array_equal(layout.action_probability_array, before)
    assert policy.state_lookup is layout.state_lookup
    assert game.exploitability(policy) == pytest.approx(game.exploitability(random_profile(game)), abs=1e-15)


@pytest.mark.parametrize(
    ("name", "solver", "updates", "nash_conv"),
    [
        ("leduc_poker", "CFRSolver", 1, 4.747222222),
        ("leduc_poker", "CFRSolver", 101, 0.187898545),
        ("liars_dice(numdice=1,dice_sides=4)", "CFRPlusSolver", 101, 0.004355278),
        ("kuhn_poker", "CFRPlusSolver", 1001, 1.478436657e-4),
    ],
)
def test_nash_conv_of_openspiels_solvers_is_as_published(name, solver, updates, nash_conv):
    solver = getattr(pyspiel, solver)(pyspiel.load_game(name))
    for _ in range(updates):
        solver.evaluate_and_update_policy()
    game = FlatGame.from_openspiel(name)
    assert 2 * game.exploitability(solver.tabular_average_policy()) == pytest.approx(nash_conv, abs=6e-10)
    assert 2 * game.exploitability(solver.average_policy()) == pytest.approx(nash_conv, abs=6e-10)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_game", "OpenSpiel cannot load 'no_such_game': Unknown game"),
        ("kuhn_poker(players=3)", "has 3 players, expected 2"),
        ("matrix_pd", "is general_sum, expected a zero- or constant-sum game"),
        ("bargaining", "is general_sum"),
        ("coop_box_pushing", "is identical"),
        ("backgammon", "no information state strings"),
        (7, "expected a pyspiel.Game or the name of one, got int"),
        ("goofspiel(num_cards=4,points_order=descending)", "player 1 has imperfect recall"),
    ],
)
def test_games_without_guarantee_are_refused_by_name(name, message):
    with pytest.raises(InvalidInput, match=message):
        FlatGame.from_openspiel(name)


def test_a_game_too_large_is_refused_before_it_fills_the_memory():
    with pytest.raises(InvalidInput, match="has more than 5,000 nodes"):
        read_openspiel("leduc_poker", max_nodes=5000)


class TakeOrPass(pyspiel.Game):
    """Players take turns; who takes first ends the game."""

    def __init__(self, length, payoffs=(1.0, -1.0), sampled=False):
        kind = pyspiel.GameType
        chance = kind.ChanceMode.SAMPLED_STOCHASTIC if sampled else kind.ChanceMode.DETERMINISTIC
        super().__init__(
            kind(
                short_name="take_or_pass",
                long_name="Take or pass",
                dynamics=kind.Dynamics.SEQUENTIAL,
                chance_mode=chance,
                information=kind.Information.PERFECT_INFORMATION,
                utility=kind.Utility.ZERO_SUM,
                reward_model=kind.RewardModel.TERMINAL,
                max_num_players=2,
                min_num_players=2,
                provides_information_state_string=True,
                provides_information_state_tensor=False,
                provides_observation_string=False,
                provides_observation_tensor=False,
            ),
            pyspiel.GameInfo(
                num_distinct_actions=2,
                max_chance_outcomes=0,
                num_players=2,
                min_utility=-1.0,
                max_utility=1.0,
                utility_sum=0.0,
                max_game_length=length,
            ),
            {},
        )
        self.length, self.payoffs = length, payoffs

    def new_initial_state(self):
        return TakeOrPassState(self)

    def make_py_observer(self, iig_obs_type=None, params=None):
        return MovesSoFar()


class MovesSoFar:
    """What an OpenSpiel observer has; only the string is used here."""

    tensor, dict = None, {}

    def set_from(self, state, player):
        pass

    def string_from(self, state, player):
        return f"move {state.moves}"


class TakeOrPassState(pyspiel.State):
    def __init__(self, game):
        super().__init__(game)
        self.moves, self.taken = 0, False

    def current_player(self):
        return pyspiel.PlayerId.TERMINAL if self.is_terminal() else self.moves % 2

    def _legal_actions(self, player):
        return [0, 1]

    def _apply_action(self, action):
        self.moves += 1
        self.taken = action == 0

    def _action_to_string(self, player, action):
        return ("take", "pass")[action]

    def is_terminal(self):
        return self.taken or self.moves == self.get_game().length

    def returns(self):
        return list(self.get_game().payoffs) if self.is_terminal() else [0.0, 0.0]

    def __str__(self):
        return f"move {self.moves}"


def test_a_game_deeper_than_pythons_stack_is_read():
    tree = read_openspiel(TakeOrPass(length=1200))
    assert len(tree) == 2401
    assert tree.information_sets[0][1] == ("move 2", ("take", "pass"), (0, 1))


def test_a_game_that_only_claims_to_be_zero_sum_is_refused():
    with pytest.raises(InvalidInput, match=r"is not constant-sum: payoffs sum to 2 after the moves \[0\], expected 0"):
        read_openspiel(TakeOrPass(length=3, payoffs=(1.0, 1.0)))


def test_sampled_chance_is_refused():
    with pytest.raises(InvalidInput, match="samples chance"):
        read_openspiel(TakeOrPass(length=3, sampled=True))


def test_a_profile_of_another_game_is_refused():
    profile = Profile.uniform(FlatGame.from_openspiel("kuhn_poker"))
    with pytest.raises(InvalidInput, match=r"leduc_poker.* has other information sets than the profile"):
        profile.to_openspiel("leduc_poker")
