"""The translation of terms to z3: numbers are unbounded integers, values of enumerations are their positions.

The rule of this module: a translated term has exactly the value that `core.ops` defines. Operations that are not linear
are translated case by case where one argument has few values, and refused otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.domain import Bool, Domain, Enum, Integer, Overflowing
from workbench.core.encoding import encode, encode_ends, exact_ends
from workbench.core.fold import Fold
from workbench.core.ops import MUL
from workbench.core.term import Term
from workbench.errors import Refused

CASES = 32
"""Maximum number of values of an argument for which an operation is translated case by case."""
MAX_BITS = 16
"""Maximum number of bits of numbers whose bits are combined."""
WRAPS = 4
"""Maximum number of multiples of N by which a result may exceed a modular domain without `mod`."""

LOGIC = {"not": "Not", "and": "And", "or": "Or", "implies": "Implies", "ite": "If"}
"""The operators that are functions of z3, and their names there."""
BITWISE = {"xor": "Xor", "bit_and": "And", "bit_or": "Or"}
"""The operators that are such functions of the bits of numbers."""
EXACT = ("add", "sub", "lt", "le", "gt", "ge", "even", "odd")
"""The operators whose exact meaning in Python is that of z3's expressions, too."""


class Z3Translation(Fold[Any]):
    """Terms as z3 expressions.

    Parameters
    ----------
    z3: the module.
    context: the context of the expressions.
    """

    def __init__(self, z3: Any, context: Any) -> None:
        super().__init__()
        self.z3, self.context = z3, context

    def number(self, value: int) -> Any:
        """Return a constant."""
        return self.z3.IntVal(value, self.context)

    def symbol(self, name: str, domain: Domain) -> Any:
        """Return a symbol for a value of a domain."""
        if isinstance(domain, Bool):
            return self.z3.Bool(name, self.context)
        encode_ends(domain)
        return self.z3.Int(name, self.context)

    def of_domain(self, term: Term, domain: Domain) -> Any:
        """Return the value of a term as a value of a domain that has it."""
        del domain
        return self(term)

    def read_number(self, constant: Any) -> int:
        """Return the value of a constant."""
        value: int = constant.as_long()
        return value

    def on_const(self, term: Term) -> Any:
        if isinstance(term.domain, Bool):
            return self.z3.BoolVal(bool(term.payload), self.context)
        encode_ends(term.domain)
        return self.number(encode(term.domain, term.payload))

    def default(self, term: Term, *args: Any) -> Any:
        name = "" if term.op is None else term.op.name
        if name in LOGIC:
            return getattr(self.z3, LOGIC[name])(*args)
        if name in BITWISE:
            return self._bit_by_bit(term, getattr(self.z3, BITWISE[name]), *args)
        if term.op is None or name not in EXACT:
            return super().default(term, *args)
        exact = term.op.exact(*args)
        return exact if isinstance(term.domain, Bool) else self._fit(term, exact)

    def on_eq(self, term: Term, a: Any, b: Any) -> Any:
        left, right = (arg.domain for arg in term.args)
        if isinstance(left, Enum) and isinstance(right, Enum) and left.labels != right.labels:
            raise Refused(f"the SMT engines do not compare values of {left} with those of {right}")
        return a == b

    def on_ne(self, term: Term, a: Any, b: Any) -> Any:
        return self.z3.Not(self.on_eq(term, a, b))

    def on_mul(self, term: Term, a: Any, b: Any) -> Any:
        return self._fit(term, self._multiply(term, a, b))

    def on_cast(self, term: Term, a: Any) -> Any:
        return self._fit(term, a)

    def on_present(self, _: Term, a: Any) -> Any:
        return a

    def on_min(self, _: Term, a: Any, b: Any) -> Any:
        return self.z3.If(b < a, b, a)

    def on_max(self, _: Term, a: Any, b: Any) -> Any:
        return self.z3.If(b > a, b, a)

    def on_div(self, term: Term, a: Any, b: Any) -> Any:
        return self._by_cases(term, term.args[1], b, lambda divisor: self._divide(a, divisor))

    def on_mod(self, term: Term, a: Any, b: Any) -> Any:
        lo, hi = encode_ends(term.args[0].domain)

        def remainder(divisor: int) -> Any:
            if divisor == 0 or 0 <= lo <= hi < divisor:
                return a
            if divisor > 0 and lo >= 0 and hi < 2 * divisor:
                return self.z3.If(a < divisor, a, a - divisor)
            return a % divisor if divisor > 0 else a - divisor * self._divide(a, divisor)

        return self._by_cases(term, term.args[1], b, remainder)

    def _bit_by_bit(self, term: Term, combine: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        bits = max(encode_ends(arg.domain)[1] for arg in term.args).bit_length()
        if bits > MAX_BITS:
            raise Refused(f"the SMT engines have whole numbers, whose bits '{term.op}' combines; here are {bits}")
        total = self.number(0)
        for bit in range(bits):
            left, right = (value / (1 << bit) % 2 == 1 for value in (a, b))
            total = total + self.z3.If(combine(left, right), self.number(1 << bit), self.number(0))
        return total

    def on_escapes(self, term: Term, a: Any, b: Any) -> Any:
        assert term.op is not None
        exact = self._multiply(term, a, b) if term.op.escapes_from is MUL else term.op.exact(a, b)
        lo, hi = encode_ends(term.args[0].domain)
        return self.z3.Or(exact < lo, exact > hi)

    def _divide(self, a: Any, divisor: int) -> Any:
        """Return a quotient, rounded towards minus infinity; z3 rounds so where the divisor is positive."""
        if divisor == 0:
            return self.number(0)
        return a / self.number(divisor) if divisor > 0 else (-a) / self.number(-divisor)

    def _multiply(self, term: Term, a: Any, b: Any) -> Any:
        (left, right), counts = term.args, [_count_values(arg) for arg in term.args]
        if counts[0] < counts[1]:
            return self._by_cases(term, left, a, lambda factor: b * factor)
        return self._by_cases(term, right, b, lambda factor: a * factor)

    def _by_cases(self, term: Term, arg: Term, value: Any, case: Callable[[int], Any]) -> Any:
        """Return the result for each value of an argument."""
        if _count_values(arg) > CASES:
            raise Refused(
                f"the SMT engines are linear, and '{term.op}' here combines two numbers with many values each"
            )
        lo, hi = (int(arg.payload),) * 2 if arg.is_const else encode_ends(arg.domain)
        expression = case(lo)
        for number in range(lo + 1, hi + 1):
            expression = self.z3.If(value == number, case(number), expression)
        return expression

    def _fit(self, term: Term, exact: Any) -> Any:
        """Return `term.domain.fit(exact)`."""
        domain = term.domain
        encode_ends(domain)
        if not isinstance(domain, Integer):
            return exact
        ends = exact_ends(term)
        lo, hi = min(ends), max(ends)
        if domain.overflow is not Overflowing.MODULAR:
            expression = exact if hi <= domain.hi else self.z3.If(exact > domain.hi, self.number(domain.hi), exact)
            return expression if lo >= 0 else self.z3.If(exact < 0, self.number(0), expression)
        first, last = lo // domain.n, hi // domain.n
        if last - first > WRAPS:
            return exact % domain.n
        expression = exact - last * domain.n if last else exact
        for multiple in range(last - 1, first - 1, -1):
            less = exact - multiple * domain.n if multiple else exact
            expression = self.z3.If(exact < (multiple + 1) * domain.n, less, expression)
        return expression


def _count_values(arg: Term) -> int:
    """Return the number of values of an argument."""
    if arg.is_const:
        return 1
    lo, hi = encode_ends(arg.domain)
    return hi - lo + 1
