"""The threaded executor: the reference executor, with parts of the pipeline in threads.

What flows between the parts are whole steps: everything that a step has put on the pipes so far. A part does one step
after the other, while the part before it does later ones; a pipelined processor does several at a time. So values,
order, the step at which something comes out, and errors are those of the reference executor, whatever threads do. One
step at a time (`step`, `push`) there is nothing to overlap but the pushes into copies (windows); `records`, `run` and
`trace` work on many steps at once.

After an error in the middle of a stream the parts are at different steps, so the executor wants a `reset`; the records
of all steps before the error have been given.
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
from workbench.executors.overlapped import Overlapped
from workbench.executors.pending import Done, Pending
from workbench.executors.reference.cell import failure
from workbench.executors.threaded.launcher import Launcher, Results
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.placement import Placement, Stage, balance_cuts
from workbench.executors.threaded.prefetch import CAPACITY, Ahead, check_room
from workbench.interrupts import hold
from workbench.processors.held.group import flatten

T = TypeVar("T")


@dataclass(slots=True)
class Token:
    """A step on its way through the parts: what the pipes carry so far."""

    number: int
    contents: list[list[Value]]
    ends: bool
    queues: dict[str, int]
    overflow: Overflow | None = None
    """Told after everything else that happens in the step, as by the reference executor."""
    results: Pending[Results] | None = None

    def events(self, slot: int) -> list[Value]:
        """What a pipe carries."""
        return self.contents[slot]


Tokens = Iterator[Token]


class Threaded(Overlapped):
    """A running pipeline whose parts run in threads.

    Parameters
    ----------
    pipeline, capacities, oracle: as for `Reference`.
    manager: grants the threads; with a limit of 0 this is the reference executor.
    placement: which parts get a thread; None: as many parts as the manager's limit says, of as many processors each,
        and the copies in windows.
    ahead: most steps that wait between two parts.
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
        self.ahead = check_room(ahead)
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
        self._stop()  # where Ctrl-C came while it was stopped
        Done(self._last.wait_for)  # what was begun is no part of what comes now
        super().reset()

    # --- one step at a time ---

    def push_fast(self, value: Value, input: str | None = None) -> Pending[Any]:
        """`push`, in a thread if one is granted, after what was begun before it."""
        return self._begin(partial(self.push, value, input))

    def pull_fast(self, output: str | None = None) -> Pending[Value]:
        """`pull`, in a thread if one is granted, after what was begun before it."""
        return self._begin(partial(self.pull, output))

    def _begin(self, work: Callable[[], Any]) -> Pending[Any]:
        Done(self._last.wait_for)  # its error is told to who waits for it
        with hold():
            begun = self.manager.try_start(work)
            self._last = begun or self._last
        if begun is None:
            self._last = Done(work)
        return self._last

    # --- many steps at once ---

    @property
    def _overlaps(self) -> bool:
        """Whether anything can be done in the steps of a stream at the same time."""
        parallel = len(self._parts) > 1 or any(part.certificate for part in self._parts)
        clocked = self.flat.is_clocked  # they work at steps that bring nothing, too
        return parallel and not clocked and self.manager.grants

    def _through(self, steps: Steps, *, watched: bool) -> Tokens:
        """The steps, when they have been through all parts."""
        self._check_whole()
        taken = self.steps
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
                taken += 1
                yield token
        finally:
            self._stop()
            self._behind = taken != self.steps
            if not self._behind:
                for index, each in copies.items():
                    self._states[index] = each.state()
            self._busy = False  # at last: if Ctrl-C comes before, it wants a reset

    def _stop(self) -> None:
        """Let no part go on, and wait until none does."""
        for stage in self._stages:
            stage.cancel()
        for stage in self._stages:
            stage.close()
        self._stages.clear()

    # --- the parts: each is used by one thread at a time, and its processors and queues belong to no other ---

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
        """Take the results of a copy; `lengths` are those of the queues inside, which it says anew."""
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
        """The queues inside the processors of a part, and how much each holds, where somebody asks."""
        for index in self._inside if watched else ():
            if part.start <= index < part.stop:
                yield from self.inner_lengths(index)

    def _look(self, part: Stage, watched: bool, token: Token) -> None:
        """What the part's queues hold now that the step is over for them."""
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
    """Does work on copies in threads of a manager's (Multiple Threads, section 4.2); an `Each`, of which holders know.

        "The window processor first calls push() on each copy in rapid-fire succession. Each copy of φ can update its
        state in a separate thread, thus exhibiting parallel processing. The processor then waits for each of these
        calls to be finished."

    Where no thread is granted, the work is done by whoever asked.
    """

    def __init__(self, manager: ThreadManager) -> None:
        self.manager = manager

    def __call__(self, work: Callable[..., T], jobs: Iterable[tuple[Any, ...]], /) -> Iterator[T]:
        """All work begins before any is waited for, and all is done on return, whatever fails."""
        begun = [self.manager.start(partial(work, *job)) for job in jobs]
        return map(Done.wait_for, [Done(each.wait_for) for each in begun])

    def step(self, processor: Processor) -> Push:
        """The step of a (typed) processor, its copies stepped so: as long as the manager would grant a thread."""
        manager, plain, overlapping = self.manager, processor.step, stepping(processor, self)

        def step(state: State, front: tuple[Any, ...]) -> Stepped:
            return overlapping(state, front) if manager.grants else plain(state, front)

        return step


def default_placement(flat: Pipeline, limit: int | None) -> Placement:
    """One part for each thread and one for the caller, of as many processors each; threads for all copies."""
    threads = os.cpu_count() or 1 if limit is None else limit
    copies = frozenset(node.name for node in flat.nodes if keeps_copies(flat.typed[node.name]))
    return Placement(balance_cuts(flat, threads + 1), copies=copies)
