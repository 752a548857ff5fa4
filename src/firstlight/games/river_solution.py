"""The answer to a river endgame: what each hand does at each point of the betting, and what it is worth."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float64, Int64

from firstlight.errors import InvalidInput
from firstlight.files import load_arrays, save_arrays
from firstlight.games.certificate import Certificate
from firstlight.games.equilibrium import BLUE
from firstlight.games.game_tree import TERMINAL
from firstlight.games.hand_ranges import HAND_NAMES, hand_number
from firstlight.games.river_game import RiverGame

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class RiverSolution:
    """Strategies for a river endgame with the proof of how good they are.

    All figures in chips are of the whole hand, half the pot included, as in `RiverGame`. Figures in mbb are
    thousandths of a big blind per deal: averages over all pairs of hands that can be dealt together, weighted by the
    product of their weights.

    Attributes
    ----------
    game : the endgame.
    behaviour : for each player and hand (rows, as in ``game.hands``) the probability of each move once its node is
        reached; column k is sequence k + 1 of ``game.tree.treeplexes``.
    certificate : exact best responses against the strategies, in chips.
    hand_values : what each player expects to win with each hand, in chips, given that it is dealt.
    method : the solver.
    iterations : how many iterations it ran.
    seconds : wall-clock time it took, certificates included.
    checked_at : iterations at which exploitability was measured, increasing.
    exploitabilities : what was measured there, in mbb.
    """

    game: RiverGame
    behaviour: tuple[Float64[np.ndarray, "hands_1 moves_1"], Float64[np.ndarray, "hands_2 moves_2"]]
    certificate: Certificate
    hand_values: tuple[Float64[np.ndarray, " hands_1"], Float64[np.ndarray, " hands_2"]]
    method: str
    iterations: int
    seconds: float
    checked_at: Int64[np.ndarray, " checks"] = field(default_factory=lambda: np.empty(0, np.int64))
    exploitabilities: Float64[np.ndarray, " checks"] = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(
        cls,
        game: RiverGame,
        behaviour: tuple[Float64[np.ndarray, "hands_1 moves_1"], Float64[np.ndarray, "hands_2 moves_2"]],
        **record: Any,
    ) -> "RiverSolution":
        """Certify strategies; `record` are the remaining attributes, from `method` on."""
        plans = game.plans(behaviour)
        values = (game.hand_values(0, plans), game.hand_values(1, plans))
        return cls(game, behaviour, game.certify(plans), values, **record)

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
        line : the moves so far, such as ``"check, bet 250"`` or ``"check, all-in"``; ``""`` is the first move.
        hand : two cards of the player who acts, such as ``"AsKh"``.

        Raises
        ------
        InvalidInput
            If the line is not possible or ends the hand, or the player cannot hold the hand.
        """
        number = self.game.tree.find(line)
        node = self.game.tree.nodes[number]
        if node.player == TERMINAL:
            raise InvalidInput(f"the hand is over after {', '.join(node.line)!r}; nobody moves there")
        row = self._row(node.player, hand)
        place = self.game.tree.decisions[node.player].index(number)
        first = int(self.game.tree.treeplexes[node.player].start[place]) - 1
        probabilities = self.behaviour[node.player][row, first : first + len(node.actions)]
        return dict(zip(node.actions, probabilities.tolist(), strict=True))

    def hand_value(self, player: int, hand: str) -> float:
        """Return what player 0 or 1 expects to win with a hand, in chips, given that it is dealt."""
        return float(self.hand_values[player][self._row(player, hand)])

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw exploitability over iterations on double logarithmic axes, new ones unless given; return the axes."""
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots(layout="constrained")[1]
        ax.loglog(self.checked_at, self.exploitabilities, "o-", color=BLUE, markersize=3, label=self.method)
        ax.set_xlabel("iterations")
        ax.set_ylabel("exploitability (mbb per hand)")
        ax.legend(frameon=False)
        return ax

    def save(self, path: str | Path) -> None:
        """Write the solution to a ``.npz`` file, whole or not at all.

        NumPy alone reads it. For each player (``_1``, ``_2``): ``hands``, their names; ``weights``, proportional to the
        given ones; ``moves``, each as the line that ends with it; ``strategy``, hands by moves, the probability of each
        once its node is reached; ``values``, chips by hand. Further the parameters of the game and the history.
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
            arrays[f"hands_{name}"] = np.array([HAND_NAMES[hand] for hand in game.hands[player]])
            arrays[f"weights_{name}"] = game.holdings[player].weight
            arrays[f"moves_{name}"] = np.array(game.tree.moves(player))
            arrays[f"strategy_{name}"] = self.behaviour[player]
            arrays[f"values_{name}"] = self.hand_values[player]
        save_arrays(path, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "RiverSolution":
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
            game = RiverGame.deal(str(arrays["board"]), pot, behind, (first, second), sizes, big_blind)
            return cls.of(
                game,
                (_checked(game, 0, arrays["strategy_1"]), _checked(game, 1, arrays["strategy_2"])),
                method=str(arrays["method"]),
                iterations=int(arrays["iterations"]),
                seconds=float(arrays["seconds"]),
                checked_at=arrays["checked_at"],
                exploitabilities=arrays["exploitabilities"],
            )
        except (KeyError, ValueError, TypeError) as error:
            raise InvalidInput(f"{path} is not a river solution saved by Firstlight: {error}") from error

    def _row(self, player: int, hand: str) -> int:
        rows = np.flatnonzero(self.game.hands[player] == hand_number(hand))
        if not len(rows):
            raise InvalidInput(
                f"player {player + 1} cannot hold {hand}: it has weight 0, shares a card with the board, "
                "or blocks all hands of the opponent"
            )
        return int(rows[0])


def _checked(game: RiverGame, player: int, strategy: np.ndarray) -> Float64[np.ndarray, "hands moves"]:
    """A strategy from a file, if it is one for this game."""
    treeplex = game.tree.treeplexes[player]
    shape = (len(game.hands[player]), treeplex.n_sequences - 1)
    if strategy.shape != shape or strategy.dtype != np.float64:
        raise InvalidInput(
            f"the strategy of player {player + 1} is {strategy.dtype} {strategy.shape}, not float64 {shape}"
        )
    sums = np.add.reduceat(strategy, treeplex.start - 1, axis=1)
    if not ((strategy >= 0).all() and (np.abs(sums - 1) < 1e-9).all()):
        raise InvalidInput(f"the strategy of player {player + 1} has probabilities that do not sum to 1")
    return strategy
