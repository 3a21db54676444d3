"""Events of rules as tests write them: `Temp(8, 1, 50)` is one of type Temp at time 8."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from workbench.errors import InputError, Refused
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.engine import rule_engine as start_engine
from workbench.tesla.meaning import meaning
from workbench.tesla.occurrence import Occurrence, in_units
from workbench.tesla.rule_set import RuleSet


class Kind:
    """A type of events: called with a time and values, it gives an event."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, time: int, *values: object) -> Occurrence:
        return Occurrence(self.name, time, values)


A, B, C, Temp, Smoke = map(Kind, ("A", "B", "C", "Temp", "Smoke"))


ENGINES = ("cdp", "aip", "compiled")


def rule_engine(made, name="cdp", facts=None, settings=None):
    """An engine whose kernel Python runs, if it has one."""
    return start_engine(made, name, facts, replace(settings or EngineSettings(), plain=True))


def told(text: str | RuleSet, *events: Occurrence, unit: str | None = None, **others) -> list[tuple]:
    """Type, time and values of the composites that a text means; all engines say the same, or fail, too."""
    written = parse_rules(text) if isinstance(text, str) else text
    made = in_units(written, unit, trex=others.get("compat") == "trex")
    try:
        found = meaning(written if unit is None else made, events, **others)
    except InputError:
        for engine in ENGINES:
            with pytest.raises(InputError):
                published(made, *events, engine=engine, **others)
        raise
    for engine in ENGINES:
        with suppress(Refused):  # what is refused, and why, has tests of its own
            assert repr(published(made, *events, engine=engine, **others)) == repr(list(found)), engine
    return [(each.type, each.time, *each.values) for each in found]


def published(made: RuleSet, *events: Occurrence, engine: str, facts=None, until=None, compat="") -> list[Occurrence]:
    """What an engine publishes."""
    running = rule_engine(made, engine, facts, EngineSettings(trex=compat == "trex"))
    found = [composite for event in events for composite in running.process(event)]
    return found if until is None else found + running.advance(until)


def values(found: list[tuple]) -> list[tuple]:
    """Only their values."""
    return [each[2:] for each in found]


def minutes(*events: Occurrence) -> Iterator[Occurrence]:
    """Their times are minutes, and become microseconds."""
    for event in events:
        yield Occurrence(event.type, event.time * 60 * 10**6, event.values)
