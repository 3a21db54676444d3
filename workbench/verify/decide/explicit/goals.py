"""What the explicit engine decides: questions as goals over labels of steps.

- `Never`: no step has a label (an invariant);
- `Soon`: from every step that does not have the label `escape`, some run has the label (AG (p | EF q));
- `Recurring`: no run has certain labels again and again and from some step on no longer certain others. What is made of
  GF p and FG p by conjunction and disjunction is that.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.core.ops import NOT
from workbench.core.term import FALSE, TRUE, Term
from workbench.verify.ask.formula import Formula, nnf
from workbench.verify.decide.part import Asked

REFUSAL = "the explicit engine decides invariants, AG EF, and what recurs for ever (GF, FG), no other formulas"
ALWAYS = {"ctl": "AG", "ltl": "G"}
"""The operator that makes an invariant of a condition."""
MOST_CASES = 64
"""Most ways in which a formula over GF and FG may be violated."""


class Never(NamedTuple):
    """The label that no step may have."""

    label: int


class Soon(NamedTuple):
    """The label that can always still come, but for steps with the label `escape`."""

    label: int
    escape: int | None


class Recurrence(NamedTuple):
    """Labels that occur again and again on a run, and labels that do not occur from some step on."""

    needed: tuple[int, ...]
    avoided: tuple[int, ...]


class Recurring(NamedTuple):
    """What no run may do."""

    cases: tuple[Recurrence, ...]


Goal = Never | Soon | Recurring


@dataclass
class Agenda:
    """The questions of a part as goals over labels.

    Parameters
    ----------
    fair: conditions that hold infinitely often on every run.
    """

    fair: Sequence[Term] = ()
    labels: list[Term] = field(default_factory=list)
    goals: dict[str, Goal] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def add(self, role: str, asked: Asked) -> None:
        """One more question."""
        goal = self._make_goal(asked)
        if goal is None:
            self.refused[role] = REFUSAL
        else:
            self.goals[role] = goal

    def _make_goal(self, asked: Asked) -> Goal | None:
        formula, invariant = asked.formula, asked.kind == "invar"
        if asked.kind in ALWAYS and formula.op == ALWAYS[asked.kind]:
            formula, invariant = formula.args[0], True
        if invariant and formula.term is not None:
            return Never(self._number_label(NOT(formula.term)))
        if asked.kind == "ltl":
            cases = _list_violations(nnf(asked.formula, negated=True))
            return None if cases is None else Recurring(tuple(self._make_case(*case) for case in cases))
        soon = _read_recurrence(formula) if asked.kind == "ctl" and invariant else None
        if soon is None:
            return None
        escape, target = soon
        return Soon(self._number_label(target), None if escape is None else self._number_label(escape))

    def _make_case(self, again: Sequence[Term], finally_: Sequence[Term]) -> Recurrence:
        needed = [self._number_label(term) for term in (*again, *self.fair)]
        return Recurrence(tuple(dict.fromkeys(needed)), tuple(self._number_label(NOT(term)) for term in finally_))

    def _number_label(self, term: Term) -> int:
        """The number of a label, a new one if need be."""
        for number, label in enumerate(self.labels):
            if label is term:
                return number
        self.labels.append(term)
        return len(self.labels) - 1


def _read_recurrence(formula: Formula) -> tuple[Term | None, Term] | None:
    """The p and q of `p | EF q`, or of `EF q` alone."""
    parts = formula.args if formula.op == "or" else (formula,)
    escapes = [part.term for part in parts if part.term is not None]
    soon = [part.args[0].term for part in parts if part.op == "EF" and part.args[0].term is not None]
    if len(parts) > 2 or len(soon) != 1 or len(escapes) != len(parts) - 1 or soon[0] is None:
        return None
    return (escapes[0] if escapes else None), soon[0]


TermTuple = tuple[Term, ...]


def _list_violations(formula: Formula) -> list[tuple[TermTuple, TermTuple]] | None:
    """The cases of a formula in negation normal form over GF p and FG p: the p of each; None where it is another."""
    if formula.term is TRUE:
        return [((), ())]
    if formula.term is FALSE:
        return []
    inner = formula.args[0] if len(formula.args) == 1 else None
    if inner is not None and inner.args and (term := inner.args[0].term) is not None:
        if (formula.op, inner.op) == ("G", "F"):
            return [((term,), ())]
        if (formula.op, inner.op) == ("F", "G"):
            return [((), (term,))]
    if formula.op not in ("and", "or"):
        return None
    left, right = (_list_violations(arg) for arg in formula.args)
    if left is None or right is None or len(left) * len(right) > MOST_CASES:
        return None
    if formula.op == "or":
        return left + right
    return [(a + c, b + d) for (a, b), (c, d) in itertools.product(left, right)]
