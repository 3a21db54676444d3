"""The command `workbench`: it handles signals first, and then imports the command line (`cli/command_line.py`).

The rule of this module: it imports very little, to shorten the time in which Python handles Ctrl-C itself and
prints a traceback.
"""

from __future__ import annotations

import sys

from workbench import interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line, and return its exit code. Without arguments, run as the program, which may fork processes."""
    if argv is None:
        interrupts.own()
    from workbench.cli.command_line import run

    return run(argv)


if __name__ == "__main__":
    sys.exit(main())
