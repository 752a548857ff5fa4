"""The public face of the package: every name is there, and drawing spins loads no network library."""

import subprocess
import sys
from types import ModuleType

import pytest

from firstlight.graphs import ising


def test_every_public_name_is_there_and_no_module_hides_one():
    from firstlight.graphs.ising import claims  # which imports all modules

    assert claims
    found = {name: getattr(ising, name) for name in ising.__all__}
    assert not [name for name, value in found.items() if isinstance(value, ModuleType)]
    assert set(ising.__all__) <= set(dir(ising))
    with pytest.raises(AttributeError, match="no attribute 'LRIN'"):
        _ = ising.LRIN


def test_drawing_spins_and_reading_them_imports_no_torch():
    script = "import sys; from firstlight.graphs.ising import sample, generate; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
