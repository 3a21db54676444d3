"""Properties as written (`check ...` lines, `-p`) turned into properties that can be asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from workbench.core.term import Term
from workbench.errors import LanguageError
from workbench.ir.system import System
from workbench.language.syntax import Expression, PipelineReference, PropertySyntax
from workbench.smv.engines.engine import QueryKind
from workbench.verify.ask.equivalence import TOLERATES, WRITTEN, Equivalence, equivalent_to, tolerating
from workbench.verify.ask.labels import Labels
from workbench.verify.ask.properties import (
    Property,
    always,
    bounded_liveness,
    can,
    liveness,
    never,
    never_false,
    no_full_queues,
    no_overflow,
    often_true,
    response,
    temporal,
)
from workbench.verify.ask.scope import conditions_of

if TYPE_CHECKING:
    from workbench.language import Loaded


PLAIN: dict[str, Callable[[], Property]] = {
    "liveness": liveness,
    "response": response,
    "no-overflow": no_overflow,
    "no-full-queues": no_full_queues,
    "never-false": never_false,
    "often-true": often_true,
}


def property_from(syntax: PropertySyntax) -> Property:
    """The property of one pipeline that `syntax` writes."""
    name, argument = syntax.name, syntax.argument
    if name in PLAIN:
        return PLAIN[name]()
    if name == "bounded-liveness" and isinstance(argument, int):
        return bounded_liveness(argument)
    if isinstance(argument, Expression):
        return replace(_expressed(name, argument), conditions=partial(conditions_of, syntax))
    raise LanguageError(
        f"'{syntax}' compares two pipelines: it is no property of one",
        where=syntax.where,
        hint="from Python: check(pipeline, equivalent_to(other))",
    )


def asked_by(syntax: PropertySyntax, loaded: Loaded | None = None) -> Property | Equivalence:
    """What `syntax` asks; `loaded` is the pipeline of a file that it is asked of, where other pipelines are found."""
    if syntax.name == TOLERATES:
        return tolerating()
    if loaded is not None and syntax.name in WRITTEN and isinstance(syntax.argument, PipelineReference):
        return replace(equivalent_to(loaded.other(syntax.argument), WRITTEN[syntax.name]), name=str(syntax))
    return property_from(syntax)


def _expressed(name: str, e: Expression) -> Property:
    def cases(system: System) -> tuple[tuple[str, Term], ...]:
        return Labels(system).cases(e)

    if name in ("never", "can"):
        asked = never if name == "never" else can
        return asked(lambda system: Labels(system).somewhere(e), str(e), lambda system: Labels(system).looked_at(e))
    if name == "always":
        return always(lambda system: Labels(system).invariant(e), str(e), cases)
    kind: QueryKind = "ctl" if name == "ctl" else "ltl"
    return temporal(kind, lambda system: Labels(system).formula(e), str(e), cases)
