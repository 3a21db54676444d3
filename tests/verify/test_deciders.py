"""One engine after the other, and all of them against each other."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench import Outcome, Settings, child_processes
from workbench.child_processes import can_fork
from workbench.conformance.generate.pipelines import pipelines
from workbench.core.pipeline import Pipeline
from workbench.core.term import var
from workbench.errors import EngineDisagreement, EngineError, EngineMissing, LimitMet
from workbench.processors.held.group import flatten
from workbench.smv.engines.engine import Answer, EngineLimits, RawTrace, unshown
from workbench.verify.answer.prepare import prepare
from workbench.verify.ask.labels import property_from
from workbench.verify.decide import deciders
from workbench.verify.decide.deciders import AllDecider, AutoDecider, get_decider
from workbench.verify.decide.explicit.decider import ExplicitDecider
from workbench.verify.decide.part import Decision, Part

SOURCE = "pipeline total(x: int) -> int { return cumulate(x, +) }"


def part() -> Part:
    """`total` never says 3: false, with one event."""
    prop = property_from(wb.properties.parse_property("always (out != 3)"))
    found = Settings()
    return prepare(flatten(wb.parse(SOURCE).get().pipeline.resolve(found.domain)), prop, found).main


class Fake:
    """An engine that says the same of everything."""

    def __init__(self, name: str, answer: Answer, states: int | None = None) -> None:
        self.name, self.answer, self.states = name, answer, states
        self.asked: list[tuple[set[str], EngineLimits]] = []

    def decide(self, part: Part, limits: EngineLimits, *, count_states: bool = False) -> Decision:
        self.asked.append((set(part.questions), limits))
        return Decision(dict.fromkeys(part.questions, self.answer), f"{self.name} 1.0", 0.5, 0.5, self.states)


Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Replace the engines that there are; `complete` is the one that has BDDs."""

    def put(**engines: Fake) -> None:
        def get(name: str) -> Fake:
            if name in engines:
                return engines[name]
            raise EngineMissing(f"no {name}")

        monkeypatch.setattr(deciders, "get_decider", get)
        monkeypatch.setattr(child_processes, "can_fork", lambda: False)

    return put


TRUE, FALSE, OPEN = Answer(True), Answer(False), Answer(None, reason="too hard")


def test_the_first_that_decides_is_the_last_that_is_asked(install: Install) -> None:
    bdd, explicit, bmc = Fake("bdds", OPEN), Fake("explicit", FALSE), Fake("bmc", TRUE)
    install(complete=bdd, explicit=explicit, bmc=bmc)
    decision = AutoDecider().decide(part(), EngineLimits())
    assert decision.answers["property"] is FALSE
    assert decision.engine == "explicit 1.0"
    assert decision.cpu_seconds == 1.0
    assert not bmc.asked


def test_time_is_shared_out_and_the_last_turn_gets_what_is_left(install: Install) -> None:
    bdd, explicit, bmc = (Fake(name, OPEN) for name in ("bdds", "explicit", "bmc"))
    install(complete=bdd, explicit=explicit, bmc=bmc)
    decision = AutoDecider().decide(part(), EngineLimits(seconds=100))
    shares = [engine.asked[0][1].seconds for engine in (bdd, explicit, bmc)]
    assert shares == pytest.approx([3, 50, 25], abs=1)
    assert bdd.asked[1][1].seconds == pytest.approx(100, abs=1)  # the fakes have taken no time
    reason = decision.answers["property"].reason
    assert reason == "bdds: too hard; explicit: too hard; bmc: too hard; bdds: too hard"
    AutoDecider().decide(part(), EngineLimits())
    assert bdd.asked[-1][1].seconds is None


WIDE = "pipeline wide(x: 0..1000) -> 0..10000 { return window(x, 10, cumulate(+)) }"


def wide() -> Part:
    """The sum of ten numbers is never 10000: false, and its states have more than 40 bits."""
    prop = property_from(wb.properties.parse_property("always (out < 10000)"))
    return prepare(flatten(wb.parse(WIDE).get().pipeline), prop, Settings()).main


LATER = ["simulation", "invariants", "spacer", "induction"]


def test_large_states_are_not_visited_one_by_one_first(install: Install) -> None:
    names = ["complete", "algebra", "explicit", "bmc", *LATER]
    engines = {name: Fake(name, OPEN) for name in names}
    install(**engines)
    reason = AutoDecider().decide(wide(), EngineLimits()).answers["property"].reason
    order = [each.partition(":")[0] for each in reason.split("; ")]
    assert order == [
        "complete", "algebra", "simulation", "invariants", "spacer", "algebra", "induction",
        "explicit", "bmc", "complete",
    ]  # fmt: skip
    reason = AutoDecider().decide(part(), EngineLimits()).answers["property"].reason
    order = [each.partition(":")[0] for each in reason.split("; ")]
    assert order == ["complete", "algebra", "simulation", "explicit", "bmc", *LATER[1:], "complete"]


@pytest.mark.parametrize(("operation", "first"), [("xor(x, y)", "bits"), ("x * y", "bits"), ("x + y", "algebra")])
def test_bits_and_products_have_an_engine_of_their_own_first(install: Install, operation: str, first: str) -> None:
    engines = {name: Fake(name, OPEN) for name in ("complete", "algebra", "explicit", "bits")}
    install(**engines)
    pipeline = wb.parse(f"pipeline p(x: 0..7, y: 0..7) -> 0..63 {{ return {operation} }}").get().pipeline
    prop = property_from(wb.properties.parse_property("always (out != 3)"))
    asked = prepare(flatten(pipeline), prop, Settings()).main
    reason = AutoDecider().decide(asked, EngineLimits()).answers["property"].reason
    assert reason.startswith(f"complete: too hard; {first}: too hard")


def test_what_a_random_run_refutes_is_shown_by_a_shortest_one(install: Install) -> None:
    found, shortest = Answer(False, RawTrace(({}, {}))), Answer(False, RawTrace(({},)), shortest=True)
    induction, bmc = Fake("induction", shortest), Fake("bmc", shortest)
    install(complete=Fake("bdds", OPEN), simulation=Fake("simulation", found), induction=induction, bmc=bmc)
    assert AutoDecider().decide(wide(), EngineLimits()).answers["property"] is shortest
    assert not bmc.asked  # the first of both that there is
    install(complete=Fake("bdds", OPEN), simulation=Fake("simulation", found), bmc=Fake("bmc", OPEN))
    assert AutoDecider().decide(wide(), EngineLimits()).answers["property"] is found


MANY = [f"a{i} = trim({f'a{i - 1}' if i else 'x'}, 1)" for i in range(261)]


@pytest.mark.parametrize(
    ("source", "q"),
    [
        ("pipeline p(x: int) -> int { return decimate(x, 3) + x }", 300),
        (f"pipeline p(x: int) -> int {{ {' '.join(MANY)} return a260 }}", 2),
    ],
    ids=["a long queue", "many processors"],
)
def test_what_takes_many_small_steps_is_searched_first(install: Install, source: str, q: int) -> None:
    bdd, explicit = Fake("bdds", TRUE), Fake("explicit", TRUE)
    install(complete=bdd, explicit=explicit)
    for capacity in (q, 2):
        far = prepare(
            wb.parse(source).get().pipeline.resolve(Settings().domain), wb.properties.liveness(), Settings(q=capacity)
        )
        AutoDecider().decide(far.main, EngineLimits())
    assert (len(explicit.asked), len(bdd.asked)) == ((1, 1) if q != 2 else (2, 0))


def test_what_is_decided_is_not_asked_again(install: Install) -> None:
    class Half(Fake):
        def decide(self, part: Part, limits: EngineLimits, *, count_states: bool = False) -> Decision:
            whole = super().decide(part, limits)
            return replace(whole, answers={r: FALSE if r == "wraps" else OPEN for r in part.questions})

    explicit = Fake("explicit", TRUE)
    install(complete=Half("bdds", OPEN), explicit=explicit)
    decision = AutoDecider().decide(part(), EngineLimits())
    assert explicit.asked[0][0] == {"property", "case 0"}
    truths = {role: answer.truth for role, answer in decision.answers.items()}
    assert truths == {"property": True, "case 0": True, "wraps": False}
    assert decision.engine == "bdds 1.0, explicit 1.0"


SHOWN = Answer(False, RawTrace(({},)))


def test_a_counterexample_that_could_not_be_built_is_sought_by_others(install: Install) -> None:
    bdd, explicit, bmc = Fake("bdds", unshown("time limit of 3 s")), Fake("explicit", OPEN), Fake("bmc", SHOWN)
    install(complete=bdd, explicit=explicit, bmc=bmc)
    decision = AutoDecider().decide(part(), EngineLimits())
    assert decision.answers["property"] is SHOWN
    assert decision.engine == "bdds 1.0, bmc 1.0"
    assert len(bdd.asked) == 1


def test_a_verdict_is_not_lost_with_its_counterexample(install: Install) -> None:
    bdd, explicit, bmc = Fake("bdds", unshown("time limit of 3 s")), Fake("explicit", OPEN), Fake("bmc", OPEN)
    install(complete=bdd, explicit=explicit, bmc=bmc)
    answer = AutoDecider().decide(part(), EngineLimits()).answers["property"]
    assert answer.truth is False
    assert answer.reason == "no counterexample could be built: tried bdds, explicit, bmc"
    assert len(bdd.asked) == 1  # who knows that it is false has had its time for a counterexample
    install(complete=bdd, explicit=Fake("explicit", TRUE), bmc=bmc)
    with pytest.raises(EngineDisagreement, match=r"bdds 1\.0 answers false and explicit answers true"):
        AutoDecider().decide(part(), EngineLimits())


def test_without_bdds_the_rest_is_tried_twice_and_then_they_are_missed(install: Install) -> None:
    install(explicit=Fake("explicit", TRUE))
    assert AutoDecider().decide(part(), EngineLimits()).engine == "explicit 1.0"
    explicit, simulation = Fake("explicit", OPEN), Fake("simulation", OPEN)
    install(explicit=explicit, simulation=simulation)
    decision = AutoDecider().decide(part(), EngineLimits(seconds=60.0))
    assert {answer.reason for answer in decision.answers.values()} == {"no installed engine decides it"}
    times = [[limits.seconds or 0.0 for _, limits in each.asked] for each in (explicit, simulation)]
    assert [len(each) for each in times] == [2, 2]
    assert times[1][1] == pytest.approx(30, abs=1)  # half of what is left, and then all of it
    assert times[0][1] == pytest.approx(60, abs=1)


def test_agreement_is_said(install: Install) -> None:
    install(explicit=Fake("explicit", FALSE, 8), pynusmv=Fake("pynusmv", FALSE, 8), bmc=Fake("bmc", OPEN))
    decision = AllDecider().decide(part(), EngineLimits(), count_states=True)
    assert decision.engine == "explicit, pynusmv agree (bmc did not decide)"
    assert decision.reachable_states == 8


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Fake("pynusmv", TRUE), "explicit answers false and pynusmv answers true"),
        (Fake("pynusmv", FALSE, 9), "explicit counts 8 reachable states and pynusmv 9"),
    ],
)
def test_disagreement_is_an_error_with_both_answers_and_the_model(install: Install, other: Fake, words: str) -> None:
    install(explicit=Fake("explicit", FALSE, 8), pynusmv=other)
    with pytest.raises(EngineDisagreement) as found:
        AllDecider().decide(part(), EngineLimits())
    assert words in found.value.what
    assert found.value.model == part().smv.text
    assert "MODULE main" in found.value.message
    assert found.value.exit_code == 3


def test_an_engine_that_lies_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The explicit engine on a system in which the sum is never stored, against NuSMV on the right one."""
    honest = ExplicitDecider.decide

    def wrong(self: ExplicitDecider, part: Part, limits: EngineLimits, *, count_states: bool = False) -> Decision:
        system = part.model.system
        stuck = tuple(v._replace(next=var(v.name, v.domain)) for v in system.variables)
        changed = replace(part, model=replace(part.model, system=replace(system, variables=stuck)))
        return honest(self, changed, limits, count_states=count_states)

    monkeypatch.setattr(ExplicitDecider, "decide", wrong)
    prop = property_from(wb.properties.parse_property("always (out != 3 or x = 3)"))
    pipeline: Pipeline = wb.parse(SOURCE).get().pipeline
    with pytest.raises(EngineDisagreement, match="explicit answers true and"):
        wb.check(pipeline, prop, Settings(engine="all"))


def test_unknown_names() -> None:
    with pytest.raises(EngineMissing, match="there is no engine 'spin'"):
        get_decider("spin")


@given(data=st.data(), q=st.integers(0, 2))
@examples(12)
def test_all_engines_agree_on_random_pipelines(data: st.DataObject, q: int) -> None:
    pipeline = data.draw(pipelines(max_bits=10))
    for prop in (wb.properties.no_full_queues(), wb.properties.liveness(), wb.properties.response()):
        verdict = wb.check(pipeline, prop, Settings(q=q, engine="all"))
        assert verdict.outcome is not Outcome.UNKNOWN
        for trace in (verdict.counterexample, verdict.witness):
            assert trace is None or trace.replay.startswith("confirmed by execution")


@pytest.mark.slow
def test_what_bdds_do_not_decide_another_engine_does() -> None:
    """A run on which a product of 12-bit numbers is 3: the SAT solver finds one at once."""
    source = (
        "pipeline hard(x: int, y: int) -> int { a = cumulate(x * y, +)  b = cumulate(a * a + y, *)"
        " return a * b + cumulate(b * y, +) }"
    )
    prop = property_from(wb.properties.parse_property("always (out != 3)"))
    verdict = wb.check(wb.parse(source).get().pipeline, prop, Settings(n=4096, seconds=60))
    assert verdict.outcome is Outcome.FAILS
    assert verdict.counterexample.replay == "confirmed by execution"
    assert "bits" in verdict.engine


@pytest.mark.parametrize("engine", ["nusmv", "bmc"])
def test_a_formula_that_is_too_long_for_an_engine_is_a_limit_of_that_engine(engine, monkeypatch):
    monkeypatch.setattr("workbench.smv.engines.executable._LONGEST_LINE", 10)
    asked = part()
    found = get_decider(engine).decide(asked, EngineLimits())
    assert {answer.truth for answer in found.answers.values()} == {None}
    assert all("too long for an executable" in answer.reason for answer in found.answers.values())
    assert AutoDecider().decide(asked, EngineLimits()).answers["property"].truth is False


def test_parts_of_a_model_that_are_repeated_are_written_once() -> None:
    """Each round has the one before it several times: as a tree, the text would have millions of operators."""
    rounds = "xor(c, x)"
    for _ in range(8):
        rounds = f"step({rounds})"
    source = wb.parse(f"""
        function step(c) = if c >= 128 then xor(c * 2, 7) else c * 2
        function crc(c, x) = {rounds}
        pipeline left(x: int mod 256) -> int mod 256 {{ return cumulate(x, crc, 0) }}
        pipeline right(x: int mod 256) -> int mod 256 {{ return cumulate(xor(x, 0), crc, 0) }}
        pipeline wrong(x: int mod 256) -> int mod 256 {{ return cumulate(xor(x, 1), crc, 0) }}
    """)
    left = source.get("left")
    prepared = prepare(flatten(left.pipeline), wb.properties.liveness(), Settings())
    assert len(prepared.main.smv.text) < 20_000
    settings = Settings(engine="pynusmv")
    assert wb.equiv(left, source.get("right"), settings=settings).outcome is Outcome.HOLDS
    verdict = wb.equiv(left, source.get("wrong"), settings=settings)
    assert verdict.outcome is Outcome.FAILS
    assert verdict.counterexample.replay == "confirmed by execution"


class Later(Fake):
    """An engine that decides nothing at first, and later, in a process of its own, what a function returns."""

    def __init__(self, name: str, work: Callable[[], Answer]) -> None:
        super().__init__(name, OPEN)
        self.work = work

    def decide(self, part: Part, limits: EngineLimits, *, count_states: bool = False) -> Decision:
        answer = self.work() if multiprocessing.current_process().daemon else OPEN
        return Decision(dict.fromkeys(part.questions, answer), f"{self.name} 1.0")


def sleep() -> Answer:
    time.sleep(60)
    return TRUE


def die() -> Answer:
    os._exit(9)


def meet_limit() -> Answer:
    raise LimitMet("memory limit of 5 MB", "counting")


def fail() -> Answer:
    raise EngineError("the engine is broken")


needs_cores = pytest.mark.skipif(not can_fork(), reason="there is one processor only")


@pytest.fixture
def divide(install: Install, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install engines, with processes for BDDs and for the others."""

    def put(**engines: Fake) -> None:
        install(**engines)
        monkeypatch.setattr(child_processes, "can_fork", can_fork)

    return put


@needs_cores
@pytest.mark.parametrize(
    ("bdds", "other", "engine"),
    [
        (sleep, lambda: TRUE, "explicit 1.0"),
        (lambda: TRUE, sleep, "bdds 1.0"),
        (die, lambda: TRUE, "explicit 1.0"),
        (lambda: TRUE, meet_limit, "bdds 1.0"),
    ],
    ids=["bdds are slow", "the other is slow", "bdds die", "the other meets a limit"],
)
def test_bdds_and_another_engine_work_at_once(
    divide: Install, bdds: Callable[[], Answer], other: Callable[[], Answer], engine: str
) -> None:
    divide(complete=Later("bdds", bdds), explicit=Later("explicit", other))
    begin = time.monotonic()
    decision = AutoDecider().decide(part(), EngineLimits(seconds=100))
    assert decision.answers["property"].truth is True
    assert decision.engine == engine
    assert time.monotonic() - begin < 30
    assert not multiprocessing.active_children()


@needs_cores
def test_engines_that_die_or_meet_limits_are_reported(divide: Install) -> None:
    divide(complete=Later("bdds", die), explicit=Later("explicit", meet_limit))
    reason = AutoDecider().decide(part(), EngineLimits()).answers["property"].reason
    assert "the process died (status 9)" in reason
    assert "memory limit of 5 MB" in reason


@needs_cores
def test_the_limit_of_time_ends_all_processes(divide: Install) -> None:
    divide(complete=Later("bdds", sleep), explicit=Later("explicit", sleep))
    decision = AutoDecider().decide(part(), EngineLimits(seconds=1))
    assert decision.answers["property"].reason == "time limit of 1 s (tried bdds)"
    assert decision.wall_seconds < 30
    assert not multiprocessing.active_children()


@needs_cores
def test_an_error_of_an_engine_in_a_process_is_raised(divide: Install) -> None:
    divide(complete=Later("bdds", sleep), explicit=Later("explicit", fail))
    with pytest.raises(EngineError, match="the engine is broken"):
        AutoDecider().decide(part(), EngineLimits())
    assert not multiprocessing.active_children()
