"""Values of the attributes of a class: some at, next to and between all that they are compared with.

The rule of this module: it knows nothing of rules, only constants and arithmetic that attributes of the class take
part in. Where there are many, fewer are chosen, since models compute with all pairs of values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import IntEnum
from fractions import Fraction
from string import ascii_lowercase
from typing import NamedTuple

from workbench.core.domain import BOOL, FLOAT, INT, Domain, Value
from workbench.tesla.model.origins import AttributeKey, as_fraction

ARITHMETIC = ("+", "-", "*", "/", "%")
MANY = 48
"""Number of values of an attribute above which it gets fewer."""
SPARSE = 4
"""Maximum number of constants that an attribute has as values in a sparse model."""
FEW = 6
"""Maximum number of constants whose sums and differences, or remainders, are values, too."""


class Detail(IntEnum):
    """The number of values of attributes in a model."""

    SPARSE = 0
    """Some constants, and one value below and above all of them."""
    PLAIN = 1
    """Constants and values next to them."""
    FULL = 2
    """Also sums, opposites, values in gaps, and values that lead to the constants."""


class ComparedAttributes(NamedTuple):
    """Attributes that are compared with each other, with the constants that they are compared with.

    Attributes
    ----------
    shifts: operators and constants in arithmetic on the attributes.
    ordered: whether a comparison depends on their order.
    added: whether they are added to each other or subtracted.
    nonlinear: whether they are multiplied or divided with each other, so that zero and one may hide a difference.
    """

    attributes: Collection[AttributeKey] = ()
    constants: Sequence[Value] = ()
    shifts: Sequence[tuple[str, Value]] = ()
    ordered: bool = False
    added: bool = False
    nonlinear: bool = False

    @classmethod
    def of(
        cls,
        attributes: Collection[AttributeKey],
        constants: Iterable[Value],
        arithmetic: Iterable[tuple[str, Sequence[Value]]],
        *,
        ordered: bool,
    ) -> ComparedAttributes:
        """Make a comparison; `arithmetic`: the operators in it, each with those of its operands that are literals."""
        operations = list(arithmetic)
        rests = [value for sign, literals in operations if sign == "%" for value in (*literals, 0)]
        return cls(
            attributes, [*constants, *rests], [(sign, value) for sign, literals in operations for value in literals],
            ordered, any(sign in "+-" and not literals for sign, literals in operations),
            any(sign in "*/%" and not literals for sign, literals in operations),
        )  # fmt: skip


def class_values(
    domain: Domain, compared: ComparedAttributes, count: int, beside: int, detail: Detail = Detail.FULL
) -> Sequence[Value]:
    """Return values for a class of attributes.

    Parameters
    ----------
    count: the number of values where nothing is compared by order or computed; elsewhere the least number.
    beside: the number of values on each side of a constant.
    """
    if domain == BOOL:
        return [False, True]
    if domain not in (INT, FLOAT):
        return _texts([each for each in compared.constants if isinstance(each, str)], count, ordered=compared.ordered)
    constants = {as_fraction(each) for each in compared.constants if isinstance(each, int | float) and each is not True}
    shifts = [(sign, as_fraction(by)) for sign, by in compared.shifts if isinstance(by, int | float)]
    if not (constants or shifts or compared.nonlinear):
        return list(range(count))
    if domain == INT:
        constants = {Fraction(near(each)) for each in constants for near in (math.floor, math.ceil)}
    if detail is Detail.SPARSE:
        few = sorted(constants or {_base(shifts)})
        few = few[:: math.ceil(len(few) / SPARSE)]
        return _as_values(domain, [few[0] - 1, *few, *(few[-1] + more for more in range(1, max(count - len(few), 2)))])
    attempts: list[list[Fraction]] = []
    richer = () if detail is Detail.PLAIN else ((True, beside), (True, min(beside, 1)))
    for more, around in (*richer, (False, min(beside, 1))):
        numbers = constants or {_base(shifts)}
        if compared.added and more and len(numbers) <= FEW:
            numbers = {*numbers, *(a + sign * b for a in numbers for b in numbers for sign in (1, -1))}
        if compared.nonlinear and more:
            numbers = {*numbers, *(-each for each in numbers), *map(Fraction, (-1, 0, 1, 2))}
        values = _values_around(numbers, shifts, max(around, bool(shifts)))
        needed = (len(compared.attributes) > 1) + 1 if domain == FLOAT and detail is Detail.FULL else 0
        attempts.append(sorted({*values, *_fill_gaps(sorted(numbers), values, needed)}))
    chosen = next((each for each in attempts if len(each) <= MANY), attempts[-1])
    chosen += [chosen[-1] + more for more in range(1, count - len(chosen) + 1)]
    return _as_values(domain, chosen)


def _as_values(domain: Domain, numbers: Iterable[Fraction]) -> list[Value]:
    return list(dict.fromkeys(map(float if domain == FLOAT else int, numbers)))


def _values_around(
    numbers: Collection[Fraction], shifts: Sequence[tuple[str, Fraction]], beside: int
) -> list[Fraction]:
    """Return the numbers, the numbers shifted as in rules, and some values below, between and above them."""
    fine = Fraction(1, max(each.denominator for each in numbers))
    bases = {each + by * fine for each in numbers for by in ((-1, 0, 1) if len(numbers) <= FEW else (0,))}
    shifted = {moved for sign, by in shifts for each in bases for moved in _shift(each, sign, by, numbers)}
    unit = Fraction(1, max(each.denominator for each in (*numbers, *shifted)))
    around = {each + by * unit for each in numbers for by in range(-beside, beside + 1)}
    return sorted({*around, *shifted, min((*numbers, *shifted)) - unit, max((*numbers, *shifted)) + unit})


def _shift(number: Fraction, sign: str, by: Fraction, numbers: Collection[Fraction]) -> Iterator[Fraction]:
    """Yield what arithmetic with a constant makes of a number; for a remainder, the numbers behind it that have one."""
    if sign in "+-":
        yield from (number + by, number - by)
    elif sign != "%":
        yield number * by
    elif by and len(numbers) <= FEW:
        yield from (number + (rest - number) % by for rest in numbers if 0 <= rest < abs(by))


def _fill_gaps(numbers: Sequence[Fraction], values: Sequence[Fraction], needed: int) -> Iterator[Fraction]:
    """Yield values between neighbouring numbers that have fewer than needed between them."""
    for one, other in itertools.pairwise(numbers):
        if sum(one < each < other for each in values) < needed:
            yield from (one + (other - one) * Fraction(part, 4) for part in ((2,) if needed == 1 else (1, 3)))


def _base(shifts: Sequence[tuple[str, Fraction]]) -> Fraction:
    """Return a number that stays whole when multiplied with the factors in rules."""
    factors = [by for sign, by in shifts if sign in "*/"]
    return Fraction(math.prod(each.denominator for each in factors) if factors else 0)


def _texts(constants: Iterable[str], count: int, *, ordered: bool) -> list[str]:
    """Return texts: the constants, others, and if their order matters, some below, between and above them."""
    texts = list(dict.fromkeys(constants))
    if ordered and texts:
        known = sorted(texts)
        lower = known[0][:-1] if len(known[0]) > 1 else ""
        between = [one + "!" for one, other in itertools.pairwise(known) if one + "!" < other]
        above = [known[-1] + "a" * length for length in range(1, max(count - len(known) - len(between), 1) + 1)]
        return list(dict.fromkeys((lower, *known, *between, *above)))
    fresh = (name for name in _fresh_names() if name not in texts)
    return texts + [next(fresh) for _ in range(max(count - len(texts), 1))]


def _fresh_names() -> Iterator[str]:
    return (letter * size for size in itertools.count(1) for letter in ascii_lowercase)
