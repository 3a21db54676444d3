"""Follow the growth of matches in a short run: the events of each match at each step, and its outcome.

The rule of this module: the engine decides which matches emit, and `explain` finds why others stop.
A match is found when its trigger comes, so its earlier steps are reconstructed backwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from workbench.tesla import tree as t
from workbench.tesla.engines.engine import RuleEngine, rule_engine
from workbench.tesla.engines.publisher import Publisher
from workbench.tesla.event_block import event_block
from workbench.tesla.explain.order import EventOrder
from workbench.tesla.explain.rule_view import RuleView, RunRecord
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_memory import HappensOrFacts, feed, on_other_facts
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.values import Selected, value

MAX_GROWN = 200
"""Maximum number of partial matches of a trigger that are examined."""
TOLD, WAITS = "✓", "waits"


class GrownMatch(NamedTuple):
    """A match with the steps of its events, and its outcome.

    Attributes
    ----------
    events: the names of the predicates, and the steps of their events, in the order of arrival.
    ends: the step of its trigger, or of the deadline at which it emitted.
    became: `TOLD`, `WAITS`, or the reason why it stopped.
    """

    events: tuple[tuple[str, int], ...]
    ends: int
    became: str

    def at(self, step: int) -> str:
        """Format the part of the match that exists at a step."""
        came = ", ".join(f"{name} {at}" for name, at in self.events if at <= step)
        return f"{came} {self.became}".strip() if step == self.ends else came if step < self.ends else ""


class _RunEvent(NamedTuple):
    """An event of a run, the step at which it came, and the facts at that step."""

    event: Occurrence
    step: int
    facts: Facts


def follow_matches(
    rules: RuleSet,
    engine: RuleEngine,
    steps: Sequence[HappensOrFacts | None],
    facts: Facts,
    compat: str = "",
    written: RuleSet | None = None,
) -> Mapping[str, Sequence[str]]:
    """Return for each rule the matches that exist at each step, as text.

    Parameters
    ----------
    rules: with windows in the unit of times.
    engine: a new one, without events.
    steps: events, times that the clock has reached, or new facts that replace the old ones; None: a step without any.
    compat: as for `meaning`.
    written: the rules as the user wrote them.
    """
    came = list[_RunEvent]()
    for step, step_input in enumerate(steps):
        if isinstance(step_input, Mapping):
            assert isinstance(engine, Publisher)
            other = rule_engine(engine.rules, engine.name, step_input, engine.settings)
            engine, facts = on_other_facts(engine, other), step_input
        elif step_input is not None:
            composites = feed(engine, step_input)
            events = composites if isinstance(step_input, int) else [step_input, *composites]
            came += [_RunEvent(replace(each, number=len(came) + i), step, facts) for i, each in enumerate(events)]
    record = RunRecord(rules, _order_events(rules, came), facts, compat, written=written)
    matches = {rule.name: _find_furthest(came, record, number) for number, rule in enumerate(rules.rules)}
    return {
        name: [" | ".join(filter(None, dict.fromkeys(each.at(n) for each in some))) for n in range(len(steps))]
        for name, some in matches.items()
    }


def _order_events(rules: RuleSet, came: Sequence[_RunEvent]) -> EventOrder:
    numbers = dict[str, int]()

    def number_texts(texts: Iterable[str]) -> list[int]:
        return [numbers.setdefault(text, len(numbers)) for text in texts]

    events = [each.event for each in came]
    parts = ([each for each in events if bool(each.rule) is composite] for composite in (False, True))
    return EventOrder(rules, *(event_block(rules, part, number_texts, large=True) for part in parts))


def _find_furthest(came: Sequence[_RunEvent], record: RunRecord, number: int) -> list[GrownMatch]:
    """Return the furthest matches of each trigger of a rule, in the order in which they were decided."""
    order, rule, matches = record.order, record.rules.rules[number], list[tuple[int, GrownMatch]]()
    composites = [each for outcome in order.outcomes(number) for each in outcome.composites]
    emitted = {tuple(order.sources(each)): each for each in composites}
    for trigger in order.of_type(rule.trigger.type, 0, len(order)).tolist():
        stops = list(_find_stops(RuleView(replace(record, facts=came[trigger].facts), number, trigger)))
        furthest = max((index for index, *_ in stops), default=0)
        for selected, why in ((selected, why) for index, selected, why in stops if index == furthest):
            composite = emitted.get(tuple(each.number for each in selected.events))
            decided = trigger if composite is None or rule.absence is None else composite
            bound = sorted((event.number, name) for name, event in selected.named.items())
            steps = tuple((name, came[at].step) for at, name in bound)
            matches.append((decided, GrownMatch(steps, came[decided].step, why if composite is None else TOLD)))
    return [match for _, match in sorted(matches, key=lambda each: each[0])]


def _find_stops(view: RuleView) -> Iterator[tuple[int, Selected, str]]:
    """Yield partial matches of a trigger with the place where they stop, also complete ones, and the reason."""
    for selected, index in islice(view.walk(view.start), MAX_GROWN):
        if index == len(view.rule.parts):
            yield index, selected, _explain_silence(view.rule, selected)
        elif not view.extend(index, selected):
            yield index, selected, f"✗ {view.text(index)}"


def _explain_silence(rule: t.Rule, selected: Selected) -> str:
    """Explain why a complete match does not emit at once."""
    for each in rule.where_clause:
        if value(each, selected) is not True:
            return f"✗ where {each}"
    return WAITS if rule.absence else "✗ limit or pause"
