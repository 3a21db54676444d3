"""One generator for compiled code: the step of a transition system as plain Python statements (design section 4).

What comes out uses bools, integers of 64 bits and conditional expressions, nothing else, so that it runs as it is
and `numba` compiles it. Its rule: values are scalars. Bools stay bools, numbers stay numbers, and a value of an
enumeration is its position in the enumeration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.domain import BOOL, Domain, Enum, Integer, Overflowing, Range, Value
from workbench.core.evaluate import Source, straight_line
from workbench.core.fold import postorder
from workbench.core.ops import ADD, CAST, DIV, MOD, MUL, SUB
from workbench.core.term import Term, var
from workbench.errors import Refused
from workbench.ir.system import System

LARGEST = 2**63 - 1
"""The largest integer of compiled code."""


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
    """

    state: tuple[str, ...]
    inputs: tuple[str, ...]
    early: tuple[str, ...]
    late: tuple[str, ...]
    after: tuple[str, ...]
    labels: tuple[str, ...]

    def function(self, name: str = "step") -> str:
        """Source of a function of the state and the inputs that returns the state after it and the labels, flat."""
        body = "".join(f"    {line}\n" for line in (*self.early, *self.late))
        results = "".join(f"{result}, " for result in (*self.after, *self.labels))
        return f"def {name}({', '.join((*self.state, *self.inputs))}):\n{body}    return ({results})\n"


def step_code(system: System, labels: Sequence[Term] = ()) -> StepCode:
    """The code of one step of a system over finite domains.

    Parameters
    ----------
    labels: terms over the names of the system, evaluated at each step.

    Raises
    ------
    Refused: an intermediate result can have more than 64 bits, or a domain is not finite.
    """
    state = {var(v.name, v.domain): f"s{i}" for i, v in enumerate(system.variables)}
    inputs = {var(name, domain): f"i{i}" for i, (name, domain) in enumerate(system.free.items())}
    roots = list(system.inlined((*(v.next for v in system.variables), *labels)))
    fed: set[Term] = set()
    for node in postorder(roots):
        refuse_large(node)
        if node in inputs or not fed.isdisjoint(node.args):
            fed.add(node)
    lines, results = straight_line(roots, _Scalars({**state, **inputs}))
    count = len(system.variables)
    return StepCode(
        tuple(state.values()),
        tuple(inputs.values()),
        tuple(f"{name} = {text}" for name, text, term in lines if term not in fed),
        tuple(f"{name} = {text}" for name, text, term in lines if term in fed),
        tuple(results[:count]),
        tuple(results[count:]),
    )


def encode(domain: Domain, value: Value) -> int:
    """The number that compiled code has for a value of a scalar domain."""
    return domain.labels.index(value) if isinstance(domain, Enum) else int(value)


def decode(domain: Domain, number: int) -> Value:
    """The value of a scalar domain that compiled code has this number for."""
    if isinstance(domain, Enum):
        return domain.labels[number]
    return bool(number) if domain == BOOL else int(number)


class _Scalars(Source):
    """Source in which values of enumerations are numbers."""

    def __init__(self, names: dict[Term, str]) -> None:
        super().__init__(names, {})

    def on_const(self, term: Term) -> str:
        if isinstance(term.domain, Enum):
            return str(encode(term.domain, term.payload))
        return super().on_const(term)

    def fitted(self, term: Term, exact: str) -> str:
        """Modulo a power of two is the lowest bits, also of a negative number."""
        plain, domain = super().fitted(term, exact), term.domain
        if plain == exact or not isinstance(domain, Integer) or domain.overflow is not Overflowing.MODULAR:
            return plain
        return f"({exact} & {domain.hi})" if domain.n & domain.hi == 0 else plain

    # Both sides are always computed: operators are total, and code without jumps is faster when compiled.

    def on_and(self, _: Term, a: str, b: str) -> str:
        return f"({a} & {b})"

    def on_or(self, _: Term, a: str, b: str) -> str:
        return f"({a} | {b})"

    def on_implies(self, _: Term, a: str, b: str) -> str:
        return f"((not {a}) | {b})"


_EXACT = {op: op.exact for op in (ADD, SUB, MUL)}


def refuse_large(term: Term) -> None:
    """Refuse what compiled code cannot hold.

    Raises
    ------
    Refused: a result can have more than 64 bits, or its domain is not finite.
    """
    if not isinstance(term.domain, Enum) and term.domain != BOOL:
        lo, hi = _bounds(term.domain, term)
        if term.op is not None and term.op not in (DIV, MOD):
            exact = exact_ends(term)
            lo, hi = min([lo, *exact]), max([hi, *exact])
        if lo < -LARGEST or hi > LARGEST:
            raise Refused(
                f"compiled code has integers of 64 bits, and '{term.op or term}' on {term.domain} can have more",
                hint="choose a smaller domain with -N",
            )
    elif term.op is not None and term.op.name.startswith("escapes_") and max(map(abs, exact_ends(term))) > LARGEST:
        raise Refused("compiled code has integers of 64 bits, and arithmetic in this pipeline can have more")


def exact_ends(term: Term) -> list[int]:
    """Numbers among which the exact results of an operation lie, before they are fitted; [] where none are known."""
    exact: Any = term.op.exact if term.op and (term.op in _EXACT or term.op.name.startswith("escapes_")) else None
    if exact is None and term.op is not CAST:
        return []
    ends = [_bounds(arg.domain, arg) for arg in term.args]
    if exact is None:
        return list(ends[0])
    left, right = ends
    return [exact(a, b) for a in left for b in right]


def never_negative(term: Term) -> bool:
    """Whether no value of a number's domain is negative."""
    return _bounds(term.domain, term)[0] >= 0


def _bounds(domain: Domain, term: Term) -> tuple[int, int]:
    if isinstance(domain, Integer | Range):
        return domain.lo, domain.hi
    raise Refused(f"compiled code needs finite domains, and '{term!r}' has {domain}")
