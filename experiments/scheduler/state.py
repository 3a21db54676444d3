"""The state of the scheduler's model as terms, and what can be chosen in a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from experiments.scheduler.listings import Variant, check_numbering
from workbench.core.domain import BOOL, Enum, Range
from workbench.core.ops import disjunction, either, equal, ite, negate
from workbench.core.term import TRUE, Term, const, var
from workbench.executors.dataflow.numbering import NumberedGraph
from workbench.executors.dataflow.scheduler import Pair

PairTerms = dict[Pair, Any]


@dataclass(frozen=True)
class SchedulerState:
    """The scheduler of a graph, for so many phases and threads: its state, and what can be chosen.

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
        return 3 if self.unlocked else 1

    @property
    def sending(self) -> int:
        """The stage of a pair whose next end sends its messages."""
        return 2 if self.unlocked else 1

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

    def is_chosen(self, name: str) -> Any:
        """Whether this is chosen."""
        return equal(self.what, const(name, self.what.domain))

    @property
    def assume(self) -> tuple[Term, ...]:
        """There is a choice in every step, and a message only when a pair ends whose vertex has that successor."""
        ends = [(v, self.is_chosen(f"end_v{v}p{p}")) for v, p in self.pairs]
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

    # --- what happens, and what is claimed ----------------------------------------------------------------

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

    def claim(self, name: str) -> Term:
        """A claim that a step refutes: one of `CLAIMS`, or that all has `finished`."""
        found: Term = var(f"claim:{name}", BOOL)
        return found

    def least(self, waiting: PairTerms, phase: int) -> Any:
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

    @property
    def unlocked(self) -> bool:
        """Whether the end of a pair is three steps."""
        return Variant.UNLOCKED in self.variant
