"""Matches as they grow: of a short run, at each step, what has come of each match, and what became of it.

The rule of this module: matches are those of the formulas, what is emitted is the engine's. A match is found when its
trigger comes, so what has come of it before is known from behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from workbench.tesla import tree as t
from workbench.tesla.engines.engine import RuleEngine, rule_engine
from workbench.tesla.engines.publisher import Publisher
from workbench.tesla.formulas import Happened, PlacedPredicate, grow, with_event
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_memory import HappensOrFacts, feed, on_other_facts
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.values import Selected, value

MOST_GROWN = 200
"""Partial matches of a trigger that are looked at."""
TOLD, WAITS = "✓", "waits"


class GrownMatch(NamedTuple):
    """What has come of a match, and when.

    Attributes
    ----------
    events: the names of the predicates, and the steps of their events, in the order in which these came.
    ends: the step of its trigger, or of the deadline at which it was told.
    became: `TOLD`, `WAITS`, or what stopped it.
    """

    events: tuple[tuple[str, int], ...]
    ends: int
    became: str

    def at(self, step: int) -> str:
        """What is there of it at a step."""
        came = ", ".join(f"{name} {at}" for name, at in self.events if at <= step)
        return f"{came} {self.became}".strip() if step == self.ends else came if step < self.ends else ""


def growing(
    rules: RuleSet,
    engine: RuleEngine,
    steps: Sequence[HappensOrFacts | None],
    facts: Facts,
    compat: str = "",
    written: RuleSet | None = None,
) -> Mapping[str, Sequence[str]]:
    """Of each rule, at each step, the matches that grow there, as people read them.

    Parameters
    ----------
    rules: windows in the unit of times.
    engine: that has seen nothing yet.
    steps: events, times that the clock has reached, facts that are others from then on; None: nothing of these.
    compat: as for `meaning`.
    written: the rules as the user wrote them.
    """
    run = _GrowingRun(rules, Happened(rules, facts, compat), written or rules)
    for number, happens in enumerate(steps):
        if isinstance(happens, Mapping):
            assert isinstance(engine, Publisher)
            other = rule_engine(engine.rules, engine.name, happens, engine.settings)
            engine, run.past.facts = on_other_facts(engine, other), happens
        elif happens is not None:
            found = feed(engine, happens)
            run.after([*found] if isinstance(happens, int) else [happens, *found], number)
    return {
        rule.name: [" | ".join(filter(None, dict.fromkeys(each.at(n) for each in run.matches[rule.name])))
                    for n in range(len(steps))]
        for rule in rules.rules
    }  # fmt: skip


@dataclass
class _Stop:
    selected: Selected
    place: int
    why: str = ""


class _GrowingRun:
    """What has happened so far."""

    def __init__(self, rules: RuleSet, past: Happened, written: RuleSet) -> None:
        self.rules, self.past, self.written = rules, past, written
        self.matches: dict[str, list[GrownMatch]] = {rule.name: [] for rule in rules.rules}
        self.steps: list[int] = []  # by the numbers of events

    def after(self, happened: Sequence[Occurrence], step: int) -> None:
        """What happens at a step: each is processed when it is published."""
        for each in happened:
            each = replace(each, number=len(self.past.history))
            self.steps.append(step)
            for number, rule in enumerate(self.rules.rules):
                if rule.trigger.type == each.type:
                    made = [c for c in happened if c.rule == rule.name and c.sources[0] == each.number]
                    self._triggered(number, rule, each, [c.sources for c in made])
                if each.rule == rule.name and rule.absence:
                    self._waited(number, each.sources, step)
            self.past.history.append(each)

    def _triggered(self, number: int, rule: t.Rule, trigger: Occurrence, made: Sequence[Sequence[int]]) -> None:
        stops = self._stops(number, rule, trigger)
        furthest = max((each.place for each in stops), default=0)
        for each in (stop for stop in stops if stop.place == furthest):
            selected = [event.number for event in each.selected.events]
            became = TOLD if selected in map(list, made) else each.why
            self._add(rule, each.selected.named, self.steps[trigger.number], became)
        for sources in made:
            self._consume(number, sources)

    def _waited(self, number: int, sources: Sequence[int], step: int) -> None:
        """Note a match that has waited for a deadline, and is emitted at this step."""
        names = (part.name for part in self.rules.resolved[number].events.values())
        named = {name: self.past.history[each] for name, each in zip(names, sources, strict=True)}
        self._add(self.rules.rules[number], named, step, TOLD)
        self._consume(number, sources)

    def _consume(self, number: int, sources: Sequence[int]) -> None:
        """Consume what an emitted match of a rule consumes, given the numbers of its events."""
        rule = self.rules.resolved[number]
        for place, event in zip(rule.events, sources, strict=True):
            if place in rule.consumed:
                self.past.consumed.add(self.past.consumption(number, place, event))

    def _add(self, rule: t.Rule, named: Mapping[str, Occurrence], ends: int, became: str) -> None:
        came = sorted((event.number, name) for name, event in named.items())
        found = GrownMatch(tuple((name, self.steps[at]) for at, name in came), ends, became)
        others = (each for each in self.matches[rule.name] if (each.events, each.became) != (found.events, WAITS))
        self.matches[rule.name] = [*others, found]

    # --- partial matches --------------------------------------------------------------------------------

    def _stops(self, number: int, rule: t.Rule, trigger: Occurrence) -> list[_Stop]:
        """The partial matches of a trigger that go no further, and those that have everything."""
        start = with_event(PlacedPredicate(self.past, rule.trigger, number, 0), Selected(), trigger)
        todo, found, seen = [] if start is None else [_Stop(start, 1)], list[_Stop](), 0
        while todo and seen < MOST_GROWN:
            selected, place, seen = todo[0].selected, todo.pop(0).place, seen + 1
            if place == len(rule.parts):
                found.append(_Stop(selected, place, self._kept_back(rule, selected)))
                continue
            grown = grow(PlacedPredicate(self.past, rule.parts[place], number, place), selected)
            todo += [_Stop(each, place + 1) for each in grown]
            if not grown:
                found.append(_Stop(selected, place, f"✗ {self.written.rules[number].parts[place]}"))
        return found

    def _kept_back(self, rule: t.Rule, selected: Selected) -> str:
        """Why a match that has everything is not told at once."""
        for each in rule.where_clause:
            if value(each, selected) is not True:
                return f"✗ where {each}"
        return WAITS if rule.absence else "✗ limit or pause"
