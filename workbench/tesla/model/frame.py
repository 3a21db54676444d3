"""What does not change in a run of rules in a model, and what their state consists of.

The rule of this module: names and domains only; what becomes of them is `course`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

from workbench.core.domain import BOOL, Range, Value
from workbench.core.term import TRUE, exactly
from workbench.tesla import tree as t
from workbench.tesla.model.fact_rows import GivenFacts
from workbench.tesla.model.guarded import GuardedValue, ValueTable
from workbench.tesla.model.layout import LineLayout, Tables
from workbench.tesla.model.rates import EventRate
from workbench.tesla.model.retained import EventLine, NewestEvent, RetainedEvent
from workbench.tesla.model.state import VariablePart
from workbench.tesla.model.waits import WaitingMatch, find_remaining
from workbench.tesla.occurrence import Facts
from workbench.tesla.resolved import OWN, ResolvedRule, RuleSlot, slots
from workbench.tesla.rule_set import RuleSet

MEMORY = "rule "
"""What the names of tables of what rules remember begin with."""


class CourseState(NamedTuple):
    """The state of a run.

    Attributes
    ----------
    lined, apart: the events that are kept, in the line and outside of it.
    since: of each rule that is silent for a while how many ticks ago it has emitted something, by its keys.
    waiting: of each rule that waits for something not to come its matches.
    given: the rows of each type of facts that are any.
    begun: whether anything has happened; facts that are any are given before.
    recent: how old the last events are of each type that comes at a rate.
    """

    lined: tuple[RetainedEvent, ...]
    apart: tuple[NewestEvent, ...]
    since: tuple[tuple[Any, ...], ...]
    waiting: tuple[tuple[WaitingMatch, ...], ...]
    given: tuple[GivenFacts, ...]
    begun: Any
    recent: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class RuleFrame:
    """What does not change in a run of rules in a model.

    Attributes
    ----------
    rules: windows are numbers of ticks.
    tables: by type and attribute; of rules by `rule NAME` and `per 1`, ..., and `absent 1`, ...
    given: how many rows a type of facts has at most of which any are given.
    changing: those of them that change in a run; of the others rows are given at its start.
    depth: the most composites in a chain of causes, where nothing else bounds it.
    without: attributes of composites that are times, which a model does not have.
    rates: how often events of a type come at most, where that is assumed.
    noted: the values that were met of what has a table: what the next attempt at a model has tables of.
    """

    rules: RuleSet
    tables: Tables
    layout: LineLayout
    facts: Facts = field(default_factory=dict)
    given: Mapping[str, int] = field(default_factory=dict)
    depth: int = 4
    without: frozenset[tuple[str, str]] = frozenset()
    rates: Mapping[str, EventRate] = field(default_factory=dict)
    noted: dict[tuple[str, str], dict[Any, Value | None]] = field(default_factory=dict)
    changing: frozenset[str] = frozenset()

    def note(self, key: tuple[str, str], found: GuardedValue) -> None:
        """Note the values that something may have."""
        self.noted.setdefault(key, {}).update((exactly(value), value) for value in found.values)

    @cached_property
    def clearing_inputs(self) -> Mapping[str, str]:
        """What inputs are called that say that all rows of a type are gone, and which type that is."""
        return {
            free_name(f"{name}_gone", self.rules.declarations): name for name in self.given if name in self.changing
        }

    @cached_property
    def fact_inputs(self) -> tuple[str, ...]:
        """The inputs that tell of facts."""
        return (*self.given, *self.clearing_inputs)

    @cached_property
    def tracks_start(self) -> bool:
        """Whether it matters that something has happened: rows that do not change are given before."""
        return not self.changing.issuperset(self.given)

    @cached_property
    def types_read(self) -> frozenset[str]:
        """The types of composites that rules look at, as triggers or otherwise."""
        return frozenset(name for rule in self.rules.rules for name in rule.types)

    @cached_property
    def absences(self) -> tuple[ResolvedRule, ...]:
        """The rules that wait for something not to come."""
        return tuple(rule for rule in self.rules.resolved if rule.absence is not None)

    @cached_property
    def pausing(self) -> tuple[ResolvedRule, ...]:
        """The rules that are silent for a while."""
        return tuple(rule for rule in self.rules.resolved if rule.pause is not None)

    @property
    def waits(self) -> Mapping[str, int]:
        """How many matches of each rule may wait for something not to come."""
        return self.layout.waits

    def tags(self, rule: t.Rule) -> int:
        """How many matches of a rule that wait have to be known by events."""
        consumes = any(of == rule.name for of, *_ in self.layout.waiting_consumers)
        return max(self.waits[rule.name], 1) if consumes else 1

    @property
    def longest(self) -> int:
        """After how many ticks without an event nothing changes any more."""
        ages = (column.limit for column in self.layout.columns.values())
        rates = (rate.ticks - 1 for rate in self.rates.values())
        return max((0, *ages, *rates, *(int(rule.pause.amount) for rule in self.pausing if rule.pause)))

    @property
    def rooms(self) -> dict[str, int]:
        """How much each column holds, and how many matches of each rule may wait."""
        columns = {name: column.room for name, column in self.layout.columns.items()}
        return columns | {waiting_of(rule): self.waits[rule.name] for rule in self.absences}

    def with_rooms(self, rooms: Mapping[str, int]) -> RuleFrame:
        """The same with other capacities; of what is not named they are as before."""
        columns = {name: each.with_room(rooms.get(name)) for name, each in self.layout.columns.items()}
        waits = {rule.name: rooms.get(waiting_of(rule), self.waits[rule.name]) for rule in self.absences}
        return replace(self, layout=replace(self.layout, columns=columns, waits=waits))

    def keys(self, rule: t.Rule) -> list[tuple[Any, ...]]:
        """The values for each of which a rule is silent on its own."""
        return list(product(*(self.table(memory_of(rule), f"per {i}").places for i in range(len(rule.per)))))

    def list_remembered(self, rule: ResolvedRule) -> list[tuple[tuple[str, str], ValueTable]]:
        """What a match that waits has to remember: of what it is the value, and its table."""
        found = [(memory_of(rule), f"absent {i}") for i in range(len(list_needed_later(rule)))]
        found += [(rule.emits, each.name) for each in self.evaluations(rule)]
        found += [(memory_of(rule), f"per {i}") for i in range(len(rule.per))]
        return [(key, self.table(*key)) for key in found]

    def table(self, of: str, name: str) -> ValueTable:
        """The values of an attribute, or of what a rule remembers; none where none have been met."""
        return self.tables.get((of, name)) or ValueTable(())

    def evaluations(self, rule: t.Rule) -> list[t.Evaluation]:
        """The attributes that a rule emits in a model: without those that are times."""
        return [each for each in rule.evaluations if (rule.emits, each.name) not in self.without]

    def fact_tables(self, type: str) -> dict[str, ValueTable]:
        """The values of the attributes of facts that are any."""
        return {name: self.table(type, name) for name in self.rules.declarations[type].domains}

    @cached_property
    def template(self) -> CourseState:
        """What the state of a run consists of: variables, and what is the same in all states."""
        lined, apart = EventLine.template(self.layout, self.tables)
        facts = ((type, self.fact_tables(type), most) for type, most in self.given.items())
        rates = enumerate(self.rates.values(), 1)
        return CourseState(
            lined,
            apart,
            since=tuple(self._since(n, rule) for n, rule in enumerate(self.pausing, 1)),
            waiting=tuple(self._waiting(n, rule) for n, rule in enumerate(self.absences, 1)),
            given=tuple(GivenFacts.template(*each) for each in facts),
            begun=VariablePart("begun", BOOL, False) if self.tracks_start else TRUE,
            recent=tuple(tuple(VariablePart(*each) for each in rate.variables(f"rate{n}")) for n, rate in rates),
        )

    def _since(self, number: int, rule: ResolvedRule) -> tuple[VariablePart, ...]:
        assert rule.pause is not None
        most = int(rule.pause.amount)
        return tuple(
            VariablePart(f"since{number}_{i}", Range(0, most), most) for i in range(1, len(self.keys(rule)) + 1)
        )

    def _waiting(self, number: int, rule: ResolvedRule) -> tuple[WaitingMatch, ...]:
        tags, tables = self.tags(rule), self.list_remembered(rule)

        def match(place: int) -> WaitingMatch:
            name = f"{number}_{place}"
            return WaitingMatch(
                VariablePart(f"left{name}", find_remaining(rule), 0),
                VariablePart(f"starts{name}", BOOL, False) if has_several_matches(rule) else TRUE,
                VariablePart(f"tag{name}", Range(0, tags - 1), 0) if tags > 1 else 0,
                tuple(VariablePart(f"waits{name}_{i}", table.domain, 0) for i, (_, table) in enumerate(tables, 1)),
            )

        return tuple(map(match, range(1, self.waits[rule.name] + 1)))


def free_name(name: str, taken: Container[str]) -> str:
    """A name that is not taken, which begins with this one."""
    while name in taken:
        name += "_"
    return name


def has_several_matches(rule: t.Rule) -> bool:
    """Whether a trigger may have several matches."""
    return any(part.policy.many for part in rule.predicates)


def waiting_of(rule: t.Rule) -> str:
    """What the matches of a rule that wait for something not to come are called, as a queue."""
    return f"absent_{rule.name.replace(' ', '_')}"


def memory_of(rule: t.Rule) -> str:
    """The name under which there are tables of what a rule remembers."""
    return f"{MEMORY}{rule.name}"


def list_needed_later(rule: ResolvedRule) -> list[RuleSlot]:
    """What the predicate about what must not come asks of the match."""
    assert rule.absence is not None
    return list(dict.fromkeys(slot for slot in slots(*t.expressions_of(rule.absence)) if slot.place != OWN))


# --- outputs --------------------------------------------------------------------------------------------

CHAIN = "chain"
"""The output with the last composites of chains."""


class ModelOutput(NamedTuple):
    """An output of rules in a model: what of all types has this one, if any, and is of this rule, if any.

    Attributes
    ----------
    chain: the length of the chains of causes whose last composites come out there, if it is about such.
    """

    name: str
    type: str = ""
    rule: str = ""
    chain: int = 0

    def has(self, type: str, rule: str, chain: int) -> bool:
        """Whether a composite of a rule comes out there that is the last of a chain of this length."""
        return self.type in ("", type) and self.rule in ("", rule) and self.chain in (0, chain)

    @property
    def typed(self) -> bool:
        """Whether outputs show their type alone."""
        return not (self.type or self.rule)


def output_of(rule: t.Rule) -> str:
    """What the output is called that has what a rule emits."""
    return f"by_{rule.name.replace(' ', '_')}"
