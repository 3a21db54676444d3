"""Laws that simplify rules: a rewritten rule set means the same on every stream.

The rule of this module: a law preserves all composites with their times, values, events and order, under nulls,
consumption and limits, and is stated in one sentence; tests compare it with `meaning` on random rules and streams. Laws
do not apply in compatibility with T-Rex, whose windows are open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from workbench.core.domain import INT
from workbench.core.units import MICROSECONDS
from workbench.tesla import tree as t
from workbench.tesla.resolved import (
    OWN,
    TIME,
    ResolvedRule,
    RuleSlot,
    exact_text,
    map_leaves,
    slots,
    unresolve,
    with_expressions,
)
from workbench.tesla.rewriting.implications import Known, normalize
from workbench.tesla.rewriting.merging import merge_rules
from workbench.tesla.rule_set import RuleSet

RulePart = t.Predicate | t.Aggregate


@dataclass(frozen=True)
class Law:
    """A law: its name, its statement, and a function to rule sets with one change each."""

    name: str
    says: str
    makes: Callable[[RuleSet], Iterator[RuleSet]]


LAWS: list[Law] = []
"""The laws, in the order in which they are tried, which is that of the definitions."""
RuleSetLaw = Callable[[RuleSet], Iterator[RuleSet]]


def law(name: str, says: str) -> Callable[[RuleSetLaw], None]:
    """Add a law; the decorated function yields the rewritten rule sets."""
    return lambda makes: LAWS.append(Law(name, says, makes))


def law_of_a_rule(name: str, says: str) -> Callable[[Callable[[ResolvedRule], Iterator[t.Rule]]], None]:
    """Add a law about one rule; the decorated function yields the rewritten rules, and is applied to each in turn."""

    def add(makes: Callable[[ResolvedRule], Iterator[t.Rule]]) -> None:
        def rewrite_each(rules: RuleSet) -> Iterator[RuleSet]:
            for at, rule in enumerate(rules.resolved):
                for other in makes(rule):
                    yield replace(rules, rules=(*rules.rules[:at], unresolve(other), *rules.rules[at + 1 :]))

        law(name, says)(rewrite_each)

    return add


@law_of_a_rule("implied", "a condition that own or earlier constraints imply need not be evaluated")
def _iterate_implied(rule: ResolvedRule) -> Iterator[t.Rule]:
    return (each.rule for each in leave_out_constraints(rule) if each.known.implies(each.conclusion))


@law("never", "a rule whose constraints contradict each other emits nothing, and another one emits its type, too")
def _never(rules: RuleSet) -> Iterator[RuleSet]:
    for at, rule in enumerate(rules.resolved):
        others = (*rules.rules[:at], *rules.rules[at + 1 :])
        never = Known([*constraints_before(rule, len(rule.parts)), *normalize(rule.where_clause)]).impossible
        if never and rule.emits in {each.emits for each in others}:
            yield replace(rules, rules=others)


@law_of_a_rule(
    "idle",
    "a limit without `each`, a pause of 0, a window from 0 on and the consumption of events never selected "
    "change nothing",
)
def _idle(rule: ResolvedRule) -> Iterator[t.Rule]:
    many = [part for part in rule.predicates if part.policy.many]
    if rule.limit is not None and not many:
        yield replace(rule, limit=None)
    if rule.pause is not None and rule.pause.amount == 0:
        yield replace(rule, pause=None, per=())
    looked_for = {each.type for each in rule.predicates if each.policy.selects}
    consumed = zip(rule.consuming, rule.consumed, strict=True)
    useful = tuple(dict.fromkeys(name for name, index in consumed if rule.parts[index].type in looked_for))
    if useful != rule.consuming:
        yield replace(rule, consuming=useful, consuming_at=())
    for index, part in enumerate(rule.parts):
        window = part.window
        if window is None or window.minimum is None or window.minimum.amount != 0:
            continue
        if window.maximum is None or window.maximum.counts == window.minimum.counts:
            yield with_part(rule, index, replace(part, window=replace(window, minimum=None)))


@law_of_a_rule("unread", "a parameter that nothing reads changes nothing")
def _unread(rule: ResolvedRule) -> Iterator[t.Rule]:
    for index, part in enumerate(rule.parts):
        if isinstance(part, t.Aggregate):
            if part.parameter not in _parameters(rule):
                yield without_part(rule, index)
            continue
        for each in part.assignments:
            if each.name not in _parameters(rule):
                rest = tuple(other for other in part.assignments if other is not each)
                yield with_part(rule, index, replace(part, assignments=rest))


@law_of_a_rule("counted twice", "aggregates over the same events have the same value")
def _count_twice(rule: ResolvedRule) -> Iterator[t.Rule]:
    met = dict[str, str]()
    for index, part in enumerate(rule.parts):
        if isinstance(part, t.Aggregate):
            constraints = tuple(t.OwnAttribute(exact_text(each)) for each in normalize(part.constraints))
            text = str(replace(part, parameter="", constraints=constraints, window=_window_by_positions(rule, index)))
            first = met.setdefault(text, part.parameter)
            if first != part.parameter:
                yield _rename(without_part(rule, index), part.parameter, first)


@law_of_a_rule(
    "earlier",
    "a condition on the trigger or on an `each` is a constraint of that part, since all its events are examined",
)
def _earlier(rule: ResolvedRule) -> Iterator[t.Rule]:
    for fewer, moved in one_less(rule.where_clause):
        index = max((slot.part for slot in slots(moved)), default=0)
        part = rule.parts[index]
        times = {slot.part for slot in slots(moved) if slot.name == TIME}
        if not t.binds(part) or part.policy.single or index in times:
            continue

        def own(each: t.Expression, at: int = index) -> t.Expression:
            if isinstance(each, RuleSlot) and each.part == at and each.is_attribute:
                return t.OwnAttribute(each.name)
            return each

        constraints = (*part.constraints, map_leaves(moved, own))
        yield replace(with_part(rule, index, replace(part, constraints=constraints)), where_clause=fewer)


@law_of_a_rule(
    "needless not",
    "a `not` holds by itself where nothing satisfies its constraints, where there is also a wider `not`, and "
    "between the last such event and what that is before",
)
def _needless(rule: ResolvedRule) -> Iterator[t.Rule]:
    for index, part in negations(rule):
        empty = Known([*constraints_before(rule, index), *normalize(part.constraints, index)]).impossible
        covered = any(_covers(rule, other, index) for other, _ in negations(rule) if other != index)
        if empty or covered or any(_newest(rule, other, index) for other in range(1, index)):
            yield without_part(rule, index)


def _covers(rule: ResolvedRule, wide: int, narrow: int) -> bool:
    """Whether one `not` forbids everything that the other forbids."""
    one, other = rule.parts[wide], rule.parts[narrow]
    if one.type != other.type or not _includes(rule, wide, narrow):
        return False
    return _weaker(rule, wide, narrow, max(wide, narrow))


def _newest(rule: ResolvedRule, last: int, index: int) -> bool:
    """Whether a `not` lies between the last event of a kind and that event's anchor."""
    one, other = rule.parts[last], rule.parts[index]
    if not isinstance(one, t.Predicate) or not one.policy.newest or one.type != other.type:
        return False
    if one.window is None or not one.window.before or one.window.minimum is not None:
        return False
    if other.window is None or not other.window.between:
        return False
    if set(rule.anchors[index]) != {last, *rule.anchors[last]}:
        return False
    skipped = any(each.policy.binds and each.type == one.type for each in rule.parts[1:last])
    consumed = any(rule.parts[each].type == one.type for each in rule.consumed)
    return not skipped and not consumed and _weaker(rule, last, index, index)


def _weaker(rule: ResolvedRule, weak: int, strong: int, upto: int) -> bool:
    """Whether the constraints of one part imply those of the other, given the selection up to a place."""
    known = Known([*constraints_before(rule, upto), *normalize(rule.parts[strong].constraints)])
    return all(map(known.implies, normalize(rule.parts[weak].constraints)))


@law_of_a_rule("tighter", "a window ends where a `not` forbids all events that it would select")
def _tighter(rule: ResolvedRule) -> Iterator[t.Rule]:
    for index, part in enumerate(rule.parts):
        window = part.window
        if not part.policy.selects or window is None or not window.before:
            continue
        for other, forbidden in negations(rule):
            shut = forbidden.window
            if forbidden.type != part.type or shut is None or shut.minimum is None or shut.minimum.amount == 0:
                continue
            if rule.anchors[other] != rule.anchors[index]:
                continue
            inside = no_longer(window.maximum, shut.maximum) and no_longer(shut.minimum, window.maximum)
            if window.minimum is not None:
                inside = inside and no_longer(window.minimum, shut.minimum)
            if inside and shut.minimum != window.maximum and _weaker(rule, other, index, index):
                yield with_part(rule, index, replace(part, window=replace(window, maximum=shut.minimum)))


@law_of_a_rule("sooner", "a `not` or an aggregate that does not depend on an `each` can be evaluated once, before it")
def _sooner(rule: ResolvedRule) -> Iterator[t.Rule]:
    for index, part in enumerate(rule.parts):
        if not isinstance(part, t.Aggregate) and not part.policy.forbids:
            continue
        free = max(read_by(rule, index), default=0) + 1
        for earlier in range(free, index):
            passed = rule.parts[earlier]
            if passed.policy.many:
                others = without_part(rule, index).predicates
                yield replace(rule, predicates=(*others[: earlier - 1], part, *others[earlier - 1 :]))
                break


law(
    "merged",
    "two rules that differ in one constraint of their trigger, of which no event satisfies both, are one with `or`",
)(merge_rules)


# --- parts ----------------------------------------------------------------------------------------------


def constraints_before(rule: ResolvedRule, upto: int) -> list[t.Expression]:
    """Return the constraints that hold for the selection before a place."""
    constraints: list[t.Expression] = []
    for index, part in enumerate(rule.parts[:upto]):
        if t.binds(part):
            constraints += normalize(part.constraints, index)
            if part.window is not None and part.window.before:
                (before,) = rule.anchors[index]
                constraints.append(t.Operation("<=", (_time(index), _time(before))))
    return constraints


def _time(index: int) -> RuleSlot:
    return RuleSlot(index, TIME, INT, None, t.TimeOf(str(index)))


def read_by(rule: t.Rule, index: int) -> set[int]:
    """Return the places before a part on which it depends."""
    read = {slot.part for slot in slots(*t.expressions_of(rule.parts[index]))}
    return (read - {OWN}).union(rule.anchors[index])


class WeakerRule(NamedTuple):
    """A rule without one constraint or condition: the removed one, also normalized as `conclusion`, and the others."""

    rule: t.Rule
    left_out: t.Expression
    conclusion: t.Expression
    known: Known


def leave_out_constraints(rule: ResolvedRule) -> Iterator[WeakerRule]:
    """Yield the rule without each of its constraints and conditions in turn."""
    for index, part in enumerate(rule.parts):
        before = constraints_before(rule, index)
        for fewer, left_out in one_less(part.constraints):
            (constraint,), known = normalize([left_out], index), Known([*before, *normalize(fewer, index)])
            yield WeakerRule(with_part(rule, index, replace(part, constraints=fewer)), left_out, constraint, known)
    before = constraints_before(rule, len(rule.parts))
    for fewer, left_out in one_less(rule.where_clause):
        (constraint,), known = normalize([left_out]), Known([*before, *normalize(fewer)])
        yield WeakerRule(replace(rule, where_clause=fewer), left_out, constraint, known)


def one_less(constraints: tuple[t.Expression, ...]) -> Iterator[tuple[tuple[t.Expression, ...], t.Expression]]:
    """Yield constraints without one of them, and that one; the last first, so that earlier ones remain."""
    for at in reversed(range(len(constraints))):
        for left_out in reversed(list(t.conjuncts(constraints[at]))):
            rest = tuple(each for each in t.conjuncts(constraints[at]) if each is not left_out)
            yield (*constraints[:at], *rest, *constraints[at + 1 :]), left_out


def negations(rule: t.Rule) -> list[tuple[int, t.Predicate]]:
    """Return the `not` predicates of a rule, with their places."""
    parts = enumerate(rule.parts)
    return [(at, each) for at, each in parts if isinstance(each, t.Predicate) and each.policy.forbids]


def with_part(rule: t.Rule, index: int, part: RulePart) -> t.Rule:
    """Return the rule with another part at a place."""
    if index == 0:
        assert isinstance(part, t.Predicate)
        return replace(rule, trigger=part)
    return replace(rule, predicates=(*rule.predicates[: index - 1], part, *rule.predicates[index:]))


def without_part(rule: t.Rule, index: int) -> t.Rule:
    """Return the rule without a part."""
    return replace(rule, predicates=(*rule.predicates[: index - 1], *rule.predicates[index:]))


def _parameters(rule: t.Rule) -> set[str]:
    """Return the parameters that are read."""
    return {slot.name[1:] for slot in slots(*rule.expressions) if slot.is_parameter}


def _rename(rule: t.Rule, one: str, other: str) -> t.Rule:
    """Replace a parameter of a rule by another one."""

    def leaf(each: t.Expression) -> t.Expression:
        return t.BoundParameter(other) if isinstance(each, RuleSlot) and each.name == f"${one}" else each

    return with_expressions(rule, lambda each: map_leaves(each, leaf))


# --- windows --------------------------------------------------------------------------------------------


def _window_by_positions(rule: t.Rule, index: int) -> t.EventWindow | None:
    """Return the window of a part with positions for names."""
    window = rule.parts[index].window
    return window and replace(window, names=tuple(sorted(map(str, rule.anchors[index]))))


def _includes(rule: t.Rule, wide: int, narrow: int) -> bool:
    """Whether the window of one part contains that of the other."""
    one, other = _window_by_positions(rule, wide), _window_by_positions(rule, narrow)
    if one == other:
        return True
    if one is None or other is None or not (one.before and other.before) or one.of != other.of:
        return False
    far = one.maximum is None or no_longer(other.maximum, one.maximum)
    return far and (one.minimum is None or no_longer(one.minimum, other.minimum))


def no_longer(one: t.Duration | None, other: t.Duration | None) -> bool:
    """Whether one duration is known to be at most as long as the other; False for different kinds of units."""
    if one is None or other is None or one.counts != other.counts or bool(one.unit) != bool(other.unit):
        return False
    return _length_of(one) <= _length_of(other)


def _length_of(duration: t.Duration) -> Decimal:
    return duration.amount * MICROSECONDS.get(duration.unit, 1)
