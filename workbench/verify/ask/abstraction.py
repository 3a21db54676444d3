"""Abstraction: calls of pipelines replaced by their contracts, where their bodies are too large for an engine.

The rule of this module: the outputs of a replaced call are free, but for its guarantees. A run of the program that
meets the assumptions of the call is a run of its abstraction; the converse is false. So what holds on every run of the
abstraction holds for the program, and a run of the abstraction that breaks a property shows nothing about the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from workbench.core.contract import Contract, ContractKind
from workbench.core.kinds import Clocked
from workbench.core.pipeline import Node, Pipeline
from workbench.core.program import Program
from workbench.errors import PipelineError, Refused, did_you_mean
from workbench.processors.held.group import Group, flatten
from workbench.processors.passthrough import Passthrough


def abstract_calls(program: Program, names: Sequence[str]) -> Pipeline:
    """Return the flat pipeline in which the outputs of some calls are inputs that keep the guarantees of the calls.

    Parameters
    ----------
    names: of called pipelines, all calls of which are replaced, or of single calls (`first`, `outer.first`).

    Raises
    ------
    PipelineError: there is no such call, or one that guarantees nothing.
    Refused: a fault may strike inside a call, or an input cannot stand for one of its outputs.
    """
    calls = find_calls(program, names)
    flat = flatten(program)
    for call, callee in calls.items():
        flat = _replace_call(flat, call, callee)
    return flat


def find_calls(program: Program, names: Sequence[str]) -> dict[str, str]:
    """Return the calls of these names, each with the pipeline that it calls; PipelineError for a name of none."""
    calls, chosen = dict(list_calls(program.pipeline)), dict[str, str]()
    for name in names:
        of_name = {call: callee for call, callee in calls.items() if name in (call, callee)}
        if not of_name:
            known = [*dict.fromkeys(calls.values()), *calls]
            what = f"{program.ports.of} does not call '{name}', which is to be replaced by its contract"
            raise PipelineError(what, hint=did_you_mean(name, known, "it calls: ") if known else "it calls no pipeline")
        chosen |= of_name
    return chosen


def list_calls(pipeline: Pipeline, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name of each call, as in the flat pipeline, with the name of the pipeline that it calls."""
    for node in pipeline.nodes:
        if isinstance(node.processor, Group):
            name, body = f"{prefix}{node.name}", node.processor.body
            yield name, body.name
            yield from list_calls(body, f"{name}.")


def _replace_call(flat: Pipeline, call: str, callee: str) -> Pipeline:
    """Replace the processors of a call by inputs; the guarantees of the call become assumptions about them."""
    names = {node.name for node in flat.nodes if node.name.startswith(f"{call}.")}
    inner = {pipe for node in flat.nodes if node.name in names for pipe in node.outputs}
    inside = names - {node.name for node in flat.nodes if _copies_input(node, inner)}
    if any(isinstance(node.processor, Clocked) for node in flat.nodes if node.name in inside):
        raise Refused(f"a fault may strike inside the call '{call}' of {callee}, which its contract does not cover")
    guarantees = [each for each in flat.contracts if each.call == call and each.kind is ContractKind.GUARANTEE]
    if inside and not guarantees:
        what = f"{callee} guarantees nothing, so nothing would be known about the outputs of the call '{call}'"
        raise PipelineError(what, hint=f"state a guarantee in {callee}, as in: guarantee out <= 20")
    nodes = tuple(node for node in flat.nodes if node.name not in inside)
    read = {pipe for node in nodes for pipe in node.inputs} | {pipe for _, pipe in flat.outputs}
    outputs = [pipe for node in flat.nodes if node.name in inside for pipe in node.outputs if pipe in read]
    for pipe in outputs:
        if flat.widths[pipe] != 1 or pipe in flat.late:
            when = "at the end of the streams" if pipe in flat.late else "several times in one step"
            raise Refused(
                f"the call '{call}' of {callee} may emit '{pipe}' {when}, which an input in its place cannot",
                hint=f"leave {callee} out of the abstraction",
            )
    contracts = [
        replace(each, relied_on=True) if each in guarantees else each
        for each in flat.contracts
        if each in guarantees or not f"{each.call}.".startswith(f"{call}.")
    ]
    return replace(
        flat,
        nodes=nodes,
        inputs=(*flat.inputs, *((pipe, flat.domains[pipe]) for pipe in outputs)),
        contracts=tuple(contracts),
        capacities={queue: size for queue, size in flat.capacities.items() if not queue.startswith(f"{call}.")},
    )


def _copies_input(node: Node, inner: Set[str]) -> bool:
    """Whether a processor of a call passes one of its inputs on, unchanged; `inner`: the pipes of its processors."""
    return isinstance(node.processor, Passthrough) and inner.isdisjoint(node.inputs)


def list_relied_on(pipeline: Pipeline) -> list[Contract]:
    """List the guarantees that stand for the bodies of calls."""
    return [each for each in pipeline.contracts if each.relied_on]


def describe_calls(pipeline: Pipeline) -> Iterator[str]:
    """Yield what a verdict rests on: a sentence for each call that is replaced."""
    calls = dict[tuple[str, str], list[str]]()
    for each in list_relied_on(pipeline):
        calls.setdefault((each.call, each.of), []).append(f"{each.kind} {each.text}")
    for (call, of), texts in calls.items():
        yield f"call '{call}' is replaced by {', '.join(texts)} of {of}, which its own check has to prove"
