"""Terms: typed, immutable, shared expressions.

One type serves every consumer; printers, evaluators and analyses are folds over it (`core.fold`). Equal
terms are one object, so identity is equality and a fold's memo is a plain dictionary. A constant's key
has its type and its sign, because Python's `True == 1` and `0.0 == -0.0` would otherwise merge them. Equal terms
have the same value, which need not equal itself: it may be NaN.

Terms are compared with `is` and `same`: `==` on terms is an operator of the language, and builds a term.

Values of tuple and record domains are never terms: they are Python tuples (`Parts`) whose leaves are terms. A value of
a finite map is such a tuple too, `Entries`, with a flag and a value for each key. One of a map that is not finite is a
term, or, for a map in a table, a `Change`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

from workbench.core.domain import BOOL, Domain, Label, Reals, Value
from workbench.core.fields import IndexedTuple, Map, Record, Tuple, join_parts, parts, scalars, split
from workbench.errors import Refused, TypingError, WorkbenchError

if TYPE_CHECKING:
    from workbench.core.ops import Operator


OVERLOADS: dict[str, Callable[..., Any]] = {}
"""The meaning of Python's operators on terms and streams, by sign; `core.ops` and `core.function` fill it."""


O = TypeVar("O", bound="Overloaded")


def overload(sign: str) -> tuple[Callable[[O, Any], O], Callable[[O, Any], O]]:
    """Return the methods of an operator for its left and its right operand."""
    return lambda self, other: OVERLOADS[sign](self, other), lambda self, other: OVERLOADS[sign](other, self)


def overload_unary(sign: str) -> Callable[[O], O]:
    """Return the method of an operator on one operand."""
    return lambda self: OVERLOADS[sign](self)


def refuse(what: str, hint: str, otherwise: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return a method that refuses a use of Python on symbols; `otherwise` is used on values."""

    def method(self: Any, *args: object) -> Any:
        if otherwise is not None and not is_symbolic(self):
            return otherwise(self, *args)
        raise self.error(f"{self!r} {what}", hint=hint)

    return method


class Overloaded:
    """The base class of terms and streams: Python's operators on them."""

    __slots__ = ()

    error: ClassVar[type[WorkbenchError]] = TypingError
    """The class of the error for a refused use."""
    __array_ufunc__ = None  # numpy's scalars and arrays leave their operators to this class

    __add__, __radd__ = overload("+")
    __sub__, __rsub__ = overload("-")
    __mul__, __rmul__ = overload("*")
    __floordiv__, __rfloordiv__ = overload("//")
    __mod__, __rmod__ = overload("%")
    __lt__, __le__ = overload("<")[0], overload("<=")[0]
    __gt__, __ge__ = overload(">")[0], overload(">=")[0]
    __eq__, __ne__ = overload("=")[0], overload("!=")[0]  # type: ignore[assignment]
    __hash__ = object.__hash__
    __and__, __rand__ = overload("&")
    __or__, __ror__ = overload("|")
    __xor__, __rxor__ = overload("^")
    __truediv__, __rtruediv__ = overload("/")
    __pow__ = __rpow__ = refuse("has no power", "write x * x for x ** 2, or wb.functions.pow(x, 2), which is a float")
    __divmod__, __rdivmod__ = overload("divmod")
    __invert__, __neg__ = overload_unary("~"), overload_unary("neg")
    __abs__, __pos__ = overload_unary("abs"), overload_unary("pos")


TRUTH = (
    "write & for and, | for or, wb.functions.NOT(a) for not, (a < b) & (b < c) for a < b < c, "
    "wb.functions.ite(c, a, b) for if, "
    "wb.functions.MAX(a, b) and wb.functions.MIN(a, b) for max and min"
)
"""The advice where Python would need the truth of a term."""


class Term(Overloaded):
    """An expression over a domain. Build with `const`, `var` and the functions of `core.ops`."""

    __slots__ = ("__weakref__", "args", "domain", "op", "payload")

    op: Operator | None
    """None for constants and variables."""
    args: tuple[Term, ...]
    domain: Domain
    payload: Value
    """The value of a constant, the name of a variable, else None."""

    @property
    def is_const(self) -> bool:
        """Whether this is a constant."""
        return self.op is None and not isinstance(self.payload, Name)

    @property
    def is_var(self) -> bool:
        """Whether this is a variable."""
        return isinstance(self.payload, Name)

    @property
    def name(self) -> str:
        """The variable's name."""
        return str(self.payload)

    def __repr__(self) -> str:
        if self.op is None:
            return str(self.payload)
        return f"{self.op.name}({', '.join(map(repr, self.args))})"

    error = Refused
    __bool__ = refuse("is a symbolic term, whose truth is not known", TRUTH)
    __iter__ = __len__ = __getitem__ = __contains__ = refuse(
        "is a symbolic term, which has no items",
        "of a map: wb.functions.GET(m, key, default), wb.functions.HAS(m, key), wb.functions.SIZE(m)",
    )
    __int__ = __float__ = __index__ = __complex__ = __round__ = __trunc__ = refuse(
        "is a symbolic term, whose number is not known",
        "compute with it: + - * / // %, wb.functions.ite(c, a, b), wb.functions.MAX(a, b)",
    )


class Name(str):
    """A variable's name; a type of its own so that no text constant is taken for a variable."""

    __slots__ = ()


_NO_OPERATORS = "is a symbolic value of several parts", "apply operators to its parts: `a[0]`; == and != compare all"


class Parts(tuple[Any, ...]):
    """A symbolic value of several parts. `==` and `!=` build terms; Python's other operators on tuples are refused."""

    error = Refused
    domain: Domain

    @classmethod
    def of(cls, domain: Domain, items: Iterable[Any], **more: Any) -> Self:
        """Build the parts of a value of a domain, in its order, with further attributes."""
        instance = cls(items)
        vars(instance).update(more, domain=domain)
        return instance

    def __eq__(self, other: object) -> Any:
        equality = OVERLOADS["equal"](self, other)
        return equality.payload if isinstance(equality, Term) and equality.is_const else equality

    def __ne__(self, other: object) -> Any:
        return OVERLOADS["~"](self == other)

    def __radd__(self, other: Any) -> Any:  # a list is extended by the parts
        return NotImplemented if isinstance(other, list) or not is_symbolic(self) else self + other

    __hash__ = tuple.__hash__
    __bool__ = refuse("is a symbolic value, whose truth is not known", TRUTH, lambda self: len(self) > 0)
    __add__, __mul__, __rmul__, __lt__, __le__, __gt__, __ge__ = (
        refuse(*_NO_OPERATORS, getattr(tuple, f"__{name}__")) for name in "add mul rmul lt le gt ge".split()
    )


class Fields(Parts):
    """A symbolic value of a record, with the names of its fields."""

    domain: Record


class Items(Parts):
    """A symbolic value of an array."""

    domain: IndexedTuple


class Entries(Parts):
    """A symbolic value of a finite map: for each key whether it is present, and its value."""

    domain: Map

    def items(self) -> Iterator[tuple[Value, tuple[Any, Any]]]:
        """Return pairs of each key and its flag and value."""
        return zip((key for key, _ in self.domain.slots), self, strict=True)


class Others(NamedTuple):
    """The effect of a step on many rows of a table: terms over the number of a row (`memory.ROW`).

    Attributes
    ----------
    happens: whether there is an effect; does not depend on the row.
    which: whether a used row is affected.
    value: the value of a row.
    used, keys: the arrays of the table for the used rows and their keys.
    """

    happens: Term
    which: Term
    value: Any
    used: Term
    keys: Term


class Content(NamedTuple):
    """The access to a map in a table.

    Attributes
    ----------
    look: returns whether a key is present, and its value.
    total: returns the sum of a measure, a function from a value to a number, over all entries; the measure has a name.
    columns: arrays of the table: whether a row is used, whether its key is present, the key, the parts of the value.
    others: further changes of a step, as in `Change`, if it can change several entries.
    """

    look: Callable[[Any], tuple[Any, Any]]
    total: Callable[[str, Callable[[Any], Any]], Any]
    columns: tuple[Term, ...]
    others: Others | None


class Change(Parts):
    """A symbolic value of a map in a table: an entry after a step, `(present, key, value)`.

    If the step changes one entry, it is that one. The map is meant at the end of its step and at no other time, so it
    cannot be stored.
    """

    domain: Map
    content: Content


def is_view(value: Any) -> bool:
    """Whether a map is not represented by variables: one in a table, or key by key with values of infinite types."""
    return isinstance(value, Change) or (isinstance(value, Entries) and not value.domain.finite)


def has_view(value: Any) -> bool:
    """Whether a value contains such a map."""
    return is_view(value) or (isinstance(value, tuple) and any(map(has_view, value)))


def like(shape: tuple[Any, ...], items: Iterable[Any]) -> tuple[Any, ...]:
    """Return a tuple of these items; the value of a record or a map if `shape` is one."""
    if not isinstance(shape, Parts):
        return tuple(items)
    instance = type(shape)(items)
    vars(instance).update(vars(shape))
    return instance


_table: weakref.WeakValueDictionary[tuple[Any, ...], Term] = weakref.WeakValueDictionary()


def _exactly(value: Value) -> Any:
    """Return a key of a constant that distinguishes -0.0 from 0.0 and True from 1, and in which NaN equals itself."""
    if type(value) is float:
        return value.hex()
    return tuple((type(item), _exactly(item)) for item in value) if type(value) is tuple else value


def exactly(value: Value | None) -> Any:
    """Return a key that distinguishes values by type, and -0.0 from 0.0, and in which NaN equals itself."""
    return type(value), _exactly(value)


def intern(op: Operator | None, args: tuple[Term, ...], domain: Domain, payload: Value = None) -> Term:
    """Return the one term with this content. Does not simplify: use the functions of `core.ops`."""
    key = (op, args, domain, type(payload), payload if op is not None else _exactly(payload))
    entry = _table.get(key)
    if entry is not None:
        return entry
    term = object.__new__(Term)
    term.op, term.args, term.domain, term.payload = op, args, domain, payload
    _table[key] = term
    return term


def python_value(value: Any) -> Any:
    """Convert numpy scalars in a constant to Python values; TypingError for a mutable value."""
    try:
        hash(value)
    except TypeError as error:
        hint = "give one stream, or one constant, for each argument: no list, no array"
        raise TypingError(f"{value!r} is neither a stream nor a constant", hint=hint) from error
    if type(value) is tuple:
        return tuple(map(python_value, value))
    return value.item() if hasattr(type(value), "dtype") and value.dtype.kind in "biufU" else value


def const(value: Value, domain: Domain) -> Any:
    """Return a constant of a domain (a tuple of constants for tuples); DomainError when it is not in it."""
    value = domain.check(python_value(value))
    if parts(domain) or isinstance(domain, Tuple):
        pairs = zip(scalars(domain), split(domain, value), strict=True)
        return whole(domain, (_scalar(part, item) for (_, part), item in pairs))
    return _scalar(domain, value)


def _scalar(domain: Domain, value: Value) -> Term:
    """Return a constant with the one Python type of its domain, so that equal constants are one term."""
    if isinstance(domain, Reals):
        return intern(None, (), domain, float(value))
    return intern(None, (), domain, str(value) if isinstance(value, Label) else value)


def var(name: str, domain: Domain) -> Any:
    """Return a variable of a domain; for tuples and records a tuple of variables `name.field`."""
    if parts(domain) or isinstance(domain, Tuple):
        return whole(domain, (intern(None, (), d, Name(".".join((name, *path)))) for path, d in scalars(domain)))
    return intern(None, (), domain, Name(name))


def whole(domain: Domain, flat: Iterator[Term]) -> Any:
    """Return the symbolic value of a domain whose scalar parts come next in `flat`."""
    if isinstance(domain, Map) and domain.finite:
        return Entries.of(domain, [whole(domain.slot, flat) for _ in domain.slots])
    if isinstance(domain, Tuple):
        kind = Fields if isinstance(domain, Record) else Items if isinstance(domain, IndexedTuple) else Parts
        return kind.of(domain, [whole(field, flat) for field in domain.fields])
    return next(flat)


def concrete(shape: Any, flat: Iterator[Value]) -> Value:
    """Return the plain value in the shape of a symbolic one; the values of its scalar parts come next in `flat`."""
    if isinstance(shape, Entries):
        return join_parts(shape.domain, flat)
    return tuple(concrete(part, flat) for part in shape) if isinstance(shape, tuple) else next(flat)


TRUE = intern(None, (), BOOL, True)
FALSE = intern(None, (), BOOL, False)


def leaves(value: Any) -> Iterator[Any]:
    """Yield the scalar leaves of a value, left to right (a scalar is its own leaf)."""
    if isinstance(value, tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def is_symbolic(value: Any) -> bool:
    """Whether any leaf is a term."""
    if isinstance(value, tuple):
        for item in value:  # noqa: SIM110  a generator costs more, and every event that is a tuple comes here
            if isinstance(item, Term) or (isinstance(item, tuple) and is_symbolic(item)):
                return True
        return False
    return isinstance(value, Term)


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same: terms by identity (`==` builds a term), plain values by `==`."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        return isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    return a is b if isinstance(a, Term) or isinstance(b, Term) else bool(a == b)


def domain_of(value: Any) -> Domain:
    """Return the domain of a symbolic value."""
    if isinstance(value, Entries | Change):
        return value.domain
    if isinstance(value, Fields):
        return Record(tuple(map(domain_of, value)), value.domain.labels)
    if isinstance(value, Items):
        return IndexedTuple(tuple(map(domain_of, value)), value.domain.first)
    if isinstance(value, tuple):
        return Tuple(tuple(map(domain_of, value)))
    if isinstance(value, Term):
        return value.domain
    raise TypingError(f"{value!r} is not a symbolic value")


def remove_names(domain: Domain) -> Domain:
    """Return `domain` with records turned into tuples: the set of its values, whatever the names of their parts."""
    if isinstance(domain, Record | Tuple):
        return Tuple(tuple(remove_names(f) for f in domain.fields))
    if isinstance(domain, Map):
        return Map(remove_names(domain.key), remove_names(domain.value))
    return domain
