"""Laws by which rules are made simpler: what a rule set is rewritten to means the same on every stream.

The rule of this module: a law keeps all composites with their times, values, events and order, under nulls, consumption
and limits, and is stated in one sentence; tests hold each to `meaning` on random rules and streams. In compatibility
with T-Rex, whose windows are open, they are not stated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from workbench.core.units import MICROSECONDS
from workbench.tesla import tree as t
from workbench.tesla.rewriting.known import Known
from workbench.tesla.rewriting.merging import merged
from workbench.tesla.rewriting.sight import Sight, changed, read_by, sights, window_names
from workbench.tesla.rule_set import RuleSet

RulePart = t.Predicate | t.Aggregate


@dataclass(frozen=True)
class Law:
    """A law: its name, what it says, and the rule sets that it makes of one, each with one thing changed."""

    name: str
    says: str
    makes: Callable[[RuleSet], Iterator[RuleSet]]


# --- constraints and conditions -------------------------------------------------------------------------


def _implied(rule: t.Rule) -> Iterator[t.Rule]:
    seen = sights(rule)
    for place, part in enumerate(rule.parts):
        before = held_before(rule, seen, place)
        for fewer, left_out in one_less(part.constraints):
            rest = [seen[place].resolved(each) for each in fewer]
            if Known([*before, *rest]).implies(seen[place].resolved(left_out)):
                yield with_part(rule, place, replace(part, constraints=fewer))
    before = held_before(rule, seen, len(rule.parts))
    for fewer, left_out in one_less(rule.where_clause):
        if Known([*before, *map(seen[-1].resolved, fewer)]).implies(seen[-1].resolved(left_out)):
            yield replace(rule, where_clause=fewer)


def _earlier(rule: t.Rule) -> Iterator[t.Rule]:
    sight = sights(rule)[-1]
    for fewer, moved in one_less(rule.where_clause):
        place = max(sight.needs(moved), default=0)
        part = rule.parts[place]
        times = {sight.names[each.name] for each in t.within(moved) if isinstance(each, t.TimeOf)}
        if not t.binds(part) or part.policy.single or place in times:
            continue

        def own(each: t.Expression, at: int = place) -> t.Expression:
            if isinstance(each, t.OtherAttribute) and sight.names[each.of] == at:
                return t.OwnAttribute(each.name)
            return each

        constraints = (*part.constraints, changed(moved, own))
        yield replace(with_part(rule, place, replace(part, constraints=constraints)), where_clause=fewer)


# --- what nothing reads, or what says nothing -----------------------------------------------------------


def _unread(rule: t.Rule) -> Iterator[t.Rule]:
    for place, part in enumerate(rule.parts):
        if isinstance(part, t.Aggregate):
            if part.parameter not in _parameters(rule):
                yield without_part(rule, place)
            continue
        for each in part.assignments:
            if each.name not in _parameters(rule):
                rest = tuple(other for other in part.assignments if other is not each)
                yield with_part(rule, place, replace(part, assignments=rest))


def _counted_twice(rule: t.Rule) -> Iterator[t.Rule]:
    seen, met = sights(rule), dict[str, str]()
    for place, part in enumerate(rule.parts):
        if isinstance(part, t.Aggregate):
            constraints = tuple(seen[place].resolved(each, -1) for each in part.constraints)
            text = str(replace(part, parameter="", constraints=constraints, window=_placed(part.window, seen[place])))
            first = met.setdefault(text, part.parameter)
            if first != part.parameter:
                yield _renamed(without_part(rule, place), part.parameter, first)


def _idle(rule: t.Rule) -> Iterator[t.Rule]:
    many = [part for part in rule.predicates if part.policy.many]
    if rule.limit is not None and not many:
        yield replace(rule, limit=None)
    if rule.pause is not None and rule.pause.amount == 0:
        yield replace(rule, pause=None, per=())
    looked_for = {each.type for each in rule.predicates if each.policy.selects}
    names = {part.name: part.type for part in rule.binding}
    useful = tuple(dict.fromkeys(name for name in rule.consuming if names[name] in looked_for))
    if useful != rule.consuming:
        yield replace(rule, consuming=useful, consuming_at=())
    for place, part in enumerate(rule.parts):
        window = part.window
        if not isinstance(window, t.WithinWindow) or window.least is None or window.least.amount != 0:
            continue
        if window.most is None or window.most.counts == window.least.counts:
            yield with_part(rule, place, replace(part, window=replace(window, least=None)))


# --- predicates -----------------------------------------------------------------------------------------


def _needless(rule: t.Rule) -> Iterator[t.Rule]:
    seen = sights(rule)
    for place, part in negations(rule):
        empty = Known([*held_before(rule, seen, place), *_resolved(part, seen[place])]).impossible
        covered = any(_covers(rule, seen, other, place) for other, _ in negations(rule) if other != place)
        if empty or covered or any(_newest(rule, seen, other, place) for other in range(1, place)):
            yield without_part(rule, place)


def _covers(rule: t.Rule, seen: Sequence[Sight], wide: int, narrow: int) -> bool:
    """Whether one `not` forbids all that the other forbids."""
    one, other = rule.parts[wide], rule.parts[narrow]
    if one.type != other.type or not _includes(one.window, seen[wide], other.window, seen[narrow]):
        return False
    return _weaker(rule, seen, wide, narrow, max(wide, narrow))


def _newest(rule: t.Rule, seen: Sequence[Sight], last: int, place: int) -> bool:
    """Whether a `not` stands between the last event of a kind and what it is the last before."""
    one, other = rule.parts[last], rule.parts[place]
    if not isinstance(one, t.Predicate) or not one.policy.newest or one.type != other.type:
        return False
    if not isinstance(one.window, t.WithinWindow) or one.window.least is not None:
        return False
    if not isinstance(other.window, t.BetweenWindow):
        return False
    ends = {seen[place].names[other.window.one], seen[place].names[other.window.two]}
    if ends != {last, seen[last].names[one.window.of]}:
        return False
    skipped = [each for each in rule.parts[1:last] if each.policy.binds and each.type == one.type]
    consumed = [each for each in rule.binding if each.name in rule.consuming and each.type == one.type]
    return not skipped and not consumed and _weaker(rule, seen, last, place, place)


def _weaker(rule: t.Rule, seen: Sequence[Sight], weak: int, strong: int, upto: int) -> bool:
    """Whether what satisfies the one part's constraints satisfies the other's, in what is selected up to a place."""
    known = Known([*held_before(rule, seen, upto), *_resolved(rule.parts[strong], seen[strong], -1)])
    return all(map(known.implies, _resolved(rule.parts[weak], seen[weak], -1)))


def _tighter(rule: t.Rule) -> Iterator[t.Rule]:
    seen = sights(rule)
    for place, part in enumerate(rule.parts):
        window = part.window
        if not part.policy.selects or not isinstance(window, t.WithinWindow):
            continue
        for other, forbidden in negations(rule):
            shut = forbidden.window
            if forbidden.type != part.type or not isinstance(shut, t.WithinWindow):
                continue
            if shut.least is None or shut.least.amount == 0:
                continue
            if seen[other].names[shut.of] != seen[place].names[window.of]:
                continue
            inside = no_longer(window.most, shut.most) and no_longer(shut.least, window.most)
            if window.least is not None:
                inside = inside and no_longer(window.least, shut.least)
            if inside and shut.least != window.most and _weaker(rule, seen, other, place, place):
                yield with_part(rule, place, replace(part, window=replace(window, most=shut.least)))


def _sooner(rule: t.Rule) -> Iterator[t.Rule]:
    seen = sights(rule)
    for place, part in enumerate(rule.parts):
        if not isinstance(part, t.Aggregate) and not part.policy.forbids:
            continue
        free = max(read_by(part, seen[place]), default=0) + 1
        for earlier in range(free, place):
            passed = rule.parts[earlier]
            if passed.policy.many:
                others = without_part(rule, place).predicates
                yield replace(rule, predicates=(*others[: earlier - 1], part, *others[earlier - 1 :]))
                break


# --- rules ----------------------------------------------------------------------------------------------


def _never(rules: RuleSet) -> Iterator[RuleSet]:
    for rule in rules.rules:
        held = held_before(rule, seen := sights(rule), len(rule.parts))
        others = tuple(each for each in rules.rules if each is not rule)
        never = Known([*held, *map(seen[-1].resolved, rule.where_clause)]).impossible
        if never and rule.emits in {each.emits for each in others}:
            yield replace(rules, rules=others)


def of_a_rule(makes: Callable[[t.Rule], Iterator[t.Rule]]) -> Callable[[RuleSet], Iterator[RuleSet]]:
    """What is done to one rule, of each rule of a set."""

    def made(rules: RuleSet) -> Iterator[RuleSet]:
        for at, rule in enumerate(rules.rules):
            for other in makes(rule):
                yield replace(rules, rules=(*rules.rules[:at], other, *rules.rules[at + 1 :]))

    return made


LAWS = (
    Law("implied", "what holds by the constraints beside and before it need not be asked", of_a_rule(_implied)),
    Law(
        "never",
        "a rule whose constraints contradict each other emits nothing, and another one emits its type, too",
        _never,
    ),
    Law(
        "idle",
        "a limit without `each`, a pause of 0, a window from 0 on and a consumption of what is never looked for "
        "change nothing",
        of_a_rule(_idle),
    ),
    Law("unread", "a parameter that nothing reads changes nothing", of_a_rule(_unread)),
    Law("counted twice", "aggregates over the same events have the same value", of_a_rule(_counted_twice)),
    Law(
        "earlier",
        "a condition on what the trigger or an `each` brings is a constraint of that one, for all of it is looked at",
        of_a_rule(_earlier),
    ),
    Law(
        "needless not",
        "a `not` holds by itself where nothing satisfies its constraints, where a wider `not` stands beside it, and "
        "between the last such event and what that is before",
        of_a_rule(_needless),
    ),
    Law(
        "tighter",
        "where a `not` forbids what is as old as the far part of a window, nothing is found there",
        of_a_rule(_tighter),
    ),
    Law(
        "sooner",
        "a `not` or an aggregate that hangs on nothing an `each` brings says the same before it, once",
        of_a_rule(_sooner),
    ),
    Law(
        "merged",
        "two rules that differ in one constraint of their trigger, of which no event satisfies both, are one with `or`",
        merged,
    ),
)
"""In the order in which they are tried."""


# --- parts ----------------------------------------------------------------------------------------------


def held_before(rule: t.Rule, seen: Sequence[Sight], upto: int) -> list[t.Expression]:
    """What holds of all that is selected before a place."""
    found: list[t.Expression] = []
    for place, part in enumerate(rule.parts[:upto]):
        if t.binds(part):
            found += _resolved(part, seen[place])
            if isinstance(part.window, t.WithinWindow):
                before = t.TimeOf(str(seen[place].names[part.window.of]))
                found.append(t.Operation("<=", (t.TimeOf(str(place)), before)))
    return found


def _resolved(part: RulePart, sight: Sight, own: int | None = None) -> list[t.Expression]:
    """Its constraints; parameters that it binds itself stand for attributes of the event they are about."""
    renamed = sight if own is None else _about(sight, own)
    return [renamed.resolved(each, own) for each in part.constraints]


def _about(sight: Sight, own: int) -> Sight:
    def leaf(each: t.Expression) -> t.Expression:
        if isinstance(each, t.OtherAttribute) and each.of == str(sight.own):
            return replace(each, of=str(own))
        return each

    stands = {name: (place, changed(each, leaf)) for name, (place, each) in sight.parameters.items()}
    return replace(sight, parameters=stands)


def one_less(constraints: tuple[t.Expression, ...]) -> Iterator[tuple[tuple[t.Expression, ...], t.Expression]]:
    """Constraints without one of them, and that one; the last first, so that what comes first stays."""
    for at in reversed(range(len(constraints))):
        for left_out in reversed(list(t.conjuncts(constraints[at]))):
            rest = tuple(each for each in t.conjuncts(constraints[at]) if each is not left_out)
            yield (*constraints[:at], *rest, *constraints[at + 1 :]), left_out


def negations(rule: t.Rule) -> list[tuple[int, t.Predicate]]:
    """What must not be there, by place."""
    parts = enumerate(rule.parts)
    return [(at, each) for at, each in parts if isinstance(each, t.Predicate) and each.policy.forbids]


def with_part(rule: t.Rule, place: int, part: RulePart) -> t.Rule:
    """The rule with another part at a place."""
    if place == 0:
        assert isinstance(part, t.Predicate)
        return replace(rule, trigger=part)
    return replace(rule, predicates=(*rule.predicates[: place - 1], part, *rule.predicates[place:]))


def without_part(rule: t.Rule, place: int) -> t.Rule:
    """The rule with a part less."""
    return replace(rule, predicates=(*rule.predicates[: place - 1], *rule.predicates[place:]))


def _parameters(rule: t.Rule) -> set[str]:
    """The parameters that something reads."""
    leaves = (leaf for each in rule.expressions for leaf in t.within(each))
    return {leaf.name for leaf in leaves if isinstance(leaf, t.BoundParameter)}


def _renamed(rule: t.Rule, one: str, other: str) -> t.Rule:
    """The rule with another parameter for one."""

    def leaf(each: t.Expression) -> t.Expression:
        return replace(each, name=other) if isinstance(each, t.BoundParameter) and each.name == one else each

    def of(each: t.Expression) -> t.Expression:
        return changed(each, leaf)

    def part_of(part: RulePart) -> RulePart:
        found = replace(part, constraints=tuple(map(of, part.constraints)))
        if isinstance(found, t.Predicate):
            found = replace(found, assignments=tuple(replace(a, value=of(a.value)) for a in found.assignments))
        return found

    return replace(
        rule,
        predicates=tuple(map(part_of, rule.predicates)),
        where_clause=tuple(map(of, rule.where_clause)),
        evaluations=tuple(replace(each, value=of(each.value)) for each in rule.evaluations),
        per=tuple(map(of, rule.per)),
    )


# --- windows --------------------------------------------------------------------------------------------


def _placed(window: t.EventWindow | None, sight: Sight) -> t.EventWindow | None:
    """The window with places for names."""
    if isinstance(window, t.BetweenWindow):
        one, two = sorted(str(sight.names[name]) for name in window_names(window))
        return t.BetweenWindow(one, two)
    return window and replace(window, of=str(sight.names[window.of]))


def _includes(wide: t.EventWindow | None, at: Sight, narrow: t.EventWindow | None, there: Sight) -> bool:
    """Whether one window has all events that the other has."""
    wide, narrow = _placed(wide, at), _placed(narrow, there)
    if wide == narrow:
        return True
    if not isinstance(wide, t.WithinWindow) or not isinstance(narrow, t.WithinWindow) or wide.of != narrow.of:
        return False
    far = wide.most is None or no_longer(narrow.most, wide.most)
    return far and (wide.least is None or no_longer(wide.least, narrow.least))


def no_longer(one: t.Duration | None, other: t.Duration | None) -> bool:
    """Whether one is at most as long as the other, which is known of such as count the same."""
    if one is None or other is None or one.counts != other.counts or bool(one.unit) != bool(other.unit):
        return False
    return _length(one) <= _length(other)


def _length(duration: t.Duration) -> Decimal:
    return duration.amount * MICROSECONDS.get(duration.unit, 1)
