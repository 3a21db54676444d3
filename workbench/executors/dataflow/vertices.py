"""The vertices of a pipeline, and their graph.

The rule of this module: vertex 1 is the log. It sends the events of the inputs to their readers, the clock of steps to
processors that work on steps, and the end of the streams to those that then emit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.core.kinds import Clocked
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Processor
from workbench.core.program import Program
from workbench.errors import PipelineError
from workbench.executors.dataflow.numbering import NumberedGraph, number_graph
from workbench.processors.held.group import Group

LOG = "log"
"""The name of vertex 1; with a `_` if a processor has it."""


@dataclass(frozen=True)
class VertexGraph:
    """The vertices of a flat pipeline.

    Parameters
    ----------
    graph: their dependences.
    names: names of the vertices 1, 2, ...
    cells: for each the numbers of its processors in the pipeline, in order.
    """

    graph: NumberedGraph
    names: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, flat: Pipeline, parts: Mapping[str, str]) -> VertexGraph:
        """Build the vertices of a pipeline.

        Parameters
        ----------
        flat: a pipeline without groups.
        parts: the name of each processor's vertex.

        Raises
        ------
        PipelineError: the vertices form a cycle.
        """
        log = LOG
        while log in parts.values():
            log += "_"
        cells: dict[str, list[int]] = {log: []}
        writer = {name: log for name, _ in flat.inputs}
        before: dict[str, dict[str, None]] = {log: {}}
        for number, node in enumerate(flat.nodes):
            vertex = parts[node.name]
            cells.setdefault(vertex, []).append(number)
            own = before.setdefault(vertex, {})
            own.update((writer[pipe], None) for pipe in node.inputs if writer[pipe] != vertex)
            writer.update(dict.fromkeys(node.outputs, vertex))
            if looks_at_log(flat, node.name):
                own[log] = None
        try:
            graph, names = number_graph(before)
        except PipelineError as error:
            hint = "add the processors between two processors of a vertex to it"
            raise PipelineError(f"the vertices of {flat.ports.of} form a cycle: {error.what}", hint=hint) from error
        return cls(graph, names, tuple(tuple(cells[name]) for name in names))


def looks_at_log(flat: Pipeline, name: str) -> bool:
    """Whether a processor works at every step, or at the end of the streams, even where nothing arrives."""
    processor = flat.typed[name]
    return isinstance(processor, Clocked) or processor.finishes > 0 or type(processor).finish is not Processor.finish


def processors_apart(flat: Pipeline) -> dict[str, str]:
    """Map each processor to a vertex of its own."""
    return {node.name: node.name for node in flat.nodes}


def groups_together(program: Program, flat: Pipeline) -> dict[str, str]:
    """Map the processors in a group of the program to one vertex with the group's name."""
    groups = [node.name for node in program.pipeline.nodes if isinstance(node.processor, Group)]
    own = {f"{group}.": group for group in groups}
    return {
        node.name: next((group for start, group in own.items() if node.name.startswith(start)), node.name)
        for node in flat.nodes
    }
