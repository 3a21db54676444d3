"""Windows and events of a match on a time line, as characters and for a page.

The rule of this module: a position shows only a time; the label beside it names its meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from workbench.tesla.explain.rule_view import RunRecord
from workbench.tesla.explain.why import SeenPart
from workbench.tesla.explain.why_not import PartialReason

BOUND, FITS, STOPS = "●", "○", "✗"
"""The marks of an event that is bound, one that is a candidate or is in an aggregate, one that stops the match."""
MAX_MARKS, MAX_NOTED = 200, 3
LABEL, LEAST = 26, 20
"""Maximum number of characters of a label, and minimum number of characters of a line."""


@dataclass(frozen=True)
class WindowLine:
    """A line with a window, and events in it or beside it.

    Attributes
    ----------
    label: the text before the line.
    first, last: the ends of the window; `first` is None if it has no beginning, `last` if there is no window.
    marks: times with their marks.
    note: the text after the line.
    empty: whether no event may be in the window.
    """

    label: str
    first: int | None
    last: int | None
    marks: tuple[tuple[int, str], ...]
    note: str = ""
    empty: bool = False


def window_lines(
    record: RunRecord, parts: Sequence[SeenPart], emitted: int | None = None, stopped: PartialReason | None = None
) -> list[WindowLine]:
    """Return the lines of a match: one for each part about events.

    Parameters
    ----------
    emitted: the time at which the composite was emitted.
    stopped: the reason why a partial match stopped.
    """
    lines = [line for part in parts if (line := _line(record, part)) is not None]
    if stopped is not None and stopped.window is not None:
        near = [] if stopped.candidates is None else [each.fit for each in stopped.candidates.near]
        numbers = [each.number for each in near if each.event is not None]
        numbers += [number for each in stopped.hindrances for number in each.events]
        marks = tuple((int(record.order.times[each]), STOPS) for each in dict.fromkeys(numbers))
        note = ", ".join(record.order.label(each) for each in dict.fromkeys(numbers))
        window, label = stopped.window, _short(stopped.text)
        lines.append(WindowLine(label, window.first, window.last, marks, note))
    trigger = parts[0].bound.event if parts and parts[0].bound else None
    if emitted is not None and trigger is not None and trigger.time != emitted:
        lines.append(WindowLine("emitted", None, None, ((emitted, BOUND),)))
    return lines


def _line(record: RunRecord, part: SeenPart) -> WindowLine | None:
    label, bound = _short(part.text), part.bound
    if bound is not None and bound.event is None:
        return None
    empty = part.kind in ("not", "absent")
    marks = [(each.event.time, STOPS if empty else FITS) for each in part.fits[:MAX_MARKS] if each.event is not None]
    note = ", ".join(record.order.label(each.number) for each in part.fits[:MAX_NOTED]) if empty else ""
    if bound is not None and bound.event is not None:
        marks.append((bound.event.time, BOUND))
        note = record.order.label(bound.number)
    if part.window is None:
        return None if bound is None else WindowLine(label, None, None, tuple(marks), note)
    window = part.window
    if part.kind == "aggregate":
        note = f"{len(part.fits):,}"
    elif bound is None:
        note = note or "none"
    return WindowLine(label, window.first, window.last, tuple(marks), note, empty)


def _short(text: str) -> str:
    """Shorten a predicate to its head: `last Temp`, `$n = COUNT(Temp)`."""
    head = text.split(" within ")[0].split(" between ")[0]
    kind = head if head.startswith("$") else head.partition("(")[0].partition("[")[0]
    return kind if len(kind) <= LABEL else kind[: LABEL - 1] + "…"


class TimeScale:
    """A scale that maps the times of some lines to 0 (the first) to 1 (the last)."""

    def __init__(self, lines: Sequence[WindowLine]) -> None:
        times = [time for line in lines for time, _ in line.marks]
        times += [end for line in lines for end in (line.first, line.last) if end is not None]
        self.first, self.last = min(times, default=0), max(times, default=0)

    def at(self, time: int) -> float:
        """Return the position of a time; 0.5 if there is only one time."""
        return (time - self.first) / (self.last - self.first) if self.last > self.first else 0.5


def draw_lines(record: RunRecord, lines: Sequence[WindowLine], width: int) -> list[str]:
    """Draw lines of characters, no wider than `width` if that is wide enough, with the times at both ends below."""
    if not lines:
        return []
    scale, label = TimeScale(lines), max(len(line.label) for line in lines)
    notes = max(len(line.note) for line in lines)
    line_width = max(LEAST, width - label - notes - 4)
    rows = [f"{line.label.ljust(label)}  {_draw(line, scale, line_width)}  {line.note}".rstrip() for line in lines]
    first, last = (str(record.show(time)) for time in (scale.first, scale.last))
    axis = first if scale.first == scale.last else first + last.rjust(max(line_width - len(first), len(last) + 1))
    return [*rows, " " * (label + 2) + (axis.center(line_width).rstrip() if scale.first == scale.last else axis)]


def _draw(line: WindowLine, scale: TimeScale, width: int) -> str:
    def at(time: int) -> int:
        return round(scale.at(time) * (width - 1))

    cells = [" "] * width
    if line.last is not None:
        first, last = 0 if line.first is None else at(line.first), at(line.last)
        cells[first : last + 1] = ("┄" if line.empty else "─") * (last + 1 - first)
        if last > first:
            cells[first], cells[last] = "┈" if line.first is None else "├", "┤"
        elif last == first:
            cells[first] = "│"
    for time, mark in line.marks:  # the bound event comes last, and covers candidates
        cells[at(time)] = mark
    return "".join(cells)


def html_lines(record: RunRecord, lines: Sequence[WindowLine]) -> Iterator[str]:
    """Yield the lines as HTML."""
    if not lines:
        return
    scale = TimeScale(lines)
    yield "<div class=windows>"
    for line in lines:
        yield f"<div class=row><span class=what>{escape(line.label)}</span><span class=line>"
        if line.last is not None:
            left = 0.0 if line.first is None else 100 * scale.at(line.first)
            wide = max(100 * scale.at(line.last) - left, 0)
            kind = " empty" * line.empty + " endless" * (line.first is None)
            yield f'<i class="window{kind}" style="left:{left:.3f}%;width:{wide:.3f}%"></i>'
        for time, mark in line.marks:
            kind = {BOUND: "bound", FITS: "fits", STOPS: "stops"}[mark]
            title = escape(str(record.show(time)), quote=True)
            yield f'<b class={kind} style="left:{100 * scale.at(time):.3f}%" title="{title}">{mark}</b>'
        yield f"</span><span class=note>{escape(line.note)}</span></div>"
    ends = "".join(f"<span>{escape(str(record.show(time)))}</span>" for time in (scale.first, scale.last))
    yield f"<div class=row><span class=what></span><span class=ends>{ends}</span><span class=note></span></div></div>"
