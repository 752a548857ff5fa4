"""Counterfactual regret minimisation of two-player zero-sum games, under OpenSpiel's names."""

from pathlib import Path
from typing import Any, Literal

import numpy as np

from firstlight.errors import InvalidInput
from firstlight.files import load_arrays, save_arrays
from firstlight.games.cfr_memory import fingerprint, memory_arrays, payoff_range, restore
from firstlight.games.cfr_runs import CFRRun, Check
from firstlight.games.equilibrium import Certificate, Equilibrium, Profile, certify
from firstlight.games.flat_game import FlatGame
from firstlight.games.payoffs import Matrix


class CFRSolver(CFRRun[Equilibrium]):
    """Solve a two-player zero-sum game by counterfactual regret minimisation.

    A drop-in for OpenSpiel's ``CFRSolver`` and ``CFRPlusSolver``: the same method names and, for ``"cfr"`` and
    ``"cfr+"``, the same iterates.

    Parameters
    ----------
    game : a `FlatGame`, a ``pyspiel.Game``, or a string for ``pyspiel.load_game``.
    method : ``"mi-spcfr+"``, ``"ireg-pcfr+"``, ``"pcfr+"``, ``"spcfr+"``, ``"cfr+"``, ``"cfr"``, ``"linear-cfr"``,
        ``"dcfr"``, ``"dcfr+"``, ``"pdcfr+"`` or ``"mi-spdcfr+"``; `firstlight.games.cfr_methods` says what they are.
    alternating : whether player 2 answers the new strategy of player 1, as CFR is run in practice, or both move at
        once, as it is analysed.
    averaging : which average of the strategies is the answer: ``"uniform"``, ``"linear"``, ``"quadratic"``, a number
        p for weights t^p, or ``"last"`` for the strategies in play; the method's own unless given. MI-SPCFR+ multiplies
        the weights by R.
    scale : of MI-SPCFR+: with ``"auto"`` R grows from a tiny part of the payoff range, so that the unit of the payoffs
        does not matter; ``"paper"`` is the published rule, R = 1, 2, 3 … in units of payoff.

    Raises
    ------
    InvalidInput
        If the game is not one of two players with constant sum and perfect recall, or an option is unknown.
    MissingExtra
        If `game` is not a `FlatGame` and OpenSpiel is not installed.

    Examples
    --------
    >>> solution = CFRSolver("kuhn_poker").run(target=1e-6)
    >>> lowest, highest = solution.value_bounds
    >>> lowest <= -1 / 18 <= highest
    True
    """

    def __init__(
        self,
        game: Any,
        method: str = "mi-spcfr+",
        *,
        alternating: bool = True,
        averaging: str | float | None = None,
        scale: Literal["auto", "paper"] = "auto",
    ) -> None:
        self.game = game if isinstance(game, FlatGame) else FlatGame.from_openspiel(game)
        super().__init__(
            self.game.treeplexes,
            (Matrix.of(self.game.payoff), Matrix.of(self.game.payoff_transposed, sign=-1.0)),
            payoff_range=payoff_range(self.game),
            method=method,
            alternating=alternating,
            averaging=averaging,
            scale=scale,
        )
        # What OpenSpiel's policies are made from: the game, then the first policy, which saves walking it again.
        self._pattern = None if isinstance(game, FlatGame) else game

    def evaluate_and_update_policy(self, iterations: int = 1) -> None:
        """Run an iteration, or several in one compiled loop, without measuring anything."""
        if iterations < 1:
            raise InvalidInput(f"iterations must be more than 0, got {iterations}")
        self._iterate(iterations)

    def current_profile(self) -> Profile:
        """Return the strategies in play."""
        behaviour = (self._memory.first.behaviour.copy(), self._memory.second.behaviour.copy())
        return Profile(self.game.tree.information_sets, behaviour, self.game.tree.title)

    def average_profile(self) -> Profile:
        """Return the average of the strategies so far, the answer."""
        return self.current_profile() if self.averaging == "last" else Profile.from_plans(self.game, self._answer())

    def current_policy(self) -> Any:
        """Return the strategies in play as an ``open_spiel.python.policy.TabularPolicy``."""
        return self._openspiel(self.current_profile())

    def average_policy(self) -> Any:
        """Return the average strategies as an ``open_spiel.python.policy.TabularPolicy``."""
        return self._openspiel(self.average_profile())

    def tabular_average_policy(self) -> Any:
        """Return the average strategies as a ``pyspiel.TabularPolicy``, the C++ one."""
        return self.average_profile().to_pyspiel()

    def checkpoint(self, path: str | Path) -> None:
        """Write the solver's whole memory to a ``.npz`` file, whole or not at all; `resume` goes on from it."""
        checks = np.array(self._checks, dtype=np.float64).reshape(-1, len(Check._fields))
        save_arrays(
            path,
            game=np.array(fingerprint(self.game)),
            title=np.array(self.game.tree.title),
            method=np.array(self.method),
            alternating=np.array(self.alternating),
            averaging=np.array(self.averaging),
            scale=np.array(self.scale),
            checks=checks,
            seconds=np.array(self._seconds),
            **memory_arrays(self._memory),
        )

    @classmethod
    def resume(cls, path: str | Path, game: Any) -> "CFRSolver":
        """Return the solver that `checkpoint` wrote; it goes on as if it had never stopped, bit by bit.

        Parameters
        ----------
        path : the checkpoint.
        game : the game it was made for, in any form that the constructor takes.

        Raises
        ------
        InvalidInput
            If the file is no checkpoint or damaged, or the game is another one.
        """
        arrays = load_arrays(path)
        missing = {"game", "title", "method", "alternating", "averaging", "scale", "checks", "seconds"} - set(arrays)
        if missing:
            raise InvalidInput(f"{path} is not a checkpoint of CFRSolver: it has no {min(missing)}")
        flat = game if isinstance(game, FlatGame) else FlatGame.from_openspiel(game)
        if str(arrays["game"]) != fingerprint(flat):
            raise InvalidInput(
                f"{path} is a checkpoint of another game, {str(arrays['title'])!r}, not of {flat.tree.title!r}"
            )
        try:
            solver = cls(
                flat,
                str(arrays["method"]),
                alternating=bool(arrays["alternating"]),
                averaging=arrays["averaging"].item(),
                scale=arrays["scale"].item(),
            )
            restore(solver._memory, arrays)
            solver._checks = [Check(int(check[0]), float(check[1]), float(check[2])) for check in arrays["checks"]]
            solver._seconds = float(arrays["seconds"])
        except (ValueError, TypeError, IndexError) as error:
            raise InvalidInput(f"{path} is damaged: {error}") from error
        return solver

    def _openspiel(self, profile: Profile) -> Any:
        policy = profile.to_openspiel(self._pattern)
        self._pattern = policy
        return policy

    def _certify(self) -> Certificate:
        return certify(self.game, self.average_profile())

    def _solution(self, certificate: Certificate) -> Equilibrium:
        radii = np.array([check.radius for check in self._checks]) if self._method.radius else None
        return Equilibrium(self.average_profile(), certificate, **self._history(), radii=radii)
