"""Properties as written (`check ...` lines, `-p`) turned into properties that can be asked."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from workbench.errors import LanguageError
from workbench.language.properties import PROPERTIES
from workbench.language.syntax import Expression, PipelineReference, PropertySyntax
from workbench.smv.engines.engine import QueryKind
from workbench.verify.ask.equivalence import Equivalence
from workbench.verify.ask.labels import Labels
from workbench.verify.ask.properties import Exercised, Property, always, can, never, temporal
from workbench.verify.ask.scope import conditions_of

if TYPE_CHECKING:
    from workbench.language import Loaded


def property_from(syntax: PropertySyntax) -> Property:
    """The property of one pipeline that `syntax` writes."""
    row = PROPERTIES[syntax.name]
    if row.mode:
        raise LanguageError(
            f"'{syntax}' compares two pipelines: it is no property of one",
            where=syntax.where,
            hint="from Python: check(pipeline, equivalent_to(other))",
        )
    found: Property = row.made(*([] if row.argument is None else [syntax.argument]))
    return replace(found, conditions=partial(conditions_of, syntax))


def asked_by(syntax: PropertySyntax, loaded: Loaded | None = None) -> Property | Equivalence:
    """What `syntax` asks; `loaded` is the pipeline of a file that it is asked of, where other pipelines are found."""
    row = PROPERTIES[syntax.name]
    found: Equivalence
    if row.mode and row.argument is None:
        found = row.made()
        return found
    if row.mode and loaded is not None and isinstance(syntax.argument, PipelineReference):
        found = row.made(loaded.other(syntax.argument), row.mode)
        return replace(found, name=str(syntax))
    return property_from(syntax)


def _cases(e: Expression) -> Exercised:
    return lambda system: Labels(system).cases(e)


def _looked_at(e: Expression) -> Exercised:
    return lambda system: Labels(system).looked_at(e)


def always_expressed(e: Expression) -> Property:
    """`always (e)`."""
    return always(lambda system: Labels(system).invariant(e), str(e), _cases(e))


def never_expressed(e: Expression) -> Property:
    """`never(e)`."""
    return never(lambda system: Labels(system).somewhere(e), str(e), _looked_at(e))


def can_expressed(e: Expression) -> Property:
    """`can(e)`."""
    return can(lambda system: Labels(system).somewhere(e), str(e), _looked_at(e))


def formula_expressed(kind: QueryKind, e: Expression) -> Property:
    """`ctl(e)` or `ltl(e)`."""
    return temporal(kind, lambda system: Labels(system).formula(e), str(e), _cases(e))
