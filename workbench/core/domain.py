"""Domains: the sets of values a pipe carries.

The rule of this module: a value of a domain is a plain, hashable Python value (bool, int, str, float; `core.fields`
has tuples, records and maps). Finite domains are what a model can hold; `Integers`, `Reals`, `Texts` and `Anything`
are for running.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar

from workbench.errors import DomainError, TypingError

Value = Any
"""A plain Python value of some domain; the domain says which."""


class Overflowing(StrEnum):
    """The behaviour of arithmetic at the ends of a finite integer domain."""

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

    def holds(self, values: Iterable[Value]) -> bool:
        """Whether all of these are values of the domain; each object is tested once."""
        return all(map(self.__contains__, {id(value): value for value in values}.values()))

    def values(self) -> Iterator[Value]:
        """Yield all values in their natural order; DomainError for an infinite domain."""
        raise DomainError(f"{self} has infinitely many values", hint="choose a finite domain, e.g. -N 4")

    def fit(self, value: Value) -> Value:
        """Return the value that arithmetic with this result has in the domain (identity by default)."""
        return value

    def check(self, value: Value) -> Value:
        """Return `value` unchanged; DomainError when it is not in the domain."""
        if value not in self:
            raise DomainError(f"{value!r} is not a value of {self}")
        return value


def _is_int(value: Value) -> bool:
    return type(value) is int or (isinstance(value, int) and not isinstance(value, bool))


@dataclass(frozen=True)
class Bool(Domain):
    """The two truth values, Python's `False` and `True`."""

    size: ClassVar[int] = 2
    default: ClassVar[bool] = False

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
    error at run time and a sticky flag in the model.
    """

    n: int
    overflow: Overflowing = Overflowing.MODULAR

    def __post_init__(self) -> None:
        object.__setattr__(self, "overflow", Overflowing(self.overflow))
        if self.n < 1:
            raise DomainError(f"integers 0..N-1 need N >= 1, not {self.n}")

    lo: ClassVar[int] = 0
    """The smallest value of the domain."""

    @property
    def hi(self) -> int:
        """The largest value of the domain."""
        return self.n - 1

    @property
    def size(self) -> int:
        return self.n

    numeric: ClassVar[bool] = True
    default: ClassVar[int] = 0

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

    When running, the two infinities are included, because `max` and `min` start there; values from a log are finite.
    """

    numeric: ClassVar[bool] = True
    default: ClassVar[int] = 0

    def __contains__(self, value: Value) -> bool:
        return type(value) is int or _is_int(value) or (type(value) is float and abs(value) == math.inf)

    def holds(self, values: Iterable[Value]) -> bool:
        return set(map(type, values)) <= {int} or super().holds(values)

    def __str__(self) -> str:
        return "int"


@dataclass(frozen=True)
class Reals(Domain):
    """Python floats (and integers); runs, and is refused by every finite model."""

    numeric: ClassVar[bool] = True
    reflexive: ClassVar[bool] = False
    default: ClassVar[float] = 0.0

    def __contains__(self, value: Value) -> bool:
        return type(value) is int or isinstance(value, float) or _is_int(value)

    def holds(self, values: Iterable[Value]) -> bool:
        return set(map(type, values)) <= {int, float} or super().holds(values)

    def fit(self, value: Value) -> float:
        """Return the closest float."""
        return float(value)

    def __str__(self) -> str:
        return "float"


@dataclass(frozen=True)
class Texts(Domain):
    """Python strings; runs, and is refused by every finite model."""

    default: ClassVar[str] = ""

    def __contains__(self, value: Value) -> bool:
        return isinstance(value, str)

    def __str__(self) -> str:
        return "str"


@dataclass(frozen=True)
class Anything(Domain):
    """Any Python object; runs, and is refused by every finite model."""

    numeric: ClassVar[bool] = True
    reflexive: ClassVar[bool] = False
    default: ClassVar[None] = None

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

    def holds(self, values: Iterable[Value]) -> bool:
        return (set(map(type, values)) <= {str} and set(values).issubset(self.labels)) or super().holds(values)

    def values(self) -> Iterator[str]:
        return iter(self.labels)

    def __str__(self) -> str:
        return "{" + ", ".join(self.labels) + "}"


@dataclass(frozen=True)
class Unknown(Enum):
    """A placeholder in a model for values that it does not have. They can be passed on, but not read."""

    labels: tuple[str, ...] = ("unknown",)

    def values(self) -> Iterator[str]:
        raise TypingError(LOOKED_AT, hint=LOOKS)

    def __str__(self) -> str:
        return "unknown"


@dataclass(frozen=True)
class SomeTexts(Enum):
    """The domain that replaces `str` in a model: these texts."""


NULL = "null"
"""The name of null on a pipe of a model of rules."""


@dataclass(frozen=True)
class SomeNumbers(Enum):
    """The domain of a pipe in a model of rules: numbers by their text, as they are far apart or fractions, and null."""

    @property
    def numbers(self) -> tuple[tuple[str, int | float], ...]:
        """The labels of numbers, each with its number; not that of null."""
        labels = [label for label in self.labels if label != NULL]
        return tuple((label, int(label) if label.lstrip("-").isdigit() else float(label)) for label in labels)


@dataclass(frozen=True)
class SomeFloats(Range):
    """The domain that replaces `float` in a model: the whole numbers lo..hi."""

    @staticmethod
    def number_for(domain: Domain, value: Value) -> Value:
        """Return the whole number that stands for a float in such a domain; other values as they are."""
        is_whole = isinstance(domain, SomeFloats) and isinstance(value, float) and value.is_integer()
        return int(value) if is_whole else value


@dataclass(frozen=True)
class ModelScope:
    """The domains that replace unbounded types in a model; by default each replaces itself."""

    integers: Domain = Integers()
    texts: Domain = Texts()
    floats: Domain = Reals()

    def of(self, domain: Domain) -> Domain:
        """Return the replacement of a scalar domain."""
        for kind, instead in ((Integers, self.integers), (Texts, self.texts), (Reals, self.floats)):
            if isinstance(domain, kind):
                return domain if type(instead) is kind else instead
        return domain


LOOKED_AT = "the model does not have a value that is read here"
LOOKS = "a model has the numbers, truth values and names that rules emit: no times, and nothing that may be null"


class Label(str):
    """A constant of an enumeration with its domain, for use where no context determines it."""

    domain: Enum

    @classmethod
    def of(cls, text: str, domain: Enum) -> Label:
        """Return the constant of this enumeration."""
        label = cls(text)
        label.domain = domain
        return label


BOOL = Bool()
INT = Integers()
FLOAT = Reals()
STR = Texts()
WORDS = (Integers, Reals, Texts)
"""The unbounded types whose values a compiled run holds in words of 64 bits."""
ANY = Anything()


def sort_key(value: Value | None) -> tuple[Any, ...]:
    """Return a sort key for values of one type: null comes first, NaN last."""
    return (0,) if value is None else (2,) if value != value else (1, value)


def outside(what: str, value: Value, domain: Domain, otherwise: str, more: int = 0) -> DomainError:
    """Return the error for a constant outside a domain; the hint is the N that has it (and `more`), or `otherwise`."""
    if not (isinstance(domain, Integer) and _is_int(value) and value >= 0):
        return DomainError(what, hint=otherwise)
    larger = replace(domain, n=value + 1 + more)
    hint = f"choose a larger domain: declare {larger} where the type is written, else -N {larger.n}"
    return DomainError(what, hint=hint, needs=value + 1)


def see_domain(domain: object, name: str) -> None:
    """Raise TypingError if the domain of this name is not one: a Python type, for example."""
    if not isinstance(domain, Domain):
        text = domain.__name__ if isinstance(domain, type) else repr(domain)
        instead = text.upper() if text in ("bool", "int", "float", "str") else "INT"
        raise TypingError(f"{name}={text} is not a domain", hint=f"write a domain: {name}=wb.{instead}")
