"""The engine `compiled` for matches only: as columns of the numbers of their events, or counted.

The rule of this module: composites have no attributes, and the numbers of their sources are the matches. They take no
number in the order of events unless rules select them, or count or consume events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from workbench.executors.compiled.rules.engine import CAPACITY, CompiledRules
from workbench.tesla.engines.engine import EngineSettings, RuleCost
from workbench.tesla.engines.matches import MatchedRules
from workbench.tesla.event_block import EventBlock
from workbench.tesla.match_block import MatchBlock, MatchLabels
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

MATCH_EVENTS = 1 << 12
"""Maximum number of events that are processed without an interruption."""


class CompiledMatches:
    """The matches of a rule set.

    Parameters
    ----------
    rules: the rule set, with whole windows.
    numbers: whether to return the numbers of their events; otherwise matches are counted.
    capacity: see `KernelMemory`.

    Attributes
    ----------
    counts: the number of matches of each rule, where they are counted.
    """

    def __init__(
        self, rules: RuleSet, facts: Facts, settings: EngineSettings, capacity: int = CAPACITY, *, numbers: bool
    ) -> None:
        matched = MatchedRules(rules)
        self._numbered, self._numbers = any(matched.reasons), numbers
        self.engine = CompiledRules(matched.run, facts, settings, capacity, numbered=self._numbered, waits=True)
        self.counts = [0] * len(rules.rules)
        self._labels = MatchLabels(rules.rule_names, matched.roles)

    def matches(self, block: EventBlock) -> Iterator[MatchBlock]:
        """Yield the matches of a block of events in parts, or add them to `counts`.

        Raises
        ------
        InputError: as `process_block`.
        """
        for first in range(0, len(block), MATCH_EVENTS):
            part = block.part(first, first + MATCH_EVENTS)
            yield from self._drop_counted(self.engine.process_block(part, sources=self._numbers, read=self._take))

    def matches_until(self, time: int) -> Iterator[MatchBlock]:
        """Yield the matches of absences whose deadlines are up to `time`."""
        yield from self._drop_counted(self.engine.run_until(time, sources=self._numbers, read=self._take))

    def matches_singly(self, events: Iterable[Occurrence]) -> Iterator[MatchBlock]:
        """Yield the matches of events that come one by one, or that do not fit in blocks."""
        for event in events:
            yield from self._drop_counted(self.engine.process_single(event, self._take, sources=self._numbers))

    def profile(self) -> Sequence[RuleCost]:
        """Return the cost of each rule."""
        return self.engine.profile()

    def _drop_counted(self, parts: Iterable[MatchBlock | list[Occurrence] | None]) -> Iterator[MatchBlock]:
        for part in parts:
            block = self._read(part) if isinstance(part, list) else part
            if block:
                yield block

    def _take(self) -> MatchBlock | None:
        """Take the matches from the kernel's output."""
        memory = self.engine.memory
        composites = memory.take_output()
        if not self._numbers:
            self._count(composites.rules)
            return None
        numbering = (composites.orders, np.arange(len(composites.rules))) if self._numbered else ()
        return self._labels.of_columns(composites.rules, tuple(composites.sources.T), *numbering)

    def _read(self, composites: Sequence[Occurrence]) -> MatchBlock | None:
        """Convert composites of `cdp` to matches."""
        if self._numbers:
            return self._labels.of_composites(composites)
        names = self._labels.names
        self._count([names.index(each.rule) for each in composites])
        return None

    def _count(self, rules: Sequence[int]) -> None:
        """Count one more match of each of these rules."""
        new_counts = np.bincount(np.array(rules, np.int64), minlength=len(self.counts))
        self.counts = [one + more for one, more in zip(self.counts, new_counts.tolist(), strict=True)]
