"""What stands in a model for the types without a bound: so many integers, these texts, these whole numbers for floats.

The rule of this module: a text that a pipeline names is among the texts of its model; and where nobody chooses them,
numbers reach beyond the constants that they are compared with, so that no comparison is always true, or never.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from string import ascii_lowercase
from typing import Any, NamedTuple

from workbench.core.domain import Domain, Integer, Integers, Reals, SomeFloats, SomeTexts, Texts, Value
from workbench.core.fields import scalars, split
from workbench.core.fold import postorder
from workbench.core.function import TypedFunction
from workbench.core.ops import COMPARISONS
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Processor
from workbench.core.program import Program
from workbench.core.term import Term, leaves
from workbench.language import syntax as s
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
        yield from (str(t.payload) for t in _terms_in(item) if t.is_const and isinstance(t.domain, Texts))
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
    """A bound that nobody has chosen: a larger one may be taken. `why` says what it was taken for."""

    why: str

    def __new__(cls, value: int, why: str = "") -> Adjustable:
        """The bound."""
        made = super().__new__(cls, value)
        made.why = why
        return made


class ConstantComparison(NamedTuple):
    """A comparison with a constant, the constant on the right.

    Attributes
    ----------
    operand: the domain of what is compared; None where it is not known.
    """

    symbol: str
    constant: float
    operand: Domain | None

    @property
    def needs(self) -> tuple[int, int]:
        """The least and the greatest whole number, from 0 on or below the constant, of which it says both."""
        above = math.floor(self.constant) + 1 if self.symbol in (">", "<=") else math.ceil(self.constant)
        below = math.floor(self.constant) if self.symbol in (">", "<=") else math.ceil(self.constant) - 1
        return below, above

    @property
    def settled(self) -> bool | None:
        """What it always says of the operand's numbers, if they lie on one side of the constant."""
        if not isinstance(self.operand, Integer | SomeFloats):
            return None
        (below, above), (low, high) = self.needs, (self.operand.lo, self.operand.hi)
        if low <= below and above <= high:
            return None
        if self.symbol in ("=", "!="):
            return None if low <= self.constant <= high else self.symbol == "!="
        return (low > below) == (self.symbol in (">", ">="))


def comparisons_in(item: object) -> Iterator[tuple[ConstantComparison, Term]]:
    """The comparisons with numbers in a pipeline, a processor, or a part of one, and what is compared."""
    if isinstance(item, TypedFunction):
        for term in _terms_in(item):
            if term.op is None or not term.op.holds:
                continue
            for symbol, one, other in zip((term.op.symbol, term.op.mirror), term.args, term.args[::-1], strict=True):
                if other.is_const and not one.is_const and _is_number(other.payload):
                    yield ConstantComparison(symbol, other.payload, one.domain), one
    elif isinstance(item, Pipeline | Processor | Transition | tuple):
        for part in _parts(item):
            yield from comparisons_in(part)


def _parts(item: Any) -> Iterable[object]:
    if isinstance(item, Pipeline):
        return item.typed.values()
    return item if isinstance(item, tuple) else (getattr(item, field.name) for field in dataclasses.fields(item))


def _terms_in(function: TypedFunction) -> Iterator[Term]:
    return iter(postorder([leaf for leaf in leaves(function.body) if isinstance(leaf, Term)]))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _written(syntax: s.PropertySyntax | None) -> Iterator[ConstantComparison]:
    """The comparisons with numbers in the text of a property, but for those of queues."""
    whole = syntax.argument if syntax is not None else None
    for e in s.walk(whole) if isinstance(whole, s.Expression) else ():
        if isinstance(e, s.AppliedOperator) and (row := COMPARISONS.get(e.operator)) and len(e.operands) == 2:
            for symbol, one, other in zip((row.symbol, row.mirror), e.operands, e.operands[::-1], strict=True):
                queue = any(isinstance(part, s.Call) for part in s.walk(one))
                if isinstance(other, s.Literal) and _is_number(other.value) and not queue:
                    yield ConstantComparison(symbol, other.value, None)


def numbers_for(
    programs: Sequence[Program], syntax: s.PropertySyntax | None = None
) -> tuple[Adjustable, tuple[int, int] | None]:
    """The N, and the whole numbers for floats, with which comparisons with constants can say both.

    None for floats where none is compared. An N beyond the least is a power of two, which costs engines least.
    """
    found = [each for program in programs for each, _ in comparisons_in(program.pipeline)]
    found += _written(syntax)
    integers = [(each.needs[1] + 1, each.constant) for each in found if not isinstance(each.operand, Reals)]
    kinds = {
        type(kind) for each in programs for domain in each.pipeline.domains.values() for _, kind in scalars(domain)
    }
    least, constant = max(integers, default=(0, 0.0))
    n = Adjustable(SMALLEST_N)
    if Integers in kinds and SMALLEST_N < least <= LARGEST_N:
        n = Adjustable(power_of_two(least), f"values are compared with {constant:g}")
    spans = [each.needs for each in found if isinstance(each.operand, Reals | None)]
    if Reals not in kinds or not spans:
        return n, None
    return n, (min(0, *(low for low, _ in spans)), max(0, *(high for _, high in spans)))


def power_of_two(least: int) -> int:
    """The least power of two that is at least so much."""
    return 1 << (least - 1).bit_length()
