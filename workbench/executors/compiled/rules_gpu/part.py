"""The rules on one device, as a part of an engine: what comes of blocks of events, in the words of `layout`.

The rule of this module: a part numbers what it publishes as if its rules were all there are (`placing`). A rule in
which a number has left 64 bits is one of the engine `cdp` from then on, which is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.core.domain import Domain
from workbench.errors import InputError
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.lines import OTHERS, WORD
from workbench.executors.compiled.rules.outputs import value_of
from workbench.executors.compiled.rules.running import FAR, RunningProgram
from workbench.executors.compiled.rules.runs import Published
from workbench.executors.compiled.rules_gpu.columns import DeviceColumns, StagedRows
from workbench.executors.compiled.rules_gpu.costs import STRETCH
from workbench.executors.compiled.rules_gpu.device import RuleDevice
from workbench.executors.compiled.rules_gpu.placement import RulePlacement
from workbench.executors.compiled.rules_gpu.sequences import MOST_SEQUENCES, RuleSequences
from workbench.tesla.engines.cdp.matcher import CDPMatcher
from workbench.tesla.engines.engine import RuleCost
from workbench.tesla.engines.facts.order import sort_facts
from workbench.tesla.engines.rule_plan import RulePlan, RuleStep
from workbench.tesla.engines.runner import MatcherStart, RuleRunner, consumption
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.resolved import domain_of

_NOTHING: Any = np.zeros(0, np.int64)


class DeviceRules:
    """Rules on a device.

    Parameters
    ----------
    running: a program of the same rules, which knows texts, and what words values have.
    asked: the places of the rules.
    number, sizes: of the device: see `RuleDevice`.
    stretch: events that are taken together. most: sequences that are looked at together.
    """

    def __init__(
        self, running: RunningProgram, placement: RulePlacement, asked: Collection[int], number: int,
        stretch: int = STRETCH, most: int = MOST_SEQUENCES, **sizes: int,
    ) -> None:  # fmt: skip
        self.running, self.program, self.plan = running, running.program, running.plan
        self._stretch, self._most = stretch, most
        self._exact: dict[int, RuleRunner] = {}
        self._emitted: dict[int, dict[tuple[int, ...], int]] = {rule: {} for rule in asked}
        self._gone: dict[int, set[int]] = {rule: set() for rule in asked}
        self._blocks: list[tuple[EventBlock, int]] = []
        self._caused, self._forgotten, self._events = _NOTHING, 0, 0
        self.device = RuleDevice(number, **sizes)
        with self.device.current():
            self._begin(placement, asked)

    def _begin(self, placement: RulePlacement, asked: Collection[int]) -> None:
        facts: dict[int, Any] = {}
        for planned in self.plan.columns:
            if planned.fact and any(rule in asked for rule, _ in planned.users):
                facts[placement.columns[planned.number]] = self._facts(planned.users[0][1])
        counts = {place: count for place, (_, count) in facts.items()}
        self.columns = DeviceColumns(self.plan, asked, placement.columns, counts, self.device)
        self.runs: dict[int, RuleSequences] = {}
        for rule in sorted(asked):
            source = placement.sources[rule]
            steps = {i: each.planned for i, each in enumerate(source.steps) if each.planned and each.step.fact}
            rows = {i: facts[placement.columns[planned.column]][0] for i, planned in steps.items()}
            self.runs[rule] = RuleSequences(source, rule, self.columns, rows, self._most)
        self._reach = max((column.reach for column in self.columns.columns.values()), default=0)

    def _facts(self, step: RuleStep) -> tuple[Any, int]:
        """Facts in the order that is written, as words; and how many there are."""
        rows = [tuple(row) for row in self.running.retained.rows.get(step.type, ())]
        ordered = [*sort_facts(step.part, step.declared, rows)]
        room = 1 << max(len(rows) - 1, 0).bit_length()
        found: Any = np.zeros((room, at.VALUES + len(step.declared.attributes)), np.int64)
        for i, row in enumerate(ordered):
            found[i] = [0, i, *self.running.words(step.type, row)]
        return found.T.copy(), len(rows)

    # --- as parts are -----------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many events there have been, composites among them."""
        return self._events + self._forgotten + len(self._caused)

    def profile(self) -> Sequence[RuleCost]:
        """Nothing: it is not asked for."""
        return []

    def process(self, event: Occurrence) -> list[Occurrence]:
        """InputError: it is an event that has no room in words, since others come in blocks."""
        what = f"an event of type {event.type} has a number of more than 64 bits, for which devices have no room"
        raise InputError(what, hint=OTHERS)

    def parts_until(self, *_: Any) -> Iterator[Any]:
        """Nothing comes of time alone."""
        return iter(())

    def parts_of(self, block: EventBlock, made: Callable[..., Any], told: Callable[..., Any]) -> Iterator[Any]:
        """What comes of a block."""
        del told
        if abs(block.times[[0, -1]]).max() >= FAR:
            raise InputError("a device has no room for times of 2**62 and more", hint=OTHERS)
        with self.device.current():
            found = self._found(block)
        yield made(self._published(found), self.program, self.running.known)

    def _found(self, block: EventBlock) -> list[tuple[int, Any]]:
        """Rules, stretch after stretch, with the words of their composites."""
        found: list[tuple[int, Any]] = []
        parts = [block.part(i, i + self._stretch) for i in range(0, len(block), self._stretch)]
        staged = self.columns.stage(parts[0], self._events)
        for i, part in enumerate(parts):
            here = staged
            if i + 1 < len(parts):
                staged = self.columns.stage(parts[i + 1], self._events + len(part))
            self.columns.adopt(here, part)
            found += [(rule, self._of_rule(rule, part, here.rows)) for rule in self.runs]
            self._blocks.append((part, self._events))
            self._events += len(part)
            self._forget(int(part.times[-1]))
        return found

    def _forget(self, now: int) -> None:
        self.columns.forget(now)
        while len(self._blocks) > 1 and int(self._blocks[0][0].times[-1]) < now - self._reach:
            del self._blocks[0]
        for rule, gone in self._gone.items():
            if len(gone) > 2 * self._stretch:
                self._gone[rule] = {number for number in gone if number >= self._blocks[0][1]}
        for rule, emitted in self._emitted.items():
            if len(emitted) > 2 * self._stretch:
                pause = self.plan.plans[rule].pause or 0
                self._emitted[rule] = {key: time for key, time in emitted.items() if now - time < pause}

    def _published(self, found: Sequence[tuple[int, Any]]) -> Published:
        """Rows of composites of several rules, in the order of their triggers, then of rules, then of matches."""
        triggers = [rows[:, self._first_source(rule)] for rule, rows in found]
        offsets, begin = [], 0
        for _, rows in found:
            offsets.append(begin + rows.shape[1] * np.arange(len(rows)))
            begin += rows.size
        caused = np.concatenate([_NOTHING, *triggers])
        rules = np.concatenate([_NOTHING, *(np.full(len(rows), rule) for rule, rows in found)])
        order = np.lexsort((rules, caused))
        before = self._forgotten + len(self._caused)
        self._caused = np.concatenate([self._caused, caused[order]])
        for rule, rows in found:
            sources = rows[:, self._first_source(rule) :]
            sources += self._forgotten + np.searchsorted(self._caused, sources, "left")
        words, places = (
            np.concatenate([_NOTHING, *(rows.ravel() for _, rows in found)]),
            np.concatenate([_NOTHING, *offsets])[order],
        )
        words[places + at.ID] = caused[order] + 1 + before + np.arange(len(order))
        gone = int(np.searchsorted(self._caused, self._blocks[0][1], "left"))
        self._caused, self._forgotten = self._caused[gone:], self._forgotten + gone
        return Published(words, places)

    def _first_source(self, rule: int) -> int:
        return at.RECORD + int(self.program.R[rule, at.GIVEN])

    # --- a rule -----------------------------------------------------------------------------------------

    def _of_rule(self, rule: int, block: EventBlock, staged: Mapping[str, StagedRows]) -> Any:
        """The composites of a rule, a row of words each; their sources are numbers of events from outside."""
        if rule in self._exact:
            return self._exactly(rule, block)
        run, plan = self.runs[rule], self.plan.plans[rule]
        before = dict(self._emitted[rule])
        if self.device.word(self.columns.beyond, 0):
            return self._exactly(rule, block)
        rows = staged[plan.trigger.type]
        if run.source.consumes:
            found = [self._consumed(rule, plan, run.of_one(rows, place)) for place in run.triggers(rows)]
            made = np.concatenate([np.zeros((0, run.source.size), np.int64), *found])
        else:
            made = self._left(rule, plan, run.composites(rows))
        if run.failed:
            self._emitted[rule] = before
            return self._exactly(rule, block)
        if run.source.consumes:
            self._gone[rule].update(made[:, self._consumed_words(rule, plan)].ravel().tolist())
        return made

    def _consumed_words(self, rule: int, plan: RulePlan) -> list[int]:
        """Where in a composite the numbers of consumed events are."""
        return [self._first_source(rule) + plan.event_slots.index(slot) for slot in plan.consumed_slots]

    def _left(self, rule: int, plan: RulePlan, rows: Any) -> Any:
        """What is left of matches by the limit, and by silence."""
        size = self.runs[rule].source.size
        if plan.rule.limit is not None and len(rows):
            triggers = rows[:, self._first_source(rule)]
            ranks = np.arange(len(rows)) - np.searchsorted(triggers, triggers, "left")
            rows = rows[ranks < plan.rule.limit]
        if plan.pause is not None:
            rows = rows[[self._heard(rule, plan.pause, row[size:], row[at.WHEN]) for row in rows.tolist()]]
        return rows[:, :size]

    def _heard(self, rule: int, pause: int, key: list[int], time: int) -> bool:
        """Whether it has not been silent long enough."""
        emitted, name = self._emitted[rule], tuple(key)
        if name in emitted and time - emitted[name] < pause:
            return False
        emitted[name] = time
        return True

    def _consumed(self, rule: int, plan: RulePlan, rows: Any) -> Any:
        """What is left of the matches of one trigger, whose events are consumed."""
        made = self._left(rule, plan, rows)
        span = self._events + self._stretch - (self._blocks[0][1] if self._blocks else 0)
        self.runs[rule].consume(np.unique(made[:, self._consumed_words(rule, plan)]), span)
        return made

    # --- exact arithmetic -------------------------------------------------------------------------------

    def _exactly(self, rule: int, block: EventBlock) -> Any:
        """The same by the engine `cdp`, which goes on with the rule."""
        if rule not in self._exact:
            self._exact[rule] = self._runner(rule)
        runner, found = self._exact[rule], list[Occurrence]()
        for event in self._occurrences(block, self._events):
            start = runner.plan.start(event) if event.type == runner.plan.trigger.type else None
            if start is not None:
                found += runner.fire(start)[0]
            self._seen(runner, event)
        rows: Any = np.zeros((len(found), self.runs[rule].source.size), np.int64)
        for row, each in zip(rows, found, strict=True):
            words = self.running.words(each.type, each.values)
            if large := [word for word in words if not -WORD <= word < WORD]:
                raise InputError(f"rule '{each.rule}' makes {large[0]}, which has more than 64 bits", hint=OTHERS)
            row[:] = [rule, each.time, 0, 0, -1, *words, *each.sources]
        return rows

    def _runner(self, rule: int) -> RuleRunner:
        """The rule as `cdp` runs it, with what it knows."""
        plan = self.plan.plans[rule]
        consumed = consumption(plan, trex=False)
        matcher = CDPMatcher(MatcherStart(plan, self.running.facts, False, consumed))
        runner = RuleRunner(plan, matcher, rule, consumed=consumed)
        for block, first in self._blocks:
            for event in self._occurrences(block, first):
                self._seen(runner, event)
                for each in consumed.values() if consumed is not None and event.number in self._gone[rule] else ():
                    each[event.number] = event.time
        domains = list(map(domain_of, plan.rule.per))
        for (gaps, *words), time in self._emitted[rule].items():
            given = enumerate(zip(words, domains, strict=True))
            key = tuple(self._key(gaps >> i & 1, word, domain) for i, (word, domain) in given)
            runner.emitted[key] = time
        return runner

    def _key(self, gap: int, word: int, domain: Domain | None) -> Any:
        found = None if gap else value_of(domain, word, np.int64(word).view(np.float64), self.running.known)
        return "nan" if found != found else found

    def _occurrences(self, block: EventBlock, first: int) -> Iterator[Occurrence]:
        for i, each in enumerate(block.occurrences(self.running.rules)):
            yield Occurrence(each.type, each.time, each.values, first + i)

    @staticmethod
    def _seen(runner: RuleRunner, event: Occurrence) -> None:
        if any(step.type == event.type and not step.fact for step in runner.plan.steps[1:]):
            runner.matcher.add(event)
