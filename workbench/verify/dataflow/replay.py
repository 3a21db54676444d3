"""A run of the scheduler's model, on the running scheduler."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from workbench.executors.dataflow.interleaving import FlowChoice, Interleaving, mistakes
from workbench.executors.dataflow.listings import Pair, defined
from workbench.executors.dataflow.scheduler import Scheduler
from workbench.verify.dataflow.model import SchedulerModel

CONFIRMED = "confirmed by execution"


@dataclass(frozen=True)
class FlowRun:
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
    """The running scheduler and what is known of it from outside: who has a message, and has not sent its own."""

    def __init__(self, model: SchedulerModel, run: FlowRun) -> None:
        self.model, self.run = model, run
        self.sets = Scheduler(model.graph, model.variant)
        self.threads = Interleaving(self.sets, self._work, model.variant)
        self.messages: set[Pair] = set()
        self.parts: dict[Pair, int] = {}

    def _work(self, pair: Pair) -> Callable[[], Collection[int]]:
        return lambda: self.run.messages.get(pair, ())

    def do(self, choice: FlowChoice) -> None:
        what, _, (v, p) = choice
        self.threads.do(choice)
        if what == "begin":
            self.messages |= {(v, self.sets.begun) for v in self.model.graph.sources}
        elif what == "take":
            self.parts[v, p] = 0
        else:
            self.parts[v, p] += 1
            if self.parts[v, p] == 1:
                self.messages.discard((v, p))
            if self.parts[v, p] == self.model.sending:
                self.messages |= {(w, p) for w in self.run.messages.get((v, p), ())}
            if self.parts[v, p] == self.model.last_stage:
                del self.parts[v, p]

    def finish(self) -> None:
        """Let it go on, until all that is there has ended or nothing can happen."""
        while choices := [c for c in self.threads.choices(self.model.threads, 0) if c.what != "begin"]:
            self.do(max(choices, key=lambda choice: choice.what == "end"))


def replayed(model: SchedulerModel, claim: str, run: FlowRun) -> str:
    """What the running scheduler does in this run: whether the claim fails there, too."""
    driven = _Driven(model, run)
    for choice in run.choices:
        driven.do(choice)
    sets, log = driven.sets, driven.threads.log
    if claim == "definitions":
        given = defined(model.graph, driven.messages, sets.begun)
        wrong = (sets.partial, sets.full, sets.ready) != given
    elif claim == "exactly-once":
        ready = [each.pair for each in log if each.what == "start"] + driven.threads.queue
        wrong = len(set(ready)) < len(ready)
    elif claim in ("no-deadlock", "ends"):
        wrong = not driven.threads.choices(model.threads, model.phases) and bool(driven.messages)
    else:
        driven.finish()
        wrong = bool(mistakes(model.graph, log))
    return CONFIRMED if wrong else "the running scheduler does something else"
