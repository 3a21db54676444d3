"""Faults in the text: what they mean, and what can be wrong with them."""

import pytest

import workbench as wb
from workbench.errors import LanguageError, PipelineError, WorkbenchError
from workbench.language import parse
from workbench.language.parser import parse_file, parse_trouble
from workbench.processors.held.group import flatten


def test_they_belong_to_the_pipeline() -> None:
    source = parse("""
    function large(v) = v > 2
    pipeline channel<n = 2>(x: {a: int, ok: bool}) -> {a: int, ok: bool} {
        fault lose y at most n when large(y.a) and y.ok
        y = passthrough(x)
        return y
    }
    pipeline p(x: {a: int, ok: bool}) -> int {
        c = channel<n = 1>(x)
        return c.a
        fault duplicate c
        fault delay out by 1 + 1
    }""")
    assert [str(each) for each in source.get("channel", n=5).pipeline.faults] == [
        "lose y at most 5 when large(y.a) and y.ok"
    ]
    p = source.get("p").pipeline
    assert [str(each) for each in p.faults] == ["duplicate c", "delay out by 2"]
    flat = flatten(p)
    # `y` is what `c` is called inside; its own faults come first, and what is duplicated is wide from there on
    assert list(flat.oracles) == ["c.lost", "c.duplicated", "out.delayed", "out.delayed2"]
    running = wb.executors.Reference(p)
    lost, kept = {"x": (3, True), "c.lost": "lost"}, {"x": (3, False), "c.lost": "lost"}
    assert [running.step(events).outputs["out"] for events in (kept, lost, lost)] == [[3], [], [3]]


def test_pipes_inside_groups_can_be_faulty() -> None:
    source = parse("""
    pipeline inner(x: int) -> int { a = x + 1  return a * 2 }
    pipeline outer(x: int) -> int { i = inner(x) return i fault lose i.a }""")
    assert list(flatten(source.get().pipeline).oracles) == ["i.a.lost"]


def test_a_faulty_pipe_in_a_group_is_as_wide_as_what_feeds_it() -> None:
    source = parse("""
    pipeline inner(x: int) -> int { a = passthrough(x) fault lose a return a }
    pipeline outer(x: int) -> int { return inner(stutter(x, 2)) }""")
    running = wb.executors.Reference(source.get().pipeline)
    assert running.step({"x": 1, "inner.lost2": "lost"}).outputs == {"out": [1]}


def test_a_faulty_input_of_a_group_is_faulty_for_the_group_only() -> None:
    source = parse("""
    pipeline inner(x: int) -> int { return x * 2 fault lose x }
    pipeline outer(x: int) -> a: int, b: int { i = inner(x) return i, x + 1 }
    pipeline deep(x: int) -> int, int { a, b = outer(x) return a, b }""")
    for name, prefix, outputs in (("outer", "i", ("a", "b")), ("deep", "outer.i", ("out1", "out2"))):
        running = wb.executors.Reference(source.get(name).pipeline)
        shown = running.step({"x": 1, f"{prefix}.x.lost": "lost"}).outputs
        assert shown == dict(zip(outputs, ([], [2]), strict=True))
    assert wb.faults.faultless(source.get("deep").pipeline).denote([[1, 2]]) == ([2, 4], [2, 3])


def test_the_words_remain_names() -> None:
    loaded = parse("""
    pipeline p(by: int, when: int) -> int {
        fault = by + when
        lose = fault + 1
        return lose
        fault lose fault at most 2
        fault delay lose by 1 when lose = 3
        fault duplicate when when when = 3
    }""").get()
    assert [str(each) for each in loaded.pipeline.faults] == [
        "lose fault at most 2",
        "delay lose by 1 when lose = 3",
        "duplicate when when when = 3",
    ]


def test_statements_print_as_they_are_read() -> None:
    text = "fault delay a.b by k + 1 at most 2 when a.b > 1 and a.b != k"
    (pipeline,) = parse_file("pipeline p(x: int) -> int { return x " + text + " }").pipelines
    (statement,) = pipeline.faults
    assert str(statement) == text
    assert parse_trouble(text.removeprefix("fault ")) == statement


def test_labels_and_fields_that_look_like_oracles() -> None:
    source = parse("""
    pipeline p(x: {lost: bool, c: {red, green}}) -> bool {
        y = passthrough(x)
        return y.lost
        fault lose y when y.c = red and not y.lost
    }""")
    flat = flatten(source.get().pipeline)
    assert list(flat.oracles) == ["y.lost2"]
    running = wb.executors.Reference(flat)
    shown = [running.step({"x": (False, c), "y.lost2": "lost"}).outputs["out"] for c in ("red", "green")]
    assert shown == [[], [False]]


@pytest.mark.parametrize(
    ("statement", "column", "said"),
    [
        ("fault lose z", 14, "no pipe 'z'"),
        ("fault lose yy", 14, "did you mean 'y'?"),
        ("fault loose y", 9, "did you mean 'lose'?"),
        ("fault delay y", 9, "by 2, for at most 2 steps"),
        ("fault lose y by 2", 9, "takes no number of steps"),
        ("fault lose y at most 0", 24, "at least 1"),
        ("fault delay y by x", 20, "there is no 'x' here"),
        ("fault lose y when y + 1", 23, "is not a condition"),
        ("fault lose y when x > 1", 21, "reads its event, not 'x'"),
        ("fault lose y when y and true", 23, "bool"),
        ("fault lose y most 2", 21, "found '2'"),
    ],
)
def test_mistakes(statement: str, column: int, said: str) -> None:
    text = f"pipeline p(x: int) -> int {{\n  {statement}\n  y = x + 1\n  return y\n}}"
    with pytest.raises(WorkbenchError, match=said.replace("?", r"\?")) as caught:
        parse(text, "f.pipe").get()
    assert str(caught.value.where) == f"f.pipe:2:{column}"


def test_a_fault_given_as_a_text() -> None:
    pipeline = parse("pipeline p(x: int) -> y: int { return x + 1 }").get().pipeline
    both = wb.faults.faulty(pipeline, "lose y at most 2", wb.faults.duplicate("x"))
    assert [str(each) for each in both.faults] == ["lose y at most 2", "duplicate x"]
    with pytest.raises(LanguageError, match="write lose y, or"):
        wb.faults.faulty(pipeline, "lose y when")


def test_no_fault_stands_in_a_window() -> None:
    source = parse("""
    pipeline sum(x: int) -> int { s = cumulate(x, +) return s fault lose s }
    pipeline p(x: int) -> int { return window(x, 2, sum) }""")
    with pytest.raises(PipelineError, match="has faults, and is used in a window"):
        source.get("p")
