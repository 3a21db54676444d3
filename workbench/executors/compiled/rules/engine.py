"""The engine `compiled`: a rule set as machine code over columns, a block of events at a time or one by one.

The rule of this module: who runs is decided between two events. It is the engine `cdp` until there is machine code, and
where words do not suffice for what happens; one takes the state of the other over. Rules come and go that way, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import Thread
from typing import Any

import numpy as np

from workbench.errors import FactsError, InputError, Refused
from workbench.executors.compiled.execute.text_codes import TextCodes
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.arrays import RuleArrays
from workbench.executors.compiled.rules.outputs import composite_block, composites
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.executors.compiled.rules.running import FAR, Makes, RunningProgram
from workbench.executors.compiled.rules.transfer import held_events, returnable, to_memory, to_publisher
from workbench.tesla.engines.engine import EngineSettings, RuleCost
from workbench.tesla.engines.facts import changing_tables
from workbench.tesla.engines.publisher import Publisher, check_event, check_time
from workbench.tesla.engines.set_plan import SetPlan
from workbench.tesla.event_block import EventBlock, LargeNumberError, event_block
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

FEW, SOME = 256, 4096
"""After so many events machine code is taken that has been kept, and after so many it is made, while `cdp` goes on."""
STRETCH = 256
"""Events that `cdp` processes before it is seen whether there is machine code."""
PATIENCE = 1024
"""Events that `cdp` processes before the state is given back, where it has more than words can say."""
Tells = Callable[[list[Occurrence]], Any]
"""Makes something of what `cdp` has published."""


class CompiledRules:
    """A rule set that runs as machine code, as soon as there is some.

    Parameters
    ----------
    code: whether there is machine code from the beginning; None: when it is worth while.
    program: of these rules, or of some of them (`RuleProgram.of`): then this is a part of an engine.
    texts: those that are known by their numbers, of all parts.

    Attributes
    ----------
    running: the program of the rules, and what it knows while it runs.
    """

    _runs: type[RunningProgram] = RunningProgram

    def __init__(
        self, rules: RuleSet, facts: Facts, settings: EngineSettings, code: bool | None = None,
        program: RuleProgram | None = None, texts: TextCodes | None = None,
    ) -> None:  # fmt: skip
        self.facts, self.settings = facts, settings
        self._code = False if settings.plain else code
        self._changing = changing_tables(facts) is not None
        self._exact: Publisher | None = None
        self._patience = 0
        self.passed: int | None = None
        self._before: list[RuleCost] = []
        self._begin(rules, program or RuleProgram(SetPlan(rules, indexed=settings.indexed), settings), texts)

    def _begin(self, rules: RuleSet, program: RuleProgram, texts: TextCodes | None = None) -> None:
        """Rules, of which nothing has happened yet."""
        texts = texts or TextCodes(program.texts)
        self.running = self._runs(rules, self.facts, self.settings, program, texts)
        self._seen, self._looked = 0, False
        self._making: Thread | None = None
        if self._code is not None:
            self.running.loop = program.machine() if self._code else program.plain()

    @property
    def rules(self) -> RuleSet:
        """What runs."""
        return self.running.rules if self._exact is None else self._exact.rules

    @property
    def program(self) -> RuleProgram:
        """The program of the rules."""
        return self.running.program

    @property
    def memory(self) -> RuleArrays:
        """What the program knows."""
        return self.running.memory

    @property
    def texts(self) -> TextCodes:
        """The texts that it knows by their numbers."""
        return self.running.texts

    @property
    def by_blocks(self) -> bool:
        """Whether databases are asked for each block of events, for a table is too large to be kept."""
        return self.running.by_blocks

    @property
    def loop(self) -> Any:
        """The code that runs; None while there is none."""
        return self.running.loop

    # --- events -----------------------------------------------------------------------------------------

    def process(self, event: Occurrence) -> list[Occurrence]:
        """The composites that an event causes."""
        check_event(event, self.rules, self.now, self.passed)
        if self._changing:
            self._see_facts()
        if self._exact is not None or not self._coded(1) or abs(event.time) >= FAR:
            return self._exactly(event)
        if self.running.by_blocks:
            try:
                block = event_block(self.rules, [event], self.texts.put)
            except LargeNumberError:
                return self._exactly(event)
            return [each for part in self.parts_of(block, composites, list) for each in part]
        try:
            parts, done = self.running.event(event, composites)
        except ValueError:  # a number of more than 64 bits
            return self._exactly(event)
        if done:
            return parts[0] if parts else []
        return [*(each for part in parts for each in part), *self._exactly(event)]

    def process_block(self, block: EventBlock, *, sources: bool = False) -> Iterable[EventBlock | list[Occurrence]]:
        """The composites that a block of events causes, in the order of publication, in one block or several.

        Those of `cdp` are single ones where a whole number among them has more than 64 bits.

        Parameters
        ----------
        sources: whether it is told what they are made of.

        Raises
        ------
        InputError: as `process`; an endless chain is told of behind what comes before it.
        """
        if not len(block):
            return []
        see_block(block, self.now, self.passed)
        return self.parts_of(block, partial(composite_block, sources=sources), self.as_block)

    def parts_of(self, block: EventBlock, made: Makes, told: Tells) -> Iterable[Any]:
        """What comes of a block, part by part: made of `Published`, or told by `cdp`."""
        first = 0
        if self._changing:
            self._see_facts()
        while first < len(block):
            rest = block.part(first, len(block)) if first else block
            far = abs(rest.times[[0, -1]]).max() >= FAR
            if self.takes_block(len(rest)) and not far and (ready := self.running.ready(rest)):
                yield from self.running.block(rest.part(0, ready) if ready < len(rest) else rest, made)
                first += self.running.reached
                if self.running.reached < ready:
                    self._give_up()
            else:
                found = list[Occurrence]()
                try:
                    first += self._stretch(rest.part(0, SOME), found)
                finally:
                    yield told(found)

    def _stretch(self, block: EventBlock, found: list[Occurrence]) -> int:
        """Let `cdp` process events as long as it is to; how many those were."""
        for count, event in enumerate(block.occurrences(self.rules), 1):
            found += self._exactly(event)
            if self._exact is None:
                return count
        return len(block)

    def as_block(self, found: list[Occurrence]) -> EventBlock | list[Occurrence]:
        """Composites that `cdp` has told of."""
        try:
            return event_block(self.rules, found, self.texts.put)
        except LargeNumberError:
            return found

    @property
    def now(self) -> int | None:
        """The time."""
        now = self.running.now if self._exact is None else self._exact.now
        return self.passed if now is None else now if self.passed is None else max(now, self.passed)

    @property
    def count(self) -> int:
        """How many events there have been, composites among them."""
        return int(self.memory.V[at.COUNT]) if self._exact is None else self._exact.count

    def advance(self, time: int) -> list[Occurrence]:
        """The composites that the clock causes up to a time."""
        return [each for part in self.parts_until(time, composites, list) for each in part]

    def parts_until(self, time: int, made: Makes, told: Tells) -> Iterable[Any]:
        """The same part by part, as in `parts_of`."""
        if self._changing:
            self._see_facts()
        if self._exact is None and time >= FAR:
            self._give_up()
        if self._exact is None:
            yield from self.running.until(time, made)
            if not self.running.reached:
                self._give_up()
        if self._exact is not None:
            yield told(self._exact.advance(time))
        self.passed = time if self.passed is None else max(time, self.passed)

    def profile(self) -> Sequence[RuleCost]:
        """What each rule has cost."""
        if not self.settings.profiled:
            return []
        before = {each.rule: each for each in self._before}
        now = self.running.costs() if self._exact is None else self._exact.profile()
        return [added_costs(each, before[each.rule]) if each.rule in before else each for each in now]

    # --- machine code -----------------------------------------------------------------------------------

    def takes_block(self, events: int) -> bool:
        """Whether a block of so many would be processed as columns; else they are best given one by one."""
        return self._exact is None and self._coded(events)

    def _coded(self, events: int) -> bool:
        """Whether there is code to run; where it is worth while for so many events more, it is looked for, and made."""
        if self.running.loop is not None:
            return True
        seen = self._seen + events
        if seen <= FEW:
            return False
        loop, given = self.program.machine(), self.running.arguments
        made = self._making is not None and not self._making.is_alive()
        if made or (not self._looked and loop.ready(given)):
            self.running.loop = loop  # where no code is kept, it is made here
            return True
        self._looked = True
        if seen > SOME and self._making is None:
            self._making = Thread(target=loop.fetch, args=(given,), daemon=True)
            self._making.start()
        return False

    # --- who runs, and changes --------------------------------------------------------------------------

    def _exactly(self, event: Occurrence) -> list[Occurrence]:
        """What `cdp` tells of an event."""
        found = (self._exact or self._give_up()).process(event)
        self._seen += 1
        self._patience -= 1
        if self._patience <= 0:
            self._return()
        return found

    def _give_up(self) -> Publisher:
        """Let `cdp` go on."""
        self._before = list(self.profile())
        self._exact = self._published()
        self._patience = STRETCH if self.running.loop is None else PATIENCE
        return self._exact

    def _published(self) -> Publisher:
        return self._exact or to_publisher(self.running, self.now, self.passed)

    def _return(self) -> None:
        """Take the state back, if there is code, and if it can be said in words."""
        exact = self._exact
        assert exact is not None
        self.passed, self._patience = exact.passed, STRETCH
        if exact.rules == self.running.rules:
            self.running.rules = exact.rules
        else:
            try:
                self._begin(
                    exact.rules, RuleProgram(SetPlan(exact.rules, indexed=self.settings.indexed), self.settings)
                )
            except Refused:  # a rule that has come later
                self._patience = at.NEVER
                return
        if not self._coded(0):
            return
        try:
            costs, made = list(self.profile()), self.running.again()
        except (Refused, FactsError):  # there are too many facts now, or they are not told
            self._patience = PATIENCE
            return
        if returnable(exact) and to_memory(exact, made):
            self._exact, self._before, self.running = None, costs, made
        else:
            self._patience = PATIENCE + len(held_events(exact))  # it takes long to see, where there are many

    def _see_facts(self) -> None:
        """Take the facts that have changed, before what comes next; nothing else is forgotten."""
        if self._exact is None and self.running.outdated():
            self._give_up()
            self._return()

    def _changed(self, change: Callable[[Publisher], Any]) -> Any:
        exact = self._exact or self._give_up()
        try:
            return change(exact)
        finally:
            self._return()

    def add(self, rules: RuleSet | str) -> Mapping[str, float]:
        """Add rules behind those there are."""
        found: Mapping[str, float] = self._changed(lambda exact: exact.add(rules))
        return found

    def remove(self, name: str) -> None:
        """Take a rule away."""
        self._changed(lambda exact: exact.remove(name))

    def replace(self, name: str, rules: RuleSet | str) -> float:
        """Put another rule in the place of one."""
        found: float = self._changed(lambda exact: exact.replace(name, rules))
        return found

    def snapshot(self) -> bytes:
        """The state as bytes."""
        return self._published().snapshot()

    def restore(self, state: bytes) -> None:
        """Go on where another engine was."""
        exact = self._published()
        exact.restore(state)
        self._exact = exact
        self._return()


def see_block(block: EventBlock, now: int | None, passed: int | None) -> None:
    """InputError where an event of a block cannot come, for its time has passed."""
    times = block.times
    back = np.flatnonzero(times[1:] < times[:-1])
    if len(back):
        before, after = times[back[0] : back[0] + 2].tolist()
        raise InputError(f"the time of events goes back from {before} to {after}", hint="sort them by time")
    check_time(int(times[0]), now, passed)


def added_costs(one: RuleCost, other: RuleCost) -> RuleCost:
    """What a rule has cost here and there."""
    return RuleCost(
        one.rule, one.events + other.events, one.partial + other.partial, one.matches + other.matches,
        one.composites + other.composites, one.seconds + other.seconds,
    )  # fmt: skip
