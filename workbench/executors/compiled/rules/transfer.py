"""The state of a compiled rule set as that of the engine `cdp`, and back.

The rule of this module: what either of them would answer to what comes next is the same. What `cdp` has in columns of
each predicate is once in the rows of its type here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.domain import FLOAT
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.outputs import value_of
from workbench.executors.compiled.rules.words import scattered
from workbench.tesla.engines.cdp.matcher import CDPMatcher
from workbench.tesla.engines.publisher import Publisher
from workbench.tesla.engines.runner import RuleRunner
from workbench.tesla.occurrence import Occurrence

if TYPE_CHECKING:
    from workbench.executors.compiled.rules.engine import CompiledRules

WORD = 1 << 63


def to_publisher(engine: CompiledRules) -> Publisher:
    """An engine `cdp` that has seen the same."""
    memory, program = engine.memory, engine.program
    made = Publisher("compiled", engine.rules, engine.facts, engine.settings, CDPMatcher)
    made.now, made.passed, made.count = engine.now, engine.passed, int(memory.V[at.COUNT])
    events = {event.number: event for event in _events(engine)}
    for runner in made.runners:
        types = {step.type for step in runner.plan.steps[1:] if not step.fact}
        for _, event in sorted(events.items()):
            if event.type in types:
                runner.matcher.add(event)
        for column in runner.matcher.columns.values():
            column.since = _since(engine, program.types.index(column.step.type))
    for rule, slot, number in _consumed(engine):
        if number in events:
            consumed = made.runners[rule].consumed
            assert consumed is not None
            consumed.get(slot, next(iter(consumed.values())))[number] = events[number].time
    for rule, key, time in _emitted(engine):
        made.runners[rule].emitted[key] = time
    return made


def _events(engine: CompiledRules) -> Iterator[Occurrence]:
    memory, program = engine.memory, engine.program
    for y, name in enumerate(engine.rules.events):
        rows = memory.rows_of(y)
        reals = rows.view(np.float64)
        domains = list(enumerate(program.plan.rules.declarations[name].domains.values(), at.VALUES))
        for i, row in enumerate(rows.tolist()):
            values = tuple(
                None if row[at.NULLS] >> (n - at.VALUES) & 1
                else value_of(domain, row[n], reals[i, n], engine.known)
                for n, domain in domains
            )  # fmt: skip
            yield Occurrence(name, row[at.TIME], values, row[at.NUMBER])


def _since(engine: CompiledRules, y: int) -> int | None:
    """From when on all events of a type are there."""
    rows = engine.memory.rows_of(y)
    if engine.memory.H[2 * y] > 0:
        return int(rows[0, at.TIME]) if len(rows) else int(engine.memory.V[at.NOW]) + 1
    return engine.since.get(y)


def _entries(engine: CompiledRules) -> Iterator[tuple[list[int], Any]]:
    """The entries of the table, as whole numbers and as floats."""
    begin, mask, width = engine.memory.V[at.TABLE : at.TABLE_WIDTH + 1].tolist()
    table = engine.memory.H[begin : begin + (mask + 1) * width].reshape(mask + 1, width)
    for entry in table[table[:, 0] != 0]:
        yield entry.tolist(), entry.view(np.float64)


def _consumed(engine: CompiledRules) -> Iterator[tuple[int, int, int]]:
    for (role, number, *_), _ in _entries(engine):
        if role > 0:
            yield (role - 1) // 4096, (role - 1) % 4096, number


def _emitted(engine: CompiledRules) -> Iterator[tuple[int, tuple[Any, ...], int]]:
    for (role, _, time, gaps, *_), reals in _entries(engine):
        if role < 0:
            plan = engine.plan.plans[-1 - role]
            key: list[Any] = []
            for i, each in enumerate(plan.rule.per):
                word, real = int(reals.view(np.int64)[4 + i]), float(reals[4 + i])
                found = value_of(plan.scope.types.domain(each), word, real, engine.known)
                key.append(None if gaps >> i & 1 else "nan" if found != found else found)
            yield -1 - role, tuple(key), time


# --- back -----------------------------------------------------------------------------------------------


def returnable(exact: Publisher) -> bool:
    """Whether the state can be said in words, and every rule has all the history that its windows reach."""
    return all(_complete(runner, exact.now) for runner in exact.runners) and all(map(_small, _held(exact).values()))


def _complete(runner: RuleRunner, now: int | None) -> bool:
    for column in runner.matcher.columns.values():
        horizon = runner.plan.horizon(column.step)
        if column.since is not None and (horizon is None or now is None or column.since + horizon > now):
            return False
    return True


def _small(event: Occurrence) -> bool:
    values = (event.time * 2, *event.values)
    return all(not isinstance(value, int) or -WORD <= value < WORD for value in values)


def _held(exact: Publisher) -> dict[int, Occurrence]:
    columns = (column.column for runner in exact.runners for column in runner.matcher.columns.values())
    return {event.number: event for column in columns for event in column}


def to_memory(exact: Publisher, engine: CompiledRules) -> None:
    """Let a compiled rule set that has seen nothing know what `cdp` knows."""
    memory, program = engine.memory, engine.program
    for _, event in sorted(_held(exact).items()):
        _put(engine, event)
    if exact.now is not None:
        memory.V[at.NOW] = exact.now
    memory.V[at.COUNT] = exact.count
    for rule, runner in enumerate(exact.runners):
        for column in runner.matcher.columns.values():
            y = program.types.index(column.step.type)
            if column.since is not None:
                engine.since[y] = max(engine.since.get(y, column.since), column.since)
        for slot, consumed in (runner.consumed or {}).items():
            for number in consumed:
                _enter(engine, [rule * 4096 + (slot if engine.settings.trex else 0) + 1, number])
        for key, time in runner.emitted.items():
            _enter(engine, [-1 - rule, *_silence(engine, rule, key, time)])


def _put(engine: CompiledRules, event: Occurrence) -> None:
    """An event joins the history."""
    memory, y = engine.memory, engine.program.types.index(event.type)
    memory.V[at.NOW] = event.time
    while True:
        start, end = memory.H[2 * y : 2 * y + 2].tolist()
        if end - start > memory.T[y, at.MASK]:
            memory.V[at.WANTED] = y
            engine.grow(at.GROW_ROWS)
        row = int(memory.T[y, at.BASE] + (end & int(memory.T[y, at.MASK])) * memory.T[y, at.WIDTH])
        words = [event.time, event.number, *engine.words(event.type, event.values)]
        memory.W[row : row + len(words)] = words
        code = engine.ask(3, y, 0)
        if code == at.DONE:
            return
        engine.grow(code)


def _silence(engine: CompiledRules, rule: int, key: tuple[Any, ...], time: int) -> list[int]:
    plan = engine.plan.plans[rule]
    domains = [plan.scope.types.domain(each) for each in plan.rule.per]
    gaps = sum(1 << i for i, value in enumerate(key) if value is None)
    words = []
    for value, domain in zip(key, domains, strict=True):
        if domain == FLOAT:
            real = float("nan") if value == "nan" else 0.0 if value is None else value + 0.0
            words.append(int(np.float64(real).view(np.int64)))
        else:
            words.append(0 if value is None else engine.word(value, domain))
    mark = scattered(gaps, len(key))
    for word in words:
        mark = scattered(mark, word)
    return [mark, time, gaps, *words]


def _enter(engine: CompiledRules, entry: list[int]) -> None:
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
