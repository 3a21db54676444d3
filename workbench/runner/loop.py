"""The loop that runs a program on a log: read a batch, step it, yield its outputs.

The rule of this module: the outputs of a batch are yielded before the next one is read, so that a run works in a unix
pipe; and each row that has been read is accounted for, or the run ends with an error.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from workbench.errors import listed
from workbench.events.batch import LogBatch, RowEvents
from workbench.events.rows import LogBlock
from workbench.executors.session import BatchOutput, Session
from workbench.interrupts import checkpoint
from workbench.runner.batching import BatchPace
from workbench.runner.read_ahead import overlap

if TYPE_CHECKING:
    from workbench.events.account import Account
    from workbench.events.inputs import LogPath
    from workbench.events.output_split import OutputRows
    from workbench.events.writers import EventWriter
    from workbench.executors.table import Start
    from workbench.runner.state import RunState


NOTED = 0.01
"""Seconds between two reports of progress, where rows come one by one."""


@dataclass(frozen=True)
class LogRows:
    """The rows of a log in the form in which a run reads them.

    Attributes
    ----------
    batches: divides blocks of the log into batches of the size that runs at a time.
    size: the maximum number of rows that are read before the outputs of the first one are yielded.
    blocks: the blocks of the log, for reading ahead, or for reading rows one by one.
    retain_bad_rows: a context in which bad rows are kept.
    remark: returns a remark on unusual rows, from their account; empty if there are none.
    inputs: the inputs of a pipeline; rows without an event of any of them are counted.
    """

    batches: Callable[[BatchPace, Iterator[LogBlock]], Iterator[LogBatch]]
    size: int
    blocks: Iterator[LogBlock] = iter(())
    retain_bad_rows: Callable[[], AbstractContextManager[None]] = nullcontext
    remark: Callable[[Account], str] = lambda _: ""
    inputs: AbstractSet[str] = frozenset()


class LogRun:
    """A program that is ready to run on a log.

    Parameters
    ----------
    rows: the rows of the log.
    backend: the name of the backend.
    format: the format of the output where its name has none, and the file that determines it where it is None.
    until: returns the time to which the clock moves at the end.
    named: the outputs that may have files of their own.
    state: the saved state that the run continues from, and updates.
    """

    def __init__(
        self,
        session: Session,
        start: Start,
        rows: LogRows,
        *,
        backend: str,
        format: tuple[str | None, LogPath] = (None, "-"),
        until: Callable[[], int] | None = None,
        named: Callable[[], Mapping[str, OutputRows]] = dict,
        state: RunState | None = None,
    ) -> None:
        self.session, self.start, self.backend, self.state = session, start, backend, state
        self._rows, self._format, self._until, self._named = rows, format, until, named

    def outputs(self, blocks: Iterator[LogBlock] | None = None, *, waited: bool = False) -> Generator[BatchOutput]:
        """Yield the outputs of each batch, and of the end of the log; then close all that has been opened.

        Parameters
        ----------
        blocks: the blocks of the log, if they are not to be read directly.
        waited: whether a consumer waits for the outputs.

        Raises
        ------
        WorkbenchError: a row cannot be read or run, after the outputs before it have been yielded; rows are lost.
        """
        session, reporter = self.session, self.start.reporter
        blocks = blocks or self._rows.blocks
        with self.start.closing as closing:
            closing.enter_context(self._rows.retain_bad_rows())
            one_by_one = (
                self._rows.size == 1
                and self.state is None
                and session.step_rows(self._count_empty(row for block in blocks for row in block.steps()))
            )
            yield from self._row_outputs(one_by_one) if one_by_one else self._batch_outputs(blocks, waited)
            if session.is_done:
                return
            if self.state is None or self.state.reach_end():
                reporter.account.check()
                yield from self._end()
        for note in session.notes():
            self.start.report(note)
        if remark := self._rows.remark(reporter.account):
            self.start.warn(remark)

    def answers(self) -> Generator[BatchOutput]:
        """Yield the outputs for Python; the state is saved when all have been taken."""
        yield from self.outputs()
        if self.state is not None:
            self.state.save()

    def _count_empty(self, rows: Iterator[RowEvents]) -> Iterator[RowEvents]:
        for row in rows:
            self.start.reporter.account.empty += bool(self._rows.inputs) and self._rows.inputs.isdisjoint(row)
            yield row

    def _row_outputs(self, outputs: Iterator[BatchOutput]) -> Iterator[BatchOutput]:
        """Yield the outputs of each row, before the next one is read."""
        reporter, last_report = self.start.reporter, monotonic()
        account = reporter.account
        for output in outputs:
            account.computed += 1
            account.events_out += output.events_out
            yield output
            if (now := monotonic()) - last_report > NOTED:
                last_report = now
                reporter.after()
            checkpoint()

    def _batch_outputs(self, blocks: Iterator[LogBlock], waited: bool) -> Iterator[BatchOutput]:
        """Yield the outputs of each batch, before the next one is read."""
        session, state = self.session, self.state
        waited |= state is not None  # a signal waits for the end of a batch, too
        pace = BatchPace(min(session.size, self._rows.size), waited=waited)
        for batch in self._rows.batches(pace, blocks):
            start = monotonic()
            if self._until is not None and len(batch):
                self._until()  # refuses --until at once where the rows have another kind of times
            yield from self._step(batch) if state is None else state.step(batch, self._step)
            if waited:
                pace.see(len(batch), monotonic() - start)
            self.start.reporter.after(batch.left)
            if state is not None:
                state.stop_at_limit()
            checkpoint()
            if session.is_done:
                return

    def _step(self, batch: LogBatch) -> Iterator[BatchOutput]:
        for output in self.session.step_parts(batch):
            self._count(batch, output)
            yield output
            if output.failed is not None:
                raise output.failed
        if self._rows.inputs:
            self.start.reporter.account.empty += batch.count_empty(self._rows.inputs)

    def _end(self) -> Iterator[BatchOutput]:
        """Yield the outputs of the clock's last move, and of the end of the log."""
        if self._until is not None:
            yield from self._counted(self.session.advance_clock(self._until()))
        yield from self._counted(self.session.end())

    def _counted(self, output: BatchOutput) -> Iterator[BatchOutput]:
        self.start.reporter.account.events_out += output.events_out
        if self.state is not None:
            self.state.see_end(output)
        yield output
        if output.failed is not None:
            raise output.failed

    def write(self) -> None:
        """Write the outputs to the file that the options name, or to one file for each named output."""
        with nullcontext() if self.state is None else self.state.saving():
            self._write()

    def _write(self) -> None:
        session, start = self.session, self.start
        with (
            start.closing,
            self._writer() as into,
            start.progress_context(),
            overlap(self._rows.blocks, into, start, session.threads, session.share) as (blocks, writer),
            nullcontext() if self.state is None else self.state.settling(writer),
            closing(self.outputs(blocks, waited=into.live)) as outputs,
        ):
            for output in outputs:
                write_batch_output(output, session, writer)
                writer.flush()
                for note in output.notes:
                    start.strike(note)

    @contextmanager
    def _writer(self) -> Iterator[EventWriter]:
        """Open the writer of the outputs."""
        from workbench.events.table import FormatRow, format_row
        from workbench.events.text_options import written_marks
        from workbench.events.write import output_format, write_events

        options, outputs, live, stays = self.start.options, self.session.outputs, self.start.live, self.start.stays
        marks = written_marks(options.output_delimiter, options.output_decimal)

        def format(file: str) -> FormatRow:
            return format_row(output_format(file, *self._format, wanted=options.output_format)).delimited(*marks)

        if not options.outputs:
            with write_events(options.output, outputs, format=format(options.output), live=live, stays=stays) as writer:
                yield writer
            return
        from workbench.events.output_split import write_outputs

        named = self._named()
        with write_outputs(dict(options.outputs), named, outputs.of, format, live=live, stays=stays) as split:
            if unnamed := [name for name in named if name not in options.outputs]:
                self.start.report(f"outputs without a file are not written: {listed(unnamed)}")
            yield split

    def _count(self, batch: LogBatch, output: BatchOutput) -> None:
        account = self.start.reporter.account
        account.computed += output.computed
        if output.ignored:
            account.ignored.update(output.ignored)
        account.events_out += output.events_out
        if output.events_in is not None:
            account.events_in += output.events_in - batch.events


def run_state(start: Start) -> RunState | None:
    """Return the saved state of the run, if its options name one."""
    if start.options.state is None:
        return None
    from workbench.runner.state import RunState

    return RunState(Path(start.options.state), start)


def write_batch_output(output: BatchOutput, session: Session, writer: EventWriter) -> None:
    """Write the outputs of a batch."""
    table = output.as_table(session.outputs.outputs_by_name)
    if table is not None and table.num_rows:
        writer.table(table)
    if output.lists is not None:
        writer.write(output.lists)
    for row in output.rows:
        writer.row(row)
