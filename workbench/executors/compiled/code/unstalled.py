"""Loops that do not wait for their machine code."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.executors.compiled.code.machine import MachineLoop


class UnstalledLoop:
    """A loop that Python runs until its machine code is there, which a thread fetches.

    Parameters
    ----------
    source: makes the source of its machine code.
    plain: the same loop in Python.
    """

    def __init__(self, source: Callable[[], str], plain: Callable[..., Any]) -> None:
        self._source, self._plain = source, plain
        self._thread: Thread | None = None

    @cached_property
    def code(self) -> MachineLoop:
        """Its machine code."""
        from workbench.executors.compiled.code.machine import MachineLoop

        return MachineLoop(self._source())

    @property
    def waits(self) -> bool:
        """Whether Python runs it still."""
        return self._thread is None or self._thread.is_alive()

    def __call__(self, *given: Any) -> Any:
        if self._thread is None:
            self._thread = Thread(target=lambda: self.code.fetch(given), daemon=True)
            self._thread.start()
        return (self._plain if self._thread.is_alive() else self.code)(*given)  # where no code is kept, it is made here
