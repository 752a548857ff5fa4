"""The exceptions of Firstlight that a caller may want to catch.

Each is also the built-in exception it refines, so ``except ValueError`` keeps working.
"""

from collections.abc import Mapping
from typing import Any


class FirstlightError(Exception):
    """Base of every error raised on purpose by Firstlight; its text is one clear line."""


class InvalidInput(FirstlightError, ValueError):
    """What was given cannot be used; the text says what was expected and how to mend it."""


class MissingExtra(FirstlightError, ImportError):
    """An optional dependency is not installed; the text names the extra that brings it, or itself if none does."""

    def __init__(self, module: str, extra: str | None = None) -> None:
        super().__init__(module, extra)  # the arguments themselves, from which it is rebuilt in another process

    def __str__(self) -> str:
        module, extra = self.args
        return f"{module} is not installed; run: pip install " + (f"'firstlight[{extra}]'" if extra else module)


class Interrupted(FirstlightError):
    """Long work was stopped before its end, mostly by Ctrl-C; `finished` holds what was completed, by key."""

    def __init__(self, message: str, finished: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.finished: Mapping[str, Any] = finished or {}
