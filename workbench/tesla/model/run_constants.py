"""The constants of a run of rules in a model, and the structure of its state.

The rule of this module: it holds names and domains only; `course` defines how they change.
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
from workbench.tesla.model.fact_rows import FixedFacts
from workbench.tesla.model.guarded_values import GuardedValue, ValueTable
from workbench.tesla.model.layout import LineLayout, Tables
from workbench.tesla.model.rates import EventRate
from workbench.tesla.model.retained import EventLine, NewestEvent, RetainedEvent
from workbench.tesla.model.state import VariablePart
from workbench.tesla.model.waiting_matches import WaitingMatch, find_remaining
from workbench.tesla.occurrence import Facts
from workbench.tesla.resolved import OWN, ResolvedRule, RuleSlot, slots
from workbench.tesla.rule_set import RuleSet

MEMORY = "rule "
"""Prefix of the names of tables for values that rules remember."""


class CourseState(NamedTuple):
    """The state of a run.

    Attributes
    ----------
    lined, apart: the retained events, in the line and outside of it.
    since: for each rule with a pause the ticks since its last emission, by its keys.
    waiting: for each `absent` rule its waiting matches.
    fixed_facts: the rows of each type of arbitrary facts.
    begun: whether an event has come; arbitrary facts come before.
    recent: the ages of the latest events of each type with a rate.
    """

    lined: tuple[RetainedEvent, ...]
    apart: tuple[NewestEvent, ...]
    since: tuple[tuple[Any, ...], ...]
    waiting: tuple[tuple[WaitingMatch, ...], ...]
    fixed_facts: tuple[FixedFacts, ...]
    begun: Any
    recent: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class RuleFrame:
    """The constants of a run of rules in a model.

    Attributes
    ----------
    rules: the rules, with windows in ticks.
    tables: values by type and attribute; for rules by `rule NAME` and `per 1`, ..., and `absent 1`, ...
    fixed_facts: the maximum number of rows of each type of arbitrary facts.
    changing: the types among them that change in a run; rows of the others are given at its start.
    depth: the maximum number of composites in a chain of causes, if nothing else bounds it.
    without: attributes of composites that are times, which a model lacks.
    rates: the assumed maximum rates of events by type.
    noted: the values that steps produce for each table, for the next attempt at a model.
    """

    rules: RuleSet
    tables: Tables
    layout: LineLayout
    facts: Facts = field(default_factory=dict)
    fixed_facts: Mapping[str, int] = field(default_factory=dict)
    depth: int = 4
    without: frozenset[tuple[str, str]] = frozenset()
    rates: Mapping[str, EventRate] = field(default_factory=dict)
    noted: dict[tuple[str, str], dict[Any, Value | None]] = field(default_factory=dict)
    changing: frozenset[str] = frozenset()

    def note(self, key: tuple[str, str], entry: GuardedValue) -> None:
        """Note the possible values of a table's entry."""
        self.noted.setdefault(key, {}).update((exactly(value), value) for value in entry.values)

    @cached_property
    def clearing_inputs(self) -> Mapping[str, str]:
        """The inputs that clear all rows of a type of facts, each with the type."""
        cleared = (name for name in self.fixed_facts if name in self.changing)
        return {free_name(f"{name}_gone", self.rules.declarations): name for name in cleared}

    @cached_property
    def fact_inputs(self) -> tuple[str, ...]:
        """The inputs for facts."""
        return (*self.fixed_facts, *self.clearing_inputs)

    @cached_property
    def types_read(self) -> frozenset[str]:
        """The types that rules read, as triggers or otherwise."""
        return frozenset(name for rule in self.rules.rules for name in rule.types)

    @cached_property
    def absences(self) -> tuple[ResolvedRule, ...]:
        """The rules with `absent`."""
        return tuple(rule for rule in self.rules.resolved if rule.absence is not None)

    @cached_property
    def pausing(self) -> tuple[ResolvedRule, ...]:
        """The rules with a pause."""
        return tuple(rule for rule in self.rules.resolved if rule.pause is not None)

    def tags(self, rule: t.Rule) -> int:
        """Return the number of tags that distinguish the waiting matches of a rule in marks of events."""
        consumes = any(of == rule.name for of, *_ in self.layout.waiting_consumers)
        return max(self.layout.waits[rule.name], 1) if consumes else 1

    @property
    def longest(self) -> int:
        """The number of ticks without an event after which the state no longer changes."""
        ages = (column.limit for column in self.layout.columns.values())
        rates = (rate.ticks - 1 for rate in self.rates.values())
        return max((0, *ages, *rates, *(int(rule.pause.amount) for rule in self.pausing if rule.pause)))

    @property
    def capacities(self) -> dict[str, int]:
        """The capacity of each column, and the maximum number of waiting matches of each rule."""
        columns = {name: column.capacity for name, column in self.layout.columns.items()}
        return columns | {waiting_of(rule): self.layout.waits[rule.name] for rule in self.absences}

    def with_capacities(self, capacities: Mapping[str, int]) -> RuleFrame:
        """Return the frame with other capacities; those that are not named are unchanged."""
        columns = {name: each.with_capacity(capacities.get(name)) for name, each in self.layout.columns.items()}
        waits = {rule.name: capacities.get(waiting_of(rule), self.layout.waits[rule.name]) for rule in self.absences}
        return replace(self, layout=replace(self.layout, columns=columns, waits=waits))

    def keys(self, rule: t.Rule) -> list[tuple[Any, ...]]:
        """Return the possible tuples of values of `per` of a rule."""
        return list(product(*(self.table(memory_of(rule), f"per {i}").places for i in range(len(rule.per)))))

    def list_remembered(self, rule: ResolvedRule) -> list[tuple[tuple[str, str], ValueTable]]:
        """List what a waiting match has to remember: the key of each value, and its table."""
        keys = [(memory_of(rule), f"absent {i}") for i in range(len(list_needed_later(rule)))]
        keys += [(rule.emits, each.name) for each in self.evaluations(rule)]
        keys += [(memory_of(rule), f"per {i}") for i in range(len(rule.per))]
        return [(key, self.table(*key)) for key in keys]

    def table(self, of: str, name: str) -> ValueTable:
        """Return the values of an attribute, or of an entry of a rule's memory; empty if none are known."""
        return self.tables.get((of, name)) or ValueTable(())

    def evaluations(self, rule: t.Rule) -> list[t.Evaluation]:
        """Return the attributes that a rule emits in a model: all except times."""
        return [each for each in rule.evaluations if (rule.emits, each.name) not in self.without]

    def fact_tables(self, type: str) -> dict[str, ValueTable]:
        """Return the values of the attributes of arbitrary facts."""
        return {name: self.table(type, name) for name in self.rules.declarations[type].domains}

    @cached_property
    def template(self) -> CourseState:
        """The structure of a run's state: variables, and constant parts."""
        lined, apart = EventLine.template(self.layout, self.tables)
        facts = ((type, self.fact_tables(type), max_rows) for type, max_rows in self.fixed_facts.items())
        rates = enumerate(self.rates.values(), 1)
        return CourseState(
            lined,
            apart,
            since=tuple(self._since(n, rule) for n, rule in enumerate(self.pausing, 1)),
            waiting=tuple(self._waiting(n, rule) for n, rule in enumerate(self.absences, 1)),
            fixed_facts=tuple(FixedFacts.template(*each) for each in facts),
            begun=TRUE if self.changing.issuperset(self.fixed_facts) else VariablePart("begun", BOOL, False),
            recent=tuple(tuple(VariablePart(*each) for each in rate.variables(f"rate{n}")) for n, rate in rates),
        )

    def _since(self, number: int, rule: ResolvedRule) -> tuple[VariablePart, ...]:
        assert rule.pause is not None
        pause = int(rule.pause.amount)
        return tuple(
            VariablePart(f"since{number}_{i}", Range(0, pause), pause) for i in range(1, len(self.keys(rule)) + 1)
        )

    def _waiting(self, number: int, rule: ResolvedRule) -> tuple[WaitingMatch, ...]:
        tags, tables = self.tags(rule), self.list_remembered(rule)

        def match(index: int) -> WaitingMatch:
            name = f"{number}_{index}"
            return WaitingMatch(
                VariablePart(f"left{name}", find_remaining(rule), 0),
                VariablePart(f"starts{name}", BOOL, False) if has_several_matches(rule) else TRUE,
                VariablePart(f"tag{name}", Range(0, tags - 1), 0) if tags > 1 else 0,
                tuple(VariablePart(f"waits{name}_{i}", table.domain, 0) for i, (_, table) in enumerate(tables, 1)),
            )

        return tuple(map(match, range(1, self.layout.waits[rule.name] + 1)))


def free_name(name: str, names: Container[str]) -> str:
    """Return a name that is not taken and begins with this one."""
    while name in names:
        name += "_"
    return name


def has_several_matches(rule: t.Rule) -> bool:
    """Whether a trigger may have several matches."""
    return any(part.policy.many for part in rule.predicates)


def waiting_of(rule: t.Rule) -> str:
    """Return the name of a rule's waiting matches as a queue."""
    return f"absent_{rule.name.replace(' ', '_')}"


def memory_of(rule: t.Rule) -> str:
    """Return the name of the tables for values that a rule remembers."""
    return f"{MEMORY}{rule.name}"


def list_needed_later(rule: ResolvedRule) -> list[RuleSlot]:
    """Return the values of a match that its `absent` predicate needs."""
    assert rule.absence is not None
    return list(dict.fromkeys(slot for slot in slots(*t.expressions_of(rule.absence)) if slot.part != OWN))


# --- outputs --------------------------------------------------------------------------------------------

CHAIN = "chain"
"""The name of the output for the last composites of chains."""


class ModelOutput(NamedTuple):
    """An output of rules in a model: for composites of one type or all, and of one rule or all.

    Attributes
    ----------
    chain: the length of chains of causes whose last composites it has; 0: all composites.
    """

    name: str
    type: str = ""
    rule: str = ""
    chain: int = 0

    def has(self, type: str, rule: str, chain: int) -> bool:
        """Whether it has a composite of a type and a rule, at this position in a chain."""
        return self.type in ("", type) and self.rule in ("", rule) and self.chain in (0, chain)

    @property
    def typed(self) -> bool:
        """Whether it is for composites of all types."""
        return not (self.type or self.rule)


def output_of(rule: t.Rule) -> str:
    """Return the name of the output for the composites of a rule."""
    return f"by_{rule.name.replace(' ', '_')}"
