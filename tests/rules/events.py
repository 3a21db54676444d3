"""Events of rules as tests write them: `Temp(8, 1, 50)` is one of type Temp at time 8."""

from collections.abc import Iterator

from workbench.rules.check import rules
from workbench.rules.meaning import meaning
from workbench.rules.occurrence import Occurrence, in_units
from workbench.rules.rule_set import RuleSet


class Kind:
    """A type of events: called with a time and values, it gives an event."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, time: int, *values: object) -> Occurrence:
        return Occurrence(self.name, time, values)


A, B, C, Temp, Smoke = map(Kind, ("A", "B", "C", "Temp", "Smoke"))


def told(text: str | RuleSet, *events: Occurrence, unit: str | None = None, **others) -> list[tuple]:
    """Type, time and values of the composites that a text means."""
    made = in_units(rules(text) if isinstance(text, str) else text, unit)
    return [(found.type, found.time, *found.values) for found in meaning(made, events, **others)]


def values(found: list[tuple]) -> list[tuple]:
    """Only their values."""
    return [each[2:] for each in found]


def minutes(*events: Occurrence) -> Iterator[Occurrence]:
    """Their times are minutes, and become microseconds."""
    for event in events:
        yield Occurrence(event.type, event.time * 60 * 10**6, event.values)
