"""Properties as written (`check ...` lines, `-p`) turned into properties that can be asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from workbench.core.pipeline import Pipeline
from workbench.core.term import Term
from workbench.errors import LanguageError
from workbench.ir.system import System
from workbench.language.syntax import Expression, PipelineReference, PropertySyntax
from workbench.smv.engines import QueryKind
from workbench.verify.answer.check import Settings, check
from workbench.verify.answer.equivalence import EquivalenceMode, equivalent
from workbench.verify.answer.tolerance import TOLERATES, tolerates
from workbench.verify.answer.verdict import Verdict
from workbench.verify.ask.labels import Labels
from workbench.verify.ask.properties import (
    Property,
    always,
    bounded_liveness,
    liveness,
    never_false,
    no_full_queues,
    no_overflow,
    often_true,
    response,
    temporal,
)

Find = Callable[[PipelineReference], Pipeline]
"""Finds the pipeline that a property names."""

EQUIVALENCES: dict[str, EquivalenceMode] = {
    "equivalent": "sequence",
    "stepwise-equivalent": "stepwise",
    "approximates": "approximates",
}


Side = TypeVar("Side")


def sides(pipeline: Side, other: Side, mode: EquivalenceMode) -> tuple[Side, Side]:
    """Both pipelines as `equivalent` takes them: what approximates comes second there."""
    return (other, pipeline) if mode == "approximates" else (pipeline, other)


class _Plain(Protocol):
    def __call__(self) -> Property: ...


PLAIN: dict[str, _Plain] = {
    "liveness": liveness,
    "response": response,
    "no-overflow": no_overflow,
    "no-full-queues": no_full_queues,
    "never-false": never_false,
    "often-true": often_true,
}


def property_from(syntax: PropertySyntax) -> Property:
    """The property that `syntax` writes; comparisons of pipelines are for `decide`."""
    name, argument = syntax.name, syntax.argument
    if name in PLAIN:
        return PLAIN[name]()
    if name == "bounded-liveness" and isinstance(argument, int):
        return bounded_liveness(argument)
    if isinstance(argument, Expression):
        return _expressed(name, argument)
    raise LanguageError(f"'{syntax}' is not a property of one pipeline", where=syntax.where)


def _expressed(name: str, e: Expression) -> Property:
    def cases(system: System) -> tuple[tuple[str, Term], ...]:
        return Labels(system).cases(e)

    if name == "always":
        return always(lambda system: Labels(system).invariant(e), str(e), cases)
    kind: QueryKind = "ctl" if name == "ctl" else "ltl"
    return temporal(kind, lambda system: Labels(system).formula(e), str(e), cases)


def decide(pipeline: Pipeline, syntax: PropertySyntax, settings: Settings, find: Find) -> Verdict:
    """The verdict on a property as written; `find` looks up pipelines that it names."""
    if syntax.name == TOLERATES:
        return tolerates(pipeline, settings)
    if syntax.name in EQUIVALENCES and isinstance(syntax.argument, PipelineReference):
        mode = EQUIVALENCES[syntax.name]
        verdict = equivalent(*sides(pipeline, find(syntax.argument), mode), mode, settings)
    else:
        verdict = check(pipeline, property_from(syntax), settings)
    return replace(verdict, pipeline=pipeline.name, property=str(syntax))
