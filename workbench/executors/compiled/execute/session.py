"""The session of a compiled pipeline: columns in, columns out.

The rule of this module: a batch takes effect completely or not at all, so the rows before one that fails are fed again,
without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from workbench.errors import WorkbenchError
from workbench.events.batch import LogBatch
from workbench.events.column_map import has_columns
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.pending import Pool
from workbench.executors.session import COLUMNS, ROWS, BatchOutput, Session, spread, spread_steps


class ColumnSession(Session):
    """A running compiled pipeline, as a session.

    Parameters
    ----------
    running: the executor, in its initial state.
    threads: how many threads may read, run and write a log for it.
    idle: whether a step without output has a row.
    """

    def __init__(self, running: Compiled, *, threads: int = 1, idle: bool = False) -> None:
        self.running, self.threads, self.idle = running, threads, idle
        self.outputs = running.pipeline.ports
        columns = not idle and all(map(has_columns, self.outputs.outputs_by_name.values()))
        self.takes = frozenset({COLUMNS, ROWS} if columns else {ROWS})

    def step_batch(self, batch: LogBatch) -> BatchOutput:
        feed: Callable[[LogBatch], BatchOutput] = self._feed_rows if batch.columns is None else self._feed_columns
        before = self.running.steps
        try:
            return replace(feed(batch), failed=batch.failed)
        except WorkbenchError as error:  # nothing of the batch has taken effect
            done = 0 if error.step is None else error.step - before
            return replace(feed(batch.before(done)), failed=error) if done else BatchOutput(failed=error)

    def _feed_columns(self, batch: LogBatch) -> BatchOutput:
        assert batch.columns is not None
        events = {name: column.events for name, column in batch.columns.items()}
        present = {name: column.present for name, column in batch.columns.items() if column.present is not None}
        before = self.running.steps
        outputs = self.running.feed(events, present, steps=self.tells_causes or len(self.outputs.outputs_by_name) > 1)
        if self.tells_causes:
            outputs = {name: each.earlier(before) for name, each in outputs.items()}
        return BatchOutput(columns=outputs, computed=len(batch), events_out=sum(map(len, outputs.values())))

    def _feed_rows(self, batch: LogBatch) -> BatchOutput:
        outputs = self.running.outputs(batch.as_rows(self.outputs.domains))
        rows, causes = spread_steps(outputs, idle=self.idle)
        return BatchOutput(rows, causes=causes, computed=len(batch), events_out=sum(map(len, rows)))

    def end(self) -> BatchOutput:
        try:
            outputs = self.running.end()
        except WorkbenchError as error:
            return BatchOutput(failed=error)
        rows = list(spread(outputs))
        return BatchOutput(rows, events_out=sum(map(len, rows)))

    def save(self) -> bytes:
        return self.running.snapshot()

    def restore(self, state: bytes) -> None:
        self.running.restore(state)

    def share(self, pool: Pool) -> None:
        self.running.share(pool)
