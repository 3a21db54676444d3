"""Common parts of processors with an inner one: running its machine, and its last event."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

from workbench.core.contract import ContractKind
from workbench.core.determinism import Determinism
from workbench.core.domain import Bool, Domain, Range
from workbench.core.kinds import Deferring, Holder, Push
from workbench.core.ops import as_term, either, ite
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import NOTHING, Emission, Machine, Maybe, Processor, Slot, State, slots_of
from workbench.core.strict_values import mark_computed, strictly
from workbench.core.term import FALSE, TRUE, var
from workbench.errors import PipelineError, TypingError, check_kind
from workbench.processors.held.group import Group
from workbench.processors.prefix import Prefix


class SingleHolder(Holder):
    """Base of processors with an inner one, as `inner`; an inner pipeline becomes a group.

    Class attributes
    ----------------
    splits: whether the language makes one copy for each output of a pipeline with several.
    """

    splits: ClassVar[bool] = False
    inner: Processor | Pipeline

    @cached_property
    def _inner(self) -> Processor:
        assert isinstance(self.inner, Processor)
        return self.inner

    @cached_property
    def _push(self) -> Push:
        """The step of the inner processor, cached for every event."""
        together = self._inner.together if isinstance(self._inner, Group) else None
        return together or self._inner.step

    @cached_property
    def _initial_copy(self) -> State:
        """The initial state of each copy of the inner processor."""
        return self._inner.initial()

    @property
    def in_arity(self) -> int:
        return self._inner.in_arity

    @property
    def determinism(self) -> Determinism:
        return self._inner.determinism

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return self._inner.results(inputs)


def wrap(where: str, inner: Processor | Pipeline) -> Processor:
    """Return the inner processor of `where`, which must have one output; a pipeline becomes a group."""
    processor = Group(inner) if isinstance(inner, Pipeline) else inner
    hint = "write a processor, such as wb.processors.Cumulate(wb.functions.ADD), or a pipeline"
    check_kind(processor, Processor, hint, f"the inner processor of a {where}")
    if isinstance(processor, Group) and processor.faults:
        raise PipelineError(
            f"pipeline {processor.body.name} has faults, and is used in a {where}",
            hint=f"a {where} starts copies of its processor afresh: faults are on the pipes around it",
        )
    if isinstance(processor, Group) and any(each.kind is ContractKind.ASSUME for each in processor.flat.contracts):
        raise PipelineError(
            f"pipeline {processor.body.name} has assumptions, and is used in a {where}",
            hint=f"a {where} starts copies of its processor afresh: assume it of the stream that the {where} reads",
        )
    if processor.merges:
        raise PipelineError(
            f"a {where} gives whole fronts to its processor, and '{processor}' takes its inputs as they come",
            hint=f"write a pipeline that calls {processor.keyword}, and put that in the {where}",
        )
    if processor.out_arity != 1:
        raise PipelineError(
            f"the processor in '{where}' must have one output, {inner} has {processor.out_arity}",
            hint="use a pipeline that returns one of them, or a tuple or record of them",
        )
    return processor


def briefly(processor: Processor, max_fronts: int) -> Processor:
    """Return a (typed) processor's replacement for at most `max_fronts` fronts; only its first event counts."""
    if isinstance(processor, Deferring):
        return processor.first(max_fronts) if processor.boundless else processor
    if not isinstance(processor, Group) or not any(node.boundless for node in processor.flat.nodes):
        return processor
    flat, nodes = processor.flat, []
    rest = set[str]()  # pipes of which more events count than the first
    for node in reversed(flat.nodes):
        first, inner = rest.isdisjoint(node.outputs), node.processor
        if isinstance(inner, Deferring) and inner.boundless:
            inner = inner.first(max_fronts) if first else inner.with_capacity(max_fronts)
        inputs = node.inputs
        if not first or flat.typed[node.name].lag != 0:
            rest.update(inputs)
        elif node.queues:  # further events need not wait there
            inputs = tuple(f"{node.name}.first{i}" for i in range(len(inputs)))
            nodes += [Node(name, Prefix(1), (pipe,), (name,)) for name, pipe in zip(inputs, node.inputs, strict=True)]
        nodes.append(replace(node, processor=inner, inputs=inputs))
    return Group(replace(flat, nodes=tuple(reversed(nodes))))


def check_verdicts(where: str, inner: Processor, inputs: tuple[Domain, ...]) -> None:
    """Check that the inner processor of `where` emits truth values; TypingError if not."""
    (result,) = inner.results(inputs)
    if not isinstance(result, Bool):
        raise TypingError(
            f"'{where}' takes a processor that emits bool, '{inner}' emits {result}",
            hint="let it compare, e.g. NAME > 0; declare results of Python functions: user_function(f, result=BOOL)",
        )


def first_event(out: Emission) -> Maybe:
    """Return the first event emitted, if there is one."""
    if isinstance(out, Maybe):
        return out
    return next((maybe for maybe in slots_of(out) if maybe.present), NOTHING)


def last_event(out: Emission, before: Maybe) -> Maybe:
    """Return the last event emitted, `before` if there is none."""
    if isinstance(out, Maybe):
        return out if out.present else before
    return next((maybe for maybe in reversed(slots_of(out)) if maybe.present), before)


def advance(inner: Machine, state: State, last: Maybe, front: tuple[Any, ...]) -> tuple[State, Maybe]:
    """Make one inner step, and return the state and the last event emitted so far."""
    following, (out,) = inner.step(state, front)
    computes(following, out)
    typed = tuple(as_state(new, slot) for new, slot in zip(following, inner.slots, strict=True))
    return typed, later(out, last)


def later(out: Emission, last: Maybe) -> Maybe:
    """Return the last event of `out`, else `last`; whether there is one may be symbolic."""
    for maybe in slots_of(out):
        present = as_term(maybe.present, Bool())
        last = Maybe(either(present, last.present), ite(present, maybe.value, last.value))
    return last


def end_window(inner: Machine, state: State, last: Maybe) -> Maybe:
    """Return the last event, given the emission of the inner processor at the end of the window."""
    if inner.finish is None:
        return last
    (out,) = inner.finish(state)
    computes((), out)
    return later(out, last)


def computes(following: State, *outs: Emission) -> None:
    """Record that an inner step computes its next state and its emission (see `core.strict_values`)."""
    mark_computed(following)
    for out in outs:
        for maybe in slots_of(out):
            mark_computed((maybe.value,), maybe.present)


def as_state(value: Any, slot: Slot) -> Any:
    """Convert a next-state value to a term. Ranges stay as wide as arithmetic made them; steps stay in bounds."""
    return value if isinstance(slot.domain, Range) and not isinstance(value, int) else as_term(value, slot.domain)


def symbolic_step(inner: Machine, inputs: tuple[Domain, ...]) -> tuple[State, Emission]:
    """Return one step from any state on any front."""
    state = tuple(var(f"s{i}", slot.domain) for i, slot in enumerate(inner.slots))
    front = tuple(var(f"x{i}", domain) for i, domain in enumerate(inputs))
    following, (out,) = inner.step(state, front)
    return following, out


def always_emits(inner: Machine, inputs: tuple[Domain, ...]) -> bool:
    """Whether every front makes the inner processor emit."""
    _, out = symbolic_step(inner, inputs)
    return any(maybe.present is True or maybe.present is TRUE for maybe in slots_of(out))


def leaves_checked_domain(inner: Machine, inputs: tuple[Domain, ...]) -> bool:
    """Whether the inner processor has arithmetic that can leave a checked domain."""
    with strictly(TRUE) as collector:
        following, out = symbolic_step(inner, inputs)
        computes(following, out)
    return collector.escape is not FALSE


def bits(machine: Machine) -> int:
    """Return the number of state bits of a finite machine."""
    return sum(((slot.domain.size or 1) - 1).bit_length() for slot in machine.slots)
