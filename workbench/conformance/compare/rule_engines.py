"""Engines of rules, held to what the rules mean.

The rule of this module: composites agree in everything, and in their order. A float is no whole number, a truth value
is no number, and NaN is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from workbench.conformance.generate.rule_cases import RuleCase
from workbench.core.determinism import same
from workbench.errors import InputError, LanguageError, Refused
from workbench.executors.table import engines_here
from workbench.tesla import tree as t
from workbench.tesla.check import checked
from workbench.tesla.engines.engine import EngineSettings, MakesEngine
from workbench.tesla.formulas import TREX
from workbench.tesla.meaning import meaning
from workbench.tesla.occurrence import Occurrence

Whole = TypeVar("Whole", bound=t.Placed | RuleCase)
Told = Sequence[Occurrence] | str
"""What a rule set tells: its composites; or the kind of the error that ends it."""


@dataclass(frozen=True)
class RuleDisagreement:
    """An engine that tells something else than the formulas.

    Attributes
    ----------
    at: the place among the composites where they part.
    """

    case: RuleCase
    engine: str
    meant: Told
    found: Told
    at: int

    def __str__(self) -> str:
        meant, found = (_shown(each, self.at) for each in (self.meant, self.found))
        return f"{self.engine} parts from the formulas at composite {self.at}: it has {found}, they have {meant}"


def held_to_meaning(case: RuleCase, engines: Mapping[str, MakesEngine] | None = None) -> RuleDisagreement | None:
    """The first of the engines, by name, that tells something else than `meaning`; None if all agree.

    Parameters
    ----------
    engines: None: all there are.
    """
    meant = meant_by(case)
    for name, make in (all_engines() if engines is None else engines).items():
        try:
            found = told_by(case, make)
        except Refused:  # before the first event
            continue
        at = _parting(meant, found)
        if at is not None:
            return RuleDisagreement(case, name, meant, found, at)
    return None


def all_engines() -> dict[str, MakesEngine]:
    """The engines of the table."""
    return dict(engines_here())


def meant_by(case: RuleCase) -> Told:
    """What the formulas tell."""
    compat = TREX if case.trex else ""
    return _told(lambda: meaning(case.rules, case.events, case.facts, until=case.until, compat=compat))


def told_by(case: RuleCase, make: MakesEngine) -> Told:
    """What an engine tells."""
    return _told(lambda: _run(case, make))


def _run(case: RuleCase, make: MakesEngine) -> list[Occurrence]:
    settings = EngineSettings(trex=case.trex, plain=True)
    engine, found = make(case.rules, case.facts, settings), list[Occurrence]()
    for i, event in enumerate(case.events):
        if i == case.saved:
            state = engine.snapshot()
            engine = make(case.rules, case.facts, settings)
            engine.restore(state)
        found += engine.process(event)
    return found if case.until is None else found + engine.advance(case.until)


def _told(run: Callable[[], list[Occurrence]]) -> Told:
    try:
        return run()
    except InputError as error:
        return type(error).__name__


def _parting(meant: Told, found: Told) -> int | None:
    if isinstance(meant, str) or isinstance(found, str):
        return None if meant == found else 0
    pairs = enumerate(zip(meant, found, strict=False))
    shorter = None if len(meant) == len(found) else min(len(meant), len(found))
    return next((i for i, (one, other) in pairs if not same_occurrence(one, other)), shorter)


def same_occurrence(one: Occurrence, other: Occurrence) -> bool:
    """Whether two composites are the same in everything."""
    return replace(one, values=()) == replace(other, values=()) and same(tuple(one.values), tuple(other.values))


def _shown(told: Told, at: int) -> str:
    if isinstance(told, str):
        return told
    return str(told[at]) if at < len(told) else "nothing"


# --- smaller cases ----------------------------------------------------------------------------------------


def smaller(case: RuleCase, fails: Callable[[RuleCase], bool]) -> RuleCase:
    """A case from which nothing can be left out without that it no longer fails: no event, no fact, no part of a rule.

    Parameters
    ----------
    fails: whether a case is still one of those that are looked for.
    """
    found = next(filter(fails, _less(case)), None)
    while found is not None:
        case = found
        found = next(filter(fails, _less(case)), None)
    return case


def _less(case: RuleCase) -> Iterator[RuleCase]:
    """All cases with one thing less."""
    yield from (_but(case, name, None) for name in ("saved", "until") if getattr(case, name) is not None)
    if case.trex:
        yield replace(case, trex=False)
    for i in range(len(case.events)):
        saved = case.saved and case.saved - (i < case.saved)
        yield replace(case, events=[*case.events[:i], *case.events[i + 1 :]], saved=saved)
    for name, rows in case.facts.items():
        for i in range(len(rows)):
            yield replace(case, facts={**case.facts, name: [*rows[:i], *rows[i + 1 :]]})
    file = case.rules.file
    whole = (each for name in ("rules", "declarations", "aggregates") for each in _without(file, name))
    for lesser in (*whole, *_lesser_rules(file)):
        with suppress(LanguageError):  # something else needs what is left out
            made = replace(case, rules=checked(lesser, case.rules.name))
            facts = {name: rows for name, rows in case.facts.items() if name in made.rules.declarations}
            if all(event.type in made.rules.declarations for event in case.events):
                yield replace(made, facts=facts)


def _lesser_rules(file: t.RuleFile) -> Iterator[t.RuleFile]:
    for i, rule in enumerate(file.rules):
        for lesser in _lesser(rule):
            yield replace(file, rules=(*file.rules[:i], lesser, *file.rules[i + 1 :]))


def _lesser(rule: t.Rule) -> Iterator[t.Rule]:
    """A rule with one thing less."""
    yield from (_but(rule, name, None) for name in ("limit", "pause") if getattr(rule, name) is not None)
    for name in ("predicates", "where_clause", "per"):
        yield from _without(rule, name)
    yield from (replace(each, consuming_at=()) for each in _without(rule, "consuming"))
    for i, part in enumerate(rule.parts):
        names = ("constraints",) if isinstance(part, t.Aggregate) else ("constraints", "assignments")
        for lesser in (each for name in names for each in _without(part, name)):
            if isinstance(lesser, t.Predicate) and i == 0:
                yield replace(rule, trigger=lesser)
            else:
                yield replace(rule, predicates=(*rule.predicates[: i - 1], lesser, *rule.predicates[i:]))


def _without(whole: Whole, name: str) -> list[Whole]:
    """The whole with one of the items in a field less."""
    items = getattr(whole, name)
    return [_but(whole, name, (*items[:i], *items[i + 1 :])) for i in range(len(items))]


def _but(whole: Whole, name: str, value: Any) -> Whole:
    """The same with another value in a field."""
    changed: dict[str, Any] = {name: value}
    return replace(whole, **changed)
