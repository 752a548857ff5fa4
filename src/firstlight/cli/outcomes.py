"""The table that ``firstlight verify`` prints of one system."""

from rich import box
from rich.table import Table
from rich.text import Text

from firstlight.catalogue import System
from firstlight.report import Outcome


def outcomes_table(system: System, outcomes: list[Outcome]) -> Table:
    """Lay out what was measured of one system; long names fold, so that a narrow terminal shows them whole."""
    title = f"{system.path}: {system.summary}"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("holds", no_wrap=True)
    for heading in ("claim", "measured", "bar", "peer"):
        table.add_column(heading, overflow="fold")
    table.add_column("s", justify="right")
    for outcome in outcomes:
        sentence, figures = outcome.claim.statement, ("", "", "")
        if measured := outcome.measurement:
            figures = (measured.value_text, measured.bar_text, measured.peer_text)
        else:
            sentence += f"\n{outcome.failure}"
        mark = Text(f"✓ {outcome.verdict}", "green") if outcome.holds else Text(f"✗ {outcome.verdict}", "bold red")
        # Text, because rich would read the brackets of a sentence as markup.
        table.add_row(mark, *map(Text, (sentence, *figures)), f"{outcome.seconds:.1f}")
    return table
