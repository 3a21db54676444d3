"""Upper bounds on the contents of columns, by counting: from the rates of events, and their composites.

The rule of this module: a bound holds for all streams with these rates and the model's values; a stream need not reach
it. A composite comes together with its trigger, or a fixed time later; so in a time slice a rule emits no more than the
matches of its triggers in such a slice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from workbench.core.domain import BOOL, Value
from workbench.core.term import TRUE
from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.model.guarded_values import GuardedValue, holds
from workbench.tesla.model.layout import ColumnLayout, Role, is_plain, reads, roles_of
from workbench.tesla.model.run_constants import RuleFrame, waiting_of
from workbench.tesla.operators import readings
from workbench.tesla.resolved import OWN, ResolvedRule, RuleSlot, expand_parameters, slots
from workbench.tesla.values import Attributes

WITHOUT_END = math.inf
"""No bound."""
MAX_KINDS = 4096
"""Maximum number of kinds of triggers that are distinguished."""


@dataclass
class RuleCounting:
    """The counting of events and composites of rules in a model; `WITHOUT_END` where counting gives no bound.

    Parameters
    ----------
    frame: the frame with columns and rates.
    valued: whether attributes have only the values of the model; otherwise any.
    """

    frame: RuleFrame
    valued: bool = True
    _open: set[str] = field(default_factory=set)

    def count_capacities(self) -> dict[str, float]:
        """Bound the contents of each column, and the number of waiting matches of each rule."""
        columns = {name: self.count_retained(column) for name, column in self.frame.layout.columns.items()}
        return columns | {waiting_of(rule): self.count_waiting(rule) for rule in self.frame.absences}

    def count_arrivals(self, type: str, duration: int) -> float:
        """Bound the number of events of a type within `duration` ticks, both ends included."""
        if type not in self.frame.rules.composites:
            rate = self.frame.rates.get(type)
            return WITHOUT_END if rate is None else rate.within(duration)
        with self._entering(f"comes {type}") as again:
            rules = () if again else [rule for rule in self.frame.rules.resolved if rule.emits == type]
            return WITHOUT_END if again else sum(self._count_emitted(rule, duration) for rule in rules)

    def _count_emitted(self, rule: ResolvedRule, duration: int) -> float:
        count = _product(self._count_triggers(rule, duration), self.count_matches(rule))
        if rule.pause is not None and rule.pause.amount:
            count = min(count, self._count_keys(rule) * (duration // int(rule.pause.amount) + 1))
        return count

    def _count_keys(self, rule: ResolvedRule) -> float:
        """Count the tuples of values of `per` of a rule."""
        return max(len(self.frame.keys(rule)), 1) if self.valued or not rule.per else WITHOUT_END

    def _count_kinds(self, type: str, names: Iterable[str]) -> float:
        """Count the combinations of values that attributes of a type have."""
        tables, domains = self.frame.tables, self.frame.rules.declarations[type].domains
        return math.prod(len(tables[type, n]) if self.valued or domains[n] == BOOL else WITHOUT_END for n in names)

    def count_retained(self, column: ColumnLayout) -> float:
        """Bound the number of events in a column."""
        keys = self._count_kinds(column.type, column.newest or ())
        if column.endless:
            return keys
        with self._entering(f"held {column.type}") as again:
            if again:
                return WITHOUT_END if column.newest is None else keys
            recent = 0 if column.limit < 0 else self.count_arrivals(column.type, column.limit)
            return recent + column.distance if column.newest is None else min(keys, recent + column.distance)

    def count_waiting(self, rule: ResolvedRule) -> float:
        """Bound the number of matches of a rule that wait for a deadline."""
        return _product(self._count_triggers(rule, rule.timeout), self._count_combinations(rule))

    def _count_triggers(self, rule: ResolvedRule, duration: int) -> float:
        """Bound the number of triggers of a rule within some ticks, without those that `absent` certainly refutes."""
        return min(self.count_arrivals(rule.trigger.type, duration), self._count_apart(rule, duration))

    def _count_apart(self, rule: ResolvedRule, duration: int) -> float:
        """Bound the number of triggers within some ticks after which no equal event comes before the deadline."""
        names = _keys_awaited_again(rule)
        if names is None:
            return WITHOUT_END
        tables = [self.frame.tables[rule.trigger.type, name] for name in names]
        if any(value is None or value != value for table in tables for value in table.values):
            return WITHOUT_END  # null and NaN equal nothing
        return self._count_kinds(rule.trigger.type, names) * (duration // (rule.timeout + 1) + 1)

    def count_matches(self, rule: ResolvedRule) -> float:
        """Bound the number of composites that a trigger of a rule causes."""
        count = min(WITHOUT_END if rule.limit is None else rule.limit, self._count_combinations(rule))
        if rule.pause is None or not rule.pause.amount:
            return count
        return min(count, 1 if _is_known_by_trigger(rule) else self._count_keys(rule))

    def _count_combinations(self, rule: ResolvedRule) -> float:
        """Bound the number of matches of a trigger: the product of the candidates of all predicates."""
        roles = {role.index: role for role in roles_of(rule, self.frame.layout.trex)}
        count, bound = 1.0, [(rule.trigger.type, 0)]
        for index, part in enumerate(rule.predicates, 1):
            if self._needs_too_many(rule, roles.get(index)):
                return 0
            if not isinstance(part, t.Predicate) or not part.policy.binds:
                continue
            if role := roles.get(index):
                max_candidates = self._candidates(role, bound)
                bound += [(part.type, role.lookback.time)] if role.lookback.time is not None else []
            else:
                max_candidates = self.frame.fixed_facts.get(part.type, len(self.frame.facts.get(part.type, ())))
            count = _product(count, max_candidates if part.policy.many else min(max_candidates, 1))
        return count

    def _needs_too_many(self, rule: ResolvedRule, role: Role | None) -> bool:
        """Whether a rule requires more events by a count than there can be."""
        if role is None or not isinstance(role.part, t.Aggregate) or not aggregate_row(role.part).counts:
            return False
        max_candidates = self._candidates(role, [(rule.trigger.type, 0)])
        return any(_asks_more(each, role.index, max_candidates) for each in rule.where_clause)

    def _candidates(self, role: Role, bound: Sequence[tuple[str, int]]) -> float:
        """Bound the number of candidates of a predicate, given the types and maximum ages of bound events."""
        type, far = role.part.type, role.lookback.time
        held = self.count_retained(self.frame.layout.columns[type])
        if far is None:
            return held
        others = sum(of == type and age <= far for of, age in bound)
        return max(min(held, self.count_arrivals(type, far) - others), 0)

    def count_caused(self, type: str, known: Attributes = MappingProxyType({})) -> float:
        """Bound the number of composites that an event of a type causes when it comes, directly or indirectly.

        Parameters
        ----------
        known: attributes with a fixed value.
        """
        with self._entering(f"caused {type}") as again:
            if again:
                return WITHOUT_END
            rules = [rule for rule in self.frame.rules.resolved if rule.trigger.type == type and rule.absence is None]
            counts = {rule.name: self._with_effects(rule, self.count_matches(rule)) for rule in rules}
            return max(sum(counts[rule.name] for rule in each) for each in self._group_triggered(rules, type, known))

    def _group_triggered(
        self, rules: Sequence[ResolvedRule], type: str, known: Attributes
    ) -> Iterator[Sequence[ResolvedRule]]:
        """Yield, for each kind of events of a type, the rules that such an event may trigger."""
        own = {rule.name: list(filter(is_plain, rule.trigger.constraints)) for rule in rules}
        names = {slot.name for constraints in own.values() for slot in slots(*constraints)}
        values: dict[str, Sequence[Value | None]] = {name: [known[name]] for name in names & set(known)}
        if self.valued and type not in self.frame.rules.composites:
            values |= {name: self.frame.tables[type, name].values for name in names}
        if math.prod(map(len, values.values())) > MAX_KINDS:
            yield rules
            return
        for combination in itertools.product(*values.values()):
            event = dict(zip(values, combination, strict=True))
            yield [rule for rule in rules if all(_may_hold(each, event) for each in own[rule.name])]

    def count_due(self) -> float:
        """Bound the number of composites at a moment at which deadlines pass."""
        rules = self.frame.absences
        counts = ((rule, _product(self._count_triggers(rule, 0), self.count_matches(rule))) for rule in rules)
        return sum(self._with_effects(*each) for each in counts)

    def _with_effects(self, rule: ResolvedRule, count: float) -> float:
        emitted = {each.name: each.value.value for each in rule.evaluations if isinstance(each.value, t.Literal)}
        return _product(count, 1 + self.count_caused(rule.emits, emitted))

    @contextmanager
    def _entering(self, question: str) -> Iterator[bool]:
        """Enter a question, and yield whether its answer depends on itself."""
        again = question in self._open
        self._open.add(question)
        try:
            yield again
        finally:
            if not again:
                self._open.discard(question)


def _keys_awaited_again(rule: ResolvedRule) -> list[str] | None:
    """Return the attributes by which a trigger is the absent event of an earlier trigger; None if it need not be."""
    part, trigger = rule.absence, rule.trigger
    if part is None or part.type != trigger.type or part.assignments:
        return None
    keys, own = list[str](), {str(each) for each in trigger.constraints}
    for each in part.constraints:
        sides = [(one, expand_parameters(other)) for sign, one, other in readings(each) if sign == "=="]
        names = [one.name for one, other in sides if reads(one, OWN) and reads(other, 0) and one.name == other.name]
        if not names and not (is_plain(each) and str(each) in own):
            return None
        keys += names[:1]
    return keys


def _asks_more(condition: t.Expression, index: int, maximum: float) -> bool:
    """Whether a condition requires a count above a maximum."""
    if not isinstance(condition, t.Operation) or condition.operator not in (">", ">=", "=="):
        return False
    one, other = condition.operands
    if not isinstance(one, RuleSlot) or one.part != index or not isinstance(other, t.Literal):
        return False
    least = other.value
    return isinstance(least, int | float) and (maximum <= least if condition.operator == ">" else maximum < least)


def _is_known_by_trigger(rule: ResolvedRule) -> bool:
    """Whether all composites that a rule emits for a trigger have the same values of `per`."""
    return all(slot.part == 0 for slot in slots(*rule.per))


def _may_hold(constraint: t.Expression, event: Attributes) -> bool:
    """Whether a constraint may hold for an event, as far as its attributes are known."""
    unknown = any(slot.name not in event for slot in slots(constraint))
    return unknown or holds([constraint], lambda slot: GuardedValue.constant(event[slot.name])) is TRUE


def _product(one: float, other: float) -> float:
    return one * other if one and other else 0
