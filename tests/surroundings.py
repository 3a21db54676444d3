"""What tests depend on and do not set themselves: signals, locale, time zone, umask, home, terminal.

Whoever starts them may have others: `nohup` ignores SIGHUP, a shell's background job SIGINT, and somebody debugs.
"""

import os
import signal
import tempfile
import time
from typing import Any

SIGNALS: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
    signal.SIGCHLD: signal.SIG_DFL,
}
SET = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "80", "LINES": "24", "TERM": "xterm"}
UNSET = [
    "FORCE_COLOR", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "PYTHONWARNINGS", "PYTHONIOENCODING", "PYTHONUTF8",
    "PYTHONOPTIMIZE", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "WORKBENCH_DEBUG", "LANGUAGE",
]  # fmt: skip


def pin() -> None:
    """Have them as tests expect them, in this process and those that it starts."""
    for number, handler in SIGNALS.items():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    os.umask(0o022)
    os.environ.update(SET)
    for name in UNSET:
        os.environ.pop(name, None)
    time.tzset()
    home = os.path.expanduser("~")
    if not os.access(home, os.W_OK):  # what is kept there saves time, so it is used where it can be
        os.environ["HOME"] = tempfile.mkdtemp(prefix="home-")
