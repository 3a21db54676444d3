"""A program that runs once for each key of a log: the run that a row belongs to, and the sessions that step the runs.

The rule of this module: keys are numbered from 0 in order of arrival, and a row steps only the run of its own key.
Outputs come in the order of the rows that cause them; the end of the log ends the runs in the order of their keys.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from workbench.core.domain import Domain, Value
from workbench.core.program import Port, Ports
from workbench.errors import InputError, WorkbenchError, suggest_option
from workbench.events.batch import LogBatch, RowEvents
from workbench.executors.session import OutputEvents, Session, spread
from workbench.executors.snapshot import join_states, split_states


def locate_error(key: str, value: str, row: int | None, log: str, error: WorkbenchError) -> WorkbenchError:
    """Return the error with its place: a row, or the end of the log.

    Parameters
    ----------
    key, value: the column of keys, and the key as messages show it.
    row: the number of the row; None for the end.
    """
    location = f"the end of {log}" if row is None else f"row {row} of {log}"
    return error.retold(f"{key} {value}, {location}: {error.what}", where=error.where)


def keyless(key: str, row: int, log: str, others: Collection[str] = ()) -> InputError:
    """Return the error for a row without a key; `others` are columns of the log."""
    what = f"row {row} has no '{key}', so it belongs to no key"
    likely = suggest_option(key, others, "write --key NAME; otherwise add one, or leave out the row")
    return InputError(what, where=log, hint=likely or "add one, leave out the row, or name another column: --key NAME")


@dataclass(frozen=True)
class Partition:
    """The runs of a program, by the keys in a column of its log.

    Parameters
    ----------
    ports: the ports of the program.
    column: the name of the key column, which may also be an input.
    domain: the domain of keys, where the column is not an input.
    log: the name of the log in messages.
    others: the columns of the log, as far as they are known, for hints.

    Raises
    ------
    InputError: an output has the name of the key column.
    """

    ports: Ports
    column: str
    domain: Domain
    log: str = "the log"
    others: Collection[str] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.column in self.ports.outputs_by_name:
            raise InputError(f"an output of {self.ports.of} and the column of keys are both called '{self.column}'")

    @property
    def key(self) -> Port:
        """The key column."""
        domain = self.ports.domains.get(self.column) or self.domain
        what, index = "name the column that separates the streams: ", "(frame.reset_index() makes one of an index)"
        remedy, data_remedy = f"{what}--key NAME", f'{what}key="NAME" {index}'
        return Port(self.column, domain, copied=self.beside, remedy=remedy, data_remedy=data_remedy)

    @property
    def beside(self) -> bool:
        """Whether the key column is not an input of the program."""
        return self.column not in self.ports.domains

    @cached_property
    def rows(self) -> Ports:
        """The columns that are read, and those that are written: the key and the outputs."""
        inputs = (self.key, *self.ports.inputs) if self.beside else self.ports.inputs
        return Ports("rows", inputs, (self.key, *self.ports.outputs))

    def key_of(self, row: RowEvents, number: int) -> Value | None:
        """Return the key of a row; None for an empty row.

        Raises
        ------
        InputError: the row has other cells, but no key.
        """
        if row and self.column not in row:
            raise self.keyless(number)
        return row.get(self.column)

    def keyless(self, row: int) -> InputError:
        """Return the error for a row without a key."""
        return keyless(self.column, row, self.log, self.others)

    def events_of(self, row: RowEvents) -> RowEvents:
        """Return the events of a row for the program, without the key."""
        if not self.beside:
            return row
        return {name: event for name, event in row.items() if name != self.column}

    def rows_of(self, key: Value, outputs: Mapping[str, Any]) -> Iterator[dict[str, Value]]:
        """Yield the output of a step of a key, or of the end of its streams, as rows with the key."""
        return ({self.column: key, **row} for row in spread(outputs))

    def located(self, key: Value, number: int | None, error: WorkbenchError) -> WorkbenchError:
        """Return the error with its place: a row of a key, or the end of its streams."""
        return locate_error(self.column, repr(key), number, self.log, error)


class Keys:
    """The keys of a log, numbered in order of first arrival; all NaNs are one key."""

    def __init__(self) -> None:
        self._numbers: dict[Value, int] = {}
        self._values: list[Value] = []

    def __len__(self) -> int:
        return len(self._values)

    def number(self, value: Value) -> int:
        """Return the number of a key; a new key gets the next number."""
        if value != value:
            value = math.nan  # this object, which a dictionary finds by identity
        if value not in self._numbers:
            self._numbers[value] = len(self._values)
            self._values.append(value)
        return self._numbers[value]

    def values(self, numbers: Sequence[int]) -> list[Value]:
        """Return the keys with these numbers."""
        return [self._values[number] for number in numbers]


class KeyedOutputs(NamedTuple):
    """The output of a block of rows.

    Attributes
    ----------
    outputs: by name; the `steps` of each event are positions among the rows, in their order.
    wrong: the first row that failed, and its error; that row and the rows after it have not run.
    """

    outputs: Mapping[str, OutputEvents]
    wrong: tuple[int, WorkbenchError] | None


class ValueColumn(NamedTuple):
    """The events of an output as Python values, with the step of each (`OutputEvents`)."""

    values: list[Value]
    steps: Any
    fields: tuple[Any, ...] = ()

    @classmethod
    def of(cls, events: Sequence[tuple[int, Value]]) -> ValueColumn:
        """Build a column from pairs of step and event."""
        import numpy as np

        return cls([event for _, event in events], np.array([step for step, _ in events], np.int64))

    def events(self) -> list[Value]:
        """Return the events."""
        return self.values


class KeyedRuns(ABC):
    """The runs of a pipeline on columns of rows, one per key; keys are numbered from 0 on.

    Attributes
    ----------
    threads: number of threads that share the keys.
    """

    threads = 1

    @abstractmethod
    def step(self, codes: Any, batch: LogBatch, count: int) -> KeyedOutputs:
        """Run the rows of a batch: row i is a step of key `codes[i]`.

        Parameters
        ----------
        codes: an array of integers.
        count: the number of keys so far.
        """

    @abstractmethod
    def finish(self, count: int | None = None) -> KeyedOutputs:
        """End the streams of all keys, or of the first `count`, in order; each output is at the step of its key."""

    @abstractmethod
    def begin(self, key: int | None = None) -> None:
        """Forget all keys except this one, which becomes the first; or all."""

    @abstractmethod
    def steps(self, key: int) -> int:
        """Return the number of steps of a key."""

    @abstractmethod
    def save(self, key: int) -> bytes:
        """Return the state of a key's run."""

    @abstractmethod
    def restore(self, key: int, state: bytes) -> None:
        """Restore the run of a key, which may be new, from a state."""


class KeyedSession(Session):
    """A run for each key of a log."""

    numbered = True
    runs: KeyedRuns

    def __init__(self, partition: Partition, keys: Keys) -> None:
        self.partition, self.outputs, self.keys = partition, partition.rows, keys

    def save(self) -> bytes:
        codes = range(len(self.keys))
        return join_states(self.keys.values(codes), map(self.runs.save, codes))

    def restore(self, state: bytes) -> None:
        for key, each in split_states(state):
            self.runs.restore(self.keys.number(key), each)
