"""The engine `spacer`: property-directed reachability over integers, z3's own.

A. Komuravelli, A. Gurfinkel, S. Chaki, SMT-based model checking for recursive programs (CAV 2014).
"""

from __future__ import annotations

from typing import Any, ClassVar

from workbench.core.term import Term
from workbench.smv.engines.engine import Answer, unshown
from workbench.verify.decide.smt.decider import SmtDecider
from workbench.verify.decide.smt.induction import DEEPEST, BaseCases
from workbench.verify.decide.smt.transition import Z3Transition
from workbench.verify.decide.system_decider import OutOfLimits


class SpacerDecider(SmtDecider):
    """The engine `spacer`: it proves or refutes; `induction` then looks for a run that shows it."""

    name: ClassVar[str] = "spacer"

    def solve(self, transition: Z3Transition, good: Term) -> Answer:
        condition = transition.translate(transition.part.model.system.inline(good))
        has_run = SpacerQuery(transition, condition).decide()
        if has_run is None:
            return Answer(None, reason="z3 gave up")
        if has_run is False:
            return Answer(True)
        try:
            refutation = BaseCases(transition, condition).refute(good, DEEPEST)
        except OutOfLimits as stop:
            return unshown(str(stop))
        return refutation or unshown(f"it has more than {DEEPEST} steps")


class SpacerQuery:
    """The question whether a run breaks a condition, as Horn clauses."""

    def __init__(self, transition: Z3Transition, condition: Any) -> None:
        self.transition, z3 = transition, transition.z3
        self.fixed = z3.Fixedpoint(ctx=transition.session.context)
        self.fixed.set(engine="spacer", ctrl_c=False)
        sorts = [symbol.sort() for symbol in transition.state]
        truth = z3.BoolSort(transition.session.context)
        self.reachable, self.bad = z3.Function("reachable", *sorts, truth), z3.Function("bad", truth)
        self.fixed.register_relation(self.reachable, self.bad)
        self.fixed.declare_var(*transition.state, *transition.inputs.values())
        here = self.reachable(*transition.state)
        self.fixed.fact(self.reachable(*transition.initial))
        self.fixed.rule(self.reachable(*transition.following), [here, transition.legal])
        self.fixed.rule(self.bad(), [here, transition.legal, z3.Not(condition)])

    def decide(self) -> bool | None:
        """Return whether there is such a run; None if z3 does not decide it."""
        return self.transition.session.call(lambda: self.fixed.query(self.bad()))

    def find_invariant(self) -> list[Any] | None:
        """Return conditions that every reachable state satisfies, and that exclude such runs, if z3 finds them."""
        if self.decide() is not False:
            return None
        z3 = self.transition.z3
        invariant = z3.substitute_vars(self.fixed.get_cover_delta(-1, self.reachable), *self.transition.state)
        return list(invariant.children()) if z3.is_and(invariant) else [invariant]
