"""Streams that show a finding about rules: a run of their model as events of a log, run on the meaning and on engines.

The rule of this module: a stream is run on `meaning` and on engines that share nothing with it, and lists those that
agree; the result of the model does not count here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

from workbench.core.domain import Value
from workbench.core.units import format_time
from workbench.errors import EndlessChain, Refused
from workbench.tesla.engines.engine import EngineSettings, RuleEngine
from workbench.tesla.model.machine import ModelledRules
from workbench.tesla.occurrence import Facts, Occurrence, has_units, in_units
from workbench.tesla.rule_memory import HappensOrFacts, feed, on_other_facts
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.verdict import Verdict

ENGINES = ("cdp", "aip", "compiled")
"""The engines that streams are run on. Python runs the code of `compiled`, without compiling it."""


GAP = "DEFECT OF WORKBENCH: its composites differ. Please report this."


@dataclass(frozen=True)
class RuleStream:
    """A stream of events, and the effect of rules on it.

    Attributes
    ----------
    rules: the rules; windows are numbers of the unit of times.
    steps: events, times that the clock has reached, and changed facts, in their order.
    unit: `us` if times are microseconds, None if they are bare numbers.
    chosen: the facts that the model has chosen.
    """

    rules: RuleSet
    steps: tuple[HappensOrFacts, ...]
    unit: str | None = None
    facts: Facts = field(default_factory=dict, repr=False)
    chosen: tuple[Occurrence, ...] = ()

    @classmethod
    def of(cls, model: ModelledRules, inputs: Iterable[Mapping[str, Value]]) -> RuleStream:
        """Return the stream of the inputs of a model, step by step."""
        inputs = list(inputs)
        facts = model.with_facts(inputs).frame.facts
        model_facts = tuple(_list_facts(facts, model.frame.fixed_facts))
        return cls(model.scaled, tuple(model.happenings(inputs)), model.unit, facts, model_facts)

    def with_rules(self, rules: RuleSet) -> RuleStream:
        """Return the same stream for other rules."""
        unit = "us" if has_units(rules) else self.unit
        return replace(self, rules=in_units(rules, unit), unit=unit)

    def __repr__(self) -> str:
        return self.text() or "<a stream without events>"

    @property
    def events(self) -> tuple[Occurrence, ...]:
        """The events, without the clock."""
        return tuple(each for each in self.steps if isinstance(each, Occurrence))

    def caused(self, engine: str = ENGINES[0]) -> list[list[Occurrence]]:
        """Return the composites of each step, as an engine publishes them, up to the first endless chain."""
        running, composites = self._start(engine, self.facts), list[list[Occurrence]]()
        for each in self.steps:
            if isinstance(each, Mapping):
                running = on_other_facts(running, self._start(engine, each))
                composites.append([])
                continue
            try:
                composites.append(feed(running, each))
            except EndlessChain:
                break
        return composites

    def _start(self, engine: str, facts: Facts) -> RuleEngine:
        from workbench.tesla.engines.engine import rule_engine

        return rule_engine(self.rules, engine, facts, EngineSettings(plain=True))

    @cached_property
    def meant(self) -> tuple[Occurrence, ...] | None:
        """The composites by the meaning of the rules, in the order of publication; None if they have no end."""
        from workbench.tesla.meaning import meaning

        try:
            return tuple(meaning(self.rules, self.steps, self.facts))
        except EndlessChain:
            return None

    @cached_property
    def unconfirmed(self) -> Mapping[str, str]:
        """The engines that do not confirm what rules mean, and why: they refuse the rules, or are defective."""
        reasons, meant = dict[str, str](), _outline(self.meant)
        for name in ENGINES:
            try:
                steps = self.caused(name)
            except Refused as error:
                reasons[name] = f"it refuses these rules: {error.what}"
                continue
            composites = None if len(steps) < len(self.steps) else [each for caused in steps for each in caused]
            if _outline(composites) != meant:
                reasons[name] = GAP
        return reasons

    @property
    def confirmed(self) -> tuple[str, ...]:
        """The names of `meaning`, and of the engines that accept the rules and agree with it."""
        return ("meaning", *(name for name in ENGINES if name not in self.unconfirmed))

    def differs_from(self, other: RuleStream) -> bool:
        """Whether two streams cause different composites, regardless of their order and of the rules that emit them."""
        one, two = (_outline(each.meant, 3) for each in (self, other))
        return (one is None) != (two is None) or Counter(one) != Counter(two)

    def text(self) -> str:
        """Return the stream as text, with the effect of each event below it."""
        lines = [f"there is {self._name(each)}" for each in self.chosen]
        changed = {number: names for number, names, _ in self._list_changes()}
        for number, (step, caused) in enumerate(zip_longest(self.steps, self.caused())):
            if isinstance(step, Mapping):
                for name in changed[number]:
                    rows = ", ".join(map(self._name, _list_facts(step, [name])))
                    lines.append(f"now there is {rows or f'no {name}'}")
            else:
                lines.append(self._describe(step) if isinstance(step, Occurrence) else f"it is {self._time(step)}")
            lines += [f"  -> {self._describe(each)} by {each.rule}" for each in caused or ()]
            lines += ["  -> composites without end"] if caused is None else []
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return plain data: rows as in a log."""
        changes = [
            {
                "behind": sum(isinstance(each, Occurrence) for each in self.steps[:number]),
                "types": names,
                "facts": [self._row(each) for each in _list_facts(facts, names)],
            }
            for number, names, facts in self._list_changes()
        ]
        return {
            "events": [self._row(each) for each in self.events],
            "until": max((_time(each) for each in self.steps), default=0),
            "composites": [self._row(each) | {"rule": each.rule} for each in self.meant or ()],
            "ends": self.meant is not None,
            **({"facts": [self._row(each) for each in self.chosen]} if self.chosen else {}),
            **({"facts_change": changes} if changes else {}),
            "time_unit": self.unit,
            "confirmed": list(self.confirmed),
            **({"unconfirmed": dict(self.unconfirmed)} if self.unconfirmed else {}),
        }

    def _list_changes(self) -> Iterator[tuple[int, list[str], Facts]]:
        """Yield each change of facts: the number of steps before it, the changed types, and the facts from then on."""
        facts = self.facts
        for number, step in enumerate(self.steps):
            if isinstance(step, Mapping):
                yield number, [name for name in step if list(step[name]) != list(facts.get(name, ()))], step
                facts = step

    def _row(self, event: Occurrence) -> dict[str, Any]:
        names = self.rules.declarations[event.type].positions
        return {"type": event.type, "time": event.time, **dict(zip(names, event.values, strict=True))}

    def _describe(self, event: Occurrence) -> str:
        return f"{self._name(event)} at {self._time(event.time)}"

    def _name(self, event: Occurrence) -> str:
        names = self.rules.declarations[event.type].positions
        values = ", ".join(f"{name} = {json.dumps(value)}" for name, value in zip(names, event.values, strict=True))
        return f"{event.type}{f'({values})' if values else ''}"

    def _time(self, time: int) -> str:
        return format_time(time) if self.unit and time else str(time)


def _list_facts(facts: Facts, names: Iterable[str]) -> list[Occurrence]:
    """Return the facts of these types."""
    return [Occurrence(name, 0, row) for name in names for row in facts[name]]


def _time(step: HappensOrFacts) -> int:
    return step if isinstance(step, int) else step.time if isinstance(step, Occurrence) else 0


def _outline(composites: Iterable[Occurrence] | None, parts: int = 4) -> list[Any] | None:
    """Return type, time, values and rule of each composite, or the first of these parts; None if they have no end."""
    if composites is None:
        return None
    return [(each.type, each.time, tuple(map(repr, each.values)), each.rule)[:parts] for each in composites]


def find_modelled(model: Any) -> ModelledRules:
    """Return the processor of a model of rules."""
    (node,) = model.nodes
    processor = model.typed[node.name]
    assert isinstance(processor, ModelledRules)
    return processor


def stream_of(verdict: Verdict) -> RuleStream | None:
    """Return the stream that shows a verdict, on the rules of its model."""
    if verdict.counterexample is None or verdict.problem is None:
        return None
    return RuleStream.of(
        find_modelled(verdict.problem.subject.pipeline), (step.inputs for step in verdict.counterexample.steps)
    )


def list_confirming(streams: Iterable[RuleStream]) -> str:
    """Return the names of the engines that confirm all of these streams."""
    confirmations = [each.confirmed for each in streams]
    return ", ".join(name for name in ("meaning", *ENGINES) if all(name in each for each in confirmations))
