"""The base of deciders that use z3: they decide invariants, one after the other."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from workbench.core.domain import Value
from workbench.core.ops import NOT
from workbench.core.term import Term
from workbench.errors import EngineError, Refused, UnsupportedNode
from workbench.smv.engines.engine import Answer, EngineLimits, limit_side_questions
from workbench.verify.decide.part import Decision, Part
from workbench.verify.decide.runs import Runs
from workbench.verify.decide.smt.session import Z3Session, z3_version
from workbench.verify.decide.smt.transition import Z3Transition
from workbench.verify.decide.smt.translate import Z3Translation
from workbench.verify.decide.system_decider import OutOfLimits, SystemDecider

REFUSAL = "the SMT engines decide invariants only"


class SmtDecider(SystemDecider):
    """A decider of invariants that uses z3.

    Raises
    ------
    EngineMissing: z3 is not installed.
    """

    subject = "the SMT engines know"
    translation: ClassVar[type[Z3Translation]] = Z3Translation
    logic: ClassVar[str] = ""
    """The logic of the solver; empty: any."""

    def __init__(self) -> None:
        self.version = z3_version()

    @abstractmethod
    def solve(self, transition: Z3Transition, good: Term) -> Answer:
        """Answer whether a condition is true at every step of every run."""

    def answer(self, part: Part, limits: EngineLimits, *, count_states: bool) -> Decision:
        del count_states
        answers = dict.fromkeys(part.questions, Answer(None, reason=REFUSAL))
        if all(part.questions[role].invariant is not None for role in part.required):
            answers |= self._answer_all(part, limits)
        return Decision(answers, self.title)

    def _answer_all(self, part: Part, limits: EngineLimits) -> dict[str, Answer]:
        """Answer the questions about invariants; side questions get little time."""
        session = Z3Session(limits, self.logic)
        goods = {
            role: question.invariant for role, question in part.questions.items() if question.invariant is not None
        }
        answers: dict[str, Answer] = {}
        try:
            session.check_limits()
            transition = Z3Transition(session, part, self.translation)
        except OutOfLimits as stop:
            return dict.fromkeys(goods, Answer(None, reason=str(stop)))
        except (Refused, UnsupportedNode) as error:
            return dict.fromkeys(goods, Answer(None, reason=error.what))
        side = False
        for role, good in goods.items():
            question = part.questions[role]
            if question.side and not side:
                side = True
                session.deadline = min(session.deadline, time.monotonic() + limit_side_questions(0))
            unless = answers.get(question.unless)
            if unless is not None and unless.truth is False:
                answers[role] = Answer(None, reason="its answer does not matter")
                continue
            answers[role] = self._answer(transition, good)
        return answers

    def _answer(self, transition: Z3Transition, good: Term) -> Answer:
        try:
            return self.solve(transition, good)
        except OutOfLimits as stop:
            return Answer(None, reason=str(stop))
        except (Refused, UnsupportedNode) as error:
            return Answer(None, reason=error.what)
        except transition.z3.Z3Exception as error:  # for example, out of memory
            return Answer(None, reason=f"z3 gave up: {error}")


def refuted(transition: Z3Transition, good: Term, inputs: Sequence[Mapping[str, Value]]) -> Answer:
    """Return the answer that a run on these inputs, a shortest one, refutes an invariant, after running it.

    Raises
    ------
    EngineError: it does not; the translation has a defect.
    """
    runs = Runs(transition.part, [NOT(good)])
    run = runs.find(inputs, 0)
    if run is None:
        raise EngineError("z3 has a run that breaks an invariant, and the system does not have it")
    return Answer(False, runs.show(run), shortest=True)
