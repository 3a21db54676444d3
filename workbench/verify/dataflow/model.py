"""Listings 1 and 2 of Zimmerman and Chandy on a graph, as a transition system.

The rule of this module: a step is what one process does while it has the lock. The environment begins a phase, a thread
takes a pair from the run queue (which is a set: any order), or a thread ends the pair that it has, with messages to
whichever successors. What cannot be done changes nothing. Without the lock (`Variant.UNLOCKED`) the end is three steps,
the parts of `PhaseSets.finishing`. A pair that would be ready a second time stops the system: `twice`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.core.domain import BOOL, Enum, Range
from workbench.core.fields import Tuple
from workbench.core.ops import as_term, both, conjunction, disjunction, either, equal, ite, negate
from workbench.core.term import FALSE, TRUE, Term, const, var
from workbench.executors.dataflow.interleaving import ancestors
from workbench.executors.dataflow.listings import Pair, Variant, check_numbering
from workbench.executors.dataflow.numbering import NumberedGraph
from workbench.ir.system import Definition, Input, Instance, StateVariable, System

PairTerms = dict[Pair, Any]
COMMENTS = {
    "choice": "what happens next",
    "step": "what happens",
    "then": "what comes of it",
    "begun": "p_max, the phases that have begun",
    "x": "all vertices up to x_p have finished phase p",
    "partial": "pairs with some of their inputs",
    "full": "pairs with all of their inputs",
    "ready": "pairs that may run, or do",
    "queue": "the run queue",
    "stage": "pairs that threads have",
    "msg": "pairs with a message that have not finished",
    "seen": "pairs that have been ready",
    "claim": "what should be true",
}
"""The instances, in the order in which they are printed."""


@dataclass(frozen=True)
class SchedulerModel:
    """The scheduler of a graph, for so many phases and threads.

    Parameters
    ----------
    graph: with a satisfactory numbering, but for the variant that does without.
    variant: parts of the algorithm that are left out.

    Raises
    ------
    PipelineError: the numbering is not satisfactory.
    """

    graph: NumberedGraph
    phases: int
    threads: int
    variant: Variant = Variant.WHOLE

    def __post_init__(self) -> None:
        check_numbering(self.graph, self.variant)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """All pairs, phase by phase."""
        return tuple((v, p) for p in range(1, self.phases + 1) for v in range(1, self.graph.size + 1))

    # --- what is chosen -----------------------------------------------------------------------------------

    @cached_property
    def messages(self) -> tuple[Term, ...]:
        """Whether the i-th successor of the vertex that ends gets a message."""
        return tuple(var(f"choice:message{i}", BOOL) for i in range(max(map(len, self.graph.successors))))

    @cached_property
    def what(self) -> Term:
        """The choice: `begin`, or `take` or `end` with a pair."""
        found: Term = var("choice:what", Enum(tuple(self.choices)))
        return found

    @cached_property
    def choices(self) -> dict[str, tuple[str, Pair]]:
        """What is chosen by each of the values of `what`."""
        found: dict[str, tuple[str, Pair]] = {"begin": ("begin", (0, 0))}
        for what in ("take", "end"):
            found |= {f"{what}_v{v}p{p}": (what, (v, p)) for v, p in self.pairs}
        return found

    @property
    def last_stage(self) -> int:
        """That of a pair whose next end is the last."""
        return 3 if self._unlocked else 1

    @property
    def sending(self) -> int:
        """The stage of a pair whose next end sends its messages."""
        return 2 if self._unlocked else 1

    def happens(self, values: Mapping[str, Any], what: str, pair: Pair) -> bool:
        """Whether what is chosen in a state can happen there; values by name."""
        v, p = pair
        if values["seen:twice"]:
            return False
        if what == "begin":
            return bool(values["begun:phases"] != self.phases)
        if what == "take":
            return bool(values["stage:busy"] != self.threads and values[f"queue:v{v}p{p}"])
        return bool(values[f"stage:v{v}p{p}"])

    def _chosen(self, name: str) -> Any:
        return equal(self.what, const(name, self.what.domain))

    @property
    def assume(self) -> tuple[Term, ...]:
        """There is a choice in every step, and a message only when a pair ends whose vertex has that successor."""
        ends = [(v, self._chosen(f"end_v{v}p{p}")) for v, p in self.pairs]
        receives = [
            either(negate(message), disjunction(end for v, end in ends if len(self.graph.successors[v]) > i))
            for i, message in enumerate(self.messages)
        ]
        return (var("choice:made", BOOL), *receives)

    # --- the state ----------------------------------------------------------------------------------------

    def _flags(self, name: str) -> PairTerms:
        return {(v, p): var(f"{name}:v{v}p{p}", BOOL) for v, p in self.pairs}

    @cached_property
    def partial(self) -> PairTerms:
        """The partial set, as are the others, by pair."""
        return self._flags("partial")

    @cached_property
    def full(self) -> PairTerms:
        """The full set."""
        return self._flags("full")

    @cached_property
    def ready(self) -> PairTerms:
        """The ready set."""
        return self._flags("ready")

    @cached_property
    def queue(self) -> PairTerms:
        """The run queue."""
        return self._flags("queue")

    @cached_property
    def seen(self) -> PairTerms:
        """What has been ready."""
        return self._flags("seen")

    @cached_property
    def msg(self) -> PairTerms:
        """Pairs with a message that have not finished: the ghost variables."""
        return self._flags("msg")

    @cached_property
    def stage(self) -> PairTerms:
        """0: no thread has the pair; 1: one runs it; 2 and 3: it has ended parts of it."""
        last = self.last_stage
        return {(v, p): var(f"stage:v{v}p{p}", Range(0, last)) for v, p in self.pairs}

    @cached_property
    def begun(self) -> Term:
        """p_max."""
        found: Term = var("begun:phases", Range(0, self.phases))
        return found

    @cached_property
    def busy(self) -> Term:
        """The number of threads that have a pair."""
        found: Term = var("stage:busy", Range(0, self.threads))
        return found

    @cached_property
    def twice(self) -> Term:
        """A pair would have been ready a second time."""
        found: Term = var("seen:twice", BOOL)
        return found

    @cached_property
    def x(self) -> tuple[Term, ...]:
        """x_0, which is N, x_1, ..."""
        domain = Range(0, self.graph.size)
        return (const(self.graph.size, domain), *(var(f"x:p{p}", domain) for p in range(1, self.phases + 1)))

    # --- a step -------------------------------------------------------------------------------------------

    @cached_property
    def begins(self) -> Term:
        """A phase begins."""
        found: Term = var("step:begins", BOOL)
        return found

    @cached_property
    def takes(self) -> PairTerms:
        """A thread takes a pair."""
        return {(v, p): var(f"step:takes_v{v}p{p}", BOOL) for v, p in self.pairs}

    @cached_property
    def ends(self) -> PairTerms:
        """A thread ends a pair, or a part of that."""
        return {(v, p): var(f"step:ends_v{v}p{p}", BOOL) for v, p in self.pairs}

    @property
    def moves(self) -> Term:
        """Something happens."""
        found: Term = disjunction([self.begins, *self.takes.values(), *self.ends.values()])
        return found

    def _happens(self) -> dict[Any, Any]:
        """When each of these is so."""

        def does(name: str, can: Any) -> Any:
            return conjunction([var("choice:made", BOOL), self._chosen(name), can, negate(self.twice)])

        idle = negate(equal(self.busy, self.threads))
        found = {self.begins: does("begin", negate(equal(self.begun, self.phases)))}
        for v, p in self.pairs:
            found[self.takes[v, p]] = does(f"take_v{v}p{p}", both(idle, self.queue[v, p]))
            found[self.ends[v, p]] = does(f"end_v{v}p{p}", negate(equal(self.stage[v, p], 0)))
        return found

    def _part(self, number: int) -> PairTerms:
        if not self._unlocked:
            return self.ends
        return {pair: both(end, equal(self.stage[pair], number)) for pair, end in self.ends.items()}

    @cached_property
    def system(self) -> System:
        """The system: what the choices are, and what each of them changes."""
        made = _Definitions([Definition(term.name, value) for term, value in self._happens().items()])
        removed, sent, settled = self._part(1), self._part(2), self._part(3)
        signals = {
            (v, p): both(self.begins, equal(self.begun, p - 1)) if v in self.graph.sources else FALSE
            for v, p in self.pairs
        }
        arrive = {(w, p): self._arrives(sent, w, p) for w, p in self.pairs}
        partial = made.each("partial", {k: either(self.partial[k], arrive[k]) for k in self.pairs})
        kept = made.each("kept", {k: either(both(self.full[k], negate(removed[k])), signals[k]) for k in self.pairs})
        x = self._x_after(settled, {k: either(partial[k], kept[k]) for k in self.pairs}, made)
        settles = made.one("settles", disjunction(settled.values()))
        fills = {(w, q): conjunction([settles, partial[w, q], self.reaches(x[q], w)]) for w, q in self.pairs}
        fills = made.each("fills", fills)
        full = made.each("full", {k: either(kept[k], fills[k]) for k in self.pairs})
        ready = {k: both(self.ready[k], negate(removed[k])) for k in self.pairs}
        newly = made.each("newly", self._newly_ready(either(settles, self.begins), full, ready))
        nexts = dict(zip(self.x[1:], x[1:], strict=True))
        nexts[self.begun] = _counted(self.begun, [(self.begins, 1)], self.phases)
        nexts[self.busy] = _counted(self.busy, [(disjunction(self.takes.values()), 1), (settles, -1)], self.threads)
        nexts[self.twice] = either(self.twice, disjunction(both(newly[k], self.seen[k]) for k in self.pairs))
        for k in self.pairs:
            nexts[self.partial[k]], nexts[self.full[k]] = both(partial[k], negate(fills[k])), full[k]
            nexts[self.ready[k]] = either(ready[k], newly[k])
            nexts[self.queue[k]] = either(both(self.queue[k], negate(self.takes[k])), newly[k])
            nexts[self.stage[k]] = self._stage_after(k)
            nexts[self.msg[k]] = disjunction([both(self.msg[k], negate(removed[k])), arrive[k], signals[k]])
            nexts[self.seen[k]] = either(self.seen[k], newly[k])
        claims = {
            "definitions": self.defined,
            "one-at-a-time": self.one_at_a_time,
            "in-order": self.in_order,
            "exactly-once": negate(self.twice),
            "serialisable": self.serialisable,
            "no-deadlock": self.live,
            "finished": either(self.finished, self.twice),
        }
        made.found += [Definition(self.claim(name).name, claim) for name, claim in claims.items()]
        return self._named(nexts, made)

    def claim(self, name: str) -> Term:
        """A claim that a step refutes: one of `CLAIMS`, or that all has `finished`."""
        found: Term = var(f"claim:{name}", BOOL)
        return found

    def _arrives(self, sent: PairTerms, w: int, p: int) -> Any:
        after = self.graph.successors
        ways = [both(sent[u, p], self.messages[after[u].index(w)]) for u in sorted(self.graph.predecessors[w - 1])]
        return disjunction([FALSE, *ways])

    def _x_after(self, settled: PairTerms, waiting: PairTerms, made: _Definitions) -> list[Any]:
        """Statements 1.12 to 1.23."""
        found: list[Any] = [self.x[0]]
        for i in range(1, self.phases + 1):
            own = made.one(f"least_p{i}", self._least(waiting, i))
            if Variant.OVERTAKING not in self.variant:
                own = ite(own > found[-1], found[-1], own)
            remade = both(disjunction(end for (_, p), end in settled.items() if p <= i), self.begun >= i)
            found.append(made.one(f"x_p{i}", ite(remade, own, self.x[i])))
        return found

    def _least(self, waiting: PairTerms, phase: int) -> Any:
        """The vertex before the least that has something to do in a phase, N where there is none."""
        domain = Range(0, self.graph.size)
        found: Any = const(self.graph.size, domain)
        for w in range(self.graph.size, 0, -1):
            found = ite(waiting[w, phase], const(w - 1, domain), found)
        return found

    def reaches(self, x: Any, w: int) -> Any:
        """Whether w <= m(x)."""
        enough = next(v for v, m in enumerate(self.graph.m) if m >= w)
        return x >= enough if enough else TRUE

    def _newly_ready(self, moment: Any, full: PairTerms, ready: PairTerms) -> PairTerms:
        """Statements 1.27 to 1.30 and 2.16 to 2.19."""
        found = {}
        for w, q in self.pairs:
            least = [] if Variant.ANY_PHASE in self.variant else [negate(full[w, r]) for r in range(1, q)]
            found[w, q] = conjunction([moment, full[w, q], negate(ready[w, q]), *least])
        return found

    def _stage_after(self, pair: Pair) -> Any:
        stage = self.stage[pair]
        last = self.last_stage
        ended = ite(equal(stage, last), const(0, stage.domain), stage)
        for value in range(1, last):
            ended = ite(equal(stage, value), const(value + 1, stage.domain), ended)
        return ite(self.takes[pair], const(1, stage.domain), ite(self.ends[pair], ended, stage))

    def _named(self, nexts: dict[Any, Any], made: _Definitions) -> System:
        sets = (self.partial, self.full, self.ready, self.queue, self.stage, self.msg, self.seen)
        order = [self.begun, self.busy, *self.x[1:], self.twice, *(each[k] for k in self.pairs for each in sets)]
        leaves = (var("choice:made", BOOL), self.what, *self.messages)
        return System(
            name="scheduler",
            inputs=(Input("choice", Tuple(tuple(leaf.domain for leaf in leaves[1:])), leaves[0], leaves[1:]),),
            variables=tuple(
                StateVariable(v.name, v.domain, v.domain.default, as_term(nexts[v], v.domain)) for v in order
            ),
            definitions=tuple(made.found),
            instances=tuple(Instance(name, name, comment, ()) for name, comment in COMMENTS.items()),
            pipes={},
            outputs=(),
            free={leaf.name: leaf.domain for leaf in leaves},
            kind="scheduler",
        )

    # --- what it is asked ---------------------------------------------------------------------------------

    @cached_property
    def pending(self) -> PairTerms:
        """Pairs with a message, and those that have not sent theirs."""
        return {k: either(self.msg[k], equal(self.stage[k], 2) if self._unlocked else FALSE) for k in self.pairs}

    @property
    def _unlocked(self) -> bool:
        return Variant.UNLOCKED in self.variant

    @property
    def finished(self) -> Term:
        """All phases have begun, and ended."""
        nothing = [negate(self.msg[k]) for k in self.pairs] + [equal(self.stage[k], 0) for k in self.pairs]
        found: Term = conjunction([equal(self.begun, self.phases), *nothing])
        return found

    @property
    def defined(self) -> Term:
        """While nobody has the lock, x and the sets are what definitions (7) to (9) say of msg."""
        free = conjunction(self.stage[k] <= 1 for k in self.pairs)
        x, claims = [self.x[0]], []
        for i in range(1, self.phases + 1):
            own = self._least(self.msg, i)
            x.append(ite(own > x[-1], x[-1], own))
            claims.append(either(self.begun < i, equal(self.x[i], x[i])))
        full = {(v, p): conjunction([self.msg[v, p], x[p] < v, self.reaches(x[p], v)]) for v, p in self.pairs}
        for v, p in self.pairs:
            partial = both(self.msg[v, p], negate(self.reaches(x[p], v)))
            ready = conjunction([full[v, p], *(negate(full[v, r]) for r in range(1, p))])
            claims += [equal(self.partial[v, p], partial), equal(self.full[v, p], full[v, p])]
            claims.append(equal(self.ready[v, p], ready))
        found: Term = either(negate(free), conjunction(claims))
        return found

    @property
    def one_at_a_time(self) -> Term:
        """No two phases of a vertex run at the same time."""
        runs = {k: equal(self.stage[k], 1) for k in self.pairs}
        return _none(both(runs[v, p], runs[v, q]) for v, p in self.pairs for q in range(1, p))

    @property
    def in_order(self) -> Term:
        """The phases of a vertex start in order."""
        started = {k: both(self.seen[k], negate(self.queue[k])) for k in self.pairs}
        later = ((v, p, q) for v, p in self.pairs for q in range(p + 1, self.phases + 1))
        return _none(both(self.takes[v, p], started[v, q]) for v, p, q in later)

    @property
    def serialisable(self) -> Term:
        """When (v, p) starts, no ancestor of v has a phase up to p unfinished, and v itself none before p."""
        before = ancestors(self.graph)
        wrong = []
        for v, p in self.pairs:
            unfinished = [self.pending[u, q] for u in before[v] for q in range(1, p + 1)]
            unfinished += [self.msg[v, q] for q in range(1, p)]
            wrong += [both(self.takes[v, p], each) for each in unfinished]
        return _none(wrong)

    @property
    def live(self) -> Term:
        """As long as not all has ended, something can happen."""
        can = [negate(equal(self.begun, self.phases)), *self.queue.values()]
        can += [negate(equal(self.stage[k], 0)) for k in self.pairs]
        found: Term = disjunction([self.finished, self.twice, *can])
        return found


def _none(wrong: Iterable[Any]) -> Term:
    found: Term = conjunction([TRUE, *map(negate, wrong)])
    return found


def _counted(number: Term, changes: Sequence[tuple[Any, int]], most: int) -> Any:
    """A counter after a step in which at most one of the changes happens."""
    found: Any = number
    for value in range(most + 1):
        here: Any = number
        for happens, by in changes:
            if 0 <= value + by <= most:
                here = ite(happens, const(value + by, number.domain), here)
        found = ite(equal(number, value), here, found)
    return found


class _Definitions:
    """PairTerms that get a name, each before those that use it."""

    def __init__(self, found: list[Definition]) -> None:
        self.found = found

    def one(self, name: str, term: Any) -> Any:
        self.found.append(Definition(f"then:{name}", term))
        return var(f"then:{name}", term.domain)

    def each(self, name: str, terms: PairTerms) -> PairTerms:
        return {(v, p): self.one(f"{name}_v{v}p{p}", term) for (v, p), term in terms.items()}
