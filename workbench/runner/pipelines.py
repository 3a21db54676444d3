"""Open a pipeline on a log: choose its backend, and build its session.

The rule of this module: refusals come before the first row, and a backend that `auto` chooses is replaced by the
reference executor where it cannot continue.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import ChainMap
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.core.domain import INT, Integer, Integers, Range, Value
from workbench.core.fields import Tuple
from workbench.core.form import Form
from workbench.core.program import Port, Ports, Program
from workbench.errors import InputError, Refused, listed
from workbench.events.account import KEYLESS, Account, Reporter
from workbench.events.clock import instant
from workbench.events.column_map import has_arrays, has_columns
from workbench.events.inputs import list_named_files
from workbench.events.read import share_columns
from workbench.events.reading_options import Reading
from workbench.events.rows import LogBlock, zero_event
from workbench.events.values import KeyTexts
from workbench.events.write import keep_bad_rows
from workbench.executors.run_options import AUTO, RunOptions
from workbench.executors.table import (
    PIPELINE,
    BackendRow,
    Start,
    backend_row,
    fact_types,
    refuse_kind,
    refuse_missing,
    refuse_options,
)
from workbench.runner.batching import batches_of
from workbench.runner.carried_columns import CarriedColumn, CarriedColumns, CarryingSession
from workbench.runner.choice import IN_MEMORY, default_row, rank_rows, report_choice, run_size
from workbench.runner.fallback import FallbackSession, may_fail
from workbench.runner.loop import LogRows, LogRun, run_state
from workbench.runner.source import LogSource, source_of

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline
    from workbench.events.clock import Clock
    from workbench.events.output_split import OutputRows
    from workbench.executors.backend import Backend
    from workbench.executors.keyed import Partition
    from workbench.executors.reference.random_faults import RandomFaults
    from workbench.executors.session import Session
    from workbench.runner.row_order import RowOrder

RATE = 0.1
"""The default probability that a fault strikes."""
ReadsBlocks = Callable[[Reporter], Generator[LogBlock]]
"""Reads the blocks of a log, and reports on them."""
Keeps = Callable[[], AbstractContextManager[None]]
"""Returns a context in which bad rows are kept."""


def run_pipeline(program: Program, start: Start) -> None:
    """Run a pipeline with options, which name `input` and `output`, and have those of the backends."""
    options = start.options
    if options.backend != AUTO and (whole := backend_row(options.backend).whole) is not None:
        with start.closing:
            opened = OpenedPipeline(program, start, columns=True)
            if opened.is_ordered(1):
                hint = "leave it out: --order COLUMN orders the rows of a key"
                raise InputError("not for the spark backend: --time", hint=hint)
            whole(opened.program, opened.start)
        return
    open_pipeline(program, start).write()


def _describe_rows(program: Program, reading: Reading, account: Account) -> str:
    """Describe rows that lack events; empty if there are none, or it is intended."""
    remarks = _describe_empty_rows(program.ports, reading, account), _describe_gaps(program.pipeline, account)
    return "; ".join(filter(None, remarks))


def _describe_empty_rows(ports: Ports, reading: Reading, account: Account) -> str:
    """Describe rows without an event of any input; empty if there are none."""
    if not account.empty:
        return ""
    names = [reading.columns.get(name, name) for name in ports.domains]
    noun = "input" if any(isinstance(domain, Tuple) for domain in ports.domains.values()) else "column"
    rows = f"{account.empty:,} of {account.computed + account.ignored[KEYLESS]:,} rows"
    zeros = dict.fromkeys(_describe_zero(zero) for port in ports.inputs if (zero := zero_event(port)) is not None)
    reads = f"--null zero reads an empty cell as {' or '.join(zeros)}; " if zeros and reading.null != "zero" else ""
    unread = "--null zero has no value for it; " if reading.null == "zero" else ""
    return (
        f"{rows} {'has' if account.empty == 1 else 'have'} no event: {noun}{'s' * (len(names) > 1)}"
        f" {listed(names)} {'are' if len(names) > 1 else 'is'} empty there"
        f" ({reads}{unread}--null error stops at the first one)"
    )


def _describe_zero(zero: Value) -> str:
    return "the empty text" if zero == "" else "false" if zero is False else "0"


def _describe_gaps(pipeline: Pipeline, account: Account) -> str:
    """Describe rows that lack an event of a joined input; empty where so many do that it is intended."""
    total = (account.computed - account.empty) * len(pipeline.inputs)
    missing = total - account.events_in
    if not 0 < missing <= total * SPARSE or not _joins_all_inputs(pipeline):
        return ""
    return (
        f"{missing:,} of {total:,} events of inputs are missing (empty cells, or keys that a row lacks): joins pair"
        " events in their order, not by rows (--null error stops at the first one; with --bad-rows skip such rows are"
        " left out)"
    )


def _joins_all_inputs(pipeline: Pipeline) -> bool:
    """Whether there are several inputs, and each reaches a processor that waits for events on several pipes."""
    from workbench.processors.held.group import flatten

    flat = flatten(pipeline)
    joins = {queue.rpartition(".")[0] for queue in flat.queues}
    pipes = {pipe for node in flat.nodes if node.name in joins for pipe in node.inputs}
    read = {pipe for node in flat.upstream(pipes) for pipe in node.inputs} | pipes
    return len(flat.inputs) > 1 and all(name in read for name, _ in flat.inputs)


SPARSE = 0.25
"""Maximum share of missing events at which the rows of a log are taken to be complete."""


def open_pipeline(program: Program, start: Start) -> LogRun:
    """Prepare a pipeline to run on the log of its options; if it cannot run, close what has been opened.

    Raises
    ------
    InputError, Refused: an option does not fit the backend, or the backend does not fit the program.
    """
    source = source_of(start.options.input, live=start.live)
    state = run_state(start)
    start = start if state is None else state.adopt(start)
    with nullcontext() if state is None else state.saving_position(), start.opening():
        start, twice = start.follow(), source.rereadable and state is None
        opened = OpenedPipeline(program, start, columns=source.columns, twice=twice)
        start.await_log()
        until, partition = opened.until(), opened.partition(source)
        read = opened.program.ports if partition is None else partition.rows
        carried = opened.carried(source)
        read = share_columns(start.options.input, carried.read(read), opened.reading, start.options.key)
        session = opened.session(partition, carried)
        blocks: ReadsBlocks = partial(source.blocks, read, opened.reading)
        again = blocks
        bad_row_context: Keeps = partial(
            keep_bad_rows, opened.reading, start.reporter, live=start.live, stays=start.stays
        )
        order = opened.order(read, source)
        if order is not None:  # it reads rows ahead, bad ones among them
            if state is not None:
                raise InputError("--state and --time cannot be combined for this pipeline", hint="leave one out")
            start.closing.enter_context(bad_row_context())
            blocks, again, bad_row_context = order.blocks, partial(order.blocks, again=True), nullcontext
        if opened.auto and twice:
            session = FallbackSession(session, partial(opened.reference, partition, carried), again, start.report)
        of_log, times = blocks(start.reporter), carried.has_times
        is_ahead = list_named_files(start.options.input) is not None or (times and source.size > 1)
        log_blocks = _read_first(of_log, start, times=times) if is_ahead else of_log
        if state is not None:
            state.begin(session, opened.program, opened.row.name)
    return LogRun(
        session,
        opened.start,
        LogRows(
            lambda pace, blocks: batches_of(blocks, session, pace, start.reporter.account),
            source.size,
            log_blocks,
            bad_row_context,
            partial(_describe_rows, program, opened.reading),
            frozenset(() if start.options.steps else program.ports.domains),
        ),
        backend=opened.row.name,
        format=(opened.reading.format, source.format_of),
        until=until,
        named=partial(_list_named_outputs, opened, session),
        state=state,
    )


def _list_named_outputs(opened: OpenedPipeline, session: Session) -> Mapping[str, OutputRows]:
    """Return the outputs that may have files of their own."""
    from workbench.events.output_split import rows_of_outputs

    return rows_of_outputs(
        session.outputs, list(opened.program.ports.outputs_by_name), steps=opened.start.options.steps
    )


class OpenedPipeline:
    """A pipeline, and the backend that is to run it.

    Parameters
    ----------
    columns: whether the log may have columns, for the choice of the backend.
    twice: whether the rows of the log can be read twice.

    Attributes
    ----------
    row: the backend.
    reading: the options for reading the log.
    clock: interprets the times of the rows.
    auto: whether `auto` has chosen a backend other than the default.

    Raises
    ------
    InputError, Refused: an option does not fit the backend, or the backend does not fit the program.
    """

    def __init__(self, program: Program, start: Start, *, columns: bool, twice: bool = True) -> None:
        options = start.options
        if options.facts and any(fact_types(program)):
            from workbench.runner.rules.facts import with_facts

            program = with_facts(program, start)
        if options.check_contracts:
            from workbench.processors.held.contracts import monitored

            program = monitored(program)
        self.program = program if options.integers is None else program.pipeline.resolve(options.integers)
        self._made: Backend | None = None
        self.row = default_row(PIPELINE, options)
        if options.backend == AUTO and columns:
            self._choose(start, twice=twice)
        refuse_kind(self.row, self.program)
        refuse_options([self.row], self.program, options)
        refuse_missing(self.row)
        self.start = replace(start, oracle=_faults(options, self.program))
        self.auto = self._made is not None
        limited = self.row.form == Form.ARRAYS and not self.auto
        self.clock = self._clock()
        self.reading = replace(options.reading(self.program, start.follower), only_64_bits=limited, clock=self.clock)

    def _choose(self, start: Start, *, twice: bool) -> None:
        """Choose the fastest backend that runs the program on columns; it may be replaced if numbers are too large."""
        size = run_size(start.options)
        if list_named_files(start.options.input) is None:
            size = replace(size, rows=IN_MEMORY)
        ports = self.program.ports
        in_columns = all((*map(has_arrays, ports.domains.values()), *map(has_columns, ports.outputs_by_name.values())))
        for row in rank_rows(PIPELINE, size):
            with contextlib.suppress(InputError, Refused):
                refuse_options([row], self.program, start.options)
                refuse_missing(row)
                if row is self.row:
                    return
                backend: Any = row.make(self.program, start) if in_columns and row.make is not None else None
                if backend is not None and (twice or not may_fail(backend)):
                    self._made, self.row = backend, row
                    report_choice(row, PIPELINE, size, start.report)
                    return

    def partition(self, source: LogSource) -> Partition | None:
        """Return the partition of the log by its keys; None for one run.

        Raises
        ------
        InputError: an option cannot be combined with keys, or an output has the name of the key column.
        """
        from workbench.executors.keyed import Partition

        options, ports = self.start.options, self.program.ports
        if options.key is None:
            return None
        if other := options.list_present("--steps", "--reassociate", "--fault", "--seed", "--rate", "--until"):
            raise InputError(f"{other} and --key cannot be combined")
        named = {self.reading.columns.get(name, name): domain for name, domain in ports.domains.items()}
        domain = named.get(options.key) or source.key_domain(options.key, self.reading) or KeyTexts()
        columns = ChainMap[str, Any](named, self.start.reporter.columns, self.start.reporter.near)
        return Partition(ports, options.key, domain, source.log_name, columns)

    def carried(self, source: LogSource) -> CarriedColumns:
        """Return the columns that output rows get from the rows that caused them.

        Raises
        ------
        InputError: two columns have the same name, or no output can be true.
        """
        options, ports, columns = self.start.options, self.program.ports, list[CarriedColumn]()
        time = self._time_column() if self.is_ordered(len(source.logs())) or options.time is not None else None
        if (
            time is not None
            and self.clock.column not in ports.outputs_by_name
            and options.key not in (time, self.clock.column)
        ):
            time_port = next((port for port in ports.inputs if port.name == time), None)
            clock = self.clock if time_port is None or time_port.clock else None
            columns.append(
                CarriedColumn(time_port or Port(time, INT), self.clock.column, time_port is not None, clock, leads=True)
            )
        for name in [options.carry] if isinstance(options.carry, str) else options.carry:
            if name != options.key and (time is None or name not in (time, self.clock.column)):
                domain = ports.domains.get(name) or source.cell_domain(name, self.reading)
                is_input = name in ports.domains
                remedy, data_remedy = (f"name the column to copy: {each}" for each in ("--carry NAME", 'carry="NAME"'))
                port = Port(name, domain, copied=not is_input, remedy=remedy, data_remedy=data_remedy)
                columns.append(CarriedColumn(port, name, is_input))
        return CarriedColumns(ports, columns, options.with_row, options.only_true, options.key)

    def order(self, ports: Ports, source: LogSource) -> RowOrder | None:
        """Return the `RowOrder` that puts rows in the order of time, if the options request it, else None.

        Parameters
        ----------
        ports: the ports that rows are read for.
        """
        if not self.is_ordered(len(source.logs())):
            return None
        from workbench.runner.row_order import RowOrder

        with_times = self.clock.column not in self.program.ports.outputs_by_name
        column = self._time_column()
        beside = {column: self.clock.column} if self._reads_times_twice else {}
        reading = replace(self.reading, columns={**beside, **self.reading.columns})
        return RowOrder(ports, column, source, reading, self.clock, self.start, with_times=with_times)

    def is_ordered(self, logs: int) -> bool:
        """Whether rows of that number of logs are put in the order of time; a program with a clock checks the order."""
        options, has_clock = self.start.options, any(port.clock for port in self.program.ports.inputs)
        return options.late is not None or (options.time is not None and (not has_clock or logs > 1))

    def until(self) -> Callable[[], int] | None:
        """Return a function that computes the time to which the clock moves at the end; None without `--until`."""
        until = self.start.options.until
        return None if until is None else partial(instant, self.clock, str(until))

    def _clock(self) -> Clock:
        """Return the clock that interprets the times of rows."""
        clock = self.start.options.clock(self.start.options.late)
        numbers = any(port.clock == "numbers" for port in self.program.ports.inputs)
        return replace(clock, unit=None) if numbers else clock

    def _time_column(self) -> str:
        """Return the name under which the column of times is read: that of an input, if it carries times as they are.

        Other inputs read the same column in their own form: fractions, dates as seconds, texts.
        """
        stepped = next((port.name for port in self.program.ports.inputs if port.clock), None)
        return stepped or f"{self.clock.column}{' as a time' if self._reads_times_twice else ''}"

    @property
    def _reads_times_twice(self) -> bool:
        """Whether the column of times is also an input that does not carry times as they are."""
        ports = self.program.ports
        domain = None if any(port.clock for port in ports.inputs) else ports.domains.get(self.clock.column)
        plain = isinstance(domain, Integers | Integer | Range) and not self.reading.dated
        return domain is not None and not plain

    def session(self, partition: Partition | None, carried: CarriedColumns) -> Session:
        """Return the session that steps the program through the log."""
        return self._session(self.row, self._made, partition, carried)

    def reference(self, partition: Partition | None, carried: CarriedColumns) -> Session:
        """Return such a session of the reference executor, before the first row."""
        return self._session(backend_row("reference"), None, partition, carried)

    def _session(
        self, row: BackendRow, backend: Backend | None, partition: Partition | None, carried: CarriedColumns
    ) -> Session:
        if partition is not None and row.keyed is not None:
            session = row.keyed(self.program, self.start, partition)
        elif row.make is not None:
            session = row.session(row.make(self.program, self.start) if backend is None else backend, self.start)
        else:
            raise InputError(f"the {row.name} backend reads a file and writes one", hint="name input and output")
        return CarryingSession(session, carried) if carried else session


def _read_first(blocks: Generator[LogBlock], start: Start, *, times: bool) -> Iterator[LogBlock]:
    """Read the first block ahead: nothing is written if there is none, and its first row shows the form of times."""
    start.closing.callback(blocks.close)
    first = list(itertools.islice(blocks, 1))
    return itertools.chain([_decode_first(each) for each in first] if times else first, blocks)


def _decode_first(block: LogBlock) -> LogBlock:
    """Decode the columns of a block ahead of time, or its first row if it has no columns."""
    columns = block.columns()
    if columns is not None:
        return replace(block, columns=lambda: columns)
    steps = block.steps()
    first = list(itertools.islice(steps, 1))
    return replace(block, steps=lambda: itertools.chain(first, steps))


def _faults(options: RunOptions, pipeline: Program) -> RandomFaults | None:
    """Return the random faults of a run, if the options request them."""
    if not options.fault and options.seed is None and options.rate is None:
        return None
    from workbench.executors.reference.random_faults import RandomFaults

    return RandomFaults(pipeline, options.seed or 0, RATE if options.rate is None else options.rate)
