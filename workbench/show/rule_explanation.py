"""Explain why rules emitted a composite, or why not, as text and as a page.

The rule of this module: both have the same lines; the page draws windows where the text has characters.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from workbench.core.readable import plural
from workbench.show.rule_time_line import WindowLine, draw_lines, html_lines, window_lines
from workbench.show.style import answer_page
from workbench.tesla import tree as t
from workbench.tesla.explain.counted import EventCount
from workbench.tesla.explain.hindrances import ABSENT, MAX_NEAR, NOT, Hindrance, Nearest
from workbench.tesla.explain.rule_view import Fit, RunRecord, SeenWindow
from workbench.tesla.explain.why import CompositeReason, SeenPart, format_value
from workbench.tesla.explain.why_not import MissingReason, PartialReason, RuleReason, TriggerReason
from workbench.tesla.rule_explanation import RuleExplanation

MAX_NAMED = 12
"""Maximum number of events or values that a line names."""
INDENT = "    "
SINGLE = {each.value for each in t.Policy if each.single}
"""The names of policies that select a single candidate."""


@dataclass(frozen=True)
class AnswerPiece:
    """A piece of an answer: a heading, lines, a drawing, and pieces below."""

    heading: str
    lines: tuple[str, ...] = ()
    drawing: tuple[WindowLine, ...] = ()
    parts: tuple[AnswerPiece, ...] = ()
    outcome: str = ""


def explanation_text(explanation: RuleExplanation, width: int | None = None) -> str:
    """Return an answer as text, no wider than the terminal where windows are drawn."""
    wide = shutil.get_terminal_size((100, 24)).columns if width is None else width
    return "\n\n".join("\n".join(_text(each, explanation.record, wide)) for each in pieces(explanation))


def _text(piece: AnswerPiece, record: RunRecord, width: int, depth: int = 0) -> Iterator[str]:
    yield piece.heading
    inner = [*piece.lines]
    if piece.drawing:
        inner += ["", *draw_lines(record, piece.drawing, width - len(INDENT) * (depth + 1)), ""]
    for part in piece.parts:
        inner += _text(part, record, width, depth + 1)
    while inner and not inner[-1]:
        inner.pop()
    yield from (textwrap.indent(line, INDENT) for line in inner)


def explanation_page(explanation: RuleExplanation) -> str:
    """Return an answer as a self-contained HTML page."""
    lines = (line for piece in pieces(explanation) for line in _html(piece, explanation.record))
    return answer_page("explain", explanation.question, lines)


def _html(piece: AnswerPiece, record: RunRecord, depth: int = 2) -> Iterator[str]:
    if depth > 2 and not (piece.lines or piece.drawing or piece.parts):
        yield f"<p>{escape(piece.heading)}</p>"
        return
    tag = "section" if depth == 2 else "div"
    yield f'<{tag} class="told {piece.outcome}"><h{min(depth, 4)}>{escape(piece.heading)}</h{min(depth, 4)}>'
    yield from html_lines(record, piece.drawing)
    if piece.lines:
        yield "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in piece.lines if line) + "</ul>"
    for part in piece.parts:
        yield from _html(part, record, depth + 1)
    yield f"</{tag}>"


# --- answers ----------------------------------------------------------------------------------------------


def pieces(explanation: RuleExplanation) -> list[AnswerPiece]:
    """Return the pieces of an answer."""
    tell = _Teller(explanation.record)
    sections = [] if explanation.missing is None else [tell.missing(explanation.missing)]
    if explanation.event is not None:
        bound = len(explanation.composites) + explanation.more
        sections.append(tell.uses(explanation.event, bound, explanation.counts))
    sections += [tell.composite(each) for each in explanation.composites]
    if explanation.more:
        sections.append(AnswerPiece(f"... and {explanation.more:,} more composites"))
    return sections


class _Teller:
    """The formatter of the events of a run."""

    def __init__(self, record: RunRecord) -> None:
        self.record = record

    def event(self, number: int) -> str:
        """Describe an event: its label, its type, time and values."""
        order = self.record.order
        event = order.event(number)
        values = _values(self.record.attributes(event.type, event.values))
        label = order.label(number) if order.composite[number] else f"event {order.label(number)}"
        return f"{label}: {event.type} at {self.record.show(event.time)}{f' ({values})' if values else ''}"

    def uses(self, event: int, bound: int, counts: Sequence[EventCount]) -> AnswerPiece:
        """Describe the number of composites that an event is part of, and the aggregates that have counted it."""
        what, lines = f"is part of {plural(f'{bound:,}', 'composite')}", list[str]()
        if counts:
            what += f", and was counted for {plural(f'{len({each.composite for each in counts}):,}', 'composite')}"
        for rule, text in dict.fromkeys((each.rule, each.text) for each in counts):
            numbers = [each.composite for each in counts if (each.rule, each.text) == (rule, text)]
            lines.append(f"counted by {text} of {rule} for {self.labels(numbers)}")
        if not (bound or counts):
            never = "no match contains it, and no aggregate has counted it"
            lines.append(f"{never}; --missing explains why a composite was not emitted")
        return AnswerPiece(f"{self.event(event)} {what}", tuple(lines))

    def fit(self, fit: Fit) -> str:
        return self.event(fit.number) if fit.event is not None else f"fact {fit.number + 1} ({_values(fit.own)})"

    def labels(self, numbers: Sequence[int]) -> str:
        return _list_names([self.record.order.label(each) for each in numbers])

    def composite(self, reason: CompositeReason) -> AnswerPiece:
        lines = []
        if reason.consumed:
            lines.append(f"consumes {self.labels(reason.consumed)}")
        named = _list_names([str(each) for each in reason.rows])
        lines.append(f"consists of row{'s' * (len(reason.rows) != 1)} {named}")
        if reason.users:
            lines.append(f"is part of {self.labels(reason.users)}")
        causes = tuple(self.composite(each) for each in reason.causes)
        time = reason.event.time
        parts = (self.part(each) for each in reason.parts)
        where = tuple(f"{each.text}: {each.values}" for each in reason.where)
        under = (*parts, *([AnswerPiece("where", where)] if where else []), *map(AnswerPiece, lines), *causes)
        drawing = tuple(window_lines(self.record, reason.parts, time))
        return AnswerPiece(f"{self.event(reason.event.number)}, of {reason.rule}", (), drawing, under, "holds")

    def part(self, part: SeenPart) -> AnswerPiece:
        lines = []
        if part.bound is not None:
            lines.append(self.fit(part.bound) + self.choice(part))
        elif part.kind in ("not", "absent"):
            lines.append(f"none{self.describe_window(part.window)}")
        elif part.kind == "aggregate":
            lines += self.aggregate(part)
        if part.kind != "aggregate":
            lines += [f"${name} = {format_value(each)}" for name, each in part.parameters.items()]
        lines += [f"{each.text}: {each.values}" for each in part.conditions]
        return AnswerPiece(part.text if part.kind != "trigger" else f"from {part.text}", tuple(lines))

    def aggregate(self, part: SeenPart) -> Iterator[str]:
        """Describe the values that an aggregate combines."""
        facts = bool(part.fits) and part.fits[0].event is None
        fits = _list_names([str(each.number + 1) if facts else self.label(each) for each in part.fits])
        what = f"{'facts' if facts else 'events'} {fits}" if part.fits else "nothing"
        values = f", values {_list_names([format_value(each) for each in part.values])}" if part.values else ""
        (named,) = part.parameters.items()
        yield f"${named[0]} = {format_value(named[1])}: of {what}{values}{self.describe_window(part.window)}"

    def label(self, fit: Fit) -> str:
        return self.record.order.label(fit.number)

    def choice(self, part: SeenPart) -> str:
        count = len(part.fits)
        if part.kind == "trigger" or count == 1:
            return ""
        return f", the {part.kind} of {count:,}" if part.kind in SINGLE else f", one of {count:,}"

    def describe_window(self, window: SeenWindow | None) -> str:
        if window is None:
            return ""
        first = "the beginning" if window.first is None else self.record.show(window.first)
        return f", from {first} to {self.record.show(window.last)}"

    # --- missing composites --------------------------------------------------------------------------------

    def missing(self, reason: MissingReason, inner: bool = False) -> AnswerPiece:
        values = _values(reason.values)
        what = f"{reason.type}{f'({values})' if values else ''} at {self.record.show(reason.time)}"
        if reason.there:
            return AnswerPiece(f"{what} was emitted: {self.labels(reason.there)}", outcome="holds")
        parts = tuple(self.rule(each) for each in reason.rules)
        return AnswerPiece(f"{'there is no' if inner else 'no'} {what}", (), (), parts, "fails")

    def rule(self, reason: RuleReason) -> AnswerPiece:
        heading = f"rule {reason.rule}" if not reason.rule.startswith("rule ") else reason.rule
        if reason.triggers:
            return AnswerPiece(heading, (), (), tuple(self.trigger(each) for each in reason.triggers))
        lines = [f"no event of type {reason.trigger} at {self.record.show(reason.time)}, which would trigger it"]
        for fit in reason.nearest:
            assert fit.event is not None
            away = fit.event.time - reason.time
            lines.append(f"{self.record.length(abs(away))} {'before' if away < 0 else 'later'}: {self.fit(fit)}")
        return AnswerPiece(
            heading, tuple(lines), (), () if reason.cause is None else (self.missing(reason.cause, inner=True),)
        )

    def trigger(self, reason: TriggerReason) -> AnswerPiece:
        lines = [f"emitted {self.labels(reason.composites)}"] if reason.composites else []
        count = len(reason.reasons)
        if reason.stopped > count:
            lines.append(f"{reason.stopped:,} partial matches were stopped; the nearest {count}:")
        if not reason.complete:
            lines.append("there are more partial matches, which were not examined")
        heading = f"triggered by {self.fit(reason.trigger)}"
        return AnswerPiece(heading, tuple(lines), (), tuple(self.reason(each) for each in reason.reasons))

    def reason(self, reason: PartialReason) -> AnswerPiece:
        names = [self.named(each) for each in reason.seen if each.bound is not None]
        heading = f"{', '.join(names)};" if names else "the trigger itself:"
        heading += " the match is complete, but" if reason.finished else f"{' then' if names else ''} {reason.text}"
        lines = [line for each in reason.hindrances for line in self.hindrance(each)]
        lines += (line for each in reason.seen if each.kind == "aggregate" for line in self.aggregate(each))
        if reason.candidates is not None:
            lines += self.nearest(reason.candidates, f"not in {reason.text}: " if reason.finished else "")
        drawing = window_lines(self.record, reason.seen, None, reason)
        return AnswerPiece(heading, tuple(lines), tuple(drawing) if len(drawing) > 1 else (), (), "fails")

    def hindrance(self, hindrance: Hindrance) -> Iterator[str]:
        yield hindrance.text
        if hindrance.kind in (NOT, ABSENT):
            yield from (f"  {self.event(each)}" for each in hindrance.events[:MAX_NEAR])

    def named(self, part: SeenPart) -> str:
        assert part.bound is not None
        label = f"fact {part.bound.number + 1}" if part.bound.event is None else self.label(part.bound)
        return f"{part.text.split('[')[0].split('(')[0].split(' within ')[0].split(' ')[-1]} {label}"

    def nearest(self, nearest: Nearest, what: str) -> Iterator[str]:
        if not nearest.looked:
            yield f"{what}there is none of this type"
            return
        if not nearest.near:
            return
        more = f" ({nearest.left:,} further away have not been compared)" if nearest.left else ""
        yield f"{what or f'none of {nearest.looked:,}{more}; '}the nearest:"
        for each in nearest.near:
            yield f"  {self.fit(each.fit)}: {'; '.join(hindrance.text for hindrance in each.hindrances)}"


def _values(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {format_value(each)}" for name, each in values.items())


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
