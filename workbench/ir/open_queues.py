"""Open queues: queues of any length in a finite model, which then has additional, spurious runs.

The rule of this module: no run is lost. An open queue keeps its oldest events, at least as many as a step
can take, so a join sees all that it reads. Beyond its capacity it only stores "that many or more"; after a
step from there the environment guesses how many remain, and which. What holds on all runs of the open system
therefore holds on all runs of the pipeline with unbounded queues; a run of it need not be one of theirs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from workbench.core.domain import Domain, Range
from workbench.core.fields import scalars
from workbench.core.join import Brim, Join
from workbench.core.ops import EQ, GT, LT, both, ite
from workbench.core.pipeline import Node, Pipeline
from workbench.core.term import Term, const, leaves, var
from workbench.ir.system import Instance, System


def queue_instance(node: Node) -> str:
    """Return the name of the instance that holds the queues of a node."""
    return f"{node.name}.queue"


def brims(pipeline: Pipeline, system: System) -> dict[str, Brim]:
    """Return where the system of a flat pipeline stores each queue, by qualified names."""
    by_queue = {}
    for node in pipeline.nodes:
        if not node.queues:
            continue
        domains = tuple(pipeline.domains[pipe] for pipe in node.inputs)
        join = Join(domains, tuple(system.queues[queue].capacity for queue in node.queues))
        for position, queue in enumerate(node.queues):
            level, full, stores = join.brim(position)
            instance = queue_instance(node)
            by_queue[queue] = Brim(f"{instance}:{level}", full, tuple(f"{instance}:{store}" for store in stores))
    return by_queue


def look_ahead(pipeline: Pipeline) -> dict[str, int]:
    """Return, by queue name, the maximum number of events that one step takes from it: mostly one."""
    return {
        queue: max(pipeline.widths[pipe] or 1 for pipe in node.inputs)
        for node in pipeline.nodes
        for queue in node.queues
    }


def open_queues(pipeline: Pipeline, system: System, queues: Collection[str]) -> System:
    """Return the system with these queues open; each must have at least the capacity of `look_ahead`.

    `system` is the system of the flat `pipeline`.
    """
    queue_brims, lookaheads = brims(pipeline, system), look_ahead(pipeline)
    joins = {queue_instance(node) for node in pipeline.nodes if any(queue in queues for queue in node.queues)}
    system = system.with_held(dict.fromkeys(joins & system.holding.keys()))
    for queue, pipe in pipeline.sources.items():
        if queue in queues:
            system = _open(system, queue, queue_brims[queue], pipeline.domains[pipe], lookaheads[queue])
    return system


def _open(system: System, queue: str, brim: Brim, domain: Domain, lookahead: int) -> System:
    capacity = len(brim.stores)
    level = next(v for v in system.variables if v.name == brim.level)
    more, events = guesses(queue, brim, domain, lookahead)
    before: Term = EQ(var(level.name, level.domain), brim.full)
    above = GT if brim.full > 0 else LT
    after = ite(both(before, above(more, level.next)), more, level.next)
    following = {level.name: after}
    for position, event in enumerate(events, capacity - lookahead):
        held = above(after, position if brim.full > 0 else -position)
        names = [".".join((brim.stores[position], *path)) for path, _ in scalars(domain)]
        for name, unseen, nothing in zip(names, leaves(event), leaves(const(domain.default, domain)), strict=True):
            old = next(v.next for v in system.variables if v.name == name)
            following[name] = ite(before, ite(held, unseen, nothing), old)
    free: Mapping[str, Domain] = {leaf.name: leaf.domain for leaf in leaves((more, events))}
    instance = Instance(f"{queue}.unseen", f"Unseen {domain}", f"what may wait behind the first {capacity} events", ())
    return replace(
        system,
        variables=tuple(v._replace(next=following.get(v.name, v.next)) for v in system.variables),
        free={**system.free, **free},
        instances=(*system.instances, instance),
    )


def guesses(queue: str, brim: Brim, domain: Domain, lookahead: int) -> tuple[Any, tuple[Any, ...]]:
    """Return what the environment guesses of an open queue after a step: a level, and the events in its last stores."""
    levels = Range(min(0, brim.full), max(0, brim.full))
    events = (var(f"{queue}.unseen:event{i}", domain) for i in range(lookahead))
    return var(f"{queue}.unseen:level", levels), tuple(events)
