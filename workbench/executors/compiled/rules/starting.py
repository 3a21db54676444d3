"""When the kernel runs as machine code: once there is some, and events pay for it.

The rule of this module: nobody waits for a compiler. What has been compiled once is loaded; else another process
compiles it, and keeps it for later ones, too.
"""

from __future__ import annotations

import sys
from functools import cache
from threading import Thread

from workbench.executors.compiled.rules.compiling import NOTICE, compile_aside, is_kept

SHORT_RUN, LONG_RUN = 1024, 4096
"""Events that do not pay for machine code that is loaded, and for such that is compiled."""


def is_startable(events: int) -> bool:
    """Whether there is machine code of the kernel that so many events pay for; else it is compiled, if they do."""
    if events <= SHORT_RUN:
        return False
    if is_kept():
        return True
    return events > LONG_RUN and not _compilation().is_alive()  # where nothing is kept, this process will compile it


@cache
def _compilation() -> Thread:
    """The thread that waits for the compiler, once in this process."""
    print(f"{NOTICE}; cdp computes meanwhile", file=sys.stderr, flush=True)
    made = Thread(target=compile_aside, daemon=True)
    made.start()
    return made
