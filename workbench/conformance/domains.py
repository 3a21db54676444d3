"""Hypothesis strategies for domains and for the values of any domain.

The rule of this module: simplest values first, so that failures shrink to them. Domains that are drawn are finite and
small; values are drawn of infinite and of large domains, too.
"""

from __future__ import annotations

import math
import sys

from hypothesis import strategies as st

from workbench.core.domain import (
    BOOL,
    Anything,
    Bool,
    Domain,
    Enum,
    FrozenMap,
    Integer,
    Integers,
    Map,
    Overflowing,
    Range,
    Reals,
    Record,
    Texts,
    Tuple,
    Value,
)
from workbench.errors import DomainError

FEW = 64
"""Domains of at most so many values are drawn from a list of them."""

integers = st.builds(Integer, st.integers(2, 5), st.sampled_from(Overflowing))
"""Domains 0..N-1 of all three kinds."""

ranges = st.builds(lambda lo, size: Range(lo, lo + size), st.integers(-2, 1), st.integers(0, 3))
enums = st.builds(lambda n: Enum(("red", "green", "blue")[:n]), st.integers(1, 3))
scalars = st.one_of(integers, st.just(BOOL), ranges, enums)
domains: st.SearchStrategy[Domain] = st.one_of(
    scalars,
    st.builds(lambda a, b: Tuple((a, b)), st.one_of(integers, st.just(BOOL)), st.one_of(scalars)),
    st.builds(lambda a, b: Record((a, b), ("kind", "size")), enums, st.one_of(scalars)),
)
"""Finite domains of pipes."""

whole = st.one_of(st.integers(-3, 10), st.integers(-1000, 1000))
"""Whole numbers, small enough that a few sums and products of them are exact in every backend."""

halves = st.one_of(
    whole.map(float), st.integers(-1000, 1000).map(lambda n: n / 8), st.floats(allow_nan=False, width=32)
)
texts = st.text("abc", max_size=3)

ENDS = (2**63 - 1, -(2**63), 2**31, -(2**31), 2**53, -(2**53))
"""Where words of 64 and of 32 bits end, and from where on not every whole number is a double."""

extreme_integers = st.builds(lambda end, by: end + by, st.sampled_from(ENDS), st.integers(-2, 2))
_DOUBLES = -0.0, sys.float_info.max, -sys.float_info.max, sys.float_info.min, 5e-324, -5e-324
extreme_floats = st.sampled_from((*_DOUBLES, math.inf, -math.inf, math.nan, float(2**53), float(2**63)))
"""The smallest and largest doubles, those that are no numbers, and where doubles and words of 64 bits end."""


def values(domain: Domain, *, extreme: bool = False) -> st.SearchStrategy[Value]:
    """The values of a domain, simplest (first) ones preferred.

    Parameters
    ----------
    extreme: among the numbers of infinite domains are the ends of what machines calculate with, half of the time.

    Raises
    ------
    DomainError: it is a domain of a kind that is not known here.
    """
    if domain.size is not None and domain.size <= FEW:
        return st.sampled_from(tuple(domain.values()))
    if isinstance(domain, Enum):
        return st.sampled_from(domain.labels)
    if isinstance(domain, Integer | Range):
        return st.one_of(st.integers(domain.lo, min(domain.hi, domain.lo + 10)), st.integers(domain.lo, domain.hi))
    if isinstance(domain, Tuple):
        return st.tuples(*(values(field, extreme=extreme) for field in domain.fields))
    if isinstance(domain, Map):
        keys, held = (values(each, extreme=extreme) for each in (domain.key, domain.value))
        return st.dictionaries(keys, held, max_size=4).map(FrozenMap)
    for kind, found in _KINDS.items():
        if isinstance(domain, kind):
            return st.one_of(found, _EXTREMES[kind]) if extreme and kind in _EXTREMES else found
    raise DomainError(
        f"there is no strategy for the values of {domain}", hint="give the input one of workbench's domains"
    )


_KINDS: dict[type[Domain], st.SearchStrategy[Value]] = {
    Bool: st.booleans(),
    Integers: whole,
    Reals: halves,
    Texts: texts,
    Anything: st.one_of(whole, texts, st.booleans()),
}
_EXTREMES: dict[type[Domain], st.SearchStrategy[Value]] = {Integers: extreme_integers, Reals: extreme_floats}
