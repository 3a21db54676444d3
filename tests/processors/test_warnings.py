"""`div` of floats, and patterns that escape: where they are warned of, and that the remedies silence the warning."""

import pytest

import workbench as wb
from workbench.processors.held.warnings import state_warnings, term_warnings

TEXT = """
function half(v) = v div 2
pipeline plain(x: float) -> float {{ return x {} 2 }}
pipeline literal(x: int) -> float {{ return x {} 2.0 }}
pipeline inner(x: float) -> float {{ return cumulate({}, +) }}
pipeline window(x: float) -> float {{ return window(x, 2, plain) }}
machine m(x: float) -> float {{
    var f: float = 0.0
    state a: f {} 2
    a -> a when x > 3 / f := x
}}
pipeline machine_in_it(x: float) -> float {{ return m(x) }}
"""
MEANT = """
pipeline whole(x: int, r: -3..3) -> int {{ return x div 2 + r div 2 }}
pipeline rest(x: float) -> float {{ return x mod 2 }}
pipeline divided(x: float, y: int) -> float {{ return floor(x / y) }}
"""


@pytest.mark.parametrize(
    ("name", "line", "at"),
    [
        ("plain", 3, "div"),
        ("literal", 4, "div"),
        ("inner", 5, "half"),
        ("window", 3, "div"),
        ("machine_in_it", 7, "m("),
    ],
)
def test_a_division_that_rounds_floats_down_is_warned_of(name: str, line: int, at: str) -> None:
    text = TEXT.format("div", "div", "half(x)", "div")
    (warning,) = term_warnings(wb.parse(text).get(name).pipeline)
    place = f"<text>:{line}:{text.splitlines()[line - 1].index(at) + 1}"
    assert str(warning).startswith(f"{place}: 'div' of floats rounds down: 7.5 div 2 is 3.0")
    assert warning.hint == "write x / y for the quotient, floor(x / y) to round it down"
    mended = wb.parse(TEXT.format("/", "/", "floor(x / 2)", "/"))
    assert not term_warnings(mended.get(name).pipeline)


@pytest.mark.parametrize("name", ["whole", "rest", "divided"])
def test_other_divisions_are_not(name: str) -> None:
    assert not term_warnings(wb.parse(MEANT.format()).get(name).pipeline)


def test_it_rounds_down_as_before(caplog: pytest.LogCaptureFixture) -> None:
    program = wb.parse(TEXT.format("div", "div", "half(x)", "div")).get("plain")
    assert wb.run(program, [{"x": 7.5}, {"x": -7.5}]) == [{"out": 3.0}, {"out": -4.0}]
    assert "'div' of floats rounds down" in caplog.text


def test_python_means_it() -> None:
    """`//` of Python's floats rounds down, too."""

    assert not term_warnings(wb.pipeline(x=wb.FLOAT)(lambda x: x // 2).pipeline)


def matching(pattern: str) -> wb.Source:
    return wb.parse(
        f'function found(s) = not matches(s, "{pattern}")\npipeline p(s: str) -> bool {{ return found(s) }}'
    )


@pytest.mark.parametrize("pattern", [r"\\bdisk\\b", r"^a \\d+", r"(\\w+)"])
def test_a_backslash_that_is_escaped_is_warned_of(pattern: str) -> None:
    (warning,) = term_warnings(matching(pattern).get().pipeline)
    assert str(warning).startswith("<text>:2:37: '\\\\' in a pattern is one backslash of the log")
    assert not term_warnings(matching(pattern.replace("\\\\", "\\")).get().pipeline)


@pytest.mark.parametrize("pattern", [r"C:\\Users", r"[\\]bin", r"\bdisk\b", "disk"])
def test_other_patterns_are_not(pattern: str) -> None:
    assert not term_warnings(matching(pattern).get().pipeline)


def test_patterns_mean_what_is_written(caplog: pytest.LogCaptureFixture) -> None:
    """A text has no escapes: two backslashes are those of the regular expression, one of the log."""
    log = {"s": ["a disk is full", r"a \bdisk\b"]}
    assert wb.run(matching(r"\\bdisk\\b").get(), log) == {"out": [True, False]}
    assert "in a pattern is one backslash" in caplog.text
    assert wb.run(matching(r"\bdisk\b").get(), log) == {"out": [False, True]}


def test_states_that_nothing_leads_to_are_warned_of() -> None:
    text = """
    machine door(go: bool) -> int {
        state closed: 0
        state opening: 1
        state open: 2
        state jammed: 3
        closed -> opening when go
        opening -> open when go
        open -> closed when not go
        jammed -> closed when go
    }
    pipeline inside(go: bool) -> int { return door(go) }
    """
    (warning,) = state_warnings(wb.parse(text).get("inside").pipeline)
    assert warning.what == "state 'jammed' is never entered: no transitions lead from 'closed' to it"
    assert getattr(warning.where, "line", 0) == 6
    mended = text.replace("open -> closed when not go", "open -> closed when not go\n open -> jammed")
    assert [*state_warnings(wb.parse(mended).get("door").pipeline)] == []
