"""The finite stand-ins of unbounded types in a model: N integers, some texts, some whole numbers for floats.

The rule of this module: a text that a pipeline names is among the texts of its model; and unless the user chooses
them, numbers reach beyond the constants that they are compared with, so that no comparison is always true, or never.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from string import ascii_lowercase
from typing import Any

from workbench.core.domain import Domain, Integers, Reals, SomeTexts, Texts, Value
from workbench.core.fields import scalars, split
from workbench.core.function import LIBRARY, Function, TypedFunction
from workbench.core.ops import COMPARISONS
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Processor
from workbench.core.program import Program
from workbench.core.term import var
from workbench.errors import WorkbenchError
from workbench.language import syntax as s
from workbench.language.evaluate import Evaluator, apply_untyped
from workbench.language.properties import join_dotted
from workbench.processors.held.contracts import watch
from workbench.processors.moore import Transition, Variable
from workbench.verify.ask.number_bounds import multiplies_floats, reaches, terms_in

VALUES = "Value", "Value | None"
"""The types of processor fields that hold one value of a stream, or one for each of several streams."""


def texts_of(programs: Sequence[Program], texts: Sequence[str], count: int) -> SomeTexts:
    """Return the texts of a model: the given ones, or else `count` letters, and those that the programs name."""
    named = dict.fromkeys(text for each in programs for text in _texts_in(each.pipeline))
    return SomeTexts(tuple(dict.fromkeys((*(texts or ascii_lowercase[:count]), *named))))


def _texts_in(item: object) -> Iterator[str]:
    """Yield the constants of type `str` in a pipeline, a processor, or a part of one."""
    if isinstance(item, Pipeline):
        for processor in (*item.typed.values(), *(each.body for each in item.contracts)):
            yield from _texts_in(processor)
    elif isinstance(item, TypedFunction):
        yield from (str(t.payload) for t in terms_in(item.body) if t.is_const and isinstance(t.domain, Texts))
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


# --- numbers ------------------------------------------------------------------------------------------------

SMALLEST_N, LARGEST_N = 4, 1024
"""The N where no constant needs more, as in the paper's examples, and the largest that is chosen for constants."""


class Adjustable(int):
    """A bound that the user has not chosen: a larger one may be taken. `why` explains the choice."""

    why: str

    def __new__(cls, value: int, why: str = "") -> Adjustable:
        """Make the bound."""
        bound = super().__new__(cls, value)
        bound.why = why
        return bound


class _Conditions(Evaluator):
    """An evaluator of a property's comparisons, except those of queues, over variables that are pipes."""

    def __init__(self, flat: Pipeline) -> None:
        super().__init__({}, LIBRARY, {})
        self.pipes = {name: (name, domain) for name, domain in flat.domains.items()}
        self.pipes |= {name: self.pipes[pipe] for name, pipe in flat.outputs}

    def value(self, e: s.Expression) -> Any:
        path = join_dotted(e)
        pipe = self.pipes.get((path or "").removesuffix(".value"))
        return super().value(e) if pipe is None else var(*pipe)

    def apply(self, function: Function, arguments: list[Any], e: s.Expression) -> Any:
        return apply_untyped(function, arguments)


def conditions_of(syntax: s.PropertySyntax | None, flat: Pipeline) -> Iterator[Any]:
    """Yield the comparisons in a property, as terms over pipes."""
    whole, evaluator = syntax.argument if syntax is not None else None, _Conditions(flat)
    for e in s.walk(whole) if isinstance(whole, s.Expression) else ():
        if isinstance(e, s.AppliedOperator) and e.operator in COMPARISONS:
            with contextlib.suppress(WorkbenchError):  # the caller will meet the same error
                yield evaluator.value(e)


def numbers_for(
    programs: Sequence[Program], properties: Sequence[s.PropertySyntax | None] = ()
) -> tuple[Adjustable, tuple[int, int] | None]:
    """Return the N, and the whole numbers for floats, with which comparisons can have both results.

    None for floats if none is compared; otherwise one is below 0, and one above 1 if floats are multiplied. An N beyond
    the least is a power of two, which costs engines least.
    """
    flats = [watch(each.pipeline) for each in programs]
    program_reaches = [reaches(flat, [c for each in properties for c in conditions_of(each, flat)]) for flat in flats]
    kinds = {kind for flat in flats for domain in flat.domains.values() for _, kind in scalars(domain)}
    n = Adjustable(SMALLEST_N)
    for spans in ([each.computed for each in program_reaches], [each.compared for each in program_reaches]):
        top = max((span[Integers].top for span in spans if Integers in span), default=0)
        if Integers() in kinds and SMALLEST_N <= top < LARGEST_N:
            n = Adjustable(power_of_two(top + 1), f"numbers up to {top} make a difference")
            break
    floats = [each.computed[Reals] for each in program_reaches if Reals in each.computed]
    if Reals() not in kinds or not floats:
        return n, None
    low, top = min(0, *(span.low for span in floats)), max(span.top for span in floats)
    if any(map(multiplies_floats, flats)):
        top = max(top, 2)
    return n, (min(low, -1) if top else low, top)


def power_of_two(least: int) -> int:
    """Return the least power of two that is not below a number."""
    return 1 << (least - 1).bit_length()
