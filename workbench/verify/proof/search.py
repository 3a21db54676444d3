"""The search for an inductive invariant that proves an obligation, with the methods of the SMT engines.

The rule of this module: its results need not be right, since they are checked like any others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from workbench.budget import report
from workbench.errors import Refused, UnsupportedNode
from workbench.ir.correspond import correspond
from workbench.smv.engines.engine import EngineLimits
from workbench.verify.decide.part import Part
from workbench.verify.decide.smt.induction import InductionSteps
from workbench.verify.decide.smt.invariants import Invariants
from workbench.verify.decide.smt.session import Z3Session
from workbench.verify.decide.smt.spacer import SpacerQuery
from workbench.verify.decide.smt.transition import Z3Transition
from workbench.verify.decide.system_decider import OutOfLimits
from workbench.verify.proof.script import Obligation, Proof, list_conditions
from workbench.verify.proof.smt_text import read

FIRST_DEPTH, DEPTH = 3, 40
"""Number of good steps that a proof may need: after each group of conditions, and at the end."""
STEP_SECONDS = 2.0
"""Maximum time of one attempt of a proof."""
SPACER_SHARE = 0.3
"""The part of the time left that property-directed reachability may take before conditions are sampled."""


def find_proof(obligation: Obligation, limits: EngineLimits) -> Proof:
    """Return a proof of an obligation.

    Raises
    ------
    Refused: none was found.
    """
    session = Z3Session(limits)
    try:
        transition = Z3Transition(session, obligation.part)
        search = _Search(transition, obligation)
        for known in search.list_attempts(obligation.part):
            report(f"{len(known)} conditions")
            depth = search.prove(known, FIRST_DEPTH)
            if depth is not None:
                return search.shorten(depth, known)
        depth = search.prove(search.invariants.proved, DEPTH)
        if depth is not None:
            return search.shorten(depth, search.invariants.proved)
    except (OutOfLimits, Refused, UnsupportedNode) as error:
        raise Refused(f"no invariant was found that proves it: {getattr(error, 'what', error)}") from error
    raise Refused("no invariant was found that proves it")


class _Search:
    """The search for a proof that every step is good."""

    def __init__(self, transition: Z3Transition, obligation: Obligation) -> None:
        self.transition, self.invariants = transition, Invariants(transition)
        ranged = {each.name for each in obligation.ranged}
        pairs = zip(transition.state, transition.variables, strict=True)
        ranges = transition.in_domains((symbol, v.domain) for symbol, v in pairs if v.name in ranged)
        good = transition.translate(obligation.part.model.system.inline(obligation.good))
        self.condition = transition.all_of([good, *map(self.invariants.after, ranges)])

    def list_attempts(self, part: Part) -> Iterator[Sequence[Any]]:
        """Yield sets of conditions that hold in all states, larger and larger."""
        yield ()
        if not self.transition.state:
            return
        if self.invariants.add(self._list_equalities(part)):
            yield self.invariants.proved
        yield from self._search_by_spacer()
        while self.invariants.extend():
            yield self.invariants.proved

    def _list_equalities(self, part: Part) -> list[Any]:
        """Return the equalities of variables that structure shows."""
        translate = self.transition.translate
        return [translate(one) == translate(other) for one, other in correspond(part.model.system).equal.items()]

    def _search_by_spacer(self) -> Iterator[Sequence[Any]]:
        """Yield the invariant of property-directed reachability, if it finds one in its share of the time."""
        session = self.transition.session
        deadline = session.deadline
        session.deadline = time.monotonic() + SPACER_SHARE * session.seconds_left
        try:
            invariant = SpacerQuery(self.transition, self.condition).find_invariant()
        except OutOfLimits:
            invariant = None
        finally:
            session.deadline = deadline
        if invariant is not None:
            yield invariant

    def prove(self, known: Sequence[Any], deepest: int) -> int | None:
        """Return the number of good steps after which the condition follows."""
        steps = InductionSteps(self.transition, self.condition, known)
        return next((depth for depth in range(deepest + 1) if steps.prove(STEP_SECONDS)), None)

    def shorten(self, depth: int, known: Sequence[Any]) -> Proof:
        """Return the proof, with only the conditions that z3 uses."""
        numbers = self._find_needed(depth, known)
        texts = (read(known[number].sexpr())[0] for number in sorted(numbers))
        return Proof(depth, [condition for text in texts for condition in list_conditions(text)])

    def _find_needed(self, depth: int, known: Sequence[Any]) -> set[int]:
        """Return the numbers of the conditions from which the last step follows, and these from each other."""
        steps = InductionSteps(self.transition, self.condition)
        for _ in range(depth):
            steps.prove(STEP_SECONDS)
        steps.prove(STEP_SECONDS)
        solver, everything = steps.solver, set(range(len(known)))
        solver.add(self.transition.z3.Not(steps.instants[-1].at(self.condition)))
        needed = self._find_core(
            solver, [self.transition.all_of(now.at(each) for now in steps.instants) for each in known]
        )
        if needed is None:
            return everything
        todo = needed
        while todo:
            solver = self.transition.session.solver()
            solver.add(self.transition.legal, self.transition.ranges)
            solver.add(self.transition.z3.Not(self.transition.all_of(self.invariants.after(known[i]) for i in todo)))
            core = self._find_core(solver, known)
            if core is None:
                return everything
            todo = core - needed
            needed = needed | core
        return needed

    def _find_core(self, solver: Any, conditions: Sequence[Any]) -> set[int] | None:
        """Return numbers of conditions that contradict the assertions of a solver; None if z3 does not decide it."""
        z3, context = self.transition.z3, self.transition.session.context
        marks = {f"condition {number}": number for number in range(len(conditions))}
        for mark, condition in zip(marks, conditions, strict=True):
            solver.add(z3.Implies(z3.Bool(mark, context), condition))
        assumptions = [z3.Bool(mark, context) for mark in marks]
        session = self.transition.session
        solver.set("timeout", int(1000 * STEP_SECONDS))
        if session.call(lambda: solver.check(*assumptions)) is not False:
            return None
        return {marks[str(each)] for each in solver.unsat_core()}
