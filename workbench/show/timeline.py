"""Timelines: a run as a table of steps and pipes, for the terminal and for reports.

`timeline` arranges a `Trace` (a monitored system's variables first, then the inputs, then the pipes in topological
order, then the variables of machines, then the queues with their lengths at the end of each step and, below, the
events that wait in them); `render_timeline` draws it with characters. Reports draw the same `Timeline` in their own
way. Everything is readable without colour: signs mark the errors.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from workbench.core.domain import Domain, Value
from workbench.core.fields import Record
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.core.readable import show_value
from workbench.errors import check_kind
from workbench.faults.unreliable import name_pipe
from workbench.processors.held.group import flatten
from workbench.smv.terms import show_smv
from workbench.verify.answer.trace import Trace

RowKind = Literal["smv", "in", "fault", "pipe", "out", "var", "queue", "held"]
NO_EVENT = "·"
ENDED = "■"
MARKS: Mapping[str, str] = {
    "smv": "smv", "in": "in", "fault": "fault", "pipe": "", "out": "out", "var": "var", "queue": "queue", "held": "",
}  # fmt: skip
"""The prefix of each kind of row."""
_GROUP: Mapping[str, str] = {
    "smv": "smv", "in": "pipe", "fault": "pipe", "pipe": "pipe", "out": "pipe", "var": "pipe",
    "queue": "queue", "held": "queue",
}  # fmt: skip
"""The group of each kind of row; a rule separates groups."""
MAX_HELD = 20
"""Maximum number of characters of a queue's contents in a column; twice as many for records, which name every field."""
MAX_STEPS = 200
"""Maximum number of steps of a path that are drawn with characters."""
_GAP = "  "
NARROWEST = 20
"""The least width at which cells are broken, even in a narrower terminal."""


@dataclass(frozen=True)
class Row:
    """A row for a pipe or queue: its values, the number of waiting events, or the events, step by step."""

    kind: RowKind
    name: str
    cells: tuple[str, ...]
    capacity: int | None = None
    overflows: frozenset[int] = frozenset()
    """Steps at which an event arrived at this queue when it was full."""


@dataclass(frozen=True)
class Timeline:
    """A run as rows of cells, one column per step."""

    rows: tuple[Row, ...]
    length: int
    loop: int | None
    shows: str
    first: int = 0
    """The number of its first step."""
    ends: bool = True
    """Whether its last step is the last step of the run."""
    spans: tuple[str, ...] = ()
    """The steps that each column stands for, if some stand for several."""

    @property
    def last(self) -> int:
        """The last step, which shows the result of the run."""
        return self.length - 1


def show_queue(values: Sequence[Value], domain: Domain | None = None) -> str:
    """Format the events that wait in a queue, oldest first, shortened if they are many."""
    text = " ".join(show_value(value, domain) for value in values[:MAX_HELD]) or NO_EVENT
    limit = MAX_HELD if not isinstance(domain, Record) else 2 * MAX_HELD
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def timeline(
    trace: Trace, pipeline: Program | None = None, capacities: int | Mapping[str, int] | None = None
) -> Timeline:
    """Arrange a run as rows.

    Parameters
    ----------
    pipeline: determines which pipes are outputs, and their names.
    capacities: those of queues by name, or one for the queues to which neither the run nor the pipeline gives one.
    """
    flat = None if pipeline is None else flatten(pipeline)
    rows = [*_outside(trace), *_pipes(trace, flat), *_variables(trace), *_queues(trace, flat, capacities)]
    return Timeline(tuple(rows), len(trace.steps), trace.loop, trace.shows)


def _outside(trace: Trace) -> Iterator[Row]:
    """Yield the variables of a system that the pipeline monitors."""
    for name in dict.fromkeys(name for step in trace.steps for name in step.outside):
        yield Row("smv", name, tuple(show_smv(step.outside[name]) for step in trace.steps))


def _pipes(trace: Trace, flat: Pipeline | None) -> Iterator[Row]:
    names = dict.fromkeys(name for step in trace.steps for name in step.pipes)
    input_names = {name for step in trace.steps for name in step.inputs}
    inputs = [name for name, _ in flat.inputs] if flat else [name for name in names if name in input_names]
    outputs_by_pipe: dict[str, list[str]] = {}
    for output, pipe in flat.outputs if flat else ():
        outputs_by_pipe.setdefault(pipe, []).append(output)

    def row(kind: RowKind, name: str) -> Row:
        domain = trace.domains.get(name)
        values = [step.pipes.get(name) for step in trace.steps]
        cells = tuple(NO_EVENT if v is None else show_value(v, domain) for v in values)
        others = [output for output in outputs_by_pipe.get(name, ()) if output != name]
        return Row(kind, f"{name} = {', '.join(others)}" if others else name, cells)

    oracles = flat.oracles if flat else {}
    for name in inputs:
        if name not in oracles:
            yield row("in", name)
    if any(step.ends for step in trace.steps):
        yield Row("in", "end of streams", tuple(ENDED if step.ends else NO_EVENT for step in trace.steps))
    for name, node in oracles.items():
        events = [step.pipes.get(name) for step in trace.steps]
        if any(events):
            yield Row("fault", name_pipe(node), tuple(map(_struck, events)))
    for name in names:
        if name not in inputs:
            yield row("out" if name in outputs_by_pipe else "pipe", name)


def _variables(trace: Trace) -> Iterator[Row]:
    """Yield the variables of machines."""
    for name in dict.fromkeys(name for step in trace.steps for name in step.variables):
        values = [step.variables[name] for step in trace.steps]
        yield Row("var", name, tuple(show_queue((value,), trace.domains.get(name)) for value in values))


def _struck(event: Value | None) -> str:
    """Format the event of an oracle: `lost`, `twice`, or the number of steps of a delay."""
    return NO_EVENT if event is None else f"+{event}" if isinstance(event, int) else str(event)


def _queues(trace: Trace, flat: Pipeline | None, capacities: int | Mapping[str, int] | None) -> Iterator[Row]:
    own: dict[str, int] = {**(flat.capacities if flat else {}), **trace.capacities}
    pipes = flat.sources if flat else trace.pipe_of_queue
    for name in dict.fromkeys(name for step in trace.steps for name in step.queues):
        size = capacities.get(name) if isinstance(capacities, Mapping) else capacities
        if isinstance(capacities, int):
            size = own.get(name, capacities)
        cells = tuple(str(step.queues.get(name, "")) for step in trace.steps)
        full = frozenset(i for i, step in enumerate(trace.steps) if name in step.overflows)
        yield Row("queue", name, cells, own.get(name) if size is None else size, full)
        held = [step.contents.get(name, ()) for step in trace.steps]
        if any(held):
            domain = trace.domains.get(pipes.get(name, name))
            yield Row("held", EVENTS, tuple(show_queue(values, domain) for values in held))


# --- characters -------------------------------------------------------------------------------------------


def render_timeline(
    trace: Trace,
    pipeline: Program | None = None,
    width: int | None = None,
    *,
    capacities: int | Mapping[str, int] | None = None,
) -> str:
    """Return a run as text: a column per step, in blocks no wider than `width` (by default the terminal's).

    A `▲` or, for a run that repeats, a bracket points at the result of the run; `!` follows the length of a
    queue that was full when an event arrived. Of a long path only the first and the last steps are drawn.

    Parameters
    ----------
    pipeline: determines which pipes are outputs, and their names; by default the pipeline of the run.
    """
    pipeline = trace.pipeline if pipeline is None and isinstance(trace, Trace) else pipeline
    check_kind(trace, Trace, "the run of a verdict is verdict.run, which may be None")
    last = len(trace.steps) - MAX_STEPS // 2
    if trace.loop is not None or last <= MAX_STEPS // 2:
        return render(timeline(trace, pipeline, capacities), width)
    begin = timeline(replace(trace, steps=trace.steps[: MAX_STEPS // 2]), pipeline, capacities)
    end = timeline(replace(trace, steps=trace.steps[last:]), pipeline, capacities)
    parts = (replace(begin, ends=False), replace(end, first=last))
    return f"\n\n(steps {MAX_STEPS // 2} to {last - 1} are left out)\n\n".join(render(part, width) for part in parts)


def render(table: Timeline, width: int | None = None) -> str:
    """Return a timeline as text."""
    if not table.length:
        return "(the run has no step)"
    max_width = shutil.get_terminal_size((100, 24)).columns if width is None else width
    grid = _Grid(table, max_width)
    if len(grid.blocks()) > 1 and table.loop is None:
        grid = _Grid(_merge_equal(table), max_width)
    if max(grid.wide) > grid.room:
        grid = _Grid(_fold(grid.table, max(grid.room, NARROWEST)), max_width)
    return "\n\n".join("\n".join(grid.block(block)) for block in grid.blocks())


def _fold(table: Timeline, width: int) -> Timeline:
    """Return a timeline in which cells that are wider than this have several lines, broken between fields or words."""

    def fold(row: Row) -> Iterator[Row]:
        texts = [wrap(cell) for cell in row.cells]
        lines = max(map(len, texts))
        for i in range(lines):
            parts = (text[i].ljust(max(map(len, text))) if text[i:] else "" for text in texts)
            yield row if lines == 1 else replace(row, name="" if i else row.name, cells=tuple(parts))

    def wrap(cell: str) -> list[str]:
        lines = textwrap.wrap(cell.replace(": ", ":\xa0"), width, break_long_words=False, break_on_hyphens=False)
        return [line.replace("\xa0", " ") for line in lines] if len(cell) > width else [cell]

    return replace(table, rows=tuple(part for row in table.rows for part in fold(row)))


def _merge_equal(table: Timeline) -> Timeline:
    """Return a timeline in which successive steps with the same events are one column, with queues as they are last.

    The last step, and those at which a queue overflows, stay by themselves.
    """
    rows = [row for row in table.rows if _GROUP[row.kind] != "queue"]
    events = [tuple(row.cells[step] for row in rows) for step in range(table.length)]
    alone = {table.last} | {step for row in table.rows for step in row.overflows}
    groups: list[list[int]] = []
    for step in range(table.length):
        if groups and alone.isdisjoint({step, groups[-1][-1]}) and events[step] == events[groups[-1][-1]]:
            groups[-1].append(step)
        else:
            groups.append([step])

    def merge(row: Row) -> Row:
        columns = groups if row.kind == "queue" else [group[-1:] for group in groups]
        cells = [_join_ends([row.cells[step] for step in group]) for group in columns]
        full = frozenset(i for i, group in enumerate(groups) if group[-1] in row.overflows)
        return replace(row, cells=tuple(cells), overflows=full)

    spans = tuple(_join_ends([str(table.first + step) for step in group]) for group in groups)
    return replace(table, rows=tuple(map(merge, table.rows)), length=len(groups), spans=spans)


def _join_ends(texts: Sequence[str]) -> str:
    return texts[0] if len({*texts}) == 1 else f"{texts[0]} to {texts[-1]}"


EVENTS = "  events"
"""The name of the row below a queue's row."""


def _label(row: Row) -> str:
    if not row.name:  # the next line of a cell
        return ""
    width = max(map(len, MARKS.values()))
    return f"{MARKS[row.kind].ljust(width)} {row.name}"


def _column(table: Timeline, step: int) -> list[str]:
    """Return the number of a step and its cells, padded to one width."""
    full = _overflows(table, step)
    cells = [(table.spans[step] if table.spans else str(table.first + step)) + " " * full]
    for row in table.rows:
        cells.append(row.cells[step] + ("!" if step in row.overflows else " " * full))
    widest = max(map(len, cells))
    return [cell.rjust(widest) for cell in cells]


def _overflows(table: Timeline, step: int) -> bool:
    return any(step in row.overflows for row in table.rows)


class _Grid:
    """A timeline laid out in characters."""

    def __init__(self, table: Timeline, width: int) -> None:
        self.table = table
        self.width = width
        labels = [_label(row) for row in table.rows]
        self.indent = max([len("step"), *map(len, labels)])
        self.labels = [label.ljust(self.indent) for label in labels]
        self.tails = [f" of {row.capacity}" if row.capacity is not None else "" for row in table.rows]
        self.columns = [_column(table, step) for step in range(table.length)]
        self.wide = [len(column[0]) for column in self.columns]
        self.room = width - self.indent - max(map(len, self.tails), default=0) - len(_GAP)
        """The width of a column that fits."""

    def blocks(self) -> list[range]:
        """Return the steps in blocks that fit the width, at least one step in each."""
        capacity = self.room + len(_GAP)
        blocks, start, used = [], 0, 0
        for step, wide in enumerate(self.wide):
            needed = wide + len(_GAP)
            if step > start and used + needed > capacity:
                blocks.append(range(start, step))
                start, used = step, 0
            used += needed
        return [*blocks, range(start, len(self.wide))]

    def block(self, block: range) -> list[str]:
        """Return the lines of a block of steps."""
        rule = "─" * (self.indent + sum(len(_GAP) + self.wide[step] for step in block))
        lines = [self._line("step".ljust(self.indent), 0, block), rule]
        before = ""
        for position, row in enumerate(self.table.rows, 1):
            if before and before != _GROUP[row.kind]:
                lines.append(rule)
            before = _GROUP[row.kind]
            line = self._line(self.labels[position - 1], position, block)
            if row.name or line.strip():
                lines.append(line + self.tails[position - 1] * bool(row.name))
        return [line.rstrip() for line in (*lines, *self._pointer(block))]

    def _line(self, label: str, position: int, block: range) -> str:
        return label + "".join(_GAP + self.columns[step][position] for step in block)

    def _pointer(self, block: range) -> list[str]:
        """Return the lines under the columns: the bracket of the loop or the mark of the last step, then the words."""
        ends, at = {}, self.indent
        for step in block:
            at += len(_GAP) + self.wide[step]
            ends[step] = at - 1 - _overflows(self.table, step)
        if self.table.loop is not None:
            return self._bracket(self.table.loop, ends)
        if self.table.last not in block or not self.table.ends:
            return []
        at = ends[self.table.last]
        return self._beside(" " * at + "▲", self.table.shows, at)

    def _bracket(self, loop: int, ends: Mapping[int, int]) -> list[str]:
        """Return the part of the loop's bracket under these columns."""
        looping = [step for step in ends if step >= loop]
        if not looping:
            return []
        first, last = looping[0], looping[-1]
        opens, closes = first == loop, last == self.table.last
        left = ends[first] - self.wide[first] + (1 if opens else 0)
        inside = "─" * max(ends[last] - left - 1, 0)
        line = " " * left + ("╰" if opens else "─") + inside + ("╯" if closes else "─")
        if not closes:
            return [line]
        return self._beside(line, f"for ever: {self.table.shows}" if self.table.shows else "for ever", left)

    def _beside(self, line: str, words: str, at: int) -> list[str]:
        """Return words under a mark: to its right, or on a line of their own if they do not fit."""
        if not words or len(line) + len(words) < self.width:
            return [f"{line} {words}".rstrip()]
        return [line, " " * max(0, min(at, self.width - len(words))) + words]
