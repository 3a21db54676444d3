"""One event at a time: words that are written anew for each, and its composites one by one.

The rule of this module: no array is made for an event, so that a call costs little more than the kernel's work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from workbench.core.domain import FLOAT, STR
from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.blocks import values_of
from workbench.executors.compiled.rules.memory import KernelMemory
from workbench.tesla.event_block import LargeNumberError
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet


class SingleEvent:
    """The words of one event.

    Parameters
    ----------
    width: attributes that a row has room for.
    code_of: the number of a text.

    Attributes
    ----------
    words: what the kernel is given.
    """

    def __init__(self, rules: RuleSet, width: int, code_of: Callable[[str], int]) -> None:
        self._code_of = code_of
        domains = [tuple(rules.declarations[name].domains.values()) for name in rules.events]
        self._types = {name: (type_, domains[type_]) for type_, name in enumerate(rules.events)}
        columns = np.full((len(domains), width + 1), records.NONE)
        for type_, found in enumerate(domains):
            columns[type_, : len(found)] = np.arange(len(found))
        columns[:, width] = width
        types, times, places = (records.zeros(1) for _ in range(3))
        words: Any = records.zeros(width + 1)
        self.words = records.EventWords(types, times, np.full(1, records.NONE), places, columns, words)
        self._type, self._time, self._cells = memoryview(types), memoryview(times), memoryview(words)
        self._reals: Any = memoryview(words.view(np.float64))

    def write(self, event: Occurrence) -> None:
        """Write an event.

        Raises
        ------
        LargeNumberError: a whole number has more than 64 bits, or a time too many for the kernel.
        """
        if not -records.FAR < event.time < records.FAR:
            raise LargeNumberError(f"the time {event.time} is too far from 0")
        self._type[0], domains = self._types[event.type]
        nulls = 0
        try:
            self._time[0] = event.time
            for k, (value, domain) in enumerate(zip(event.values, domains, strict=True)):
                if value is None:
                    nulls |= 1 << k
                elif domain == FLOAT:
                    self._reals[k] = value
                else:
                    self._cells[k] = self._code_of(value) if domain == STR else value
        except ValueError:
            raise LargeNumberError(f"a number of {event} has more than 64 bits") from None
        self._cells[-1] = nulls


def take_composites(memory: KernelMemory, texts: Mapping[int, str]) -> list[Occurrence]:
    """Take the composites of the output, of which there are few."""
    found = list[Occurrence]()
    rules, output, count = memory.rule_tables.plan.rules, memory.output, int(memory.state.outputs)
    memory.state.outputs = 0
    heads = (each[:count].tolist() for each in output[:5])
    for place, (type_, rule, time, order, nulls) in enumerate(zip(*heads, strict=True)):
        name, plan = rules.events[type_], memory.rule_tables.plan.plans[rule]
        domains = rules.declarations[name].domains.values()
        values = tuple(values_of(nulls, output.cells[:, place], domains, texts))
        sources = output.sources[place, : len(plan.event_slots)].tolist()
        found.append(Occurrence(name, time, values, order, tuple(sources), plan.rule.name))
    return found
