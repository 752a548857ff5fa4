"""The exceptions of Firstlight that a caller may want to catch.

Each is also the built-in exception it refines, so ``except ValueError`` keeps working.
"""


class FirstlightError(Exception):
    """Base of every error raised on purpose by Firstlight; its text is one clear line."""


class InvalidInput(FirstlightError, ValueError):
    """What was given cannot be used; the text says what was expected and how to mend it."""


class MissingExtra(FirstlightError, ImportError):
    """An optional dependency is not installed; the text names the extra that brings it."""

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(f"{module} is not installed; run: pip install 'firstlight[{extra}]'")


class Interrupted(FirstlightError):
    """Long work was stopped by Ctrl-C; what was finished is kept.

    Attributes
    ----------
    finished : what was completed before the stop, by key.
    """

    def __init__(self, message: str, finished: dict | None = None) -> None:
        super().__init__(message)
        self.finished = finished or {}
