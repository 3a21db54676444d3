"""Benchmark: every processor as a pipeline of its own in the reference executor, and chains of processors.

    python experiments/bench_reference.py [--events 20000] [--out reports/bench_reference]

Million events per CPU second, the best of several runs taken in turns.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import workbench as wb

ROOT = Path(__file__).resolve().parent.parent
REPEAT = 7
GOAL = 0.3
"""Million events a second that a pipeline of one processor is to reach."""
LENGTHS = (1, 2, 4, 8, 16, 32)
QUANTIFIED = {"exists": 2, "forall": 2}
"""Quantifiers apply their pipeline to every value in an event: how many. Their goal is for events times values."""
MORE = (2, 4, 8, 16)
"""Values in an event, to tell what each of them costs."""

CALLS = {
    "apply": "x * 2", "cast": "cast(x, int mod 1000)", "cumulate": "cumulate(x, +)", "decimate": "decimate(x, 10)",
    "eventually": "eventually(b)", "eventually3": "eventually3(b)", "eventually_of": "eventually_of(x, large)",
    "exists": "exists(e, pair, below)", "filter": "filter(x, b)", "forall": "forall(e, pair, below)",
    "fork": "fork(x, 2)", "freeze": "freeze(x)", "globally": "globally(b)", "globally3": "globally3(b)",
    "globally_of": "globally_of(x, large)", "historically": "historically(b)", "insert": "insert(x, 0, 2)",
    "keep_last": "keep_last(x)", "Moore": "switch(x)", "multiplex": "multiplex(x, y)", "next": "next(b)",
    "next3": "next3(b)", "once": "once(b)", "pack": "pack(x, b)", "passthrough": "passthrough(x)",
    "prefix": "prefix(x, 5)", "release": "release(b, c)", "release3": "release3(b, c)",
    "reset_last": "reset_last(x, b, cumulate(+))", "since": "since(b, c)", "slice": "slice(x, digit, cumulate(+))",
    "slice_last": "slice_last(x, digit, cumulate(+))", "stutter": "stutter(x, 2)", "stutter_by": "stutter_by(x, n)",
    "trim": "trim(x, 2)", "turn": "turn(x, 1)", "unpack": "unpack(e)", "until": "until(b, c)",
    "until3": "until3(b, c)", "window": "window(x, 3, cumulate(+))", "yesterday": "yesterday(b)",
}  # fmt: skip
"""By keyword (or class): a call of the processor on some of the streams of `INPUTS`."""

INPUTS = {"x": "int", "y": "int", "b": "bool", "c": "bool", "n": "0..3", "e": "(int, int)"}
OUTPUTS = {
    "slice": "map(int, int)", "slice_last": "{key: int, value: int}", "cast": "int mod 1000", "fork": "int, int",
    "pack": "any", "Moore": "bool",
}  # fmt: skip

HELP = """
function digit(x) = x mod 10
function pair(e) = (e.0, e.1)
pipeline large(x: int) -> bool { return x > 500 }
pipeline below(v: int, e: (int, int)) -> bool { return v < 990 }
machine switch(x: int) -> bool {
    state off: false
    state on: true
    off -> on when x > 500
    on -> off when x < 300
}
"""

TRUTHS = (
    "eventually", "eventually_of", "exists", "forall", "globally", "globally_of", "historically", "next", "once",
    "release", "since", "until", "yesterday",
)  # fmt: skip


def pipeline_of(name: str) -> wb.Pipeline:
    """The pipeline of one processor."""
    call = CALLS[name]
    used = [stream for stream in INPUTS if stream in call.replace("(", " ").replace(",", " ").replace(")", " ").split()]
    result = "bool" if name in TRUTHS else "{unknown, holds, fails}" if name.endswith("3") else OUTPUTS.get(name, "int")
    inputs = ", ".join(f"{stream}: {INPUTS[stream]}" for stream in used)
    found: wb.Pipeline = wb.parse(f"{HELP}\npipeline one({inputs}) -> {result} {{ return {call} }}").get("one").pipeline
    return found


def events_of(count: int) -> dict[str, list[Any]]:
    """Random events of each input."""
    chosen = random.Random(1)
    makers: dict[str, Callable[[], Any]] = {
        "int": lambda: chosen.randrange(1000),
        "bool": lambda: chosen.random() < 0.5,
    }
    makers["0..3"] = lambda: chosen.randrange(4)
    makers["(int, int)"] = lambda: (chosen.randrange(4, 1000), 3)
    return {name: [makers[kind]() for _ in range(count)] for name, kind in INPUTS.items()}


def chain(length: int) -> wb.Pipeline:
    """So many passthroughs, one after the other."""
    text = "x"
    for _ in range(length):
        text = f"passthrough({text})"
    found: wb.Pipeline = wb.parse(f"pipeline chain(x: int) -> int {{ return {text} }}").get().pipeline
    return found


def quantified(values: int) -> wb.Pipeline:
    """A pipeline for all of so many values in an event."""
    event = f"({', '.join(['int'] * values)})"
    text = f"""
    function all(e) = ({", ".join(f"e.{i}" for i in range(values))})
    pipeline below(v: int, e: {event}) -> bool {{ return v < 990 }}
    pipeline one(e: {event}) -> bool {{ return forall(e, all, below) }}
    """
    found: wb.Pipeline = wb.parse(text).get("one").pipeline
    return found


def rates(
    pipelines: Mapping[Any, wb.Pipeline], count: int, events: Callable[[Any], Mapping[str, list[Any]]]
) -> dict[Any, float]:
    """Million events per CPU second of each; the runs are taken in turns."""
    best = dict.fromkeys(pipelines, 0.0)
    running = {name: wb.executors.Reference(pipeline) for name, pipeline in pipelines.items()}
    for _ in range(REPEAT):
        for name, executor in running.items():
            given = events(name)
            streams = {stream: given[stream] for stream in executor.pipeline.ports.domains}
            executor.reset()
            start = time.process_time()
            executor.run(streams)
            best[name] = max(best[name], count / (time.process_time() - start) / 1e6)
            print(f"  {name}: {best[name]:.2f}", file=sys.stderr)
    return best


def report(
    single: Mapping[str, float], chains: Mapping[int, float], values: Mapping[int, float], given: argparse.Namespace
) -> str:
    """The benchmark as Markdown."""
    slow = [name for name, rate in single.items() if rate * QUANTIFIED.get(name, 1) < GOAL]
    few, many = values[MORE[0]], values[MORE[-1]]
    each = (1 / many - 1 / few) / (MORE[-1] - MORE[0])
    lines = [
        "# The reference executor",
        "",
        f"Command: `python experiments/bench_reference.py --events {given.events}`, {time.strftime('%Y-%m-%d')},"
        f" Python {platform.python_version()}. Million events per CPU second, the best of {REPEAT} runs.",
        "",
        f"Every processor as a pipeline of its own; the goal is {GOAL:g}."
        f" {'All reach it.' if not slow else 'Below it: ' + ', '.join(slow) + '.'}"
        " A quantifier applies its pipeline to every value in an event (here to 2), so its goal is for events times"
        " values, the second number.",
        "",
        *table(("pipeline", "million events/s"), [(f"`{CALLS[n]}`", shown(n, rate)) for n, rate in single.items()]),
        "",
        f"Quantifiers: `forall` over more values. One more value costs {each:.2f} microseconds, and an event"
        f" {1 / few - MORE[0] * each:.2f} beside them.",
        "",
        *table(
            ("values in an event", "million events/s", "million events times values/s"),
            [(str(count), f"{rate:.2f}", f"{rate * count:.2f}") for count, rate in values.items()],
        ),
        "",
        "Chains of passthroughs: a cost per event and processor.",
        "",
        *table(
            ("processors", "million events/s", "million firings/s"),
            [(str(length), f"{rate:.2f}", f"{rate * length:.2f}") for length, rate in chains.items()],
        ),
    ]
    return "\n".join(lines) + "\n"


def shown(name: str, rate: float) -> str:
    """A rate; of a quantifier also that of events times values."""
    return f"{rate:.2f} ({rate * QUANTIFIED[name]:.2f})" if name in QUANTIFIED else f"{rate:.2f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def main() -> int:
    """Run, print, and write the report and its data."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "bench_reference")
    given = parser.parse_args()
    events = events_of(given.events)
    single = rates({name: pipeline_of(name) for name in CALLS}, given.events, lambda _: events)
    chains = rates({length: chain(length) for length in LENGTHS}, given.events, lambda _: events)
    tuples = {many: {"e": [(x, *range(-1, -many, -1)) for x in events["x"]]} for many in MORE}
    values = rates({many: quantified(many) for many in MORE}, given.events, tuples.__getitem__)
    text = report(single, chains, values, given)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "README.md").write_text(text)
    (given.out / "data.json").write_text(
        json.dumps({"processors": single, "chains": chains, "values": values}, indent=1) + "\n"
    )
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
