"""The engine `compiled` of rules: a rule set as tables that one kernel interprets, over columns of events.

The rule of this module: when the kernel meets an event that it cannot process (a number of more than 64 bits, an
endless chain, facts that a database does not return), the event is rolled back and the engine `cdp` resumes from the
state. After some events the kernel takes over again, if the state fits in words. `cdp` also changes rules, and
processes the events before machine code of the kernel is ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np

from workbench.errors import FactsError, Refused
from workbench.executors.compiled.execute.text_codes import TextCodes
from workbench.executors.compiled.rules.blocks import (
    SingleEvent,
    append_events,
    composite_block,
    event_words,
    take_composites,
)
from workbench.executors.compiled.rules.compiling import (
    PLAIN,
    SHORT_RUN,
    KernelFunctions,
    compile_functions,
    is_startable,
)
from workbench.executors.compiled.rules.costs import CostCounter, add_costs
from workbench.executors.compiled.rules.expressions import text_literals
from workbench.executors.compiled.rules.facts import load_facts, retain_facts
from workbench.executors.compiled.rules.memory import MAX_LETTERS, KernelMemory
from workbench.executors.compiled.rules.plan import build_tables
from workbench.executors.compiled.rules.records import FAR, LEAST_WORD, EventWords, KernelStatus
from workbench.executors.compiled.rules.refusals import refuse_unsupported
from workbench.executors.compiled.rules.transfer import (
    is_complete,
    list_held_events,
    read_publisher,
    to_publisher,
)
from workbench.tesla.engines.engine import EngineSettings, RuleCost
from workbench.tesla.engines.facts import changing_tables
from workbench.tesla.engines.publisher import Publisher, check_event, check_time
from workbench.tesla.engines.set_plan import SetPlan
from workbench.tesla.event_block import EventBlock, LargeNumberError, event_block
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

EXACT_EVENTS, WAITING_EVENTS = 1024, 256
"""Events that `cdp` processes before the kernel takes the state back, and before it checks for machine code."""
CAPACITY = 1024
"""Initial capacity of each array that grows."""

FULL_OF_COMPOSITES, LARGE_OUTPUT = (KernelStatus.FULL_PENDING, KernelStatus.FULL_OUTPUT), 1 << 15
"""Sufficient output capacity, unless one event causes more composites: a larger block saves little per composite."""


class CompiledRules:
    """A rule set that runs as tables, interpreted by the kernel.

    Parameters
    ----------
    capacity: see `KernelMemory`.
    texts: the text codes of the run that this engine is a part of; by default it has its own.
    numbered: whether composites take numbers in the order of events.
    waits: whether `cdp` runs until there is machine code of the kernel; otherwise plain Python does.

    Raises
    ------
    Refused: the kernel does not support a construct.
    """

    def __init__(
        self, rules: RuleSet, facts: Facts, settings: EngineSettings, capacity: int = CAPACITY,
        texts: TextCodes | None = None, *, numbered: bool = True, waits: bool = False,
    ) -> None:  # fmt: skip
        self.facts, self.settings = facts, settings
        self._capacity, self._given_texts, self._numbered = capacity, texts, numbered
        self._changing = changing_tables(facts) is not None
        self._exact: Publisher | None = None
        self._exact_left, self._waits = 0, waits and not settings.plain
        self._passed: int | None = None
        self._seen = 0
        self._block_texts: Mapping[int, str] = {}
        self._before: Sequence[RuleCost] = ()
        self._begin(rules)
        self.memory = self._new_memory(PLAIN)
        self._retained = retain_facts(self._tables.plan, self.facts)
        if not self._waits:
            self._start()

    def _start(self) -> None:
        """Let the kernel start, at the first event or from the state of `cdp`."""
        if self._exact is not None:
            self._take_back()
            return
        try:
            self._read_facts(self.memory)
        except LargeNumberError:
            self._hand_over()

    def _begin(self, rules: RuleSet) -> None:
        """Plan rules in their initial state."""
        plan = SetPlan(rules, indexed=self.settings.indexed)
        refuse_unsupported(plan.plans)
        texts = self._given_texts or TextCodes(text_literals(rules))
        self._tables = build_tables(
            plan, lambda text: texts.put([text])[0], trex=self.settings.trex, profiled=self.settings.profiled
        )
        self._rules, self.texts = rules, texts
        self._single = SingleEvent(rules, self._tables.sizes.width, lambda text: texts.put([text])[0])
        self._costs = CostCounter(len(rules.events))

    def _new_memory(self, functions: KernelFunctions) -> KernelMemory:
        """Allocate the arrays of these rules, as before the first event."""
        memory = KernelMemory(self._tables, self._capacity, functions)
        memory.state.profiled, memory.state.numbered = self.settings.profiled, self._numbered
        return memory

    def _read_facts(self, memory: KernelMemory) -> None:
        """Read the current facts.

        Raises
        ------
        Refused: too many rows. FactsError: a database does not answer. LargeNumberError: a number is too large.
        """
        self._retained = retain_facts(self._tables.plan, self.facts)
        rows = self.facts if self._retained is None else self._retained.rows
        load_facts(memory, rows, self.texts, plain=self.settings.plain)

    @property
    def by_blocks(self) -> bool:
        """Whether each block of events queries databases, since a table is too large to retain."""
        return self._retained is not None and self._retained.by_blocks

    @property
    def rules(self) -> RuleSet:
        """The rules that run."""
        return self._rules if self._exact is None else self._exact.rules

    @property
    def now(self) -> int | None:
        """The time of the last event; None before the first one."""
        now = int(self.memory.state.now)
        return None if now == LEAST_WORD else now

    @property
    def count(self) -> int:
        """The number of events so far, composites included."""
        return int(self.memory.state.order) if self._exact is None else self._exact.count

    # --- events -----------------------------------------------------------------------------------------

    def process(self, event: Occurrence) -> list[Occurrence]:
        """Return the composites that an event causes."""
        parts = self.process_single(event, self._take_singly, sources=True)
        return [composite for part in parts for composite in part]

    def _take_singly(self) -> list[Occurrence]:
        """Take the composites of the output as a list."""
        return take_composites(self.memory, self.texts.by_code)

    def process_single(self, event: Occurrence, read: Callable[[], Any], *, sources: bool) -> list[Any]:
        """Process an event; return the results of `read` for each output of the kernel, or composites of `cdp`."""
        if self.takes_block(1):
            check_event(event, self._rules, self.now, self._passed)
            with suppress(LargeNumberError):
                if self._retained is not None:
                    block = event_block(self._rules, [event], self.texts.put)
                    return list(self.process_block(block, sources=sources, read=read))
                self._single.write(event)
                self._count_events(1)
                self._block_texts, self.memory.state.with_sources = {}, sources
                parts = [read() for _ in self._compute(self._single.words)]
                if self._seen % SHORT_RUN == 0:
                    self._forget_texts()
                if self.memory.state.reached:
                    return parts
        composites = list[Occurrence]()
        self._process_exactly([event], composites)
        return [composites]

    def takes_block(self, events: int) -> bool:
        """Whether the kernel processes a block of this many events; may load machine code if they pay for it."""
        if self._waits and self._exact_left <= 0 and is_startable(self._seen + events):
            self.use_machine_code()
        return events > 0 and self._exact is None and not self._waits

    def process_block(
        self, block: EventBlock, *, sources: bool = False, read: Callable[[], Any] | None = None
    ) -> Iterable[Any]:
        """Yield the composites of a block, in the order of publication: each part a block or, from `cdp`, a list.

        Parameters
        ----------
        read: reads the output of the kernel in place of a block.
        """
        if block.texts:
            self.texts.put(list(block.texts.values()))
        if self.takes_block(len(block)):
            check_time(int(block.times[0]), self.now, self._passed)
            self._count_events(len(block))
        yield from self.run_block(block, sources=sources, read=read)

    def run_block(self, block: EventBlock, *, sources: bool, read: Callable[[], Any] | None = None) -> Iterator[Any]:
        """Process a block as `process_block` does; its texts are known, and it is not late."""
        self._see_facts()
        read = read or partial(self._take_block, sources=sources)
        done = 0
        while done < len(block):
            rest = block.part(done, len(block)) if done else block
            if self.takes_block(len(rest)) and (ready := self._load_facts(rest)):
                self._block_texts = block.texts
                self.memory.state.with_sources = sources
                for _ in self._compute(event_words(rest.part(0, ready), self._tables.sizes.width)):
                    yield read()
                done += int(self.memory.state.reached)
                if self.memory.state.reached < ready:
                    self._hand_over()
                self._forget_texts()
                continue
            composites = list[Occurrence]()
            try:
                done += self._process_exactly(rest.part(0, EXACT_EVENTS).occurrences(self.rules), composites)
            finally:
                yield composites

    def _take_block(self, *, sources: bool) -> EventBlock:
        """Take the composites of the output as a block."""
        return composite_block(self.memory, self.texts.by_code, sources=sources)

    def _load_facts(self, block: EventBlock) -> int:
        """Load the facts for a block; return the number of its events, from the first on, for which they suffice."""
        if np.abs(block.times[[0, -1]]).max() >= FAR:
            return 0
        if self._retained is None:
            return len(block)
        ready, rows = self._retained.load(block)
        try:
            load_facts(self.memory, rows, self.texts, plain=self.settings.plain)
        except LargeNumberError:
            return 0
        return ready

    def _see_facts(self) -> None:
        """Read changed facts again, as `cdp` does."""
        if self._changing and self._exact is None:
            assert self._retained is not None
            if self._retained.are_outdated():
                self._hand_over()
                self._take_back()

    def read_block(self, block: EventBlock) -> list[int]:
        """Append events, whose texts are known, to the history without triggering rules.

        Returns the numbers of the composites of events that `cdp` processed because the kernel could not.
        """
        if self._exact is None:
            orders: Any = self.count + np.arange(len(block))
            words = event_words(block, self._tables.sizes.width)._replace(orders=orders)
            self.memory.state.reached = 0
            if np.abs(block.times[[0, -1]]).max() < FAR and append_events(self.memory, words, self.texts, block.texts):
                return []
            block = block.part(int(self.memory.state.reached), len(block))
        events = block.occurrences(self.rules)
        return [each.number for event in events for each in self._hand_over().process(event)]

    def _count_events(self, count: int) -> None:
        """Count events, and switch to machine code once there are enough to pay for it."""
        self._seen += count
        if self._seen > SHORT_RUN:
            self.use_machine_code()

    def use_machine_code(self) -> None:
        """Switch to machine code, unless the settings demand plain Python."""
        if not self.settings.plain and self.memory.functions is PLAIN:
            self.memory.functions = compile_functions()
        if self._waits:
            self._waits = False
            self._start()

    def _forget_texts(self) -> None:
        """Release texts that nothing refers to, from time to time."""
        before, history = len(self.texts), self.memory.history
        self.texts.forget(lambda: [history.cells.ravel(), history.silences[:, 2:-1].ravel()])
        if len(self.texts) < before or self.memory.state.letters > MAX_LETTERS:
            self.memory.forget_texts()

    def _compute(self, events: EventWords) -> Iterator[None]:
        """Let the kernel process events as far as it can; yields whenever there is output to take."""
        memory, state = self.memory, self.memory.state
        state.reached, status = 0, KernelStatus.FULL_OUTPUT
        while status != KernelStatus.DONE:
            status = self._costs.run(memory, events) if self.settings.profiled else memory.run(events)
            if state.outputs:
                yield
                if status in FULL_OF_COMPOSITES and len(memory.output.types) < LARGE_OUTPUT:
                    memory.grow(status)  # a few large blocks cost less than many small ones
            elif status == KernelStatus.LATE:
                check_time(int(events.times[int(state.reached)]), self.now, self._passed)
            elif status >= KernelStatus.BEYOND:
                return
            elif status != KernelStatus.DONE:
                memory.supply(status, self.texts, self._block_texts)

    def advance(self, time: int) -> list[Occurrence]:
        """Return the composites that the clock causes up to a time."""
        read = self._take_singly
        return [composite for part in self.run_until(time, sources=True, read=read) for composite in part]

    def run_until(self, time: int, *, sources: bool, read: Callable[[], Any] | None = None) -> Iterator[Any]:
        """Yield the composites that the clock causes up to a time, in parts as `process_block` does."""
        self._see_facts()
        read = read or partial(self._take_block, sources=sources)
        state = self.memory.state
        if self._exact is None and state.due <= time:
            state.until, state.with_sources = min(time, FAR), sources
            for _ in self._compute(event_words(event_block(self._rules, [], self.texts.put), self._tables.sizes.width)):
                yield read()
            state.until = LEAST_WORD
            if state.due <= time:
                self._hand_over()
        if self._exact is not None:
            yield self._exact.advance(time)
        self._passed = time if self._passed is None else max(time, self._passed)

    def forget_events(self) -> None:
        """Forget all events; numbering continues."""
        self._exact = None
        self.memory.forget_events()

    def copy_history(self, other: CompiledRules) -> None:
        """Copy the history of another engine of these rules."""
        self.memory = other.memory.copy_for_thread(self.memory.functions)

    def profile(self) -> Sequence[RuleCost]:
        """Return the cost of each rule."""
        if not self.settings.profiled:
            return []
        costs = self._costs.costs(self.memory) if self._exact is None else self._exact.profile()
        return add_costs(costs, self._before)

    # --- events that the kernel cannot process -----------------------------------------------------------

    def _hand_over(self) -> Publisher:
        """Hand the state over to `cdp`."""
        if self._exact is None:
            self._before = self.profile()
            self._exact, self._exact_left = self._make_publisher(), WAITING_EVENTS if self._waits else EXACT_EVENTS
        return self._exact

    def _process_exactly(self, events: Sequence[Occurrence], composites: list[Occurrence]) -> int:
        """Process events with `cdp` until the kernel takes the state back; return how many were processed."""
        for count, event in enumerate(events, 1):
            composites += self._hand_over().process(event)
            self._seen, self._exact_left = self._seen + 1, self._exact_left - 1
            if self._exact_left <= 0 and self._take_back():
                return count
        return len(events)

    def _take_back(self) -> bool:
        """Let the kernel take over, if the state fits in words; return whether it does."""
        exact = self._exact
        assert exact is not None
        if self._waits:
            self._exact_left = WAITING_EVENTS
            if is_startable(self._seen):
                self.use_machine_code()
            return self._exact is None
        self._exact_left = EXACT_EVENTS + len(list_held_events(exact))  # the check is slow where there are many
        try:
            if exact.rules != self._rules:
                self._begin(exact.rules)
            memory = self._new_memory(self.memory.functions)
            if not is_complete(exact):
                return False
            self._read_facts(memory)
            read_publisher(exact, memory, self.texts)
        except (LargeNumberError, Refused, FactsError):  # a rule that was added later, too many facts, or no answer
            return False
        self._before, self._costs = self.profile(), CostCounter(len(self._rules.events))
        self.memory, self._passed, self._exact = memory, exact.passed, None
        return True

    def _make_publisher(self) -> Publisher:
        """Build the engine `cdp` with the current state."""
        if self._exact is not None:
            return self._exact
        exact = to_publisher(self.memory, self.facts, self.settings, self.texts.by_code)
        known = [time for time in (self.now, self._passed) if time is not None]
        exact.now, exact.passed = max(known, default=None), self._passed
        return exact

    def add(self, rules: RuleSet | str) -> Mapping[str, float]:
        """Append rules."""
        with self._change_rules() as exact:
            return exact.add(rules)

    def remove(self, name: str) -> None:
        """Remove a rule."""
        with self._change_rules() as exact:
            exact.remove(name)

    def replace(self, name: str, rules: RuleSet | str) -> float:
        """Replace a rule."""
        with self._change_rules() as exact:
            return exact.replace(name, rules)

    @contextmanager
    def _change_rules(self) -> Iterator[Publisher]:
        """Let `cdp` change its rules."""
        try:
            yield self._hand_over()
        finally:
            self._take_back()

    def snapshot(self) -> bytes:
        """Return the state as bytes."""
        return self._make_publisher().snapshot()

    def restore(self, state: bytes) -> None:
        """Resume from the state of another engine."""
        with self._change_rules() as exact:
            exact.restore(state)
