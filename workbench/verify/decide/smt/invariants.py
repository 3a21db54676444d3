"""The engine `invariants`: k-induction with invariants that samples of random runs suggest.

Candidates are what all sampled states have in common (`candidates`). Those that a step from a state in which all of
them hold may break are dropped, until none is: then the rest holds for ever. k-induction then starts from states in
which they hold.

C. Flanagan, K.R.M. Leino, Houdini, an annotation assistant for ESC/Java (FME 2001).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

from workbench.budget import report
from workbench.core.term import Term
from workbench.errors import EngineMissing
from workbench.extras import install_extra
from workbench.smv.engines.engine import Answer
from workbench.verify.decide.smt.decider import SmtDecider
from workbench.verify.decide.smt.induction import Induction
from workbench.verify.decide.smt.transition import Renaming, Z3Transition

GROUP = 150
"""Maximum number of candidates that are examined together."""
GROUP_SECONDS = 2.0
"""Maximum time of one call of z3 about a group."""
FIRST_DEPTH, DEPTH = 3, 100
"""The depths of k-induction: after each group of candidates, and after all of them."""


class InvariantsDecider(SmtDecider):
    """The engine `invariants`."""

    name: ClassVar[str] = "invariants"

    def __init__(self) -> None:
        super().__init__()
        if find_spec("numpy") is None:
            raise EngineMissing("the Python package numpy is not installed", hint=install_extra("smt"))
        self._found: tuple[Z3Transition, Invariants] | None = None

    def solve(self, transition: Z3Transition, good: Term) -> Answer:
        induction = Induction(transition, good, self.name)
        answer = induction.decide(FIRST_DEPTH)
        if answer.truth is not None or not transition.state:
            return answer
        if self._found is None or self._found[0] is not transition:
            self._found = transition, Invariants(transition)
        invariants, more = self._found[1], True
        while more and answer.truth is None:
            more = invariants.extend()
            answer = induction.decide(FIRST_DEPTH if more else DEPTH, invariants.proved)
        return answer


class Invariants:
    """The invariants of a transition system that have been found so far.

    Attributes
    ----------
    after: replaces the variables in a condition by their next values.
    """

    def __init__(self, transition: Z3Transition) -> None:
        self.transition, self.proved = transition, list[Any]()
        self._groups = self._list_candidates()
        self.after = Renaming(transition.z3, zip(transition.state, transition.following, strict=True))

    def _list_candidates(self) -> Iterator[list[Any]]:
        """Yield groups of candidates; the first takes samples."""
        from workbench.verify.decide.smt.candidates import Candidates

        yield from Candidates(self.transition, self.transition.part).groups()

    def extend(self) -> bool:
        """Examine more candidates until some are proved; return whether there were any."""
        for group in self._groups:
            before = len(self.proved)
            for start in range(0, len(group), GROUP):
                self.add(group[start : start + GROUP])
            report(f"{len(self.proved)} invariants")
            if len(self.proved) > before:
                return True
        return False

    def add(self, candidates: Sequence[Any]) -> bool:
        """Examine candidates; return whether some are proved."""
        invariants = self._keep(candidates)
        self.proved += invariants
        return bool(invariants)

    def _keep(self, candidates: Sequence[Any]) -> list[Any]:
        """Return the candidates that hold at first, and that a step does not break if all of them hold before."""
        transition, z3 = self.transition, self.transition.z3
        first = Renaming(z3, zip(transition.state, transition.initial, strict=True))
        survivors = [each for each in candidates if z3.is_true(z3.simplify(first(each)))]
        after = {each: self.after(each) for each in survivors}
        while survivors:
            solver = transition.session.solver()
            solver.add(transition.legal, transition.ranges, *self.proved, *survivors)
            solver.add(z3.Not(z3.And([after[each] for each in survivors])))
            satisfiable = transition.session.is_sat(solver, seconds=GROUP_SECONDS)
            if satisfiable is False:
                break
            if satisfiable is None:  # what z3 cannot decide is dropped: half of a group, then the half of it
                survivors = survivors[: len(survivors) // 2]
                continue
            model = solver.model()
            survivors = [each for each in survivors if z3.is_true(model.eval(after[each], model_completion=True))]
        return survivors
