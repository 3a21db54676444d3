"""Python values as columns: a field at a time they are what they are one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.domain import BOOL, FLOAT, INT, Enum, Integer, Range
from workbench.core.fields import Record, Tuple, scalars, split
from workbench.events.columns import arrays_of
from workbench.executors.compiled.code.numbers import encode_any

NESTED = Record((Enum(("low", "high")), Tuple((INT, BOOL)), Range(-2, 3), FLOAT), ("level", "pair", "few", "share"))
EVENTS = st.tuples(
    st.sampled_from(("low", "high")),
    st.tuples(st.integers(-(2**63), 2**63 - 1), st.booleans()),
    st.integers(-2, 3),
    st.floats(allow_nan=False),
)


@given(st.lists(EVENTS, max_size=5))
def test_fields_are_those_of_the_events(events):
    arrays = arrays_of(NESTED, events)
    assert arrays is not None
    parts = [part for _, part in scalars(NESTED)]
    for k, (array, part) in enumerate(zip(arrays, parts, strict=True)):
        assert array.tolist() == [encode_any(part, list(split(NESTED, event))[k]) for event in events]
    assert [array.dtype for array in arrays] == [np.int64, np.int64, np.bool_, np.int64, np.float64]


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (INT, 2**63),
        (INT, 1.0),
        (INT, True),
        (INT, None),
        (BOOL, 1),
        (FLOAT, 2),
        (Range(0, 3), 4),
        (Range(0, 3), -1),
        (Integer(3), 3),
        (Enum(("a", "b")), "c"),
        (Enum(("a", "b")), 0),
        (Enum(("a", "b")), ["a"]),
        (Tuple((INT, INT)), (1,)),
        (Tuple((INT, INT)), [1, 2]),
        (Tuple((INT, BOOL)), (1, 2)),
    ],
)
def test_what_is_left_to_others(domain, value):
    assert arrays_of(domain, [domain.default, value]) is None
    assert arrays_of(domain, [domain.default]) is not None
