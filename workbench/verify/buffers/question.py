"""A question about one queue of a pipeline, and what is known of the queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.core.pipeline import Pipeline
from workbench.ir.reduce import Model
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.trace import Trace
from workbench.verify.most import Most


@dataclass(kw_only=True)
class QueueMost(Most):
    """What is known of the length of one queue.

    Attributes
    ----------
    shortest: whether no shorter run reaches it.
    model: the last model that was asked.
    wraps: whether arithmetic that decides the length can wrap; None where that was not decided.
    region: the pipe behind which the queue was asked about, for any events on it; empty: from the inputs on.
    witness: of a queue inside a processor, the run that overflows the next smaller capacity.
    part: of such a queue, the pipeline up to that processor.
    """

    shortest: bool = True
    model: Model | None = None
    wraps: bool | None = False
    engine: str = "none needed"
    region: str = ""
    witness: Trace | None = None
    part: Pipeline | None = None


@dataclass(frozen=True)
class QueueQuestion:
    """The question for the smallest capacity of a queue.

    Attributes
    ----------
    pipeline: flat and resolved.
    proven: capacities known to be enough, of other queues.
    settings: how to ask; what is left to the work that this belongs to limits it.
    most: the largest capacity to ask about.
    """

    pipeline: Pipeline
    queue: str
    proven: Mapping[str, int]
    settings: Settings
    most: int

    def upstream(self, source: str = "") -> Pipeline:
        """The part of the pipeline that ends with the processor of this queue, and begins with `source` if it is given.

        That is a pipe, which becomes the input.
        """
        pipeline = self.pipeline
        last = next(node for node in pipeline.nodes if self.queue in (*node.queues, node.pending))
        nodes = (*pipeline.upstream(last.inputs, source), last)
        read = {pipe for node in nodes for pipe in node.inputs}
        inputs = tuple(each for each in pipeline.inputs if each[0] not in pipeline.oracles or each[0] in read)
        inputs = ((source, pipeline.domains[source]),) if source else inputs
        return Pipeline(pipeline.name, inputs, nodes, (("out", last.outputs[0]),))


def depends_on(queues: list[str]) -> str:
    """Why nothing is known of a queue."""
    return f"it depends on queues that have no proven capacity: {', '.join(queues)}"
