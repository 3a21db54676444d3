"""Why a composite is there: its match, what each part of the rule found, and what caused what it is made of.

The rule of this module: all that is told was found again by the formulas, in what the run had seen by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.domain import Value
from workbench.language.syntax import Identifier
from workbench.tesla import tree as t
from workbench.tesla.explain.view import Fit, RuleView, RunRecord, SeenWindow, gap
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.values import Attributes, Selected, value

DEEPEST = 12
"""Composites that cause each other are told up to so many."""


@dataclass(frozen=True)
class SeenCondition:
    """A constraint or condition, and what it is with the values of a match.

    Attributes
    ----------
    text, values: as it is written, and with values in place of names.
    result: true, false, or None for null.
    """

    text: str
    values: str
    result: Value | None


@dataclass(frozen=True)
class SeenPart:
    """A part of a rule in one match.

    Attributes
    ----------
    place: in the rule; the trigger's is 0.
    kind: `trigger`, `each`, `first`, `last`, `not`, `absent` or `aggregate`.
    text: as it is written.
    window: None of facts and of the trigger.
    bound: the event or fact that it binds.
    parameters: those that it binds.
    conditions: its constraints, of what it binds.
    fits: what satisfies it: the candidates, or what an aggregate is made of.
    values: what an aggregate combines, of each of these.
    """

    place: int
    kind: str
    text: str
    window: SeenWindow | None
    bound: Fit | None
    parameters: Mapping[str, Value | None]
    conditions: tuple[SeenCondition, ...]
    fits: tuple[Fit, ...]
    values: tuple[Value | None, ...] = ()


@dataclass(frozen=True)
class CompositeReason:
    """Why a composite is there.

    Attributes
    ----------
    event: the composite.
    rule: the name of its rule.
    parts: what each part of it saw.
    where: its conditions.
    consumed: the numbers of the events that are consumed.
    users: the composites of which it is a part.
    causes: why the composites in its match are there.
    rows: the numbers of the rows that its match consists of, and those of the composites in it, from 1 on.
    """

    event: Occurrence
    rule: str
    parts: tuple[SeenPart, ...]
    where: tuple[SeenCondition, ...]
    consumed: tuple[int, ...]
    users: tuple[int, ...]
    causes: tuple[CompositeReason, ...]
    rows: tuple[int, ...]


def composite_reason(record: RunRecord, number: int) -> CompositeReason:
    """Why a composite is there.

    Parameters
    ----------
    number: its place in the order.

    Raises
    ------
    EngineGap: the formulas have no such composite.
    """
    return _reason(record, number, {number}, DEEPEST)


def _reason(record: RunRecord, number: int, told: set[int], deepest: int) -> CompositeReason:
    """The same as a cause among others: each composite is told once, and no deeper than so far."""
    order, view = record.order, _view(record, number)
    event, rule = order.event(number), view.rule
    match = _match(view, number)
    parts = explain_parts(view, match)
    inner = [each for each in dict.fromkeys(event.sources) if order.composite[each] and each not in told]
    inner = inner if deepest > 1 else []
    told.update(inner)
    sources = dict(zip(view.resolved.events, event.sources, strict=True))
    consumed = dict.fromkeys(sources[place] for place in view.resolved.consumed)
    return CompositeReason(
        event, rule.name, parts, explain_conditions(rule.where_clause, match), tuple(consumed),
        tuple(order.users(number)), tuple(_reason(record, each, told, deepest - 1) for each in inner),
        collect_rows(record, number),
    )  # fmt: skip


def collect_rows(record: RunRecord, number: int) -> tuple[int, ...]:
    """The numbers of the rows that the match of a composite consists of, and those of the composites in it."""
    order, rows, seen, todo = record.order, set[int](), set[int](), [number]
    while todo:
        each = todo.pop()
        if not order.composite[each]:
            rows.add(order.row(each) + 1)
        elif each not in seen:
            seen.add(each)
            todo += order.sources(each)
    return tuple(sorted(rows))


def _view(record: RunRecord, number: int) -> RuleView:
    """The rule of a composite, asked about its trigger."""
    event = record.order.event(number)
    rule = next(i for i, each in enumerate(record.rules.rules) if each.name == event.rule)
    return RuleView(record, rule, event.sources[0])


def _match(view: RuleView, number: int) -> Selected:
    """The match that became a composite; that nothing has kept it from being told is seen to."""
    emitting = view.emitting_matches()
    at = view.composites.index(number)
    if view.silencing(emitting[at], emitting[:at]) is not None or not _within_limit(view, emitting[at]):
        raise gap(view, view.order.event(number))
    return emitting[at]


def _within_limit(view: RuleView, match: Selected) -> bool:
    """Whether a match is among the first, where only these count."""
    if view.rule.limit is None:
        return True
    found = (each for each in view.matches(view.start) if view.holds(each) and not view.find_refuting(each))
    wanted = (match.events, match.facts)
    return any((each.events, each.facts) == wanted for each, _ in zip(found, range(view.rule.limit), strict=False))


# --- parts ------------------------------------------------------------------------------------------------


def explain_parts(view: RuleView, match: Selected, end: int | None = None) -> tuple[SeenPart, ...]:
    """What each part of a rule saw in a match; of one that is not complete, those before an end."""
    return tuple(_explain_part(view, place, before, after) for place, before, after in path(view, match, end))


def path(view: RuleView, match: Selected, end: int | None = None) -> Iterator[tuple[int, Selected, Selected]]:
    """The places of a rule up to an end, and what was selected before and behind each, on the way to a match."""
    assert view.start is not None
    yield 0, Selected(), view.start
    before = view.start
    for place in range(1, len(view.rule.parts) if end is None else end):
        grown = (each for each in view.extend(place, before) if _leads_to(each, match))
        if (after := next(grown, None)) is None:
            raise gap(view, None)
        yield place, before, after
        before = after


def _leads_to(selected: Selected, match: Selected) -> bool:
    """Whether a match begins with what is selected."""
    events, facts = len(selected.events), len(selected.facts)
    return selected.events == match.events[:events] and selected.facts == match.facts[:facts]


def _explain_part(view: RuleView, place: int, before: Selected, after: Selected) -> SeenPart:
    part = view.rule.parts[place]
    fits = view.find_fits(place, before, view.moment if part is view.absent else None) if place else []
    kind = part.policy.value or "trigger"
    bound = None
    if part.policy.selects:
        fact = view.is_fact(part)
        bound = next(each for each in fits if each.number == (after.facts[-1] if fact else after.events[-1].number))
        if not fact:
            left = (each for each in fits if each.event not in before.events)
            fits = [each for each in left if view.consumer(place, each.number) is None]
    elif place == 0:
        bound = Fit(view.trigger.number, after.values[part.name], view.trigger)  # type: ignore[union-attr]
    parameters = {name: found for name, found in after.parameters.items() if name not in before.parameters}
    conditions = () if bound is None else explain_conditions(part.constraints, after, bound.own)
    values: tuple[Any, ...] = ()
    if part.attribute:
        values = tuple(each.own[part.attribute] for each in fits)
    window = view.window(place, before)
    return SeenPart(place, kind, str(view.text(place)), window, bound, parameters, conditions, tuple(fits), values)


# --- expressions ------------------------------------------------------------------------------------------


def explain_conditions(
    conditions: Sequence[t.Expression], selected: Selected, own: Attributes | None = None
) -> tuple[SeenCondition, ...]:
    """Constraints with the values of a match."""
    return tuple(
        SeenCondition(str(each), str(substitute_values(each, selected, own)), value(each, selected, own))
        for each in conditions
    )


def substitute_values(expression: t.Expression, selected: Selected, own: Attributes | None = None) -> t.Expression:
    """An expression with values in place of names."""
    if isinstance(expression, t.Operation):
        operands = tuple(substitute_values(each, selected, own) for each in expression.operands)
        return replace(expression, operands=operands)
    return Identifier(format_value(value(expression, selected, own)))


def format_value(found: Any) -> str:
    """A value as rules write it."""
    return "null" if found is None else str(t.Literal(found))
