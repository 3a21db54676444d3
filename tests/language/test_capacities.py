"""Capacities in the text: what they mean, what can be wrong with them, and writing them."""

import pytest

from workbench.errors import LanguageError
from workbench.language import parse
from workbench.language.annotate import annotate
from workbench.language.parser import parse_expression, parse_file
from workbench.processors.held.group import flatten


def test_they_belong_to_the_pipeline() -> None:
    text = """
    pipeline inner<k = 2>(x: int) -> int {
        capacity queue(add.left) = k + 1
        return x + trim(x, k)
    }
    pipeline outer(x: int) -> int { i = inner<k = 4>(x) return i check liveness capacity queue(i.add.right) = 0 }
    """
    source = parse(text)
    assert source.get("inner").pipeline.capacities == {"add.left": 3}
    assert source.get("inner", k=7).pipeline.capacities == {"add.left": 8}
    assert source.get("outer").pipeline.capacities == {"i.add.right": 0}
    assert flatten(source.get("outer").pipeline).capacities == {"i.add.left": 5, "i.add.right": 0}


def test_the_words_remain_names() -> None:
    pipeline = parse("""
    pipeline p(queue: int) -> int {
        capacity = queue + 1
        return capacity + trim(capacity, 1)
        capacity queue(add.left) = 1
    }""").get()
    assert pipeline.pipeline.capacities == {"add.left": 1}
    assert "capacity" in pipeline.pipeline.domains


def test_statements_print_as_they_are_read() -> None:
    text = "capacity queue(a.b.in1) = k * (2 - 1)"
    (pipeline,) = parse_file("pipeline p(x: int) -> int { return x " + text + " }").pipelines
    (statement,) = pipeline.capacities
    assert str(statement) == text
    assert statement.size == parse_expression("k * (2 - 1)")


@pytest.mark.parametrize(
    ("statement", "column", "said"),
    [
        ("capacity queue(ad.left) = 3", 18, "no queue 'ad.left'"),
        ("capacity queue(add.left) = 0 - 1", 32, "not -1"),
        ("capacity queue(add.left) = true", 30, "not true"),
        ("capacity queue(add.left) = x", 30, "not a stream"),
        ("capacity queue(add.left) = y", 30, "'y'"),
        ("capacity queue(add.left) 3", 28, "expected '=', found '3'"),
        ("capacity queue(add.left) = 1 capacity queue(add.left) = 2", 47, "given twice"),
    ],
)
def test_mistakes(statement: str, column: int, said: str) -> None:
    text = f"pipeline p(x: int) -> int {{\n  {statement}\n  return x + trim(x, 1)\n}}"
    with pytest.raises(LanguageError) as caught:
        parse(text, "p.pipe").get()
    assert said in str(caught.value)
    assert (caught.value.where.line, caught.value.where.column) == (2, column)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{ return x + trim(x, 1) }", "{ return x + trim(x, 1) capacity queue(add.left) = 1 }"),
        ("{return x + trim(x, 1)}", "{return x + trim(x, 1) capacity queue(add.left) = 1 }"),
        ("{\n  return x + trim(x, 1) # }\n}", "{\n  return x + trim(x, 1) # }\n  capacity queue(add.left) = 1\n}"),
        ("{\nreturn x + trim(x, 1)\n}  # end", "{\nreturn x + trim(x, 1)\n    capacity queue(add.left) = 1\n}  # end"),
        (
            "{ capacity queue( add . left )=9 return x + trim(x, 1) }",
            "{ capacity queue( add . left )=1 return x + trim(x, 1) }",
        ),
        (
            "{ capacity queue(add.left) = 2 - 1 return x + trim(x, 1) }",  # says it already
            "{ capacity queue(add.left) = 2 - 1 return x + trim(x, 1) }",
        ),
        (
            "{ capacity queue(add.right) = 5 return x + trim(x, 1) }",
            "{ capacity queue(add.right) = 5 return x + trim(x, 1) capacity queue(add.left) = 1 }",
        ),
    ],
)
def test_writing(before: str, after: str) -> None:
    """Only the pipeline that is meant is changed."""
    frame = "# {{ }}\npipeline p(x: int) -> int {}\npipeline q(x: int) -> int {{ return x + trim(x, 1) }}"
    source = parse(frame.format(before))
    written = annotate(source, "p", {"add.left": 1})
    assert written == frame.format(after)
    assert parse(written).get("p").pipeline.capacities["add.left"] == 1


def test_writing_what_is_not_there() -> None:
    with pytest.raises(LanguageError, match=r"no queue 'sub\.left'"):
        annotate(parse("pipeline p(x: int) -> int { return x + trim(x, 1) }"), None, {"sub.left": 1})
