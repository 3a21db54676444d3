"""Reasons for a missing composite: why each trigger's nearest partial matches stopped.

The rule of this module: every reported reason holds by the formulas, on the events that the run had processed by then.
A partial match is nearer the more parts of the rule it has, then the fewer conditions the next event fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from workbench.core.domain import Value
from workbench.tesla import tree as t
from workbench.tesla.explain.hindrances import (
    CLOCK,
    LIMIT,
    PAUSE,
    POLICY,
    VALUE,
    WHERE,
    Hindrance,
    Nearest,
    candidates_near,
    explain_refuting,
    failing_conditions,
    failing_constraints,
)  # fmt: skip
from workbench.tesla.explain.order import emitting
from workbench.tesla.explain.rule_view import Fit, RuleView, RunRecord, SeenWindow, gap
from workbench.tesla.explain.why import SeenPart, explain_conditions, explain_parts, format_value, path
from workbench.tesla.formulas import candidates
from workbench.tesla.meaning import same_values
from workbench.tesla.resolved import slots
from workbench.tesla.values import Selected, value

MAX_PARTIAL = 2_000
"""Maximum number of partial matches of a trigger that are examined."""
MAX_TRIED = 300
"""Maximum number of partial matches tried with an event other than the one that `first` or `last` has selected."""
MAX_LOOKED_AT = 200_000
"""Maximum number of events examined for the partial matches of a trigger, and again for other choices."""
MAX_COMPARED, MAX_TOLD = 30, 3
"""Maximum numbers of partial matches whose next candidates are compared, and of those reported for a trigger."""
DEEPEST = 3
"""Maximum depth of missing triggers that are explained."""


@dataclass(frozen=True)
class PartialReason:
    """The reason why a partial match stopped.

    Attributes
    ----------
    seen: the parts of the rule in the match.
    index: the place of the part that stopped it; after the last one: `where`, `limit` or another clause.
    text: that part; if a condition on an aggregate fails, the first such aggregate.
    window: the window of that part.
    hindrances: the direct reasons.
    candidates: the nearest candidates that do not satisfy that part; None if a forbidden event stopped it.
    finished: whether the match has all its parts.
    """

    seen: tuple[SeenPart, ...]
    index: int
    text: str
    window: SeenWindow | None
    hindrances: tuple[Hindrance, ...]
    candidates: Nearest | None = None
    finished: bool = False

    @property
    def failures(self) -> int:
        """The minimum number of failing conditions."""
        if self.finished or self.candidates is None or not self.candidates.near:
            return len(self.hindrances)
        return len(self.candidates.near[0].hindrances)


@dataclass(frozen=True)
class TriggerReason:
    """The outcome of one trigger.

    Attributes
    ----------
    trigger: the event.
    composites: its composites.
    reasons: the nearest partial matches, with the reason why each stopped.
    stopped: the number of stopped matches.
    complete: whether all were examined.
    """

    trigger: Fit
    composites: tuple[int, ...]
    reasons: tuple[PartialReason, ...]
    stopped: int
    complete: bool = True


@dataclass(frozen=True)
class RuleReason:
    """The reason why a rule did not emit a composite.

    Attributes
    ----------
    rule: its name.
    time: the time at which a trigger was needed.
    trigger: the type of its trigger.
    triggers: the triggers at that time.
    nearest: if there were none, the triggers before and after.
    cause: why there was no trigger, if it is a composite.
    """

    rule: str
    time: int
    trigger: str
    triggers: tuple[TriggerReason, ...]
    nearest: tuple[Fit, ...] = ()
    cause: MissingReason | None = None


@dataclass(frozen=True)
class MissingReason:
    """The reason why a composite is missing.

    Attributes
    ----------
    type, time, values: the composite asked for; attributes that are not named may have any value.
    there: composites that do match the question.
    rules: the rules that could have emitted it.
    """

    type: str
    time: int
    values: Mapping[str, Value | None]
    there: tuple[int, ...]
    rules: tuple[RuleReason, ...]


def missing_reason(
    record: RunRecord, type: str, time: int, values: Mapping[str, Value | None] | None = None, deepest: int = DEEPEST
) -> MissingReason:
    """Explain why no such composite was emitted at a time.

    Raises
    ------
    InputError: no rule emits this type. EngineGap: the formulas give one.
    """
    order, requirements = record.order, values or {}
    rules = emitting(record.rules, type)
    numbers = order.of_type(type, order.at(time), order.at(time, "right"))
    there = [each for each in order.events(numbers) if order.composite[each.number]]
    composites = tuple(each.number for each in there if _like(record, type, each.values, requirements))
    reasons = () if composites else tuple(_rule(record, rule, time, requirements, deepest) for rule in rules)
    return MissingReason(type, time, requirements, composites, reasons)


def _like(
    record: RunRecord, type: str, values: Sequence[Value | None], requirements: Mapping[str, Value | None]
) -> bool:  # fmt: skip
    attributes = record.attributes(type, values)
    return all(same_values([attributes[name]], [each]) for name, each in requirements.items())


def _rule(
    record: RunRecord, number: int, time: int, requirements: Mapping[str, Value | None], deepest: int
) -> RuleReason:  # fmt: skip
    rule, order = record.rules.rules[number], record.order
    type, began = rule.trigger.type, time - rule.timeout
    triggers = order.of_type(type, order.at(began), order.at(began, "right"))
    reasons = tuple(trigger_reason(RuleView(record, number, int(each)), requirements) for each in triggers)
    if reasons:
        return RuleReason(rule.name, began, type, reasons)
    middle = order.at(began)
    before, after = order.of_type(type, 0, middle)[-1:], order.of_type(type, middle, len(order))[:1]
    near = tuple(record.events((*before, *after)))
    caused = type in record.rules.composites and deepest > 1
    return RuleReason(
        rule.name, began, type, (), near, missing_reason(record, type, began, None, deepest - 1) if caused else None
    )


def trigger_reason(view: RuleView, requirements: Mapping[str, Value | None] | None = None) -> TriggerReason:
    """Explain the outcome of a trigger.

    Parameters
    ----------
    requirements: required attributes; composites with other values count as stopped.

    Raises
    ------
    EngineGap: the formulas emit other composites than the run.
    """
    (trigger,) = view.record.events([view.trigger.number])
    if view.start is None:
        stop = failing_constraints(view, 0, Selected(), trigger.own)
        reason = PartialReason((), 0, str(view.text(0)), None, stop)
        return TriggerReason(trigger, view.composites, (reason,), 1)
    unfinished, finished, complete = _explore_matches(view)
    stopped = _find_stopped(view, finished, requirements or {}, complete)
    indices = sorted({stop.index for stop in unfinished}, reverse=True)
    compared = [stop for index in indices for stop in unfinished if stop.index == index][:MAX_COMPARED]
    both = [*stopped[:MAX_COMPARED], *compared]
    reasons = [_reason(view, stop, len(both)) for stop in both]
    order = sorted(range(len(reasons)), key=lambda i: (-reasons[i].index, reasons[i].failures, i))
    view.looked = 0
    nearest = tuple(_explain_policies(view, reasons[i], both[i].selected, requirements or {}) for i in order[:MAX_TOLD])
    return TriggerReason(trigger, view.composites, nearest, len(unfinished) + len(stopped), complete)


@dataclass(frozen=True)
class _Stop:
    """A partial match that ends before a place."""

    index: int
    selected: Selected
    hindrances: tuple[Hindrance, ...] = ()


def _explore_matches(view: RuleView) -> tuple[list[_Stop], list[Selected], bool]:
    """Return the stopped partial matches, the complete ones, and whether all were examined."""
    unfinished, finished, count = list[_Stop](), list[Selected](), 0
    for selected, index in view.walk(view.start):
        if index == len(view.rule.parts):
            finished.append(selected)
            continue
        if not view.extend(index, selected):
            unfinished.append(_Stop(index, selected))
        count += 1
        if count > MAX_PARTIAL or view.looked > MAX_LOOKED_AT:
            return unfinished, finished, False
    return unfinished, finished, True


def _find_stopped(
    view: RuleView, finished: Sequence[Selected], requirements: Mapping[str, Value | None], complete: bool
) -> list[_Stop]:
    """Return the complete matches without a composite, or with other values than required, with the reasons."""
    stops, end = list[_Stop](), len(view.rule.parts)
    emitted: list[Selected] = []
    passed = 0
    for match in finished:
        stop = _explain_blocked(view, match)
        if stop:
            stops.append(_Stop(end, match, stop))
            continue
        passed += 1
        if view.rule.limit is not None and passed > view.rule.limit:
            text = f"limit {view.rule.limit}: this is match {passed} of its trigger"
            stops.append(_Stop(end, match, (Hindrance(LIMIT, text),)))
        elif (silencing := view.silencing(match, emitted)) is not None:
            stops.append(_Stop(end, match, (_explain_silence(view, match, silencing, emitted),)))
        else:
            emitted.append(match)
            stops += _explain_other_values(view, match, requirements, len(emitted) - 1)
    count = len(view.composites)
    if complete and len(emitted) != count:
        raise gap(view, view.order.event(view.composites[len(emitted)]) if len(emitted) < count else None)
    return stops


def _explain_blocked(view: RuleView, match: Selected) -> tuple[Hindrance, ...]:
    """Return the forbidden events that came, and the conditions that are not true."""
    hindrances = failing_conditions(WHERE, explain_conditions(view.rule.where_clause, match))
    if view.absent is None:
        return hindrances
    index = view.rule.parts.index(view.absent)
    if came := view.find_refuting(match):
        return (explain_refuting(view, index, came, absent=True), *hindrances)
    if view.moment is None:
        text = f"the clock has not passed {view.record.show(view.deadline)}: --until moves it"
        return (Hindrance(CLOCK, text), *hindrances)
    return hindrances


def _explain_silence(view: RuleView, match: Selected, silencing: int, emitted: Sequence[Selected]) -> Hindrance:
    """Make the hindrance that the rule emitted recently."""
    key = view.per(match)
    if silencing < 0:
        at = next(i for i, each in enumerate(emitted) if same_values(view.per(each), key))
        silencing = view.composites[at] if at < len(view.composites) else silencing
    ago = view.deadline - int(view.order.times[silencing])
    per = ", ".join(f"{each} = {format_value(of)}" for each, of in zip(view.rule.per, key, strict=True))
    earlier = f"{view.rule.emits} {view.order.label(silencing)}, {view.record.length(ago)} before"
    pause = view.record.length(int(view.rule.pause.amount)) if view.rule.pause else ""
    text = f"at most once in {pause}{f' per {per}' if per else ''}: there was {earlier}"
    return Hindrance(PAUSE, text, events=(silencing,))


def _explain_other_values(
    view: RuleView, match: Selected, requirements: Mapping[str, Value | None], index: int
) -> list[_Stop]:  # fmt: skip
    """Return a stop if the composite has other values than required."""
    attributes = view.record.attributes(view.rule.emits, view.values(match))
    other = {
        name: attributes[name] for name, each in requirements.items() if not same_values([attributes[name]], [each])
    }
    if not other:
        return []
    number = view.composites[index] if index < len(view.composites) else -1
    text = ", ".join(f"{name} = {format_value(each)}" for name, each in other.items())
    what = f"it has emitted {view.rule.emits} {view.order.label(number)} with {text}"
    return [_Stop(len(view.rule.parts), match, (Hindrance(VALUE, what, events=(number,)),))]


def _reason(view: RuleView, stop: _Stop, among: int) -> PartialReason:
    """Explain why one of several partial matches stopped, without its seen parts."""
    index, selected = stop.index, stop.selected
    if index == len(view.rule.parts):
        about = _aggregate_behind(view, stop)
        if about is None:
            return PartialReason((), index, "", None, stop.hindrances, finished=True)
        index, selected = about
    part, text, window = view.rule.parts[index], str(view.text(index)), view.window(index, selected)
    if part.policy.forbids:
        stopped = (explain_refuting(view, index, view.find_fits(index, selected)),)
        return PartialReason((), index, text, window, stopped)
    return PartialReason(
        (),
        stop.index,
        text,
        window,
        stop.hindrances,
        candidates_near(view, index, selected, among),
        stop.index == len(view.rule.parts),
    )


def _aggregate_behind(view: RuleView, stop: _Stop) -> tuple[int, Selected] | None:
    """Return the first aggregate on which a failing condition depends, and the selection before it."""
    if not any(each.kind == WHERE for each in stop.hindrances):
        return None
    conditions = zip(view.rule.where_clause, view.resolved.where_clause, strict=True)
    untrue = (resolved for each, resolved in conditions if value(each, stop.selected) is not True)
    read = {slot.part for slot in slots(*untrue)}
    for index, before, _ in path(view, stop.selected):
        if index in read and isinstance(view.rule.parts[index], t.Aggregate):
            return index, before
    return None


def _explain_policies(
    view: RuleView, reason: PartialReason, selected: Selected, requirements: Mapping[str, Value | None]
) -> PartialReason:
    """Add the seen parts to a reason, and whether another choice of `first` or `last` would have led further."""
    hindrances = list(reason.hindrances)
    for index, before, after in path(view, selected, reason.index):
        part = view.rule.parts[index]
        if part.policy.single:
            hindrances += _other_choice(view, index, before, after, requirements)
    return replace(reason, seen=explain_parts(view, selected, reason.index), hindrances=tuple(hindrances))


def _other_choice(
    view: RuleView, index: int, before: Selected, after: Selected, requirements: Mapping[str, Value | None]
) -> Iterator[Hindrance]:
    """Yield the choice at a place if another one would have led to a match."""
    predicate, part = view.predicate_in_window(index, before), view.rule.parts[index]
    fact = view.is_fact(part)
    for other in candidates(predicate, before)[:MAX_TRIED]:
        if (other.events, other.facts) == (after.events, after.facts):
            continue
        if view.looked > MAX_LOOKED_AT:
            return
        for match in islice(view.matches(other, index + 1), MAX_TRIED):
            like = _like(view.record, view.rule.emits, view.values(match), requirements)
            if like and view.holds(match) and not view.find_refuting(match):
                took, would = (
                    f"row {each.facts[-1] + 1}" if fact else view.order.label(each.events[-1].number)
                    for each in (after, other)
                )  # fmt: skip
                text = f"{part.policy.value} {part.name} has selected {took}; with {would} there is a match"  # type: ignore[union-attr]
                events = () if fact else (after.events[-1].number, other.events[-1].number)
                yield Hindrance(POLICY, text, events=events)
                return
