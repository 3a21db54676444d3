"""Partitioning of events by key, such that no match has events of two keys: whether it is possible, and the keys.

The rule of this module: its positive answers are certain. Parts of a rule are joined by equations that hold whenever a
candidate is selected; a condition in `where` comes too late, since the candidate has already been selected.
Facts belong to all keys. An equation with null or NaN never holds, so events with such a key join no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.domain import FLOAT, INT, Domain
from workbench.errors import Refused
from workbench.tesla import tree as t
from workbench.tesla.resolved import ResolvedRule, RuleSlot, move_to_part
from workbench.tesla.rule_set import RuleSet

ODD = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: a product with it is best mixed in its high bits."""
_Valued = tuple[Any, ...]
"""A term with a value in a match: a parameter, an attribute of a part, or a literal."""
_SameTerms = dict[_Valued, frozenset[_Valued]]
"""For each term the terms that equal it in every match, by assignments and equations."""
_Pairs = frozenset[tuple[str, str]]
_Choices = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class RulePartition:
    """The key by which each type of events is partitioned.

    Attributes
    ----------
    keys: for each relevant type the attribute that is its key; events of other types may be in any partition.
    reasons: why no partitioning is possible; then there are no keys.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()

    def see(self, what: str) -> None:
        """Raise Refused with the first reason if no partitioning is possible."""
        if self.reasons:
            more = f" (and {len(self.reasons) - 1} more)" if len(self.reasons) > 1 else ""
            hint = "join all parts of each rule by equations on one attribute, or leave out the backend"
            raise Refused(f"{what}: {self.reasons[0]}{more}", hint=hint)


def rule_partition(rules: RuleSet) -> RulePartition:
    """Return the keys by which events can be partitioned, or the reasons why they cannot.

    Joined parts of a rule have the same value in the keys of their types; so do a rule's composite and its trigger, and
    the values of `per` and the trigger.
    """
    keyed = _find_keyed_types(rules)
    rule_links = {rule.name: list(_find_links(rule, rules, keyed)) for rule in rules.resolved}
    reasons = [
        f"rule '{name}': {link.missing}" for name, links in rule_links.items() for link in links if not link.pairs
    ]
    if reasons:
        return RulePartition(reasons=tuple(reasons))
    links = [link for some in rule_links.values() for link in some]
    choices = {name: frozenset(rules.declarations[name].positions) for name in keyed}
    narrowed = _narrow(choices, links)
    if narrowed is None:
        return RulePartition(reasons=(_find_conflict(choices, rule_links),))
    keys = _choose(narrowed, links)
    return RulePartition(keys) if keys is not None else RulePartition(reasons=("no choice of keys fits all rules",))


def _find_conflict(choices: _Choices, rule_links: Mapping[str, list[_Link]]) -> str:
    """Describe the first requirement of a rule that contradicts those before it."""
    before: list[_Link] = []
    for name, link in ((name, link) for name, links in rule_links.items() for link in links):
        narrowed = _narrow(choices, [*before, link])
        if narrowed is None:
            return f"rule '{name}': {link.conflict(choices)}"
        choices, before = narrowed, [*before, link]
    raise AssertionError("keys that fit one by one fit together")


# --- requirements of rules ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Link:
    """A requirement that the keys of two types go together.

    Attributes
    ----------
    pairs: the pairs of attributes that may be the keys.
    part: its origin in the rule, as text.
    missing: the reason if there are no pairs.
    """

    one: str
    other: str
    pairs: _Pairs
    part: str
    missing: str

    def conflict(self, choices: Mapping[str, frozenset[str]]) -> str:
        """Describe the conflict if other links leave only these choices."""
        of = self.one if not choices[self.one] & {a for a, _ in self.pairs} else self.other
        attributes = sorted({pair[of == self.other and of != self.one] for pair in self.pairs})
        return (
            f"{self.part} needs {of} by {' or '.join(attributes)}, and the part before it needs it by"
            f" {' or '.join(sorted(choices[of]))}"
        )


def _find_keyed_types(rules: RuleSet) -> Collection[str]:
    """Return the types that need keys: those joined with others or subject to a pause, and their causes."""
    return rules.graph.find_causes(
        part.type
        for rule in rules.rules
        for part in rule.parts
        if not rules.declarations[part.type].fact and (rule.pause is not None or len(_events(rule, rules)) > 1)
    )


def _events(rule: t.Rule, rules: RuleSet) -> list[t.Predicate | t.Aggregate]:
    return [part for part in rule.parts if not rules.declarations[part.type].fact]


def _find_links(rule: ResolvedRule, rules: RuleSet, keyed: Collection[str]) -> Iterator[_Link]:
    """Yield the links that a rule requires."""
    start, declared = rule.trigger.type, rules.declarations
    if start not in keyed:
        return
    same: _SameTerms = {}
    for index, part in enumerate(rule.parts):
        here = dict(same)
        _add_part(here, index, part)
        if t.counts_events(part):
            counts = f"`{part}` counts the events of all keys"
            yield _Link(start, part.type, frozenset(), f"`{part}`", counts)
        elif index and not declared[part.type].fact:
            others = {name: (index, name) for name in declared[part.type].positions}
            pairs = _find_pairs(here, declared[start].positions, others, alike=part.type == start)
            yield _Link(start, part.type, pairs, f"`{part}`", _explain_unjoined(part, rule.trigger, declared))
        if t.binds(part):
            same = here
    _add_conditions(same, rule.where_clause)
    if rule.emits in keyed:
        emitted = {each.name: _term(each.value) for each in rule.evaluations}
        pairs = _find_pairs(same, declared[start].positions, emitted, alike=rule.emits == start)
        what = f"{rule.emits}, which others are joined with, has no attribute of its trigger {start}"
        yield _Link(start, rule.emits, pairs, f"`emit {rule.emits}`", what)
    if rule.pause is not None:
        pairs = _find_pairs(same, declared[start].positions, {str(each): _term(each) for each in rule.per})
        own = frozenset((a, a) for a, _ in pairs)
        pause = f"`at most once in {rule.pause}`"
        yield _Link(start, start, own, pause, f"{pause} is for all keys together: add `per` and the key")


def _explain_unjoined(
    part: t.Predicate | t.Aggregate, trigger: t.Predicate, declared: Mapping[str, t.Declaration]
) -> str:  # fmt: skip
    shared = [name for name in declared[trigger.type].positions if name in declared[part.type].positions]
    example = f", as in ({shared[0]} == {trigger.name}.{shared[0]})" if shared else ""
    where = " on the same attribute" if part.type == trigger.type else ""
    return f"`{part}` needs an equation with an attribute of the trigger `{trigger.name}`{where}{example}"


def _add_part(same: _SameTerms, index: int, part: t.Predicate | t.Aggregate) -> None:
    """Add the equalities that hold for an event that a part selects."""
    for each in part.assignments:
        _join(same, (index, f"${each.name}"), _term(move_to_part(each.value, index)))
    _add_conditions(same, (move_to_part(each, index) for each in part.constraints))


def _add_conditions(same: _SameTerms, conditions: Iterable[t.Expression]) -> None:
    """Add the equalities stated by conditions that hold."""
    for each in t.conjuncts(*conditions):
        if isinstance(each, t.Operation) and each.operator == "==":
            _join(same, *map(_term, each.operands))


def _join(same: _SameTerms, one: _Valued | None, other: _Valued | None) -> None:
    if one is not None and other is not None:
        joined = same.get(one, frozenset([one])) | same.get(other, frozenset([other]))
        same.update(dict.fromkeys(joined, joined))


def _find_pairs(
    same: _SameTerms, ones: Iterable[str], others: Mapping[str, _Valued | None], *, alike: bool = False
) -> _Pairs:
    """Return the pairs of a trigger's attribute and the name of a term that are equal; `alike`: with one name."""
    pairs = ((one, name, term) for one in ones for name, term in others.items() if name == one or not alike)
    return frozenset((a, b) for a, b, term in pairs if term is not None and (0, a) in same.get(term, (term,)))


def _term(expression: t.Expression) -> _Valued | None:
    """Return the term of an expression; None if it is neither a name nor a literal."""
    if isinstance(expression, RuleSlot):
        return (expression.part, expression.name)
    return ("=", isinstance(expression.value, bool), expression.value) if isinstance(expression, t.Literal) else None


# --- choice of keys -------------------------------------------------------------------------------------------


def _narrow(choices: _Choices, links: Iterable[_Link]) -> dict[str, frozenset[str]] | None:
    """Return the choices that the links leave; None if no choice is left for some type."""
    remaining, links = dict(choices), list(links)
    before: Mapping[str, frozenset[str]] = {}
    while before != remaining:
        before = dict(remaining)
        for link in links:
            fitting = [(a, b) for a, b in link.pairs if a in remaining[link.one] and b in remaining[link.other]]
            remaining[link.one] &= {a for a, _ in fitting}
            remaining[link.other] &= {b for _, b in fitting}
            if not fitting:
                return None
    return remaining


def _choose(choices: _Choices, links: list[_Link]) -> dict[str, str] | None:
    """Choose one key for each type; None if no choice satisfies all links."""
    several = next((name for name, some in choices.items() if len(some) > 1), None)
    if several is None:
        return {name: next(iter(some)) for name, some in choices.items()}
    for each in sorted(choices[several]):
        narrowed = _narrow({**choices, several: frozenset([each])}, links)
        if narrowed is not None and (keys := _choose(narrowed, links)) is not None:
            return keys
    return None


# --- hashes of keys -----------------------------------------------------------------------------------------


def hash_keys(values: Any, nulls: Any | None, domain: Domain) -> Any:
    """Hash keys of one domain to an array of uint64, of which the high bits are to be used.

    Keys that an equation of a rule finds equal have the same hash: a whole number can equal a float, so both are hashed
    as floats. Null and NaN, which equal nothing, have the hash 0.

    Parameters
    ----------
    values: an array; for texts their numbers in compiled code.
    nulls: an array of bool; None if no key is null.
    """
    import numpy as np

    if domain in (INT, FLOAT):
        values = values.astype(np.float64) + 0.0  # both zeros are equal
        missing = np.isnan(values)
        nulls = missing if nulls is None else nulls | missing
    words = values.astype(np.float64 if domain in (INT, FLOAT) else np.int64, copy=False).view(np.uint64)
    words = (words ^ (words >> np.uint64(32))) * np.uint64(ODD)
    return words if nulls is None else np.where(nulls, np.uint64(0), words)
