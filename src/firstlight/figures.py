"""Figures drawn by matplotlib as SVG that stands inside a page and follows its colours, light or dark."""

import io
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib.style
from cycler import cycler
from matplotlib.figure import Figure

from firstlight.evidence import Measurement

WIDTH, HEIGHT = 4.4, 2.9  # inches; small, so that words stay legible on a phone

# Of the palette of Okabe and Ito (safe for the colour-blind) the hues that stand out from white and from near-black.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#808080", "#A6761D")

STYLE: dict[str, Any] = {
    "axes.grid": True,
    "axes.linewidth": 0.6,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.sans-serif": ["DejaVu Sans", "sans-serif"],
    "font.size": 9.0,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "path.simplify_threshold": 0.5,  # points nearer than half a pixel to the line are left out
    "svg.fonttype": "none",  # text stays text: small, selectable, in the page's font
}


def inline_svg(plot: Callable[[Any], Any], label: str, prefix: str) -> str:
    """Draw a figure as an ``<svg>`` element.

    Black is replaced by the page's text colour and white by its variable ``--card``, so that axes and
    words stay readable in dark mode.

    Parameters
    ----------
    plot : draws on the matplotlib axes it is given.
    label : what the figure shows, for screen readers.
    prefix : put before every id, so that figures of one page do not share any.
    """
    with matplotlib.style.context(["default", STYLE]):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        plot(figure.subplots())
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    drawing = file.getvalue()
    drawing = drawing[drawing.index(">", drawing.index("<svg")) + 1 :]
    drawing = re.sub(r"<(metadata|style)\b.*?</\1>|<!--.*?-->", "", drawing, flags=re.DOTALL)
    drawing = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", drawing)
    drawing = drawing.replace("#000000", "currentColor").replace("#ffffff", "var(--card)")
    drawing = re.sub(r"'DejaVu Sans'(, sans-serif)?", "inherit", drawing)
    drawing = re.sub(r' d="[^"]+"', _shortened, drawing)
    box = f"0 0 {72 * WIDTH:g} {72 * HEIGHT:g}"
    return f'<svg viewBox="{box}" role="img" aria-label="{escape(label)}" fill="currentColor">{drawing}'


def _shortened(path: re.Match) -> str:
    """Round a path's coordinates to a tenth of a point, far below what an eye can see."""
    return re.sub(r"(\.\d)\d+", r"\1", path[0]).replace("\n", " ")


@dataclass(frozen=True)
class Scale:
    """Where a measurement's figures stand on a line, in per cent of its length.

    Attributes
    ----------
    ours, peer : the measured value, and the peer's where there is one.
    bars : one bar, or two.
    good : the stretch in which the claim holds.
    logarithmic : whether equal distances are equal ratios.
    """

    ours: float
    peer: float | None
    bars: tuple[float, ...]
    good: tuple[float, float]
    logarithmic: bool


def scale_of(measured: Measurement) -> Scale | None:
    """Lay out a measurement, its bar and its peer on a line; None where a figure is not finite or all are equal."""
    bars = measured.bar if isinstance(measured.bar, tuple) else (measured.bar,)
    figures = [measured.value, *bars, *([] if measured.peer_value is None else [measured.peer_value])]
    if not all(map(math.isfinite, figures)) or min(figures) == max(figures):
        return None
    logarithmic = min(figures) > 0 and max(figures) > 30 * min(figures)
    place = math.log if logarithmic else float
    lowest, highest = place(min(figures)), place(max(figures))

    def per_cent(figure: float) -> float:
        return round(8 + 84 * (place(figure) - lowest) / (highest - lowest), 2)

    places = tuple(map(per_cent, bars))
    good = {"lower": (0.0, places[-1]), "higher": (places[0], 100.0), "within": (places[0], places[-1])}
    peer = None if measured.peer_value is None else per_cent(measured.peer_value)
    return Scale(per_cent(measured.value), peer, places, good[measured.better], logarithmic)
