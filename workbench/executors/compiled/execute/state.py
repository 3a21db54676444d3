"""The state of a compiled executor: arrays, among them growing tables.

The rule of this module: a copied or saved list of arrays is a whole state, and can be restored after tables have grown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from workbench.budget import spare_mb
from workbench.core.domain import FLOAT, Domain, Texts
from workbench.core.fields import FrozenMap, Map, Tuple, scalars
from workbench.core.memory import MAX_EVENTS, KeyedArray
from workbench.core.term import Change, Term, leaves
from workbench.errors import Overflow
from workbench.executors.compiled.code.numbers import encode_any
from workbench.executors.compiled.code.plain import copies
from workbench.executors.compiled.execute import columns, input_maps
from workbench.executors.compiled.execute.text_codes import TextCodes
from workbench.executors.compiled.lower import tables
from workbench.executors.compiled.lower.input_maps import MapHeap, MapNumber
from workbench.executors.compiled.lower.shape import Shape
from workbench.ir.ring_buffer import name_max_waited
from workbench.ir.system import Memory, System

COPIES = 4
"""Number of coexisting copies of the state: those before a piece and before a block of it, and the enlarged one."""


LARGE = 1 << 17
"""Minimum number of rows of a table that pays for compiling machine code."""

MAX_AGAIN = 1 << 15
"""Maximum number of rows by which a full table grows at once, so that steps are not repeated often."""


class EndlessQueue(NamedTuple):
    """The location of a queue without a capacity.

    Attributes
    ----------
    length, first, max_variable: the variables with its length, the offset of the oldest event, and the greatest
            length so far.
    array_slice: the arrays that hold the events.
    """

    name: str
    length: str
    first: str
    max_variable: str
    array_slice: slice


class LoopArrays:
    """The arrays of the loops of a system: integers, floats, and the memories."""

    def __init__(self, system: System, form: Shape, texts: TextCodes) -> None:
        self.system, self.form, self.texts = system, form, texts
        self.arrays = [
            columns.empty(len(form.whole)),
            columns.empty(len(form.real), FLOAT),
            *(columns.zeros(size, domain) for _, domain, size, _ in form.memories),
        ]
        self._saved, self._kept = copies(self.arrays), copies(self.arrays)
        memory_slices = list(_slice_memories(system))
        self._tables = [
            (memory.domain, here) for memory, here in memory_slices if isinstance(memory.domain, KeyedArray)
        ]
        self._keys = {here.start + 1 + k for table, here in self._tables for k in range(table.words)}
        """The arrays of table keys: a used row keeps its key, so they need no copy for a rollback."""
        self.endless = list(_endless(system))
        self._filled = {each.name: 0 for each in self.endless}
        """The queues without a capacity, and the number of steps after which they were last seen empty."""
        self._array_indices = {name: 2 + i for i, (name, *_) in enumerate(form.memories)}
        self._used, self._filling = dict[int, int](), dict[int, float]()
        self._heaps = {memory.domain.of: here for memory, here in memory_slices if isinstance(memory.domain, MapHeap)}
        """The arrays of input maps, for each map type."""
        texts.maps.laid = self._laid

    def copy(self) -> list[Any]:
        """Return a copy of all arrays."""
        return copies(self.arrays)

    def _laid(self, of: Map) -> int:
        return len(self.arrays[self._heaps[of].start]) - 2 if of in self._heaps else 0

    def lay_maps(self) -> None:
        """Append new input maps to the stored ones."""
        for of, indices in self._heaps.items():
            arrays = self.texts.maps.take_arrays(of, self.arrays[indices])
            if arrays is not None:
                self.arrays[indices] = arrays

    def forget_maps(self) -> None:
        """Keep only the maps whose numbers are in the state."""
        for of, indices in self._heaps.items():
            whole = [at for at, i in enumerate(self.form.whole) if _holds(self.system.variables[i].domain, of)]
            memories = zip(self.form.memories, self.arrays[2:], strict=True)
            numbers = self.arrays[0][whole]
            holders = [numbers, *(array for (_, domain, *_), array in memories if _holds(domain, of))]
            self.arrays[indices] = input_maps.only(self.arrays[indices], holders)
            self.arrays[0][whole] = numbers

    def reset(self) -> None:
        """Return to the state before the first event."""
        first = [encode_any(v.domain, v.initial) for v in self.system.variables]
        self.arrays[0][:] = [first[i] for i in self.form.whole]
        self.arrays[1][:] = [first[i] for i in self.form.real]
        for (_, domain, _, blank), array in zip(self.form.memories, self.arrays[2:], strict=True):
            if blank:
                array[:] = encode_any(domain, domain.default)
        for indices in self._heaps.values():
            self.arrays[indices] = input_maps.empty(self.arrays[indices])

    def save(self) -> list[Any]:
        """Copy the state into arrays that the next call overwrites; keys of unused rows are not kept."""
        return self._put_into(self._saved)

    def keep(self) -> list[Any]:
        """Copy the state as `save` does, into other arrays."""
        return self._put_into(self._kept)

    def _put_into(self, saved: list[Any]) -> list[Any]:
        for position, (content, array) in enumerate(zip(saved, self.arrays, strict=True)):
            if position in self._keys:
                saved[position] = array
            elif len(content) != len(array):
                saved[position] = array.copy()
            else:
                content[:] = array
        return saved

    def restore(self, saved: Sequence[Any]) -> None:
        """Restore a state."""
        for position, (array, content) in enumerate(zip(self.arrays, saved, strict=True)):
            if len(array) != len(content):  # a table that has grown since
                own = position in self._keys and any(content is each[position] for each in (self._saved, self._kept))
                self.arrays[position] = content if own else content.copy()
            elif array is not content:
                array[:] = content

    def numbers(self) -> dict[str, Any]:
        """Return the value of each variable of the system, by name."""
        numbers = (*self.arrays[0].tolist(), *self.arrays[1].tolist())
        pairs = zip((*self.form.whole, *self.form.real), numbers, strict=True)
        return {self.system.variables[i].name: number for i, number in pairs}

    def named(self) -> dict[str, Any]:
        """Return the arrays of the memories, by name."""
        return dict(zip((name for name, *_ in self.form.memories), self.arrays[2:], strict=True))

    def put(self, numbers: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Set the variables and the arrays of memories that are named."""
        for array, indices in zip(self.arrays, (self.form.whole, self.form.real), strict=False):
            named = (self.system.variables[i].name for i in indices)
            array[:] = [numbers.get(name, now) for name, now in zip(named, array.tolist(), strict=True)]
        self.restore([*self.arrays[:2], *(arrays.get(name, array) for name, array in self.named().items())])

    def array(self, column: Term) -> Any:
        """Return an array of a memory."""
        return self.arrays[self._array_indices[column.name]]

    def number(self, variable: str) -> int:
        """Return the value of an integer variable."""
        position = [v.name for v in self.system.variables].index(variable)
        return int(self.arrays[0].item(self.form.whole.index(position)))

    def lengthen(self, state: Sequence[Any], step: int) -> bool:
        """Enlarge the queues that were too short, and restore the rest of `state`; return whether there were any.

        Raises
        ------
        Overflow: there is too little memory; names the first step in which that may have happened.
        """
        short = [
            each for each in self.endless if self.number(each.max_variable) > len(self.arrays[each.array_slice][0])
        ]
        if short:
            self.restore(state)
        for each in short:
            arrays = self.arrays[each.array_slice]
            self._check_memory(each, arrays, step)
            size, waiting = len(arrays[0]), self.number(each.length)
            indices: Any = self.number(each.first) + np.arange(waiting)
            for position, array in enumerate(arrays, each.array_slice.start):
                self.arrays[position] = np.zeros(2 * size, array.dtype)
                self.arrays[position][indices & 2 * size - 1] = array[indices & size - 1]
        return bool(short)

    def _check_memory(self, queue: EndlessQueue, arrays: Sequence[Any], step: int) -> None:
        """Refuse to enlarge the arrays of a queue where memory is too small."""
        megabytes = COPIES * 2 * sum(array.nbytes for array in arrays) / 2**20
        if megabytes <= spare_mb():
            return
        since = self._filled[queue.name]
        raise Overflow(
            f"step {step}: queue '{queue.name}' of {self.system.kind} {self.system.name} is out of memory: more than"
            f" {len(arrays[0])} events wait in it, which has not been seen empty since step {since}, and for twice as"
            f" many {megabytes:.0f} MB would be needed",
            hint="`workbench buffers FILE` shows whether it has a bound; "
            f"`capacity queue({queue.name}) = ...` sets one",
            queue=queue.name,
        ).at(step=step)

    def look(self, step: int, *, first: bool = False) -> None:
        """Note which queues are empty after this step; on `first`, treat all as empty."""
        for each in self.endless:
            if first or not self.number(each.length):
                self._filled[each.name] = step

    def enlarge(self, state: Sequence[Any], filled: float, steps: int = 0) -> bool:
        """Enlarge tables with a load of at least `filled`, and restore the rest of `state`; return whether any were.

        Parameters
        ----------
        steps: number of steps to repeat if a table was full: some tables get space for a row per step.
        """
        filled_by = {indices.start: tables.measure_load(self.arrays[indices.start]) for _, indices in self._tables}
        least_filled = filled
        if filled == tables.FULL:  # the others have space
            least_filled = max(filled, tables.CROWDED * max(filled_by.values(), default=0.0))
        crowded_tables = [
            (table, indices) for table, indices in self._tables if filled_by[indices.start] >= least_filled
        ]
        if crowded_tables:
            self.restore(state)
        for table, indices in crowded_tables:
            domains = [domain for _, domain, *_ in self.form.memories[indices.start - 2 : indices.stop - 2]]
            rest = zip(domains[1 + table.words :], leaves(table.fresh), strict=False)
            flat = [encode_any(domain, value) for domain, value in rest]
            least = (
                max(4 * tables.size(self.arrays[indices.start]), min(steps, MAX_AGAIN)) if filled == tables.FULL else 0
            )
            large = tables.size(self.arrays[indices.start]) >= LARGE
            self.arrays[indices] = tables.enlarge_table(
                self.arrays[indices], flat, least, table.words, columns.find_free_rows if large else None
            )
        return bool(crowded_tables)

    def grow(self, steps: int) -> None:
        """Enlarge tables that are crowded after these steps, and measure the fill rate of each."""
        before, self._used = self._used, self._rows()
        self._filling = {at: max(0, now - before.get(at, 0)) / steps for at, now in self._used.items()}
        if self.enlarge(self.arrays, tables.CROWDED):
            self._used = self._rows()

    def _rows(self) -> dict[int, int]:
        """Return the number of used rows of each table, by its first array."""
        return {indices.start: int(np.count_nonzero(self.arrays[indices.start])) for _, indices in self._tables}

    def fitting(self) -> int:
        """Return the number of steps for which tables have space, at the present fill rate: a full table is slow."""
        steps = tables.AT_FIRST if self._tables and not self._filling else MAX_EVENTS
        for at, filling in self._filling.items():
            free = tables.FAST * tables.size(self.arrays[at]) - self._used[at]
            steps = min(steps, max(tables.AT_FIRST, int(free / filling) if filling else MAX_EVENTS))
        return steps

    def content(self, value: Any) -> Callable[[], Any] | None:
        """Return a function that builds the present map of a table; None where the value is not a map in a table."""
        if not isinstance(value, Change):
            return None
        used, present, *fields = (self.array(column).copy() for column in value.content.columns)
        there = used & present
        entry = Tuple((value.domain.key, value.domain.value))
        arrays, read = [field[1:][there[1:]] for field in fields], self.texts.reader()
        parts = [part for _, part in scalars(entry)]
        return lambda: FrozenMap(columns.OutputColumn(entry, columns.readable(parts, arrays, read)).events())

    def to_bytes(self) -> bytes:
        """Return the length of each array (8 bytes), and the arrays, little endian; then their texts, a JSON list."""
        head = b"".join(len(array).to_bytes(8, "little") for array in self.arrays)
        held = self.texts_held()
        texts = json.dumps(self.texts.select_texts(held)).encode() if held else b""
        return head + b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in self.arrays) + texts

    def texts_held(self) -> list[Any]:
        """Return the codes of texts in the state, in arrays."""
        domains = {i: v.domain for i, v in enumerate(self.system.variables)}
        whole = [at for at, i in enumerate(self.form.whole) if isinstance(domains[i], Texts)]
        tables = zip(self.form.memories, self.arrays[2:], strict=True)
        arrays = [array for (_, domain, *_), array in tables if isinstance(domain, Texts)]
        return [self.arrays[0][whole], *arrays] if whole else arrays

    def texts_used(self) -> int:
        """Return a lower bound on the number of different texts: the keys of a table are different."""
        used = [
            self._used.get(indices.start, 0)
            for table, indices in self._tables
            if table.words == 1 and isinstance(self.form.memories[indices.start - 1][1], Texts)
        ]
        return max(used, default=0)

    def read(self, data: bytes) -> bool:
        """Restore the state from these bytes; return whether they hold one."""
        start = 8 * len(self.arrays)
        sizes = [int.from_bytes(data[at : at + 8], "little") for at in range(0, start, 8)]
        end = start + sum(n * array.itemsize for n, array in zip(sizes, self.arrays, strict=True))
        if len(data) != end and not self.texts_held():
            return False
        contents = []
        for size, array in zip(sizes, self.arrays, strict=True):
            own = data[start : start + size * array.itemsize]
            contents.append(np.frombuffer(own, array.dtype.newbyteorder("<")).astype(array.dtype))
            start += size * array.itemsize
        if data[end:]:
            self.texts.put(json.loads(data[end:]))
        self.restore(contents)  # lengths differ where a table has grown
        return True


def _slice_memories(system: System) -> Iterator[tuple[Memory, slice]]:
    """Yield the memories, each with the slice of its arrays in a state."""
    start = 2
    for memory in system.memories:
        yield memory, slice(start, start := start + len(memory.columns))


def _holds(domain: Domain, of: Map) -> bool:
    return isinstance(domain, MapNumber) and domain.of == of


def _endless(system: System) -> Iterator[EndlessQueue]:
    """Yield the queues of a system that grow on demand."""
    for memory, indices in _slice_memories(system):
        if memory.domain.endless:
            instance, _, number = memory.name.rpartition(":events")
            queues = [name for name in system.queues if f"{name.rpartition('.')[0]}.queue" == instance]
            name = queues[int(number) - 1]
            length, first = f"{instance}:length{number}", f"{instance}:first{number}"
            yield EndlessQueue(name, length, first, name_max_waited(name), indices)
