"""Run a program on a log.

Streams: an event's outputs are written before the next event is read, so that it works in a unix pipe.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from workbench.core.domain import Domain, Integer, Value
from workbench.core.program import Program
from workbench.errors import InputError, WorkbenchError, did_you_mean
from workbench.events.columns import has_array
from workbench.events.reading import Reading, Tally, reading_options
from workbench.events.rows import LogBlock
from workbench.executors.table import Start, backend_options, backend_row, refuse_foreign, refuse_kind

if TYPE_CHECKING:
    from workbench.executors.backend import Backend, StepRecord
    from workbench.executors.reference.executor import Reference
    from workbench.executors.reference.random_faults import RandomFaults

RATE = 0.1
BATCH = 4096
"""Steps that a compiled backend takes at a time, where nobody waits for the output of each."""
LARGE = 1 << 18
"""The same where these steps are made in several threads."""
Say = Callable[[str], object]
T = TypeVar("T")


def run_log(
    program: Program | str | Path,
    input: str | Path | Iterable[Mapping[str, Value]],
    output: str | Path | None = None,
    *,
    integers: Integer | None = None,
    **options: Any,
) -> dict[str, list[Value]]:
    """Run a program on a log.

        wb.run_log("models/time2021/sum_of_odds.pipe", "x.csv", "y.jsonl", backend="numba")
        wb.run_log(pipeline, [{"x": 1}, {"x": 2}])

    Parameters
    ----------
    program: a pipeline, or the file that it is in, `FILE` or `FILE:NAME`.
    input: a `.csv`, `.jsonl` or `.parquet` file, or the steps, each a mapping from input to event.
    output: such a file, to be written. None: what comes out is returned.
    integers: what `int` is; None: plain Python numbers.
    options: those of `workbench run`, as they are called there: `backend`, `format`, `threads`, `key`, `seed`, ...

    Returns
    -------
    The stream of each output, by name; nothing where it is written.

    Raises
    ------
    InputError: the log cannot be read or written, or an option is not for this backend.
    Refused, NoCapacity, Overflow: the backend does not run this, or a queue has too little room.
    """
    from workbench.language import load

    found = load(program) if isinstance(program, str | Path) else program
    parser = argparse.ArgumentParser()
    parser.register("type", "positive", int)
    backend_options(parser)
    reading_options(parser)
    known = {"steps": False, "fault": [], **vars(parser.parse_args([]))}
    if unknown := next(iter(options.keys() - known), None):
        raise InputError(f"there is no option '{unknown}'", hint=did_you_mean(unknown, known))
    start = Start(argparse.Namespace(**{**known, "input": input, "output": output, **options}))
    return run_with(found, start, integers)


def run_with(
    pipeline: Program, start: Start, integers: Integer | None = None, struck: Say = lambda _: None
) -> dict[str, list[Value]]:
    """Run a program as options say, which name `input` and `output` besides those of the backends; see `run`.

    Parameters
    ----------
    integers: what `int` is resolved to, if it is.
    struck: is told of each fault that strikes.
    """
    options = start.options
    row = backend_row(options.backend)
    refuse_foreign(row, options)
    refuse_kind(row, pipeline)
    if integers is not None:
        pipeline = pipeline.pipeline.resolve(integers)
    with contextlib.ExitStack() as closing:
        start = replace(start, oracle=_faults(options, pipeline), closing=closing)
        make, keyed = row.make, row.keyed
        files = isinstance(options.input, str | Path) and options.output is not None
        if (row.whole is not None or options.key is not None) and not files:
            raise InputError("logs with keys are read from a file and written to one", hint="name input and output")
        if row.whole is not None:
            row.whole(pipeline, start)
        elif options.key is not None and keyed is not None:
            from workbench.logs.traces import run_traces

            run_traces(pipeline, keyed(pipeline, start), start)
        elif make is not None:
            return _step_by_step(pipeline, make, start, struck)
    return {}


def _step_by_step(
    pipeline: Program, make: Callable[[Program, Start], Backend], start: Start, struck: Say
) -> dict[str, list[Value]]:
    from workbench.events.read import read_blocks
    from workbench.events.write import output_format, write_events

    options = start.options
    path = options.input if isinstance(options.input, str | Path) else None
    reading, tally = Reading.of(options), Tally(start.say)
    blocks: Iterator[LogBlock]  # nothing is written before the input is known to be there
    if path is None:
        events = _started(iter(options.input))
        blocks = iter([LogBlock(lambda: events)])
    else:
        blocks = _started(read_blocks(path, pipeline, reading, tally=tally))
    by_rows = path is None or start.oracle or options.steps
    found: dict[str, list[Value]] = {name: [] for name in pipeline.ports.shown}
    backend = make(pipeline, start)
    tell = struck if start.oracle else None
    if options.output is None:
        for block in blocks:
            for outputs in _outputs(backend, block.steps(), tell):
                for name, values in outputs.items():
                    found[name] += values
        last = backend.end()
        return {name: values + list(last.get(name, [])) for name, values in found.items()}
    written = output_format(options.output, options.format, path or "-")
    with write_events(options.output, pipeline, format=written, idle=options.steps) as writer:
        for block in blocks:
            table = None if by_rows else _columns(backend, block, pipeline.ports.shown)
            if table is None:
                for outputs in _outputs(backend, block.steps(), tell):
                    writer.write(outputs)
            elif table.num_rows:
                writer.table(table)
            writer.flush()
        last = backend.end()
        if any(last.values()):
            writer.write(last)
    return {}


def _columns(backend: Any, block: LogBlock, shown: Mapping[str, Domain]) -> Any:
    """What comes out of a block of columns, as an Arrow table; None where it has to go row by row."""
    if not hasattr(backend, "feed") or not all(map(has_array, shown.values())):
        return None
    columns = block.columns()
    if columns is None:
        return None
    from workbench.events.arrays import shown_table

    events = {name: given.events for name, given in columns.items()}
    present = {name: given.present for name, given in columns.items() if given.present is not None}
    try:
        return shown_table(backend.feed(events, present, steps=len(shown) > 1, reuse=True), shown)
    except WorkbenchError:  # nothing has happened: the row in which it does is found
        return None


def _started(events: Iterator[T]) -> Iterator[T]:
    """The same, the first one read already."""
    return itertools.chain(list(itertools.islice(events, 1)), events)


def _outputs(
    backend: Backend, events: Iterator[Mapping[str, Any]], struck: Say | None
) -> Iterator[Mapping[str, list[Any]]]:
    """What comes out in each step."""
    if hasattr(backend, "outputs"):
        yield from _compiled(backend, events, LARGE if getattr(backend, "threads", 1) > 1 else BATCH)
        return
    several = None if struck else getattr(backend, "records", None)
    if not several and not struck and hasattr(backend, "emitted"):
        yield from backend.emitted(events)
        return
    for record in several(events) if several else map(backend.step, events):
        yield record.outputs
        if struck:
            _tell_strikes(cast("Reference", backend), record, struck)


def _compiled(backend: Any, events: Iterator[Mapping[str, Any]], size: int) -> Iterator[Mapping[str, list[Any]]]:
    """The same, so many steps at a time."""
    for steps in _batches(events, size):
        try:
            made: Iterable[Mapping[str, list[Any]]] = backend.outputs(steps)
        except WorkbenchError:  # in one of the steps, before which there are others
            few = len(steps) <= BATCH
            made = (backend.step(step).outputs for step in steps) if few else _compiled(backend, iter(steps), BATCH)
        yield from made


def _batches(events: Iterator[Mapping[str, Any]], size: int) -> Iterator[list[Mapping[str, Any]]]:
    """The events some steps at a time; those before one that cannot be read come out, too."""
    problem: Exception | None = None
    while problem is None:
        batch: list[Mapping[str, Any]] = []
        try:
            batch.extend(itertools.islice(events, size))
        except Exception as error:
            problem = error
        if batch:
            yield batch
        elif problem is None:
            return
    raise problem


def _faults(options: argparse.Namespace, pipeline: Program) -> RandomFaults | None:
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
