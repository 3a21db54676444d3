"""The matches of rules by an engine that makes each composite: what is told of them is taken from those.

The rule of this module: it gives what engines give that make none, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from workbench.tesla.engines.engine import RuleCost, RuleEngine
from workbench.tesla.engines.matched_rules import MatchedRules
from workbench.tesla.event_block import EventBlock
from workbench.tesla.match_columns import EventLabels, MatchColumns, labelled_matches, listed_matches
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

SOME = 256
"""Events whose matches are given together."""


class MadeMatches:
    """The matches that an engine finds.

    Parameters
    ----------
    numbers: whether the numbers of their events are wanted; else they are counted.

    Attributes
    ----------
    counts: how many matches each rule has had.
    """

    def __init__(self, rules: RuleSet, engine: RuleEngine, *, numbers: bool) -> None:
        self._rules, self._engine, self._numbers = rules, engine, numbers
        self._matched, self._labels, self._seen = MatchedRules(rules), EventLabels(), 0
        self._places = {rule.name: place for place, rule in enumerate(rules.rules)}
        self.counts = [0] * len(rules.rules)

    def matches(self, block: EventBlock) -> Iterator[MatchColumns]:
        """The matches of a block of events, part by part; see `compiled`'s `MatchingRules`."""
        for first in range(0, len(block), SOME):
            yield from self.matches_singly(block.part(first, first + SOME).occurrences(self._rules))

    def matches_singly(self, events: Iterable[Occurrence]) -> Iterator[MatchColumns]:
        """Those of some events."""
        for event in events:
            yield from self._given(self._engine.process(event), 1)

    def matches_until(self, time: int) -> Iterator[MatchColumns]:
        """Those of absences whose deadlines are not later."""
        yield from self._given(self._engine.advance(time), 0)

    def profile(self) -> Sequence[RuleCost]:
        """What each rule has cost."""
        return self._engine.profile()

    def _given(self, found: Sequence[Occurrence], events: int) -> Iterator[MatchColumns]:
        import numpy as np

        self._seen += events + len(found)
        for each in found:
            self.counts[self._places[each.rule]] += 1
        if not self._numbers:
            return
        numbers: Any = np.array([each.number for each in found], np.int64)
        self._labels.add(numbers, np.arange(len(found)), self._seen, len(found))
        if found:
            roles = self._matched.roles
            listed = listed_matches(list(self._places), roles, [(self._places[e.rule], e.sources) for e in found])
            columns = [column + 1 for column in listed.columns]
            yield labelled_matches(list(self._places), roles, listed.rules, columns, self._labels)
