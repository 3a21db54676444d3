"""Examining verdicts: vacuity, other bounds, and the arguments for every N and Q."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench import INT, Integer, Outcome, Settings, check, equiv, parse
from workbench.builder import Builder
from workbench.cli.output import block, short
from workbench.core.domain import BOOL
from workbench.core.function import user_function
from workbench.ir.compose import compose
from workbench.language import parse_property
from workbench.processors import ApplyFunction
from workbench.processors.held.group import flatten
from workbench.processors.moore import Moore, Transition
from workbench.verify.answer.check import _Conclusion
from workbench.verify.answer.examine import enough_values, examine, uses_python
from workbench.verify.answer.prepare import prepare
from workbench.verify.answer.verdict import Ground, Reliance
from workbench.verify.ask.labels import property_from

CONFIRMED, WEAK, UNKNOWN = Reliance.CONFIRMED, Reliance.WEAK, Reliance.UNKNOWN


def found(text: str, prop: str, **options: Any) -> dict[str, Ground]:
    """What examining one property of a pipeline finds, by aspect."""
    verdict = examine(check(parse(text).get(), prop, Settings(**options)))
    return {item.kind: item for item in verdict.examined}


def test_briefly_only_the_bounds_are_tried() -> None:
    """Modulo 4 no number twice is 1, modulo 5 three twice is; a queue is never longer than the delay."""
    source = "pipeline p(x: int) -> int { return x + trim(x, 1) }"
    verdict = check(parse(source).get(), "always (out.present or x + x != 1)", Settings(n=4))
    kinds = {each.kind: each.finding for each in examine(verdict, brief=True).examined}
    assert kinds == {"N + 1": WEAK, "every Q": CONFIRMED}
    lines = block(examine(verdict, brief=True)).splitlines()
    assert "    ! N = 4, modular integers; fails for N = 5" in lines
    assert "    ✓ Q = 2: no queue overflows on any run; larger queues change nothing" in lines
    assert "    - N = 4, modular integers" in block(verdict).splitlines()
    trivial = check(parse("pipeline p(x: int) -> int { return x }").get(), "no-overflow")
    assert examine(trivial, brief=True).examined == ()


def test_nothing_is_concluded_from_an_overflow_that_is_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the time ends between the property and the question whether a queue overflows."""
    monkeypatch.setattr(_Conclusion, "_happens", lambda self, role: None if role == "overflow" else False)
    verdict = check(
        parse("pipeline p(x: int) -> int { return x + trim(x, 1) }").get(), "never(out > 3)", Settings(n=4, grow=0.5)
    )
    assert verdict.outcome is Outcome.WITHIN_BOUNDS
    assert verdict.ground("overflow") is None
    assert "overflow undecided" in short(verdict)
    assert "every Q" not in {each.kind for each in examine(verdict).examined}


def test_what_guards_show_is_a_proof_and_not_vacuous() -> None:
    """Without the guard of a token bucket the same update leaves its range."""
    machine = "machine m(e: bool) -> bool {{ var n: 0..3 = 3\nstate s: true\ns -> s when {} / n := n - 1 }}"
    shown = check(parse(machine.format("e and n > 0")).get(), "stays-in-range")
    assert shown.rests_on == ("types and guards show that every update stays in its range: no engine was needed",)
    assert examine(shown).examined == ()
    assert check(parse(machine.format("e")).get(), "stays-in-range").outcome == "fails"
    trivial = check(parse("pipeline p(x: int) -> int { return x }").get(), "no-overflow")
    assert [each.kind for each in examine(trivial).examined] == ["vacuity"]


COUNT = "pipeline p(x: int) -> int { return cumulate(turn(x, 1), +) }"


@pytest.mark.parametrize(
    ("prop", "finding"),
    [
        ("always (out > 2 -> out = 3)", CONFIRMED),
        ("always (out > 3 -> out = 0)", WEAK),  # no value is larger than 3
        ("always (out = 1 -> (out = 2 -> out = 3))", WEAK),  # never both
        ("always (out = 1 -> out < 2 and (x.present -> out = 1))", CONFIRMED),
        ("ctl(AG (out > 3 -> EF out = 1))", WEAK),
        ("ltl(G (out = 3 -> X (out = 0 or not out.present)))", CONFIRMED),
        ("ltl(G F x.present -> G F out.present)", UNKNOWN),
        ("liveness", CONFIRMED),
    ],
)
def test_vacuity(prop: str, finding: Reliance) -> None:
    item = found(COUNT, prop, n=4)["vacuity"]
    assert item.finding is finding
    assert (item.witness is not None) == (finding is CONFIRMED)
    if item.witness is not None:
        assert item.witness.replay == "confirmed by execution"


def test_the_witness_against_vacuity_is_shortest() -> None:
    """The count is larger than 2 at the third step."""
    item = found(COUNT, "always (out > 2 -> out >= 3)")["vacuity"]
    assert item.witness is not None
    assert len(item.witness.steps) == 3
    assert "at step 2" in item.text


def test_an_invariant_of_values_that_never_come_is_vacuous() -> None:
    item = found("pipeline p(x: int) -> int { return filter(x, x < x) }", "always (out = 3)")["vacuity"]
    assert item.finding is WEAK


def test_a_response_without_output_is_not_shown_by_a_silent_pipeline() -> None:
    """`response` fails there, and a failing verdict is not examined for vacuity."""
    assert "vacuity" not in found("pipeline p(x: int) -> int { return filter(x, x < x) }", "response")


def test_an_equivalence_in_which_nothing_is_compared_is_vacuous() -> None:
    """A silent pipeline is sequence equivalent to every other, as in the paper, which says nothing."""
    source = parse("""
    pipeline silent(x: int) -> int { return filter(x, x < x) }
    pipeline loud(x: int) -> int { return x }
    """)
    verdict = examine(equiv(source.get("silent"), source.get("loud"), settings=Settings(q=2)))
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.vacuity is not None
    assert (verdict.vacuity.never, verdict.vacuity.bound) == ("no run on which 'same' compares two events", "Q = 2")


def test_one_more_value_can_change_everything() -> None:
    """Modulo 4 the parity of a count alternates for ever; modulo 5 it does not, where 4 is followed by 0."""
    text = """pipeline p(x: int) -> bool {
        count = cumulate(turn(x, 1), +)
        return even(count) != even(trim(count, 1))
    }"""
    items = found(text, "always (out)")
    assert items["N + 1"].finding is WEAK
    assert "fails for N = 5" in items["N + 1"].text
    assert items["arithmetic"].finding is WEAK
    assert items["every N"].finding is UNKNOWN


def test_one_more_place_can_change_everything() -> None:
    """In Figure 2a no queue of 2 is full before the fourth event has met the second; one of 3 is never full."""
    text = "pipeline p(x: int) -> int { return decimate(x, 3) + x }"
    items = found(text, "always (queue(add.right).length < 3)", q=2)
    assert items["Q + 1"].finding is WEAK
    assert "fails" in items["Q + 1"].text
    assert "every Q" not in items  # the formula speaks of the queue itself


def test_queues_that_fill() -> None:
    text = "pipeline p(x: int) -> int { return x + trim(x, 1) }"
    assert "add.left (1)" in found(text, "liveness", q=1)["queues"].text
    assert found(text, "liveness", q=1)["queues"].finding is CONFIRMED
    assert found(text, "liveness", q=2)["queues"].text == "none is ever full"
    assert found("pipeline p(x: int) -> int { return decimate(x, 3) + x }", "liveness")["queues"].finding is WEAK


def test_larger_queues() -> None:
    text = "pipeline p(x: int) -> int { return x + trim(x, 1) }"
    assert found(text, "no-overflow")["every Q"].finding is CONFIRMED
    # an overflow says nothing about larger queues: here there is none with Q = 1
    assert "every Q" not in found(text, "no-overflow", q=0)
    assert found(text, "no-overflow", q=0)["Q + 1"].finding is WEAK
    assert found(text, "always (out = 1)")["every Q"].finding is CONFIRMED


def test_nothing_to_examine() -> None:
    items = found("pipeline p(x: int) -> int { return x }", "no-overflow")
    assert [(item.kind, item.finding) for item in items.values()] == [("vacuity", WEAK)]


# --- every N -------------------------------------------------------------------------------------------------


def test_values_that_are_only_moved() -> None:
    """The oldest event, one waiting and one coming, and the 0 of empty slots: four values are enough."""
    item = found("pipeline p(x: int) -> bool { return x = trim(x, 1) }", "liveness", q=1)["every N"]
    assert "no value" in item.text  # liveness does not look at them
    item = found("pipeline p(x: int) -> bool { return x = trim(x, 1) }", "always (out)", q=1)["every N"]
    assert (item.finding, ">= 3" in item.text) == (CONFIRMED, True)


def test_too_few_values_are_made_enough() -> None:
    """Two different values are not enough to refute that some two of three successive events are equal."""
    text = """pipeline p(x: int) -> bool {
        second = trim(x, 1)
        return (x = second or second = trim(x, 2)) or x = trim(x, 2)
    }"""
    item = found(text, "always (out)", n=2)["every N"]
    assert item.finding is WEAK
    assert item.text.startswith("fails for N = ")


def test_functions_in_python_are_not_covered() -> None:
    large = user_function(lambda value: int(value >= 6), result=INT, name="large")
    builder = Builder("p")
    pipeline = builder.build(ApplyFunction(large)(builder.input("x", INT)))
    assert uses_python(pipeline.resolve(Integer(4)))
    assert not uses_python(parse(COUNT).get().pipeline)


def test_guards_in_python_are_not_covered() -> None:
    large = user_function(lambda value: value >= 6, result=BOOL, name="large")
    machine = Moore((("low", None), ("high", None)), (Transition("low", "high", large),))
    builder = Builder("p")
    pipeline = builder.build(machine(builder.input("x", INT)))
    assert uses_python(flatten(pipeline.resolve(Integer(4))))


moved = st.recursive(
    st.sampled_from(["x", "y"]),
    lambda e: st.one_of(
        st.builds("trim({}, 1)".format, e),
        st.builds("filter({}, {} = {})".format, e, e, e),
        st.builds("(if {} != {} then {} else {})".format, e, e, e, e),
    ),
    max_leaves=3,
)


@given(moved, moved, st.sampled_from(["=", "!="]))
@examples(12)
def test_enough_values_are_enough(left: str, right: str, sign: str) -> None:
    """Where the argument applies, more values do not change the outcome."""
    pipeline = parse(f"pipeline p(x: int, y: int) -> bool {{ return {left} {sign} {right} }}").get().pipeline
    prop = property_from(parse_property("always (out)"))
    given = Settings(q=1, n=2)
    prepared = prepare(flatten(pipeline.resolve(given.domain)), prop, given)
    enough = enough_values(prepared.model.system, prepared.question.formula.atoms(), given.domain)
    assert enough is not None
    outcomes = {check(pipeline, prop, Settings(q=1, n=n)).outcome for n in (max(enough, 1), enough + 1, enough + 2)}
    assert len(outcomes) == 1


def test_order_and_arithmetic_are_looking() -> None:
    for body in ("x < trim(x, 1)", "x + 1 = trim(x, 1)", "even(x)"):
        system = compose(
            flatten(parse(f"pipeline p(x: int) -> bool {{ return {body} }}").get().pipeline.resolve(Integer(4)))
        )
        assert enough_values(system, (), Integer(4)) is None


def test_a_verdict_without_a_run_refers_to_none() -> None:
    """That `can` fails has no counterexample: that no queue overflows is proved of all runs."""
    program = parse("pipeline p(x: 0..1) -> 0..2 { return x + trim(x, 1) }").get("p")
    verdict = examine(check(program, "can(out = 1 and x = 0 and x = 1)"))
    assert (verdict.outcome, verdict.counterexample) == (Outcome.FAILS, None)
    (every,) = [each.text for each in verdict.examined if each.kind == "every Q"]
    assert every.endswith("larger queues change nothing")
