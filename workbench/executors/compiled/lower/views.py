"""Values that are maps, as views of tables: what is looked up in them, and what they say has changed.

The rule of this module: a view is asked within one step, whose reading comes before its writing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from workbench.core.domain import BOOL, INT, WORDS, Integers, Texts
from workbench.core.fields import Map, Tuple, scalars
from workbench.core.memory import ENTRIES, FIND_ENTRY, MOST_WORDS, READ, SOME_ENTRY, Cells, KeyedArray
from workbench.core.ops import GT, as_term, both, equal, ite, negate
from workbench.core.term import FALSE, TRUE, Content, Term, const, same, var, whole
from workbench.core.term import Change as Entry
from workbench.errors import Refused
from workbench.executors.compiled.lower.given_maps import MapHeap, MapNumber

Addend = Callable[[Any], Any]
"""From a value to the number that is added up."""


class EntryChange(NamedTuple):
    """An entry of a table that a step writes: when, which, whether it is there then, and its value."""

    happens: Term
    key: Any
    there: Term
    value: Any


@dataclass(eq=False)
class MapTable:
    """A map that is kept.

    Attributes
    ----------
    levels: its arrays; where its values are maps, also those of their entries, whose keys are pairs.
    removes: whether keys are taken out of it: a row that is used says whether its key is there.
    only: the one value that is ever put into it, if there is one, which is then not kept.
    totals: what is added up over its entries, by a name.
    """

    name: str
    domain: Map
    levels: tuple[Cells, ...]
    removes: bool
    only: Term | None
    totals: dict[str, Addend] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, domain: Map, puts: Sequence[Term], *, removes: bool) -> MapTable:
        """One for a variable, given what is put into it; Refused where a key or a value does not fit into words."""
        values = {each.args[2] for each in puts if not isinstance(each.args[2].domain, Map)}
        only = next(iter(values)) if len(values) == 1 and all(value.is_const for value in values) else None
        kinds, inner = [domain], domain.value
        if isinstance(inner, Map):
            kinds.append(Map(Tuple((domain.key, inner.key)), inner.value))
        levels = []
        for number, kind in enumerate(kinds):
            words = [part for _, part in scalars(kind.key)]
            if len(words) > MOST_WORDS or not all(part.finite or isinstance(part, Integers | Texts) for part in words):
                raise Refused(f"it has keys of {kind.key}", hint="let them be whole numbers, texts, labels, or pairs")
            kept = number == len(kinds) - 1
            if kept and not all(part.finite or isinstance(part, WORDS) for _, part in scalars(kind.value)):
                raise Refused(f"it has values of {kind.value}", hint="values are scalars, tuples, or maps to these")
            there = (BOOL,) if removes and kept else ()
            value = (kind.value,) if kept and only is None else ()
            row = Tuple((BOOL, kind.key, *there, *value))
            fresh = (False, *(each.default for each in value)) if there else ()
            levels.append(Cells(f"{name}{'.entries' * number}", KeyedArray(row, fresh=fresh)))
        return cls(name, domain, tuple(levels), removes, only)

    def rest(self, cells: Cells, change: EntryChange) -> tuple[Any, ...]:
        """What stands behind the key in a row."""
        if cells is not self.levels[-1]:
            return ()
        value = () if self.only is not None else (change.value,)
        return (change.there, *value) if self.removes else value

    def look(self, cells: Cells, place: Any) -> tuple[Any, Any]:
        """Whether the key of a row is there, and its value (None where that is a map)."""
        used, _, *rest = cells.at(place)
        if cells is not self.levels[-1]:
            return used, None
        value = rest[-1] if self.only is None else self.only
        return both(used, rest[0]) if self.removes else used, value


class MapView:
    """A map in a step."""

    domain: Map

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and same(tuple(vars(self).values()), tuple(vars(other).values()))

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def look(self, key: Any) -> tuple[Any, Any]:
        """Whether a key is there, and its value."""
        raise NotImplementedError

    def or_else(self, condition: Any, otherwise: MapView) -> MapView:
        """This one where a condition holds, else another one."""
        return OneOf(condition, self, otherwise)

    @property
    def entry(self) -> Entry:
        """What functions on maps ask (`core.maps`)."""
        content = Content(self.look, lambda name, measure: total(self, name, measure), (), None)
        return Entry.of(self.domain, (), content=content)


@dataclass(frozen=True, eq=False)
class NoEntries(MapView):
    """The empty map."""

    domain: Map

    def look(self, key: Any) -> tuple[Any, Any]:
        value = self.domain.value
        return FALSE, NoEntries(value) if isinstance(value, Map) else const(value.default, value)


@dataclass(frozen=True, eq=False)
class InTable(MapView):
    """What is in a table before the step: all of it, or the value that is a map of a key."""

    table: MapTable
    prefix: tuple[Any, ...] = ()

    @property
    def domain(self) -> Map:  # type: ignore[override]
        inner = self.table.domain.value
        return inner if self.prefix and isinstance(inner, Map) else self.table.domain

    @property
    def cells(self) -> Cells:
        """The arrays of its entries."""
        return self.table.levels[len(self.prefix)]

    def look(self, key: Any) -> tuple[Any, Any]:
        key = as_term(key, self.domain.key)
        present, value = self.table.look(self.cells, self.cells.find((*self.prefix, key) if self.prefix else key))
        return present, InTable(self.table, (key,)) if value is None else value

    @property
    def present(self) -> Any:
        """Of the value of a key: whether the key is there."""
        return InTable(self.table).look(self.prefix[0])[0] if self.prefix else TRUE


@dataclass(frozen=True, eq=False)
class WithEntry(MapView):
    """A map with another entry, or (`there` is false) without one."""

    before: MapView
    key: Any
    there: Term
    value: Any

    @property
    def domain(self) -> Map:  # type: ignore[override]
        return self.before.domain

    def look(self, key: Any) -> tuple[Any, Any]:
        present, value = self.before.look(key)
        found = equal(as_term(key, self.domain.key), as_term(self.key, self.domain.key))
        return ite(found, self.there, present), choose_value(found, self.value, value)


@dataclass(frozen=True, eq=False)
class OneOf(MapView):
    """One of two maps."""

    condition: Term
    then: MapView
    otherwise: MapView

    @property
    def domain(self) -> Map:  # type: ignore[override]
        return self.then.domain

    def look(self, key: Any) -> tuple[Any, Any]:
        (p, v), (q, w) = self.then.look(key), self.otherwise.look(key)
        return ite(self.condition, p, q), choose_value(self.condition, v, w)


@dataclass(frozen=True, eq=False)
class GivenMap(MapView):
    """A map that has come in, by its number."""

    domain: Map
    number: Term

    @property
    def _columns(self) -> tuple[Term, ...]:
        return MapHeap.for_maps(self.domain).memory.columns

    def look(self, key: Any) -> tuple[Any, Any]:
        begins, keys, *_ = self._columns
        place = FIND_ENTRY.build((begins, keys, self.number, as_term(key, self.domain.key)))
        return GT(place, 0), self.value(place)

    def value(self, place: Term) -> Any:
        """What stands there."""
        return whole(self.domain.value, (READ.build((column, place)) for column in self._columns[2:]))

    def key(self, place: Term) -> Term:
        """The key that stands there."""
        found: Term = READ.build((self._columns[1], place))
        return found

    @property
    def size(self) -> Term:
        """How many entries it has."""
        found: Term = ENTRIES.build((self._columns[0], self.number))
        return found

    def or_else(self, condition: Any, otherwise: MapView) -> MapView:
        if not isinstance(otherwise, GivenMap | NoEntries):
            return OneOf(condition, self, otherwise)
        return GivenMap(self.domain, ite(condition, self.number, number_of(otherwise)))

    def some(self, place: Term, happens: Term, condition: Term) -> Term:
        """Whether a condition on the place of an entry is true of some, if something happens."""
        found: Term = SOME_ENTRY.build((self._columns[0], self.number, place, happens, condition))
        return found


def number_of(view: MapView) -> Term:
    """The number of a map that has come in; Refused for one that a step has made."""
    if isinstance(view, GivenMap):
        return view.number
    if isinstance(view, NoEntries):
        empty: Term = const(0, MapNumber(view.domain))
        return empty
    raise Refused("a map that comes in is kept with changes", hint="let a machine keep a map of its own, with put")


def choose_value(condition: Any, then: Any, otherwise: Any) -> Any:
    """A conditional, of values that may be maps."""
    if condition is TRUE or same(then, otherwise):
        return then
    if condition is FALSE:
        return otherwise
    if isinstance(then, NoEntries) and isinstance(otherwise, GivenMap):
        return otherwise.or_else(negate(condition), then)
    if isinstance(then, MapView):
        return then.or_else(condition, otherwise)
    if isinstance(then, tuple):
        return tuple(choose_value(condition, a, b) for a, b in zip(then, otherwise, strict=True))
    return ite(condition, then, otherwise)


# --- what has changed -----------------------------------------------------------------------------------------

Levels = tuple[Sequence[EntryChange], ...]
"""Per level of a table what a step writes there, one after the other."""


def changes(view: MapView, base: InTable) -> Levels:
    """How a map differs from what is in its table.

    Raises
    ------
    Refused: it is not that with changes: it would have to be copied.
    """
    if view == base:
        return tuple([] for _ in base.table.levels)
    if isinstance(view, WithEntry):
        return _put(view, base)
    if isinstance(view, OneOf):
        if isinstance(view.otherwise, NoEntries) and view.condition is base.present:
            return changes(view.then, base)  # where the key is not there, nothing is in its map
        return tuple(
            [_either(view.condition, a, b) for a, b in itertools.zip_longest(then, otherwise)]
            for then, otherwise in zip(changes(view.then, base), changes(view.otherwise, base), strict=True)
        )
    what = "the empty map" if isinstance(view, NoEntries) else "another map"
    raise Refused(f"{what} takes the place of one, which would have to be copied", hint="change one entry with put")


def _put(view: WithEntry, base: InTable) -> Levels:
    found = changes(view.before, base)
    key = as_term(view.key, view.domain.key)
    if isinstance(view.value, MapView):
        inner = changes(view.value, InTable(base.table, (key,)))
        return _last(found[0], EntryChange(TRUE, key, TRUE, None)), inner[1]
    value = as_term(view.value, view.domain.value)
    written = EntryChange(TRUE, (*base.prefix, key) if base.prefix else key, view.there, value)
    return (*found[:-1], _last(found[-1], written))


def _last(before: Sequence[EntryChange], change: EntryChange) -> list[EntryChange]:
    """Changes, of which this one comes last; what it overwrites is left out."""
    return [*(each for each in before if not same(each.key, change.key)), change]


def _either(condition: Term, a: EntryChange | None, b: EntryChange | None) -> EntryChange:
    """What is written in one of two cases."""
    if a is None or b is None:
        one = a or b
        assert one is not None
        return one._replace(happens=both(condition if b is None else negate(condition), one.happens))
    happens = ite(condition, as_term(a.happens, BOOL), as_term(b.happens, BOOL))
    value = None if a.value is None else choose_value(condition, a.value, b.value)
    return EntryChange(happens, choose_value(condition, a.key, b.key), choose_value(condition, a.there, b.there), value)


# --- what is added up -----------------------------------------------------------------------------------------


def total(view: MapView, name: str, measure: Addend) -> Any:
    """The sum over all entries of a measure, a function from a value to a number, which is known by a name."""
    base = root(view)
    if base is None:
        return const(0, INT)
    if base.prefix:
        raise Refused(f"'{name}' is asked of a map in a map", hint="keep a number for each key beside it")
    base.table.totals[name] = measure
    found: Term = symbol(base.table, name)
    for change in changes(view, base)[0]:
        present, value = base.look(change.key)
        before, after = ite(present, measure(value), 0), ite(change.there, measure(change.value), 0)
        found = found + as_term(ite(change.happens, as_term(after, INT) - as_term(before, INT), 0), INT)
    return found


def symbol(table: MapTable, name: str) -> Any:
    """The variable that has a total before a step."""
    return var(f"{table.name}.{name}", INT)


def root(view: MapView) -> InTable | None:
    """What a map was made from by changes; None if that is the empty one."""
    while isinstance(view, WithEntry):
        view = view.before
    if isinstance(view, OneOf):
        return root(view.then) or root(view.otherwise)
    if not isinstance(view, InTable | NoEntries):
        raise Refused("something is added up over a map that comes in and is changed")
    return view if isinstance(view, InTable) else None
