"""Elimination of the memory of queues and windows whose contents can be read again from the input.

Where an input has an event in every step, and its whole stream is in a column, a value written to a memory some steps
ago is, or is computed from, the entry that many rows above. So a step reads it there, and writes nothing: on a GPU,
where columns and memories are in the same slow memory, that halves the traffic of a long window or queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from workbench.core.domain import BOOL, Domain, Integers, Overflowing
from workbench.core.fold import Substitute, map_leaves, postorder
from workbench.core.memory import READ, RECALL, Write
from workbench.core.ops import ite
from workbench.core.term import FALSE, TRUE, Term, const, leaves, var
from workbench.executors.compiled.lower.system import escaping, hazards
from workbench.ir.system import Definition, Memory, System

MAX_WORK = 8
"""Maximum number of operations that are recomputed rather than stored."""


class Past(NamedTuple):
    """The entry of an input's column some rows above; or, without a leaf, whether there is such a row.

    Attributes
    ----------
    leaf: the name of the input's scalar.
    back: the number of rows: a constant, or a variable of the system.
    """

    leaf: str
    domain: Domain
    back: Term

    @property
    def symbol(self) -> Term:
        """The input of the system that represents it."""
        back = self.back.payload if self.back.is_const else self.back.name
        symbol: Term = var(f"past:{self.leaf}:{back}", self.domain)
        return symbol


@dataclass(frozen=True)
class Taped:
    """A system without the memories that are not needed, and its reads of earlier rows instead."""

    system: System
    pasts: tuple[Past, ...] = ()


def tape_system(system: System, dense: Mapping[Term, Term]) -> Taped:
    """Return an equivalent system for steps in which every input has had an event, given the constants `dense`.

    It is equivalent in such steps, and in the one with which the streams end. Variables on which neither outputs nor
    hazards depend stay constant in it.
    """
    recall = _Recall(system, dense)
    if not recall.arrays or any(memory.is_table for memory in system.memories):
        return Taped(system)
    left = replace(
        system,
        variables=tuple(v._replace(next=recall(v.next)) for v in system.variables),
        definitions=tuple(Definition(d.name, recall(d.term)) for d in system.definitions),
        memories=tuple(
            m._replace(writes=tuple(recall.write(write) for write in m.writes))
            for m in system.memories
            if recall.arrays.isdisjoint(m.columns)
        ),
        free={**system.free, **{past.symbol.name: past.domain for past in recall.pasts}},
    )
    return Taped(_only_needed(left, recall.pasts), tuple(recall.pasts))


def _only_needed(system: System, pasts: Iterable[Past]) -> System:
    """Freeze all variables on which neither outputs, hazards nor the offsets of pasts depend."""
    pipes = [system.pipes[pipe] for _, pipe in system.outputs]
    written = [memory.writes for memory in system.memories]
    outputs = [(pipe.slots, () if pipe.more is None else pipe.more) for pipe in pipes]
    offsets = tuple(past.back for past in pasts)
    needed = system.cone((tuple(outputs), tuple(written), offsets, tuple(hazard.happens for hazard in hazards(system))))
    return replace(
        system,
        variables=tuple(v if v.name in needed else v._replace(next=var(v.name, v.domain)) for v in system.variables),
    )


class _Recall(Substitute):
    """A substitution that reads earlier rows in place of memories, where possible.

    Attributes
    ----------
    arrays: the arrays of memories that are then unnecessary.
    pasts: the reads of earlier rows.
    """

    def __init__(self, system: System, dense: Mapping[Term, Term]) -> None:
        super().__init__({})
        self._system, self._known = system, Substitute(dict(dense))
        self._inputs = {leaf for source in system.inputs for leaf in leaves(source.value)}
        self._counters = {v.name for v in system.variables}
        self.pasts: dict[Past, None] = {}
        self._written: dict[Term, tuple[Term, Memory]] = {}
        for memory in system.memories:
            values = self._list_computed(memory)
            self._written |= {array: (value, memory) for array, value in zip(memory.columns, values, strict=False)}
        terms = [v.next for v in system.variables] + [d.term for d in system.definitions]
        terms += [leaf for m in system.memories for w in m.writes for leaf in (w.happens, w.position, *leaves(w.value))]
        for load in postorder(terms):
            array = _array(load)
            if array in self._written and not self._has_known_age(load):
                for each in self._written[array][1].columns:
                    self._written.pop(each, None)
        self.arrays = frozenset(self._written)

    def write(self, write: Write) -> Write:
        """Translate a write to another memory."""
        return Write(self(write.happens), self(write.position), map_leaves(self, write.value), write.first)

    def _list_computed(self, memory: Memory) -> list[Term]:
        """Return the writes of each step to each array, where these depend only on inputs; otherwise nothing."""
        escapes = [each for kind in (Overflowing.CHECKED, Integers) for each in escaping(memory, kind)]
        if len(memory.writes) != 1 or memory.updates or any(each is not FALSE for each in escapes):
            return []
        (write,) = memory.writes
        condition, *values = (self._known(leaf) for leaf in leaves(self._system.inline((write.happens, write.value))))
        nodes = list(postorder(values))
        inside = all(node in self._inputs for node in nodes if node.is_var)
        is_cheap = sum(node.op is not None for node in nodes) <= MAX_WORK
        return values if condition is TRUE and inside and is_cheap and not any(map(_array, nodes)) else []

    def _has_known_age(self, load: Term) -> bool:
        """Whether the age of the value that is read, in writes, is known."""
        return load.op is RECALL and (load.args[2].is_const or load.args[2].name in self._counters)

    def default(self, term: Term, *args: Term) -> Term:
        array = _array(term)
        if array not in self._written:
            return super().default(term, *args)
        back = term.args[2]
        value, memory = self._written[array]
        earlier = {node: self._past(node.name, node.domain, back) for node in postorder([value]) if node.is_var}
        before = Substitute(earlier)(value)
        if not memory.domain.blank:
            return before
        entry: Term = ite(self._past("", BOOL, back), before, const(term.domain.default, term.domain))
        return entry

    def _past(self, leaf: str, domain: Domain, back: Term) -> Term:
        past = Past(leaf, domain, back)
        self.pasts[past] = None
        return past.symbol


def _array(term: Term) -> Term | None:
    """Return the array of a memory that a term reads, or None."""
    return term.args[0] if term.op in (READ, RECALL) else None
