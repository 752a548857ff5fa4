"""The verbs of ``firstlight games``: solve, matrix, convert, river."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from firstlight.errors import InvalidInput
from firstlight.files import writable
from firstlight.pictures import FORMATS, save_picture
from firstlight.terminal import console, print_fields

if TYPE_CHECKING:
    from firstlight.games.flat_game import FlatGame

app = typer.Typer()

GAME = "An OpenSpiel game such as leduc_poker or 'liars_dice(dice_sides=4)', or a file: .efg (Gambit) or .npz (saved)."
MISSED = 1  # exit code of a solve that ended before its target

Target = Annotated[float | None, Option(help="Stop at this exploitability.")]
Iterations = Annotated[int | None, Option(help="Stop after this many iterations.")]
Seconds = Annotated[float | None, Option(help="Stop after this time; 60 unless another limit is given.")]
Normalise = Annotated[
    bool, Option("--normalise", help="Divide chance probabilities of an .efg file that miss 1 by their sum.")
]
Plot = Annotated[Path | None, Option(help="Draw exploitability over iterations (.png, .svg, .pdf).")]


@app.command()
def solve(
    game: Annotated[str, Argument(help=GAME)],
    method: Annotated[str, Option(help="mi-spcfr+, cfr+, pcfr+, dcfr, … as CFRSolver names them.")] = "mi-spcfr+",
    target: Target = None,
    iterations: Iterations = None,
    seconds: Seconds = None,
    simultaneous: Annotated[bool, Option("--simultaneous", help="Update both players at once, as papers do.")] = False,
    averaging: Annotated[
        str | None, Option(help="uniform, linear, quadratic or last; the method's own if not given.")
    ] = None,
    lp: Annotated[bool, Option("--lp", help="Also solve the game exactly by a linear program.")] = False,
    normalise: Normalise = False,
    out: Annotated[Path | None, Option(help="Save both players' strategies (.npz).")] = None,
    plot: Plot = None,
) -> None:
    """Solve a two-player zero-sum game, with bounds on its value from exact best responses.

    The exit code is 1 if a limit ended the run before the target was reached.

    Example: firstlight games solve leduc_poker --target 1e-5 --out policy.npz --plot convergence.png
    """
    from firstlight.games import CFRSolver

    if out:
        writable(out, ".npz")
    if plot:
        writable(plot, *FORMATS)
    flat = _read_game(game, normalise=normalise)
    solver = CFRSolver(flat, method, alternating=not simultaneous, averaging=averaging)
    solution = solver.run(
        target=target, iterations=iterations, seconds=_limit(target, iterations, seconds), progress=True
    )
    lowest, highest = solution.value_bounds
    moves = "simultaneous" if simultaneous else "alternating"
    lines = {
        "game": f"{flat.tree.title or game}: {len(flat.tree):,} nodes, {_count_sets(flat):,} information sets",
        "method": f"{method}, {moves} updates, {_average(solver.averaging)} averages",
        "ran": f"{solution.iterations:,} iterations in {solution.seconds:.2f} s",
        "value to player 1": f"{solution.value:.10g}, proved to lie in [{lowest:.10g}, {highest:.10g}]",
        "exploitability": f"{solution.exploitability:.4g} (NashConv {solution.nash_conv:.4g})",
    }
    if flat.tree.payoff_sum:
        lines["payoffs"] = f"player 1's own; both players' sum to {flat.tree.payoff_sum:g} at every leaf"
    if lp:
        lines["linear program"] = f"{flat.lp_solve().value:.10g}"
    if out:
        solution.profile.save(out)
        lines["strategies"] = str(out)
    if plot:
        save_picture(plot, solution.plot)
        lines["picture"] = str(plot)
    print_fields(lines)
    _check_reached(solution.exploitability, target)


@app.command()
def matrix(
    payoffs: Annotated[Path, Argument(help="What the row player loses: .csv, .npy, or a two-player .nfg (Gambit).")],
    method: Annotated[
        str, Option(help="mi-sprm+, sprm+, prm+, rm+, ireg-prm+, … as solve_matrix_game names them.")
    ] = "mi-sprm+",
    iterations: Annotated[int, Option(help="Stop after this many iterations.")] = 100_000,
    tol: Annotated[float | None, Option(help="Stop at this duality gap.")] = None,
    out: Annotated[Path | None, Option(help="Save both strategies as arrays x and y (.npz).")] = None,
    plot: Plot = None,
) -> None:
    """Solve min over x, max over y of xᵀAy, with the exact duality gap.

    In a .nfg file player 1, who maximises, is the row player; its payoffs are negated.

    Example: firstlight games matrix payoffs.csv --tol 1e-6
    """
    from firstlight.files import save_arrays
    from firstlight.games import read_payoffs, solve_matrix_game

    if out:
        writable(out, ".npz")
    if plot:
        writable(plot, *FORMATS)
    losses = read_payoffs(payoffs)
    solution = solve_matrix_game(losses, method, iterations=iterations, tol=tol)
    lowest, highest = solution.value_bounds
    lines = {
        "game": f"{losses.shape[0]} × {losses.shape[1]}, the row player minimises",
        "method": f"{method}, {solution.iterations:,} iterations in {solution.seconds:.2f} s",
        "value": f"proved to lie in [{lowest:.10g}, {highest:.10g}]",
        "duality gap": f"{solution.gap:.4g}",
        "row strategy": _strategy(solution.x),
        "column strategy": _strategy(solution.y),
    }
    if out:
        save_arrays(out, x=solution.x, y=solution.y)
        lines["strategies"] = str(out)
    if plot:
        save_picture(plot, solution.plot)
        lines["picture"] = str(plot)
    print_fields(lines)


@app.command()
def convert(
    game: Annotated[str, Argument(help=GAME)],
    target: Annotated[Path, Argument(help="Where to write: .efg for Gambit, with exact fractions, or .npz.")],
    normalise: Normalise = False,
) -> None:
    """Write a game in Gambit's format, or as arrays that load at once.

    Example: firstlight games convert leduc_poker leduc.efg
    """
    writable(target, ".efg", ".npz")
    flat = _read_game(game, normalise=normalise)
    (flat.to_efg if target.suffix == ".efg" else flat.save)(target)
    print_fields({"game": flat.tree.title or game, "written": f"{target} ({len(flat.tree):,} nodes)"})


@app.command()
def river(
    endgame: Annotated[Path, Argument(help="A file in the Libratus format: -round 4 (river) or 3 (turn).")],
    bets: Annotated[
        str, Option(help="Bet sizes as shares of the pot, and allin, with commas between.")
    ] = "0.5,1,allin",
    stack: Annotated[float, Option(help="Chips of each player at the start of the hand.")] = 20_000,
    big_blind: Annotated[float, Option(help="Chips of the big blind, the unit of mbb.")] = 100,
    method: Annotated[str, Option(help="dcfr, cfr+, pcfr+, pdcfr+, mi-spcfr+, … as RiverSolver names them.")] = "dcfr",
    target: Annotated[float | None, Option(help="Stop at this exploitability, in mbb per hand.")] = None,
    iterations: Iterations = None,
    seconds: Seconds = None,
    out: Annotated[Path | None, Option(help="Save both players' strategies, hand by hand (.npz).")] = None,
    plot: Plot = None,
) -> None:
    """Solve a hold'em endgame from the river or the turn, with exact best responses over all hands.

    The exit code is 1 if a limit ended the run before the target was reached.

    Example: firstlight games river subgame4.txt --target 1 --out river.npz
    """
    from firstlight.games import RiverSolver

    if out:
        writable(out, ".npz")
    if plot:
        writable(plot, *FORMATS)
    solver = RiverSolver.from_libratus(endgame, stack=stack, bets=_bet_sizes(bets), big_blind=big_blind, method=method)
    solution = solver.run(iterations, target=target, seconds=_limit(target, iterations, seconds))
    lowest, highest = solution.value_bounds
    board, nodes = solution.game.board, solution.game.n_nodes
    hands = " × ".join(f"{len(hands):,}" for hands in solution.game.hands)
    lines = {
        "endgame": f"board {board}, {nodes:,} betting nodes, {hands} hands",
        "method": f"{method}, {solution.iterations:,} iterations in {solution.seconds:.2f} s",
        "value to player 1": f"{solution.value:.6g} chips, proved to lie in [{lowest:.6g}, {highest:.6g}]",
        "exploitability": f"{solution.exploitability:.4g} mbb per hand",
    }
    if out:
        solution.save(out)
        lines["strategies"] = str(out)
    if plot:
        save_picture(plot, solution.plot)
        lines["picture"] = str(plot)
    print_fields(lines)
    _check_reached(solution.exploitability, target, " mbb")


def _bet_sizes(bets: str) -> list[float | str]:
    try:
        return [size if size == "allin" else float(size) for size in map(str.strip, bets.split(","))]
    except ValueError as error:
        raise InvalidInput(f"expected bet sizes such as 0.5,1,allin; got {bets!r}") from error


def _read_game(game: str, *, normalise: bool = False) -> "FlatGame":
    from firstlight.games import FlatGame

    path = Path(game)
    if path.suffix == ".efg":
        return FlatGame.from_efg(path, normalise=normalise)
    if path.suffix == ".npz":
        return FlatGame.load(path)
    if path.exists():
        raise InvalidInput(
            f"{game} is a file but no game: expected .efg or .npz; payoff tables go to: firstlight games matrix"
        )
    return FlatGame.from_openspiel(game)


def _average(averaging: str | float) -> str:
    return averaging if isinstance(averaging, str) else f"t^{averaging:g}"


def _count_sets(game: "FlatGame") -> int:
    return sum(len(sets) for sets in game.tree.information_sets)


def _limit(target: float | None, iterations: int | None, seconds: float | None) -> float | None:
    """Without any limit, or with a target that may be out of reach, stop after a minute."""
    return 60.0 if seconds is None and iterations is None else seconds


def _check_reached(exploitability: float, target: float | None, unit: str = "") -> None:
    if target is not None and exploitability > target:
        console(stderr=True).print(f"stopped before exploitability {target:g}{unit} was reached")
        raise typer.Exit(MISSED)


def _strategy(x) -> str:
    """Write a strategy for reading: its largest entries, by action."""
    largest = sorted(range(len(x)), key=lambda k: -x[k])[:12]
    shown = ", ".join(f"{k}: {x[k]:.4f}" for k in sorted(largest) if x[k] > 5e-5)
    return shown + (f" … of {len(x)} actions" if len(x) > 12 else "")
