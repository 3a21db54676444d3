"""The first events of a log, on which rules are watched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from workbench.events.account import Reporter
from workbench.events.clock import Clock
from workbench.events.reading import Reading
from workbench.runner.order import read_first
from workbench.runner.rules.log import RuleLog
from workbench.runner.source import LogSource
from workbench.tesla.engines.rule_sample import RulesSampled, sample_rules
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Facts, Occurrence, in_units
from workbench.tesla.rule_set import RuleSet

SAMPLE = 10_000
"""Events of a log that rules are watched on, where nothing else is said (`--head`)."""


def sampled_log(
    rules: RuleSet, log: LogSource, reading: Reading, clock: Clock, facts: Facts, reporter: Reporter
) -> RulesSampled:
    """What each rule finds in the first events of a log.

    Raises
    ------
    InputError: a row cannot be read, times go back, or a window has a unit that the times have not.
    """
    count = SAMPLE if reading.head is None else reading.head
    read = RuleLog(rules, clock, replace(reading, head=count), reporter)
    pieces = read_first(read.pieces(log.logs()))  # now it is known what times are
    made = in_units(rules, clock.unit, dates=bool(clock.dates))

    def events() -> Iterator[Occurrence]:
        for piece in pieces:
            yield from piece.occurrences(made) if isinstance(piece, EventBlock) else piece

    return sample_rules(made, facts, list(islice(events(), count)))
