"""The loop that runs a program on a log: read a batch, step it, give away what comes out.

The rule of this module: what a batch causes is given away before the next one is read, so that a run works in a unix
pipe; and each row that has been read is accounted for, or the run ends with an error.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from time import monotonic
from typing import TYPE_CHECKING

from workbench.events.batch import LogBatch
from workbench.events.files import is_stream
from workbench.events.rows import LogBlock
from workbench.executors.session import BatchOutput, Session
from workbench.interrupts import checkpoint
from workbench.logs.batching import BatchPace, batches_of
from workbench.logs.overlap import OverlappedWriter, overlap

if TYPE_CHECKING:
    from workbench.events.reading import Reading
    from workbench.events.rows import RowWriter
    from workbench.executors.table import Start
    from workbench.logs.source import LogSource


class LogRun:
    """A program that is about to run on a log.

    Parameters
    ----------
    backend: the name of what runs it.
    reading: how the log is read.
    blocks: its rows, for the inputs of the session.
    """

    def __init__(
        self,
        session: Session,
        start: Start,
        source: LogSource,
        reading: Reading,
        blocks: Iterator[LogBlock],
        backend: str,
    ) -> None:
        self.session, self.start, self.source, self.backend = session, start, source, backend
        self._reading, self._blocks = reading, blocks

    def emissions(self, blocks: Iterator[LogBlock] | None = None, *, waited: bool = False) -> Generator[BatchOutput]:
        """What comes out of each batch, and of the end of the log; whatever has been opened is closed then.

        Parameters
        ----------
        blocks: the rows of the log, where something stands between them and who reads them.
        waited: whether somebody waits for what comes out.

        Raises
        ------
        WorkbenchError: a row cannot be read or run, behind what came out before it; rows are lost.
        """
        from workbench.events.write import kept_rows

        session, reporter = self.session, self.start.reporter
        pace = BatchPace(min(session.size, self.source.size), waited=waited)
        with self.start.closing:
            self.start.closing.enter_context(kept_rows(self._reading, reporter, live=self.start.live))
            for batch in batches_of(blocks or self._blocks, session, pace, reporter.account):
                begun = monotonic()
                emission = session.step_batch(batch)
                pace.see(len(batch), monotonic() - begun)
                self._count(batch, emission)
                yield from _given(emission)
                reporter.after()
                checkpoint()
            reporter.account.check()
            emission = session.end()
            reporter.account.events_out += emission.events_out
            yield from _given(emission)

    def write(self) -> None:
        """Write what comes out into the file that the options name."""
        from workbench.events.write import output_format, write_events

        options, session, start = self.start.options, self.session, self.start
        written = output_format(
            options.output, self._reading.format, self.source.format_of, wanted=options.output_format
        )
        with (
            write_events(options.output, session.outputs, format=written, live=start.live) as into,
            start.watched(),
            overlap(self._blocks, into, start, session.threads) as (blocks, writer),
            closing(self.emissions(blocks, waited=is_stream(options.output) or into.live)) as emissions,
        ):
            if isinstance(writer, OverlappedWriter):
                session.share(writer.pool)
            for emission in emissions:
                write_emission(emission, session, writer)
                writer.flush()
                for note in emission.notes:
                    start.strike(note)

    def _count(self, batch: LogBatch, emission: BatchOutput) -> None:
        account = self.start.reporter.account
        account.computed += emission.computed
        account.ignored.update(emission.ignored)
        account.events_out += emission.events_out
        if emission.events_in is not None:
            account.events_in += emission.events_in - batch.events


def _given(emission: BatchOutput) -> Iterator[BatchOutput]:
    """What comes out, and then the error at which it ended."""
    yield emission
    if emission.failed is not None:
        raise emission.failed


def write_emission(emission: BatchOutput, session: Session, writer: RowWriter | OverlappedWriter) -> None:
    """Write what has come out."""
    table = emission.table
    if emission.columns is not None:
        from workbench.events.output_columns import shown_table

        table = shown_table(emission.columns, session.outputs.shown)
    if table is not None and table.num_rows:
        writer.table(table)
    if emission.lists is not None:
        writer.write(emission.lists)
    for row in emission.rows:
        writer.row(row)
