"""The reference executor: runs a pipeline on any Python objects, one step at a time (`network`).

Pull mode is a second, demand-driven algorithm (`pull`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, Self

from workbench.core.domain import Domain, Value
from workbench.core.kinds import Clocked
from workbench.core.processor import END, Maybe, show_carried
from workbench.errors import PipelineError, Refused, StateError
from workbench.executors.backend import StepRecord, Steps
from workbench.executors.pending import Done, Pending
from workbench.executors.reference.cell import ABSENT
from workbench.executors.reference.network import Network
from workbench.executors.reference.pull import Pull
from workbench.executors.snapshot import HINT, fingerprint, from_text, to_text
from workbench.stored import seal, unseal


class Reference(Network):
    """A running pipeline.

    Parameters
    ----------
    pipeline: what to run; its groups are flattened, so pipes and queues of groups are called `group.name`.
    capacities: queue name to capacity; None takes the pipeline's own. Queues without one are unbounded.
    oracle: decides when faults of the pipeline strike, in addition to events on its oracles: called with an
        oracle's name whenever its fault could strike; None: none strikes.
    """

    def reset(self) -> None:
        """Return to the state before the first event, and disconnect pull sources."""
        super().reset()
        self._pull: Pull | None = None

    # --- pushing ------------------------------------------------------------------------------------------

    def step(self, events: Mapping[str, Value]) -> StepRecord:
        """Run one step, in which these events arrive together. `{}` is an idle step; `END` ends the input."""
        if events is END:
            return self._record(self._end(None))
        current = self._empty.copy()
        for name, value in events.items():
            position = self._positions.get(name)
            if position is None:
                position = self.flat.ports.position(name)
            current[position] = self._admitted(position, value)
        self._advance(current)
        return self._record([self._events(slot, content) for slot, content in enumerate(current)])

    def emitted(self, steps: Iterable[Mapping[str, Value]]) -> Iterator[dict[str, list[Value]]]:
        """Yield the outputs of each step before the next step is requested, without the rest of its record."""
        empty, advance, holds, positions = self._empty, self._advance, self._holds, self._positions
        output_slots = [(output, slot, self._wide[slot]) for output, slot in self._shown]
        for events in steps:
            if events is END:
                yield dict(Reference.step(self, END).outputs)
                continue
            current = empty.copy()
            for name, value in events.items():
                position = positions[name] if name in positions else self.flat.ports.position(name)
                if self._closed or not holds[position](value):
                    self._admitted(position, value)
                current[position] = value
            advance(current)
            outputs = {}
            for output, slot, wide in output_slots:
                content = current[slot]
                outputs[output] = [] if content is ABSENT else content if wide else [content]
            yield outputs

    def _record(self, contents: Sequence[list[Value]]) -> StepRecord:
        pipe_contents = (
            (pipe, self._width[pipe], content) for pipe, content in zip(self._pipes, contents, strict=True)
        )
        return StepRecord(
            {pipe: Maybe(bool(content), show_carried(content, width)) for pipe, width, content in pipe_contents},
            {output: contents[slot] for output, slot in self._shown},
            self.lengths(),
        )

    def _events(self, slot: int, carried: Any) -> list[Value]:
        """Return what a pipe carries as a list; the content of a wide pipe is a list already."""
        if carried is ABSENT:
            return []
        return carried if self._wide[slot] else [carried]

    def trace(self, steps: Steps) -> list[StepRecord]:
        """Return the records of several steps."""
        return [self.step(events) for events in steps]

    def push(self, value: Value, input: str | None = None) -> Any:
        """Push one event into one input; return the events of the output, or a dictionary of several outputs."""
        outputs = self.step({self.flat.ports.only("input", input): value}).outputs
        return next(iter(outputs.values())) if len(outputs) == 1 else dict(outputs)

    def push_fast(self, value: Value, input: str | None = None) -> Pending[Any]:
        """Push an event without blocking (here it is done at once); `wait_for` returns the events."""
        return Done(lambda: self.push(value, input))

    def run(self, streams: Any, *, end: bool = True) -> dict[str, list[Value]]:
        """Run whole streams in lockstep (step i takes the i-th event of each), then end them.

        Streams are a mapping by input name, a sequence in the order of the inputs, or, for a single input,
        the stream itself. With `end=False` the inputs stay open.
        """
        outputs: dict[str, list[Value]] = {output: [] for output, _ in self._shown}
        self.lockstep(streams, outputs)
        if end:
            for output, values in self.end().items():
                outputs[output] += values
        return outputs

    def lockstep(self, streams: Any, outputs: Mapping[str, list[Value]]) -> None:
        """Run whole streams in lockstep without ending them; append to `outputs`, also before an error."""
        sinks = [
            (outputs[output].extend if self._wide[slot] else outputs[output].append, slot)
            for output, slot in self._shown
        ]
        empty, advance, holds, closed = self._empty, self._advance, self._holds, self._closed
        input_streams = list(self.flat.ports.streams(streams).values())
        if all(isinstance(stream, Sequence) for stream in input_streams):
            count = self._take_fronts(input_streams, [keep for keep, _ in sinks])
            input_streams = (
                [itertools.islice(stream, count, None) for stream in input_streams] if count else input_streams
            )
        positions = range(len(input_streams))
        for front in itertools.zip_longest(*input_streams, fillvalue=ABSENT):
            current = empty.copy()
            for position in positions:
                value = front[position]
                if value is not ABSENT:
                    if closed or not holds[position](value):
                        self._admitted(position, value)
                    current[position] = value
            advance(current)
            for keep, slot in sinks:
                if current[slot] is not ABSENT:
                    keep(current[slot])

    def _take_fronts(self, streams: Sequence[Any], sinks: Sequence[Callable[[Any], None]]) -> int:
        """Process the fronts for which all streams have events with one function, if possible; return their number.

        A failing front is left to a step that can report the error.
        """
        whole = None if self._closed or any(self.lines.values()) else self._whole
        if whole is None or not all(map(_holds_all, self._sources, streams)):
            return 0
        before = self.steps
        with suppress(Exception):
            whole(self, zip(*streams, strict=False), sinks)
        return self.steps - before

    def end(self, name: str | None = None) -> dict[str, list[Value]]:
        """End one input, or all that are open; return the output events that this causes.

        A processor finishes when all its inputs have ended; its emissions then flow on before the processors downstream
        finish in turn.
        """
        contents = self._end(name)
        return {output: list(contents[slot]) for output, slot in self._shown}

    def _check_open(self, position: int) -> None:
        super()._check_open(position)
        if self._pull is not None:
            raise PipelineError(
                f"step {self.steps}: {self.flat.ports.of} is connected to sources and is pulled",
                hint="push into an executor of its own, or call reset() first",
            )

    # --- saving and restoring -----------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """Return the state between two steps, for `restore` of an executor of the same pipeline.

        Raises
        ------
        Refused: it holds Python objects that have no form as data, or the pipeline is pulled.
        """
        if self._pull is not None:
            raise Refused("the state of a pipeline that is pulled cannot be saved: its sources would have to be, too")
        return seal(self.fingerprint, to_text(self._save()))

    def restore(self, snapshot: bytes) -> None:
        """Resume from a saved state.

        Raises
        ------
        StateError: the state is damaged, or of another pipeline; then nothing has changed.
        """
        content = from_text(unseal(self.fingerprint, snapshot))
        try:
            _, _, ended, states, cells = content
            fits = [len(queues) for queues, _ in cells] == [len(cell.queues) for cell in self._cells]
            fits = fits and (len(ended), len(states)) == (len(self._ended), len(self._states))
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise StateError("this state is damaged: it has another form", hint=HINT)
        self._go_back(content)
        self._pull = None

    @cached_property
    def fingerprint(self) -> bytes:
        """The hash that identifies states of this pipeline."""
        return fingerprint(self.name, self.flat, self.capacities)

    # --- pulling ------------------------------------------------------------------------------------------

    def connect(self, **sources: Iterable[Value]) -> Self:
        """Connect every input to a source (any iterable) to pull from; return the executor itself."""
        if self.capacities:
            raise Refused(
                "pull mode has no steps, so queue capacities have no meaning in it",
                hint="use Reference(pipeline, capacities={}) for pulling",
            )
        for node in self.flat.nodes:
            if node.processor.merges or isinstance(node.processor, Clocked):
                raise Refused(
                    f"the output of '{node.name}' ({node.processor}) depends on the steps at which events arrive,"
                    " and pull mode has none",
                    where=node.where,
                    hint="push the events",
                )
        if self.steps or self._pull is not None:
            raise PipelineError(f"{self.flat.ports.of} is already running", hint="call reset() first")
        missing = [name for name in self._positions if name not in sources]
        if missing:
            raise PipelineError(f"input '{missing[0]}' of {self.flat.ports.of} has no source")
        steps = {cell.node.name: cell.step for cell in self._cells}
        self._pull = Pull(self.flat, self.flat.ports.streams(sources), steps)
        self._closed = True
        return self

    def pull(self, output: str | None = None) -> Value:
        """Return the next event of an output; StopIteration when the sources have ended and no more can come."""
        return self._connected_pull.next(self.flat.ports.only("output", output))

    def puller(self, output: str | None = None) -> Callable[[], Value]:
        """Return a function that pulls from one output many times; checks only once whether that is possible."""
        return partial(self._connected_pull.next, self.flat.ports.only("output", output))

    @property
    def _connected_pull(self) -> Pull:
        if self._pull is None:
            raise PipelineError(f"{self.flat.ports.of} has no sources", hint="call connect(x=iterable) first")
        return self._pull

    def pull_fast(self, output: str | None = None) -> Pending[Value]:
        """Pull an event without blocking (here it is done at once); `wait_for` returns the event."""
        return Done(lambda: self.pull(output))

    def __iter__(self) -> Iterator[Value]:
        return self

    def __next__(self) -> Value:
        return self.pull()


def _holds_all(source: tuple[str, Domain], stream: Sequence[Value]) -> bool:
    return source[1].holds(stream)
