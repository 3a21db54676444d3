"""The translation of terms into polynomials.

Integers modulo N are a ring, so their sums and products are those of polynomials, and so are those of ranges, which
are exact. A variable with few values has a bit for each but its default, and results of such variables are computed
case by case. Any other operation, say a division, makes a new generator, the same for the same arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.core.domain import Bool, Domain, Integer, Overflowing, Range
from workbench.core.encoding import encode
from workbench.core.fold import Fold
from workbench.core.ops import EQ, EVEN, LT, OPERATORS
from workbench.core.term import Term
from workbench.verify.decide.algebra.polynomial import (
    UNIT,
    Generators,
    Monomial,
    Polynomial,
    Rules,
    accumulate,
    constant,
    plus,
    value_of,
)

MAX_CASES = 8
"""Maximum number of values of a variable that is treated case by case."""
CASES = 64
"""Maximum number of cases of an operation."""

MANY = 64
"""The least N for which the larger half of the constants is read as negative: N - 1 is -1, but 3 of 4 is 3."""

CoefficientRing = Integer | None
"""The ring in which equations hold: modulo N, or exactly (None)."""


def ring(domain: Domain) -> CoefficientRing:
    """Return the ring in which the equations between values of a domain hold."""
    return domain if isinstance(domain, Integer) and domain.overflow is Overflowing.MODULAR else None


@dataclass(frozen=True)
class Cases:
    """A number by cases: for each possible value, the bit whether the number has it. Exactly one bit is 1."""

    of: Mapping[int, Polynomial]


class Translation(Fold[Polynomial | Cases]):
    """A translation of terms to polynomials, or to cases; truth values are polynomials that are 0 or 1.

    Parameters
    ----------
    rules: the known relations, by ring; exact relations are among the rules of every ring.
    """

    def __init__(self, generators: Generators, rules: Mapping[CoefficientRing, Rules]) -> None:
        super().__init__()
        self.generators = generators
        self._rules = rules
        self._zeros: dict[int, tuple[CoefficientRing, Polynomial]] = {}

    def truth(self, term: Term) -> Polynomial:
        """Return a truth value as a polynomial."""
        return _truth(self(term))

    def number(self, value: Polynomial | Cases) -> Polynomial:
        """Return a value as one polynomial."""
        if not isinstance(value, Cases):
            return value
        total: Polynomial = {}
        for number, bit in value.of.items():
            total = plus(total, bit, number)
        return total

    def is_equal(self, value: Polynomial | Cases, number: int) -> Polynomial:
        """Return whether a value of a range or enumeration is this number, as a polynomial."""
        if isinstance(value, Cases):
            return value.of.get(number, {})
        return self._is_zero(plus(value, constant(-number)), None)

    def times(self, a: Polynomial, b: Polynomial, over: CoefficientRing) -> Polynomial:
        """Return a product, reduced by the known relations."""
        return self._reduce(self.generators.times(a, b), over)

    def _reduce(self, polynomial: Polynomial, over: CoefficientRing) -> Polynomial:
        return self._rules[over if over in self._rules else None].reduce(polynomial)

    # --- leaves

    def on_const(self, term: Term) -> Polynomial | Cases:
        code = encode(term.domain, term.payload)
        over = ring(term.domain)
        if over is not None:
            return constant(code - over.n if MANY <= over.n < 2 * code else code)  # N - 1 is -1
        return constant(code) if isinstance(term.domain, Bool) else Cases({code: constant(1)})

    def on_var(self, term: Term) -> Polynomial | Cases:
        name, domain, over = term.name, term.domain, ring(term.domain)
        if isinstance(domain, Bool):
            return self._reduce({(self.generators.bit(name),): 1}, None)
        if over is None and by_cases(domain):
            usual, others = codes_of(domain)
            bits = {code: self._reduce({(self.generators.bit(code, name),): 1}, None) for code in others}
            rest = constant(1)
            for bit in bits.values():
                rest = plus(rest, bit, -1)
            return Cases({code: bit for code, bit in {usual: rest, **bits}.items() if bit})
        return self._reduce({(self.generators.number(name),): 1}, over)

    # --- logic

    def on_not(self, _: Term, a: Any) -> Polynomial:
        return plus(constant(1), a, -1)

    def on_and(self, _: Term, a: Any, b: Any) -> Polynomial:
        return self.times(a, b, None)

    def on_or(self, _: Term, a: Any, b: Any) -> Polynomial:
        return plus(plus(a, b), self.times(a, b, None), -1)

    def on_implies(self, term: Term, a: Any, b: Any) -> Polynomial:
        return self.on_or(term, self.on_not(term, a), b)

    def on_ite(self, term: Term, c: Any, a: Any, b: Any) -> Polynomial | Cases:
        over = ring(term.domain)
        if over is None and isinstance(a, Cases) and isinstance(b, Cases):
            numbers = sorted(a.of.keys() | b.of.keys())
            bits = {n: self._either(c, a.of.get(n, {}), b.of.get(n, {}), None) for n in numbers}
            return Cases({number: bit for number, bit in bits.items() if bit})
        then, other = (self._in(over, value, arg) for value, arg in ((a, term.args[1]), (b, term.args[2])))
        return self._either(c, then, other, over)

    def _either(self, c: Polynomial, a: Polynomial, b: Polynomial, over: CoefficientRing) -> Polynomial:
        return plus(b, self.times(c, plus(a, b, -1), over))

    # --- numbers

    def on_add(self, term: Term, a: Any, b: Any) -> Polynomial | Cases:
        return self._arithmetic(term, a, b, lambda x, y, _: plus(x, y))

    def on_sub(self, term: Term, a: Any, b: Any) -> Polynomial | Cases:
        return self._arithmetic(term, a, b, lambda x, y, _: plus(x, y, -1))

    def on_mul(self, term: Term, a: Any, b: Any) -> Polynomial | Cases:
        return self._arithmetic(term, a, b, self.times)

    def _arithmetic(self, term: Term, a: Any, b: Any, exact: Any) -> Polynomial | Cases:
        over = ring(term.domain)
        if over is None:
            cases = self._by_cases(term, a, b)
            if cases is not None:
                return cases
            if isinstance(term.domain, Integer):  # saturates
                return self._opaque(term, a, b)
        polynomial: Polynomial = exact(self._in(over, a, term.args[0]), self._in(over, b, term.args[1]), over)
        return self._reduce(polynomial, over)

    def on_cast(self, term: Term, a: Any) -> Polynomial | Cases:
        over, source = ring(term.domain), term.args[0].domain
        if over is not None:
            return self._reduce(self._in(over, a, term.args[0]), over)
        if isinstance(term.domain, Integer) and not _within(source, term.domain):
            cases = self._by_cases(term, a)
            return cases if cases is not None else self._opaque(term, a)
        return a if ring(source) is None else self._in(None, a, term.args[0])

    def on_eq(self, term: Term, a: Any, b: Any) -> Polynomial:
        left, right = (arg.domain for arg in term.args)
        if isinstance(left, Bool):
            return self._either(a, b, self.on_not(term, b), None)
        over = ring(left) if ring(left) == ring(right) else None
        cases = self._by_cases(term, a, b) if over is None else None
        if cases is not None:
            return _truth(cases)
        return self._is_zero(plus(self._in(over, a, term.args[0]), self._in(over, b, term.args[1]), -1), over)

    def on_ne(self, term: Term, a: Any, b: Any) -> Polynomial:
        return plus(constant(1), self.on_eq(EQ.build(term.args), a, b), -1)

    def _is_zero(self, difference: Polynomial, over: CoefficientRing) -> Polynomial:
        difference = _modulo(over, self._reduce(difference, over))
        number = value_of(difference)
        if number is not None:
            return constant(int(number == 0))
        negative = {monomial: -factor for monomial, factor in difference.items()}
        generator = self.generators.bit(("zero", over, min(_key(difference), _key(negative))))
        self._zeros[generator] = over, difference
        return {(generator,): 1}

    def under_guards(self, condition: Polynomial) -> Polynomial:
        """Simplify a condition: a bit for "x is 0" becomes 1 where x is 0 under the other bits of its monomial."""
        todo, done = dict(condition), dict[Monomial, int]()
        while todo:
            monomial, factor = todo.popitem()
            rest = next((rest for rest in self._guards(monomial) if self._is_zero_under(*rest)), None)
            accumulate(done if rest is None else todo, monomial if rest is None else rest[1], factor)
        return done

    def _guards(self, monomial: Monomial) -> Iterator[tuple[int, Monomial]]:
        """Yield the generators in a monomial of bits that mean that something is 0, each with the other bits."""
        if not self.generators.split(monomial)[0]:
            for index, generator in enumerate(monomial):
                if generator in self._zeros:
                    yield generator, monomial[:index] + monomial[index + 1 :]

    def _is_zero_under(self, generator: int, guard: Monomial) -> bool:
        over, difference = self._zeros[generator]
        return not _modulo(over, self.times({guard: 1}, difference, over))

    def on_lt(self, term: Term, a: Any, b: Any) -> Polynomial:
        cases = self._by_cases(term, a, b)
        if cases is not None:
            return _truth(cases)
        if not any(ring(arg.domain) for arg in term.args):
            return self._negative(plus(self.number(a), self.number(b), -1))
        if a == b and term.args[0].domain == term.args[1].domain:
            return {}
        return _truth(self._opaque(term, a, b))

    def _negative(self, difference: Polynomial) -> Polynomial:
        number = value_of(difference)
        if number is not None:
            return constant(int(number < 0))
        return {(self.generators.bit(("negative", _key(difference))),): 1}

    def on_gt(self, term: Term, a: Any, b: Any) -> Polynomial:
        return self.on_lt(LT.build((term.args[1], term.args[0])), b, a)

    def on_le(self, term: Term, a: Any, b: Any) -> Polynomial:
        return plus(constant(1), self.on_gt(term, a, b), -1)

    def on_ge(self, term: Term, a: Any, b: Any) -> Polynomial:
        return plus(constant(1), self.on_lt(LT.build(term.args), a, b), -1)

    def on_even(self, term: Term, a: Any) -> Polynomial:
        over = ring(term.args[0].domain)
        if over is None or over.n % 2 == 0:
            cases = self._by_cases(term, a)
            return _truth(cases) if cases is not None else self._is_even(self.number(a))
        return _truth(self._opaque(term, a))

    def _is_even(self, number: Polynomial) -> Polynomial:
        odd = {monomial: 1 for monomial, factor in number.items() if factor % 2}
        if odd.pop(UNIT, 0):
            return plus(constant(1), self._is_even(odd), -1)
        return {(self.generators.bit(("even", _key(odd))),): 1} if odd else constant(1)

    def on_odd(self, term: Term, a: Any) -> Polynomial:
        return plus(constant(1), self.on_even(EVEN.build(term.args), a), -1)

    # --- everything else

    def default(self, term: Term, *args: Any) -> Polynomial | Cases:
        cases = self._by_cases(term, *args) if term.op and term.op.name in OPERATORS else None
        return cases if cases is not None else self._opaque(term, *args)

    def _in(self, over: CoefficientRing, value: Polynomial | Cases, arg: Term) -> Polynomial:
        """Return a value as a number of this ring."""
        source = ring(arg.domain)
        if source is None or source == over:
            return self.number(value)
        number = value_of(self.number(value))
        if number is not None:
            return constant(number % source.n)
        return {(self.generators.number(("representative", source, _key(self.number(value)))),): 1}

    def _by_cases(self, term: Term, *args: Any) -> Polynomial | Cases | None:
        """Return the result for each combination of the arguments' values, if all of them have few; else None."""
        if term.op is None or not (isinstance(term.domain, Bool) or term.domain.numeric):
            return None
        choices = [self._choices(value, arg.domain) for value, arg in zip(args, term.args, strict=True)]
        count = 1
        for choice in choices:
            if choice is None:
                return None
            count *= len(choice)
        if count > CASES:
            return None
        bits: dict[int, Polynomial] = {}
        for combination in itertools.product(*(choice.items() for choice in choices if choice is not None)):
            result = int(term.domain.fit(term.op.exact(*(number for number, _ in combination))))
            case = constant(1)
            for _, bit in combination:
                case = self.times(case, bit, None)
            bits[result] = plus(bits.get(result, {}), case)
        over = ring(term.domain)
        if isinstance(term.domain, Bool):
            return bits.get(1, {})
        cases = Cases({number: bit for number, bit in bits.items() if bit})
        return self._reduce(self.number(cases), over) if over else cases

    def _choices(self, value: Polynomial | Cases, domain: Domain) -> Mapping[int, Polynomial] | None:
        if isinstance(value, Cases):
            return value.of
        number, over = value_of(value), ring(domain)
        if number is not None:
            return {number % over.n if over else number: constant(1)}
        return {1: value, 0: plus(constant(1), value, -1)} if isinstance(domain, Bool) else None

    def _opaque(self, term: Term, *args: Any) -> Polynomial:
        """Return a new generator, the same for the same operation on the same arguments."""
        assert term.op is not None, "constants and variables have methods of their own"
        values = ((ring(arg.domain), _key(self.number(value))) for value, arg in zip(args, term.args, strict=True))
        key = (term.op.name, term.domain, tuple(values))
        make = self.generators.bit if isinstance(term.domain, Bool) else self.generators.number
        return {(make(key),): 1}


def by_cases(domain: Domain) -> bool:
    """Whether a variable of this domain is treated case by case."""
    return (
        ring(domain) is None and not isinstance(domain, Bool) and domain.size is not None and domain.size <= MAX_CASES
    )


def codes_of(domain: Domain) -> tuple[int, list[int]]:
    """Return the codes of the values of a domain: the code of the default, and those that have a bit."""
    usual = int(encode(domain, domain.default))
    return usual, [code for code in (int(encode(domain, value)) for value in domain.values()) if code != usual]


def _modulo(over: CoefficientRing, polynomial: Polynomial) -> Polynomial:
    """Return a polynomial without the monomials that are 0 in its ring."""
    return polynomial if over is None else {m: factor for m, factor in polynomial.items() if factor % over.n}


def _truth(value: Polynomial | Cases) -> Polynomial:
    assert not isinstance(value, Cases), "a truth value is a polynomial"
    return value


def _key(polynomial: Polynomial) -> tuple[Any, ...]:
    return tuple(sorted(polynomial.items()))


def _within(inner: Domain, outer: Domain) -> bool:
    """Whether every number of one domain belongs to the other."""
    return isinstance(inner, Range | Integer) and ring(inner) is None and inner.lo in outer and inner.hi in outer
