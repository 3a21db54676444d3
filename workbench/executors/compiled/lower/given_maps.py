"""Maps of any size that come in: compiled code has a number for each, and all that is in them in arrays.

The rule of this module: such a map is never changed. Where it is kept, or waits in a queue, its number is; 0 is that of
the empty map. The entries of a map lie together, by their keys, so that a key is found and all keys are gone through.
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
    """The number of a map among those of its type that have come in."""

    of: Map


@dataclass(frozen=True)
class MapHeap(Array):
    """Where the maps of a type lie: where the entries of each begin, the last ones' end, keys, and parts of values.

    Entry 0 belongs to no map.
    """

    of: Map = field(kw_only=True)

    @classmethod
    def for_maps(cls, of: Map) -> MapHeap:
        """That of the maps of a type."""
        return cls(Tuple((INT, of.key, of.value)), 2, of=of)

    @property
    def memory(self) -> Memory:
        """It as a part of a system."""
        name = f"maps:{self.of}"
        return Memory(name, self, self.columns(name), (), ())


def find_given_maps(domain: Domain) -> Iterator[Map]:
    """The maps of any size in what an input carries.

    Raises
    ------
    Refused: one has keys or values for which compiled code has no words.
    """
    for part in within(domain):
        if not isinstance(part, Map):
            continue
        if part.finite:
            raise Refused(f"{part} is a map of few keys", hint="let it be a record, or a map whose keys are int")
        words = not isinstance(part.key, Tuple | Map | Reals) and (part.key.finite or isinstance(part.key, WORDS))
        inside = (each for each in within(part.value) if not isinstance(each, Tuple))
        if not words or not all(each.finite or isinstance(each, WORDS) for each in inside):
            hint = "keys are whole numbers, texts or labels, and values scalars or records of these"
            raise Refused(f"{part} has others than 64 bits hold", hint=hint)
        yield part


def number_domain(domain: Domain) -> Domain:
    """A domain with numbers for the maps in it that are of any size."""
    if isinstance(domain, Map):
        return domain if domain.finite else MapNumber(domain)
    if isinstance(domain, Tuple):
        return replace(domain, fields=tuple(map(number_domain, domain.fields)))
    return domain


def number_array(column: Term) -> Term:
    """The same of the array of a memory."""
    assert isinstance(column.domain, Array)
    found: Term = var(column.name, replace(column.domain, element=number_domain(column.domain.element)))
    return found


def list_choices(value: Term) -> Iterable[Term]:
    """The variables, and the arrays, of which a term that is a map has one, perhaps changed."""
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
    """Those that terms, or tuples of some, and numbers that are kept need."""
    nodes = postorder(each for term in terms for each in leaves(term) if isinstance(each, Term))
    domains = (part for node in nodes for part in _elements(node.domain))
    return [MapHeap.for_maps(of).memory for of in dict.fromkeys(d.of for d in domains if isinstance(d, MapNumber))]


def _elements(domain: Domain) -> Iterable[Domain]:
    return within(domain.element) if isinstance(domain, Array) else (domain,)
