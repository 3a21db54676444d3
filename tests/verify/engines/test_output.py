"""Reading the output of an executable, without one."""

from workbench.smv.engines.engine import Answer, unshown
from workbench.smv.engines.output import read_answer, read_count, read_deadlock, read_trace

TRACE = """\
-- specification  G F p  is false
-- as demonstrated by the following execution sequence
Trace Description: LTL Counterexample
Trace Type: Counterexample
-> State: 1.1 <-
  p = TRUE
  m.box[0] = 0ud3_7
-- Loop starts here
-> Input: 1.2 <-
  i = 4
-> State: 1.2 <-
  p = FALSE
-> Input: 1.3 <-
  i = 5
-> State: 1.3 <-
"""


def test_values_are_carried_forward_and_the_last_state_is_the_loop() -> None:
    read = read_trace(TRACE)
    assert read is not None
    trace, loops = read
    assert trace.steps == (
        {"p": "TRUE", "m.box[0]": "0ud3_7"},
        {"p": "FALSE", "m.box[0]": "0ud3_7", "i": "4"},
    )
    assert trace.loop == 1
    assert loops == (1,)


def test_no_trace() -> None:
    assert read_trace("-- specification AG p is true\n") is None


def test_a_line_that_is_cut_says_nothing() -> None:
    assert read_answer("-- invariant p  is true\n", complete=False) == (Answer(True), ())
    assert read_answer("-- invariant q  is true", complete=False) is None
    assert read_answer("-- invariant q  is tr", complete=False) is None
    assert read_answer("", complete=True) is None


def test_a_formula_with_a_case_is_printed_over_several_lines() -> None:
    text = "-- invariant !(m.out & case\nm.state = b : b;\nTRUE : a;\nesac = b)  is true\n"  # as NuSMV 2.5.4 prints it
    assert read_answer(text, complete=True) == (Answer(True), ())
    assert read_answer(text.partition("TRUE")[0], complete=False) is None


def test_a_false_answer_is_certain_before_its_trace_is_complete() -> None:
    assert read_answer(TRACE, complete=False, reason="killed") == (unshown("killed"), ())
    read = read_answer(TRACE, complete=True)
    assert read is not None
    assert read[0].truth is False


def test_counts_and_deadlocks() -> None:
    assert read_count("reachable states: 156 (2^7.2854) out of 10368 (2^13.3399)\n") == 156
    assert read_count("reachable states: 1.04858e+06 (2^20) out of 1e+06\n") == 1048580
    assert read_count("") is None
    assert read_deadlock("The transition relation is total\n") == ""
    assert read_deadlock("A deadlock state is:\na = 1\nb = TRUE\n####\n") == "a = 1, b = TRUE"
