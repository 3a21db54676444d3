"""Ranges of what a window accumulates, and casts into narrower ranges, against every run of a few events."""

from __future__ import annotations

import itertools
from functools import reduce

import pytest

import workbench as wb
from tests.processors.common import machined, stepped, typed
from workbench.core import function as f
from workbench.core.domain import INT, Integer, Overflowing, Range
from workbench.core.function import Function
from workbench.core.ops import ADD, MIN, MUL, SUB
from workbench.errors import Overflow, TypingError
from workbench.language import parse
from workbench.processors.cast import Cast
from workbench.processors.cumulate import FURTHEST, Cumulate
from workbench.processors.held.window import Encoding, Window

EVENTS = (Range(0, 2), Range(-1, 1), Range(2, 4), Range(-3, -2))
TWICE = Function("twice", 2, lambda total, x: SUB(ADD(total, MUL(2, x)), 1))
BOUNDED = Function("bounded", 2, lambda total, x: MIN(ADD(total, x), 5))
FUNCTIONS = [(f.ADD, 0), (f.ADD, 7), (f.SUB, 0), (f.MUL, 1), (TWICE, 0), (BOUNDED, 0)]


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize(("function", "start"), FUNCTIONS)
def test_every_window_is_in_the_range(function: Function, start: int, width: int) -> None:
    for events in EVENTS:
        window = typed(Window(width, Cumulate(function, start)), events)
        (domain,) = window.results((events,))
        outputs = {reduce(function.build, chosen, start) for chosen in itertools.product(events.values(), repeat=width)}
        assert outputs <= set(domain.values())
        if function is f.ADD and start == 0:
            # as narrow as can be: the sums of up to so many events, none among them
            assert domain == Range(min(0, width * events.lo), max(0, width * events.hi))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("encoding", ["events", "copies"])
@pytest.mark.parametrize(("function", "start"), FUNCTIONS)
def test_machines_agree_with_the_denotation(function: Function, start: int, encoding: Encoding) -> None:
    for events in EVENTS:
        window = typed(Window(3, Cumulate(function, start), encoding), events)
        for chosen in itertools.product(events.values(), repeat=4):
            expected = window.denote((list(chosen),))
            assert machined(window, (events,), (chosen,)) == expected
            assert stepped(window, (chosen,)) == expected


def test_wide_windows_are_folded_as_windows_of_int_are() -> None:
    stream = [x * 37 % 101 for x in range(60)]
    narrow, plain = (typed(Window(20, Cumulate(f.ADD)), domain) for domain in (Range(0, 100), INT))
    assert narrow.copies is plain.copies is False
    assert stepped(narrow, (stream,)) == stepped(plain, (stream,)) == plain.denote((stream,))


def test_it_is_typed_again_as_it_was() -> None:
    events = (Range(0, 9),)
    once = Window(3, Cumulate(f.ADD)).specialise(events)
    assert once.specialise(events).results(events) == once.results(events) == (Range(0, 27),)
    with pytest.raises(TypingError, match=r"0\.\.26"):  # the sum of three is not in the domain that was asked for
        Window(3, Cumulate(f.ADD, domain=Range(0, 26))).specialise(events)
    assert Window(3, Cumulate(f.ADD, domain=Range(0, 99))).specialise(events).results(events) == (Range(0, 99),)


@pytest.mark.parametrize(
    "processor",
    [
        Cumulate(f.ADD),
        Window(FURTHEST + 1, Cumulate(f.ADD)),
        Window(10**9, Cumulate(f.ADD)),
        Window(99, Cumulate(f.MUL)),
    ],
)
def test_what_grows_too_far_is_refused(processor: Window | Cumulate) -> None:
    with pytest.raises(TypingError, match="does not fit the accumulated") as found:
        typed(processor, Range(0, 9))
    assert found.value.hint.startswith("write cumulate(x, ")


def test_the_remedy_for_what_grows_works_and_is_told_once() -> None:
    counts = "pipeline p(b: bool, x: 0..3) -> int, int { return cumulate(if b then 1 else 0, +«»), cumulate(x, +«») }"
    with pytest.raises(TypingError) as found:
        parse(counts.replace("«»", "")).get()
    assert (str(found.value).count("fit the accumulated"), str(found.value).count("hint:")) == (2, 1)
    assert found.value.hint.startswith("write cumulate(x, +, 0, int)")
    assert found.value.others[0].hint == found.value.hint
    assert parse(counts.replace("«»", ", 0, int")).get()

    with pytest.raises(TypingError, match=r"cumulate\(x, \*, 1, int\)"):
        typed(Cumulate(f.MUL), Range(1, 3))


TOTAL = "pipeline p(x: {}) -> any {{ return {} }}"
WAYS = {
    "cumulate(x, +, 0, int)": [3, 6, 9, 12, 15],
    "cumulate(x, +, 0, 0..100)": [3, 6, 9, 12, 15],
    "cumulate(cast(x, int sat 10), +)": [3, 6, 9, 9, 9],
    "cumulate(x, add, 0, 0..12)": [3, 6, 9, 12, 12],
    "window(x, 2, cumulate(+))": [6, 6, 6, 6],
}


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize(("way", "totals"), WAYS.items())
def test_every_way_out_of_a_total_that_grows(way: str, totals: list[int], backend: str) -> None:
    text = "function add(total, x) = min(total + x, 12)\n" + TOTAL
    with pytest.raises(TypingError, match=r"and grows with every event: 0\.\.9 is next") as found:
        parse(text.format("0..3", "cumulate(x, +)")).get()
    assert "cumulate(x, +, 0, int)" in found.value.hint
    assert "cumulate(x, +, 0, 0..1000)" in found.value.hint
    assert wb.run(parse(text.format("0..3", way)).get(), {"x": [3] * 5}, backend=backend)["out"] == totals


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize(
    "processor", ["cumulate(x, +, 0, -2..5)", "slice_last(x, key, cumulate(+, 0, -2..5)).value", "inner(x)"]
)
def test_a_total_in_a_declared_range_is_checked(processor: str, backend: str) -> None:
    text = (
        "function key(x) = x = x\npipeline inner(x: -2..2) -> -2..5 { return cumulate(x, +, 0, -2..5) }\n"
        + TOTAL.format("-2..2", processor)
    )
    loaded = parse(text).get("p")
    assert [each.name for each in loaded.obligations] == ["stays-in-range"]
    assert wb.run(loaded, {"x": [2, 2, 1, -2, -2, -2, -1]}, backend=backend)["out"] == [2, 4, 5, 3, 1, -1, -2]
    for stream, wrong in (([2, 2, 2], 6), ([-2, -1], -3)):
        with pytest.raises(Overflow, match=rf"step {len(stream) - 1}: .*of -2\.\.5 gets {wrong}"):
            wb.run(loaded, {"x": stream}, backend=backend)
    assert wb.check(loaded, "stays-in-range").outcome == "fails"


def test_a_total_that_conditions_keep_in_its_range_is_proved() -> None:
    text = """
    function level(n, up) = if up then min(n + 1, 3) else n - 1
    pipeline p(up: bool) -> 0..3 { return cumulate(up, level, 0, 0..3) }
    pipeline q(up: bool) -> 0..3 {
        # every other event goes up
        turn = cumulate(turn(up, 1), next, 0, 0..1)
        return cumulate(turn = 1, level, 0, 0..3)
    }
    function next(n, one) = 1 - n
    """
    assert wb.check(parse(text).get("p"), "stays-in-range").outcome == "fails"
    assert wb.check(parse(text).get("q"), "stays-in-range").outcome == "holds"


def test_what_converges_may_be_as_wide_as_it_likes() -> None:
    """Values in -5..5 that change their sign: nothing grows."""
    flipped = Function("flipped", 2, lambda total, x: MIN(SUB(0, total), ADD(x, 5)))
    (domain,) = typed(Window(10**9, Cumulate(flipped, 5)), Range(0, 0)).results((Range(0, 0),))
    assert domain == Range(-5, 5)


# --- casts ---

SOURCES = (Range(0, 9), Range(-4, 4), Integer(8), Integer(8, Overflowing.SATURATING), Integer(8, Overflowing.CHECKED))
TARGETS = (Range(0, 3), Range(2, 5), Range(-2, 2), Range(6, 20))


@pytest.mark.parametrize("source", SOURCES, ids=str)
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_a_cast_into_a_range_keeps_what_is_in_it(source: Range | Integer, target: Range) -> None:
    cast = typed(Cast(target), source)
    for value in source.values():
        if value in target:
            assert stepped(cast, ([value],)) == machined(cast, (source,), ([value],)) == ([value],)
            continue
        with pytest.raises(Overflow, match=rf"{value} leaves the domain {target}\n  hint: choose a larger range"):
            stepped(cast, ([value],))
        with pytest.raises(Overflow):
            cast.denote(([value],))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("engine", ["explicit", "pynusmv"])
def test_a_model_flags_what_is_not_in_it(target: Range, engine: str) -> None:
    pipeline = wb.parse(f"pipeline p(x: -4..4) -> {target} {{ return cast(x, {target}) }}").get().pipeline
    prop = wb.properties.property_from(
        wb.properties.parse_property(f"always (out >= {target.lo} and out <= {target.hi})")
    )
    verdict = wb.check(pipeline, prop, wb.Settings(engine=engine))
    assert verdict.outcome == "holds-within-bounds"
    assert verdict.witness is not None
    last = verdict.witness.steps[-1].inputs["x"]
    assert last not in target
    assert verdict.witness.replay == "confirmed by execution"
    inside = [value for value in range(-4, 5) if value in target]
    for value in inside:
        found = wb.check(
            pipeline,
            wb.properties.property_from(wb.properties.parse_property(f"always (out != {value})")),
            wb.Settings(),
        )
        assert found.outcome == "fails"


def test_a_cast_that_always_fits_is_not_checked() -> None:
    pipeline = (
        wb.parse("""
        pipeline average(x: 0..100) -> 0..100 { return cast(window(x, 5, cumulate(+)) div 5, 0..100) }
    """)
        .get()
        .pipeline
    )
    prop = wb.properties.property_from(wb.properties.parse_property("always (out <= 100)"))
    verdict = wb.check(pipeline, prop)
    assert verdict.outcome == "holds"
    assert not any("checked" in line for line in verdict.rests_on)
