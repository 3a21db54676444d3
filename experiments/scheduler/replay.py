"""A run of the scheduler's model, on the running scheduler."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from experiments.scheduler.interleaving import FlowChoice, Interleaving, ancestors, phase_sets
from experiments.scheduler.listings import define_sets
from experiments.scheduler.model import SchedulerModel
from workbench.executors.dataflow.scheduler import Pair

CONFIRMED = "confirmed by execution"


@dataclass(frozen=True)
class SchedulerRun:
    """What happens, choice by choice.

    Attributes
    ----------
    messages: which vertices get messages of the pairs that end in it.
    """

    choices: tuple[FlowChoice, ...]
    messages: Mapping[Pair, tuple[int, ...]]

    def lines(self) -> list[str]:
        """In words."""
        found, phases, ended = [], 0, set[Pair]()
        for what, thread, (v, p) in self.choices:
            if what == "begin":
                phases += 1
                found.append(f"phase {phases} begins")
            elif what == "take":
                found.append(f"thread {thread} takes ({v}, {p})")
            elif (v, p) in ended:
                found.append(f"thread {thread} goes on with the end of ({v}, {p})")
            else:
                ended.add((v, p))
                to = self.messages.get((v, p), ())
                sent = f", with messages to {', '.join(map(str, to))}" if to else ""
                found.append(f"thread {thread} ends ({v}, {p}){sent}")
        return found


class _Driven:
    """The running scheduler, and what is seen from outside: who has messages or has not sent its own, who is early."""

    def __init__(self, model: SchedulerModel, run: SchedulerRun) -> None:
        self.model, self.run = model, run
        self.sets = phase_sets(model.graph, model.variant)
        self.threads = Interleaving(self.sets, self._work, model.variant)
        self.messages: set[Pair] = set()
        self.parts: dict[Pair, int] = {}
        """Of the pairs that threads have, the number of the part of their end that comes next."""
        self.early: list[Pair] = []
        self._before = ancestors(model.graph)

    def _work(self, pair: Pair) -> Callable[[], Collection[int]]:
        return lambda: self.run.messages.get(pair, ())

    def do(self, choice: FlowChoice) -> None:
        what, _, (v, p) = choice
        if what == "take":
            unsent = {pair for pair, part in self.parts.items() if part <= self.model.sending}
            unfinished = [u for u, q in self.messages | unsent if q <= p and u in self._before[v]]
            unfinished += [v for u, q in self.messages if u == v and q < p]
            self.early += [(v, p)] if unfinished else []
            self.parts[v, p] = 1
        self.threads.do(choice)
        if what == "begin":
            self.messages |= {(v, self.sets.begun) for v in self.model.graph.sources}
        elif what == "end":
            self._ended((v, p))

    def _ended(self, pair: Pair) -> None:
        part = self.parts[pair]
        if part == 1:
            self.messages.discard(pair)
        if part == self.model.sending:
            self.messages |= {(w, pair[1]) for w in self.run.messages.get(pair, ())}
        if part == self.model.last_stage:
            del self.parts[pair]
        else:
            self.parts[pair] += 1

    @property
    def as_defined(self) -> bool:
        """Whether the sets, and x of every phase, are what definitions (7) to (9) say of the messages."""
        graph, begun = self.model.graph, self.sets.begun
        x = [graph.size]
        for p in range(1, begun + 1):
            x.append(min(x[-1], min((w for w, q in self.messages if q == p), default=graph.size + 1) - 1))
        sets = self.sets.partial, self.sets.full, self.sets.ready
        return sets == define_sets(graph, self.messages, begun) and x[1:] == [
            self.sets.x(p) for p in range(1, begun + 1)
        ]


def replayed(model: SchedulerModel, claim: str, run: SchedulerRun) -> str:
    """What the running scheduler does in this run: whether the claim fails there, too."""
    driven = _Driven(model, run)
    for choice in run.choices:
        driven.do(choice)
    log, queue = driven.threads.log, driven.threads.queue
    started = [pair for what, pair in log if what == "start"]
    ended = {pair for what, pair in log if what == "end"}
    wrong: dict[str, Callable[[], bool]] = {
        "definitions": lambda: not driven.as_defined,
        "one-at-a-time": lambda: any(v == started[-1][0] for v, p in set(started[:-1]) - ended),
        "in-order": lambda: any(v == started[-1][0] and p > started[-1][1] for v, p in started),
        "exactly-once": lambda: len({*started, *queue}) < len(started) + len(queue),
        "serialisable": lambda: driven.early == started[-1:],
    }

    def stuck() -> bool:
        return bool(driven.messages) and not driven.threads.choices(model.threads, model.phases)

    return CONFIRMED if wrong.get(claim, stuck)() else "the running scheduler does something else"
