"""Conversion of the types of the language into domains of the core."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from workbench.core.domain import ANY, BOOL, FLOAT, INT, STR, Domain, Enum, Integer, Label, Overflowing, Range
from workbench.core.fields import IndexedTuple, Map, Nullable, Record, Tuple, within
from workbench.core.types import FOREIGN_TYPES
from workbench.errors import did_you_mean
from workbench.language import syntax as s
from workbench.language.evaluate import at

PLAIN: dict[str, Domain] = {"bool": BOOL, "int": INT, "float": FLOAT, "str": STR, "any": ANY}
"""The types that are one word."""

_KINDS = {"mod": Overflowing.MODULAR, "sat": Overflowing.SATURATING, "checked": Overflowing.CHECKED}
_COMPOSED = "types are int mod 5, 0..7, {red, green}, (int, bool), {price: int}, map(int, bool), int?"
EXAMPLES = f"{_COMPOSED}, {', '.join(PLAIN)}"


def domain(e: s.Expression, constant: Callable[[s.Expression], object], *, arrays: bool = False) -> Domain:
    """Return the domain of a type, which may be one of arrays; `constant` computes its bounds."""

    def bound(b: s.Expression) -> int:
        value = constant(b)
        if not isinstance(value, int) or isinstance(value, bool):
            what = f"the bound '{b}' of a type is not a whole number"
            raise b.error(what, "write a number, or compute one from parameters: 0..2 * k - 1")
        return value

    def inner(t: s.Expression) -> Domain:
        return domain(t, constant)

    with at(e.where):
        if isinstance(e, s.Operation):
            e = _modular(e) or e
        if isinstance(e, s.Identifier):
            return _plain(e, ", array(0..7, int)" if arrays else "")
        if isinstance(e, s.FiniteType):
            return _finite(e, bound(e.bound))
        if isinstance(e, s.RangeType):
            return Range(bound(e.lo), bound(e.hi))
        if isinstance(e, s.EnumType):
            return Enum(e.labels)
        if isinstance(e, s.RecordType):
            return Record(tuple(inner(p.type) for p in e.ports), tuple(p.name or "" for p in e.ports))
        if isinstance(e, s.Call) and e.name == "map" and len(e.arguments) == 2:
            return Map(*map(inner, e.arguments))
        if isinstance(e, s.MapType) and e.base == "array":
            indices = inner(e.key)
            if not arrays:
                raise e.error("only variables of machines are arrays", f"write var NAME: {e} = 0 in a machine")
            if not isinstance(indices, Range):
                raise e.key.error(
                    f"the indices of an array are a range, not {indices}", f"write array(0..7, {e.value})"
                )
            return IndexedTuple.of(indices.lo, indices.hi, inner(e.value))
        if isinstance(e, s.MapType):
            if e.base != "map":
                hint = f"write map({e.key}, {e.value})" if is_type(e.key) else EXAMPLES
                raise e.error(f"'{e}' is not a type", hint)
            return Map(inner(e.key), inner(e.value))
        if isinstance(e, s.NullableType):
            return Nullable(inner(e.of))
        if isinstance(e, s.TupleOf):
            return Tuple(tuple(map(inner, e.items)))
    raise e.error(f"'{e}' is not a type", EXAMPLES)


def is_type(e: s.Expression) -> bool:
    """Whether an argument can only be a type."""
    if isinstance(e, s.Identifier):
        return e.name in PLAIN
    if isinstance(e, s.Operation):
        return _modular(e) is not None
    if isinstance(e, s.TupleOf | s.RecordType):
        return any(map(is_type, e.parts))
    if isinstance(e, s.Call):
        return e.name == "map" and len(e.arguments) == 2 and all(map(is_type, e.arguments))
    return isinstance(e, s.FiniteType | s.RangeType | s.EnumType | s.NullableType)


def enumerations(e: s.Expression) -> list[Enum]:
    """Return the enumerations in a type, or in the types of an expression."""
    enums: list[Enum] = []
    for part in s.walk(e):
        if isinstance(part, s.EnumType):
            with at(part.where):
                enums.append(Enum(part.labels))
    return enums


def constants(*groups: Iterable[Enum]) -> dict[str, str]:
    """Return the meanings of the labels of enumerations; the first group that has a label decides.

    A label of exactly one enumeration of the group is its constant. A label of several is a plain text: it takes the
    enumeration of the other operand.
    """
    meanings: dict[str, str] = {}
    for group in groups:
        having: dict[str, list[Enum]] = {}
        for kind in dict.fromkeys(group):
            for label in kind.labels:
                having.setdefault(label, []).append(kind)
        for label, kinds in having.items():
            meanings.setdefault(label, Label.of(label, kinds[0]) if len(kinds) == 1 else label)
    return meanings


def labels_within(domains: Iterable[Domain]) -> dict[str, str]:
    """Return the meanings of the labels of domains and of their parts."""
    return constants(part for domain in domains for part in within(domain) if isinstance(part, Enum))


def _modular(e: s.Operation) -> s.FiniteType | None:
    """Return the type `int mod n + 1` that an argument of a call reads as the sum `(int mod n) + 1`."""
    first, *rest = e.operands
    if e.operator == "mod" and isinstance(first, s.Identifier) and first.name == "int":
        return s.FiniteType(first.name, "mod", rest[0], where=first.where)
    inner = _modular(first) if isinstance(first, s.Operation) else None
    return inner and replace(inner, bound=replace(e, operands=(inner.bound, *rest)))


def _plain(e: s.Identifier, more: str) -> Domain:
    if e.name not in PLAIN:
        hint = FOREIGN_TYPES.get(e.name) or did_you_mean(e.name, PLAIN, f"{_COMPOSED}{more}, ")
        raise e.error(f"there is no type '{e.name}'", hint)
    return PLAIN[e.name]


def _finite(e: s.FiniteType, n: int) -> Domain:
    if e.base != "int":
        raise e.error(f"'{e}' is not a type", f"write int {e.kind} {e.bound}")
    return Integer(n, _KINDS[e.kind])
