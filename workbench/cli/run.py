"""Run a pipeline on events from a file or the standard input.

Streams: an event's outputs are written before the next event is read, so the command works in a unix pipe.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workbench.cli import options as o

if TYPE_CHECKING:
    from workbench.backends.base import Backend
    from workbench.core.pipeline import Pipeline

HELP = "run a pipeline on events"
BACKENDS = ("reference", "numba")
BATCH = 4096
"""Steps that a compiled backend takes at a time, where nobody waits for the output of each."""
FORMATS = ("csv", "jsonl")


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    o.pipeline_argument(parser)
    parser.add_argument("--input", required=True, metavar="FILE", help="a .csv or .jsonl file (also .gz), or -")
    parser.add_argument("--format", choices=FORMATS, help="of the input (default: by its name, or its first line)")
    parser.add_argument("--backend", choices=BACKENDS, default=BACKENDS[0], help="what runs it (default: reference)")
    parser.add_argument(
        "--output", default="-", metavar="FILE", help="a .csv or .jsonl file (default: standard output)"
    )
    parser.add_argument("--steps", action="store_true", help="also show steps at which nothing came out")
    o.parameter_options(parser)
    o.domain_options(parser, n=None)


def execute(args: argparse.Namespace) -> int:
    """Run and write."""
    from workbench.backends.events import format_of, read_events, write_events

    pipeline = _domain(o.load(args.file, args.param).pipeline, args)
    backend = _backend(args.backend, pipeline)
    events = read_events(args.input, pipeline, format=args.format)
    written = format_of(args.output) or args.format or format_of(args.input)
    live = args.output == "-" and (args.input == "-" or sys.stdout.isatty())
    # nothing is written before the input is known to be there
    events = _started(events)
    with write_events(args.output, pipeline, format=written, idle=args.steps) as writer:
        for outputs in _outputs(backend, events, 1 if live else BATCH):
            writer.write(outputs)
            if live:
                sys.stdout.flush()
        last = backend.end()
        if any(last.values()):
            writer.write(last)
    return 0


def _started(events: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The same events, the first one read already."""
    return itertools.chain(list(itertools.islice(events, 1)), events)


def _outputs(backend: Backend, events: Iterator[dict[str, Any]], size: int) -> Iterator[dict[str, list[Any]]]:
    """What comes out in each step."""
    from workbench.errors import WorkbenchError

    several = getattr(backend, "outputs", None)
    for steps in _batches(events, size if several else 1):
        try:
            made = several(steps) if several else None
        except WorkbenchError:
            made = None  # in one of the steps, before which there are others
        if made is None:
            yield from (dict(backend.step(step).outputs) for step in steps)
        else:
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


def _backend(name: str, pipeline: Pipeline) -> Backend:
    if name == "numba":
        from workbench.backends.compiled_run import Compiled

        return Compiled(pipeline)
    from workbench.backends.reference import Reference

    return Reference(pipeline)


def _domain(pipeline: Pipeline, args: argparse.Namespace) -> Pipeline:
    """The pipeline over finite integers, if -N or --int ask for them."""
    if args.N is None and args.integers is None:
        return pipeline
    from workbench.core.domain import Integer, Overflowing

    n = o.N if args.N is None else args.N
    return pipeline.resolve(Integer(n, Overflowing(args.integers or o.KINDS[0])))
