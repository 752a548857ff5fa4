"""The answer to a hold'em endgame: what each hand does at each point of the betting, and what it is worth."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64, Int64

from firstlight.errors import InvalidInput
from firstlight.files import load_arrays, save_arrays
from firstlight.games.certificate import Certificate
from firstlight.games.endgame import Endgame, Plans
from firstlight.games.equilibrium import BLUE
from firstlight.games.turn_game import deal_endgame
from firstlight.pictures import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class EndgameSolution:
    """Strategies for a hold'em endgame with the proof of how good they are.

    All figures in chips are of the whole hand, half the pot included, as in `Endgame`. Figures in mbb are
    thousandths of a big blind per deal: averages over all pairs of hands that can be dealt together, weighted by the
    product of their weights.

    Attributes
    ----------
    game : the endgame.
    behaviour : for each player the probability of every move once its node is reached, in the order of
        ``game.treeplexes``; entry 0 is 1. ``game.tables`` lays them out by hand.
    certificate : exact best responses against the strategies, in chips.
    hand_values : what each player expects to win with each hand, in chips, given that it is dealt.
    method : the solver.
    iterations : how many iterations it ran.
    seconds : wall-clock time it took, certificates included.
    checked_at : iterations at which exploitability was measured, increasing.
    exploitabilities : what was measured there, in mbb.
    """

    game: Endgame
    behaviour: Plans
    certificate: Certificate
    hand_values: tuple[Float64[np.ndarray, " hands_1"], Float64[np.ndarray, " hands_2"]]
    method: str
    iterations: int
    seconds: float
    checked_at: Int64[np.ndarray, " checks"] = field(default_factory=lambda: np.empty(0, np.int64))
    exploitabilities: Float64[np.ndarray, " checks"] = field(default_factory=lambda: np.empty(0))

    @property
    def value(self) -> float:
        """What player 1, who acts first, expects under the strategies, in chips."""
        return self.certificate.value

    @property
    def value_bounds(self) -> tuple[float, float]:
        """Lowest and highest possible value of the game for player 1, in chips."""
        return self.certificate.value_bounds

    @property
    def exploitability(self) -> float:
        """Mean of what both players would gain by best responses (half of NashConv), in mbb per deal."""
        return self.certificate.exploitability / self.game.mbb

    def strategy(self, line: str, hand: str) -> dict[str, float]:
        """Return the probability of each move after a line of betting.

        Parameters
        ----------
        line : the moves so far, such as ``"check, bet 250"`` or ``"check, all-in"``; ``""`` is the first move. From the
            turn on with the river card in between: ``"check, check, 7d, bet 500"``.
        hand : two cards of the player who acts, such as ``"AsKh"``.

        Raises
        ------
        InvalidInput
            If the line is not possible or ends the hand, or the player cannot hold the hand.
        """
        player, first, actions = self.game.decision(line, hand)
        probabilities = self.behaviour[player][first : first + len(actions)]
        return dict(zip(actions, probabilities.tolist(), strict=True))

    def hand_value(self, player: int, hand: str) -> float:
        """Return what player 0 or 1 expects to win with a hand, in chips, given that it is dealt."""
        return float(self.hand_values[player][self.game.row(player, hand)])

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw exploitability over iterations on double logarithmic axes, new ones unless given; return the axes."""
        ax = axes_or_new(ax)
        ax.loglog(self.checked_at, self.exploitabilities, "o-", color=BLUE, markersize=3, label=self.method)
        ax.set_xlabel("iterations")
        ax.set_ylabel("exploitability (mbb per hand)")
        ax.legend(frameon=False)
        return ax

    def save(self, path: str | Path) -> None:
        """Write the solution to a ``.npz`` file, whole or not at all.

        NumPy alone reads it. For each player (``_1``, ``_2``): ``hands``, their names; ``weights``, proportional to the
        given ones; ``moves``, each as the line that ends with it; ``strategy``, hands by moves, the probability of each
        once its node is reached; ``values``, chips by hand. From the turn on also ``river_strategy``, with a row for
        each river card and hand (``river_cards``, ``river_hands``) and columns ``river_moves``. Further the parameters
        of the game and the history.
        """
        game = self.game
        arrays = {
            "board": np.array(game.board),
            "pot": np.array(game.pot),
            "behind": np.array(game.behind),
            "big_blind": np.array(game.big_blind),
            "bets": np.array([str(size) for size in game.bets]),
            "method": np.array(self.method),
            "iterations": np.array(self.iterations),
            "seconds": np.array(self.seconds),
            "checked_at": self.checked_at,
            "exploitabilities": self.exploitabilities,
        }
        for player, name in enumerate("12"):
            tables = game.tables(player, self.behaviour[player])
            tables |= {"weights": game.weights[player], "values": self.hand_values[player]}
            arrays |= {f"{table}_{name}": values for table, values in tables.items()}
        save_arrays(path, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "EndgameSolution":
        """Read a solution that `save` wrote; its certificate and values are computed anew from the strategies.

        Raises
        ------
        InvalidInput
            If the file is damaged or holds something else.
        """
        arrays = load_arrays(path)
        try:
            sizes = [size if size == "allin" else float(size) for size in arrays["bets"].tolist()]
            first, second = (
                dict(zip(arrays[f"hands_{name}"].tolist(), arrays[f"weights_{name}"].tolist(), strict=True))
                for name in "12"
            )
            pot, behind, big_blind = (float(arrays[name]) for name in ("pot", "behind", "big_blind"))
            game = deal_endgame(str(arrays["board"]), pot, behind, (first, second), sizes, big_blind)
            behaviour = (_behaviour_in(game, 0, arrays), _behaviour_in(game, 1, arrays))
            plans = game.plans(behaviour)
            return cls(
                game,
                behaviour,
                game.certify(plans),
                (game.hand_values(0, plans), game.hand_values(1, plans)),
                method=str(arrays["method"]),
                iterations=int(arrays["iterations"]),
                seconds=float(arrays["seconds"]),
                checked_at=arrays["checked_at"],
                exploitabilities=arrays["exploitabilities"],
            )
        except (KeyError, ValueError, TypeError) as error:
            reason = f"it has no array named {error}" if isinstance(error, KeyError) else str(error)
            raise InvalidInput(f"{path} is not an endgame solution saved by Firstlight: {reason}") from error


def _behaviour_in(game: Endgame, player: int, arrays: dict[str, np.ndarray]) -> Float64[np.ndarray, " sequences"]:
    """A player's strategy from a file, if it is one for this game."""
    name = f"_{player + 1}"
    tables = {table.removesuffix(name): values for table, values in arrays.items() if table.endswith(name)}
    behaviour = game.behaviour_in(player, tables)
    treeplex = game.treeplexes[player]
    if behaviour.shape != (treeplex.n_sequences,) or behaviour.dtype != np.float64:
        raise InvalidInput(
            f"the strategy of player {player + 1} has {behaviour.size} probabilities of type {behaviour.dtype}, "
            f"expected {treeplex.n_sequences} of float64"
        )
    sums = np.add.reduceat(behaviour, treeplex.start)
    if not ((behaviour >= 0).all() and (np.abs(sums - 1) < 1e-9).all()):
        raise InvalidInput(f"the strategy of player {player + 1} has probabilities that do not sum to 1")
    return behaviour
