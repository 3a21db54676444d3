"""The keys of a log that come as columns, numbered in order of first arrival.

The rule of this module: a key is a value of a domain, and two rows have the same key if the values are equal, whether
they come as Python values or as columns; all NaNs are one key. Python numbers a few keys, machine code many, if it is
available.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from threading import RLock
from typing import Any, TypeVar, cast

import numpy as np

from workbench.core.domain import Domain, Reals, Texts, Value
from workbench.events.columns import has_array, text_array, to_column
from workbench.events.values import KeyTexts
from workbench.executors.keyed import Keys

Method = TypeVar("Method", bound=Callable[..., Any])
WARM_UP_ROWS = 20_000
"""Rows whose keys Python numbers before machine code does."""


def _lock_method(method: Method) -> Method:
    """Make a method run in one thread at a time."""

    @wraps(method)
    def alone(self: ColumnKeys, argument: Any) -> Any:
        with self._lock:
            return method(self, argument)

    return cast("Method", alone)


class ColumnKeys(Keys):
    """The keys of a log; one thread may number keys while another reads them.

    Parameters
    ----------
    domain: the domain of the keys.
    """

    def __init__(self, domain: Domain) -> None:
        super().__init__()
        self.domain = domain
        self._table: Any = None
        self._rows = 0
        self._lock = RLock()
        self._machine = isinstance(domain, KeyTexts) or (has_array(domain) and not isinstance(domain, Reals | Texts))

    def __len__(self) -> int:
        return super().__len__() if self._table is None else int(self._table.count)

    @_lock_method
    def number(self, value: Value) -> int:
        if self._table is not None:
            return int(self._table.codes(self._convert_column(self._column([value])))[0])
        return super().number(value)

    @_lock_method
    def number_values(self, values: Sequence[Value]) -> Any:
        """Return the numbers of keys, as an array."""
        if self._table is None or not values:
            return np.array([self.number(value) for value in values], np.int64)
        return self._table.codes(self._convert_column(self._column(values)))

    @_lock_method
    def numbers(self, column: Any) -> Any:
        """Return the numbers of keys, as an array.

        Parameters
        ----------
        column: an Arrow array of texts, a `TextColumn`, or an array of numbers, as `EventArray` has them.
        """
        if isinstance(self.domain, Texts) and not isinstance(self.domain, KeyTexts):
            indices, numbers = np.unique(column.numbers, return_index=True)
            known: Any = np.zeros(len(column.texts) + 1, np.int64)
            for index in indices[np.argsort(numbers)].tolist():
                known[index] = self.number(column.texts[index])
            return known[column.numbers]
        self._rows += len(column)
        if self._machine and self._table is None and self._rows > WARM_UP_ROWS:
            self._table = self._make_table()
        if self._table is not None:
            return self._table.codes(self._convert_column(column))
        return np.array([self.number(value) for value in self._list_keys(column)], np.int64)

    @_lock_method
    def values(self, numbers: Sequence[int]) -> list[Value]:
        if self._table is None:
            return super().values(numbers)
        from workbench.events.buffers import take_rows

        keys, indices = self._join_keys(), np.array(numbers, np.int64)
        return self._list_keys(take_rows(keys, indices) if isinstance(self.domain, KeyTexts) else keys[indices])

    @_lock_method
    def to_arrow(self, numbers: Any) -> Any:
        """Return the keys with these numbers, as an Arrow array."""
        from workbench.events.buffers import take_rows

        if self._table is None:
            return to_column(self.domain, [self._values[number] for number in numbers.tolist()], "the key")
        return take_rows(self.column(self._join_keys()), numbers)

    def column(self, column: Any) -> Any:
        """Convert a column of keys to an Arrow array, for output."""
        from workbench.events.buffers import numbers_to_arrow

        return column if isinstance(self.domain, KeyTexts) else numbers_to_arrow(self.domain, column)

    # --- by machine code ------------------------------------------------------------------------------------

    def _make_table(self) -> Any:
        from workbench.executors.compiled.code.hashing import TextTable, WordTable

        table = (TextTable if isinstance(self.domain, KeyTexts) else WordTable)()
        table.codes(self._convert_column(self._column(self._values)))
        self._numbers, self._values = {}, []
        return table

    def _convert_column(self, column: Any) -> Any:
        """Convert a column to the input of a table."""
        if not isinstance(self.domain, KeyTexts):
            return np.ascontiguousarray(column, np.int64)
        _, offsets, letters = column.buffers()
        starts = np.frombuffer(offsets or bytes(4), np.int32)[column.offset : column.offset + len(column) + 1]
        return starts[:-1], starts[1:], np.frombuffer(letters or b"", np.uint8)

    def _join_keys(self) -> Any:
        """Return the column of all keys."""
        import pyarrow as pa

        from workbench.executors.compiled.execute.columns import dtype

        keys = self._table.keys()
        if not isinstance(self.domain, KeyTexts):
            return keys.astype(dtype(self.domain))
        starts, letters = np.ascontiguousarray(keys[0]), keys[1]
        texts = pa.LargeStringArray.from_buffers(len(starts) - 1, pa.py_buffer(starts), pa.py_buffer(letters))
        return texts.cast(pa.string())

    # --- Python values ----------------------------------------------------------------------------------------

    def _column(self, values: Sequence[Value]) -> Any:
        """Convert keys to a column."""
        if isinstance(self.domain, KeyTexts):
            return text_array(values)
        from workbench.executors.compiled.execute.columns import column

        return column("key", self.domain, list(values)).fields[0]

    def _list_keys(self, column: Any) -> list[Value]:
        """Convert a column to keys."""
        if isinstance(self.domain, KeyTexts):
            keys: list[Value] = column.to_pylist()
            return keys
        from workbench.executors.compiled.execute.columns import OutputColumn

        return OutputColumn(self.domain, (column,)).events()
