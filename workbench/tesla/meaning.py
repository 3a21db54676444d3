"""The meaning of rules: the composite events of a whole stream, defined by the formulas.

The rule of this module: it has only the state that the formulas mention, forgets nothing, and does not try to be fast.
Engines are tested against it, and share with it only the tables of operators and of aggregates.

Sources: thesis, 2.3 and 3.3 (the formulas), 2.4.4 and 2.4.5 (order of execution, consumption), listing 4.1 (depth
first); extensions (absence, limit, at most once) are in docs/reference/rules.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from workbench.core.domain import Value
from workbench.core.readable import plural
from workbench.errors import InputError, did_you_mean
from workbench.tesla import tree as t
from workbench.tesla.formulas import Happened, satisfying, selections
from workbench.tesla.occurrence import Facts, Occurrence, in_units
from workbench.tesla.rule_graph import LONGEST_CHAIN, endless_chain
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.values import Selected, fit_value, value

NO_FACTS: Facts = MappingProxyType({})


def meaning(
    rules: RuleSet,
    events: Sequence[Occurrence | int | Facts],
    facts: Facts = NO_FACTS,
    *,
    until: int | None = None,
    compat: str = "",
) -> list[Occurrence]:
    """Return the composite events of a stream, in the order in which they are published.

    Parameters
    ----------
    events: external events in their order; their numbers, sources and rules are ignored. A time among them moves the
            clock, so that deadlines before it pass; facts among them replace the facts from then on.
    until: the time to which the clock moves at the end: absences with deadlines up to it are emitted.
    compat: `trex` for windows and consumption as in T-Rex.

    Raises
    ------
    InputError: a time precedes the one before it, a type is not declared, an event has more or fewer values than its
        type has attributes, or a chain of composites does not end.
    """
    in_units(rules)  # refuses windows with units; numbers stay as they are written
    course = _Course(rules, facts, compat)
    for event in events:
        if isinstance(event, Occurrence):
            course.happens(event)
        elif isinstance(event, int):
            course.passes(event)
        else:
            course.past.facts = event
    if until is not None:
        course.passes(until + 1)
    return course.composites


@dataclass(frozen=True)
class _Caused:
    """An event to process, and the chain of rules that led to it."""

    event: Occurrence
    chain: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Awaiting:
    """Matches of one trigger that only await the deadline of `absent`."""

    deadline: int
    rule: int
    trigger: int
    matches: Sequence[Selected]
    chain: tuple[str, ...]


@dataclass(frozen=True)
class _Emitted:
    """A record that a rule has emitted: when, and for which values of `per`."""

    rule: int
    time: int
    key: tuple[Value | None, ...]


class _Course:
    """A run over a stream, event by event."""

    def __init__(self, rules: RuleSet, facts: Facts, compat: str) -> None:
        self.past = Happened(rules, facts, compat)
        self.composites: list[Occurrence] = []
        self._awaiting: list[_Awaiting] = []
        self._emitted: list[_Emitted] = []

    def happens(self, event: Occurrence) -> None:
        """Process an external event and everything that it causes, after the deadlines before it."""
        self._check_event(event)
        self.passes(event.time)
        self._publish([_Caused(replace(event, sources=(), rule=""))])

    def passes(self, time: int) -> None:
        """Process the deadlines before a time and everything they cause: by deadline, then rule, then trigger."""
        while due := [each for each in self._awaiting if each.deadline < time]:
            first = min(due, key=lambda each: (each.deadline, each.rule, each.trigger))
            self._awaiting.remove(first)
            self._publish(self._judge(first))

    def _check_event(self, event: Occurrence) -> None:
        declared = self.past.rules.declarations.get(event.type)
        if declared is None or declared.fact:
            hint = did_you_mean(event.type, self.past.rules.events, "declared are: ")
            raise InputError(f"no type '{event.type}' of events is declared", hint=hint)
        if len(event.values) != len(declared.attributes):
            raise InputError(f"an event of type {declared} has {plural(len(event.values), 'value')}")
        if self.past.history and event.time < self.past.history[-1].time:
            before = self.past.history[-1].time
            raise InputError(f"time goes back from {before} to {event.time}", hint="sort the events by time")

    def _publish(self, events: list[_Caused]) -> None:
        """Publish events depth first: each with all that it causes, before the next (listing 4.1)."""
        while events:
            first, *others = events
            if len(first.chain) > LONGEST_CHAIN:
                raise endless_chain(first.chain[::-1])
            events = self._process(first) + others

    def _process(self, caused: _Caused) -> list[_Caused]:
        """Return the composites of all rules, in their order, for an event, which joins the history only afterwards."""
        event, composites = replace(caused.event, number=len(self.past.history)), list[_Caused]()
        for number, rule in enumerate(self.past.rules.rules):
            if rule.trigger.type != event.type:
                continue
            selected = selections(self.past, number, rule, event)
            window = selected[0].absent and selected[0].absent[0].part.window if selected else None
            if window is None:
                composites += self._decide(number, selected, event.time, caused.chain)
            else:
                deadline = event.time + window.far
                chain = caused.chain if deadline == event.time else ()  # after a later deadline the clock is the cause
                self._awaiting.append(_Awaiting(deadline, number, event.number, selected, chain))
        self.past.history.append(event)
        if caused.chain:
            self.composites.append(event)
        return composites

    def _judge(self, awaiting: _Awaiting) -> list[_Caused]:
        """Return the matches of a trigger that emit at a deadline: no event up to it satisfies `absent`."""
        matches = [each for each in awaiting.matches if not satisfying(*each.absent)]
        return self._decide(awaiting.rule, matches, awaiting.deadline, awaiting.chain)

    def _decide(self, number: int, matches: Sequence[Selected], time: int, chain: tuple[str, ...]) -> list[_Caused]:
        """Return the composites of matches: `where`, then `limit`, then `at most once`; only these matches consume."""
        rule = self.past.rules.rules[number]
        matches = [each for each in matches if all(value(condition, each) is True for condition in rule.where_clause)]
        matches = [each for each in matches[: rule.limit] if not self._is_silent(number, each, time)]
        for each in matches:
            for name in rule.consuming:
                at = each.indices.index(_find_binding(rule, name))
                self.past.consume(number, each.indices[at], each.events[at])
        return [_Caused(self._make_composite(rule, each, time), (*chain, rule.name)) for each in matches]

    def _is_silent(self, number: int, selected: Selected, time: int) -> bool:
        """Whether the rule has emitted for the same values within its pause; if not, record that it now does."""
        rule = self.past.rules.rules[number]
        if rule.pause is None:
            return False
        key = tuple(value(each, selected) for each in rule.per)
        if any(
            each.rule == number and time - each.time < rule.pause.amount and same_values(each.key, key)
            for each in self._emitted
        ):
            return True
        self._emitted.append(_Emitted(number, time, key))
        return False

    def _make_composite(self, rule: t.Rule, selected: Selected, time: int) -> Occurrence:
        """Make the composite: Occurs(CE, lab(r, s)), and attVal(lab(r, s), att_i) = f_i(...) (thesis, 2.3.3)."""
        by_name = {each.name: value(each.value, selected) for each in rule.evaluations}
        attributes = self.past.rules.declarations[rule.emits].domains
        values = tuple(fit_value(by_name[name], domain) for name, domain in attributes.items())
        sources = tuple(event.number for event in selected.events)
        return Occurrence(rule.emits, time, values, sources=sources, rule=rule.name)


def same_values(one: Sequence[Value | None], other: Sequence[Value | None]) -> bool:
    """Whether values are the same: null equals null, and NaN equals NaN."""
    return all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))


def _find_binding(rule: t.Rule, name: str) -> int:
    """Return the place of the predicate that binds an event under a name."""
    indices: Mapping[str, int] = {part.name: index for index, part in enumerate(rule.parts) if t.binds(part)}
    return indices[name]
