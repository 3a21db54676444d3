"""`wb.run`: run a program on Python data or files, and return the answer in the form of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack, overload

from workbench.budget import Budget
from workbench.core.domain import Domain, Value
from workbench.core.program import Program
from workbench.errors import InputError
from workbench.events.inputs import LogPath, list_named_files
from workbench.executors.session import BatchOutput
from workbench.executors.table import Start
from workbench.language import AnyProgram
from workbench.named_files import allow
from workbench.processors.held.warnings import report_warnings
from workbench.python_files import allow_python
from workbench.runner import answers
from workbench.runner.answers import FRAMES, RunOutputs, RunRow
from workbench.runner.options import Place, RunKeywords, make_start
from workbench.runner.pipelines import open_pipeline, run_pipeline
from workbench.runner.source import answers_as_it_comes, find_package
from workbench.tesla.rule_set import RuleSet, rules_or_program

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ArrowData(Protocol):
    """Data that exports an Arrow stream: a table, a frame or a reader."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


D = TypeVar("D", bound=ArrowData)


@overload
def run(program: AnyProgram | RuleSet, data: object, *, output: Place, **options: Unpack[RunKeywords]) -> Path: ...
@overload
def run(
    program: AnyProgram | RuleSet, data: object, *, output: Mapping[str, Place], **options: Unpack[RunKeywords]
) -> dict[str, Path]: ...
@overload
def run(
    program: AnyProgram | RuleSet, data: LogPath | Sequence[str] | Sequence[Path], **options: Unpack[RunKeywords]
) -> RunOutputs: ...
@overload
def run(
    program: AnyProgram | RuleSet, data: Mapping[str, NDArray[Any]], **options: Unpack[RunKeywords]
) -> dict[str, NDArray[Any]]: ...
@overload
def run(
    program: AnyProgram | RuleSet, data: Mapping[str, Sequence[Value]], **options: Unpack[RunKeywords]
) -> dict[str, list[Value]]: ...
@overload
def run(program: AnyProgram | RuleSet, data: D, **options: Unpack[RunKeywords]) -> D: ...
@overload
def run(  # type: ignore[overload-overlap]
    program: AnyProgram | RuleSet, data: Sequence[Mapping[str, Value]], **options: Unpack[RunKeywords]
) -> list[RunRow]: ...
@overload
def run(
    program: AnyProgram | RuleSet, data: Iterable[Mapping[str, Value]], **options: Unpack[RunKeywords]
) -> Iterator[RunRow]: ...
def run(
    program: AnyProgram | RuleSet, data: Any, *, output: Place | Mapping[str, Place] | None = None, **options: Any
) -> Any:
    """Run a program on data; a row is a step, and a None or null means no event.

        wb.run(program, {"x": np.arange(10)})["out"]
        wb.run("p.pipe", frame)
        wb.run("p.pipe:total", "log.parquet", output="out.parquet")

    Parameters
    ----------
    program: a pipeline or rules, or the file that they are in, `FILE` or `FILE:NAME`.
    data: columns by the names of the inputs, or rows; for rules events, with their types, times and attributes.
        Columns that no input needs are ignored.

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
    output: a file to write instead of returning rows; its name determines the format, and it appears once it is
        complete. Or a mapping from outputs to files, which appear together.
    options: see `RunOptions`.

    Returns
    -------
    As the table states. Arrays have a bool, an int64 or a float64 for each event, a `str` for a label, and an object
    for all else. With `output`, its path, or the paths by name.

    Raises
    ------
    InputError: the data cannot be read (with the column and the row) or written, or an option does not apply here.
    Refused, NoCapacity: the backend does not run the program.
    Overflow, DomainError: at a step, whose number (from 0) is the error's `step`.
    LimitMet: time or memory ran out; `phase` states how far the run came.
    """
    limits, include = Budget(options.get("seconds"), options.get("memory_mb")), options.pop("include", ())
    python = options.pop("allow_python", False)
    if limits.is_limited and not list_named_files(data) and output is None and answers_as_it_comes(data):
        raise InputError("limits do not apply to answers that come row by row", hint="pass a list, a table or a file")
    start = make_start(data, output, options, program)
    with allow(include), allow_python(python):
        program = rules_or_program(program)
        with limits, start.reporter.doing:
            return _ran(program, data, output, start)


def _ran(program: Program | RuleSet, data: Any, output: Place | Mapping[str, Place] | None, start: Start) -> Any:
    rules, options = isinstance(program, RuleSet), start.options
    by_rows = rules or options.list_present("--key", "--with-row", "--carry", "--only-true", "--time", "--late")
    if isinstance(program, RuleSet):
        from workbench.runner.rules.opening import open_rules, run_rules

        write, run = partial(run_rules, program, start), partial(open_rules, program, start)
    else:
        report_warnings(program.pipeline)
        write, run = partial(run_pipeline, program, start), partial(open_pipeline, program, start)
    if options.follow and output is None and options.head is None:
        raise InputError("--follow: an answer in memory would have no end", hint="name an output, or add head=N")
    if output is not None:
        with start.closing:
            write() if list_named_files(data) else run().write()
        return {name: Path(file) for name, file in output.items()} if isinstance(output, Mapping) else Path(output)
    running = run()
    collected = (answers.listed, answers.mask_arrays) if by_rows else (answers.streams, answers.arrays)
    outputs = running.answers()
    try:
        return _make_answer(data, outputs, running.session.outputs.outputs_by_name, collected, backend=running.backend)
    except BaseException:
        with running.start.closing:
            outputs.close()  # no row is read after the error
            raise


def _make_answer(
    data: Any,
    outputs: Iterator[BatchOutput],
    domains: Mapping[str, Domain],
    collected: tuple[Callable[..., Any], Callable[..., Any]],
    *,
    backend: str,
) -> Any:
    """Return the answer in the form of the data; `collected` makes a dictionary of lists, and one of arrays."""
    if list_named_files(data):
        return RunOutputs(domains, backend, outputs)
    if isinstance(data, Mapping):
        lists = all(isinstance(each, Sequence) for each in data.values())
        return collected[not lists](outputs, domains)
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        rows = answers.rows(outputs, domains)
        return list(rows) if isinstance(data, Sequence) else rows
    import pyarrow as pa

    tables = answers.tables(outputs, domains)
    if isinstance(data, pa.RecordBatchReader):
        return pa.RecordBatchReader.from_batches(answers.schema(domains), (b for t in tables for b in t.to_batches()))
    table = answers.join_tables(tables, domains)
    if isinstance(data, pa.RecordBatch):
        return pa.record_batch([column.combine_chunks() for column in table.columns], schema=table.schema)
    return FRAMES.get(find_package(data), lambda each: each)(table)
