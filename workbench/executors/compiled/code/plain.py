"""Generated loops run by Python itself: for short runs, for locating errors, and for testing the generator.

The rule of this module: a loop here computes with Python's integers, so overflow of 64 bits is decided exactly, and a
block with an overflow writes nothing.
"""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workbench.core import floats
from workbench.core.named_operators import FLOAT_OPERATORS
from workbench.core.ops import OVERFLOWS
from workbench.executors.compiled.code import ir
from workbench.executors.compiled.code.printer import executable, print_function
from workbench.executors.compiled.lower import tables

SCOPE: Mapping[str, Any] = {op.name: op.exact for op in OVERFLOWS.values()} | {
    **{op.name: getattr(floats, op.name) for op in FLOAT_OPERATORS},  # their arguments are floats
    "int_same": operator.eq,
    "int_below": operator.lt,
    "int_above": operator.gt,
    "at": tables.at,
    "find": tables.find,
    "find_entry": tables.find_entry,
    "find_pair": tables.find_pair,
    "first_linked": tables.first_linked,
    "free": lambda _: None,
    "link_rows": tables.link_rows,
    "next_linked": tables.next_linked,
    "order_rows": tables.order_rows,
    "get_output_capacity": lambda output: output.capacity,
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


class PlainTable:
    """A two-dimensional array: its entries are Python numbers, and so are those of its rows."""

    def __init__(self, array: Any) -> None:
        self._array, self._entries = array, memoryview(array)

    def __getitem__(self, position: Any) -> Any:
        return self._entries[position] if isinstance(position, tuple) else memoryview(self._array[position])

    def __setitem__(self, position: tuple[int, int], value: Any) -> None:
        self._entries[position] = value


class PlainOutput(dict[int, Any]):
    """The writes of a loop to an output array, by index: entries that are not counted may be any numbers."""

    def __init__(self, array: Any) -> None:
        super().__init__()
        self.array = array

    @property
    def capacity(self) -> int:
        """The capacity of the output: its array has one entry more, which may be overwritten."""
        return len(self.array) - 1

    def write(self, first: int, last: int) -> None:
        """Write the entries with these indexes to the array."""
        self.array[first:last] = [self[index] for index in range(first, last)]


OUTPUT = re.compile(r"[yz](\d+)(_\d+)?")
"""The names of parameters that are output arrays, with the number of the output: see `body.output_vars`."""


class PlainLoop:
    """The function of a generated source, with the call interface of its compiled form."""

    def __init__(self, source: str) -> None:
        self._function = executable(source, SCOPE)
        names = list(inspect.signature(self._function).parameters)
        self._outputs = [
            (index, int(named[1])) for index, name in enumerate(names) if (named := OUTPUT.fullmatch(name))
        ]
        self._counts = names.index("counts") if self._outputs else -1

    def __call__(self, *arguments: Any) -> bool | int:
        passed = list(map(_pass_argument, arguments))
        for index, _ in self._outputs:
            passed[index] = PlainOutput(arguments[index])
        before = [int(arguments[self._counts][j]) for _, j in self._outputs]
        try:
            result: bool | int = self._function(*passed)
        except (OverflowError, ValueError):  # a number that does not fit into an array
            return True
        if result is not True:
            for (index, j), first in zip(self._outputs, before, strict=True):
                passed[index].write(first, int(arguments[self._counts][j]))
        return result


def _pass_argument(argument: Any) -> Any:
    """Return an argument with Python numbers as entries."""
    axes = getattr(argument, "ndim", 0)
    return memoryview(argument) if axes == 1 else PlainTable(argument) if axes else argument
