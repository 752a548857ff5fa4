"""The commands that belong to no system: list, verify, and the options of the root."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from firstlight import __version__, catalogue
from firstlight.cli.systems import Firstlight
from firstlight.errors import Interrupted

app = typer.Typer(cls=Firstlight, no_args_is_help=True, pretty_exceptions_enable=False)


def _print_version(asked: bool) -> bool:
    if asked:
        typer.echo(f"firstlight {__version__}")
        raise typer.Exit
    return asked


@app.callback()
def options(
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[bool, Option("--debug", help="Show where an error of ours comes from.")] = False,
) -> None:
    """New methods of scientific machine learning, each inside the tool its users already have, each answer checked."""


@app.command("list")
def list_systems() -> None:
    """List all systems: what each does, inside which tool, and whether it works today."""
    from rich import box
    from rich.table import Table

    from firstlight.terminal import console

    table = Table("system", "what you get", "works inside", "today", box=box.SIMPLE_HEAD)
    for system in sorted(catalogue.SYSTEMS, key=lambda system: not system.works):
        today, style = ("works", "") if system.works else ("planned", "dim")
        table.add_row(system.path, system.summary, system.host, today, style=style)
    console().print(table)


def _complete(incomplete: str) -> list[tuple[str, str]]:
    return [(system.path, system.summary) for system in catalogue.working() if system.path.startswith(incomplete)]


@app.command("verify")
def verify_claims(
    systems: Annotated[
        list[str] | None, Argument(metavar="SYSTEM", autocompletion=_complete, help="Without any: all that work.")
    ] = None,
    full: Annotated[bool, Option("--full", help="Run the papers' full protocols; may take hours.")] = False,
    html: Annotated[Path | None, Option(help="Write the report as one web page.")] = None,
    json: Annotated[Path | None, Option(help="Write the report as data.")] = None,
    seed: Annotated[int, Option(min=0, help="Seed of everything random.")] = 0,
) -> None:
    """Measure the claims of systems against their baselines on this machine.

    The exit code is 0 if all claims hold, 1 if one is missed or fails, 2 if the command line cannot be used.

    Example: firstlight verify games --html report.html
    """
    from firstlight.files import writable, write_text
    from firstlight.terminal import console
    from firstlight.verify import verify

    for path in filter(None, (html, json)):
        writable(path)
    report = verify(*(systems or ()), full=full, seed=seed)
    screen = console()
    for table in report.tables():
        screen.print(table)
    how = f"{'full' if full else 'quick'} run, seed {seed}, {report.seconds:,.1f} s"
    screen.print(f"[bold {'green' if report.holds else 'red'}]{report.verdict}[/] ({how})")
    if html:
        write_text(html, report.to_html())
    if json:
        write_text(json, report.to_json())
    if report.stopped:
        raise Interrupted(f"stopped after {len(report.outcomes)} of {report.asked} claims")
    if not report.holds:
        raise typer.Exit(1)
