"""The engine `spacer`: property-directed reachability over integers, z3's own.

A. Komuravelli, A. Gurfinkel, S. Chaki, SMT-based model checking for recursive programs (CAV 2014).
"""

from __future__ import annotations

from typing import ClassVar

from workbench.core.term import Term
from workbench.smv.engines.engine import Answer, unshown
from workbench.verify.decide.smt.decider import SmtDecider
from workbench.verify.decide.smt.induction import DEEPEST, BaseCases
from workbench.verify.decide.smt.session import OutOfLimits
from workbench.verify.decide.smt.transition import Z3Transition


class SpacerDecider(SmtDecider):
    """The engine `spacer`: it proves or refutes; `induction` then looks for a run that shows it."""

    name: ClassVar[str] = "spacer"

    def solve(self, transition: Z3Transition, good: Term) -> Answer:
        session, z3 = transition.session, transition.z3
        condition = transition.translate(transition.part.model.system.inline(good))
        fixed = z3.Fixedpoint(ctx=session.context)
        fixed.set(engine="spacer", ctrl_c=False)
        sorts = [symbol.sort() for symbol in transition.state]
        truth = z3.BoolSort(session.context)
        reachable, bad = z3.Function("reachable", *sorts, truth), z3.Function("bad", truth)
        fixed.register_relation(reachable, bad)
        fixed.declare_var(*transition.state, *transition.inputs.values())
        here = reachable(*transition.state)
        fixed.fact(reachable(*transition.initial))
        fixed.rule(reachable(*transition.following), [here, transition.legal])
        fixed.rule(bad(), [here, transition.legal, z3.Not(condition)])
        found = session.call(lambda: fixed.query(bad()))
        if found is None:
            return Answer(None, reason="z3 gave up")
        if found is False:
            return Answer(True)
        try:
            shown = BaseCases(transition, condition).refute(good, DEEPEST)
        except OutOfLimits as stop:
            return unshown(str(stop))
        return shown or unshown(f"it has more than {DEEPEST} steps")
