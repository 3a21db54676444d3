"""The run of a stream in machine code: what `StreamRun` does, with vertices that are all compiled.

The rule of this module: threads run vertices without Python, and return when nothing is ready, after some time, or
where something went wrong: Python then runs that vertex, in exact arithmetic, to find the error. Python also reads the
log and returns the outputs.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from workbench.core.domain import Domain, Value
from workbench.core.processor import END
from workbench.errors import WorkbenchError
from workbench.executors.compiled.execute import columns
from workbench.executors.dataflow.flow_threads import PATIENT, FlowLimits, FlowThreads, PhaseBatch
from workbench.executors.dataflow.machine import layout as at
from workbench.executors.dataflow.machine.sets import MachineSets, flow_loop
from workbench.executors.dataflow.machine.tables import VertexTables
from workbench.executors.dataflow.numbering import NumberedGraph, number_graph
from workbench.executors.dataflow.vertex_run import FirstFailure, FlowStep, StepContents


class MachineThread:
    """The arrays of a thread of machine code.

    Attributes
    ----------
    mine, phases, columns: its numbers, the phases that it runs, and the inputs and outputs of their vertex.
    given: the arguments of machine code, these arrays included.
    """

    def __init__(self, tables: VertexTables, sets: MachineSets) -> None:
        self.mine, self.phases = columns.zeros(16), columns.zeros(at.MAXIMUM)
        self.mine[at.CLOCK] = time.CLOCK_MONOTONIC
        self.columns = own = columns.zeros(tables.width * at.STRIDE).reshape(-1, at.STRIDE)
        thread = at.ThreadArrays(self.mine, self.phases, own, own.view(np.uint8))
        self.given = thread, tables.of_vertices, tables.of_pipes, sets.arrays

    @cached_property
    def run(self) -> Callable[[], int]:
        """The bound call that runs vertices."""
        return flow_loop("run_loops", "run_vertices").bound(*self.given)


def is_code_cached() -> bool:
    """Whether the code that runs vertices has been compiled, by this process or an earlier one."""
    thread = MachineThread(VertexTables([None, None], [], [], 1, 1), MachineSets(number_graph({1: ()})[0], 1))
    return flow_loop("run_loops", "run_vertices").ready(thread.given)


class FlowPlan(NamedTuple):
    """The graph that runs, and its pipes.

    Parameters
    ----------
    graph, runs: the vertices, by number.
    inputs: name, slot and domain of each input.
    slots: the slots and domains of all pipes between vertices, the inputs first.
    output_slots: the slots of the outputs.
    readers: for each slot the vertices that read it.
    wide: for each slot whether it can carry several events.
    arrived: returns the events of a step of the log, by slot, after checking them.
    """

    graph: NumberedGraph
    runs: Sequence[Any]
    inputs: Sequence[tuple[str, int, Domain]]
    slots: Sequence[tuple[int, Domain]]
    output_slots: Sequence[int]
    readers: Sequence[tuple[int, ...]]
    wide: Sequence[bool]
    arrived: Callable[[Mapping[str, Value]], dict[int, Value]]


class MachineRun(FlowThreads):
    """The run of one stream in machine code, up to its end, which the caller runs.

    Parameters
    ----------
    plan: the graph that runs.
    steps: the input.
    start: the number of the first step.
    failure, limits: as for `FlowThreads`.

    Attributes
    ----------
    ends: whether the streams end where this run does.
    """

    def __init__(
        self,
        plan: FlowPlan,
        steps: Iterator[Mapping[str, Value]],
        start: int,
        failure: FirstFailure,
        limits: FlowLimits,
    ) -> None:
        self._sets = sets = MachineSets(plan.graph, limits.ahead)
        super().__init__(sets, steps, failure, limits, len(plan.runs))
        self._plan, self._start, self.ends = plan, start, False
        batch = self._most if limits.batch is None else limits.batch
        self._tables = VertexTables(plan.runs, plan.slots, plan.readers, sets.rows, batch)
        head = self._head = sets.head
        head[at.FAILED] = sys.maxsize
        head[at.ABSENT] = sys.maxsize if limits.manager.limit is None else limits.manager.limit
        self._threads: list[MachineThread] = []
        self._free: list[int] = []

    def _open(self, count: int) -> None:
        """Begin `count` phases, whose events are on the pipes."""
        flow_loop("run_loops", "open_phases")(count, len(self._plan.inputs), self._tables.of_pipes, self._sets.arrays)

    @property
    def _ready(self) -> bool:
        return self._sets.waits

    def stop(self) -> None:
        self._head[at.STOPPED] = 1
        super().stop()
        self.executions = self._tables.of_vertices.executions.tolist()
        self.executions[1] = self._sets.begun

    def _missing(self, *, caller: bool) -> None:
        if caller:
            self._head[at.ASLEEP] = 1
        else:
            self._head[at.ABSENT] += 1

    def _hire(self) -> bool:
        hired = super()._hire()
        with self._lock:
            self._head[at.ABSENT] = max(self._head[at.ABSENT] - 1, 0) if hired else 0
        return hired

    def _take(self, *, caller: bool) -> PhaseBatch | None:
        if caller:
            self._head[at.ASLEEP] = 0
        return super()._take(caller=caller)

    def _take_ready(self) -> PhaseBatch:
        if not self._free:
            self._free.append(len(self._threads))
            self._threads.append(MachineThread(self._tables, self._sets))
        return PhaseBatch(0, (self._free.pop(),))

    def _run(self, batch: PhaseBatch) -> list[Any]:
        vertex, phases = batch
        if vertex == 0:
            thread = self._threads[phases[0]]
            while thread.run() == at.BAD:
                self._by_python(thread)
            return []
        self._read(len(phases))
        return []

    def _end(self, batch: PhaseBatch, results: list[Any]) -> None:
        if batch.vertex == 0:
            self._free.append(batch.phases[0])
        else:
            self._reading = False
        first, last = self._collected + 1, self._sets.complete
        if first <= last:
            self._collected = last
            self._done += self._steps_of(np.arange(first, last + 1))

    # --- the log, and the outputs -------------------------------------------------------------------------

    def _read(self, limit: int) -> None:
        """Begin phases with the next steps of the log; called by one thread at a time."""
        rows: list[dict[int, Value]] = []
        count, begin = 0, time.perf_counter()
        try:
            for events in itertools.islice(self._steps, limit):
                count += 1
                if events is END:
                    self.ends, count = True, 0
                    break
                rows.append(self._plan.arrived(events))
        except Exception as error:
            self._unread, self._over = error, True
        self._over = self._over or count < limit
        if self._adapts:  # adapt to the speed of the log: columns of few steps cost more per step
            self._adapt(1, limit, time.perf_counter() - begin, PATIENT)
        first, wrong = self._sets.begun + 1, None
        arrivals = []
        for name, slot, domain in self._plan.inputs:
            here = [slot in row for row in rows]
            values = [row.get(slot) for row in rows]
            arrivals.append((slot, here, columns.column(name, domain, values, None if all(here) else here)))
            row_error = arrivals[-1][2].wrong
            if row_error is not None and (wrong is None or row_error[0] < wrong[0]):
                wrong = row_error
        if wrong is not None:
            number = self._start + first - 1 + wrong[0]
            self._unread = wrong[1].retold(f"step {number}: {wrong[1].what}", where="").at(step=number)
            self._over = True
            del rows[wrong[0] :]
        for slot, here, column in arrivals:
            indices = np.flatnonzero(here[: len(rows)])
            self._tables.put(slot, first + indices, [field[indices] for field in column.fields])
        self._open(len(rows))

    def _steps_of(self, phases: Any) -> list[FlowStep]:
        """Return the steps of complete phases."""
        number = self._start - 1
        steps = [FlowStep(number + phase, StepContents(), False, self._plan.wide) for phase in phases.tolist()]
        for slot in self._plan.output_slots:
            for index, value in zip(*self._tables.carried(slot, phases), strict=True):
                steps[index].contents[slot] = value
        return steps

    # --- errors -------------------------------------------------------------------------------------------

    def _by_python(self, thread: MachineThread) -> None:
        """Run a vertex in Python on the inputs that a thread has gathered."""
        vertex, live = thread.mine[[at.VERTEX, at.LIVE]].tolist()
        run = self._tables.runs[vertex]
        numbers = (thread.phases[:live] + (self._start - 1)).tolist()
        inputs = self._tables.collect_inputs(vertex, thread.columns, live)
        running, whole = run.running, [(0, live)]
        while True:
            part_outputs, offsets = list[dict[str, Any]](), list[int]()
            try:
                for start, stop in whole:
                    running.steps = numbers[start]
                    part = {name: column.part(slice(start, stop)) for name, column in inputs.items()}
                    part_outputs.append(running.fed(part, stop - start, True))
                    offsets.append(start)
            except WorkbenchError as error:
                if len(whole) == 1 < live:  # none of these steps has taken effect: find the one that fails
                    whole = [(offset, offset + 1) for offset in range(live)]
                    continue
                self._record_failure(numbers[len(part_outputs)], run.first, error)
            break
        outputs = []
        for name, _, _ in run.outputs:
            parts = [each[name] for each in part_outputs]
            steps = [part.steps - numbers[offset] + offset for part, offset in zip(parts, offsets, strict=True)]
            fields = zip(*(part.fields for part in parts), strict=True)
            outputs.append(([np.concatenate(each) for each in fields], np.concatenate([*steps, np.zeros(0, np.int64)])))
        self._tables.store_outputs(vertex, thread.columns, outputs)
        self._tables.relocate(vertex)
        thread.mine[at.MADE] = 1

    def _record_failure(self, number: int, index: int, error: Exception) -> None:
        """Record a failure in a step: later steps do not run."""
        self.failure.note(number, index, error)
        with self._lock:
            self._head[at.PLACE] = self.failure.place  # first: pairs of the phase that failed earlier are void
            self._head[at.FAILED] = self.failure.number - self._start + 1
