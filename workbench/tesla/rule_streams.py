"""Events of rules on streams: the types of streams, the places of attributes, and which may be null.

The rule of this module: an event on a stream is a record or a tuple of the attributes, or its only attribute. The
analysis of nulls is sound: an attribute reported as never null never is. Operators are strict in null, so no operand in
a satisfied constraint or condition is null.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from workbench.core.domain import BOOL, FLOAT, Domain, Enum, Value
from workbench.core.fields import Nullable, Record, Tuple, without_null
from workbench.core.readable import plural
from workbench.core.types import type_row
from workbench.errors import TypingError, did_you_mean
from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.operators import gives_null
from workbench.tesla.resolved import TIME, ResolvedRule, RuleSlot, move_to_part, slots
from workbench.tesla.rule_set import RuleSet

Nulls = Mapping[str, frozenset[str]]
"""The attributes of each type that may be null."""


def record_of(declared: t.Declaration, nulls: Collection[str] | None = None) -> Domain:
    """Return the type of a stream of events of a type: a record of its attributes, bool if it has none.

    Parameters
    ----------
    nulls: the attributes that may be null; None: all.
    """
    some = declared.domains if nulls is None else nulls
    domains = {name: Nullable(domain) if name in some else domain for name, domain in declared.domains.items()}
    return Record(tuple(domains.values()), tuple(domains)) if domains else BOOL


def list_attributes(
    declared: t.Declaration, domain: Domain, *, modelled: bool = False
) -> Iterator[tuple[str, int | None, Domain]]:
    """Yield each attribute with its place in an event of a stream (None: the event itself), and its type there.

    `modelled`: an attribute may also be an enumeration of value names.

    Raises
    ------
    TypingError: an attribute is missing, or has another type.
    """
    names = list(declared.domains)
    if isinstance(domain, Tuple) and not isinstance(domain, Record) and len(domain.fields) != len(names):
        attributes = plural(len(names), "attribute")
        raise TypingError(f"{declared.name} has {attributes}, but events of {domain} have another number")
    for i, (name, target) in enumerate(declared.domains.items()):
        index: int | None = i
        if isinstance(domain, Record):
            if name not in domain.labels:
                hint = did_you_mean(name, domain.labels, "its fields are: ")
                raise TypingError(f"{declared.name} has an attribute '{name}', but {domain} no such field", hint=hint)
            index = domain.labels.index(name)
        elif not isinstance(domain, Tuple):
            index = None
            if len(names) > 1:
                hint = f"use records, as of {record_of(declared)}, or tuples"
                raise TypingError(f"{declared.name} has {len(names)} attributes, but events of {domain} one", hint=hint)
        part = domain.fields[index] if index is not None and isinstance(domain, Tuple) else domain
        if not isinstance(without_null(part), (*type_row(target).carried, *([Enum] if modelled else []))):
            raise TypingError(f"'{name}' of {declared.name} is {t.SPELLED[target]}, but the stream has {part} there")
        yield name, index, part


def value_reader(declared: t.Declaration, domain: Domain) -> Callable[[Value], tuple[Value, ...]]:
    """Make a function that reads the values of attributes from an event of a stream."""
    fields = [(index, declared.domains[name] == FLOAT) for name, index, _ in list_attributes(declared, domain)]

    def read(event: Value) -> tuple[Value, ...]:
        pairs = ((event if index is None else event[index], real) for index, real in fields)
        return tuple([float(value) if real and value is not None else value for value, real in pairs])

    return read


# --- nulls ----------------------------------------------------------------------------------------------


def may_be_null(rules: RuleSet, fed: Nulls) -> Nulls:
    """Return the nullable attributes of all types, given those of the fed types; events of other types never come.

    The result is the least fixed point: a composite has a null only because of a null in its sources.
    """
    nulls: dict[str, frozenset[str]] = {name: fed.get(name, frozenset()) for name in rules.declarations}
    while True:
        before = dict(nulls)
        for rule in rules.resolved:
            nulls[rule.emits] |= _find_emitted_nulls(rule, nulls)
        if nulls == before:
            return nulls


def _find_emitted_nulls(rule: ResolvedRule, nulls: Nulls) -> frozenset[str]:
    """Return the attributes that may be null in a rule's composite."""
    known = set(slots(*rule.where_clause))
    for index, part in enumerate(rule.parts):
        if t.binds(part):
            known |= set(slots(*(move_to_part(each, index) for each in part.constraints)))

    def may(expression: t.Expression) -> bool:
        return any(gives_null(each) or (isinstance(each, RuleSlot) and lacks(each)) for each in t.within(expression))

    def lacks(slot: RuleSlot) -> bool:
        if slot in known or slot.name == TIME:
            return False
        if slot.is_attribute:
            return slot.name in nulls[slot.type.name]
        if slot.value is not None:
            return may(slot.value)
        part = rule.parts[slot.part]
        assert isinstance(part, t.Aggregate)
        return aggregate_row(part).nullable

    return frozenset(each.name for each in rule.evaluations if may(each.value))
