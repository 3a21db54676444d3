"""The contents of variables in a model: their domains, their values, and the capacities of queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.domain import WORDS, Domain, Range
from workbench.core.fields import Map, Tuple, parts, scalars, within
from workbench.core.finite import obstacle
from workbench.core.ops import as_term, both, ite
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Maybe
from workbench.core.program import unknown
from workbench.core.term import TRUE, Change, Entries, Term, const, has_view, like
from workbench.errors import DomainError, Refused

DEFAULT_CAPACITY = 2
"""The default capacity of queues, as in the paper's examples."""


@dataclass(frozen=True)
class HeldDomains:
    """The domains that variables can have; with `arrays`, also the domains of state that no model has."""

    arrays: bool

    def obstacle(self, domain: Domain, *, computed: bool = True) -> tuple[str, str]:
        """Return the reason why no variable can have this domain, and a hint."""
        why, hint = obstacle(domain, WORDS if self.arrays else (), computed=computed)
        if self.arrays and any(isinstance(part, Map) and not part.key.finite for part in within(domain)):
            hint = "only functions, and outputs of the pipeline, read maps with keys of infinite types"
        return why, hint

    def fits(self, domain: Domain, *, maps: bool = False) -> bool:
        """Whether a variable can have this domain; with `maps`, also maps of any size, which become tables."""
        inside = (part for part in within(domain) if not isinstance(part, Map | Tuple)) if maps else ()
        leaf_domains = inside if maps else (part for _, part in scalars(domain))
        return all(part.finite or (self.arrays and isinstance(part, WORDS)) for part in leaf_domains)

    def check(self, node: Node, domain: Domain, pipe: str, slots: Sequence[Maybe], *, in_table: bool) -> None:
        """Refuse a pipe with a map that no variables represent, except the map of a table's own step."""
        for value in (slot.value for slot in slots if has_view(slot.value)):
            if isinstance(value, Entries):
                raise Refused(
                    f"`{node.processor}` (processor '{node.name}') emits {domain} for several events of a step, or at"
                    " the end of the stream, and such a map lies in a table, which changes once a step",
                    where=node.where,
                    hint="let the values of the map have a finite type",
                )
            if not (in_table and isinstance(value, Change)):
                raise self.refusal(node, f"pipe '{pipe}'", domain)

    def refusal(self, node: Node, what: str, domain: Domain) -> Refused:
        """Return the error that a part of a processor has such a domain."""
        why, hint = self.obstacle(domain)
        return Refused(f"{what} of processor '{node.name}' holds {domain}, {why}", where=node.where, hint=hint)


def canonical(value: Any, here: Any = TRUE) -> Any:
    """Return an incoming value in canonical form: where a map does not have a key, its value is the default."""
    if isinstance(value, Entries):
        slots = []
        for flag, inside in value:
            present = both(here, flag)
            slots.append((present, canonical(inside, present)))
        return like(value, slots)
    if isinstance(value, tuple):
        return like(value, [canonical(part, here) for part in value])
    return value if here is TRUE else ite(here, value, const(value.domain.default, value.domain))


def guard_state(fires: Any, new: Any, old: Any, domain: Domain) -> Any:
    """Return the next state: the new one when the processor fires, else the old one. Ranges stay exact."""
    if isinstance(new, tuple):
        fields = zip(new, old, parts(domain), strict=True)
        return like(old, [guard_state(fires, n, o, d) for n, o, (_, d) in fields])
    if not isinstance(domain, Range) or not isinstance(new, Term):
        new = as_term(new, domain)
    return ite(fires, new, old)


def capacities_of(pipeline: Pipeline, capacity: int | Mapping[str, int]) -> dict[str, int]:
    """Return the capacity of each queue of a flat pipeline: as given, else its own, else the default."""
    own = dict(pipeline.capacities)
    if isinstance(capacity, int):
        capacities = {queue: own.get(queue, capacity) for queue in pipeline.queues}
    else:
        for queue in capacity:
            if queue not in pipeline.queues:
                raise unknown(pipeline.ports.of, "queue", queue, pipeline.every_queue)
        capacities = {q: capacity.get(q, own.get(q, DEFAULT_CAPACITY)) for q in pipeline.queues}
    for queue, size in capacities.items():
        if size < 0:
            raise DomainError(f"the capacity of queue '{queue}' cannot be negative: {size}")
    return capacities
