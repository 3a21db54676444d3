"""The engine `bits`: k-induction over bit vectors, for programs that combine bits or multiply numbers.

Each number is a signed word, wide enough for every value of its domain. Operations are computed on words that are wide
enough for the exact result, so nothing overflows.
"""

from __future__ import annotations

from typing import Any, ClassVar

from workbench.core.domain import Bool, Domain, Integer, Overflowing
from workbench.core.encoding import encode, encode_ends, exact_ends
from workbench.core.term import Term
from workbench.verify.decide.smt.induction import InductionDecider
from workbench.verify.decide.smt.translate import Z3Translation


class BitsTranslation(Z3Translation):
    """Terms as z3 expressions over bit vectors."""

    def symbol(self, name: str, domain: Domain) -> Any:
        """Return a symbol for a value of a domain."""
        if isinstance(domain, Bool):
            return self.z3.Bool(name, self.context)
        return self.z3.BitVec(name, _width(*encode_ends(domain)), self.context)

    def of_domain(self, term: Term, domain: Domain) -> Any:
        """Return the value of a term as a value of a domain that has it."""
        return self(term) if isinstance(domain, Bool) else self._resize(self(term), _width(*encode_ends(domain)))

    def read_number(self, constant: Any) -> int:
        """Return the value of a constant."""
        value: int = constant.as_signed_long()
        return value

    def number(self, value: int) -> Any:
        """Return a constant, as wide as it needs to be."""
        return self.z3.BitVecVal(value, _width(value, value), self.context)

    def on_const(self, term: Term) -> Any:
        if isinstance(term.domain, Bool):
            return super().on_const(term)
        return self._resize(self.number(encode(term.domain, term.payload)), _width(*encode_ends(term.domain)))

    def on_eq(self, term: Term, a: Any, b: Any) -> Any:
        return super().on_eq(term, *self._align(a, b))

    def on_lt(self, term: Term, a: Any, b: Any) -> Any:
        assert term.op is not None
        return term.op.exact(*self._align(a, b))

    on_le = on_gt = on_ge = on_lt

    def on_ite(self, term: Term, condition: Any, a: Any, b: Any) -> Any:
        return self._fit(term, self.z3.If(condition, *self._align(a, b)))

    def on_min(self, term: Term, a: Any, b: Any) -> Any:
        return self._fit(term, super().on_min(term, *self._align(a, b)))

    def on_max(self, term: Term, a: Any, b: Any) -> Any:
        return self._fit(term, super().on_max(term, *self._align(a, b)))

    def on_add(self, term: Term, a: Any, b: Any) -> Any:
        assert term.op is not None
        return self._fit(term, term.op.exact(*self._align(a, b, *exact_ends(term))))

    on_sub = on_mul = on_add

    def on_xor(self, term: Term, a: Any, b: Any) -> Any:
        assert term.op is not None
        return self._fit(term, term.op.exact(*self._align(a, b)))

    on_bit_and = on_bit_or = on_xor

    def on_div(self, term: Term, a: Any, b: Any) -> Any:
        a, b = self._align(a, b, *encode_ends(term.domain))
        quotient, zero = a / b, self._resize(self.number(0), a.size())  # z3 rounds towards zero
        inexact = self.z3.And(self.z3.SRem(a, b) != zero, (a < zero) != (b < zero))
        exact = self.z3.If(b == zero, zero, self.z3.If(inexact, quotient - 1, quotient))
        return self._fit(term, exact)

    def on_mod(self, term: Term, a: Any, b: Any) -> Any:
        a, b = self._align(a, b, *encode_ends(term.domain))
        return self._fit(term, self.z3.If(b == 0, a, a % b))  # the sign is that of the divisor

    def on_even(self, _: Term, a: Any) -> Any:
        return self.z3.Extract(0, 0, a) == 0

    def on_odd(self, _: Term, a: Any) -> Any:
        return self.z3.Extract(0, 0, a) == 1

    def on_escapes(self, term: Term, a: Any, b: Any) -> Any:
        assert term.op is not None
        lo, hi = encode_ends(term.args[0].domain)
        exact = term.op.exact(*self._align(a, b, *exact_ends(term), lo, hi))
        return self.z3.Or(exact < lo, exact > hi)

    def _align(self, a: Any, b: Any, *numbers: int) -> tuple[Any, Any]:
        """Return two words of equal width, which has room for some numbers, too; two truth values as they are."""
        if self.z3.is_bool(a):
            return a, b
        width = max(a.size(), b.size(), _width(*numbers))
        return self._resize(a, width), self._resize(b, width)

    def _resize(self, word: Any, width: int) -> Any:
        """Return a word of another width that has its value."""
        more = width - word.size()
        return self.z3.SignExt(more, word) if more > 0 else self.z3.Extract(width - 1, 0, word) if more < 0 else word

    def _fit(self, term: Term, exact: Any) -> Any:
        """Return `term.domain.fit(exact)`."""
        domain = term.domain
        if isinstance(domain, Bool):
            return exact
        width = _width(*encode_ends(domain))
        if isinstance(domain, Integer):
            wide = self._resize(exact, max(exact.size(), width) + 1)
            if domain.overflow is Overflowing.MODULAR:
                exact = wide % domain.n
            else:
                n = self._resize(self.number(domain.hi), wide.size())
                exact = self.z3.If(wide > n, n, self.z3.If(wide < 0, self._resize(self.number(0), wide.size()), wide))
        return self._resize(exact, width)


def _width(*numbers: int) -> int:
    """Return the width of the signed words that can be any of these numbers."""
    return 1 + max((number if number >= 0 else ~number).bit_length() for number in (0, *numbers))


class BitsDecider(InductionDecider):
    """The engine `bits`."""

    name: ClassVar[str] = "bits"
    translation = BitsTranslation
    logic = "QF_FD"
