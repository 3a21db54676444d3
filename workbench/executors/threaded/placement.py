"""Placements: which parts of a pipeline get a thread.

A placement is data: it changes how a pipeline is run, never what it computes. `balance_cuts` is a simple one;
`workbench advise` finds one by measuring.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.core.kinds import keeps_copies
from workbench.core.pipeline import Pipeline
from workbench.errors import PipelineError
from workbench.executors.threaded.certificate import Certificate
from workbench.executors.threaded.manager import ThreadManager

Copying = Collection[str] | Mapping[str, ThreadManager]
"""Names of processors, perhaps each with a manager of its own."""


@dataclass(frozen=True)
class Placement:
    """Where threads are asked for, by the names of processors (`group.inner` inside groups).

    Parameters
    ----------
    cuts: before each of these, in the order of the pipeline's processors, there is a queue: what comes before it is
        computed ahead, in a thread of its own (a `PullGroup`).
    pipelined: processors of which there is a copy for each event, with what says that they may be.
    copies: processors (windows, ...) whose inner copies are stepped in threads, also those in what they hold
        (`NonBlocking`). A mapping gives each a manager of its own, in place of the executor's.
    """

    cuts: tuple[str, ...] = ()
    pipelined: Mapping[str, Certificate] = field(default_factory=dict)
    copies: Copying = frozenset()

    def check(self, flat: Pipeline) -> None:
        """PipelineError if it names a processor that the pipeline does not have, or one for copies that keeps none.

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
                    f"{flat.ports.of}: '{name}' ({flat.typed[name]}) keeps no copies that could be pushed into",
                    hint=f"these do: {', '.join(having)}" if having else "none of its processors does",
                )

    def parts(self, flat: Pipeline) -> list[Stage]:
        """The pipeline's processors in order, cut into parts."""
        self.check(flat)
        found: list[Stage] = []
        start = 0
        for index, node in enumerate(flat.nodes):
            alone = node.name in self.pipelined
            if index > start and (node.name in self.cuts or alone):
                found.append(Stage(start, index))
                start = index
            if alone:
                found.append(Stage(index, index + 1, self.pipelined[node.name]))
                start = index + 1
        if start < len(flat.nodes):
            found.append(Stage(start, len(flat.nodes)))
        return found


@dataclass(frozen=True)
class Stage:
    """The processors `start` to `stop` (not included), in topological order.

    `certificate`: it is one processor, and pipelined.
    """

    start: int
    stop: int
    certificate: Certificate | None = None


def balance_cuts(flat: Pipeline, parts: int, costs: Sequence[float] | None = None) -> tuple[str, ...]:
    """The cuts that make the most expensive of `parts` parts as cheap as can be.

    Parameters
    ----------
    flat: a pipeline without groups.
    costs: of each processor, in the order of the pipeline; the same for all if None.
    """
    if parts < 1:
        raise PipelineError(f"a pipeline cannot be cut into {parts} parts")
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
