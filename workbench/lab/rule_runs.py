"""Runs of rules as measurements: the cost per event of an engine, and its composites.

The rule of this module: only the engine is measured. Events are generated, and composites examined, while the clock
is stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from time import process_time
from typing import Any
from zlib import crc32

from workbench.lab.experiment import Output
from workbench.tesla.engines.engine import EngineSettings, rule_engine
from workbench.tesla.occurrence import Facts, Occurrence, in_units
from workbench.tesla.rule_set import RuleSet

AT_ONCE = 1024
"""Number of events between two readings of the clock."""

RULE_OUTPUTS: Mapping[str, Output] = {
    "rate": Output("events for each second of processor time", "1/s"),
    "cost": Output("processor time for each event", "us"),
    "matches": Output("matches before where, limit and at most once", kind=int),
    "composites": Output("composite events", kind=int),
    "checksum": Output("checksum of the composites in their order", kind=str),
}
"""The outputs of an experiment that returns the result of `rule_run`."""


def rule_run(
    rules: RuleSet,
    events: Iterable[Occurrence],
    engine: str = "cdp",
    *,
    facts: Facts | None = None,
    settings: EngineSettings | None = None,
    unmeasured: int = 0,
) -> dict[str, Any]:
    """Run an engine on events, and return its cost and its composites: `RULE_OUTPUTS`.

    Parameters
    ----------
    settings: the unit of times, and whether the semantics is that of T-Rex. With `profiled`, matches are counted,
        and everything takes longer; without it, `matches` is None.
    unmeasured: the number of events before the measurement, for example to fill windows; their composites do not count.
    """
    settings = settings or EngineSettings()
    rules_in_units = in_units(rules, settings.unit, dates=settings.dates, trex=settings.trex)
    running = rule_engine(rules_in_units, engine, facts, settings)
    stream = iter(events)
    for event in islice(stream, unmeasured):
        running.process(event)
    before = sum(cost.matches for cost in running.profile())
    seconds, count, composites, checksum = 0.0, 0, 0, 0
    while some := list(islice(stream, AT_ONCE)):
        began = process_time()
        emissions = [composite for event in some for composite in running.process(event)]
        seconds += process_time() - began
        count, composites = count + len(some), composites + len(emissions)
        checksum = crc32("".join(map(repr, emissions)).encode(), checksum)
    matches = sum(cost.matches for cost in running.profile()) - before if settings.profiled else None
    return {
        "rate": count / seconds if seconds else None,
        "cost": 1e6 * seconds / count if count else None,
        "matches": matches,
        "composites": composites,
        "checksum": f"{checksum:08x}",
    }
