"""What drives a monitor's inputs: values of every kind from a system, and what does not fit."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.verify.counter_system import COUNTER, pipeline, says
from workbench.errors import DomainError, EngineError, InputError, LanguageError, Refused, TypingError, WorkbenchError
from workbench.smv.system import system_from

# --- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(8)
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
    assert any("the monitor emits events" in line for line in never.rests_on)


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
    always = wb.properties.property_from(wb.properties.parse_property("always (x.present)"))
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


@pytest.mark.slow
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
