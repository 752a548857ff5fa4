"""Settings shared by all tests."""

import signal
import sys
import textwrap

import pytest
from hypothesis import HealthCheck, settings

import firstlight
from firstlight import catalogue

# The first call of a compiled kernel takes seconds; that is no sign of a slow property.
settings.register_profile("firstlight", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("firstlight")

# A shell has its background jobs ignore Ctrl-C, and with them all that they start; some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def build_system(tmp_path, monkeypatch):
    """Build small systems on disk, real packages under ``firstlight``, that take the place of the catalogue's."""
    monkeypatch.setattr(firstlight, "__path__", [*firstlight.__path__, str(tmp_path)])
    monkeypatch.setattr(catalogue, "SYSTEMS", ())
    loaded = set(sys.modules)

    def build(path: str, *, works: bool = True, **modules: str) -> catalogue.System:
        folder = tmp_path.joinpath(*path.split("."))
        folder.mkdir(parents=True)
        for name, text in {"__init__": "", **modules}.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        system = catalogue.System(path, f"what {path} gives", "NumPy", "a paper", works=works)
        monkeypatch.setattr(catalogue, "SYSTEMS", (*catalogue.SYSTEMS, system))
        return system

    yield build
    for name in set(sys.modules) - loaded:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
