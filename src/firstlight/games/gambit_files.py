"""Game files of Gambit: game trees (.efg) and payoff tables (.nfg).

Formats: https://gambitproject.readthedocs.io/en/stable/formats.html. Numbers are read exactly, as fractions, and
become float64 at the end. Labels identify nothing: players, information sets and outcomes are known by number.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float64

from firstlight.errors import InvalidInput
from firstlight.files import written_whole
from firstlight.games.exact_fractions import exact_distribution, simple_fraction
from firstlight.games.gambit_text import GambitText, Payoffs, quoted, read_header, same_sum, shown
from firstlight.games.gambit_trees import TreeReader
from firstlight.games.game_tree import CHANCE, TERMINAL, GameTree, check_tree


@dataclass(frozen=True, eq=False)
class PayoffTable:
    """A two-player constant-sum game in normal form.

    Attributes
    ----------
    payoffs : what player 1, who picks the row and maximises, gets; player 2 gets ``payoff_sum - payoffs``.
        `solve_matrix_game` takes what the row player loses: give it ``-payoffs``, and the value for player 1 is
        minus the value found.
    payoff_sum : what both players get together in every cell; 0 for a zero-sum game.
    title : name of the game.
    """

    payoffs: Float64[np.ndarray, "rows columns"]
    payoff_sum: float
    title: str


def read_efg(path: str | Path, normalise: bool = False) -> GameTree:
    """Read a game tree of two players from Gambit's extensive-form format (EFG 2 R, EFG 2 D).

    Payoffs of outcomes on inner nodes are added up along the path. Information sets keep their label as name;
    a set without one, or with the label of another set of its player, is named by player and number, as "1:4".

    Parameters
    ----------
    path : the .efg file.
    normalise : divide chance probabilities by their sum, with a warning, where they do not sum to one. Without it
        they are refused, since a game with other odds than its author's has another value.

    Returns
    -------
    The tree. Payoffs are those of player 1; ``payoff_sum`` is what both get together at every leaf.

    Raises
    ------
    InvalidInput
        With file and line, if the file is not a game of two players with constant payoff sum: a node, outcome or
        information set is missing, superfluous or given twice with different contents, a payoff is not a finite
        number, leaves pay different sums, or chance probabilities are negative or do not sum to one. Also if the
        file cannot be read.
    """
    text = GambitText(path)
    title = read_header(text, "EFG", "2")
    reader = TreeReader(text, title, normalise)
    tree = reader.read()
    if reader.warning():
        warnings.warn(reader.warning(), stacklevel=2)
    return tree


def write_efg(tree: GameTree, path: str | Path) -> None:
    """Write a game tree in Gambit's extensive-form format, with exact numbers.

    Probabilities and payoffs are written as fractions that round to the tree's numbers. Those of a chance node sum to
    exactly one (if the tree's miss one by more than rounding, they are divided by their sum), and both players'
    payoffs to exactly the tree's ``payoff_sum``. `read_efg` gives the same tree back, with ``ids`` 0, 1, …, since
    files number the moves so. Every node carries the whole description of its information set, as OpenSpiel's
    reader needs it.

    Gambit 17 refuses labels with control characters and doubled or outer blanks, which names of information sets in
    OpenSpiel have. They are written as Unicode's pictures of them, such as ␊ and ␠, and read back as what they picture.

    Parameters
    ----------
    tree : the game.
    path : the file to write; it appears whole or not at all.

    Raises
    ------
    InvalidInput
        If the arrays are not a game tree (see `check_tree`), or the folder of `path` does not exist.
    """
    check_tree(tree)
    with (
        written_whole(path) as partial,
        partial.open("w", encoding="utf-8", errors="xmlcharrefreplace", newline="") as file,
    ):
        file.writelines(_nodes(tree))


def _nodes(tree: GameTree) -> Iterator[str]:
    yield f'EFG 2 R {quoted(tree.title)} {{ "Player 1" "Player 2" }}\n""\n\n'
    decisions = [
        [
            f'p "" {player} {number} {quoted(known.name)} {{ {" ".join(map(quoted, known.actions))} }} 0\n'
            for number, known in enumerate(sets, start=1)
        ]
        for player, sets in enumerate(tree.information_sets, start=1)
    ]
    chances = _chance_nodes(tree)
    payoff_sum = simple_fraction(tree.payoff_sum)
    leaves: dict[float, str] = {}
    for player, place, payoff in zip(
        tree.player.tolist(), tree.information_set.tolist(), tree.payoff.tolist(), strict=True
    ):
        if player == CHANCE:
            yield next(chances)
        elif player != TERMINAL:
            yield decisions[player][place]
        else:
            if payoff not in leaves:
                first = simple_fraction(payoff)
                leaves[payoff] = f't "" {len(leaves) + 1} "" {{ {first}, {payoff_sum - first} }}\n'
            yield leaves[payoff]


def _chance_nodes(tree: GameTree) -> Iterator[str]:
    edges = 1 + np.flatnonzero(tree.player[tree.parent[1:]] == CHANCE)
    edges = edges[np.argsort(tree.parent[edges], kind="stable")]
    branches = np.bincount(tree.parent[edges], minlength=len(tree))[tree.player == CHANCE]
    distributions = np.split(tree.probability[edges], np.cumsum(branches)[:-1])
    for number, distribution in enumerate(distributions, start=1):
        fractions = exact_distribution(tuple(distribution.tolist()))
        moves = " ".join(f'"{move}" {fraction}' for move, fraction in enumerate(fractions, start=1))
        yield f'c "" {number} "" {{ {moves} }} 0\n'


def read_nfg(path: str | Path) -> PayoffTable:
    """Read a payoff table of two players from Gambit's strategic-form format (NFG 1 R, NFG 1 D).

    Both versions of the format are read: payoffs one after the other, and numbered outcomes.

    Parameters
    ----------
    path : the .nfg file.

    Raises
    ------
    InvalidInput
        With file and line, if the file cannot be read or is not a game of two players with constant payoff sum, or
        has too few or too many payoffs or one that is not a finite number.
    """
    text = GambitText(path)
    title = read_header(text, "NFG", "1")
    rows, columns = _strategy_counts(text)
    text.optional_label()  # a comment
    cells = _outcome_cells(text) if text.accept("open") else _payoff_cells(text)
    if text.kind != "end":
        text.fail(f"expected a number or the end of the file, found {text.found()}")
    if len(cells) != rows * columns:
        text.fail(
            f"expected {rows} × {columns} = {rows * columns} cells, one for each pair of strategies, found {len(cells)}"
        )
    payoff_sum = sum(cells[0])
    for place, cell in enumerate(cells):
        if not same_sum(sum(cell), payoff_sum, cell):
            row, column = place % rows + 1, place // rows + 1
            raise InvalidInput(
                f"{text.path}: not a constant-sum game: payoffs sum to {shown(payoff_sum)} for strategies (1, 1) "
                f"and to {shown(sum(cell))} for strategies ({row}, {column})"
            )
    # The strategy of the first player runs fastest.
    by_column = np.array([float(cell[0]) for cell in cells]).reshape(columns, rows)
    return PayoffTable(np.ascontiguousarray(by_column.T), float(payoff_sum), title)


def _strategy_counts(text: GambitText) -> tuple[int, int]:
    """Read how many strategies both players have, from numbers or from lists of names."""
    text.expect("open", "{ before the strategies")
    position = text.position
    counts = []
    while not text.accept("close"):
        counts.append(
            len(text.labels("strategies")) if text.kind == "open" else text.whole_number("a number of strategies")
        )
    if len(counts) != 2 or 0 in counts:
        text.fail(f"expected at least one strategy for each of 2 players, found {counts}", position)
    return counts[0], counts[1]


def _payoff_cells(text: GambitText) -> list[Payoffs]:
    numbers = []
    while text.kind == "word":
        numbers.append(text.number("a payoff"))
    if len(numbers) % 2:
        text.fail(f"expected two payoffs in each cell, found {len(numbers)} payoffs in all")
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _outcome_cells(text: GambitText) -> list[Payoffs]:
    """Read the outcomes, and then which of them each cell has."""
    outcomes: list[Payoffs] = [(0, 0)]  # number 0 pays nothing
    while text.accept("open"):
        text.optional_label()
        outcomes.append(text.payoffs())
    text.expect("close", "an outcome in { } or the } after the last one")
    cells = []
    while text.kind == "word":
        position = text.position
        number = text.whole_number("the number of an outcome")
        if number >= len(outcomes):
            text.fail(f"outcome {number} not defined; the file gives outcomes 1 to {len(outcomes) - 1}", position)
        cells.append(outcomes[number])
    return cells
