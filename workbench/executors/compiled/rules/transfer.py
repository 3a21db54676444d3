"""The state of a compiled rule set as that of the engine `cdp`, and back.

The rule of this module: what either of them would answer to what comes next is the same. What `cdp` has in columns of
each predicate is once in the rows of its type here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.domain import FLOAT
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.outputs import value_of
from workbench.executors.compiled.rules.runs import Published
from workbench.executors.compiled.rules.words import scattered
from workbench.tesla import tree as t
from workbench.tesla.engines.absences import DueAbsence
from workbench.tesla.engines.cdp.matcher import CDPMatcher
from workbench.tesla.engines.publisher import Publisher, chain_names, chain_of_names
from workbench.tesla.engines.rule_plan import PartialMatch, RulePlan
from workbench.tesla.engines.runner import RuleRunner
from workbench.tesla.event_block import LargeNumberError, attribute_column
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.resolved import domain_of

if TYPE_CHECKING:
    from workbench.executors.compiled.rules.running import RunningProgram

WORD = 1 << 63


def to_publisher(engine: RunningProgram, now: int | None, passed: int | None) -> Publisher:
    """An engine `cdp` that has seen the same, and whose clock stands where it is said."""
    memory, program = engine.memory, engine.program
    made = Publisher("compiled", engine.rules, engine.facts, engine.settings, CDPMatcher)
    made.now, made.passed, made.count = now, passed, int(memory.V[at.COUNT])
    events = {event.number: event for event in _events(engine)}
    for due in _awaiting(engine, made, events):
        heappush(made.waiting, due)
    for _, rule, _, absence in sorted(made.waiting, key=lambda each: each[:3]):
        absences = made.runners[rule].absences
        assert absences is not None
        absences.wait(absence)
    if len(program.asked) < len(made.runners):
        made.asked = program.asked
    for runner in made.runners:
        if runner.order not in program.asked:
            continue
        kept = [*runner.plan.steps[1:], *([runner.plan.absent] if runner.plan.absent is not None else [])]
        types = {step.type for step in kept if not step.fact}
        for _, event in sorted(events.items()):
            if event.type in types:
                runner.add(event)
        for column in runner.matcher.columns.values():
            column.since, column.place = _since(engine, program.types.index(column.step.type))
    for rule, slot, number in _consumed(engine):
        if number in events:
            consumed = made.runners[rule].consumed
            assert consumed is not None
            consumed.get(slot, next(iter(consumed.values())))[number] = events[number].time
    for rule, key, time in _emitted(engine):
        made.runners[rule].emitted[key] = time
    return made


def recorded(
    engine: RunningProgram, plans: Sequence[RulePlan], found: Sequence[Occurrence],
    large: dict[int, tuple[Any, ...]] | None = None,
) -> Published:  # fmt: skip
    """What an engine in Python has published, in words.

    Parameters
    ----------
    engine: knows texts by their numbers.
    plans: of the rules.
    large: is given the values, by its number, of each composite that has a whole number of more than 64 bits.

    Raises
    ------
    LargeNumberError: there is such a number, and nowhere to put it.
    """
    words, offsets = list[int](), list[int]()
    places, numbers = {plan.rule.name: place for place, plan in enumerate(plans)}, set[int]()
    for each in found:
        rule = places[each.rule]
        follows = plans[rule].absent is None and each.sources[0] in numbers
        gaps, *values = engine.words(each.type, each.values)
        wide = next((value for value in (gaps, *values) if not -WORD <= value < WORD), None)
        if wide is not None and large is None:
            raise LargeNumberError(f"{wide} has more than 64 bits", hint="one thread has it: leave --threads out")
        if wide is not None and large is not None:
            large[each.number], gaps, values = each.values, 0, [0] * len(values)
        offsets.append(len(words))
        words += [rule, each.time, each.number, 0, 0 if follows else -1, gaps, *values, *each.sources]
        numbers.add(each.number)
    return Published(np.array(words, np.int64), np.array(offsets, np.int64))


def _awaiting(
    engine: RunningProgram, made: Publisher, events: Mapping[int, Occurrence]
) -> Iterator[tuple[int, int, int, DueAbsence]]:
    """The absences that rules wait for."""
    for rule, runner in enumerate(made.runners):
        if runner.plan.absent is None:
            continue
        rows = engine.memory.rows_of(int(engine.program.R[rule, at.WAITING]))
        due: DueAbsence | None = None
        for row in rows:
            deadline, number, deep = row[:3].tolist()
            match = _match(engine, runner.plan, row)
            trigger = events.get(number, match[0])
            if due is None or due.trigger.number != number:
                if due is not None:
                    yield due.deadline, rule, due.trigger.number, due
                due = DueAbsence(deadline, trigger, [], chain_of_names([runner.plan.rule.name] * deep))
            due.matches.append(match)
        if due is not None:
            yield due.deadline, rule, due.trigger.number, due


def _match(engine: RunningProgram, plan: RulePlan, row: Any) -> PartialMatch:
    """A match that has been written down."""
    match: PartialMatch = ()
    reals, begin = row.view(np.float64), at.WAITED
    for step in plan.steps:
        if isinstance(step.part, t.Aggregate):
            domain = step.aggregate.result(step.values)
            found = value_of(domain, int(row[begin]), reals[begin], engine.known)
            match = (*match, None if row[begin + 1] else found)
            begin += 2
        elif not step.policy.forbids:
            size = at.VALUES + len(step.declared.attributes)
            event = _event(engine, step.type, row[begin : begin + size])
            item = event.values if step.fact else event
            match = (*match, item, *((step.fits(match, item) or ()) if step.fits is not None else ()))
            begin += size
    return match


def _event(engine: RunningProgram, name: str, row: Any) -> Occurrence:
    """An event or a fact of which there is a row."""
    words, reals = row.tolist(), row.view(np.float64)
    values = tuple(
        None if words[at.NULLS] >> n & 1 else value_of(domain, words[at.VALUES + n], reals[at.VALUES + n], engine.known)
        for n, domain in enumerate(engine.rules.declarations[name].domains.values())
    )
    return Occurrence(name, words[at.TIME], values, words[at.NUMBER])


def _events(engine: RunningProgram) -> Iterator[Occurrence]:
    for y, name in enumerate(engine.rules.events):
        for row in engine.memory.rows_of(y):
            yield _event(engine, name, row)


def _since(engine: RunningProgram, y: int) -> tuple[int | None, int]:
    """From which time and which place on all events of a type are there."""
    rows = engine.memory.rows_of(y)
    if engine.memory.H[2 * y] == 0:
        return engine.since.get(y, (None, 0))
    if not len(rows):
        return int(engine.memory.V[at.NOW]) + 1, int(engine.memory.V[at.COUNT])
    return int(rows[0, at.TIME]), int(rows[0, at.NUMBER])


def _entries(engine: RunningProgram) -> Iterator[tuple[list[int], Any]]:
    """The entries of the table, as whole numbers and as floats."""
    begin, mask, width = engine.memory.V[at.TABLE : at.TABLE_WIDTH + 1].tolist()
    table = engine.memory.H[begin : begin + (mask + 1) * width].reshape(mask + 1, width)
    for entry in table[table[:, 0] != 0]:
        yield entry.tolist(), entry.view(np.float64)


def _consumed(engine: RunningProgram) -> Iterator[tuple[int, int, int]]:
    for (role, number, *_), _ in _entries(engine):
        if role > 0:
            yield (role - 1) // 4096, (role - 1) % 4096, number


def _emitted(engine: RunningProgram) -> Iterator[tuple[int, tuple[Any, ...], int]]:
    for (role, _, time, gaps, *_), reals in _entries(engine):
        if role < 0:
            plan = engine.plan.plans[-1 - role]
            key: list[Any] = []
            for i, each in enumerate(plan.rule.per):
                word, real = int(reals.view(np.int64)[4 + i]), float(reals[4 + i])
                found = value_of(domain_of(each), word, real, engine.known)
                key.append(None if gaps >> i & 1 else "nan" if found != found else found)
            yield -1 - role, tuple(key), time


# --- back -----------------------------------------------------------------------------------------------


def returnable(exact: Publisher) -> bool:
    """Whether the state can be said in words, and every rule has all the history that its windows reach."""
    waiting = [item for *_, due in exact.waiting for match in due.matches for item in match]
    waiting += [key for runner in exact.runners for key in runner.emitted]
    complete = all(_complete(runner, exact.now) for runner in exact.runners)
    return complete and all(map(_small, held_events(exact).values())) and all(map(_small, waiting))


def _complete(runner: RuleRunner, now: int | None) -> bool:
    """Whether a rule that has come later has seen all that an engine would have that knows all events."""
    for column in runner.matcher.columns.values():
        horizon = column.step.lookback.time
        if column.late and column.since is not None:
            if horizon is None or now is None or column.since + horizon > now:
                return False
            column.late = False
    return True


def _small(item: Any) -> bool:
    """Whether an event, a fact or a value has room in words."""
    event = isinstance(item, Occurrence)
    values = (item.time * 2, *item.values) if event else item if isinstance(item, tuple | list) else (item,)
    return all(not isinstance(value, int) or -WORD <= value < WORD for value in values)


def held_events(exact: Publisher) -> dict[int, Occurrence]:
    """All events that are kept: but for those in matches that wait."""
    columns = [column.column for runner in exact.runners for column in runner.matcher.columns.values()]
    columns += [each.absences.column.column for each in exact.runners if each.absences is not None]
    return {event.number: event for column in columns for event in column}


def to_memory(
    exact: Publisher, engine: RunningProgram, waits: Callable[[int, DueAbsence], bool] = lambda *_: True
) -> bool:
    """Let a program that has seen nothing know what `cdp` knows.

    Parameters
    ----------
    waits: whether it is this program that waits for something, given the place of the rule.

    Returns whether it does: what a column asks of an event may have more than 64 bits.
    """
    memory, program = engine.memory, engine.program
    by_type: dict[str, list[Occurrence]] = {}
    for _, event in sorted(held_events(exact).items()):
        by_type.setdefault(event.type, []).append(event)
    if not all(_put(engine, program.types.index(type), events) for type, events in by_type.items()):
        return False
    if exact.now is not None:
        memory.V[at.NOW] = exact.now
    memory.V[at.COUNT] = exact.count
    orders = [each.order for each in exact.runners]
    for _, rule, _, due in sorted(exact.waiting, key=lambda each: each[:3]):
        place = orders.index(rule)
        if waits(place, due):
            _await(engine, place, due)
    for rule, runner in enumerate(exact.runners):
        for column in runner.matcher.columns.values():
            y = program.types.index(column.step.type)
            if column.since is not None:
                engine.since[y] = max(engine.since.get(y, (column.since, 0)), (column.since, column.place))
        for slot, consumed in (runner.consumed or {}).items():
            for number in consumed:
                _enter(engine, [rule * 4096 + (slot if engine.settings.trex else 0) + 1, number])
        for key, time in runner.emitted.items():
            _enter(engine, [-1 - rule, *_silence(engine, rule, key, time)])
    return True


def _put(engine: RunningProgram, y: int, events: Sequence[Occurrence]) -> bool:
    """Events of a type join the history, which has none of them."""
    memory, (declared, count) = engine.memory, (engine.rules.declarations[events[0].type], len(events))
    if not memory.T[y, at.KEPT]:  # it is another part's
        return True
    rows = memory.first_rows(y, count)
    rows[:, at.TIME], rows[:, at.NUMBER] = zip(*((event.time, event.number) for event in events), strict=True)
    for n, domain in enumerate(declared.domains.values()):
        column = attribute_column([event.values[n] for event in events], domain, engine.texts.put, {})
        rows[:, at.VALUES + n] = column.values.view(np.int64) if domain == FLOAT else column.values
        if column.nulls is not None:
            rows[column.nulls, at.VALUES + n] = 0
            rows[:, at.NULLS] |= column.nulls.astype(np.int64) << n
    while code := engine.ask(3, y, count - int(memory.H[2 * y + 1])):
        if code == at.BEYOND:
            return False
        engine.grow(code)
    return True


def _await(engine: RunningProgram, rule: int, due: DueAbsence) -> None:
    """Write matches down that wait."""
    memory, plan, y = engine.memory, engine.plan.plans[rule], int(engine.program.R[rule, at.WAITING])
    for match in due.matches:
        words = [due.deadline, due.trigger.number, len(chain_names(due.chain))]
        for step in plan.steps:
            if isinstance(step.part, t.Aggregate):
                domain, value = step.aggregate.result(step.values), match[step.slot]
                words += [engine.word(value, domain), int(value is None)]
            elif not step.policy.forbids:
                event = match[step.slot]
                head = [0, 0] if step.fact else [event.time, event.number]
                words += [*head, *engine.words(step.type, event if step.fact else event.values)]
        start, end = memory.H[2 * y : 2 * y + 2].tolist()
        if end - start > memory.T[y, at.MASK]:
            memory.grow_rows(y)
        a = int(memory.T[y, at.BASE] + (end & int(memory.T[y, at.MASK])) * memory.T[y, at.WIDTH])
        memory.W[a : a + len(words)] = words
        memory.H[2 * y + 1] += 1
    memory.V[at.DUE] = min(int(memory.V[at.DUE]), due.deadline)


def _silence(engine: RunningProgram, rule: int, key: tuple[Any, ...], time: int) -> list[int]:
    plan = engine.plan.plans[rule]
    domains = list(map(domain_of, plan.rule.per))
    gaps = sum(1 << i for i, value in enumerate(key) if value is None)
    words = []
    for value, domain in zip(key, domains, strict=True):
        value = float("nan") if value == "nan" and domain == FLOAT else value
        words.append(engine.word(value + 0.0 if domain == FLOAT and value is not None else value, domain))
    mark = scattered(gaps, len(key))
    for word in words:
        mark = scattered(mark, word)
    return [mark, time, gaps, *words]


def _enter(engine: RunningProgram, entry: list[int]) -> None:
    """Put an entry into the table."""
    memory = engine.memory
    begin, mask, width = memory.V[at.TABLE : at.TABLE_WIDTH + 1].tolist()
    if 2 * (memory.H[begin - 1] + 1) > mask:
        engine.grow(at.GROW_TABLE)
        begin, mask, width = memory.V[at.TABLE : at.TABLE_WIDTH + 1].tolist()
    slot = scattered(scattered(0, entry[0]), entry[1]) & mask
    while memory.H[begin + slot * width] != 0:
        if memory.H[begin + slot * width : begin + slot * width + 2].tolist() == entry[:2] and entry[0] > 0:
            return
        slot = (slot + 1) & mask
    memory.H[begin + slot * width : begin + slot * width + len(entry)] = entry
    memory.H[begin - 1] += 1
