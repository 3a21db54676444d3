"""Listings 1 and 2 of Zimmerman and Chandy on a graph, as a transition system.

The rule of this module: a step is what one process does while it has the lock. The environment begins a phase, a thread
takes a pair from the run queue (which is a set: any order), or a thread ends the pair that it has, with messages to
whichever successors. What cannot be done changes nothing. Without the lock (`Variant.UNLOCKED`) the end is three steps,
the parts of `Listings.finishing`. A pair that would be ready a second time stops the system: `twice`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from experiments.scheduler.listings import Variant
from experiments.scheduler.state import PairTerms, SchedulerState
from experiments.scheduler.stated import stated
from workbench.core.domain import BOOL
from workbench.core.fields import Tuple
from workbench.core.ops import as_term, both, conjunction, disjunction, either, equal, ite, negate
from workbench.core.term import FALSE, Term, const, var
from workbench.executors.dataflow.scheduler import Pair
from workbench.ir.system import Definition, Input, Instance, StateVariable, System

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


class SchedulerModel(SchedulerState):
    """The scheduler of a graph, for so many phases and threads, and the system that it is."""

    def _happens(self) -> dict[Any, Any]:
        """When each of these is so."""

        def does(name: str, can: Any) -> Any:
            return conjunction([var("choice:made", BOOL), self.is_chosen(name), can, negate(self.twice)])

        idle = negate(equal(self.busy, self.threads))
        found = {self.begins: does("begin", negate(equal(self.begun, self.phases)))}
        for v, p in self.pairs:
            found[self.takes[v, p]] = does(f"take_v{v}p{p}", both(idle, self.queue[v, p]))
            found[self.ends[v, p]] = does(f"end_v{v}p{p}", negate(equal(self.stage[v, p], 0)))
        return found

    def _part(self, number: int) -> PairTerms:
        if not self.unlocked:
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
        made.found += [Definition(self.claim(name).name, claim) for name, claim in stated(self).items()]
        return self._named(nexts, made)

    def _arrives(self, sent: PairTerms, w: int, p: int) -> Any:
        after = self.graph.successors
        ways = [both(sent[u, p], self.messages[after[u].index(w)]) for u in sorted(self.graph.predecessors[w - 1])]
        return disjunction([FALSE, *ways])

    def _x_after(self, settled: PairTerms, waiting: PairTerms, made: _Definitions) -> list[Any]:
        """Statements 1.12 to 1.23."""
        found: list[Any] = [self.x[0]]
        for i in range(1, self.phases + 1):
            own = made.one(f"least_p{i}", self.least(waiting, i))
            if Variant.OVERTAKING not in self.variant:
                own = ite(own > found[-1], found[-1], own)
            remade = both(disjunction(end for (_, p), end in settled.items() if p <= i), self.begun >= i)
            found.append(made.one(f"x_p{i}", ite(remade, own, self.x[i])))
        return found

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
