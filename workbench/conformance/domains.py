"""Hypothesis strategies for domains and for the values of any domain.

The rule of this module: simplest values first, so that failures shrink to them. Domains that are drawn are finite and
small; values are drawn of infinite and of large domains, too.
"""

from __future__ import annotations

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


def values(domain: Domain) -> st.SearchStrategy[Value]:
    """The values of a domain, simplest (first) ones preferred.

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
        return st.tuples(*map(values, domain.fields))
    if isinstance(domain, Map):
        return st.dictionaries(values(domain.key), values(domain.value), max_size=4).map(FrozenMap)
    for kind, found in _KINDS.items():
        if isinstance(domain, kind):
            return found
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
