"""Placements: which parts of a pipeline get a thread.

A placement is data: it changes how a pipeline runs, never its results. `balance_cuts` is a simple one; `workbench
advise` finds one by measurement.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.core.kinds import keeps_copies
from workbench.core.pipeline import Pipeline
from workbench.errors import PipelineError, check_count
from workbench.executors.threaded.certificate import Certificate
from workbench.executors.threaded.manager import ThreadManager

Copying = Collection[str] | Mapping[str, ThreadManager]
"""Names of processors, optionally each with a manager of its own."""


@dataclass(frozen=True)
class Placement:
    """Where to use threads, by the names of processors (`group.inner` inside groups).

    Parameters
    ----------
    cuts: there is a queue before each of these processors, in the order of the pipeline; what precedes it is
        computed ahead, in a thread of its own (a `PullGroup`).
    pipelined: processors with a copy for each event, with their certificates.
    copies: processors (windows, ...) whose inner copies are stepped in threads, at all nesting levels
        (`NonBlocking`). A mapping gives each a manager of its own, in place of the executor's.
    """

    cuts: tuple[str, ...] = ()
    pipelined: Mapping[str, Certificate] = field(default_factory=dict)
    copies: Copying = frozenset()

    def check(self, flat: Pipeline) -> None:
        """Check that each named processor exists, and has copies where these are placed; PipelineError if not.

        Refused if a certificate is not for its processor, or for the domains of this pipeline.
        """
        for name in (*self.cuts, *self.pipelined, *self.copies):
            flat.node(name)
        for name, certificate in self.pipelined.items():
            certificate.check(flat.typed[name], tuple(flat.domains[pipe] for pipe in flat.node(name).inputs))
        for name in sorted(self.copies):
            if not keeps_copies(flat.typed[name]):
                having = [node.name for node in flat.nodes if keeps_copies(flat.typed[node.name])]
                raise PipelineError(
                    f"{flat.ports.of}: '{name}' ({flat.typed[name]}) has no copies for threads",
                    hint=f"these have: {', '.join(having)}" if having else "none of its processors has",
                )

    def parts(self, flat: Pipeline) -> list[Stage]:
        """Cut the pipeline's processors, in order, into parts."""
        self.check(flat)
        stages: list[Stage] = []
        start = 0
        for index, node in enumerate(flat.nodes):
            alone = node.name in self.pipelined
            if index > start and (node.name in self.cuts or alone):
                stages.append(Stage(start, index))
                start = index
            if alone:
                stages.append(Stage(index, index + 1, self.pipelined[node.name]))
                start = index + 1
        if start < len(flat.nodes):
            stages.append(Stage(start, len(flat.nodes)))
        return stages


@dataclass(frozen=True)
class Stage:
    """A part of a pipeline: the processors `start` to `stop` (exclusive), in topological order.

    `certificate`: the part is one pipelined processor.
    """

    start: int
    stop: int
    certificate: Certificate | None = None


def balance_cuts(flat: Pipeline, parts: int, costs: Sequence[float] | None = None) -> tuple[str, ...]:
    """Return the cuts that minimize the cost of the most expensive of `parts` parts.

    Parameters
    ----------
    flat: a pipeline without groups.
    costs: cost of each processor, in the order of the pipeline; equal if None.
    """
    check_count("the number of parts", parts, least=1)
    weights = [1.0] * len(flat.nodes) if costs is None else list(costs)
    least: list[list[tuple[float, int]]] = [[(0.0, 0)] + [(float("inf"), 0)] * len(weights)]
    for _ in range(min(parts, len(weights))):
        before = least[-1]
        least.append(
            [
                min(
                    ((max(before[cut][0], sum(weights[cut:end])), cut) for cut in range(end)),
                    default=(float("inf"), 0),
                )
                for end in range(len(weights) + 1)
            ]
        )
    end, cuts = len(weights), []
    for row in reversed(least[1:]):
        end = row[end][1]
        cuts.append(end)
    return tuple(flat.nodes[cut].name for cut in reversed(cuts) if cut)
