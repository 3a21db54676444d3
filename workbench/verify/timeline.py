"""Timelines: a run as a table of steps and pipes, for the terminal and for reports.

`timeline` arranges a `Trace` (inputs first, then the pipes in topological order, then the queues with their
lengths at the end of each step); `render_timeline` draws it with characters. Reports draw the same `Timeline`
their own way. Everything is readable without colour: what went wrong is marked with signs.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from workbench.core.domain import Domain, Record, Tuple, Value
from workbench.core.pipeline import Pipeline
from workbench.processors.group import flatten
from workbench.verify.verdict import Trace

Kind = Literal["in", "pipe", "out", "queue"]
NO_EVENT = "·"
MARKS: Mapping[str, str] = {"in": "in", "pipe": "", "out": "out", "queue": "queue"}
"""What stands in front of each kind of row."""
_GAP = "  "


@dataclass(frozen=True)
class Row:
    """One pipe or queue: what it carries, or how many events wait in it, step by step."""

    kind: Kind
    name: str
    cells: tuple[str, ...]
    capacity: int | None = None
    overflows: frozenset[int] = frozenset()
    """Steps at which an event arrived at this queue and found it full."""


@dataclass(frozen=True)
class Timeline:
    """A run as rows of cells, one column per step."""

    rows: tuple[Row, ...]
    length: int
    loop: int | None
    shows: str

    @property
    def last(self) -> int:
        """The step that shows what the run is for: the last one."""
        return self.length - 1


def show_value(value: Value, domain: Domain | None = None) -> str:
    """A value as a `.pipe` file would write it."""
    if isinstance(domain, Record) and isinstance(value, tuple):
        fields = zip(domain.labels, value, domain.fields, strict=True)
        return "{" + ", ".join(f"{label}: {show_value(v, d)}" for label, v, d in fields) + "}"
    if isinstance(value, tuple):
        domains: tuple[Domain | None, ...] = (None,) * len(value)
        if isinstance(domain, Tuple):
            domains = domain.fields
        return "(" + ", ".join(show_value(v, d) for v, d in zip(value, domains, strict=True)) + ")"
    return str(value).lower() if isinstance(value, bool) else str(value)


def timeline(
    trace: Trace, pipeline: Pipeline | None = None, capacities: int | Mapping[str, int] | None = None
) -> Timeline:
    """The rows of a run.

    Parameters
    ----------
    pipeline: tells which pipes are outputs, and under which names they are shown.
    capacities: of every queue, or by name; where it is not given, the pipeline's own.
    """
    flat = None if pipeline is None else flatten(pipeline)
    rows = [*_pipes(trace, flat), *_queues(trace, flat, capacities)]
    return Timeline(tuple(rows), len(trace.steps), trace.loop, trace.shows)


def _pipes(trace: Trace, flat: Pipeline | None) -> Iterator[Row]:
    seen = dict.fromkeys(name for step in trace.steps for name in step.pipes)
    given = {name for step in trace.steps for name in step.inputs}
    inputs = [name for name, _ in flat.inputs] if flat else [name for name in seen if name in given]
    shown: dict[str, list[str]] = {}
    for output, pipe in flat.outputs if flat else ():
        shown.setdefault(pipe, []).append(output)

    def row(kind: Kind, name: str) -> Row:
        domain = trace.domains.get(name)
        values = [step.pipes.get(name) for step in trace.steps]
        cells = tuple(NO_EVENT if v is None else show_value(v, domain) for v in values)
        others = [output for output in shown.get(name, ()) if output != name]
        return Row(kind, f"{name} = {', '.join(others)}" if others else name, cells)

    for name in inputs:
        yield row("in", name)
    for name in seen:
        if name not in inputs:
            yield row("out" if name in shown else "pipe", name)


def _queues(trace: Trace, flat: Pipeline | None, capacities: int | Mapping[str, int] | None) -> Iterator[Row]:
    own: dict[str, int] = dict(flat.capacities) if flat else {}
    for name in dict.fromkeys(name for step in trace.steps for name in step.queues):
        size = capacities.get(name) if isinstance(capacities, Mapping) else capacities
        if isinstance(capacities, int):
            size = own.get(name, capacities)
        cells = tuple(str(step.queues.get(name, "")) for step in trace.steps)
        full = frozenset(i for i, step in enumerate(trace.steps) if name in step.overflows)
        yield Row("queue", name, cells, own.get(name) if size is None else size, full)


# --- characters -------------------------------------------------------------------------------------------


def render_timeline(
    trace: Trace,
    pipeline: Pipeline | None = None,
    width: int | None = None,
    *,
    capacities: int | Mapping[str, int] | None = None,
) -> str:
    """A run as text: a column per step, in blocks no wider than `width` (the terminal's, by default).

    A `▲` or, for a run that repeats, a bracket points at what the run shows; `!` follows the length of a
    queue at which an event found no room.
    """
    table = timeline(trace, pipeline, capacities)
    if not table.length:
        return "(the run has no step)"
    width = shutil.get_terminal_size((100, 24)).columns if width is None else width
    labels = [_label(row) for row in table.rows]
    indent = max([len("step"), *map(len, labels)])
    tails = [f" of {row.capacity}" if row.capacity is not None else "" for row in table.rows]
    columns = [_column(table, step) for step in range(table.length)]
    room = width - indent - len(_GAP) - max((len(tail) for tail in tails), default=0)
    blocks = [
        _block(table, block, columns, [label.ljust(indent) for label in labels], tails)
        for block in _split([len(column[0]) for column in columns], room)
    ]
    return "\n\n".join(blocks)


def _label(row: Row) -> str:
    width = max(map(len, MARKS.values()))
    return f"{MARKS[row.kind].ljust(width)} {row.name}"


def _column(table: Timeline, step: int) -> list[str]:
    """The step's number and its cells, padded to one width."""
    full = _overflows(table, step)
    cells = [str(step) + " " * full]
    for row in table.rows:
        cells.append(row.cells[step] + ("!" if step in row.overflows else " " * full))
    widest = max(map(len, cells))
    return [cell.rjust(widest) for cell in cells]


def _overflows(table: Timeline, step: int) -> bool:
    return any(step in row.overflows for row in table.rows)


def _split(widths: list[int], room: int) -> list[range]:
    """Columns in blocks that fit; at least one column in each."""
    blocks, start, used = [], 0, 0
    for step, width in enumerate(widths):
        needed = width + len(_GAP)
        if step > start and used + needed > room:
            blocks.append(range(start, step))
            start, used = step, 0
        used += needed
    return [*blocks, range(start, len(widths))]


def _block(
    table: Timeline, block: range, columns: list[list[str]], labels: list[str], tails: list[str]
) -> str:
    indent = len(labels[0]) if labels else len("step")
    rule = "─" * indent + "─" + "─".join("─" * (len(columns[step][0]) + 1) for step in block) + "─"
    lines = ["step".ljust(indent) + _GAP + _GAP.join(columns[step][0] for step in block), rule]
    before = None
    for position, (row, label, tail) in enumerate(zip(table.rows, labels, tails, strict=True), 1):
        if before not in (None, "queue") and row.kind == "queue":
            lines.append(rule)
        before = row.kind
        lines.append(label + _GAP + _GAP.join(columns[step][position] for step in block) + tail)
    lines += _pointer(table, block, columns, indent)
    return "\n".join(line.rstrip() for line in lines)


def _pointer(table: Timeline, block: range, columns: list[list[str]], indent: int) -> list[str]:
    """What stands under the columns: the loop's bracket, or the mark of the last step; then the words."""
    ends, at = {}, indent
    for step in block:
        at += len(_GAP) + len(columns[step][0])
        ends[step] = at - 1 - _overflows(table, step)
    if table.loop is not None:
        return _bracket(table, table.loop, block, ends, {s: len(columns[s][0]) for s in block})
    if table.last not in block:
        return []
    at = ends[table.last]
    return _beside(" " * at + "▲", table.shows, at)


def _bracket(
    table: Timeline, loop: int, block: range, ends: Mapping[int, int], widths: Mapping[int, int]
) -> list[str]:
    looping = [step for step in block if step >= loop]
    if not looping:
        return []
    first, last = looping[0], looping[-1]
    left = ends[first] - widths[first] + 1 if first == loop else ends[first] - widths[first]
    line = "╰" if first == loop else "─"
    inside = ends[last] - left - 1
    line += "─" * max(inside, 0) + ("╯" if last == table.last else "─")
    if last != table.last:
        return [" " * left + line]
    return _beside(" " * left + line, f"for ever: {table.shows}" if table.shows else "for ever", left)


def _beside(line: str, words: str, at: int) -> list[str]:
    """Words under a mark: to its right, or on a line of their own where that would run far."""
    if not words or len(line) + len(words) <= 100:
        return [f"{line} {words}".rstrip()]
    return [line, f"{' ' * min(at, 8)}{words}"]
