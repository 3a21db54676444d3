"""Default value sets of attributes in a model.

The rule of this module: rules compare attributes with constants and with each other; values that no rule distinguishes
are merged. So each attribute gets the constants that it is compared with, directly or through others, and values
below, between and above them (two of each where users distinguish them in outputs); an attribute that is
only compared for equality gets the requested number of values.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from workbench.core.domain import FLOAT, STR, Value
from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.model.guarded_values import ValueTable
from workbench.tesla.model.needs import needs
from workbench.tesla.model.origins import AttributeKey, constant_of, origins, origins_of_attribute
from workbench.tesla.model.sample_values import ARITHMETIC, ComparedAttributes, Detail, class_values
from workbench.tesla.occurrence import Facts
from workbench.tesla.operators import is_comparison
from workbench.tesla.resolved import TIME, ResolvedRule, RuleSlot, slots
from workbench.tesla.rule_graph import find_reachable
from workbench.tesla.rule_set import RuleSet

MAX_OF_FACTS = 4
"""Maximum number of values that an attribute of facts contributes to the attributes compared with it."""
_Row = tuple[Any, ...]
DEFAULT_VALUE_COUNT = 2
"""Default number of values of an attribute that rules compare only for equality."""
MAX_DISTINCT = 12
"""Maximum number of such values if rules compare more attributes with each other, or count what they emit by key."""


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
            whole = ComparedAttributes(
                tuple(alike), constants, shifts, any(each.ordered for each in inside),
                any(each.added for each in inside), any(each.nonlinear for each in inside),
            )  # fmt: skip
            classes |= dict.fromkeys(alike, whole)
    return classes


def _list_comparisons(rules: RuleSet, detail: Detail) -> Iterator[ComparedAttributes]:
    sources = rules.resolved if detail is Detail.FULL else []
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
                yield from _list_condition(sources, rule, assigned.value)
            for constraint in part.constraints:
                yield from _list_condition(sources, rule, constraint)
        for condition in rule.where_clause:
            yield from _list_condition(sources, rule, condition)
        for emitted in rule.evaluations:
            yield _compare_leaves(rule, emitted.value, (rule.emits, emitted.name))
            yield from _list_condition(sources, rule, emitted.value)


def _list_condition(
    rules: Sequence[ResolvedRule], rule: ResolvedRule, whole: t.Expression
) -> Iterator[ComparedAttributes]:
    for each in t.within(whole):
        if is_comparison(each):
            compared = _compare_leaves(rule, each, ordered=each.operator not in ("==", "!="))
            pairs = [(side, constant_of(other)) for side, other in itertools.permutations(each.operands) if rules]
            values = (
                origin for side, value in pairs if value is not None for origin in origins(rules, rule, side, value)
            )
            yield compared._replace(constants=[*compared.constants, *values])
    if not isinstance(whole, t.Operation):  # an attribute that is true
        yield _compare_leaves(rule, whole)


def _compare_leaves(
    rule: ResolvedRule, whole: t.Expression, *more: AttributeKey, ordered: bool = False
) -> ComparedAttributes:
    inside = list(t.within(whole))
    leaves = [each for each in inside if isinstance(each, RuleSlot) and each.name != TIME]
    bare = whole.operands if is_comparison(whole) else ()
    return ComparedAttributes.of(
        [*more, *((rule.name if each.is_parameter else each.type.name, each.name) for each in leaves)],
        (each for each in map(constant_of, bare) if each is not None),
        (
            (each.operator, [leaf.value for leaf in each.operands if isinstance(leaf, t.Literal)])
            for each in inside if isinstance(each, t.Operation) and each.operator in ARITHMETIC
        ),
        ordered=ordered,
    )  # fmt: skip


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
    detail: Detail = Detail.FULL,
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
    distinct = {} if count is not None else count_distinct(rule_sets, compared)
    count = DEFAULT_VALUE_COUNT * variety if count is None else count
    tables: dict[AttributeKey, ValueTable] = {}
    comparisons = [each for rules in rule_sets for each in _list_comparisons(rules, detail)]
    comparisons += [each if detail < Detail.FULL else _add_origins(rule_sets, each) for each in compared]
    constants = [value for each in comparisons for value in each.constants]
    grouped = comparison_classes((*comparisons, *_fact_comparisons(rule_sets, rows or {}, constants)))
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
                    more = max(count, min(distinct.get(key, 0), MAX_DISTINCT))
                    one = one._replace(added=one.added or variety > 1)
                    values = class_values(domain, one, more, beside, detail)
                tables[key] = ValueTable(float(v) if domain == FLOAT and v is not None else v for v in values)
    return tables


def count_distinct(rule_sets: Sequence[RuleSet], compared: Sequence[ComparedAttributes]) -> dict[AttributeKey, int]:
    """Return the number of different values of an attribute that rules distinguish.

    It is the number of attributes that one condition compares with each other, or the number of composites, at most
    one for each key, that other rules or the question count.
    """
    thresholds = list(count_thresholds(rule_sets, compared))
    thresholds += [rule.limit + 1 for rules in rule_sets for rule in rules.rules if rule.limit is not None]
    classes = _join_attributes(rule_sets, compared)
    distinct = dict[AttributeKey, int]()
    for rules in rule_sets:
        needed = needs(rules)
        for rule in rules.resolved:
            beside = {(slot.part, slot.type.name, slot.name) for slot in slots(*rule.where_clause) if slot.is_attribute}
            counts = [((type, name), len(beside)) for _, type, name in beside]
            for slot in (each for each in slots(*rule.per) if each.name != TIME):
                key = (rule.name if slot.is_parameter else slot.type.name, slot.name)
                counts.append((key, max(needed[rule.emits], *thresholds, 0)))
            for key, number in counts:
                for each in classes.get(key, [key]):
                    distinct[each] = max(distinct.get(each, 0), number)
    return distinct


def count_thresholds(rule_sets: Sequence[RuleSet], compared: Sequence[ComparedAttributes]) -> Iterator[int]:
    """Yield the numbers of events with which a question gets beyond each constant that it compares a count with.

    Parameters
    ----------
    compared: the comparisons of the question.
    """
    classes = _join_attributes(rule_sets, compared)
    counts = {
        (rule.name, f"${part.parameter}")
        for rules in rule_sets for rule in rules.resolved for part in rule.parts
        if isinstance(part, t.Aggregate) and aggregate_row(part).counts
    }  # fmt: skip
    for each in compared:
        if any(not counts.isdisjoint(classes[key]) for key in each.attributes):
            numbers = (value for value in each.constants if isinstance(value, int | float) and math.isfinite(value))
            yield from (math.floor(value) + 2 for value in numbers if value >= 0)


def _join_attributes(
    rule_sets: Sequence[RuleSet], compared: Sequence[ComparedAttributes]
) -> dict[AttributeKey, Collection[AttributeKey]]:
    comparisons = (each for rules in rule_sets for each in _list_comparisons(rules, Detail.PLAIN))
    classes = comparison_classes((*comparisons, *compared))
    return {key: each.attributes for key, each in classes.items()}


def _fact_comparisons(
    rule_sets: Sequence[RuleSet], rows: Facts, constants: Collection[Value]
) -> Iterator[ComparedAttributes]:
    """Yield the first values of each attribute of facts, and those of rows in which a value is next to a constant."""
    declared = {name: rules.declarations[name] for rules in rule_sets for name in rows if name in rules.declarations}
    for name, each in declared.items():
        near = [row for index in range(len(each.positions)) for row in _rows_near(rows[name], index, constants)]
        for index, attribute in enumerate(each.positions):
            first = itertools.islice(filter(_is_plain, dict.fromkeys(row[index] for row in rows[name])), MAX_OF_FACTS)
            values = dict.fromkeys((*first, *(row[index] for row in near if _is_plain(row[index]))))
            yield ComparedAttributes([(name, attribute)], list(values))


def _rows_near(rows: Iterable[_Row], index: int, constants: Collection[Value]) -> Iterator[_Row]:
    """Yield rows whose values at an index are constants, or next to one."""
    ranked = sorted((row for row in rows if _is_plain(row[index])), key=lambda row: row[index])
    values = [row[index] for row in ranked]
    texts = bool(values) and isinstance(values[0], str)
    for each in dict.fromkeys(each for each in constants if isinstance(each, str) is texts):
        low, high = bisect_left(values, each), bisect_right(values, each)
        yield from (ranked[i] for i in {low - 1, low, high} if 0 <= i < len(ranked))


def _is_plain(value: Value | None) -> bool:
    """Whether a value is neither null nor NaN nor infinite."""
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def read_attributes(rules: RuleSet) -> Iterator[AttributeKey]:
    """Yield the attributes of events and facts that some rule reads."""
    for rule in rules.resolved:
        for part in rule.parts:
            if part.attribute:
                yield part.type, part.attribute
        yield from ((slot.type.name, slot.name) for slot in slots(*rule.expressions) if slot.is_attribute)
