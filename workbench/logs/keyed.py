"""Run a program on a log in which each row belongs to a key: a run for each, whose rows are its steps.

The rule of this module: a log streams through. Outputs come in the order of the rows that cause them; the end of the
log then ends the runs, in the order in which their keys first came. Rows are numbered from 1, in every format.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.domain import INT, Value
from workbench.core.program import Port, Ported, Ports, Program
from workbench.errors import InputError, WorkbenchError
from workbench.events.account import KEYLESS
from workbench.events.column_map import has_columns
from workbench.events.files import shown_name
from workbench.events.inputs import named_files
from workbench.events.row_batches import batches
from workbench.events.rows import RowWriter
from workbench.executors.keyed import KeyedColumns, KeyedOutputs, KeyedSteps, keyless, told
from workbench.executors.table import Start
from workbench.interrupts import checkpoint
from workbench.logs.fallback import Fallback
from workbench.logs.keys import Keys
from workbench.logs.overlap import OverlappedWriter, overlap

if TYPE_CHECKING:
    from workbench.events.account import Account
    from workbench.events.arrays import EventArray
    from workbench.events.reading import Reading
    from workbench.events.rows import LogBlock

ROW = "row"
"""The column with the number of the row."""
BATCH = 4096
"""Rows that are made columns at a time."""


def run_keyed_log(
    pipeline: Program,
    backend: KeyedColumns | KeyedSteps,
    start: Start,
    reading: Reading,
    read: Callable[[Ported], Iterator[LogBlock]],
    fallback: Fallback,
) -> None:
    """Run and write: each output with its key, and with the number of its row where that is asked for."""
    from workbench.events.read import key_domain
    from workbench.events.write import output_format, write_events

    args, ports = start.options, pipeline.ports
    if other := args.given("--steps", "--reassociate", "--fault", "--seed", "--rate"):
        raise InputError(f"{other} and --key do not go together")
    name = args.key or ""
    added = [name, ROW] if args.with_row else [name]
    for each in added:
        if each in ports.shown or added.count(each) > 1:
            what = "the column of keys" if each == name else "the number of the row"
            raise InputError(f"an output of {ports.of} is called '{each}', as {what} is")
    key = Port(name, ports.domains.get(name) or key_domain(args.input, name, reading))
    inputs = ports.inputs if name in ports.domains else (key, *ports.inputs)
    numbered = (Port(ROW, INT),) if len(added) > 1 else ()
    rows = Ports("rows", inputs, (key, *numbered, *ports.outputs))
    files = named_files(args.input) or ["-"]
    written = output_format(args.output, reading.format, files[0])
    log = shown_name(files[0]) if len(files) == 1 else "the log"
    blocks = read(rows)
    with (
        write_events(args.output, rows, format=written, live=start.live) as into,
        start.watched(),
        overlap(blocks, into, start, getattr(backend, "threads", 1)) as (given_blocks, writer),
    ):
        run = _KeyedRun(pipeline, key, backend, writer, log, start.reporter.account, fallback)
        for block in given_blocks:
            run.block(block)
            writer.flush()
            start.reporter.after()
            checkpoint()
        run.end()


class _KeyedRun:
    """A log that is being run."""

    def __init__(
        self,
        pipeline: Program,
        key: Port,
        backend: Any,
        writer: RowWriter | OverlappedWriter,
        log: str,
        account: Account,
        fallback: Fallback,
    ) -> None:
        self.ports, self.key, self.backend, self.writer = pipeline.ports, key, backend, writer
        self.log, self.account, self.fallback = log, account, fallback
        self.numbered = ROW in writer.domains and ROW not in self.ports.shown
        self.columns: KeyedColumns | None = backend if hasattr(backend, "feed") else None
        self.plain = all(map(has_columns, self.ports.shown.values()))
        self.keys = Keys(key.domain, machine=self.columns is not None)

    def block(self, block: LogBlock) -> None:
        """Run the rows of a block."""
        columns = block.columns() if self.columns is not None else None
        if columns is not None:
            self._by_columns(columns)
            return
        numbered = ((self.account.rows, step) for step in block.steps())
        for steps in [numbered] if self.columns is None else batches(numbered, BATCH):
            self._by_steps(steps) if self.columns is None else self._as_columns(list(steps))

    def end(self) -> None:
        """Run the end of all keys' streams, when each row has been run."""
        self.account.check()
        if self.columns is not None:
            import numpy as np

            made = self.columns.finish()
            self._write(made, np.arange(len(self.keys)), None, None)
        else:
            self._end_keys(0)

    def _end_keys(self, first: int) -> None:
        """Run the end of the streams of the keys from this one on."""
        for key, value in enumerate(self.keys.values(range(first, len(self.keys))), first):
            try:
                outputs = self.backend.end(key)
            except WorkbenchError as error:
                raise self._told(key, None, error) from error
            self._write_step(value, None, outputs)

    # --- row by row -----------------------------------------------------------------------------------------

    def _by_steps(self, steps: Iterable[tuple[int, Mapping[str, Value]]]) -> None:
        for row, step in steps:
            if (value := self._key_of(step, row)) is None:
                self.account.ignored[KEYLESS] += 1
                continue
            key = self.keys.number(value)
            try:
                outputs = self.backend.step(key, self._events(step))
            except WorkbenchError as error:
                raise self._told(key, row, error) from error
            self.account.computed += 1
            self._write_step(value, row, outputs)

    def _key_of(self, step: Mapping[str, Value], row: int) -> Value | None:
        """The key of a row; None for one in which nothing is.

        Raises
        ------
        InputError: there is something else in it.
        """
        if self.key.name not in step and step:
            raise keyless(self.key.name, row, self.log)
        self.account.events_in -= self.key.name in step and self.key.name not in self.ports.domains
        return step.get(self.key.name)

    def _events(self, step: Mapping[str, Value]) -> Mapping[str, Value]:
        """Those of the pipeline."""
        if self.key.name in self.ports.domains:
            return step
        return {name: event for name, event in step.items() if name != self.key.name}

    def _write_step(self, key: Value, row: int | None, outputs: Mapping[str, list[Value]]) -> None:
        """The outputs of a step."""
        count = max(map(len, outputs.values()), default=0)
        if count:
            numbers = {} if row is None or not self.numbered else {ROW: [row] * count}
            self.account.events_out += sum(map(len, outputs.values()))
            self.writer.write({self.key.name: [key] * count, **numbers, **outputs})
            self.writer.keep_up()

    def _told(self, key: int, row: int | None, error: WorkbenchError) -> WorkbenchError:
        """The error of a row, or of the end of the log, with what tells where it is."""
        return told(self.key.name, repr(self.keys.values([key])[0]), row, self.log, error)

    def _replay(self, error: WorkbenchError, done: float) -> None:
        """Have the reference executor, which makes the rows up to this one once more; else raise the error."""
        self.backend, self.columns = self.fallback.keyed_reference(error), None
        for _, step in self.fallback.rows(1, done):
            if (value := step.get(self.key.name)) is not None:
                self.backend.step(self.keys.number(value), self._events(step))

    # --- in columns -----------------------------------------------------------------------------------------

    def _as_columns(self, steps: Sequence[tuple[int, Mapping[str, Value]]]) -> None:
        """Rows with their numbers, made columns."""
        import numpy as np

        from workbench.executors.compiled.execute.columns import column

        problem: InputError | None = None
        kept, rows = [], []
        for row, step in steps:
            try:
                if self._key_of(step, row) is not None:
                    kept.append(step)
                    rows.append(row)
            except InputError as error:
                problem = error
                break
        assert self.columns is not None
        self.account.ignored[KEYLESS] += len(steps) - len(kept)
        codes = self.keys.given([step[self.key.name] for step in kept])
        columns = {}
        for name, domain in self.ports.domains.items():
            there = [name in step for step in kept]
            given = [step.get(name) for step in kept]
            columns[name] = column(name, domain, given, None if all(there) else there, self.columns.one.texts)
        self._write(self.columns.feed(codes, columns, len(self.keys)), codes, np.array(rows, np.int64), None)
        if problem is not None:
            raise problem

    def _by_columns(self, found: Mapping[str, EventArray]) -> None:
        import numpy as np

        from workbench.executors.compiled.execute.columns import column

        assert self.columns is not None
        given = dict(found)
        keys = given[self.key.name] if self.key.name in self.ports.domains else given.pop(self.key.name)
        first, problem = self.account.rows + 1, None
        self.account.take(given)
        rows, count = np.arange(first, first + keys.rows), keys.rows
        if keys.present is not None:
            there: Any = np.zeros(keys.rows, np.bool_)
            for each in given.values():
                there |= True if each.present is None else each.present
            lost = np.flatnonzero(there & ~keys.present)
            problem = int(lost[0]) if len(lost) else None
            places = np.flatnonzero(keys.present[:problem])
            given = {name: each.part(places) for name, each in given.items()}
            keys, rows = keys.part(places), rows[places]
        codes = self.keys.numbers(keys.events)
        self.account.ignored[KEYLESS] += count - len(codes)
        texts, domains = self.columns.one.texts, self.ports.domains
        columns = {n: column(n, domains[n], each.fields, each.present, texts) for n, each in given.items()}
        self._write(self.columns.feed(codes, columns, len(self.keys)), codes, rows, keys.events)
        if problem is not None:
            raise keyless(self.key.name, first + problem, self.log)

    def _write(self, made: KeyedOutputs, codes: Any, rows: Any, keys: Any) -> None:
        """What has come out of rows, if it is of rows, and the error of the one that could not be made."""
        if rows is not None:
            self.account.computed += len(codes) if made.wrong is None else made.wrong[0]
        if self.plain and all(hasattr(each, "fields") for each in made.outputs.values()):
            self._write_table(made, codes, rows, keys)
        else:
            self._write_rows(made, codes, rows)
        if made.wrong is None:
            return
        at, error = made.wrong
        row = None if rows is None else int(rows[at])
        self._replay(self._told(int(codes[at]), row, error), math.inf if row is None else row - 1)
        if row is None:
            self._end_keys(at)
        else:
            apart = self.account.ignored[KEYLESS]  # of the whole block
            self._by_steps(self.fallback.rows(row, int(rows[-1])))
            self.account.ignored[KEYLESS] = apart

    def _write_table(self, made: KeyedOutputs, codes: Any, rows: Any, keys: Any) -> None:
        import pyarrow as pa

        from workbench.events.arrays import shown_columns
        from workbench.events.buffers import shown_column, taken

        steps, shown = shown_columns(made.outputs, self.ports.shown)
        if not len(steps):
            return
        self.account.events_out += sum(len(column) - column.null_count for column in shown)
        first = self.keys.shown(codes[steps]) if keys is None else taken(self.keys.column(keys), steps)
        columns = {self.key.name: first}
        if self.numbered:
            columns[ROW] = pa.nulls(len(steps), pa.int64()) if rows is None else shown_column(INT, rows[steps])
        self.writer.table(pa.table({**columns, **dict(zip(self.ports.shown, shown, strict=True))}))

    def _write_rows(self, made: KeyedOutputs, codes: Any, rows: Any) -> None:
        """The same where outputs are more than numbers: step by step."""
        found: dict[int, dict[str, list[Value]]] = {}
        for name, output in made.outputs.items():
            for step, value in zip(output.steps.tolist(), output.events(), strict=True):
                found.setdefault(step, {}).setdefault(name, []).append(value)
        steps = sorted(found)
        for step, key in zip(steps, self.keys.values(codes[steps]), strict=True):
            self._write_step(key, None if rows is None else int(rows[step]), found[step])


def keyed_parts(
    pipeline: Program,
    rows: Ports,
    backend: KeyedColumns | KeyedSteps,
    blocks: Iterator[LogBlock],
    account: Account,
    fallback: Fallback,
) -> Iterator[Sequence[Any]]:
    """What comes out of each block, and of the end: rows (a mapping of one event each) and Arrow tables.

    Parameters
    ----------
    rows: the columns that the blocks have, and those that come out: the keys, the number of the row, if it is asked
        for, and the outputs.
    """
    kept = RowKeeper(rows)
    run = _KeyedRun(pipeline, rows.outputs[0], backend, kept, "the log", account, fallback)
    for block in blocks:
        run.block(block)
        yield kept.taken()
    run.end()
    yield kept.taken()


class RowKeeper(RowWriter):
    """Keeps what is written until it is taken."""

    def __init__(self, program: Ported) -> None:
        super().__init__(program, io.StringIO())
        self._parts: list[Any] = []

    def row(self, events: Mapping[str, Value]) -> None:
        self._parts.append(events)

    def table(self, table: Any) -> None:
        self._parts.append(table)

    def taken(self) -> Sequence[Any]:
        """What has been written since it was taken last."""
        found, self._parts = self._parts, []
        return found
