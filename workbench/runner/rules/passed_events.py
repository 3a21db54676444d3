"""Write events of a log among the composites: the types that `--pass` names.

The rule of this module: all events that a run publishes have one total order, in which an event comes before its
effects. What the clock causes before an event has an earlier time; the effects of an event have its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from workbench.errors import InputError, did_you_mean
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet


def check_passed(rules: RuleSet, types: Iterable[str]) -> tuple[str, ...]:
    """Return the types of events to pass on, without duplicates; InputError with a suggestion for undeclared ones."""
    for name in types:
        if name not in rules.events:
            raise InputError(
                f"there are no events of type '{name}': --pass {name}", hint=did_you_mean(name, rules.events)
            )
    return tuple(dict.fromkeys(types))


class PassedEvents:
    """Puts events of some types among the composites of an engine.

    Parameters
    ----------
    engine: runs the rules.
    """

    def __init__(self, engine: Any, types: Iterable[str]) -> None:
        self._engine, self._types = engine, frozenset(types)
        self._count = 0
        """The number of events so far, composites included."""

    def save(self) -> bytes:
        """Return the number of events so far."""
        return self._count.to_bytes(8, "little")

    def restore(self, state: bytes) -> bytes:
        """Restore what `save` has returned, and return the rest of the state."""
        self._count = int.from_bytes(state[:8], "little")
        return state[8:]

    def process(self, event: Occurrence) -> list[Occurrence]:
        """Return the composites that the clock causes, then the event, if it is passed on, then its composites."""
        output: list[Occurrence] = self._engine.process(event)
        count = len(output)
        if event.type in self._types:
            before = sum(each.time < event.time for each in output)
            output.insert(before, replace(event, number=self._count + before))
        self._count += 1 + count
        return output

    def advance(self, time: int) -> list[Occurrence]:
        """Return the composites that the clock causes up to a time."""
        composites: list[Occurrence] = self._engine.advance(time)
        self._count += len(composites)
        return composites

    def of_block(self, block: EventBlock, numbers: Sequence[int], *, failed: bool) -> EventBlock:
        """Return the events of a block that are passed on, with their numbers.

        Parameters
        ----------
        numbers: the numbers of the composites that the block has caused.
        failed: whether an event failed; then the events before the last composite are passed on.
        """
        import numpy as np

        first_number, self._count = self._count, self._count + len(block) + len(numbers)
        composite: Any = np.zeros(self._count - first_number, bool)
        composite[np.asarray(numbers, np.int64) - first_number] = True
        event_numbers = first_number + (~composite).nonzero()[0]
        types = [block.names.index(name) for name in self._types if name in block.names]
        mask = np.isin(block.types, types)
        if failed:
            mask &= event_numbers < (numbers[-1] if len(numbers) else first_number)
        return replace(block.take(mask.nonzero()[0]), numbers=event_numbers[mask])
