"""The command `workbench`: it takes the signals that end it, and then imports what it does (`cli/command_line.py`).

The rule of this module: it imports next to nothing, so that the time is short in which Ctrl-C comes to Python, which
prints a traceback.
"""

from __future__ import annotations

import sys

from workbench import interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; the exit code. Without one this is the program, which may start processes."""
    if argv is None:
        interrupts.own()
    from workbench.cli.command_line import run

    return run(argv)


if __name__ == "__main__":
    sys.exit(main())
