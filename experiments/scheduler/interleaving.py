"""A scripted interleaving of the threads that run pairs: for counterexamples of the model and for tests.

The rule of this module: only what is chosen happens. A thread takes a ready pair, and later ends it; in between its
work is done. Without the lock (`Variant.UNLOCKED`) the end takes three choices, one for each part of
`Listings.finishing`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from experiments.scheduler.listings import Listings, PhaseSets, Variant
from workbench.errors import PipelineError
from workbench.executors.dataflow.numbering import NumberedGraph
from workbench.executors.dataflow.scheduler import Pair, Scheduler

Work = Callable[[Pair], Callable[[], Collection[int]]]
"""Starts a pair, and returns a function that ends it and returns the vertices that got messages."""


class FlowChoice(NamedTuple):
    """The next action: a phase begins, or a thread takes a pair or continues to end the one it has."""

    what: Literal["begin", "take", "end"]
    thread: int = 0
    pair: Pair = (0, 0)


class PairEvent(NamedTuple):
    """The start or the end of a pair."""

    what: Literal["start", "end"]
    pair: Pair


def phase_sets(graph: NumberedGraph, variant: Variant) -> Scheduler | Listings:
    """Return the sets of the scheduler that runs pipelines; those of the listings where parts are left out."""
    return Listings(graph, variant) if variant else Scheduler(graph)


@dataclass
class PairRun:
    """A pair that a thread has taken: what ends its work, and the parts of its end that are left."""

    pair: Pair
    end: Callable[[], Collection[int]]
    parts: Iterator[list[Pair]] | None = None
    left: int = 0


@dataclass
class Interleaving:
    """Threads that run the pairs of some sets as scripted.

    Parameters
    ----------
    sets: the listings, or the sets of a running scheduler.
    work: runs a pair.
    variant: the variant of the sets.

    Attributes
    ----------
    queue: the run queue: ready pairs that have not been taken.
    log: the history.
    """

    sets: PhaseSets
    work: Work
    variant: Variant = Variant.WHOLE
    queue: list[Pair] = field(default_factory=list)
    log: list[PairEvent] = field(default_factory=list)
    _running: dict[int, PairRun] = field(default_factory=dict)

    def choices(self, threads: int, phases: int) -> list[FlowChoice]:
        """Return the possible next choices, with only the first of the idle threads."""
        idle = [thread for thread in range(threads) if thread not in self._running]
        choices = [FlowChoice("take", thread, pair) for thread in idle[:1] for pair in self.queue]
        choices += [FlowChoice("end", thread, running.pair) for thread, running in sorted(self._running.items())]
        return [FlowChoice("begin"), *choices] if self.sets.begun < phases else choices

    def do(self, choice: FlowChoice) -> None:
        """Perform a choice; PipelineError where it is impossible."""
        what, thread, pair = choice
        if what == "begin":
            self.queue += self.sets.begin()
        elif what == "take":
            if pair not in self.queue or thread in self._running:
                raise PipelineError(f"thread {thread} cannot take {pair}", hint=f"ready: {self.queue}")
            self.queue.remove(pair)
            self._running[thread] = PairRun(pair, self.work(pair))
            self.log.append(PairEvent("start", pair))
        elif thread not in self._running:
            raise PipelineError(f"thread {thread} has nothing to end")
        else:
            self._end(thread)

    def _end(self, thread: int) -> None:
        running = self._running[thread]
        if running.parts is None:
            self.log.append(PairEvent("end", running.pair))
            running.parts, running.left = self._finish(*running.pair, running.end())
        self.queue += next(running.parts)
        running.left -= 1
        if not running.left:
            del self._running[thread]

    def _finish(self, vertex: int, phase: int, receivers: Collection[int]) -> tuple[Iterator[list[Pair]], int]:
        """Return the parts in which a pair is finished, and their number."""
        if Variant.UNLOCKED not in self.variant:
            return iter([self.sets.finish(vertex, phase, receivers)]), 1
        assert isinstance(self.sets, Listings)
        return self.sets.finishing(vertex, phase, receivers), 3

    def replay(self, choices: Iterable[FlowChoice]) -> None:
        """Perform choices in order."""
        for choice in choices:
            self.do(choice)


def mistakes(graph: NumberedGraph, log: Sequence[PairEvent]) -> list[str]:
    """Return what is wrong with a log of pairs that have all run: what a serial run cannot do.

    Of each pair that starts: it has started before; another phase of its vertex runs; a later phase of its vertex has
    started; a predecessor, direct or indirect, runs this phase or an earlier one afterwards.
    """
    before = ancestors(graph)
    ends: dict[Pair, int] = {happened.pair: at for at, happened in enumerate(log) if happened.what == "end"}
    problems, started, running = [], list[Pair](), set[Pair]()
    for at, (what, (v, p)) in enumerate(log):
        if what == "end":
            running.discard((v, p))
            continue
        if (v, p) in started:
            problems.append(f"({v}, {p}) runs twice")
        problems += [f"({v}, {p}) runs at the same time as ({v}, {q})" for u, q in sorted(running) if u == v]
        problems += [f"({v}, {p}) runs after ({v}, {q})" for u, q in started if u == v and q > p]
        late = [(u, q) for (u, q), end in ends.items() if end > at and q <= p and u in before[v]]
        problems += [f"({v}, {p}) starts before ({u}, {q}) has ended" for u, q in sorted(late)]
        started.append((v, p))
        running.add((v, p))
    return problems


def ancestors(graph: NumberedGraph) -> list[frozenset[int]]:
    """Return, for each vertex, the vertices from which it can be reached; entry 0 is unused."""
    ancestor_sets = [frozenset[int]()]
    for own in graph.predecessors:
        ancestor_sets.append(own.union(*(ancestor_sets[u] for u in own)))
    return ancestor_sets
