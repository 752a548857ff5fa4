"""What a system claims, and what was measured.

A claim is a function that measures itself against a peer in the same run::

    @claim("At p = 1 the closed form equals optimal transport", source="Tran et al. 2026, thm 3.3")
    def equals_exact_transport(budget: Budget) -> Measurement:
        ...
        return Measurement("largest relative error", error, bar=1e-12, better="lower", peer="ot.emd2")

Claims of a system stand in its ``claims.py``, in the order in which the report prints them; the
docstring of a claim is printed too, as the account of how it was measured.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Literal, TypeVar

from firstlight.errors import InvalidInput
from firstlight.terminal import readable

T = TypeVar("T")


@dataclass(frozen=True)
class Budget:
    """How much work a claim may do: a quick form for everybody, a full form for the paper's protocol.

    Attributes
    ----------
    full : run the full protocol.
    seed : seed of everything random in the claim.
    """

    full: bool = False
    seed: int = 0

    def pick(self, quick: T, full: T) -> T:
        """Return the first value in a quick run, the second in a full one."""
        return full if self.full else quick


@dataclass(frozen=True)
class Measurement:
    """What a claim measured, against which bar and which peer.

    Attributes
    ----------
    quantity : what was measured, in words.
    value : the measured figure.
    bar : the figure that decides; for ``better="within"`` the pair (lowest, highest).
    better : which side of the bar is good: "lower", "higher" or "within".
    unit : unit of `value` and `bar`.
    peer : the tool or method measured beside ours in the same run.
    peer_value : the same quantity of the peer, where there is one.
    rows : a table behind the figure, one mapping per row with the same keys.
    plot : draws the picture behind the figure on matplotlib axes.

    Raises
    ------
    InvalidInput
        If the bar does not fit `better`.
    """

    quantity: str
    value: float | int
    bar: float | int | tuple[float | int, float | int]
    better: Literal["lower", "higher", "within"] = "lower"
    unit: str = ""
    peer: str = ""
    peer_value: float | int | None = None
    rows: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    plot: Callable[[Any], Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.bar, tuple) != (self.better == "within"):
            raise InvalidInput(f"a pair as bar goes with better='within', got {self.bar!r} and {self.better!r}")

    @property
    def holds(self) -> bool:
        """Whether the value is finite and on the good side of the bar, the bar itself included."""
        if isinstance(self.bar, tuple):
            lowest, highest = self.bar
        else:
            lowest, highest = (-math.inf, self.bar) if self.better == "lower" else (self.bar, math.inf)
        return bool(math.isfinite(self.value) and lowest <= self.value <= highest)

    def text(self, *figures: float | int) -> str:
        """Write figures of this quantity for reading, with their unit: ``12,346 it/s``, ``2.3e-5 … 2.9e-5``."""
        space = "" if self.unit in ("", "×", "%") else " "
        return " … ".join(map(readable, figures)) + space + self.unit

    @property
    def bar_text(self) -> str:
        """The bar with its unit and its direction: ``≤ 1e-12``, ``≥ 100×``, ``2.3e-5 … 2.9e-5``."""
        if isinstance(self.bar, tuple):
            return self.text(*self.bar)
        return ("≤" if self.better == "lower" else "≥") + "\N{NO-BREAK SPACE}" + self.text(self.bar)


@dataclass(frozen=True)
class Claim:
    """A sentence that can be measured.

    Attributes
    ----------
    statement : the sentence, as the report prints it.
    source : where it was claimed: a paper's theorem or table, or "ours".
    measure : measures the claim within a budget.
    """

    statement: str
    source: str
    measure: Callable[[Budget], Measurement]

    @property
    def protocol(self) -> str:
        """How it is measured: the docstring of the measuring function."""
        return inspect.getdoc(self.measure) or ""

    def __call__(self, budget: Budget) -> Measurement:
        """Measure the claim."""
        return self.measure(budget)


def claim(statement: str, *, source: str) -> Callable[[Callable[[Budget], Measurement]], Claim]:
    """Turn a measuring function into a `Claim`."""
    return lambda measure: Claim(statement, source, measure)


def claims_in(module: ModuleType) -> list[Claim]:
    """Return the claims of a module in the order of its text."""
    return [thing for thing in vars(module).values() if isinstance(thing, Claim)]
