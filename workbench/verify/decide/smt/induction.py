"""The engine `induction`: k-induction over integers.

For k = 0, 1, 2, ... it looks for a run of k steps to a step that breaks the invariant (a base case), and then for a
proof that k steps from any state, which keep it, are followed by one that keeps it. Base cases come in order, so the
first run that is found is a shortest one.

M. Sheeran, S. Singh, G. Stålmarck, Checking safety properties using induction and a SAT-solver (FMCAD 2000).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from workbench.budget import report
from workbench.core.domain import Value
from workbench.core.term import Term
from workbench.smv.engines.engine import Answer, Reached
from workbench.verify.decide.smt.decider import SmtDecider, refuted
from workbench.verify.decide.smt.transition import Instant, Z3Transition
from workbench.verify.decide.system_decider import OutOfLimits

DEEPEST = 1000
"""Maximum number of steps."""
STEP_SHARE, LEAST_SECONDS = 0.25, 0.5
"""The part of the time left that one attempt of a proof may take, and its least time."""


class Unrolling:
    """Runs that become longer, and the question whether a condition can be false for the first time at their end.

    Parameters
    ----------
    assumed: what holds at every step.
    start: the first state; None: any.

    Attributes
    ----------
    instants: the moments of the longest runs so far.
    model: of z3, if the condition can be false at their end.
    """

    def __init__(
        self, transition: Z3Transition, condition: Any, assumed: Any, start: tuple[Any, ...] | None = None
    ) -> None:
        self.transition, self.condition, self.assumed, self.start = transition, condition, assumed, start
        self.solver, self.model = transition.session.solver(), None
        self.instants = list[Instant]()

    def extend(self, seconds: float | None = None) -> bool | None:
        """Add a step; return whether the condition can be false there, None if z3 does not decide it."""
        transition, solver = self.transition, self.solver
        if self.instants:
            solver.add(self.instants[-1].at(self.condition))
            now = transition.advance(solver, self.instants[-1], len(self.instants))
        else:
            now = transition.instant(0, self.start)
        self.instants.append(now)
        solver.add(now.at(self.assumed))
        solver.push()
        solver.add(transition.z3.Not(now.at(self.condition)))
        satisfiable = transition.session.is_sat(solver, seconds)
        self.model = solver.model() if satisfiable else None
        solver.pop()
        return satisfiable


class BaseCases(Unrolling):
    """The search for shortest runs that break a condition."""

    def __init__(self, transition: Z3Transition, condition: Any) -> None:
        super().__init__(transition, condition, transition.legal, transition.initial)

    def search(self) -> list[dict[str, Value]] | None:
        """Return the inputs of a run of one more step that breaks the condition at its end, if there is one."""
        satisfiable = self.extend()
        if satisfiable is None:
            self.instants.pop()
            raise OutOfLimits(f"z3 does not decide a run of {len(self.instants) + 1} steps")
        return [self.transition.read(self.model, each) for each in self.instants] if satisfiable else None

    def refute(self, good: Term, deepest: int) -> Answer | None:
        """Return the answer that a run of up to this number of steps refutes an invariant, if one does."""
        while len(self.instants) < deepest:
            inputs = self.search()
            if inputs is not None:
                return refuted(self.transition, good, inputs)
            report(f"runs of up to {len(self.instants)} steps")
        return None


class InductionSteps(Unrolling):
    """The attempts to prove a condition by induction over more and more steps.

    Parameters
    ----------
    known: what is known to hold at every step.
    """

    def __init__(self, transition: Z3Transition, condition: Any, known: Sequence[Any] = ()) -> None:
        super().__init__(transition, condition, transition.all_of((transition.legal, transition.ranges, *known)))

    def prove(self, seconds: float | None) -> bool:
        """Whether one more step proves the condition."""
        return self.extend(seconds) is False


class Induction:
    """The proof or refutation of an invariant by k-induction.

    Parameters
    ----------
    name: the engine that reports the progress.
    """

    def __init__(self, transition: Z3Transition, good: Term, name: str) -> None:
        self.transition, self.good, self.name = transition, good, name
        self.condition = transition.translate(transition.part.model.system.inline(good))
        self.base = BaseCases(transition, self.condition)

    def decide(self, deepest: int, known: Sequence[Any] = ()) -> Answer:
        """Decide it over at most this number of steps, or return the progress."""
        steps, reason = InductionSteps(self.transition, self.condition, known), ""
        try:
            for depth in range(1, deepest + 1):
                if answer := self.base.refute(self.good, depth):
                    return answer
                left = self.transition.session.seconds_left
                if steps.prove(None if left == math.inf else max(LEAST_SECONDS, left * STEP_SHARE)):
                    return Answer(True)
        except OutOfLimits as stop:
            reason = str(stop)
        depth = len(self.base.instants)
        reached = Reached(self.name, f"no counterexample of up to {depth} steps", steps=depth)
        return Answer(None, reason=reason or f"no proof in {deepest} steps", reached=(reached,) if depth else ())


class InductionDecider(SmtDecider):
    """The engine `induction`."""

    name: ClassVar[str] = "induction"

    def solve(self, transition: Z3Transition, good: Term) -> Answer:
        return Induction(transition, good, self.name).decide(DEEPEST)
