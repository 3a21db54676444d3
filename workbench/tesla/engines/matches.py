"""Find matches of rules without composites: which composites are still created, and an engine that creates all.

The rule of this module: omitting composites changes no match. A composite is created if a rule reads it, or if its
position in the order matters. All engines find the same matches in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from workbench.tesla import tree as t
from workbench.tesla.engines.engine import RuleCost, RuleEngine
from workbench.tesla.event_block import EventBlock
from workbench.tesla.match_block import MatchBlock, MatchLabels
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

STEP = 256
"""Number of events whose matches are returned together."""


@dataclass(frozen=True)
class MatchedRules:
    """A rule set whose matches are requested.

    Attributes
    ----------
    rules: the original rules, with whole windows.
    """

    rules: RuleSet

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """For each rule the reason why its composites are created one by one; empty if they are not."""
        counting = next((rule.name for rule in self.rules.rules if rule.counts_events), None)
        readers: dict[str, str] = {}
        for rule in self.rules.rules:
            for type in rule.types:
                readers.setdefault(type, rule.name)
        reasons = []
        for rule in self.rules.rules:
            if rule.emits in readers:
                reasons.append(f"{readers[rule.emits]} reads {rule.emits}")
            elif counting is not None:
                reasons.append(f"{counting} counts all events, including composites")
            else:
                reasons.append("it consumes events" if rule.consuming else "")
        return tuple(reasons)

    @cached_property
    def run(self) -> RuleSet:
        """Rules with the same matches; composites that no rule reads have no attributes, and a type of their own."""
        read = {type for rule in self.rules.rules for type in rule.types}
        declared, rules = dict(self.rules.declarations), []
        for rule in self.rules.rules:
            if rule.emits not in read:
                name = f"matches of {rule.name}"
                declared[name] = t.Declaration(name, ())
                rule = replace(rule, emits=name, evaluations=())
            rules.append(rule)
        return replace(self.rules, declarations=declared, rules=tuple(rules))

    @cached_property
    def roles(self) -> tuple[tuple[str, ...], ...]:
        """For each rule the names of the events of a match, the trigger first."""
        return tuple(tuple(part.name for part in rule.events.values()) for rule in self.rules.resolved)


class ComposedMatches:
    """The matches found by an engine that creates each composite.

    Parameters
    ----------
    numbers: whether the numbers of their events are requested; otherwise matches are only counted.
    """

    def __init__(self, rules: RuleSet, engine: RuleEngine, *, numbers: bool) -> None:
        self._rules, self._engine = rules, engine
        self._labels = MatchLabels(rules.rule_names, MatchedRules(rules).roles) if numbers else None
        self._counts = Counter[str]()

    @property
    def counts(self) -> list[int]:
        """The number of matches of each rule so far."""
        return [self._counts[name] for name in self._rules.rule_names]

    def matches(self, block: EventBlock) -> Iterator[MatchBlock]:
        """Yield the matches of a block of events in blocks; see `CompiledMatches`."""
        for first in range(0, len(block), STEP):
            yield from self.matches_singly(block.part(first, first + STEP).occurrences(self._rules))

    def matches_singly(self, events: Iterable[Occurrence]) -> Iterator[MatchBlock]:
        """Yield the matches of single events."""
        for event in events:
            yield from self._of(self._engine.process(event))

    def matches_until(self, time: int) -> Iterator[MatchBlock]:
        """Yield the matches of absences whose deadlines are not later than a time."""
        return self._of(self._engine.advance(time))

    def profile(self) -> Sequence[RuleCost]:
        """Return the costs of each rule."""
        return self._engine.profile()

    def _of(self, composites: Sequence[Occurrence]) -> Iterator[MatchBlock]:
        """Yield the matches of composites."""
        self._counts.update(each.rule for each in composites)
        if composites and self._labels is not None:
            yield self._labels.of_composites(composites)
