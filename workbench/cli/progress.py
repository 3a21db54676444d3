"""A line on the terminal while something takes more than a second."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import Self

from workbench.budget import work
from workbench.errors import printable

_PATIENCE = 1.0
_INTERVAL = 0.2


class Progress:
    """Shows a text, or what a function returns, the phase and the elapsed seconds on stderr, if it is a terminal.

    Parameters
    ----------
    always: whether also where it is none, in lines one below the other.
    """

    def __init__(self, text: str | Callable[[], str] = "", *, always: bool = False) -> None:
        self.text, self.always = text, always
        self._work = work()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._shown = False

    def __enter__(self) -> Self:
        if self.always or sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def clear(self) -> None:
        """Take the line away, so that something else can be printed; it comes back by itself."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _show(self) -> None:
        begin = time.monotonic()
        wait, terminal = _PATIENCE, sys.stderr.isatty()
        while not self._done.wait(wait):
            self._shown, wait = terminal, _INTERVAL if terminal else _PATIENCE
            width = shutil.get_terminal_size().columns - 12
            told = self.text() if callable(self.text) else self.text
            text = f"{told}, {self._work.phase}".removesuffix(", ").removeprefix(", ")
            line = f"{printable(text)[:width]}  {time.monotonic() - begin:.0f} s"
            sys.stderr.write(f"\r\x1b[K{line}" if terminal else f"{line}\n")
            sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        self.clear()
