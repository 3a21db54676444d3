"""Open queues: queues of any length in a finite model, which then allows more runs than there are.

The rule of this module: nothing is lost. A queue that is opened keeps its oldest events and the knowledge whether
it is empty, which is all that a join looks at; beyond its capacity it only remembers "that many or more", and an
event taken from there leaves as many or one less, as the environment guesses. What holds on all runs of the opened
system therefore holds on all runs of the pipeline with unbounded queues; a run of it need not be one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from workbench.core.domain import BOOL, Domain, scalars
from workbench.core.join import Brim, Join
from workbench.core.ops import EQ, both, either, ite
from workbench.core.pipeline import Node, Pipeline
from workbench.core.term import Term, const, leaves, var
from workbench.ir.system import Instance, System, Variable


def queue_instance(node: Node) -> str:
    """The instance that holds the queues of a node."""
    return f"{node.name}.queue"


def brims(pipeline: Pipeline, system: System) -> dict[str, Brim]:
    """Where the system of a flat pipeline keeps each queue; the slots by their qualified names."""
    found = {}
    for node in pipeline.nodes:
        if not node.queues:
            continue
        domains = tuple(pipeline.domains[pipe] for pipe in node.inputs)
        join = Join(domains, tuple(system.queues[queue].capacity for queue in node.queues))
        for position, queue in enumerate(node.queues):
            level, full, stores = join.brim(position)
            instance = queue_instance(node)
            found[queue] = Brim(f"{instance}:{level}", full, tuple(f"{instance}:{store}" for store in stores))
    return found


def can_open(pipeline: Pipeline, queue: str) -> bool:
    """Whether a queue can be opened: the join takes at most one event a step, so one look ahead is enough."""
    node = next(node for node in pipeline.nodes if queue in node.queues)
    return all(pipeline.widths[pipe] == 1 for pipe in node.inputs)


def opened(pipeline: Pipeline, system: System, queues: Collection[str]) -> System:
    """The system with these queues open (those that `can_open`); each has a capacity of at least 1.

    `system` is that of the flat `pipeline`.
    """
    places = brims(pipeline, system)
    for node in pipeline.nodes:
        for queue, pipe in zip(node.queues, node.inputs, strict=False):  # most nodes have no queues
            if queue in queues:
                system = _open(system, queue, places[queue], pipeline.domains[pipe])
    return system


def _open(system: System, queue: str, brim: Brim, domain: Domain) -> System:
    guess = f"{queue}.unseen"
    more: Term = var(f"{guess}:present", BOOL)
    event = var(f"{guess}:value", domain)
    level = next(v for v in system.variables if v.name == brim.level)
    before: Term = EQ(var(level.name, level.domain), brim.full)
    stays = both(before, either(more, EQ(level.next, brim.full)))
    unseen = dict(zip(_leaf_names(brim.stores[-1], domain), leaves(event), strict=True))

    def following(variable: Variable) -> Variable:
        if variable.name == level.name:
            return variable._replace(next=ite(both(before, more), const(brim.full, level.domain), variable.next))
        if variable.name in unseen:
            return variable._replace(next=ite(stays, unseen[variable.name], variable.next))
        return variable

    free: Mapping[str, Domain] = {leaf.name: leaf.domain for leaf in leaves((more, event))}
    shown = Instance(guess, f"Unseen {domain}", f"what may wait behind the first {abs(brim.full)} events", ())
    return replace(
        system,
        variables=tuple(map(following, system.variables)),
        free={**system.free, **free},
        instances=(*system.instances, shown),
    )


def _leaf_names(name: str, domain: Domain) -> list[str]:
    return [".".join((name, *path)) for path, _ in scalars(domain)]
