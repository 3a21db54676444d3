"""Deciders: one engine, several in turn (`auto`), or all of them compared with each other (`all`).

Engines of `smv.engines` read SMV text, the explicit engine explores the system itself; here they have one interface.

`auto` begins with BDDs, which decide most models at once. What remains undecided after a short while goes to the BDDs
again, for all the time that is left, and meanwhile, in another process, to the other engines, each for the turn in its
row. Where a state is large, random runs and integers come before the search through states.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial

from workbench.budget import Budget, phase
from workbench.core.domain import Bool, Range
from workbench.core.fold import postorder
from workbench.core.ops import ADD, BIT_AND, BIT_OR, MUL, SUB, XOR
from workbench.core.term import Term
from workbench.errors import BeyondSmv, EngineDisagreement, EngineMissing, LimitMet
from workbench.ir.system import StateVariable, System
from workbench.smv.engines.engine import Answer, Engine, EngineLimits, Reached, limit_side_questions, unshown
from workbench.verify.decide.part import Decider, Decision, Part
from workbench.verify.decide.table import EngineRow, Turn, engine_rows, get_engine, single_engines


class SmvDecider:
    """An engine that reads SMV text."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.name = engine.name

    @property
    def version(self) -> str:
        """See `Decider.version`."""
        return self.engine.version()

    def decide(self, part: Part, limits: EngineLimits, *, count_states: bool = False) -> Decision:
        """See `Decider.decide`."""
        begin = time.monotonic()
        try:
            with Budget(limits.seconds, soft=True):
                task = part.task(count_states=count_states)
            result = self.engine.check(task, replace(limits, seconds=limits.seconds_left(begin)))
        except (LimitMet, BeyondSmv) as error:  # a limit of the turn, or of these engines
            return Decision({role: Answer(None, reason=error.what) for role in part.questions}, self.name)
        answers = {
            role: replace(answer, shortest=self._is_shortest(part, role))
            for role, answer in zip(part.questions, result.answers, strict=True)
        }
        return Decision(answers, result.engine, result.cpu_seconds, result.wall_seconds, result.reachable_states)

    def _is_shortest(self, part: Part, role: str) -> bool:
        """Whether a counterexample in this role is a shortest one."""
        question, row = part.questions[role], engine_rows().get(self.name)
        return row is not None and (question.kind if question.kind == "invar" else question.formula.op) in row.shortest


SHORTEST_SECONDS = 3.0
"""Maximum time for a shortest counterexample, where a random run has shown that there is one."""
NOT_INSTALLED = "no installed engine decides it"
COMPLETE = "complete"
"""The name of the best engine that decides everything, with BDDs."""
FAR = 256
EARLY = Turn(0.25, 5.0)
"""The first turn, of the explicit search, if a counter has more values, or there are more counters: sets of states
would grow by one of them at a time."""


LARGE_BITS = 64
"""Maximum number of bits of a state for which the states can be visited one by one: those of one word."""
MANY_BITS = 400
"""Maximum number of bits of a state for which BDDs begin alone."""


BDDS_FIRST, BDDS_LAST = (COMPLETE, Turn(0.5, 3.0)), (COMPLETE, Turn(1.0, math.inf))


class AutoDecider:
    """A decider that queries one engine after the other, until everything but side questions is decided.

    What the first ones leave open is decided by BDDs in one process, and by the other engines in another one.
    """

    name, version = "auto", "built in"

    def decide(self, part: Part, limits: EngineLimits, *, count_states: bool = False) -> Decision:
        """See `Decider.decide`."""
        begin = time.monotonic()
        turns = _Turns(part, limits, begin, count_states)
        with contextlib.closing(turns.take_all()) as answers:
            for _ in answers:
                if not turns.open:
                    row = engine_rows().get(turns.tried[-1])
                    decision = turns.decision
                    if row is not None and row.long:
                        answers.close()  # no engine is at work beside those that look for a shorter one
                        decision = _find_shortest(part, decision, limits)
                    break
            else:
                decision = _report_exhausted(turns.decision, limits, turns.tried, begin)
        if not turns.open:
            decision = _decide_besides(part, decision, limits)
        return replace(decision, wall_seconds=time.monotonic() - begin)


class _Turns:
    """The turns of engines, and what they have decided so far.

    Attributes
    ----------
    tried: the engines that had a turn, in order.
    """

    def __init__(self, part: Part, limits: EngineLimits, begin: float, count_states: bool) -> None:
        self.part, self.limits, self.begin, self.count_states = part, limits, begin, count_states
        self.decision = Decision(dict.fromkeys(part.questions, Answer(None)), "")
        self.tried: list[str] = []

    @property
    def open(self) -> bool:
        """Whether a question that is no side question needs another engine."""
        return any(self.decision.answers[role].open for role in self.part.required)

    def take_all(self) -> Generator[tuple[str, Decision]]:
        """Yield the answers of engines, with their names; `decision` has them, too."""
        first, others = _list_turns(self.part)
        bdds = [BDDS_LAST] if is_installed() else []
        yield from self._add(self._take(first))
        if not self.open:
            return
        from workbench.child_processes import can_fork, run_at_once  # most questions need no processes

        if not bdds or can_fork():
            others += _share_rest(others) if self.limits.seconds is not None else []
        if not bdds or not can_fork():
            yield from self._add(self._take([*others, *bdds]))
            return
        lanes = [partial(self._add, self._take(lane)) for lane in (bdds, others)]
        left = self.limits.seconds_left(self.begin)
        yield from self._add(run_at_once(lanes, left, died=self._report_died))

    def _add(self, answers: Iterator[tuple[str, Decision]]) -> Iterator[tuple[str, Decision]]:
        """Yield answers after they were added to `decision`, until everything is decided."""
        for name, more in answers:
            self.decision = _join(self.part, self.decision, more, name)
            self.tried.append(name)
            yield name, more
            if not self.open:
                return

    def _take(self, turns: Sequence[tuple[str, Turn]]) -> Iterator[tuple[str, Decision]]:
        """Yield the answers of one installed engine after the other."""
        for name, turn in turns:
            try:
                decider = get_decider(name)
            except EngineMissing:
                continue
            left = self.limits.seconds_left(self.begin)
            decided = all(self.decision.answers[role].truth is not None for role in self.part.required)
            if self.tried and ((left is not None and left <= 0) or (decided and decider.name == self.tried[0])):
                return  # the engine that refuted the property has had its time for a counterexample
            rest = self.part.without([role for role, each in self.decision.answers.items() if not each.open])
            limits = self.limits.within(_limit_turn(turn, left))
            with phase(f"deciding with {decider.name}"):
                more = decider.decide(rest, limits, count_states=self.count_states)
            yield decider.name, more

    def _report_died(self, cause: str) -> tuple[str, Decision]:
        return "engines", Decision(dict.fromkeys(self.part.questions, Answer(None, reason=cause)), "")


def _decide_besides(part: Part, decision: Decision, limits: EngineLimits) -> Decision:
    """Return the decision, extended by what the SAT solver quickly decides of the remaining side questions."""
    rest = part.without([role for role, answer in decision.answers.items() if answer.truth is not None])
    if not rest.questions:
        return decision
    try:
        more = get_decider("bmc").decide(
            rest, limits.within(_limit_turn(Turn(0.25, limit_side_questions(0)), limits.seconds))
        )
    except EngineMissing:
        return decision
    joined = _join(part, decision, more, "bmc")
    return replace(joined, engine=decision.engine or joined.engine)


def _find_shortest(part: Part, decision: Decision, limits: EngineLimits) -> Decision:
    """Return the decision with shortest counterexamples of invariants, if one engine quickly finds them."""
    rows = [row for row in engine_rows().values() if row.turn and not row.complete and "invar" in row.shortest]
    for name in [row.name for row in sorted(rows, key=lambda row: (row.large or row.turn or EARLY).order)]:
        questions = {role: part.questions[role] for role in part.required}
        long = {
            role
            for role, each in questions.items()
            if each.invariant is not None and not decision.answers[role].shortest
        }
        if long:
            turn = _limit_turn(Turn(0.25, SHORTEST_SECONDS), limits.seconds)
            with contextlib.suppress(EngineMissing), phase("looking for a shortest counterexample"):
                more = get_decider(name).decide(part.without(part.questions.keys() - long), limits.within(turn))
                decision = _join(part, decision, more, name)
    return decision


def _list_turns(part: Part) -> tuple[list[tuple[str, Turn]], list[tuple[str, Turn]]]:
    """Return the turns that come first, and those of all engines but the BDDs after them."""
    system = part.model.system
    sizes = [v.domain.size or 0 for v in system.variables if isinstance(v.domain, Range | Bool)]
    far = max((len(sizes), *(v.domain.size or 0 for v in _list_counters(system)))) > FAR
    rows, ops = engine_rows().values(), {node.op for node in postorder(system.names().values()) if _is_of_bits(node)}
    bits = _count_bits(system)
    large = MUL not in ops and bits > LARGE_BITS
    quick = [
        (row.name, turn)
        for row in rows
        for turn in (row.bitwise if ops else None, row.quick if large else None)
        if turn
    ]
    later = ((row.name, row.large if large and row.large else row.turn) for row in rows)
    timed = sorted(((name, turn) for name, turn in later if turn), key=lambda each: each[1].order)
    first = [*([("explicit", EARLY)] if far else []), *([BDDS_FIRST] if bits <= MANY_BITS else [])]
    return first, [*quick, *timed]


def _share_rest(turns: Sequence[tuple[str, Turn]]) -> list[tuple[str, Turn]]:
    """Return more turns of the same engines, which share the time that is left."""
    names = [name for name in dict.fromkeys(name for name, _ in turns) if is_installed(name)]
    return [(name, Turn(1 / left, math.inf)) for left, name in zip(range(len(names), 0, -1), names, strict=True)]


def _count_bits(system: System) -> int:
    """Return the number of bits of a state."""
    return sum((v.domain.size - 1).bit_length() for v in system.variables if v.domain.size)


def _is_of_bits(node: Term) -> bool:
    """Whether an operation combines bits, or multiplies numbers, neither of which is a constant."""
    return node.op in (XOR, BIT_AND, BIT_OR) or (node.op is MUL and not any(arg.is_const for arg in node.args))


def _list_counters(system: System) -> list[StateVariable]:
    """Return the numbers to which constants are added somewhere, such as the length of a queue."""
    steps = (node.args for node in postorder(system.names().values()) if node.op in (ADD, SUB))
    counted = {arg.name for args in steps if any(each.is_const for each in args) for arg in args if arg.is_var}
    return [v for v in system.variables if v.name in counted and isinstance(v.domain, Range)]


def _limit_turn(turn: Turn, left: float | None) -> float | None:
    if left is None:
        return None if turn.seconds == math.inf else turn.seconds
    return min(turn.seconds, left * turn.share)


def _join(part: Part, decision: Decision, more: Decision, name: str) -> Decision:
    """Combine an earlier decision with the answers of one more engine."""
    answers = dict(decision.answers)
    for role, answer in more.answers.items():
        known = answers[role]
        if {known.truth, answer.truth} == {True, False}:
            raise _make_disagreement(part, role, (decision.engine, known), (name, answer))
        if known.truth is None and answer.truth is None:
            prefix = f"{known.reason}; " if known.reason else ""
            end = answer.reason.replace("time limit of", "no answer within", 1)
            met = answer.reached or (Reached(name, end, further=False),)
            answers[role] = Answer(
                None, reason=f"{prefix}{name}: {answer.reason}", reached=_keep_latest(known.reached, met)
            )
        elif known.truth is None or not answer.open:
            answers[role] = answer
    useful = [more.engine] if any(answers[role] is answer for role, answer in more.answers.items()) else []
    names = [name for name in (decision.engine, *useful) if name]
    return Decision(
        answers,
        ", ".join(dict.fromkeys(names)),
        decision.cpu_seconds + more.cpu_seconds,
        reachable_states=more.reachable_states if decision.reachable_states is None else decision.reachable_states,
    )


def _keep_latest(*reached: tuple[Reached, ...]) -> tuple[Reached, ...]:
    """Return the progress of each engine; of an engine with two turns, the later one unless it got less far."""
    progress: dict[str, Reached] = {}
    for each in (each for some in reached for each in some):
        if each.engine not in progress or each.steps >= progress[each.engine].steps:
            progress[each.engine] = each
    return tuple(progress.values())


def _report_exhausted(decision: Decision, limits: EngineLimits, tried: list[str], begin: float) -> Decision:
    """Return the answers if no engine decided; a time limit is reported as the user's, not as that of a turn."""
    names = ", ".join(dict.fromkeys(tried))
    answers = {
        role: unshown(f"tried {names}") if answer.truth is False and answer.open else answer
        for role, answer in decision.answers.items()
    }
    reason = ""
    if limits.seconds is not None and time.monotonic() - begin >= 0.9 * limits.seconds:
        reason = f"{limits.time} (tried {names})"
    elif not is_installed():
        reason = NOT_INSTALLED
    for role, answer in answers.items():
        if answer.truth is None and reason:
            answers[role] = replace(answer, reason=reason)
    return replace(decision, answers=answers, engine=decision.engine or names)


class AllDecider:
    """A decider that queries every installed engine, and compares the answers.

    Each engine gets the same time; incomplete ones get no more than four times what the others took.
    """

    name, version = "all", "built in"

    def decide(self, part: Part, limits: EngineLimits, *, count_states: bool = False) -> Decision:
        """See `Decider.decide`.

        Raises
        ------
        EngineDisagreement: two engines give different answers, or count different numbers of states.
        """
        begin = time.monotonic()
        deciders = list(_find_installed())
        decisions: dict[str, Decision] = {}
        for position, (row, decider) in enumerate(deciders):
            left = limits.seconds_left(begin)
            share = None if left is None else left / (len(deciders) - position)
            if not row.complete:
                longest = max((each.wall_seconds for each in decisions.values()), default=0.0)
                share = min(max(2.0, 4 * longest), share or math.inf)
            engine_limits = limits.within(share)
            with phase(f"deciding with {decider.name}"):
                decisions[decider.name] = decider.decide(part, engine_limits, count_states=count_states)
            _refuse_disagreement(part, decisions, decider.name)
        return Decision(
            {
                role: _choose_best([each.answers[role] for each in decisions.values()], decisions)
                for role in part.questions
            },
            _describe_agreement(part, decisions),
            sum(each.cpu_seconds for each in decisions.values()),
            time.monotonic() - begin,
            next((each.reachable_states for each in decisions.values() if each.reachable_states is not None), None),
        )


def _find_installed() -> Iterator[tuple[EngineRow, Decider]]:
    for row in single_engines():
        try:
            yield row, get_decider(row.name)
        except EngineMissing:
            continue


def _refuse_disagreement(part: Part, decisions: dict[str, Decision], latest: str) -> None:
    """Raise an error if the latest engine contradicts the others."""
    new = decisions[latest]
    for name, old in decisions.items():
        for role in part.questions:
            truths = old.answers[role].truth, new.answers[role].truth
            if None not in truths and truths[0] is not truths[1]:
                raise _make_disagreement(part, role, (name, old.answers[role]), (latest, new.answers[role]))
        counts = old.reachable_states, new.reachable_states
        if None not in counts and counts[0] != counts[1]:
            message = f"{name} counts {counts[0]} reachable states and {latest} {counts[1]}"
            raise EngineDisagreement(message, model=part.smv.text)


def _make_disagreement(part: Part, role: str, *claims: tuple[str, Answer]) -> EngineDisagreement:
    query = part.queries[role]
    both = " and ".join(f"{name} answers {str(answer.truth).lower()}" for name, answer in claims)
    return EngineDisagreement(f"{both}: is {query.kind.upper()} {query.formula} true?", model=part.smv.text)


def _choose_best(answers: list[Answer], decisions: dict[str, Decision]) -> Answer:
    """Return the answer with the shortest run, if there is one; else the reasons why no engine decided."""
    decided = [answer for answer in answers if answer.truth is not None]
    if not decided:
        reasons = (f"{name}: {answer.reason}" for name, answer in zip(decisions, answers, strict=True))
        return Answer(None, reason="; ".join(reasons), reached=_keep_latest(*(answer.reached for answer in answers)))
    return min(decided, key=lambda answer: (answer.trace is None, not answer.shortest))


def _describe_agreement(part: Part, decisions: dict[str, Decision]) -> str:
    """Describe which engines decided all questions, and which did not."""
    done = [n for n, each in decisions.items() if all(each.answers[role].truth is not None for role in part.required)]
    silent = [name for name in decisions if name not in done]
    agree = f"{', '.join(done)} {'agree' if len(done) > 1 else 'alone'}" if done else "no engine decided"
    return agree + (f" ({', '.join(silent)} did not decide)" if silent and done else "")


def is_installed(name: str = COMPLETE) -> bool:
    """Whether an engine is installed; by default, one that decides everything."""
    with contextlib.suppress(EngineMissing):
        get_decider(name)
        return True
    return False


def get_decider(name: str) -> Decider:
    """Return the decider of that name, from the table of engines or `COMPLETE`.

    Raises
    ------
    EngineMissing: the engine is not installed, or there is none of that name.
    """
    row = engine_rows().get(name)
    if row is None and name != COMPLETE:
        raise EngineMissing(f"there is no engine '{name}'", hint=f"engines: {', '.join(engine_rows())}")
    return row.decider() if row and row.decider else SmvDecider(get_engine(name if row else "auto"))
