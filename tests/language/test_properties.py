"""Checks in files and properties on the command line."""

import pytest

from workbench.errors import LanguageError
from workbench.language import PipelineReference, parse, parse_property
from workbench.language.properties import PROPERTIES, join_dotted
from workbench.language.syntax import Field, Identifier, Literal, Operation, Temporal

TEXT = """
pipeline other<k = 3>(x: int) -> int { return trim(x, k) }
pipeline p<k = 3>(x: int) -> int {
    check liveness
    count = cumulate(x, +)
    check bounded-liveness(k + 1)
    return trim(count, k)
    check no-overflow
}
check always (out.present
              -> count >= k)   # parameters are constants
check ltl(G F x.present -> G F out.present)
check equivalent(other<k = k>)
check stepwise-equivalent(other)
"""


def test_checks_apply_to_the_pipeline_above():
    source = parse(TEXT)
    assert source.get("other").checks == ()
    assert [c.text for c in source.get("p").checks] == [
        "liveness",
        "bounded-liveness(k + 1)",
        "no-overflow",
        "always (out.present -> count >= k)",
        "ltl(G F x.present -> G F out.present)",
        "equivalent(other<k = k>)",
        "stepwise-equivalent(other)",
    ]
    assert [c.where.line for c in source.get("p").checks] == [4, 6, 8, 10, 12, 13, 14]


def test_arguments_are_read_with_the_parameters_of_the_pipeline():
    checks = {c.name: c.argument for c in parse(TEXT).get("p", k=5).checks}
    assert checks["liveness"] is None
    assert checks["bounded-liveness"] == 6
    assert checks["always"] == Operation(
        "->", (Field(Identifier("out"), "present"), Operation(">=", (Identifier("count"), Literal(5))))
    )
    assert checks["equivalent"] == PipelineReference("other", (("k", 5),))


def test_the_other_pipeline():
    loaded = parse(TEXT).get("p", k=1)
    reference = next(c.argument for c in loaded.checks if c.name == "equivalent")
    assert isinstance(reference, PipelineReference)
    assert loaded.other(reference).pipeline.denote([[1, 2, 3]]) == ([2, 3],)


OTHER = "pipeline other<k = 0>(x: int) -> int { return trim(x, k) }\npipeline p<k = 1>(x: int) -> int { return x }\n"


@pytest.mark.parametrize("written", ["other<k + 1>", "other<2>", "other<k = k + 1>"])
def test_parameters_of_the_other_pipeline_by_position_or_by_name(written):
    """As in a call; and they are computed from the parameters of the pipeline."""
    loaded = parse(f"{OTHER}check equivalent({written})").get()
    (check,) = loaded.checks
    assert isinstance(check.argument, PipelineReference)
    assert loaded.other(check.argument).pipeline.denote([[1, 2, 3]]) == ([3],)
    assert str(parse_property("equivalent(other<2>)").argument) == "other<2>"


GIVEN = {
    "liveness": "liveness",
    "response": "response",
    "no-overflow": "no-overflow",
    "stays-in-range": "stays-in-range",
    "no-full-queues": "no-full-queues",
    "never-false": "never-false",
    "often-true": "often-true",
    "bounded-liveness": "bounded-liveness(3)",
    "always": "always(y >= 0)",
    "never": "never(y)",
    "can": "can(y >= 0)",
    "ctl": "ctl(AG EF out.present)",
    "ltl": "ltl(p U q)",
    "equivalent": "equivalent(other)",
    "stepwise-equivalent": "stepwise-equivalent(other<k=2>)",
    "approximates": "approximates(other)",
    "tolerates": "tolerates",
    "guarantee": "guarantee(1)",
    "meets": "meets(2)",
}


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_property_can_be_given_on_the_command_line(name):
    found = parse_property(GIVEN[name])
    assert found.name == name
    assert str(found) == GIVEN[name]
    assert (found.argument is None) == (PROPERTIES[name].argument is None)


def test_formulas():
    found = parse_property("ctl(AG (queue(add.left).length <= 2 -> A[overflow U g.add.present]))").argument
    assert isinstance(found, Temporal)
    assert str(found) == "AG (queue(add.left).length <= 2 -> A[overflow U g.add.present])"
    assert join_dotted(Field(Field(Identifier("g"), "add"), "present")) == "g.add.present"
    assert join_dotted(Field(Literal(1), "present")) is None


def test_the_place_of_a_mistake_on_the_command_line():
    with pytest.raises(LanguageError, match=r"<property>:1:11: expected an expression, found '\)'"):
        parse_property("always(y >)")
