"""Polynomials with integer coefficients, in generators that stand for numbers or for bits.

A bit is 0 or 1, so it is its own square; of the bits that encode the value of one variable, at most one is 1, so the
product of any two is 0. Thus every Boolean function is a polynomial, and equal functions of bits are equal polynomials.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import TypeVar

from workbench.verify.decide.system_decider import OutOfLimits

Monomial = tuple[int, ...]
"""Generators, the greatest first; powers are repeated generators. () is 1."""
Polynomial = dict[Monomial, int]
"""Coefficients by monomial, none of them 0."""
UNIT: Monomial = ()


class Generators:
    """The generators, and their multiplication.

    Parameters
    ----------
    work: maximum number of products of monomials.
    deadline: when to stop, on the clock of `time.monotonic`.
    """

    def __init__(self, work: int, deadline: float = math.inf) -> None:
        self._work, self._deadline = work, deadline
        self._numbers: dict[Hashable, int] = {}
        self._bits: list[bool] = []
        self._variables: list[Hashable] = []
        self._products: dict[tuple[Monomial, Monomial], Monomial | None] = {}

    def number(self, key: Hashable) -> int:
        """Return the generator for a number."""
        return self._generator(("number", key), bit=False, variable=None)

    def bit(self, key: Hashable, variable: Hashable = None) -> int:
        """Return the generator for a bit; of the bits of one variable at most one is 1."""
        return self._generator(("bit", key, variable), bit=True, variable=variable)

    def _generator(self, key: Hashable, *, bit: bool, variable: Hashable) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self._bits)
            self._bits.append(bit)
            self._variables.append(variable)
        return self._numbers[key]

    def split(self, monomial: Monomial) -> tuple[Monomial, Monomial]:
        """Return the numbers in a monomial, and the bits."""
        return tuple(g for g in monomial if not self._bits[g]), tuple(g for g in monomial if self._bits[g])

    def product(self, a: Monomial, b: Monomial) -> Monomial | None:
        """Return the product of two monomials; None is 0."""
        if not a or not b:
            return a or b
        try:
            return self._products[a, b]
        except KeyError:
            return self._products.setdefault((a, b), self._multiply(a, b))

    def _multiply(self, a: Monomial, b: Monomial) -> Monomial | None:
        generators: list[int] = []
        variables = set()
        for generator in sorted(a + b, reverse=True):
            if self._bits[generator]:
                if generators and generators[-1] == generator:
                    continue
                variable = self._variables[generator]
                if variable is not None:
                    if variable in variables:
                        return None
                    variables.add(variable)
            generators.append(generator)
        return tuple(generators)

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Return the product of two polynomials."""
        self.spend(len(a) * len(b))
        product: Polynomial = {}
        for left, factor in a.items():
            for right, other in b.items():
                monomial = self.product(left, right)
                if monomial is not None:
                    accumulate(product, monomial, factor * other)
        return product

    def spend(self, work: int) -> None:
        """Count an amount of work.

        Raises
        ------
        OutOfLimits: the limit of work or time is exceeded.
        """
        self._work -= work
        if self._work < 0:
            raise OutOfLimits("the polynomials become too large")
        if time.monotonic() > self._deadline:
            raise OutOfLimits("the time was used up")


class Rules:
    """Monomials, each with the smaller polynomial that replaces it."""

    LONGEST = 3
    """Maximum number of generators in a monomial that is replaced."""

    def __init__(self, generators: Generators, rules: Mapping[Monomial, Polynomial]) -> None:
        self._generators = generators
        self.rules = dict(rules)

    def add(self, monomial: Monomial, by: Polynomial) -> list[Polynomial]:
        """Add a rule. Rules that it applies to are dropped, and returned as polynomials that are 0."""
        others = [other for other in self.rules if _divides(monomial, other)]
        dropped = [plus({other: 1}, self.rules.pop(other), -1) for other in others]
        self.rules[monomial] = by
        return dropped

    def reduce(self, polynomial: Polynomial) -> Polynomial:
        """Return the polynomial with the rules applied until none applies."""
        if not self.rules:
            return polynomial
        done: Polynomial = {}
        todo = dict(polynomial)
        while todo:
            monomial, factor = todo.popitem()
            divisor = self.divisor(monomial)
            if divisor is None:
                accumulate(done, monomial, factor)
                continue
            rest = without(monomial, divisor)
            by = self.rules[divisor]
            self._generators.spend(len(by) + 1)
            for other, coefficient in by.items():
                product = self._generators.product(other, rest)
                if product is not None:
                    accumulate(todo, product, factor * coefficient)
        return done

    def divisor(self, monomial: Monomial) -> Monomial | None:
        """Return the part of a monomial that a rule replaces; None if none does."""
        for length in range(1, min(len(monomial), self.LONGEST) + 1):
            for part in itertools.combinations(monomial, length):
                if part in self.rules:
                    return part
        return None


def _divides(divisor: Monomial, monomial: Monomial) -> bool:
    return all(divisor.count(generator) <= monomial.count(generator) for generator in divisor)


def without(monomial: Monomial, divisor: Monomial) -> Monomial:
    """Return a monomial divided by one that divides it."""
    rest = list(monomial)
    for generator in divisor:
        rest.remove(generator)
    return tuple(rest)


Factor = TypeVar("Factor", int, Fraction)


def accumulate(polynomial: dict[Monomial, Factor], monomial: Monomial, factor: Factor) -> None:
    """Add a multiple of a monomial, in place."""
    total = polynomial.get(monomial, 0) + factor
    if total:
        polynomial[monomial] = total
    else:
        polynomial.pop(monomial, None)


def plus(a: Polynomial, b: Polynomial, factor: int = 1) -> Polynomial:
    """Return the sum of a and a multiple of b."""
    total = dict(a)
    for monomial, coefficient in b.items():
        accumulate(total, monomial, factor * coefficient)
    return total


def constant(value: int) -> Polynomial:
    """Return a constant polynomial."""
    return {UNIT: value} if value else {}


def value_of(polynomial: Polynomial) -> int | None:
    """Return the value of a constant polynomial; None if it is not constant."""
    if not polynomial:
        return 0
    return polynomial[UNIT] if polynomial.keys() == {UNIT} else None
