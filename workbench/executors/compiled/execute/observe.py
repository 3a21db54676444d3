"""Observation of a compiled executor between two steps: any term of its system, evaluated in plain Python."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.domain import BOOL, Domain, Reals, Value
from workbench.core.fields import join_parts, scalars, split
from workbench.core.processor import Maybe, show_carried
from workbench.core.term import FALSE, TRUE, Term, leaves
from workbench.errors import Overflow
from workbench.executors.compiled.code.loop import step_function
from workbench.executors.compiled.code.numbers import encode_any
from workbench.executors.compiled.code.plain import plain_function
from workbench.executors.compiled.lower.shape import Shape
from workbench.executors.compiled.lower.system import hazards, list_known
from workbench.executors.compiled.lower.tables import order_rows
from workbench.ir.system import Pipe, System

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.state import LoopArrays
    from workbench.executors.compiled.execute.text_codes import TextCodes


class Observer:
    """Terms over a system, to be evaluated at a state and on the inputs of a step.

    Parameters
    ----------
    state: the arrays of the executor: integers, floats, and those of the memories.
    row: whether the terms also depend on the number of a row.
    """

    def __init__(
        self, system: System, form: Shape, state: Sequence[Any], terms: Sequence[Term], *, row: bool = False
    ) -> None:
        self._system, self._form, self._state = system, form, state
        self._function = plain_function(step_function(system, terms, row=row))

    def __call__(self, inputs: Mapping[str, Any], *row: int) -> tuple[Any, ...]:
        """Return the values of the terms, as numbers of compiled code; inputs that are not named are absent."""
        whole, real = self._state[0].tolist(), self._state[1].tolist()
        numbers = dict(zip(self._form.whole, whole, strict=True)) | dict(zip(self._form.real, real, strict=True))
        state = [numbers[i] != 0 if v.domain == BOOL else numbers[i] for i, v in enumerate(self._system.variables)]
        arguments = [inputs.get(name, encode_any(domain, domain.default)) for name, domain in self._system.free.items()]
        values = self._function(*map(memoryview, self._state[2:]), *state, *arguments, *row)
        return values if isinstance(values, tuple) else (values,)


def overflow_in(system: System, form: Shape, state: list[Any], step: int, inputs: Sequence[Any], kind: str) -> Overflow:
    """Return the error of a step from a state, in exact arithmetic, given the entries of the columns.

    Parameters
    ----------
    kind: the kind of the loop.
    """
    numbers = [array.item(0) for array in inputs]
    entries = dict(zip((name for name, _ in form.values), numbers, strict=False))
    flags = numbers[len(form.values) :]
    entries.update((source.present.name, flag) for source, flag in zip(system.inputs, flags, strict=False))
    entries.update(
        (term.name, value is TRUE) for term, value in list_known(system, kind).items() if term.name in system.free
    )
    all_hazards = hazards(system)
    conditions = Observer(system, form, state, [hazard.happens for hazard in all_hazards])(entries)
    hazard = next(hazard for hazard, here in zip(all_hazards, conditions, strict=True) if here)
    gets = "" if hazard.gets is FALSE else f" {Observer(system, form, state, [hazard.gets])(entries)[0]}"
    found_there = Overflow(f"step {step}: {hazard.what}{gets}", hint=hazard.hint, queue=hazard.queue).at(step=step)
    found_there.exceeds_64_bits, found_there.by_compiled = hazard.exceeds_64_bits, True
    return found_there


def bind_inputs(
    system: System, events: Mapping[str, Value], texts: TextCodes, ends: Container[str] = ()
) -> dict[str, Any]:
    """Return the leaves of the inputs of a step with these events, or at which these inputs end."""
    bindings: dict[str, Any] = {end.now.name: name in ends for name, end in system.ends.items()}
    for source in system.inputs:
        if source.name in events:
            bindings[source.present.name] = True
            pairs = zip(leaves(source.value), split(source.domain, events[source.name]), strict=True)
            bindings.update((leaf.name, texts.number(leaf.domain, value)) for leaf, value in pairs)
    return bindings


def watch_pipe(pipe: Pipe) -> Iterator[Term]:
    """Return the terms that determine what a pipe carries."""
    return leaves((pipe.slots, () if pipe.more is None else pipe.more))


def in_rows(
    pipe: Pipe, domain: Domain, observer: Observer, state: LoopArrays, inputs: Mapping[str, Any]
) -> list[Value]:
    """Return the events that a pipe carries for rows of a table, given an observer of its `rows`."""
    events: list[Value] = []
    if pipe.rows is None:
        return events
    used, keys = state.array(pipe.rows.used), state.array(pipe.rows.keys)
    parts = [part for _, part in scalars(domain)]
    for row in order_rows(used, keys):
        condition, which, *flat = observer(inputs, row)
        if condition and which:
            values = [state.texts.value(p, n) for p, n in zip(parts, flat, strict=True)]
            events.append(join_parts(domain, iter(values)))
    return events


def show_pipe(
    pipe: Pipe,
    domain: Domain,
    width: int | None,
    numbers: Iterator[Any],
    texts: TextCodes,
    more: Sequence[Value] = (),
) -> Maybe:
    """Return what a pipe of this width carries, from the values of its terms, and its events for rows of a table."""
    parts = [part for _, part in scalars(domain)]
    events = []
    for _ in pipe.slots:
        present, flat = next(numbers), [next(numbers) for _ in parts]
        if present:
            events.append(join_parts(domain, iter([texts.value(p, n) for p, n in zip(parts, flat, strict=True)])))
    if pipe.more is not None:
        events *= 1 + next(numbers)
    events += more
    return Maybe(bool(events), show_carried(events, width))


def dtype(domain: Domain) -> Any:
    """Return the array type of a scalar domain."""
    import numpy as np

    if domain == BOOL:
        return np.bool_
    return np.float64 if isinstance(domain, Reals) else np.int64
