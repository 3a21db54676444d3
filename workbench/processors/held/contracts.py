"""Contracts in the graph of a pipeline, and on values: which steps keep its assumptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from workbench.core.contract import Contract
from workbench.core.domain import Value
from workbench.core.ops import NOT
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Maybe, Processor, State, Stream, event
from workbench.core.program import Program
from workbench.core.strict_values import leaves_domain
from workbench.core.term import Term
from workbench.errors import Overflow
from workbench.processors.held.group import Group, flatten


def watch(program: Program, condition: Callable[[Contract], bool] = lambda _: True) -> Pipeline:
    """Return the flat pipeline with a processor for each wanted contract, which emits its stream on a pipe of its name.

    Those that are watched already stay as they are.
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
"""The end of the name of a processor that monitors a contract, behind that of the contract."""
UNMONITORED = "without --check-contracts the run goes on there"


@dataclass(frozen=True)
class EnforcedContract(Processor):
    """Passes the stream of a contract, and ends the run where it carries `false`, as leaving a checked domain does.

    Parameters
    ----------
    contract: the contract, in words.
    """

    contract: str

    symbol: ClassVar[str] = "\u2696"
    lockstep: ClassVar[bool] = True

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return ([self._keep(value) for value in streams[0]],)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        (value,) = front
        if not isinstance(value, Term):
            return state, (event(self._keep(value)),)
        leaves_domain(NOT(value))
        return state, (event(value),)

    def _keep(self, value: Value) -> Value:
        if value is False:
            raise Overflow(breaks(self.contract), hint=UNMONITORED)
        return value

    def __str__(self) -> str:
        return "a monitor"

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return ()


def breaks(contract: str) -> str:
    """Return the message that a step breaks a contract."""
    return f"it breaks: {contract}"


def monitored(program: Program) -> Pipeline:
    """Return the flat pipeline that ends with an error at the first step that breaks a contract, also of its groups."""
    flat = watch(program)
    nodes = [
        Node(f"{each.name}{MONITOR}", EnforcedContract(str(each)), (each.name,), (f"{each.name}{MONITOR}",), each.where)
        for each in flat.contracts
    ]
    return replace(flat, nodes=(*flat.nodes, *nodes))


class LegalSteps:
    """The steps that keep the assumptions of a pipeline, one after the other."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._groups = [(Group(each.body), each.reads) for each in pipeline.own_assumptions]
        self._states = [group.initial() for group, _ in self._groups]

    def admit(self, events: Mapping[str, Value]) -> bool:
        """Whether the next step may have these events on the inputs; if not, it is as if they had not come."""
        states = []
        for (group, reads), state in zip(self._groups, self._states, strict=True):
            after, (carried,) = group.arrive(state, [[events[name]] if name in events else [] for name in reads])
            if False in carried:
                return False
            states.append(after)
        self._states = states
        return True
