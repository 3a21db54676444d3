"""Run a pipeline on events from a file or the standard input.

Streams: an event's outputs are written before the next event is read, so the command works in a unix pipe.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from workbench.cli import options as o
from workbench.cli import run_queues
from workbench.run.table import Start, backend_options, backend_row, refuse_foreign

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline
    from workbench.run.base import Backend, StepRecord
    from workbench.run.reference.executor import Reference
    from workbench.run.reference.random_faults import RandomFaults

RATE = 0.1
BATCH = 4096
"""Steps that a compiled backend takes at a time, where nobody waits for the output of each."""
LARGE = 1 << 18
"""The same where these steps are made in several threads."""
FORMATS = ("csv", "jsonl", "parquet")


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    o.pipeline_argument(parser)
    parser.add_argument(
        "--input",
        required=True,
        metavar="FILE",
        help="a .csv, .jsonl or .parquet file (also .gz), or -; for spark also a folder",
    )
    parser.add_argument("--format", choices=FORMATS, help="of the input (default: by its name, or its first bytes)")
    parser.add_argument(
        "--output", default="-", metavar="FILE", help="a .csv, .jsonl or .parquet file (default: standard output)"
    )
    parser.add_argument("--steps", action="store_true", help="also show steps at which nothing came out")
    o.parameter_options(parser)
    o.domain_options(parser, n=None)
    parser.register("type", "positive", o.positive)
    backend_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Run and write."""
    pipeline = _domain(o.load(args.file, args.param, args.fault).pipeline, args)
    from workbench.cli.progress import Progress

    row = backend_row(args.backend)
    refuse_foreign(row, args)
    with contextlib.ExitStack() as closing:
        faults = _faults(args, pipeline)
        start = Start(args, faults, closing, _say, Progress)
        make, keyed = row.make, row.keyed
        if row.whole is not None:
            row.whole(pipeline, start)
        elif args.key is not None and keyed is not None:
            from workbench.cli import run_traces

            run_traces.execute(args, pipeline, lambda given: keyed(given, start))
        elif make is not None:
            _run(args, pipeline, lambda given: make(given, start), faults)
    return 0


def _run(
    args: argparse.Namespace, pipeline: Pipeline, make: Callable[[Pipeline], Backend], faults: RandomFaults | None
) -> None:
    from workbench.events.read import read_events
    from workbench.events.write import output_format, write_events

    events = read_events(args.input, pipeline, format=args.format)
    written = output_format(args.output, args.format, args.input)
    live = args.output == "-" and (args.input == "-" or sys.stdout.isatty())
    # nothing is written before the input is known to be there
    events = _started(events)
    with run_queues.told(pipeline):
        backend = run_queues.allocated(make, pipeline, args)
        with write_events(args.output, pipeline, format=written, idle=args.steps) as writer:
            for outputs in _outputs(backend, events, faults, live=live):
                writer.write(outputs)
                if live:
                    sys.stdout.flush()
            last = backend.end()
            if any(last.values()):
                writer.write(last)


def _started(events: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The same events, the first one read already."""
    return itertools.chain(list(itertools.islice(events, 1)), events)


def _outputs(
    backend: Backend, events: Iterator[dict[str, Any]], faults: RandomFaults | None, *, live: bool
) -> Iterator[Mapping[str, list[Any]]]:
    """What comes out in each step; where somebody waits for it, before the next step is read."""
    if hasattr(backend, "outputs"):
        yield from _compiled(backend, events, 1 if live else LARGE if getattr(backend, "threads", 1) > 1 else BATCH)
        return
    several = None if live or faults else getattr(backend, "records", None)
    for record in several(events) if several else map(backend.step, events):
        yield record.outputs
        if faults:
            _tell_strikes(cast("Reference", backend), record)


def _compiled(backend: Any, events: Iterator[dict[str, Any]], size: int) -> Iterator[Mapping[str, list[Any]]]:
    """The same, so many steps at a time."""
    from workbench.errors import WorkbenchError

    for steps in _batches(events, size):
        try:
            made: Iterable[Mapping[str, list[Any]]] = backend.outputs(steps)
        except WorkbenchError:  # in one of the steps, before which there are others
            few = len(steps) <= BATCH
            made = (backend.step(step).outputs for step in steps) if few else _compiled(backend, iter(steps), BATCH)
        yield from made


def _batches(events: Iterator[dict[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    """The events some steps at a time; those before one that cannot be read come out, too."""
    problem: Exception | None = None
    while problem is None:
        batch: list[dict[str, Any]] = []
        try:
            batch.extend(itertools.islice(events, size))
        except Exception as error:
            problem = error
        if batch:
            yield batch
        elif problem is None:
            return
    raise problem


def _say(text: str) -> None:
    print(f"workbench: {text}", file=sys.stderr)


def _faults(args: argparse.Namespace, pipeline: Pipeline) -> RandomFaults | None:
    """What makes faults strike, where the options ask for that."""
    if not args.fault and args.seed is None and args.rate is None:
        return None
    from workbench.run.reference.random_faults import RandomFaults

    return RandomFaults(pipeline, args.seed or 0, RATE if args.rate is None else args.rate)


def _tell_strikes(backend: Reference, record: StepRecord) -> None:
    """The faults that struck in the last step, on the standard error."""
    from workbench.core.readable import show_value
    from workbench.faults import struck

    carried = {pipe: maybe.value if maybe.present else None for pipe, maybe in record.pipes.items()}
    for strike in struck(backend.flat, carried):
        event = show_value(strike.event, strike.domain)
        print(f"step {backend.steps - 1}: {event} on {strike.pipe} was {strike.what}", file=sys.stderr)


def _domain(pipeline: Pipeline, args: argparse.Namespace) -> Pipeline:
    """The pipeline over finite integers, if -N or --int ask for them."""
    if args.N is None and args.integers is None:
        return pipeline
    from workbench.core.domain import Integer, Overflowing

    n = o.N if args.N is None else args.N
    return pipeline.resolve(Integer(n, Overflowing(args.integers or o.KINDS[0])))
