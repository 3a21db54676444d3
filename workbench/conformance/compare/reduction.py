"""Parts of a pipeline: the smallest set of processors that still shows a disagreement.

A part's inputs are the pipes that other processors of the whole write. Each processor is left out in turn. A part runs
on the events that its inputs carried in the whole, or on random traces if several events come in one step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from workbench.conformance.compare.differential import Disagreement
from workbench.conformance.compare.executables import InputSequence, Running
from workbench.conformance.compare.search import minimize
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import END
from workbench.errors import WorkbenchError
from workbench.processors.held.group import flatten

Differs = Callable[[Pipeline, InputSequence | None], Disagreement | None]
"""A function that returns the disagreement on a part; without steps, it searches random traces."""


SmallestPart = tuple[tuple[str, ...], Disagreement]
"""The names of the processors of a part, and its disagreement."""


def part(pipeline: Pipeline, names: Collection[str]) -> Pipeline:
    """Build a pipeline of the processors of these names (as `flatten` names them).

    Its inputs are the pipes that they read from other processors; its outputs are the pipes that none of them reads,
    and the outputs of the whole.
    """
    flat = flatten(pipeline)
    nodes = tuple(flat.node(name) for name in names)
    read, outputs = {pipe for node in nodes for pipe in node.inputs}, {pipe for _, pipe in flat.outputs}
    own_pipes = [pipe for node in nodes for pipe in node.outputs]
    return flat.extract(nodes, [pipe for pipe in own_pipes if pipe in outputs or pipe not in read])


def smallest_part(whole: Pipeline, disagreement: Disagreement, differs: Differs) -> SmallestPart | None:
    """Return a part that differs by itself and cannot be made smaller; None if that is the whole."""
    flat = flatten(whole)
    names = tuple(node.name for node in flat.nodes)

    def differing(candidate: tuple[str, ...]) -> SmallestPart | None:
        again = _again(flat, candidate, disagreement, differs)
        return None if again is None else (candidate, again)

    likely = (differing(part) for part in _likely(flat, disagreement.what) if len(part) < len(names))
    first = next(filter(None, likely), (names, disagreement))
    smallest = minimize(first, _one_less, differing)
    return smallest if len(smallest[0]) < len(names) else None


def _one_less(best: SmallestPart) -> Iterator[tuple[str, ...]]:
    names, _ = best
    return (tuple(each for each in names if each != name) for name in names if len(names) > 1)


def _likely(flat: Pipeline, what: str) -> list[tuple[str, ...]]:
    """Return the parts to try first: the processor that shows the difference, and it with all processors upstream."""
    node = next((node for node in flat.nodes if what in _list_disagreements(node)), None)
    if node is None:
        return []
    before = (each.name for each in flat.upstream(node.inputs))
    return [(node.name,), (*before, node.name)]


def _list_disagreements(node: Node) -> set[str]:
    """Return the places of disagreements that this processor would be the first to show (`Disagreement.what`)."""
    return {f"pipe {pipe!r}" for pipe in node.outputs} | {f"queue {queue!r}" for queue in node.queues}


def _again(flat: Pipeline, names: Sequence[str], disagreement: Disagreement, differs: Differs) -> Disagreement | None:
    try:
        candidate = part(flat, names)
        steps = _heard(flat, candidate, disagreement.steps[: disagreement.step + 1])
        return differs(candidate, steps)
    except (WorkbenchError, NotImplementedError):  # not a pipeline, refused by one side, or without a `denote`
        return None


def _heard(flat: Pipeline, candidate: Pipeline, steps: InputSequence) -> InputSequence | None:
    """Return the inputs of a part in these steps of the whole; None if it cannot be fed with them, or a step fails."""
    inputs = [name for name, _ in candidate.inputs]
    if any(flat.widths[pipe] != 1 for pipe in inputs) or flat.late.intersection(inputs):
        return None
    heard = []
    try:
        for events, record in zip(steps, Running(flat, {}).trace(steps), strict=True):
            carried = {pipe: record.pipes[pipe] for pipe in inputs if record.pipes[pipe] is not None}
            heard.append(END if events is END else carried)
    except WorkbenchError:
        return None
    return heard
