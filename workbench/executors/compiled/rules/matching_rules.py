"""The engine `compiled` where only matches are wanted: as columns of the numbers of their events, or counted.

The rule of this module: matches come in the order of publication, so many at a time as there is room for, and the next
ones are looked for when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.engine import CompiledRules, see_block
from workbench.executors.compiled.rules.match_source import MatchSource
from workbench.executors.compiled.rules.matching_program import MatchingProgram
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.executors.compiled.rules.rule_source import RuleSource
from workbench.executors.compiled.rules.running import FAR
from workbench.executors.compiled.rules.runs import Published
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.matches import MatchedRules
from workbench.tesla.engines.publisher import check_event
from workbench.tesla.engines.set_plan import SetPlan
from workbench.tesla.event_block import EventBlock
from workbench.tesla.match_block import MatchBlock, MatchLabels
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

STRETCH = 1 << 12
"""Events that are looked at without an interruption."""


class MatchingRules(CompiledRules):
    """The matches of a rule set.

    Parameters
    ----------
    rules: with whole windows.
    numbers: whether the numbers of their events are wanted; else matches are counted.

    Attributes
    ----------
    matched: what of the rules is made all the same.
    counts: how many matches each rule has had, where they are counted.
    """

    running: MatchingProgram
    _runs = MatchingProgram

    def __init__(
        self, rules: RuleSet, facts: Facts, settings: EngineSettings, code: bool | None = None, *, numbers: bool
    ) -> None:
        self.matched, self.numbers = MatchedRules(rules), numbers
        self.counts = [0] * len(rules.rules)
        self._reals: Any = np.array([bool(reason) for reason in self.matched.reasons], bool)
        self._some_made = bool(self._reals.any())

        def source(plan: SetPlan, rule: int, *given: Any) -> RuleSource:
            if self._reals[rule]:
                return RuleSource(plan, rule, *given)
            return MatchSource(plan, rule, *given, numbers=numbers)

        program = RuleProgram(SetPlan(self.matched.run, indexed=settings.indexed), settings, source, shares=False)
        program.T[program.R[:-1, at.EMITS][~self._reals], at.WATCHED] = at.UNNUMBERED
        self._labels = MatchLabels(rules.rule_names, self.matched.roles)
        super().__init__(self.matched.run, facts, settings, code, program)

    # --- events -----------------------------------------------------------------------------------------

    def matches(self, block: EventBlock) -> Iterator[MatchBlock]:
        """The matches of a block of events, part by part, where numbers are wanted; else they are added to `counts`.

        Raises
        ------
        InputError: as `process_block`.
        """
        if len(block):
            see_block(block, self.now, self.passed)
            for first in range(0, len(block), STRETCH):
                part = block.part(first, first + STRETCH)
                yield from self._drop_empty(self.parts_of(part, self._of_words, self._of_composites))

    def matches_until(self, time: int) -> Iterator[MatchBlock]:
        """Those of absences whose deadlines are not later."""
        yield from self._drop_empty(self.parts_until(time, self._of_words, self._of_composites))

    def matches_singly(self, events: Iterable[Occurrence]) -> Iterator[MatchBlock]:
        """Those of events that are given one by one, or for which blocks have no room."""
        for event in events:
            check_event(event, self.rules, self.now, self.passed)
            if self._changing:
                self._see_facts()
            worded = self._exact is None and abs(event.time) < FAR and not self.running.by_blocks
            if worded and self.running.put(event):
                yield from self._drop_empty(self.running.parts_of_event(self._of_words))
                if self.running.reached == 1:
                    continue
            yield from self._drop_empty([self._of_composites(self._exactly(event))])

    def _drop_empty(self, parts: Iterable[MatchBlock | None]) -> Iterator[MatchBlock]:
        return (part for part in parts if part)

    def _coded(self, events: int) -> bool:
        """As long as there is no machine code Python runs the same: `cdp` would make all composites of an event."""
        return True

    # --- what has come out ------------------------------------------------------------------------------

    def _of_words(self, made: Published, program: RuleProgram, _: Any) -> MatchBlock | None:
        """What has been published."""
        words, offsets, _ = made
        rules, reals = words[offsets + at.RULE].astype(np.int32), self._reals
        some = reals[rules]
        counts = np.where(some, 1, _words(words, offsets + at.RECORD))
        if not self.numbers:
            self._count(rules, counts)
            return None
        if not self._some_made:
            first = _words(words, offsets + at.RECORD + 1)
            counts = np.maximum(first + counts, 0) - np.maximum(first, 0)  # what is passed over is not there
            columns = [column[: int(counts.sum())] for column in self.running.rows]
            return self._labels.of_columns(np.repeat(rules, counts), columns, self.count)
        begins = counts.cumsum() - counts
        places = np.repeat(_words(words, offsets + at.RECORD + 1) - begins, counts) + np.arange(counts.sum())
        places[begins[some]] = 0  # of one that is made there is none
        columns = [column[places] for column in self.running.rows]
        for rule in np.flatnonzero(np.bincount(rules[some], minlength=len(reals))).tolist():
            mine = np.flatnonzero(rules == rule)
            behind = offsets[mine] + at.RECORD + program.R[rule, at.GIVEN]
            for i in range(len(self.matched.roles[rule])):
                columns[i][begins[mine]] = words[behind + i] + 1
        numbers = words[offsets[some] + at.ID]
        return self._labels.of_columns(np.repeat(rules, counts), columns, self.count, numbers, begins[some])

    def _of_composites(self, found: Sequence[Occurrence]) -> MatchBlock | None:
        """What `cdp` has told."""
        if self.numbers:
            return self._labels.of_composites(found, self.count)
        names = [self.matched.rules.rule_names.index(each.rule) for each in found]
        self._count(np.array(names, np.int32), np.ones(len(found), np.int64))
        return None

    def _count(self, rules: Any, counts: Any) -> None:
        """So many matches of rules are there."""
        found: Any = np.zeros(len(self.counts), np.int64)
        np.add.at(found, rules, counts)
        for rule, count in enumerate(found.tolist()):
            self.counts[rule] += count


def _words(words: Any, places: Any) -> Any:
    """Words at places, of which some may lie behind the end, where they mean nothing."""
    return words[np.minimum(places, len(words) - 1)]
