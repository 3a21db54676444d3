"""The common base of executors that work on several steps of a stream at the same time.

The rule of this module: the output equals that of the reference executor on the same steps, in its order; an error
comes after the output of the steps before it. Parts of the pipeline may then be at different steps, so the executor
must be `reset` before it continues.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, Protocol

from workbench.core.domain import Value
from workbench.core.processor import END
from workbench.errors import PipelineError
from workbench.executors.backend import StepRecord, Steps
from workbench.executors.reference.cell import ABSENT
from workbench.executors.reference.executor import Reference


class DoneStep(Protocol):
    """A completed step."""

    queues: dict[str, int]
    """Lengths of the queues at the end of the step, if watched."""

    def events(self, slot: int) -> list[Value]:
        """Return the events that a pipe carried."""


class Overlapped(Reference):
    """A running pipeline that works on several steps of a stream at the same time; `step` and `push` do one."""

    _busy = _behind = False

    @property
    def _overlaps(self) -> bool:
        """Whether steps of a stream can overlap."""
        raise NotImplementedError

    def _through(self, steps: Steps, *, watched: bool) -> Iterator[DoneStep]:
        """Yield the steps in order, each when it is complete."""
        raise NotImplementedError

    def reset(self) -> None:
        super().reset()
        self._busy = self._behind = False

    def step(self, events: Mapping[str, Value]) -> StepRecord:
        self._check_whole()
        return super().step(events)

    def end(self, name: str | None = None) -> dict[str, list[Value]]:
        self._check_whole()
        return super().end(name)

    def _check_whole(self) -> None:
        if self._busy or self._behind:
            why = "is in the middle of a stream" if self._busy else "has stopped in the middle of a stream"
            raise PipelineError(f"{self.flat.ports.of} {why}", hint="call reset() to start afresh")

    def records(self, steps: Steps) -> Generator[StepRecord]:
        """Yield the records of several steps, in order; steps are read ahead of the records that are taken.

        Raises
        ------
        The errors of `step`, after the records of the steps before it.
        """
        if not self._overlaps:
            yield from map(self.step, steps)
            return
        slots = range(len(self._pipes))
        for done in self._through(steps, watched=True):
            record = self._record([done.events(slot) for slot in slots])
            yield StepRecord(record.pipes, record.outputs, done.queues)

    def streamed(self, steps: Iterable[Mapping[str, Value]]) -> Generator[dict[str, list[Value]]]:
        """Yield the outputs of steps as `emitted` does, but read steps ahead. Errors as in `records`."""
        if not self._overlaps:
            self._check_whole()
            yield from self.emitted(steps)
            return
        for done in self._through(steps, watched=False):
            yield {output: done.events(slot) for output, slot in self._shown}

    def trace(self, steps: Steps) -> list[StepRecord]:
        return list(self.records(steps))

    def run(self, streams: Any, *, end: bool = True) -> dict[str, list[Value]]:
        if not self._overlaps:
            return super().run(streams, end=end)
        input_streams = self.flat.ports.streams(streams)
        fronts = itertools.zip_longest(*input_streams.values(), fillvalue=ABSENT)
        steps: Iterable[Mapping[str, Value]] = (
            {name: value for name, value in zip(input_streams, front, strict=True) if value is not ABSENT}
            for front in fronts
        )
        output_events: dict[str, list[Value]] = {output: [] for output, _ in self._shown}
        for outputs in self.streamed(itertools.chain(steps, [END] if end else [])):
            for output, events in outputs.items():
                output_events[output] += events
        return output_events
