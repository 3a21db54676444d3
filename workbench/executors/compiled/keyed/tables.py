"""A compiled pipeline with growing tables, for each key of a log: the executor switches between the states of keys.

The rule of this module: within a block the rows of a key run together, and the output is sorted by row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.core.domain import Value
from workbench.errors import WorkbenchError
from workbench.executors.compiled.execute.columns import Column
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.keyed.executor import CompiledKeys, before_wrong
from workbench.executors.compiled.keyed.runs import CompiledRuns
from workbench.executors.keyed import KeyedOutputs, ValueColumn

EventsByOutput = dict[str, list[tuple[int, Value]]]
"""The events of each output, with the row that caused each."""


class TabledKeys(CompiledRuns):
    """A compiled pipeline with tables, running for each key.

    Parameters
    ----------
    one: the executor, in its initial state.
    """

    def __init__(self, one: Compiled) -> None:
        super().__init__(one)
        one.widen()  # all states have the same form
        self.first = one._state.copy()
        self._states: list[tuple[int, Any]] = []

    def feed(self, codes: Any, input_columns: Mapping[str, Column], count: int) -> KeyedOutputs:
        self._states += [(0, self.first)] * (count - len(self._states))
        rows, wrong = before_wrong(input_columns, len(codes))
        events_by_output: EventsByOutput = {name: [] for name, _, _ in self.one.results}
        order = np.argsort(codes[:rows], kind="stable")
        cuts: Any = np.flatnonzero(np.diff(codes[order])) + 1
        for indices in np.split(order, cuts) if rows else ():
            key = int(codes[indices[0]])
            failed = self._run(key, input_columns, indices, events_by_output)
            if failed is not None and (wrong is None or failed[0] < wrong[0]):
                wrong = failed
        if wrong is not None and wrong[0] == rows:
            step = self._states[int(codes[rows])][0]
            wrong = rows, wrong[1].retold(f"step {step}: {wrong[1].what}", where="")
        return _gather(events_by_output, wrong)

    def _run(
        self, key: int, columns: Mapping[str, Column], indices: Any, events_by_output: EventsByOutput
    ) -> tuple[int, WorkbenchError] | None:
        """Run rows of a key, or those before one that fails; return that row and its error."""
        self.turn(key)
        start, parts = self.one.steps, {name: column.part(indices) for name, column in columns.items()}
        try:
            outputs = self.one.fed(parts, len(indices), True)
        except WorkbenchError as error:
            if error.step is None:
                raise
            done = error.step - start
            self._run(key, columns, indices[:done], events_by_output)
            return int(indices[done]), error
        for name, output in outputs.items():
            assert output.steps is not None
            events_by_output[name] += zip(indices[output.steps - start].tolist(), output.events(), strict=True)
        self.take(key)
        return None

    def turn(self, key: int) -> None:
        self.one.steps, arrays = self._states[key]
        self.one._state.restore(arrays)

    def take(self, key: int) -> None:
        self._states[key : key + 1] = [(self.one.steps, self.one._state.copy())]

    def forget(self, key: int | None) -> None:
        self._states = [] if key is None else [self._states[key]]

    def steps(self, key: int) -> int:
        return self._states[key][0]

    def finish(self, count: int | None = None) -> KeyedOutputs:
        events_by_output: EventsByOutput = {name: [] for name, _, _ in self.one.results}
        for key in range(len(self._states) if count is None else count):
            self.one.reset()
            self.turn(key)
            try:
                outputs = self.one.finish()
            except WorkbenchError as error:
                return _gather(events_by_output, (key, error))
            for name, output in outputs.items():
                events_by_output[name] += [(key, value) for value in output.events()]
        return _gather(events_by_output, None)


def _gather(events_by_output: EventsByOutput, wrong: tuple[int, WorkbenchError] | None) -> KeyedOutputs:
    """Sort the events of each output by row."""
    outputs = {}
    for name, events in events_by_output.items():
        events.sort(key=lambda each: each[0])
        outputs[name] = ValueColumn.of([each for each in events if wrong is None or each[0] < wrong[0]])
    return KeyedOutputs(outputs, wrong)


def make_compiled_keys(one: Compiled, *, threads: int = 1) -> CompiledKeys | TabledKeys:
    """Build the runs for each key of an executor's pipeline."""
    if any(memory.is_table for memory in one.system.memories):
        return TabledKeys(one)
    return CompiledKeys(one, threads=threads)
