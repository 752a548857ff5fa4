"""Settings shared by the tests of the long-range Ising benchmark."""

import jaxtyping
import pytest


@pytest.fixture
def unchecked_shapes():
    """Let arguments of wrong type or shape through to the checks of the package, past those that only tests have."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
