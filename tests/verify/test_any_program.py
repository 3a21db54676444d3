"""What the functions of the API accept as a program, and what they say about anything else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.errors import InputError, PipelineError

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
        (None, "pass a pipeline"),
        (42, "pass a pipeline"),
        ([1], "pass a pipeline"),
        (lambda x: x, "@wb.pipeline"),
    ]
    for other, hint in advice:
        with pytest.raises(PipelineError, match="expected a program") as refused:
            function(other)
        assert hint in str(refused.value.hint)
    for text in (TEXT, RULES):
        with pytest.raises(InputError, match="the text of a program, not its file") as unread:
            function(text)
        assert "wb.parse" in str(unread.value.hint)


def test_a_file_may_have_a_name_with_braces(tmp_path: Path) -> None:
    (tmp_path / "{1}.pipe").write_text(TEXT)
    for reference in (f"{tmp_path}/{{1}}.pipe", f"{tmp_path}/{{1}}.pipe:p", tmp_path / "{1}.pipe"):
        assert wb.run(reference, {"x": [1]}) == {"out": [2]}
    with pytest.raises(InputError, match="the text of a program"):
        wb.load(f"pipeline p(x: int) -> int {{ return {' + '.join('x' * 400)} }}")  # longer than a name can be


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


@pytest.mark.parametrize("function", [*FUNCTIONS[:-3], lambda p, **more: wb.check(p, "liveness", **more),
                                      lambda p, **more: wb.equiv(p, p, **more), wb.problems])  # fmt: skip
def test_settings_are_no_keywords_of_their_own(function: Callable[..., Any]) -> None:
    program = wb.parse(TEXT).get()
    with pytest.raises(InputError, match=r" has no option 'engine'\n  hint: write settings=wb.Settings") as refused:
        function(program, q=1, engine="explicit")
    settings = eval(refused.value.hint.removeprefix("write settings="))
    assert settings == wb.Settings(q=1, engine="explicit")
    function(program, settings=settings)
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        function(program, foo=1)


def test_other_arguments_of_a_wrong_kind_are_refused() -> None:
    program = wb.parse(TEXT).get()
    wrong: Any
    for wrong in ({"q": 3}, 3):
        for function in (wb.constants, wb.dead_paths, wb.order, wb.states, wb.buffers):
            with pytest.raises(InputError, match="expected settings, not"):
                function(program, wrong)
        with pytest.raises(InputError, match="expected settings, not"):
            wb.check(program, "never(out = 1)", wrong)
        with pytest.raises(InputError, match="expected settings, not"):
            wb.equiv(program, program, settings=wrong)
    values: list[dict[str, Any]] = [
        {"q": "4"}, {"n": "4"}, {"n": True}, {"environment": "one"}, {"seconds": -1}, {"memory_mb": -5}, {"grow": -1},
        {"floats": 5}, {"texts": "abc"},
    ]  # fmt: skip
    for each in values:
        with pytest.raises(InputError, match=f"the setting {next(iter(each))} cannot be"):
            wb.Settings(**each)
    for source, output, unknown in (("z", "out", "input 'z'"), ("x", "z", "output 'z'")):
        with pytest.raises(InputError, match=f"there is no {unknown}"):
            wb.latency(program, source, output)
    wrong = 5
    for read in (wb.parse, wb.rules.parse_rules):
        with pytest.raises(InputError, match="expected a text, not 5"):
            read(wrong)
    limits: list[dict[str, Any]] = [{"seconds": -1}, {"memory_mb": 0}]
    for each in limits:
        with pytest.raises(InputError, match="cannot be"):
            wb.run(program, {"x": [1]}, **each)
    assert wb.check(program, "liveness", faults="lose x at most 1").outcome is wb.Outcome.HOLDS


def test_functions_of_verdicts_take_one_or_several_and_refuse_the_rest() -> None:
    verdict = wb.check(wb.parse(TEXT), "never(out = 2)")
    assert wb.explorer(verdict) == wb.explorer([verdict])
    assert wb.to_test(verdict) == wb.to_test((verdict,))
    functions: list[Callable[[Any], object]] = [wb.explorer, wb.to_test, wb.examine, wb.certificate]
    for function in functions:
        for other in (None, 3, TEXT, wb.parse(TEXT).get(), {"x": [1]}):
            with pytest.raises(InputError, match="expected a Verdict, not") as refused:
                function(other)
            assert "wb.check" in str(refused.value.hint)
    assert wb.render_timeline(verdict.run or wb.Trace(()))
    with pytest.raises(InputError, match="expected a Trace, not") as not_a_run:
        wb.render_timeline(verdict)  # type: ignore[arg-type]
    assert "verdict.run" in str(not_a_run.value.hint)


def test_a_count_is_a_whole_number() -> None:
    makers: list[Callable[[Any], object]] = [
        wb.processors.Trim, wb.processors.Prefix, wb.processors.Stutter, wb.processors.CountDecimate,
        wb.processors.Fork, wb.processors.Multiplex, wb.processors.Filter,
        lambda width: wb.processors.Window(width, wb.processors.Cumulate(wb.functions.ADD)),
    ]  # fmt: skip
    for make in makers:
        for wrong in (-1, 2.0, "2", None, True):
            with pytest.raises(PipelineError, match=f"a whole number of at least [012], not {wrong!r}"):
                make(wrong)


def test_executors_run_programs_only() -> None:
    makers: list[Callable[[Any], object]] = [
        wb.compose,
        wb.executors.Reference,
        wb.executors.Dataflow,
        wb.executors.Compiled,
    ]
    for make in makers:
        for other in ("p.pipe", None, wb.processors.Trim(1), wb.parse(TEXT)):
            with pytest.raises(PipelineError, match="expected a program"):
                make(other)
