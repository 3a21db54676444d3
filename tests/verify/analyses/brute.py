"""Pipelines explored by hand: processors stepped on plain values, queues as tuples, every run up to an overflow.

Shares nothing with the transition system and the engines but the processors' `step`. Events are pairs of a value and
a tag, and the results of a firing are tagged if an event of its front is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import assume

from workbench.core.pipeline import Pipeline
from workbench.errors import Overflow

MAX_STATES = 1500
State = Any
Token = tuple[Any, bool]


@dataclass(frozen=True, eq=False)
class Edge:
    """A step: the states before and after, what the pipes carry, and whether the tagged event came by now."""

    before: State
    after: State
    pipes: Mapping[str, Token]
    tagged: bool


class Explored:
    """All runs of a flat pipeline with queues of capacity q; one event of the input `source` may be tagged.

    Examples that are too large, or that leave a checked domain, are given up with `assume`.
    """

    def __init__(self, pipeline: Pipeline, q: int, source: str = "") -> None:
        self.pipeline = pipeline
        self.q = q
        self.source = source
        self.edges: list[Edge] = []
        self.overflows = False
        nodes = pipeline.nodes
        start = (
            tuple((pipeline.typed[n.name].initial(), ((),) * len(n.queues)) for n in nodes),
            False,
        )
        known, todo = {start}, [start]
        while todo:
            before = todo.pop()
            for edge in self._edges(before):
                self.edges.append(edge)
                if edge.after not in known:
                    known.add(edge.after)
                    todo.append(edge.after)
            assume(len(known) <= MAX_STATES)

    def _edges(self, before: State) -> Iterator[Edge]:
        state, tagged = before
        for events in self._moves(tagged):
            now = tagged or any(tag for _, tag in events.values())
            try:
                found = self._step(state, events)
            except Overflow:
                assume(False)
            if found is None:
                self.overflows = True
            else:
                yield Edge(before, (found[0], now), found[1], now)

    def _moves(self, tagged: bool) -> Iterator[dict[str, Token]]:
        choices: list[list[Token | None]] = []
        for name, domain in self.pipeline.inputs:
            tags = (False, True) if name == self.source and not tagged else (False,)
            choices.append([None, *itertools.product(domain.values(), tags)])
        for chosen in itertools.product(*choices):
            events = {n: c for (n, _), c in zip(self.pipeline.inputs, chosen, strict=True) if c is not None}
            if events:
                yield events

    def _step(self, state: State, events: dict[str, Token]) -> tuple[State, dict[str, Token]] | None:
        carried, after = dict(events), []
        for node, (inner, queues) in zip(self.pipeline.nodes, state, strict=True):
            waiting = [
                (*queue, carried[pipe]) if pipe in carried else queue
                for queue, pipe in zip(queues or ((),) * len(node.inputs), node.inputs, strict=True)
            ]
            if all(waiting):
                front = [queue[0] for queue in waiting]
                waiting = [queue[1:] for queue in waiting]
                inner, results = self.pipeline.typed[node.name].step(inner, tuple(v for v, _ in front))
                tag = any(t for _, t in front)
                for pipe, out in zip(node.outputs, results, strict=True):
                    if out.present:
                        carried[pipe] = (out.value, tag)
            if any(len(queue) > self.q for queue in waiting):
                return None
            after.append((inner, tuple(waiting) if queues else ()))
        return tuple(after), carried

    def shown(self, edge: Edge, output: str) -> Token | None:
        """What an output carries at a step."""
        return edge.pipes.get(dict(self.pipeline.outputs)[output])

    def longest(self, edges: list[Edge]) -> int | None:
        """The most of these steps in a row; None if there is no most."""
        length = 0
        while edges:
            left = {edge.before for edge in edges}
            following = [edge for edge in edges if edge.after in left]
            if len(following) == len(edges):
                return None
            edges, length = following, length + 1
        return length

    def leading_to(self, wanted: list[Edge]) -> list[Edge]:
        """These steps, and all after which one of them can still come."""
        good = {edge.before for edge in wanted}
        while True:
            fresh = {edge.before for edge in self.edges if edge.after in good} - good
            if not fresh:
                break
            good |= fresh
        chosen = set(map(id, wanted))
        return [edge for edge in self.edges if id(edge) in chosen or edge.after in good]
