"""The run of a stream: listings 1 and 2 on real vertices.

The rule of this module: a thread takes a vertex together with all of its full phases, the first of which is ready.
Running them in one go has the same effect as taking them one at a time, and needs one update of the sets.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.domain import Value
from workbench.executors.dataflow.flow_threads import PATIENT, FlowLimits, FlowThreads, PhaseBatch
from workbench.executors.dataflow.scheduler import Pair, Scheduler
from workbench.executors.dataflow.vertex_run import FlowStep, VertexContext, VertexRun

if TYPE_CHECKING:
    from workbench.executors.dataflow.compiled_vertex import CompiledVertex

LONG = 1e-3
"""Seconds after which a thread should return to the sets, unless many phases at once cost less than one by one."""

Admit = Callable[[Mapping[str, Value]], tuple[FlowStep, Sequence[int]]]
"""Builds a step from events of the log, and returns it with the vertices that have new events."""


class StreamRun(FlowThreads):
    """The run of one stream.

    Parameters
    ----------
    sets, vertices, context: the state of the run; the vertices by number, of which the first two are unused.
    steps, admit: the input.
    """

    def __init__(
        self,
        sets: Scheduler,
        vertices: Sequence[VertexRun | CompiledVertex],
        context: VertexContext,
        steps: Iterator[Mapping[str, Value]],
        admit: Admit,
        limits: FlowLimits,
    ) -> None:
        super().__init__(sets, steps, context.failure, limits, len(vertices))
        self.sets, self._vertices, self._context, self._admit = sets, vertices, context, admit
        self._queue: deque[Pair] = deque()
        self._flow: dict[int, FlowStep] = {}

    @property
    def _ready(self) -> bool:
        return bool(self._queue)

    def _take_ready(self) -> PhaseBatch:
        vertex, phase = self._queue.popleft()
        phases = self.sets.phases_of(vertex, self._sizes[vertex])
        return PhaseBatch(vertex, phases if phases[0] == phase else [phase])

    def _run(self, batch: PhaseBatch) -> list[Any]:
        """Run a batch; return the receivers of messages of each phase; for the log, the steps, too."""
        vertex, phases = batch
        begin = time.perf_counter() if self._adapts else 0.0
        if vertex == 1:
            results: list[Any] = self._read(len(phases))
        else:
            flow = self._flow
            results = self._vertices[vertex].run_all([flow[phase] for phase in phases], self._context)
        if self._adapts:
            patient = vertex == 1 or self._vertices[vertex].together
            self._adapt(vertex, len(phases), time.perf_counter() - begin, PATIENT if patient else LONG)
        return results

    def _read(self, limit: int) -> list[tuple[FlowStep, Sequence[int]]]:
        """Read the next steps of the log; called by one thread at a time."""
        steps: list[tuple[FlowStep, Sequence[int]]] = []
        try:
            for events in itertools.islice(self._steps, limit):
                steps.append(self._admit(events))
        except Exception as error:
            self._unread, self._over = error, True
        self._over = self._over or len(steps) < limit
        return steps

    def _end(self, batch: PhaseBatch, results: list[Any]) -> None:
        vertex, phases = batch
        if vertex == 1:
            for step, receivers in results:
                newly = self.sets.open(receivers)
                self._flow[self.sets.begun] = step
                self._queue += newly
            self._reading = False
        else:
            self._queue += self.sets.finish_all(vertex, phases, results)
        self.executions[vertex] += len(results)
        while self._collected < self.sets.complete:
            self._collected += 1
            self._done.append(self._flow.pop(self._collected))
