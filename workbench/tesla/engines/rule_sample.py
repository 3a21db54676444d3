"""Statistics of predicates on the first events of a log: numbers of candidates, and selectivity of constraints.

The rule of this module: rules run as usual (`cdp`), and are observed; each constraint is tested separately. The
statistics are for users, and influence nothing.
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

MAX_EACH, MAX_CANDIDATES = 100, 20_000
"""Maximum numbers of candidates, the newest, that are tested for one partial match, and for one predicate."""


@dataclass
class SampledStep:
    """The statistics of a predicate or aggregate.

    Attributes
    ----------
    evaluated: the number of partial matches that reached it.
    candidates: the number of tested events of its type in the windows of the first partial matches.
    looked: the number of these partial matches.
    passed: for each constraint the number of candidates that satisfy it.
    fitting: the number of candidates that satisfy all constraints.
    matched: the number of partial matches that continue.
    """

    constraints: Sequence[str]
    evaluated: int = 0
    candidates: int = 0
    looked: int = 0
    passed: list[int] = field(default_factory=list)
    fitting: int = 0
    matched: int = 0


@dataclass
class RuleSample:
    """The statistics of a rule.

    Attributes
    ----------
    begun: the number of partial matches that triggers have started.
    steps: the statistics of the steps after the trigger, by their numbers.
    """

    begun: int = 0
    steps: dict[int, SampledStep] = field(default_factory=dict)


class RulesSampled(NamedTuple):
    """The statistics of all rules, and the number of events."""

    rules: list[RuleSample]
    events: int


class SampledMatcher(CDPMatcher):
    """A matcher that collects statistics."""

    def __init__(self, start: MatcherStart) -> None:
        super().__init__(start)
        self.sample = RuleSample()
        self._all: dict[str, EventColumn[Occurrence]] = {}
        steps = self.plan.steps[1:]
        self.extends = [
            self._watch(step, extend, trex=start.trex) for step, extend in zip(steps, self.extends, strict=True)
        ]

    def matches(self, start: PartialMatch) -> Iterable[PartialMatch]:
        """Find the matches, and count the trigger."""
        self.sample.begun += 1
        return super().matches(start)

    def add(self, event: Occurrence) -> None:
        super().add(event)
        self._all.setdefault(event.type, EventColumn()).add(event)

    def _watch(self, step: RuleStep, extend: ExtendsMatch, *, trex: bool) -> ExtendsMatch:
        constraints = step.part.constraints
        statistics = self.sample.steps[step.number] = SampledStep(
            list(map(str, constraints)), passed=[0] * len(constraints)
        )
        tests = [step.compile_test([each]) for each in constraints]
        window = None if step.fact else make_slice_finder(step, trex)

        def watched(match: PartialMatch) -> Iterator[PartialMatch]:
            statistics.evaluated += 1
            if window is not None and statistics.candidates < MAX_CANDIDATES:
                column = self._all.get(step.type, EMPTY)
                low, high = window(column, match)
                statistics.looked += 1
                for event in column.events[max(low, high - MAX_EACH) : max(low, high)]:
                    passed = [test is None or test(match, event) is not None for test in tests]
                    statistics.passed = [count + one for count, one in zip(statistics.passed, passed, strict=True)]
                    statistics.candidates += 1
                    statistics.fitting += all(passed)
            for extension in extend(match):
                statistics.matched += 1
                yield extension

        return watched


def sample_rules(rules: RuleSet, facts: Facts, events: Sequence[Occurrence]) -> RulesSampled:
    """Collect the statistics of each rule on some events.

    Parameters
    ----------
    rules: with windows in the unit of the events' times.
    """
    matchers: list[SampledMatcher] = []

    def matcher(start: MatcherStart) -> SampledMatcher:
        matchers.append(SampledMatcher(start))
        return matchers[-1]

    engine = Publisher("sample", rules, facts, EngineSettings(), matcher)
    for event in events:
        engine.process(event)
    return RulesSampled([each.sample for each in matchers], len(events))
