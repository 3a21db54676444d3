"""Domains: the sets of values a pipe carries.

The rule of this module: a value of a domain is a plain, hashable Python value (bool, int, str, float,
or a tuple of values for tuples and records). Finite domains are what a model can hold; `Integers`,
`Reals`, `Texts` and `Anything` are for running, and `resolve` replaces `Integers` by a finite domain when
a pipeline is checked (the paper's N, TIME 2021 section 3.1).

The value of a `Map` is an immutable mapping that shares what it can with those it is made from
(`immutables.Map`, a hash array mapped trie): an update costs O(log n), not a copy.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar

import immutables

from workbench.errors import DomainError

FrozenMap = immutables.Map
"""The type of the values of a `Map`."""

Value = Any
"""A plain Python value of some domain; the domain says which."""


class Overflowing(StrEnum):
    """What arithmetic does at the ends of a finite integer domain (design section 3, Numbers)."""

    MODULAR = "modular"
    SATURATING = "saturating"
    CHECKED = "checked"


@dataclass(frozen=True)
class Domain:
    """A set of values. Subclasses are frozen, compared by content, and printed as in `.pipe` files."""

    numeric: ClassVar[bool] = False
    """Whether values are integers with `+ - * div mod` and order."""

    @property
    def size(self) -> int | None:
        """Number of values; None when there are infinitely many."""
        return None

    @property
    def finite(self) -> bool:
        """Whether the domain has finitely many values."""
        return self.size is not None

    @property
    def reflexive(self) -> bool:
        """Whether each value equals itself. NaN does not."""
        return True

    @property
    def default(self) -> Value:
        """The value that unused storage holds in a model (its canonical content)."""
        raise NotImplementedError(type(self).__name__)

    def __contains__(self, value: Value) -> bool:
        raise NotImplementedError(type(self).__name__)

    def values(self) -> Iterator[Value]:
        """All values in their natural order; raises DomainError for an infinite domain."""
        raise DomainError(f"{self} has infinitely many values", hint="choose a finite domain, e.g. -N 4")

    def fit(self, value: Value) -> Value:
        """The value that arithmetic with this result leaves in the domain (identity by default)."""
        return value

    def check(self, value: Value) -> Value:
        """`value` unchanged; DomainError when it is not in the domain."""
        if value not in self:
            raise DomainError(f"{value!r} is not a value of {self}")
        return value


def _is_int(value: Value) -> bool:
    return type(value) is int or (isinstance(value, int) and not isinstance(value, bool))


@dataclass(frozen=True)
class Bool(Domain):
    """The two truth values, Python's `False` and `True`."""

    @property
    def size(self) -> int:
        return 2

    @property
    def default(self) -> bool:
        return False

    def __contains__(self, value: Value) -> bool:
        return isinstance(value, bool)

    def values(self) -> Iterator[bool]:
        return iter((False, True))

    def __str__(self) -> str:
        return "bool"


@dataclass(frozen=True)
class Range(Domain):
    """The integers lo..hi with *exact* arithmetic: `0..7` plus `0..7` is `0..14`."""

    lo: int
    hi: int

    def __post_init__(self) -> None:
        if self.lo > self.hi:
            raise DomainError(f"the range {self.lo}..{self.hi} is empty", hint=f"write {self.hi}..{self.lo}")

    @property
    def size(self) -> int:
        return self.hi - self.lo + 1

    numeric: ClassVar[bool] = True

    @property
    def default(self) -> int:
        return min(max(0, self.lo), self.hi)

    def __contains__(self, value: Value) -> bool:
        return _is_int(value) and self.lo <= value <= self.hi

    def values(self) -> Iterator[int]:
        return iter(range(self.lo, self.hi + 1))

    def __str__(self) -> str:
        return f"{self.lo}..{self.hi}"


@dataclass(frozen=True)
class Integer(Domain):
    """The integers 0..N-1, arithmetic staying inside: modulo N, saturating, or checked.

    `modular` is the paper's hypothesis (TIME 2021, section 3.1). In a `checked` domain leaving it is an
    error at run time and a sticky flag in the model (design section 3).
    """

    n: int
    overflow: Overflowing = Overflowing.MODULAR

    def __post_init__(self) -> None:
        object.__setattr__(self, "overflow", Overflowing(self.overflow))
        if self.n < 1:
            raise DomainError(f"integers 0..N-1 need N >= 1, not {self.n}")

    @property
    def lo(self) -> int:
        """The smallest value."""
        return 0

    @property
    def hi(self) -> int:
        """The largest value."""
        return self.n - 1

    @property
    def size(self) -> int:
        return self.n

    numeric: ClassVar[bool] = True

    @property
    def default(self) -> int:
        return 0

    def __contains__(self, value: Value) -> bool:
        return _is_int(value) and 0 <= value < self.n

    def values(self) -> Iterator[int]:
        return iter(range(self.n))

    def fit(self, value: Value) -> int:
        """Wrap or clamp an exact result.

        In a checked domain results are clamped too: a run ends, and the model sets its flag, before such a value
        is ever used.
        """
        if self.overflow is Overflowing.MODULAR:
            return int(value % self.n)
        return int(min(max(value, 0), self.n - 1))

    def __str__(self) -> str:
        words = {Overflowing.MODULAR: "mod", Overflowing.SATURATING: "sat", Overflowing.CHECKED: "checked"}
        return f"int {words[self.overflow]} {self.n}"


@dataclass(frozen=True)
class Integers(Domain):
    """All integers: the type `int` of a `.pipe` file before its domain is chosen, and when running.

    The two infinities are among them when running, because `max` and `min` start there; what is read from a log is not.
    """

    numeric: ClassVar[bool] = True

    @property
    def default(self) -> int:
        return 0

    def __contains__(self, value: Value) -> bool:
        return type(value) is int or _is_int(value) or (type(value) is float and abs(value) == math.inf)

    def __str__(self) -> str:
        return "int"


@dataclass(frozen=True)
class Reals(Domain):
    """Python floats (and integers among them); runs, and is refused by every finite model."""

    numeric: ClassVar[bool] = True

    @property
    def reflexive(self) -> bool:
        return False

    @property
    def default(self) -> float:
        return 0.0

    def __contains__(self, value: Value) -> bool:
        return type(value) is int or isinstance(value, float) or _is_int(value)

    def fit(self, value: Value) -> float:
        """The float that is closest."""
        return float(value)

    def __str__(self) -> str:
        return "float"


@dataclass(frozen=True)
class Texts(Domain):
    """Python strings; runs, and is refused by every finite model."""

    @property
    def default(self) -> str:
        return ""

    def __contains__(self, value: Value) -> bool:
        return isinstance(value, str)

    def __str__(self) -> str:
        return "str"


@dataclass(frozen=True)
class Anything(Domain):
    """Any Python object; runs, and is refused by every finite model."""

    numeric: ClassVar[bool] = True

    @property
    def reflexive(self) -> bool:
        return False

    @property
    def default(self) -> None:
        return None

    def __contains__(self, value: Value) -> bool:
        return True

    def __str__(self) -> str:
        return "any"


@dataclass(frozen=True)
class Enum(Domain):
    """A finite set of named constants, held as their names: `{red, green}`."""

    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        if not self.labels or len(set(self.labels)) != len(self.labels):
            raise DomainError(f"an enumeration needs distinct labels, not {self}")

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def default(self) -> str:
        return self.labels[0]

    def __contains__(self, value: Value) -> bool:
        return isinstance(value, str) and value in self.labels

    def values(self) -> Iterator[str]:
        return iter(self.labels)

    def __str__(self) -> str:
        return "{" + ", ".join(self.labels) + "}"


class Label(str):
    """A constant of an enumeration that knows which one, where nothing beside it says so."""

    domain: Enum

    @classmethod
    def of(cls, text: str, domain: Enum) -> Label:
        """The constant of this enumeration."""
        made = cls(text)
        made.domain = domain
        return made


MOST_SCALARS = 20_000
"""The most values in one event."""


@dataclass(frozen=True)
class Tuple(Domain):
    """Fixed-length tuples, one domain a field. A value is a Python tuple."""

    fields: tuple[Domain, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))
        count = sum(field.scalars if isinstance(field, Tuple) else 1 for field in self.fields)
        if count > MOST_SCALARS:  # every reader of a value goes through them
            raise DomainError(
                f"an event of {count} numbers, truth values and texts; it can hold {MOST_SCALARS}",
                hint="a tuple of tuples of tuples grows fast: keep on a pipe what is needed behind it",
            )
        object.__setattr__(self, "_scalars", count)

    @property
    def scalars(self) -> int:
        """How many values that are no tuples are in it, at any depth."""
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
        """A name per field: positions for tuples, the declared names for records."""
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


MOST_KEYS = 64
"""The most keys of a map in a model: each has a flag and a value of its own."""


@dataclass(frozen=True)
class Map(Domain):
    """Immutable maps from some of the values of `key` to values of `value`: `map(0..3, bool)`.

    It is finite where both are and there are at most `MOST_KEYS` keys. In a model it is then, per key, a flag
    that says whether the key is present, and the value, which is the default where it is not.
    """

    key: Domain
    value: Domain

    @cached_property
    def size(self) -> int | None:
        keys, values = self.key.size, self.value.size
        if keys is None or values is None or keys > MOST_KEYS:
            return None
        return int((values + 1) ** keys)

    @property
    def reflexive(self) -> bool:
        return self.key.reflexive and self.value.reflexive

    @property
    def default(self) -> FrozenMap[Value, Value]:
        return FrozenMap()

    def __contains__(self, value: Value) -> bool:
        return isinstance(value, FrozenMap) and all(k in self.key and v in self.value for k, v in value.items())

    def values(self) -> Iterator[FrozenMap[Value, Value]]:
        keys = tuple(self.key.values())
        for chosen in itertools.product((None, *((v,) for v in self.value.values())), repeat=len(keys)):
            yield FrozenMap({k: v[0] for k, v in zip(keys, chosen, strict=True) if v is not None})

    @cached_property
    def slots(self) -> tuple[tuple[Value, str], ...]:
        """The keys of a finite map and what each is called inside a model."""
        return tuple((key, _word(key, i)) for i, key in enumerate(self.key.values()))

    def shown(self, value: FrozenMap[Value, Value]) -> list[tuple[str, Value]]:
        """The keys of a map as texts, with their values, in an order that does not depend on how it was made."""
        keys = [key for key, _ in self.slots if key in value] if self.finite else sorted(value, key=_rank)
        return [(str(key).lower() if isinstance(key, bool) else str(key), value[key]) for key in keys]

    @cached_property
    def slot(self) -> Record:
        """What a model has for each key."""
        return Record((BOOL, self.value), ("present", "value"))

    @cached_property
    def change(self) -> Record:
        """What there is of a map that lies in a table: the entry that a step writes or takes away."""
        return Record((BOOL, self.key, self.value), ("present", "key", "value"))

    def __str__(self) -> str:
        return f"map({self.key}, {self.value})"


def _rank(key: Value) -> tuple[str, Value]:
    return type(key).__name__, key


def _word(key: Value, position: int) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, int):
        return str(key) if key >= 0 else f"minus{-key}"
    return key if isinstance(key, str) and key.isidentifier() else f"key{position}"


BOOL = Bool()
INT = Integers()
FLOAT = Reals()
STR = Texts()
ANY = Anything()


def outside(what: str, value: Value, domain: Domain, otherwise: str) -> DomainError:
    """The error about a constant that a domain does not have: the N that has it, or what to do `otherwise`."""
    needs = value + 1 if isinstance(domain, Integer) and _is_int(value) and value >= 0 else None
    return DomainError(what, hint=f"choose a larger domain, e.g. -N {needs}" if needs else otherwise, needs=needs)


def rewrite(domain: Domain, replace: Callable[[Domain], Domain]) -> Domain:
    """`domain` with `replace` applied to its scalar parts, innermost first."""
    if isinstance(domain, Record):
        return Record(tuple(rewrite(f, replace) for f in domain.fields), domain.labels)
    if isinstance(domain, Tuple):
        return Tuple(tuple(rewrite(f, replace) for f in domain.fields))
    if isinstance(domain, Map):
        return Map(rewrite(domain.key, replace), rewrite(domain.value, replace))
    return replace(domain)


def resolve(domain: Domain, integers: Domain) -> Domain:
    """`domain` with every unbounded `int` replaced by `integers` (choosing N)."""
    return rewrite(domain, lambda d: integers if isinstance(d, Integers) else d)
