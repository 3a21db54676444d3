"""The common base of compiled runs for each key: one executor, and columns as input.

The rule of this module: texts are stored until the keys are forgotten whose states may refer to them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from workbench.events.batch import LogBatch
from workbench.executors.compiled.execute.columns import Column, column
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.keyed import KeyedOutputs, KeyedRuns


class CompiledRuns(KeyedRuns):
    """A compiled pipeline that runs for each key.

    Parameters
    ----------
    one: the executor of the pipeline, in its initial state.
    """

    def __init__(self, one: Compiled) -> None:
        one.texts.lasting = True
        self.one = one

    def step(self, codes: Any, batch: LogBatch, count: int) -> KeyedOutputs:
        return self.feed(codes, self._columns(batch), count)

    @abstractmethod
    def feed(self, codes: Any, input_columns: Mapping[str, Column], count: int) -> KeyedOutputs:
        """Run columns, by input name, as `step` does."""

    @abstractmethod
    def turn(self, key: int) -> None:
        """Load the state of this key into the executor."""

    @abstractmethod
    def take(self, key: int) -> None:
        """Store the executor's state as that of this key, which may be a new one."""

    @abstractmethod
    def forget(self, key: int | None) -> None:
        """Forget the states of all keys except this one, which becomes the first; or of all."""

    def begin(self, key: int | None = None) -> None:
        self.forget(key)
        self.one.reset()
        if key is not None:
            self.turn(0)
        self.one.texts.lasting = False  # except for those of the present state, if any
        self.one.texts.forget(self.one._state.texts_held)
        self.one.texts.lasting = True

    def save(self, key: int) -> bytes:
        self.turn(key)
        return self.one.snapshot()

    def restore(self, key: int, state: bytes) -> None:
        self.one.restore(state)
        self.take(key)

    def _columns(self, batch: LogBatch) -> Mapping[str, Column]:
        """Return the events of each input in the rows of a batch."""
        domains, texts = self.one.flat.ports.domains, self.one.texts
        if batch.columns is not None:
            arrays = batch.columns
            return {n: column(n, d, arrays[n].fields, arrays[n].present, texts) for n, d in domains.items()}
        columns = {}
        for name, domain in domains.items():
            there, events = [name in row for row in batch.rows or ()], [row.get(name) for row in batch.rows or ()]
            columns[name] = column(name, domain, events, None if all(there) else there, texts)
        return columns
