"""Columns of events on a device: rings, filled from blocks of events while what was there before is looked at.

The rule of this module: a ring has room for all events of its type that a window may reach, so what is overwritten
nobody asks for. An event's number is how many came before it from outside.

Source: Cugola and Margara, 5.3: columns hold copies of events, side by side, and copies go on while kernels run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from workbench.executors.compiled.rules.layout import NULLS, NUMBER, TIME, VALUES
from workbench.executors.compiled.rules.lines import RuleConstants
from workbench.executors.compiled.rules_gpu.device import RuleDevice
from workbench.executors.compiled.rules_gpu.device_lines import DeviceLines
from workbench.executors.compiled.rules_gpu.kernels import adopt_kernel
from workbench.tesla.engines.set_plan import PlannedColumn, SetPlan
from workbench.tesla.event_block import EventBlock

Rows = Any
"""Words of rows, those with the same meaning side by side: int64[width, n]."""


class StagedBlock(NamedTuple):
    """The rows of a block by their types, and what tells that they have arrived."""

    rows: Mapping[str, StagedRows]
    arrived: Any


class StagedRows(NamedTuple):
    """Rows of a type that have just come: their words on the device, for how many there is room, how many there are."""

    words: Any
    size: int
    events: int


@dataclass
class DeviceColumn:
    """A column.

    Attributes
    ----------
    place: its number on the device.
    reach: how long before the present events are asked for.
    words, size: its ring; how many events have come lies on the device.
    """

    place: int
    type: str
    width: int
    reach: int
    kernel: Any
    constants: Any
    reals: Any
    words: Any = None
    size: int = 0


class DeviceColumns:
    """The columns of some rules on one device.

    Parameters
    ----------
    asked: the places of the rules. places: `RulePlacement.columns`.
    facts: how many rows columns of facts have.
    """

    def __init__(
        self, plan: SetPlan, asked: Collection[int], places: Mapping[int, int], facts: Mapping[int, int],
        device: RuleDevice,
    ) -> None:  # fmt: skip
        self.plan, self.device = plan, device
        counts: Any = np.zeros(max(places.values(), default=0) + 1, np.int64)
        for place, count in facts.items():
            counts[place] = count
        self.counts = device.sent(counts)
        self.columns: dict[int, DeviceColumn] = {}
        self.beyond = device.sent(np.zeros(1, np.int64))
        for planned in plan.columns:
            users = [rule for rule, _ in planned.users if rule in asked]
            if users and not planned.fact:
                column = self._column(planned, places[planned.number])
                column.reach = max(column.reach, planned.reach or 0)
        triggers = {plan.plans[rule].trigger.type for rule in asked}
        self.types = sorted({each.type for each in self.columns.values()} | triggers)
        self._times: dict[str, Any] = dict.fromkeys(self.types, np.zeros(0, np.int64))
        self._turn = 0
        self._pinned: dict[Any, Any] = {}

    def _column(self, planned: PlannedColumn, place: int) -> DeviceColumn:
        if place not in self.columns:
            declared = self.plan.rules.declarations[planned.type]
            constants = RuleConstants()
            code = DeviceLines(constants, "return 2")
            code.own = "0"
            code.require(planned.filters, "return 0")
            sent = self.device.sent(constant_words(constants))
            kernel, width = adopt_kernel(code.text()), VALUES + len(declared.attributes)
            words, reals = self.device.column(width), sent.view(np.float64)
            self.columns[place] = DeviceColumn(place, planned.type, width, 0, kernel, sent, reals, words, 1)
        return self.columns[place]

    # --- what comes -------------------------------------------------------------------------------------

    def stage(self, block: EventBlock, first: int) -> StagedBlock:
        """Begin to copy the events of a block, the first of which has this number."""
        self.device.uploads.synchronize()  # what is copied from is written anew
        self._turn ^= 1
        found = {}
        for name in self.types:
            rows = rows_of(block, name, self.plan, first)
            size = 1 << max(rows.shape[1] - 1, 0).bit_length()
            pinned, there = self._staging(name, len(rows) * size)
            pinned[: len(rows) * size].reshape(len(rows), size)[:, : rows.shape[1]] = rows
            if rows.shape[1]:
                there[: len(rows) * size].copy_to_device(pinned[: len(rows) * size], stream=self.device.uploads)
            found[name] = StagedRows(there, size, rows.shape[1])
        arrived = cuda.event()
        arrived.record(stream=self.device.uploads)
        return StagedBlock(found, arrived)

    def _staging(self, name: str, words: int) -> tuple[Any, Any]:
        """Memory for what is copied, by turns."""
        key = name, self._turn
        there = self.device.room(key, words)
        if key not in self._pinned or len(self._pinned[key]) < len(there):
            self._pinned[key] = cuda.pinned_array(len(there), np.int64)
        return self._pinned[key], there

    def adopt(self, staged: StagedBlock, block: EventBlock) -> None:
        """Put what has been staged on top of its columns."""
        device = self.device
        staged.arrived.wait(stream=device.stream)
        for column in self.columns.values():
            rows = staged.rows[column.type]
            self._see_room(column, block, rows.events)
            if rows.events:
                blocks = -(-rows.events // device.threads)
                numbers = device.room("N", blocks + 1)
                self._start(
                    column, 0, rows.events, rows.events, rows.words, rows.size, column.words, column.size, numbers
                )
                device.scan(numbers, blocks)
                self._start(
                    column, 1, rows.events, rows.events, rows.words, rows.size, column.words, column.size, numbers
                )
                self._start(column, 2, 1, blocks, rows.words, rows.size, column.words, column.size, numbers)
        for name in self.types:
            mine = block.types == block.names.index(name)
            self._times[name] = np.concatenate([self._times[name], block.times[mine]])

    def _start(self, column: DeviceColumn, mode: int, threads: int, n: int, words: Any, size: int, to: Any, room: int,
               numbers: Any) -> None:  # fmt: skip
        self.device.start(
            column.kernel, threads, mode, n, column.width, column.place, 0, column.constants, column.reals, words, size,
            to, room, numbers, self.counts, self.beyond,
        )  # fmt: skip

    def _see_room(self, column: DeviceColumn, block: EventBlock, more: int) -> None:
        """Room for all that the windows of what comes may reach."""
        oldest = int(block.times[0]) - column.reach
        times = self._times[column.type]
        there = len(times) - int(np.searchsorted(times, oldest))
        if there + more > column.size:
            size = 1 << max(there + more - 1, 15).bit_length()
            longer = self.device.column(size * column.width)
            if column.size:
                self._start(
                    column, 3, column.size, 0, column.words, column.size, longer, size, self.device.room("N", 1)
                )
            column.words, column.size = longer, size

    def forget(self, now: int) -> None:
        """What no window reaches any more is not counted."""
        for name in self.types:
            reach = max((each.reach for each in self.columns.values() if each.type == name), default=0)
            self._times[name] = self._times[name][np.searchsorted(self._times[name], now - reach) :]


def rows_of(block: EventBlock, name: str, plan: SetPlan, first: int) -> Rows:
    """The events of a type in a block, as rows."""
    y = block.names.index(name)
    mine = np.flatnonzero(block.types == y)
    places = block.places[mine]
    found: Any = np.zeros((VALUES + len(plan.rules.declarations[name].attributes), len(mine)), np.int64)
    found[TIME], found[NUMBER] = block.times[mine], mine + first
    for at, column in enumerate(block.columns[y]):
        values = column.values[places]
        found[VALUES + at] = values.view(np.int64) if values.dtype == np.float64 else values
        if column.nulls is not None:
            found[NULLS] |= column.nulls[places].astype(np.int64) << at
    return found


def constant_words(constants: RuleConstants) -> Any:
    """Constants as words."""
    found: Any = np.zeros(len(constants.values) + 1, np.int64)
    for i, value in enumerate(constants.values):
        if isinstance(value, float):
            found[i : i + 1].view(np.float64)[0] = value
        else:
            found[i] = value
    return found
