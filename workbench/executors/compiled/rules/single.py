"""One event at a time into a compiled rule set: a row of input that is written anew for each.

The rule of this module: nothing is made for an event but what comes of it, so that a call costs little more than work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.core.domain import FLOAT, STR
from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.execute.text_codes import TextCodes
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.arrays import RuleArrays
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.tesla.occurrence import Occurrence

KINDS = {FLOAT: 1, STR: 2}
"""How values are written; the others are whole numbers already."""
MOST_TEXTS = 1 << 12
"""Texts whose numbers are kept at hand."""


class SingleEvents:
    """The input of one event.

    Attributes
    ----------
    given: the types, times and places of events, and where the columns of input lie.
    state: what `V` has, at hand.
    """

    def __init__(self, program: RuleProgram, memory: RuleArrays, texts: TextCodes) -> None:
        self._memory, self._texts = memory, texts
        count = int(memory.T[:, at.ATTRIBUTES].sum()) + 1
        words: Any = np.zeros(count, np.int64)
        nulls: Any = np.zeros(count, np.uint8)
        types: Any = np.zeros(1, np.uint16)
        times: Any = np.zeros(1, np.int64)
        places: Any = np.zeros(1, np.int64)
        columns: Any = np.zeros((count, 3), np.int64)
        columns[:, 0] = words.__array_interface__["data"][0] + 8 * np.arange(count)
        columns[:, 2] = nulls.__array_interface__["data"][0] + np.arange(count)
        self.given = (types, times, places, columns)
        self._held = words, nulls
        self._whole: Any = memoryview(words)
        self._real: Any = memoryview(words.view(np.float64))
        self._nulls, self._type, self._time = memoryview(nulls), memoryview(types), memoryview(times)
        domains = {name: program.plan.rules.declarations[name].domains.values() for name in program.plan.rules.events}
        self._of = {
            name: (
                y,
                [(int(memory.T[y, at.INPUT]) + n, KINDS.get(domain, 0)) for n, domain in enumerate(domains[name])],
            )
            for y, name in enumerate(domains)
        }
        self.state: Any = memoryview(memory.V)
        self._codes: dict[str, int] = {}
        self._call: Callable[[], int] | None = None

    def put(self, event: Occurrence) -> None:
        """Write an event.

        Raises
        ------
        ValueError: a whole number has more than 64 bits.
        """
        y, places = self._of[event.type]
        self._type[0], self._time[0] = y, event.time
        nulls = self._nulls
        for value, (m, kind) in zip(event.values, places, strict=True):
            if value is None:
                nulls[m] = 1
                continue
            nulls[m] = 0
            if kind == 0:
                self._whole[m] = value
            elif kind == 1:
                self._real[m] = value
            else:
                self._whole[m] = self._code(value)

    def _code(self, text: Any) -> int:
        found = self._codes.get(text)
        if found is None:
            (found,) = self._texts.put([text])
            if len(self._codes) >= MOST_TEXTS:
                self._codes.clear()
            self._codes[text] = found
        return found

    def run(self, loop: Any) -> int:
        """Process it; what that ends with."""
        if self._call is None:
            arguments = (0, 0, 1, *self.given, *self._memory.arrays())
            if not isinstance(loop, MachineLoop):
                found: int = loop(*arguments)
                return found
            self._call = loop.bound(*arguments)
        return self._call()

    def moved(self) -> None:
        """Arrays are elsewhere."""
        self._call = None
