"""The translation of terms into SMV expressions.

Integers of 2^k values are `unsigned word[k]`, whose arithmetic costs k bits instead of N*N cases; all other
integers are ranges, whose arithmetic is exact in NuSMV, so the rule of the domain is written out. Division is guarded
because NuSMV evaluates the branch not taken and ends the process on a zero divisor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set

from workbench.core.domain import Bool, Domain, Enum, Integer, Overflowing, Range, Value
from workbench.core.encoding import encode_ends, exact_ends
from workbench.core.fold import Fold
from workbench.core.ops import BIT_AND, BIT_OR, CAST, ITE, MUL, SUB, XOR
from workbench.core.term import Term
from workbench.errors import BeyondSmv, DomainError, Refused

CHECKED = Overflowing.CHECKED
MAX_NUMBER = 2**31 - 1
"""The largest integer of NuSMV, outside of words."""
CAST_LIMIT = 4096
"""Maximum number of cases in a conversion from a range to a word."""


def word_width(domain: Domain) -> int:
    """Return the bits of the word that holds a domain; 0 if it is not held in a word."""
    if isinstance(domain, Integer) and domain.n > 1 and domain.n & (domain.n - 1) == 0:
        return domain.n.bit_length() - 1
    return 0


def type_of(domain: Domain, labels: Mapping[str, str]) -> str:
    """Return the SMV type of a scalar finite domain."""
    if isinstance(domain, Bool):
        return "boolean"
    if word_width(domain):
        return f"unsigned word[{word_width(domain)}]"
    if isinstance(domain, Integer | Range):
        return f"{domain.lo}..{domain.hi}"
    if isinstance(domain, Enum):
        return "{" + ", ".join(labels[label] for label in domain.labels) + "}"
    raise Refused(f"{domain} has no SMV type: it is not a finite scalar domain")


def constant(domain: Domain, value: Value, labels: Mapping[str, str]) -> str:
    """Return a value of a domain in SMV."""
    if isinstance(domain, Bool):
        return "TRUE" if value else "FALSE"
    if word_width(domain):
        return f"0ud{word_width(domain)}_{value}"
    return labels[value] if isinstance(domain, Enum) else str(value)


def as_word(text: str) -> str:
    """Return a text in characters of SMV, others by their codes, so that different characters stay different."""
    return re.sub(r"\W|[^\x00-\x7f]", lambda m: "_" if m[0].isascii() else f"u{ord(m[0]):x}", text)


def enum_labels(domains: Iterable[Domain], other_names: Set[str]) -> dict[str, str]:
    """Return SMV constants for the labels of all enumerations: the labels themselves unless the name is taken."""
    names = dict.fromkeys(label for d in domains if isinstance(d, Enum) for label in d.labels)
    constants: dict[str, str] = {}
    used = set(other_names)
    for label in names:
        base = as_word(label)
        base = base if base[:1].isalpha() or base[:1] == "_" else f"c_{base}"
        while base in used:
            base += "_"
        constants[label] = base
        used.add(base)
    return constants


def _find_largest(term: Term) -> int:
    """Return the largest absolute value of a number with which NuSMV computes a term that is no word."""
    mixed = term.op is CAST or len({word_width(arg.domain) for arg in term.args}) > 1
    numeric = [each.domain for each in (term, *term.args) if isinstance(each.domain, Range | Integer)]
    numbers = [end for domain in numeric if mixed or not word_width(domain) for end in encode_ends(domain)]
    if term.op in (XOR, BIT_AND, BIT_OR):  # `_combine_bits` adds both, and products of their bits
        numbers = [4 * number for number in numbers]
    return max(map(abs, (*numbers, *(exact_ends(term) if numbers else ()))), default=0)


class SmvTerms(Fold[str]):
    """A translation of terms to SMV; `names` translates qualified names, `labels` enumeration constants."""

    def __init__(self, names: Mapping[str, str], labels: Mapping[str, str]) -> None:
        super().__init__()
        self.names = names
        self.labels = labels

    def parse(self, domain: Domain, text: str) -> Value:
        """Return the value that NuSMV prints as `text` (words as `0ud2_3`)."""
        if isinstance(domain, Bool):
            return text in ("TRUE", "1")
        if isinstance(domain, Enum):
            return next(label for label, smv in self.labels.items() if smv == text)
        word = re.fullmatch(r"0[us]?([bodhBODH])\d*_([0-9a-fA-F_]+)", text)
        if word:
            base = {"b": 2, "o": 8, "d": 10, "h": 16}[word[1].lower()]
            return int(word[2].replace("_", ""), base)
        return int(text)

    def visit(self, term: Term) -> str:
        """Translate a term.

        Raises
        ------
        BeyondSmv: NuSMV would compute it with numbers of more than 32 bits, silently wrong.
        """
        if not word_width(term.domain) and (largest := _find_largest(term)) > MAX_NUMBER:
            raise BeyondSmv(f"NuSMV has integers of 32 bits, and here '{term.op or term}' can have {largest:,}")
        return super().visit(term)

    def on_const(self, term: Term) -> str:
        return constant(term.domain, term.payload, self.labels)

    def on_var(self, term: Term) -> str:
        if term.name not in self.names:
            raise DomainError(f"the model has nothing called {term.name}")
        return self.names[term.name]

    # --- logic ---

    def on_not(self, _: Term, a: str) -> str:
        return f"!{a}"

    def on_and(self, term: Term, a: str, b: str) -> str:
        return f"({self._open(term, 0, a)} & {self._open(term, 1, b)})"

    def on_or(self, term: Term, a: str, b: str) -> str:
        return f"({self._open(term, 0, a)} | {self._open(term, 1, b)})"

    @staticmethod
    def _open(term: Term, position: int, text: str) -> str:
        """Return an operand of the same connective without its parentheses, unless it is the name of a definition."""
        return text[1:-1] if term.args[position].op is term.op and text.startswith("(") else text

    def on_implies(self, _: Term, a: str, b: str) -> str:
        return f"({a} -> {b})"

    def on_ite(self, term: Term, c: str, a: str, b: str) -> str:
        if term.args[2].op is ITE and b.startswith("case "):  # one case expression for a chain of conditionals
            return f"case {bare(c)} : {bare(a)}; {b.removeprefix('case ')}"
        return f"case {bare(c)} : {bare(a)}; TRUE : {bare(b)}; esac"

    # --- comparison ---

    def on_eq(self, term: Term, a: str, b: str) -> str:
        """Return a comparison; the signs are those of pipelines. Numbers of unequal width are compared as integers."""
        left, right = (arg.domain for arg in term.args)
        if word_width(left) != word_width(right):
            a, b = _as_number(left, a), _as_number(right, b)
        return f"({a} {term.op} {b})"

    on_ne = on_lt = on_le = on_gt = on_ge = on_eq

    def on_even(self, term: Term, a: str) -> str:
        return f"({a}[0:0] = 0ud1_0)" if word_width(term.args[0].domain) else f"(({a}) mod 2 = 0)"

    def on_odd(self, term: Term, a: str) -> str:
        return f"({a}[0:0] = 0ud1_1)" if word_width(term.args[0].domain) else f"(({a}) mod 2 != 0)"

    # --- arithmetic ---

    def on_add(self, term: Term, a: str, b: str) -> str:
        return self._fit(term, f"{a} + {b}", f"{a} + {b} < {a}", top=True)

    def on_sub(self, term: Term, a: str, b: str) -> str:
        return self._fit(term, f"{a} - {b}", f"{a} < {b}", top=False)

    def on_mul(self, term: Term, a: str, b: str) -> str:
        return self._fit(term, f"{a} * {b}", self._product_escapes(term.domain, a, b), top=True)

    def _fit(self, term: Term, exact: str, escapes: str, *, top: bool) -> str:
        domain = term.domain
        if not isinstance(domain, Integer):
            return f"({exact})"
        end = constant(domain, domain.hi if top else 0, self.labels)
        if word_width(domain):
            if domain.overflow is Overflowing.MODULAR:
                return f"({exact})"
            return f"case {escapes} : {end}; TRUE : {exact}; esac"
        if domain.overflow is Overflowing.MODULAR:
            return f"(({exact}) mod {domain.n})" if top else f"(({exact} + {domain.n}) mod {domain.n})"
        out = f"{exact} > {domain.hi}" if top else f"{exact} < 0"
        return f"case {out} : {end}; TRUE : {exact}; esac"

    def _product_escapes(self, domain: Domain, a: str, b: str) -> str:
        k = word_width(domain)
        if not k:
            return ""
        return f"extend({a}, {k}) * extend({b}, {k}) > 0ud{2 * k}_{2**k - 1}"

    def on_escapes(self, term: Term, a: str, b: str) -> str:
        assert term.op is not None
        domain, exact = term.args[0].domain, term.op.escapes_from
        if exact is SUB:
            return f"({a} < {b})"
        if not word_width(domain):
            return f"({a} {'*' if exact is MUL else '+'} {b} > {_top(domain)})"
        return f"({self._product_escapes(domain, a, b)})" if exact is MUL else f"({a} + {b} < {a})"

    def on_min(self, _: Term, a: str, b: str) -> str:
        return f"case {a} <= {b} : {a}; TRUE : {b}; esac"

    def on_max(self, _: Term, a: str, b: str) -> str:
        return f"case {a} >= {b} : {a}; TRUE : {b}; esac"

    def on_div(self, term: Term, a: str, b: str) -> str:
        safe, zero, cases = self._divisor(term.args[1], b)
        whole = f"({a} / {safe})"
        if _is_signed(term):
            whole = f"case {_differs(a, safe)} : {whole} - 1; TRUE : {whole}; esac"
        return f"case {b} = {zero} : {zero}; TRUE : {whole}; esac" if cases else whole

    def on_mod(self, term: Term, a: str, b: str) -> str:
        safe, zero, cases = self._divisor(term.args[1], b)
        rest = f"({a} mod {safe})"
        if _is_signed(term):
            rest = f"case {_differs(a, safe)} : {rest} + {safe}; TRUE : {rest}; esac"
        return f"case {b} = {zero} : {a}; TRUE : {rest}; esac" if cases else rest

    def _divisor(self, divisor: Term, b: str) -> tuple[str, str, bool]:
        """Return a divisor NuSMV can divide by, zero in its notation, and whether zero needs a case of its own."""
        domain = divisor.domain
        zero, one = (constant(domain, v, self.labels) if v in domain else str(v) for v in (0, 1))
        if divisor.is_const and divisor.payload != 0:
            return b, zero, False
        return f"case {b} = {zero} : {one}; TRUE : {b}; esac", zero, True

    # --- bits ---

    def on_xor(self, term: Term, a: str, b: str) -> str:
        return self._combine_bits(term, f"{a} xor {b}", f"{a} + {b} - 2 * ", a, b)

    def on_bit_or(self, term: Term, a: str, b: str) -> str:
        return self._combine_bits(term, f"{a} | {b}", f"{a} + {b} - ", a, b)

    def on_bit_and(self, term: Term, a: str, b: str) -> str:
        return self._combine_bits(term, f"{a} & {b}", "", a, b)

    def _combine_bits(self, term: Term, words: str, outside: str, a: str, b: str) -> str:
        """Return an operation on bits: that of SMV on words; on numbers, arithmetic on the bits that both have."""
        if word_width(term.domain):
            return f"({words})"
        left, right = term.args
        if left.is_const:
            left, right, a, b = right, left, b, a
        number = right.payload if right.is_const else _top(right.domain)
        positions = range(min(_top(left.domain), number).bit_length())
        powers = [1 << k for k in positions if not right.is_const or number >> k & 1]
        both = [f"({a} / {p}) mod 2" + ("" if right.is_const else f" * (({b} / {p}) mod 2)") for p in powers]
        shared = " + ".join(f"{p} * ({each})" for p, each in zip(powers, both, strict=True)) or "0"
        return f"({outside}({shared}))"

    # --- conversion ---

    def on_cast(self, term: Term, a: str) -> str:
        (inner,), target = term.args, term.domain
        source = inner.domain
        if isinstance(target, Range) and inner.op is CAST and inner.domain == Integer(target.size, CHECKED):
            checked, number = inner.args[0].domain, self.memo[inner.args[0]]  # avoid a word between two numbers
            if isinstance(checked, Range):
                return _clamp(number, checked, target)
        if not isinstance(source, Range | Integer) or not isinstance(target, Range | Integer):
            return self.default(term)
        plain = _as_number(source, a)
        modular = isinstance(target, Integer) and target.overflow is Overflowing.MODULAR
        if isinstance(target, Range) or (not word_width(target) and source.lo >= 0 and source.hi <= target.hi):
            return plain
        if not word_width(target):
            if modular:
                lift = ((-source.lo + target.n - 1) // target.n) * target.n if source.lo < 0 else 0
                return f"(({plain} + {lift}) mod {target.hi + 1})"
            return _clamp(plain, source, target)
        if source.hi - source.lo >= CAST_LIMIT:
            raise BeyondSmv(f"a conversion from {source} to {target} has too many cases for SMV text")
        rows = [f"{plain} = {v} : {constant(target, target.fit(v), self.labels)};" for v in range(source.lo, source.hi)]
        last = constant(target, target.fit(source.hi), self.labels)
        return f"case {' '.join(rows)} TRUE : {last}; esac"


def _clamp(text: str, source: Range | Integer, target: Range | Integer) -> str:
    """Clamp a number to the range 0..hi of the target, with the necessary cases only."""
    cases = [f"{text} < 0 : 0; "] if source.lo < 0 else []
    cases += [f"{text} > {target.hi} : {target.hi}; "] if source.hi > target.hi else []
    return f"case {''.join(cases)}TRUE : {text}; esac" if cases else text


def bare(text: str) -> str:
    """Return `text` without parentheses around the whole of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for position, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text


def _top(domain: Domain) -> int:
    assert isinstance(domain, Integer | Range)
    return domain.hi


def _as_number(domain: Domain, text: str) -> str:
    return f"toint({text})" if word_width(domain) else text


def _is_signed(term: Term) -> bool:
    return any(isinstance(arg.domain, Range) and arg.domain.lo < 0 for arg in term.args)


def _differs(a: str, b: str) -> str:
    """Return the condition that NuSMV's remainder (with the dividend's sign) differs from ours (with the divisor's)."""
    return f"(({a} mod {b}) != 0) & ((({a} mod {b}) < 0) != ({b} < 0))"


def show_smv(text: str) -> str:
    """Return a value that an engine printed, as a `.pipe` file would write it: words are numbers."""
    word = re.fullmatch(r"(-?)0[su]?d\d*_(\d+)", text)
    return word[1] + word[2] if word else {"TRUE": "true", "FALSE": "false"}.get(text, text)
