"""Models of rule sets: pipelines over finite domains, which all that checks pipelines takes.

The rule of this module: what bounds a model is decided here, once for all rule sets that are to be compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.core.domain import BOOL, Range, Value
from workbench.core.fields import Record
from workbench.core.ops import ite
from workbench.core.pipeline import Node
from workbench.core.processor import Maybe
from workbench.core.term import var
from workbench.errors import InputError, Refused, did_you_mean
from workbench.tesla import tree as t
from workbench.tesla.model.attribute_values import tables as chosen_tables
from workbench.tesla.model.chosen import Table
from workbench.tesla.model.course import Frame, Noted, absence, waiting_of
from workbench.tesla.model.layout import layout, written
from workbench.tesla.model.ticks import COMES, ModelledRules, Shown
from workbench.tesla.occurrence import Facts, has_units, in_units
from workbench.tesla.rule_processor import RuleGraph
from workbench.tesla.rule_set import RuleSet

MOST_VALUES = 64
"""The most values of an attribute of composites."""


@dataclass(frozen=True)
class RuleBounds:
    """What bounds a model of rules.

    Parameters
    ----------
    room: how many events a column keeps, where it is not enough to keep the newest; rooms: of columns by type.
    values: of attributes, by type and name; those of the others come from what rules compare them with.
    count: how many values an attribute has that is compared for equality only.
    tick: how much time one is, in microseconds where windows have units; None: the greatest of which all windows are
        multiples.
    facts: that rules look at.
    depth, waits: the most composites in a chain of causes, and matches of a rule that wait for something not to come.
    """

    room: int = 2
    rooms: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[tuple[str, str], Sequence[Value]] = field(default_factory=dict)
    count: int = 2
    tick: int | None = None
    facts: Facts = field(default_factory=dict)
    depth: int = 4
    waits: int = 2


def modelled(rule_sets: Sequence[RuleSet], bounds: RuleBounds | None = None) -> tuple[RuleGraph, ...]:
    """The models of rule sets, over the same events: pipelines with finite inputs, `elapsed` and one for each type.

    Raises
    ------
    Refused: something in the rules has no finite model. InputError: bounds are of no type or attribute.
    """
    bounds = bounds or RuleBounds()
    _known(rule_sets, bounds)
    united = any(map(has_units, rule_sets))
    unit = "us" if united else None
    plain = [in_units(rules, unit) for rules in rule_sets]
    tick = bounds.tick or math.gcd(*(int(each) for rules in plain for each in _amounts(rules))) or 1
    ticked = [in_units(rules, unit, tick=tick) for rules in rule_sets]
    inputs = chosen_tables(ticked, bounds.count, bounds.values)
    frames = [_frame(rules, inputs, bounds) for rules in ticked]
    outputs: dict[tuple[str, str], Table] = {}
    for frame in frames:
        for rule in frame.rules.rules:
            for each in frame.evaluations(rule):
                key = (rule.emits, each.name)
                outputs[key] = outputs.get(key, Table(())) | frame.table(*key)
    waits = any(frame.absences for frame in frames)
    longest = max((max((f.layout.oldest, *(int(r.pause.amount) for r in f.pausing if r.pause))) for f in frames), default=0)
    most = 1 if waits else longest + 1
    return tuple(
        _graph(rules, frame, (tick, unit), most, outputs) for rules, frame in zip(rule_sets, frames, strict=True)
    )


def _graph(
    rules: RuleSet, frame: Frame, time: tuple[int, str | None], most: int, outputs: Mapping[tuple[str, str], Table]
) -> RuleGraph:
    own = {key: table for key, table in outputs.items() if key[0] in rules.composites}
    names = rules.primitives
    tick, unit = time
    processor = ModelledRules(
        rules, names, frame=frame, tick=tick, unit=unit, most=most, outputs=own, facts=frame.facts or None
    )
    inputs: list[tuple[str, Any]] = [("elapsed", Range(1, most) if most > 1 else Range(1, 1))]
    for name in names:
        shown = {each: Shown.of(frame.tables[name, each], exact=True).domain for each in rules.declarations[name].domains}
        inputs.append((name, Record(tuple(shown.values()), tuple(shown)) if shown else COMES))
    pipes = tuple(f"{rules.name}_{name}" for name in processor.results_named)
    node = Node(rules.name, processor, tuple(name for name, _ in inputs), pipes)
    return RuleGraph(rules.name, tuple(inputs), (node,), tuple(zip(processor.results_named, pipes, strict=True)))


def _frame(rules: RuleSet, inputs: Mapping[tuple[str, str], Table], bounds: RuleBounds) -> Frame:
    """What a machine of rules is made of: values of composites are those that its steps can make, found step by step."""
    _sound(rules)
    without = frozenset(_times(rules))
    tables, rounds = dict(inputs), 0
    while True:
        rounds += 1
        frame = _attempt(rules, tables, without, bounds)
        found = {key: Table(values.values()) for key, values in frame.noted.values.items()}
        grown = {key: tables.get(key, Table(())) | table for key, table in found.items()}
        # values of composites that lie further on are beyond the model; what rules remember is made of those it has
        grown = {
            key: table
            for key, table in grown.items()
            if key[0] not in rules.composites or (len(table) <= MOST_VALUES and rounds <= len(rules.rules) + 2)
        }
        for (of, what), table in grown.items():
            if of not in rules.composites and len(table) > MOST_VALUES:
                raise Refused(f"{of} remembers one of {len(table)} values ({what})", hint="give its attributes fewer values")
        if all(tables.get(key) == table for key, table in grown.items()):
            return replace(frame, noted=Noted())
        tables |= grown


def _attempt(
    rules: RuleSet, tables: Mapping[tuple[str, str], Table], without: frozenset[tuple[str, str]], bounds: RuleBounds
) -> Frame:
    whole = dict(tables)
    for name in rules.composites:
        for each in rules.declarations[name].domains:
            whole.setdefault((name, each), Table(()))
    found = layout(rules, whole, bounds.rooms, bounds.room)
    waits = {rule.name: bounds.rooms.get(waiting_of(rule), bounds.waits) for rule in rules.rules}
    frame = Frame(rules, whole, found, bounds.facts, _depth(rules, bounds.depth), waits, without)
    outputs = {key: table for key, table in whole.items() if key[0] in rules.composites and key not in without}
    processor = ModelledRules(rules, rules.primitives, frame=frame, tick=1, most=1, outputs=outputs)
    shown = {name: [Shown.of(whole[name, each], exact=True).domain for each in rules.declarations[name].domains] for name in rules.primitives}
    domains = [Range(1, 1), *(Record(tuple(d), tuple(rules.declarations[n].domains)) if d else COMES for n, d in shown.items())]
    state = tuple(var(name, domain) for name, domain, _ in frame.variables())
    front = tuple(Maybe(var(f"{i}:present", BOOL), var(f"{i}:value", domain)) for i, domain in enumerate(domains))
    processor._stepped(state, front)
    return frame


def _depth(rules: RuleSet, most: int) -> int:
    """The longest chain of causes; `most` where there is a circle of them."""
    causes: dict[str, set[str]] = {}
    for rule in rules.rules:
        causes.setdefault(rule.trigger.type, set()).add(rule.emits)
    length, reached = 0, set(rules.events)
    while reached := {emitted for name in reached for emitted in causes.get(name, ())}:
        length += 1
        if length > len(rules.rules):
            return most
    return length


def _amounts(rules: RuleSet) -> list[Any]:
    """How long windows and pauses are."""
    found: list[Any] = []
    for rule in rules.rules:
        for part in rule.predicates:
            window = part.window
            for each in (getattr(window, "most", None), getattr(window, "least", None)):
                if each is not None and each.amount and not each.counts:
                    found.append(each.amount)
        if rule.pause is not None:
            found.append(rule.pause.amount)
    return found


def _sound(rules: RuleSet) -> None:
    """What has no model yet."""
    for rule in rules.rules:
        part = absence(rule)
        if part is not None and (rule.consuming or rule.limit is not None):
            what = "consuming" if rule.consuming else "limit"
            raise Refused(
                f"{rule.name} waits for something not to come, and has '{what}'", where=part.where,
                hint="such a rule has no model",
            )  # fmt: skip


def _times(rules: RuleSet) -> list[tuple[str, str]]:
    """The attributes of composites that are times, which no rule looks at."""
    found = [
        (rule.emits, each.name)
        for rule in rules.rules
        for each in rule.evaluations
        if any(isinstance(leaf, t.TimeOf) for leaf in t.within(each.value))
    ]
    for rule in rules.rules:
        types = {part.name: part.type for part in rule.parts if isinstance(part, t.Predicate)}
        read = {(types.get(leaf.of, ""), leaf.name) for each in written(rule) for leaf in t.within(each)
                if isinstance(leaf, t.OtherAttribute)}  # fmt: skip
        for part in rule.parts:
            own = [each for each in part.constraints]
            own += [each.value for each in part.assignments] if isinstance(part, t.Predicate) else []
            read |= {(part.type, part.attribute or "")} if isinstance(part, t.Aggregate) else set()
            read |= {(part.type, leaf.name) for each in own for leaf in t.within(each) if isinstance(leaf, t.OwnAttribute)}
        for of, name in found:
            if (of, name) in read:
                raise Refused(
                    f"{of}.{name} is a time, and {rule.name} looks at it: a model has only ages of events",
                    where=rule.where,
                    hint="compare times by windows: within 5 min from ...",
                )
    return found


def _known(rule_sets: Sequence[RuleSet], bounds: RuleBounds) -> None:
    names = [name for rules in rule_sets for name in rules.events]
    waits = [waiting_of(rule) for rules in rule_sets for rule in rules.rules if absence(rule) is not None]
    for name in bounds.rooms:
        if name not in (*names, *waits):
            raise InputError(f"there is no column of '{name}'", hint=did_you_mean(name, (*names, *waits)))
    for name, attribute in bounds.values:
        known = [f"{n}.{a}" for rules in rule_sets for n in rules.primitives for a in rules.declarations[n].domains]
        if f"{name}.{attribute}" not in known:
            raise InputError(f"events have no attribute '{name}.{attribute}'", hint=did_you_mean(f"{name}.{attribute}", known))


__all__ = ["RuleBounds", "ite", "modelled"]
