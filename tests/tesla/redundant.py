"""Random rule sets in which much could be left out, and much only seems so."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from workbench.conformance.generate.rule_cases import DECLARATIONS, LITERALS, RuleCase, grow_case, random_case
from workbench.core.domain import INT
from workbench.tesla import tree as t
from workbench.tesla.check import check_rule_set

_SIGNS = ("==", "!=", "<", "<=", ">", ">=")


def redundant_case(seed: int) -> RuleCase:
    """The case of a number: random rules with parts added to them that say little, nothing, or something else."""
    rng = random.Random(seed)
    case = grow_case(rng.choice) if seed % 4 else random_case(seed, alike=True)
    made = tuple(each for rule in case.rules.rules for each in _rules(rule, rng))
    file = replace(case.rules.file, rules=made)
    return replace(case, rules=check_rule_set(file, "redundant"), trex=False, saved=None)


def _rules(rule: t.Rule, rng: random.Random) -> list[t.Rule]:
    rule = _looser(rule, rng)
    for _ in range(rng.choice((1, 2, 4))):
        rule = rng.choice(_ADDED)(rule, rng)
    return _split(rule, rng) if rng.random() < 0.4 else [rule]


def _looser(rule: t.Rule, rng: random.Random) -> t.Rule:
    """The rule with fewer constraints, so that more comes of it; what ends a cascade stays."""
    rule = replace(rule, where_clause=tuple(each for each in rule.where_clause if rng.random() < 0.2))
    for place in range(0 if rule.trigger.type in "ABCN" else 1, len(rule.parts)):
        part = rule.parts[place]
        fewer = tuple(each for each in part.constraints if rng.random() < 0.2)
        rule = _with(rule, place, replace(part, constraints=fewer))
    return rule


def _comparison(type: str, rng: random.Random, name: str = "") -> t.Expression | None:
    """Of an attribute with a constant, or with itself."""
    domains = DECLARATIONS[type].domains
    if not domains:
        return None
    attribute = rng.choice(list(domains))
    own = t.OtherAttribute(name, attribute) if name else t.OwnAttribute(attribute)
    other = own if rng.random() < 0.2 else t.Literal(rng.choice(LITERALS[domains[attribute]][:4]))
    signs = _SIGNS if domains[attribute] != DECLARATIONS["C"].domains["b"] else _SIGNS[:2]
    return t.Operation(rng.choice(signs), (own, other) if rng.random() < 0.7 else (other, own))


def _constraint(rule: t.Rule, rng: random.Random) -> t.Rule:
    place = rng.randrange(len(rule.parts))
    part = rule.parts[place]
    own = rng.choice(part.constraints) if part.constraints and rng.random() < 0.3 else _comparison(part.type, rng)
    if own is None:
        return rule
    if rng.random() < 0.3 and (other := _comparison(part.type, rng)) is not None:
        own = t.Operation(rng.choice(("and", "or")), (own, other))
    return _with(rule, place, replace(part, constraints=(*part.constraints, own)))


def _condition(rule: t.Rule, rng: random.Random) -> t.Rule:
    part = rng.choice(_named(rule))
    time = t.Operation(rng.choice(_SIGNS), (t.TimeOf(part.name), t.TimeOf(rule.trigger.name)))
    fact = DECLARATIONS[part.type].fact
    found = (
        time if rng.random() < 0.2 and not fact and part in _events(rule) else _comparison(part.type, rng, part.name)
    )
    return rule if found is None else replace(rule, where_clause=(*rule.where_clause, found))


def _negation(rule: t.Rule, rng: random.Random) -> t.Rule:
    """A `not` about what another part is about, in a window like its own, or between it and its anchor."""
    place = rng.randrange(len(rule.parts))
    part = rule.parts[place]
    window, named = part.window, {each.name for each in _events(rule)}
    if not isinstance(part, t.Predicate) or window is None or not window.before:
        return rule
    least = t.Duration(Decimal(rng.choice((0, 1, 2))), window.maximum.unit if window.maximum else "")
    shut: t.EventWindow = rng.choice((window, replace(window, minimum=least)))
    if part.policy.binds and part.name in named and window.of in named and rng.random() < 0.6:
        shut = t.EventWindow((part.name, window.of))
    elif shut.before and shut.maximum and shut.minimum and shut.maximum.amount < shut.minimum.amount:
        return rule
    simple = tuple(each for each in part.constraints if not _reads(each, part))
    added = t.Predicate(t.Policy.NOT, part.type, (), simple if rng.random() < 0.7 else simple[:1], None, shut)
    later = place + 1 if shut.between else rng.randint(max(place, 1), len(rule.parts))
    return replace(rule, predicates=(*rule.predicates[: later - 1], added, *rule.predicates[later - 1 :]))


def _counted(rule: t.Rule, rng: random.Random) -> t.Rule:
    again = [each for each in rule.predicates if isinstance(each, t.Aggregate)]
    if not again or any(each.parameter == "again" for each in again):
        return rule
    part = replace(rng.choice(again), parameter="again")
    read = t.Operation(">=", (t.BoundParameter("again"), t.BoundParameter("again")))
    where = (*rule.where_clause, *([read] if part.function == "COUNT" else []))
    return replace(rule, predicates=(*rule.predicates, part), where_clause=where)


def _idle(rule: t.Rule, rng: random.Random) -> t.Rule:
    chosen = rng.randrange(3)
    if chosen == 0:
        return replace(rule, limit=rule.limit or 1)
    if chosen == 1:
        return replace(rule, pause=rule.pause or t.Duration(Decimal(0)))
    names = tuple(each.name for each in _events(rule))
    return replace(rule, consuming=tuple(dict.fromkeys((*rule.consuming, rng.choice(names)))))


_ADDED: tuple[Callable[[t.Rule, random.Random], t.Rule], ...] = (
    _constraint, _constraint, _constraint, _condition, _condition, _negation, _negation, _counted, _idle,
)  # fmt: skip


def _split(rule: t.Rule, rng: random.Random) -> list[t.Rule]:
    """The rule twice, with a constraint of the trigger each; perhaps both let an event through, perhaps neither."""
    found = [_comparison(rule.trigger.type, rng) for _ in range(2)]
    if None in found:
        return [rule]
    if rng.random() < 0.5 and "x" in DECLARATIONS[rule.trigger.type].domains:
        sign = rng.choice(("==", "==", "<"))
        numbers = rng.sample(LITERALS[INT], 2)
        found = [t.Operation(sign if at else "==", (t.OwnAttribute("x"), t.Literal(n))) for at, n in enumerate(numbers)]
        rule = replace(rule, consuming=(), pause=None, per=())
    trigger = rule.trigger
    return [
        replace(rule, name=f"{rule.name}_{at}", trigger=replace(trigger, constraints=(*trigger.constraints, each)))
        for at, each in enumerate(found)
        if each is not None
    ]


def _named(rule: t.Rule) -> list[t.Predicate]:
    """What is bound, under a name of its own."""
    found = [each for each in rule.parts if isinstance(each, t.Predicate) and each.policy.binds]
    names = [each.name for each in found]
    return [each for each in found if names.count(each.name) == 1]


def _events(rule: t.Rule) -> list[t.Predicate]:
    return [each for each in _named(rule) if not DECLARATIONS[each.type].fact]


def _reads(constraint: t.Expression, part: t.Predicate) -> bool:
    own = {each.name for each in part.assignments}
    return any(isinstance(each, t.BoundParameter) and each.name in own for each in t.within(constraint))


def _with(rule: t.Rule, place: int, part: t.Predicate | t.Aggregate) -> t.Rule:
    if place == 0:
        assert isinstance(part, t.Predicate)
        return replace(rule, trigger=part)
    return replace(rule, predicates=(*rule.predicates[: place - 1], part, *rule.predicates[place:]))
