"""The auction property of the 2016 competition on a trace: where it breaks, of which item and why, and how fast.

    python experiments/auction.py [--from TRACE.csv.gz | --items 3000 --break 2500] [--out reports/auction]

Without the competition's trace one with the same statistics is made up (`auction_trace.py`). Events a second are of CPU
time, for the whole of the trace, of the second of two runs; the first one also compiles, where something is compiled.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import auction_trace
import numpy as np
from auction_trace import Event

import workbench as wb
from workbench.errors import Refused

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "models" / "crv2016" / "auction.pipe"
LAST = 5
"""How many events of the item are shown."""

Verdicts = Callable[[Sequence[Event]], list[bool]]
"""Whether the property holds so far, after each event."""


def backends() -> dict[str, Verdicts | str]:
    """What can run it; a text says why one cannot."""
    pipeline = wb.read_file(FILE).get("auctions").pipeline

    def threaded(events: Sequence[Event]) -> list[bool]:
        with wb.executors.ThreadManager(2) as manager:
            found: list[bool] = wb.executors.Threaded(pipeline, manager).run(events)["out"]
        return found

    made: dict[str, Verdicts | str] = {
        "reference": lambda events: wb.executors.Reference(pipeline).run(events)["out"],
        "threaded": threaded,
    }
    for name, kind in (("compiled", wb.executors.Compiled), ("compiled, two threads", wb.executors.Parallel)):
        try:
            made[name] = _run(kind(pipeline))
        except Refused as error:
            made[name] = f"refused: {error.what}"
    return made


def _run(compiled: wb.executors.Compiled) -> Verdicts:
    def run(events: Sequence[Event]) -> list[bool]:
        compiled.reset()
        found: list[bool] = compiled.run(events)["out"]
        return found

    return run


def on_columns(events: Sequence[Event]) -> tuple[list[bool], float]:
    """What the compiled executor says of columns of numbers, and the CPU seconds that it takes without compiling."""
    compiled, seconds = wb.executors.Compiled(wb.read_file(FILE).get("auctions").pipeline), 0.0
    kinds = ("create_auction", "bid", "sold", "endOfDay")
    numbers = np.array([(kinds.index(kind), *rest) for kind, *rest in events])
    columns = tuple(np.ascontiguousarray(column) for column in numbers.T)
    for _ in range(2):
        compiled.reset()
        begin = time.process_time()
        said = compiled.feed(columns)["out"].array
        seconds = time.process_time() - begin
    return said.tolist(), seconds


def broken(events: Sequence[Event]) -> int:
    """The item whose machine says that the property is broken, after these events."""
    pipeline = wb.read_file(FILE).get("broken").pipeline
    items: list[int] = wb.executors.Reference(pipeline).run(events)["out"]
    assert wb.executors.Compiled(pipeline).run(events)["out"] == items, "the compiled executor names other items"
    return items[0]


def history(events: Sequence[Event], item: int) -> list[str]:
    """The last events of an item, with their numbers (from 1), and how many days have ended between them."""
    lines: list[str] = []
    days = 0
    for number, (kind, of, amount, period) in enumerate(events, 1):
        if kind == "endOfDay":
            days += 1
        elif of == item:
            if days and lines:
                lines.append(f"            {days} day{'s' if days > 1 else ''} ended")
            told = {"create_auction": f" for at least {amount}, {period} days", "bid": f" {amount}"}
            shown = told.get(kind, "")
            lines.append(f"{number:10,}  {kind}{shown}")
            days = 0
    return lines[-LAST:] if len(lines) <= LAST else [lines[0], "            ...", *lines[-LAST:]]


def main() -> int:
    """Run, print, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="trace", type=Path, help="a trace of the competition")
    parser.add_argument("--items", type=int, default=3000)
    parser.add_argument("--break", dest="broken", type=int, default=2500, help="the item that breaks the property")
    parser.add_argument("--out", type=Path, help="folder for README.md")
    given = parser.parse_args()
    made_up = f"made up: {given.items} items, of which number {given.broken} breaks the property"
    events = list(auction_trace.read(given.trace) if given.trace else auction_trace.generate(given.items, given.broken))
    command = f"python experiments/auction.py{' --from TRACE' if given.trace else ''}"
    told = f"{len(events):,} events ({given.trace.name if given.trace else made_up})"
    about = f"Command: `{command}`, {time.strftime('%Y-%m-%d')}, Python {platform.python_version()}; {told}."
    lines = ["# The auction property", "", about, ""]
    first = None
    columns, seconds = on_columns(events)
    speeds = ["| backend | events per CPU second | |", "|---|---|---|"]
    for name, run in backends().items():
        if isinstance(run, str):
            speeds.append(f"| {name} | | {run} |")
            continue
        run(events)
        begin = time.process_time()
        said = run(events)
        rate = len(events) / (time.process_time() - begin)
        number = said.index(False) + 1 if False in said else None
        assert name == "reference" or number == first, f"{name} says {number}, the reference executor {first}"
        assert said == columns, f"columns of numbers give something else than {name}"
        first = number
        speeds.append(f"| {name} | {rate:,.0f} | {f'broken at event {number:,}' if number else 'holds'} |")
        print(speeds[-1], file=sys.stderr)
    speeds.append(f"| numba, on columns of numbers | {len(events) / seconds:,.0f} | the same verdicts |")
    if first is None:
        lines += ["The property holds.", ""]
    else:
        item = broken(events[:first])
        lines += [f"Broken at event {first:,}, by item {item}:", "", "```", *history(events[:first], item), "```", ""]
    text = "\n".join([*lines, *speeds, ""])
    print(text)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "README.md").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
