"""One generator for compiled code: the step of a transition system as plain Python statements.

What comes out uses bools, integers of 64 bits and conditional expressions, nothing else, so that it runs as it is
and `numba` compiles it. Its rule: values are scalars. Bools stay bools, numbers stay numbers, and a value of an
enumeration is its position in the enumeration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from workbench.core.domain import BOOL, Domain, Enum, Integer, Integers, Overflowing, Range, Reals, Texts, Value
from workbench.core.evaluate import PythonSource, straight_line
from workbench.core.fold import Substitute, postorder
from workbench.core.memory import FINDS, IS_USED, ROW, is_row
from workbench.core.ops import DIV, MOD, OVERFLOWS, WORD_HI, WORD_LO
from workbench.core.term import Term, var
from workbench.executors.compiled.code.text_number import text_code
from workbench.executors.compiled.lower.rows import ROW_NAME, Statements, rows_in
from workbench.executors.compiled.lower.tables import array_names, cell
from workbench.executors.compiled.lower.words import refuse_large
from workbench.ir.system import System

Target = Literal["python", "cpu", "gpu"]
"""What runs generated code: Python itself, or what numba compiles for a processor or a graphics processor."""

EXACT = 2**53
"""Up to here every whole number is a float."""


@dataclass(frozen=True)
class StepCode:
    """The statements of one step, between names for what goes in and expressions for what comes out.

    Attributes
    ----------
    state: a parameter per variable of the system, in its order.
    inputs: a parameter per leaf of the inputs (`System.free`), in its order.
    early: assignments that need the state only, so that a loop over inputs makes them once.
    late: assignments that need an input, too; they come after the early ones.
    after: an expression per variable, its value after the step.
    labels: an expression per term that was asked for.
    inside: per such term the assignments it needs, before it, in a loop over the rows of a table (`core.memory`);
        that is where a term belongs that has any.
    """

    state: tuple[str, ...]
    inputs: tuple[str, ...]
    early: tuple[str, ...]
    late: tuple[str, ...]
    after: tuple[str, ...]
    labels: tuple[str, ...]
    inside: tuple[tuple[str, ...], ...]

    def function(self, name: str = "step", *, row: bool = False) -> str:
        """Source of a function of the state and the inputs that returns the state after it and the labels, flat.

        Parameters
        ----------
        row: whether it has one parameter more, the number of a row, to which labels may refer.
        """
        inside = dict.fromkeys(line for lines in self.inside for line in lines)
        body = "".join(f"    {line}\n" for line in (*self.early, *self.late, *inside))
        results = "".join(f"{result}, " for result in (*self.after, *self.labels))
        given = (*self.state, *self.inputs, *([ROW_NAME] if row else []))
        return f"def {name}({', '.join(given)}):\n{body}    return ({results})\n"


def step_code(
    system: System,
    labels: Sequence[Term] = (),
    given: Mapping[Term, Term] = MappingProxyType({}),
    *,
    target: Target = "python",
) -> StepCode:
    """The code of one step of a system.

    Numbers without bounds are words of 64 bits. Where an `int` leaves them is not seen here: it is a label to be asked
    for (`escape_in(system, names, Integers)`).

    Parameters
    ----------
    labels: terms over the names of the system, evaluated at each step.
    given: constants for some variables and inputs in this step.
    target: for a `cpu` a conditional is a call of `pick`, which always computes both sides; for a `gpu` products,
        quotients and remainders of floats are calls of `rounded_product`, `float_quotient`, `float_remainder`.

    Raises
    ------
    Refused: an intermediate result can have more than 64 bits, or a domain is not finite.
    """
    state = {var(v.name, v.domain): f"s{i}" for i, v in enumerate(system.variables)}
    inputs = {var(name, domain): f"i{i}" for i, (name, domain) in enumerate(system.free.items())}
    roots = list(system.inlined((*(v.next for v in system.variables), *labels)))
    if given:
        fixed = Substitute(dict(given))
        roots = [fixed(root) for root in roots]
    fed, inside = set[Term](), dict[Term, frozenset[Term]]()
    rows = {ROW: ROW_NAME}
    for node in postorder(roots):
        refuse_large(node)
        if node in inputs or not fed.isdisjoint(node.args):
            fed.add(node)
        if is_row(node):
            rows[node] = f"row{len(rows)}"
        if free := rows_in(node, inside):
            inside[node] = free
    source = _SOURCES[target]({**state, **inputs, **rows, **array_names(system)})
    assignments, results = straight_line(roots, source)
    count = len(system.variables)
    statements = Statements(assignments, inside, fed, source)
    return StepCode(
        tuple(state.values()),
        tuple(inputs.values()),
        tuple(statements.early),
        tuple(statements.late),
        tuple(results[:count]),
        tuple(results[count:]),
        tuple(tuple(statements.needed(root)) for root in roots[count:]),
    )


def encode(domain: Domain, value: Value) -> int:
    """The number that compiled code has for a value of a scalar domain."""
    if isinstance(domain, Texts):
        return text_code(value)
    if isinstance(domain, Integers):
        return int(min(max(value, WORD_LO), WORD_HI))  # the infinities from which min and max start are its ends
    return domain.labels.index(value) if isinstance(domain, Enum) else int(value)


def decode(domain: Domain, number: int) -> Value:
    """The value of a scalar domain that compiled code has this number for."""
    assert not isinstance(domain, Texts)  # only who knows the texts knows which one it is
    if isinstance(domain, Enum):
        return domain.labels[number]
    return bool(number) if domain == BOOL else int(number)


def _float_literal(value: float) -> str:
    """Source of a float."""
    return {math.inf: "1e999", -math.inf: "-1e999"}.get(
        value, "(1e999 - 1e999)" if value != value else repr(float(value))
    )


_OVERFLOWS = frozenset(OVERFLOWS.values())


class Scalars(PythonSource):
    """Source in which values of enumerations are numbers."""

    def __init__(self, names: dict[Term, str]) -> None:
        super().__init__(names, {})

    def on_const(self, term: Term) -> str:
        if isinstance(term.domain, Enum | Integers | Texts):
            return str(encode(term.domain, term.payload))
        if isinstance(term.domain, Reals):
            return _float_literal(term.payload)
        return super().on_const(term)

    def on_div(self, term: Term, a: str, b: str) -> str:
        exact = f"({a} // {b})" if _divisor(term) else DIV.python.format(a, b)
        return self.fitted(term, exact)

    def on_mod(self, term: Term, a: str, b: str) -> str:
        divisor = _divisor(term)
        if divisor & (divisor - 1) == 0 and divisor and isinstance(term.domain, Range | Integer | Integers):
            return self.fitted(term, f"({a} & {divisor - 1})")
        left = term.args[0].domain
        if isinstance(left, Range) and left.lo >= 0 and left.hi < 2 * divisor:
            return self.fitted(term, f"({a} if {a} < {divisor} else {a} - {divisor})")  # a counter that goes round
        return self.fitted(term, f"({a} % {b})" if divisor else MOD.python.format(a, b))

    def fitted(self, term: Term, exact: str) -> str:
        """Modulo a power of two is the lowest bits, also of a negative number."""
        plain, domain = super().fitted(term, exact), term.domain
        if plain == exact or not isinstance(domain, Integer) or domain.overflow is not Overflowing.MODULAR:
            return plain
        return f"({exact} & {domain.hi})" if domain.n & domain.hi == 0 else plain

    def on_read(self, term: Term, array: str, position: str, *_: str) -> str:
        return cell(term.args[0].domain, array, position)

    on_recall = on_is_used = on_read

    def on_find(self, term: Term, *args: str) -> str:
        assert term.op is not None
        return f"{term.op.name}({', '.join(args)})"

    on_find_pair = on_find_entry = on_find

    def default(self, term: Term, *args: str) -> str:
        """What is collected from rows is a loop (`lower.rows`), and has no text of its own."""
        if term.op is not None and term.op.binds:
            return ""
        return f"{term.op.name}({', '.join(args)})" if term.op in _OVERFLOWS else super().default(term, *args)

    # Both sides are always computed: operators are total, and code without jumps is faster when compiled.

    def on_and(self, _: Term, a: str, b: str) -> str:
        return f"({a} & {b})"

    def on_or(self, _: Term, a: str, b: str) -> str:
        return f"({a} | {b})"

    def on_implies(self, _: Term, a: str, b: str) -> str:
        return f"((not {a}) | {b})"


class _Exact(Scalars):
    """The same where a machine would make a float of a whole number in order to compare it with one."""

    def default(self, term: Term, *args: str) -> str:
        if term.op is not None and term.op.holds:
            (a, b), (left, right) = term.args, args
            if _long(a) and _many_digits(b):
                return _WHOLE_FIRST[term.op.symbol].format(left, right)
            if _many_digits(a) and _long(b):
                return _WHOLE_FIRST[term.op.mirror].format(right, left)
        return super().default(term, *args)


_WHOLE_FIRST = {
    "=": "int_same({0}, {1})",
    "!=": "(not int_same({0}, {1}))",
    "<": "int_below({0}, {1})",
    ">": "int_above({0}, {1})",
    "<=": "(int_below({0}, {1}) | int_same({0}, {1}))",
    ">=": "(int_above({0}, {1}) | int_same({0}, {1}))",
}
"""How a whole number is compared with a float."""


def _long(term: Term) -> bool:
    """Whether it is a whole number that a float may not hold."""
    domain = term.domain
    if term.is_const:
        return not isinstance(domain, Reals) and domain.numeric and abs(term.payload) > EXACT
    return isinstance(domain, Integers) or (isinstance(domain, Integer | Range) and max(-domain.lo, domain.hi) > EXACT)


def _many_digits(term: Term) -> bool:
    """Whether it is a float that may be so large that whole numbers beside it are not floats."""
    return isinstance(term.domain, Reals) and not (term.is_const and abs(term.payload) < EXACT)


class _Selects(_Exact):
    """The same without jumps, where they could not be predicted."""

    def on_ite(self, term: Term, condition: str, then: str, otherwise: str) -> str:
        if term.args[0].op is IS_USED or term.args[1].op in FINDS:
            return f"({then} if {condition} else {otherwise})"
        return f"pick({condition}, {then}, {otherwise})"


class _Rounded(_Exact):
    """The same with the floats of a processor, where a device would round otherwise.

    A device adds to a product before it rounds it, and takes remainders from rounded quotients.
    """

    def on_mul(self, term: Term, a: str, b: str) -> str:
        if isinstance(term.domain, Reals):
            return f"rounded_product({a}, {b})"
        return super().default(term, a, b)

    def on_div(self, term: Term, a: str, b: str) -> str:
        if isinstance(term.domain, Reals):
            return f"(float_quotient({a}, {b}) if {b} else 0 * {b})"
        return super().on_div(term, a, b)

    def on_mod(self, term: Term, a: str, b: str) -> str:
        if isinstance(term.domain, Reals):
            return f"(float_remainder({a}, {b}) if {b} else {a})"
        return super().on_mod(term, a, b)


def _divisor(term: Term) -> int:
    """What is divided by, if it is a positive integer constant; else 0."""
    divisor = term.args[1]
    return divisor.payload if divisor.is_const and isinstance(divisor.payload, int) and divisor.payload > 0 else 0


_SOURCES: dict[Target, type[Scalars]] = {"python": Scalars, "cpu": _Selects, "gpu": _Rounded}
