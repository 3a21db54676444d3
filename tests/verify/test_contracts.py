"""What contracts do to verdicts. Expected outcomes are argued from the conditions, case by case."""

import itertools

import pytest

import workbench as wb
from workbench.errors import DeadlockError, PipelineError
from workbench.verify.ask.environment import Arrivals, Environment


def verdicts(text: str, settings: wb.Settings | None = None) -> dict[str, str]:
    return {each.text: str(each.decide().outcome) for each in wb.problems(wb.parse(text), settings)}


ENGINES = ("explicit", "pynusmv")


@pytest.mark.parametrize("engine", ENGINES)
def test_guarantees_hold_on_runs_that_are_legal_up_to_them(engine: str) -> None:
    found = verdicts(
        """
        pipeline limited(x: 0..20) -> 0..20 {
            assume x <= 10
            assume x - trim(x, 1) <= 3
            guarantee out <= 10
            guarantee out < 10
            guarantee trim(out, 1) >= out - 3
            guarantee trim(out, 1) >= out - 2
            return x
            check always (x <= 10)
            check can(x = 11)
            check ltl(G x.present -> G out <= 10)
            check ltl(F x = 11)
        }""",
        wb.Settings(engine=engine),
    )
    assert found == {
        "guarantee out <= 10": "holds",  # x is at most 10
        "guarantee out < 10": "fails",  # x = 10 is legal
        "guarantee trim(out, 1) >= out - 3": "holds",  # the second assumption, the other way round
        "guarantee trim(out, 1) >= out - 2": "fails",  # 3 then 0
        "always (x <= 10)": "holds",
        "can(x = 11)": "fails",
        "ltl(G x.present -> G out <= 10)": "holds" if engine != "explicit" else "unknown",
        "ltl(F x = 11)": "fails",
    } | ({"ltl(F x = 11)": "unknown"} if engine == "explicit" else {})


def test_a_counterexample_is_legal_and_replayed() -> None:
    source = wb.parse(
        """
    pipeline p(x: 0..9) -> 0..99 {
        assume trim(x, 1) > x or x > 7
        guarantee out < 30
        return cast(cumulate(x, +, 0, 0..99), 0..99)
    }
    function add(a, b) = min(a + b, 99)
    """.replace("cumulate(x, +, 0, 0..99)", "cumulate(x, add, 0, 0..99)")
    )
    verdict = wb.check(source.get(), "guarantee(1)")
    assert verdict.outcome == "fails"
    assert verdict.counterexample.replay == "confirmed by execution"
    given = [step.inputs["x"] for step in verdict.counterexample.steps if "x" in step.inputs]
    assert all(later > earlier or earlier > 7 for earlier, later in itertools.pairwise(given))
    assert sum(given) >= 30
    assert "assume trim(x, 1) > x or x > 7" in verdict.rests_on


def test_only_assumptions_that_matter_are_rested_on() -> None:
    loaded = wb.parse("""
    pipeline p(x: 0..9, y: 0..9) -> bool, bool { assume x < 5  assume y < 5  return x < 5, y < 5 }""").get()
    assert [each for each in wb.check(loaded, "always (out1)").rests_on if "assume" in each] == ["assume x < 5"]
    together = wb.Settings(environment=Environment("synchronised"))
    rests_on = wb.check(loaded, "always (out1)", together).rests_on
    assert [each for each in rests_on if "assume" in each] == ["assume x < 5", "assume y < 5"]


@pytest.mark.parametrize(
    ("assumed", "step"),
    [
        ("assume x > 1 assume x < 1", 0),  # no number is both
        ("assume trim(x, 1) > x", 4),  # 0, 1, 2, 3 and no more
        ("assume x > 1 assume trim(x, 2) < 1", 2),  # from the third event on both apply
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_assumptions_that_contradict_each_other(assumed: str, step: int, engine: str) -> None:
    loaded = wb.parse(f"pipeline p(x: 0..3) -> bool {{ {assumed} guarantee out return x < 4 }}").get()
    cases: list[tuple[str, Arrivals]] = [("guarantee(1)", "free"), ("liveness", "free"), ("guarantee(1)", "always")]
    for asked, arrivals in cases:
        verdict = wb.check(loaded, asked, wb.Settings(engine=engine, environment=Environment(arrivals)))
        assert verdict.reason == (
            f"vacuous: the assumptions contradict from step {step} on: no event on 'x' meets them there"
        )
        assert verdict.exit_code == 3


def test_what_nothing_contradicts_is_not_vacuous() -> None:
    loaded = wb.parse("pipeline p(x: 0..3) -> bool { assume trim(x, 1) != x guarantee out return x < 4 }").get()
    assert wb.check(loaded, "guarantee(1)").outcome == "holds"


def test_a_state_without_a_legal_event() -> None:
    # after 3 nothing is legal, but 0 and 1 may come for ever
    loaded = wb.parse("pipeline p(x: 0..3) -> bool { assume trim(x, 1) > x or x < 2 return x < 4 }").get()
    assert wb.check(loaded, "always (out)").outcome == "holds"
    silent = wb.check(loaded, "liveness")
    assert silent.outcome == "fails"
    assert [step.inputs["x"] for step in silent.counterexample.steps if step.inputs][-1] == 3
    with pytest.raises(DeadlockError, match="in some state no events meet the assumptions"):
        wb.check(loaded, "always (out)", wb.Settings(engine="pynusmv", environment=Environment("always")))


def test_callers_meet_the_assumptions_of_what_they_use() -> None:
    found = verdicts("""
    pipeline inner(x: 0..20) -> 0..20 { assume x - trim(x, 1) <= 3  return x }
    pipeline rises(y: 0..20) -> 0..20 { assume trim(y, 1) >= y  i = inner(y)  return i }
    pipeline falls(y: 0..20) -> 0..20 { assume trim(y, 1) <= y  i = inner(y)  return i }
    pipeline deep(y: 0..20) -> 0..20 { r = rises(y)  return r }""")
    assert found == {
        "meets assume x - trim(x, 1) <= 3 of inner (call 'i', line 3)": "holds",  # what rises does not fall by 4
        "meets assume x - trim(x, 1) <= 3 of inner (call 'i', line 4)": "fails",
        "meets assume trim(y, 1) >= y of rises (call 'r', line 5)": "fails",
        "meets assume x - trim(x, 1) <= 3 of inner (call 'r.i', line 5)": "fails",
    }


def test_comparisons_are_about_the_assumptions_of_both() -> None:
    text = """
    pipeline low(x: 0..9) -> 0..9 {{ {} x < 5  return x }}
    pipeline cut(y: 0..9) -> 0..9 {{ {} y < 7  return cast(min(y, 4), 0..9) }}"""
    both, one, none = (wb.parse(text.format(*each)) for each in (
        ("assume", "assume"), ("guarantee", "assume"), ("guarantee", "guarantee"),
    ))  # fmt: skip
    for mode in ("sequence", "stepwise"):
        outcomes = [wb.equiv(each.get("low"), each.get("cut"), mode) for each in (both, one, none)]
        assert [each.outcome for each in outcomes] == ["holds", "fails", "fails"]
        assert {"assume x < 5", "assume y < 7"} <= {*outcomes[0].rests_on}
        assert outcomes[1].counterexample.steps[-1].inputs["x"] in (5, 6)  # legal for `cut`


def test_queues_of_contracts_are_not_those_of_the_pipeline() -> None:
    loaded = wb.parse("""
    pipeline p(x: 0..3, y: 0..3) -> 0..6 {
        assume trim(x, 3) >= x
        return cast(cast(x, 0..6) + y, 0..6)
    }""").get()
    # the queue of the sum overflows after 2 events of x alone, that of the assumption after 2 that wait for the 4th
    overflow = wb.check(loaded, "no-overflow", wb.Settings(q=2))
    assert (overflow.outcome, set(overflow.counterexample.steps[-1].overflows)) == (
        "fails",
        {"add.left", "assume1.ge.right"},
    )
    alone = wb.check(
        wb.parse("pipeline p(x: 0..3) -> bool { assume trim(x, 3) >= x  return x < 5 }").get(), "no-overflow"
    )
    assert alone.outcome == "holds"
    within = wb.check(loaded, "always (x < 4)", wb.Settings(q=2))
    assert within.outcome == "holds-within-bounds"


def test_a_contract_that_does_not_exist() -> None:
    loaded = wb.parse("pipeline p(x: 0..9) -> bool { guarantee out  return x < 10 }").get()
    with pytest.raises(PipelineError, match=r"pipeline p has no contract guarantee\(2\)") as caught:
        wb.check(loaded, "guarantee(2)")
    assert caught.value.hint == "there are: guarantee(1): guarantee out"


def test_faults_strike_behind_the_assumptions() -> None:
    # what is assumed is what comes, and a lost event makes the jump between two that arrive larger
    loaded = wb.parse("""
    pipeline p(x: 0..9) -> 0..9 {
        assume trim(x, 1) - x <= 1
        guarantee trim(out, 1) - out <= 1
        y = passthrough(x)
        return y
    }""").get()
    assert wb.check(loaded, "guarantee(1)").outcome == "holds"
    assert wb.check(loaded, "guarantee(1)", faults=["lose y"]).outcome == "fails"
    assert wb.check(loaded, "guarantee(1)", faults=["lose x"]).outcome == "fails"


def test_buffers_are_those_of_legal_inputs() -> None:
    text = """
    pipeline p(x: 0..9) -> bool {{
        {}
        big = filter(x, x > 3)
        return trim(x, 2) > big
    }}"""
    # `big` waits for the third event; of the two before it only one is large where a small one follows each large one
    free, legal = (wb.buffers(wb.parse(text.format(each)).get()) for each in ("", "assume x > 3 -> trim(x, 1) <= 3"))
    assert [free.capacities["gt2.right"], legal.capacities["gt2.right"]] == [2, 1]
    assert "assume x > 3 -> trim(x, 1) <= 3" in legal.queues[-1].rests_on
    assert legal.queues[-1].witness.replay == "confirmed by execution"
    assert not any(queue.queue.startswith("assume") for queue in legal.queues)


def test_analyses_are_about_legal_runs() -> None:
    text = "pipeline p(x: 0..9) -> 0..9 {{ {} return filter(x, even(x)) }}"
    free, legal = (wb.parse(text.format(each)).get() for each in ("", "assume even(x)"))
    assert [each.answer for each in wb.constants(free)] == ["varies", "varies"]
    assert "true" in wb.constants(legal)[0].says
    assert wb.dead_paths(free).deletable == ()
    assert wb.dead_paths(legal).deletable == ("even", "filter")
    assert (wb.longest_silence(free)["unbounded"], wb.longest_silence(legal)["steps"]) == (True, 0)
    assert wb.latencies(legal)[0]["steps"] == 0
