"""Deciding a part by exploring its system.

All questions of a part are labels of one search. It begins in plain Python, which small models need no longer than
a moment for, and starts again as machine code when they turn out to be larger and numba is there.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence

from workbench.budget import free_mb, report
from workbench.core.term import FALSE
from workbench.errors import Refused
from workbench.executors.compiled.code import ir
from workbench.smv.engines.engine import Answer, EngineLimits, RawTrace, Reached, SmvState, patience
from workbench.verify.decide.explicit import machine
from workbench.verify.decide.explicit.goals import Agenda, Goal, Never, Recurring, Soon
from workbench.verify.decide.explicit.machine import CompiledSearch
from workbench.verify.decide.explicit.search import Edge, Exploration, PlainSearch, Stopped
from workbench.verify.decide.explicit.space import Space
from workbench.verify.decide.part import Decision, Part

PLAIN_SECONDS = 0.5
"""How much time the search in Python may use before machine code does: about what the latter needs to get ready, where
a step has few statements."""
FEW_STATEMENTS = 500
PLAIN_BYTES = 400
"""Memory of a state in Python: a word, its place in the dictionary, and two list entries."""
REPORTING = 1.0
"""Seconds between two reports of how far it is."""
COMPILE_SECONDS = 2.0
"""How much time must be left for machine code to be worth while."""


class ExplicitDecider:
    """The explicit-state engine.

    Parameters
    ----------
    plain_seconds: how long the search may go on in Python; None: to the end, as without numba.
    """

    name = "explicit"

    def __init__(self, plain_seconds: float | None = PLAIN_SECONDS) -> None:
        self.plain_seconds = plain_seconds if machine.available() else None

    def decide(self, part: Part, limits: EngineLimits, *, count_states: bool = False) -> Decision:
        """See `Decider.decide`."""
        begin, cpu = time.monotonic(), time.thread_time()
        if part.driven:
            reason = "the explicit engine knows pipelines, not the SMV system that drives the inputs"
            return Decision(dict.fromkeys(part.asked, Answer(None, reason=reason)), self.name)
        plan = Agenda(part.fair)
        for role, asked in part.asked.items():
            plan.add(role, asked)
        run = _Run(part, plan, limits, self.plain_seconds)
        answers = run.answers(count_states)
        return Decision(
            {role: answers[role] for role in part.asked},
            run.engine,
            time.thread_time() - cpu,
            time.monotonic() - begin,
            run.count if count_states else None,
        )


class _Run:
    """One search for the answers to a part."""

    def __init__(self, part: Part, plan: Agenda, limits: EngineLimits, plain_seconds: float | None) -> None:
        self.part, self.plan, self.limits = part, plan, limits
        self.begin = self.reported = time.monotonic()
        self.deadline = None if limits.seconds is None else self.begin + limits.seconds
        self.too_late = limits.time
        self.plain_seconds = plain_seconds
        self.switch: float | None = None
        self.memory_mb = limits.memory_mb or free_mb() / 2
        self.engine = "explicit"
        self.count: int | None = None

    def answers(self, count_states: bool) -> dict[str, Answer]:
        """The answers by role."""
        found = {role: Answer(None, reason=reason) for role, reason in self.plan.refused.items()}
        goals = self.plan.goals
        required = {role: goal for role, goal in goals.items() if not self.part.asked[role].side}
        if self.plan.refused.keys() & set(self.part.required):  # nothing is gained by the rest
            required = {}
            if not count_states:
                return found | {role: Answer(None, reason="asked besides") for role in goals}
        side = {role: goal for role, goal in goals.items() if role not in required}
        try:
            self.space = Space(self.part.model.system, self.part.assume, self.plan.labels)
        except Refused as error:
            return found | {role: Answer(None, reason=error.what) for role in goals}
        self.search: Exploration = PlainSearch(self.space)
        if self.plain_seconds is not None:
            statements = ir.count_statements(self.space.code)
            self.switch = time.thread_time() + self.plain_seconds * max(1.0, statements / FEW_STATEMENTS)
        found |= self._settle(required, whole=count_states)
        spent = time.monotonic() - self.begin
        if side and (self.deadline is None or time.monotonic() + patience(spent) < self.deadline):
            self.deadline = time.monotonic() + patience(spent)
            self.too_late = "a side question that took much longer than the others"
        found |= self._settle(side)
        if count_states and self.search.complete:
            self.count = self._count()
        return found

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
        except Stopped as stop:
            reason = str(stop)
        return {role: self._answer(goal, reason) for role, goal in goals.items()}

    def _are_decided(self, goals: Mapping[str, Goal]) -> bool:
        hit = {r for r, goal in goals.items() if isinstance(goal, Never) and self.search.hit(goal.label) is not None}
        return all(role in hit or self.part.asked[role].unless in hit for role in goals)

    def _advance(self) -> None:
        """Some more states, and a look at the limits."""
        now = time.monotonic()
        if self.deadline is not None and now > self.deadline:
            raise Stopped(self.too_late)
        if now > self.reported + REPORTING:
            self.reported = now
            left = self.search.size - self.search.done
            report(f"{self.search.size:,} states, {left:,} to visit, depth {self.search.depth}")
        if isinstance(self.search, CompiledSearch):
            self.search.advance(self._count_states(2_000_000))
            return
        if self._compiles(now):
            self.search = CompiledSearch(self.space, self.memory_mb)
            self.engine = f"explicit (numba {machine.version()})"
            return
        if self.search.size * PLAIN_BYTES > self.memory_mb * 2**20:
            raise Stopped(f"{self.search.size} states, and no memory for more")
        self.search.advance(self._count_states(2000))

    def _compiles(self, now: float) -> bool:
        """Whether it is time for machine code, and there is enough of it."""
        if self.switch is None or time.thread_time() < self.switch:
            return False
        return self.deadline is None or self.deadline - now > COMPILE_SECONDS

    def _count_states(self, steps: int) -> int:
        """How many states are about this many steps."""
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
        except Stopped as error:
            return Answer(None, reason=str(error))

    def _answer_on_graph(self, goal: Goal) -> Answer:
        """What the steps between all states say."""
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
        """A shortest path that ends with a step."""
        states = self.search.path(last.state)
        words = [self.search.state(number) for number in states]
        steps = [
            Edge(number, self.space.move(*pair))
            for number, pair in zip(states, itertools.pairwise(words), strict=False)
        ]
        return [self._show(step) for step in (*steps, last)]

    def _show(self, step: Edge) -> SmvState:
        """A step as the engines of SMV text give it."""
        smv = self.part.smv
        values = self.space.layout.unpack(self.search.state(step.state)) | self.space.moves.values(step.move)
        return {smv.names[name]: smv.constant(name, value) for name, value in values.items()}
