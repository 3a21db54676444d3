"""How deep and how large a text may be: far more than anybody writes, and beyond that one error with its place."""

import sys
from typing import Any

import pytest

import workbench as wb
from workbench.core.domain import Enum, Integer
from workbench.errors import DomainError, LanguageError, PipelineError
from workbench.language.depth import DEPTH
from workbench.language.types import constants

NESTED: dict[str, tuple[str, str, list[Any], list[Any]]] = {
    "a sum": ("pipeline p(x: int) -> int {{ return {} }}", " + ".join(["x"] * 500), [3], [1500]),
    "nots": ("pipeline p(x: bool) -> bool {{ return {} }}", "not " * 1001 + "x", [True], [False]),
    "signs": ("pipeline p(x: int) -> int {{ return {} }}", "- " * 300 + "x", [3], [3]),
    "parentheses": ("pipeline p(x: int) -> int {{ return {} }}", "(" * 1900 + "x" + ")" * 1900, [3], [3]),
    "conditionals": ("pipeline p(x: int) -> int {{ return {} }}", "if x > 9 then 1 else " * 300 + "x", [3, 10], [3, 1]),
    "processors": ("pipeline p(x: int) -> int {{ return {} }}", "trim(" * 300 + "x" + ", 1)" * 300, [7] * 302, [7, 7]),
    "a constant": ("pipeline p(x: int) -> int {{ return x + {} }}", "(" + " + ".join(["1"] * 1900) + ")", [3], [1903]),
    "a function": (
        "function f(x) = {}\npipeline p(x: int) -> int {{ return f(x) }}", " + ".join(["x"] * 1900), [3], [5700],
    ),
    "a machine": (
        "machine p(x: int) -> bool {{ state a: false state b: true a -> b when {} > 9 }}", " + ".join(["x"] * 1900),
        [0, 1], [False, True],
    ),
}  # fmt: skip
"""A text, what is nested in it, and what it makes of some events."""


@pytest.mark.parametrize("case", NESTED)
def test_what_is_deep_works(case: str) -> None:
    text, nested, given, expected = NESTED[case]
    assert wb.parse(text.format(nested)).get().pipeline.denote([given]) == (expected,)


def test_a_deep_property() -> None:
    source = f"pipeline p(x: bool) -> bool {{ return not x }}\ncheck always ({'not ' * 1000}(out or not out))"
    loaded = wb.parse(source).get()
    assert wb.check(loaded.pipeline, wb.properties.property_from(loaded.checks[0])).outcome is wb.Outcome.HOLDS


def test_a_deep_type() -> None:
    port = wb.parse(f"pipeline p(x: {'(' * 200}int{',)' * 200}) -> bool {{ return x = x }}").get().pipeline.inputs[0][1]
    for _ in range(200):
        assert isinstance(port, wb.Tuple)
        (port,) = port.fields
    assert port == wb.INT


def test_a_deep_term_in_a_model() -> None:
    text, nested, *_ = NESTED["a function"]
    pipeline = wb.parse(text.format(nested)).get().pipeline
    system = wb.compose(pipeline.resolve(Integer(4)), 1)
    assert len(system.pipes) == 2


@pytest.mark.parametrize(
    ("nested", "column"),
    [
        ("(" * 50_000 + "x" + ")" * 50_000, 9 + (DEPTH - 1)),  # the brace is a level, too
        ("if(x > 1, 2, " * 100_000 + "x" + ")" * 100_000, 9 + 2 + 13 * (DEPTH - 1)),
        ("not " * (DEPTH + 1) + "x", None),
        (" + ".join(["x"] * (DEPTH + 2)), None),
    ],
    ids=["parentheses", "calls", "nots", "a sum"],
)
def test_beyond_it_there_is_one_error_with_its_place(nested: str, column: int | None) -> None:
    text = f"# ((((\npipeline p(x: bool) -> bool {{\n return {nested}\n}}"
    with pytest.raises(LanguageError, match=f"more than {DEPTH} levels deep") as error:
        wb.parse(text, "deep.pipe")
    where = error.value.where
    assert not isinstance(where, str)
    assert (where.file, where.line) == ("deep.pipe", 3)
    assert where.column == column if column else where.column > 8
    assert "names" in error.value.hint


def test_brackets_in_comments_and_texts_are_none() -> None:
    text = f'# {"(" * 3000}\npipeline p(x: str) -> bool {{ return x = "{"(" * 3000}" }}'
    assert wb.parse(text).get().pipeline.denote([["(" * 3000]]) == ([True],)


def test_a_number_of_many_digits() -> None:
    text = f"pipeline p(x: int) -> int {{\n    return x + {'7' * 5000}\n}}"
    with pytest.raises(LanguageError, match="a whole number has 5000 digits; at most 4300 can be read") as error:
        wb.parse(text, "long.pipe")
    assert str(error.value.where) == "long.pipe:2:16"
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        assert wb.parse(text).get().pipeline.denote([[1]]) == ([int("7" * 5000) + 1],)
    finally:
        sys.set_int_max_str_digits(before)


def test_events_that_no_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line doubles the size of the one before; what it would become is counted, not made."""
    monkeypatch.setattr("workbench.core.fields.MAX_SCALARS", 2_000)
    lines = [f"    a{i} = (a{i - 1}, a{i - 1})\n" for i in range(1, 30)]
    text = f"pipeline p(x: int) -> bool {{\n    a0 = x\n{''.join(lines)}    return a29 = a29\n}}"
    with pytest.raises(DomainError, match=r"an event of 2048 numbers.* it can hold 2000\b") as error:
        wb.parse(text, "wide.pipe").get()
    assert str(error.value.where) == "wide.pipe:13:11"
    assert len(error.value.message) < 1000


def test_pipelines_that_no_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.processors.held.group.MAXIMUM", 500)
    inner = [f"pipeline p{i}(x: int) -> int {{ return p{i - 1}(p{i - 1}(x)) }}\n" for i in range(1, 31)]
    text = f"pipeline p0(x: int) -> int {{ return x + 1 }}\n{''.join(inner)}"
    with pytest.raises(PipelineError, match="pipeline p9 has 512 processors, with those of the pipelines in it"):
        wb.parse(text).get()
    assert wb.parse(text).get("p8").pipeline.denote([[0]]) == ([256],)


def test_enumerations_are_read_in_time_that_their_labels_take() -> None:
    """Of which enumeration a label is, is known without a look at the other labels."""
    looked = []

    class Labels(tuple[str, ...]):
        def __contains__(self, label: object) -> bool:
            looked.append(label)
            return super().__contains__(label)

    kinds = [Enum(("red", "green")), Enum(("green", "blue"))]
    for kind in kinds:
        object.__setattr__(kind, "labels", Labels(kind.labels))
    found = constants(kinds)
    assert (found["red"].domain, found["blue"].domain) == (kinds[0], kinds[1])  # type: ignore[attr-defined]
    assert type(found["green"]) is str
    assert not looked
