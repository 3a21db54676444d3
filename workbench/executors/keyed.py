"""Executors that run a program for each key of a log: what they offer, and the one that has a state for each.

The rule of this module: keys are numbered from 0 as they come, and a row steps its own key's run and no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from workbench.core.domain import Value
from workbench.errors import InputError, WorkbenchError

if TYPE_CHECKING:
    from workbench.executors.reference.executor import Reference


def told(key: str, value: str, row: int | None, log: str, error: WorkbenchError) -> WorkbenchError:
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


class KeyedOutputs(NamedTuple):
    """What comes out of some rows.

    Attributes
    ----------
    outputs: by name; the `steps` of each event are positions among the rows, in their order.
    wrong: the first row that could not be made, and why; it and those behind it have not been.
    """

    outputs: Mapping[str, Any]
    wrong: tuple[int, WorkbenchError] | None


class KeyedColumns(Protocol):
    """A run for each key that takes rows as columns; `one` is the compiled executor, which knows their texts."""

    one: Any

    def feed(self, codes: Any, given: Mapping[str, Any], count: int) -> KeyedOutputs:
        """Some rows: the i-th is a step of key `codes[i]`, and there are `count` keys by now."""

    def finish(self) -> KeyedOutputs:
        """The end of all keys' streams, in their order; positions are keys."""


class KeyedSteps:
    """A run for each key, row by row: one executor, into which the state of a key is put, and out of which it is taken.

    Parameters
    ----------
    executor: in its initial state.
    """

    def __init__(self, executor: Reference) -> None:
        self.executor = executor
        self._states: list[Any] = []
        self._now = -1
        self._given: Mapping[str, Value] = {}
        self._emitted = self._begin()

    def _begin(self) -> Iterator[Mapping[str, list[Value]]]:
        """What makes the steps that are given, one after the other."""
        return self.executor.emitted(iter(lambda: self._given, None))

    def step(self, key: int, events: Mapping[str, Value]) -> Mapping[str, list[Value]]:
        """The outputs of a step of this key; a new one has the number of keys that there are."""
        self._turn(key)
        self._given = events
        try:
            return next(self._emitted)
        except BaseException:
            self._emitted = self._begin()
            raise

    def end(self, key: int) -> Mapping[str, list[Value]]:
        """The outputs of the end of this key's streams."""
        self._turn(key)
        found = self.executor.end()
        self._now = -1
        self.executor.reset()
        return found

    def _turn(self, key: int) -> None:
        if key == self._now:
            return
        if self._now >= 0:
            self._states[self._now] = self.executor.leave()
        if key == len(self._states):
            self._states.append(None)
            self.executor.reset()
        else:
            self.executor.enter(self._states[key])
        self._now = key
