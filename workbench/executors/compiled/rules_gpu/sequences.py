"""The sequences of a rule on a device: from the triggers of a stretch of events to the words of composites.

The rule of this module: sequences are in the order of what they mean, always: triggers as they come, of each the
candidates of the first step as they came, and so on. Where there is no room for those of all triggers, the triggers
are taken in two halves.

Source: Cugola and Margara, 5.3 (figure 6), 5.4 and 5.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench.executors.compiled.rules_gpu.columns import DeviceColumns, StagedRows, constant_words
from workbench.executors.compiled.rules_gpu.device import RuleDevice
from workbench.executors.compiled.rules_gpu.kernel_source import KernelSource
from workbench.executors.compiled.rules_gpu.kernels import common, rule_kernels

MOST_SEQUENCES = 1 << 22
"""Sequences that are looked at together; for more the triggers are halved."""


class TooManyError(Exception):
    """There are more sequences than are looked at together."""


class RuleSequences:
    """A rule on a device.

    Parameters
    ----------
    source: of its kernels. rule: its place.
    facts: by the number of a step that looks at facts, their rows in the order that is written, as many as a power
        of two says.
    most: sequences that are looked at together.
    """

    def __init__(
        self, source: KernelSource, rule: int, columns: DeviceColumns, facts: dict[int, Any], most: int = MOST_SEQUENCES
    ) -> None:
        self.source, self.rule, self.columns = source, rule, columns
        self.device: RuleDevice = columns.device
        self.most = self.device.rows(2 * source.rows + source.stride + 2, most)
        self.look, self.go_on = rule_kernels(source.text)
        words = constant_words(source.constants)
        self._constants = self.device.sent(words)
        self._reals = self._constants.view(np.float64)
        self._facts = {i: (self.device.sent(rows.ravel()), rows.shape[1]) for i, rows in facts.items()}
        self._gone = self.device.sent(np.full(1 << 12, -1, np.int64)) if source.consumes else self._constants
        self.beyond = self.device.sent(np.zeros(1, np.int64))
        self._side = 0

    # --- a stretch of events ----------------------------------------------------------------------------

    def composites(self, rows: StagedRows) -> Any:
        """The words of the composites of the staged triggers, a row each, in their order."""
        return self._between(rows, 0, rows.events)

    def triggers(self, rows: StagedRows) -> list[int]:
        """The places among the staged rows of those that trigger it."""
        sequences, count, _ = self._begun(rows, 0, rows.events)
        found: list[int] = self.device.words(sequences, 0, count).tolist()
        return found

    def of_one(self, rows: StagedRows, place: int) -> Any:
        """The composites of one row."""
        return self._between(rows, place, place + 1)

    def _between(self, rows: StagedRows, first: int, last: int) -> Any:
        try:
            return self._found(rows, first, last)
        except TooManyError:
            middle = (first + last) // 2
            return np.concatenate([self._between(rows, first, middle), self._between(rows, middle, last)])

    @property
    def failed(self) -> bool:
        """Whether a number has left 64 bits since this was asked last."""
        if self.device.word(self.beyond, 0):
            self.beyond = self.device.sent(np.zeros(1, np.int64))
            return True
        return False

    def consume(self, numbers: Any, span: int) -> None:
        """These events are selected no more; all that may be asked for lie among so many numbers."""
        if not len(numbers):
            return
        if span > len(self._gone):
            there = self._gone.copy_to_host()
            there = there[there >= 0]
            longer: Any = np.full(1 << span.bit_length(), -1, np.int64)
            longer[there & (len(longer) - 1)] = there
            self._gone = self.device.sent(longer)
        self.device.start(
            common("mark"), len(numbers), self.device.given("consumed", numbers), len(numbers), self._gone
        )

    # --- steps ------------------------------------------------------------------------------------------

    def _begun(self, rows: StagedRows, first: int, last: int) -> tuple[Any, int, int]:
        """The sequences that triggers begin: their words, how many there are, and for how many there is room."""
        source, device = self.source, self.device
        window: Any = np.zeros(source.rows, np.int64)
        window[source.low : source.low + 2] = first, last
        tiles = -(-(last - first) // device.threads)
        starts = device.given("tiles", np.array([0, tiles], np.int64))
        return self._spread(0, 1, rows, device.given("window", window), 1, 1, starts, tiles)

    def _found(self, rows: StagedRows, first: int, last: int) -> Any:
        source, device = self.source, self.device
        size = source.size + source.keys
        sequences, count, room = self._begun(rows, first, last)
        steps = len(source.steps)
        for i in range(steps):
            if not count:
                break
            self._add_up(i, count)
            starts = device.room("B", count + 1)
            device.start(self.go_on, count, *self._given(i, 0, rows, sequences, count, room, starts))
            device.scan(starts, count)
            if i + 1 == steps:
                break
            tiles = device.word(starts, count)
            if source.steps[i + 1].each:
                rest = (rows, sequences, count, room, starts, tiles)
                sequences, count, room = self._spread(i + 1, last - first, *rest)
            elif tiles:
                self._look(i + 1, 0, tiles, rows, sequences, count, room, starts)
        made = device.word(starts, count) if count else 0
        if not made:
            return np.zeros((0, size), np.int64)
        out = device.room("OUT", made * size)
        device.start(self.go_on, count, *self._given(steps, 0, rows, sequences, count, room, starts, out=out))
        return device.words(out, 0, made * size).reshape(made, size)

    def _add_up(self, i: int, count: int) -> None:
        """Round what has been added for a step."""
        each = self.source.steps[i]
        if each.total >= 0:
            values = self._values(count)
            kernel, given = common("total"), (each.total, self.source.stride, count)
            self.device.start(kernel, count, *given, values, values.view(np.float64), self.beyond)

    def _values(self, count: int) -> Any:
        """What is found or added for each sequence."""
        return self.device.room("A", self.source.stride * max(count, 1))

    def _spread(
        self, i: int, triggers: int, rows: StagedRows, sequences: Any, count: int, room: int, starts: Any, tiles: int
    ) -> tuple[Any, int, int]:
        """A sequence for each candidate that fits: they are counted, and then written where they belong."""
        device = self.device
        if not tiles:
            return sequences, 0, room
        numbers = device.room("N", tiles + 1)
        self._look(i, 0, tiles, rows, sequences, count, room, starts, numbers=numbers)
        device.scan(numbers, tiles)
        found = device.word(numbers, tiles)
        if found > self.most and triggers > 1:
            raise TooManyError
        self._side ^= 1
        longer = device.room(("S", self._side), self.source.rows * max(found, 1))
        if found:
            self._look(i, 1, tiles, rows, sequences, count, room, starts, numbers=numbers, longer=longer, other=found)
        return longer, found, found

    def _look(self, i: int, mode: int, tiles: int, *given: Any, **more: Any) -> None:
        device = self.device
        arguments = self._given(i, mode, *given, **more)
        self.look[min(tiles, device.blocks), device.threads, device.stream](*arguments)

    def _given(
        self, i: int, mode: int, rows: StagedRows, sequences: Any, count: int, room: int, starts: Any,
        numbers: Any = None, longer: Any = None, other: int = 0, out: Any = None,
    ) -> Iterator[Any]:  # fmt: skip
        """The arguments of a kernel: see `kernel_source.GIVEN`."""
        device, source, nothing = self.device, self.source, self._constants
        values = self._values(count)
        yield from (i, mode, count, room, other, device.threads, self.rule, 0, self._constants, self._reals)
        yield from (sequences, nothing if longer is None else longer, values, values.view(np.float64), starts)
        yield from (nothing if numbers is None else numbers, self.columns.counts, self.beyond)
        yield from (nothing if out is None else out, self._gone, rows.words, rows.size)
        for i in range(1, len(source.steps)):
            planned = source.steps[i].planned
            assert planned is not None
            if i in self._facts:
                yield from self._facts[i]
            else:
                column = self.columns.columns[source.places[planned.column]]
                yield from (column.words, column.size)
