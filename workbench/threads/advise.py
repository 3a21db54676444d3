"""The advisor: where threads would pay, by the paper's cost model, and what they do when they are tried.

A run is measured processor by processor; from that the gain of each pattern is predicted (Multiple Threads, sections
4.2 to 4.4), as if the work could run at the same time; then the pattern is tried on the same events, in turn with runs
that have no threads. Where much less is measured than predicted, the work holds Python's lock, or there are no free
cores: the model knows of neither.
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from workbench.backends.reference import Reference
from workbench.core.domain import Value
from workbench.core.pending import Done, Pending
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END, Processor, State, Stepped
from workbench.processors.group import flatten
from workbench.threads.certificate import Certificate
from workbench.threads.executor import Threaded, default_placement, with_copies
from workbench.threads.manager import ThreadManager
from workbench.threads.placement import Placement, balanced
from workbench.threads.prefetch import Ahead

T = TypeVar("T")

WORTH = 1.1
"""The measured gain from which a pattern is worth its threads."""

REPEAT = 5
"""Runs of which the median is taken."""


@dataclass(frozen=True)
class Profile:
    """What a run without threads costs, in seconds for each step.

    Attributes
    ----------
    processors: by name, in the order of the pipeline.
    total: of everything.
    """

    processors: Mapping[str, float]
    total: float

    @property
    def rest(self) -> float:
        """What is spent around the processors."""
        return max(0.0, self.total - sum(self.processors.values()))


@dataclass(frozen=True)
class Overhead:
    """What threads cost on this machine: seconds to begin with a task and wait for it, and for an event in a queue."""

    task: float
    queue: float


@dataclass(frozen=True)
class Advice:
    """One way to use threads.

    Attributes
    ----------
    pattern: in words.
    predicted, measured: throughput relative to that without threads.
    """

    pattern: str
    placement: Placement
    predicted: float
    measured: float

    @property
    def worth(self) -> bool:
        """Whether it gained something when it was tried."""
        return self.measured >= WORTH


@dataclass(frozen=True)
class Advised:
    """What was found, the best advice first."""

    profile: Profile
    overhead: Overhead
    threads: int
    advice: Sequence[Advice] = field(default_factory=tuple)

    @property
    def best(self) -> Advice | None:
        """The advice to follow, if any is worth it."""
        return next((each for each in self.advice if each.worth), None)


def advise(
    pipeline: Pipeline,
    steps: Sequence[Mapping[str, Value]],
    threads: int,
    certificates: Mapping[str, Certificate] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Advised:
    """Profile a pipeline on some steps, predict what threads would gain, and try it.

    Parameters
    ----------
    threads: beside the caller's.
    certificates: of processors that may be pipelined (`workbench.certify_nodes`).
    progress: told what is being tried.
    """
    progress("measuring the run without threads")
    streams = _streams(pipeline, steps)
    plain = Reference(pipeline)
    found = profile(pipeline, streams)
    costs = overhead()
    advice = []
    for pattern, placement, seconds in _candidates(
        flatten(pipeline), found, costs, threads, certificates or {}, streams
    ):
        progress(f"trying: {pattern}")
        with ThreadManager(threads) as manager:
            without, taken = _seconds(plain, Threaded(pipeline, manager, placement), streams=streams)
        advice.append(Advice(pattern, placement, found.total / seconds, without / taken))
    return Advised(found, costs, threads, sorted(advice, key=lambda each: -each.measured))


def overhead(tasks: int = 300) -> Overhead:
    """Measure what threads cost here."""
    with ThreadManager(1) as manager:
        manager.start(int).wait_for()
        task = _taken(lambda: [manager.start(int).wait_for() for _ in range(tasks)])
        queue = _taken(lambda: list(Ahead(iter(range(10 * tasks)), manager)))
    return Overhead(task / tasks, queue / (10 * tasks))


# --- measuring ------------------------------------------------------------------------------------------------


def profile(pipeline: Pipeline, streams: Mapping[str, Sequence[Value]]) -> Profile:
    """What each processor takes for a step, in the fastest of some runs."""
    running = Reference(pipeline)
    spent = dict.fromkeys((cell.node.name for cell in running._cells), 0)
    _observe(running, lambda processor, name: _timed(processor, name, spent))
    steps = max(map(len, streams.values()))
    found = []
    for _ in range(REPEAT):
        running.reset()
        spent.update(dict.fromkeys(spent, 0))
        total = _taken(partial(running.run, streams))
        found.append(Profile({name: took * 1e-9 / steps for name, took in spent.items()}, total / steps))
    return min(found, key=lambda each: each.total)


def pushes(flat: Pipeline, name: str, streams: Mapping[str, Sequence[Value]]) -> list[Sequence[float]]:
    """The seconds of each push into a copy that a processor keeps, for each of its steps."""
    manager = _Pushes()
    found: list[Sequence[float]] = []

    def kept(processor: Processor, each: str) -> Processor:
        def step(state: State, front: tuple[Any, ...]) -> Stepped:
            manager.taken = []
            result = processor.step(state, front)
            found.append(manager.taken)
            return result

        return _stepping(processor, step) if each == name else processor

    running = Reference(with_copies(flat, frozenset({name}), manager))
    _observe(running, kept)
    running.run(streams)
    return found


class _Pushes(ThreadManager):
    """Does all work at once, in the caller's thread, and keeps how long it took."""

    def __init__(self) -> None:
        super().__init__(0)
        self.grants = True
        self.taken: list[float] = []

    def start(self, work: Callable[[], T]) -> Pending[T]:
        begin = time.perf_counter()
        done = Done(work)
        self.taken.append(time.perf_counter() - begin)
        return done


def _observe(running: Reference, observed: Callable[[Processor, str], Processor]) -> None:
    for cell in running._cells:
        cell.processor = observed(cell.processor, cell.node.name)
    running._plan = [cell.plan(index, running._wide) for index, cell in enumerate(running._cells)]


def _timed(processor: Processor, name: str, spent: dict[str, int]) -> Processor:
    clock = time.perf_counter_ns

    def step(state: State, front: tuple[Any, ...]) -> Stepped:
        start = clock()
        result = processor.step(state, front)
        spent[name] += clock() - start
        return result

    return _stepping(processor, step)


def _stepping(processor: Processor, step: Callable[[State, tuple[Any, ...]], Stepped]) -> Processor:
    found = copy.copy(processor)
    object.__setattr__(found, "step", step)
    return found


def _streams(pipeline: Pipeline, steps: Sequence[Mapping[str, Value]]) -> dict[str, list[Value]]:
    """The events of each input; steps without events are left out, as they cost nothing."""
    return {name: [s[name] for s in steps if s is not END and name in s] for name, _ in pipeline.inputs}


def _seconds(*executors: Reference, streams: Mapping[str, Sequence[Value]]) -> list[float]:
    """What each takes for the streams: medians of runs in turn, so that what else goes on meets all of them."""
    taken: list[list[float]] = [[] for _ in executors]
    for _ in range(REPEAT):
        for running, times in zip(executors, taken, strict=True):
            running.reset()
            times.append(_taken(partial(running.run, streams)))
    return list(map(statistics.median, taken))


def _taken(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


# --- the cost model -------------------------------------------------------------------------------------------


def _candidates(
    flat: Pipeline,
    found: Profile,
    costs: Overhead,
    threads: int,
    certificates: Mapping[str, Certificate],
    streams: Mapping[str, Sequence[Value]],
) -> Iterator[tuple[str, Placement, float]]:
    """The patterns that fit the pipeline, and the seconds they are predicted to take for a step."""
    if any(processor.clocked for processor in flat.typed.values()):
        return  # such pipelines go step by step
    each = found.processors
    for parts in range(2, min(threads + 1, len(flat.nodes)) + 1):
        cuts = balanced(flat, parts, list(each.values()))
        yield f"PullGroup: cut before {', '.join(cuts)}", Placement(cuts), pulled(flat, found, costs, cuts)
    for name, certificate in certificates.items():
        if each[name] * 4 > found.total:  # less would not be noticed
            placement = Placement(pipelined={name: certificate})
            yield f"Pipelined: {name}", placement, pipelined(flat, found, costs, threads, name, certificate.history)
    for name in sorted(default_placement(flat, 0).copies):
        if each[name] * 4 > found.total:
            seconds = copied(found, costs, threads, pushes(flat, name, streams), max(map(len, streams.values())))
            yield f"NonBlocking: the copies in {name}", Placement(copies=frozenset({name})), seconds


def pulled(flat: Pipeline, found: Profile, costs: Overhead, cuts: Sequence[str]) -> float:
    """Section 4.3: parts that work ahead take as long as the slowest, max(T1, T2); the last one is the reader's."""
    parts = [0.0]
    for node in flat.nodes:
        if node.name in cuts:
            parts.append(costs.queue)
        parts[-1] += found.processors[node.name]
    parts[-1] += found.rest
    return max(parts)


def pipelined(flat: Pipeline, found: Profile, costs: Overhead, threads: int, name: str, history: int) -> float:
    """Section 4.4: copies of T each in so many threads, beside what comes before and after them."""
    names = [node.name for node in flat.nodes]
    place = names.index(name)
    before = sum(found.processors[each] for each in names[:place]) + costs.task + costs.queue
    after = sum(found.processors[each] for each in names[place + 1 :]) + found.rest
    return max(before, history * found.processors[name] / threads, after)


def copied(found: Profile, costs: Overhead, threads: int, made: Sequence[Sequence[float]], steps: int) -> float:
    """Section 4.2 for a run of so many steps, in which these pushes into copies were made."""
    rest = found.total - sum(map(sum, made)) / steps
    return max(0.0, rest) + sum(pushed(sum(taken), len(taken), threads, costs) for taken in made if taken) / steps


def pushed(seconds: float, copies: int, threads: int, costs: Overhead) -> float:
    """Section 4.2: n copies of T each take nT one after the other, and T where there is a thread for each."""
    rounds = -(-copies // min(copies, threads + 1))
    return seconds / copies * rounds + copies * costs.task
