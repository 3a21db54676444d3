"""Verdicts for every N by a stated argument: values that are only moved and compared for equality.

Where a model does nothing else with values of a type, any renaming of them is another run (P. Wolper, Expressing
interesting properties of programs in propositional temporal logic, POPL 1986). Let s variables and i inputs of the
model hold such values, and c constants occur in it. Relate two states, over N and over N' values, if one is the other
with values renamed one to one, the constants kept. If N and N' are at least s + i + c, there are always enough unused
values left to answer each new input with one, so the relation is a bisimulation, and every formula about equalities of
values and about anything else has the same truth value for both.

Functions in Python, which are tabulated for each N anew, are not covered: what they do with more values is not known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from workbench.core.domain import Integer
from workbench.core.fold import postorder
from workbench.core.function import Function, TypedFunction
from workbench.core.ops import EQ, ITE, NE
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Processor
from workbench.core.term import Term
from workbench.ir.reduce import keys_in
from workbench.ir.system import System

MOVES = (ITE, EQ, NE)
"""The operators that do not look at a value but for being equal to another."""


def enough_values(system: System, atoms: Iterable[Term], domain: Integer) -> int | None:
    """The N from which on all verdicts are the same; None where values of `domain` are computed with, or ordered."""
    if any(domain in keys_in(each.domain) for each in system.inputs):
        return None  # of each key there is a variable
    constants = {variable.initial for variable in system.variables if variable.domain == domain}
    for term in postorder([*system.names().values(), *atoms]):
        if term.is_const:
            constants |= {term.payload} if term.domain == domain else set()
        elif not term.is_var and term.op not in MOVES and _touches(term, domain):
            return None
    held = [variable for variable in system.variables if variable.domain == domain]
    free = [name for name, leaf in system.free.items() if leaf == domain]
    return len(held) + len(free) + len(constants)


def uses_python(pipeline: Pipeline) -> bool:
    """Whether a function in Python is used anywhere in it."""
    return any(_uses_python(node.processor) for node in pipeline.nodes)


def _uses_python(item: object) -> bool:
    if isinstance(item, TypedFunction):
        return item.function.opaque
    if isinstance(item, Function):
        return item.opaque
    if isinstance(item, Pipeline):
        return uses_python(item)
    if isinstance(item, Processor):
        return any(_uses_python(getattr(item, field.name)) for field in dataclasses.fields(item))
    return False


def _touches(term: Term, domain: Integer) -> bool:
    return term.domain == domain or any(arg.domain == domain for arg in term.args)
