"""The columns of the rows of a pipeline on Spark, and the position in the log of a row with an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError, WorkbenchError
from workbench.executors.keyed import keyless, locate_error
from workbench.executors.spark.error_transfer import PlacedError


@dataclass(frozen=True)
class Layout:
    """The columns of the rows for a worker: the key, the order columns, and one per input.

    Attributes
    ----------
    key: the user's name of the key.
    orders: the user's names of the order columns; the position in the log is used after them.
    position_columns: the last order columns: a row's `file`, or the `task` that has read it (or neither, where there
            is only one), and its number in the file or task, `row`.
    parts: number of columns for `orders`; None if each is one column.
    """

    key: str
    orders: tuple[str, ...]
    position_columns: tuple[str, ...] = ()
    parts: int | None = None

    @property
    def named(self) -> int:
        """Number of columns for the user's order columns."""
        return len(self.orders) if self.parts is None else self.parts

    @property
    def texts(self) -> int | None:
        """The order column with a text, unless a number orders the row; None where only one kind is possible."""
        return 2 if self.position_columns and self.named == 3 else None

    @property
    def width(self) -> int:
        """Number of order columns."""
        return self.named + len(self.position_columns)

    def format_order(self, order: Sequence[Any]) -> str:
        """Format the order columns of a row as the user wrote them."""
        if self.texts is not None:  # a text, an integer, or a float
            number, whole, text = order[:3]
            return text or str(whole if whole == number else number)
        return ", ".join(map(str, order[: self.named]))

    def names(self, inputs: int) -> list[str]:
        """Return the names of the columns."""
        return ["key", *(f"o{i}" for i in range(self.width)), *(f"x{i}" for i in range(inputs))]

    def located(self, key: Any, order: Sequence[Any] | None, error: WorkbenchError) -> Exception:
        """Return an error with its row, ready to be raised.

        Parameters
        ----------
        key: the key of the row; None where it has none.
        order: the order columns of the row; None for the end of the key's streams.
        """
        if not self.position_columns:
            return error if key is None else error.retold(f"key {key!r}: {error.what}", where=error.where)
        group, row = (0, None) if order is None else (0, *order[-len(self.position_columns) :])[-2:]
        if self.position_columns[0] != "file":
            return PlacedError(error, (None if key is None else repr(key), group, row))
        file = group or "the log"
        return keyless(self.key, row, file) if key is None else locate_error(self.key, repr(key), row, file, error)


def make_mixed_error(layout: Layout, key: Any, number: Sequence[Any], text: Sequence[Any], before: str) -> Exception:
    """Return the error for two rows of a key, one ordered by a number (found `before`), one by a text."""
    what = f"'{layout.orders[0]}' is a text here ({layout.format_order(text)}), and a number {before}"
    hint = "numbers and texts cannot be ordered together: correct the column, or order by another one"
    return layout.located(key, text, InputError(f"{what} ({layout.format_order(number)})", hint=hint))
