"""Contracts in the graph of a pipeline, and on values: which steps keep its assumptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from workbench.core.contract import Contract
from workbench.core.domain import BOOL, Domain, Value
from workbench.core.function import Function, TypedFunction
from workbench.core.function import on_values as plain_function
from workbench.core.kinds import Functional
from workbench.core.ops import NOT
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Maybe, Processor, State, Stream, event, specialise_function
from workbench.core.program import Program
from workbench.core.readable import show_value
from workbench.core.strict_values import leaves_domain
from workbench.core.term import is_symbolic
from workbench.errors import Overflow
from workbench.processors.apply import ApplyFunction
from workbench.processors.held.group import Group, flatten


def watch(program: Program, condition: Callable[[Contract], bool] = lambda _: True) -> Pipeline:
    """Return the flat pipeline with a processor for each wanted contract, which emits its stream on a pipe of its name.

    Contracts that are watched already get no second one.
    """
    flat = flatten(program)
    contracts = [each for each in flat.contracts if each.name not in flat.domains and condition(each)]
    if not contracts:
        return flat
    outputs = dict(flat.outputs)
    nodes = [
        Node(
            each.name, Group(each.body), tuple(outputs.get(pipe, pipe) for pipe in each.reads), (each.name,), each.where
        )
        for each in contracts
    ]
    return flatten(replace(flat, nodes=(*flat.nodes, *nodes)))


MONITOR = ".kept"
"""What follows the contract's name in the name of the processor that monitors it."""
UNMONITORED = "without --check-contracts the run goes on there"


@dataclass(frozen=True)
class EnforcedContract(Functional):
    """Emits the stream of a contract, and ends the run where it is `false`, as leaving a checked domain does.

    Parameters
    ----------
    function: the last part of its condition, which has no memory.
    contract: the contract, in words.
    reads: the user's words for each input; an input without words is not shown.
    """

    contract: str
    reads: tuple[str, ...]

    symbol: ClassVar[str] = "\u2696"
    lockstep: ClassVar[bool] = True

    @property
    def in_arity(self) -> int:
        return len(self.reads)

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        return replace(self, function=specialise_function(self.function, inputs))

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return (BOOL,)

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return ([self.on_values(*front) for front in zip(*streams, strict=False)],)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        if not is_symbolic(front):
            return state, (event(self.on_values(*front)),)
        value = self.function(*front)
        leaves_domain(NOT(value))
        return state, (event(value),)

    @cached_property
    def on_values(self) -> Callable[..., Any]:
        """The condition on values, which raises Overflow where it is false."""
        function, condition = self.function, plain_function(self.function)
        domains = function.domains if isinstance(function, TypedFunction) else (None,) * len(self.reads)

        def keep(*front: Value) -> Value:
            if (value := condition(*front)) is False:
                parts = zip(self.reads, front, domains, strict=True)
                values = ", ".join(f"{words} = {show_value(each, domain)}" for words, each, domain in parts if words)
                raise Overflow(breaks(self.contract) + (f", with {values}" if values else ""), hint=UNMONITORED)
            return value

        return keep

    def __str__(self) -> str:
        return "a monitor"

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return ()


def breaks(contract: str) -> str:
    """Return the message that a contract is broken."""
    return f"{contract} is broken"


def monitored(program: Program) -> Pipeline:
    """Return the flat pipeline that ends with an error at the first step that breaks a contract, also of its groups."""
    flat = watch(program)
    nodes, outputs = {node.name: node for node in flat.nodes}, dict(flat.outputs)
    for each in flat.contracts:
        function, reads, replaced = _find_end(each)
        outside = dict(zip(dict(each.body.inputs), (outputs.get(pipe, pipe) for pipe in each.reads), strict=True))
        _, last = each.body.outputs[0]
        inputs = [each.name if pipe == last else outside.get(pipe, f"{each.name}.{pipe}") for pipe in reads]
        for name in replaced:
            del nodes[f"{each.name}.{name}"]
        monitor, name = EnforcedContract(function, str(each), tuple(reads.values())), f"{each.name}{MONITOR}"
        nodes[name] = Node(name, monitor, tuple(inputs), (each.name if replaced else name,), each.where)
    return replace(flat, nodes=tuple(nodes.values()))


def _find_end(contract: Contract) -> tuple[Function, dict[str, str], set[str]]:
    """Return the last part of a contract's condition, which has no memory, as a function.

    Also return the pipes of the contract's body that it reads, each with the user's words for it, and the processors
    that it consists of. A field of a record is read, not the record.
    """
    body, reads, inside = contract.body, dict[str, str](), set[str]()
    writers = {pipe: node for node in body.nodes for pipe in node.outputs}
    _, last = body.outputs[0]
    todo = [(last, "")]
    while todo:
        pipe, words = todo.pop()
        node = writers.get(pipe)
        if node is None or not _is_plain(node.processor):
            reads[pipe] = words if node is not None else pipe
        elif node.name not in inside:
            inside.add(node.name)
            texts = node.written if len(node.written) == len(node.inputs) else node.inputs
            todo += reversed([*zip(node.inputs, texts, strict=True)])
    nodes: list[Any] = [node for node in body.nodes if node.name in inside]

    def build(*values: Any) -> Any:
        carried = dict(zip(reads, values, strict=True))
        for node in nodes:
            carried[node.outputs[0]] = node.processor.function(*(carried[pipe] for pipe in node.inputs))
        return carried[last]

    return Function(contract.text, len(reads), build), reads, inside


def _is_plain(processor: Processor) -> bool:
    """Whether a processor applies a function that can be part of another one, and does not select a field."""
    function = processor.function if isinstance(processor, ApplyFunction) else None
    return isinstance(function, Function) and not function.opaque and not function.name.startswith(".")


class LegalSteps:
    """Tests steps, one after the other, against the assumptions of a pipeline."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._groups = [(Group(each.body), each.reads) for each in pipeline.own_assumptions]
        self._states = [group.initial() for group, _ in self._groups]

    def admit(self, events: Mapping[str, Value]) -> bool:
        """Whether the next step may have these events on the inputs; if not, the step is ignored."""
        states = []
        for (group, reads), state in zip(self._groups, self._states, strict=True):
            after, (carried,) = group.arrive(state, [[events[name]] if name in events else [] for name in reads])
            if False in carried:
                return False
            states.append(after)
        self._states = states
        return True
