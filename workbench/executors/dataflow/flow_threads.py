"""Threads that run a stream, and what comes out of it in the order of its steps.

The rule of this module: all threads do the same. With the lock a thread ends what it has run, and takes what is ready;
without it, it runs that. Steps of the log are read when nothing else is ready and there is room for another phase. No
thread waits for something to do: one that finds nothing goes back to its manager and is asked for again, so a reader
that loses interest leaves none behind. The caller is one of them, and alone waits for what comes out.
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
"""The most phases that a thread takes of a vertex at once."""
PATIENT = 2e-3
"""Seconds after which who reads the log should come back to the sets."""
SLOW = 1e-3
"""Seconds after which a log is slow to say its next step: then the caller reads it only when nothing is on its way."""


class PhaseBatch(NamedTuple):
    """Phases of a vertex that a thread runs in turn; of the log, how many steps are read."""

    vertex: int
    phases: Sequence[int]


class FlowLimits(NamedTuple):
    """Who runs a stream, and how much of it at a time.

    Attributes
    ----------
    manager: grants threads beside the caller.
    ahead: the most phases that have begun and have not been taken by who reads what comes out.
    batch: the most phases of a vertex that a thread takes at once; None: as many as take a short time.
    """

    manager: ThreadManager
    ahead: int
    batch: int | None = None


class PhaseCounts(Protocol):
    """The sets of a scheduler, as far as threads look at them."""

    @property
    def begun(self) -> int:
        """The number of phases begun."""

    @property
    def complete(self) -> int:
        """The phases up to this one have nothing left to do."""


class FlowThreads:
    """Threads of one stream.

    Parameters
    ----------
    sets: which phases have begun, and are complete.
    steps: what comes in.
    failure: what goes wrong.
    vertices: how many there are, and no vertex 0.

    Attributes
    ----------
    executions: of each vertex how many phases it has run.
    taken: the phases whose steps have been given away.
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
        """The steps of the phases that are complete, up to the one collected last."""
        self._reading = self._over = self._stopped = False
        self._problem: BaseException | None = None
        self._unread: Exception | None = None
        """Why the next step of the log could not be read."""
        self._working = 0
        self._tasks: deque[ThreadTask[None]] = deque()
        self._adapts, self._most = batch is None, max(1, min(BATCH, self.ahead // 4))
        self._sizes = [1 if batch is None else batch] * vertices
        """How many phases of each vertex are taken at once."""
        self._slow = False
        """Whether the log lets its reader wait."""

    @property
    def _ready(self) -> bool:
        """Whether something is; called with the lock."""
        raise NotImplementedError

    def _take_ready(self) -> PhaseBatch:
        """Something that is ready; called with the lock."""
        raise NotImplementedError

    def _run(self, batch: PhaseBatch) -> list[Any]:
        """Run it, without the lock; what `_end` wants to know."""
        raise NotImplementedError

    def _end(self, batch: PhaseBatch, found: list[Any]) -> None:
        """It has run; called with the lock."""
        raise NotImplementedError

    def _missing(self, *, caller: bool) -> None:
        """The caller, or another thread, finds nothing to do, and has to be called; called with the lock."""

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
                found = self._run(batch)
            elif gate is not None:
                gate.acquire()
                gate = None
        for error in (self._problem, self.failure.error, self._unread):  # what is wrong in the log comes after all else
            if error is not None:
                raise error

    @property
    def _all_over(self) -> bool:
        over = self._over or self.failure.error is not None or self._stopped
        # not those complete: who has run the last of them may still be on the way back with them
        return over and not self._reading and (self._stopped or self._collected == self._counts.begun)

    @property
    def _more(self) -> bool:
        """Whether there is something for another thread."""
        return self._manager.grants and bool(self._ready or self._readable)

    @property
    def _readable(self) -> int:
        """How many steps of the log may be read now."""
        if self._reading or self._over or self._stopped or self.failure.error is not None:
            return 0
        return self.ahead - (self._counts.begun - self._first - self.taken)

    def _hire(self) -> bool:
        """Ask for another thread; whether it was granted."""
        with hold():
            task = self._manager.try_start(self._work)
            if task is not None:
                while self._tasks and self._tasks[0].over:
                    self._tasks.popleft()
                self._tasks.append(task)
        return task is not None

    def stop(self) -> None:
        """Let no thread go on, and wait until none does."""
        with self._lock:
            self._stopped = True
        while waiting := [task for task in tuple(self._tasks) if not task.over]:
            for task in waiting:  # which may have just asked for another one
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
                    if not self._working or self._done or self._ready:
                        self._gates.open_one()
                    more = self._more
                    if batch is None:
                        self._missing(caller=False)
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
        if self._ready:
            return self._take_ready()
        room = self._readable
        waits = self._slow and caller and room < self.ahead and self._manager.grants
        if room <= 0 or waits:
            return None
        self._reading = True
        return PhaseBatch(1, range(min(self._sizes[1], room)))

    def _adapt(self, vertex: int, size: int, seconds: float, most: float) -> None:
        """Take so many phases of a vertex that a thread comes back to the sets soon, and not too often."""
        if seconds > most:
            self._sizes[vertex] = max(1, int(size * most / seconds))
        elif size >= self._sizes[vertex]:
            self._sizes[vertex] = min(self._most, 2 * size)
        if vertex == 1:
            self._slow = seconds > SLOW * size
