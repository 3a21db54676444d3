"""Run a pipeline on many traces: the events of a log, grouped by the value of one of its columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError, WorkbenchError
from workbench.executors.table import Start, given

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.compiled.gpu.batch import Batch


def run_traces(pipeline: Program, batch: Batch, start: Start) -> None:
    """Run and write: the traces in the order in which they begin, each output with the key of its trace."""
    from workbench.core.program import Port, Ports
    from workbench.events.inputs import named_files
    from workbench.events.read import read_events
    from workbench.events.reading import Reading
    from workbench.events.values import Words
    from workbench.events.write import output_format, write_events

    args = start.options
    if other := given(args, "steps", "threads", "reassociate"):
        raise InputError(f"{other} and --key do not go together")
    key = args.key
    ports = pipeline.ports
    if key in ports.shown:
        raise InputError(f"an output of {pipeline.ports.of} is called '{key}', as the column of keys is")
    own = ports.domains
    keys = Port(key, own.get(key, Words()))
    rows = Ports("rows", ports.inputs if key in own else (keys, *ports.inputs), (keys, *ports.outputs))
    traces: dict[Any, list[dict[str, Any]]] = {}
    reading = replace(Reading.of(args), words=True)
    for number, events in enumerate(read_events(args.input, rows, reading, tally=start.tally)):
        if key not in events:
            if not events:
                continue
            raise InputError(f"step {number} has no '{key}', so that it belongs to no trace")
        traces.setdefault(events[key], []).append({name: event for name, event in events.items() if name in own})
    written = output_format(args.output, args.format, (named_files(args.input) or ["-"])[0])
    try:
        found = batch.events(list(traces.values()))
    except WorkbenchError as error:  # it counts the traces
        if error.trace is None:
            raise
        whose = f"{key} {list(traces)[error.trace]!r}"
        what = error.what.removeprefix(f"trace {error.trace}")
        raise error.retold(whose + what, where=error.where) from error
    with write_events(args.output, rows, format=written) as writer:
        for value, made in zip(traces, found, strict=True):
            start.tally.made += sum(map(len, made.values()))
            for i in range(max(map(len, made.values()), default=0)):
                writer.write({key: [value], **{name: each[i : i + 1] for name, each in made.items()}})
