"""Injection of faults: from a fault plan to a pipeline in which the faults can strike.

Each faulty pipe gets a processor with an oracle for every event that the pipe can carry in a step. Oracles are inputs
of the pipeline: while they are silent, no fault strikes. A model explores all events of the oracles, so a
counterexample shows which faults struck; an executor with the same inputs makes them strike again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.core.domain import Domain
from workbench.core.fault import Fault, Kind
from workbench.core.fields import Record
from workbench.core.pipeline import Node, Pipeline
from workbench.errors import PipelineError
from workbench.faults.delay_processor import Delay
from workbench.faults.loss_and_duplication import Duplicate, Lose
from workbench.faults.unreliable import Unreliable


def inject(pipeline: Pipeline, faults: Sequence[Fault]) -> Pipeline:
    """Return a pipeline without groups, with these faults injected.

    The readers of a pipe `y` still read `y`, and its writer writes `y.sent`. An input `x` keeps its name, and its
    readers read `x.received`. The oracles are called `y.lost`, `y.duplicated`, `y.delayed`.

    Raises
    ------
    PipelineError: there is no such pipe, or the number of events that it carries in a step is unbounded.
    """
    order = {pipe: position for position, pipe in enumerate(pipeline.domains)}
    outputs = dict(pipeline.outputs)
    # starting at the inputs: the number of events that a pipe carries in a step depends on earlier faults
    for fault in sorted(faults, key=lambda fault: order.get(outputs.get(fault.pipe, fault.pipe), 0)):
        pipeline = _inject_fault(pipeline, fault)
    return pipeline


def unreliable(fault: Fault, width: int) -> Unreliable:
    """Return the processor for a fault on a pipe that carries at most `width` events in a step."""
    if fault.kind is Kind.DELAY:
        return Delay(width, fault.at_most, fault.when, fault.by)
    return (Lose if fault.kind is Kind.LOSE else Duplicate)(width, fault.at_most, fault.when)


def _inject_fault(pipeline: Pipeline, fault: Fault) -> Pipeline:
    pipe = dict(pipeline.outputs).get(fault.pipe, fault.pipe)
    if pipe not in pipeline.domains:
        raise PipelineError(f"{pipeline.ports.of} has no pipe '{pipe}' that could be faulty", where=fault.where)
    makers = {node_output: node for node in pipeline.nodes for node_output in node.outputs}
    pipe = _behind(pipeline, pipe)
    fresh = _Fresh(pipeline, fault.pipe, pipeline.domains[pipe])
    width = pipeline.widths[pipe]
    if width is None:
        raise PipelineError(
            f"nothing bounds how many events pipe '{pipe}' carries in one step, so it cannot be faulty",
            where=fault.where,
            hint="bound the stream of the counts, e.g. 0..3",
        )
    processor = unreliable(fault, width)
    oracles = tuple(fresh(f"{fault.pipe}.{processor.participle}") for _ in range(width))
    name = fresh(f"{fault.pipe}.{fault.kind}")
    if pipe in makers:
        again = isinstance(makers[pipe].processor, Unreliable)
        before = makers[pipe].name if again else fresh(f"{fault.pipe}.sent")
        nodes = [_rename_pipes(node, writes={pipe: before}) for node in pipeline.nodes]
        entry = Node(name, processor, (before, *oracles), (pipe,), fault.where)
        outputs = pipeline.outputs
    else:
        after = fresh(f"{fault.pipe}.received")
        nodes = [_rename_pipes(node, reads={pipe: after}) for node in pipeline.nodes]
        entry = Node(name, processor, (pipe, *oracles), (after,), fault.where)
        outputs = tuple((output, after if source == pipe else source) for output, source in pipeline.outputs)
    inputs = (*pipeline.inputs, *((oracle, processor.oracle) for oracle in oracles))
    return replace(pipeline, inputs=inputs, nodes=(*nodes, entry), outputs=outputs)


def _behind(pipeline: Pipeline, pipe: str) -> str:
    """Return the pipe itself; for an input that is faulty already, the output of its last fault."""
    while True:
        readers = (node for node in pipeline.nodes if node.inputs[0] == pipe)
        fault = next((node for node in readers if isinstance(node.processor, Unreliable)), None)
        if fault is None:
            return pipe
        (pipe,) = fault.outputs


def _rename_pipes(node: Node, reads: Mapping[str, str] = {}, writes: Mapping[str, str] = {}) -> Node:
    """Return the node with other names of pipes."""
    inputs = tuple(reads.get(pipe, pipe) for pipe in node.inputs)
    outputs = tuple(writes.get(pipe, pipe) for pipe in node.outputs)
    return Node(node.name, node.processor, inputs, outputs, node.where)


class _Fresh:
    """A source of names that are unused in a pipeline, also by fields of the pipe's records (`y.lost`)."""

    def __init__(self, pipeline: Pipeline, pipe: str, domain: Domain) -> None:
        labels = domain.labels if isinstance(domain, Record) else ()
        self.taken = {*pipeline.domains, *(n.name for n in pipeline.nodes), *(f"{pipe}.{label}" for label in labels)}

    def __call__(self, name: str) -> str:
        names = (name if i == 1 else f"{name}{i}" for i in range(1, len(self.taken) + 2))
        fresh_name = next(each for each in names if each not in self.taken)
        self.taken.add(fresh_name)
        return fresh_name
