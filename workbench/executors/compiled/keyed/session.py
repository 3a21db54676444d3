"""The session of a compiled pipeline that runs for each key of a log, on columns of rows of many keys.

The rule of this module: the rows of a batch are one call of a loop, whatever their keys; the output is a table where
all outputs are columns, otherwise rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from workbench.core.domain import Value
from workbench.errors import InputError, WorkbenchError
from workbench.events.account import KEYLESS
from workbench.events.batch import LogBatch, RowEvents
from workbench.events.column_map import has_columns
from workbench.executors.compiled.keyed.executor import CompiledKeys
from workbench.executors.compiled.keyed.keys import ColumnKeys
from workbench.executors.compiled.keyed.tables import TabledKeys
from workbench.executors.keyed import KeyedOutputs, KeyedSession, Partition
from workbench.executors.session import COLUMNS, ROWS, BatchOutput

if TYPE_CHECKING:
    from workbench.events.batch import EventArray


class KeyedBatch(NamedTuple):
    """The rows of a batch that have keys.

    Attributes
    ----------
    codes: the key number of each row.
    offsets: their offsets in the batch.
    batch: the rows themselves.
    keys: the column of keys, if there is one.
    rows: number of rows of the batch that can run: those before one that lacks a key but needs one.
    failed: the error of that row, or of the row after the batch.
    """

    codes: Any
    offsets: Any
    batch: LogBatch
    keys: Any
    rows: int
    failed: WorkbenchError | None


class KeyedColumnSession(KeyedSession):
    """A run for each key, with columns as input.

    Parameters
    ----------
    running: the runs, in the initial state.
    """

    takes = frozenset({ROWS, COLUMNS})
    keys: ColumnKeys

    def __init__(self, running: CompiledKeys | TabledKeys, partition: Partition) -> None:
        super().__init__(partition, ColumnKeys(partition.key.domain))
        self.runs, self.threads = running, running.threads
        self.stops_at_errors = isinstance(running, CompiledKeys) and running.threads == 1
        columns = all(map(has_columns, partition.ports.outputs_by_name.values()))
        self._plain = columns and isinstance(running, CompiledKeys)

    def step_batch(self, batch: LogBatch) -> BatchOutput:
        keyed_batch = self._of_rows(batch) if batch.columns is None else self._of_columns(batch)
        keyed_outputs = self.runs.step(keyed_batch.codes, keyed_batch.batch, len(self.keys))
        computed, rows_run, failed = len(keyed_batch.codes), keyed_batch.rows, keyed_batch.failed
        if keyed_outputs.wrong is not None:
            computed, error = keyed_outputs.wrong
            rows_run = int(keyed_batch.offsets[computed])
            failed = self._locate_error(
                keyed_batch.codes[computed], batch.numbers[keyed_batch.offsets[computed]], error
            )
        rows, table, steps = self._make_rows(keyed_outputs, keyed_batch.codes, keyed_batch.keys)
        return BatchOutput(
            rows, table=table, causes=keyed_batch.offsets[steps], computed=computed,
            ignored={KEYLESS: rows_run - computed}, events_in=batch.events - computed * self.partition.beside,
            events_out=_count(keyed_outputs), failed=failed,
        )  # fmt: skip

    def end(self) -> BatchOutput:
        keyed_outputs = self.runs.finish()
        failed = (
            None
            if keyed_outputs.wrong is None
            else self._locate_error(keyed_outputs.wrong[0], None, keyed_outputs.wrong[1])
        )
        rows, table, _ = self._make_rows(keyed_outputs, np.arange(len(self.keys)), None)
        return BatchOutput(rows, table=table, events_out=_count(keyed_outputs), failed=failed)

    def _locate_error(self, code: Any, number: int | None, error: WorkbenchError) -> WorkbenchError:
        return self.partition.located(self.keys.values([int(code)])[0], number, error)

    # --- rows as columns ------------------------------------------------------------------------------------

    def _of_rows(self, batch: LogBatch) -> KeyedBatch:
        failed, end, offsets, rows = batch.failed, len(batch), list[int](), list[RowEvents]()
        for at, row in enumerate(batch.as_rows(self.outputs.domains)):
            try:
                if self.partition.key_of(row, batch.numbers[at]) is not None:
                    offsets.append(at)
                    rows.append(row)
            except InputError as error:
                failed, end = error, at
                break
        codes = self.keys.number_values([row[self.partition.column] for row in rows])
        return KeyedBatch(codes, np.array(offsets, np.int64), LogBatch(offsets, rows), None, end, failed)

    def _of_columns(self, batch: LogBatch) -> KeyedBatch:
        assert batch.columns is not None
        columns, failed = dict(batch.columns), batch.failed
        keys = columns.pop(self.partition.column) if self.partition.beside else columns[self.partition.column]
        offsets, rows = cast(Any, np.arange(keys.rows)), keys.rows
        if keys.present is not None:
            lost = np.flatnonzero(_find_filled_rows(columns, keys.rows) & ~keys.present)
            end = int(lost[0]) if len(lost) else None
            if end is not None:
                rows = end
                failed = self.partition.keyless(batch.numbers[end])
            offsets = np.flatnonzero(keys.present[:end])
            columns = {name: each.part(offsets) for name, each in columns.items()}
            keys = keys.part(offsets)
        codes = self.keys.numbers(keys.events)
        return KeyedBatch(codes, offsets, LogBatch(range(len(codes)), columns=columns), keys.events, rows, failed)

    # --- output ---------------------------------------------------------------------------------------------

    def _make_rows(self, keyed_outputs: KeyedOutputs, codes: Any, keys: Any) -> tuple[list[RowEvents], Any, Any]:
        """Return the output rows, or their table, and the step of each.

        Parameters
        ----------
        codes: the key number of each row that was run; `keys`: the column of keys, if there is one.
        """
        if not self._plain:
            return self._as_rows(keyed_outputs, codes)
        import pyarrow as pa

        from workbench.events.buffers import take_rows
        from workbench.events.output_columns import outputs_to_columns

        names = self.partition.ports.outputs_by_name
        steps, columns = outputs_to_columns(keyed_outputs.outputs, names)
        if not len(steps):
            return [], None, steps
        key_column = self.keys.to_arrow(codes[steps]) if keys is None else take_rows(self.keys.column(keys), steps)
        table = {self.partition.column: key_column}
        return [], pa.table({**table, **dict(zip(names, columns, strict=True))}), steps

    def _as_rows(self, keyed_outputs: KeyedOutputs, codes: Any) -> tuple[list[RowEvents], None, Any]:
        """Return rows for outputs that are more than numbers: step by step."""
        events_by_step: dict[int, dict[str, list[Value]]] = {}
        for name, output in keyed_outputs.outputs.items():
            for step, value in zip(output.steps.tolist(), output.events(), strict=True):
                events_by_step.setdefault(step, {}).setdefault(name, []).append(value)
        rows, steps, each = list[RowEvents](), sorted(events_by_step), list[int]()
        for step, key in zip(steps, self.keys.values(codes[steps]), strict=True):
            rows += self.partition.rows_of(key, events_by_step[step])
            each += [step] * (len(rows) - len(each))
        return rows, None, np.array(each, np.int64)


def _find_filled_rows(columns: Mapping[str, EventArray], rows: int) -> Any:
    """Return a mask of the rows that have an event."""
    mask: Any = np.zeros(rows, np.bool_)
    for each in columns.values():
        mask |= True if each.present is None else each.present
    return mask


def _count(keyed_outputs: KeyedOutputs) -> int:
    """Return the number of output events."""
    return sum(len(each.steps) for each in keyed_outputs.outputs.values())
