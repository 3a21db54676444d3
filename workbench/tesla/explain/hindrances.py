"""Hindrances: reasons why an event or a fact is not selected, or why a complete match does not emit.

The rule of this module: each hindrance is true by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.tesla import tree as t
from workbench.tesla.explain.rule_view import Fit, RuleView
from workbench.tesla.explain.why import SeenCondition, explain_conditions, format_value
from workbench.tesla.formulas import in_window, with_parameters
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.values import Attributes, Selected, value

CONSTRAINT, WINDOW, MATCH, CONSUMED = "constraint", "window", "match", "consumed"
"""Hindrances of an event: it violates a constraint, is outside the window, already in the match, or consumed."""
NOT, ABSENT, CLOCK, WHERE, LIMIT, PAUSE = "not", "absent", "clock", "where", "limit", "at most once"
VALUE, POLICY = "value", "policy"
"""Hindrances of a match: it emits other values than the requested ones; `first` or `last` selected another event."""
LOOKED_AT, LEAST_LOOKED_AT = 20_000, 500
"""Maximum number of events compared before, in and after a window; and the minimum for each of several matches."""
MAX_NEAR = 3


@dataclass(frozen=True)
class Hindrance:
    """A reason why a match stopped, or an event is not in one.

    Attributes
    ----------
    kind: one of the kinds above.
    text: a description for the user.
    condition: the violated constraint, or condition of `where`.
    events: the numbers of the events in the text.
    lacking: for a window, the distance by which it is missed, in time, or in events for a window by count.
    """

    kind: str
    text: str
    condition: SeenCondition | None = None
    events: tuple[int, ...] = ()
    lacking: int | None = None


@dataclass(frozen=True)
class NearCandidate:
    """An event or fact that is not selected, with the reasons."""

    fit: Fit
    hindrances: tuple[Hindrance, ...]


@dataclass(frozen=True)
class Nearest:
    """The nearest candidates for a predicate that nothing satisfies.

    Attributes
    ----------
    looked: the number of events or facts that were compared.
    left: the number of others, which are further away.
    near: those with the fewest failures, the nearest first.
    """

    looked: int
    left: int
    near: tuple[NearCandidate, ...]


def failing_constraints(view: RuleView, index: int, selected: Selected, own: Attributes) -> tuple[Hindrance, ...]:
    """Return the constraints of the part at a place that an event or a fact violates."""
    part = view.rule.parts[index]
    selected = with_parameters(part, selected, own)
    return failing_conditions(CONSTRAINT, explain_conditions(part.constraints, selected, own))


def failing_conditions(kind: str, conditions: Sequence[SeenCondition]) -> tuple[Hindrance, ...]:
    """Return the conditions that are not true, as hindrances."""
    return tuple(
        Hindrance(kind, f"{each.text}: {each.values} is {format_value(each.result)}", each)
        for each in conditions
        if each.result is not True
    )


# --- candidates -------------------------------------------------------------------------------------------


def candidates_near(view: RuleView, index: int, selected: Selected, among: int = 1) -> Nearest:
    """Return the nearest candidates for the predicate at a place, which nothing satisfies, or for an aggregate.

    Parameters
    ----------
    among: the number of partial matches that share the limit on comparisons.
    """
    part = view.rule.parts[index]
    limit = max(LEAST_LOOKED_AT, LOOKED_AT // among)
    if view.is_fact(part):
        fits = view.record.rows(part.type, limit)
        left = len(view.record.facts.get(part.type, ())) - len(fits)
    else:
        numbers, left = _around(view, index, selected, limit)
        fits = view.record.events(numbers)
    failures = [(failed, fit) for fit in fits if (failed := _fails(view, index, selected, fit))]
    failures.sort(key=lambda each: (len(each[0]), *_distance(*each)))
    near = (
        NearCandidate(fit, tuple(_fails(view, index, selected, fit, in_full=True))) for _, fit in failures[:MAX_NEAR]
    )
    return Nearest(len(fits), left, tuple(near))


def _fails(view: RuleView, index: int, selected: Selected, fit: Fit, *, in_full: bool = False) -> Sequence[Hindrance]:
    """Return the reasons why an event or a fact is not a candidate; constraints with their values if `in_full`."""
    part = view.rule.parts[index]
    hindrances = [] if fit.event is None else list(_of_event(view, index, selected, fit.event))
    if in_full:
        return [*hindrances, *failing_constraints(view, index, selected, fit.own)]
    selected = with_parameters(part, selected, fit.own)
    untrue = (each for each in part.constraints if value(each, selected, fit.own) is not True)
    return [*hindrances, *(Hindrance(CONSTRAINT, str(each)) for each in untrue)]


def _around(view: RuleView, index: int, selected: Selected, limit: int) -> tuple[list[int], int]:
    """Return the events of a type around a window, except the trigger, and the number of those further away."""
    part = view.rule.parts[index]
    window = view.window(index, selected)
    assert window is not None
    first, last = window.numbers
    before = view.order.of_type(part.type, 0, first)
    inside = view.order.of_type(part.type, first, max(first, last))
    after = view.order.of_type(part.type, max(first, last), len(view.order))
    nearest = [*before[-limit:], *inside[-limit:], *after[:limit]]
    everything = len(before) + len(inside) + len(after)
    return [int(each) for each in nearest if each != view.trigger.number], everything - len(nearest)


def _of_event(view: RuleView, index: int, selected: Selected, event: Occurrence) -> Iterator[Hindrance]:
    """Yield the reasons why an event is not a candidate, apart from its values."""
    yield from _outside(view, index, selected, event)
    if not isinstance(view.rule.parts[index], t.Predicate):
        return
    if any(event.number == each.number for each in selected.events):
        yield Hindrance(MATCH, "this match has it already", events=(event.number,))
    consumer = view.consumer(index, event.number)
    if consumer is not None:
        time = view.record.show(int(view.order.times[consumer]))
        text = f"it was consumed by {view.rule.emits} {view.order.label(consumer)} of {time}"
        yield Hindrance(CONSUMED, text, events=(consumer,))


def _outside(view: RuleView, index: int, selected: Selected, event: Occurrence) -> Iterator[Hindrance]:
    """Yield a hindrance if an event lies outside the window of a part, with its distance."""
    window = view.rule.parts[index].window
    inside = in_window(window, event, selected, view.record.compat)
    if inside and event.number < view.trigger.number:
        return
    text = view.window_text(index)
    if inside or event.number > view.trigger.number:
        away = event.time - view.trigger.time
        yield Hindrance(WINDOW, f"it comes {_far(view, away)}after the trigger", events=(event.number,), lacking=away)
        return
    assert window is not None
    ends = sorted((selected.named[name] for name in window.names), key=lambda each: each.number)
    if window.between:
        early = event.number < ends[0].number
        away = ends[0].time - event.time if early else event.time - ends[1].time
        what = f"it comes {_far(view, away)}{'before' if early else 'after'} what is {text}"
        yield Hindrance(WINDOW, what, events=(event.number,), lacking=away)
        return
    yield _beside(view, window, text, ends[0], event)


def _beside(view: RuleView, window: t.EventWindow, written: str, anchor: Occurrence, event: Occurrence) -> Hindrance:
    """Build the hindrance for an event before or after a `within` window."""
    ago = anchor.number - event.number if window.counts_events else anchor.time - event.time
    unit = "events" if window.counts_events else ""
    least, upper = window.near, window.far
    if upper is not None and ago >= upper and ago >= least:
        lacking, side = ago - upper, "too early"
    elif least > 0 and ago <= least:
        lacking, side = least - ago, "too late"
    else:
        lacking, side = -ago, f"after {window.of}"
    far = f"{lacking:,} {unit[: -1 if lacking == 1 else None]} " if unit else _far(view, lacking)
    return Hindrance(WINDOW, f"it comes {far}{side} for {written}", events=(event.number,), lacking=lacking)


def _far(view: RuleView, lacking: int) -> str:
    return f"{view.record.length(lacking)} " if lacking else "right "


def _distance(failed: Sequence[Hindrance], fit: Fit) -> tuple[int, int]:
    """Return the distance of an event from its window, with ties by age, newest first."""
    away = [abs(each.lacking) for each in failed if each.lacking is not None]
    return sum(away), -fit.number if fit.event is not None else fit.number


# --- matches ----------------------------------------------------------------------------------------------


def explain_refuting(view: RuleView, index: int, fits: Sequence[Fit], *, absent: bool = False) -> Hindrance:
    """Make the hindrance that forbidden events or facts exist."""
    fact, part = view.is_fact(view.rule.parts[index]), view.rule.parts[index]
    named = ", ".join(str(each.number + 1) if fact else view.order.label(each.number) for each in fits[:MAX_NEAR])
    more = f" and {len(fits) - MAX_NEAR:,} more" if len(fits) > MAX_NEAR else ""
    text = f"there is {'the fact ' if fact else ''}{part.type} {named}{more}"
    events = () if fact else tuple(each.number for each in fits)
    return Hindrance(ABSENT if absent else NOT, text, events=events)
