"""Counterfactual regret minimisation as passes over arrays, compiled.

In sequence form one iteration of CFR (Zinkevich, Johanson, Bowling, Piccione 2007) for one player is a product,
U times the opponent's plan, which tells what every sequence pays (`payoffs`); a pass from the leaves up, in which
each information set turns what its moves pay into counterfactual regrets F and *learns* them; and a pass from the
root down, in which each set *plays*: it turns what it has learnt into probabilities, and these into the next plan.

All methods are these two passes. With θ̂ the aggregate of the regrets and D_R = {u ≥ 0, ‖u‖₁ ≥ R}, a set learns
θ̂ ← Proj(θ̂ + F) and plays θ = Proj(θ̂ + prediction · F), normalised. They differ in how the aggregate is kept, which is
the subject of the ``learn`` functions, in the prediction, and in R, which is 0 for plain regret matching. A set with a
single move has nothing to learn and is passed over.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int32

from firstlight.compiled import compiled
from firstlight.games.payoffs import pay
from firstlight.games.regret_kernels import norm, raise_norm
from firstlight.games.simplex import project_simplex
from firstlight.games.sweeps import best_response

# How a method keeps its aggregate.
DISCOUNTED, RISING, SMOOTH = range(3)
# How R grows: not at all, by a factor on a criterion of ours, or by 1 on the published one.
FIXED, SCALE_FREE, PUBLISHED = range(3)

# What the kernels advance beside the arrays of both halves.
PROGRESS = np.dtype(
    [
        ("iteration", np.int64),  # iterations finished
        ("radius", np.float64),  # R
        ("increments", np.int64),  # how often R has grown
        ("violation", np.float64),  # the criterion of ours, summed since R last grew
    ]
)


class Rule(NamedTuple):
    """How every information set learns and plays, in numbers.

    Attributes
    ----------
    aggregate : `DISCOUNTED`, `RISING` or `SMOOTH`.
    alpha, beta : exponents of the discounts of positive and of negative aggregates.
    prediction : 1.0 where the last regrets predict the next ones, else 0.0.
    growth : `FIXED`, `SCALE_FREE` or `PUBLISHED`.
    """

    aggregate: int
    alpha: float = np.inf
    beta: float = -np.inf
    prediction: float = 0.0
    growth: int = FIXED


class Half(NamedTuple):
    """One player's half of the game and of the memory; an entry per sequence unless said otherwise.

    Attributes
    ----------
    parent, start, n_actions : the player's `Treeplex`, an entry per information set.
    aggregate : θ̂, the regrets so far.
    regret : F, the counterfactual regrets of the last iteration.
    lifted : θ, the aggregate moved by the prediction.
    behaviour : the probabilities in play.
    plan : their realisation plan.
    total : weighted sum of all plans; ``total[0]`` is the sum of the weights.
    gradient : what each sequence pays against the opponent's plan.
    moved : ‖θ̂ − θ‖² between an aggregate and the play before it, and between it and the play after it.
    """

    parent: Int32[np.ndarray, " sets"]
    start: Int32[np.ndarray, " sets"]
    n_actions: Int32[np.ndarray, " sets"]
    aggregate: Float64[np.ndarray, " sequences"]
    regret: Float64[np.ndarray, " sequences"]
    lifted: Float64[np.ndarray, " sequences"]
    behaviour: Float64[np.ndarray, " sequences"]
    plan: Float64[np.ndarray, " sequences"]
    total: Float64[np.ndarray, " sequences"]
    gradient: Float64[np.ndarray, " sequences"]
    moved: Float64[np.ndarray, " 2"]


@compiled
def iterate(
    payoffs: tuple[Any, Any],
    first: Half,
    second: Half,
    progress: Any,
    rule: Rule,
    alternating: bool,
    power: float,
    by_radius: bool,
    count: int,
) -> None:
    """Run `count` iterations of a game with these payoffs, in a form that `pay` knows.

    The plans of iteration t enter the sums of plans with weight t^power, times R where `by_radius` is set. With
    `alternating` the second player answers the first one's new plan, otherwise both answer the old ones.
    """
    for _ in range(count):
        weight = float(progress.iteration + 1) ** power * (progress.radius if by_radius else 1.0)
        _add(first, weight)
        _add(second, weight)
        pay(payoffs[0], second.plan, first.gradient)
        if not alternating:
            pay(payoffs[1], first.plan, second.gradient)
        violation = _learn(first, rule, progress)
        if alternating:
            _play(first, rule, progress.radius)
            pay(payoffs[1], first.plan, second.gradient)
        violation += _learn(second, rule, progress)
        if rule.growth != FIXED:
            _grow(progress, rule, violation)
        if not alternating:
            _play(first, rule, progress.radius)
        _play(second, rule, progress.radius)
        progress.iteration += 1


@compiled
def exploit(
    payoffs: tuple[Any, Any],
    first: Half,
    second: Half,
    plan_1: Float64[np.ndarray, " sequences_1"],
    plan_2: Float64[np.ndarray, " sequences_2"],
) -> float:
    """Return half of NashConv of two plans, or of sums of plans: entry 0 holds the sum of their weights."""
    pay(payoffs[0], plan_2, first.gradient)
    pay(payoffs[1], plan_1, second.gradient)
    best_1 = best_response(first.parent, first.start, first.n_actions, first.gradient) / plan_2[0]
    best_2 = best_response(second.parent, second.start, second.n_actions, second.gradient) / plan_1[0]
    return (best_1 + best_2) / 2.0


@compiled
def _add(half, weight):
    for k in range(len(half.plan)):
        half.total[k] += weight * half.plan[k]


@compiled
def _grow(progress, rule, violation):
    """Let R grow on a violated criterion, which is summed over both players.

    Whatever the losses are, R times the regret of predictive regret matching on D_R is at most B(u, θ̂¹), a matter of
    R²/2, plus the sum of ⟨Fᵗ − Fᵗ⁻¹, θ̂ᵗ⁺¹ − θᵗ⟩ − B(θ̂ᵗ⁺¹, θᵗ) − B(θᵗ, θ̂ᵗ), B(a, b) = ‖a − b‖²/2 (Rakhlin, Sridharan
    2013). The published criterion bounds each of these terms and lets R grow by 1 whenever the bound is positive. Ours
    takes the terms themselves and lets R grow once they sum to more than R²/2 since it last grew: what stays below
    spoils the bound no more than R does, and rounding errors near the equilibrium stay below.

    Without a unit R can only grow by factors. It starts far below the regrets, where large factors do no harm and, as
    weights of the average, let it forget the first iterations; 1.02 later on stops close to the least R that will do.
    """
    if rule.growth == PUBLISHED:
        if violation > 0.0:
            progress.radius += 1.0
            progress.increments += 1
        return
    progress.violation += violation
    if progress.violation > progress.radius**2 / 2.0:
        progress.increments += 1
        progress.radius *= 1.02 + 2.0 / progress.increments
        progress.violation = 0.0


@compiled
def _learn(half, rule, progress):
    """Learn the regrets by the rule; return the player's part of the criterion, 0 where there is none."""
    if rule.aggregate == RISING:
        _learn_rising(half)
        return 0.0
    iteration = float(progress.iteration + 1)
    positive = _discount(iteration, rule.alpha)
    if rule.aggregate == SMOOTH:
        return _learn_smoothly(half, positive, progress.radius, rule.growth == PUBLISHED)
    _learn_discounted(half, positive, _discount(iteration, rule.beta))
    return 0.0


@compiled
def _discount(iteration, exponent):
    """t^a / (t^a + 1), for a = ±∞ read as 1 and 0."""
    if np.isinf(exponent):
        return 1.0 if exponent > 0.0 else 0.0
    power = iteration**exponent
    return power / (power + 1.0)


@compiled
def _value(half, place):
    """What a set is worth under the probabilities in play, once all below it is settled; tells it to the set above."""
    value = 0.0
    for k in range(half.start[place], half.start[place] + half.n_actions[place]):
        value += half.behaviour[k] * half.gradient[k]
    half.gradient[half.parent[place]] += value
    return value


@compiled
def _learn_discounted(half, positive, negative):
    """Discounted regret matching: θ̂ + F, positive entries times one factor, negative ones times the other."""
    for place in range(len(half.parent) - 1, -1, -1):
        value = _value(half, place)
        if half.n_actions[place] == 1:
            continue
        for k in range(half.start[place], half.start[place] + half.n_actions[place]):
            regret = half.gradient[k] - value
            aggregate = half.aggregate[k] + regret
            half.regret[k] = regret
            half.aggregate[k] = aggregate * (positive if aggregate > 0.0 else negative)


@compiled
def _learn_rising(half):
    """Increasing regret matching: [θ̂ + F + γ1]₊ with the least γ ≥ 0 that does not let ‖θ̂‖₂ fall."""
    for place in range(len(half.parent) - 1, -1, -1):
        value = _value(half, place)
        if half.n_actions[place] == 1:
            continue
        aggregate = half.aggregate[half.start[place] : half.start[place] + half.n_actions[place]]
        floor = norm(aggregate)
        for k in range(len(aggregate)):
            regret = half.gradient[half.start[place] + k] - value
            half.regret[half.start[place] + k] = regret
            aggregate[k] += regret
        raise_norm(aggregate, floor)


@compiled
def _learn_smoothly(half, positive, radius, published):
    """Smooth regret matching: θ̂ + F, discounted, projected onto D_R.

    Returns the player's part of the criterion, see `_grow`. Its norms run over all information sets. A criterion for
    each set by itself lets R grow without bound, because the regrets of a set also move with the play below it while
    its own iterate rests.
    """
    surprise = 0.0
    gain = 0.0
    moved = 0.0
    for place in range(len(half.parent) - 1, -1, -1):
        value = _value(half, place)
        if half.n_actions[place] == 1:
            continue
        first, after = half.start[place], half.start[place] + half.n_actions[place]
        total = 0.0
        for k in range(first, after):
            regret = half.gradient[k] - value
            # The gradient has done its duty and makes room for Fᵗ − Fᵗ⁻¹.
            half.gradient[k] = regret - half.regret[k]
            half.regret[k] = regret
            half.aggregate[k] = positive * (half.aggregate[k] + regret)
            total += half.aggregate[k] if half.aggregate[k] > 0.0 else 0.0
        if total < radius:
            _pin(half.aggregate, first, after, radius)
        for k in range(first, after):
            half.aggregate[k] = half.aggregate[k] if half.aggregate[k] > 0.0 else 0.0
            step = half.aggregate[k] - half.lifted[k]
            moved += step**2
            gain += half.gradient[k] * step
            surprise += half.gradient[k] ** 2
    # The published criterion looks at the aggregate before this one, which both plays around it are compared with.
    violation = surprise - (half.moved[0] + half.moved[1]) / 4.0 if published else gain - (moved + half.moved[1]) / 2.0
    half.moved[0] = moved
    return violation


@compiled
def _play(half, rule, radius):
    """Turn aggregates into probabilities, and these into a plan."""
    moved = 0.0
    half.plan[0] = 1.0
    for place in range(len(half.parent)):
        first, after = half.start[place], half.start[place] + half.n_actions[place]
        reach = half.plan[half.parent[place]]
        if after == first + 1:
            half.plan[first] = reach
            continue
        total = 0.0
        for k in range(first, after):
            half.lifted[k] = half.aggregate[k] + rule.prediction * half.regret[k]
            total += half.lifted[k] if half.lifted[k] > 0.0 else 0.0
        if rule.aggregate == RISING:
            total = raise_norm(half.lifted[first:after], norm(half.aggregate[first:after]))
        elif total < radius:
            total = _pin(half.lifted, first, after, radius)
        # Where nothing is positive all moves are equally likely.
        even = 1.0 / (after - first)
        for k in range(first, after):
            half.lifted[k] = half.lifted[k] if half.lifted[k] > 0.0 else 0.0
            moved += (half.aggregate[k] - half.lifted[k]) ** 2
            half.behaviour[k] = half.lifted[k] / total if total > 0.0 else even
            half.plan[k] = reach * half.behaviour[k]
    half.moved[1] = moved


@compiled
def _pin(point, first, after, radius):
    """Project onto the simplex R·Δ, at once for the two moves that most sets have."""
    if after - first == 2:
        share = (radius + point[first] - point[first + 1]) / 2.0
        share = min(max(share, 0.0), radius)
        point[first], point[first + 1] = share, radius - share
        return radius
    return project_simplex(point, first, after, radius, point)
