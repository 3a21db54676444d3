"""Hypothesis strategies for domains and for the values of any domain.

The rule of this module: simplest values first, so that failures shrink to them. Drawn domains are finite and small;
values are drawn from infinite and large domains, too.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping

from hypothesis import strategies as st

from workbench.core.domain import (
    BOOL,
    FLOAT,
    INT,
    STR,
    Anything,
    Bool,
    Domain,
    Enum,
    Integer,
    Integers,
    Overflowing,
    Range,
    Reals,
    Texts,
    Value,
)
from workbench.core.fields import FrozenMap, Map, Nullable, Record, Tuple
from workbench.errors import DomainError

MAX_LISTED_VALUES = 64
"""Maximum number of values of a domain whose values are drawn from a list."""

integers = st.builds(Integer, st.integers(2, 5), st.sampled_from(Overflowing))
"""Domains 0..N-1, modular, saturating or checked."""

ranges = st.builds(lambda lo, size: Range(lo, lo + size), st.integers(-2, 1), st.integers(0, 3))
enums = st.builds(lambda n: Enum(("red", "green", "blue")[:n]), st.integers(1, 3))
scalars = st.one_of(integers, st.just(BOOL), ranges, enums)
domains: st.SearchStrategy[Domain] = st.one_of(
    scalars,
    st.builds(lambda a, b: Tuple((a, b)), st.one_of(integers, st.just(BOOL)), st.one_of(scalars)),
    st.builds(lambda a, b: Record((a, b), ("kind", "size")), enums, st.one_of(scalars)),
)
"""Finite domains of pipes."""

unbounded = st.sampled_from((INT, FLOAT, INT, FLOAT, STR))
"""Infinite domains of pipes."""

whole = st.one_of(st.integers(-3, 10), st.integers(-1000, 1000))
"""Whole numbers small enough that a few sums and products of them are exact in every backend."""

halves = st.one_of(
    whole.map(float), st.integers(-1000, 1000).map(lambda n: n / 8), st.floats(allow_nan=False, width=32)
)
texts = st.text("abc", max_size=3)

ENDS = (2**63 - 1, -(2**63), 2**31, -(2**31), 2**53, -(2**53))
"""The limits of words of 64 and 32 bits, and of the whole numbers that doubles represent exactly."""

extreme_integers = st.builds(lambda end, by: end + by, st.sampled_from(ENDS), st.integers(-2, 2))
_odd_floats = st.sampled_from((-0.0, math.inf, -math.inf, math.nan))
_DOUBLES = sys.float_info.max, -sys.float_info.max, sys.float_info.min, 5e-324, -5e-324, float(2**53), float(2**63)
"""The largest and smallest doubles, and the limits of exact whole numbers and words of 64 bits."""

Extremes = Mapping[type[Domain], st.SearchStrategy[Value]]
EXTREMES: Extremes = {Integers: extreme_integers, Reals: st.one_of(_odd_floats, st.sampled_from(_DOUBLES))}
"""Values at the limits of machine arithmetic, and near them."""
REGROUPED: Extremes = {Integers: extreme_integers, Reals: _odd_floats}
"""Extreme values for backends that regroup additions: beside 1e308, whether 1.0 is lost depends on its position."""


def values(domain: Domain, *, extremes: Extremes | None = None) -> st.SearchStrategy[Value]:
    """Return a strategy for the values of a domain, simplest (first) ones preferred.

    Parameters
    ----------
    extremes: values to draw half of the time, also inside tuples and maps (`EXTREMES`).

    Raises
    ------
    DomainError: the kind of the domain is unknown here.
    """
    if domain.size is not None and domain.size <= MAX_LISTED_VALUES:
        return st.sampled_from(tuple(domain.values()))
    if isinstance(domain, Enum):
        return st.sampled_from(domain.labels)
    if isinstance(domain, Integer | Range):
        return st.one_of(st.integers(domain.lo, min(domain.hi, domain.lo + 10)), st.integers(domain.lo, domain.hi))
    if isinstance(domain, Tuple):
        return st.tuples(*(values(field, extremes=extremes) for field in domain.fields))
    if isinstance(domain, Map):
        keys, held = (values(each, extremes=extremes) for each in (domain.key, domain.value))
        return st.dictionaries(keys, held, max_size=4).map(FrozenMap)
    if isinstance(domain, Nullable):
        return st.none() | values(domain.of, extremes=extremes)
    for kind, strategy in _KINDS.items():
        if isinstance(domain, kind):
            # not `one_of`, which flattens nested choices into one
            both = st.sampled_from((strategy, extremes.get(kind, strategy))) if extremes else None
            return strategy if both is None else both.flatmap(lambda some: some)
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
