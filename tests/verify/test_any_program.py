"""What the functions of the API accept as a program, and what they say about anything else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.errors import InputError

TEXT = "pipeline p(x: 0..3) -> 1..4 { return x + 1 }"
RULES = "declare A(x: int)\ndeclare B(x: int)\nfrom A(x > 3) as T emit B(x = T.x)"
FUNCTIONS: list[Callable[[Any], object]] = [
    wb.buffers, wb.constants, wb.dead_paths, wb.latencies, wb.longest_silence, wb.order, wb.states,
    lambda program: wb.check(program, "never(out)"), lambda program: wb.equiv(program, program),
    lambda program: wb.run(program, {"x": [1]}),
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_program_is_given_in_four_ways(function: Callable[[Any], object], tmp_path: Path) -> None:
    (tmp_path / "p.pipe").write_text(TEXT)
    source = wb.parse(TEXT, str(tmp_path / "p.pipe"))
    ways = [source, source.get(), tmp_path / "p.pipe", f"{tmp_path}/p.pipe:p"]
    assert len({str(function(way)) for way in ways}) == 1


@pytest.mark.parametrize("function", FUNCTIONS)
def test_anything_else_is_refused(function: Callable[[Any], object]) -> None:
    advice = [
        (None, "give a pipeline"),
        (42, "give a pipeline"),
        ([1], "give a pipeline"),
        (lambda x: x, "@wb.pipeline"),
    ]
    for other, hint in advice:
        with pytest.raises(InputError, match="a program is expected") as refused:
            function(other)
        assert hint in str(refused.value.hint)
    for text in (TEXT, RULES):
        with pytest.raises(InputError, match="the text of a program, not its file") as refused:
            function(text)
        assert "wb.parse" in str(refused.value.hint)


def test_rules_are_checked_and_compared_like_pipelines(tmp_path: Path) -> None:
    (tmp_path / "b.tesla").write_text(RULES)
    rules = wb.rules.parse_rules(RULES)
    stricter = wb.rules.parse_rules(RULES.replace("3", "4"))
    for program in (rules, tmp_path / "b.tesla"):
        verdict = wb.check(program, "never(B)")
        assert verdict.outcome is wb.Outcome.FAILS
        assert verdict.counterexample is not None
        (step,) = verdict.counterexample.steps
        (x,) = step.inputs["A"]
        assert x > 3
        assert wb.equiv(program, rules).outcome is wb.Outcome.HOLDS
        difference = wb.equiv(program, stricter).counterexample
        assert difference is not None
        assert difference.steps[-1].inputs["A"] == (4,)  # the only value that just one of the conditions admits
    assert [each.decide().outcome for each in wb.problems(rules, more=["can(B)"])] == [wb.Outcome.HOLDS]
    with pytest.raises(InputError, match="rules have no faults"):
        wb.check(rules, "never(B)", faults=["lose A at most 1"])


def test_settings_bound_models_of_rules() -> None:
    needs_three = wb.rules.parse_rules("""
        declare A()
        declare D(n: int)
        from A() as T and $n = COUNT(A() within 10 s from T) where $n >= 3 emit D(n = $n)
    """)
    assert wb.check(needs_three, "never(D)").outcome is wb.Outcome.FAILS
    bounded = wb.check(needs_three, "never(D)", wb.Settings(q=1))  # one A is retained, and two more are needed
    assert bounded.outcome is wb.Outcome.UNKNOWN
    assert "Q = 1" in str(bounded)
    fractions = wb.Settings(rules=wb.rules.RuleBounds(tick=5 * 10**6))
    assert wb.check(needs_three, "never(D)", fractions).outcome is wb.Outcome.FAILS
