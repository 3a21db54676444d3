"""`wb.run`: a program on whatever data there is; the answer comes as what went in."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack, cast, overload

from workbench.budget import Budget
from workbench.core.domain import BOOL, INT, Domain, Value
from workbench.core.program import Port, Ported, Ports, Program
from workbench.errors import InputError
from workbench.events.account import Reporter
from workbench.events.inputs import LogPath, named_files
from workbench.events.read import counted_blocks, key_domain
from workbench.events.reading import Reading
from workbench.events.rows import LogBlock, RowReader
from workbench.events.values import Words
from workbench.executors.table import Start
from workbench.language import program_of
from workbench.logs import answers
from workbench.logs.answers import RunRow
from workbench.logs.data import ArraysReader, RowsReader, TableReader
from workbench.logs.keyed import ROW, keyed_parts
from workbench.logs.options import LOG, Place, RunKeywords, started
from workbench.logs.run import BlockOutputs, LogRun, blocks_of, run_with, write_log
from workbench.logs.run_outputs import FRAMES, RunOutputs, made_by
from workbench.named_files import allow
from workbench.processors.held.lags import warn_of_lags
from workbench.tesla.rule_set import RuleSet

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ArrowData(Protocol):
    """A table, a frame, a reader: whatever gives its rows as a stream of Arrow's."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


D = TypeVar("D", bound=ArrowData)


@overload
def run(program: Program | RuleSet | Place, data: object, *, output: Place, **options: Unpack[RunKeywords]) -> Path: ...
@overload
def run(
    program: Program | RuleSet | Place, data: LogPath | Sequence[str] | Sequence[Path], **options: Unpack[RunKeywords]
) -> RunOutputs: ...
@overload
def run(
    program: Program | RuleSet | Place, data: Mapping[str, NDArray[Any]], **options: Unpack[RunKeywords]
) -> dict[str, NDArray[Any]]: ...
@overload
def run(
    program: Program | RuleSet | Place, data: Mapping[str, Sequence[Value]], **options: Unpack[RunKeywords]
) -> dict[str, list[Value]]: ...
@overload
def run(program: Program | RuleSet | Place, data: D, **options: Unpack[RunKeywords]) -> D: ...
@overload
def run(  # type: ignore[overload-overlap]
    program: Program | RuleSet | Place, data: Sequence[Mapping[str, Value]], **options: Unpack[RunKeywords]
) -> list[RunRow]: ...
@overload
def run(
    program: Program | RuleSet | Place, data: Iterable[Mapping[str, Value]], **options: Unpack[RunKeywords]
) -> Iterator[RunRow]: ...
def run(program: Program | RuleSet | Place, data: Any, *, output: Place | None = None, **options: Any) -> Any:
    """Run a program on data; a row is a step, and a None or null is no event.

        wb.run(program, {"x": np.arange(10)})["out"]
        wb.run("p.pipe", frame)
        wb.run("p.pipe:total", "log.parquet", output="out.parquet")

    Parameters
    ----------
    program: a pipeline or rules, or the file that they are in, `FILE` or `FILE:NAME`.
    data: columns by the names of the inputs, or rows; for rules events, with their types, times and attributes.
        Those that no input needs are passed over.

        =============================================  ================================================
        data                                           answer
        =============================================  ================================================
        a dictionary of numpy arrays                   a dictionary: the events of each output, an array
        a dictionary of lists                          the same with lists
        Arrow table, batch or reader, pandas or        the same, with a row for each event of a step and
        Polars frame, DuckDB relation                  a null for no event; of a reader, a batch at a time
        a list of mappings, or any iterable of them    rows as dictionaries: a list, or as they come
        the path of a file, or paths of several, a     `RunOutputs`
        folder or a pattern: one log after the other
        =============================================  ================================================
    output: a file to write instead, in the format that its name says; it appears when it is complete.
    options: see `RunOptions`.

    Returns
    -------
    As the table says. Arrays have a bool, an int64 or a float64 for each event, a `str` for a label, and an object
    for all else. With `output`, its path.

    Raises
    ------
    InputError: the data cannot be read (with the column and the row), written, or an option means nothing here.
    Refused, NoCapacity: the backend does not run the program.
    Overflow, DomainError: in a step, which the error has as `step` (from 0 on).
    LimitMet: there was not enough time or memory; `phase` says how far it came.
    """
    limits, include = Budget(options.get("seconds"), options.get("memory_mb")), options.pop("include", ())
    if limits.limited and not named_files(data) and output is None and answers_as_it_comes(data):
        raise InputError("an answer that comes bit by bit has no limits", hint="give a list or a table, or a file")
    start = started(data, output, options)
    with allow(include):
        found = rules_or_program(program)
        with limits, start.reporter.doing:
            return (
                _ruled(found, data, output, start) if isinstance(found, RuleSet) else _ran(found, data, output, start)
            )


def _ran(found: Program, data: Any, output: Place | None, start: Start) -> Any:
    warn_of_lags(found.pipeline)
    if output is not None and named_files(data):
        run_with(found, start)
        return Path(output)
    columns = not isinstance(data, Sequence | Iterator) or named_files(data) is not None
    if isinstance(data, Mapping):
        columns = not all(isinstance(each, Sequence) for each in data.values())
    twice = named_files(data) is not None or not answers_as_it_comes(data)
    running = LogRun(found, start, columns=columns, twice=twice)
    if start.options.key is not None:
        if output is not None or running.row.keyed is None:
            raise InputError("logs with keys are written from files", hint="write what comes out of this")
        return _keyed(data, running, running.row.keyed(running.program, running.start))
    blocks = _blocks(data, running, running.program)
    if output is not None:
        write_log(running, blocks)
        return Path(output)
    _ = running.backend
    made = running.made(blocks, exact=False)
    collected = (answers.streams, answers.arrays)
    idle, name = running.start.options.steps, running.row.name
    try:
        return _answered(data, made, running.program.ports.shown, collected, backend=name, idle=idle)
    except BaseException:
        running.closing.close()  # nobody asks for what comes behind the error
        raise


def _keyed(data: Any, running: LogRun, backend: Any) -> Any:
    """The answer of a run for each key: rows of what came out, with their keys."""
    name, ports = running.start.options.key or "", running.program.ports
    added = [name, ROW] if running.start.options.with_row else [name]
    if taken := next((each for each in added if each in ports.shown), None):
        raise InputError(f"an output of {ports.of} is called '{taken}', as a column beside it is")
    data, domain = _key_domain(data, name, running)
    key, numbers = Port(name, ports.domains.get(name) or domain), Port(ROW, INT)
    inputs = ports.inputs if name in ports.domains else (key, *ports.inputs)
    rows = Ports("rows", inputs, (key, *[numbers][: len(added) - 1], *ports.outputs))
    blocks = _blocks(data, running, rows)

    def made() -> Iterator[Any]:
        with running.closing:
            running.keep()
            account = running.start.reporter.account
            for some in keyed_parts(running.program, rows, backend, blocks, account, running.fallback):
                for part in some:
                    yield iter([{n: [value] for n, value in part.items()}]) if isinstance(part, Mapping) else part

    collected = (answers.listed, answers.masked)
    return _answered(data, made(), rows.shown, collected, backend=running.row.name)


def _key_domain(data: Any, name: str, running: LogRun) -> tuple[Any, Domain]:
    """The data, and what the keys in a column of it are: whole numbers, truth values, else texts."""
    if named_files(data):
        return data, key_domain(data, name, running.reading)
    if isinstance(data, Mapping):
        given = data.get(name, ())
        first = next((each for each in given if each is not None), None)
    elif (batches := _batches(data)) is not None:
        kinds = {"int": INT, "uint": INT, "bool": BOOL}
        found = batches[0].field(name).type if name in batches[0].names else ""
        return data, kinds.get(str(found).rstrip("0123456789"), Words())
    else:
        some = data if isinstance(data, Sequence) else iter(data)
        row: Mapping[str, Any] = next(iter(some), {})
        data, first = data if isinstance(data, Sequence) else itertools.chain([row], some), row.get(name)
    first = cast(Any, first).item() if hasattr(first, "item") else first
    return data, BOOL if isinstance(first, bool) else INT if isinstance(first, int) else Words()


def _ruled(rules: RuleSet, data: Any, output: Place | None, start: Start) -> Any:
    """What rules say of events: rows of composites."""
    from workbench.logs.rules import rule_run, run_rules, write_made

    if output is not None and named_files(data):
        run_rules(rules, start)
        return Path(output)
    run = rule_run(rules, start, events_of(data))
    if output is not None:
        from workbench.events.write import output_format, write_events

        with write_events(output, run.ports, format=output_format(output, None, "-")) as writer:
            for some in run.made():
                write_made(writer, some)
        return Path(output)
    pieces = run.made()
    made: Iterator[Any] = (
        iter([{name: [value] for name, value in row.items()} for row in some]) if isinstance(some, list) else some
        for some in pieces
    )
    collected = (answers.listed, answers.masked)
    return _answered(data, made, run.ports.shown, collected, backend=run.engine)


def events_of(data: Any) -> Callable[[Any], Iterator[Any]]:
    """What gives the events of data, by what reads them (`RuleLog`)."""
    files = named_files(data)
    return lambda log: log.pieces(files) if files else log.of_data(partial(_reader, data))


def rules_or_program(given: Program | RuleSet | Place) -> Program | RuleSet:
    """A program as it is, or what a file holds."""
    if isinstance(given, str | Path) and str(given).endswith(".tesla"):
        from workbench.tesla.check import load_rules

        return load_rules(given)
    return given if isinstance(given, RuleSet) else program_of(given)


def _blocks(data: Any, running: LogRun, program: Ported) -> Iterator[LogBlock]:
    """The rows of the data, for the inputs of a program."""
    if named_files(data):
        return blocks_of(data, running, program)
    if running.auto and not answers_as_it_comes(data):
        running.fallback.read_again = lambda reporter: _reader(data, program, running.reading, reporter)
    return _reader(data, program, running.reading, running.start.reporter)


def _reader(data: Any, program: Ported, reading: Reading, reporter: Reporter) -> Iterator[LogBlock]:
    """The same of what is no file."""
    reader: RowReader
    if isinstance(data, Mapping):
        reader = ArraysReader(program, reading, reporter, data)
    elif (batches := _batches(data)) is not None:
        reader = TableReader(program, reading, reporter, *batches)
    elif isinstance(data, Iterable):
        reporter.say = LOG.warning  # a name that is misspelt is not missed in a row
        reader = RowsReader(program, reading, reporter, data)
    else:
        raise InputError(f"data is a {type(data).__name__}", hint="give a table, a frame, arrays by name, or rows")
    return counted_blocks(reader.blocks(cast(Any, None), "row"), "row", reading, reporter.account)


def _batches(data: Any) -> tuple[Any, Iterator[Any]] | None:
    """The schema and the record batches of what has such; None for other data."""
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        return None
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        return data.schema, iter([data])
    if made_by(data) == "pandas":  # its own stream has the index for a column
        data = pa.Table.from_pandas(data, preserve_index=False)
    found = data if isinstance(data, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(data)
    return found.schema, iter(found)


def answers_as_it_comes(data: Any) -> bool:
    """Whether rows or tables of the answer are made when they are asked for."""
    if hasattr(data, "__arrow_c_stream__"):
        return type(data).__name__ == "RecordBatchReader"
    return not isinstance(data, Sequence | Mapping) and not hasattr(data, "__arrow_c_array__")


def _answered(
    data: Any,
    made: Iterator[BlockOutputs],
    shown: Mapping[str, Domain],
    collected: tuple[Callable[..., Any], Callable[..., Any]],
    *,
    backend: str,
    idle: bool = False,
) -> Any:
    """The answer, as the data was; `collected` is what makes a dictionary of lists, and of arrays."""
    if named_files(data):
        return RunOutputs(shown, backend, made, idle=idle)
    if isinstance(data, Mapping):
        lists = all(isinstance(each, Sequence) for each in data.values())
        return collected[not lists](made, shown)
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        found = answers.rows(made, shown, idle=idle)
        return list(found) if isinstance(data, Sequence) else found
    import pyarrow as pa

    tables = answers.tables(made, shown, idle=idle)
    if isinstance(data, pa.RecordBatchReader):
        return pa.RecordBatchReader.from_batches(answers.schema(shown), (b for t in tables for b in t.to_batches()))
    table = answers.joined(tables, shown)
    if isinstance(data, pa.RecordBatch):
        return pa.record_batch([column.combine_chunks() for column in table.columns], schema=table.schema)
    return FRAMES.get(made_by(data), lambda each: each)(table)
