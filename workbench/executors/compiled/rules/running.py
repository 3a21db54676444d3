"""A rule program that runs: what it knows, and the room that it is given for it.

The rule of this module: what the code has no room for is made larger. What it cannot say exactly it leaves undone, and
says so.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from workbench.core.domain import FLOAT, STR, Domain
from workbench.errors import InputError
from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.execute.text_codes import TextCodes
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.arrays import RuleArrays, asked_of
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.executors.compiled.rules.runs import Published
from workbench.executors.compiled.rules.single import SingleEvents
from workbench.executors.compiled.rules.text_answers import TextAnswers
from workbench.interrupts import hold
from workbench.tesla.engines.engine import EngineSettings, RuleCost
from workbench.tesla.engines.facts.retained import RetainedFacts
from workbench.tesla.event_block import AttributeColumn, EventBlock
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_graph import endless_chain
from workbench.tesla.rule_set import RuleSet

FAR = 1 << 62
"""Times are less than this."""
NO_INPUT = 0, False, 0
Makes = Callable[..., Any]
"""Makes something of `Published`, the program and texts by their numbers."""


class RunningProgram:
    """A rule program, what has happened, and what runs it.

    Parameters
    ----------
    texts: those that are known, by their numbers; more are put there.

    Attributes
    ----------
    loop: the code, as machine code or as Python; None while there is none.
    retained: the facts that it looks at.
    since: of types from which time and place on all events are there, where it is not from the beginning.
    seconds: of processor time, where that is asked for.
    """

    def __init__(
        self, rules: RuleSet, facts: Facts, settings: EngineSettings, program: RuleProgram, texts: TextCodes
    ) -> None:
        self.rules, self.facts, self.settings = rules, facts, settings
        self.program, self.plan, self.texts = program, program.plan, texts
        self.loop: Any = None
        self._bound: tuple[Any, Callable[..., int]] | None = None
        self._lent: Mapping[int, str] = {}
        self._answers = TextAnswers(self) if program.asks else None
        self.retained = RetainedFacts(self.plan, [each for each in program.columns if each.fact], facts)
        answers = self._answers.address if self._answers is not None else 0
        self.memory = RuleArrays(program, self.retained.rows, texts.put, answers)
        if self._answers is not None:
            self._answers.memory = self.memory
        self.memory.V[at.NOW] = -FAR
        self.since: dict[int, tuple[int | None, int]] = {}
        self.seconds, self._crowding = 0.0, -1
        self.single = SingleEvents(program, self.memory, texts)

    def outdated(self) -> bool:
        """Whether facts in databases have changed."""
        return self.retained.are_outdated()

    @property
    def by_blocks(self) -> bool:
        """Whether it is asked for each block of events which facts these look at."""
        return self.retained.by_blocks

    def ready(self, block: EventBlock) -> int:
        """Of how many events of a block, from the first one on, all facts are here that they look at."""
        if not self.by_blocks:
            return len(block)
        count, found = self.retained.load(block)
        for type, rows in found.items():
            self.memory.put_facts(type, rows, self.texts.put, self.loop or self.program.plain())
        self.single.moved()
        return count

    def again(self) -> RunningProgram:
        """The same, of which nothing has happened yet."""
        made = type(self)(self.rules, self.facts, self.settings, self.program, self.texts)
        made.loop = self.loop
        return made

    @property
    def now(self) -> int | None:
        """The time of the last event."""
        now: int = self.single.state[at.NOW]
        return None if now == -FAR else now

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What the code is called with, for one event."""
        return (0, 0, 1, *self.single.given, *self.memory.arrays())

    # --- events -----------------------------------------------------------------------------------------

    def event(self, event: Occurrence, made: Makes) -> tuple[list[Any], bool]:
        """What comes of an event, part by part, and whether it has been processed.

        Raises
        ------
        ValueError: a whole number of it has more than 64 bits.
        """
        self.single.put(event)
        began = process_time() if self.settings.profiled else 0.0
        code = self.single.run(self.loop)
        if self.settings.profiled:
            self.seconds += process_time() - began
        if code == at.DONE:
            return [self._taken(made)] if self.single.state[at.PUBLISHED] else [], True
        found = list(self._looped(lambda _: self.single.run(self.loop), 1, made, code))
        return found, self.memory.V[at.REACHED] == 1

    def block(self, block: EventBlock, made: Makes) -> Iterable[Any]:
        """What comes of a block, part by part. `reached` says how far it came: to its end, or to what is beyond it."""
        self.lend(block.texts)
        given, inputs = inputs_of(block, self.memory.T, self.program)
        last = len(block)

        def run(first: int) -> int:
            return self._called(0, first, last, *inputs, given)

        yield from self._looped(run, last, made)

    def _called(self, *given: Any) -> int:
        """Run the code on what is known."""
        loop, arrays = self.loop, self.memory.arrays()
        with hold():  # in what machine code asks, an error has nowhere to go
            if not isinstance(loop, MachineLoop):
                found: int = loop(*given, *arrays)
                return found
            if self._bound is None or self._bound[0] is not arrays:
                self._bound = arrays, loop.before(*arrays)
            return self._bound[1](*given)

    @property
    def reached(self) -> int:
        """How many events of a block have been processed."""
        return int(self.memory.V[at.REACHED])

    def until(self, time: int, made: Makes) -> Iterable[Any]:
        """What the clock causes up to a time before `FAR`, part by part; `reached` is 1 unless it is beyond words."""
        self.memory.V[at.REACHED] = 1
        if self.memory.V[at.DUE] <= time:
            self.memory.V[at.UNTIL] = time
            yield from self._looped(partial(self.ask, 4, last=1), 1, made)

    def _looped(self, run: Callable[[int], int], last: int, made: Makes, code: int = at.DONE) -> Iterable[Any]:
        """Run from one event to behind another, with all the room that is needed, or to what is beyond words."""
        first = 0
        while True:
            if code == at.ENDLESS:
                error = self._endless()
                yield self._taken(made)  # what came before is there
                raise error
            if code == at.FAILED:
                yield self._taken(made)
                raise self._failed()
            if code == at.GIVE_ROWS:
                yield self._given(made)
            elif code == at.GIVE_OUTPUT:
                yield self._taken(made)
            elif code not in (at.DONE, at.BEYOND):
                self.grow(code)
            if first >= last or code == at.BEYOND:
                break
            began = process_time() if self.settings.profiled else 0.0
            code = run(first)
            self.seconds += process_time() - began if self.settings.profiled else 0.0
            first = self.reached
        yield self._taken(made)

    def _taken(self, made: Makes) -> Any:
        """What has come out, which is no longer kept here."""
        words, published = self.memory.V[[at.MADE, at.PUBLISHED]].tolist()
        found = Published(self.memory.O[:words], self.memory.B[:published], bool(self.program.runs))
        found = made(found, self.program, self.known)
        self.memory.V[at.MADE] = self.memory.V[at.PUBLISHED] = 0
        if self._answers is not None:
            self._answers.make_room(self.single.moved)
        self.memory.free_pages()
        return found

    def _given(self, made: Makes) -> Any:
        """What has come out, where there is no room for more."""
        return self._taken(made)

    def _failed(self) -> BaseException:
        return self._answers.raised() if self._answers is not None else KeyboardInterrupt()

    def _endless(self) -> InputError:
        o, names = int(self.memory.V[at.WANTED]), []
        while o >= 0:
            names.append(self.rules.rules[int(self.memory.O[o + at.RULE])].name)
            o = int(self.memory.O[o + at.CAUSE])
        return endless_chain(names)

    # --- room -------------------------------------------------------------------------------------------

    def grow(self, code: int) -> None:
        """Make room, after a run that has ended for want of it."""
        memory = self.memory
        self.single.moved()
        wanted = int(memory.V[at.WANTED])
        if code == at.GROW_ROWS:
            memory.grow_rows(wanted)
            self.ask(1, wanted, 0)
        elif code == at.GROW_RING:
            memory.grow_ring(wanted)
        elif code == at.GROW_OUTPUT:
            memory.grow_output()
        elif code == at.GROW_SCRATCH:
            memory.grow("X", wanted + 1)
        elif code == at.GROW_JOURNAL:
            memory.grow("J")
        elif code == at.GROW_SPANS:
            memory.make_spans(wanted)
        elif code == at.GROW_ORDER:
            memory.grow_order(wanted)
        else:
            count = int(memory.V[at.COUNT])
            again, self._crowding = self._crowding == count, count
            memory.other_table(partial(self.ask, 2), larger=False)
            if memory.crowded or again:  # one event may want more room than what counts no more had
                memory.other_table(partial(self.ask, 2), larger=True)

    def ask(self, mode: int, first: int, last: int) -> int:
        """Run something else than events."""
        found = asked_of(self.loop, self.memory, mode, first, last)
        if found == at.FAILED:
            raise self._failed()
        return found

    # --- words ------------------------------------------------------------------------------------------

    def lend(self, texts: Mapping[int, str], *, keeps: bool = True) -> None:
        """Know texts by their numbers, and put what was lent before to those that are kept, unless another one does."""
        if texts is not self._lent:
            if keeps:
                self.texts.put(self._lent.values())
            self._lent = texts

    def text(self, code: int) -> str:
        """The text of a number."""
        found = self._lent.get(code)
        return self.texts.by_code[code] if found is None else found

    @property
    def known(self) -> Mapping[int, str]:
        """Texts by their numbers."""
        return ChainMap(self._lent, self.texts.by_code)  # type: ignore[arg-type]

    def words(self, type: str, row: Sequence[Any]) -> list[int]:
        """Nulls and values of an event or a fact as words."""
        domains = self.rules.declarations[type].domains.values()
        gaps = sum(1 << i for i, value in enumerate(row) if value is None)
        return [gaps, *(self.word(value, domain) for value, domain in zip(row, domains, strict=True))]

    def word(self, value: Any, domain: Domain | None) -> int:
        """The word of a value."""
        if value is None:
            return 0
        if domain == FLOAT:
            return int(np.float64(value).view(np.int64))
        return self.texts.put([value])[0] if domain == STR else int(value)

    # --- costs ------------------------------------------------------------------------------------------

    def costs(self) -> Iterator[RuleCost]:
        """What rules have cost here; what columns cost that they share is nobody's."""
        costs, ticks, events = self.memory.costs()
        for number, (plan, row) in enumerate(zip(self.plan.plans, costs.tolist(), strict=True)):
            if number not in self.program.asked:
                continue
            kept = [plan.absent, *plan.steps[1:]]
            types = {plan.trigger.type} | {step.type for step in kept if step is not None and not step.fact}
            seen = sum(int(events[self.program.types.index(type)]) for type in types)
            seconds = self.seconds * row[at.TICKS] / ticks
            partial, full, composed = row[at.PARTIAL], row[at.FULL], row[at.COMPOSED]
            yield RuleCost(plan.rule.name, seen, partial, full, composed, seconds)


def inputs_of(block: EventBlock, T: Any, program: RuleProgram) -> tuple[Any, list[Any]]:
    """The columns of a block as addresses; and the types, times and places of its events."""
    place, given = dict(zip(block.names, block.columns, strict=True)), list[tuple[int, bool, int]]()
    for name, count in zip(program.types, T[:, at.ATTRIBUTES].tolist(), strict=False):
        given += [input_of(column) for column in place.get(name, ())] or [NO_INPUT] * count
    return np.array([*given, NO_INPUT], np.int64), [block.types, block.times, block.places]


def input_of(column: AttributeColumn) -> tuple[int, bool, int]:
    """Where values lie, whether they are bytes, and where nulls lie."""
    nulls = 0 if column.nulls is None else address_of(column.nulls)
    return address_of(column.values), column.values.dtype.itemsize == 1, nulls


def address_of(array: Any) -> int:
    """Where an array lies."""
    found: int = array.__array_interface__["data"][0]
    return found
