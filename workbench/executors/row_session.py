"""Sessions of executors that run a pipeline on Python values, row by row.

The rule of this module: a step without output has a row only where the user wants one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.domain import Value
from workbench.core.readable import show_value
from workbench.errors import WorkbenchError
from workbench.events.batch import LogBatch, RowEvents
from workbench.executors.backend import SavedBackend
from workbench.executors.session import COLUMNS, ROWS, BatchOutput, Session, spread_steps
from workbench.faults.unreliable import struck

if TYPE_CHECKING:
    from workbench.executors.backend import Backend, StepRecord
    from workbench.executors.overlapped_steps import Overlapped
    from workbench.executors.processes.executor import Processes
    from workbench.executors.reference.executor import Reference
    from workbench.executors.table import Start

StepOutputs = Mapping[str, Sequence[Value]]


class RowSession(Session):
    """A pipeline that runs step by step.

    Parameters
    ----------
    running: the executor, in its initial state.
    emitted: yields the output of each of some steps; None: the outputs that `running.step` returns.
    idle: whether a step without output has a row.
    """

    def __init__(
        self,
        running: Backend,
        emitted: Callable[[Iterable[RowEvents]], Iterator[StepOutputs]] | None = None,
        *,
        idle: bool = False,
    ) -> None:
        self.running, self.idle = running, idle
        self.outputs = running.pipeline.ports
        self._emitted = emitted or (lambda rows: (running.step(row).outputs for row in rows))

    def step_batch(self, batch: LogBatch) -> BatchOutput:
        step_outputs = list[StepOutputs]()
        failed = batch.failed
        try:
            step_outputs.extend(self._emitted(batch.as_rows(self.outputs.domains)))
        except WorkbenchError as error:
            failed = error
        return self._make_output(step_outputs, failed)

    def step_rows(self, rows: Iterator[RowEvents]) -> Iterator[BatchOutput] | None:
        return (self._make_output((outputs,), None) for outputs in self._emitted(rows))

    def end(self) -> BatchOutput:
        try:
            outputs = self.running.end()
        except WorkbenchError as error:
            return BatchOutput(failed=error)
        return self._make_output([outputs] if any(outputs.values()) else [], None)

    def advance_clock(self, time: int) -> BatchOutput:
        clock = next((port.name for port in self.outputs.inputs if port.clock), None)
        if clock is None:
            return super().advance_clock(time)
        # deadlines at a time are due after its events
        output = self.step_batch(LogBatch(range(1), [{clock: time + 1}]))
        if output.failed is not None:
            output.failed = output.failed.retold(f"--until: {output.failed.what}", where=output.failed.where)
            output.failed.hint = "name a later time, or leave out --until"
        return output

    def save(self) -> bytes:
        return self.running.snapshot() if isinstance(self.running, SavedBackend) else super().save()

    def restore(self, state: bytes) -> None:
        if isinstance(self.running, SavedBackend):
            self.running.restore(state)

    def _make_output(self, step_outputs: Sequence[StepOutputs], failed: WorkbenchError | None) -> BatchOutput:
        rows, causes = spread_steps(step_outputs, idle=self.idle)
        return BatchOutput(
            rows, causes=causes, computed=len(step_outputs), events_out=sum(map(len, rows)), failed=failed
        )


class OverlappedSession(RowSession):
    """A pipeline that works on several steps at the same time, so that rows are read ahead of the output."""

    stops_at_errors = False

    def step_rows(self, rows: Iterator[RowEvents]) -> None:
        del rows


class LockstepSession(RowSession):
    """A pipeline whose only output forms the rows: lists of events go in, and a list comes out."""

    running: Reference
    takes = frozenset({ROWS, COLUMNS})
    row_by_row = True

    def step_rows(self, rows: Iterator[RowEvents]) -> Iterator[BatchOutput]:
        (name,) = self.outputs.outputs_by_name
        for outputs in self._emitted(rows):
            yield BatchOutput(lists=outputs, computed=1, events_out=len(outputs[name]))

    def step_batch(self, batch: LogBatch) -> BatchOutput:
        by_rows = batch.rows is not None or self.tells_causes
        lists = None if by_rows else batch.as_lists(self.outputs.domains)
        if lists is None:
            return super().step_batch(batch)
        output_lists: dict[str, list[Value]] = {name: [] for name in self.outputs.outputs_by_name}
        before, failed = self.running.steps, batch.failed
        try:
            self.running.lockstep(lists, output_lists)
        except WorkbenchError as error:
            failed = error
        done, (events,) = self.running.steps - before, output_lists.values()
        return BatchOutput(lists=output_lists, computed=done, events_out=len(events), failed=failed)


class FaultySession(RowSession):
    """A pipeline in which faults strike: notes after the rows of a step name the faults that struck."""

    running: Reference
    size = 1

    def __init__(self, running: Reference, *, idle: bool = False) -> None:
        super().__init__(running, self._step_rows, idle=idle)
        self._notes = list[str]()

    def save(self) -> bytes:
        return Session.save(self)  # the state of a fault oracle cannot be saved

    def _step_rows(self, rows: Iterable[RowEvents]) -> Iterator[StepOutputs]:
        for row in rows:
            record = self.running.step(row)
            self._notes += self._strikes(record)
            yield record.outputs

    def _make_output(self, step_outputs: Sequence[StepOutputs], failed: WorkbenchError | None) -> BatchOutput:
        notes, self._notes = self._notes, []
        return replace(super()._make_output(step_outputs, failed), notes=notes)

    def _strikes(self, record: StepRecord) -> Iterator[str]:
        """Yield descriptions of the faults that struck in a step."""
        carried = {pipe: maybe.value if maybe.present else None for pipe, maybe in record.pipes.items()}
        for strike in struck(self.running.flat, carried):
            event = show_value(strike.event, strike.domain)
            yield f"step {self.running.steps - 1}: {event} on {strike.pipe} was {strike.what}"


def step_session(running: Backend, start: Start) -> Session:
    """Open the session of any backend."""
    return RowSession(running, idle=start.options.steps)


def reference_session(running: Reference, start: Start) -> Session:
    """Open the session of the reference executor."""
    if start.oracle is not None:
        return FaultySession(running, idle=start.options.steps)
    if len(running.pipeline.ports.outputs_by_name) == 1 and not start.options.steps:
        return LockstepSession(running, running.emitted)
    return RowSession(running, running.emitted, idle=start.options.steps)


def open_overlapped_session(running: Overlapped | Processes, start: Start) -> Session:
    """Open the session of an executor that works on several steps at the same time."""
    if start.oracle is not None:
        return FaultySession(running, idle=start.options.steps)
    return OverlappedSession(running, running.streamed, idle=start.options.steps)
