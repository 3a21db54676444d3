"""Pipelines written as Python functions: the types of their inputs, and the lines of their mistakes."""

from __future__ import annotations

import copy
import re
from typing import Any, Literal

import pytest

import workbench as wb
from workbench import BuiltStream
from workbench.core.domain import BOOL, FLOAT, INT, STR, Enum, Range
from workbench.core.fields import Nullable
from workbench.errors import LanguageError, PipelineError, Refused, TypingError, UnknownAttribute, WorkbenchError

TYPES = [
    (bool, BOOL), (int, INT), (float, FLOAT), (str, STR), (wb.STR, STR), (wb.Range(0, 50), Range(0, 50)),
    (Literal["a", "b"], Enum(("a", "b"))), (float | None, Nullable(FLOAT)), (Any, INT), (BuiltStream, INT),
    ("float", FLOAT), ("wb.Range(0, 50)", Range(0, 50)), ("types.BuiltStream", INT),
]  # fmt: skip
"""Annotations, as objects or as texts, and their domains."""


def annotated(annotation: Any, **more: Any) -> Any:
    def copy(x):
        return x

    copy.__annotations__ = {"x": annotation, **more}
    return copy


@pytest.mark.parametrize(("annotation", "domain"), TYPES, ids=lambda each: str(each))
def test_an_annotation_is_the_type_of_an_input(annotation, domain):
    assert wb.pipeline(annotated(annotation)).input_domains == (domain,)
    assert wb.pipeline(x=domain)(annotated(annotation if domain != INT else Any)).input_domains == (domain,)


@pytest.mark.parametrize("hint", [bool, int, float, str])
def test_a_keyword_may_be_a_type_of_python(hint):
    assert wb.pipeline(x=hint)(lambda x: x).inputs == wb.pipeline(annotated(hint)).inputs


def test_a_pipeline_needs_no_parentheses():
    @wb.pipeline
    def one(x: float, y):
        """Doc."""
        return x, y

    @wb.pipeline()
    def two(x: float, y):
        """Doc."""
        return x, y

    assert repr(one) == "<one(x: float, y: int) -> out1: float, out2: int, 0 processors>"
    assert repr(two) == repr(one).replace("one", "two", 1)
    assert one.doc == two.doc == "Doc."


@pytest.mark.parametrize("annotation", ["garbage", "0..50", 5, "Range(0, n)", list, "list[int]", int | str, range(3)])
def test_an_annotation_that_is_no_type_is_refused(annotation):
    with pytest.raises(TypingError) as error:
        wb.pipeline(annotated(annotation))
    assert error.value.what == f"pipeline copy has the annotation x: {annotation!r}, which is no type"
    proposals = re.findall(r"x: (wb\.[^,]*, \d+\)|\w+)", error.value.hint)
    assert proposals == ["int", "wb.Range(0, 50)"]
    for each in proposals:
        wb.pipeline(annotated(each))


def test_a_keyword_and_an_annotation_agree():
    with pytest.raises(TypingError, match=r"annotation x: float, and the keyword x=int\n  hint: write the type"):
        wb.pipeline(x=wb.INT)(annotated(float))


def test_an_unknown_keyword_is_refused():
    with pytest.raises(PipelineError, match=r"pipeline copy has no input 'xx'\n  hint: did you mean 'x'\?"):
        wb.pipeline(xx=wb.INT)(annotated(int))


@pytest.mark.parametrize(
    ("result", "wrong"), [(int, ""), (wb.ANY, ""), (BuiltStream, ""), ("Garbage", ""), (float, "float"), (str, "str")]
)
def test_a_type_of_the_result_is_checked(result, wrong):
    """An annotation for editors is not."""
    copy = annotated(wb.Range(0, 3), **{"return": result})
    if not wrong:
        assert wb.pipeline(copy).out_arity == 1
        return
    with pytest.raises(TypingError, match=f"pipeline copy is annotated to return {wrong}, but it returns 0..3"):
        wb.pipeline(copy)


def test_what_is_no_function_is_refused():
    with pytest.raises(WorkbenchError, match=r"expected a function, not 5\n  hint: write @wb.pipeline above def"):
        wb.pipeline(5)  # type: ignore[call-overload]


@pytest.mark.parametrize(("name", "processor"), [("window", "Window"), ("trim", "Trim"), ("map", "Window")])
def test_a_stream_has_no_methods(name, processor):
    def f(x):
        return getattr(x, name)(5)

    with pytest.raises(UnknownAttribute, match=rf"^<stream x of pipeline f> has no attribute '{name}'\n") as error:
        wb.pipeline(f)
    assert error.value.hint == f"apply a processor to it: wb.processors.{processor}(...)(x)"
    assert hasattr(wb.processors, processor)


def test_a_stream_in_place_of_a_width_has_a_hint():
    """`window(x, 3, ...)` of the language is `Window(3, ...)(x)` in Python."""
    with pytest.raises(PipelineError, match="not <stream x of pipeline <lambda>>") as error:
        wb.pipeline(lambda x: wb.processors.Window(x, wb.processors.Cumulate(wb.functions.ADD)))
    assert "wb.processors.Window(3, ...)(x)" in error.value.hint


def test_streams_are_copied():
    assert wb.pipeline(lambda x: copy.copy(x)).outputs == wb.pipeline(lambda x: copy.deepcopy(x)).outputs


@pytest.mark.parametrize("inner", [sum, "+", wb.functions.ADD, wb.processors.Cumulate])
def test_what_is_no_processor_is_refused_in_a_window(inner):
    with pytest.raises(WorkbenchError, match=r"^the inner processor of a window: expected a Processor, not ") as error:
        wb.processors.Window(5, inner)
    (example,) = re.findall(r"wb\.[\w.]*\(wb\S*\)", error.value.hint)
    assert wb.processors.Window(5, eval(example))


def test_a_name_that_a_module_lacks_has_near_names():
    with pytest.raises(AttributeError, match=r"^workbench has no 'chek'\n  hint: did you mean 'check'\?$"):
        getattr(wb, "chek")  # noqa: B009
    with pytest.raises(AttributeError, match=r"^workbench.functions has no 'zz'\n  hint: there are: ABS, ADD, "):
        getattr(wb.functions, "zz")  # noqa: B009
    assert not hasattr(wb, "zz")


def test_names_of_a_property_are_checked_before_the_model():
    def half(x):
        return x / 2 > 1

    with pytest.raises(LanguageError, match=r"pipeline half has no pipe 'ut'(?s:.*)\n  hint: did you mean 'out'\?"):
        wb.check(wb.pipeline(half), "always (not ut)")
    with pytest.raises(Refused, match=r"a model has no fractions: divide whole numbers with div \(// in") as refused:
        wb.check(wb.pipeline(half), "always (not out)")
    inside = eval(re.search(r"wb\.functions\.Function\(.*?\)(?= in Python)", refused.value.hint)[0])  # type: ignore[index]
    for instead in (wb.pipeline(x=wb.Range(0, 9))(lambda x: x // 2 > 1), wb.pipeline(lambda x: inside(x))):
        assert wb.check(instead, "never(out)").outcome == "fails"
