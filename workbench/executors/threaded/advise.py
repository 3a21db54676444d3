"""The advisor: it finds where threads pay off, by the paper's cost model and by trials.

A run is profiled processor by processor; from that the gain of each pattern is predicted (Multiple Threads, sections
4.2 to 4.4), with the cost of threads and the free cores of this machine, as if the work released Python's lock; then
the pattern is tried on the same events, alternating with runs without threads. Everything is measured several times,
and gains smaller than the variation are not promised.
"""

from __future__ import annotations

import os
import pickle
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self, TypeVar

from workbench.core.domain import Value
from workbench.core.kinds import Push
from workbench.core.pipeline import Pipeline
from workbench.core.processor import State, Stepped
from workbench.core.program import Program
from workbench.errors import InputError, Refused
from workbench.executors.pending import Done, Pending
from workbench.executors.processes.executor import BATCH, Processes
from workbench.executors.processes.worker_share import before
from workbench.executors.reference.cell import Cell
from workbench.executors.reference.executor import Reference
from workbench.executors.threaded.certificate import Certificate
from workbench.executors.threaded.executor import Threaded, default_placement
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.overhead import Overhead, measure_seconds, overhead
from workbench.executors.threaded.placement import Placement, balance_cuts
from workbench.processors.held.group import flatten

T = TypeVar("T")

WORTH = 1.1
"""Minimum measured gain for which a pattern is worth its threads."""

ENOUGH = 30
"""Minimum number of steps for a conclusion."""

REPEAT = 5
"""Number of runs of which the median is taken."""


@dataclass(frozen=True)
class Profile:
    """The cost of a run without threads, in seconds per step.

    Attributes
    ----------
    processors: cost by name, in the order of the pipeline.
    total: cost of the whole run.
    busy: processor time: the total without waiting.
    """

    processors: Mapping[str, float]
    total: float
    busy: float = 0.0

    @property
    def rest(self) -> float:
        """The cost outside of the processors."""
        return max(0.0, self.total - sum(self.processors.values()))


class Gain(NamedTuple):
    """Throughput relative to a run without threads, measured or predicted several times."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, gains: Iterable[float]) -> Self:
        """Build a gain from its least, median and greatest value."""
        sorted_gains = sorted(gains)
        return cls(sorted_gains[0], statistics.median(sorted_gains), sorted_gains[-1])


@dataclass(frozen=True)
class Advice:
    """A way to use threads, with its gain.

    Attributes
    ----------
    pattern: a description.
    predicted, measured: its gain.
    cores: average number of cores in use when it was tried.
    processes: number of worker processes for copies, where that is the pattern.
    """

    pattern: str
    placement: Placement
    predicted: Gain
    measured: Gain
    cores: float = 1.0
    processes: int = 0

    @property
    def worth(self) -> bool:
        """Whether it gained whenever it was tried."""
        return self.measured.middle >= WORTH and self.measured.low >= 1


@dataclass(frozen=True)
class Advised:
    """The result of the advisor, best advice first."""

    profile: Profile
    overhead: Overhead
    threads: int
    steps: int
    advice: Sequence[Advice] = field(default_factory=tuple)

    @property
    def best(self) -> Advice | None:
        """The advice to follow, if any."""
        return next(filter(self.promises, self.advice), None)

    def promises(self, advice: Advice) -> bool:
        """Whether it gained, with enough events to conclude that."""
        return advice.worth and self.steps >= ENOUGH

    @property
    def conclusion(self) -> str:
        """A sentence that sums up the advice."""
        if self.best is not None:
            return f"worth it: {self.best.pattern}"
        if not self.advice:
            return "no pattern fits: no part is expensive enough to cut, to pipeline or to copy"
        if self.steps < ENOUGH:
            return f"too few events to decide: {self.steps}, and at least {ENOUGH} are needed"
        if max(each.predicted.high for each in self.advice) < WORTH:
            return f"not worth it: {self._too_little}"
        tried = self.advice[0]
        if tried.measured.high >= WORTH:
            return (
                f"not clear: {tried.pattern} gained between {tried.measured.low:.2f} and {tried.measured.high:.2f},"
                " which may be a loss; take a larger sample, while nothing else uses the machine"
            )
        return f"not worth it: a trial gained nothing; {self._why_nothing(tried)}"

    @property
    def _too_little(self) -> str:
        if self._no_core:
            return f"no other core is free (work for {self.threads + 1} threads got {self.overhead.cores:.1f} cores)"
        return "the concurrent work is too small for the cost of threads"

    @property
    def _no_core(self) -> bool:
        return self.overhead.cores < 1.3 and self.profile.busy * 2 > self.profile.total  # waiting needs no core

    def _why_nothing(self, tried: Advice) -> str:
        used = f"{tried.cores:.1f} cores were used"
        if tried.cores > 1.3:
            return f"threads did work at the same time ({used}), but the cost of queues used up the gain"
        if self._no_core:
            return f"no other core was free ({used})"
        if tried.cores < 0.7:
            return f"most of the time the threads waited ({used}), for each other or for the same thing"
        free = f"and {self.overhead.cores:.1f} were free"
        return f"one thread worked at a time ({used}, {free}): its work holds Python's lock"


def advise(
    pipeline: Program,
    steps: Sequence[Mapping[str, Value]],
    threads: int,
    certificates: Mapping[str, Certificate] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Advised:
    """Profile a pipeline on some steps, predict the gain from threads, and try it.

    Parameters
    ----------
    threads: number of threads besides the caller.
    certificates: of processors that may be pipelined (`workbench.certify_nodes`).
    progress: receives a description of each trial.

    Raises
    ------
    InputError: there are no events.
    """
    streams = pipeline.ports.received(steps)  # steps without events cost nothing, and are left out
    if not any(streams.values()):
        raise InputError("there are no events to measure")
    progress("measuring the run without threads")
    plain = Reference(pipeline)
    baseline = profile(pipeline, streams)
    progress("measuring the cost of threads")
    costs = [overhead(threads, baseline.total) for _ in range(REPEAT)]
    advice = []
    for pattern, placement, seconds in _candidates(
        flatten(pipeline), baseline, costs, threads, certificates or {}, streams
    ):
        progress(f"trying: {pattern}")
        with ThreadManager(threads) as manager:
            gains, cores = _try_gain(plain, Threaded(pipeline, manager, placement), streams)
        advice.append(Advice(pattern, placement, Gain.of(baseline.total / each for each in seconds), gains, cores))
    with suppress(Refused), Processes(pipeline, threads) as running:
        pattern = f"Processes: the copies in {', '.join(running.divided)}"
        progress(f"trying: {pattern}")
        sent = sending(steps)
        gain = Gain.of(baseline.total / spread(running, baseline, sent, each.cores) for each in costs)
        advice.append(Advice(pattern, Placement(), gain, *_try_gain(plain, running, streams), threads))
    middle = sorted(costs, key=lambda each: each.queue)[len(costs) // 2]
    longest = max(map(len, streams.values()))
    return Advised(baseline, middle, threads, longest, sorted(advice, key=lambda each: -each.measured.middle))


# --- measuring ------------------------------------------------------------------------------------------------


def profile(pipeline: Program, streams: Mapping[str, Sequence[Value]]) -> Profile:
    """Return the cost per step of each processor, in the fastest of some runs."""
    running = Reference(pipeline)
    spent = dict.fromkeys((node.name for node in running.flat.nodes), 0)
    running.observe(lambda cell: _time_push(cell.step, cell.node.name, spent))
    steps = max(map(len, streams.values()))
    profiles = []
    for _ in range(REPEAT):
        running.reset()
        spent.update(dict.fromkeys(spent, 0))
        busy = time.process_time()
        total = measure_seconds(partial(running.run, streams))
        busy = time.process_time() - busy
        each = {name: took * 1e-9 / steps for name, took in spent.items()}
        profiles.append(Profile(each, total / steps, busy / steps))
    return min(profiles, key=lambda each: each.total)


def pushes(flat: Pipeline, name: str, streams: Mapping[str, Sequence[Value]]) -> list[Sequence[float]]:
    """Return the seconds of each push into a processor's copies, for each of its steps."""
    manager = _Pushes()
    push_seconds: list[Sequence[float]] = []

    def wrap_step(cell: Cell) -> Push:
        push = cell.step

        def step(state: State, front: tuple[Any, ...]) -> Stepped:
            manager.taken = []
            result = push(state, front)
            push_seconds.append(manager.taken)
            return result

        return step if cell.node.name == name else push

    running = Threaded(flat, ThreadManager(0), Placement(copies={name: manager}))
    running.observe(wrap_step)
    running.run(streams)
    return push_seconds


class _Pushes(ThreadManager):
    """A manager that runs all work at once, in the caller's thread, and records its duration."""

    def __init__(self) -> None:
        super().__init__(0)
        self.grants = True
        self.taken: list[float] = []

    def start(self, work: Callable[[], T]) -> Pending[T]:
        begin = time.perf_counter()
        done = Done(work)
        self.taken.append(time.perf_counter() - begin)
        return done


def _time_push(push: Push, name: str, spent: dict[str, int]) -> Push:
    clock = time.perf_counter_ns

    def step(state: State, front: tuple[Any, ...]) -> Stepped:
        start = clock()
        result = push(state, front)
        spent[name] += clock() - start
        return result

    return step


def _try_gain(plain: Reference, threaded: Reference, streams: Mapping[str, Sequence[Value]]) -> tuple[Gain, float]:
    """Measure the gain in alternating runs, so that other load affects both, and the cores used by the second."""
    gains, cores = [], []
    for _ in range(REPEAT):
        plain.reset()
        threaded.reset()
        without = measure_seconds(partial(plain.run, streams))
        busy = _cpu()
        seconds = measure_seconds(partial(threaded.run, streams))
        threaded.reset()  # processes end here, so that their time is counted
        gains.append(without / seconds)
        cores.append((_cpu() - busy) / seconds)
    return Gain.of(gains), statistics.median(cores)


def _cpu() -> float:
    """Return the CPU seconds of this process and of its terminated children."""
    return sum(os.times()[:4])


# --- the cost model -------------------------------------------------------------------------------------------


def _candidates(
    flat: Pipeline,
    baseline: Profile,
    costs: Sequence[Overhead],
    threads: int,
    certificates: Mapping[str, Certificate],
    streams: Mapping[str, Sequence[Value]],
) -> Iterator[tuple[str, Placement, list[float]]]:
    """Yield the patterns that fit the pipeline, and the predicted seconds per step for each of these costs."""
    if flat.is_clocked:
        return  # such pipelines run step by step
    each = baseline.processors

    def predicted(model: Callable[[Overhead], float]) -> list[float]:
        return [max(model(cost), baseline.busy / cost.cores) for cost in costs]

    for parts in range(2, min(threads + 1, len(flat.nodes)) + 1):
        cuts = balance_cuts(flat, parts, list(each.values()))
        seconds = predicted(partial(estimate_pulled, flat, baseline, cuts=cuts))
        yield f"PullGroup: cut before {', '.join(cuts)}", Placement(cuts), seconds
    for name, certificate in certificates.items():
        if each[name] * 4 > baseline.total:  # less would not be noticeable
            model = partial(estimate_pipelined, flat, baseline, threads=threads, name=name, history=certificate.history)
            seconds = predicted(model)
            yield f"Pipelined: {name}", Placement(pipelined={name: certificate}), seconds
    for name in sorted(default_placement(flat, 0).copies):
        if each[name] * 4 > baseline.total:
            push_seconds, steps = pushes(flat, name, streams), max(map(len, streams.values()))
            seconds = predicted(
                partial(estimate_copied, baseline, threads=threads, push_seconds=push_seconds, steps=steps)
            )
            yield f"NonBlocking: the copies in {name}", Placement(copies=frozenset({name})), seconds


def estimate_pulled(flat: Pipeline, baseline: Profile, costs: Overhead, cuts: Sequence[str]) -> float:
    """Predict prefetching parts (section 4.3): as slow as the slowest part, max(T1, T2); the last is the reader's."""
    parts = [0.0]
    for node in flat.nodes:
        if node.name in cuts:
            parts.append(costs.queue)
        parts[-1] += baseline.processors[node.name]
    parts[-1] += baseline.rest
    return max(parts)


def estimate_pipelined(
    flat: Pipeline, baseline: Profile, costs: Overhead, threads: int, name: str, history: int
) -> float:
    """Predict pipelining (section 4.4): copies of T each in several threads, concurrent with the other processors."""
    names = [node.name for node in flat.nodes]
    index = names.index(name)
    before = sum(baseline.processors[each] for each in names[:index]) + costs.task + costs.queue
    after = sum(baseline.processors[each] for each in names[index + 1 :]) + baseline.rest
    return max(before, history * baseline.processors[name] / threads, after)


def estimate_copied(
    baseline: Profile, costs: Overhead, threads: int, push_seconds: Sequence[Sequence[float]], steps: int
) -> float:
    """Predict parallel pushes into copies (section 4.2), given the pushes of a run of `steps` steps."""
    rest = baseline.total - sum(map(sum, push_seconds)) / steps
    return (
        max(0.0, rest)
        + sum(estimate_pushed(sum(seconds), len(seconds), threads, costs) for seconds in push_seconds if seconds)
        / steps
    )


def spread(running: Processes, baseline: Profile, sent: float, cores: float) -> float:
    """Predict worker processes (section 4.2): the reader does all but copies; each worker its share and prefix."""
    copies = sum(baseline.processors[name] for name in running.divided)
    ahead = sum(baseline.processors[node.name] for node in before(running.flat, running.divided).nodes) - copies
    reader, worker = baseline.total - copies + sent, ahead + copies / running.processes + sent
    return max(reader, worker, (reader + worker * running.processes) / max(1.0, cores))


def sending(steps: Sequence[Mapping[str, Value]]) -> float:
    """Return the seconds to write or read a step that is sent to a process."""
    begin = time.perf_counter()
    for start in range(0, len(steps), BATCH):
        pickle.loads(pickle.dumps(steps[start : start + BATCH], pickle.HIGHEST_PROTOCOL))
    return (time.perf_counter() - begin) / 2 / max(1, len(steps))


def estimate_pushed(seconds: float, copies: int, threads: int, costs: Overhead) -> float:
    """Predict n copies of T each (section 4.2): nT in sequence, and T with a thread for each."""
    rounds = -(-copies // min(copies, threads + 1))
    return seconds / copies * rounds + copies * costs.task
