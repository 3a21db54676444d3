"""Pipelines: immutable, validated, typed graphs of processors.

A pipe has a name and one producer; a pipe read by several processors is a fork. Construction checks everything
that can be checked without an event: names, arities, cycles, types; the error names the pipe and the processor.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from workbench.core.contract import Contract
from workbench.core.domain import Domain, ModelScope, Value, see_domain
from workbench.core.fault import Fault
from workbench.core.fields import resolve
from workbench.core.kinds import Clocked, Deferring, Holder, Keeping
from workbench.core.processor import END, Processor, Stream
from workbench.core.program import Port, Ports, unknown
from workbench.core.readable import plural
from workbench.core.unfolding import Unfolding
from workbench.display import Displayed
from workbench.errors import Location, PipelineError, WorkbenchError

if TYPE_CHECKING:
    import networkx as nx

Derived = TypeVar("Derived")

_LONG = 200
"""Maximum number of characters that an error shows of the domains of inputs."""


@dataclass(frozen=True)
class Node:
    """A processor in a pipeline: the pipes it reads and the pipes it writes, by name."""

    name: str
    processor: Processor
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    where: Location | str = field(default="", compare=False)
    """The place in the user's text."""
    written: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """The user's expression for each input, if it is known and short; else the pipe."""

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of its queues: one for each input of a processor that joins, none otherwise."""
        if not self.processor.joins:
            return ()
        return tuple(f"{self.name}.{port}" for port in self.processor.ports)

    @property
    def pending(self) -> str:
        """The name of the pending queue of its processor, if it has one."""
        return f"{self.name}.pending" if isinstance(self.processor, Deferring) and self.processor.defers else ""

    @property
    def inside(self) -> tuple[str, ...]:
        """The names of the queues inside its processor."""
        return tuple(f"{self.name}.{queue}" for queue in self.capacities)

    @property
    def capacities(self) -> Mapping[str, int | None]:
        """The queues inside its processor by their names in it, with their capacities."""
        return self.processor.capacities if isinstance(self.processor, Keeping) else {}

    @property
    def boundless(self) -> bool:
        """Whether positions wait in it, in unbounded number."""
        return isinstance(self.processor, Deferring) and self.processor.boundless


@dataclass(frozen=True)
class Pipeline(Displayed):
    """A directed acyclic graph of processors with open inputs and outputs.

    Parameters
    ----------
    name: the pipeline's name.
    inputs: name and domain of each open input pipe.
    nodes: the processors, in any order; kept in topological order.
    outputs: output name to the pipe it shows.
    capacities: queue name (also of a queue inside a group) to its capacity; absent queues are unbounded when
        running.
    faults: the faults on its pipes (also inside groups), those of one pipe in the order in which its events pass them.
    contracts: its assumptions and guarantees; no run depends on them.

    Raises
    ------
    PipelineError: unknown, duplicate or cyclic pipes, wrong arity. TypingError: domains that do not fit.
    """

    name: str
    inputs: tuple[tuple[str, Domain], ...]
    nodes: tuple[Node, ...]
    outputs: tuple[tuple[str, str], ...]
    capacities: Mapping[str, int] = field(default_factory=dict, hash=False)
    doc: str = field(default="", compare=False)
    faults: tuple[Fault, ...] = ()
    contracts: tuple[Contract, ...] = ()
    domains: Mapping[str, Domain] = field(init=False, compare=False, repr=False)
    """The domain of every pipe."""
    typed: Mapping[str, Processor] = field(init=False, compare=False, repr=False)
    """The typed processor of every node, by the node's name."""

    kind: ClassVar[str] = "pipeline"
    """The kind of program in messages; a subclass for the graph of another program overrides it."""

    def __post_init__(self) -> None:
        for name, domain in self.inputs:
            see_domain(domain, name)
        ordered = _order_nodes(self.name, self.inputs, self.nodes, self.outputs)
        object.__setattr__(self, "nodes", ordered)
        domains: dict[str, Domain] = dict(self.inputs)
        typed: dict[str, Processor] = {}
        for node in ordered:
            typed[node.name] = type_node(self.name, node, domains)
        object.__setattr__(self, "domains", domains)
        object.__setattr__(self, "typed", typed)
        odd = set(self.capacities) - set(self.every_queue)
        if odd:
            raise unknown(self.ports.of, "queue", sorted(odd)[0], self.every_queue)
        for fault in self.faults:
            known = {**self.every_pipe, **dict(self.outputs)}
            if fault.pipe not in known:
                raise unknown(self.ports.of, "pipe", fault.pipe, known, fault.where)

    def derive(self, what: Hashable, make: Callable[[], Derived]) -> Derived:
        """Return what `make` computes from the pipeline; it is computed once for each key."""
        cache = self.__dict__.setdefault("_derived", {})
        if what not in cache:
            cache[what] = make()
        return cast(Derived, cache[what])

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the derived ones."""
        return {name: value for name, value in self.__dict__.items() if name != "_derived"}

    # --- structure ---

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline itself, so that it is a program (`core.program`)."""
        return self

    @cached_property
    def ports(self) -> Ports:
        """Its inputs and outputs, for code that needs no more."""
        times, oracles = self.clocks, self.oracles
        inputs = tuple(Port(name, domain, name in oracles, clock=times.get(name, "")) for name, domain in self.inputs)
        outputs = tuple(Port(name, self.domains[pipe]) for name, pipe in self.outputs)
        return Ports(self.name, inputs, outputs, self.kind)

    @property
    def in_arity(self) -> int:
        """Number of open inputs."""
        return len(self.inputs)

    @property
    def out_arity(self) -> int:
        """Number of outputs."""
        return len(self.outputs)

    @property
    def input_domains(self) -> tuple[Domain, ...]:
        """The domains of the open inputs."""
        return tuple(domain for _, domain in self.inputs)

    @property
    def output_domains(self) -> tuple[Domain, ...]:
        """The domains of the outputs."""
        return tuple(self.domains[pipe] for _, pipe in self.outputs)

    @cached_property
    def widths(self) -> Mapping[str, int | None]:
        """The maximum number of events of each pipe in one step (mostly one); None if it is unbounded."""
        widths: dict[str, int | None] = {name: 1 for name, _ in self.inputs}
        for node in self.nodes:
            processor = self.typed[node.name]
            domains = tuple(self.domains[pipe] for pipe in node.inputs)
            rounds = [widths[pipe] for pipe in node.inputs]
            bounds = [width for width in rounds if width is not None]
            width = None
            if len(bounds) == len(rounds):
                width = processor.bound_events(domains, processor.bound_fronts(bounds))
            if width is not None:
                last = 0 if isinstance(processor, Clocked) else processor.finishes
                # at the end it first processes late inputs, if there are any, and then emits its last events
                width = max(1, width + last if self.late.intersection(node.inputs) else max(width, last))
            widths.update(dict.fromkeys(node.outputs, width))
        return widths

    @cached_property
    def late(self) -> frozenset[str]:
        """The pipes that can carry events when the input streams end."""
        pipes: set[str] = set()
        for node in self.nodes:
            if self.typed[node.name].finishes or pipes.intersection(node.inputs):
                pipes.update(node.outputs)
        return frozenset(pipes)

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of its own queues (`add.left`), in topological order."""
        return tuple(queue for node in self.nodes for queue in node.queues)

    @cached_property
    def inner_capacities(self) -> Mapping[str, int]:
        """The queues inside its own processors (`until.pending`), with their capacities, where they have one."""
        capacities = {f"{n.name}.{queue}": capacity for n in self.nodes for queue, capacity in n.capacities.items()}
        return {queue: capacity for queue, capacity in capacities.items() if capacity is not None}

    @property
    def own_assumptions(self) -> tuple[Contract, ...]:
        """The assumptions about its own inputs."""
        return tuple(each for each in self.contracts if each.is_own_assumption)

    @property
    def contract_queues(self) -> tuple[str, ...]:
        """Its queues that belong to contracts, if these are watched; a run does not have them."""
        prefixes = tuple(f"{each.name}." for each in self.contracts)
        return tuple(queue for queue in self.queues if queue.startswith(prefixes))

    @property
    def sources(self) -> dict[str, str]:
        """The pipe whose events wait in each of its own queues, by queue name."""
        return {queue: pipe for node in self.nodes for queue, pipe in zip(node.queues, node.inputs, strict=False)}

    @property
    def every_queue(self) -> tuple[str, ...]:
        """The names of all queues, those inside groups (`group.add.left`) included."""
        queues: list[str] = []
        for node in self.nodes:
            queues += (*node.queues, *node.inside)
            if isinstance(node.processor, Holder):
                queues += (f"{node.name}.{inner}" for inner in node.processor.inner_queues)
        return tuple(queues)

    @property
    def every_pipe(self) -> Mapping[str, Domain]:
        """All pipes with their domains, those inside groups (`group.add`) included."""
        domains = dict(self.domains)
        for name, processor in self.typed.items():
            if isinstance(processor, Holder):
                domains.update((f"{name}.{inner}", domain) for inner, domain in processor.inner_pipes.items())
        return domains

    @cached_property
    def oracles(self) -> Mapping[str, Node]:
        """The inputs that are oracles, with the processors for which an event there is a choice."""
        return {
            pipe: node
            for node in self.nodes
            if isinstance(node.processor, Clocked)
            for pipe in node.inputs[len(node.inputs) - node.processor.oracles :]
        }

    @cached_property
    def clocks(self) -> Mapping[str, str]:
        """The inputs that carry the time of steps, and its unit (`Port.clock`)."""
        units: dict[str, str] = {}
        for node in self.nodes:
            for position, counts in node.processor.clocks.items():
                pipe = node.inputs[position]
                if {counts, units.get(pipe, "any")} == {"us", "numbers"}:
                    raise PipelineError(
                        f"'{pipe}' is the time of rules whose windows have units, and of rules without units",
                        where=node.where,
                        hint="give all windows units",
                    )
                units[pipe] = counts if units.get(pipe, "any") == "any" else units[pipe]
        return {name: units[name] for name, _ in self.inputs if name in units}

    @property
    def is_clocked(self) -> bool:
        """Whether some of its own processors work on steps."""
        return any(isinstance(node.processor, Clocked) for node in self.nodes)

    def node(self, name: str) -> Node:
        """Return the node of this name; PipelineError with a suggestion if there is none."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise unknown(self.ports.of, "processor", name, [n.name for n in self.nodes])

    def pipe(self, name: str) -> str:
        """Return the pipe that `name` (a pipe or an output) means; PipelineError with a suggestion if there is none."""
        pipe = dict(self.outputs).get(name, name)
        if pipe in self.domains:
            return pipe
        raise unknown(self.ports.of, "pipe", name, [*self.domains, *dict(self.outputs)])

    def upstream(self, pipes: Iterable[str], source: str = "") -> tuple[Node, ...]:
        """Return the processors on which some pipes depend, in topological order, without those before `source`."""
        cone, nodes = {*pipes} - {source}, list[Node]()
        for node in reversed(self.nodes):
            if cone.intersection(node.outputs):
                cone.update({*node.inputs} - {source})
                nodes.append(node)
        return tuple(reversed(nodes))

    @property
    def graph(self) -> nx.MultiDiGraph[tuple[str, str]]:
        """The wiring as a networkx graph: inputs, processors and outputs; an edge for each pipe and reader."""
        import networkx as nx  # takes a quarter of a second

        graph: nx.MultiDiGraph[tuple[str, str]] = nx.MultiDiGraph()
        producer = {name: ("input", name) for name, _ in self.inputs}
        producer |= {pipe: ("node", node.name) for node in self.nodes for pipe in node.outputs}
        graph.add_nodes_from(("input", name) for name, _ in self.inputs)
        graph.add_nodes_from((("node", node.name), {"node": node}) for node in self.nodes)
        for node in self.nodes:
            for position, pipe in enumerate(node.inputs):
                graph.add_edge(producer[pipe], ("node", node.name), pipe=pipe, port=position)
        for name, pipe in self.outputs:
            graph.add_edge(producer[pipe], ("output", name), pipe=pipe, port=0)
        return graph

    # --- derived pipelines ---

    def extract(self, nodes: Sequence[Node], outputs: Iterable[str], name: str = "") -> Pipeline:
        """Return some of its processors as a pipeline without faults, with some pipes as outputs."""
        own_pipes = {pipe for node in nodes for pipe in node.outputs}
        inputs = dict.fromkeys(pipe for node in nodes for pipe in node.inputs if pipe not in own_pipes)
        queues = {queue for node in nodes for queue in node.queues}
        return Pipeline(
            name or self.name,
            tuple((pipe, self.domains[pipe]) for pipe in inputs),
            tuple(nodes),
            tuple((pipe, pipe) for pipe in outputs),
            {queue: size for queue, size in self.capacities.items() if queue in queues},
        )

    def resolve(self, over: Domain | ModelScope) -> Pipeline:
        """Return this pipeline with unbounded types replaced, except that of times; a domain alone is for `int`."""
        times = self.clocks
        inputs = tuple((name, domain if name in times else resolve(domain, over)) for name, domain in self.inputs)
        nodes = tuple(replace(n, processor=n.processor.resolve(over)) for n in self.nodes)
        faults = tuple(fault.resolve(over) for fault in self.faults)
        contracts = tuple(contract.resolve(over) for contract in self.contracts)
        return replace(self, inputs=inputs, nodes=nodes, faults=faults, contracts=contracts)

    def with_capacities(self, capacities: Mapping[str, int]) -> Pipeline:
        """Return this pipeline with the given queue capacities; queues inside groups are called `group.add.left`."""
        return replace(self, capacities=dict(capacities))

    def with_faults(self, faults: Sequence[Fault]) -> Pipeline:
        """Return this pipeline with exactly these faults of its own; pipes inside groups are called `group.add`."""
        return replace(self, faults=tuple(faults))

    def with_contracts(self, contracts: Sequence[Contract]) -> Pipeline:
        """Return this pipeline with exactly these contracts of its own."""
        return replace(self, contracts=tuple(contracts))

    # --- meaning ---

    def denote(self, streams: Sequence[Stream], *, ended: bool = True) -> tuple[list[Value], ...]:
        """Specify the whole pipeline: the composition of its processors' denotations, without faults.

        Without `ended` the streams continue after these events. Where the output depends on the steps at which events
        arrive (`Processor.is_timed`), step i carries the i-th event of every input that has one.
        """
        if len(streams) != self.in_arity:
            raise PipelineError(f"{self.name} has {self.in_arity} inputs, {len(streams)} streams were given")
        inputs = {name: list(stream) for (name, _), stream in zip(self.inputs, streams, strict=True)}
        if any(processor.is_timed for processor in self.typed.values()):
            unfolding = Unfolding(self)
            for i in range(max(map(len, inputs.values()), default=0)):
                unfolding.step({name: stream[i] for name, stream in inputs.items() if i < len(stream)})
            if ended:
                unfolding.step(END)
            return tuple(unfolding.streams[pipe] for _, pipe in self.outputs)
        carried: dict[str, Stream] = dict(inputs)
        for node in self.nodes:
            processor = self.typed[node.name]
            arrived = tuple(carried[p] for p in node.inputs)
            results = processor.denote(arrived) if ended else processor.denote_open(arrived)
            carried.update(zip(node.outputs, results, strict=True))
        return tuple(list(carried[pipe]) for _, pipe in self.outputs)

    def __repr__(self) -> str:
        inputs, outputs = (
            ", ".join(f"{port.name}: {port.domain}" for port in ports)
            for ports in (self.ports.inputs, self.ports.outputs)
        )
        count = len(self.nodes)
        return f"<{self.name}({inputs}) -> {outputs}, {plural(count, 'processor')}>"


# --- validation -------------------------------------------------------------------------------------------------


def _order_nodes(
    name: str, inputs: tuple[tuple[str, Domain], ...], nodes: tuple[Node, ...], outputs: tuple[tuple[str, str], ...]
) -> tuple[Node, ...]:
    """Return the nodes in topological order, after checking names, arities and cycles."""
    _unique(name, "processor", [n.name for n in nodes])
    pipes = [pipe for pipe, _ in inputs] + [p for n in nodes for p in n.outputs]
    _unique(name, "pipe", pipes)
    _unique(name, "output", [out for out, _ in outputs])
    if not outputs:
        raise PipelineError(f"pipeline {name} has no output", hint="return at least one stream")
    known = set(pipes)
    for node in nodes:
        _check_arity(name, node)
        for pipe in node.inputs:
            if pipe not in known:
                raise unknown(f"pipeline {name}", "pipe", pipe, pipes, node.where, f" (an input of '{node.name}')")
    for _, pipe in outputs:
        if pipe not in known:
            raise unknown(f"pipeline {name}", "pipe", pipe, pipes)
    return _sort_nodes(name, nodes)


def _sort_nodes(name: str, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the nodes in topological order, and in the given order where that leaves a choice."""
    writer = {pipe: i for i, node in enumerate(nodes) for pipe in node.outputs}
    sorter = TopologicalSorter({i: [writer[p] for p in node.inputs if p in writer] for i, node in enumerate(nodes)})
    try:
        sorter.prepare()
    except CycleError as error:
        around: list[int] = error.args[1]
        raise PipelineError(
            f"pipeline {name}: the pipes form a cycle: {' -> '.join(nodes[i].name for i in around)}",
            where=nodes[around[0]].where,
            hint="a pipeline is acyclic; use cumulate for feedback",
        ) from None
    ready: list[int] = []
    order = []
    while sorter.is_active():
        for i in sorter.get_ready():
            heapq.heappush(ready, i)
        first = heapq.heappop(ready)
        sorter.done(first)
        order.append(nodes[first])
    return tuple(order)


def _unique(pipeline: str, kind: str, names: Sequence[str]) -> None:
    earlier_names: set[str] = set()
    for name in names:
        if name in earlier_names:
            raise PipelineError(f"pipeline {pipeline}: two {kind}s are called '{name}'", hint="rename one")
        earlier_names.add(name)


def _check_arity(pipeline: str, node: Node) -> None:
    for kind, pipes, arity in (
        ("input", node.inputs, node.processor.in_arity),
        ("output", node.outputs, node.processor.out_arity),
    ):
        if len(pipes) != arity:
            raise PipelineError(
                f"pipeline {pipeline}: processor '{node.name}' ({node.processor}) has {arity} {kind} pipes,"
                f" but {len(pipes)} are connected: {', '.join(pipes) or 'none'}",
                where=node.where,
            )


def type_node(pipeline: str, node: Node, domains: dict[str, Domain]) -> Processor:
    """Return the typed processor of a node, and add the domains of its outputs to `domains`.

    Raises
    ------
    TypingError, DomainError: it does not fit its inputs.
    """
    inputs = tuple(domains[pipe] for pipe in node.inputs)
    try:
        typed = node.processor.specialise(inputs)
        domains.update(zip(node.outputs, typed.results(inputs), strict=True))
    except WorkbenchError as error:
        carried = ", ".join(f"{p}: {d}" for p, d in zip(node.inputs, inputs, strict=True))
        carried = carried if len(carried) <= _LONG else f"{carried[:_LONG]}..."
        what = f"pipeline {pipeline}: processor '{node.name}' on {carried}: {error.what}"
        raise error.retold(what, where=error.where or node.where) from error
    return typed


def graph_of(program: object) -> Pipeline:
    """Return the graph of a program; PipelineError for another object."""
    graph = getattr(program, "pipeline", None)
    if not isinstance(graph, Pipeline):
        raise describe_other_object(program)
    return graph


def describe_other_object(item: object) -> PipelineError:
    """Return the error for an object that is not a program."""
    hint = "pass a pipeline: wb.load(FILE), or wb.parse(TEXT).get(); or rules: wb.rules.parse_rules(TEXT)"
    if callable(item):
        hint = "declare the inputs: @wb.pipeline above def name(x: int): return ..."
    kind = "the processor " if isinstance(item, Processor) else ""
    return PipelineError(f"expected a program, not {kind}{item!r}", hint=hint)
