"""Pictures of results as files, drawn without a display."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.files import written_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".png", ".svg", ".pdf")


def axes_or_new(ax: "Axes | None") -> "Axes":
    """Return the axes given, or new ones."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(layout="constrained")[1]
    return ax


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
