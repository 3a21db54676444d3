"""Reasons for a composite: its match, the candidates of each part of the rule, and the reasons for its sources.

The rule of this module: the formulas recompute every reported fact, from the events processed by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.domain import Value
from workbench.language.syntax import Identifier
from workbench.tesla import tree as t
from workbench.tesla.explain.rule_view import Fit, RuleView, RunRecord, SeenWindow, gap
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.values import Attributes, Selected, value

DEEPEST = 12
"""Maximum depth of explained causes."""


@dataclass(frozen=True)
class SeenCondition:
    """A constraint or condition with its value in a match.

    Attributes
    ----------
    text, values: its text, and the text with values in place of names.
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
    index: its place in the rule; the trigger's is 0.
    kind: `trigger`, `each`, `first`, `last`, `not`, `absent` or `aggregate`.
    text: its text in the rule.
    window: the window; None for facts and for the trigger.
    bound: the event or fact that it binds.
    parameters: the parameters that it binds.
    conditions: its constraints, evaluated for the bound event or fact.
    fits: the candidates, or the events or facts of an aggregate.
    values: the aggregated values of these.
    """

    index: int
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
    """The reasons for a composite.

    Attributes
    ----------
    event: the composite.
    rule: the name of its rule.
    parts: the parts of the rule in its match.
    where: the conditions of `where`.
    consumed: the numbers of the consumed events.
    users: the composites whose matches contain it.
    causes: the reasons for the composites in its match.
    rows: the numbers of the rows in its match, and in those of the composites in it, from 1 on.
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
    """Explain why a composite was emitted.

    Parameters
    ----------
    number: its number in the order.

    Raises
    ------
    EngineGap: the formulas give no such composite.
    """
    return _reason(record, number, {number}, DEEPEST)


def _reason(record: RunRecord, number: int, known: set[int], deepest: int) -> CompositeReason:
    """Explain a composite among the causes of others: each is explained once, up to a depth."""
    order, view = record.order, _view(record, number)
    event, rule = order.event(number), view.rule
    match = _match(view, number)
    parts = explain_parts(view, match)
    inner = [each for each in dict.fromkeys(event.sources) if order.composite[each] and each not in known]
    inner = inner if deepest > 1 else []
    known.update(inner)
    sources = dict(zip(view.resolved.events, event.sources, strict=True))
    consumed = dict.fromkeys(sources[index] for index in view.resolved.consumed)
    return CompositeReason(
        event, rule.name, parts, explain_conditions(rule.where_clause, match), tuple(consumed),
        tuple(order.users(number)), tuple(_reason(record, each, known, deepest - 1) for each in inner),
        collect_rows(record, number),
    )  # fmt: skip


def collect_rows(record: RunRecord, number: int) -> tuple[int, ...]:
    """Return the numbers of the rows in the match of a composite, and in those of the composites in it."""
    order, rows, visited, todo = record.order, set[int](), set[int](), [number]
    while todo:
        each = todo.pop()
        if not order.composite[each]:
            rows.add(order.row(each) + 1)
        elif each not in visited:
            visited.add(each)
            todo += order.sources(each)
    return tuple(sorted(rows))


def _view(record: RunRecord, number: int) -> RuleView:
    """Return the view of a composite's rule at its trigger."""
    event = record.order.event(number)
    rule = next(i for i, each in enumerate(record.rules.rules) if each.name == event.rule)
    return RuleView(record, rule, event.sources[0])


def _match(view: RuleView, number: int) -> Selected:
    """Return the match that became a composite, and check that nothing should have stopped it."""
    emitting = view.emitting_matches()
    at = view.composites.index(number)
    if view.silencing(emitting[at], emitting[:at]) is not None or not _within_limit(view, emitting[at]):
        raise gap(view, view.order.event(number))
    return emitting[at]


def _within_limit(view: RuleView, match: Selected) -> bool:
    """Whether a match is within the limit of its rule."""
    if view.rule.limit is None:
        return True
    matches = (each for each in view.matches(view.start) if view.holds(each) and not view.find_refuting(each))
    key = (match.events, match.facts)
    return any((each.events, each.facts) == key for each, _ in zip(matches, range(view.rule.limit), strict=False))


# --- parts ------------------------------------------------------------------------------------------------


def explain_parts(view: RuleView, match: Selected, end: int | None = None) -> tuple[SeenPart, ...]:
    """Explain the parts of a rule in a match; for an incomplete match, those before an end."""
    return tuple(_explain_part(view, index, before, after) for index, before, after in path(view, match, end))


def path(view: RuleView, match: Selected, end: int | None = None) -> Iterator[tuple[int, Selected, Selected]]:
    """Yield the places of a rule up to an end, with the selections before and after each, on the way to a match."""
    assert view.start is not None
    yield 0, Selected(), view.start
    before = view.start
    for index in range(1, len(view.rule.parts) if end is None else end):
        grown = (each for each in view.extend(index, before) if _leads_to(each, match))
        if (after := next(grown, None)) is None:
            raise gap(view, None)
        yield index, before, after
        before = after


def _leads_to(selected: Selected, match: Selected) -> bool:
    """Whether a match begins with a selection."""
    events, facts = len(selected.events), len(selected.facts)
    return selected.events == match.events[:events] and selected.facts == match.facts[:facts]


def _explain_part(view: RuleView, index: int, before: Selected, after: Selected) -> SeenPart:
    part = view.rule.parts[index]
    fits = view.find_fits(index, before, view.moment if part is view.absent else None) if index else []
    kind = part.policy.value or "trigger"
    bound = None
    if part.policy.selects:
        fact = view.is_fact(part)
        bound = next(each for each in fits if each.number == (after.facts[-1] if fact else after.events[-1].number))
        if not fact:
            left = (each for each in fits if each.event not in before.events)
            fits = [each for each in left if view.consumer(index, each.number) is None]
    elif index == 0:
        bound = Fit(view.trigger.number, after.values[part.name], view.trigger)  # type: ignore[union-attr]
    parameters = {name: parameter for name, parameter in after.parameters.items() if name not in before.parameters}
    conditions = () if bound is None else explain_conditions(part.constraints, after, bound.own)
    values: tuple[Any, ...] = ()
    if part.attribute:
        values = tuple(each.own[part.attribute] for each in fits)
    window = view.window(index, before)
    return SeenPart(index, kind, str(view.text(index)), window, bound, parameters, conditions, tuple(fits), values)


# --- expressions ------------------------------------------------------------------------------------------


def explain_conditions(
    conditions: Sequence[t.Expression], selected: Selected, own: Attributes | None = None
) -> tuple[SeenCondition, ...]:
    """Evaluate constraints or conditions in a match."""
    return tuple(
        SeenCondition(str(each), str(substitute_values(each, selected, own)), value(each, selected, own))
        for each in conditions
    )


def substitute_values(expression: t.Expression, selected: Selected, own: Attributes | None = None) -> t.Expression:
    """Replace names in an expression by values."""
    if isinstance(expression, t.Operation):
        operands = tuple(substitute_values(each, selected, own) for each in expression.operands)
        return replace(expression, operands=operands)
    return Identifier(format_value(value(expression, selected, own)))


def format_value(raw_value: Any) -> str:
    """Format a value as in rules."""
    return "null" if raw_value is None else str(t.Literal(raw_value))
