"""A program that Python runs, bit by bit, until there is machine code for it.

The rule of this module: what is made for later runs is made beside this one, by another process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Thread
from time import process_time
from typing import Any

from workbench.executors.compiled.code.machine import MachineLoop

FEW, SOME = 256, 4096
"""After so many events machine code is taken that has been kept, and after so many it is made."""
STRETCH = 16
"""Events that Python processes before it is seen whether there is machine code."""
SLOW = 0.5
"""Seconds of CPU time in Python after which machine code is made, however few the events are: each may cause much."""


class EarlyLoop:
    """The code of a program.

    Parameters
    ----------
    machine: its machine code.
    plain: the same as Python.
    code: whether there is machine code from the beginning, or never; None: when it is worth while.

    Attributes
    ----------
    loop: what runs.
    """

    def __init__(self, machine: Callable[[], MachineLoop], plain: Any, code: bool | None = None) -> None:
        self._machine, self._settled = machine, code is not None
        self.loop: Any = machine() if code else plain
        self._seen, self._spent, self._looked = 0, 0.0, False
        self._making: Thread | None = None

    def run(self, first: int, last: int, given: Sequence[Any]) -> int:
        """Process events from one place to before another, or some of them; what that ends with."""
        if not self._settled and (self._seen > FEW or self._spent > SLOW):
            self._choose((0, first, last, *given))
        behind = last if self._settled else min(last, first + STRETCH)
        self._seen += behind - first
        began = process_time()
        found: int = self.loop(0, first, behind, *given)
        self._spent += process_time() - began
        return found

    def _choose(self, given: Sequence[Any]) -> None:
        made = self._making is not None and not self._making.is_alive()
        machine = self._machine()
        if made or (not self._looked and machine.ready(given)):
            self.loop, self._settled = machine, True  # where no code is kept, it is made here
        elif (self._seen > SOME or self._spent > SLOW) and self._making is None:
            self._making = Thread(target=machine.fetch, args=(given,), daemon=True)
            self._making.start()
        self._looked = True
