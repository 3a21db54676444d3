"""A part: a model and the questions about it, as terms and as SMV text, for a `Decider`."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple, Protocol

from workbench.budget import remaining
from workbench.core.fold import Fold
from workbench.core.term import Term, var
from workbench.ir.reduce import Model
from workbench.ir.system import Definition
from workbench.smv.engines.engine import Answer, EngineLimits, Query, QueryKind, Task
from workbench.smv.printer import SharedTerms, SmvModel
from workbench.verify.ask.formula import Formula, to_smv


class PartQuestion(NamedTuple):
    """One question; `side` as in `Query`. `unless`: the role whose refutation makes the answer needless."""

    kind: QueryKind
    formula: Formula
    side: bool = False
    unless: str = ""

    @property
    def invariant(self) -> Term | None:
        """The condition whose truth at every step is the question; None for another question."""
        if self.kind in ALWAYS and self.formula.op == ALWAYS[self.kind]:
            return self.formula.args[0].term
        return self.formula.term if self.kind == "invar" else None


ALWAYS = {"ctl": "AG", "ltl": "G"}
"""The operator that turns a condition into an invariant."""
_LONG = 10_000
"""Maximum length, in operators, of an atom that an LTL formula contains directly."""
_BEFORE = "workbench_before_"
"""Prefix of the variables that store whether an atom was true a step ago."""


class OperatorCount(Fold[int]):
    """The number of operators of a term that is written as a tree, with every definition expanded."""

    def __init__(self, definitions: Sequence[Definition] = ()) -> None:
        super().__init__()
        for each in definitions:
            self.memo[var(each.name, each.term.domain)] = self(each.term)

    def default(self, term: Term, *args: int) -> int:
        return bool(args) + sum(args)


@dataclass(frozen=True)
class Part:
    """One task for an engine.

    Attributes
    ----------
    model: the system and its overflow flag.
    printed: the same for engines that read text, which is written when one does.
    questions: the questions by role, side questions last.
    assume: conditions on the inputs that hold at every step.
    fair: conditions that hold infinitely often.
    driven: whether the inputs are driven by a system that exists as SMV text only.
    """

    model: Model
    printed: SmvModel
    questions: Mapping[str, PartQuestion]
    assume: tuple[Term, ...] = ()
    fair: tuple[Term, ...] = ()
    driven: bool = False

    @cached_property
    def smv(self) -> SmvModel:
        """The model as text, with what the questions need."""
        return replace(self.printed, write=self._write, order=(*self._long.values(), *self.printed.order))

    def _write(self) -> str:
        """Write the text, with the variables of long atoms, and the parts that formulas share."""
        lines = [self.printed.text.rstrip()]
        for atom, name in self._long.items():
            lines += [f"  VAR {name} : boolean;", f"  ASSIGN init({name}) := FALSE;"]
            lines.append(f"  ASSIGN next({name}) := {self._formulas(atom)};")
        assert self.queries  # which have parts
        return "\n".join([*lines, *self._formulas.define_parts(), ""])

    @cached_property
    def _formulas(self) -> SharedTerms:
        """The translation of the atoms of all questions."""
        return self.printed.share(atom for each in self.questions.values() for atom in each.formula.atoms())

    @cached_property
    def _long(self) -> dict[Term, str]:
        """The atoms of LTL formulas that are long with all definitions expanded, and the names of their variables.

        NuSMV expands definitions to make an automaton of a formula. So each long atom has a variable of this name, true
        if the atom was true a step ago.
        """
        length = OperatorCount(self.model.system.definitions)
        atoms = (
            atom for question in self.questions.values() if question.kind == "ltl" for atom in question.formula.atoms()
        )
        long = [atom for atom in dict.fromkeys(atoms) if length(atom) > _LONG]
        return {atom: f"{_BEFORE}{number}" for number, atom in enumerate(long)}

    def _atom(self, kind: QueryKind, atom: Term) -> str:
        """Return an atom of a formula as SMV text."""
        long = kind == "ltl" and atom in self._long
        return f"X {self._long[atom]}" if long else self._formulas(atom)

    @cached_property
    def queries(self) -> dict[str, Query]:
        """The questions as SMV text."""
        return {
            role: Query(question.kind, to_smv(question.formula, partial(self._atom, question.kind)), question.side)
            for role, question in self.questions.items()
        }

    @property
    def required(self) -> list[str]:
        """The roles that are not side questions."""
        return [role for role, question in self.questions.items() if not question.side]

    def task(self, *, count_states: bool = False) -> Task:
        """Return the task for an engine that reads SMV text."""
        counted = count_states and not self._long  # the variables of long atoms are no part of a state
        return Task(self.smv.text, tuple(self.queries.values()), self.smv.order, counted, self.smv.watch)

    def without(self, roles: Container[str]) -> Part:
        """Return the part without the questions of these roles."""
        return replace(
            self, questions={role: question for role, question in self.questions.items() if role not in roles}
        )


@dataclass(frozen=True)
class Decision:
    """The answers by role, the engines that gave them, and the cost (see `smv.engines.engine.TaskResult`).

    `reachable_states` are counted as NuSMV does for the printed model: its inputs are variables.
    """

    answers: Mapping[str, Answer]
    engine: str
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    reachable_states: int | None = None


def remaining_limits() -> EngineLimits:
    """Return the limits of an engine: what is left to the calling work."""
    left = remaining()
    return EngineLimits(left.seconds, left.memory_mb, EngineLimits(left.of_seconds, left.of_memory_mb))


class Decider(Protocol):
    """A decider of parts. If it meets a limit, the answer has no truth value."""

    @property
    def name(self) -> str:
        """The name by which it is selected."""

    @property
    def version(self) -> str:
        """The name and version of the program that does the work; `built in` if it is workbench itself."""

    def decide(self, part: Part, limits: EngineLimits, *, count_states: bool = False) -> Decision:
        """Answer every question.

        Raises
        ------
        EngineError, EngineMissing: the engine cannot be used.
        """
