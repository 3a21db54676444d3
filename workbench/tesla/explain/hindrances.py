"""What keeps an event or a fact from being selected, and what stops a match that has found all its events.

The rule of this module: a hindrance is true by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.tesla import tree as t
from workbench.tesla.explain.view import Fit, RuleView
from workbench.tesla.explain.why import SeenCondition, explain_conditions, format_value
from workbench.tesla.formulas import in_window, with_parameters
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.values import Attributes, Selected, value

CONSTRAINT, WINDOW, MATCH, CONSUMED = "constraint", "window", "match", "consumed"
"""Of one event: it does not satisfy a constraint, is outside, is in the match already, is selected no more."""
NOT, ABSENT, CLOCK, WHERE, LIMIT, PAUSE = "not", "absent", "clock", "where", "limit", "at most once"
VALUE, POLICY = "value", "policy"
"""Of a match: other values are emitted than those asked for; `first` or `last` has taken something else."""
LOOKED_AT, LEAST_LOOKED_AT = 20_000, 500
"""Events of a type, the nearest to a window, that are compared, before it, in it and behind it; and for each match."""
MOST_NEAR = 3


@dataclass(frozen=True)
class Hindrance:
    """One thing that has stopped a match, or keeps an event from being in one.

    Attributes
    ----------
    kind: see above.
    text: what it is, to be read.
    condition: the constraint, or the condition of `where`.
    events: the numbers of the events that it names.
    lacking: of a window of time, by how much it is missed; of one by count, by how many places.
    """

    kind: str
    text: str
    condition: SeenCondition | None = None
    events: tuple[int, ...] = ()
    lacking: int | None = None


@dataclass(frozen=True)
class NearCandidate:
    """An event, or a fact, that is not selected, and why."""

    fit: Fit
    hindrances: tuple[Hindrance, ...]


@dataclass(frozen=True)
class Nearest:
    """What came nearest to a predicate that nothing satisfies.

    Attributes
    ----------
    looked: how many events or facts of the type were compared.
    left: how many there are beside, further away.
    near: those that fail least, the nearest first.
    """

    looked: int
    left: int
    near: tuple[NearCandidate, ...]


def failing_constraints(view: RuleView, place: int, selected: Selected, own: Attributes) -> tuple[Hindrance, ...]:
    """The constraints of the part at a place that an event or a fact does not satisfy."""
    part = view.rule.parts[place]
    selected = with_parameters(part, selected, own)
    return failing_conditions(CONSTRAINT, explain_conditions(part.constraints, selected, own))


def failing_conditions(kind: str, conditions: Sequence[SeenCondition]) -> tuple[Hindrance, ...]:
    """Those that are not true."""
    return tuple(
        Hindrance(kind, f"{each.text}: {each.values} is {format_value(each.result)}", each)
        for each in conditions
        if each.result is not True
    )


# --- candidates -------------------------------------------------------------------------------------------


def candidates_near(view: RuleView, place: int, selected: Selected, among: int = 1) -> Nearest:
    """What came nearest to the predicate at a place, which nothing satisfies; or to an aggregate, and is not in it.

    Parameters
    ----------
    among: so many partial matches share what is looked at.
    """
    part = view.rule.parts[place]
    most = max(LEAST_LOOKED_AT, LOOKED_AT // among)
    if view.is_fact(part):
        fits = view.record.rows(part.type, most)
        left = len(view.record.facts.get(part.type, ())) - len(fits)
    else:
        numbers, left = _around(view, place, selected, most)
        fits = view.record.events(numbers)
    found = [(failed, fit) for fit in fits if (failed := _fails(view, place, selected, fit))]
    found.sort(key=lambda each: (len(each[0]), *_distance(*each)))
    near = (NearCandidate(fit, tuple(_fails(view, place, selected, fit, in_full=True))) for _, fit in found[:MOST_NEAR])
    return Nearest(len(fits), left, tuple(near))


def _fails(view: RuleView, place: int, selected: Selected, fit: Fit, *, in_full: bool = False) -> Sequence[Hindrance]:
    """What keeps an event or a fact from being a candidate; constraints with their values only where all is told."""
    part = view.rule.parts[place]
    found = [] if fit.event is None else list(_of_event(view, place, selected, fit.event))
    if in_full:
        return [*found, *failing_constraints(view, place, selected, fit.own)]
    selected = with_parameters(part, selected, fit.own)
    untrue = (each for each in part.constraints if value(each, selected, fit.own) is not True)
    return [*found, *(Hindrance(CONSTRAINT, str(each)) for each in untrue)]


def _around(view: RuleView, place: int, selected: Selected, most: int) -> tuple[list[int], int]:
    """The numbers of the events of a type around a window, but for the trigger, and how many are further away."""
    part = view.rule.parts[place]
    window = view.window(place, selected)
    assert window is not None
    first, last = window.numbers
    before = view.order.of_type(part.type, 0, first)
    inside = view.order.of_type(part.type, first, max(first, last))
    after = view.order.of_type(part.type, max(first, last), len(view.order))
    kept = [*before[-most:], *inside[-most:], *after[:most]]
    everything = len(before) + len(inside) + len(after)
    return [int(each) for each in kept if each != view.trigger.number], everything - len(kept)


def _of_event(view: RuleView, place: int, selected: Selected, event: Occurrence) -> Iterator[Hindrance]:
    """What keeps an event from being a candidate, whatever its values."""
    yield from _outside(view, place, selected, event)
    if not isinstance(view.rule.parts[place], t.Predicate):
        return
    if any(event.number == each.number for each in selected.events):
        yield Hindrance(MATCH, "it is in this match already", events=(event.number,))
    consumer = view.consumer(place, event.number)
    if consumer is not None:
        time = view.record.show(int(view.order.times[consumer]))
        text = f"it was consumed by {view.rule.emits} {view.order.label(consumer)} of {time}"
        yield Hindrance(CONSUMED, text, events=(consumer,))


def _outside(view: RuleView, place: int, selected: Selected, event: Occurrence) -> Iterator[Hindrance]:
    """That an event lies outside of the window of a part, and how far."""
    window = view.rule.parts[place].window
    inside = in_window(window, event, selected, view.record.compat)
    if inside and event.number < view.trigger.number:
        return
    text = view.window_text(place)
    if inside or event.number > view.trigger.number:
        away = event.time - view.trigger.time
        yield Hindrance(WINDOW, f"it comes {_far(view, away)}behind the trigger", events=(event.number,), lacking=away)
        return
    assert window is not None
    ends = sorted((selected.named[name] for name in window.names), key=lambda each: each.number)
    if window.between:
        early = event.number < ends[0].number
        away = ends[0].time - event.time if early else event.time - ends[1].time
        what = f"it comes {_far(view, away)}{'before' if early else 'behind'} what is {text}"
        yield Hindrance(WINDOW, what, events=(event.number,), lacking=away)
        return
    yield _beside(view, window, text, ends[0], event)


def _beside(view: RuleView, window: t.EventWindow, written: str, anchor: Occurrence, event: Occurrence) -> Hindrance:
    """That an event lies before `within` or behind it."""
    ago = anchor.number - event.number if window.counts_events else anchor.time - event.time
    unit = "events" if window.counts_events else ""
    least, most = window.near, window.far
    if most is not None and ago >= most and ago >= least:
        lacking, side = ago - most, "too early"
    elif least > 0 and ago <= least:
        lacking, side = least - ago, "too late"
    else:
        lacking, side = -ago, f"behind {window.of}"
    far = f"{lacking:,} {unit[: -1 if lacking == 1 else None]} " if unit else _far(view, lacking)
    return Hindrance(WINDOW, f"it comes {far}{side} for {written}", events=(event.number,), lacking=lacking)


def _far(view: RuleView, lacking: int) -> str:
    return f"{view.record.length(lacking)} " if lacking else "right "


def _distance(failed: Sequence[Hindrance], fit: Fit) -> tuple[int, int]:
    """How far an event is from where it should be, the newest first."""
    away = [abs(each.lacking) for each in failed if each.lacking is not None]
    return sum(away), -fit.number if fit.event is not None else fit.number


# --- matches ----------------------------------------------------------------------------------------------


def explain_refuting(view: RuleView, place: int, fits: Sequence[Fit], *, absent: bool = False) -> Hindrance:
    """That something came which must not."""
    fact, part = view.is_fact(view.rule.parts[place]), view.rule.parts[place]
    named = ", ".join(str(each.number + 1) if fact else view.order.label(each.number) for each in fits[:MOST_NEAR])
    more = f" and {len(fits) - MOST_NEAR:,} more" if len(fits) > MOST_NEAR else ""
    text = f"there is {'the fact ' if fact else ''}{part.type} {named}{more}"
    events = () if fact else tuple(each.number for each in fits)
    return Hindrance(ABSENT if absent else NOT, text, events=events)
