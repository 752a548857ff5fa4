"""Firstlight: new methods of scientific machine learning, each answer checked.

Every system works inside the tool its users already have and is imported when first asked for::

    import firstlight

    solution = firstlight.games.solve_matrix_game(payoffs)

``firstlight list`` on the command line shows all systems, ``firstlight verify`` measures their claims.
"""

from importlib import import_module
from types import ModuleType

__version__ = "0.1.0"


def __getattr__(name: str) -> ModuleType:
    """Import a field's package (``firstlight.games``) the first time it is named."""
    if name in __dir__():
        return import_module(f"firstlight.{name}")
    raise AttributeError(f"module 'firstlight' has no attribute {name!r}")


def __dir__() -> list[str]:
    from firstlight.catalogue import working

    return sorted({*globals(), *(system.field for system in working())})
