"""Calls replaced by their contracts. Expected outcomes are argued from the bodies and their guarantees."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

import workbench as wb
from workbench.errors import InputError, PipelineError, Refused

PROGRAM = """
pipeline average<k = 12>(x: 0..100) -> 0..100 {
    guarantee out <= 100
    return window(x, k, cumulate(+)) div k
}

machine alarm(v: 0..100) -> bool {
    state off: false
    state on: true
    off -> on when v > 80
    on -> off when v < 60
}

pipeline monitored(x: 0..100) -> 0..100, bool {
    mean = average(x)
    rings = alarm(mean)
    return mean, rings
}

pipeline jump(x: 0..100) -> -100..100 {
    mean = average(x)
    return trim(mean, 1) - mean
}

pipeline twice(x: 0..100) -> bool, bool {
    both, one = monitored(x)
    other = alarm(average(both))
    return one, other
}
"""


def check(prop: str, abstract: list[str], name: str = "monitored", text: str = PROGRAM) -> wb.Verdict:
    return wb.check(wb.parse(text).get(name), prop, wb.Settings(abstract=abstract))


@pytest.mark.parametrize("name", ["average", "mean"])
def test_what_holds_for_the_contract_holds_for_the_body(name: str) -> None:
    verdict = check("always (mean < 60 -> not rings)", [name])  # whatever the mean is, the alarm has just seen it
    assert verdict.outcome == "holds"
    assert (
        "call 'mean' is replaced by guarantee out <= 100 of average, which its own check has to prove"
        in verdict.rests_on
    )


def test_a_run_of_the_contract_refutes_nothing() -> None:
    """The mean of twelve cannot rise from 0 to 100 at once, but its contract does not exclude it."""
    verdict = check("never (out = 100)", ["average"], "jump")
    assert (verdict.outcome, verdict.counterexample, verdict.ground("permitted")) == ("unknown", None, True)
    assert verdict.reason.startswith("a run that contracts permit shows the opposite")
    assert verdict.advice == (
        "a guarantee of average that excludes this run",
        "the bodies themselves: leave out --abstract",
    )
    [run] = [ground.witness for ground in verdict.grounds if ground.witness]
    values = [step.pipes["mean"] for step in run.steps]
    assert values[-2:] == [0, 100]
    smooth = PROGRAM.replace("guarantee out <= 100", "guarantee abs(out - trim(out, 1)) <= 9")
    assert check("never (out = 100)", ["average"], "jump", smooth).outcome == "holds"


def test_calls_inside_calls_are_replaced() -> None:
    verdict = check("always (other.present -> one.present or not one.present)", ["average"], "twice")
    assert verdict.outcome == "holds"
    verdict = check("never (one and other and both < 60)", ["average"], "twice")
    replaced = [text for text in verdict.rests_on if "is replaced by" in text]
    assert len(replaced) == 2
    assert any("'monitored.mean'" in text for text in replaced)


@pytest.mark.parametrize("prop", ["liveness", "no-overflow", "response"])
def test_other_properties_are_decided_with_the_bodies(prop: str) -> None:
    text = """
    pipeline half(x: 0..9) -> 0..9 { assume x < 6  guarantee out < 3  return x div 2 }
    pipeline p(y: 0..5) -> 0..9 { return half(cast(y, 0..9)) }
    """
    verdict = check(prop, ["half"], "p", text)
    assert verdict.outcome == "holds"
    assert not any("is replaced" in text for text in verdict.rests_on)


def test_queues_inside_a_call_are_not_left_out() -> None:
    text = """
    pipeline q(x: 0..9) -> 0..18 { guarantee out <= 18  return x + trim(x, 1) }
    pipeline p(y: 0..9) -> 0..18 { return q(y) }
    """
    settings = wb.Settings(abstract=["q"], q=1)
    program = wb.parse(text).get("p")
    assert wb.check(program, "no-full-queues", settings).outcome == "fails"  # the first event waits for the second
    assert wb.check(program, "no-overflow", settings).outcome == "holds"
    assert wb.check(program, "stays-in-range", settings).outcome == "holds"


def test_the_assumptions_of_a_replaced_call_are_proved_with_its_body() -> None:
    text = """
    pipeline half(x: 0..9) -> 0..9 { assume x < 6  guarantee out < 3  return x div 2 }
    pipeline p(y: 0..9) -> 0..9 { return half(y) }
    """
    settings = wb.Settings(abstract=["half"])
    verdicts = {each.text: str(each.decide().outcome) for each in wb.problems(wb.parse(text).get("p"), settings)}
    assert verdicts == {"meets assume x < 6 of half (call 'half', line 3)": "fails"}


def test_guarantees_that_nothing_meets_are_vacuous() -> None:
    text = """
    pipeline odd(x: 0..3) -> 0..3 { guarantee out > 3  return x }
    pipeline p(x: 0..3) -> 0..3 { return odd(x)  }
    """
    verdict = check("never (out = 2)", ["odd"], "p", text)
    assert verdict.outcome == "unknown"
    assert verdict.reason.startswith("vacuous: the assumptions contradict from step 0")


BODIES = {
    "several times in one step": "return stutter(x, 2)",
    "a fault may strike inside": "y = trim(x, 1)  fault lose y  return y + 0",
}


@pytest.mark.parametrize("reason", BODIES)
def test_calls_that_no_input_can_stand_for_are_refused(reason: str) -> None:
    text = f"""
    pipeline q(x: 0..3) -> 0..3 {{ guarantee out <= 3  {BODIES[reason]} }}
    pipeline p(x: 0..3) -> 0..3 {{ return q(x) }}
    """
    with pytest.raises(Refused, match=reason):
        check("never (out > 3)", ["q"], "p", text)


def test_names_and_settings_that_make_no_sense() -> None:
    with pytest.raises(PipelineError, match="does not call 'averag'") as raised:
        check("never (rings)", ["averag"])
    with pytest.raises(PipelineError, match="does not call 'averag'"):  # also where bodies decide
        check("liveness", ["averag"])
    assert raised.value.hint == "did you mean 'average'?"
    with pytest.raises(PipelineError, match="alarm guarantees nothing"):
        check("never (rings)", ["alarm"])
    with pytest.raises(InputError, match="inputs cannot be one"):
        wb.Settings(abstract=["average"], environment=wb.Environment("one"))


def test_a_certificate_is_about_the_abstraction(tmp_path: Path) -> None:
    (tmp_path / "p.pipe").write_text(PROGRAM)
    verdict = wb.check(
        f"{tmp_path}/p.pipe:monitored", "always (mean < 60 -> not rings)", wb.Settings(abstract=["average"])
    )
    (tmp_path / "proof.smt2").write_text(wb.certificate(verdict))
    assert len([*wb.check_certificate(tmp_path / "proof.smt2")]) == 1


# --- random programs: a proof with contracts is a proof with bodies -------------------------------------------

CALLED = {
    "return x": "out <= 3",
    "return min(x, 2)": "out <= 2",
    "return cast(3 - x, 0..3)": "out <= 3 and out >= 0",
    "return trim(x, 1)": "out <= 3",
    "return filter(x, x > 0)": "out > 0",
    "return decimate(x, 2)": "out <= 3",
    "return cast(max(x, trim(x, 1)), 0..3)": "out <= 3",
    "return cast(max(x, trim(x, 1)), 0..3) ": "out >= x",
    "return cast(x div 2, 0..3)": "out <= 1",
}
CALLERS = (
    "y = q(x)  return y",
    "y = q(x)  return cast(min(y + x, 3), 0..3)",
    "y = q(cast(q(x), 0..3))  return y",
    "z = filter(x, x < 2)  y = q(z)  return cast(max(y, trim(y, 1)), 0..3)",
    "y = q(x)  z = trim(y, 1)  return cast(max(z - y, 0), 0..3)",
)
PROPERTIES = (
    "never (out = {v})",
    "never (out > {v})",
    "always (out <= {v})",
    "always (y <= {v})",
    "can(out = {v})",
    "always (y.present -> x.present)",
)


def program(random: Random) -> tuple[str, str]:
    body, guarantee = random.choice([*CALLED.items()])
    text = f"""
    pipeline q(x: 0..3) -> 0..3 {{ guarantee {guarantee}  {body} }}
    pipeline p(x: 0..3) -> 0..3 {{ {random.choice(CALLERS)} }}
    """
    return text, random.choice(PROPERTIES).format(v=random.choice((0, 1, 2, 2, 3, 3)))


def compare(seed: int) -> str:
    text, prop = program(Random(seed))
    source = wb.parse(text)
    assert str(wb.check(source.get("q"), "guarantee(1)").outcome) != "fails", text
    whole = wb.check(source.get("p"), prop, wb.Settings(engine="explicit")).outcome
    abstract = check(prop, ["q"], "p", text).outcome
    proved = {"holds": "fails", "holds-within-bounds": "fails", "fails": "holds"}
    assert str(whole) != proved.get(str(abstract)), (text, prop, whole, abstract)
    return str(abstract)


def test_random_abstractions_prove_nothing_wrong() -> None:
    outcomes = Counter(compare(seed) for seed in range(16))
    assert min(outcomes["holds"], outcomes["unknown"]) > 0


@pytest.mark.slow
def test_more_random_abstractions_prove_nothing_wrong() -> None:
    for seed in range(1000, 1300):
        compare(seed)
