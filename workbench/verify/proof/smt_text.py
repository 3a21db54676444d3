"""Terms as SMT-LIB text over integers, and the reader of such text.

The rule of this module: text has the meaning that `core.ops` defines, operator by operator. It shares
only the numbers of values (`core.encoding`) with the translation that the engines use, so that each can show a defect
of the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from workbench.core.domain import Bool, Domain, Enum, Integer, Overflowing, Value
from workbench.core.encoding import encode, encode_ends
from workbench.core.fold import Fold
from workbench.core.ops import MUL, SUB
from workbench.core.term import Term, var
from workbench.errors import Refused, WorkbenchError

DEEPEST = 2
"""Maximum depth of an expression without a name."""
MAX_CASES, MAX_BITS = 32, 16
"""Maximum number of values of a divisor or factor, and of combined bits: each of them is a case."""
TOKEN = re.compile(r';[^\n]*|"(?:[^"]|"")*"|\|[^|]*\||[()]|[^\s()|";]+')
SExpression = str | list["SExpression"]
"""A symbol or a number, or a list of expressions."""
SIMPLE = {
    "not": "not", "and": "and", "or": "or", "implies": "=>", "ite": "ite", "eq": "=", "ne": "distinct", "lt": "<",
    "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
"""The operators of SMT-LIB that mean the same."""


def symbol(name: str) -> str:
    """Return a name as a symbol."""
    if "|" in name or "\\" in name:
        raise Refused(f"a certificate has no symbol for '{name}'", hint="rename it, without | and \\")
    return f"|{name}|"


def sort_of(domain: Domain) -> str:
    """Return the sort that represents a domain."""
    if isinstance(domain, Bool):
        return "Bool"
    _ends(domain)
    return "Int"


def in_domain(name: str, domain: Domain) -> str:
    """Return the condition that a symbol is in a domain; empty if it always is."""
    if isinstance(domain, Bool):
        return ""
    lo, hi = _ends(domain)
    return f"(<= {number(lo)} {name} {number(hi)})"


def constant(domain: Domain, value: Value) -> str:
    """Return a value as text."""
    if isinstance(domain, Bool):
        return "true" if value else "false"
    _ends(domain)
    return number(encode(domain, value))


def number(value: int) -> str:
    """Return an integer as text."""
    return str(value) if value >= 0 else f"(- {-value})"


def _ends(domain: Domain) -> tuple[int, int]:
    try:
        return encode_ends(domain)
    except Refused as error:
        raise Refused(f"a certificate is about integers: {error.what}") from error


class SmtText(Fold[str]):
    """Terms as text; an expression that is nested deep has a name, the same wherever it occurs.

    Parameters
    ----------
    prefix: of the new names.

    Attributes
    ----------
    bindings: names with their text, each after those that it uses.
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self.bindings: list[tuple[str, str]] = []
        self._prefix, self._depths, self._names = prefix, dict[str, int](), dict[str, str]()

    def visit(self, term: Term) -> str:
        text = super().visit(term)
        if not term.args:
            return text
        depth = 1 + max(self._depths.get(self.memo[arg], 0) for arg in term.args)
        if depth > DEEPEST:
            return self._bind(text)
        self._depths[text] = depth
        return text

    def define(self, name: str, term: Term) -> None:
        """Give a term a name of its own."""
        text = self(term)
        self.bindings.append((symbol(name), text))
        self.memo[var(name, term.domain)] = symbol(name)

    def _bind(self, text: str) -> str:
        """Return the name of an expression."""
        if text not in self._names:
            self._names[text] = f"{self._prefix}{len(self._names) + 1}"
            self.bindings.append((self._names[text], text))
        return self._names[text]

    def on_const(self, term: Term) -> str:
        return constant(term.domain, term.payload)

    def on_var(self, term: Term) -> str:
        sort_of(term.domain)
        return symbol(term.name)

    def default(self, term: Term, *args: str) -> str:
        assert term.op is not None
        if term.op.name not in SIMPLE:
            return super().default(term, *args)
        domains = [arg.domain for arg in term.args]
        enums = {each.labels for each in domains if isinstance(each, Enum)}
        if term.op.name in ("eq", "ne") and len(enums) > 1:
            raise Refused(f"a certificate does not compare values of {domains[0]} with those of {domains[1]}")
        return f"({SIMPLE[term.op.name]} {' '.join(args)})"

    def on_even(self, _: Term, a: str) -> str:
        return f"(= (mod {a} 2) 0)"

    def on_odd(self, _: Term, a: str) -> str:
        return f"(= (mod {a} 2) 1)"

    def on_present(self, _: Term, a: str) -> str:
        return a

    def on_cast(self, term: Term, a: str) -> str:
        return self._fit(term.domain, a)

    def on_add(self, term: Term, a: str, b: str) -> str:
        return self._fit(term.domain, f"(+ {a} {b})")

    def on_sub(self, term: Term, a: str, b: str) -> str:
        return self._fit(term.domain, f"(- {a} {b})")

    def on_mul(self, term: Term, a: str, b: str) -> str:
        return self._fit(term.domain, self._multiply(term, a, b))

    def on_min(self, _: Term, a: str, b: str) -> str:
        return f"(ite (< {b} {a}) {b} {a})"

    def on_max(self, _: Term, a: str, b: str) -> str:
        return f"(ite (> {b} {a}) {b} {a})"

    def on_div(self, term: Term, a: str, b: str) -> str:
        return self._by_cases(term.args[1], b, lambda divisor: _quotient(a, divisor))

    def on_mod(self, term: Term, a: str, b: str) -> str:
        return self._by_cases(term.args[1], b, lambda divisor: _remainder(a, divisor))

    def on_xor(self, term: Term, a: str, b: str) -> str:
        return self._combine_bits(term, a, b, "distinct")

    def on_bit_and(self, term: Term, a: str, b: str) -> str:
        return self._combine_bits(term, a, b, "and")

    def on_bit_or(self, term: Term, a: str, b: str) -> str:
        return self._combine_bits(term, a, b, "or")

    def on_escapes(self, term: Term, a: str, b: str) -> str:
        assert term.op is not None
        operator = term.op.escapes_from
        exact = self._multiply(term, a, b) if operator is MUL else f"({'-' if operator is SUB else '+'} {a} {b})"
        lo, hi = _ends(term.args[0].domain)
        return f"(not (<= {number(lo)} {exact} {number(hi)}))"

    def _multiply(self, term: Term, a: str, b: str) -> str:
        """Return a product in which one factor is a number in each case, since solvers are good at these."""
        counts = [_count(arg) for arg in term.args]
        if min(counts) > MAX_CASES:
            return f"(* {a} {b})"
        if counts[0] < counts[1]:
            return self._by_cases(term.args[0], a, lambda factor: f"(* {number(factor)} {b})")
        return self._by_cases(term.args[1], b, lambda factor: f"(* {number(factor)} {a})")

    def _by_cases(self, arg: Term, text: str, case: Callable[[int], str]) -> str:
        """Return the result for each value of an argument."""
        if arg.is_const:
            return case(encode(arg.domain, arg.payload))
        if _count(arg) > MAX_CASES:
            raise Refused(f"a certificate has no division by more than {MAX_CASES} different numbers")
        lo, hi = _ends(arg.domain)
        expression = case(hi)
        for value in range(hi - 1, lo - 1, -1):
            expression = f"(ite (= {text} {number(value)}) {case(value)} {expression})"
        return expression

    def _combine_bits(self, term: Term, a: str, b: str, operator: str) -> str:
        bits = max(_ends(arg.domain)[1] for arg in term.args).bit_length()
        if bits > MAX_BITS:
            raise Refused(f"a certificate is about integers, but here '{term.op}' combines {bits} bits")
        ones = (
            f"(ite ({operator} (= (mod (div {a} {1 << i}) 2) 1) (= (mod (div {b} {1 << i}) 2) 1)) {1 << i} 0)"
            for i in range(bits)
        )
        return f"(+ 0 0 {' '.join(ones)})"

    def _fit(self, domain: Domain, exact: str) -> str:
        """Return `domain.fit(exact)`."""
        _ends(domain)
        if not isinstance(domain, Integer):
            return exact
        if domain.overflow is Overflowing.MODULAR:
            return f"(mod {exact} {domain.n})"
        name = self._bind(exact)
        return f"(ite (< {name} 0) 0 (ite (> {name} {domain.hi}) {domain.hi} {name}))"


def _count(arg: Term) -> int:
    if arg.is_const:
        return 1
    lo, hi = _ends(arg.domain)
    return hi - lo + 1


def _quotient(a: str, divisor: int) -> str:
    """Return a quotient, rounded towards minus infinity: SMT-LIB rounds so where the divisor is positive."""
    if divisor == 0:
        return "0"
    return f"(div {a} {divisor})" if divisor > 0 else f"(div (- {a}) {-divisor})"


def _remainder(a: str, divisor: int) -> str:
    if divisor == 0:
        return a
    return f"(mod {a} {divisor})" if divisor > 0 else f"(- (mod (- {a}) {-divisor}))"


# --- reading


def read(text: str) -> list[SExpression]:
    """Read expressions.

    Raises
    ------
    WorkbenchError: brackets do not match.
    """
    stack: list[list[SExpression]] = [[]]
    for token in TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            if len(stack) == 1:
                raise WorkbenchError("a bracket is closed that was not opened")
            done = stack.pop()
            stack[-1].append(done)
        elif not token.startswith(";"):
            stack[-1].append(token)
    if len(stack) > 1:
        raise WorkbenchError("a bracket is not closed")
    return stack[0]


def show(expression: SExpression) -> str:
    """Return an expression as text on one line."""
    tokens: list[str] = []
    todo: list[SExpression] = [expression]
    while todo:
        each = todo.pop()
        if isinstance(each, list):
            todo += [")", *reversed(each), "("]
            continue
        tokens += [each] if not tokens or each == ")" or tokens[-1] == "(" else [" ", each]
    return "".join(tokens)


INFIX = {
    "and": "and", "or": "or", "=": "==", "distinct": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "+": "+",
    "*": "*", "div": "//", "mod": "%",
}  # fmt: skip
"""The operators of Python that mean the same where divisors are positive."""
CompiledBody = Callable[[dict[str, int]], list[int]]
"""Evaluates the parts of a conjunction, given the values of symbols; adds those of the names in its scope."""


def compile_body(body: SExpression) -> CompiledBody:
    """Compile the body of a function."""
    lines: list[str] = []
    while isinstance(body, list) and body[0] == "let":
        bindings, body = body[1:]
        assert isinstance(bindings, list)
        for each in bindings:
            assert isinstance(each, list)
            lines.append(f"known[{each[0]!r}] = {_to_python(each[1])}")
    parts = body[1:] if isinstance(body, list) and body[0] == "and" else [body]
    lines.append(f"return [{', '.join(map(_to_python, parts))}]")
    scope: dict[str, CompiledBody] = {}
    exec("def evaluate(known):\n    " + "\n    ".join(lines), scope)  # the text is ours, not that of a file
    return scope["evaluate"]


def _to_python(expression: SExpression) -> str:
    if isinstance(expression, str):
        if expression in ("true", "false"):
            return expression.title()
        return expression if expression.isdecimal() else f"known[{expression!r}]"
    operator, *args = expression
    operands = [_to_python(arg) for arg in args]
    match operator:
        case "not":
            return f"(not {operands[0]})"
        case "=>":
            return f"(not {operands[0]} or {operands[1]})"
        case "ite":
            return f"({operands[1]} if {operands[0]} else {operands[2]})"
        case "-":
            return f"({' - '.join(operands)})" if len(operands) > 1 else f"(-{operands[0]})"
    assert isinstance(operator, str)
    return f"({f' {INFIX[operator]} '.join(operands)})"
