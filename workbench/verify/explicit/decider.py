"""Deciding a part by exploring its system: invariants, and what can always still come (AG EF).

All questions of a part are labels of one search. It begins in plain Python, which small models need no longer than
a moment for, and starts again as machine code when they turn out to be larger and numba is there.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.core.ops import NOT
from workbench.core.term import Term
from workbench.errors import Refused
from workbench.verify.decision import Decision
from workbench.verify.engines import Answer, Limits, RawTrace
from workbench.verify.engines.base import patience
from workbench.verify.explicit import compiled
from workbench.verify.explicit.compiled import CompiledSearch, MemoryLimitError
from workbench.verify.explicit.search import PlainSearch, Search, Step, Stepper
from workbench.verify.explicit.space import Space
from workbench.verify.formula import Formula
from workbench.verify.part import Asked, Part

PLAIN_SECONDS = 1.0
"""How long the search in Python may take before machine code does: as long as compiling it takes."""
PLAIN_BYTES = 400
"""Memory of a state in Python: a word, its place in the dictionary, and two list entries."""
COMPILED_A_SECOND = 500
"""Characters of generated source that numba compiles in a second, at the slowest."""


REFUSAL = "the explicit engine decides invariants and AG EF, no other formulas"
ALWAYS = {"ctl": "AG", "ltl": "G"}
"""The operator that makes an invariant of a condition."""


class Goal(NamedTuple):
    """What a question comes down to: a label that is never true, or a dead end that is never reached."""

    label: int
    escape: int | None = None
    hope: bool = False
    """Whether `label` is what can always still come, unless `escape` is true."""


@dataclass
class _Plan:
    """The questions of a part as goals over labels."""

    labels: list[Term] = field(default_factory=list)
    goals: dict[str, Goal] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def label(self, term: Term) -> int:
        """The number of a label, a new one if need be."""
        if term not in self.labels:
            self.labels.append(term)
        return self.labels.index(term)

    def add(self, role: str, asked: Asked) -> None:
        """One more question."""
        formula = asked.formula
        if asked.kind in ALWAYS and formula.op == ALWAYS[asked.kind]:
            formula = formula.args[0]
        elif asked.kind != "invar":  # it speaks of the initial states only, or of something else
            self.refused[role] = REFUSAL
            return
        soon = _recurrence(formula) if asked.kind == "ctl" else None
        if formula.term is not None:
            self.goals[role] = Goal(self.label(NOT(formula.term)))
        elif soon is not None:
            escape, target = soon
            self.goals[role] = Goal(self.label(target), None if escape is None else self.label(escape), True)
        else:
            self.refused[role] = REFUSAL


def _recurrence(formula: Formula) -> tuple[Term | None, Term] | None:
    """The p and q of `p | EF q`, or of `EF q` alone."""
    parts = formula.args if formula.op == "or" else (formula,)
    escapes = [part.term for part in parts if part.term is not None]
    soon = [part.args[0].term for part in parts if part.op == "EF" and part.args[0].term is not None]
    if len(parts) > 2 or len(soon) != 1 or len(escapes) != len(parts) - 1 or soon[0] is None:
        return None
    return (escapes[0] if escapes else None), soon[0]


class ExplicitDecider:
    """The explicit-state engine.

    Parameters
    ----------
    plain_seconds: how long the search may go on in Python; None: to the end, as without numba.
    """

    name = "explicit"

    def __init__(self, plain_seconds: float | None = PLAIN_SECONDS) -> None:
        self.plain_seconds = plain_seconds if compiled.available() else None

    def decide(self, part: Part, limits: Limits, *, count_states: bool = False) -> Decision:
        """See `Decider.decide`."""
        begin, cpu = time.monotonic(), time.thread_time()
        if part.driven:
            reason = "the explicit engine knows pipelines, not the SMV system that drives the inputs"
            return Decision(dict.fromkeys(part.asked, Answer(None, reason=reason)), self.name)
        plan = _Plan()
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


class _Stopped(Exception):
    """A limit was met; the text says which."""


class _Run:
    """One search for the answers to a part."""

    def __init__(self, part: Part, plan: _Plan, limits: Limits, plain_seconds: float | None) -> None:
        self.part, self.plan, self.limits = part, plan, limits
        self.begin = time.monotonic()
        self.deadline = None if limits.seconds is None else self.begin + limits.seconds
        self.too_late = f"time limit of {limits.seconds:g} s" if limits.seconds is not None else ""
        self.switch = None if plain_seconds is None else self.begin + plain_seconds
        self.memory_mb = limits.memory_mb or _free_mb() / 2
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
        self.stepper = Stepper(self.space)
        self.search: Search = PlainSearch(self.space)
        found |= self._settle(required, whole=count_states)
        spent = time.monotonic() - self.begin
        if side and (self.deadline is None or time.monotonic() + patience(spent) < self.deadline):
            self.deadline = time.monotonic() + patience(spent)
            self.too_late = "a side question that took much longer than the others"
        found |= self._settle(side)
        if count_states and self.search.complete:
            steady = self.search.size * sum(self.space.moves.valuations)
            self.count = steady if self.space.steady else self.search.valuations()
        return found

    def _settle(self, goals: dict[str, Goal], *, whole: bool = False) -> dict[str, Answer]:
        """Search until these goals are decided, or a limit is met."""
        reason = ""
        try:
            while not self.search.complete and (whole or not self._seen(goals.values())):
                self._advance()
        except (_Stopped, MemoryLimitError) as stop:
            reason = str(stop)
        return {role: self._answer(goal, reason) for role, goal in goals.items()}

    def _seen(self, goals: Iterable[Goal]) -> bool:
        return all(not goal.hope and self.search.hit(goal.label) is not None for goal in goals)

    def _advance(self) -> None:
        """Some more states, and a look at the limits."""
        now = time.monotonic()
        if self.deadline is not None and now > self.deadline:
            raise _Stopped(self.too_late)
        if isinstance(self.search, CompiledSearch):
            self.search.advance(self._pace(200_000))
            return
        if self._compiles(now):
            self.search = CompiledSearch(self.space, self.memory_mb)
            self.engine = f"explicit (numba {compiled.version()})"
            return
        if self.search.size * PLAIN_BYTES > self.memory_mb * 2**20:
            raise _Stopped(f"{self.search.size} states, and no memory for more")
        self.search.advance(self._pace(2000))

    def _compiles(self, now: float) -> bool:
        """Whether it is time for machine code, and there is enough of it."""
        if self.switch is None or now < self.switch or self.space.layout.bits > compiled.WORD:
            return False
        needed = 1.0 + len(self.space.source) / COMPILED_A_SECOND
        return self.deadline is None or self.deadline - now > needed

    def _pace(self, steps: int) -> int:
        """How many states are about this many steps."""
        return max(1, steps // len(self.space.moves.chosen))

    def _answer(self, goal: Goal, reason: str) -> Answer:
        step = None if goal.hope else self.search.hit(goal.label)
        if step is None and not self.search.complete:
            return Answer(None, reason=reason)
        if goal.hope:
            try:
                step = self.search.dead_end(goal.escape, goal.label)
            except MemoryLimitError as error:
                return Answer(None, reason=str(error))
        if step is None:
            return Answer(True)
        return Answer(False, self._trace(step), shortest=True)

    def _trace(self, step: Step) -> RawTrace:
        """A shortest path to a step, as the engines of SMV text give it."""
        words = self.search.path(step.state)
        moves = [self.stepper.move(word, after) for word, after in itertools.pairwise(words)]
        smv = self.part.smv
        steps = []
        for word, move in zip(words, [*moves, step.move], strict=True):
            values = self.space.layout.unpack(word) | self.space.moves.values(move)
            steps.append({smv.names[name]: smv.constant(name, value) for name, value in values.items()})
        return RawTrace(tuple(steps))


def _free_mb() -> float:
    """Memory that is free, in megabytes."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**20
