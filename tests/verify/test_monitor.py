"""Monitors over systems: what drives the inputs, what is refused, and verdicts known independently."""

from __future__ import annotations

import itertools
import random
from collections import deque
from dataclasses import replace

import pytest

import workbench as wb
from workbench.errors import DomainError, EngineError, InputError, LanguageError, Refused, TypingError, WorkbenchError
from workbench.ir.compose import compose
from workbench.ir.simulate import Simulator
from workbench.processors.group import flatten
from workbench.verify.engines import Query, RawTrace, Task, get_engine
from workbench.verify.monitor import driven
from workbench.verify.path import follows
from workbench.verify.smv_system import system_from
from workbench.verify.verdict import Verdict

COUNTER = """
MODULE cell(up)
  VAR n : 0..5;
  ASSIGN init(n) := 0; next(n) := case up : (n + 1) mod 6; TRUE : n; esac;
MODULE main
  VAR
    up : boolean;
    c : cell(up);
    light : {red, green, off};
    w : unsigned word[3];
    wide : unsigned word[40];
    s : signed word[3];
    a : array 0..1 of 0..3;
  IVAR
    push : boolean;
  DEFINE
    n := c.n;
    half := c.n / 2;
  ASSIGN
    init(light) := red;
    next(light) := case c.n < 3 : red; TRUE : green; esac;
    init(w) := 0ud3_0;
    next(w) := w + 0ud3_1;
    init(s) := -0sd3_2;
    next(s) := s;
    init(a[0]) := 1;
    init(a[1]) := 1;
    next(a[0]) := a[0];
    next(a[1]) := a[1];
"""


def pipeline(text: str) -> wb.Pipeline:
    return wb.parse(text).get().pipeline


def says(type_: str, condition: str, **options: object) -> Verdict:
    """The verdict of a monitor with one input x of some type."""
    settings = options.pop("settings", None)
    monitor = pipeline(f"pipeline says(x: {type_}) -> bool {{ return {condition} }}")
    return wb.monitor(system_from(COUNTER, "counter.smv"), monitor, settings=settings, **options)


# --- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "bound", "reached", "unreached"),
    [
        ("0..5", "n", "x = 5", "x = 6"),
        ("0..5", "c.n", "x = 5", "x = 6"),
        ("-3..9", "c.n - 3", "x = -3", "x = 3"),
        ("int", "n", "x = 5", "x = 6"),
        ("int mod 6", "n", "x = 5", "x = 4 and x = 5"),
        ("int sat 8", "n + 1", "x = 6", "x = 0"),
        ("0..2", "half", "x = 2", "x = 3"),
        ("0..7", "w", "x = 7", "x = 8"),
        ("int mod 8", "w", "x = 7", "x = 7 and x = 0"),
        ("int mod 16", "w", "x = 7", "x = 8"),
        ("0..3", "wide[1:0]", "x = 3", "x = 3 and x = 2"),
        ("-4..3", "s", "x = -2", "x = -1"),
        ("0..3", "a[1]", "x = 1", "x = 2"),
        ("bool", "up", "x", "x and not x"),
        ("bool", "n > 4", "x", "x and not x"),
        ("{red, green, off}", "light", "x = green", "x = off"),
        ("{green, red}", "light", "x = green", "x = green and x = red"),
        ("{red, green, off, blue}", "light", "x = green", "x = blue"),
        ("{low, high}", "case n < 5 : low; TRUE : high; esac", "x = high", "x = low and x = high"),
    ],
)
def test_values_are_those_of_the_system(type_: str, bound: str, reached: str, unreached: str) -> None:
    """`reached` is a value that the definition of the system gives on some run, `unreached` one it never gives."""
    settings = wb.Settings(n=8)
    if "low" in type_:  # constants that no type of the system has: the expression cannot be written without them
        with pytest.raises(TypingError, match="low"):
            says(type_, f"not ({reached})", bind={"x": bound}, settings=settings)
        return
    found = says(type_, f"not ({reached})", bind={"x": bound}, settings=settings)
    assert found.outcome == "fails"
    assert found.counterexample.replay == "confirmed by execution, and a run of the system alone"
    never = says(type_, f"not ({unreached})", bind={"x": bound}, settings=settings)
    assert never.outcome == "holds"
    assert any("does speak" in line for line in never.rests_on)


def test_fields_of_records_are_bound_one_by_one() -> None:
    monitor = pipeline("pipeline p(x: {n: 0..5, on: bool}) -> bool { return x.on -> x.n < 4 }")
    source = system_from(COUNTER, "counter.smv")
    verdict = wb.monitor(source, monitor, bind={"x.n": "n", "x.on": "n = 3"})
    assert verdict.outcome == "holds"
    verdict = wb.monitor(source, monitor, bind={"x.n": "n", "x.on": "n = 4"})
    assert verdict.counterexample.steps[-1].inputs["x"] == (4, True)


def test_an_input_carries_events_when_it_is_told_to() -> None:
    """n is odd at no event; a step without an event is none of the monitor's."""
    odd = says("0..5", "even(x)", bind={"x": "n"}, when={"x": "n mod 2 = 0"})
    assert odd.outcome == "holds"
    always = wb.property_from(wb.parse_property("always (x.present)"))
    assert says("0..5", "even(x)", bind={"x": "n"}, when={"x": "n mod 2 = 0"}, prop=always).outcome == "holds"
    trace = says("0..5", "x < 4", bind={"x": "n"}, when={"x": "n mod 2 = 0"}).counterexample
    assert [step.pipes["x"] for step in trace.steps] == [0, None, 2, None, 4]


def test_values_count_only_where_there_is_an_event() -> None:
    assert says("0..2", "x <= 2", bind={"x": "n"}, when={"x": "n < 3"}).outcome == "holds"


def test_a_monitor_that_never_speaks_is_called_vacuous() -> None:
    verdict = says("0..5", "x > 5", bind={"x": "n"}, when={"x": "n > 5"})
    assert verdict.outcome == "holds"
    assert any(line.startswith("VACUOUS") for line in verdict.rests_on)
    assert "first in step 2 of some run" in " ".join(says("0..5", "trim(x, 2) < 6", bind={"x": "n"}).rests_on)


def test_the_system_is_in_the_trace() -> None:
    trace = says("0..5", "x < 1", bind={"x": "n"}).counterexample
    assert [step.outside["c.n"] for step in trace.steps] == ["0", "1"]
    assert [step.outside["w"] for step in trace.steps] == ["0ud3_0", "0ud3_1"]
    assert "push" not in trace.steps[1].outside
    assert trace.to_json()["steps"][1]["system"]["c.n"] == "1"


def test_names_of_the_system_do_not_meet_those_of_the_pipeline() -> None:
    """The system calls things like the printer does: modules, instances, locals, constants and `system`."""
    text = """
MODULE Trim_1
  VAR system : 0..3;
  ASSIGN init(system) := 0; next(system) := (system + 1) mod 4;
MODULE Overflow
  VAR happened : {value, present, lead};
MODULE main
  VAR x : Trim_1; add : Overflow; overflow : boolean; trim : Trim_1;
"""
    monitor = pipeline("pipeline p(n: 0..3, v: {value, present, lead}) -> bool { return n + trim(n, 1) != 6 }")
    verdict = wb.monitor(system_from(text), monitor, bind={"n": "x.system", "v": "add.happened"})
    assert verdict.outcome == "holds"  # successive values are 0 1, 1 2, 2 3, 3 0
    verdict = wb.monitor(system_from(text), monitor, bind={"n": "x.system + 0", "v": "value"})
    assert verdict.outcome == "holds"


# --- what does not fit ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "bound", "error", "words"),
    [
        ("0..3", "n", DomainError, r"input 'x' carries 0..3, but 'n' is 4 in step 4 of a run"),
        ("int", "n", DomainError, r"carries int mod 4, but 'n' is 4 (.|\n)*larger -N"),
        ("int mod 2", "w", DomainError, r"'w' is 2 in step 2"),
        ("1..3", "s", DomainError, r"'s' is -2 in step 0"),
        ("{red, off}", "light", DomainError, r"'light' is green in step 4"),
        ("bool", "n", TypingError, "carries bool, but 'n' does not give truth values"),
        ("0..3", "up", TypingError, "does not give numbers"),
        ("0..3", "light", TypingError, "does not give numbers"),
        ("{red, green}", "n", TypingError, "does not give its constants"),
        ("0..3", "nn", TypingError, "'nn' for x: \"nn\" undefined"),
        ("0..3", "c.m", TypingError, "c.m"),
        ("0..3", "n +", TypingError, "syntax error"),
        ("0..3", "n); JUSTICE (up", LanguageError, "does not end where it should"),
        ("0..3", "n) + (n", LanguageError, "does not end where it should"),
        ("0..3", "light + 1", TypingError, "illegal operand types"),
        ("0..3", "(n", LanguageError, "does not end"),
        ("0..3", " ", LanguageError, "empty"),
        ("bool", "next(up)", LanguageError, "two states"),
        ("bool", "push", LanguageError, "IVAR"),
        ("float", "n", Refused, "finite"),
        ("0..3", "wide", Refused, r"more than 12 bits(.|\n)*wide\[3:0\]"),
    ],
)
def test_what_does_not_fit_is_an_error(type_: str, bound: str, error: type[WorkbenchError], words: str) -> None:
    with pytest.raises(error, match=words):
        says(type_, "x = x", bind={"x": bound})


def test_what_crashes_the_engine_is_undecided() -> None:
    verdict = says("0..3", "x = x", bind={"x": "case up : 1; esac"})
    assert verdict.outcome == "unknown"
    assert "not exhaustive" in verdict.reason


def test_the_executable_says_the_same() -> None:
    settings = wb.Settings(n=8, engine="nusmv")
    assert says("int", "x <= 5", bind={"x": "n"}, settings=settings).outcome == "holds"
    assert says("int mod 8", "x < 7", bind={"x": "w"}, settings=settings).outcome == "fails"
    with pytest.raises(DomainError, match="'n' is 4 in step 4"):
        says("0..3", "x = x", bind={"x": "n"}, settings=settings)
    with pytest.raises(TypingError, match="does not give numbers"):
        says("0..3", "x = x", bind={"x": "light"}, settings=settings)


def test_names_that_look_alike_are_different_inputs() -> None:
    monitor = pipeline("pipeline p(x: {a: 0..9}, x_a: 0..9) -> bool { return x.a + 1 = x_a }")
    verdict = wb.monitor(system_from(COUNTER), monitor, bind={"x.a": "n + 1", "x_a": "n + 2"})
    assert verdict.outcome == "holds"


def test_inputs_are_bound_by_name_or_by_hand() -> None:
    source = system_from(COUNTER, "counter.smv")
    monitor = pipeline("pipeline p(halv: 0..2) -> bool { return halv < 2 }")
    with pytest.raises(InputError, match=r"no variable or definition 'halv'(.|\n)*--bind 'halv=half'"):
        wb.monitor(source, monitor)
    with pytest.raises(InputError, match=r"has no input 'hal'(.|\n)*'halv'"):
        wb.monitor(source, monitor, bind={"halv": "half", "hal": "half"})
    with pytest.raises(InputError, match="no input 'q'"):
        wb.monitor(source, monitor, bind={"halv": "half"}, when={"q": "up"})
    assert wb.monitor(source, monitor, bind={"halv": "half"}).outcome == "fails"
    with pytest.raises(InputError, match="nothing else can be assumed"):
        wb.monitor(source, monitor, bind={"halv": "half"}, settings=wb.Settings(environment=wb.Environment(fair=True)))


def test_a_monitor_ends_in_truth_values() -> None:
    with pytest.raises(TypingError, match=r"'out' of p carries 0\.\.5, not truth values"):
        wb.monitor(system_from(COUNTER), pipeline("pipeline p(n: 0..5) -> 0..5 { return n }"))


ONE = "MODULE main\n  VAR b : boolean;\n"
SEES = "pipeline p(b: bool) -> bool { return b or not b }"


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ("  INIT b; INIT !b;", EngineError, "no initial state"),
        ("  INIT !b; TRANS !b -> next(b); TRANS !b;", EngineError, "deadlock"),
        ("  FAIRNESS b; FAIRNESS !b; TRANS next(b) = b;", EngineError, "no fair path"),
        ("  ASSIGN next(b) := c;", EngineError, '"c" undefined'),
        ("  ASSIGN next(b) := ;", EngineError, "syntax error"),
        ("  VAR p : process q;\nMODULE q\n", Refused, "processes run one at a time"),
    ],
)
def test_systems_without_meaning_are_errors(more: str, error: type[WorkbenchError], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        wb.monitor(system_from(ONE + more + "\n", "mine.smv"), pipeline(SEES))
    assert "mine.smv" in str(caught.value.where)


def test_the_place_of_an_error_is_in_the_users_file() -> None:
    with pytest.raises(EngineError) as caught:
        wb.monitor(system_from(ONE + "  ASSIGN next(b) := c;\n", "mine.smv"), pipeline(SEES))
    assert caught.value.where.line == 3


def test_what_is_no_system() -> None:
    with pytest.raises(LanguageError, match="no module main"):
        system_from("MODULE other\n-- MODULE main\nVAR b : boolean;")
    with pytest.raises(LanguageError, match="parameters"):
        system_from("MODULE main(x)\nVAR b : boolean;")
    with pytest.raises(InputError, match="cannot read"):
        wb.monitor("nowhere.smv", pipeline(SEES))


def test_what_main_declares() -> None:
    source = system_from(COUNTER)
    assert source.names == ("up", "c", "light", "w", "wide", "s", "a", "n", "half")
    assert source.transient == {"push"}
    assert source.fairness == ""


def test_the_text_is_kept_line_by_line() -> None:
    source = system_from(COUNTER)
    lines = source.part("System", {"x_is": "(n > 1)"}).splitlines()
    changed = [(a, b) for a, b in zip(COUNTER.splitlines(), lines, strict=True) if a != b]
    assert changed == [("MODULE main", "MODULE System DEFINE x_is := (n > 1);")]


# --- fairness -------------------------------------------------------------------------------------------------------

TRAP = """
MODULE main
  VAR n : 0..2;
  ASSIGN init(n) := 0; next(n) := case n = 0 : {0, 1, 2}; TRUE : n; esac;
"""
"""From 0 one may fall into 1 or 2 and stays there."""


def verdict_on(more: str, property_: str = "never-false") -> Verdict:
    monitor = pipeline("pipeline p(n: 0..2) -> bool { return n != 1 }")
    prop = wb.property_from(wb.parse_property(property_))
    return wb.monitor(system_from(TRAP + more), monitor, prop)


def test_invariants_are_asked_of_fair_runs() -> None:
    assert verdict_on("").outcome == "fails"
    assert verdict_on("FAIRNESS n != 1;").outcome == "holds"  # no fair run stays in 1
    assert "fair runs" in " ".join(verdict_on("FAIRNESS n != 1;").rests_on)
    assert verdict_on("FAIRNESS n != 2;").outcome == "fails"
    assert verdict_on("JUSTICE n = 1;").counterexample.shortest


def test_compassion_is_seen_by_ltl_only() -> None:
    fair = "COMPASSION (TRUE, n != 1);"
    found = verdict_on(fair)
    assert found.outcome == "fails"
    assert "COMPASSION is left out" in " ".join(found.rests_on)
    assert verdict_on(fair, "ltl(G out)").outcome == "holds"
    assert verdict_on("", "ltl(G out)").outcome == "fails"
    with pytest.raises(Refused, match="COMPASSION, which CTL does not see"):
        verdict_on(fair, "ctl(AG out)")


@pytest.mark.parametrize(
    ("property_", "more", "outcome"),
    [
        ("often-true", "", "fails"),  # stay in 1
        ("often-true", "FAIRNESS n != 1;", "holds"),
        ("liveness", "", "holds"),
        ("response", "", "holds"),
        ("bounded-liveness(0)", "", "holds"),
        ("always (n != 1)", "", "fails"),
        ("always (n <= 2)", "", "holds"),
        ("ctl(EF n = 2)", "", "holds"),
        ("ctl(AG (n = 2 -> AG n = 2))", "", "holds"),
        ("ltl(F n > 0)", "", "fails"),
        ("ltl(F n > 0)", "FAIRNESS n > 0;", "holds"),
        ("no-overflow", "", "holds"),
    ],
)
def test_other_properties(property_: str, more: str, outcome: str) -> None:
    """By the definition of the system above."""
    found = verdict_on(more, property_)
    assert found.outcome == outcome
    if found.counterexample:
        assert found.counterexample.replay == "confirmed by execution, and a run of the system alone"


def test_pipelines_can_be_compared_over_a_system() -> None:
    """They differ from 6 on, which the system does not reach."""
    one = pipeline("pipeline one(x: int) -> int { return x + 2 }")
    other = pipeline("pipeline other(x: int) -> int { return if x > 5 then 0 else x + 2 }")
    settings = wb.Settings(n=16)
    source = system_from(COUNTER)
    within = replace(settings, environment=driven(source, one, {"x": "n"}, None, settings))
    beyond = replace(settings, environment=driven(source, one, {"x": "n + 1"}, None, settings))
    assert wb.equivalent(one, other, "stepwise", settings).outcome == "fails"
    assert wb.equivalent(one, other, "stepwise", within).outcome == "holds"
    assert wb.equivalent(one, other, "stepwise", beyond).outcome == "fails"


# --- queues ---------------------------------------------------------------------------------------------------------

PAIRS = """
MODULE main
  VAR n : 0..7;
  ASSIGN init(n) := 0; next(n) := (n + 1) mod 8;
"""


@pytest.mark.parametrize(("q", "outcome"), [(0, "holds-within-bounds"), (2, "holds-within-bounds"), (3, "fails")])
def test_overflow_hides_what_follows(q: int, outcome: str) -> None:
    """a comes in steps 0, 1, 2 and b in steps 3, 4, 5: three wait; the third pair is the first that differs."""
    monitor = pipeline("pipeline p(a: 0..7, b: 0..7) -> bool { return a = b }")
    verdict = wb.monitor(
        system_from(PAIRS), monitor,
        bind={"a": "n", "b": "case n = 5 : 7; n >= 3 : n - 3; TRUE : 0; esac"},
        when={"a": "n < 3", "b": "n >= 3 & n < 6"}, settings=wb.Settings(q=q),
    )  # fmt: skip
    assert verdict.outcome == outcome
    if outcome == "fails":
        assert len(verdict.counterexample.steps) == 6
    else:
        assert len(verdict.witness.steps) == q + 1
        assert verdict.witness.replay == "confirmed by execution, and a run of the system alone"


def test_several_events_in_a_step_and_streams_that_do_not_end() -> None:
    """Each value comes twice, so a window of three has two values, or one; keep-last speaks at the end, never."""
    twice = pipeline("pipeline p(n: 0..7) -> bool { return window(stutter(n, 2), 3, cumulate(max)) < 7 }")
    assert wb.monitor(system_from(PAIRS), twice).outcome == "fails"
    below = pipeline("pipeline p(n: 0..7) -> bool { return stutter(n, 2) <= 7 }")
    assert wb.monitor(system_from(PAIRS), below).outcome == "holds"
    assert wb.monitor(system_from(PAIRS), below, wb.often_true()).outcome == "holds"
    last = pipeline("pipeline p(n: 0..7) -> bool { return keep_last(n) < 0 }")
    verdict = wb.monitor(system_from(PAIRS), last)
    assert verdict.outcome == "holds"
    assert "the input streams do not end" in verdict.rests_on
    assert any(line.startswith("VACUOUS") for line in verdict.rests_on)


# --- paths ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["pynusmv", "nusmv"])
def test_what_is_a_run_of_a_system(engine: str) -> None:
    def run(*values: int, loop: int | None = None) -> bool:
        trace = RawTrace(tuple({"n": str(value)} for value in values), loop)
        return follows(TRAP + "FAIRNESS n != 1;", trace, engine)

    assert run(0, 0, 2, 2)
    assert run(0, 1)
    assert not run(1)
    assert not run(0, 2, 1)
    assert run(0, 2, loop=1)
    assert not run(0, 2, loop=0)
    assert not run(0, 1, loop=1)  # not fair


def test_a_run_that_the_system_does_not_have_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.verify.driven.follows", lambda *_: False)
    trace = says("0..5", "x < 1", bind={"x": "n"}).counterexample
    assert trace.gap
    assert trace.replay == "model gap: the system alone has no such run"


# --- against brute force --------------------------------------------------------------------------------------------

MONITORS = [
    "x != 2",
    "trim(x, 1) != x",
    "window(x, 3, cumulate(max)) - x <= 1",
    "filter(x, x != 1) < 2",
    "decimate(x, 2) <= trim(x, 1)",
    "not filter(x = trim(x, 1), decimate(x, 1) = 0)",
]


@pytest.mark.parametrize("seed", range(24))
def test_random_systems_against_exploration(seed: int) -> None:
    """A random graph with a value and a presence in each node; the product is explored in Python, breadth first."""
    rng = random.Random(seed)
    nodes = range(5)
    edges = {n: sorted(rng.sample(nodes, rng.choice([1, 1, 2]))) for n in nodes}
    value = {n: rng.randrange(3) for n in nodes}
    there = {n: rng.random() < 0.7 for n in nodes}
    pick = " ".join(f"s = {n} : {{{', '.join(map(str, edges[n]))}}};" for n in nodes)
    text = (
        f"MODULE main\n  VAR s : 0..4;\n  ASSIGN init(s) := 0; next(s) := case {pick} esac;\n  DEFINE\n"
        f"    x := case {' '.join(f's = {n} : {value[n]};' for n in nodes)} esac;\n"
        f"    there := {' | '.join(f's = {n}' for n in nodes if there[n]) or 'FALSE'};\n"
    )
    monitor = pipeline(f"pipeline p(x: 0..2) -> bool {{ return {MONITORS[seed % len(MONITORS)]} }}")
    found = wb.monitor(system_from(text), monitor, when={"x": "there"}, settings=wb.Settings(q=1))
    wrong, full = explored(monitor, edges, value, there)
    expected = "fails" if wrong is not None else "holds-within-bounds" if full else "holds"
    assert found.outcome == expected
    if wrong is not None:
        assert len(found.counterexample.steps) == wrong
        assert found.counterexample.replay == "confirmed by execution, and a run of the system alone"


def explored(
    monitor: wb.Pipeline, edges: dict[int, list[int]], value: dict[int, int], there: dict[int, bool]
) -> tuple[int | None, bool]:
    """The length of a shortest run on which the monitor says false, and whether a queue overflows on some run."""
    simulator = Simulator(compose(flatten(monitor), 1))
    ((_, output),) = simulator.system.outputs
    todo = deque([(0, simulator.state, 1)])
    seen, full = {(0, simulator.state)}, False
    while todo:
        node, state, length = todo.popleft()
        simulator.state = state
        step = simulator.step({"x": value[node]} if there[node] else {})
        if step.overflows:
            full = True
            continue
        if step.pipes[output] is False:
            return length, full
        for following in edges[node]:
            if (following, simulator.state) not in seen:
                seen.add((following, simulator.state))
                todo.append((following, simulator.state, length + 1))
    return None, full


# --- the counting property of TIME 2021 -----------------------------------------------------------------------------


def counter(k: int, *, faulty: bool = False) -> str:
    """A system in which `recent` is the number of requests in the last k steps; the faulty one forgets a case."""
    overlap = "" if faulty else "request & oldest : recent;"
    shift = f"history[{k - 2}:0] :: word1(request)" if k > 1 else "word1(request)"
    return f"""
MODULE main
  VAR request : boolean; history : unsigned word[{k}]; recent : 0..{k};
  DEFINE oldest := history[{k - 1}:{k - 1}] = 0ud1_1;
  ASSIGN
    init(history) := 0ud{k}_0; next(history) := {shift};
    init(recent) := 0;
    next(recent) := case {overlap}
        request & recent < {k} : recent + 1; oldest & recent > 0 : recent - 1; TRUE : recent; esac;
"""


@pytest.mark.parametrize(("k", "faulty"), list(itertools.product([1, 2, 3, 5, 8], [False, True])))
def test_figure_2b_over_a_counter(k: int, faulty: bool) -> None:
    from experiments.monitors import counts

    loaded = wb.read_file("models/time2021/figure_2b.pipe").get(k=k)
    bind = {"a": "request", "b": "recent"}
    source = system_from(counter(k, faulty=faulty))
    verdict = wb.monitor(source, loaded.pipeline, bind=bind, settings=wb.Settings(n=32))
    assert verdict.outcome == ("fails" if faulty else "holds")
    if k <= 5:  # at k = 8 the formula has twelve thousand characters, at k = 16 three million
        formula = Query("ltl", counts(k))
        assert get_engine().check(Task(counter(k, faulty=faulty), (formula,))).answers[0].truth is not faulty
