"""What a model of rules has to keep of events: which types, how long, which attributes, how many.

The rule of this module: it looks at the text of rules only. An event is kept where some predicate or aggregate may
still ask for it, with the attributes that it is asked for; nothing that the rules' answers could depend on is left out.

Source: design of rules in the model: a column is a queue of events with ages and a capacity; ages run to the longest
chain of windows that leads from a trigger to the column.
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
from workbench.tesla.model.guarded import ValueTable
from workbench.tesla.operators import readings
from workbench.tesla.resolved import OWN, ResolvedRule, RuleSlot, as_written, slots
from workbench.tesla.rule_set import RuleSet

MOST_APART = 16
"""The most events of a column that have slots of their own."""
Tables = Mapping[tuple[str, str], ValueTable]
"""The values of each attribute: by type and name."""
Consumer = tuple[str, int]
"""A rule that consumes events, and in T-Rex the place of the predicate that does; else 0."""


@dataclass(frozen=True)
class Role:
    """A predicate or aggregate of a rule that looks for events: where it stands, and how far back it looks.

    Attributes
    ----------
    trex: its window is open, as in T-Rex.
    """

    rule: ResolvedRule
    place: int
    part: t.Predicate | t.Aggregate
    lookback: Lookback
    trex: bool = False

    @cached_property
    def plain(self) -> tuple[t.Expression, ...]:
        """The constraints that look at the event alone."""
        return tuple(filter(is_plain, self.part.constraints))

    @cached_property
    def linking_constraints(self) -> tuple[t.Expression, ...]:
        """The others."""
        return tuple(each for each in self.part.constraints if not is_plain(each))


@dataclass(frozen=True)
class ColumnLayout:
    """The events of a type that are kept.

    Attributes
    ----------
    kind: its number among the columns, from 1 on.
    roles: what looks for them.
    limit: the greatest age, in ticks, at which anything does by time; places: the same in events, from 1 on, by count.
    endless: they are asked for for ever.
    attributes: those kept, with their place among the attributes of a slot.
    newest: attributes of which it is enough to keep the newest event with the same values; None: all are needed.
    apart: the values of these, by places in their tables, where nobody asks in which order such events have come: each
        has a slot of its own, outside of the line.
    room: how many are kept at most.
    """

    type: str
    kind: int
    roles: tuple[Role, ...]
    limit: int
    places: int
    endless: bool
    attributes: Mapping[str, int]
    newest: tuple[str, ...] | None
    apart: tuple[tuple[int, ...], ...]
    room: int

    @cached_property
    def alike(self) -> bool:
        """Whether all that looks for them has the same constraints on the event alone, which all kept satisfy then."""
        return _filters_alike(self.roles)

    @cached_property
    def oldest(self) -> bool:
        """Whether it is the oldest event that is kept in place of the newest."""
        return self.newest is not None and _selects_oldest(self.roles)

    def with_room(self, room: int | None) -> ColumnLayout:
        """The same with another capacity; one whose slots are known has the room that it needs."""
        return self if room is None or self.apart else replace(self, room=room)

    @cached_property
    def filters(self) -> tuple[tuple[t.Expression, ...], ...]:
        """An event is kept where the constraints of one of these hold, which are as they are written."""
        return tuple(tuple(map(as_written, role.plain)) for role in self.roles)


@dataclass(frozen=True)
class LineLayout:
    """What is kept of events for rules whose windows are numbers of ticks.

    Attributes
    ----------
    columns: by type.
    sizes: of each attribute of a slot, the number of values.
    trex: whether windows and consumption are as in T-Rex.
    waits: how many matches of each rule may wait for something not to come.
    tick: how much time a tick is, in the unit of times.
    """

    rules: RuleSet
    columns: Mapping[str, ColumnLayout]
    sizes: tuple[int, ...]
    trex: bool = False
    waits: Mapping[str, int] = field(default_factory=dict)
    tick: int = 1

    @cached_property
    def places(self) -> int:
        """How many places back an event is kept that is asked for by count; 0: none is."""
        return max((column.places for column in self.columns.values()), default=0)

    @cached_property
    def ages(self) -> Range:
        """Ages of events: what is kept for another reason than its age is no more than too old."""
        more = any(column.places or column.endless for column in self.columns.values())
        return Range(0, max(self.oldest, 1) + more)

    @cached_property
    def line_columns(self) -> tuple[ColumnLayout, ...]:
        """The columns whose events stand in the line."""
        return tuple(column for column in self.columns.values() if not column.apart)

    @cached_property
    def apart(self) -> tuple[tuple[ColumnLayout, tuple[int, ...]], ...]:
        """The slots outside of the line: of which column, and for which values of its attributes."""
        return tuple((column, key) for column in self.columns.values() for key in column.apart)

    @property
    def slots(self) -> int:
        """How many events stand in the line at most."""
        return sum(column.room for column in self.line_columns)

    @cached_property
    def oldest(self) -> int:
        """The greatest age at which an event stands in the line."""
        return max((0, *(column.limit for column in self.line_columns)))

    @cached_property
    def kinds(self) -> Range:
        """The columns, and 0 for an empty slot."""
        return Range(0, max(len(self.columns), 1))

    @cached_property
    def consuming(self) -> tuple[Consumer, ...]:
        """What an event remembers it is consumed by: rules that may select it again; in T-Rex, by each predicate."""
        found = {
            self.consumer(rule, place): None
            for rule in self.rules.resolved
            for place in sorted(rule.consumed)
            if (place if self.trex else may_select(rule, rule.parts[place].type))
        }
        return tuple(found)

    @cached_property
    def waiting_consumers(self) -> tuple[tuple[str, int, int], ...]:
        """By which matches that wait an event will be consumed: for whom, and which of these matches."""
        return tuple((*each, tag) for each in self.consuming for tag in range(self.waits.get(each[0], 0)))

    @property
    def marks(self) -> int:
        """How much an event remembers of what consumes it."""
        return len(self.consuming) + len(self.waiting_consumers)

    def consumer(self, rule: t.Rule, place: int) -> Consumer:
        """For whom an event is consumed that the part at a place has bound: for the rule; in T-Rex, for itself."""
        return rule.name, place if self.trex else 0


def roles_of(rule: ResolvedRule, trex: bool) -> Iterator[Role]:
    """The roles of a rule, in the order of its predicates; `trex`: its windows are as in T-Rex."""
    for place, lookback in lookbacks(rule, trex).items():
        part = rule.parts[place]
        if place and not part.policy.later:  # what must not come later is decided when it comes
            yield Role(rule, place, part, lookback, trex)


def is_plain(constraint: t.Expression) -> bool:
    """Whether a constraint reads attributes of its own event only."""
    return all(slot.place == OWN and slot.is_attribute for slot in slots(constraint))


def reads(expression: t.Expression, place: int) -> TypeGuard[RuleSlot]:
    """Whether an expression is an attribute of the event of a part."""
    return isinstance(expression, RuleSlot) and expression.place == place and expression.is_attribute


def may_select(rule: t.Rule, type: str) -> bool:
    """Whether a rule may select events of a type, behind its trigger."""
    return any(t.binds(p) and p.type == type for p in rule.predicates)


def lay_out(
    rule_sets: Sequence[RuleSet],
    tables: Tables,
    rooms: Mapping[str, int],
    rest: Mapping[str, int],
    trex: Container[int] = (),
) -> list[LineLayout]:
    """What is kept for each of these rule sets: the same for all, so that where they are compared it is kept once.

    Parameters
    ----------
    rule_sets: over the same types; windows are numbers of ticks, and finite.
    tables: the values of all attributes of events.
    rooms, rest: capacities of columns by type, and of the others; one of these of which only the newest events count
        has room for one of each.
    trex: the rule sets whose windows and consumption are as in T-Rex, by number.
    """
    found: dict[str, list[Role]] = {}
    for number, rules in enumerate(rule_sets):
        for role in (role for rule in rules.resolved for role in roles_of(rule, number in trex)):
            found.setdefault(role.part.type, []).append(role)
    columns: dict[str, ColumnLayout] = {}
    for kind, (name, roles) in enumerate(found.items(), 1):
        columns[name] = _lay_out_column(name, kind, tuple(roles), tables, rest[name]).with_room(rooms.get(name))
    sizes = _find_sizes([column for column in columns.values() if not column.apart], tables)
    return [LineLayout(rules, columns, sizes, n in trex) for n, rules in enumerate(rule_sets)]


def _lay_out_column(name: str, kind: int, roles: tuple[Role, ...], tables: Tables, rest: int) -> ColumnLayout:
    """The column of a type of which only the newest events count, or which has so much room."""
    newest = _find_newest_keys(roles)
    keys = [] if newest is None else [len(tables[name, each]) for each in newest]
    apart = newest is not None and math.prod(keys) <= MOST_APART and _needs_no_order(roles, newest, tables)
    sizes = {each: len(tables[name, each]) for each in _attributes_read(roles)}
    several = sorted((each for each, size in sizes.items() if size > 1), key=lambda each: (-sizes[each], each))
    attributes = {each: place for place, each in enumerate(several)}
    ticks = [role.lookback.time for role in roles if role.lookback.time is not None]
    places = [role.lookback.count or 0 for role in roles if role.lookback.time is None]
    endless = [role for role in roles if role.lookback.endless]
    if endless and newest is None:
        raise _refuse_endless(endless[0])
    far = max(ticks, default=-1), max(places, default=0), bool(endless)
    own = tuple(itertools.product(*map(range, keys))) if apart else ()
    room = rest if newest is None else min(math.prod(keys), max(rest, 8))
    return ColumnLayout(name, kind, roles, *far, attributes, newest, own, len(own) or room)


def _find_sizes(columns: Sequence[ColumnLayout], tables: Tables) -> tuple[int, ...]:
    """Of each attribute of a slot that holds events of any of these columns, the most values that it has."""
    sizes = ([len(tables[column.type, name]) for name in column.attributes] for column in columns)
    return tuple(map(max, itertools.zip_longest(*sizes, fillvalue=0)))


def _refuse_endless(role: Role) -> Refused:
    """Why a window that is not bounded has no finite model."""
    window = role.part.window
    assert window is not None
    if window.before and window.most is None:
        return Refused(
            f"a window without an end, {window}, has no finite model where more than the newest or oldest events count",
            where=window.where,
            hint="write the longest time that matters, within 5 min from ...; or last, and equations",
        )
    return Refused(
        f"what {window} reaches lies back by a time and by a number of events, and has no finite model",
        where=window.where,
        hint="let windows that depend on each other all measure times, or all count events",
    )


def _find_newest_keys(roles: Sequence[Role]) -> tuple[str, ...] | None:
    """The attributes of which the newest event alone counts, for those that are equal in them; None: it does not.

    It does where all that looks for the events takes the last one, or asks whether there is one, in a window that ends
    at the trigger, and compares them by equality only: what holds of an older event holds of the newer one then. In
    windows without an end the same is true of the oldest one, and the first.
    """
    found: dict[str, None] = {}
    oldest = _selects_oldest(roles)
    for role in roles:
        part, window, rule = role.part, role.part.window, role.rule
        taken = part.policy.oldest if oldest else part.policy.newest
        if not (isinstance(part, t.Predicate) and (taken or part.policy.forbids)):
            return None
        assert window is not None
        if not window.before or rule.anchors[role.place] != (0,):
            return None
        if role.trex or window.near:
            return None
        if any(rule.parts[place].type == part.type for place in rule.consumed):
            return None
        if sum(t.binds(p) and p.type == part.type for p in rule.predicates) > 1:
            return None
        for constraint in role.linking_constraints:
            key = _find_equated_attribute(constraint)
            if key is None:
                return None
            found[key] = None
        for constraint in () if _filters_alike(roles) else role.plain:
            found |= {slot.name: None for slot in slots(constraint)}
    return tuple(found)


def _selects_oldest(roles: Sequence[Role]) -> bool:
    first = any(role.part.policy.oldest for role in roles)
    windows = (role.part.window for role in roles)
    return first and all(window is not None and window.before and window.most is None for window in windows)


def _filters_alike(roles: Sequence[Role]) -> bool:
    return len({frozenset(map(str, role.plain)) for role in roles}) == 1


def _needs_no_order(roles: Sequence[Role], newest: tuple[str, ...], tables: Tables) -> bool:
    """Whether nobody asks in which order events of different values of these attributes have come.

    They do not where each predicate finds one of them at most, or asks only whether there is one, and no other window
    begins or ends at it.
    """
    for role in roles:
        part = role.part
        assert isinstance(part, t.Predicate)
        if role.lookback.time is None:
            return False  # such a slot knows only how old its event is
        if not part.policy.forbids:
            if not _filters_alike(roles) or set(map(_find_equated_attribute, role.linking_constraints)) != set(newest):
                return False
            if any(role.place in anchors for anchors in role.rule.anchors):
                return False
    return all(tables[roles[0].part.type, name].distinct for name in newest)


def _find_equated_attribute(constraint: t.Expression) -> str | None:
    """The attribute of the event that a constraint sets equal to something else."""
    for sign, one, other in readings(constraint):
        if sign == "==" and reads(one, OWN) and all(slot.place != OWN for slot in slots(other)):
            return one.name
    return None


def _attributes_read(roles: Sequence[Role]) -> set[str]:
    """The attributes that are asked for after an event is kept."""
    same = _filters_alike(roles)
    found: set[str] = set()
    for role in roles:
        expressions = [*role.linking_constraints, *(() if same else role.plain)]
        expressions += [each.value for each in role.part.assignments]
        if role.part.attribute:
            found.add(role.part.attribute)
        read = [slot for slot in slots(*expressions) if slot.place == OWN]
        read += [slot for slot in slots(*role.rule.expressions) if slot.place == role.place]
        found |= {slot.name for slot in read if slot.is_attribute}
    return found | set(_find_newest_keys(roles) or ())
