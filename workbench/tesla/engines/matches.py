"""The matches of rules where no composites are wanted: which are made all the same, and an engine that makes all.

The rule of this module: what is left out changes no match. A composite is made where a rule looks at it, and where its
place in the order counts. All engines find the same matches in the same order.
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
"""Events whose matches are given together."""


@dataclass(frozen=True)
class MatchedRules:
    """A rule set whose matches are wanted.

    Attributes
    ----------
    rules: as they are written, with whole windows.
    """

    rules: RuleSet

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Of each rule why its composites are made one by one; nothing where they are not."""
        counting = next((rule.name for rule in self.rules.rules if rule.counts_events), None)
        readers: dict[str, str] = {}
        for rule in self.rules.rules:
            for type in rule.types:
                readers.setdefault(type, rule.name)
        found = []
        for rule in self.rules.rules:
            if rule.emits in readers:
                found.append(f"{readers[rule.emits]} reads {rule.emits}")
            elif counting is not None:
                found.append(f"{counting} counts all events, composites among them")
            else:
                found.append("it consumes events" if rule.consuming else "")
        return tuple(found)

    @cached_property
    def run(self) -> RuleSet:
        """Rules with the same matches: what nobody looks at has no attributes, and a type of its own."""
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
        """Of each rule what it calls the events of a match, the trigger first."""
        return tuple(tuple(part.name for part in rule.events.values()) for rule in self.rules.resolved)


class ComposedMatches:
    """The matches that an engine finds which makes each composite.

    Parameters
    ----------
    numbers: whether the numbers of their events are wanted; else they are counted.
    """

    def __init__(self, rules: RuleSet, engine: RuleEngine, *, numbers: bool) -> None:
        self._rules, self._engine = rules, engine
        self._labels = MatchLabels(rules.rule_names, MatchedRules(rules).roles) if numbers else None
        self._counts, self._published = Counter[str](), 0

    @property
    def counts(self) -> list[int]:
        """How many matches each rule has had."""
        return [self._counts[name] for name in self._rules.rule_names]

    def matches(self, block: EventBlock) -> Iterator[MatchBlock]:
        """The matches of a block of events, part by part; see `CompiledMatches`."""
        for first in range(0, len(block), STEP):
            yield from self.matches_singly(block.part(first, first + STEP).occurrences(self._rules))

    def matches_singly(self, events: Iterable[Occurrence]) -> Iterator[MatchBlock]:
        """Those of some events."""
        for event in events:
            yield from self._of(self._engine.process(event), events=1)

    def matches_until(self, time: int) -> Iterator[MatchBlock]:
        """Those of absences whose deadlines are not later."""
        return self._of(self._engine.advance(time), events=0)

    def profile(self) -> Sequence[RuleCost]:
        """What each rule has cost."""
        return self._engine.profile()

    def _of(self, composites: Sequence[Occurrence], events: int) -> Iterator[MatchBlock]:
        """The matches of composites, published with so many events from outside."""
        self._published += events + len(composites)
        self._counts.update(each.rule for each in composites)
        if self._labels is not None:
            block = self._labels.of_composites(composites, self._published)
            if len(block):
                yield block
