"""The explicit-state engine: decides a part by exploring its system.

All questions of a part are goals over labels of the steps of one search:

- `Never`: no step has a label (an invariant);
- `Soon`: from every step without the label `escape`, some run has the label (AG (p | EF q));
- `Recurring`: no run has certain labels infinitely often and lacks certain others from some step on. Conjunctions and
  disjunctions of GF p and FG p have this form.

The search begins in plain Python, which takes only a moment for small models. If the model turns out to be larger and
numba is installed, it starts again as machine code.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workbench.budget import free_mb, report
from workbench.core.ops import NOT
from workbench.core.term import FALSE, TRUE, Term
from workbench.errors import Refused
from workbench.executors.compiled.code import ir
from workbench.smv.engines.engine import Answer, EngineLimits, RawTrace, Reached, SmvState, limit_side_questions
from workbench.verify.ask.formula import Formula, nnf
from workbench.verify.decide.explicit import machine
from workbench.verify.decide.explicit.machine import CompiledSearch
from workbench.verify.decide.explicit.search import Edge, Exploration, PlainSearch
from workbench.verify.decide.explicit.space import Space
from workbench.verify.decide.part import ALWAYS, Decision, Part, PartQuestion
from workbench.verify.decide.system_decider import OutOfLimits, SystemDecider

REFUSAL = "the explicit engine decides invariants, AG EF, and what recurs for ever (GF, FG), no other formulas"
MAX_CASES = 64
"""Maximum number of ways to violate a formula over GF and FG."""


class Never(NamedTuple):
    """The goal that no step has a label."""

    label: int


class Soon(NamedTuple):
    """The goal that a label can always still come, except after steps with the label `escape`."""

    label: int
    escape: int | None


class Recurrence(NamedTuple):
    """Labels that occur infinitely often on a run, and labels that do not occur from some step on."""

    needed: tuple[int, ...]
    avoided: tuple[int, ...]


class Recurring(NamedTuple):
    """The goal that no run has one of these recurrences."""

    cases: tuple[Recurrence, ...]


Goal = Never | Soon | Recurring


class Agenda:
    """The questions of a part as goals over labels; `refused` are the roles of all other questions."""

    def __init__(self, part: Part) -> None:
        self.fair, self.labels = part.fair, list[Term]()
        all_goals = {role: self._make_goal(question) for role, question in part.questions.items()}
        self.goals = {role: goal for role, goal in all_goals.items() if goal is not None}
        self.refused = all_goals.keys() - self.goals.keys()

    def _make_goal(self, question: PartQuestion) -> Goal | None:
        if question.invariant is not None:
            return Never(self._number_label(NOT(question.invariant)))
        if question.kind == "ltl":
            cases = _list_violations(nnf(question.formula, negated=True))
            return None if cases is None else Recurring(tuple(self._make_case(*case) for case in cases))
        always = question.kind == "ctl" and question.formula.op == ALWAYS["ctl"]
        soon = _read_recurrence(question.formula.args[0]) if always else None
        if soon is None:
            return None
        escape, target = soon
        return Soon(self._number_label(target), None if escape is None else self._number_label(escape))

    def _make_case(self, again: Sequence[Term], finally_: Sequence[Term]) -> Recurrence:
        needed = [self._number_label(term) for term in (*again, *self.fair)]
        return Recurrence(tuple(dict.fromkeys(needed)), tuple(self._number_label(NOT(term)) for term in finally_))

    def _number_label(self, term: Term) -> int:
        """Return the number of a label, a new one if necessary."""
        for number, label in enumerate(self.labels):
            if label is term:
                return number
        self.labels.append(term)
        return len(self.labels) - 1


def _read_recurrence(formula: Formula) -> tuple[Term | None, Term] | None:
    """Return the p and q of `p | EF q`, or of `EF q` alone."""
    parts = formula.args if formula.op == "or" else (formula,)
    escapes = [part.term for part in parts if part.term is not None]
    soon = [part.args[0].term for part in parts if part.op == "EF" and part.args[0].term is not None]
    if len(parts) > 2 or len(soon) != 1 or len(escapes) != len(parts) - 1 or soon[0] is None:
        return None
    return (escapes[0] if escapes else None), soon[0]


TermTuple = tuple[Term, ...]


def _list_violations(formula: Formula) -> list[tuple[TermTuple, TermTuple]] | None:
    """List the cases of a formula in negation normal form over GF p and FG p: the p of each; None for others."""
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
    if left is None or right is None or len(left) * len(right) > MAX_CASES:
        return None
    if formula.op == "or":
        return left + right
    return [(a + c, b + d) for (a, b), (c, d) in itertools.product(left, right)]


PLAIN_SECONDS = 0.5
"""Seconds of the search in Python before it switches to machine code: about the time to prepare that, if a step has
few statements."""
MAX_STATEMENTS = 500
PLAIN_BYTES = 400
"""Bytes of a state in Python: a word, its entry in the dictionary, and two list entries."""
REPORTING = 1.0
"""Seconds between two progress reports."""
COMPILE_SECONDS = 2.0
"""Seconds that must be left for machine code to pay off."""


class ExplicitDecider(SystemDecider):
    """The explicit-state decider.

    Parameters
    ----------
    plain_seconds: maximum time of the search in Python; None: unlimited, as without numba.
    """

    name, subject = "explicit", "the explicit engine knows"

    def __init__(self, plain_seconds: float | None = PLAIN_SECONDS) -> None:
        self.plain_seconds = plain_seconds if machine.available() else None

    def answer(self, part: Part, limits: EngineLimits, *, count_states: bool) -> Decision:
        run = _Run(part, limits, self.plain_seconds)
        answers = run.answers(count_states)
        answers = {role: answers[role] for role in part.questions}
        return Decision(answers, run.engine, reachable_states=run.count if count_states else None)


class _Run:
    """One search for the answers to a part."""

    def __init__(self, part: Part, limits: EngineLimits, plain_seconds: float | None) -> None:
        self.part, self.plan, self.limits = part, Agenda(part), limits
        self.begin = self.reported = time.monotonic()
        self.deadline = math.inf if limits.seconds is None else self.begin + limits.seconds
        self.too_late = limits.time
        self.plain_seconds = plain_seconds
        self.switch = math.inf
        self.memory_mb = limits.memory_mb or free_mb() / 2
        self.engine = "explicit"
        self.count: int | None = None

    def answers(self, count_states: bool) -> dict[str, Answer]:
        """Return the answers by role."""
        answers = dict.fromkeys(self.plan.refused, Answer(None, reason=REFUSAL))
        goals = self.plan.goals
        required = {role: goal for role, goal in goals.items() if not self.part.questions[role].side}
        if self.plan.refused & set(self.part.required):  # the other questions no longer matter
            required = {}
            if not count_states:
                return answers | {role: Answer(None, reason="a side question") for role in goals}
        side = {role: goal for role, goal in goals.items() if role not in required}
        try:
            self.space = Space(self.part.model.system, self.part.assume, self.plan.labels)
        except Refused as error:
            return answers | {role: Answer(None, reason=error.what) for role in goals}
        self.search: Exploration = PlainSearch(self.space)
        if self.plain_seconds is not None:
            statements = ir.count_statements(self.space.code)
            self.switch = time.thread_time() + self.plain_seconds * max(1.0, statements / MAX_STATEMENTS)
        answers |= self._settle(required, whole=count_states)
        spent = time.monotonic() - self.begin
        if side and time.monotonic() + limit_side_questions(spent) < self.deadline:
            self.deadline = time.monotonic() + limit_side_questions(spent)
            self.too_late = "a side question that took much longer than the others"
        answers |= self._settle(side)
        if count_states and self.search.complete:
            self.count = self._count()
        return answers

    def _count(self) -> int:
        ways = self.space.moves.valuations
        if self.space.seen[self.space.void] is FALSE:
            return self.search.size * sum(ways)
        return sum(states * valuations for states, valuations in zip(self.search.count_moves(), ways, strict=True))

    def _settle(self, goals: dict[str, Goal], *, whole: bool = False) -> dict[str, Answer]:
        """Search until these goals are decided, or a limit is met."""
        reason = ""
        try:
            while not self.search.complete and (whole or not self._are_decided(goals)):
                self._advance()
        except OutOfLimits as stop:
            reason = str(stop)
        return {role: self._answer(goal, reason) for role, goal in goals.items()}

    def _are_decided(self, goals: Mapping[str, Goal]) -> bool:
        hit = {r for r, goal in goals.items() if isinstance(goal, Never) and self.search.hit(goal.label) is not None}
        return all(role in hit or self.part.questions[role].unless in hit for role in goals)

    def _advance(self) -> None:
        """Explore some more states, and check the limits."""
        now = time.monotonic()
        if now > self.deadline:
            raise OutOfLimits(self.too_late)
        if now > self.reported + REPORTING:
            self.reported = now
            left = self.search.size - self.search.done
            report(f"{self.search.size:,} states, {left:,} to visit, depth {self.search.depth}")
        if isinstance(self.search, CompiledSearch):
            self.search.advance(self._count_states(2_000_000))
            return
        if time.thread_time() >= self.switch and self.deadline - now > COMPILE_SECONDS:
            self.search = CompiledSearch(self.space, self.memory_mb)
            self.engine = f"explicit (numba {machine.version()})"
            return
        if self.search.size * PLAIN_BYTES > self.memory_mb * 2**20:
            raise OutOfLimits(f"{self.search.size} states, and no memory for more")
        self.search.advance(self._count_states(2000))

    def _count_states(self, steps: int) -> int:
        """Return the number of states that have about this many steps."""
        return max(1, steps // len(self.space.moves.chosen))

    def _answer(self, goal: Goal, reason: str) -> Answer:
        if isinstance(goal, Never) and (step := self.search.hit(goal.label)) is not None:
            return Answer(False, RawTrace(tuple(self._run_to(step))), shortest=True)
        if not self.search.complete:
            depth = self.search.depth if isinstance(goal, Never) else 0
            reached = Reached("explicit", f"states seen: {self.search.size:,}", steps=depth)
            return Answer(None, reason=reason, reached=(reached,))
        try:
            return self._answer_on_graph(goal)
        except OutOfLimits as error:
            return Answer(None, reason=str(error))

    def _answer_on_graph(self, goal: Goal) -> Answer:
        """Return the answer by the graph of all states."""
        if isinstance(goal, Soon):
            edge = self.search.graph().dead_end(goal.label, goal.escape)
            if edge is not None:
                return Answer(False, RawTrace(tuple(self._run_to(self._step(edge)))), shortest=True)
        if isinstance(goal, Recurring):
            for case in goal.cases:
                cycle = self.search.graph().recurring(case.needed, case.avoided)
                if cycle is not None:
                    return Answer(False, self._make_lasso([self._step(edge) for edge in cycle]))
        return Answer(True)

    def _step(self, edge: int) -> Edge:
        graph = self.search.graph()
        before, after = graph.source(edge), int(graph.edges.ends[edge])
        words = self.search.state(before), self.search.state(after)
        return Edge(before, self.space.move(*words, int(graph.edges.flags[edge])))

    def _make_lasso(self, cycle: Sequence[Edge]) -> RawTrace:
        first = self._run_to(cycle[0])
        return RawTrace((*first, *(self._show(step) for step in cycle[1:])), len(first) - 1)

    def _run_to(self, last: Edge) -> list[SmvState]:
        """Return a shortest path that ends with a step."""
        states = self.search.path(last.state)
        words = [self.search.state(number) for number in states]
        steps = [
            Edge(number, self.space.move(*pair))
            for number, pair in zip(states, itertools.pairwise(words), strict=False)
        ]
        return [self._show(step) for step in (*steps, last)]

    def _show(self, step: Edge) -> SmvState:
        """Return a step in the form of the SMV engines."""
        values = self.space.layout.unpack(self.search.state(step.state)) | self.space.moves.values(step.move)
        return self.part.smv.write_state(values)
