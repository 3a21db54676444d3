"""Choices by a number: constant tables, arrays, and shifts by a number of places.

The rule of this module: a choice is a tree of comparisons of the index, whose depth is the logarithm of the number of
items, so models and compiled code need no operator for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from workbench.core.domain import Integer, Integers, Overflowing, Range
from workbench.core.ops import ADD, DIV, EQ, GT, LT, MUL, ite
from workbench.core.term import Items, Term, const, domain_of, is_symbolic, same
from workbench.core.typing_rules import literal_domain, whole_number
from workbench.errors import TypingError

MAX_PLACES = 63
"""Maximum number of places of a shift."""


def choose(index: Any, items: Sequence[Any], first: int, otherwise: Any) -> Any:
    """Return the item at an index, which counts from `first`; `otherwise` where there is none."""
    last = first + len(items) - 1
    if isinstance(index, Term) and index.is_const:
        index = index.payload
    if not isinstance(index, Term):
        return items[index - first] if isinstance(index, int) and first <= index <= last else otherwise
    domain = index.domain
    if not isinstance(domain, Range | Integer | Integers):
        whole_number("[ ]", domain)
        raise TypingError(f"an index is a number, not a value of {domain}")
    lo, hi = (first, last) if isinstance(domain, Integers) else (max(first, domain.lo), min(last, domain.hi))
    if lo > hi:
        return otherwise
    item = _choose_between(index, items, first, lo, hi)
    if isinstance(domain, Integers) or domain.lo < first:
        item = ite(LT(index, first), otherwise, item)
    if isinstance(domain, Integers) or domain.hi > last:
        item = ite(GT(index, last), otherwise, item)
    return item


def _choose_between(index: Term, items: Sequence[Any], first: int, lo: int, hi: int) -> Any:
    if all(same(items[k - first], items[lo - first]) for k in range(lo + 1, hi + 1)):
        return items[lo - first]
    middle = (lo + hi + 1) // 2
    below, above = (_choose_between(index, items, first, *ends) for ends in ((lo, middle - 1), (middle, hi)))
    return ite(LT(index, middle), below, above)


def read_table(entries: tuple[int, ...], index: Any) -> Any:
    """Return the entry of a constant table at an index, which counts from 0; 0 where there is none.

    As literals do, entries take the domain of the index, if that is an integer domain.
    """
    if not isinstance(index, Term):
        return choose(index, entries, 0, 0)
    kind = index.domain
    items = [const(entry, literal_domain(entry, kind)) for entry in entries]
    return choose(index, items, 0, const(0, literal_domain(0, kind)))


def read_item(array: Any, index: Any) -> Any:
    """Return the item of an array at an index; the default of its type where there is none."""
    element = array.domain.fields[0]
    symbolic = is_symbolic((array, index))
    return choose(index, array, array.domain.first, const(element.default, element) if symbolic else element.default)


def write_item(array: Any, index: Any, value: Any) -> Items:
    """Return the array with a value at an index; the same array where it has no such index."""
    index = index.payload if isinstance(index, Term) and index.is_const else index
    whole_number("[ ]", domain_of(index) if isinstance(index, Term) else literal_domain(index))
    known = not isinstance(index, Term) or isinstance(index.domain, Integers)
    indices = range(array.domain.first, array.domain.first + len(array))
    return Items.of(
        array.domain,
        [ite(EQ(index, k), value, item) if known or k in index.domain else item
         for k, item in zip(indices, array, strict=True)],
    )  # fmt: skip


def _shift(name: str, one: Callable[[Any, int], Any], value: Any, amount: Any) -> Any:
    amount = amount.payload if isinstance(amount, Term) and amount.is_const else amount
    fixed = type(amount) is int
    domain = Range(amount, amount) if fixed else domain_of(amount)
    if is_symbolic(value):
        whole_number(name, domain_of(value))
    if not isinstance(domain, Range | Integer) or domain.lo < 0 or domain.hi > MAX_PLACES:
        raise TypingError(
            f"'{name}' shifts by 0 to {MAX_PLACES} places, not by {amount if fixed else domain}",
            hint="write a constant, or declare the amount as a range such as 0..7",
        )
    if not fixed and not is_symbolic(value):
        value = const(value, literal_domain(value))
    return choose(amount, [one(value, k) for k in range(domain.lo, domain.hi + 1)], domain.lo, value)


def _multiply(value: Any, amount: int) -> Any:
    """Multiply by a power of two, by factors that are in the domain."""
    domain = value.domain if isinstance(value, Term) else None
    if not isinstance(domain, Integer):
        return MUL(value, 1 << amount)
    if domain.overflow is Overflowing.MODULAR:
        return MUL(value, (1 << amount) % domain.n)
    amount, limit = min(amount, domain.hi.bit_length()), domain.hi.bit_length() - 1
    while amount > 0:
        value, amount = (MUL(value, 1 << min(amount, limit)) if limit else ADD(value, value)), amount - max(limit, 1)
    return value


def _divide(value: Any, amount: int) -> Any:
    """Divide by a power of two."""
    domain = value.domain if isinstance(value, Term) else None
    if isinstance(domain, Integer) and 1 << amount > domain.hi:
        return const(0, domain) if amount else value
    return DIV(value, 1 << amount)


shift_left = partial(_shift, "shift_left", _multiply)
shift_right = partial(_shift, "shift_right", _divide)
