"""The command line's output: colour and live progress on a terminal, plain whole lines in a pipe."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat

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


def print_table(rows: Sequence[Mapping[str, Any]], title: str | None = None) -> None:
    """Print rows as a table, numbers for reading; a cell that a row lacks stays empty."""
    from rich import box
    from rich.table import Table

    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(*columns, title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*(_cell(row.get(name, "")) for name in columns))
    console().print(table)


def _cell(value: Any) -> str:
    number = isinstance(value, float | int) and not isinstance(value, bool)
    return readable(value) if number else str(value)


def readable(number: SupportsFloat) -> str:
    """Write a number for reading, to four significant digits.

    >>> [readable(x) for x in (0.25, 12345.6, 2.53e-5, 1.9e-4, 7, float("inf"))]
    ['0.25', '12,346', '2.53e-5', '1.9e-4', '7', '∞']
    """
    number = float(number)
    if not math.isfinite(number):
        return str(number).replace("inf", "∞")
    if number and not 1e-3 <= abs(number) < 1e7:
        digits, _, exponent = f"{number:.3e}".partition("e")
        return f"{float(digits):g}e{int(exponent)}"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"
