"""State in arrays: what its operators mean, evaluated row by row, is what the compiled executor does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.core.fields import FrozenMap, join_parts, scalars, split
from workbench.core.memory import ROW
from workbench.core.term import Change, Term, leaves, var
from workbench.ir.system import Pipe, System
from workbench.processors.held.group import flatten

TEXT = """
function itself(x) = x
function first(e) = e.0
function second(e) = e.1
function zero(x) = x = 0
function large(x) = x >= 3
pipeline count(x: int) -> int { return cumulate(turn(x, 1), +) }
pipeline total(x: int) -> int { return cumulate(x, +) }
pipeline once(x: int) -> int { return cumulate(freeze(x), +) }
pipeline amounts(e: (int, int)) -> int { return cumulate(apply(e, second), +) }

pipeline queue(x: int) -> int { return trim(x, 7) - x }
pipeline pairs(x: (int, int)) -> int { return apply(trim(x, 6), first) * apply(x, second) }
pipeline wide(x: int, y: int) -> int { return stutter(x, 2) * 10 + y }
pipeline sums(x: int) -> int { return window(x, 11, cumulate(+)) }
pipeline greatest(x: int) -> int { return window(x, 13, cumulate(max)) }
pipeline verdicts(x: int) -> bool { return globally(x > 1) }
pipeline counts(x: int) -> map(int, int) { return slice(x, itself, count) }
pipeline ended(x: int) -> map(int, int) { return slice(x, itself, count, until = large, forget = true) }
pipeline number(x: int) -> int { return size(slice(x, itself, count)) }
pipeline looked_up(e: (int, int)) -> int { return get(slice(e, first, amounts), 2, -1) }
pipeline told(x: int) -> map(int, int) { return slice(x, itself, once, to_all = zero) }
pipeline sum_of_all(x: int) -> int { return sum_values(slice(x, itself, once, to_all = zero)) }
pipeline last(x: int) -> {key: int, value: int} { return slice_last(x, itself, count, to_all = zero, until = large) }
pipeline doubled(x: int) -> int { return apply(slice_last(x, itself, count, to_all = zero), second) * 2 }
"""
PARSED = wb.parse(TEXT)
NAMES = re.findall(r"^pipeline (\w+)", TEXT.split("\n\n")[1], re.MULTILINE)


class Directly:
    """Evaluates a system by the exact meanings of its operators, and nothing else."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.state: dict[Term, Any] = {var(v.name, v.domain): v.initial for v in system.variables}
        self.state |= {column: column.domain.default for memory in system.memories for column in memory.columns}

    def step(self, events: Mapping[str, Any]) -> dict[str, list[Any]]:
        """What comes out in a step."""
        now = {**self.state, **{end.now: False for end in self.system.ends.values()}}
        for source in self.system.inputs:
            now[source.present] = source.name in events
            given = split(source.domain, events.get(source.name, source.domain.default))
            now.update(zip(leaves(source.value), given, strict=True))
        for name, term in self.system.definitions:
            now[var(name, term.domain)] = meaning(term, now)
        for variable in self.system.variables:
            self.state[var(variable.name, variable.domain)] = meaning(variable.next, now)
        for memory in self.system.memories:
            for update in memory.updates:
                for row in now[memory.columns[0]].rows() if meaning(update.happens, now) else ():
                    if meaning(update.which, there := {**now, ROW: row}):
                        self._put(memory.columns[update.first :], row, update.value, there)
            for write in memory.writes:
                if meaning(write.happens, now):
                    self._put(memory.columns[write.first :], meaning(write.position, now), write.value, now)
        return {name: self._carried(self.system.pipes[pipe], pipe, now) for name, pipe in self.system.outputs}

    def _put(self, columns: tuple[Term, ...], position: int, value: Any, now: Mapping[Term, Any]) -> None:
        for column, leaf in zip(columns, leaves(value), strict=False):
            self.state[column] = self.state[column].put(position, meaning(leaf, now))

    def _carried(self, pipe: Pipe, name: str, now: Mapping[Term, Any]) -> list[Any]:
        """The events of a pipe; the state is that after the step already."""
        (slot, *_), domain = pipe.slots, self.system.domains_of_pipes[name]

        def event(value: Any, here: Mapping[Term, Any]) -> Any:
            return join_parts(domain, iter([meaning(leaf, here) for leaf in leaves(value)]))

        if isinstance(slot.value, Change):
            used, present, keys, values = (self.state[column] for column in slot.value.content.columns)
            content = FrozenMap({keys[row]: values[row] for row in used.rows() if present[row]})
            return [content] if meaning(slot.present, now) else []
        found = [event(each.value, now) for each in pipe.slots if meaning(each.present, now)]
        found *= 1 if pipe.more is None else 1 + now[pipe.more]
        if pipe.rows is not None and meaning(pipe.rows.happens, now):
            keys = now[pipe.rows.keys]
            for row in sorted(now[pipe.rows.used].rows(), key=keys.__getitem__):
                if meaning(pipe.rows.which, there := {**now, ROW: row}):
                    found.append(event(pipe.rows.value, there))
        return found


def meaning(term: Term, known: Mapping[Term, Any]) -> Any:
    """The value of a term."""
    found = dict(known)

    def exact(node: Term) -> Any:
        if node.is_const:
            return node.payload
        assert node.op is not None, f"{node} is not known"
        if node.op.binds:
            given = map(value, node.args[:-1])
            return node.op.exact(*given, lambda row: meaning(node.args[-1], {**known, ROW: row}))
        return node.domain.fit(node.op.exact(*map(value, node.args)))

    def value(node: Term) -> Any:
        if node not in found:
            found[node] = exact(node)
        return found[node]

    return value(term)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@examples(12)
def test_what_the_operators_mean_is_what_compiled_code_does(name: str, data: st.DataObject) -> None:
    pipeline = PARSED.get(name).pipeline
    room = dict.fromkeys(flatten(pipeline).queues, 101)  # for two events a step
    executor = wb.executors.Compiled(pipeline, room, machine=False)
    assert executor.system.memories or name == "verdicts"
    directly = Directly(executor.system)
    events = {}
    for source, domain in executor.flat.inputs:
        flat = [st.integers(0, 3)] * len(scalars(domain))
        events[source] = flat[0] if len(flat) == 1 else st.tuples(*flat)
    steps = data.draw(st.lists(st.fixed_dictionaries({}, optional=events), min_size=20, max_size=50))
    for step in steps:
        expected = {output: list(values) for output, values in executor.step(step).outputs.items()}
        assert directly.step(step) == expected
