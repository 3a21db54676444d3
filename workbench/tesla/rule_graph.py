"""The graph of causes in a rule set, by types of events.

The rule of this module: a rule is caused by its trigger, and depends on the composites of all types that it reads.
Conditions beside the type are ignored, so the graph may have causes that never occur, but it misses none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from workbench.errors import EndlessChain
from workbench.tesla import tree as t

N = TypeVar("N")
LONGEST_CHAIN = 1000
"""Maximum length of a chain of composites, each caused by the one before, the first by an external event or time."""


class CauseGraph:
    """The rules of a set, indexed by the types that trigger them, that they read, and that they emit."""

    def __init__(self, rules: Sequence[t.Rule]) -> None:
        self._rules = rules
        self._triggered: dict[str, list[int]] = defaultdict(list)
        self._looking: dict[str, list[int]] = defaultdict(list)
        self._emitting: dict[str, list[int]] = defaultdict(list)
        for number, rule in enumerate(rules):
            self._triggered[rule.trigger.type].append(number)
            self._emitting[rule.emits].append(number)
            for type in set(rule.types):
                self._looking[type].append(number)

    def caused(self, type: str) -> Iterator[str]:
        """Yield the types emitted by the rules that a type triggers."""
        return (self._rules[number].emits for number in self._triggered.get(type, ()))

    def find_effects(self, types: Iterable[str]) -> dict[str, None]:
        """Return the types, and all types of composites that they cause directly or indirectly."""
        return find_reachable(types, self.caused)

    def find_causes(self, types: Iterable[str]) -> dict[str, None]:
        """Return the types, and all types that cause them directly or indirectly."""

        def triggers(type: str) -> Iterator[str]:
            return (self._rules[number].trigger.type for number in self._emitting.get(type, ()))

        return find_reachable(types, triggers)

    def feeding(self, number: int) -> set[int]:
        """Return the numbers of the rules that emit types that a rule reads."""
        return {other for type in self._rules[number].types for other in self._emitting.get(type, ())}

    def sources(self, names: Collection[str]) -> set[str]:
        """Return the names, and the names of all rules on which these rules depend, directly or indirectly."""
        return self._name_types(names, self.feeding)

    def dependants(self, names: Collection[str]) -> set[str]:
        """Return the names, and the names of all rules that depend on these rules, directly or indirectly."""
        return self._name_types(names, lambda number: self._looking.get(self._rules[number].emits, ()))

    def _name_types(self, names: Collection[str], after: Callable[[int], Iterable[int]]) -> set[str]:
        begin = (number for number, rule in enumerate(self._rules) if rule.name in names)
        return {self._rules[number].name for number in find_reachable(begin, after)} | set(names)

    @cached_property
    def in_order(self) -> list[int]:
        """The rules in topological order, without rules on cycles and rules that depend on such rules."""
        order, numbers = TopologicalSorter({each: self.feeding(each) for each in range(len(self._rules))}), list[int]()
        with suppress(CycleError):
            order.prepare()
        while ready := sorted(order.get_ready()):
            numbers += ready
            order.done(*ready)
        return numbers

    @cached_property
    def groups(self) -> list[list[int]]:
        """The connected components of the rules under the relation that one depends on the other."""
        looked_at = self._looking.keys() & self._emitting.keys()

        def beside(node: int | str) -> Iterable[int | str]:
            if isinstance(node, str):
                return (*self._looking[node], *self._emitting[node])
            return looked_at.intersection((self._rules[node].emits, *self._rules[node].types))

        groups, grouped = list[list[int]](), set[int | str]()
        for number in range(len(self._rules)):
            if number not in grouped:
                begin: list[int | str] = [number]
                group = find_reachable(begin, beside)
                grouped.update(group)
                groups.append(sorted(each for each in group if isinstance(each, int)))
        return groups

    @cached_property
    def longest_chain(self) -> int | None:
        """The maximum number of composites in a chain of causes; None if there is a cycle."""
        types, length = set(self._triggered), 0
        while types := {emitted for type in types for emitted in self.caused(type)}:
            length += 1
            if length > len(self._rules):
                return None
        return length

    @property
    def circles(self) -> Iterator[list[t.Rule]]:
        """Cycles of rules that trigger each other: one for each strongly connected component, from its first rule."""
        component, met = self._components, set[int]()
        for rule in self._rules:
            number = component.get(rule.emits)
            if number is not None and number not in met and component[rule.trigger.type] == number:
                met.add(number)
                yield self._way_back(rule)

    @property
    def _components(self) -> Mapping[str, int]:
        """The number of the strongly connected component of each type; empty if there are no cycles."""
        causes = {type: list(self.caused(type)) for type in self._triggered}
        try:
            TopologicalSorter(causes).prepare()
        except CycleError:
            import networkx as nx  # slow to import, and rarely needed

            graph: nx.DiGraph[str] = nx.DiGraph((type, each) for type, some in causes.items() for each in some)
            parts = enumerate(nx.strongly_connected_components(graph))
            return {type: number for number, part in parts for type in part}
        return {}

    def _way_back(self, start: t.Rule) -> list[t.Rule]:
        """Return a shortest chain of rules from a rule to its own trigger."""
        last, todo = {start.emits: start}, [start.emits]
        for type in todo:
            for rule in map(self._rules.__getitem__, self._triggered.get(type, ())):
                if rule.emits not in last:
                    last[rule.emits] = rule
                    todo.append(rule.emits)
        way = [last[start.trigger.type]]
        while way[-1] is not start:
            way.append(last[way[-1].trigger.type])
        return way[::-1]


def find_reachable(start: Iterable[N], after: Callable[[N], Iterable[N]]) -> dict[N, None]:
    """Return all nodes that are reachable from some nodes, including these, in the order of discovery."""
    nodes = dict.fromkeys(start)
    todo = list(nodes)
    for each in todo:
        new = dict.fromkeys(other for other in after(each) if other not in nodes)
        nodes |= new
        todo += new
    return nodes


def endless_chain(names: Sequence[str]) -> EndlessChain:
    """Build the error for a chain of causes that is too long, given its rules, last first; it names the last cycle."""
    again = next((i for i, name in enumerate(names[1:], 1) if name == names[0]), len(names) - 1)
    circle = " -> ".join(reversed(names[: again + 1]))
    what = f"an event causes a chain of more than {LONGEST_CHAIN} composites: {circle}"
    return EndlessChain(what, hint="let a condition or a window end the cascade")
