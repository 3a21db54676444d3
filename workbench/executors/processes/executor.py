"""The reference executor, with the copies of quantifiers, windows and slices in worker processes.

Python's lock lets only one thread of a process compute; so independent copies are divided among processes (Multiple
Threads, section 4.2). Each worker gets all events, computes what precedes its copies, and returns their answers; this
process runs the rest of the pipeline, on all answers for each front. So values, order, the step of each output, queues
and errors are those of the reference executor. Events are sent in batches, several of which are in flight: a reader
that is faster than the workers waits for them.

The rule of this module: workers end with their stream. After an error, or when a stream is abandoned, they are ahead of
this process: it must be `reset`, and gets new ones.
"""

from __future__ import annotations

import pickle
import weakref
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, NoReturn, Self

from workbench.child_processes import Forked
from workbench.core.domain import Value
from workbench.core.kinds import Answers, Divisible, Push, keeps_copies
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END, State, Stepped
from workbench.core.program import Program
from workbench.errors import Refused, WorkbenchError, check_count
from workbench.executors.backend import Oracle, StepRecord, Steps
from workbench.executors.overlapped_steps import Overlapped
from workbench.executors.processes.worker_share import Ended, Failed, WorkerShare, before
from workbench.executors.reference.executor import Reference
from workbench.interrupts import hold
from workbench.processors.held.group import flatten

FIRST, BATCH = 16, 128
"""Number of steps in the first batch, and the maximum, up to which batches double in size."""
AHEAD = 12
"""Number of batches in flight: workers then have work while this process waits for a core."""


class Processes(Overlapped):
    """A running pipeline with copies in worker processes.

    Parameters
    ----------
    pipeline, capacities, oracle: as for `Reference`.
    processes: number of workers.
    live: whether the next step may be delayed: then every step is answered before the next is requested.

    Raises
    ------
    Refused: nothing in the pipeline can be divided; with the reason.
    """

    def __init__(
        self,
        pipeline: Program,
        processes: int,
        *,
        capacities: Mapping[str, int] | None = None,
        oracle: Oracle | None = None,
        live: bool = False,
    ) -> None:
        check_count("the number of worker processes", processes, least=1)
        self.processes = processes
        self._batch, self._ahead = (1, 1) if live else (BATCH, AHEAD)
        self.divided = divided(flatten(pipeline))
        self._arrived: dict[str, deque[Sequence[Answers | Failed | None]]] = {name: deque() for name in self.divided}
        self._workers: list[Forked] = []
        self._finalizer: weakref.finalize[..., Processes] | None = None
        self._stopped = ""
        super().__init__(pipeline, capacities, oracle)

    def pushing(self, name: str) -> Push:
        holder = flatten(self.pipeline).typed[name]
        if name not in self.divided or not isinstance(holder, Divisible):
            return super().pushing(name)
        arrived, (_, join) = self._arrived[name], holder.joint(self.processes)

        def push(state: State, _: tuple[Any, ...]) -> Stepped:
            replies = arrived.popleft() if arrived else (None,)
            answers = [each for each in replies if not isinstance(each, Failed)]
            if len(answers) < len(replies):
                self._fail(holder, [each for each in replies if isinstance(each, Failed)])
            if None in answers:
                raise WorkbenchError(f"a worker process has stopped: {self._stopped}")
            return join(state, answers)  # type: ignore[arg-type]

        return push

    def _fail(self, holder: Divisible, failed: Sequence[Failed]) -> NoReturn:
        """Raise the error that the reference executor would have met first."""
        order = None if any(each.order is None for each in failed) else holder.first_failed([e.order for e in failed])
        raise next(each.error for each in failed if each.order == order)

    def reset(self) -> None:
        self.close()
        super().reset()
        for index, cell in enumerate(self._cells):
            if isinstance(cell.processor, Divisible) and cell.node.name in self.divided:
                self._states[index] = cell.processor.joint(self.processes)[0]

    def close(self) -> None:
        """End the workers."""
        _stop(self._workers)
        with hold():
            if self._finalizer is not None:
                self._finalizer.detach()  # a finalizer with nothing to do would only swallow a Ctrl-C
                self._finalizer = None
        for each in self._arrived.values():
            each.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- one step at a time ---

    def step(self, events: Mapping[str, Value]) -> StepRecord:
        self._check_whole()
        self._behind = True
        self._exchange(Ended(None) if events is END else events)
        record = Reference.step(self, events)
        self._behind = False
        return record

    def end(self, name: str | None = None) -> dict[str, list[Value]]:
        self._check_whole()
        self._behind = True
        self._exchange(Ended(name))
        outputs = Reference.end(self, name)
        self._behind = False
        return outputs

    def _exchange(self, step: Any) -> None:
        self._send([step])
        self._receive()

    # --- many steps at once ---

    @property
    def _overlaps(self) -> bool:
        return True

    def records(self, steps: Steps) -> Generator[StepRecord]:
        self._check_whole()
        self._behind = True
        yield from map(partial(Reference.step, self), self._send_steps(steps))
        self._behind = False

    def streamed(self, steps: Iterable[Mapping[str, Value]]) -> Generator[dict[str, list[Value]]]:
        self._check_whole()
        self._behind = True
        yield from self.emitted(self._send_steps(steps))
        self._behind = False

    def _send_steps(self, steps: Steps) -> Iterator[Mapping[str, Value]]:
        """Yield the steps, each once the workers have answered it. Steps are read ahead."""
        source, failed = iter(steps), None
        under_way: deque[list[Mapping[str, Value]]] = deque()
        more, size = True, min(FIRST, self._batch)
        self._start()
        while more or under_way:
            if more:
                batch: list[Mapping[str, Value]] = []
                try:
                    while len(batch) < size:
                        batch.append(next(source))
                except StopIteration:
                    more = False
                except Exception as error:  # raised after the output of the steps before it
                    more, failed = False, error
                if batch:
                    self._send([Ended(None) if step is END else step for step in batch])
                    under_way.append(batch)
                size = min(2 * size, self._batch)
            while under_way and (not more or len(under_way) == self._ahead or self._has_answer):
                self._receive()
                yield from under_way.popleft()
        if failed is not None:
            self._behind = False
            raise failed

    # --- workers ---

    def _start(self) -> None:
        for index in range(len(self._workers), self.processes):
            share = WorkerShare(self.flat, self.divided, index, self.processes)
            with hold():
                self._workers.append(Forked(share.serve, self._workers))
                self._finalizer = self._finalizer or weakref.finalize(self, _stop, self._workers)

    def _send(self, steps: Sequence[Any]) -> None:
        self._start()
        data = pickle.dumps(steps, pickle.HIGHEST_PROTOCOL)
        for worker in self._workers:
            try:
                worker.connection.send_bytes(data)
            except OSError:
                self._raise_lost(worker)

    @property
    def _has_answer(self) -> bool:
        """Whether all workers have answered the oldest steps, or have ended."""
        return all(worker.connection.poll() for worker in self._workers)

    def _receive(self) -> None:
        """Receive the answers of the workers for the oldest batch."""
        answers = []
        for worker in self._workers:
            try:
                answer, why = pickle.loads(worker.connection.recv_bytes())
            except (EOFError, OSError):
                self._raise_lost(worker)
            answers.append(answer)
            self._stopped = self._stopped or why
        for name, arrived in self._arrived.items():
            arrived.extend(zip_longest(*(answer[name] for answer in answers)))

    def _raise_lost(self, worker: Forked) -> NoReturn:
        raise WorkbenchError(
            f"a worker is lost: {worker.cause_of_death}",
            hint="there may be too little memory: use fewer --processes",
        )

    # --- unsupported operations ---

    def snapshot(self) -> bytes:
        raise Refused("the state of a pipeline whose copies are in other processes cannot be saved")

    def restore(self, snapshot: bytes) -> None:
        self.snapshot()

    def connect(self, **sources: Any) -> Self:
        raise Refused("a pipeline whose copies are in other processes cannot be pulled", hint="push the events")


def divided(flat: Pipeline) -> tuple[str, ...]:
    """Return the holders whose copies are divided: those that no other such holder precedes.

    Raises
    ------
    Refused: there are none.
    """
    if flat.is_clocked:
        raise Refused(f"{flat.ports.of} is not divided among processes: it has processors that work on steps")
    holders: list[str] = []
    reasons = []
    for node in flat.nodes:
        holder = flat.typed[node.name]
        if not isinstance(holder, Divisible):
            if keeps_copies(holder):
                reasons.append(f"'{node.name}' ({holder}): its copies depend on each other")
        elif holder.undivided:
            reasons.append(f"'{node.name}' ({holder}): {holder.undivided}")
        elif not any(each.name in holders for each in before(flat, [node.name]).nodes):
            holders.append(node.name)
    if not holders:
        raise Refused(
            f"nothing in {flat.ports.of} can be divided among processes:"
            f" {'; '.join(reasons) or 'none of its processors has copies of another one'}",
            hint="leave out --processes; quantifiers, windows with copies, and slices can be divided",
        )
    return tuple(holders)


def _stop(workers: list[Forked]) -> None:
    """Kill the workers, which have no state to save."""
    with hold():
        for each in workers:
            each.process.kill()
        while workers:
            workers.pop().stop(now=True)
