"""CFR as the papers write it: a walk over the nodes of a tree, one dictionary entry per information set.

Shares nothing with the package: no sequences, no compiled code, projections by sorting and by root finding.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from math import inf

import numpy as np
from scipy.optimize import brentq

from firstlight.games.game_tree import CHANCE, TERMINAL, GameTree

DISCOUNTS = {  # alpha, beta
    "cfr": (inf, inf),
    "cfr+": (inf, -inf),
    "linear-cfr": (1.0, 1.0),
    "dcfr": (1.5, 0.0),
    "pcfr+": (inf, -inf),
    "dcfr+": (1.5, -inf),
    "pdcfr+": (2.3, -inf),
}
PREDICTIVE = {"pcfr+", "pdcfr+", "spcfr+", "ireg-pcfr+", "mi-spcfr+", "mi-spdcfr+", "mi-spcfr+ (paper)"}


def project(v, radius):
    """Onto {u ≥ 0, sum u ≥ radius}, by sorting."""
    if np.maximum(v, 0).sum() >= radius:
        return np.maximum(v, 0)
    descending = np.sort(v)[::-1]
    levels = (np.cumsum(descending) - radius) / np.arange(1, len(v) + 1)
    return np.maximum(v - levels[np.flatnonzero(descending > levels)[-1]], 0)


def rise(v, floor):
    """[v + γ1]₊ with the smallest γ ≥ 0 whose 2-norm is at least `floor`."""

    def lacking(gamma):
        return np.linalg.norm(np.maximum(v + gamma, 0)) - floor

    gamma = 0.0 if lacking(0.0) >= 0 else brentq(lacking, 0.0, floor - v.max(), xtol=1e-15, rtol=1e-14)
    return np.maximum(v + gamma, 0)


def half_square(v):
    return v @ v / 2


def discount(t, exponent):
    return float(exponent > 0) if np.isinf(exponent) else t**exponent / (t**exponent + 1)


@dataclass
class WrittenOut:
    """A solver; an information set is known as (player, place).

    ``margin`` is how clearly, relative to what is added up, the closest decision on letting R grow fell.
    """

    tree: GameTree
    method: str
    alternating: bool
    power: float
    radius: float = 0.0
    increments: int = 0
    t: int = 0
    violation: float = 0.0
    size: float = 0.0
    margin: float = inf
    aggregate: dict = field(default_factory=dict)
    regret: dict = field(default_factory=dict)
    lifted: dict = field(default_factory=dict)
    lifted_before: dict = field(default_factory=dict)
    strategy: dict = field(default_factory=dict)
    summed: dict = field(default_factory=lambda: defaultdict(float))

    def __post_init__(self):
        self.children = defaultdict(dict)
        for node in range(1, len(self.tree)):
            self.children[self.tree.parent[node]][self.tree.action[node]] = node
        for player, sets in enumerate(self.tree.information_sets):
            for place, known in enumerate(sets):
                n = len(known.actions)
                self.strategy[player, place] = np.full(n, 1 / n)
                self.regret[player, place] = np.zeros(n)
                for memory in (self.aggregate, self.lifted, self.lifted_before):
                    memory[player, place] = np.full(n, self.radius / n)

    def _walk(self, node, player, own, others, regrets, weight):
        """Payoff to the player; adds counterfactual regrets, and the weighted strategy to the average."""
        tree, children = self.tree, [self.children[node][action] for action in sorted(self.children[node])]
        mover = int(tree.player[node])
        if mover == TERMINAL:
            return tree.payoff[node] if player == 0 else -tree.payoff[node]
        if mover == CHANCE:
            chances = [tree.probability[child] for child in children]
            return sum(
                p * self._walk(child, player, own, others * p, regrets, weight)
                for p, child in zip(chances, children, strict=True)
            )
        known, mine = (mover, int(tree.information_set[node])), mover == player
        strategy = self.strategy[known]
        payoffs = np.array(
            [
                self._walk(child, player, own * (p if mine else 1), others * (1 if mine else p), regrets, weight)
                for child, p in zip(children, strategy, strict=True)
            ]
        )
        if mine:
            regrets[known] += others * (payoffs - strategy @ payoffs)
            self.summed[known] += weight * own * strategy
        return strategy @ payoffs

    def _regrets(self, player):
        regrets = {known: np.zeros(len(x)) for known, x in self.strategy.items() if known[0] == player}
        weight = self.t**self.power * (self.radius if self.method.startswith("mi") else 1.0)
        self._walk(0, player, 1.0, 1.0, regrets, weight)
        return regrets

    def _learn(self, regrets):
        """Keep the regrets in the aggregates; return the criterion of MI-SPRM+ over these information sets."""
        criterion = 0.0
        for known, regret in regrets.items():
            aggregate, surprise = self.aggregate[known], regret - self.regret[known]
            lifted, lifted_before = self.lifted[known], self.lifted_before[known]
            if self.method in DISCOUNTS:
                alpha, beta = DISCOUNTS[self.method]
                new = aggregate + regret
                new = new * np.where(new > 0, discount(self.t, alpha), discount(self.t, beta))
            elif self.method == "ireg-pcfr+":
                new = rise(aggregate + regret, np.linalg.norm(aggregate))
            else:
                forgets = discount(self.t, 2.3) if self.method == "mi-spdcfr+" else 1.0
                new = project(forgets * (aggregate + regret), self.radius)
            self.aggregate[known], self.regret[known] = new, regret
            if len(regret) == 1:
                continue  # decides nothing, and stays out of the norms
            self.size += surprise @ surprise + half_square(aggregate) + half_square(new) + half_square(lifted)
            if self.method == "mi-spcfr+ (paper)":
                criterion += surprise @ surprise
                criterion -= (half_square(aggregate - lifted_before) + half_square(aggregate - lifted)) / 2
            else:
                criterion += surprise @ (new - lifted) - half_square(new - lifted) - half_square(lifted - aggregate)
        return criterion

    def _play(self, player):
        for known, aggregate in self.aggregate.items():
            if known[0] != player:
                continue
            hoped = aggregate + (self.regret[known] if self.method in PREDICTIVE else 0)
            lifted = (
                rise(hoped, np.linalg.norm(aggregate)) if self.method == "ireg-pcfr+" else project(hoped, self.radius)
            )
            self.lifted_before[known], self.lifted[known] = self.lifted[known], lifted
            n = len(lifted)
            self.strategy[known] = lifted / lifted.sum() if lifted.sum() > 0 else np.full(n, 1 / n)

    def _grow(self, criterion):
        if self.method == "mi-spcfr+ (paper)":
            self._decide(criterion)
            self.radius += criterion > 0
        elif self.method in ("mi-spcfr+", "mi-spdcfr+"):
            self.violation += criterion
            self._decide(self.violation - self.radius**2 / 2)
            if self.violation > self.radius**2 / 2:
                self.increments += 1
                self.radius *= 1.02 + 2 / self.increments
                self.violation = 0.0

    def _decide(self, difference):
        if self.size > 0:
            self.margin = min(self.margin, abs(difference) / self.size)

    def iterate(self):
        self.t += 1
        if self.alternating:
            criterion = self._learn(self._regrets(0))
            self._play(0)
            criterion += self._learn(self._regrets(1))
            self._grow(criterion)
            self._play(1)
        else:
            regrets = self._regrets(0), self._regrets(1)
            criterion = self._learn(regrets[0]) + self._learn(regrets[1])
            self._grow(criterion)
            self._play(0)
            self._play(1)

    @property
    def average(self):
        return {
            known: summed / summed.sum() if summed.sum() > 0 else np.full(len(summed), 1 / len(summed))
            for known, summed in self.summed.items()
        }
