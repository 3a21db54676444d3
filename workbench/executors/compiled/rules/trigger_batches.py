"""Rules whose triggers are matched together, a batch of events at a time: on a GPU, one thread per trigger.

The rule of this module: the output equals that of the kernel event by event. The events of a batch get provisional
order numbers, as if they caused nothing; once their composites are counted, their rows get the final ones. A batch in
which a number leaves 64 bits is rolled back, and the engine `cdp` resumes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from workbench.errors import Refused
from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.memory import make_scratch
from workbench.executors.compiled.rules.records import EventWords, KernelStatus
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.publisher import check_time
from workbench.tesla.engines.set_plan import SetPlan, find_dependences
from workbench.tesla.occurrence import Facts
from workbench.tesla.rule_set import RuleSet

MAX_BATCH_EVENTS = 1 << 14
"""Maximum number of events that are processed together."""
CANDIDATES = 64
"""Initial capacity of each thread for candidates."""
ANSWERED = {KernelStatus.MISSING_TEXT, KernelStatus.MISSING_JOINED, KernelStatus.WIDE_BAND}
"""Statuses on which data is added for all threads before they run again."""
HINT = "--backend compiled runs them"


class TriggerDevice(Protocol):
    """A device that matches triggers."""

    threads: int

    def match(
        self, plan: Any, history: Any, scratches: Any, states: Any, triggers: Any, output: records.CompositeWords
    ) -> None:
        """Match all triggers; `scratches` and `states` have an entry for each thread."""


class BatchedRules(CompiledRules):
    """A rule set whose triggers are matched together.

    Parameters
    ----------
    device: matches the triggers.
    batch_size: maximum number of events that are processed together.
    candidates: initial capacity of each thread for candidates.

    Raises
    ------
    Refused: a rule cannot be matched so, or the kernel does not support it.
    """

    def __init__(
        self, rules: RuleSet, facts: Facts, settings: EngineSettings, device: TriggerDevice, *,
        batch_size: int = MAX_BATCH_EVENTS, candidates: int = CANDIDATES,
    ) -> None:  # fmt: skip
        super().__init__(rules, facts, settings)
        refuse_dependent(self._tables.plan, settings)
        self._device, self._batch_size, self._candidates = device, batch_size, candidates
        self._triggers = records.allocate(2 * batch_size + len(self.memory.plan.rules), records.TRIGGER)

    def _compute(self, events: EventWords) -> Iterator[None]:
        """Process events batch by batch; yields whenever there is output to take."""
        state, count = self.memory.state, len(events.types)
        state.reached = 0
        while state.reached < count:
            first = int(state.reached)
            times = np.concatenate([[state.now], events.times[first : first + self._batch_size]])
            late = np.flatnonzero(times[1:] < times[:-1])
            last = first + int(late[0]) if len(late) else min(first + self._batch_size, count)
            if last == first:
                check_time(int(events.times[first]), self.now, self._passed)
            if not self._process(events, first, last):
                return
            if state.outputs:
                yield

    def _process(self, events: EventWords, first: int, last: int) -> bool:
        """Process a batch; if the kernel cannot, restore the state before it and return False."""
        memory, state = self.memory, self.memory.state
        self._reserve(events, first, last)
        appended, order, now = memory.history.columns.appended.copy(), int(state.order), int(state.now)
        joined = self._join(events, last)
        triggers = self._triggers[: int(state.triggers)]
        if not joined or not self._count(triggers):
            memory.history.columns.appended = appended
            for number in range(len(appended)):
                memory.functions.rebuild_chains(memory.history, number)
            state.order, state.now, state.reached, state.outputs = order, now, first, 0
            return False
        self._write(triggers, order)
        return True

    def _reserve(self, events: EventWords, first: int, last: int) -> None:
        """Enlarge the columns for the events of a batch, and reserve rows for these."""
        memory, sizes = self.memory, list[int]()
        memory.forget_rows(int(events.times[first]))
        counts = np.bincount(events.types[first:last], minlength=len(memory.plan.columns_of_type))
        for column, index in zip(memory.history.columns, memory.plan.columns, strict=True):
            row_count = int(column.appended - column.first) + (int(counts[index.type]) if index.type >= 0 else 0)
            sizes.append(max(int(column.mask) + 1, 1 << max(row_count - 1, 0).bit_length()))
        memory.lay_out(sizes, extra=self._batch_size)

    def _join(self, events: EventWords, last: int) -> bool:
        """Append the events of a batch to the history; return whether the kernel takes them."""
        memory, state = self.memory, self.memory.state
        state.batch_start, state.triggers, state.batch_row = (
            state.reached,
            0,
            len(memory.history.rows) - 2 - self._batch_size,
        )
        while True:
            memory.functions.join_events(
                memory.plan, memory.history, memory.scratch, memory.states, events, self._triggers, last
            )
            status = KernelStatus(int(memory.state.status))
            if status == KernelStatus.DONE or status >= KernelStatus.BEYOND:
                return status == KernelStatus.DONE
            memory.supply(status, self.texts, self._block_texts)

    def _count(self, triggers: Any) -> bool:
        """Count the matches of each trigger, and compute offsets of composites; return whether the kernel takes all."""
        self._match(triggers, self.memory.output.part(0), counting=True)
        triggers.first = np.cumsum(triggers.matches) - triggers.matches
        return bool((triggers.status == KernelStatus.DONE).all())

    def _match(self, triggers: Any, output: records.CompositeWords, *, counting: bool) -> None:
        """Match triggers, repeatedly while an array is full."""
        memory, threads = self.memory, self._device.threads
        while True:
            states: Any = np.repeat(memory.states, threads).view(records.Records)
            states.walked = records.GREATEST_WORD  # several threads would write the nodes of aggregates
            states.counting, triggers.status = counting, KernelStatus.DONE
            scratches = make_scratch(self._tables.sizes, threads, candidates=self._candidates)
            self._device.match(memory.plan, memory.history, scratches, states, triggers, output)
            statuses = {KernelStatus(each) for each in np.unique(triggers.status).tolist()}
            if KernelStatus.FULL_CANDIDATES in statuses:
                self._candidates *= 2
            elif missing := statuses & ANSWERED:
                self._answer(states, missing)
            else:
                return

    def _answer(self, states: Any, missing: set[KernelStatus]) -> None:
        """Supply the resources for which threads have stopped."""
        memory = self.memory
        for each in states:
            if (status := KernelStatus(int(each.status))) in missing:
                for name in ("text", "other_text", "full_column", "shift"):
                    setattr(memory.state, name, each[name])
                memory.supply(status, self.texts, self._block_texts)

    def _write(self, triggers: Any, order: int) -> None:
        """Write the composites, and give all events of the batch their final order numbers."""
        memory, state, total = self.memory, self.memory.state, int(triggers.matches.sum())
        memory.reserve_output(total)
        output = memory.output
        self._match(triggers, output.part(total), counting=False)
        events = int(state.order) - order
        caused = np.bincount(triggers.event, triggers.matches, events + 1).astype(np.int64)[:events]
        before = np.concatenate([np.cumsum(caused) - caused, [total]])
        output.orders[:total] = order + 1 + np.repeat(triggers.event, triggers.matches) + np.arange(total)
        if state.with_sources and total:
            sources = output.sources[:total]
            sources += np.where(sources >= order, before[np.clip(sources - order, 0, events)], 0)
        for number in range(self._tables.event_columns):
            slots = memory.slots_of(number)
            orders = memory.history.rows.order[slots]
            new = orders >= order
            memory.history.rows.order[slots[new]] += before[orders[new] - order]
        state.order += total
        state.outputs = state.pending = total


def refuse_dependent(plan: SetPlan, settings: EngineSettings) -> None:
    """Refuse rules whose triggers cannot be matched together, with the reasons."""
    reasons = [f"{name}: {reason}" for name, reason in find_dependences(plan).items()]
    if settings.profiled:
        reasons.append("the cost of rules is not counted there (leave out --profile)")
    if reasons:
        raise Refused(f"triggers cannot be matched together: {'; '.join(reasons)}", hint=HINT)
