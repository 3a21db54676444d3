"""Runs rules inside a Python program: it publishes events one at a time, and subscribers receive the composites.

The rule of this module: events are mappings, like rows of a log; `engine` gives access to the engine itself.
Source: thesis, 4.4.1 (`Engine`, `Subscriber`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.domain import FLOAT, INT, Value
from workbench.core.units import MICROSECONDS, SPELLINGS
from workbench.errors import DomainError, InputError, did_you_mean
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.engine import EngineSettings, RuleEngine, rule_engine
from workbench.tesla.occurrence import Facts, Occurrence, in_units
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.tree import SPELLED

if TYPE_CHECKING:
    from workbench.tesla.caches.table import FactCaching
    from workbench.tesla.engines.facts.database import FactSettings

Composite = dict[str, Value]
"""A composite event: `type`, `time`, `rule`, and its attributes; null is None."""
Subscriber = Callable[[Composite], object]


class RunningRules:
    """A running rule set.

        running = wb.rules.RunningRules(text, unit="s")
        running.subscribe("Fire", print)
        running.publish("Smoke", time=12, area="hall")

    Parameters
    ----------
    rules: checked rules, or their text.
    engine: `cdp` or `aip`.
    unit: the unit of times (`us`, `ms`, `s`, ...); without it windows have no units.
    facts: the rows of each type of facts, as mappings; or a SQLite database with a table for each type.
    querying, caching: how the database is queried, and which answers are cached.
    trex: whether windows and consumption are as in T-Rex.
    profiled: whether to count the costs of each rule.

    Attributes
    ----------
    engine: the engine: `add`, `remove` and `replace` rules, `snapshot` and `restore`, `profile`.

    Raises
    ------
    LanguageError: the text has no meaning. InputError: a window has a unit, and times have none.
    """

    def __init__(
        self,
        rules: RuleSet | str,
        *,
        engine: str = "cdp",
        unit: str | None = None,
        facts: Mapping[str, Any] | str | Path | None = None,
        querying: FactSettings | None = None,
        caching: FactCaching | None = None,
        trex: bool = False,
        profiled: bool = False,
    ) -> None:
        rule_set = parse_rules(rules) if isinstance(rules, str) else rules
        table = self._facts(rule_set, facts or {}, querying, caching)
        unit = SPELLINGS.get(unit or "", unit)
        if unit is not None and unit not in MICROSECONDS:
            raise InputError(f"'{unit}' is not a unit of time", hint=did_you_mean(unit, MICROSECONDS))
        self._scale = MICROSECONDS.get(unit or "", 1)
        settings = EngineSettings(unit=unit, trex=trex, profiled=profiled)
        self.engine: RuleEngine = rule_engine(in_units(rule_set, unit, trex=trex), engine, table, settings)
        self._told: list[tuple[str | None, Subscriber]] = []

    def _facts(self, rules: RuleSet, facts: Any, querying: FactSettings | None, caching: FactCaching | None) -> Facts:
        types = {name: declared for name, declared in rules.declarations.items() if declared.fact}
        if isinstance(facts, Mapping):
            return {name: [self._values(name, row, rules) for row in facts.get(name, ())] for name in types}
        from workbench.tesla.engines.facts.database import FactDatabase
        from workbench.tesla.engines.facts.tables import FactTables, tables_in

        return FactTables(tables_in(types, [FactDatabase(facts, querying)]), querying, caching)

    def subscribe(self, type: str | None, subscriber: Subscriber) -> Callable[[], None]:
        """Call a function with each composite of a type, or of all types if it is None, as it is published.

        Returns a function that ends the subscription; raises InputError if no rule emits this type.
        """
        composites = self.engine.rules.composites
        if not callable(subscriber):
            raise InputError(f"{subscriber!r} cannot be called", hint="pass a function of one composite: print")
        if type is not None and type not in composites:
            raise InputError(f"no rule emits '{type}'", hint=did_you_mean(type, composites))
        entry = (type, subscriber)
        self._told.append(entry)
        return lambda: self._told.remove(entry)

    def publish(self, type: str, time: float, **values: Value) -> list[Composite]:
        """Publish an event, and return the composites that it causes, in the order of publication.

        Attributes that are not given are null. Composites of deadlines before the event come first.

        Raises
        ------
        InputError: no such type or attribute is declared, or a time goes back or is NaN. DomainError: a value is of
            another type.
        """
        declared = self.engine.rules.declarations.get(type)
        if declared is None or declared.fact:
            raise InputError(
                f"no type '{type}' of events is declared", hint=did_you_mean(type, self.engine.rules.events)
            )
        event = Occurrence(type, self._read_time(time), self._values(type, values, self.engine.rules))
        return self._publish(self.engine.process(event))

    def advance(self, time: float) -> list[Composite]:
        """Move the clock: no event with this time or an earlier one follows."""
        return self._publish(self.engine.advance(self._read_time(time)))

    def _read_time(self, time: Any) -> int:
        """Convert a time to microseconds, or to a whole number if times have no unit."""
        if isinstance(time, Integral):
            return int(time) * self._scale
        if isinstance(time, float) and math.isfinite(time) and (self._scale > 1 or time.is_integer()):
            return round(time * self._scale)
        dated = "pass the timestamp() of a datetime, with the unit s"
        hint = dated if isinstance(time, date) else "pass a number; without a unit, a whole number"
        raise InputError(f"{time!r} is not a time of an event", hint=hint)

    def _publish(self, occurrences: list[Occurrence]) -> list[Composite]:
        composites = [self._composite(each) for each in occurrences]
        for composite in composites:
            for type, subscriber in list(self._told):
                if type in (None, composite["type"]):
                    subscriber(composite)
        return composites

    def _composite(self, event: Occurrence) -> Composite:
        names = self.engine.rules.declarations[event.type].positions
        values = dict(zip(names, event.values, strict=True))
        whole, part = divmod(event.time, self._scale)
        time = event.time / self._scale if part else whole
        return {"type": event.type, "time": time, "rule": event.rule, **values}

    @staticmethod
    def _values(type: str, attributes: Mapping[str, Value], rules: RuleSet) -> tuple[Any, ...]:
        domains = rules.declarations[type].domains
        for name in attributes:
            if name not in domains:
                raise InputError(f"{type} has no attribute '{name}'", hint=did_you_mean(name, domains))
        values = []
        for name, domain in domains.items():
            value: Any = attributes.get(name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            value = float(value) if domain == FLOAT and whole else value
            if value is not None and (value not in domain or (domain == INT and not whole)):
                raise DomainError(f"'{name}' of {type} is {SPELLED[domain]}, not {value!r}")
            values.append(value)
        return tuple(values)
