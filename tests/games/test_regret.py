import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.games import written_out_minimisers as written_out

from firstlight.errors import InvalidInput
from firstlight.games import OGDA, OMWU, DSOptMD, IREGPRMPlus, MISPRMPlus, PRMPlus, RMPlus, SOGRMPlus, SPRMPlus
from firstlight.games.regret import UNIT

METHODS = {
    "rm+": (RMPlus, lambda losses: written_out.smooth(losses, eta=1.0, R=0.0, predicts=False)),
    "prm+": (PRMPlus, lambda losses: written_out.smooth(losses, eta=1.0, R=0.0)),
    "sprm+": (lambda n: SPRMPlus(n, eta=0.3, R=2.0), lambda losses: written_out.smooth(losses, eta=0.3, R=2.0)),
    "sogrm+": (lambda n: SOGRMPlus(n, eta=0.3, R=2.0), lambda losses: written_out.corrected(losses, eta=0.3, R=2.0)),
    "ireg-prm+": (IREGPRMPlus, written_out.rising),
    "ogda": (lambda n: OGDA(n, eta=0.2), lambda losses: written_out.descent(losses, eta=0.2)),
    "omwu": (lambda n: OMWU(n, eta=0.2), lambda losses: written_out.weights(losses, eta=0.2)),
    "ds-optmd": (DSOptMD, written_out.stabilised),
}
EVERY_METHOD = pytest.mark.parametrize("make", [*(make for make, _ in METHODS.values()), MISPRMPlus])


def losses_of(seed, rounds=60, n_actions=5):
    return np.random.default_rng(seed).standard_normal((rounds, n_actions))


def answers(minimiser, losses):
    strategies = []
    for loss in losses:
        strategies.append(minimiser.next_strategy())
        minimiser.observe(loss)
    return np.array(strategies)


def self_play(row, column, A, rounds):
    for _ in range(rounds):
        x, y = row.next_strategy(), column.next_strategy()
        yield x, y, row.radius.value
        row.observe(A @ y)
        column.observe(-A.T @ x)


def pair(A, **options):
    row = MISPRMPlus(A.shape[0], **options)
    return row, MISPRMPlus(A.shape[1], radius=row.radius)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("n_actions", [1, 2, 5, 40])
def test_answers_as_the_published_formulas_do(name, n_actions):
    make, formulas = METHODS[name]
    losses = losses_of(n_actions, n_actions=n_actions)
    np.testing.assert_allclose(answers(make(n_actions), losses), list(formulas(losses)), atol=1e-10)


def published(radius, growths, criterion):
    return radius + 1.0


def scale_free(radius, growths, criterion):
    unit = UNIT * np.sqrt(criterion) if growths == 1 else radius / (growths - 1) ** 2
    return unit * growths**2


@pytest.mark.parametrize(("scale", "next_radius", "first"), [("paper", published, 1.0), ("auto", scale_free, 0.0)])
def test_players_share_one_radius_that_follows_the_published_criterion(scale, next_radius, first):
    A = np.random.default_rng(1).standard_normal((4, 6))
    ours = self_play(*pair(A, scale=scale), A, 150)
    for (x, y, R), (x_, y_, R_) in zip(ours, written_out.monotone(A, 150, next_radius, first), strict=True):
        np.testing.assert_allclose(x, x_, atol=1e-9)
        np.testing.assert_allclose(y, y_, atol=1e-9)
        assert pytest.approx(R_, rel=1e-9) == R


@EVERY_METHOD
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
def test_regret_grows_slower_than_time_whatever_the_losses(make, seed):
    rng = np.random.default_rng(seed)
    steps = rng.choice([-1.0, 1.0], (600, 4)) + np.sin(np.arange(600)[:, None] / 40 + rng.uniform(0, 6, 4))
    strategies = answers(make(4), steps)
    regret = np.sum(strategies * steps) - steps.sum(axis=0).min()
    assert regret <= 4 * np.abs(steps).max() * np.sqrt(len(steps))


@EVERY_METHOD
def test_strategies_are_distributions_and_asking_twice_changes_nothing(make):
    minimiser, silent = make(5), make(5)
    for loss in losses_of(0):
        asked_once = minimiser.next_strategy()
        np.testing.assert_array_equal(minimiser.next_strategy(), asked_once)
        assert asked_once.min() >= 0.0
        assert asked_once.sum() == pytest.approx(1.0, abs=1e-14)
        asked_once[:] = np.nan  # a copy, not the memory
        minimiser.observe(loss)
        silent.observe(loss)
    np.testing.assert_array_equal(minimiser.next_strategy(), silent.next_strategy())


@pytest.mark.parametrize("make", [RMPlus, PRMPlus, IREGPRMPlus, MISPRMPlus])
@pytest.mark.parametrize("factor", [2.0**-40, 2.0**70])
def test_parameter_free_methods_do_not_see_the_unit_of_payoff(make, factor):
    losses = losses_of(2)
    np.testing.assert_array_equal(answers(make(5), losses), answers(make(5), factor * losses))


def test_the_published_rule_sees_the_unit_of_payoff():
    losses = losses_of(2)
    plain, scaled = (answers(MISPRMPlus(5, scale="paper"), factor * losses) for factor in (1.0, 1000.0))
    assert np.abs(plain - scaled).max() > 0.1


def test_smooth_methods_see_only_the_ratio_of_step_and_radius():
    losses = losses_of(3)
    for make in (SPRMPlus, SOGRMPlus):
        np.testing.assert_allclose(
            answers(make(5, eta=0.1, R=1.0), losses), answers(make(5, eta=0.7, R=7.0), losses), atol=1e-12
        )


@pytest.mark.parametrize("scale", ["auto", "paper"])
def test_radius_never_falls_and_every_theta_has_at_least_its_norm(scale):
    A = np.random.default_rng(5).standard_normal((8, 8))
    row, column = pair(A, scale=scale)
    radii = [R for _, _, R in self_play(row, column, A, 3000)]
    assert np.all(np.diff(radii) >= 0)
    assert row.radius is column.radius
    assert row.radius.increments >= 3
    assert 0 < row.radius.last_increment <= 3000
    assert row.radius.tightest == pytest.approx(1.0, abs=1e-12)


def test_norm_of_the_regret_vector_never_falls():
    minimiser = IREGPRMPlus(5)
    norms = []
    for loss in losses_of(7, rounds=300):
        minimiser.observe(loss)
        norms.append(np.linalg.norm(minimiser.memory.aggregate))
    assert np.all(np.diff(norms) >= -1e-13 * np.array(norms[1:]))
    assert norms[-1] > norms[0]


@EVERY_METHOD
def test_nothing_at_stake_is_played_uniformly(make):
    minimiser = make(4)
    for _ in range(5):
        np.testing.assert_allclose(minimiser.next_strategy(), 0.25, atol=1e-15)
        minimiser.observe(np.zeros(4))


def test_scale_free_radius_is_learnt_from_the_first_regrets():
    minimiser = MISPRMPlus(3)
    minimiser.observe(np.zeros(3))
    assert minimiser.radius.value == 0.0
    minimiser.observe(np.array([3.0, 0.0, 0.0]))
    assert minimiser.radius.value == pytest.approx(UNIT * np.linalg.norm([-2.0, 1.0, 1.0]))


@EVERY_METHOD
@pytest.mark.parametrize("loss", [np.zeros(3), np.zeros((4, 1)), np.array([0.0, np.nan, 0.0, 0.0]), np.full(4, np.inf)])
def test_refuses_losses_that_are_not_one_finite_number_per_action(make, loss):
    with pytest.raises(InvalidInput, match="loss"):
        make(4).observe(loss)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RMPlus(0), "at least one action"),
        (lambda: SPRMPlus(3, eta=0.0), "eta must be positive"),
        (lambda: SPRMPlus(3, R=-1.0), "R must be positive"),
        (lambda: SOGRMPlus(3, eta=float("nan")), "eta must be positive"),
        (lambda: OGDA(3, eta=-0.1), "eta must be positive"),
        (lambda: OMWU(3, eta=float("inf")), "eta must be positive"),
        (lambda: MISPRMPlus(3, growth=0.5), "growth is the exponent"),
    ],
)
def test_refuses_parameters_that_make_no_sense(make, words):
    with pytest.raises(InvalidInput, match=words):
        make()
