"""Numeric kernels compiled by numba, once per machine.

``@compiled`` is ``numba.njit`` with the options every kernel of the package uses: the machine code is
cached on disk, and the interpreter lock is released so that kernels run side by side in threads.
"""

import inspect
from collections.abc import Callable

import numba


def compiled(function: Callable) -> Callable:
    """Compile a kernel; annotations are for the reader, numba infers the types itself."""
    # Run-time type checkers (the tests use one) wrap functions; numba needs the bare one.
    return numba.njit(cache=True, nogil=True, error_model="numpy")(inspect.unwrap(function))
