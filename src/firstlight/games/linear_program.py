"""The sequence-form linear program: both equilibrium strategies from one solve.

Player 1 chooses a plan x and promises a value p_I at every information set I of player 2, p_0 at the root
(von Stengel 1996; Koller, Megiddo, von Stengel 1996)::

    maximise p_0   such that   E x = e,  x ≥ 0,
    and for every sequence s of player 2:   p_(set of s) - Σ p_(sets after s) ≤ (Uᵀ x)_s

where the set of the empty sequence is the root. The multipliers of the last rows are the plan of player 2.
"""

import time
from fractions import Fraction
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from firstlight.errors import FirstlightError
from firstlight.games.certificate import Certificate, certify
from firstlight.games.equilibrium import Equilibrium
from firstlight.games.flat_game import FlatGame, Treeplex
from firstlight.games.profile import Profile

# The smallest that HiGHS takes.
TOLERANCE = 1e-10
LARGEST_DENOMINATOR = 1000


def lp_solve(game: FlatGame) -> Equilibrium:
    """Solve a game by linear programming with HiGHS.

    The certificate comes from best responses against the strategies found, not from the solver, so it is honest where
    the program is ill-conditioned.

    Raises
    ------
    FirstlightError
        If HiGHS finds no solution.
    """
    began = time.perf_counter()
    flow_1, flow_2 = (_flow(treeplex) for treeplex in game.treeplexes)
    n_plan, n_promises = game.treeplexes[0].n_sequences, 1 + len(game.treeplexes[1].start)
    # HiGHS drops coefficients below 1e-9 and cannot take large ones.
    scale = float(np.abs(game.payoff.data).max(initial=0.0)) or 1.0
    solution = linprog(
        c=np.concatenate([np.zeros(n_plan), -_root(n_promises)]),
        A_ub=sp.hstack([-game.payoff_transposed / scale, flow_2.T], format="csr"),
        b_ub=np.zeros(game.treeplexes[1].n_sequences),
        A_eq=sp.hstack([flow_1, sp.csr_array((1 + len(game.treeplexes[0].start), n_promises))], format="csr"),
        b_eq=_root(1 + len(game.treeplexes[0].start)),
        bounds=[(0, None)] * n_plan + [(None, None)] * n_promises,
        method="highs",
        options={"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE},
    )
    if solution.status != 0:
        raise FirstlightError(f"HiGHS found no equilibrium of {game.tree.title}: {solution.message}")
    profile = Profile.from_plans(game, (solution.x[:n_plan], -solution.ineqlin.marginals))
    certificate = certify(game, profile)
    # Equilibria of small games are often simple fractions, found here up to the solver's tolerance.
    simple = _simplified(profile)
    simple_certificate = certify(game, simple)
    if _width(simple_certificate) <= 1.1 * _width(certificate):
        profile, certificate = simple, simple_certificate
    return Equilibrium(
        profile,
        certificate,
        method="linear program (HiGHS)",
        iterations=int(solution.nit),
        seconds=time.perf_counter() - began,
    )


def _width(certificate: Certificate) -> float:
    lower, upper = certificate.value_bounds
    return upper - lower


def _simplified(profile: Profile) -> Profile:
    """Move each information set to nearby fractions of small denominators, where these still sum to one."""
    behaviour = []
    for given, starts in zip(profile.behaviour, profile.starts, strict=True):
        simple = given.copy()
        for start, after in pairwise([*starts.tolist(), len(given)]):
            nearby = [
                float(Fraction(value).limit_denominator(LARGEST_DENOMINATOR)) for value in given[start:after].tolist()
            ]
            if abs(sum(nearby) - 1) < 1e-15 * len(nearby) and np.allclose(
                nearby, given[start:after], rtol=0, atol=TOLERANCE
            ):
                simple[start:after] = nearby
        behaviour.append(simple)
    return Profile(profile.information_sets, (behaviour[0], behaviour[1]), profile.title)


def _flow(treeplex: Treeplex) -> sp.csr_array:
    """The matrix E of a player: row 0 fixes the empty sequence, row 1 + i balances information set i."""
    sets = np.arange(1, 1 + len(treeplex.start))
    rows = np.concatenate([[0], np.repeat(sets, treeplex.n_actions), sets])
    columns = np.concatenate([[0], np.arange(1, treeplex.n_sequences), treeplex.parent])
    signs = np.concatenate([np.ones(treeplex.n_sequences), -np.ones(len(sets))])
    return sp.csr_array((signs, (rows, columns)), shape=(1 + len(sets), treeplex.n_sequences))


def _root(rows: int) -> np.ndarray:
    """The right-hand side e: the empty sequence has weight one."""
    unit = np.zeros(rows)
    unit[0] = 1.0
    return unit
