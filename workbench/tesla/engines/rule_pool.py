"""A rule set in several processes, each of which runs some of the rules.

The paper's threads each process a subset of the rules (Cugola and Margara, section 5.6, figure
13). Python's lock prevents threads of one process from computing in parallel, so these are processes.

The rule of this module: composites, their order, their numbers and their sources are those of one process. Rules that
feed each other stay together (`rule_split`), so no worker needs data of another one; every worker receives every
event.
"""

from __future__ import annotations

import pickle
import weakref
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import merge
from itertools import repeat
from multiprocessing.connection import Connection
from operator import itemgetter
from typing import NoReturn

from workbench.child_processes import Forked
from workbench.errors import Refused, WorkbenchError
from workbench.interrupts import hold
from workbench.tesla.engines.engine import EngineSettings, FixedRules, RuleCost
from workbench.tesla.engines.facts import fact_tables
from workbench.tesla.engines.partial_run import refuse_circles
from workbench.tesla.engines.publisher import Publisher, check_event, check_time
from workbench.tesla.engines.rule_split import balance_work, rule_split
from workbench.tesla.engines.worker_rules import PoolAnswer, PoolRequest, WorkerComposite, WorkerRules
from workbench.tesla.event_block import EventBlock
from workbench.tesla.lookback import longest_lookback
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

FORGET_AT = 1 << 16
"""Number of events whose numbers are forgotten together."""


class WorkerNumbers:
    """The numbers in the total order of the events known to a worker, by its own numbers; old ones are forgotten."""

    def __init__(self) -> None:
        self._numbers, self.forgotten = array("q"), 0

    def __getitem__(self, own: int) -> int:
        return self._numbers[own - self.forgotten]

    def add(self, numbers: Iterable[int]) -> None:
        """Append the numbers of the next events."""
        self._numbers.extend(numbers)

    def forget_before(self, number: int) -> None:
        """Forget smaller numbers."""
        count = bisect_left(self._numbers, number)
        del self._numbers[:count]
        self.forgotten += count


class RulePool(FixedRules):
    """A running rule set (`BlockEngine`) whose rules are partitioned among processes.

    Parameters
    ----------
    make: starts an engine of all rules in one process.

    Raises
    ------
    Refused: facts are in a database, or absences cause each other in a cycle.
    """

    runs_in = "several processes"

    def __init__(self, rules: RuleSet, facts: Facts, settings: EngineSettings, make: Callable[[], Publisher]) -> None:
        if fact_tables(facts) is not None:
            what = "facts in a database, or too many for memory, need a single process"
            raise Refused(what, hint="leave out --threads")
        refuse_circles(rules, "absences that cause each other in a circle run only in one process: leave out --threads")
        self.rules = rules
        groups = rule_split(rules).groups
        shares = balance_work([float(len(group)) for group in groups], settings.threads)
        positions = [sorted(rule for group in share for rule in groups[group]) for share in shares]
        parts = [WorkerRules(make, each) for each in positions]
        self._lookback = longest_lookback(rules.rules, settings.trex)
        self._numbers = [WorkerNumbers() for _ in parts]
        self._count = self._events = 0
        """The number of published events, and the number of external events among them."""
        self._past = deque[tuple[int, int]]([(0, 0)])
        """Some times, each with the number of events published by then."""
        self._workers = _start_processes(parts)
        weakref.finalize(self, _stop, self._workers)
        self._now: int | None = None
        self._passed: int | None = None
        self._failure: WorkbenchError | None = None

    def process(self, event: Occurrence) -> list[Occurrence]:
        check_event(event, self.rules, self._now, self._passed)
        self._now = event.time
        return self._query_or_fail(("event", (event.type, event.time, event.values)), 1)

    def takes_block(self, events: int) -> bool:
        return True

    def process_block(self, block: EventBlock, *, sources: bool = False) -> Iterator[list[Occurrence]]:
        if self._failure is None:
            check_time(int(block.times[0]), self._now, self._passed)
        self._now = int(block.times[-1])
        yield self._query_workers(("block", block), len(block))
        if self._failure is not None:
            raise self._failure

    def advance(self, time: int) -> list[Occurrence]:
        self._passed = time if self._passed is None else max(time, self._passed)
        self._now = self._passed if self._now is None else max(self._now, self._passed)
        return self._query_or_fail(("clock", time))

    def _query_or_fail(self, request: PoolRequest, events: int = 0) -> list[Occurrence]:
        composites = self._query_workers(request, events)
        if self._failure is not None:
            raise self._failure
        return composites

    def _query_workers(self, request: PoolRequest, events: int = 0) -> list[Occurrence]:
        """Return the composites of all workers for some events, as one process publishes them, up to the first failure.

        After a failure no more requests are sent: the workers are out of step.
        """
        answers, until = self._answers(request), self._events + events
        failures = [each.failure for each in answers if each.failure is not None]
        end, self._failure = min(failures, key=itemgetter(0), default=(None, None))
        streams = (zip(repeat(i), each.composites) for i, each in enumerate(answers))
        composites = [
            self._publish(worker, placed)
            for worker, placed in merge(*streams, key=lambda each: each[1].sort_key)
            if end is None or placed.sort_key < end
        ]
        self._number_events(until)
        self._forget()
        return composites

    def _answers(self, request: PoolRequest) -> Sequence[PoolAnswer]:
        """Return the answers of all workers; after a failure or an interrupt no request is sent again.

        Otherwise the next request would receive answers to this one.
        """
        if self._failure is not None:
            raise self._failure
        data = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
        try:
            for worker in self._workers:
                worker.send(data)
            return [worker.receive() for worker in self._workers]
        except BaseException as error:
            interrupted = WorkbenchError("the workers of these rules were interrupted", hint="restart the run")
            self._failure = error if isinstance(error, WorkbenchError) else interrupted
            raise

    def _publish(self, worker: int, placed: WorkerComposite) -> Occurrence:
        """Make the occurrence of a worker's composite, with its number and those of its sources."""
        self._number_events(placed.events)
        numbers, number, (type, time, values, own, rule) = self._numbers[worker], self._count, placed.composite
        numbers.add((number,))
        self._count += 1
        return Occurrence(type, time, values, number, tuple(map(numbers.__getitem__, own)), rule)

    def _number_events(self, until: int) -> None:
        """Number external events, up to this count, all of which each worker knows."""
        if more := until - self._events:
            for each in self._numbers:
                each.add(range(self._count, self._count + more))
            self._count, self._events = self._count + more, until

    def _forget(self) -> None:
        """Forget the numbers of events that are too old for any match."""
        if self._now is None or self._lookback is None:
            return
        if self._count >= self._past[-1][1] + FORGET_AT:
            self._past.append((self._now, self._count))
        while len(self._past) > 1 and self._past[1][0] < self._now - self._lookback:
            self._past.popleft()
            for each in self._numbers:
                each.forget_before(self._past[0][1])

    def profile(self) -> Sequence[RuleCost]:
        costs: Mapping[str, RuleCost] = {
            cost.rule: cost for each in self._answers(("costs", None)) for cost in each.costs
        }
        return [costs[rule.name] for rule in self.rules.rules if rule.name in costs]


class ProcessWorker:
    """A worker in its own process.

    Parameters
    ----------
    rules: the rules that it runs.
    others: the existing workers.
    """

    def __init__(self, rules: WorkerRules, others: Sequence[ProcessWorker]) -> None:
        self.process: Forked = Forked(partial(_serve, rules), [each.process for each in others])

    def send(self, request: bytes) -> None:
        """Send a request, given as bytes."""
        try:
            self.process.connection.send_bytes(request)
        except OSError:
            self._raise_lost()

    def receive(self) -> PoolAnswer:
        """Wait for the answer to the oldest open request."""
        try:
            answer: PoolAnswer = pickle.loads(self.process.connection.recv_bytes())
        except (EOFError, OSError):
            self._raise_lost()
        return answer

    def stop(self) -> None:
        """Kill the process."""
        self.process.process.kill()  # it has no state to save
        self.process.stop(now=True)

    def _raise_lost(self) -> NoReturn:
        hint = "there may be too little memory: use fewer --threads"
        raise WorkbenchError(f"a worker is lost: {self.process.cause_of_death}", hint=hint)


def _serve(rules: WorkerRules, connection: Connection) -> None:
    while True:
        request = pickle.loads(connection.recv_bytes())
        connection.send_bytes(pickle.dumps(rules.answer(request), pickle.HIGHEST_PROTOCOL))


def _start_processes(parts: Sequence[WorkerRules]) -> list[ProcessWorker]:
    workers: list[ProcessWorker] = []
    for each in parts:
        with hold():
            workers.append(ProcessWorker(each, workers))
    return workers


def _stop(workers: Sequence[ProcessWorker]) -> None:
    with hold():
        for each in workers:
            each.stop()
