"""What stands in a model for the types without a bound: so many integers, these texts, these whole numbers for floats.

The rule of this module: a text that a pipeline names is among the texts of its model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from string import ascii_lowercase

from workbench.core.domain import Domain, SomeTexts, Texts, Value
from workbench.core.fields import scalars, split
from workbench.core.fold import postorder
from workbench.core.function import TypedFunction
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Processor
from workbench.core.program import Program
from workbench.core.term import Term, leaves
from workbench.processors.moore import Transition, Variable

VALUES = "Value", "Value | None"
"""The types of the fields of processors that are values of a stream, or one for each of several."""


def texts_of(programs: Sequence[Program], given: Sequence[str], count: int) -> SomeTexts:
    """The texts of a model: those that are given, or else `count` letters, and those that the programs name."""
    named = dict.fromkeys(text for each in programs for text in _texts_in(each.pipeline))
    return SomeTexts(tuple(dict.fromkeys((*(given or ascii_lowercase[:count]), *named))))


def _texts_in(item: object) -> Iterator[str]:
    """The constants of type `str` in a pipeline, a processor, or a part of one."""
    if isinstance(item, Pipeline):
        for processor in item.typed.values():
            yield from _texts_in(processor)
    elif isinstance(item, TypedFunction):
        terms = [leaf for leaf in leaves(item.body) if isinstance(leaf, Term)]
        yield from (str(t.payload) for t in postorder(terms) if t.is_const and isinstance(t.domain, Texts))
    elif isinstance(item, Variable):
        yield from _texts_of(item.domain, item.start)
    elif isinstance(item, Processor | Transition):
        for field in dataclasses.fields(item):
            part = getattr(item, field.name)
            values = part if isinstance(part, tuple) else (part,)
            if field.type in VALUES:
                yield from (value for value in values if isinstance(value, str))
            else:
                yield from _texts_in(part)
    elif isinstance(item, tuple):
        for part in item:
            yield from _texts_in(part)


def _texts_of(domain: Domain, value: Value) -> Iterator[str]:
    parts = zip(scalars(domain), split(domain, value), strict=True)
    yield from (part for (_, kind), part in parts if isinstance(kind, Texts))
