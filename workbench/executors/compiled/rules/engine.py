"""The engine `compiled`: a rule set as machine code over columns, a block of events at a time or one by one.

The rule of this module: what the code has no room for is made larger, and what it cannot say exactly is said by the
engine `cdp`, which takes its state over and gives it back. Rules come and go that way, too.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from workbench.core.domain import FLOAT, STR, Domain
from workbench.errors import InputError, Refused
from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.code.unstalled import UnstalledLoop
from workbench.executors.compiled.execute.text_codes import TextCodes
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.arrays import RuleArrays
from workbench.executors.compiled.rules.lines import OTHERS
from workbench.executors.compiled.rules.outputs import Published, composite_block, composites
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.executors.compiled.rules.single import SingleEvents
from workbench.executors.compiled.rules.transfer import returnable, to_memory, to_publisher
from workbench.tesla.engines.engine import EngineSettings, RuleCost
from workbench.tesla.engines.publisher import Publisher, endless_chain, see_event, see_time
from workbench.tesla.engines.set_plan import SetPlan
from workbench.tesla.event_block import EventBlock, LargeNumberError, event_block
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

FEW, SOME = 256, 4096
"""After so many events machine code is taken that has been kept, and after so many it is made, while Python goes on."""
STRETCH = 256
"""Events that Python processes before it is seen whether there is machine code."""
PATIENCE = 1024
"""Events that `cdp` processes before the state is given back."""
FAR = 1 << 62
"""Times are less than this."""


class CompiledRules:
    """A rule set that runs as machine code.

    Parameters
    ----------
    code: whether there is machine code from the beginning, or never; None: when it is worth while.
    program: of these rules, or of some of them (`RuleProgram.of`): then this is a part of an engine.
    """

    def __init__(
        self, rules: RuleSet, facts: Facts, settings: EngineSettings, code: bool | None = None,
        program: RuleProgram | None = None,
    ) -> None:  # fmt: skip
        if not settings.indexed:
            raise Refused("the engine 'compiled' has no way without indexes", hint=OTHERS)
        self.facts, self.settings, self._code = facts, settings, code
        self._exact: Publisher | None = None
        self._patience = 0
        self.passed: int | None = None
        self._seen = 0
        self._before: list[RuleCost] = []
        self._begin(rules, program)

    def _begin(self, rules: RuleSet, program: RuleProgram | None) -> None:
        """Rules, of which nothing has happened yet."""
        self._rules, self._seconds = rules, 0.0
        self.program = program or RuleProgram(SetPlan(rules), self.settings)
        self.plan = self.program.plan
        self.texts = TextCodes(self.program.texts)
        self._lent: Mapping[int, str] = {}
        self.memory = RuleArrays(self.program, self.facts, self.words)
        self.memory.V[at.NOW] = -FAR
        self.since: dict[int, tuple[int | None, int]] = {}
        self._run: Any = self.program.machine() if self._code else self.program.plain()
        self._looked, self._crowding = False, -1
        self._single = SingleEvents(self.program, self.memory, self.texts)

    @property
    def rules(self) -> RuleSet:
        """What runs."""
        return self._rules if self._exact is None else self._exact.rules

    # --- events -----------------------------------------------------------------------------------------

    def process(self, event: Occurrence) -> list[Occurrence]:
        """The composites that an event causes."""
        see_event(event, self.rules, self.now, self.passed)
        if self._exact is not None:
            return self._exactly(event)
        if abs(event.time) >= FAR:
            return self._give_up().process(event)
        try:
            self._single.put(event)
        except ValueError:  # a number of more than 64 bits
            return self._give_up().process(event)
        self._seen += 1
        if self._slow and self._seen > FEW:
            self._choose((0, 0, 1, *self._single.given, *self.memory.arrays()))
        began = process_time() if self.settings.profiled else 0.0
        code = self._single.run(self._run)
        if self.settings.profiled:
            self._seconds += process_time() - began
        if code != at.DONE:
            return self._again(event, code)
        return self._taken(composites) if self._single.state[at.PUBLISHED] else []

    def _again(self, event: Occurrence, code: int) -> list[Occurrence]:
        """An event that has not been processed, for there was no room, or words do not suffice."""
        told: list[Occurrence] = []
        for part in self._looped(lambda _: self._single.run(self._run), 1, composites, code):
            told += part
        return told + self._exact.process(event) if self._exact is not None else told

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
        return self.parts_of(block, partial(composite_block, sources=sources), self._as_block)

    def parts_of(
        self, block: EventBlock, made: Callable[..., Any], told: Callable[[list[Occurrence]], Any]
    ) -> Iterable[Any]:
        """What comes of a block, part by part: made of `Published`, or told by `cdp`."""
        if self._exact is not None or abs(block.times[[0, -1]]).max(initial=0) >= FAR:
            exact = self._exact or self._give_up()
            found = [each for event in block.occurrences(self._rules) for each in exact.process(event)]
            self._return()
            yield told(found)
        else:
            yield from self._parts(block, made, told)

    def _as_block(self, found: list[Occurrence]) -> EventBlock | list[Occurrence]:
        """Composites that `cdp` has told of."""
        try:
            return event_block(self.rules, found, self.texts.put)
        except LargeNumberError:
            return found

    @property
    def now(self) -> int | None:
        """The time."""
        if self._exact is not None:
            return self._exact.now
        now: int = self._single.state[at.NOW]
        if now == -FAR:
            return self.passed
        return now if self.passed is None else max(now, self.passed)

    @property
    def count(self) -> int:
        """How many events there have been, composites among them."""
        return int(self.memory.V[at.COUNT]) if self._exact is None else self._exact.count

    def advance(self, time: int) -> list[Occurrence]:
        """The composites that the clock causes up to a time."""
        return [each for part in self.parts_until(time, composites, list) for each in part]

    def parts_until(
        self, time: int, made: Callable[..., Any], told: Callable[[list[Occurrence]], Any]
    ) -> Iterable[Any]:
        """The same part by part, as in `parts_of`."""
        if self._exact is None and self.memory.V[at.DUE] <= time:
            self.memory.V[at.UNTIL] = min(time, FAR)
            yield from self._looped(partial(self.ask, 4, last=1), 1, made)
        if self._exact is not None:
            yield told(self._exact.advance(time))
            self.passed = self._exact.passed
        else:
            self.passed = time if self.passed is None else max(time, self.passed)

    def profile(self) -> Sequence[RuleCost]:
        """What each rule has cost."""
        if not self.settings.profiled:
            return []
        before = {each.rule: each for each in self._before}
        now = self._costs() if self._exact is None else self._exact.profile()
        return [added_costs(each, before[each.rule]) if each.rule in before else each for each in now]

    def _costs(self) -> Iterator[RuleCost]:
        """What rules have cost here; what columns cost that they share is nobody's."""
        costs, ticks, events = self.memory.costs()
        for number, (plan, row) in enumerate(zip(self.plan.plans, costs.tolist(), strict=True)):
            if number not in self.program.asked:
                continue
            kept = [plan.absent, *plan.steps[1:]]
            types = {plan.trigger.type} | {step.type for step in kept if step is not None and not step.fact}
            seen = sum(int(events[self.program.types.index(type)]) for type in types)
            seconds = self._seconds * row[at.TICKS] / ticks
            partial, full, composed = row[at.PARTIAL], row[at.FULL], row[at.COMPOSED]
            yield RuleCost(plan.rule.name, seen, partial, full, composed, seconds)

    # --- machine code -----------------------------------------------------------------------------------

    def _parts(
        self, block: EventBlock, made: Callable[..., Any], told: Callable[[list[Occurrence]], Any]
    ) -> Iterable[Any]:
        """What comes of a block, part by part: made of words, or told by `cdp`."""
        self._seen += len(block)
        self.lend(block.texts)
        given, inputs = _inputs(block, self.memory.T, self.program)
        last = len(block)

        def run(first: int) -> int:
            arguments = (*inputs, given, *self.memory.arrays())
            self._choose((0, first, last, *arguments))
            behind = min(last, first + STRETCH) if self._slow else last
            found: int = self._run(0, first, behind, *arguments)
            return found

        yield from self._looped(run, last, made)
        if self._exact is not None:
            rest = block.part(int(self.memory.V[at.REACHED]), last).occurrences(self._rules)
            yield told([each for event in rest for each in self._exact.process(event)])

    def lend(self, texts: Mapping[int, str], *, keeps: bool = True) -> None:
        """Know texts by their numbers, and put what was lent before to those that are kept, unless another one does."""
        if texts is not self._lent:
            if keeps:
                self.texts.put(self._lent.values())
            self._lent = texts

    @property
    def _slow(self) -> bool:
        """Whether Python runs it still, and that may change."""
        return self._run.waits if isinstance(self._run, UnstalledLoop) else not isinstance(self._run, MachineLoop)

    @property
    def kept(self) -> bool:
        """Whether its machine code has been made before."""
        return self.program.machine().ready((0, 0, 1, *self._single.given, *self.memory.arrays()))

    @property
    def lines(self) -> int:
        """How long its code is."""
        return self.program.source.count("\n")

    def _choose(self, given: Sequence[Any]) -> None:
        """Take machine code, when it is worth while."""
        if self._code is not None or isinstance(self._run, MachineLoop | UnstalledLoop) or self._seen <= FEW:
            return
        if not self._looked:
            self._looked, loop = True, self.program.machine()
            if loop.ready(given):
                self._run = loop
                return
        if self._seen > SOME:
            self._run = UnstalledLoop(lambda: self.program.source, self._run)

    def _looped(
        self, run: Callable[[int], int], last: int, made: Callable[..., Any], code: int = at.DONE
    ) -> Iterable[Any]:
        """Run from one event to behind another, with all the room that is needed, or until `cdp` has to go on."""
        first = 0
        while True:
            if code == at.ENDLESS:
                error = self._endless()
                yield self._taken(made)  # what came before is there
                raise error
            if code not in (at.DONE, at.BEYOND):
                self.grow(code)
            if first >= last or code == at.BEYOND:
                break
            began = process_time() if self.settings.profiled else 0.0
            code = run(first)
            self._seconds += process_time() - began if self.settings.profiled else 0.0
            first = int(self.memory.V[at.REACHED])
        yield self._taken(made)
        if code == at.BEYOND:
            self._give_up()

    def grow(self, code: int) -> None:
        memory = self.memory
        self._single.moved()
        wanted = int(memory.V[at.WANTED])
        if code == at.GROW_ROWS:
            memory.grow_rows(wanted)
            self.ask(1, wanted, 0)
        elif code == at.GROW_RING:
            memory.grow_ring(wanted)
        elif code == at.GROW_ORDER:
            memory.grow_order(wanted)
        elif code == at.GROW_OUTPUT:
            memory.grow_output()
        elif code == at.GROW_SCRATCH:
            memory.grow("X", wanted + 1)
        elif code == at.GROW_JOURNAL:
            memory.grow("J")
        else:
            again, self._crowding = self._crowding == self.count, self.count
            self.ask(2, *memory.other_table(larger=False))
            if memory.crowded or again:  # one event may want more room than what counts no more had
                self.ask(2, *memory.other_table(larger=True))

    def ask(self, mode: int, first: int, last: int) -> int:
        """Run something else than events."""
        nothing: Any = np.zeros(1, np.int64)
        types: Any = np.zeros(1, np.uint16)
        found: int = self._run(
            mode, first, last, types, nothing, nothing, np.zeros((1, 3), np.int64), *self.memory.arrays()
        )
        return found

    def _taken(self, made: Callable[..., Any]) -> Any:
        """What has come out, which is no longer kept here."""
        words, published = self.memory.V[[at.MADE, at.PUBLISHED]].tolist()
        found = made(Published(self.memory.O[:words], self.memory.B[:published]), self.program, self.known)
        self.memory.V[at.MADE] = self.memory.V[at.PUBLISHED] = 0
        return found

    @property
    def known(self) -> Mapping[int, str]:
        """Texts by their numbers."""
        return ChainMap(self._lent, self.texts.by_code)  # type: ignore[arg-type]

    def words(self, type: str, row: Sequence[Any]) -> list[int]:
        """Nulls and values of an event or a fact as words."""
        domains = self._rules.declarations[type].domains.values()
        gaps = sum(1 << i for i, value in enumerate(row) if value is None)
        return [gaps, *(self.word(value, domain) for value, domain in zip(row, domains, strict=True))]

    def word(self, value: Any, domain: Domain | None) -> int:
        """The word of a value."""
        if value is None:
            return 0
        if domain == FLOAT:
            return int(np.float64(value).view(np.int64))
        return self.texts.put([value])[0] if domain == STR else int(value)

    def _endless(self) -> InputError:
        o, names = int(self.memory.V[at.WANTED]), []
        while o >= 0:
            names.append(self._rules.rules[int(self.memory.O[o + at.RULE])].name)
            o = int(self.memory.O[o + at.CAUSE])
        return endless_chain(names)

    # --- exact arithmetic, and changes ------------------------------------------------------------------

    def _give_up(self) -> Publisher:
        """Let `cdp` go on."""
        self._before = list(self.profile())
        self._exact = to_publisher(self)
        self._patience = PATIENCE
        return self._exact

    def _exactly(self, event: Occurrence) -> list[Occurrence]:
        assert self._exact is not None
        found = self._exact.process(event)
        self._patience -= 1
        if self._patience == 0:
            self._return()
        return found

    def _return(self) -> None:
        """Take the state back, if it can be said in words."""
        exact = self._exact
        assert exact is not None
        self.passed, self._patience = exact.passed, PATIENCE
        if returnable(exact):
            costs = list(self.profile())
            with suppress(Refused):  # a rule that has come later
                self._begin(exact.rules, self.program if exact.rules is self._rules else None)
                to_memory(exact, self)
                self._exact, self._before = None, costs

    def _changed(self, change: Callable[[Publisher], Any]) -> Any:
        if self._exact is None:
            self._give_up()
        assert self._exact is not None
        try:
            return change(self._exact)
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
        return (to_publisher(self) if self._exact is None else self._exact).snapshot()

    def restore(self, state: bytes) -> None:
        """Go on where another engine was."""
        exact = to_publisher(self)
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
    see_time(int(times[0]), now, passed)


def added_costs(one: RuleCost, other: RuleCost) -> RuleCost:
    """What a rule has cost here and there."""
    return RuleCost(
        one.rule, one.events + other.events, one.partial + other.partial, one.matches + other.matches,
        one.composites + other.composites, one.seconds + other.seconds,
    )  # fmt: skip


def _inputs(block: EventBlock, T: Any, program: RuleProgram) -> tuple[Any, list[Any]]:
    """The columns of a block as addresses; and the types, times and places of its events."""
    count = int(sum(T[:, at.ATTRIBUTES])) + 1
    given: Any = np.zeros((count, 3), np.int64)
    place = dict(zip(block.names, block.columns, strict=True))
    for y, name in enumerate(program.types):
        for n, column in enumerate(place.get(name, ())):
            row = given[T[y, at.INPUT] + n]
            row[0] = column.values.__array_interface__["data"][0]
            row[1] = column.values.dtype == np.bool_
            row[2] = 0 if column.nulls is None else column.nulls.__array_interface__["data"][0]
    return given, [block.types, block.times, block.places]
