"""Joins of streams with different lags: which are warned of, and that the remedies of a warning work."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.processors.held.lags import lag_warnings, uneven_joins
from workbench.show.draw import draw

AVERAGE = "window(x, 20, cumulate(+)) div 20"


def pipeline(text, outputs="int"):
    return wb.parse(f"pipeline p(x: int) -> {outputs} {{ {text} }}").get().pipeline


@pytest.mark.parametrize(
    ("text", "lags"),
    [
        (f"return x - {AVERAGE}", {"left": 0, "right": 19}),
        (f"return {AVERAGE} - x", {"left": 19, "right": 0}),
        ("y = cumulate(x, +) return y - window(y, 3, cumulate(+))", {"left": 0, "right": 2}),
        ("y = filter(x, x > 3) return y - window(y, 3, cumulate(+))", {"left": 0, "right": 2}),
        ("return trim(x, 1) - window(x, 3, cumulate(+))", {"left": 1, "right": 2}),
        ("return window(window(x, 3, cumulate(+)), 2, cumulate(+)) - x", {"left": 3, "right": 0}),
        ("return filter(x, window(x, 3, cumulate(+)) > 5)", {"data": 0, "condition": 2}),
    ],
)
def test_a_lag_that_nobody_wrote_is_warned_of(text, lags):
    (join,) = uneven_joins(pipeline(text))
    assert join.lags == lags
    (warning,) = lag_warnings(pipeline(text))
    assert "different times" in str(warning)
    assert all(word in str(warning) for word in ("trim(", "insert(", "lagging("))
    assert sum(f"lag {lag}" in draw(pipeline(text)) for lag in lags.values()) == 2


@pytest.mark.parametrize(
    "text",
    [
        f"return trim(x, 19) - {AVERAGE}",
        f"return x - insert({AVERAGE}, 0, 19)",
        f"return x - lagging({AVERAGE})",
        "return x + trim(x, 1)",
        "return window(x, 3, cumulate(+)) - trim(x, 3)",  # Figure 2b of TIME 2021: the state behind a window
        "return x - filter(window(x, 3, cumulate(+)), window(x, 3, cumulate(+)) > 4)",  # which events pass is not known
        "return decimate(x, 3) + x",
        "return window(x, 3, cumulate(+)) + window(x, 3, passthrough)",
    ],
)  # fmt: skip
def test_what_is_even_or_meant_is_not(text):
    assert not lag_warnings(pipeline(text))
    assert "lag " not in draw(pipeline(text))


def test_inside_groups_and_windows():
    text = """
        pipeline off(x: int) -> int { return x - window(x, 3, cumulate(+)) }
        pipeline twice(x: int) -> int, int { return off(x), off(x) }
        pipeline held(x: int) -> int { return window(x, 5, off) }
        pipeline through(x: int) -> int { return x - average(x) }
        pipeline average(x: int) -> int { return window(x, 3, cumulate(+)) div 3 }
    """
    warnings = {name: lag_warnings(wb.parse(text).get(name).pipeline) for name in "off twice held through".split()}
    assert {name: len(found) for name, found in warnings.items()} == {"off": 1, "twice": 1, "held": 1, "through": 1}


@given(st.integers(1, 6), st.integers(0, 3), st.sampled_from(["trim", "insert"]))
def test_what_a_warning_proposes_pairs_events_of_one_time(width, later, remedy):
    """The events of `x` are their own times; a window emits its last one."""
    window = f"window(window(x, {width}, passthrough), {later + 1}, passthrough)"
    missing = sum(join.missing for join in uneven_joins(pipeline(f"return x - {window}")))
    assert missing == width - 1 + later
    mended = f"trim(x, {missing}) - {window}" if remedy == "trim" else f"x - insert({window}, 0, {missing})"
    assert not lag_warnings(pipeline(f"return {mended}"))
    (out,) = pipeline(f"return {mended}").denote([list(range(20))])
    assert set(out[missing if remedy == "insert" else 0 :]) == {0}
