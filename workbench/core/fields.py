"""Domains whose values have parts (tuples, records and maps), and their parts, down to scalars.

The rule of this module: variables, wires and columns are made for scalars, in the order of `scalars`. `resolve`
replaces `Integers` by a finite domain when a pipeline is checked (the paper's N, TIME 2021 section 3.1).

The value of a `Map` is an immutable mapping that shares what it can with those it is made from
(`immutables.Map`, a hash array mapped trie): an update costs O(log n), not a copy.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import immutables

from workbench.core.domain import BOOL, Domain, ModelScope, Value
from workbench.errors import DomainError

FrozenMap = immutables.Map
"""The type of the values of a `Map`."""

MAX_SCALARS = 20_000
"""Maximum number of scalar values in one event."""


@dataclass(frozen=True)
class Tuple(Domain):
    """Fixed-length tuples, with one domain for each field. A value is a Python tuple."""

    fields: tuple[Domain, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))
        count = sum(field.scalars if isinstance(field, Tuple) else 1 for field in self.fields)
        if count > MAX_SCALARS:  # every reader of a value visits all of them
            raise DomainError(
                f"an event of {count} numbers, truth values and texts; it can hold {MAX_SCALARS}",
                hint="a tuple of tuples of tuples grows fast: carry only what later processors need",
            )
        object.__setattr__(self, "_scalars", count)

    @property
    def scalars(self) -> int:
        """The number of scalar values in it, at any depth."""
        return self.__dict__["_scalars"]  # type: ignore[no-any-return]

    @property
    def size(self) -> int | None:
        total = 1
        for field in self.fields:
            if field.size is None:
                return None
            total *= field.size
        return total

    @property
    def reflexive(self) -> bool:
        return all(field.reflexive for field in self.fields)

    @property
    def default(self) -> tuple[Value, ...]:
        return tuple(field.default for field in self.fields)

    def __contains__(self, value: Value) -> bool:
        return (
            isinstance(value, tuple)
            and len(value) == len(self.fields)
            and all(map(operator.contains, self.fields, value))
        )

    def values(self) -> Iterator[tuple[Value, ...]]:
        return itertools.product(*(field.values() for field in self.fields))

    def names(self) -> tuple[str, ...]:
        """Return a name for each field: positions for tuples, the declared names for records."""
        return tuple(str(i) for i in range(len(self.fields)))

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.fields)) + ("," if len(self.fields) == 1 else "") + ")"


@dataclass(frozen=True)
class Record(Tuple):
    """Tuples with named fields: `{price: 0..9, sold: bool}`. A value is a Python tuple in field order."""

    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "labels", tuple(self.labels))
        if len(self.labels) != len(self.fields) or len(set(self.labels)) != len(self.labels):
            raise DomainError(f"a record needs one distinct name per field, not {self.labels}")

    def names(self) -> tuple[str, ...]:
        return self.labels

    def __str__(self) -> str:
        return "{" + ", ".join(f"{n}: {f}" for n, f in zip(self.labels, self.fields, strict=True)) + "}"


@dataclass(frozen=True)
class IndexedTuple(Tuple):
    """Values of one kind that a computed index reads, counted from `first`: `array(0..7, bool)`. A value is a tuple."""

    first: int = 0

    @classmethod
    def of(cls, first: int, last: int, element: Domain) -> IndexedTuple:
        """Return the arrays with these indices."""
        return cls((element,) * (last - first + 1), first)

    def names(self) -> tuple[str, ...]:
        return tuple(_word(self.first + i, i) for i in range(len(self.fields)))

    def __str__(self) -> str:
        return f"array({self.first}..{self.first + len(self.fields) - 1}, {self.fields[0]})"


MAX_KEYS = 64
"""Maximum number of keys of a map in a model: each has a flag and a value of its own."""


@dataclass(frozen=True)
class Map(Domain):
    """Immutable maps from some of the values of `key` to values of `value`: `map(0..3, bool)`.

    It is finite where both are and there are at most `MAX_KEYS` keys. In a model it then has, for each key, a flag
    for the presence of the key, and the value, which is the default for an absent key.
    """

    key: Domain
    value: Domain

    @cached_property
    def size(self) -> int | None:
        keys, values = self.key.size, self.value.size
        if keys is None or values is None or keys > MAX_KEYS:
            return None
        return int((values + 1) ** keys)

    @property
    def reflexive(self) -> bool:
        return self.key.reflexive and self.value.reflexive

    @property
    def default(self) -> FrozenMap[Value, Value]:
        return FrozenMap()

    def __contains__(self, value: Value) -> bool:
        return isinstance(value, FrozenMap) and self.key.holds(value) and self.value.holds(value.values())

    def values(self) -> Iterator[FrozenMap[Value, Value]]:
        keys = tuple(self.key.values())
        for entries in itertools.product((None, *((v,) for v in self.value.values())), repeat=len(keys)):
            yield FrozenMap({k: v[0] for k, v in zip(keys, entries, strict=True) if v is not None})

    @cached_property
    def slots(self) -> tuple[tuple[Value, str], ...]:
        """The keys of a finite map and their names inside a model."""
        return tuple((key, _word(key, i)) for i, key in enumerate(self.key.values()))

    def sort_keys(self, value: FrozenMap[Value, Value]) -> list[Value]:
        """Return the keys of a map, in an order that does not depend on its construction."""
        if self.finite:
            return [key for key, _ in self.slots if key in value]
        return sorted(value, key=lambda key: (type(key).__name__, key))

    def list_text_items(self, value: FrozenMap[Value, Value]) -> list[tuple[str, Value]]:
        """Return the keys of a map as texts, with their values, in that order."""
        return [(str(key).lower() if isinstance(key, bool) else str(key), value[key]) for key in self.sort_keys(value)]

    @cached_property
    def slot(self) -> Record:
        """The entry of each key in a model."""
        return Record((BOOL, self.value), ("present", "value"))

    @cached_property
    def change(self) -> Record:
        """The entry of a map in a table that a step writes or removes."""
        return Record((BOOL, self.key, self.value), ("present", "key", "value"))

    def __str__(self) -> str:
        return f"map({self.key}, {self.value})"


@dataclass(frozen=True)
class Nullable(Domain):
    """The values of a domain, and null, which is Python's None: `int?`. It runs, and models do not support it.

    It is for fields of records: a null on a pipe is an event, but a null in a log means that there is no event.
    """

    of: Domain

    @property
    def reflexive(self) -> bool:
        return self.of.reflexive

    @property
    def default(self) -> None:
        return None

    def __contains__(self, value: Value) -> bool:
        return value is None or value in self.of

    def fit(self, value: Value) -> Value:
        return None if value is None else fit_value(self.of, value)

    def __str__(self) -> str:
        return f"{self.of}?"


def without_null(domain: Domain) -> Domain:
    """Return the domain without null."""
    return domain.of if isinstance(domain, Nullable) else domain


def _word(key: Value, position: int) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, int):
        return str(key) if key >= 0 else f"minus{-key}"
    return key if isinstance(key, str) and key.isidentifier() else f"key{position}"


def rewrite(domain: Domain, replace: Callable[[Domain], Domain]) -> Domain:
    """Return `domain` with `replace` applied to its scalar parts, innermost first."""
    if isinstance(domain, Record):
        return Record(tuple(rewrite(f, replace) for f in domain.fields), domain.labels)
    if isinstance(domain, IndexedTuple):
        return IndexedTuple(tuple(rewrite(f, replace) for f in domain.fields), domain.first)
    if isinstance(domain, Tuple):
        return Tuple(tuple(rewrite(f, replace) for f in domain.fields))
    if isinstance(domain, Map):
        return Map(rewrite(domain.key, replace), rewrite(domain.value, replace))
    if isinstance(domain, Nullable):
        return Nullable(rewrite(domain.of, replace))
    return replace(domain)


def resolve(domain: Domain, over: Domain | ModelScope) -> Domain:
    """Return `domain` with its unbounded types replaced; a domain alone replaces `int` (choosing N)."""
    return rewrite(domain, (over if isinstance(over, ModelScope) else ModelScope(over)).of)


def parts(domain: Domain) -> tuple[tuple[str, Domain], ...]:
    """Return the parts of a value of the domain in a model, with their names; none for a scalar."""
    if isinstance(domain, Tuple):
        return tuple(zip(domain.names(), domain.fields, strict=True))
    if isinstance(domain, Map) and domain.finite:
        return tuple((name, domain.slot) for _, name in domain.slots)
    return ()


def within(domain: Domain) -> Iterator[Domain]:
    """Yield the domain and all its parts, keys and values of maps included."""
    yield domain
    inside = (domain.key, domain.value) if isinstance(domain, Map) else getattr(domain, "fields", ())
    inside = (domain.of,) if isinstance(domain, Nullable) else inside
    for part in inside:
        yield from within(part)


def scalars(domain: Domain) -> tuple[tuple[tuple[str, ...], Domain], ...]:
    """Return the scalar parts of a domain with the path of field names that leads to each."""
    inside = parts(domain)
    if inside or isinstance(domain, Tuple):
        return tuple(((name, *path), part) for name, field in inside for path, part in scalars(field))
    return (((), domain),)


def split(domain: Domain, value: Value) -> Iterator[Value]:
    """Yield the values of the scalar parts of a value, in the order of `scalars`."""
    if isinstance(domain, Tuple):
        for field, item in zip(domain.fields, value, strict=True):
            yield from split(field, item)
    elif isinstance(domain, Map) and domain.finite:
        for key, _ in domain.slots:
            yield key in value
            yield from split(domain.value, value.get(key, domain.value.default))
    else:
        yield value


def fit_value(domain: Domain, value: Value) -> Value:
    """Return a value as arithmetic in its domain leaves it: a whole number of type float becomes a float."""
    return join_parts(
        domain, (part.fit(leaf) for (_, part), leaf in zip(scalars(domain), split(domain, value), strict=True))
    )


def join_parts(domain: Domain, flat: Iterator[Value]) -> Value:
    """Build a value of a domain from its scalar parts, which come next in `flat`: the inverse of `split`."""
    if isinstance(domain, Tuple):
        return tuple(join_parts(field, flat) for field in domain.fields)
    if isinstance(domain, Map) and domain.finite:
        entries = [(key, join_parts(domain.slot, flat)) for key, _ in domain.slots]
        return FrozenMap({key: value for key, (present, value) in entries if present})
    return next(flat)
