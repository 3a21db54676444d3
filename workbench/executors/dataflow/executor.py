"""The dataflow executor: Zimmerman and Chandy's algorithm on the graph of any pipeline.

The unit of work is a vertex and a phase, that is a processor (or a group) and a step; it runs as soon as all its inputs
are known: several phases at once, in any number of threads, and no vertex at a step without new events for it. Values,
order, the step of each output, and errors are those of the reference executor, whatever threads do. Single steps
(`step`, `push`) are the reference executor's.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from workbench.core.domain import Value
from workbench.core.kinds import Deferring
from workbench.core.processor import END
from workbench.core.program import Program
from workbench.errors import PipelineError, Refused, refuse_unknown
from workbench.executors.backend import Oracle, StepRecord, Steps
from workbench.executors.dataflow.flow_threads import FlowLimits, FlowThreads
from workbench.executors.dataflow.scheduler import Scheduler
from workbench.executors.dataflow.stream_run import StreamRun
from workbench.executors.dataflow.vertex_run import FirstFailure, FlowStep, StepContents, VertexContext, VertexRun
from workbench.executors.dataflow.vertices import VertexGraph, groups_together, looks_at_log, processors_apart
from workbench.executors.overlapped_steps import DoneStep, Overlapped
from workbench.executors.threaded.manager import ThreadManager
from workbench.processors.held.group import flatten

if TYPE_CHECKING:
    from workbench.executors.dataflow.compiled_vertex import CompiledVertex
    from workbench.executors.dataflow.machine.run import FlowPlan

AHEAD = 256
"""Default maximum number of phases in flight."""
WARM_UP, UNCACHED_WARM_UP = 20_000, 1_000_000
"""Numbers of vertices times phases that Python runs before machine code does: where the code that runs the graph is
cached, and where it must be compiled, which takes seconds."""


class FlowOptions(TypedDict, total=False):
    """Options of the algorithm.

    Attributes
    ----------
    ahead: maximum number of steps that have been read and whose outputs have not been taken.
    batch: maximum number of phases of a vertex that a thread runs in turn; None: as many as take some tenths of a ms.
    """

    ahead: int
    batch: int | None


class Dataflow(Overlapped):
    """A running pipeline in which several vertices and steps run at the same time.

    Parameters
    ----------
    pipeline, capacities, oracle: as for `Reference`.
    manager: grants threads besides the caller, which runs vertices, too.
    groups: whether a group is one vertex; otherwise each processor in it is.
    compiled: whether a group is one vertex of machine code, where numba supports it; its inner pipes are not
        visible. Where all vertices are compiled, machine code runs the graph, too.
    options: options of the algorithm.

    Attributes
    ----------
    vertices: the graph of vertices.
    executions: for each vertex the number of phases in which it has run since the last reset.
    """

    name = "dataflow"

    def __init__(
        self,
        pipeline: Program,
        manager: ThreadManager | None = None,
        *,
        groups: bool = False,
        compiled: bool = False,
        capacities: Mapping[str, int] | None = None,
        oracle: Oracle | None = None,
        **options: Unpack[FlowOptions],
    ) -> None:
        for each in options:
            refuse_unknown("option", each, FlowOptions.__annotations__)
        ahead, batch = options.get("ahead", AHEAD), options.get("batch")
        if ahead < 1 or (batch is not None and batch < 1):
            raise PipelineError("at least one phase is in flight, and in a batch", hint="a whole number from 1 on")
        if compiled and oracle is not None:
            raise PipelineError("compiled vertices have no faults", hint="leave out compiled or the faults")
        self.manager = ThreadManager(0) if manager is None else manager
        self.limits, self._compiles = FlowLimits(self.manager, ahead, batch), compiled
        flat = flatten(pipeline)
        parts = groups_together(pipeline, flat) if groups or compiled else processors_apart(flat)
        self.vertices = VertexGraph.of(flat, parts)
        self.executions: Counter[str] = Counter()
        self._flow: FlowThreads | None = None
        self._planned: Any = None
        self._in_words, self._made = False, 0
        super().__init__(pipeline, capacities, oracle)
        self._vertex_of = {node.name: self.vertices.names.index(parts[node.name]) + 1 for node in flat.nodes}
        self._readers = self._reading_vertices()
        wakened = (self._vertex_of[node.name] for node in flat.nodes if looks_at_log(flat, node.name))
        clocked = (self._vertex_of[cell.node.name] for cell in self._cells if cell.clocked)
        self._at_end, self._at_steps = tuple(dict.fromkeys(wakened)), tuple(dict.fromkeys(clocked))
        self._rooms = {name: (order, size) for order, (_, size, name) in enumerate(self._bounded)}

    def _reading_vertices(self) -> list[tuple[int, ...]]:
        """Return, for each slot, the vertices that read it, except the one that writes it."""
        readers: list[dict[int, None]] = [{} for _ in self._pipes]
        writer = {slot: self._vertex_of[cell.node.name] for cell in self._cells for slot in cell.targets}
        for cell in self._cells:
            own = self._vertex_of[cell.node.name]
            for slot in cell.sources:
                if writer.get(slot) != own:
                    readers[slot][own] = None
        return [tuple(each) for each in readers]

    def reset(self) -> None:
        if self._flow is not None:
            self._flow.stop()  # in case Ctrl-C interrupted the last stop
        self._flow = None
        super().reset()
        if self._compiles:
            self._planned = None  # compiled vertices have their own state
        self.executions.clear()
        self._sets = Scheduler(self.vertices.graph)

    @property
    def phases(self) -> int:
        """The number of steps run by vertices since the last reset."""
        return self.executions[self.vertices.names[0]]

    def summary(self) -> str:
        """Describe how often vertices have run, and how often they would have at every step; empty: never."""
        vertices = self.vertices.graph.size - 1
        if not self.phases or not vertices:
            return ""
        run = self.executions.total() - self.phases
        return f"{run:,} executions of processors ({run / (self.phases * vertices):.1%} of {vertices} at every step)"

    # --- many steps at once ---

    @property
    def _overlaps(self) -> bool:
        return self.oracle is None  # an oracle is queried in the order of the steps

    def _through(self, steps: Steps, *, watched: bool) -> Iterator[DoneStep]:
        self._check_whole()
        failure, count, lengths = FirstFailure(self.manager.primitives), self.steps, self.lengths() if watched else {}
        context = VertexContext(self._states, failure, watched=watched)
        if watched or self._bounded:
            context.look = partial(self._look, failure, watched)
        try:
            self._busy = True
            for flow in self._flows(iter(steps), context, watched=watched):
                self._flow = flow
                try:
                    for step in flow.steps():
                        count += 1
                        step.queues = lengths = {**lengths, **step.queues} if watched else lengths
                        yield step
                finally:
                    flow.stop()
                    self.executions.update(dict(zip(self.vertices.names, flow.executions[1:], strict=True)))
        finally:
            self._behind = count != self.steps
            self._busy = False  # last: if Ctrl-C comes before, a reset is required

    def _flows(
        self, steps: Iterator[Mapping[str, Value]], context: VertexContext, *, watched: bool
    ) -> Iterator[FlowThreads]:
        """Yield the runs of the steps: in Python, and in machine code where all vertices are compiled and that pays."""
        runs, sets = self._runs(), self._sets

        def run(part: Iterator[Mapping[str, Value]]) -> StreamRun:
            return StreamRun(sets, runs, context, part, self._admit, self.limits)

        if watched or not self._in_words:
            yield run(steps)
            return
        from workbench.executors.dataflow.machine.run import MachineRun

        warm_up = self._warm_up_steps
        if warm_up > 0:
            first = run(itertools.islice(steps, warm_up))
            yield first
            self._made += first.executions[1]
            if first.executions[1] < warm_up:
                return
        if not self._closed:
            machine = MachineRun(self._machine_plan(), steps, self.steps, context.failure, self.limits)
            yield machine
            steps = itertools.chain([END], steps) if machine.ends else iter(())
        yield run(steps)

    @property
    def _warm_up_steps(self) -> int:
        """Return how many steps Python still runs before machine code does, where all vertices are compiled."""
        from workbench.executors.dataflow.machine.run import is_code_cached

        return (WARM_UP if is_code_cached() else UNCACHED_WARM_UP) // len(self.vertices.names) - self._made

    @property
    def runs_machine_now(self) -> bool:
        """Whether machine code runs the next step, too."""
        return self.runs_machine and self._warm_up_steps <= 0

    def _machine_plan(self) -> FlowPlan:
        """Build the plan of the graph that machine code runs without Python."""
        from workbench.executors.dataflow.machine.run import FlowPlan

        runs = self._runs()
        slots = dict.fromkeys(self._positions.values())
        slots |= dict.fromkeys(slot for _, slot in self._shown)
        slots |= dict.fromkeys(slot for run in runs[2:] for _, slot, _ in run.outputs)
        domains = [self.flat.domains[pipe] for pipe in self._pipes]
        inputs = [(name, slot, domains[slot]) for name, slot in self._positions.items()]
        output_slots = list(dict.fromkeys(slot for _, slot in self._shown))
        pairs = [(slot, domains[slot]) for slot in slots]
        return FlowPlan(
            self.vertices.graph, runs, inputs, pairs, output_slots, self._readers, self._wide, self._begin_step
        )

    def _collect_arrivals(self, events: Mapping[str, Value]) -> dict[int, Value]:
        """Return the events of a step, by slot; an oracle's event is at the complement of its slot."""
        arrivals: dict[int, Value] = {}
        for name, value in events.items():
            position = self._positions[name] if name in self._positions else self.flat.ports.position(name)
            value = self._admitted(position, value)
            arrivals[~position if name in self._oracles else position] = value
        return arrivals

    def _begin_step(self, events: Mapping[str, Value]) -> dict[int, Value]:
        """Collect the events of a step, and count the step."""
        arrivals = self._collect_arrivals(events)
        self.steps += 1
        return arrivals

    def _runs(self) -> list[Any]:
        """Return the vertices by number, as `VertexRun` or `CompiledVertex`; rebuilt when they are observed."""
        if self._planned is not self._plan:
            plan, log = self._plan, VertexRun((), (), {})
            compiled_runs, self._in_words = self._compile_runs() if self._compiles else ({}, False)
            runs = [
                compiled_runs[cells]
                if cells in compiled_runs and (self._in_words or len(cells) > 1)
                else VertexRun([plan[index] for index in cells], self._readers, self._oracles)
                for cells in self.vertices.cells[1:]
            ]
            self._vertex_runs = [log, log, *runs]
            self._planned = plan
        return self._vertex_runs

    def _compile_runs(self) -> tuple[dict[tuple[int, ...], CompiledVertex], bool]:
        """Compile groups, and return them by their processors; also whether machine code can run the whole graph.

        It can if every vertex is compiled, also single processors, and carries one row of words on each pipe.
        """
        from workbench.executors.dataflow.compiled_vertex import CompiledVertex

        slots = {pipe: slot for slot, pipe in enumerate(self._pipes)}
        compiled_runs: dict[tuple[int, ...], CompiledVertex] = {}
        whole = not self._bounded and not self.flat.oracles
        for cells in sorted(self.vertices.cells[1:], key=len, reverse=True):
            if len(cells) == 1 and not whole:
                break
            try:
                compiled_runs[cells] = CompiledVertex(self.flat, cells, slots, self._readers)
                compiled_runs[cells].refuse_words()
            except Refused:
                whole = False
        return {cells: run for cells, run in compiled_runs.items() if whole or len(cells) > 1}, whole

    @property
    def compiled(self) -> tuple[str, ...]:
        """The names of the compiled vertices."""
        pairs = zip(self.vertices.names, self._runs()[1:], strict=True)
        return tuple(name for name, run in pairs if not isinstance(run, VertexRun))

    @property
    def runs_machine(self) -> bool:
        """Whether all vertices are compiled, so that machine code runs the graph, too, if no pipe is watched."""
        self._runs()
        return self._in_words

    def step(self, events: Mapping[str, Value]) -> StepRecord:
        if not self._compiles:
            return super().step(events)
        (record,) = self.records([events])
        return record

    def end(self, name: str | None = None) -> dict[str, list[Value]]:
        if self._compiles and name is not None:
            raise Refused("a pipeline with compiled vertices ends all its inputs at once", hint="call end()")
        return dict(self.step(END).outputs) if self._compiles else super().end(name)

    def snapshot(self) -> bytes:
        if self._compiles:
            raise Refused("the state of compiled vertices cannot be saved", hint="leave out compiled=True")
        return super().snapshot()

    def _admit(self, events: Mapping[str, Value]) -> tuple[FlowStep, Sequence[int]]:
        """Begin a step; return it with the vertices that have new events."""
        contents, ends = StepContents(), events is END
        if ends:
            self._close_inputs(None)
        sent = dict.fromkeys(self._at_end if ends else self._at_steps)
        for slot, value in self._collect_arrivals(events).items():
            contents[slot] = value
            if slot >= 0:  # values of oracles are new events for no vertex
                sent.update(dict.fromkeys(self._readers[slot]))
        step = FlowStep(self.steps, contents, ends, self._wide)
        self.steps += 1
        return step, tuple(sent)

    def _look(self, failure: FirstFailure, watched: bool, index: int, step: FlowStep) -> None:
        """Record the lengths of a processor's queues at the end of the step, and check their capacities."""
        cell = self._cells[index]
        for queue, name in zip(cell.queues, cell.node.queues, strict=True):
            if watched:
                step.queues[name] = len(queue)
            if name in self._rooms and len(queue) > self._rooms[name][1]:
                queue_index = len(self._cells) + self._rooms[name][0]
                failure.note(step.number, queue_index, self._overflow(step.number, name, len(queue)))
        if watched and cell.node.pending in self.flat.inner_capacities:
            assert isinstance(cell.processor, Deferring)
            (step.queues[cell.node.pending],) = cell.processor.waiting(self._states[index])
