"""Joins of streams with different lags: which are warned of, and that the remedies of a warning work."""

import logging
from collections import deque

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import workbench as wb
from workbench.processors.held import warnings
from workbench.processors.held.lags import lag_warnings, uneven_joins
from workbench.show.draw import draw

AVERAGE = "window(x, 20, cumulate(+)) div 20"


def pipeline(text, outputs="int"):
    return wb.parse(f"pipeline p(x: int) -> {outputs} {{ {text} }}").get().pipeline


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"return x - {AVERAGE}", {"left": 0, "right": 19}),
        (f"return {AVERAGE} - x", {"left": 19, "right": 0}),
        ("y = cumulate(x, +) return y - window(y, 3, cumulate(+))", {"left": 0, "right": 2}),
        ("y = filter(x, x > 3) return y - window(y, 3, cumulate(+))", {"left": 0, "right": 2}),
        ("return trim(x, 1) - window(x, 3, cumulate(+))", {"left": 1, "right": 2}),
        ("return window(window(x, 3, cumulate(+)), 2, cumulate(+)) - x", {"left": 3, "right": 0}),
        ("return filter(x, window(x, 3, cumulate(+)) > 5)", {"data": 0, "condition": 2}),
        # a shift too many
        (f"return trim(x, 20) - {AVERAGE}", {"left": 20, "right": 19}),
        (f"return x - insert({AVERAGE}, 0, 20)", {"left": 0, "right": -1}),
        # a remedy, or a confirmation, is one for its own join
        (f"a = {AVERAGE} d = x - insert(a, 0, 19) return d * a", {"left": 0, "right": 19}),
        (f"a = {AVERAGE} return x - insert(a, 0, 19) + a", {"left": 0, "right": 19}),
        (f"a = {AVERAGE} return insert(trim(x, 19) - a, 0, 19) - x + a", {"left": 0, "right": 19}),
        (f"a = {AVERAGE} return insert(a, 0, 19) - x + a", {"left": 0, "right": 19}),
        (f"a = {AVERAGE} return a - trim(x, 19) + x", {"left": 19, "right": 0}),
        (f"return (x - lagging({AVERAGE})) - window(x, 30, cumulate(+))", {"left": 0, "right": 29}),
        (f"return x - (lagging({AVERAGE}) + window(x, 5, cumulate(+)))", {"left": 0, "right": 4}),
        (f"return x - window(lagging({AVERAGE}), 5, cumulate(+))", {"left": 0, "right": 23}),
        # the lag is counted in the events of the input
        (f"return decimate(x, 2) - decimate({AVERAGE}, 2)", {"left": 0, "right": 19}),
        (f"return stutter(x, 2) - stutter({AVERAGE}, 2)", {"left": 0, "right": 19}),
        (f"return prefix(x, 5) - prefix({AVERAGE}, 5)", {"left": 0, "right": 19}),
        ("return x - window(x, 4, decimate(2))", {"left": 0, "right": 3}),
        ("return x - window(x, 4, keep_last)", {"left": 0, "right": 3}),
        ("return x - window(x, 4, prefix(2))", {"left": 0, "right": 3}),
        ("return x - window(window(x, 2, stutter(2)), 4, insert(0))", {"left": 0, "right": 4}),
    ],
)
def test_a_lag_that_nobody_wrote_is_warned_of(text, expected):
    (join,) = uneven_joins(pipeline(text))
    assert join.lags == expected
    (warning,) = lag_warnings(pipeline(text))
    assert "different times" in str(warning)
    assert all(word in str(warning) for word in ("trim(", "insert(", "lagging("))
    assert sum(f"lag {lag}" in draw(pipeline(text)) for lag in expected.values()) == 2


@pytest.mark.parametrize(
    "text",
    [
        f"return trim(x, 19) - {AVERAGE}",
        f"return x - insert({AVERAGE}, 0, 19)",
        f"return x - lagging({AVERAGE})",
        f"return x - lagging({AVERAGE}) div 2 + x",
        "return x + trim(x, 1)",
        "return window(x, 3, cumulate(+)) - lagging(trim(x, 3))",  # the event behind each window
        "return x - filter(window(x, 3, cumulate(+)), window(x, 3, cumulate(+)) > 4)",  # which events pass is not known
        "return decimate(x, 3) + x",
        "return decimate(x, 3) + stutter(window(x, 2, cumulate(+)), 2)",
        "return x - window(trim(x, 1), 1, trim(1))",  # it may emit nothing
        "return x - window(x, 2, prefix(0))",
        "return trim(decimate(x, 2), 1) - decimate(window(x, 3, cumulate(+)), 2)",
        "return window(x, 3, cumulate(+)) + window(x, 3, passthrough)",
    ],
)
def test_what_is_even_or_meant_is_not(text):
    assert not lag_warnings(pipeline(text))
    assert "lag " not in draw(pipeline(text))


@pytest.mark.parametrize(
    "text",
    [
        "x > 3 and next(x < 3)",
        "globally((x mod 2 = 0) -> next(x mod 2 = 1))",
        "until(next(x > 3), x > 5)",
        "release(x > 3, eventually(x > 5)) and next(next(x > 2))",
    ],
)
def test_verdicts_of_positions_do_not_lag(text):
    """The k-th verdict is that of position k, however late it comes."""
    assert not lag_warnings(pipeline(f"return {text}", "bool"))
    late = f"({text}) and window(x > 3, 3, cumulate(and, true))"
    (join,) = uneven_joins(pipeline(f"return {late}", "bool"))
    assert join.lags == {"left": 0, "right": 2}


def test_inside_groups_and_windows():
    text = """
        pipeline off(x: int) -> int { return x - window(x, 3, cumulate(+)) }
        pipeline twice(x: int) -> int, int { return off(x), off(x) }
        pipeline held(x: int) -> int { return window(x, 5, off) }
        pipeline through(x: int) -> int { return x - average(x) }
        pipeline average(x: int) -> int { return window(x, 3, cumulate(+)) div 3 }
        pipeline fifth(x: int) -> int { return x - window(x, 5, thin) }
        pipeline thin(x: int) -> int { y = decimate(x * 3, 2) return y * 2 + prefix(y, 1) }
        pipeline seldom(x: int) -> int { return x - window(x, 5, late) }
        pipeline late(x: int) -> int { return decimate(window(x, 6, cumulate(+)), 2) }
        pipeline meant(x: int) -> int { return x - confirmed(x) }
        pipeline confirmed(x: int) -> int { return lagging(average(x)) }
    """
    names = "off twice held through fifth seldom meant".split()
    found = {name: len(lag_warnings(wb.parse(text).get(name).pipeline)) for name in names}
    assert found == {"off": 1, "twice": 1, "held": 1, "through": 1, "fifth": 1, "seldom": 0, "meant": 0}


def test_the_message_names_what_the_user_wrote():
    parts = "x > 3", "window(x, 5, cumulate(+))", AVERAGE
    (warning,) = lag_warnings(pipeline("return if {} then {} else {}".format(*parts)))
    assert "('{}' 0, '{}' 4, '{}' 19)".format(*parts) in warning.what
    for call in ("trim(..., 19) around '{0}' and trim(..., 15) around '{1}'", "VALUE, 4) around '{1}' and", "'{2}'"):
        assert call.format(*parts) in warning.hint
    long = "+".join(["x"] * 40)
    (warning,) = lag_warnings(pipeline(f"y = {AVERAGE} return {long} - y"))
    assert "'y' 19" in warning.what
    assert len(warning.what) < 200


def test_a_shift_that_does_not_fit_behind_a_decimation_is_written_before_it():
    (warning,) = lag_warnings(pipeline("return decimate(x, 2) - decimate(window(x, 4, cumulate(+)), 2)"))
    assert "trim(..., 3) inside 'decimate(x, 2)', before 'decimate'" in warning.hint
    (warning,) = lag_warnings(pipeline("return decimate(x, 2) - decimate(window(x, 5, cumulate(+)), 2)"))
    assert "trim(..., 4) inside 'decimate(x, 2)', before" in warning.hint
    assert not lag_warnings(pipeline("return trim(decimate(x, 2), 2) - decimate(window(x, 5, cumulate(+)), 2)"))
    assert not lag_warnings(pipeline("return prefix(trim(x, 4), 5) - prefix(window(x, 5, cumulate(+)), 5)"))


def test_lags_that_are_equal_on_average_only():
    """0, 2, 2, 4, ... beside 1, 1, 3, 3, ...: 1 event late, both of them."""
    left, right = "trim(stutter(decimate(x, 2), 2), 1)", "stutter(decimate(window(x, 2, passthrough), 2), 2)"
    (warning,) = lag_warnings(pipeline(f"return {left} - {right}"))
    assert "before the events are repeated" in warning.hint
    assert len(lag_warnings(pipeline(f"return stutter(decimate(x, 2), 2) - {right}"))) == 1


def test_a_program_that_runs_again_is_warned_of_once(caplog, tmp_path, monkeypatch):
    texts = [f"pipeline p(x: int) -> bool {{ return x > {AVERAGE} + {number} }}" for number in range(2)]
    (tmp_path / "again.pipe").write_text(texts[1])
    monkeypatch.setattr(warnings, "_issued", deque(maxlen=9))
    with caplog.at_level(logging.WARNING, "workbench"):
        for program in (wb.parse(texts[0]).get(), tmp_path / "again.pipe"):
            for _ in range(3):
                wb.run(program, {"x": [1, 2]})
    assert len(caplog.records) == 2


def test_check_warns_too(caplog, tmp_path, monkeypatch):
    (tmp_path / "a.pipe").write_text("pipeline p(x: 0..3) -> bool { return x > window(x, 3, passthrough) }")
    monkeypatch.setattr(warnings, "_issued", deque(maxlen=9))
    with caplog.at_level(logging.WARNING, "workbench"):
        for _ in range(2):
            assert wb.check(tmp_path / "a.pipe", "no-overflow").outcome == "holds"
    (record,) = caplog.records
    assert "different times" in record.message


def test_many_warnings_of_one_pipeline_are_counted(monkeypatch):
    monkeypatch.setattr(warnings, "_issued", deque(maxlen=9))
    said = list[str]()
    terms = " + ".join(f"window(x, {width}, passthrough)" for width in range(1, 13))
    warnings.report_warnings(pipeline(f"return {terms}"), said.append)
    assert ["pair" in text for text in said] == [True] * 6
    assert said[-1] == "6 more joins in p pair events of different times (draw marks them all)"


@given(st.integers(1, 6), st.integers(0, 3), st.sampled_from(["trim", "insert"]))
def test_what_a_warning_proposes_pairs_events_of_one_time(width, later, remedy):
    """The events of `x` are their own times; a window emits its last one."""
    window = f"window(window(x, {width}, passthrough), {later + 1}, passthrough)"
    missing = sum(int(join.lags["right"]) for join in uneven_joins(pipeline(f"return x - {window}")))
    assert missing == width - 1 + later
    mended = f"trim(x, {missing}) - {window}" if remedy == "trim" else f"x - insert({window}, 0, {missing})"
    assert not lag_warnings(pipeline(f"return {mended}"))
    (out,) = pipeline(f"return {mended}").denote([list(range(20))])
    assert set(out[missing if remedy == "insert" else 0 :]) == {0}


# --- random pipelines whose events are their own positions -------------------------------------------------
#
# An expression is a tuple. Its text is run, so that each event that comes out is the position of the one of x that it
# belongs to; what is inserted is -1. A join gives the later of its two positions (`max`).

EVENTS, ENOUGH = 240, 16


def text_of(e):
    kind, *parts = e
    if kind == "x":
        return "x"
    if kind == "join":
        return f"max({text_of(parts[0])}, {text_of(parts[1])})"
    if kind == "confirmed":
        return f"({text_of(parts[0])} + 0 * lagging({text_of(parts[1])}))"
    if kind == "window":
        return f"window({text_of(parts[0])}, {parts[1]}, passthrough)"
    value = "-1, " if kind == "insert" else ""
    return f"{kind}({text_of(parts[0])}, {value}{parts[1]})"


def positions(e):
    (out,) = pipeline(f"return {text_of(e)} + 0").denote([list(range(EVENTS))])
    return out


def are_paired(left, right):
    """Whether all events that a join takes together belong to the same one, as far as they belong to one."""
    pairs = list(zip(positions(left), positions(right), strict=False))
    assume(len(pairs) >= ENOUGH)
    return all(a == b or -1 in (a, b) for a, b in pairs)


def rates(e):
    """The decimations and stutters up to x; None where a join has different ones on its two sides."""
    kind, *parts = e
    if kind == "x":
        return ()
    if kind == "join":
        return rates(parts[0]) if rates(parts[0]) == rates(parts[1]) else None
    inner = rates(parts[0])
    return inner if inner is None or kind not in ("decimate", "stutter") else (*inner, (kind, parts[1]))


def unwritten(e):
    """The expression without the shifts that are meant: those behind the last join that had to be shifted."""
    kind, *parts = e
    if kind in ("trim", "insert", "confirmed"):
        return unwritten(parts[0])
    if kind == "join":
        left, right = map(unwritten, parts)
        return ("join", left, right) if are_paired(left, right) else e
    return e if kind == "x" else (kind, unwritten(parts[0]), *parts[1:])


def joins(e):
    """The joins in an expression, the inner ones first."""
    for part in e[1:]:
        if isinstance(part, tuple):
            yield from joins(part)
    if e[0] == "join":
        yield e


def single(inner):
    kinds = st.sampled_from(("window", "window", "trim", "insert", "decimate", "stutter", "prefix"))
    counts = {"prefix": st.integers(100, 120)}
    return kinds.flatmap(lambda kind: st.tuples(st.just(kind), inner, counts.get(kind, st.integers(1, 4))))


def both(inner):
    return st.tuples(st.sampled_from(("join", "join", "confirmed")), inner, inner)


expressions = st.recursive(st.just(("x",)), lambda inner: st.one_of(single(inner), both(inner)), max_leaves=4)


paces = st.lists(st.tuples(st.sampled_from(("decimate", "stutter")), st.integers(2, 3)), max_size=2)


@given(expressions, expressions, paces)
def test_a_join_is_warned_of_where_brute_force_finds_events_of_different_times(left, right, paces):
    for kind, count in paces:
        left, right = (kind, left, count), (kind, right, count)
    for join in joins(("join", left, right)):
        whole = pipeline(f"return {text_of(join)}")
        last = next(node.name for node in whole.nodes if whole.outputs[0][1] in node.outputs)
        warned = any(each.name == last for each in uneven_joins(whole))
        _, left, right = join
        if None in (rates(left), rates(right)) or rates(left) != rates(right):
            assert not warned
        else:
            assert warned == (not are_paired(left, right) and not are_paired(unwritten(left), unwritten(right)))
