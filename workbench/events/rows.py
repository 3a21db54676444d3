"""Rows of a log, whatever its format: what readers make of them, and what writers are given.

The rule of this module: nothing is guessed and nothing skipped. Which columns a log may have, and how an event that
cannot be read is refused, is said here, for a file that is read as a whole as for the lines that a worker of Spark's
gets. Those know where a row lies, and add the place to the error (`WorkbenchError.retold`).
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from workbench.core.domain import Value
from workbench.core.program import Ported
from workbench.errors import DomainError, InputError, did_you_mean
from workbench.events.columns import Where, has_array, to_column
from workbench.events.values import Words

if TYPE_CHECKING:
    from workbench.events.arrays import EventArray

InputEvents = dict[str, Value]
"""What a row holds: input name to event."""


@dataclass(frozen=True)
class LogBlock:
    """Successive rows of a log.

    Attributes
    ----------
    steps: reads them one by one, with every rule and message that there is.
    columns: reads the events of every input, where each cell is plainly an event or none; None where rows must tell.
    """

    steps: Callable[[], Iterator[InputEvents]]
    columns: Callable[[], Mapping[str, EventArray] | None] = lambda: None


class RowReader(ABC):
    """Makes steps of the rows of one file.

    Parameters
    ----------
    program: its inputs are the columns.
    ignore: whether columns that are no inputs are passed over; else they are refused.
    """

    def __init__(self, program: Ported, *, ignore: bool = False) -> None:
        self.kind, self.domains, self.ignore = program.ports.kind, program.ports.domains, ignore
        self.only = next(iter(self.domains)) if len(self.domains) == 1 else None

    @abstractmethod
    def rows(self, lines: io.TextIOWrapper, shown: str) -> Iterator[tuple[int, Any]]:
        """The rows as they lie in a file (its bytes are `lines.buffer`), with their numbers; `shown` is its name."""

    @abstractmethod
    def step(self, row: Any) -> InputEvents | None:
        """The events of a row; None for one that is no step.

        Raises
        ------
        InputError: it cannot be read; where it lies is left to be added.
        """

    def located(self, rows: Iterator[tuple[int, Any]], shown: str) -> Iterator[InputEvents]:
        """The steps of these rows.

        Raises
        ------
        InputError: one cannot be read, and where it lies.
        """
        for number, row in rows:
            try:
                step = self.step(row)
            except InputError as error:
                raise error.retold(where=f"{shown}:{number}") from error
            if step is not None:
                yield step

    def blocks(self, lines: io.TextIOWrapper, shown: str) -> Iterator[LogBlock]:
        """All rows of a file, in blocks of columns where the format has them and all inputs have arrays."""
        yield LogBlock(lambda: self.located(self.rows(lines, shown), shown))

    @property
    def plain(self) -> bool:
        """Whether the events of all inputs have arrays, or are keys."""
        return bool(self.domains) and all(has_array(d) or isinstance(d, Words) for d in self.domains.values())

    def unknown(self, what: str, name: str) -> InputError:
        """The error for a column or a key that is no input."""
        return InputError(f"{what} '{name}' is no input of the {self.kind}", hint=did_you_mean(name, self.domains))

    def held(self, header: Sequence[str]) -> list[str | None]:
        """The input that each column of these names holds, None for one that is passed over.

        Raises
        ------
        InputError: one is missing, is there twice, or is no input.
        """
        for name in header:
            if name not in self.domains and not self.ignore:
                raise self.unknown("column", name)
            if name in self.domains and header.count(name) > 1:
                raise InputError(f"two columns are called '{name}'")
        for name in self.domains:
            if name not in header:
                hint = f"{did_you_mean(name, header)}; an input without events has an empty column"
                raise InputError(f"there is no column '{name}'", hint=hint)
        return [name if name in self.domains else None for name in header]


class LineReader(RowReader):
    """Rows that are lines of text, which are also read a column at a time."""

    @abstractmethod
    def values(self, name: str, rows: Sequence[Any], where: Where) -> Sequence[Value | None]:
        """The events of one input in rows as they are read; None is no event.

        Raises
        ------
        InputError: one cannot be read, and `where` it lies.
        """

    def column(self, name: str, rows: Sequence[Any], where: Where) -> Any:
        """The same as an Arrow array.

        Raises
        ------
        InputError: also for a number that is none of a column's.
        """
        values = self.values(name, rows, where)
        try:
            return to_column(self.domains[name], values, f"input '{name}'", where)
        except DomainError as error:
            raise InputError(error.what, where=error.where, hint=error.hint) from error


class RowWriter(ABC):
    """Writes what the outputs of a program show, one row (or object) a step; see `write_events`."""

    def __init__(self, program: Ported, stream: IO[str], *, idle: bool = False, shown: str = "") -> None:
        self.domains, self.stream, self.idle, self.shown = program.ports.shown, stream, idle, shown

    def write(self, outputs: Mapping[str, Sequence[Value]]) -> None:
        """The events of one step; several events of one output (the end of a stream) take several rows."""
        rows = max((len(values) for values in outputs.values()), default=0)
        for i in range(max(rows, 1) if self.idle else rows):
            self.row({name: values[i] for name, values in outputs.items() if i < len(values)})

    @abstractmethod
    def row(self, events: Mapping[str, Value]) -> None:
        """A row more."""

    def table(self, table: Any) -> None:
        """The rows of an Arrow table (`arrays.shown_table`)."""
        for row in table.to_pylist():
            self.row({name: value for name, value in row.items() if value is not None})

    def end(self) -> None:  # noqa: B027 - most have nothing to do
        """What is still to be written, when no error has come between."""

    def close(self) -> None:  # noqa: B027
        """Let go of the file, with or without an error."""
