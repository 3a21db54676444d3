"""A compiled pipeline for each key of a log.

The rule of this module: rows run in order, and a row that fails has no effect. The loop stops before a row that may
fail; that row runs in plain Python, in exact arithmetic, which decides.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from workbench.errors import WorkbenchError
from workbench.executors.compiled.code.loop import Target, loop_source
from workbench.executors.compiled.code.placement import RowPerKey
from workbench.executors.compiled.execute import columns
from workbench.executors.compiled.execute.column_executor import WARM_UP_STEPS
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.execute.loops import Loop
from workbench.executors.compiled.execute.outputs import OutputArrays
from workbench.executors.compiled.keyed.runs import CompiledRuns
from workbench.executors.compiled.keyed.states import KeyedStates
from workbench.executors.compiled.lower.shape import spare
from workbench.executors.keyed import KeyedOutputs
from workbench.executors.threaded.manager import ThreadManager

COSTLY = 5e-8
"""Seconds per step above which several threads pay for merging their output."""


class CompiledKeys(CompiledRuns):
    """A compiled pipeline that runs for each key; keys are numbered in order of arrival.

    Parameters
    ----------
    one: the executor of the pipeline, in its initial state, without tables.
    threads: number of threads that share the keys, where the steps cost more than merging the output.
    warm_up_steps, machine: as for `Compiled`.
    costly: minimum cost of a step in seconds that pays for more than one thread.
    """

    def __init__(
        self,
        one: Compiled,
        *,
        threads: int = 1,
        warm_up_steps: int = WARM_UP_STEPS,
        machine: bool = True,
        costly: float = COSTLY,
    ) -> None:
        super().__init__(one)
        self.states = KeyedStates(one)
        self.threads, self._manager = threads, ThreadManager(threads - 1)
        self._costly, self._cost = costly, 0.0
        self._warm_up_steps, self._machine, self._rows = warm_up_steps, machine, Counter[str]()
        self._timed = set[str]()

    def feed(self, codes: Any, input_columns: Mapping[str, Any], count: int) -> KeyedOutputs:
        ordered = {name: input_columns[name] for name, _ in self.one.flat.inputs}
        rows, wrong = before_wrong(input_columns, len(codes))
        self.states.grow(count)
        full = all(column.present is None for column in ordered.values())
        if not full:
            self.states.widen()
        keyed_outputs = self._make_outputs(KeyedRows("dense" if full else "sparse", codes, rows, ordered))
        if keyed_outputs.wrong is None and wrong is not None:
            step = self.states.steps(int(codes[rows]))
            return keyed_outputs._replace(wrong=(rows, wrong[1].retold(f"step {step}: {wrong[1].what}", where="")))
        return keyed_outputs

    def forget(self, key: int | None) -> None:
        self.states.begin(key)

    def steps(self, key: int) -> int:
        return self.states.steps(key)

    def turn(self, key: int) -> None:
        self.states.turn(key)

    def take(self, key: int) -> None:
        self.states.grow(key + 1)
        self.states.take(key)

    def finish(self, count: int | None = None) -> KeyedOutputs:
        count = self.states.count if count is None else count
        nothing = {name: columns.silent(domain, 1) for name, domain in self.one.flat.inputs}
        return self._make_outputs(KeyedRows("ending", np.arange(count), count, nothing))

    def _make_outputs(self, batch: KeyedRows) -> KeyedOutputs:
        self._rows[batch.kind] += batch.rows
        machine = self._machine and self._rows[batch.kind] > self._warm_up_steps
        parts = [KeyPart(part) for part in range(self.threads if machine and self._cost >= self._costly else 1)]
        wrong, begun_at = None, time.thread_time()
        while wrong is None:
            loop = partial(self._run, self._loop(batch.kind, machine=machine), batch, len(parts))
            self._manager.run_all([partial(loop, part) for part in parts])
            first = min(parts, key=lambda part: part.stop)
            if first.stop == batch.rows:
                break
            wrong = self._singly(batch, first)
        if machine and batch.rows and batch.kind in self._timed:
            self._cost = (time.thread_time() - begun_at) * len(parts) / batch.rows
        self._timed.add(batch.kind)  # the first time includes compilation
        outputs = {
            name: _join_before_error([piece[name] for part in parts for piece in part.made], wrong)
            for name, _, _ in self.one.results
        }
        return KeyedOutputs(outputs, wrong)

    def _run(self, loop: Loop, batch: KeyedRows, parts: int, part: KeyPart) -> None:
        """Run the remaining rows of some keys."""
        outputs = self._allocate(batch.rows - part.stop)
        part.stop = loop(
            part.number, parts, part.stop, batch.rows, *self.states.arrays[:2], outputs.counts,
            *self.states.arrays[2:], *batch.inputs, *outputs.arrays, *outputs.spots, batch.codes,
        )  # fmt: skip
        part.made.append(outputs.columns(0, [None] * len(self.one.results)))

    def _singly(self, batch: KeyedRows, part: KeyPart) -> tuple[int, WorkbenchError] | None:
        """Run the row at which some keys have stopped alone: it fails with its error, or gets the capacity it needs."""
        row = part.stop
        key, at = int(batch.codes[row]), np.array([row])
        self.states.turn(key)
        try:
            if batch.kind == "ending":
                outputs = self.one.finish()
                self.one._ended.clear()
            else:
                outputs = self.one.fed({name: column.part(at) for name, column in batch.columns.items()}, 1, True)
            self.states.take(key)
        except WorkbenchError as error:
            return row, error
        part.made.append({name: output.move_to_step(row) for name, output in outputs.items()})
        part.stop += 1
        return None

    def _allocate(self, rows: int) -> OutputArrays:
        """Allocate arrays for the output of `rows` rows."""
        waiting = [0 if p.more is None else int(self.states.column(p.more.name).sum()) for _, _, p in self.one.results]
        sizes = [
            more + rows * pipe.width + spare(pipe) for more, (_, _, pipe) in zip(waiting, self.one.results, strict=True)
        ]
        fields = [fields for _, fields in self.one.form.results]
        return OutputArrays(
            self.one.results, fields, sizes, columns.empty, with_steps=True, texts=self.one.texts.reader()
        )

    def _loop(self, kind: str, *, machine: bool) -> Loop:
        """Return the loop for steps of this kind, created when first needed."""

        def source(target: Target) -> str:
            phases = self.one.phases(kind)
            return loop_source(self.one.system, phases, target=target, with_steps=True, placement=RowPerKey())

        return self.one.loops.get(("keys", kind), source, machine=machine)


class KeyedRows:
    """Rows to be run.

    Attributes
    ----------
    kind: the kind of the loop.
    codes: their keys.
    rows: their number.
    columns: the events of each input.
    inputs: the events in the form that the loop takes.
    """

    def __init__(self, kind: str, codes: Any, rows: int, input_columns: Mapping[str, columns.Column]) -> None:
        self.kind, self.codes, self.rows, self.columns = kind, codes, rows, input_columns
        self.inputs = [array for column in input_columns.values() for array in column.fields]
        if kind == "sparse":
            every = (np.ones(len(codes), np.bool_) if c.present is None else c.present for c in input_columns.values())
            self.inputs += every


class KeyPart:
    """The share of one thread: the rows of some of the keys.

    Attributes
    ----------
    stop: the first row that has not run.
    made: the output, in pieces.
    """

    def __init__(self, number: int) -> None:
        self.number, self.stop = number, 0
        self.made: list[dict[str, columns.OutputColumn]] = []


def before_wrong(
    input_columns: Mapping[str, columns.Column], rows: int
) -> tuple[int, tuple[int, WorkbenchError] | None]:
    """Return the number of rows before the first event outside its domain, and its error, or all rows and None."""
    first_error = min((c.wrong for c in input_columns.values() if c.wrong), key=lambda each: int(each[0]), default=None)
    return (rows, None) if first_error is None else (*first_error[:1], first_error)


def _join_before_error(
    parts: Sequence[columns.OutputColumn], wrong: tuple[int, WorkbenchError] | None
) -> columns.OutputColumn:
    """Merge the output of the rows before the failed one, sorted by row."""
    if len(parts) == 1:
        return parts[0]
    steps: Any = np.concatenate([each.steps for each in parts])
    order = np.argsort(steps, kind="stable")
    if wrong is not None:
        order = order[: np.searchsorted(steps, wrong[0], sorter=order)]
    fields = zip(*(each.fields for each in parts), strict=True)
    return columns.OutputColumn(
        parts[0].domain, tuple(columns.join_arrays(each)[order] for each in fields), steps[order]
    )
