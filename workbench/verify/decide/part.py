"""What is decided in one go: a model and the questions about it, as terms and as SMV text."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from workbench.core.term import Term
from workbench.ir.reduce import Model
from workbench.smv.engines.engine import Query, QueryKind, Task
from workbench.smv.printer import SmvModel
from workbench.verify.ask.formula import Formula, to_smv


class Asked(NamedTuple):
    """One question; `side` as in `engines.Query`. `unless`: the role whose refutation makes the answer needless."""

    kind: QueryKind
    formula: Formula
    side: bool = False
    unless: str = ""


@dataclass(frozen=True)
class Part:
    """One task for an engine.

    Attributes
    ----------
    model: the system and its overflow flag.
    printed: gives the same as text, when an engine or a trace wants it.
    asked: the questions by role, those that are no side questions first.
    assume: conditions on the inputs that hold at every step.
    fair: conditions that hold infinitely often.
    driven: the inputs are driven by a system that exists as SMV text only.
    """

    model: Model
    printed: Callable[[], SmvModel]
    asked: Mapping[str, Asked]
    assume: tuple[Term, ...] = ()
    fair: tuple[Term, ...] = ()
    driven: bool = False

    @cached_property
    def smv(self) -> SmvModel:
        """The model as text."""
        return self.printed()

    @cached_property
    def queries(self) -> dict[str, Query]:
        """The questions as SMV text."""
        return {
            role: Query(asked.kind, to_smv(asked.formula, self.smv.formula), asked.side)
            for role, asked in self.asked.items()
        }

    @property
    def required(self) -> list[str]:
        """The roles of what is no side question."""
        return [role for role, asked in self.asked.items() if not asked.side]

    def task(self, *, count_states: bool = False) -> Task:
        """The task for an engine that reads SMV text."""
        return Task(self.smv.text, tuple(self.queries.values()), self.smv.order, count_states, self.smv.watch)

    def without(self, roles: Container[str]) -> Part:
        """The part with fewer questions."""
        return replace(self, asked={role: asked for role, asked in self.asked.items() if role not in roles})
