"""Generated loops run by Python itself: for short runs, for locating errors, and for testing the generator.

The rule of this module: a loop here computes with Python's integers, so overflow of 64 bits is decided exactly, and a
block with an overflow writes nothing.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workbench.core import floats
from workbench.core.named_operators import FLOAT_OPERATORS
from workbench.core.ops import OVERFLOWS
from workbench.executors.compiled.code import ir
from workbench.executors.compiled.code.printer import executable, print_function
from workbench.executors.compiled.lower.shape import Shape
from workbench.executors.compiled.lower.tables import (
    find,
    find_entry,
    find_pair,
    first_linked,
    link_rows,
    next_linked,
    order_rows,
)


def check_index(position: Any) -> Any:
    """Check an index; machine code would read before the array where it is negative."""
    if position < 0:
        raise IndexError(f"generated code has an index of {position}")
    return position


SCOPE: Mapping[str, Any] = {op.name: op.exact for op in OVERFLOWS.values()} | {
    **{op.name: getattr(floats, op.name) for op in FLOAT_OPERATORS},  # their arguments are floats
    "int_same": operator.eq,
    "int_below": operator.lt,
    "int_above": operator.gt,
    "at": check_index,
    "find": find,
    "find_entry": find_entry,
    "find_pair": find_pair,
    "first_linked": first_linked,
    "free": lambda _: None,
    "link_rows": link_rows,
    "next_linked": next_linked,
    "order_rows": order_rows,
    "get_output_capacity": lambda _: sys.maxsize,
    "soon": lambda _, __: None,
}
"""The functions that generated code may call, in plain Python."""


def plain_function(function: ir.CodeFunction) -> Callable[..., Any]:
    """Compile a function of generated code for Python."""
    python_function: Callable[..., Any] = executable(print_function(function), SCOPE, function.name)
    return python_function


def copies(arrays: Iterable[Any]) -> list[Any]:
    """Copy each array."""
    return [array.copy() for array in arrays]


class PlainArray:
    """An array whose entries are read as Python numbers."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, position: int) -> Any:
        return self.array.item(position)

    def __setitem__(self, position: int, value: Any) -> None:
        self.array[position] = value


class PlainTable(PlainArray):
    """A two-dimensional array: its entries are Python numbers, its rows such arrays."""

    def __getitem__(self, position: Any) -> Any:
        return self.array.item(*position) if isinstance(position, tuple) else PlainArray(self.array[position])


class PlainLoop:
    """The function of a generated source, with the call interface of its compiled form.

    Parameters
    ----------
    form: the parameters of the loop.
    sparse: whether the inputs have columns of presence flags.
    """

    def __init__(self, source: str, form: Shape, *, sparse: bool) -> None:
        self._function, self._form, self._sparse = executable(source, SCOPE), form, sparse
        self._fields = len(form.owners) - len(form.results)

    def __call__(self, first: int, last: int, whole: Any, real: Any, counts: Any, *arrays: Any) -> bool:
        memories, inputs, written = self._form.split(arrays, sparse=self._sparse)
        owners = self._form.owners[: len(written)]
        numbers, floats, new_counts = whole.tolist(), real.tolist(), [0] * len(counts)
        lists: list[dict[int, Any]] = [{} for _ in written]
        try:
            if self._function(
                0, last - first, numbers, floats, new_counts, *map(PlainArray, memories),
                *(array[first:last].tolist() for array in inputs), *lists,
            ):  # fmt: skip
                whole[:] = numbers  # which record what had no room
                return True
            if self._wants_more(counts, new_counts, written):
                return True
            whole[:], real[:] = numbers, floats
        except OverflowError:  # a number that does not fit into an array
            return True
        for position, (j, array, entries) in enumerate(zip(owners, written, lists, strict=True)):
            start = counts[j]
            offset = first if position >= self._fields else 0
            array[start : start + new_counts[j]] = [
                entries[i] + offset if offset else entries[i] for i in range(new_counts[j])
            ]
        for j, number in enumerate(new_counts):
            counts[j] += number
        return False

    def _wants_more(self, counts: Any, new_counts: list[int], written: Sequence[Any]) -> bool:
        """Whether an output has too little room; then `counts` has the required sizes."""
        capacities = {j: len(array) for j, array in zip(self._form.owners, written[: self._fields], strict=False)}
        if all(counts[j] + new_counts[j] < size for j, size in capacities.items()):
            return False
        counts[:] += new_counts
        return True


class PlainKeys:
    """The function of a generated source whose state is a row for each key (`RowPerKey`)."""

    def __init__(self, source: str, form: Shape, *, sparse: bool) -> None:
        self._function, self._form, self._sparse = executable(source, SCOPE), form, sparse

    def __call__(self, part: int, parts: int, first: int, last: int, whole: Any, real: Any, *arrays: Any) -> int:
        counts, *rest, codes = arrays
        memories, inputs, written = self._form.split(rest, sparse=self._sparse)
        before = counts.tolist()
        entries: list[dict[int, Any]] = [{} for _ in written]  # uncounted entries are arbitrary
        stop = self._function(
            part, parts, first, last, PlainTable(whole), PlainTable(real), PlainArray(counts),
            *map(PlainTable, memories), *map(PlainArray, inputs), *entries, PlainArray(codes),
        )  # fmt: skip
        for j, array, column in zip(self._form.owners, written, entries, strict=True):
            array[before[j] : counts[j]] = [column[i] for i in range(before[j], counts[j])]
        return int(stop)
