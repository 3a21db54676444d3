"""The reference executor for each key of a log.

The rule of this module: a single executor switches between the states of keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.core.domain import Value
from workbench.errors import InputError, WorkbenchError
from workbench.events.account import KEYLESS
from workbench.events.batch import LogBatch, RowEvents
from workbench.executors.keyed import KeyedOutputs, KeyedRuns, KeyedSession, Keys, Partition, ValueColumn
from workbench.executors.reference.executor import Reference
from workbench.executors.session import BatchOutput

StepEvents = Mapping[str, list[Value]]


class ReferenceKeys(KeyedRuns):
    """A running pipeline for each key.

    Parameters
    ----------
    running: the executor, in its initial state.
    """

    def __init__(self, running: Reference) -> None:
        self.running = running
        self._states: list[Any] = []
        self._now = -1
        """The key whose state the executor holds; -1: none."""
        self._given: RowEvents = {}
        self._emitted = self._emit()

    def step_row(self, code: int, events: RowEvents) -> StepEvents:
        """Run a step of this key, and return its outputs; a new key has the number of keys so far."""
        self._turn(code)
        self._given = events
        try:
            return next(self._emitted)
        except BaseException:
            self._emitted = self._emit()
            raise

    def end_key(self, code: int) -> StepEvents:
        """End this key's streams, and return the outputs."""
        self._turn(code)
        outputs = self.running.end()
        self._now = -1
        self.running.reset()
        return outputs

    def step(self, codes: Any, batch: LogBatch, count: int) -> KeyedOutputs:
        rows = zip(codes.tolist(), batch.as_rows(self.running.pipeline.ports.domains), strict=True)
        return self._gather(self.step_row(code, row) for code, row in rows)

    def finish(self, count: int | None = None) -> KeyedOutputs:
        return self._gather(map(self.end_key, range(len(self._states) if count is None else count)))

    def begin(self, key: int | None = None) -> None:
        states = [] if key is None else [self._leave(key)]
        self._states, self._now = states, -1
        self.running.reset()

    def steps(self, key: int) -> int:
        self._turn(key)
        return self.running.steps

    def save(self, key: int) -> bytes:
        self._turn(key)
        return self.running.snapshot()

    def restore(self, key: int, state: bytes) -> None:
        self._turn(key)
        self.running.restore(state)

    def _gather(self, steps: Iterator[StepEvents]) -> KeyedOutputs:
        """Collect the outputs of steps, up to the first one that fails."""
        pairs: dict[str, list[tuple[int, Value]]] = {name: [] for name in self.running.pipeline.ports.outputs_by_name}
        wrong, done = None, 0
        try:
            for outputs in steps:
                for name, events in outputs.items():
                    pairs[name] += ((done, event) for event in events)
                done += 1
        except WorkbenchError as error:
            wrong = done, error
        return KeyedOutputs({name: ValueColumn.of(events) for name, events in pairs.items()}, wrong)

    def _emit(self) -> Iterator[StepEvents]:
        """Run the given steps, one after the other."""
        return self.running.emitted(iter(lambda: self._given, None))

    def _leave(self, code: int) -> Any:
        """Return the state of a key, which the executor then no longer holds."""
        self._turn(code)
        return self.running.leave()

    def _turn(self, code: int) -> None:
        """Switch the executor to this key."""
        if code == self._now:
            return
        if self._now >= 0:
            self._states[self._now] = self.running.leave()
        if code == len(self._states):
            self._states.append(None)
            self.running.reset()
        else:
            self.running.enter(self._states[code])
        self._now = code


class KeyedRowSession(KeyedSession):
    """A run for each key, row by row.

    Parameters
    ----------
    running: the executor, in its initial state.
    """

    runs: ReferenceKeys

    def __init__(self, running: Reference, partition: Partition) -> None:
        super().__init__(partition, Keys())
        self.runs = ReferenceKeys(running)

    def step_batch(self, batch: LogBatch) -> BatchOutput:
        partition, number_of = self.partition, self.keys.number
        rows, causes, failed, computed, ignored = list[RowEvents](), list[int](), batch.failed, 0, 0
        for at, row in enumerate(batch.as_rows(self.outputs.domains)):
            number = batch.numbers[at]
            try:
                if (key := partition.key_of(row, number)) is None:
                    ignored += 1
                    continue
            except InputError as error:
                failed = error
                break
            code = number_of(key)
            try:
                outputs = self.runs.step_row(code, partition.events_of(row))
            except WorkbenchError as error:
                failed = partition.located(key, number, error)
                break
            computed += 1
            if any(outputs.values()):
                rows += partition.rows_of(key, outputs)
                causes += [at] * (len(rows) - len(causes))
        return BatchOutput(
            rows, causes=causes, computed=computed, ignored={KEYLESS: ignored} if ignored else {}, failed=failed,
            events_in=batch.events - computed * partition.beside,
            events_out=sum(map(len, rows)) - len(rows),
        )  # fmt: skip

    def end(self) -> BatchOutput:
        rows, failed = list[RowEvents](), None
        for code, key in enumerate(self.keys.values(range(len(self.keys)))):
            try:
                rows += self.partition.rows_of(key, self.runs.end_key(code))
            except WorkbenchError as error:
                failed = self.partition.located(key, None, error)
                break
        return BatchOutput(rows, events_out=sum(map(len, rows)) - len(rows), failed=failed)
