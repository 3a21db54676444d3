"""A program that runs once for each key of a log: which run a row belongs to, and the sessions that step them.

The rule of this module: keys are numbered from 0 as they come, and a row steps its own key's run and no other. Outputs
come in the order of the rows that cause them; the end of the log then ends the runs, in the order of their keys.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from workbench.core.domain import Domain, Value
from workbench.core.program import Port, Ports
from workbench.errors import InputError, WorkbenchError
from workbench.events.batch import LogBatch, RowEvents
from workbench.executors.session import OutputEvents, Session, spread
from workbench.executors.snapshot import join_states, split_states


def locate_error(key: str, value: str, row: int | None, log: str, error: WorkbenchError) -> WorkbenchError:
    """The error of a row, or of the end of the log, with what tells where it is.

    Parameters
    ----------
    key, value: the column of keys, and the key as messages show it.
    row: its number; None for the end.
    """
    place = f"the end of {log}" if row is None else f"row {row} of {log}"
    return error.retold(f"{key} {value}, {place}: {error.what}", where=error.where)


def keyless(key: str, row: int, log: str) -> InputError:
    """The error for a row without a key."""
    what = f"row {row} has no '{key}', so that it belongs to no key"
    return InputError(what, where=log, hint="give it one, or leave the row out")


@dataclass(frozen=True)
class Partition:
    """The runs of a program, by the keys in a column of its log.

    Parameters
    ----------
    ports: those of the program.
    column: the name of the column, which may be an input, too.
    domain: what keys are, where that is no input.
    log: what messages call the log.

    Raises
    ------
    InputError: an output is called like the column of keys.
    """

    ports: Ports
    column: str
    domain: Domain
    log: str = "the log"

    def __post_init__(self) -> None:
        if self.column in self.ports.shown:
            raise InputError(f"an output of {self.ports.of} is called '{self.column}', as the column of keys is")

    @property
    def key(self) -> Port:
        """The column."""
        domain = self.ports.domains.get(self.column) or self.domain
        what, index = "name the column that separates the streams: ", "(frame.reset_index() makes one of an index)"
        return Port(self.column, domain, remedy=f"{what}--key NAME", data_remedy=f"{what}key=NAME {index}")

    @property
    def beside(self) -> bool:
        """Whether the column of keys is no input of the program."""
        return self.column not in self.ports.domains

    @cached_property
    def rows(self) -> Ports:
        """What is read, and what is written: outputs with their keys."""
        inputs = (self.key, *self.ports.inputs) if self.beside else self.ports.inputs
        return Ports("rows", inputs, (self.key, *self.ports.outputs))

    def key_of(self, row: RowEvents, number: int) -> Value | None:
        """The key of a row; None for one without anything.

        Raises
        ------
        InputError: there is something else in it.
        """
        if row and self.column not in row:
            raise keyless(self.column, number, self.log)
        return row.get(self.column)

    def events_of(self, row: RowEvents) -> RowEvents:
        """What a row has for the program."""
        if not self.beside:
            return row
        return {name: event for name, event in row.items() if name != self.column}

    def rows_of(self, key: Value, outputs: Mapping[str, Any]) -> Iterator[dict[str, Value]]:
        """What comes out of a step of a key, or of the end of its streams, as rows."""
        return ({self.column: key, **row} for row in spread(outputs))

    def located(self, key: Value, number: int | None, error: WorkbenchError) -> WorkbenchError:
        """The error of a row of a key, or of the end of its streams, with what tells where it is."""
        return locate_error(self.column, repr(key), number, self.log, error)


class Keys:
    """The keys that have come, numbered in the order in which they first came; NaN is one key."""

    def __init__(self) -> None:
        self._numbers: dict[Value, int] = {}
        self._values: list[Value] = []

    def __len__(self) -> int:
        return len(self._values)

    def number(self, value: Value) -> int:
        """The number of a key."""
        if value != value:
            value = math.nan  # the one that finds itself
        if value not in self._numbers:
            self._numbers[value] = len(self._values)
            self._values.append(value)
        return self._numbers[value]

    def values(self, numbers: Sequence[int]) -> list[Value]:
        """The keys of these numbers."""
        return [self._values[number] for number in numbers]


class KeyedOutputs(NamedTuple):
    """What comes out of some rows.

    Attributes
    ----------
    outputs: by name; the `steps` of each event are positions among the rows, in their order.
    wrong: the first row that could not be made, and why; it and those behind it have not been.
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
        """Events behind their steps."""
        import numpy as np

        return cls([event for _, event in events], np.array([step for step, _ in events], np.int64))

    def events(self) -> list[Value]:
        """The events."""
        return self.values


class KeyedRuns(ABC):
    """The runs of a pipeline on columns of rows, one for each key; keys are numbered from 0 on.

    Attributes
    ----------
    threads: how many share the keys.
    """

    threads = 1

    @abstractmethod
    def step(self, codes: Any, batch: LogBatch, count: int) -> KeyedOutputs:
        """Run the rows of a batch: the i-th is a step of key `codes[i]`.

        Parameters
        ----------
        codes: an array of whole numbers.
        count: how many keys there are by now.
        """

    @abstractmethod
    def finish(self, count: int | None = None) -> KeyedOutputs:
        """End the streams of all keys, or of the first ones, in their order; what comes out is of that key."""

    @abstractmethod
    def begin(self, key: int | None = None) -> None:
        """Forget all keys but this one, which is the first from now on; or all."""

    @abstractmethod
    def steps(self, key: int) -> int:
        """How many steps a key has made."""

    @abstractmethod
    def save(self, key: int) -> bytes:
        """The state of a key's run."""

    @abstractmethod
    def restore(self, key: int, state: bytes) -> None:
        """Have a key, which may be a new one, go on from a state."""


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
