"""Whether events can be partitioned by a key, so that no match has events of two keys; and the key of each type.

The rule of this module: what it allows is certain. The parts of a rule are joined by equations that hold whenever a
candidate is taken; what a condition behind them says (`where`) comes too late, since the candidate has been chosen.
Facts belong to all keys. An equation with a null or NaN never holds, so that events whose key is such meet no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.domain import FLOAT, INT, Domain
from workbench.errors import Refused
from workbench.tesla import tree as t
from workbench.tesla.resolved import ResolvedRule, RuleSlot, move_to_place
from workbench.tesla.rule_set import RuleSet

ODD = 0x9E3779B97F4A7C15
"""2^64 by the golden ratio: a product with it has its best bits at the top."""
_Valued = tuple[Any, ...]
"""What has a value in a match: a parameter, an attribute of a part, a literal."""
_SameTerms = dict[_Valued, frozenset[_Valued]]
"""Terms that have one value in every match, by each: what is assigned, and what an equation that holds says."""
_Pairs = frozenset[tuple[str, str]]
_Choices = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class RulePartition:
    """How events are told apart.

    Attributes
    ----------
    keys: of each type that matters the attribute that is its key; events of other types may be anywhere.
    reasons: why they cannot be told apart, if they cannot; there are no keys then.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()

    def see(self, what: str) -> None:
        """Refused, with the reasons, where there are any."""
        if self.reasons:
            more = f" (and {len(self.reasons) - 1} more)" if len(self.reasons) > 1 else ""
            hint = "join all parts of each rule by equations on one attribute, or leave the backend out"
            raise Refused(f"{what}: {self.reasons[0]}{more}", hint=hint)


def rule_partition(rules: RuleSet) -> RulePartition:
    """The keys by which a rule set can be split, or why there are none.

    Joined parts of a rule have the same value in the keys of their types; what a rule emits has that of its trigger,
    and so have the values for which it is silent on its own.
    """
    keyed = _find_keyed_types(rules)
    found = {rule.name: list(_find_links(rule, rules, keyed)) for rule in rules.resolved}
    reasons = [f"rule '{name}': {link.missing}" for name, links in found.items() for link in links if not link.pairs]
    if reasons:
        return RulePartition(reasons=tuple(reasons))
    links = [link for some in found.values() for link in some]
    choices = {name: frozenset(rules.declarations[name].positions) for name in keyed}
    narrowed = _narrow(choices, links)
    if narrowed is None:
        return RulePartition(reasons=(_find_conflict(choices, found),))
    keys = _choose(narrowed, links)
    return RulePartition(keys) if keys is not None else RulePartition(reasons=("no choice of keys fits all rules",))


def _find_conflict(choices: _Choices, found: Mapping[str, list[_Link]]) -> str:
    """What the first rule asks for that does not go together with those before it."""
    before: list[_Link] = []
    for name, link in ((name, link) for name, links in found.items() for link in links):
        narrowed = _narrow(choices, [*before, link])
        if narrowed is None:
            return f"rule '{name}': {link.conflict(choices)}"
        choices, before = narrowed, [*before, link]
    raise AssertionError("what goes together one by one does so at once")


# --- what rules ask for -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Link:
    """The key of one type says that of another.

    Attributes
    ----------
    pairs: the keys that they may have.
    part: what asks for it, as it is written.
    missing: what is wrong if there are none.
    """

    one: str
    other: str
    pairs: _Pairs
    part: str
    missing: str

    def conflict(self, choices: Mapping[str, frozenset[str]]) -> str:
        """What is wrong where other links leave only these choices."""
        of = self.one if not choices[self.one] & {a for a, _ in self.pairs} else self.other
        mine = sorted({pair[of == self.other and of != self.one] for pair in self.pairs})
        return (
            f"{self.part} needs {of} by {' or '.join(mine)}, and what stands before it needs it by"
            f" {' or '.join(sorted(choices[of]))}"
        )


def _find_keyed_types(rules: RuleSet) -> Collection[str]:
    """The types that have keys: those that meet others, or cause silence, and what they are made of."""
    return rules.graph.find_causes(
        part.type
        for rule in rules.rules
        for part in rule.parts
        if not rules.declarations[part.type].fact and (rule.pause is not None or len(_events(rule, rules)) > 1)
    )


def _events(rule: t.Rule, rules: RuleSet) -> list[t.Predicate | t.Aggregate]:
    return [part for part in rule.parts if not rules.declarations[part.type].fact]


def _find_links(rule: ResolvedRule, rules: RuleSet, keyed: Collection[str]) -> Iterator[_Link]:
    """What a rule asks for."""
    start, declared = rule.trigger.type, rules.declarations
    if start not in keyed:
        return
    same: _SameTerms = {}
    for place, part in enumerate(rule.parts):
        here = dict(same)
        _add_part(here, place, part)
        if t.counts_events(part):
            counts = f"`{part}` counts the events of all keys"
            yield _Link(start, part.type, frozenset(), f"`{part}`", counts)
        elif place and not declared[part.type].fact:
            others = {name: (place, name) for name in declared[part.type].positions}
            pairs = _find_pairs(here, declared[start].positions, others)
            if part.type == start:
                pairs = frozenset(pair for pair in pairs if pair[0] == pair[1])
            yield _Link(start, part.type, pairs, f"`{part}`", _explain_unjoined(part, rule.trigger, declared))
        if t.binds(part):
            same = here
    _add_conditions(same, rule.where_clause)
    if rule.emits in keyed:
        emitted = {each.name: _term(each.value) for each in rule.evaluations}
        pairs = _find_pairs(same, declared[start].positions, emitted)
        if rule.emits == start:
            pairs = frozenset(pair for pair in pairs if pair[0] == pair[1])
        what = f"what it emits has no attribute of its trigger {start}, by which others are joined with {rule.emits}"
        yield _Link(start, rule.emits, pairs, f"`emit {rule.emits}`", what)
    if rule.pause is not None:
        pairs = _find_pairs(same, declared[start].positions, {str(each): _term(each) for each in rule.per})
        own = frozenset((a, a) for a, _ in pairs)
        pause = f"`at most once in {rule.pause}`"
        yield _Link(start, start, own, pause, f"{pause} is for all of them together: add `per` and the key")


def _explain_unjoined(
    part: t.Predicate | t.Aggregate, trigger: t.Predicate, declared: Mapping[str, t.Declaration]
) -> str:  # fmt: skip
    shared = [name for name in declared[trigger.type].positions if name in declared[part.type].positions]
    example = f", as in ({shared[0]} == {trigger.name}.{shared[0]})" if shared else ""
    where = " on the same attribute" if part.type == trigger.type else ""
    return f"`{part}` needs an equation with an attribute of the trigger `{trigger.name}`{where}{example}"


def _add_part(same: _SameTerms, place: int, part: t.Predicate | t.Aggregate) -> None:
    """Add what a part says of an event that it takes."""
    for each in part.assignments:
        _join(same, (place, f"${each.name}"), _term(move_to_place(each.value, place)))
    _add_conditions(same, (move_to_place(each, place) for each in part.constraints))


def _add_conditions(same: _SameTerms, conditions: Iterable[t.Expression]) -> None:
    """Add what conditions say, which hold."""
    for each in t.conjuncts(*conditions):
        if isinstance(each, t.Operation) and each.operator == "==":
            _join(same, *map(_term, each.operands))


def _join(same: _SameTerms, one: _Valued | None, other: _Valued | None) -> None:
    if one is not None and other is not None:
        joined = same.get(one, frozenset([one])) | same.get(other, frozenset([other]))
        same.update(dict.fromkeys(joined, joined))


def _find_pairs(same: _SameTerms, ones: Iterable[str], others: Mapping[str, _Valued | None]) -> _Pairs:
    """The attributes of the trigger, and the names of terms, that are one value."""
    return frozenset(
        (one, name)
        for one in ones
        for name, term in others.items()
        if term is not None and (0, one) in same.get(term, (term,))
    )


def _term(expression: t.Expression) -> _Valued | None:
    """What an expression stands for; None where it is more than a name."""
    if isinstance(expression, RuleSlot):
        return (expression.place, expression.name)
    return ("=", isinstance(expression.value, bool), expression.value) if isinstance(expression, t.Literal) else None


# --- keys that fit --------------------------------------------------------------------------------------------


def _narrow(choices: _Choices, links: Iterable[_Link]) -> dict[str, frozenset[str]] | None:
    """The choices that each link leaves; None where it leaves none for some type."""
    found, links = dict(choices), list(links)
    before: Mapping[str, frozenset[str]] = {}
    while before != found:
        before = dict(found)
        for link in links:
            fitting = [(a, b) for a, b in link.pairs if a in found[link.one] and b in found[link.other]]
            found[link.one] &= {a for a, _ in fitting}
            found[link.other] &= {b for _, b in fitting}
            if not fitting:
                return None
    return found


def _choose(choices: _Choices, links: list[_Link]) -> dict[str, str] | None:
    """One of the choices for each type."""
    several = next((name for name, some in choices.items() if len(some) > 1), None)
    if several is None:
        return {name: next(iter(some)) for name, some in choices.items()}
    for each in sorted(choices[several]):
        narrowed = _narrow({**choices, several: frozenset([each])}, links)
        if narrowed is not None and (found := _choose(narrowed, links)) is not None:
            return found
    return None


# --- hashes of keys -----------------------------------------------------------------------------------------


def hash_keys(values: Any, nulls: Any | None, domain: Domain) -> Any:
    """Hash keys of one domain, as an array of uint64 whose high bits are the ones to take.

    Keys that an equation of a rule finds equal have the same hash: a whole number equals a float, so both are hashed as
    floats. What equals nothing, which is null and NaN, has the hash 0.

    Parameters
    ----------
    values: an array; of texts their numbers in compiled code.
    nulls: an array of bool; None where no key is null.
    """
    import numpy as np

    if domain in (INT, FLOAT):
        values = values.astype(np.float64) + 0.0  # both zeros are the same
        missing = np.isnan(values)
        nulls = missing if nulls is None else nulls | missing
    words = values.astype(np.float64 if domain in (INT, FLOAT) else np.int64, copy=False).view(np.uint64)
    words = (words ^ (words >> np.uint64(32))) * np.uint64(ODD)
    return words if nulls is None else np.where(nulls, np.uint64(0), words)
