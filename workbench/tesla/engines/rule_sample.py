"""What predicates of rules find in the first events of a log: how many candidates, and which constraint tells.

The rule of this module: rules run as they always do (`cdp`), and are watched; each constraint is asked by itself. It is
for people, and nothing hangs on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.tesla.engines.candidates import ExtendsMatch
from workbench.tesla.engines.cdp.matcher import CDPMatcher
from workbench.tesla.engines.columns import EMPTY, EventColumn, make_slice_finder
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.publisher import Publisher
from workbench.tesla.engines.rule_plan import PartialMatch, RuleStep
from workbench.tesla.engines.runner import MatcherStart
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

MOST_EACH, MOST_CANDIDATES = 100, 20_000
"""Candidates, the newest, that are looked at for one partial match, and for one predicate."""


@dataclass
class SampledStep:
    """What a predicate or aggregate finds.

    Attributes
    ----------
    asked: for how many partial matches.
    candidates: events of the type in the windows of the first of these, as far as they were looked at.
    looked: for how many partial matches that is.
    passed: of each constraint how many of the candidates satisfy it.
    fitting: how many satisfy all.
    found: partial matches that go on.
    """

    constraints: Sequence[str]
    asked: int = 0
    candidates: int = 0
    looked: int = 0
    passed: list[int] = field(default_factory=list)
    fitting: int = 0
    found: int = 0


@dataclass
class RuleSample:
    """What a rule finds.

    Attributes
    ----------
    begun: how many partial matches triggers have begun.
    steps: what is behind the trigger, by the numbers of the steps.
    """

    begun: int = 0
    steps: dict[int, SampledStep] = field(default_factory=dict)


class RulesSampled(NamedTuple):
    """What all rules find, and in how many events."""

    rules: list[RuleSample]
    events: int


class SampledMatcher(CDPMatcher):
    """A matcher that is watched."""

    def __init__(self, start: MatcherStart) -> None:
        super().__init__(start)
        self.sample = RuleSample()
        self._all: dict[str, EventColumn[Occurrence]] = {}
        steps = self.plan.steps[1:]
        self.extends = [
            self._watch(step, extend, trex=start.trex) for step, extend in zip(steps, self.extends, strict=True)
        ]

    def matches(self, start: PartialMatch) -> Iterable[PartialMatch]:
        """As they are."""
        self.sample.begun += 1
        return super().matches(start)

    def add(self, event: Occurrence) -> None:
        """All events of a type are candidates."""
        super().add(event)
        self._all.setdefault(event.type, EventColumn()).add(event)

    def _watch(self, step: RuleStep, extend: ExtendsMatch, *, trex: bool) -> ExtendsMatch:
        asked = step.part.constraints
        told = self.sample.steps[step.number] = SampledStep(list(map(str, asked)), passed=[0] * len(asked))
        tests = [step.compile_test([each]) for each in asked]
        window = None if step.fact else make_slice_finder(step, trex)

        def watched(match: PartialMatch) -> Iterator[PartialMatch]:
            told.asked += 1
            if window is not None and told.candidates < MOST_CANDIDATES:
                column = self._all.get(step.type, EMPTY)
                low, high = window(column, match)
                told.looked += 1
                for event in column.events[max(low, high - MOST_EACH) : max(low, high)]:
                    passed = [test is None or test(match, event) is not None for test in tests]
                    told.passed = [count + one for count, one in zip(told.passed, passed, strict=True)]
                    told.candidates += 1
                    told.fitting += all(passed)
            for found in extend(match):
                told.found += 1
                yield found

        return watched


def sample_rules(rules: RuleSet, facts: Facts, events: Sequence[Occurrence]) -> RulesSampled:
    """What each rule finds in some events.

    Parameters
    ----------
    rules: with windows in the unit of the events' times.
    """
    made: list[SampledMatcher] = []

    def matcher(start: MatcherStart) -> SampledMatcher:
        made.append(SampledMatcher(start))
        return made[-1]

    engine = Publisher("sample", rules, facts, EngineSettings(), matcher)
    for event in events:
        engine.process(event)
    return RulesSampled([each.sample for each in made], len(events))
