"""Consoles for the command line: colour and live progress on a terminal, plain whole lines in a pipe."""

from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """Open a rich console on standard output, or on standard error."""
    made = Console(stderr=stderr, highlight=False)
    if not made.is_terminal:
        made.width = 1000  # rich assumes 80 columns and would cut tables that are piped into a file
    return made
