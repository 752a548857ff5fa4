"""The command line's output: colour and live progress on a terminal, plain whole lines in a pipe."""

from collections.abc import Mapping

from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """Open a rich console on standard output, or on standard error."""
    made = Console(stderr=stderr, highlight=False)
    if not made.is_terminal:
        made.width = 1000  # rich assumes 80 columns and would cut tables that are piped into a file
    return made


def print_fields(fields: Mapping[str, str]) -> None:
    """Print results one per line, their names in a column.

    >>> print_fields({"value": "0.25", "standard error": "0.01"})
    value           0.25
    standard error  0.01
    """
    width = max(map(len, fields))
    for name, text in fields.items():
        print(f"{name:{width}}  {text}")
