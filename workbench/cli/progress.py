"""The progress display: a line that is updated on a terminal, a new line every 5 s elsewhere.

The rule of this module: one thread reports for a whole command. A nested `Progress` has a text of its own, and deeper
code only reports its phase (`budget.phase`) and its progress (`budget.report`).
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import ClassVar, Self

from workbench.budget import uninterruptible, work
from workbench.errors import printable

_DELAY_SECONDS = 1.0
"""Seconds until the line appears on a terminal."""
_INTERVAL = 0.2
"""Seconds between two updates of that line."""
BETWEEN_LINES = 5.0
"""Seconds before the first line without a terminal, and between two."""


class Progress:
    """A display of a text (or the result of a function), the phase and the elapsed seconds on stderr, if a terminal.

    Parameters
    ----------
    text: the text; None: only the texts of nested displays are shown on a terminal.
    always: whether to print lines also without a terminal.
    quiet: whether to show nothing, including nested displays.
    limit: the time limit in seconds.
    """

    _open: ClassVar[list[Progress]] = []
    """The open displays, outermost first."""

    def __init__(
        self,
        text: str | Callable[[], str] | None = "",
        *,
        always: bool = False,
        quiet: bool = False,
        limit: float | None = None,
    ) -> None:
        self.text, self.always, self.quiet, self.limit = text, always, quiet, limit
        self._work = work()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._shown = False

    @uninterruptible
    def __enter__(self) -> Self:
        self._open.append(self)
        if self._open[0] is self and not self.quiet and (self.always or sys.stderr.isatty()):
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def clear(self) -> None:
        """Clear the line, so that other output can be printed; the line comes back by itself."""
        if any(each._shown for each in (self, *self._open)):
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _show(self) -> None:
        begin, terminal = time.monotonic(), sys.stderr.isatty()
        wait = _DELAY_SECONDS if terminal else BETWEEN_LINES
        while not self._done.wait(wait):
            label = next((each.text for each in reversed(self._open) if each.text is not None), None)
            if terminal and label is None:
                continue  # other output may be printed at this moment
            text = label() if callable(label) else label or ""
            seconds = f"{time.monotonic() - begin:.0f} s{f' of {self.limit:g} s' if self.limit else ''}"
            line = _join(printable(text), printable(self._work.describe()), seconds, terminal)
            self._shown, wait = terminal, _INTERVAL if terminal else BETWEEN_LINES
            sys.stderr.write(f"\r\x1b[K{line}" if terminal else f"workbench: {line}\n")
            sys.stderr.flush()

    @uninterruptible
    def __exit__(self, *_: object) -> None:
        self._open.remove(self)
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        self.clear()


def _join(text: str, doing: str, seconds: str, terminal: bool) -> str:
    """Join the parts of a line; on a terminal cut it to the width, the text before the phase."""
    if terminal:
        free = shutil.get_terminal_size().columns - len(seconds) - 3
        doing = doing[: max(free, 0)]
        text = text if len(text) + len(doing) + 2 <= free else text[: max(free - len(doing) - 3, 0)] + "…" * bool(text)
    return f"{', '.join(filter(None, [text, doing]))}  {seconds}"
