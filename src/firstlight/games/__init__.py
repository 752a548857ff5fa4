"""Equilibria of two-player zero-sum games without tuning, each with an exact gap.

For everyone who loads a ``pyspiel.Game``, a Gambit file or a payoff matrix and wants strategies that provably come
close to equilibrium: researchers in games and learning, authors of poker solvers, teachers. The method is smooth
predictive regret matching⁺ whose one parameter, the radius R of its domain, grows by itself (MI-SPRM+; Meng, Zhang,
Yang, Li, Ding, Gao: *A faster parameter-free regret matching algorithm*, ICLR 2026). Every answer carries best
responses of both players, which enclose the value of the game and trust no solver.

A game of OpenSpiel, at a hundred times the speed of its own C++ solver or more:

>>> from firstlight.games import CFRSolver, solve_matrix_game
>>> equilibrium = CFRSolver("kuhn_poker").run(target=1e-6)
>>> equilibrium.exploitability <= 1e-6
True
>>> lowest, highest = equilibrium.value_bounds
>>> lowest <= -1 / 18 <= highest
True

A matrix game, of which the row player pays xᵀAy:

>>> solution = solve_matrix_game([[3, 0, -3], [0, 3, -4], [0, 0, 1]], iterations=100_000)
>>> solution.gap < 1e-4
True
"""

from firstlight.games.certificate import Certificate, certify
from firstlight.games.cfr import CFRSolver
from firstlight.games.data import read_payoffs
from firstlight.games.endgame_solution import EndgameSolution
from firstlight.games.equilibrium import Equilibrium
from firstlight.games.exact_certificate import ExactCertificate, certify_exactly
from firstlight.games.first_order import OGDA, OMWU, DSOptMD
from firstlight.games.flat_game import FlatGame
from firstlight.games.game_solution import GameSolution
from firstlight.games.matrix_games import solve_matrix_game
from firstlight.games.profile import Profile
from firstlight.games.regret import (
    IREGPRMPlus,
    MISPRMPlus,
    PRMPlus,
    RMPlus,
    SOGRMPlus,
    SPRMPlus,
)
from firstlight.games.river import RiverSolver

__all__ = [
    "OGDA",
    "OMWU",
    "CFRSolver",
    "Certificate",
    "DSOptMD",
    "EndgameSolution",
    "Equilibrium",
    "ExactCertificate",
    "FlatGame",
    "GameSolution",
    "IREGPRMPlus",
    "MISPRMPlus",
    "PRMPlus",
    "Profile",
    "RMPlus",
    "RiverSolver",
    "SOGRMPlus",
    "SPRMPlus",
    "certify",
    "certify_exactly",
    "read_payoffs",
    "solve_matrix_game",
]
