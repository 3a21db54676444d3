"""Values that are maps, as views of tables: lookups in them, and the changes that they contain.

The rule of this module: a view is valid within one step, whose reads come before its writes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from workbench.core.domain import BOOL, INT, WORDS, Integers, Texts
from workbench.core.fields import Map, Tuple, scalars
from workbench.core.memory import ENTRIES, FIND_ENTRY, MAX_WORDS, READ, SOME_ENTRY, Cells, KeyedArray
from workbench.core.ops import GT, as_term, both, equal, ite, negate
from workbench.core.term import FALSE, TRUE, Content, Term, const, same, var, whole
from workbench.core.term import Change as Entry
from workbench.errors import Refused
from workbench.executors.compiled.lower.input_maps import MapHeap, MapNumber

Addend = Callable[[Any], Any]
"""A function from a value to its contribution to a sum."""


class EntryChange(NamedTuple):
    """A write of a step to an entry of a table: its condition, key, presence after the step, and value."""

    happens: Term
    key: Any
    there: Term
    value: Any


@dataclass(eq=False)
class MapTable:
    """A map that is stored in arrays.

    Attributes
    ----------
    levels: its arrays; where its values are maps, also the arrays of their entries, whose keys are pairs.
    removes: whether keys are ever removed: each used row then has a presence flag.
    only: the only value that is ever put into it, if there is just one, which is then not stored.
    totals: sums over its entries, by name.
    """

    name: str
    domain: Map
    levels: tuple[Cells, ...]
    removes: bool
    only: Term | None
    totals: dict[str, Addend] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, domain: Map, puts: Sequence[Term], *, removes: bool) -> MapTable:
        """Build the table of a variable, given its puts; Refused where a key or a value does not fit in words."""
        values = {each.args[2] for each in puts if not isinstance(each.args[2].domain, Map)}
        only = next(iter(values)) if len(values) == 1 and all(value.is_const for value in values) else None
        kinds, inner = [domain], domain.value
        if isinstance(inner, Map):
            kinds.append(Map(Tuple((domain.key, inner.key)), inner.value))
        levels = []
        for number, kind in enumerate(kinds):
            words = [part for _, part in scalars(kind.key)]
            if len(words) > MAX_WORDS or not all(part.finite or isinstance(part, Integers | Texts) for part in words):
                raise Refused(f"it has keys of {kind.key}", hint="use whole numbers, texts, labels, or pairs")
            is_last = number == len(kinds) - 1
            if is_last and not all(part.finite or isinstance(part, WORDS) for _, part in scalars(kind.value)):
                raise Refused(f"it has values of {kind.value}", hint="values are scalars, tuples, or maps to these")
            there = (BOOL,) if removes and is_last else ()
            value = (kind.value,) if is_last and only is None else ()
            row = Tuple((BOOL, kind.key, *there, *value))
            fresh = (False, *(each.default for each in value)) if there else ()
            levels.append(Cells(f"{name}{'.entries' * number}", KeyedArray(row, fresh=fresh)))
        return cls(name, domain, tuple(levels), removes, only)

    def rest(self, cells: Cells, change: EntryChange) -> tuple[Any, ...]:
        """Return the fields after the key in a row."""
        if cells is not self.levels[-1]:
            return ()
        value = () if self.only is not None else (change.value,)
        return (change.there, *value) if self.removes else value

    def look(self, cells: Cells, row: Any) -> tuple[Any, Any]:
        """Return whether the key of a row is present, and its value (None where that is a map)."""
        used, _, *rest = cells.at(row)
        if cells is not self.levels[-1]:
            return used, None
        value = rest[-1] if self.only is None else self.only
        return both(used, rest[0]) if self.removes else used, value


class MapView:
    """The value of a map in a step."""

    domain: Map

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and same(tuple(vars(self).values()), tuple(vars(other).values()))

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def look(self, key: Any) -> tuple[Any, Any]:
        """Return whether a key is present, and its value."""
        raise NotImplementedError

    def or_else(self, condition: Any, otherwise: MapView) -> MapView:
        """Return a view of this map where a condition holds, else of another one."""
        return OneOf(condition, self, otherwise)

    @property
    def entry(self) -> Entry:
        """The interface for functions on maps (`core.maps`)."""
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
    """The contents of a table before the step: all of it, or the map that is the value of a key."""

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
        """Whether the key of this value is present."""
        return InTable(self.table).look(self.prefix[0])[0] if self.prefix else TRUE


@dataclass(frozen=True, eq=False)
class WithEntry(MapView):
    """A map with another entry, or without one (`there` is false)."""

    before: MapView
    key: Any
    there: Term
    value: Any

    @property
    def domain(self) -> Map:  # type: ignore[override]
        return self.before.domain

    def look(self, key: Any) -> tuple[Any, Any]:
        present, value = self.before.look(key)
        is_same_key = equal(as_term(key, self.domain.key), as_term(self.key, self.domain.key))
        return ite(is_same_key, self.there, present), choose_value(is_same_key, self.value, value)


@dataclass(frozen=True, eq=False)
class OneOf(MapView):
    """A choice between two maps, by a condition."""

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
class InputMap(MapView):
    """A map from an input, given its number."""

    domain: Map
    number: Term

    @property
    def _columns(self) -> tuple[Term, ...]:
        return MapHeap.for_maps(self.domain).memory.columns

    def look(self, key: Any) -> tuple[Any, Any]:
        begins, keys, *_ = self._columns
        index = FIND_ENTRY.build((begins, keys, self.number, as_term(key, self.domain.key)))
        return GT(index, 0), self.value(index)

    def value(self, index: Term) -> Any:
        """Return the value of an entry."""
        return whole(self.domain.value, (READ.build((column, index)) for column in self._columns[2:]))

    def key(self, index: Term) -> Term:
        """Return the key of an entry."""
        key: Term = READ.build((self._columns[1], index))
        return key

    @property
    def size(self) -> Term:
        """The number of entries."""
        size: Term = ENTRIES.build((self._columns[0], self.number))
        return size

    def or_else(self, condition: Any, otherwise: MapView) -> MapView:
        if not isinstance(otherwise, InputMap | NoEntries):
            return OneOf(condition, self, otherwise)
        return InputMap(self.domain, ite(condition, self.number, number_of(otherwise)))

    def some(self, index: Term, guard: Term, condition: Term) -> Term:
        """Return whether a condition holds for the index of some entry; searched only where `guard` holds."""
        search: Term = SOME_ENTRY.build((self._columns[0], self.number, index, guard, condition))
        return search


def number_of(view: MapView) -> Term:
    """Return the number of an input map; Refused for a map that a step has built."""
    if isinstance(view, InputMap):
        return view.number
    if isinstance(view, NoEntries):
        empty: Term = const(0, MapNumber(view.domain))
        return empty
    raise Refused("an input map is stored with changes", hint="let a machine build a map of its own, with put")


def choose_value(condition: Any, then: Any, otherwise: Any) -> Any:
    """Return a conditional of values that may be maps."""
    if condition is TRUE or same(then, otherwise):
        return then
    if condition is FALSE:
        return otherwise
    if isinstance(then, NoEntries) and isinstance(otherwise, InputMap):
        return otherwise.or_else(negate(condition), then)
    if isinstance(then, MapView):
        return then.or_else(condition, otherwise)
    if isinstance(then, tuple):
        return tuple(choose_value(condition, a, b) for a, b in zip(then, otherwise, strict=True))
    return ite(condition, then, otherwise)


# --- changes --------------------------------------------------------------------------------------------------

Levels = tuple[Sequence[EntryChange], ...]
"""For each level of a table, the writes of a step in order."""


def changes(view: MapView, base: InTable) -> Levels:
    """Return the changes between a map and its table.

    Raises
    ------
    Refused: the map is not the table with changes: it would have to be copied.
    """
    if view == base:
        return tuple([] for _ in base.table.levels)
    if isinstance(view, WithEntry):
        return _put(view, base)
    if isinstance(view, OneOf):
        if isinstance(view.otherwise, NoEntries) and view.condition is base.present:
            return changes(view.then, base)  # where the key is absent, its map is empty
        return tuple(
            [_either(view.condition, a, b) for a, b in itertools.zip_longest(then, otherwise)]
            for then, otherwise in zip(changes(view.then, base), changes(view.otherwise, base), strict=True)
        )
    what = "the empty map" if isinstance(view, NoEntries) else "another map"
    raise Refused(f"{what} replaces one, which would have to be copied", hint="change one entry with put")


def _put(view: WithEntry, base: InTable) -> Levels:
    levels = changes(view.before, base)
    key = as_term(view.key, view.domain.key)
    if isinstance(view.value, MapView):
        inner = changes(view.value, InTable(base.table, (key,)))
        return _last(levels[0], EntryChange(TRUE, key, TRUE, None)), inner[1]
    value = as_term(view.value, view.domain.value)
    written = EntryChange(TRUE, (*base.prefix, key) if base.prefix else key, view.there, value)
    return (*levels[:-1], _last(levels[-1], written))


def _last(before: Sequence[EntryChange], change: EntryChange) -> list[EntryChange]:
    """Append a change, and drop the changes that it overwrites."""
    return [*(each for each in before if not same(each.key, change.key)), change]


def _either(condition: Term, a: EntryChange | None, b: EntryChange | None) -> EntryChange:
    """Return the change that is written in either of two cases."""
    if a is None or b is None:
        one = a or b
        assert one is not None
        return one._replace(happens=both(condition if b is None else negate(condition), one.happens))
    guard = ite(condition, as_term(a.happens, BOOL), as_term(b.happens, BOOL))
    value = None if a.value is None else choose_value(condition, a.value, b.value)
    return EntryChange(guard, choose_value(condition, a.key, b.key), choose_value(condition, a.there, b.there), value)


# --- sums -----------------------------------------------------------------------------------------------------


def total(view: MapView, name: str, measure: Addend) -> Any:
    """Return the sum over all entries of a measure, a named function from a value to a number."""
    base = root(view)
    if base is None:
        return const(0, INT)
    if base.prefix:
        raise Refused(f"'{name}' is applied to a map in a map", hint="store a number for each key beside it")
    base.table.totals[name] = measure
    new_total: Term = symbol(base.table, name)
    for change in changes(view, base)[0]:
        present, value = base.look(change.key)
        before, after = ite(present, measure(value), 0), ite(change.there, measure(change.value), 0)
        new_total = new_total + as_term(ite(change.happens, as_term(after, INT) - as_term(before, INT), 0), INT)
    return new_total


def symbol(table: MapTable, name: str) -> Any:
    """Return the variable that has a total before a step."""
    return var(f"{table.name}.{name}", INT)


def root(view: MapView) -> InTable | None:
    """Return the table from which a map derives by changes; None for the empty map."""
    while isinstance(view, WithEntry):
        view = view.before
    if isinstance(view, OneOf):
        return root(view.then) or root(view.otherwise)
    if not isinstance(view, InTable | NoEntries):
        raise Refused("a sum is taken over an input map that is changed")
    return view if isinstance(view, InTable) else None
