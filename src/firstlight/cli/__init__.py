"""The command line: ``firstlight list``, ``firstlight verify``, and the verbs of each system.

A thin skin over the public API that imports a system only when one of its verbs is called.
"""

import io
import sys

from firstlight.cli.root import app


def main() -> None:
    """Run the command line on the arguments of this process; the entry point of ``firstlight``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a tick must not end a run where it cannot be shown
    app(prog_name="firstlight")
