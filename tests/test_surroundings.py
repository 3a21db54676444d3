"""Tests find the same surroundings, whoever starts them."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAID = """
import os, signal, time
from tests.surroundings import pin
pin()
print(*[signal.getsignal(n) == signal.SIG_IGN for n in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)])
print(oct(os.umask(0)), time.strftime("%H", time.gmtime(0)) == time.strftime("%H", time.localtime(0)))
print(os.environ["COLUMNS"], os.environ["LC_ALL"], "WORKBENCH_DEBUG" in os.environ)
print(os.access(os.path.expanduser("~"), os.W_OK))
"""


def test_surroundings_are_pinned() -> None:
    others = {
        "TZ": "America/St_Johns", "LC_ALL": "C", "COLUMNS": "40", "TERM": "dumb", "HOME": "/nonexistent",
        "WORKBENCH_DEBUG": "1",
    }  # fmt: skip
    started = "trap '' INT HUP TERM; umask 077; exec \"$@\""
    done = subprocess.run(
        ["sh", "-c", started, "sh", sys.executable, "-c", SAID],
        cwd=ROOT, env={**os.environ, **others, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["False False False", "0o22 True", "80 C.UTF-8 False", "True"]
