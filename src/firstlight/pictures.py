"""Pictures of results as files, drawn without a display."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from firstlight.files import written_whole

FORMATS = (".png", ".svg", ".pdf")


def save_picture(path: str | Path, plot: Callable[[Any], Any], *, width: float = 6.0, height: float = 4.0) -> None:
    """Draw with ``plot(ax)``, as the methods of results do, and write the picture whole or not at all.

    Parameters
    ----------
    path : the file, whose ending is one of `FORMATS`.
    plot : draws on matplotlib axes.
    width, height : in inches.

    Raises
    ------
    InvalidInput
        If `path` is not writable.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    plot(figure.subplots())
    with written_whole(path) as partial:
        figure.savefig(partial, dpi=150)
