"""Functions on maps, for plain values and for terms.

The rule of this module: a map over a finite domain is a flag and a value for each key in a model (`term.Entries`), and
a function on it is written out over the keys. A map that is not finite is a scalar term that only runs. Of a map in a
table only the change of a step is a term (`term.Change`), and totals over all its entries are maintained.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from workbench.core.domain import BOOL, FLOAT, INT, Bool, Domain, Range, Reals, Value
from workbench.core.fields import FrozenMap, Map, Tuple
from workbench.core.fold import postorder, substitute
from workbench.core.ops import ADD, GT, Operator, as_term, both, conjunction, disjunction, either, equal, ite, negate
from workbench.core.term import FALSE, Change, Entries, Name, Term, const, intern, is_symbolic, leaves, var, whole
from workbench.core.typing_rules import unify
from workbench.errors import Refused, TypingError


def _map_of(op: Operator, term: Term) -> Map:
    if not isinstance(term.domain, Map):
        raise TypingError(f"'{op.symbol}' needs a map, not values of {term.domain}")
    return term.domain


def _scalar(op: Operator, domain: Domain) -> Domain:
    if isinstance(domain, Tuple | Map):
        raise TypingError(
            f"'{op.symbol}' on a map of {domain} works over finite domains only",
            hint="let the map have scalar values, or use a Python function (user_function)",
        )
    return domain


def _got(op: Operator, args: tuple[Term, ...]) -> Domain:
    domain = _map_of(op, args[0])
    unify(f"'{op.symbol}'", domain.key, args[1].domain)
    return unify(f"'{op.symbol}'", domain.value, args[2].domain)


def _has(op: Operator, args: tuple[Term, ...]) -> Domain:
    unify(f"'{op.symbol}'", _map_of(op, args[0]).key, args[1].domain)
    return BOOL


def _size(op: Operator, args: tuple[Term, ...]) -> Domain:
    _map_of(op, args[0])
    return INT


def _truth(op: Operator, args: tuple[Term, ...]) -> Domain:
    domain = _map_of(op, args[0]).value
    if not isinstance(domain, Bool):
        raise TypingError(f"'{op.symbol}' needs a map of bool, not of {domain}")
    return BOOL


def _total(op: Operator, args: tuple[Term, ...]) -> Domain:
    """Return the domain of a sum before its conversion to that of the values."""
    return FLOAT if isinstance(_sum_domain(op, args), Reals) else INT


def _sum_domain(op: Operator, args: tuple[Term, ...]) -> Domain:
    """Return the domain of a sum."""
    domain = _scalar(op, _map_of(op, args[0]).value)
    if not domain.numeric:
        raise TypingError(f"'{op.symbol}' needs a map of numbers, not of {domain}")
    return INT if isinstance(domain, Range) else domain


def _check_map_type(op: Operator, args: tuple[Term, ...]) -> Domain:
    """Return the domain of the map; TypingError if a new key or value is not of the map's domains."""
    domain = _map_of(op, args[0])
    for own, arg in zip((domain.key, domain.value), args[1:], strict=False):
        _check_contained(op, own, arg.domain)
    return domain


def _check_contained(op: Operator, own: Domain, arg_domain: Domain) -> None:
    """Check that values of a domain are values of a map's keys or values."""
    if unify(f"'{op.symbol}'", own, arg_domain) != own:
        raise TypingError(
            f"'{op.symbol}' stores values of {arg_domain} in a map of {own}",
            hint="ranges are exact; use 'int mod N' or 'int' where arithmetic must stay in the domain",
        )


_PUT = Operator("map_put", 3, "put", _check_map_type, lambda m, k, v: m.set(k, v), "{0}.set({1}, {2})")
_REMOVE = Operator(
    "map_remove", 2, "remove", _check_map_type, lambda m, k: m.delete(k) if k in m else m,
    "({0}.delete({1}) if {1} in {0} else {0})",
)  # fmt: skip
_GET = Operator("map_get", 3, "get", _got, lambda m, k, d: m.get(k, d), "{0}.get({1}, {2})")
_HAS = Operator("map_has", 2, "has", _has, lambda m, k: k in m, "({1} in {0})")
_SIZE = Operator("map_size", 1, "size", _size, len, "len({0})")
_ALL = Operator("map_all", 1, "all_values", _truth, lambda m: all(m.values()), "all({0}.values())")
_ANY = Operator("map_any", 1, "any_value", _truth, lambda m: any(m.values()), "any({0}.values())")
_SUM = Operator("map_sum", 1, "sum_values", _total, lambda m: sum(m.values()), "sum({0}.values())")


def _is_expanded(op: Operator, m: Any) -> bool:
    """Whether a map is represented key by key; TypingError for a value that is not a map."""
    if isinstance(m, Term):
        _map_of(op, m)
    elif not isinstance(m, Entries | FrozenMap):
        raise TypingError(f"'{op.symbol}' needs a map", hint="slice(x, key, pipeline) gives one")
    return isinstance(m, Entries)


def _literal(value: Any, domain: Domain) -> Any:
    """Convert a literal used with a map to a constant of the given domain."""
    return value if is_symbolic(value) else const(value, domain)


def _word(op: Operator, value: Any, domain: Domain) -> Any:
    """Convert a key or value of a map that only runs to one term, also if it is a tuple."""
    value = _literal(value, domain)
    if isinstance(value, Entries) or (isinstance(domain, Map) and domain.finite):
        raise TypingError(f"'{op.symbol}' of {domain} in a map of any size", hint="give both a finite type of keys")
    if not isinstance(value, tuple):
        return value
    if not isinstance(domain, Tuple) or len(domain.fields) != len(value):
        raise TypingError(f"'{op.symbol}' needs values of {domain}, not a tuple of {len(value)}")
    fields = [_word(op, item, field) for item, field in zip(value, domain.fields, strict=True)]
    for field, own in zip(fields, domain.fields, strict=True):
        _check_contained(op, own, field.domain)
    return intern(tuple_of(len(fields)), tuple(fields), domain)


def _parts(term: Term) -> Any:
    """Return the fields of a key or value that is one term."""
    if not isinstance(term.domain, Tuple):
        return term
    return whole(term.domain, _scalars_in(term))


def _scalars_in(term: Term) -> Iterator[Term]:
    for i, domain in enumerate(term.domain.fields if isinstance(term.domain, Tuple) else ()):
        field = intern(field_of(i), (term,), domain)
        yield from _scalars_in(field) if isinstance(domain, Tuple) else (field,)


class _Tupling(Operator):
    """An operator that makes one term of the fields of a tuple; its caller supplies the domain."""

    def rebuild(self, args: tuple[Term, ...], domain: Domain) -> Term:
        return intern(self, args, domain)


@functools.cache
def tuple_of(count: int) -> Operator:
    """Return the operator that makes one term of `count` fields of a tuple."""
    fields = "".join(f"{{{i}}}, " for i in range(count))
    return _Tupling(
        f"tuple{count}", count, "tuple", lambda _, args: Tuple(tuple(a.domain for a in args)), lambda *items: items,
        f"({fields})",
    )  # fmt: skip


@functools.cache
def field_of(number: int) -> Operator:
    """Return the operator that takes a field out of such a term."""

    def result(_: Operator, args: tuple[Term, ...]) -> Domain:
        assert isinstance(args[0].domain, Tuple)
        return args[0].domain.fields[number]

    return Operator(f"field{number}", 1, f".{number}", result, lambda items: items[number], f"{{0}}[{number}]")


def _key(op: Operator, m: Entries, key: Any) -> Callable[[Value], Any]:
    """Return the condition that a key equals a given one."""
    key = _literal(key, m.domain.key)
    if isinstance(key, Term):
        unify(f"'{op.symbol}'", m.domain.key, key.domain)
    return lambda value: equal(key, const(value, m.domain.key))


def get(m: Any, key: Any, default: Any) -> Any:
    """Return the value of a key, `default` where the map does not have it."""
    if isinstance(m, Change):
        present, value = m.content.look(_literal(key, m.domain.key))
        return ite(present, value, _literal(default, m.domain.value))
    if not _is_expanded(_GET, m):
        if isinstance(m, Term):
            domain = _map_of(_GET, m)
            return _parts(_GET(m, _word(_GET, key, domain.key), _word(_GET, default, domain.value)))
        return _GET(m, key, default)
    same, result = _key(_GET, m, key), _literal(default, m.domain.value)
    for candidate, (present, value) in m.items():
        result = ite(both(present, same(candidate)), value, result)
    return result


def has(m: Any, key: Any) -> Any:
    """Whether the map has a key."""
    if isinstance(m, Change):
        return m.content.look(_literal(key, m.domain.key))[0]
    if not _is_expanded(_HAS, m):
        return _HAS(m, _word(_HAS, key, _map_of(_HAS, m).key) if isinstance(m, Term) else key)
    same = _key(_HAS, m, key)
    return disjunction(both(present, same(candidate)) for candidate, (present, _) in m.items())


def put(m: Any, key: Any, value: Any) -> Any:
    """Return the map with this value for the key, whether it had one or not."""
    if not _changeable(_PUT, m):
        if isinstance(m, Term):
            domain = _map_of(_PUT, m)
            key, value = _word(_PUT, key, domain.key), _word(_PUT, value, domain.value)
        return _PUT(m, key, value)
    same, value = _key(_PUT, m, key), _literal(value, m.domain.value)
    if isinstance(value, Term):
        _check_contained(_PUT, m.domain.value, value.domain)
    value = as_term(value, m.domain.value)
    return Entries.of(
        m.domain, [(either(there, same(own)), ite(same(own), value, before)) for own, (there, before) in m.items()]
    )


def remove(m: Any, key: Any) -> Any:
    """Return the map without the key, which it need not have."""
    if not _changeable(_REMOVE, m):
        return _REMOVE(m, _word(_REMOVE, key, _map_of(_REMOVE, m).key) if isinstance(m, Term) else key)
    same, nothing = _key(_REMOVE, m, key), const(m.domain.value.default, m.domain.value)
    return Entries.of(
        m.domain,
        [(both(there, negate(same(own))), ite(same(own), nothing, before)) for own, (there, before) in m.items()],
    )


def _changeable(op: Operator, m: Any) -> bool:
    """Whether a map is represented key by key (`_is_expanded`); Refused for a table, which functions do not change."""
    if isinstance(m, Change):
        raise Refused(
            f"'{op.symbol}' has no translation on {m.domain}: it would change a table of slices",
            hint="let the map have keys of a small finite type",
        )
    return _is_expanded(op, m)


def size(m: Any) -> Any:
    """Return the number of keys of the map."""
    if isinstance(m, Change):
        return m.content.total("size", lambda _: 1)
    if not _is_expanded(_SIZE, m):
        return _SIZE(m)
    total: Any = const(0, Range(0, 0))
    for _, (present, _) in m.items():
        total = ADD(total, ite(present, const(1, Range(0, 1)), const(0, Range(0, 1))))
    return total


def all_values(m: Any) -> Any:
    """Whether all values are true; true for the empty map."""
    if isinstance(m, Change):
        _truth(_ALL, (_stand_in(m),))
        return equal(m.content.total("false", lambda value: ite(value, 0, 1)), 0)
    if not _is_expanded(_ALL, m):
        return _ALL(m)
    _truth(_ALL, (_stand_in(m),))
    return conjunction(either(negate(present), value) for _, (present, value) in m.items())


def any_value(m: Any) -> Any:
    """Whether some value is true; false for the empty map."""
    if isinstance(m, Change):
        _truth(_ANY, (_stand_in(m),))
        return GT(m.content.total("true", lambda value: ite(value, 1, 0)), 0)
    if not _is_expanded(_ANY, m):
        return _ANY(m)
    _truth(_ANY, (_stand_in(m),))
    return disjunction(both(present, value) for _, (present, value) in m.items())


def sum_values(m: Any) -> Any:
    """Return the sum of the values, in their domain; 0 for the empty map. A sum over ranges runs as `int`."""
    if isinstance(m, Change):
        domain = _sum_domain(_SUM, (_stand_in(m),))
        if isinstance(domain, Reals):
            raise Refused(
                f"'{_SUM.symbol}' of floats depends on their order, and over slices it is updated as they change",
                hint="let the slices emit int",
            )
        return as_term(m.content.total("sum", lambda value: as_term(value, INT)), domain)
    if not _is_expanded(_SUM, m):
        return as_term(_SUM(m), _sum_domain(_SUM, (m,))) if isinstance(m, Term) else _SUM(m)
    _sum_domain(_SUM, (_stand_in(m),))
    domain, total = m.domain.value, None
    zero = const(0, domain if 0 in domain else Range(0, 0))
    for _, (present, value) in m.items():
        addend = ite(present, value, zero)
        total = addend if total is None else ADD(total, addend)
    return total


# --- quantifiers over the keys of a map that only runs --------------------------------------------------------

SOME_KEY = Operator(
    "some_key", 3, "some key", lambda *_: BOOL, lambda m, _, holds: any(map(holds, m)), "",
    lambda args: args[2] if args[2] is FALSE else None, binds=True,
)  # fmt: skip
"""Whether a condition holds for some key of a map; arguments: the map, the variable of the key, the condition.

`exact` takes a function of the key for the condition.
"""

_BOUND = "a key of level "
_FRESH = itertools.count(1)


def some_key(m: Term, holds: Callable[[Any], Any]) -> Term:
    """Return whether a condition holds for some key of a map that is a term.

    The keys of nested quantifiers are named by their nesting level, so that equal terms stay one.
    """
    domain = _map_of(SOME_KEY, m).key
    fresh = var(f"{_BOUND}-{next(_FRESH)}", domain)
    condition = as_term(holds(fresh), BOOL)
    inside = (node.args[1] for node in postorder([condition]) if node.op is SOME_KEY)
    key = var(f"{_BOUND}{1 + max(map(level, inside), default=0)}", domain)
    condition = substitute(condition, dict(zip(leaves(fresh), leaves(key), strict=True)))
    quantifier: Term = SOME_KEY.build((m, _word(SOME_KEY, key, domain), condition))
    return quantifier


def level(key: Term) -> int:
    """Return the nesting level of the quantifiers in that of a key, itself included."""
    name = next(node.name for node in postorder([key]) if node.is_var)
    return int(name.removeprefix(_BOUND).partition(".")[0])


def _stand_in(m: Entries | Change) -> Term:
    """Return a term of the map's domain, for the typing rules."""
    return intern(None, (), m.domain, Name("map"))
