"""Publication: the total order of events, which rules process each event, and its effects.

The rule of this module: an event is evaluated by every rule that reads its type, and joins the history; then its
effects are published, each in full before the next. Engines differ only in their matchers, which find the matches.

Sources: Di Pilla's thesis, 4.4 (listing 4.1, the index by types).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from heapq import heapify, heappop, heappush
from time import process_time
from typing import Any, NamedTuple

from workbench.core.readable import plural
from workbench.errors import InputError, LanguageError, PipelineError, did_you_mean
from workbench.extensions import later
from workbench.stored import checksum, seal, unseal
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.absences import Absences, DueAbsence
from workbench.tesla.engines.changes import begin, newcomers
from workbench.tesla.engines.engine import EngineSettings, RuleCost, RuleEngine
from workbench.tesla.engines.facts import changing_tables, fact_tables
from workbench.tesla.engines.rule_plan import RulePlan
from workbench.tesla.engines.rule_split import rule_split
from workbench.tesla.engines.runner import MakesMatcher, MatcherStart, RuleRunner, consumption
from workbench.tesla.engines.saved_state import EventStore
from workbench.tesla.occurrence import Facts, Occurrence, in_units
from workbench.tesla.rule_graph import LONGEST_CHAIN, endless_chain
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.scope import resolve_rule
from workbench.tesla.tree import Rule

FORMAT = 5
"""The format of snapshots; other formats are not read."""
CauseChain = tuple[str, ...]
"""The rules of the composites in a chain of causes, in order; empty for an external event."""


class Interest(NamedTuple):
    """The use of a type of events by a rule: whether they trigger it, and how they join its history (None: not)."""

    runner: RuleRunner
    triggers: bool
    keep: Callable[[Occurrence], None] | None


class Publisher:
    """An engine of rules (`RuleEngine`); a matcher finds the matches."""

    def __init__(
        self, name: str, rules: RuleSet, facts: Facts, settings: EngineSettings, matcher: MakesMatcher
    ) -> None:
        self.name, self.facts, self.settings = name, facts, settings
        changing = changing_tables(facts)
        self._settle = None if changing is None else changing.settle
        self._matcher = matcher
        self._rules = rules
        self.runners = [self._runner(RulePlan(each, settings.indexed), i) for i, each in enumerate(rules.resolved)]
        self._orders = len(self.runners)
        self.now: int | None = None
        self.passed: int | None = None
        self.count = 0
        self.waiting: list[tuple[int, int, int, DueAbsence]] = []
        self.asked: Collection[int] | None = None
        """The positions of the rules to run; None: all."""
        self._indexed = False

    @property
    def rules(self) -> RuleSet:
        return self._rules

    def process(self, event: Occurrence) -> list[Occurrence]:
        check_event(event, self._rules, self.now, self.passed)
        composites: list[Occurrence] = []
        if self.waiting and self.waiting[0][0] < event.time:
            self._publish_due_absences(event.time - 1, composites)
        self.now = event.time
        try:
            self._publish([(event, ())], composites)
        finally:
            if self._settle is not None:
                self._settle()
        return composites

    def advance(self, time: int) -> list[Occurrence]:
        composites: list[Occurrence] = []
        try:
            if self.waiting and self.waiting[0][0] <= time:
                self._publish_due_absences(time, composites)
        finally:
            if self._settle is not None:
                self._settle()
        self.passed = time if self.passed is None else max(time, self.passed)
        self.now = self.passed if self.now is None else max(self.passed, self.now)
        return composites

    def awaiting(self) -> Mapping[str, int]:
        """Count the matches of each rule that wait for the deadline of `absent`."""
        return {each.plan.rule.name: each.absences.waiting if each.absences else 0 for each in self.runners}

    def profile(self) -> list[RuleCost]:
        return [runner.cost for runner in self.runners if runner.cost is not None]

    # --- events -----------------------------------------------------------------------------------------

    def _publish(self, todo: list[tuple[Occurrence, CauseChain]], composites: list[Occurrence]) -> None:
        """Process events in turn, each with all that it causes before the next; append composites to the list."""
        if not self._indexed:
            self._index()
        todo.reverse()
        while todo:
            event, chain = todo.pop()
            numbered = Occurrence(event.type, event.time, event.values, self.count, event.sources, event.rule)
            self.count += 1
            if chain:
                composites.append(numbered)
            caused = self._process(numbered, chain)
            if caused:
                todo.extend((each, _extend_chain(chain, each)) for each in reversed(caused))

    def _process(self, event: Occurrence, chain: CauseChain) -> list[Occurrence]:
        """Return the composites that an event directly causes; add it to the history of all rules that read it."""
        caused: list[Occurrence] = []
        for runner, triggers, keep in self.index.get(event.type, ()):
            cost = runner.cost
            began = 0.0 if cost is None else process_time()
            if triggers and (start := runner.plan.start(event)) is not None:
                caused += self._fire(runner, start, chain)
            if keep is not None:
                keep(event)
            if cost is not None:
                cost.events += 1
                cost.seconds += process_time() - began
        return caused

    def _fire(self, runner: RuleRunner, start: tuple[Any, ...], chain: CauseChain) -> list[Occurrence]:
        """Return the composites of a trigger; add matches with an absence to the waiting ones."""
        caused, due = runner.fire(start)
        if due is not None:
            due.chain = chain
            heappush(self.waiting, (due.deadline, runner.order, start[0].number, due))
        return caused

    def _publish_due_absences(self, until: int, published: list[Occurrence]) -> None:
        """Process the deadlines up to a time, in order; append the composites to `published`."""
        runners = {runner.order: runner for runner in self.runners}
        while self.waiting and self.waiting[0][0] <= until:
            deadline, order, _, due = heappop(self.waiting)
            self.now = deadline
            caused = runners[order].judge(due)
            chain = due.chain if due.trigger.time == deadline else ()
            self._publish([(each, _extend_chain(chain, each)) for each in caused], published)

    # --- rules ------------------------------------------------------------------------------------------

    def _runner(self, plan: RulePlan, order: int) -> RuleRunner:
        trex, cost = self.settings.trex, RuleCost(plan.rule.name) if self.settings.profiled else None
        consumed = consumption(plan, trex)
        start = MatcherStart(plan, self.facts, trex, consumed, None if cost is None else cost.count_partial)
        absences = None if plan.absent is None else Absences(plan.absent, trex)
        return RuleRunner(plan, self._matcher(start), order, absences, consumed, cost=cost)

    def add(self, rules: RuleSet | str) -> dict[str, float]:
        rule_set = self._scale(rules)
        added = list(newcomers(rule_set, self._rules))
        after = self._merge_declarations(rule_set, (*self._rules.rules, *added))
        begun = [self._begin(rule, after, order) for order, rule in enumerate(added, self._orders)]
        self._orders += len(begun)
        self._install([*self.runners, *(runner for runner, _ in begun)], after)
        return {runner.plan.rule.name: complete for runner, complete in begun}

    def remove(self, name: str) -> None:
        gone = self._find_runner(name)
        self._drop_absences(gone)
        left = tuple(each for each in self._rules.rules if each.name != name)
        self._install([each for each in self.runners if each is not gone], replace(self._rules, rules=left))

    def replace(self, name: str, rules: RuleSet | str) -> float:
        gone, rule_set = self._find_runner(name), self._scale(rules)
        others = tuple(each for each in self._rules.rules if each.name != name)
        rule, *more = newcomers(rule_set, replace(self._rules, rules=others), name)
        if more:
            raise LanguageError(f"{len(rule_set.rules)} rules cannot replace '{name}'", where=more[0].where)
        renewed = tuple(rule if each.name == name else each for each in self._rules.rules)
        after = self._merge_declarations(rule_set, renewed)
        runner, complete = self._begin(rule, after, gone.order)
        self._drop_absences(gone)
        self._install([runner if each is gone else each for each in self.runners], after)
        return complete

    def _begin(self, rule: Rule, after: RuleSet, order: int) -> tuple[RuleRunner, float]:
        """Start a rule of a set with the available history; return it, and the time from which it is complete."""
        runner = self._runner(RulePlan(resolve_rule(rule, after.declarations), self.settings.indexed), order)
        return runner, begin(runner, self.runners, self.now, self.count)

    def _scale(self, rules: RuleSet | str) -> RuleSet:
        if isinstance(rules, str):
            rules = parse_rules(rules, types=self._rules.declarations, aggregates=self._rules.aggregates)
        return in_units(rules, self.settings.unit, dates=self.settings.dates, trex=self.settings.trex)

    def _merge_declarations(self, rule_set: RuleSet, rules: tuple[Rule, ...]) -> RuleSet:
        """Return a rule set with these rules, and the declarations of both rule sets."""
        declared = {**self._rules.declarations, **rule_set.declarations}
        aggregates = {**self._rules.aggregates, **rule_set.aggregates}
        return replace(self._rules, declarations=declared, rules=rules, aggregates=aggregates)

    def _find_runner(self, name: str) -> RuleRunner:
        for each in self.runners:
            if each.plan.rule.name == name:
                return each
        hint = did_you_mean(name, (each.plan.rule.name for each in self.runners))
        raise PipelineError(f"there is no rule '{name}'", hint=hint)

    def _drop_absences(self, runner: RuleRunner) -> None:
        """Discard the pending absences of a rule."""
        self.waiting = [each for each in self.waiting if each[1] != runner.order]
        heapify(self.waiting)

    def _install(self, runners: list[RuleRunner], rules: RuleSet) -> None:
        """Make these the running rules."""
        self.runners, self._rules = runners, rules
        self._indexed = False

    # --- state ------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        store, waiting = EventStore(), []
        for deadline, order, _, due in sorted(self.waiting, key=lambda each: each[:3]):
            (trigger,) = store.numbers([due.trigger])
            waiting.append([deadline, order, trigger, list(map(store.pack, due.matches)), due.chain[::-1]])
        runners = [[each.order, each.state(store)] for each in self.runners]
        data = [self.now, self.passed, self.count, self._orders, waiting, runners, store.data(), self._database_files()]
        return seal(self._fingerprint(), json.dumps(data, separators=(",", ":")).encode())

    def restore(self, state: bytes) -> None:
        data = json.loads(unseal(self._fingerprint(), state, "rule set", "engine"))
        *data, files = data
        if files != self._database_files():
            from workbench.tesla.engines.facts.tables import check_files

            check_files(files, self._database_files())
        self.now, self.passed, self.count, self._orders, waiting, runners, events = data
        store = EventStore(events)
        new_runners = [self._runner(each.plan, order) for each, (order, _) in zip(self.runners, runners, strict=True)]
        by_order = {each.order: each for each in new_runners}
        for order, each in runners:
            by_order[order].set_state(each, store)
        self.waiting = []
        for deadline, order, number, matches, chain in waiting:
            due = DueAbsence(deadline, store.events[number], list(map(store.unpack, matches)), tuple(chain[::-1]))
            absences = by_order[order].absences
            assert absences is not None
            absences.wait(due)
            heappush(self.waiting, (deadline, order, number, due))
        self._install(new_runners, self._rules)

    def _database_files(self) -> dict[str, list[Any]]:
        """Return the databases that hold facts."""
        tables = fact_tables(self.facts)
        return {} if tables is None else tables.files()

    def _fingerprint(self) -> bytes:
        return checksum(repr((FORMAT, self.name, str(self._rules), self.settings.trex, self.settings.indexed)).encode())

    def _index(self) -> None:
        """Index the rules by the types they read, lazily at the next event, as many rules may change at a time."""
        self._indexed = True
        self.index: dict[str, list[Interest]] = {}
        for runner in self.runners:
            plan = runner.plan
            if self.asked is not None and runner.order not in self.asked:
                continue
            history_types = {step.type for step in [*plan.steps[1:], plan.absent] if step is not None and not step.fact}
            for type in dict.fromkeys([plan.trigger.type, *history_types]):
                absent = plan.absent is not None and type == plan.absent.type
                keep = runner.add if absent else runner.matcher.add if type in history_types else None
                self.index.setdefault(type, []).append(Interest(runner, type == plan.trigger.type, keep))


def publishing_engine(
    name: str, rules: RuleSet, facts: Facts, settings: EngineSettings, matcher: MakesMatcher
) -> RuleEngine:
    """Start an engine, in several processes if threads are requested and rules can be partitioned (`rule_pool`)."""
    if settings.threads < 2 or rule_split(rules).undivided:
        return Publisher(name, rules, facts, settings, matcher)
    make: Callable[..., RuleEngine] = later("workbench.tesla.engines.rule_pool", "RulePool")
    return make(rules, facts, settings, partial(Publisher, name, rules, facts, settings, matcher))


def check_event(event: Occurrence, rules: RuleSet, now: int | None, passed: int | None) -> None:
    """Raise an InputError if an external event is invalid: its type is not declared, or its time has passed."""
    declared = rules.declarations.get(event.type)
    if declared is None or declared.fact:
        hint = did_you_mean(event.type, rules.events, "declared are: ")
        raise InputError(f"no type '{event.type}' of events is declared", hint=hint)
    if len(event.values) != len(declared.attributes):
        what = f"an event of type {event.type} has {plural(len(event.values), 'value')}"
        raise InputError(what, hint=f"it is declared as {declared}")
    check_time(event.time, now, passed)


def check_time(time: int, now: int | None, passed: int | None) -> None:
    """Raise an InputError if a time has passed."""
    if now is not None and time < now:
        raise InputError(f"the time of events goes back from {now} to {time}", hint="sort the events by time")
    if passed is not None and time <= passed:
        what = f"an event of time {time} comes after the clock has passed {passed}"
        raise InputError(what, hint="move the clock only to times up to which all events have come")


def _extend_chain(chain: CauseChain, composite: Occurrence) -> CauseChain:
    """Extend a chain of causes by a composite; EndlessChain if it is too long."""
    if len(chain) >= LONGEST_CHAIN:
        raise endless_chain((composite.rule, *reversed(chain)))
    return (*chain, composite.rule)
