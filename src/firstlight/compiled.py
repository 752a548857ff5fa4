"""Numeric kernels compiled by numba, once per machine and version of the package.

``@compiled`` is ``numba.njit`` with the options every kernel of the package uses: the machine code is cached on disk,
and the interpreter lock is released so that kernels run side by side in threads.
"""

import inspect
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numba


def compiled(function: Callable) -> Callable:
    """Compile a kernel; annotations are for the reader, numba infers the types itself."""
    # Run-time type checkers (the tests use one) wrap functions; numba needs the bare one.
    kernel = inspect.unwrap(function)
    # Numba looks for changes in the kernel's own file alone, but kernels call kernels of other files. A name that
    # changes with any of those files keeps old machine code from being found.
    kernel.__qualname__ = f"{kernel.__qualname__}_{_fingerprint():08x}"
    return numba.njit(cache=True, nogil=True, error_model="numpy")(kernel)


@cache
def _fingerprint() -> int:
    """Return a checksum of all sources of the package in which kernels stand."""
    sources = (path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
    return zlib.crc32(b"".join(source for source in sources if b"@compiled" in source))
