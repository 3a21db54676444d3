"""The threads that run the pairs of a stream: listings 1 and 2 on real vertices.

The rule of this module: all threads do the same. With the lock a thread ends what it has run, and takes what is ready;
without it, it runs that. What it takes is a vertex with the full phases that it has now, of which the first is ready:
run in turn by one thread they are the same as one after the other, and cost one update of the sets. Steps of the log
are read when nothing else is ready and there is room for another phase. No thread waits for a pair: one that finds none
goes back to its manager and is asked for again, so a reader that loses interest leaves none behind. The caller is one
of them, and alone waits for what comes out.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.core.domain import Value
from workbench.executors.dataflow.listings import Pair
from workbench.executors.dataflow.scheduler import Scheduler
from workbench.executors.dataflow.vertex_run import FirstFailure, FlowStep, VertexContext, VertexRun
from workbench.executors.threaded.manager import ThreadManager, ThreadTask
from workbench.executors.threaded.primitives import Gates, Guard

if TYPE_CHECKING:
    from workbench.executors.dataflow.compiled_vertex import CompiledVertex

BATCH = 256
"""The most phases that a thread takes of a vertex at once."""
LONG, PATIENT = 100e-6, 2e-3
"""Seconds after which a thread should come back to the sets; the same where many phases at once cost less than each."""
SLOW = 1e-3
"""Seconds after which a log is slow to say its next step: then the caller reads it only when nothing is on its way."""

Admit = Callable[[Mapping[str, Value]], tuple[FlowStep, Sequence[int]]]
"""Makes a step of what the log says, and names the vertices to which that is news."""


class PhaseBatch(NamedTuple):
    """Phases of a vertex that a thread runs in turn; of the log, how many steps are read."""

    vertex: int
    phases: Sequence[int]


class StreamRun:
    """One stream that is run.

    Parameters
    ----------
    sets, vertices, context: what runs; the vertices by their numbers, of which the first two are not used.
    steps, admit: what comes in.
    failure: what goes wrong, which `context` tells it.
    manager: grants threads beside the caller.
    ahead: the most phases that have begun and have not been taken by who reads what comes out.
    batch: the most phases of a vertex that a thread takes at once; None: as many as take some `LONG`.
    """

    def __init__(
        self,
        sets: Scheduler,
        vertices: Sequence[VertexRun | CompiledVertex],
        context: VertexContext,
        steps: Iterator[Mapping[str, Value]],
        admit: Admit,
        failure: FirstFailure,
        manager: ThreadManager,
        ahead: int,
        batch: int | None,
    ) -> None:
        self.sets, self.failure, self.ahead = sets, failure, ahead
        self.executions = [0] * len(vertices)
        self.taken = 0
        """The phases whose steps have been given away."""
        self._vertices, self._context = vertices, context
        self._steps, self._admit, self._manager = steps, admit, manager
        self._lock: Guard | contextlib.nullcontext[bool] = (
            manager.primitives.RLock() if manager.grants else contextlib.nullcontext(True)
        )
        self._gates = Gates(manager.primitives)
        self._queue: deque[Pair] = deque()
        self._flow: dict[int, FlowStep] = {}
        self._first = self._collected = sets.begun
        self._done: deque[FlowStep] = deque()
        self._reading = self._over = self._stopped = False
        self._problem: BaseException | None = None
        self._working = 0
        self._tasks: deque[ThreadTask[None]] = deque()
        self._adapts, self._most = batch is None, max(1, min(BATCH, ahead // 4))
        self._sizes = [1 if batch is None else batch] * len(vertices)
        """How many phases of each vertex are taken at once."""
        self._slow = False
        """Whether the log lets its reader wait."""

    # --- what comes out -----------------------------------------------------------------------------------

    def steps(self) -> Iterator[FlowStep]:
        """The steps when they are over, in their order; then what has gone wrong in the one after them is raised."""
        batch: PhaseBatch | None = None
        found: list[Any] = []
        gate = None
        while True:
            with self._lock:
                if batch is not None:
                    self._end(batch, found)
                batch = None if self._done else self._take(caller=True)
                if batch is None and not self._done:
                    if self._all_over:
                        break
                    gate = self._gates.shut()
                more = self._more
            if more:
                self._hire()
            while self._done:
                step = self._done.popleft()
                if step.number < self.failure.number:
                    self.taken += 1
                    yield step
            if batch is not None:
                found = self._run(batch)
            elif gate is not None:
                gate.acquire()
                gate = None
        if self._problem is not None:
            raise self._problem
        if self.failure.error is not None:
            raise self.failure.error

    @property
    def _all_over(self) -> bool:
        over = self._over or self.failure.error is not None or self._stopped
        return over and not self._reading and (self._stopped or self.sets.complete == self.sets.begun)

    @property
    def _more(self) -> bool:
        """Whether there is something for another thread."""
        return self._manager.grants and bool(self._queue or self._readable)

    @property
    def _readable(self) -> int:
        """How many steps of the log may be read now."""
        if self._reading or self._over or self._stopped or self.failure.error is not None:
            return 0
        return self.ahead - (self.sets.begun - self._first - self.taken)

    def _hire(self) -> None:
        """Ask for another thread."""
        task = self._manager.try_start(self._work)
        if task is not None:
            while self._tasks and self._tasks[0].over:
                self._tasks.popleft()
            self._tasks.append(task)

    def stop(self) -> None:
        """Let no thread go on, and wait until none does."""
        with self._lock:
            self._stopped = True
        for task in tuple(self._tasks):
            task.wait_for()

    # --- what threads do ----------------------------------------------------------------------------------

    def _work(self) -> None:
        """A thread of the manager: run what is ready as long as there is something."""
        batch: PhaseBatch | None = None
        found: list[Any] = []
        try:
            while True:
                with self._lock:
                    if batch is not None:
                        self._end(batch, found)
                        self._working -= 1
                    batch = self._take(caller=False)
                    self._working += batch is not None
                    if not self._working or self._done or self._queue:
                        self._gates.open_one()
                    more = self._more
                if batch is None:
                    return
                if more:
                    self._hire()
                found = self._run(batch)
        except BaseException as error:
            with self._lock:
                self._problem, self._stopped = error, True
                self._working -= batch is not None
                self._gates.open()

    def _take(self, *, caller: bool) -> PhaseBatch | None:
        """What a thread runs next; called with the lock."""
        if self._stopped:
            return None
        if self._queue:
            vertex, phase = self._queue.popleft()
            phases = self.sets.phases_of(vertex, self._sizes[vertex])
            return PhaseBatch(vertex, phases if phases[0] == phase else [phase])
        room = self._readable
        waits = self._slow and caller and room < self.ahead and self._manager.grants
        if room <= 0 or waits:
            return None
        self._reading = True
        return PhaseBatch(1, range(min(self._sizes[1], room)))

    def _run(self, batch: PhaseBatch) -> list[Any]:
        """Without the lock: to whom each phase sent messages; of the log, the steps too."""
        vertex, phases = batch
        begin = time.perf_counter() if self._adapts else 0.0
        if vertex == 1:
            found: list[Any] = self._read(len(phases))
        else:
            flow = self._flow
            found = self._vertices[vertex].run_all([flow[phase] for phase in phases], self._context, self.failure)
        if self._adapts:
            self._adapt(vertex, len(phases), time.perf_counter() - begin)
        return found

    def _read(self, most: int) -> list[tuple[FlowStep, Sequence[int]]]:
        """The next steps of the log; called by one thread at a time."""
        found: list[tuple[FlowStep, Sequence[int]]] = []
        try:
            for events in itertools.islice(self._steps, most):
                found.append(self._admit(events))
        except Exception as error:
            self._problem, self._over = error, True
        self._over = self._over or len(found) < most
        return found

    def _adapt(self, vertex: int, size: int, seconds: float) -> None:
        """Take so many phases of a vertex that a thread comes back to the sets soon, and not too often."""
        most = PATIENT if vertex == 1 or self._vertices[vertex].together else LONG
        if seconds > most:
            self._sizes[vertex] = max(1, int(size * most / seconds))
        elif size >= self._sizes[vertex]:
            self._sizes[vertex] = min(self._most, 2 * size)
        if vertex == 1:
            self._slow = seconds > SLOW * size

    def _end(self, batch: PhaseBatch, found: list[Any]) -> None:
        """Called with the lock."""
        vertex, phases = batch
        if vertex == 1:
            for step, receivers in found:
                newly = self.sets.open(receivers)
                self._flow[self.sets.begun] = step
                self._queue += newly
            self._reading = False
        else:
            self._queue += self.sets.finish_all(vertex, phases, found)
        self.executions[vertex] += len(found)
        while self._collected < self.sets.complete:
            self._collected += 1
            self._done.append(self._flow.pop(self._collected))
