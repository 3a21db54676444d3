"""How the work of a rule set is best shared among threads: what each way costs is measured on the first events.

The rule of this module: costs are told as parts of what one thread has to do, and those of the thread that has most.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from time import thread_time
from typing import Any

from workbench.errors import WorkbenchError
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.placing import joined_parts
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.executors.compiled.rules.runs import Published, kept
from workbench.executors.compiled.rules.stretches import StretchThread
from workbench.executors.compiled.rules.transfer import recorded
from workbench.tesla.engines.rule_split import balance_work
from workbench.tesla.engines.time_split import TimeSplit
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Occurrence

SAMPLE = 1 << 13
"""Events, of the first ones or the last ones before there is code, of which it is measured what rules cost."""
BUNDLES = 8
"""Groups of rules for each thread of which it is measured one by one, at most."""
DEALT = 5e-9
"""Seconds that it takes to find out which thread has an event, by its key (measured)."""
DEAR = 0.5
"""The part of the time for an event that it takes to learn of it, where it is not measured."""


class ShareCosts:
    """What the ways of sharing cost.

    Parameters
    ----------
    part: the engine of a program, as threads have it.
    block: of events that come first; None: nothing is measured.
    """

    def __init__(
        self, program: RuleProgram, part: Callable[[RuleProgram], CompiledRules], block: EventBlock | None,
        time: TimeSplit,
    ) -> None:  # fmt: skip
        self.program, self.time, self._part = program, time, part
        self._sample = None if block is None else block.part(0, SAMPLE)

    @cached_property
    def seconds(self) -> float | None:
        """That all rules take for the sample; None where it is not known."""
        return self._measured(range(len(self.program.plan.plans)))

    @cached_property
    def dear(self) -> float:
        """Which part of the time for an event it takes a thread to learn of it, that need not tell what comes of it."""
        if self._sample is None or not self.seconds:
            return DEAR
        learning = StretchThread(self._part(self.program), self.time)
        learning.learn([(0, self._sample)], self._sample.texts)
        return min(1.0, learning.repeated[0] / self.seconds)

    def of_rules(self, groups: Sequence[Sequence[int]], threads: int) -> tuple[list[list[int]], float]:
        """The places of the rules of each thread, and what that costs."""
        most = BUNDLES * threads
        if len(groups) > most:
            works = [float(sum(len(self.program.plan.plans[rule].steps) for rule in group)) for group in groups]
            groups = [[rule for i in some for rule in groups[i]] for some in balance_work(works, most)]
        found = [self._measured(group) for group in groups]
        works = [float(len(group)) if each is None else each for group, each in zip(groups, found, strict=True)]
        shares = [sorted(rule for i in some for rule in groups[i]) for some in balance_work(works, threads)]
        costs = [self._measured(share) for share in shares]
        if None not in costs and self.seconds:  # what rules share costs each thread
            return shares, max(each or 0.0 for each in costs) / self.seconds
        return shares, max(map(len, shares)) / len(self.program.plan.plans)

    def of_keys(self, most: float) -> float:
        """What it costs if the thread that has most has this part of the events."""
        dealt = DEALT * len(self._sample) / self.seconds if self._sample is not None and self.seconds else 0.0
        return most + dealt

    def of_time(self, block: EventBlock | None, threads: int) -> float:
        """What it costs if all but one thread have to learn of the events of the reach before a stretch."""
        span = 0 if block is None else int(block.times[-1]) - int(block.times[0])
        again = min(1.0, self.time.reach / span) if span else 1.0
        return (1 + self.dear * (threads - 1) * again) / threads

    def _measured(self, rules: Collection[int]) -> float | None:
        """Seconds that some rules take for the sample."""
        if self._sample is None:
            return None
        try:
            of_block(self._part(self.program), self._sample.part(0, 1))  # now there is machine code
            part = self._part(self.program.of(rules))
            began = thread_time()
            of_block(part, self._sample)
            return thread_time() - began
        except WorkbenchError:
            return None  # it comes again


def _taken(made: Published, program: RuleProgram, texts: Any) -> Published:
    """What is the last, or else large."""
    return kept(made, program, texts) if made.runs or len(made.words) > at.MUCH_OUTPUT else made


def _words(part: CompiledRules) -> Callable[[Sequence[Occurrence]], Published]:
    """What puts what `cdp` tells of a part in words."""
    return partial(recorded, part.running, part.program.plan.plans)


def of_block(part: CompiledRules, block: EventBlock, until: int | None = None) -> Published:
    """What a part publishes of a block, and up to a time."""
    found = list(part.parts_of(block, _taken if until is None else kept, _words(part))) if len(block) else []
    if until is not None:
        found += part.parts_until(until, kept, _words(part))
    return joined_parts(found)


def of_some(part: CompiledRules, block: EventBlock, order: Any) -> Published:
    """What a part publishes of some events of a block, and up to its end."""
    return of_block(part, block.take(order), int(block.times[-1]) - 1)


def of_clock(part: CompiledRules, time: int) -> Published:
    """What a part publishes up to a time."""
    return joined_parts(list(part.parts_until(time, kept, _words(part))))


def of_event(part: CompiledRules, event: Occurrence) -> Published:
    """What a part publishes of an event."""
    return _words(part)(part.process(event))
