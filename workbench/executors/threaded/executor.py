"""The threaded executor: the reference executor, with parts of the pipeline in threads.

Whole steps flow between the parts: the contents of all pipes of a step so far. A part does one step after the
other, while the part before it does later ones; a pipelined processor does several at a time. So values, order, the
step of each output, and errors are those of the reference executor, whatever threads do. With one step at a time
(`step`, `push`) only the pushes into copies (windows) overlap; `records`, `run` and `trace` work on many steps at once.

After an error in the middle of a stream the parts are at different steps, so the executor must be `reset`; the records
of all steps before the error have been returned.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from workbench.core.domain import Value
from workbench.core.kinds import Keeping, Push, keeps_copies, stepping
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END, Processor, State, Stepped
from workbench.core.program import Program
from workbench.errors import Overflow
from workbench.executors.backend import Oracle, Steps
from workbench.executors.overlapped_steps import Overlapped
from workbench.executors.pending import Done, Pending
from workbench.executors.reference.cell import failure
from workbench.executors.threaded.launcher import Launcher, Results
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.placement import Placement, Stage, balance_cuts
from workbench.executors.threaded.prefetch import CAPACITY, Ahead, check_capacity
from workbench.interrupts import hold
from workbench.processors.held.group import flatten

T = TypeVar("T")


@dataclass(slots=True)
class Token:
    """A step on its way through the parts: the contents of the pipes so far."""

    number: int
    contents: list[list[Value]]
    ends: bool
    queues: dict[str, int]
    overflow: Overflow | None = None
    """Raised after all other effects of the step, as by the reference executor."""
    results: Pending[Results] | None = None

    def events(self, slot: int) -> list[Value]:
        """Return the events that a pipe carries."""
        return self.contents[slot]


Tokens = Iterator[Token]


class Threaded(Overlapped):
    """A running pipeline whose parts run in threads.

    Parameters
    ----------
    pipeline, capacities, oracle: as for `Reference`.
    manager: grants the threads; with a limit of 0 the result is the reference executor.
    placement: which parts get a thread; None: one part more than the manager's limit, with equal numbers of
        processors, and threads for the copies in windows.
    ahead: maximum number of steps that wait between two parts.
    """

    name = "threaded"

    def __init__(
        self,
        pipeline: Program,
        manager: ThreadManager,
        placement: Placement | None = None,
        *,
        capacities: Mapping[str, int] | None = None,
        oracle: Oracle | None = None,
        ahead: int = CAPACITY,
    ) -> None:
        flat = flatten(pipeline)
        self.manager = manager
        self.placement = default_placement(flat, manager.limit) if placement is None else placement
        self.ahead = check_capacity(ahead)
        self._parts = self.placement.parts(flat)
        copies = self.placement.copies
        managers = copies if isinstance(copies, Mapping) else dict.fromkeys(copies, manager)
        self._non_blocking = {name: NonBlocking(own) for name, own in managers.items()}
        self._stages: list[Ahead[Token]] = []
        self._last: Pending[Any] = Done(lambda: None)
        super().__init__(pipeline, capacities, oracle)

    def pushing(self, name: str) -> Push:
        copies = self._non_blocking.get(name)
        return super().pushing(name) if copies is None else copies.step(self.flat.typed[name])

    def reset(self) -> None:
        self._stop()  # in case Ctrl-C interrupted the last stop
        Done(self._last.wait_for)  # work in progress belongs to the run that ends
        super().reset()

    # --- one step at a time ---

    def push_fast(self, value: Value, input: str | None = None) -> Pending[Any]:
        """Start `push`, in a thread if one is granted, after the work started before it."""
        return self._begin(partial(self.push, value, input))

    def pull_fast(self, output: str | None = None) -> Pending[Value]:
        """Start `pull`, in a thread if one is granted, after the work started before it."""
        return self._begin(partial(self.pull, output))

    def _begin(self, work: Callable[[], Any]) -> Pending[Any]:
        Done(self._last.wait_for)  # its caller gets its error
        with hold():
            pending = self.manager.try_start(work)
            self._last = pending or self._last
        if pending is None:
            self._last = Done(work)
        return self._last

    # --- many steps at once ---

    @property
    def _overlaps(self) -> bool:
        """Whether steps of a stream can overlap."""
        parallel = len(self._parts) > 1 or any(part.certificate for part in self._parts)
        clocked = self.flat.is_clocked  # such processors also work at steps without events
        return parallel and not clocked and self.manager.grants

    def _through(self, steps: Steps, *, watched: bool) -> Tokens:
        """Yield the steps that have been through all parts."""
        self._check_whole()
        count = self.steps
        tokens: Tokens = map(self._admit, steps)
        stages = self._stages
        copies: dict[int, Launcher] = {}
        for part in self._parts:
            if part.certificate is None:
                tokens = map(partial(self._advance_part, part, watched), tokens)
                if part is not self._parts[-1]:
                    tokens = Ahead(tokens, self.manager, self.ahead)
                    stages.append(tokens)
            else:
                copies[part.start] = self._copies(part)
                launched = map(partial(self._launch, part, copies[part.start], watched), tokens)
                stages.append(Ahead(launched, self.manager, self.ahead))
                tokens = map(partial(self._collect, part, dict(self._inner_lengths(part, watched))), stages[-1])
        try:
            self._busy = True
            for token in tokens:
                if token.overflow is not None:
                    raise token.overflow
                count += 1
                yield token
        finally:
            self._stop()
            self._behind = count != self.steps
            if not self._behind:
                for index, each in copies.items():
                    self._states[index] = each.state()
            self._busy = False  # last: if Ctrl-C comes before, a reset is required

    def _stop(self) -> None:
        """Cancel all parts, and wait until none runs."""
        for stage in self._stages:
            stage.cancel()
        for stage in self._stages:
            stage.close()
        self._stages.clear()

    # --- the parts: each is used by one thread at a time, and owns its processors and queues ---

    def _admit(self, events: Mapping[str, Value]) -> Token:
        contents: list[list[Value]] = [[] for _ in self._pipes]
        if events is END:
            self._close_inputs(None)
        for name, value in events.items():
            position = self.flat.ports.position(name)
            contents[position] = [self._admitted(position, value)]
        token = Token(self.steps, contents, events is END, {})
        self.steps += 1
        return token

    def _advance_part(self, part: Stage, watched: bool, token: Token) -> Token:
        contents, when = token.contents, token.number
        for index in range(part.start, part.stop):
            cell = self._cells[index]
            arrivals = [contents[slot] for slot in cell.sources]
            if any(arrivals):
                self._states[index], emitted = cell.feed(self._states[index], arrivals, when)
                cell.carry(emitted, contents)
                cell.settle()
            if token.ends:
                cell.carry(cell.finish(self._states[index], when), contents)
        self._look(part, watched, token)
        return token

    def _copies(self, part: Stage) -> Launcher:
        assert part.certificate is not None
        copies = Launcher(self._cells[part.start].processor, part.certificate, self.manager)
        copies.start_from(self._states[part.start])
        return copies

    def _launch(self, part: Stage, copies: Launcher, watched: bool, token: Token) -> Token:
        cell = self._cells[part.start]
        fronts = cell.collect([token.contents[slot] for slot in cell.sources])
        cell.settle()
        if fronts:
            when, node = token.number, cell.node
            token.results = copies.launch(fronts, lambda _, front, error: failure(when, node, front, error))
        if token.ends and copies.processor.finishes:
            self._states[part.start] = copies.state()
        self._look(part, watched, token)
        return token

    def _collect(self, part: Stage, lengths: dict[str, int], token: Token) -> Token:
        """Take the results of a copy; `lengths` holds the lengths of the inner queues, and is updated."""
        cell = self._cells[part.start]
        if token.results is not None:
            results = token.results.wait_for()
            if results.error is not None:
                raise results.error
            cell.carry(results.emitted, token.contents)
            token.results = None
            if lengths and isinstance(cell.processor, Keeping):
                lengths.update(zip(cell.node.inside, cell.processor.waiting(results.state), strict=True))
        token.queues.update(lengths)
        if token.ends:
            cell.carry(cell.finish(self._states[part.start], token.number), token.contents)
        return token

    def _inner_lengths(self, part: Stage, watched: bool) -> Iterator[tuple[str, int]]:
        """Yield the queues inside the processors of a part, and their lengths, if watched."""
        for index in self._inside if watched else ():
            if part.start <= index < part.stop:
                yield from self.inner_lengths(index)

    def _look(self, part: Stage, watched: bool, token: Token) -> None:
        """Record the lengths of the part's queues at the end of the step, and check their capacities."""
        if part.certificate is None:
            token.queues.update(self._inner_lengths(part, watched))
        for cell in self._cells[part.start : part.stop]:
            for queue, name in zip(cell.queues, cell.node.queues, strict=True):
                capacity = self.capacities.get(name)
                if watched:
                    token.queues[name] = len(queue)
                if capacity is not None and len(queue) > capacity and token.overflow is None:
                    token.overflow = self._overflow(token.number, name, len(queue))


class NonBlocking:
    """Parallel work on copies in threads of a manager (Multiple Threads, section 4.2); an `Each`, which holders take.

        "The window processor first calls push() on each copy in rapid-fire succession. Each copy of φ can update its
        state in a separate thread, thus exhibiting parallel processing. The processor then waits for each of these
        calls to be finished."

    Where no thread is granted, the caller does the work.
    """

    def __init__(self, manager: ThreadManager) -> None:
        self.manager = manager

    def __call__(self, work: Callable[..., T], jobs: Iterable[tuple[Any, ...]], /) -> Iterator[T]:
        """Start all work before waiting for any; all of it is done on return, even if some fails."""
        pending = [self.manager.start(partial(work, *job)) for job in jobs]
        return map(Done.wait_for, [Done(each.wait_for) for each in pending])

    def step(self, processor: Processor) -> Push:
        """Return the step of a typed processor, with its copies in threads as long as the manager grants them."""
        manager, plain, overlapping = self.manager, processor.step, stepping(processor, self)

        def step(state: State, front: tuple[Any, ...]) -> Stepped:
            return overlapping(state, front) if manager.grants else plain(state, front)

        return step


def default_placement(flat: Pipeline, limit: int | None) -> Placement:
    """Cut a pipeline into one part per thread and one for the caller, of equal sizes; with threads for all copies."""
    threads = os.cpu_count() or 1 if limit is None else limit
    copies = frozenset(node.name for node in flat.nodes if keeps_copies(flat.typed[node.name]))
    return Placement(balance_cuts(flat, threads + 1), copies=copies)
