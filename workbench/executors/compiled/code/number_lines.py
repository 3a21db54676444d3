"""Lines of whole numbers and truth values, by machine code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING, Any

from workbench.events.files import is_stream

if TYPE_CHECKING:
    from workbench.executors.compiled.code.machine import MachineLoop

LONGEST = 21
"""Bytes of the longest number of 64 bits, and of what stands behind it."""
PATIENCE = 20_000
"""Rows before which no machine code is asked for."""


def number_lines(backend: object, output: str | Path) -> NumberLines | None:
    """What writes the columns that come out of a backend, where it makes such; nobody waits for machine code."""
    return NumberLines() if hasattr(backend, "feed") and not is_stream(output) else None


class NumberLines:
    """Writes rows of whole numbers and truth values as CSV, for who writes many."""

    def __init__(self) -> None:
        self._rows = 0
        self._kept = local()

    @cached_property
    def _loop(self) -> MachineLoop:
        from workbench.executors.compiled.code.machine import MachineLoop
        from workbench.executors.compiled.code.objects import code_of

        return MachineLoop(code_of("workbench.executors.compiled.code.number_loops", "write_lines"))

    def __call__(self, columns: Sequence[Any], between: str) -> memoryview | None:
        """The lines of columns, arrays of 64 bits or bools; None as long as there are few rows.

        They are there until the same thread calls it again.
        """
        import numpy as np

        self._rows += len(columns[0])
        if self._rows <= PATIENCE:
            return None
        truths = np.array([column.dtype == np.bool_ for column in columns])
        words = [column.astype(np.int64, copy=False) for column in columns]
        numbers = words[0][None] if len(words) == 1 else np.stack(words)
        room: Any = getattr(self._kept, "room", None)
        if room is None or len(room) < LONGEST * numbers.size:
            room = self._kept.room = np.empty(LONGEST * numbers.size, np.uint8)
        return memoryview(room)[: self._loop(numbers, truths, ord(between), room)]
