"""The explicit engine: what it answers, counts and shows is what NuSMV does, and what it cannot do it refuses."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench import Outcome, Settings
from workbench.conformance.generate.pipelines import pipelines
from workbench.core.domain import BOOL
from workbench.core.pipeline import Pipeline
from workbench.core.term import var
from workbench.errors import EngineMissing
from workbench.ir.compose import compose
from workbench.ir.system import StateVariable, System
from workbench.processors.held.group import flatten
from workbench.smv.engines.engine import EngineLimits
from workbench.verify.answer.prepare import Prepared, prepare
from workbench.verify.ask.environment import Arrivals
from workbench.verify.ask.labels import property_from
from workbench.verify.ask.properties import (
    Property,
    bounded_liveness,
    liveness,
    never_false,
    no_full_queues,
    no_overflow,
    often_true,
    response,
)
from workbench.verify.decide.deciders import SmvDecider
from workbench.verify.decide.explicit import machine
from workbench.verify.decide.explicit.decider import ExplicitDecider
from workbench.verify.decide.explicit.search import PlainSearch
from workbench.verify.decide.explicit.space import WORD, Space, StateLayout
from workbench.verify.decide.part import Decision, Part
from workbench.verify.decide.table import get_engine

MODELS = Path(__file__).resolve().parents[3] / "models"
TOO_LARGE = {"percent"}
"""Five values of 0..100: ten billion states."""
LOGS = {"bashing", "candidates", "spontaneous", "sql", "turn_around"}
"""They take texts, and maps of any size; tests/models asks about small ones."""
CORPUS = [  # no rules; zimmerman2006 and practical have sizes of their own, and checks for which they are small
    (str(path.relative_to(MODELS)), name)
    for path in sorted(MODELS.rglob("*.pipe"))
    if path.parent.name not in ("tesla", "zimmerman2006", "practical") and path.stem not in LOGS
    for name in sorted(wb.read_file(path).pipelines)
    if name not in TOO_LARGE
]
SMALLER = {"counts_right": {"k": 4}}
"""Parameters of what would have too many states."""
TWO_VALUES = {"broken", "auctions"}
"""A state for each slice and value: asked about at N = 2."""
PROPERTIES = [liveness(), no_overflow(), no_full_queues(), bounded_liveness(1), response()]
PLAIN = ExplicitDecider(plain_seconds=None)
numba = pytest.mark.skipif(not machine.available(), reason="numba is not installed")


def parts(prepared: Prepared) -> list[Part]:
    return [part for part in (prepared.main, prepared.bound) if part is not None]


def prepared_for(pipeline: Pipeline, prop: Property, found: Settings) -> Prepared:
    return prepare(flatten(pipeline.resolve(found.domain)), prop, found)


def written(text: str) -> Property:
    """A property as a user writes it."""
    return property_from(wb.properties.parse_property(text))


def nusmv() -> SmvDecider:
    try:
        return SmvDecider(get_engine("pynusmv"))
    except EngineMissing as error:
        pytest.skip(error.what)


def same(part: Part, ours: Decision, theirs: Decision) -> None:
    """Every answer is the same, with a run of the same length, and so is the number of states."""
    if part.task(count_states=True).count_states:  # not where NuSMV gets variables for long atoms
        assert ours.reachable_states == theirs.reachable_states is not None
    for role, answer in ours.answers.items():
        other = theirs.answers[role]
        assert answer.truth is other.truth is not None, role
        if answer.trace is not None and answer.shortest and other.shortest:
            assert len(answer.trace.steps) == len(other.trace.steps), role


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("file", "name"), CORPUS)
def test_the_corpus_has_the_same_answers_and_counts(file: str, name: str) -> None:
    loaded = wb.read_file(MODELS / file).get(name, **SMALLER.get(name, {})).pipeline
    (out, pipe), *_ = loaded.outputs
    n = 2 if name in TWO_VALUES else 5
    values = ("true", "false") if loaded.domains[pipe] == wb.BOOL else ("0", str(min(n - 1, 3)))
    shown = [written(f"ctl(AG (!{out}.present or {out} = {value}))") for value in values]
    monitors = [often_true(), never_false()] if loaded.domains[pipe] == wb.BOOL else []
    for prop in [*PROPERTIES, *shown, *monitors]:
        prepared = prepared_for(loaded, prop, Settings(n=n, q=2))
        for part in [] if prepared.trivial else parts(prepared):
            ours = PLAIN.decide(part, EngineLimits(), count_states=True)
            same(part, ours, nusmv().decide(part, EngineLimits(), count_states=True))


@pytest.mark.slow
@numba
@pytest.mark.parametrize(
    ("file", "n", "prop"),
    [
        ("window_sum_of_3", 16, written("always (out != 3)")),
        ("sum_of_odds", 4, liveness()),
        ("output_if_smaller_than_k", 4, response()),
    ],
    ids=["invariant", "liveness", "response"],
)
def test_machine_code_finds_what_python_finds(file: str, n: int, prop: Property) -> None:
    loaded = wb.read_file(MODELS / "time2021" / f"{file}.pipe").get().pipeline
    part = prepared_for(loaded, prop, Settings(n=n, q=2)).main
    machine = ExplicitDecider(plain_seconds=0.0).decide(part, EngineLimits(), count_states=True)
    assert "numba" in machine.engine
    same(part, machine, PLAIN.decide(part, EngineLimits(), count_states=True))


SOMETIMES = wb.parse("""
pipeline last(x: int) -> int { return keep_last(x) + keep_last(trim(x, 1)) }
pipeline thirds(x: int) -> int { return x + decimate(x, 3, last = true) }
pipeline late(x: int) -> int { a = trim(x, 1)  b = a + x  return b  fault delay a by 2 }
pipeline once(x: int) -> int { a = passthrough(x)  return a  fault delay a by 2 at most 1 when a > 0 }
""")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", SOMETIMES.pipelines)
@pytest.mark.parametrize("prop", [*PROPERTIES, written("always (out != 1)")], ids=str)
def test_what_may_come_can_depend_on_the_state(name: str, prop: Property) -> None:
    """Streams end once, and a step without input is part of a model only while an event waits for it."""
    prepared = prepared_for(SOMETIMES.get(name).pipeline, prop, Settings(n=3, q=1))
    for part in [] if prepared.trivial else parts(prepared):
        same(
            part,
            PLAIN.decide(part, EngineLimits(), count_states=True),
            nusmv().decide(part, EngineLimits(), count_states=True),
        )


@numba
def test_what_may_come_can_depend_on_the_state_in_machine_code() -> None:
    for name, prop in (("thirds", written("always (out != 1)")), ("late", liveness())):
        part = prepared_for(SOMETIMES.get(name).pipeline, prop, Settings(n=3, q=1)).main
        machine = ExplicitDecider(plain_seconds=0.0).decide(part, EngineLimits(), count_states=True)
        assert "numba" in machine.engine
        same(part, machine, PLAIN.decide(part, EngineLimits(), count_states=True))


@given(
    data=st.data(),
    q=st.integers(0, 2),
    prop=st.sampled_from(PROPERTIES),
    arrivals=st.sampled_from(["free", "synchronised", "always"]),
    fair=st.booleans(),
)
@examples(60)
def test_random_pipelines_have_the_same_answers_and_counts(
    data: st.DataObject, q: int, prop: Property, arrivals: Arrivals, fair: bool
) -> None:
    pipeline = data.draw(pipelines(max_bits=10))
    found = Settings(q=q, environment=wb.Environment(arrivals, fair))
    prepared = prepared_for(pipeline, prop, found)
    for part in [] if prepared.trivial else parts(prepared):
        ours = PLAIN.decide(part, EngineLimits(), count_states=True)
        same(part, ours, nusmv().decide(part, EngineLimits(), count_states=True))


@numba
@given(data=st.data(), q=st.integers(0, 2), prop=st.sampled_from(PROPERTIES))
@examples(25)
def test_random_pipelines_as_machine_code(data: st.DataObject, q: int, prop: Property) -> None:
    prepared = prepared_for(data.draw(pipelines(max_bits=14)), prop, Settings(q=q))
    for part in [] if prepared.trivial else parts(prepared):
        compiled = ExplicitDecider(plain_seconds=0.0).decide(part, EngineLimits(), count_states=True)
        same(part, compiled, PLAIN.decide(part, EngineLimits(), count_states=True))


@numba
@given(data=st.data(), bitmap=st.booleans(), words=st.integers(1, 3))
@examples(25)
def test_every_set_of_states_finds_the_same_graph(data: st.DataObject, bitmap: bool, words: int) -> None:
    """States packed into more words than they need, in a bitmap or not, are found in the same order."""
    prepared = prepared_for(data.draw(pipelines(max_bits=10)), no_overflow(), Settings(q=1))
    space = Space(prepared.model.system, prepared.main.assume, [prepared.model.overflow])
    plain = PlainSearch(space)
    plain.advance(1 << 20)
    stretched(space.layout, words)
    space.initial = space.layout.pack([v.initial for v in prepared.model.system.variables])
    compiled = machine.CompiledSearch(space, 64, bitmap=bitmap)
    while not compiled.complete:
        compiled.advance(1000)
    assert compiled.size == plain.size
    unpacked = [space.layout.unpack(compiled.state(i)) for i in range(plain.size)]
    plain_space = Space(prepared.model.system, prepared.main.assume, [prepared.model.overflow])
    assert unpacked == [plain_space.layout.unpack(plain.state(i)) for i in range(plain.size)]
    ours, theirs = compiled.graph().edges, plain.graph().edges
    for i in range(plain.size):
        edges = [{(g.ends[e], g.flags[e]) for e in range(g.starts[i], g.starts[i + 1])} for g in (ours, theirs)]
        assert edges[0] == edges[1]
    assert compiled.count_moves() == plain.count_moves()


def stretched(layout: StateLayout, words: int) -> None:
    """Deal the fields out to so many words."""
    ends = [0] * words
    for number, (_, mask, low) in enumerate(list(layout.fields)):
        word = number % words
        layout.fields[number] = (WORD * word + ends[word], mask, low)
        ends[word] += mask.bit_length()
    layout.bits = max(WORD * word + end for word, end in enumerate(ends))


# --- known answers --------------------------------------------------------------------------------------------


@wb.pipeline(x=wb.INT)
def last_two(x):
    """Its state: two events, and how many there have been (at most two)."""
    return x + wb.processors.Trim(1)(x)


def test_states_are_counted_by_hand() -> None:
    """The memory of a count modulo 3: N = 3 values; times the inputs of NuSMV's states, which are x and its
    presence, always true: 3 values."""

    @wb.pipeline(x=wb.INT)
    def total(x):
        return wb.processors.Cumulate(wb.functions.ADD)(x)

    prop = written("always (out >= 0)")
    found = Settings(n=3, engine="explicit", count_states=True)
    assert wb.check(total, prop, found).reachable_states == 3 * 3
    idle = written("ctl(AG (out.value >= 0 or not out.present))")
    # where steps without input are allowed, presence doubles the inputs
    assert wb.check(total, idle, found).reachable_states == 3 * 3 * 2


def test_counterexamples_are_shortest_and_replayed() -> None:
    """1 + 1 + ... reaches 6 with the sixth event, and with no fewer."""

    @wb.pipeline(x=wb.BOOL)
    def count(x):
        return wb.processors.Cumulate(wb.functions.ADD)(wb.processors.TurnInto(1, wb.Integer(16))(x))

    prop = written("always (out != 6)")
    verdict = wb.check(count, prop, Settings(engine="explicit"))
    assert verdict.outcome is Outcome.FAILS
    assert len(verdict.counterexample.steps) == 6
    assert verdict.counterexample.shortest
    assert verdict.counterexample.replay == "confirmed by execution"


def test_a_dead_end_is_found() -> None:
    """Saturating at 7, the count passes 4 once: after that no output can come."""
    source = "pipeline first(x: int) -> int { c = cumulate(turn(x, 1), +)  return filter(c, c <= 3) }"
    first = wb.parse(source).get().pipeline
    verdict = wb.check(first, liveness(), Settings(n=8, integers=wb.Overflowing.SATURATING, engine="explicit"))
    assert verdict.outcome is Outcome.FAILS
    assert len(verdict.counterexample.steps) == 4  # with the fourth event the count is 4, and nothing comes after it
    assert verdict.counterexample.replay == "confirmed by execution"


def test_a_lasso_is_found_and_replayed() -> None:
    """Odd numbers for ever: the first one closes the loop."""
    evens = wb.parse("pipeline evens(x: int) -> int { return filter(x, even(x)) }").get().pipeline
    verdict = wb.check(evens, response(), Settings(engine="explicit"))
    assert verdict.outcome is Outcome.FAILS
    loop = verdict.counterexample.steps[verdict.counterexample.loop :]
    assert all(step.inputs["x"] % 2 == 1 for step in loop)
    assert verdict.counterexample.replay == "confirmed by execution"


@pytest.mark.parametrize("decider", [PLAIN, pytest.param(ExplicitDecider(0.0), marks=numba)], ids=["plain", "compiled"])
def test_streams_may_end(decider: ExplicitDecider) -> None:
    """`last` is its last event, which may be any: 4 at the third step at the earliest, where the stream ends."""
    source = "pipeline last(x: 0..2) -> 0..4 { return keep_last(x + trim(x, 1)) }"
    prop = written("always (out != 4)")
    part = prepared_for(wb.parse(source).get().pipeline, prop, Settings()).main
    ours = decider.decide(part, EngineLimits(), count_states=True)
    assert ours.answers["property"].truth is False
    assert len(ours.answers["property"].trace.steps) == 3
    same(part, ours, nusmv().decide(part, EngineLimits(), count_states=True))


@pytest.mark.slow
@numba
def test_states_of_several_words() -> None:
    """A window of 70 events of which none is less than the one before."""
    source = "pipeline wide(x: int) -> int { return window(cumulate(x, max), 70, cumulate(+)) }"
    part = prepared_for(wb.parse(source).get().pipeline, written("always (out != 1)"), Settings(n=2)).main
    assert Space(part.model.system, part.assume, []).layout.words > 1
    ours = ExplicitDecider(plain_seconds=0.0).decide(part, EngineLimits(), count_states=True)
    assert "numba" in ours.engine
    same(part, ours, nusmv().decide(part, EngineLimits(), count_states=True))


# --- limits and refusals ----------------------------------------------------------------------------------------


def test_what_it_cannot_decide_it_says() -> None:
    verdict = wb.check(last_two, written("ltl(X out.present)"), Settings(engine="explicit"))
    assert verdict.outcome is Outcome.UNKNOWN
    assert "no other formulas" in verdict.reason


def test_too_many_inputs_are_refused() -> None:
    prop = written("always (out != 3)")
    verdict = wb.check(last_two, prop, Settings(n=70_000, engine="explicit"))
    assert verdict.outcome is Outcome.UNKNOWN
    assert "70001 choices of inputs" in verdict.reason


def test_numbers_of_more_than_64_bits_are_refused() -> None:
    source = "pipeline big(x: bool, y: int mod 8589934592) -> int mod 8589934592 { return cumulate(y, *) }"
    squares = wb.parse(source).get().pipeline
    prop = written("always (out != 3)")
    verdict = wb.check(squares, prop, Settings(engine="explicit"))
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.reason


def memory_part() -> Part:
    """The last 25 bits, of which every combination can be reached."""
    source = "pipeline w(x: int) -> int { return window(x, 26, cumulate(+)) }"
    prop = written("always (out >= 0)")
    return prepared_for(wb.parse(source).get().pipeline, prop, Settings(n=2)).main


def test_it_keeps_to_its_time() -> None:
    begin = time.monotonic()
    answer = PLAIN.decide(memory_part(), EngineLimits(seconds=0.3)).answers["property"]
    assert answer.truth is None
    assert answer.reason == "time limit of 0.3 s"
    assert time.monotonic() - begin < 5


@numba
def test_with_little_time_nothing_is_compiled() -> None:
    decision = ExplicitDecider(plain_seconds=0.0).decide(memory_part(), EngineLimits(seconds=0.3))
    assert decision.engine == "explicit"


@pytest.mark.parametrize("decider", [PLAIN, pytest.param(ExplicitDecider(0.0), marks=numba)], ids=["plain", "compiled"])
def test_it_keeps_to_its_memory(decider: ExplicitDecider) -> None:
    answer = decider.decide(memory_part(), EngineLimits(memory_mb=8)).answers["property"]
    assert answer.truth is None
    assert "no memory for more" in answer.reason


def test_side_questions_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The property fails at once; whether arithmetic wraps anywhere would need all of the states."""
    monkeypatch.setattr("workbench.verify.decide.explicit.decider.limit_side_questions", lambda _: 0.05)
    source = "pipeline w(x: int) -> int { return window(x, 26, cumulate(+)) }"
    prop = written("always (x != 1)")
    part = prepared_for(wb.parse(source).get().pipeline, prop, Settings(n=2)).main
    answers = PLAIN.decide(part, EngineLimits()).answers
    assert answers["property"].truth is False


def test_states_are_packed_into_fields() -> None:
    """Every combination of values has a word of its own, and comes back from it."""

    @wb.pipeline(x=wb.Range(-2, 1), y=wb.Enum(("red", "green", "blue")))
    def joined(x, y):
        return wb.functions.EQ(
            wb.processors.Trim(1)(x),
            wb.processors.Cast(wb.Range(-2, 1))(wb.processors.TurnInto(-1, wb.Range(-2, 1))(y)),
        )

    layout = StateLayout(compose(flatten(joined)).variables)
    values = [list(v.domain.values()) for v in layout.variables]
    seen = set()
    for position in range(max(map(len, values))):
        state = [options[min(position, len(options) - 1)] for options in values]
        word = layout.pack(state)
        assert list(layout.unpack(word).values()) == state
        assert word < 1 << layout.bits
        seen.add(word)
    assert len(seen) == max(map(len, values))


def test_plain_python_runs_steps_of_many_variables_and_labels() -> None:
    """A ring of 300 truth values turns by one place; each of them is a label, too."""
    names = [f"b{i}" for i in range(300)]
    ring = [StateVariable(name, BOOL, i == 0, var(names[i - 1], BOOL)) for i, name in enumerate(names)]
    space = Space(System("ring", (), tuple(ring), (), (), {}, ()), [], [var(name, BOOL) for name in names])
    ((after, labels),) = space.steps(space.initial)
    assert [name for name, value in space.layout.unpack(after).items() if value] == ["b1"]
    assert labels == 1
