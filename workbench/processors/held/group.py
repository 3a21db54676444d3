"""Group: a whole pipeline used as one processor (TIME 2021, sections 2 and 3.3).

Inside a pipeline a group is transparent: `flatten` replaces it by its contents, with names `group.inner`. It
runs as a single processor only inside a window, where its queues are part of its state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import Any, ClassVar, Self

from workbench.core import function as f
from workbench.core.contract import Contract
from workbench.core.determinism import Determinism, derive_determinism
from workbench.core.domain import BOOL, INT, Domain, ModelScope, Value
from workbench.core.fault import Fault
from workbench.core.form import Form
from workbench.core.function import same_domain
from workbench.core.join import Join, keep_unshared
from workbench.core.kinds import Each, Holder, Keeping, in_turn, keeps_copies, stepping
from workbench.core.ops import as_term, both, ite
from workbench.core.pipeline import Node, Pipeline, graph_of
from workbench.core.processor import (
    Burst,
    Emission,
    Machine,
    Maybe,
    Slot,
    State,
    Stepped,
    Stream,
    emission,
    events_of,
    slots_of,
)
from workbench.core.program import Program
from workbench.core.strict_values import mark_computed, when
from workbench.core.term import TRUE
from workbench.errors import PipelineError, Refused, TypingError
from workbench.faults.inject import inject
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.lockstep_group import Member, at_once, together
from workbench.processors.passthrough import Passthrough

MAXIMUM = 50_000
"""Maximum number of processors of a pipeline."""


@dataclass(frozen=True)
class Group(Holder):
    """The pipeline `body` as a processor of the same arity."""

    body: Pipeline

    __call__: ClassVar[Any]  # one stream or several: the body decides

    @cached_property
    def size(self) -> int:
        """The number of processors in the body, those in its groups included."""
        return sum(node.processor.size if isinstance(node.processor, Group) else 1 for node in self.body.nodes)

    @cached_property
    def flat(self) -> Pipeline:
        """The body without groups: a group inside it is as transparent as this one (its inputs do not join).

        It has no faults: these belong to the pipeline around it.
        """
        return flatten(self.body, faults=False)

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """The faults of the body and of its groups, on the pipes of `flat`."""
        return list_planned_faults(self.body)

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
        return self.flat.every_queue

    @property
    def inner_pipes(self) -> Mapping[str, Domain]:
        outside = {pipe for _, pipe in self.flat.outputs} | {pipe for pipe, _ in self.flat.inputs}
        return {pipe: domain for pipe, domain in self.flat.domains.items() if pipe not in outside}

    @property
    def is_timed(self) -> bool:
        return any(processor.is_timed for processor in self.flat.typed.values())

    @property
    def determinism(self) -> Determinism:
        determinisms = derive_determinism(self.flat)
        return reduce(or_, (determinisms[pipe] for _, pipe in self.flat.outputs))

    @property
    def fact_types(self) -> tuple[str, ...]:
        return tuple(name for node in self.body.nodes for name in node.processor.fact_types)

    @property
    def has_obligations(self) -> bool:
        return any(processor.has_obligations for processor in self.flat.typed.values())

    @property
    def ports(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.body.inputs)

    @property
    def label(self) -> str:
        return self.body.name

    def resolve(self, over: Domain | ModelScope) -> Self:
        return type(self)(self.body.resolve(over))

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        for (name, expected), actual in zip(self.body.inputs, inputs, strict=True):
            if not same_domain(expected, actual):
                raise TypingError(
                    f"input '{name}' of pipeline {self.body.name} carries {expected}, not {actual}",
                    hint=f"declare the same type on both sides, or pass cast({name}, {expected})",
                )
        return self

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return self.body.output_domains

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return (self.flat if self.is_timed else self.body).denote(streams)

    def denote_open(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return (self.flat if self.is_timed else self.body).denote(streams, ended=False)

    # --- operation: a walk over the nodes with unbounded queues in the state -------------------------------

    @cached_property
    def _pipes(self) -> dict[str, int]:
        """The numbers of the pipes: first the inputs, then the outputs of each processor in turn."""
        pipes = [name for name, _ in self.flat.inputs] + [pipe for node in self.flat.nodes for pipe in node.outputs]
        return {pipe: number for number, pipe in enumerate(pipes)}

    @cached_property
    def _members(self) -> tuple[Member, ...]:
        number = self._pipes.__getitem__
        return tuple(
            Member(self.flat.typed[n.name], tuple(map(number, n.inputs)), tuple(map(number, n.outputs)), n)
            for n in self.flat.nodes
        )

    @cached_property
    def _output_positions(self) -> tuple[int, ...]:
        return tuple(self._pipes[pipe] for _, pipe in self.flat.outputs)

    @cached_property
    def together(self) -> Callable[[State, tuple[Any, ...]], Stepped] | None:
        """Its step with one copy after the other as a single function, if nothing waits in it."""
        return together(self._members, self.in_arity, self._output_positions)

    @cached_property
    def on_values(self) -> Callable[..., Any] | None:
        return at_once(self._members, self.in_arity, self._output_positions)

    @cached_property
    def _functions(self) -> list[Callable[..., Any] | None]:
        return [member.processor.on_values for member in self._members]

    @cached_property
    def _initial_state(self) -> State:
        return tuple((member.processor.initial(), member.queues) for member in self._members)

    def initial(self) -> State:
        return self._initial_state

    @property
    def clocks(self) -> Mapping[int, str]:
        times = self.body.clocks
        return {i: times[name] for i, (name, _) in enumerate(self.body.inputs) if name in times} if times else {}

    @cached_property
    def copies(self) -> bool:
        return any(keeps_copies(processor) for processor in self.flat.typed.values())

    def step(self, state: State, front: tuple[Any, ...], each: Each = in_turn) -> Stepped:
        if self.together is not None and each is in_turn:
            return self.together(state, front)
        after, carried = self._walk(state, [(value,) for value in front], ends=False, each=each)
        return after, tuple([emission(carried[pipe]) for pipe in self._output_positions])

    def finish(self, state: State) -> tuple[Emission, ...]:
        """Return the emission when all inputs end: what a processor emits at its end flows downstream."""
        _, carried = self._walk(state, [()] * self.in_arity, ends=True)
        return tuple([emission(carried[pipe]) for pipe in self._output_positions])

    def arrive(self, state: State, events: Sequence[Sequence[Value]]) -> tuple[State, list[Sequence[Value]]]:
        """Make one step with these events on the inputs, some of which may have none: return the state and outputs."""
        after, carried = self._walk(state, list(events), ends=False)
        return after, [carried[pipe] for pipe in self._output_positions]

    def _walk(
        self, state: State, events: list[Sequence[Value]], *, ends: bool, each: Each = in_turn
    ) -> tuple[State, list[Sequence[Value]]]:
        """Make one step with these events on the inputs: return the next state, and the events of every pipe."""
        after, carried = [], events
        plain = each is in_turn and not ends
        members = zip(self._members, self._functions, state, strict=True)
        for (processor, sources, targets, _), function, (inner, queues) in members:
            if plain and not any(queues) and not processor.merges:
                alone = [carried[pipe][0] for pipe in sources if len(carried[pipe]) == 1]
                if len(alone) == len(sources):  # the usual case: one event on each input, and none waits
                    if function is not None:
                        carried.append((function(*alone),))
                    else:
                        inner, out = processor.step(inner, tuple(alone))
                        carried += [events_of(out[position]) for position in range(len(targets))]
                    after.append((inner, queues))
                    continue
            if processor.merges or len(sources) == 1:
                fronts = processor.merge_arrivals([carried[pipe] for pipe in sources])
            else:
                waiting = queues or ((),) * len(sources)
                streams = [[*queue, *carried[pipe]] for queue, pipe in zip(waiting, sources, strict=True)]
                fronts = list(zip(*streams, strict=False))
                queues = queues and tuple([tuple(stream[len(fronts) :]) for stream in streams])
            results = []
            push = processor.step if each is in_turn else stepping(processor, each)
            for front in fronts:
                inner, emitted = push(inner, front)
                results.append(emitted)
            if ends:
                results.append(processor.finish(inner))
            for position in range(len(targets)):
                carried.append([value for emitted in results for value in events_of(emitted[position])])
            after.append((inner, queues))
        return tuple(after), carried

    @property
    def finishes(self) -> int:
        return 1 if self.flat.late else 0

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        widths = [self.flat.widths[pipe] for _, pipe in self.flat.outputs]
        bounds = [width for width in widths if width is not None]
        return max(bounds) if len(bounds) == len(widths) else None

    # --- the finite machine ----------------------------------------------------------------------------------

    def refusal(self, form: Form) -> str:
        reasons = (self.flat.typed[node.name].refusal(form) for node in self.flat.nodes)
        return next((reason for reason in reasons if reason), "")

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        parts = [self._part(node, horizon) for node in self.flat.nodes]
        slots = tuple(
            Slot(f"{node.name}.{slot.name}", slot.domain, slot.initial)
            for node, (machine, join) in zip(self.flat.nodes, parts, strict=True)
            for slot in (*machine.slots, *(join.slots() if join else ()))
        )

        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
            events = {name: [Maybe(TRUE, v)] for (name, _), v in zip(self.flat.inputs, front, strict=True)}
            return self._walker(parts, state, events, ends=False)

        def finish(state: State) -> tuple[Emission, ...]:
            return self._walker(parts, state, {name: [] for name, _ in self.flat.inputs}, ends=True)[1]

        return Machine(slots, step, finish if self.finishes else None)

    def __str__(self) -> str:
        return f"Group({self.body.name})"

    @cached_property
    def lags(self) -> dict[str, int | None]:
        """The lag of each pipe, as `Processor.lag` of the part that leads to it."""
        lags: dict[str, int | None] = {name: 0 for name, _ in self.flat.inputs}
        for node in self.flat.nodes:
            before, own = [lags[pipe] for pipe in node.inputs], self.flat.typed[node.name].lag
            known = [lag for lag in before if lag is not None]
            lag = max(known) + own if own is not None and len(known) == len(before) else None
            lags.update(dict.fromkeys(node.outputs, lag))
        return lags

    @property
    def lag(self) -> int | None:
        lags = {self.lags[pipe] for _, pipe in self.flat.outputs}
        return lags.pop() if len(lags) == 1 else None

    @property
    def prompt(self) -> bool:
        return all(processor.prompt for processor in self.flat.typed.values())

    def _lagging(self, node: Node) -> tuple[int, ...] | None:
        """Return the maximum lengths of a node's queues for any number of fronts; None where they are unknown."""
        before = [self.lags[pipe] for pipe in node.inputs]
        known = [lag for lag in before if lag is not None]
        return tuple(max(known) - lag for lag in known) if len(known) == len(before) else None

    def _capacities(self, node: Node) -> tuple[int, ...]:
        """Return `_lagging`; Refused where it is unknown."""
        capacities = self._lagging(node)
        if capacities is None:
            raise Refused(
                f"the queues of '{node.name}' in {self.body.name} may get longer and longer there, so that it has no"
                " finite machine",
                where=node.where,
                hint="join streams that have an event for every event of the input (a filter does not)",
            )
        return capacities

    def _part(self, node: Node, horizon: int | None) -> tuple[Machine, Join | None]:
        domains = tuple(self.flat.domains[pipe] for pipe in node.inputs)
        if horizon is None:
            machine = self.flat.typed[node.name].machine(domains)
            return machine, Join(domains, self._capacities(node)) if node.queues else None
        widths = [self.flat.widths[pipe] or 1 for pipe in node.inputs]
        if self.flat.late.intersection(node.inputs):
            horizon += 1  # the end of the stream is one more step
        machine = self.flat.typed[node.name].machine(domains, horizon * node.processor.bound_fronts(widths))
        if not node.queues:
            return machine, None
        if max(widths) > 1:
            return machine, Join(domains, tuple(horizon * width for width in widths))
        # at most `horizon` events enter before a reset, and none is stored by the last step: no overflow
        lagging = self._lagging(node) or (horizon,) * len(domains)
        return machine, Join(domains, tuple(min(horizon - 1, each) for each in lagging))

    def _walker(
        self, parts: list[tuple[Machine, Join | None]], state: State, events: Mapping[str, list[Maybe]], *, ends: bool
    ) -> tuple[State, tuple[Emission, ...]]:
        """Make the step of `_walk` on terms."""
        carried = dict(events)
        after: list[Any] = []
        rest = list(state)
        for node, (machine, join) in zip(self.flat.nodes, parts, strict=True):
            inner, rest = tuple(rest[: len(machine.slots)]), rest[len(machine.slots) :]
            arrivals = [carried[pipe] for pipe in node.inputs]
            rounds = tuple(node.processor.rounds(arrivals))
            queued: State = ()
            if join is not None:
                size = len(join.slots())
                queued, rest = tuple(rest[:size]), rest[size:]
                if any(arrivals):
                    joined = join.rounds(queued, arrivals)
                    rounds, queued = joined.rounds, joined.state
            carried.update((pipe, []) for pipe in node.outputs)
            before = inner
            for fires, consumed in rounds:
                with when(fires):
                    following, results = machine.step(inner, consumed)
                    mark_computed(following)
                inner = tuple(ite(fires, new, old) for new, old in zip(following, inner, strict=True))
                for pipe, out in zip(node.outputs, results, strict=True):
                    carried[pipe] += [
                        Maybe(as_term(both(fires, each.present), BOOL), each.value) for each in slots_of(out)
                    ]
            if machine.emits and len(rounds) > 1:
                emitted = machine.emits(before, rounds, keep_unshared)
                carried.update((pipe, list(slots_of(out))) for pipe, out in zip(node.outputs, emitted, strict=True))
            if ends and machine.finish:
                for pipe, out in zip(node.outputs, machine.finish(inner), strict=True):
                    carried[pipe] += slots_of(out)
            for pipe in node.outputs:
                for maybe in carried[pipe]:
                    mark_computed((maybe.value,), maybe.present)
            after += [*inner, *queued]
        outputs = (carried[pipe] for _, pipe in self.flat.outputs)
        return tuple(after), tuple(slots[0] if len(slots) == 1 else Burst(slots) for slots in outputs)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        total = Node("total", Cumulate(f.ADD), ("x",), ("y",))
        return (cls(Pipeline("sum", (("x", INT),), (total,), (("out", "y"),))),)


def showing(pipeline: Pipeline, output: str) -> Pipeline:
    """Return the part of a pipeline that one of its outputs needs."""
    outputs = tuple(each for each in pipeline.outputs if each[0] == output)
    nodes = pipeline.upstream(pipe for _, pipe in outputs)
    cone = {pipe for _, pipe in outputs}.union(*(node.inputs for node in nodes))
    names = {node.name for node in nodes}
    capacities = {queue: size for queue, size in pipeline.capacities.items() if queue.partition(".")[0] in names}
    faults = tuple(fault for fault in pipeline.faults if fault.pipe in cone)
    known = {*dict(pipeline.inputs), *dict(outputs)}
    return replace(
        pipeline, nodes=nodes, outputs=outputs, capacities=capacities, faults=faults,
        contracts=tuple(each for each in pipeline.contracts if known.issuperset(each.reads)),
    )  # fmt: skip


def flatten(program: Program, *, faults: bool = True) -> Pipeline:
    """Replace every group in the graph of a program by its contents; pipes keep the names the user gave them.

    A capacity that the graph itself gives to a queue inside a group overrides the group's own. The faults of
    the graph and its groups are injected (`faults.inject`), or left out.
    """
    pipeline = graph_of(program)
    size = Group(pipeline).size
    if size > MAXIMUM:
        raise PipelineError(
            f"{pipeline.ports.of} has {size} processors, with those of the pipelines in it; it can have {MAXIMUM}",
            hint="each use of a pipeline copies its processors, so uses within uses multiply",
        )
    nodes: list[Node] = []
    capacities: dict[str, int] = {}
    for node in pipeline.nodes:
        if isinstance(node.processor, Group):
            body = node.processor.flat
            nodes.extend(_inline_group(node, node.processor))
            capacities.update({f"{node.name}.{queue}": size for queue, size in body.capacities.items()})
        else:
            nodes.append(node)
    capacities.update(pipeline.capacities)
    nodes = [_roomy(node, capacities) for node in nodes]
    inside = {queue for node in nodes for queue in node.inside}
    capacities = {queue: size for queue, size in capacities.items() if queue not in inside}
    stated = (*pipeline.contracts, *_list_inner_contracts(pipeline))
    flat = replace(pipeline, nodes=tuple(nodes), capacities=capacities, faults=(), contracts=stated)
    return inject(flat, list_planned_faults(pipeline)) if faults else flat


def with_capacities(flat: Pipeline, capacities: Mapping[str, int]) -> Pipeline:
    """Set these capacities of queues inside processors of a flat pipeline; other capacities are ignored."""
    if not any(queue in capacities for node in flat.nodes for queue in node.inside):
        return flat
    nodes = tuple(_roomy(node, capacities) for node in flat.nodes)
    return replace(flat, nodes=nodes)


def _roomy(node: Node, capacities: Mapping[str, int]) -> Node:
    sizes = {
        queue: capacities[f"{node.name}.{queue}"] for queue in node.capacities if f"{node.name}.{queue}" in capacities
    }
    if not sizes or not isinstance(node.processor, Keeping):
        return node
    return replace(node, processor=node.processor.with_capacities(sizes))


def list_planned_faults(pipeline: Pipeline) -> tuple[Fault, ...]:
    """List the faults of a pipeline and of its groups, on the pipes of the flat pipeline."""
    faults: list[Fault] = []
    for node in pipeline.nodes:
        if isinstance(node.processor, Group):
            body = node.processor.flat
            names, outputs = _names(node, node.processor), dict(body.outputs)
            faults += [replace(each, pipe=names[outputs.get(each.pipe, each.pipe)]) for each in node.processor.faults]
    return (*faults, *pipeline.faults)


def _list_inner_contracts(pipeline: Pipeline) -> Iterator[Contract]:
    """Yield the contracts of the groups of a pipeline, on the pipes of the flat pipeline."""
    for node in pipeline.nodes:
        if isinstance(node.processor, Group):
            body = node.processor.flat
            names, outputs = _names(node, node.processor), dict(body.outputs)
            for each in body.contracts:
                reads = tuple(names[outputs.get(pipe, pipe)] for pipe in each.reads)
                call = f"{node.name}.{each.call}" if each.call else node.name
                yield replace(each, name=f"{node.name}.{each.name}", reads=reads, call=call, where=node.where)


def _names(call: Node, group: Group) -> dict[str, str]:
    """Return the outside names of a group's pipes: `call.inner`, or the pipes of the call that they are.

    An input that is faulty inside the group is a pipe of its own, so other readers of the call's pipe are unaffected.
    """
    body = group.flat
    names = {pipe: f"{call.name}.{pipe}" for pipe in body.domains}
    names.update((inner, outer) for outer, (_, inner) in reversed(_pairs(call, body)))
    own = {fault.pipe for fault in group.faults}
    names.update(
        (name, f"{call.name}.{name}" if name in own else pipe)
        for (name, _), pipe in zip(body.inputs, call.inputs, strict=True)
    )
    return names


def _pairs(call: Node, body: Pipeline) -> list[tuple[str, tuple[str, str]]]:
    """Return the call's output pipes with the outputs of the body."""
    return list(zip(call.outputs, body.outputs, strict=True))


def _inline_group(call: Node, group: Group) -> list[Node]:
    """Return the group's nodes, renamed `call.inner`; the call's output pipes replace its own."""
    body, names = group.flat, _names(call, group)
    # an input with a pipe of its own; an input that is an output, or one pipe with two outputs
    copies = [
        (names[name], pipe) for (name, _), pipe in zip(body.inputs, call.inputs, strict=True) if names[name] != pipe
    ]
    copies += [(outer, names[inner]) for outer, (_, inner) in _pairs(call, body) if names[inner] != outer]
    nodes = [
        Node(
            f"{call.name}.{node.name}",
            node.processor,
            tuple(names[p] for p in node.inputs),
            tuple(names[p] for p in node.outputs),
            node.where,
        )
        for node in body.nodes
    ]
    node_names = {node.name for node in nodes}
    for copy, pipe in copies:
        name = copy if copy.startswith(f"{call.name}.") else f"{call.name}.{copy}"
        while name in node_names:
            name += "'"
        node_names.add(name)
        nodes.append(Node(name, Passthrough(), (pipe,), (copy,)))
    return nodes
