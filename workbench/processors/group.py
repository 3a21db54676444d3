"""Group: a whole pipeline used as one processor (TIME 2021, sections 2 and 3.3).

Inside a pipeline a group is transparent: `flatten` replaces it by its contents, with names `group.inner`. It
runs as a single processor only inside a window, where its queues are part of its state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from workbench.core import function as f
from workbench.core.domain import INT, Domain, Value
from workbench.core.function import same_domain
from workbench.core.join import Join
from workbench.core.ops import both, ite
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import NOTHING, Machine, Maybe, Processor, Slot, State, Stream, event
from workbench.core.term import FALSE, TRUE
from workbench.errors import Refused, TypingError
from workbench.processors.cumulate import Cumulate
from workbench.processors.passthrough import Passthrough


@dataclass(frozen=True)
class Group(Processor):
    """The pipeline `body` as a processor of the same arity."""

    body: Pipeline

    @cached_property
    def flat(self) -> Pipeline:
        """The body without groups: a group inside it is as transparent as this one (its inputs do not join)."""
        return flatten(self.body)

    @property
    def in_arity(self) -> int:
        return self.body.in_arity

    @property
    def out_arity(self) -> int:
        return self.body.out_arity

    @property
    def joins(self) -> bool:
        return False  # only the processors inside do

    @property
    def inner_queues(self) -> tuple[str, ...]:
        return self.flat.queues

    @property
    def ports(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.body.inputs)

    @property
    def label(self) -> str:
        return self.body.name

    def resolve(self, integers: Domain) -> Self:
        return type(self)(self.body.resolve(integers))

    def typed(self, inputs: tuple[Domain, ...]) -> Self:
        for (name, expected), given in zip(self.body.inputs, inputs, strict=True):
            if not same_domain(expected, given):
                raise TypingError(
                    f"input '{name}' of pipeline {self.body.name} carries {expected}, not {given}",
                    hint="declare the same type on both sides",
                )
        return self

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        del inputs
        return self.body.output_domains

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return self.body.denote(streams)

    # --- operation: a walk over the nodes with unbounded queues in the state -------------------------------

    def initial(self) -> State:
        return tuple((self.flat.typed[node.name].initial(), ((),) * len(node.queues)) for node in self.flat.nodes)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        carried = {name: event(value) for (name, _), value in zip(self.flat.inputs, front, strict=True)}
        after = []
        for node, (inner, queues) in zip(self.flat.nodes, state, strict=True):
            arrivals = [carried[pipe] for pipe in node.inputs]
            queues, consumed = _consume(queues, arrivals)
            results: tuple[Maybe, ...] = (NOTHING,) * len(node.outputs)
            if consumed is not None:
                inner, results = self.flat.typed[node.name].step(inner, consumed)
            carried.update(zip(node.outputs, results, strict=True))
            after.append((inner, queues))
        return tuple(after), tuple(carried[pipe] for _, pipe in self.flat.outputs)

    def finish(self, state: State) -> tuple[Maybe, ...]:
        """The last event of each output when all inputs end: what `finish` emits flows on downstream."""
        carried: dict[str, list[Value]] = {name: [] for name, _ in self.flat.inputs}
        for node, (inner, queues) in zip(self.flat.nodes, state, strict=True):
            processor = self.flat.typed[node.name]
            waiting = queues or ((),) * len(node.inputs)
            streams = [[*queue, *carried[pipe]] for queue, pipe in zip(waiting, node.inputs, strict=True)]
            results = []
            for front in zip(*streams, strict=False):
                inner, emitted = processor.step(inner, front)
                results.append(emitted)
            results.append(processor.finish(inner))
            for position, pipe in enumerate(node.outputs):
                carried[pipe] = [maybes[position].value for maybes in results if maybes[position].present]
        return tuple(event(carried[p][-1]) if carried[p] else NOTHING for _, p in self.flat.outputs)

    # --- the finite machine ----------------------------------------------------------------------------------

    def refusal(self, backend: str) -> str:
        reasons = (self.flat.typed[node.name].refusal(backend) for node in self.flat.nodes)
        return next((reason for reason in reasons if reason), "")

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        if horizon is None:
            raise Refused(f"the group {self.body.name} has no single machine: flatten the pipeline around it")
        parts = [self._part(node, horizon) for node in self.flat.nodes]
        slots = tuple(
            Slot(f"{node.name}.{slot.name}", slot.domain, slot.initial)
            for node, (machine, join) in zip(self.flat.nodes, parts, strict=True)
            for slot in (*machine.slots, *(join.slots() if join else ()))
        )
        return Machine(slots, self._walker(parts))

    def _part(self, node: Node, horizon: int) -> tuple[Machine, Join | None]:
        domains = tuple(self.flat.domains[pipe] for pipe in node.inputs)
        machine = self.flat.typed[node.name].machine(domains, horizon)
        # at most `horizon` events enter before a reset, and none is stored by the last step: no overflow
        join = Join(domains, (horizon - 1,) * len(domains)) if node.queues else None
        return machine, join

    def _walker(
        self, parts: list[tuple[Machine, Join | None]]
    ) -> Callable[[State, tuple[Any, ...]], tuple[State, tuple[Maybe, ...]]]:
        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
            carried = {name: Maybe(TRUE, v) for (name, _), v in zip(self.flat.inputs, front, strict=True)}
            after: list[Any] = []
            rest = list(state)
            for node, (machine, join) in zip(self.flat.nodes, parts, strict=True):
                inner, rest = tuple(rest[: len(machine.slots)]), rest[len(machine.slots) :]
                arrivals = [carried[pipe] for pipe in node.inputs]
                fires, consumed, queued = arrivals[0].present, (arrivals[0].value,), ()
                if join is not None:
                    size = len(join.slots())
                    joined = join.step(tuple(rest[:size]), arrivals)
                    rest = rest[size:]
                    fires, consumed, queued = joined.fires, joined.front, joined.state
                following, results = machine.step(inner, consumed)
                after += [ite(fires, new, old) for new, old in zip(following, inner, strict=True)]
                after += queued
                carried.update(
                    (pipe, Maybe(_and(fires, out.present), out.value))
                    for pipe, out in zip(node.outputs, results, strict=True)
                )
            return tuple(after), tuple(carried[pipe] for _, pipe in self.flat.outputs)

        return step

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        total = Node("total", Cumulate(f.ADD), ("x",), ("y",))
        return (cls(Pipeline("sum", (("x", INT),), (total,), (("out", "y"),))),)

    def __str__(self) -> str:
        return f"Group({self.body.name})"


def _and(a: Any, b: Any) -> Any:
    """Conjunction where either side may be a Python bool from a step that always, or never, emits."""
    a = {True: TRUE, False: FALSE}.get(a, a) if isinstance(a, bool) else a
    return both(a, b)


def _consume(
    queues: tuple[tuple[Value, ...], ...], arrivals: list[Maybe]
) -> tuple[tuple[tuple[Value, ...], ...], tuple[Value, ...] | None]:
    """The queues after these arrivals, and the front that is consumed if there is a complete one."""
    if not queues:
        return queues, (arrivals[0].value,) if arrivals[0].present else None
    filled = [(*q, a.value) if a.present else q for q, a in zip(queues, arrivals, strict=True)]
    if all(filled):
        return tuple(q[1:] for q in filled), tuple(q[0] for q in filled)
    return tuple(filled), None


def flatten(pipeline: Pipeline) -> Pipeline:
    """The pipeline with every group replaced by its contents; pipes keep the names the user gave them.

    A capacity that the pipeline itself gives to a queue inside a group comes before the group's own.
    """
    nodes: list[Node] = []
    capacities: dict[str, int] = {}
    for node in pipeline.nodes:
        if isinstance(node.processor, Group):
            body = node.processor.flat
            nodes.extend(_inlined(node, body))
            capacities.update({f"{node.name}.{queue}": size for queue, size in body.capacities.items()})
        else:
            nodes.append(node)
    capacities.update(pipeline.capacities)
    return Pipeline(pipeline.name, pipeline.inputs, tuple(nodes), pipeline.outputs, capacities, pipeline.doc)


def _inlined(call: Node, body: Pipeline) -> list[Node]:
    """The body's nodes, renamed `call.inner`; the call's output pipes take the place of the body's."""
    renamed = dict(zip((name for name, _ in body.inputs), call.inputs, strict=True))
    made = {pipe for node in body.nodes for pipe in node.outputs}
    copies = []
    for outer, (_, inner) in zip(call.outputs, body.outputs, strict=True):
        if inner in made and inner not in renamed:
            renamed[inner] = outer
        else:  # an input shown as it is, or one pipe shown twice
            copies.append((outer, inner))
    for pipe in made:
        renamed.setdefault(pipe, f"{call.name}.{pipe}")
    nodes = [
        Node(
            f"{call.name}.{node.name}",
            node.processor,
            tuple(renamed[p] for p in node.inputs),
            tuple(renamed[p] for p in node.outputs),
            node.where,
        )
        for node in body.nodes
    ]
    taken = {node.name for node in nodes}
    for outer, p in copies:
        name = f"{call.name}.{outer}"
        while name in taken:
            name += "'"
        taken.add(name)
        nodes.append(Node(name, Passthrough(), (renamed[p],), (outer,)))
    return nodes
