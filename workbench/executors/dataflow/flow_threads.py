"""Threads that run a stream, and its outputs in the order of its steps.

The rule of this module: all threads do the same. With the lock a thread finishes its last batch, and takes a ready one;
without the lock, it runs that. Steps of the log are read when nothing else is ready and another phase may begin. No
thread waits for work: an idle one returns to its manager and is requested again, so an abandoned reader leaves none
behind. The caller is one of them, and alone waits for outputs.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from workbench.core.domain import Value
from workbench.executors.dataflow.vertex_run import FirstFailure, FlowStep
from workbench.executors.threaded.manager import ThreadManager, ThreadTask
from workbench.executors.threaded.primitives import Gates, Guard
from workbench.interrupts import hold

BATCH = 256
"""Maximum number of phases of a vertex that a thread takes at once."""
PATIENT = 2e-3
"""Seconds after which a thread that reads the log should return to the sets."""
SLOW = 1e-3
"""Seconds per step above which a log is slow: then the caller reads it only when nothing is in flight."""


class PhaseBatch(NamedTuple):
    """Phases of a vertex that a thread runs in turn; for the log, as many steps are read."""

    vertex: int
    phases: Sequence[int]


class FlowLimits(NamedTuple):
    """The threads for a stream, and the amount of work at a time.

    Attributes
    ----------
    manager: grants threads besides the caller.
    ahead: maximum number of phases that have begun and whose outputs have not been taken.
    batch: maximum number of phases of a vertex that a thread takes at once; None: as many as take a short time.
    """

    manager: ThreadManager
    ahead: int
    batch: int | None = None


class PhaseCounts(Protocol):
    """The sets of a scheduler, as far as threads read them."""

    @property
    def begun(self) -> int:
        """Number of phases begun."""

    @property
    def complete(self) -> int:
        """Number of the last phase up to which all phases are complete."""


class FlowThreads:
    """The threads of one stream.

    Parameters
    ----------
    sets: the phases that have begun, and that are complete.
    steps: the input.
    failure: the first failure.
    vertices: their number, plus one for vertex 0, which does not exist.

    Attributes
    ----------
    executions: for each vertex the number of phases it has run.
    taken: number of phases whose steps have been returned.
    """

    def __init__(
        self,
        sets: PhaseCounts,
        steps: Iterator[Mapping[str, Value]],
        failure: FirstFailure,
        limits: FlowLimits,
        vertices: int,
    ) -> None:
        manager, self.ahead, batch = limits
        self.failure, self.executions, self.taken = failure, [0] * vertices, 0
        self._counts, self._steps, self._manager = sets, steps, manager
        self._lock: Guard | contextlib.nullcontext[bool] = (
            manager.primitives.RLock() if manager.grants else contextlib.nullcontext(True)
        )
        self._gates = Gates(manager.primitives)
        self._first = self._collected = sets.begun
        self._done: deque[FlowStep] = deque()
        """The steps of complete phases, up to the last collected."""
        self._reading = self._over = self._stopped = False
        self._problem: BaseException | None = None
        self._unread: Exception | None = None
        """The error of reading the next step of the log."""
        self._working = 0
        self._tasks: deque[ThreadTask[None]] = deque()
        self._adapts, self._most = batch is None, max(1, min(BATCH, self.ahead // 4))
        self._sizes = [1 if batch is None else batch] * vertices
        """Number of phases of each vertex that are taken at once."""
        self._slow = False
        """Whether reading the log blocks for long."""

    @property
    def _ready(self) -> bool:
        """Whether anything is ready; called with the lock held."""
        raise NotImplementedError

    def _take_ready(self) -> PhaseBatch:
        """Take something that is ready; called with the lock held."""
        raise NotImplementedError

    def _run(self, batch: PhaseBatch) -> list[Any]:
        """Run a batch, without the lock; return the results for `_end`."""
        raise NotImplementedError

    def _end(self, batch: PhaseBatch, results: list[Any]) -> None:
        """Finish a batch that has run; called with the lock held."""
        raise NotImplementedError

    def _missing(self, *, caller: bool) -> None:
        """Record that the caller, or another thread, is idle, and has to be woken; called with the lock held."""

    # --- outputs ------------------------------------------------------------------------------------------

    def steps(self) -> Iterator[FlowStep]:
        """Yield the completed steps in order; then raise the error of the step after them, if any."""
        batch: PhaseBatch | None = None
        results: list[Any] = []
        gate = None
        while True:
            with self._lock:
                if batch is not None:
                    self._end(batch, results)
                batch = None if self._done else self._take(caller=True)
                if batch is None and not self._done:
                    if self._all_over:
                        break
                    gate = self._gates.shut()
                    self._missing(caller=True)
                more = self._more
            if more:
                self._hire()
            while self._done:
                step = self._done.popleft()
                if step.number < self.failure.number:
                    self.taken += 1
                    yield step
            if batch is not None:
                results = self._run(batch)
            elif gate is not None:
                gate.acquire()
                gate = None
        for error in (self._problem, self.failure.error, self._unread):  # errors of the log come last
            if error is not None:
                raise error

    @property
    def _all_over(self) -> bool:
        over = self._over or self.failure.error is not None or self._stopped
        # all complete is not enough: the thread that ran the last phase may still be returning with it
        return over and not self._reading and (self._stopped or self._collected == self._counts.begun)

    @property
    def _more(self) -> bool:
        """Whether there is work for another thread."""
        return self._manager.grants and bool(self._ready or self._readable)

    @property
    def _readable(self) -> int:
        """Number of steps of the log that may be read now."""
        if self._reading or self._over or self._stopped or self.failure.error is not None:
            return 0
        return self.ahead - (self._counts.begun - self._first - self.taken)

    def _hire(self) -> bool:
        """Request another thread; return whether it was granted."""
        with hold():
            task = self._manager.try_start(self._work)
            if task is not None:
                while self._tasks and self._tasks[0].over:
                    self._tasks.popleft()
                self._tasks.append(task)
        return task is not None

    def stop(self) -> None:
        """Stop all threads, and wait until none runs."""
        with self._lock:
            self._stopped = True
        while waiting := [task for task in tuple(self._tasks) if not task.over]:
            for task in waiting:  # they may have just requested another one
                task.wait_for()

    # --- the work of threads ----------------------------------------------------------------------------------

    def _work(self) -> None:
        """Run ready work while there is any, in a thread of the manager."""
        batch: PhaseBatch | None = None
        results: list[Any] = []
        try:
            while True:
                with self._lock:
                    if batch is not None:
                        self._end(batch, results)
                        self._working -= 1
                    batch = self._take(caller=False)
                    self._working += batch is not None
                    if not self._working or self._done or self._ready:
                        self._gates.open_one()
                    more = self._more
                    if batch is None:
                        self._missing(caller=False)
                if batch is None:
                    return
                if more:
                    self._hire()
                results = self._run(batch)
        except BaseException as error:
            with self._lock:
                self._problem, self._stopped = error, True
                self._working -= batch is not None
                self._gates.open()

    def _take(self, *, caller: bool) -> PhaseBatch | None:
        """Take the next work of a thread; called with the lock held."""
        if self._stopped:
            return None
        if self._ready:
            return self._take_ready()
        readable = self._readable
        waits = self._slow and caller and readable < self.ahead and self._manager.grants
        if readable <= 0 or waits:
            return None
        self._reading = True
        return PhaseBatch(1, range(min(self._sizes[1], readable)))

    def _adapt(self, vertex: int, size: int, seconds: float, limit: float) -> None:
        """Adapt the number of phases of a vertex per batch so that threads return to the sets in good time."""
        if seconds > limit:
            self._sizes[vertex] = max(1, int(size * limit / seconds))
        elif size >= self._sizes[vertex]:
            self._sizes[vertex] = min(self._most, 2 * size)
        if vertex == 1:
            self._slow = seconds > SLOW * size
