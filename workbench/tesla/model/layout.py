"""The layout of events in a model of rules: the types, ages, attributes and numbers of events to retain.

The rule of this module: it reads only the text of rules. An event is retained while a predicate or aggregate may
select it, with the attributes that are read; everything on which the rules' results may depend is retained.

Source: design of rules in the model: a column is a queue of events with ages and a capacity; ages run to the longest
chain of windows from a trigger to the column.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeGuard

from workbench.core.domain import Range
from workbench.errors import Refused
from workbench.tesla import tree as t
from workbench.tesla.lookback import Lookback, lookbacks
from workbench.tesla.model.guarded_values import ValueTable
from workbench.tesla.operators import readings
from workbench.tesla.resolved import OWN, ResolvedRule, RuleSlot, as_written, slots
from workbench.tesla.rule_set import RuleSet

MAX_APART = 16
"""Maximum number of events of a column that have slots of their own."""
Tables = Mapping[tuple[str, str], ValueTable]
"""The values of each attribute, by type and name."""
Consumer = tuple[str, int]
"""A rule that consumes events; in compatibility with T-Rex also the place of the predicate, otherwise 0."""


@dataclass(frozen=True)
class Role:
    """A predicate or aggregate of a rule that searches events, with its place and its lookback.

    Attributes
    ----------
    trex: whether its window is open, as in T-Rex.
    """

    rule: ResolvedRule
    index: int
    part: t.Predicate | t.Aggregate
    lookback: Lookback
    trex: bool = False

    @cached_property
    def plain(self) -> tuple[t.Expression, ...]:
        """The constraints that depend on the event alone."""
        return tuple(filter(is_plain, self.part.constraints))

    @cached_property
    def linking_constraints(self) -> tuple[t.Expression, ...]:
        """The other constraints."""
        return tuple(each for each in self.part.constraints if not is_plain(each))


@dataclass(frozen=True)
class ColumnLayout:
    """The retained events of a type.

    Attributes
    ----------
    kind: its number among the columns, from 1 on.
    roles: the predicates and aggregates that select them.
    limit: the maximum age, in ticks, of events selected by time; places: the same by count, in events, from 1 on.
    endless: whether they are selected at any age.
    attributes: the retained attributes, with their index among the attributes of a slot.
    newest: attributes such that only the newest event for each of their values is needed; None: all events are needed.
    apart: the values of these, by places in their tables, if the order of such events does not matter: each has a
            slot of its own, outside the line.
    capacity: the number of events that it holds.
    """

    type: str
    kind: int
    roles: tuple[Role, ...]
    limit: int
    distance: int
    endless: bool
    attributes: Mapping[str, int]
    newest: tuple[str, ...] | None
    apart: tuple[tuple[int, ...], ...]
    capacity: int

    @cached_property
    def alike(self) -> bool:
        """Whether all roles have the same constraints on the event alone, which all retained events then satisfy."""
        return _filters_alike(self.roles)

    @cached_property
    def oldest(self) -> bool:
        """Whether the oldest event is retained in place of the newest."""
        return self.newest is not None and _selects_oldest(self.roles)

    def with_capacity(self, capacity: int | None) -> ColumnLayout:
        """Return the column with another capacity; one with slots apart keeps its own."""
        return self if capacity is None or self.apart else replace(self, capacity=capacity)

    @cached_property
    def filters(self) -> tuple[tuple[t.Expression, ...], ...]:
        """Alternative conditions for retaining an event, each a tuple of constraints as they are written."""
        return tuple(tuple(map(as_written, role.plain)) for role in self.roles)


@dataclass(frozen=True)
class LineLayout:
    """The retained events of rules whose windows are in ticks.

    Attributes
    ----------
    columns: the columns by type.
    sizes: the number of values of each attribute of a slot.
    trex: whether windows and consumption are as in T-Rex.
    waits: the maximum number of waiting matches of each rule.
    tick: the length of a tick, in the unit of times.
    """

    rules: RuleSet
    columns: Mapping[str, ColumnLayout]
    sizes: tuple[int, ...]
    trex: bool = False
    waits: Mapping[str, int] = field(default_factory=dict)
    tick: int = 1

    @cached_property
    def distance(self) -> int:
        """The maximum distance at which an event is selected by count; 0: no window counts."""
        return max((column.distance for column in self.columns.values()), default=0)

    @cached_property
    def ages(self) -> Range:
        """The ages of events; an event retained for another reason than its age stays at one above the maximum."""
        more = any(column.distance or column.endless for column in self.columns.values())
        return Range(0, max(self.oldest, 1) + more)

    @cached_property
    def line_columns(self) -> tuple[ColumnLayout, ...]:
        """The columns whose events are in the line."""
        return tuple(column for column in self.columns.values() if not column.apart)

    @cached_property
    def apart(self) -> tuple[tuple[ColumnLayout, tuple[int, ...]], ...]:
        """The slots outside the line: the column of each, and the values of its attributes."""
        return tuple((column, key) for column in self.columns.values() for key in column.apart)

    @property
    def slots(self) -> int:
        """The number of slots in the line."""
        return sum(column.capacity for column in self.line_columns)

    @cached_property
    def oldest(self) -> int:
        """The maximum age of an event in the line."""
        return max((0, *(column.limit for column in self.line_columns)))

    @cached_property
    def kinds(self) -> Range:
        """The numbers of the columns, and 0 for an empty slot."""
        return Range(0, max(len(self.columns), 1))

    @cached_property
    def consuming(self) -> tuple[Consumer, ...]:
        """The consumers that an event records: rules that could select it again; in T-Rex by predicate."""
        consumers = {
            self.consumer(rule, index): None
            for rule in self.rules.resolved
            for index in sorted(rule.consumed)
            if (index if self.trex else may_select(rule, rule.parts[index].type))
        }
        return tuple(consumers)

    @cached_property
    def waiting_consumers(self) -> tuple[tuple[str, int, int], ...]:
        """The waiting matches that an event records because they will consume it: the consumer, and the match's tag."""
        return tuple((*each, tag) for each in self.consuming for tag in range(self.waits.get(each[0], 0)))

    @property
    def marks(self) -> int:
        """The number of marks of an event for its consumers."""
        return len(self.consuming) + len(self.waiting_consumers)

    def consumer(self, rule: t.Rule, index: int) -> Consumer:
        """Return the consumer of an event bound by the part with an index: the rule, or in T-Rex the part itself."""
        return rule.name, index if self.trex else 0


def roles_of(rule: ResolvedRule, trex: bool) -> Iterator[Role]:
    """Yield the roles of a rule, in the order of its predicates; `trex`: its windows are as in T-Rex."""
    for index, lookback in lookbacks(rule, trex).items():
        part = rule.parts[index]
        if index and not part.policy.later:  # `absent` is decided when an event comes
            yield Role(rule, index, part, lookback, trex)


def is_plain(constraint: t.Expression) -> bool:
    """Whether a constraint reads attributes of its own event only."""
    return all(slot.part == OWN and slot.is_attribute for slot in slots(constraint))


def reads(expression: t.Expression, index: int) -> TypeGuard[RuleSlot]:
    """Whether an expression is an attribute of the event of a part."""
    return isinstance(expression, RuleSlot) and expression.part == index and expression.is_attribute


def may_select(rule: t.Rule, type: str) -> bool:
    """Whether a rule may select events of a type besides its trigger."""
    return any(t.binds(p) and p.type == type for p in rule.predicates)


def lay_out(
    rule_sets: Sequence[RuleSet],
    tables: Tables,
    capacities: Mapping[str, int],
    rest: Mapping[str, int],
    trex: Container[int] = (),
) -> list[LineLayout]:
    """Lay out the retained events for rule sets, equally for all, so that a comparison retains each event once.

    Parameters
    ----------
    rule_sets: rule sets over the same types; windows are in ticks, and finite.
    tables: the values of all attributes of events.
    capacities, rest: capacities of columns by type, and default capacities; a column of which only the newest events
            count has capacity for one of each.
    trex: the indices of the rule sets whose windows and consumption are as in T-Rex.
    """
    by_type: dict[str, list[Role]] = {}
    for number, rules in enumerate(rule_sets):
        for role in (role for rule in rules.resolved for role in roles_of(rule, number in trex)):
            by_type.setdefault(role.part.type, []).append(role)
    columns: dict[str, ColumnLayout] = {}
    for kind, (name, roles) in enumerate(by_type.items(), 1):
        columns[name] = _lay_out_column(name, kind, tuple(roles), tables, rest[name]).with_capacity(
            capacities.get(name)
        )
    sizes = _find_sizes([column for column in columns.values() if not column.apart], tables)
    return [LineLayout(rules, columns, sizes, n in trex) for n, rules in enumerate(rule_sets)]


def _lay_out_column(name: str, kind: int, roles: tuple[Role, ...], tables: Tables, rest: int) -> ColumnLayout:
    """Lay out the column of a type: with the newest events only, or with the given capacity."""
    newest = _find_newest_keys(roles)
    keys = [] if newest is None else [len(tables[name, each]) for each in newest]
    apart = newest is not None and math.prod(keys) <= MAX_APART and _needs_no_order(roles, newest, tables)
    sizes = {each: len(tables[name, each]) for each in _attributes_read(roles)}
    several = sorted((each for each, size in sizes.items() if size > 1), key=lambda each: (-sizes[each], each))
    attributes = {each: index for index, each in enumerate(several)}
    ticks = [role.lookback.time for role in roles if role.lookback.time is not None]
    counts = [role.lookback.count or 0 for role in roles if role.lookback.time is None]
    endless = [role for role in roles if role.lookback.endless]
    if endless and newest is None:
        raise _refuse_endless(endless[0])
    far = max(ticks, default=-1), max(counts, default=0), bool(endless)
    own = tuple(itertools.product(*map(range, keys))) if apart else ()
    capacity = rest if newest is None else min(math.prod(keys), max(rest, 8))
    return ColumnLayout(name, kind, roles, *far, attributes, newest, own, len(own) or capacity)


def _find_sizes(columns: Sequence[ColumnLayout], tables: Tables) -> tuple[int, ...]:
    """Return, for each attribute of a slot, the maximum number of its values in any of these columns."""
    sizes = ([len(tables[column.type, name]) for name in column.attributes] for column in columns)
    return tuple(map(max, itertools.zip_longest(*sizes, fillvalue=0)))


def _refuse_endless(role: Role) -> Refused:
    """Make the error that an unbounded window has no finite model."""
    window = role.part.window
    assert window is not None
    if window.before and window.maximum is None:
        return Refused(
            f"a window without an end, {window}, has no finite model where more than the newest or oldest events count",
            where=window.where,
            hint="write the longest time that matters, within 5 min from ...; or last, and equations",
        )
    return Refused(
        f"{window} goes back by both a time and a number of events, and has no finite model",
        where=window.where,
        hint="let windows that depend on each other all measure times, or all count events",
    )


def _find_newest_keys(roles: Sequence[Role]) -> tuple[str, ...] | None:
    """Return attributes such that only the newest event for each of their values counts; None if more events count.

    This holds if all roles select the last event, or test whether there is one, in a window that ends at the
    trigger, and compare attributes by equality only: whatever holds for an older event then holds for the newer one.
    For unbounded windows the same holds for the oldest event and `first`.
    """
    keys: dict[str, None] = {}
    oldest = _selects_oldest(roles)
    for role in roles:
        part, window, rule = role.part, role.part.window, role.rule
        is_extreme = part.policy.oldest if oldest else part.policy.newest
        if not (isinstance(part, t.Predicate) and (is_extreme or part.policy.forbids)):
            return None
        assert window is not None
        if not window.before or rule.anchors[role.index] != (0,):
            return None
        if role.trex or window.near:
            return None
        if any(rule.parts[index].type == part.type for index in rule.consumed):
            return None
        if sum(t.binds(p) and p.type == part.type for p in rule.predicates) > 1:
            return None
        for constraint in role.linking_constraints:
            key = _find_equated_attribute(constraint)
            if key is None:
                return None
            keys[key] = None
        for constraint in () if _filters_alike(roles) else role.plain:
            keys |= {slot.name: None for slot in slots(constraint)}
    return tuple(keys)


def _selects_oldest(roles: Sequence[Role]) -> bool:
    first = any(role.part.policy.oldest for role in roles)
    windows = (role.part.window for role in roles)
    return first and all(window is not None and window.before and window.maximum is None for window in windows)


def _filters_alike(roles: Sequence[Role]) -> bool:
    return len({frozenset(map(str, role.plain)) for role in roles}) == 1


def _needs_no_order(roles: Sequence[Role], newest: tuple[str, ...], tables: Tables) -> bool:
    """Whether the order of events with different values of these attributes does not matter.

    It does not matter if each predicate finds at most one of them, or only tests whether there is one, and no other
    window depends on it.
    """
    for role in roles:
        part = role.part
        assert isinstance(part, t.Predicate)
        if role.lookback.time is None:
            return False  # such a slot only records the age of its event
        if not part.policy.forbids:
            if not _filters_alike(roles) or set(map(_find_equated_attribute, role.linking_constraints)) != set(newest):
                return False
            if any(role.index in anchors for anchors in role.rule.anchors):
                return False
    return all(tables[roles[0].part.type, name].distinct for name in newest)


def _find_equated_attribute(constraint: t.Expression) -> str | None:
    """Return the attribute of the event that a constraint equates with another value."""
    for sign, one, other in readings(constraint):
        if sign == "==" and reads(one, OWN) and all(slot.part != OWN for slot in slots(other)):
            return one.name
    return None


def _attributes_read(roles: Sequence[Role]) -> set[str]:
    """Return the attributes that are read after an event is retained."""
    same = _filters_alike(roles)
    names: set[str] = set()
    for role in roles:
        expressions = [*role.linking_constraints, *(() if same else role.plain)]
        expressions += [each.value for each in role.part.assignments]
        if role.part.attribute:
            names.add(role.part.attribute)
        read = [slot for slot in slots(*expressions) if slot.part == OWN]
        read += [slot for slot in slots(*role.rule.expressions) if slot.part == role.index]
        names |= {slot.name for slot in read if slot.is_attribute}
    return names | set(_find_newest_keys(roles) or ())
