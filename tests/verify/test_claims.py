"""A verdict claims no more than was decided: undecided range exits, sampled values, floats without fractions."""

from dataclasses import replace

import pytest

import workbench as wb
from workbench.smv.engines.engine import Answer
from workbench.tesla.check import parse_rules
from workbench.verify.answer.check import _Conclusion
from workbench.verify.answer.check_all import check_all
from workbench.verify.answer.examine import examine
from workbench.verify.answer.prepare import prepare
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.verdict import Outcome, grow
from workbench.verify.ask.environment import Environment
from workbench.verify.decide.part import Decision
from workbench.verify.rules.problems import rule_problem

OUT_OF_RANGE = """machine m(a: 0..3, b: 0..3) -> bool {
    var last: 0..3 = 0
    state s: false
    s -> s / last := a + b
}"""
TOGETHER = Settings(environment=Environment("synchronised"))


@pytest.mark.parametrize("ranges", [None, True])
def test_an_undecided_range_exit_is_a_bound(ranges):
    """A run ends where a number leaves its range, so what holds before is all that is known."""
    problem = wb.problem(wb.parse(OUT_OF_RANGE), "liveness", TOGETHER)
    prepared = prepare(*problem.pose(problem.fitting), problem.fitting)
    assert prepared.ranges
    answers = {name: Answer(True) for name in ("property", "overflow", "wraps", "clamps")}
    verdict = _Conclusion(prepared, Decision({**answers, "ranges": Answer(ranges)}, "none")).verdict()
    assert verdict.outcome is (Outcome.WITHIN_BOUNDS if ranges is None else Outcome.HOLDS)


def test_a_larger_model_that_says_less_is_left_out():
    bounded = wb.check(wb.parse(OUT_OF_RANGE), "liveness", replace(TOGETHER, q=2))
    assert bounded.outcome is Outcome.WITHIN_BOUNDS
    assert bounded.witness is not None
    assert grow(bounded, [lambda: replace(bounded, witness=None)], 5.0) is bounded


FRACTIONS = {
    "between": "return x > 0.2 and x < 0.8",  # 0.5
    "difference": "return trim(x, 1) - x > 0.5 and trim(x, 1) - x < 1",  # 0, then 0.7
    "square": "return x * x = 2.25",  # 1.5
    "sum": "return cumulate(x, +) = 0.5",  # 0.5
}


@pytest.mark.parametrize("body", FRACTIONS.values(), ids=FRACTIONS)
def test_whole_numbers_decide_nothing_about_fractions(body):
    """The output of each can be true, as the comment shows, and the model has whole numbers only."""
    source = wb.parse(f"pipeline p(x: float) -> bool {{ {body} }}")
    can, never = (wb.problem(source, f"{name}(out)") for name in ("can", "never"))
    for verdicts in ([can.decide(), never.decide()], [each for _, each in check_all([can, never], jobs=1)]):
        assert [each.outcome for each in verdicts] == [Outcome.UNKNOWN, Outcome.HOLDS]
        assert all(each.vacuity and "float = " in each.vacuity.bound for each in verdicts)
    (ground,) = (each for each in examine(verdicts[1]).examined if each.kind == "vacuity")
    assert str(ground).startswith("! vacuity: vacuous: ")
    assert not [each for each in examine(verdicts[1]).examined if "compared for equality" in each.text]


@pytest.mark.parametrize("body", ["return x > 30.5", "return trim(x, 1) > 0.5", "return x + 1 > 7"])
def test_whole_numbers_suffice_for_a_threshold(body):
    source = wb.parse(f"pipeline p(x: float) -> bool {{ {body} }}")
    assert wb.check(source, "can(out)").outcome is Outcome.HOLDS
    assert wb.check(source, "never(out)").outcome is Outcome.FAILS


COMPUTING = """declare R(v: int) declare Up(v: int)
rule up: from R as Now and last R as Prev within 1 min from Now where Now.v > 5 and Now.v > Prev.v * 2 + 3
emit Up(v = Now.v)"""


def test_a_verdict_on_rules_that_compute_says_that_values_are_sampled():
    """Up.v is above 5, whatever values a model has."""
    strict = Settings({}, environment=Environment("one"), strict=True)
    computing, comparing = parse_rules(COMPUTING), parse_rules(COMPUTING.replace(" * 2 + 3", ""))
    for rules, text, code in (
        (computing, "never(Up)", 1),
        (computing, "always (Up.v > 5)", 3),
        (comparing, "always (Up.v > 5)", 0),
    ):
        verdict = rule_problem(rules, text, settings=strict).decide()
        assert (bool(verdict.ground("sampled")), verdict.exit_code) == (code == 3, code)
