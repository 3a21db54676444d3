"""Run a program on a log.

Streams: an event's outputs are written before the next event is read, so that it works in a unix pipe.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Union, cast

from workbench.core.domain import Value
from workbench.core.program import Ported, Program
from workbench.errors import InputError, Refused, WorkbenchError
from workbench.events.column_map import has_arrays, has_columns
from workbench.events.inputs import LogPath, expected_rows, named_files
from workbench.events.row_batches import batches
from workbench.events.rows import LogBlock
from workbench.executors.run_options import AUTO, RunOptions
from workbench.executors.table import BackendRow, Start, backend_row, refuse_kind, refuse_missing, refuse_options
from workbench.interrupts import checkpoint
from workbench.logs.fallback import Fallback, may_fail
from workbench.logs.overlap import OverlappedWriter, overlap
from workbench.logs.pipeline_facts import with_facts

if TYPE_CHECKING:
    from workbench.events.rows import RowWriter
    from workbench.executors.backend import Backend, StepRecord
    from workbench.executors.compiled.execute.columns import OutputColumn
    from workbench.executors.compiled.execute.executor import Compiled
    from workbench.executors.reference.executor import Reference
    from workbench.executors.reference.random_faults import RandomFaults

RATE = 0.1
BATCH = 4096
"""Steps that a compiled backend takes at a time, where nobody waits for the output of each."""
LARGE = 1 << 18
"""The same where these steps are made in several threads."""
FEW = 16_384
"""Rows of files of which fewer are not worth the start of machine code."""
Say = Callable[[str], object]
T = TypeVar("T")
BlockOutputs = Union["Mapping[str, OutputColumn]", Iterator[Mapping[str, list[Value]]]]
"""What comes out of a block: columns, or what comes out in each step."""


def run_with(program: Program, start: Start, struck: Say = lambda _: None) -> None:
    """Run a program as options say, which name `input` and `output` besides those of the backends; see `run`.

    Parameters
    ----------
    struck: is told of each fault that strikes.
    """
    run = LogRun(program, start, struck)
    options, row = run.start.options, run.row
    with run.closing:
        if row.whole is not None:
            row.whole(run.program, run.start)
        elif options.key is not None:
            run.keyed()
        else:
            if not all(Path(each).is_file() for each in named_files(options.input) or ()):
                _ = run.backend  # it is there when the first row comes
            write_log(run, blocks_of(options.input, run), (named_files(options.input) or ["-"])[0])


class LogRun:
    """A program that is to run on a log.

    Parameters
    ----------
    columns: whether the log has columns, for who chooses the backend by that.
    twice: whether its rows can be read once more.

    Attributes
    ----------
    row: the backend; who runs a program has closed `closing` when it is done.
    reading: how the log is read.
    fallback: what goes on where a backend that `auto` has chosen cannot.

    Raises
    ------
    InputError, Refused: an option is not for the backend, or the backend not for the program.
    """

    def __init__(
        self,
        program: Program,
        start: Start,
        struck: Say = lambda _: None,
        *,
        columns: bool = True,
        twice: bool = True,
    ) -> None:
        program = with_facts(program, start)
        options = start.options
        self.program = program if options.integers is None else program.pipeline.resolve(options.integers)
        self.closing, self.struck = contextlib.ExitStack(), struck
        self._made: Backend | None = None
        auto = options.backend == AUTO
        self.row = backend_row("reference" if auto else options.backend)
        if auto and columns and _is_long(options):
            self._take(backend_row("compiled"), start, twice=twice and not start.live)
        refuse_kind(self.row, self.program)
        refuse_options([self.row], self.program, options)
        refuse_missing(self.row)
        if options.with_row and options.key is None:
            raise InputError("rows are numbered where each has a key: --with-row", hint="add --key COLUMN")
        self.start = replace(start, oracle=_faults(options, self.program), closing=self.closing)
        words = self.row.like == "numba" and not auto
        self.reading = replace(options.reading(self.program), words=words)
        self.auto, self.fallback = auto and self._made is not None, Fallback(self.program, self.start)
        if self.auto:
            start.say(f"the {self.row.name} backend runs it")

    def _take(self, row: BackendRow, start: Start, *, twice: bool) -> None:
        """Run it on this backend, if that runs it on columns, and gives way where its numbers are too short."""
        ports = self.program.ports
        if row.make is not None and all(
            (*map(has_arrays, ports.domains.values()), *map(has_columns, ports.shown.values()))
        ):
            with contextlib.suppress(InputError, Refused):
                refuse_options([row], self.program, start.options)
                refuse_missing(row)
                made = row.make(self.program, start)
                if twice or not may_fail(cast("Compiled", made)):
                    self._made, self.row = made, row

    @cached_property
    def backend(self) -> Backend:
        """What runs the program."""
        make = self.row.make
        if self._made is not None:
            return self._made
        if make is None:
            raise InputError(f"the {self.row.name} backend reads a file and writes one", hint="name input and output")
        return make(self.program, self.start)

    def keyed(self) -> None:
        """Read and write a log with a run for each key."""
        from workbench.logs.keyed import run_keyed_log

        keyed = self.row.keyed
        assert keyed is not None
        self.keep()
        log = self.start.options.input
        backend = keyed(self.program, self.start)
        run_keyed_log(
            self.program, backend, self.start, self.reading, lambda rows: blocks_of(log, self, rows), self.fallback
        )

    def keep(self) -> None:
        """Bad rows are kept where the user wants them, if the run comes to its end."""
        from workbench.events.write import kept_rows

        self.closing.enter_context(kept_rows(self.reading, self.start.reporter, live=self.start.live))

    def made(self, blocks: Iterator[LogBlock], *, reuse: bool = False, exact: bool = True) -> Iterator[BlockOutputs]:
        """What comes out of blocks of rows, each before the next one is read.

        Parameters
        ----------
        reuse: whether columns may be overwritten by those of the next block.
        exact: whether what comes out before an error is wanted.
        """
        with self.closing:
            self.keep()
            for block in blocks:
                yield self.of_block(block, reuse=reuse, exact=exact)
                self.start.reporter.after()
                checkpoint()
            yield self.ended()

    def of_block(self, block: LogBlock, *, reuse: bool = False, exact: bool = True) -> BlockOutputs:
        """What comes out of a block, all of which is taken before the next one; see `made`."""
        by_rows = self.start.oracle or self.start.options.steps
        columns = None if by_rows else self._columns(block, reuse, exact)
        lists = None if by_rows or columns is not None else self._lists(block)
        if columns is not None:
            return columns
        if lists is not None:
            rows = min(map(len, lists.values()))
            size = BATCH if self.start.live else rows or 1
            parts = ({name: each[at : at + size] for name, each in lists.items()} for at in range(0, rows, size))
            return itertools.chain.from_iterable(map(self._lockstep, parts))
        return self._outputs(block.steps())

    def ended(self) -> BlockOutputs:
        """What comes out at the end of the log, each row of which has been run."""
        account = self.start.reporter.account
        account.computed = getattr(self.backend, "steps", account.rows - account.bad)
        account.check()
        try:
            last = self.backend.end()
        except WorkbenchError as error:
            self._fall_back(error)
            last = self.backend.end()
        return iter([last] if any(last.values()) else [])

    def _lists(self, block: LogBlock) -> Mapping[str, list[Value]] | None:
        """The events of a block for an executor of Python values whose only output makes the rows."""
        single = len(self.program.ports.shown) == 1 and self.row.name == "reference"
        single = single and not self.start.options.processes
        return block.lists() if single else None

    def _lockstep(self, lists: Mapping[str, list[Value]]) -> Iterator[Mapping[str, list[Any]]]:
        """What comes out of a block, also before an error."""
        backend = cast("Reference", self.backend)
        made: dict[str, list[Value]] = {name: [] for name in self.program.ports.shown}
        before, account = backend.steps, self.start.reporter.account
        try:
            backend.lockstep(lists, made)
        except WorkbenchError:
            yield made
            raise
        finally:
            account.rows += backend.steps - before
            account.events_in += (backend.steps - before) * len(lists)
        yield made

    def _columns(self, block: LogBlock, reuse: bool, exact: bool) -> Mapping[str, OutputColumn] | None:
        """What comes out of a block of columns; None where it has to go row by row."""
        shown, backend = self.program.ports.shown, cast("Compiled", self.backend)
        if not hasattr(backend, "feed") or not all(map(has_columns, shown.values())):
            return None
        columns = block.columns()
        if columns is None:
            return None
        events = {name: given.events for name, given in columns.items()}
        present = {name: given.present for name, given in columns.items() if given.present is not None}
        try:
            made = backend.feed(events, present, steps=len(shown) > 1, reuse=reuse)
        except WorkbenchError as error:  # nothing has happened: the row in which it does is found
            if exact or self.fallback.is_for(error):
                return None
            raise
        self.start.reporter.account.take(columns)
        return made

    def _outputs(self, events: Iterator[Mapping[str, Any]]) -> Iterator[Mapping[str, list[Any]]]:
        """What comes out in each step."""
        backend, struck = self.backend, self.struck if self.start.oracle else None
        if hasattr(backend, "outputs"):
            yield from self._compiled(events, LARGE if getattr(backend, "threads", 1) > 1 else BATCH)
            return
        emitted = None if struck else getattr(backend, "streamed", None) or getattr(backend, "emitted", None)
        if emitted:
            yield from emitted(events)
            return
        for record in map(backend.step, events):
            yield record.outputs
            if struck:
                _tell_strikes(cast("Reference", backend), record, struck)

    def _compiled(self, events: Iterator[Mapping[str, Any]], size: int) -> Iterator[Mapping[str, list[Any]]]:
        """The same, so many steps at a time."""
        for steps in batches(events, size):
            made: Iterable[Mapping[str, list[Any]]]
            try:
                made = cast(Any, self.backend).outputs(steps) if self.row.like == "numba" else self._singly(steps)
            except WorkbenchError:  # in one of the steps, before which there are others
                made = self._singly(steps) if len(steps) <= BATCH else self._compiled(iter(steps), BATCH)
            yield from made

    def _fall_back(self, error: WorkbenchError) -> None:
        """Go on with the reference executor; raise the error where that cannot be."""
        self.backend = self.fallback.reference(error, cast(Any, self.backend).steps)
        self.row = backend_row("reference")

    def _singly(self, steps: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, list[Any]]]:
        """The same, step by step."""
        for step in steps:
            try:
                made = self.backend.step(step).outputs
            except WorkbenchError as error:
                self._fall_back(error)
                made = self.backend.step(step).outputs
            yield made


def blocks_of(path: LogPath | Sequence[LogPath], run: LogRun, program: Ported | None = None) -> Iterator[LogBlock]:
    """The rows of a file or of several, the first of which is there."""
    from workbench.events.read import read_blocks

    read_from = partial(read_blocks, path, program or run.program)
    if run.auto and not run.start.live:
        run.fallback.read_again = lambda reporter: read_from(run.reading, reporter=reporter)
    read = read_from(run.reading, reporter=run.start.reporter)
    run.closing.callback(read.close)
    return _started(read)


def write_log(run: LogRun, blocks: Iterator[LogBlock], read: str | Path = "-") -> None:
    """Write what comes out of some blocks into the file that the options name.

    Parameters
    ----------
    read: where they are from, which has the format, too, where nothing else says it.
    """
    from workbench.events.write import output_format, write_events

    options = run.start.options
    _ = run.backend  # nothing is written before the input is known to be there, and the program to run
    written = output_format(options.output, run.reading.format, read)
    reporter = run.start.reporter
    own = any(each.flag == "--threads" for each in run.row.options)  # those of a GPU carry no blocks of a log
    threads = getattr(run.backend, "threads", 1) if own else 1
    with (
        write_events(
            options.output, run.program, format=written, idle=options.steps, live=run.start.live
        ) as into,
        run.start.watched(), run.closing, overlap(blocks, into, run.start, threads) as (given, writer),
    ):  # fmt: skip
        run.keep()
        if isinstance(writer, OverlappedWriter) and hasattr(run.backend, "share"):
            run.backend.share(writer.pool)
        for block in given:
            _write(run, run.of_block(block, reuse=threads == 1), writer)
            writer.flush()
            reporter.after()
            checkpoint()
        _write(run, run.ended(), writer)


def _write(run: LogRun, made: BlockOutputs, writer: RowWriter | OverlappedWriter) -> None:
    """Write what comes out of a block."""
    account = run.start.reporter.account
    if isinstance(made, Mapping):
        from workbench.events.arrays import shown_table

        table = shown_table(made, run.program.ports.shown)
        account.events_out += sum(len(column) - column.null_count for column in table.columns)
        if table.num_rows:
            writer.table(table)
    else:
        for outputs in made:
            account.events_out += sum(map(len, outputs.values()))
            writer.write(outputs)
            if run.start.oracle:
                writer.flush()  # a fault is told behind the rows of its step
            writer.keep_up()


def _is_long(options: RunOptions) -> bool:
    """Whether a log is worth the start of machine code, or that is asked for: data in memory are there already."""
    wanted = named_files(options.input) is None or options.given("--threads", "--reassociate")
    return bool(wanted) or (expected_rows(options.input) or 0) >= FEW


def _started(events: Iterator[T]) -> Iterator[T]:
    """The same, the first one read already."""
    return itertools.chain(list(itertools.islice(events, 1)), events)


def _faults(options: RunOptions, pipeline: Program) -> RandomFaults | None:
    """What makes faults strike, where the options ask for that."""
    if not options.fault and options.seed is None and options.rate is None:
        return None
    from workbench.executors.reference.random_faults import RandomFaults

    return RandomFaults(pipeline, options.seed or 0, RATE if options.rate is None else options.rate)


def _tell_strikes(backend: Reference, record: StepRecord, struck: Say) -> None:
    """The faults that struck in the last step."""
    from workbench.core.readable import show_value
    from workbench.faults.struck import struck as strikes

    carried = {pipe: maybe.value if maybe.present else None for pipe, maybe in record.pipes.items()}
    for strike in strikes(backend.flat, carried):
        event = show_value(strike.event, strike.domain)
        struck(f"step {backend.steps - 1}: {event} on {strike.pipe} was {strike.what}")
