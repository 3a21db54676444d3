"""Default value sets of attributes in a model.

The rule of this module: rules compare attributes with constants and with each other; values that no rule distinguishes
are merged. So each attribute gets the constants that it is compared with, directly or through others, and values
below, between and above them (two of each where users distinguish them in outputs); an attribute that is
only compared for equality gets the requested number of values.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from string import ascii_lowercase
from typing import NamedTuple

from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain, Value
from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.model.guarded_values import ValueTable
from workbench.tesla.model.origins import AttributeKey, as_fraction, constant_of, origins, origins_of_attribute
from workbench.tesla.occurrence import Facts
from workbench.tesla.operators import is_comparison
from workbench.tesla.resolved import TIME, ResolvedRule, RuleSlot, slots
from workbench.tesla.rule_graph import find_reachable
from workbench.tesla.rule_set import RuleSet

MAX_OF_FACTS = 4
"""Maximum number of values that an attribute of facts contributes to the attributes compared with it."""
ARITHMETIC = ("+", "-", "*", "/", "%")
MANY = 48
"""Number of values of an attribute above which it gets fewer: all pairs of two attributes are computed with."""
DEFAULT_VALUE_COUNT = 2
"""Default number of values of an attribute that rules compare only for equality."""


class ComparedAttributes(NamedTuple):
    """Attributes that are compared with each other, with the constants that they are compared with.

    Attributes
    ----------
    shifts: operators and constants in arithmetic on the attributes.
    ordered: whether a comparison depends on their order.
    nonlinear: whether they are multiplied or divided with each other, so that zero and one may hide a difference.
    """

    attributes: Collection[AttributeKey] = ()
    constants: Sequence[Value] = ()
    shifts: Sequence[tuple[str, Value]] = ()
    ordered: bool = False
    nonlinear: bool = False


def comparison_classes(comparisons: Iterable[ComparedAttributes]) -> Mapping[AttributeKey, ComparedAttributes]:
    """Join the comparisons of attributes that are compared directly or through others; return them by attribute."""
    beside: dict[AttributeKey, list[ComparedAttributes]] = defaultdict(list)
    for each in comparisons:
        for key in each.attributes:
            beside[key].append(each)
    classes: dict[AttributeKey, ComparedAttributes] = {}
    for key in beside:
        if key not in classes:
            alike = find_reachable([key], lambda one: (other for each in beside[one] for other in each.attributes))
            inside = {id(each): each for one in alike for each in beside[one]}.values()
            constants = [value for each in inside for value in each.constants]
            shifts = [shift for each in inside for shift in each.shifts]
            ordered, nonlinear = (any(getattr(each, name) for each in inside) for name in ("ordered", "nonlinear"))
            whole = ComparedAttributes(tuple(alike), constants, shifts, ordered, nonlinear)
            classes |= dict.fromkeys(alike, whole)
    return classes


def _list_comparisons(rules: RuleSet) -> Iterator[ComparedAttributes]:
    for rule in rules.resolved:
        for part in rule.parts:
            if isinstance(part, t.Aggregate):
                row = aggregate_row(part)
                over = [(part.type, part.attribute)] if part.attribute and not row.counts else []
                yield ComparedAttributes(
                    [(rule.name, f"${part.parameter}"), *over], nonlinear=part.declared is not None
                )
            for assigned in part.assignments:
                yield _compare_leaves(rule, assigned.value, (rule.name, f"${assigned.name}"))
            for constraint in part.constraints:
                yield from _list_condition(rules.resolved, rule, constraint)
        for condition in rule.where_clause:
            yield from _list_condition(rules.resolved, rule, condition)
        for emitted in rule.evaluations:
            yield _compare_leaves(rule, emitted.value, (rule.emits, emitted.name))


def _list_condition(
    rules: Sequence[ResolvedRule], rule: ResolvedRule, whole: t.Expression
) -> Iterator[ComparedAttributes]:
    for each in t.within(whole):
        if is_comparison(each):
            compared = _compare_leaves(rule, each, ordered=each.operator not in ("==", "!="))
            pairs = [(side, constant_of(other)) for side, other in itertools.permutations(each.operands)]
            values = (
                origin for side, value in pairs if value is not None for origin in origins(rules, rule, side, value)
            )
            yield compared._replace(constants=[*compared.constants, *values])
    if not isinstance(whole, t.Operation):  # an attribute that is true
        yield _compare_leaves(rule, whole)


def _compare_leaves(
    rule: ResolvedRule, whole: t.Expression, *more: AttributeKey, ordered: bool = False
) -> ComparedAttributes:
    attributes, shifts, nonlinear = list(more), list[tuple[str, Value]](), False
    bare = whole.operands if is_comparison(whole) else ()
    constants = [each for each in map(constant_of, bare) if each is not None]
    for each in t.within(whole):
        if isinstance(each, RuleSlot) and each.name != TIME:
            attributes.append((rule.name if each.is_parameter else each.type.name, each.name))
        elif isinstance(each, t.Operation) and each.operator in ARITHMETIC:
            literals = [leaf.value for leaf in each.operands if isinstance(leaf, t.Literal)]
            shifts += [(each.operator, value) for value in literals if each.operator != "%"]
            constants += [*literals, 0] if each.operator == "%" else []
            nonlinear |= not literals and each.operator in "*/%"
    return ComparedAttributes(attributes, constants, shifts, ordered, nonlinear)


def _add_origins(rule_sets: Sequence[RuleSet], compared: ComparedAttributes) -> ComparedAttributes:
    """Return the comparisons of a question, with the values from which rules compute its constants."""
    rules = [rule for each in rule_sets for rule in each.resolved]
    pairs = itertools.product(compared.attributes, compared.constants)
    values = (origin for key, value in pairs for origin in origins_of_attribute(rules, key, value))
    return compared._replace(constants=[*compared.constants, *values])


def value_tables(
    rule_sets: Sequence[RuleSet],
    count: int | None,
    presets: Mapping[AttributeKey, Sequence[Value | None]],
    facts: Collection[str] = (),
    rows: Facts | None = None,
    compared: Sequence[ComparedAttributes] = (),
    *,
    variety: int = 1,
) -> dict[AttributeKey, ValueTable]:
    """Return the values of the attributes of external events.

    Parameters
    ----------
    count: the number of values of an attribute that is compared only for equality; None: two.
    presets: preset values of some attributes; None is null, which other attributes never are.
    facts: types of facts whose rows are arbitrary.
    rows: the rows of the other facts: events are compared with their values.
    compared: the comparisons of a question about the rules.
    variety: a factor for the default numbers of values, and for the values around constants.
    """
    count = DEFAULT_VALUE_COUNT * variety if count is None else count
    tables: dict[AttributeKey, ValueTable] = {}
    comparisons = [each for rules in rule_sets for each in _list_comparisons(rules)]
    comparisons += [_add_origins(rule_sets, each) for each in compared]
    grouped = comparison_classes((*comparisons, *_fact_comparisons(rule_sets, rows or {})))
    emitted = {(rule.emits, each.name) for rules in rule_sets for rule in rules.rules for each in rule.evaluations}
    keys_read = {attribute for rules in rule_sets for attribute in read_attributes(rules)}
    keys_read |= {attribute for each in compared for attribute in each.attributes}
    for rules in rule_sets:
        for name in (*rules.primitives, *facts):
            for attribute, domain in rules.declarations[name].domains.items():
                key = (name, attribute)
                if key in presets:
                    values: Sequence[Value | None] = presets[key]
                elif key not in keys_read:
                    values = ["a" if domain == STR else domain.default]
                else:
                    one = grouped.get(key, ComparedAttributes())
                    beside = one.ordered + (one.ordered and not emitted.isdisjoint(one.attributes)) + variety - 1
                    constants = _add_differences(one.constants) if variety > 1 else one.constants
                    values = _class_values(domain, one._replace(constants=constants), count, beside)
                tables[key] = ValueTable(float(v) if domain == FLOAT and v is not None else v for v in values)
    return tables


def _fact_comparisons(rule_sets: Sequence[RuleSet], rows: Facts) -> Iterator[ComparedAttributes]:
    """Yield the first values of each attribute of facts."""
    declared = {name: rules.declarations[name] for rules in rule_sets for name in rows if name in rules.declarations}
    for name, each in declared.items():
        for index, attribute in enumerate(each.positions):
            distinct = dict.fromkeys(row[index] for row in rows[name])
            finite = (v for v in distinct if v is not None and not (isinstance(v, float) and not math.isfinite(v)))
            yield ComparedAttributes([(name, attribute)], list(itertools.islice(finite, MAX_OF_FACTS)))


def read_attributes(rules: RuleSet) -> Iterator[AttributeKey]:
    """Yield the attributes of events and facts that some rule reads."""
    for rule in rules.resolved:
        for part in rule.parts:
            if part.attribute:
                yield part.type, part.attribute
        yield from ((slot.type.name, slot.name) for slot in slots(*rule.expressions) if slot.is_attribute)


def _class_values(domain: Domain, one: ComparedAttributes, count: int, beside: int) -> Sequence[Value]:
    """Return values for a class of attributes, fewer beside constants and without opposites if there are many."""
    more = _add_opposites(one.constants) if one.nonlinear else one.constants
    attempts = [(more, beside), (more, min(beside, 1)), (one.constants, min(beside, 1))]
    values = [_values(domain, constants, one.shifts, count, each) for constants, each in attempts]
    return next((each for each in values if len(each) <= MANY), values[-1])


def _values(
    domain: Domain, constants: Sequence[Value], shifts: Sequence[tuple[str, Value]], count: int, beside: int
) -> Sequence[Value]:
    """Return values for a class of attributes; `beside`: the number on each side of what they are compared with."""
    if domain == BOOL:
        return [False, True]
    if domain not in (INT, FLOAT):
        texts = list(dict.fromkeys(each for each in constants if isinstance(each, str)))
        fresh = (name for name in _fresh_names() if name not in texts)
        return texts + [next(fresh) for _ in range(max(count - len(texts), 1))]
    numbers = sorted({as_fraction(each) for each in constants if isinstance(each, int | float) and each is not True})
    if domain == INT:
        numbers = sorted({Fraction(near(each)) for each in numbers for near in (math.floor, math.ceil)})
    if not numbers and not shifts:
        return list(range(count))
    fractions = _values_around(numbers, shifts, max(beside, bool(shifts)))
    return [float(each) if domain == FLOAT else int(each) for each in fractions]


def _add_differences(constants: Sequence[Value]) -> list[Value]:
    """Return constants with their sums and differences, including zero, if there are few."""
    numbers = {each for each in constants if isinstance(each, int | float) and not isinstance(each, bool)}
    more = {a + sign * b for a in numbers for b in numbers for sign in (1, -1)} if len(numbers) <= MAX_OF_FACTS else {}
    return [*constants, *more]


def _add_opposites(constants: Sequence[Value]) -> list[Value]:
    """Return constants with their opposites, and enough numbers to distinguish cubes from squares and from lines."""
    numbers = [each for each in constants if isinstance(each, int | float) and not isinstance(each, bool)]
    return [*constants, *(-each for each in numbers), -1, 0, 1, 2]


def _values_around(numbers: Sequence[Fraction], shifts: Sequence[tuple[str, Value]], beside: int) -> list[Fraction]:
    """Return the numbers, the numbers shifted as in rules, and some values below, between and above them."""
    numbers = numbers or [_base(shifts)]
    shifted = set[Fraction]()
    for sign, shift in shifts:
        if isinstance(shift, int | float):
            by = as_fraction(shift)
            for each in numbers:
                shifted |= {each + by, each - by} if sign in "+-" else {each * by}
    unit = Fraction(1, max(each.denominator for each in (*numbers, *shifted)))
    around = {each + by * unit for each in numbers for by in range(-beside, beside + 1)}
    return sorted({*around, *shifted, min((*numbers, *shifted)) - unit, max((*numbers, *shifted)) + unit})


def _base(shifts: Sequence[tuple[str, Value]]) -> Fraction:
    """Return a number that stays whole when multiplied with the factors in rules."""
    factors = [as_fraction(by) for sign, by in shifts if sign in "*/" and isinstance(by, int | float)]
    return Fraction(math.prod(each.denominator for each in factors) if factors else 0)


def _fresh_names() -> Iterator[str]:
    return (letter * size for size in itertools.count(1) for letter in ascii_lowercase)
