"""Formulas: state terms under Boolean and temporal operators, and their weakening by overflow.

The model knows nothing after an overflow. `weaken` builds, from a formula in negation normal form, the one
that is true wherever the original *could* be (every literal holds once the overflow flag is set) and the one that
is true only where it *must* be. The flag is sticky, so temporal operators carry this over to whole runs: a false
optimistic formula is a definite failure, a true pessimistic one a definite success.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from workbench.core.ops import AND, IMPLIES, NOT, OR, Operator
from workbench.core.term import FALSE, Term


class Connective(NamedTuple):
    """A Boolean operator: its operator on terms, and its SMV notation."""

    of_terms: Operator
    sign: str


BOOLEAN = {
    "not": Connective(NOT, "!"), "and": Connective(AND, " & "), "or": Connective(OR, " | "),
    "implies": Connective(IMPLIES, " -> "),
}  # fmt: skip
"""The Boolean operators of formulas."""
DUAL = {
    "AG": "EF", "EF": "AG", "AF": "EG", "EG": "AF", "AX": "EX", "EX": "AX", "G": "F", "F": "G", "X": "X",
    "U": "V", "V": "U", "and": "or", "or": "and",
}  # fmt: skip
"""The dual of each operator, which results from negation."""


@dataclass(frozen=True)
class Formula:
    """An operator over formulas; `atom` holds a Boolean term over a system's names."""

    op: str
    args: tuple[Formula, ...] = ()
    term: Term | None = None

    def atoms(self) -> Iterator[Term]:
        """Yield the terms of the formula."""
        if self.term is not None:
            yield self.term
        for arg in self.args:
            yield from arg.atoms()


def atom(term: Term) -> Formula:
    """Return a state formula."""
    return Formula("atom", term=term)


def build(op: str, *args: Formula) -> Formula:
    """Apply an operator; a Boolean operator on state formulas gives a state formula."""
    if op in BOOLEAN and all(a.term is not None for a in args):
        return atom(BOOLEAN[op].of_terms(*(a.term for a in args)))
    return Formula(op, args)


def nnf(formula: Formula, *, negated: bool = False) -> Formula:
    """Return the negation normal form: negation only inside atoms, no implication."""
    op, args = formula.op, formula.args
    if formula.term is not None:
        return atom(NOT(formula.term)) if negated else formula
    if op == "not":
        return nnf(args[0], negated=not negated)
    if op == "implies":
        return nnf(Formula("or", (Formula("not", args[:1]), args[1])), negated=negated)
    inner = tuple(nnf(arg, negated=negated) for arg in args)
    if not negated:
        return Formula(op, inner)
    if op in DUAL:
        return Formula(DUAL[op], inner)
    p, q = inner  # both already negated; !A[p U q] = E[!q U !p & !q] | EG !q, and dually
    path = "E" if op == "AU" else "A"
    return Formula("or", (Formula(f"{path}U", (q, Formula("and", (p, q)))), Formula(f"{path}G", (q,))))


def weaken(formula: Formula, overflow: Term, *, optimistic: bool = True) -> Formula:
    """Return the formula that is true where `formula` could be (or must be) true, given what overflow hides."""
    if overflow is FALSE:
        return formula
    return _literals(nnf(formula), lambda t: OR(t, overflow) if optimistic else AND(t, NOT(overflow)))


def _literals(formula: Formula, change: Callable[[Term], Term]) -> Formula:
    if formula.term is not None:
        return atom(change(formula.term))
    return Formula(formula.op, tuple(_literals(arg, change) for arg in formula.args))


def to_smv(formula: Formula, terms: Callable[[Term], str]) -> str:
    """Return the SMV text of a formula."""
    if formula.term is not None:
        return terms(formula.term)
    parts = [to_smv(arg, terms) for arg in formula.args]
    if formula.op == "not":
        return f"{BOOLEAN[formula.op].sign}({parts[0]})"
    if formula.op in BOOLEAN:
        return f"({BOOLEAN[formula.op].sign.join(parts)})"
    if formula.op in ("AU", "EU"):
        return f"{formula.op[0]} [{parts[0]} U {parts[1]}]"
    if len(parts) == 2:
        return f"({parts[0]} {formula.op} {parts[1]})"
    return f"{formula.op} ({parts[0]})"


def evaluate_on_lasso(formula: Formula, values: Mapping[Term, Sequence[bool]], loop: int) -> list[bool] | None:
    """Return the truth of an LTL formula at each step of a lasso; None for operators that are not of LTL.

    Parameters
    ----------
    values: the truth of each atom at each step.
    loop: the step that follows the last one.
    """
    if formula.term is not None:
        return list(values[formula.term])
    inner = [evaluate_on_lasso(arg, values, loop) for arg in formula.args]
    args = [arg for arg in inner if arg is not None]
    if len(args) < len(inner):
        return None
    a, b = args[0], args[-1]
    count = len(a)
    after = [*range(1, count), loop]
    if formula.op == "not":
        return [not x for x in a]
    if formula.op in ("and", "or", "implies"):
        exact = BOOLEAN[formula.op].of_terms.exact
        return [exact(x, y) for x, y in zip(a, b, strict=True)]
    if formula.op == "X":
        return [a[step] for step in after]
    until = {"F": ([True] * count, a), "U": (a, b), "G": (a, [False] * count), "V": (b, a)}.get(formula.op)
    if until is None:
        return None
    # backwards twice: the truth at the beginning of the loop is known after the first time
    least = formula.op in ("F", "U")
    truth = [not least] * count
    for step in 2 * [*range(count - 1, -1, -1)]:
        stays, ends = until[0][step], until[1][step]
        truth[step] = ends or (stays and truth[after[step]]) if least else stays and (ends or truth[after[step]])
    return truth
