"""Maps of any size on inputs: compiled code has a number for each, and their entries in arrays.

The rule of this module: such a map is never changed. Variables and queues hold its number; 0 is the empty map. The
entries of a map are contiguous and sorted by key, so that a key is found by search and all keys can be visited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.core.domain import INT, WORDS, Domain, Integers, Reals
from workbench.core.fields import Map, Tuple, within
from workbench.core.fold import postorder
from workbench.core.memory import Array
from workbench.core.term import Term, leaves, var
from workbench.errors import Refused
from workbench.ir.system import Memory


@dataclass(frozen=True)
class MapNumber(Integers):
    """The number of a map among the input maps of its type."""

    of: Map


@dataclass(frozen=True)
class MapHeap(Array):
    """The storage of the maps of a type: start offset of each map's entries, and a final end; keys; parts of values.

    Entry 0 belongs to no map.
    """

    of: Map = field(kw_only=True)

    @classmethod
    def for_maps(cls, of: Map) -> MapHeap:
        """Return the storage of the maps of a type."""
        return cls(Tuple((INT, of.key, of.value)), 2, of=of)

    @property
    def memory(self) -> Memory:
        """The storage as a memory of a system."""
        name = f"maps:{self.of}"
        return Memory(name, self, self.columns(name), (), ())


def find_input_maps(domain: Domain) -> Iterator[Map]:
    """Yield the maps of any size in the domain of an input.

    Raises
    ------
    Refused: the keys or values of a map do not fit in words.
    """
    for part in within(domain):
        if not isinstance(part, Map):
            continue
        if part.finite:
            raise Refused(f"{part} has finitely many keys", hint="make it a record, or a map whose keys are int")
        words = not isinstance(part.key, Tuple | Map | Reals) and (part.key.finite or isinstance(part.key, WORDS))
        inside = (each for each in within(part.value) if not isinstance(each, Tuple))
        if not words or not all(each.finite or isinstance(each, WORDS) for each in inside):
            hint = "keys are whole numbers, texts or labels, and values scalars or records of these"
            raise Refused(f"{part} has values that do not fit in 64 bits", hint=hint)
        yield part


def number_domain(domain: Domain) -> Domain:
    """Return the domain with numbers for maps of any size."""
    if isinstance(domain, Map):
        return domain if domain.finite else MapNumber(domain)
    if isinstance(domain, Tuple):
        return replace(domain, fields=tuple(map(number_domain, domain.fields)))
    return domain


def number_array(column: Term) -> Term:
    """Return the array of a memory with numbers for maps of any size."""
    assert isinstance(column.domain, Array)
    array: Term = var(column.name, replace(column.domain, element=number_domain(column.domain.element)))
    return array


def list_choices(value: Term) -> Iterable[Term]:
    """Yield the variables and arrays whose map a term may be, perhaps with changes."""
    left = [value]
    while left:
        each = left.pop()
        if each.is_var:
            yield each
        elif each.op is not None and each.op.name == "ite":
            left += each.args[1:]
        else:
            left += each.args[:1]


def heaps_in(terms: Iterable[Any]) -> list[Memory]:
    """Return the memories of maps that terms, tuples of terms, and stored numbers refer to."""
    nodes = postorder(each for term in terms for each in leaves(term) if isinstance(each, Term))
    domains = (part for node in nodes for part in _elements(node.domain))
    return [MapHeap.for_maps(of).memory for of in dict.fromkeys(d.of for d in domains if isinstance(d, MapNumber))]


def _elements(domain: Domain) -> Iterable[Domain]:
    return within(domain.element) if isinstance(domain, Array) else (domain,)
