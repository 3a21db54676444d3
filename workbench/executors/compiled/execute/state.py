"""The state of a compiled executor: arrays, of which tables grow.

The rule of this module: a list of arrays that has been copied or saved is a whole state, and can be put back after
tables have grown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.domain import FLOAT
from workbench.core.fields import FrozenMap, Tuple
from workbench.core.memory import KeyedArray
from workbench.core.term import Change, Term, leaves
from workbench.executors.compiled.code.loop import Shape
from workbench.executors.compiled.code.plain import copies
from workbench.executors.compiled.execute import columns
from workbench.executors.compiled.execute.observe import encode_any
from workbench.executors.compiled.lower import tables
from workbench.ir.system import System


class LoopArrays:
    """The arrays of the loops of a system: whole numbers, floats, and the memories."""

    def __init__(self, system: System, form: Shape) -> None:
        self.system, self.form = system, form
        self.arrays = [
            columns.empty(len(form.whole)),
            columns.empty(len(form.real), FLOAT),
            *(columns.zeros(size, domain) for _, domain, size, _ in form.memories),
        ]
        self._saved = copies(self.arrays)
        self._places = {name: 2 + i for i, (name, *_) in enumerate(form.memories)}

    def copy(self) -> list[Any]:
        """A copy of all arrays."""
        return copies(self.arrays)

    def reset(self) -> None:
        """The state before the first event."""
        first = [encode_any(v.domain, v.initial) for v in self.system.variables]
        self.arrays[0][:] = [first[i] for i in self.form.whole]
        self.arrays[1][:] = [first[i] for i in self.form.real]
        for (_, domain, _, blank), array in zip(self.form.memories, self.arrays[2:], strict=True):
            if blank:
                array[:] = encode_any(domain, domain.default)

    def save(self) -> list[Any]:
        """A copy, in arrays that the next one overwrites."""
        for position, (content, array) in enumerate(zip(self._saved, self.arrays, strict=True)):
            if len(content) != len(array):
                self._saved[position] = array.copy()
            else:
                content[:] = array
        return self._saved

    def restore(self, saved: Sequence[Any]) -> None:
        """Go back to a state."""
        for position, (array, content) in enumerate(zip(self.arrays, saved, strict=True)):
            if len(array) != len(content):  # a table that has grown since
                self.arrays[position] = content.copy()
            else:
                array[:] = content

    def array(self, column: Term) -> Any:
        """One array of a memory."""
        return self.arrays[self._places[column.name]]

    def number(self, variable: str) -> int:
        """The value of a variable that holds whole numbers."""
        position = [v.name for v in self.system.variables].index(variable)
        return int(self.arrays[0].item(self.form.whole.index(position)))

    def enlarge(self, state: Sequence[Any], filled: float) -> bool:
        """Whether some tables were filled that far, and now are larger; the rest of the state is then this one."""
        found, first = [], 2
        for memory in self.system.memories:
            after = first + len(memory.columns)
            if isinstance(memory.domain, KeyedArray) and tables.filled(self.arrays[first]) >= filled:
                found.append((memory.domain.fresh, slice(first, after)))
            first = after
        if found:
            self.restore(state)
        for fresh, place in found:
            domains = [domain for _, domain, *_ in self.form.memories[place.start - 2 : place.stop - 2]]
            flat = [encode_any(domain, value) for domain, value in zip(domains[2:], leaves(fresh), strict=False)]
            least = 4 * tables.size(self.arrays[place.start]) if filled == tables.FULL else 0
            self.arrays[place] = tables.enlarged(self.arrays[place], flat, least)
        return bool(found)

    def content(self, value: Any) -> Callable[[], Any] | None:
        """Gives the map that a table holds now, if this is the value of such a map."""
        if not isinstance(value, Change):
            return None
        used, present, *fields = (self.array(column).copy() for column in value.content.columns)
        there = used & present
        entry = Tuple((value.domain.key, value.domain.value))
        rows = columns.OutputColumn(entry, tuple(field[1:][there[1:]] for field in fields))
        return lambda: FrozenMap(rows.events())

    def to_bytes(self) -> bytes:
        """The length of each array (8 bytes), and the arrays, little endian."""
        head = b"".join(len(array).to_bytes(8, "little") for array in self.arrays)
        return head + b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in self.arrays)

    def read(self, data: bytes) -> bool:
        """Take the state that these bytes hold; whether they hold one."""
        start = 8 * len(self.arrays)
        sizes = [int.from_bytes(data[at : at + 8], "little") for at in range(0, start, 8)]
        if len(data) != start + sum(n * array.itemsize for n, array in zip(sizes, self.arrays, strict=True)):
            return False
        contents = []
        for size, array in zip(sizes, self.arrays, strict=True):
            contents.append(columns.from_bytes(data[start : start + size * array.itemsize], array.dtype))
            start += size * array.itemsize
        self.restore(contents)  # of other lengths than here where a table has grown
        return True
