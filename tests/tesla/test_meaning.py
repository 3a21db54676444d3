"""What rules mean, with values derived by hand from the papers' formulas and from what is fixed beyond them."""

import math

import pytest

from tests.tesla.events import A, B, C, Kind, Smoke, Temp, minutes, rule_engine, told, values
from workbench.errors import InputError, Refused
from workbench.executors.compiled.rules.refusals import POLICIES
from workbench.tesla import tree as t
from workbench.tesla.check import parse_rules
from workbench.tesla.meaning import meaning
from workbench.tesla.model.build import build_models
from workbench.tesla.occurrence import Occurrence, in_units
from workbench.tesla.rule_graph import LONGEST_CHAIN

TYPES = "declare A(x: int)\ndeclare B(x: int)\ndeclare C(x: int)\ndeclare D(x: int)\ndeclare E(x: int, y: int)\n"
SENSORS = "declare Temp(value: int, area: string)\ndeclare Smoke(area: string)\n"

R1 = (
    SENSORS
    + """
Rule R1 define Fire(area: string, measuredTemp: double)
from Smoke(area=$a) and {policy} Temp(area=$a and value>45) within 5 min. from Smoke
where area=Smoke.area and measuredTemp=Temp.value
"""
)
R3 = (
    SENSORS
    + """
Rule R3 define Fire(area: string, measuredTemp: double)
from Smoke(area=$a) and 45 < $t=Avg(Temp(area=$a).value within 5 min. from Smoke)
where area=Smoke.area and measuredTemp=$t
"""
)
FIGURE_3 = [
    Temp(1, 50, "Area1"), Temp(2, 55, "Area1"), Smoke(5, "Area2"),
    Temp(7, 60, "Area1"), Smoke(8, "Area1"), Smoke(9, "Area1"),
]  # fmt: skip


# --- the papers' examples -------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["each", "last", "first"])
def test_figure_3(policy):
    """T1 (t=1) and T2 (t=2) are more than 5 minutes before S2 (t=8) and S3 (t=9), S1 is of another area: T3 is left."""
    made = in_units(parse_rules(R1.format(policy=policy)), "min")
    found = meaning(made, list(minutes(*FIGURE_3)))
    assert [(each.time // (60 * 10**6), each.values) for each in found] == [(8, ("Area1", 60.0)), (9, ("Area1", 60.0))]
    # Numbers count all events: T1 T2 S1 T3 S2, the fire of S2, S3.
    assert [(each.number, each.sources, each.rule) for each in found] == [(5, (4, 3), "R1"), (7, (6, 3), "R1")]
    assert all(type(each.values[1]) is float for each in found)


SMOKY = [Temp(1, 50, "x"), Temp(2, 40, "x"), Temp(3, 60, "x"), Temp(4, 99, "y"), Temp(5, 46, "x"), Smoke(6, "x")]


@pytest.mark.parametrize(("policy", "fires"), [("each", [50.0, 60.0, 46.0]), ("last", [46.0]), ("first", [50.0])])
def test_rules_1_and_2(policy, fires):
    """Section 2 of the paper: three readings over 45 before the smoke notify three fires, or one with the last read."""
    found = told(R1.format(policy=policy), *minutes(*SMOKY), unit="min")
    assert values(found) == [("x", fire) for fire in fires]


def test_rule_3():
    """(50 + 40 + 60 + 46) / 4 = 49 is more than 45; (50 + 40) / 2 is not; over nothing there is no average."""
    assert values(told(R3, *minutes(*SMOKY), unit="min")) == [("x", 49.0)]
    assert told(R3, *minutes(*SMOKY[:2], Smoke(6, "x")), unit="min") == []
    assert told(R3, Smoke(6, "x"), unit="min") == []


R4 = """
declare A(p: int) declare B(p: int, v: int) declare C(p: int)
define ComplexEvent() from C(p=$x) and each B(p=$x and v>10) within 8 min. from C and last A(p=$x) within 3 min. from B
"""
COLUMN_A, COLUMN_B = {1: 5, 4: 4, 7: 1, 9: 2, 12: 3, 14: 3}, {2: 2, 3: 4, 6: 3, 8: 1, 11: 3, 13: 3}


def test_figures_4_and_5():
    """B@13 goes with A@12; B@11 finds no A of 3 in [8, 11]; B@6 is out of [7, 15]; A@14 comes after B@13."""
    columns = [
        *(A(time, p) for time, p in COLUMN_A.items()),
        *(B(time, p, 11) for time, p in COLUMN_B.items()),
        C(15, 3),
    ]
    stream = sorted(columns, key=lambda event: event.time)
    (found,) = meaning(in_units(parse_rules(R4), "min"), list(minutes(*stream)))
    assert [(stream[number].type, stream[number].time) for number in found.sources] == [("C", 15), ("B", 13), ("A", 12)]
    low = [B(event.time, event.values[0], 10) if event.type == "B" else event for event in stream]
    assert told(R4, *minutes(*low), unit="min") == []


R5 = """
declare A(att: int, value: int) declare B(att: int) declare C(att: int) declare CE(att1: int, att2: int)
from C[$x = att] and last B(att == $x) within 100000 from C and last A(att == $x) within 100000 from B
  and $s = SUM(A(att == $x).value within 100000 from B)
emit CE(att1 = $x, att2 = $s)
"""


def test_rule_5():
    """The last B before C@100010 is that of 20; A@19, A@5, A@0 are before it; A@21 is not, A@3 has another att."""
    stream = [A(0, 7, 1), A(3, 8, 2), A(5, 7, 4), B(6, 7), A(19, 7, 8), B(20, 7), A(21, 7, 16), C(100_010, 7)]
    assert values(told(R5, *stream)) == [(7, 13)]
    # From C@100020 on B@20 is at the end of the window; C@100021 has no B, A needs no window from C.
    assert values(told(R5, *stream[:-1], C(100_020, 7))) == [(7, 13)]
    assert told(R5, *stream[:-1], C(100_021, 7)) == []


def rep(first, second):
    return f"""
declare A(Val: int)
declare RepA(Times: int, Val: int)
declare B(Times: int)
{first}
{second}
define B(Times) from RepA() where Times = RepA.Times
"""


BEGINS = "define RepA(Times, Val) from A() where Times = 1 and Val = A.Val"
GOES_ON = """define RepA(Times, Val) from A($x) and last RepA(Val <= $x) within 3 from A
where Times = RepA.Times + 1 and Val = $x consuming RepA"""


def test_iteration_by_recursion():
    """The longer repetition is published after the new one of length 1, so it is the last, and grows."""
    stream = [A(0, 1), A(1, 2), A(2, 2), A(3, 1), A(9, 1)]
    found = told(rep(BEGINS, GOES_ON), *stream)
    # A@3 is less than the Val of all but RepA(1, 1)@0, which A@1 consumed: only a new one begins. A@9 is too late.
    assert [times for kind, _, *(times, *_) in found if kind == "B"] == [1, 1, 2, 1, 3, 1, 1]


def test_iteration_depends_on_the_order_of_its_rules():
    """Swapped, the new repetition of length 1 comes last each time, so that none gets beyond 2."""
    found = told(rep(GOES_ON, BEGINS), A(0, 1), A(1, 1), A(2, 1), A(3, 1))
    assert [times for kind, _, *(times, *_) in found if kind == "RepA"] == [1, 2, 1, 2, 1, 2, 1]


# --- paradoxes, order of execution (thesis, 2.4.4) ------------------------------------------------------


def test_a_paradox_is_broken_by_the_order_of_execution():
    """`A from B and not A`: when B is processed there is no A yet, so it comes; it keeps the next one away."""
    text = TYPES + "from B and not A within 5 from B emit A(x = B.x)"
    assert told(text, B(0, 1)) == [("A", 0, 1)]
    assert told(text, B(0, 1), B(0, 2), B(5, 3), B(6, 4)) == [("A", 0, 1), ("A", 6, 4)]


def test_a_rule_that_sounds_reasonable():
    """`B from A as A1 and not A within X from A1`: the trigger is not in the history, so it is not its own negation."""
    text = TYPES + "from A as A1 and not A within 5 from A1 emit B(x = A1.x)"
    assert told(text, A(0, 1), A(5, 2), A(11, 3)) == [("B", 0, 1), ("B", 11, 3)]


def test_simultaneous_events_stand_in_the_order_of_arrival():
    text = TYPES + "from A and each B within 0 from A emit D(x = B.x)"
    assert told(text, B(1, 1), A(1, 0), B(1, 2)) == [("D", 1, 1)]


def test_what_an_event_causes_comes_depth_first_and_rules_do_not_see_it():
    """C(0) is evaluated by both rules on the same history; then D(1) with its E, then D(2) with its E."""
    text = (
        TYPES
        + """
from C emit D(x = 1)
from C and $n = COUNT(D within 9 from C) emit D(x = 2 + $n)
from D and $n = COUNT(E within 9 from D) emit E(x = D.x, y = $n)
"""
    )
    expected = [("D", 0, 1), ("E", 0, 1, 0), ("D", 0, 2), ("E", 0, 2, 1)]
    assert told(text, C(0, 0)) == expected


@pytest.fixture(params=[50, pytest.param(LONGEST_CHAIN, marks=pytest.mark.slow)])
def longest_chain(request, monkeypatch):
    """How many composites a chain may have."""
    monkeypatch.setattr("workbench.executors.compiled.rules.memory.LONGEST_CHAIN", request.param)
    for module in ("meaning", "engines.publisher", "rule_graph"):
        monkeypatch.setattr(f"workbench.tesla.{module}.LONGEST_CHAIN", request.param)
    return request.param


def test_a_cascade_that_does_not_end_names_its_rules(longest_chain):
    text = TYPES + "rule one: from A emit B(x = 0) rule two: from B emit C(x = 0) rule back: from C emit B(x = 1)"
    with pytest.raises(InputError, match=rf"more than {longest_chain} .*(two -> back -> two|back -> two -> back)"):
        told(text, A(0, 0))
    counted = TYPES + f"from A(x < {longest_chain}) emit A(x = A.x + 1)"
    assert len(told(counted, A(0, 0))) == longest_chain
    with pytest.raises(InputError, match=f"more than {longest_chain} "):
        told(counted, A(0, -1))


def test_what_the_clock_causes_begins_a_chain(longest_chain):
    """A rule that is its own timer may go on for ever; one whose clock stands still may not."""
    beat = TYPES + "from A as S and absent B within {} after S emit A(x = S.x + 1)"
    found = told(beat.format(1), A(0, 0), until=longest_chain + 9)
    assert found == [("A", time, time) for time in range(1, longest_chain + 10)]
    with pytest.raises(InputError, match=f"more than {longest_chain} "):
        told(beat.format(0), A(0, 0), until=0)


# --- windows --------------------------------------------------------------------------------------------

WINDOWS = {
    "closed": ("within 3 from A", [2, 3, 4, 5]),
    "least and most": ("within 1 .. 3 from A", [2, 3, 4]),
    "nothing but now": ("within 0 from A", [5]),
    "forever": ("within forever from A", [1, 2, 3, 4, 5]),
    "least for ever": ("within 2 .. forever from A", [1, 2, 3]),
    "half": ("within 2.5 from A", [3, 4, 5]),
    "a number of events": ("within 2 events from A", [4, 5]),
    "the event before": ("within 1 event from A", [5]),
    "two numbers of events": ("within 2 .. 4 events from A", [2, 3, 4]),
    "no number of events": ("within 3 events .. forever from A", [1, 2, 3]),
}


@pytest.mark.parametrize(("window", "found"), WINDOWS.values(), ids=WINDOWS)
def test_windows(window, found):
    """B at 1 to 5, A at 5 behind the B of 5, which has the number of its time."""
    text = TYPES + f"from A and each B {window} emit D(x = B.x)"
    assert values(told(text, *(B(time, time) for time in range(1, 6)), A(5, 0))) == [(each,) for each in found]


def test_a_window_by_count_counts_the_events_of_all_types_and_composites_among_them():
    """In order B@0, its D@0, C@0, C@1, B@2, its D@2, A@3: the second B lies 2 places before A, the first one 6."""
    text = TYPES + "from B emit D(x = B.x) from A and each B within {} events from A emit E(x = B.x, y = 0)"
    stream = [B(0, 7), C(0, 0), C(1, 0), B(2, 8), A(3, 0)]
    for count, found in {1: [], 2: [8], 5: [8], 6: [7, 8]}.items():
        assert told(text.format(count), *stream)[2:] == [("E", 3, each, 0) for each in found]
    # It is the same with T-Rex, which has no such windows: equal times meet.
    near = TYPES + "from A and each B within 1 events from A emit D(x = B.x)"
    assert values(told(near, B(3, 1), B(3, 2), A(3, 0), compat="trex")) == [(2,)]


def test_between_is_strict_whichever_comes_first():
    text = (
        TYPES
        + """
from A and first B within 9 from A as B1 and last B within 9 from A as B2 and each C between {} emit D(x = C.x)
""".replace("B within 9 from A as B1", "B as B1 within 9 from A").replace(
            "B within 9 from A as B2", "B as B2 within 9 from A"
        )
    )
    stream = [C(1, 1), B(1, 0), C(1, 2), C(2, 3), B(2, 0), C(2, 4), A(3, 0)]
    for pair in ("B1 and B2", "B2 and B1"):
        assert values(told(text.format(pair), *stream)) == [(2,), (3,)]
    assert values(told(text.format("B2 and A"), *stream)) == [(4,)]


def test_a_window_hangs_on_what_it_names_not_on_the_trigger():
    """B@4 is 4 before A@8, and C@1 is 3 before B@4: 7 before A."""
    text = TYPES + "from A and each B within 4 from A and each C within 3 from B emit D(x = C.x)"
    assert values(told(text, C(0, 0), C(1, 1), B(3, 0), B(4, 0), C(5, 5), A(8, 0))) == [(1,)]


# --- selection ------------------------------------------------------------------------------------------


def test_matches_stand_in_the_order_of_their_events():
    text = TYPES + "from A and each B within 9 from A and each C within 9 from A emit E(x = B.x, y = C.x)"
    found = values(told(text, C(0, 1), B(1, 1), B(2, 2), C(3, 2), A(4, 0)))
    assert found == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_an_event_is_in_a_match_once():
    """Pairs of A: neither of an event with itself, and each in both orders."""
    text = TYPES + "from C and each A as A1 within 9 from C and each A as A2 within 9 from C emit E(x = A1.x, y = A2.x)"
    assert values(told(text, A(0, 1), A(1, 2), C(2, 0))) == [(1, 2), (2, 1)]
    # The first one is taken, so that the first of the others is the second.
    text = text.replace("each A", "first A")
    assert values(told(text, A(0, 1), A(1, 2), C(2, 0))) == [(1, 2)]


def test_a_negation_looks_at_what_is_in_the_match_too():
    text = TYPES + "from C and last A within 9 from C and not A as Other within 9 from C emit D(x = A.x)"
    assert told(text, A(0, 1), C(2, 0)) == []


def test_selection_does_not_go_back():
    """The last B is taken for the first A; that no C stands before that B does not bring the other B."""
    text = TYPES + "from A and last B within 9 from A and last C(x == B.x) within 9 from B emit D(x = B.x)"
    assert told(text, C(0, 1), B(1, 1), B(2, 2), A(3, 0)) == []


def test_a_constraint_selects_and_a_condition_filters():
    """Thesis, 3.3: the last that satisfies; or the absolute last, which then does not."""
    stream = [B(0, 1), B(1, 9), B(2, 2), A(3, 0)]
    assert values(told(TYPES + "from A and last B(x > 5) within 9 from A emit D(x = B.x)", *stream)) == [(9,)]
    assert told(TYPES + "from A and last B within 9 from A where B.x > 5 emit D(x = B.x)", *stream) == []
    each = TYPES + "from A and each B{} within 9 from A {} emit D(x = B.x)"
    assert told(each.format("(x > 5)", ""), *stream) == told(each.format("", "where B.x > 5"), *stream)


def test_parameters():
    """Bound where they stand, before the constraints of their own predicate; of a negation only there."""
    text = (
        TYPES
        + """
from A[$a = x, $b = $a * 2] and each B[$c = x + $b](x < $a, $c > 20) within 9 from A
  and not C[$d = x](x == $d, $d == $c) within 9 from A and not C[$d = -x]($d == $a) within 9 from A
emit E(x = $c, y = TIME(A) - TIME(B))
"""
    )
    assert values(told(text, B(0, 1), B(1, 3), B(2, 12), C(3, 21), A(5, 9))) == []
    assert values(told(text, B(0, 1), B(1, 3), B(2, 8), C(3, 21), A(5, 9))) == [(26, 3)]
    assert values(told(text, B(0, 1), B(1, 3), B(2, 8), C(3, -9), A(5, 9))) == []


def test_limit_takes_the_first_that_pass_the_conditions():
    text = TYPES + "from A and each B within 9 from A where B.x % 2 == 1 limit 2 emit D(x = B.x)"
    assert values(told(text, *(B(0, x) for x in (2, 1, 4, 3, 5)), A(1, 0))) == [(1,), (3,)]


# --- null and numbers -----------------------------------------------------------------------------------

EXPRESSIONS = {
    "1 / 0": None, "7 / 2": 3.5, "7 % 0": None, "-7 % 3": 2, "7 % -3": -2, "1 / 0 + 1": None,
    "-7.5 % 2": 0.5, "1.0 / 0.0": None, "1e308 * 10": math.inf, "-(1 / 0)": None, "2 + 0.5": 2.5,
}  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_arithmetic(expression):
    kind = "float" if isinstance(EXPRESSIONS[expression], float | None) else "int"
    text = TYPES + f"declare F(v: {kind})\nfrom A emit F(v = {expression})"
    ((found,),) = (
        values(told(text, A(0, 0))) if "% 0" not in expression else values(told(text.replace("float", "int"), A(0, 0)))
    )
    assert (found, type(found)) == (EXPRESSIONS[expression], type(EXPRESSIONS[expression]))


CONDITIONS = {
    "x == x": False, "x != 1": False, "x == 1 or true": False, "true or x == 1": False, "not (x == 1 and false)": False,
    "TIME(S) == 0": True, "9007199254740993 > 9007199254740992.0": True, '"ab" < "b"': True, '"a" + "b" == "ab"': True,
    "1 == 1.0": True, "9007199254740993 == 9007199254740992.0": False,
}  # fmt: skip


@pytest.mark.parametrize(("condition", "held"), CONDITIONS.items())
def test_an_operator_on_null_is_null_and_null_holds_nothing(condition, held):
    """x is null; whole numbers are compared with floats exactly."""
    text = TYPES + f"from C as S and each A({condition}) within 1 from S emit D(x = 0)"
    assert bool(told(text, A(0, None), C(0, 0))) is held


def test_a_number_beyond_all_floats_becomes_an_infinite_one():
    text = "declare A(x: int) declare F(v: float) "
    assert values(told(text + "from A emit F(v = A.x)", A(0, 10**400), A(0, -(10**400)))) == [(math.inf,), (-math.inf,)]
    assert values(told(text + "from A emit F(v = A.x * 1.5)", A(0, -(10**400)))) == [(-math.inf,)]


def test_a_null_attribute_is_a_value():
    assert told(TYPES + "from A emit D(x = A.x)", A(0, None)) == [("D", 0, None)]


AGGREGATES = {
    "COUNT(B within 9 from A)": ("int", 4, 0), "COUNT(B().v within 9 from A)": ("int", 3, 0),
    "SUM(B().v within 9 from A)": ("int", 6, 0), "AVG(B().v within 9 from A)": ("float", 2.0, None),
    "MIN(B().v within 9 from A)": ("int", -1, None), "MAX(B().v within 9 from A)": ("int", 4, None),
    "SUM(B().f within 9 from A)": ("float", 1.0, 0.0), "AVG(B().f within 9 from A)": ("float", 0.25, None),
    "MAX(B().s within 9 from A)": ("string", "c", None), "SUM(B(v > 9).v within 9 from A)": ("int", 0, 0),
    "MIN(B(v > 9).v within 9 from A)": ("int", None, None), "COUNT(B(v > 0) within 9 from A)": ("int", 2, 0),
}  # fmt: skip


@pytest.mark.parametrize("call", AGGREGATES)
def test_aggregates(call):
    """Nulls are skipped; 1e16 + 1 + -1e16 + 0 is 1 exactly, which adding one after the other misses."""
    kind, expected, nothing = AGGREGATES[call]
    text = f"""declare A() declare B(v: int, f: float, s: string) declare R(v: {kind})
from A and $n = {call} emit R(v = $n)"""
    rows = [B(0, 3, 1e16, "a"), B(0, None, 1.0, "c"), B(0, 4, -1e16, None), B(0, -1, 0.0, "b")]
    for stream, found in ((rows, expected), ([], nothing)):
        ((value,),) = values(told(text, *stream, A(1)))
        assert (value, type(value)) == (found, type(found))


OWN = """
declare A() declare B(v: int, f: float, s: string, b: bool) declare fact G(s: string)
declare aggregate PRODUCT(a: int, b: int) = a * b from 1
declare aggregate SCALE(a: float, b: float) = a * b from -0.5
declare aggregate ADDED(a: float, b: float) = a + b from 0
declare aggregate JOINED(a: string, b: string) = a + b from ">"
declare aggregate ANY(a: bool, b: bool) = a or b from false
declare aggregate NOTHING(a: int, b: int) = a + b * (1 % 0) from 7
"""
OWN_CALLS = {
    "PRODUCT(B.v within 9 from A)": ("int", -12, 1), "SCALE(B.v within 9 from A)": ("float", 6.0, -0.5),
    "ADDED(B.f within 9 from A)": ("float", 0.0, 0.0), "JOINED(B(v > 0).s within 9 from A)": ("string", ">a", ">"),
    "JOINED(B.s within 9 from A)": ("string", ">acb", ">"), "ANY(B.b within 9 from A)": ("bool", True, False),
    "NOTHING(B.v within 9 from A)": ("int", None, 7), "JOINED(G.s)": ("string", ">yx", ">yx"),
}  # fmt: skip


@pytest.mark.parametrize("call", OWN_CALLS)
def test_aggregates_that_are_declared(call):
    """In the order of events, nulls skipped; floats one after the other: (1e16 + 1) - 1e16 is 0."""
    kind, expected, nothing = OWN_CALLS[call]
    text = OWN + f"declare R(v: {kind}) from A and $n = {call} emit R(v = $n)"
    rows = [
        B(0, 3, 1e16, "a", False), B(0, None, 1.0, "c", None), B(0, 4, -1e16, None, True), B(0, -1, None, "b", False)
    ]  # fmt: skip
    for stream, found in ((rows, expected), ([], nothing)):
        ((value,),) = values(told(text, *stream, A(1), facts={"G": [("y",), (None,), ("x",)]}))
        assert (value, type(value)) == (found, type(found))


@pytest.mark.parametrize(
    ("function", "numbers", "expected"),
    [
        ("MIN", [1.0, math.nan, -1.0], math.nan), ("MAX", [math.nan], math.nan),
        ("SUM", [math.inf, -math.inf], math.nan),
        ("SUM", [math.inf, 1.0], math.inf), ("SUM", [1e308, 1e308], math.inf), ("AVG", [-math.inf, math.inf], math.nan),
        ("AVG", [1e308, 1e308], 1e308), ("SUM", [1e308, 1e308, -1e308], 1e308), ("AVG", [0.1] * 3, 0.1),
    ],
)  # fmt: skip
def test_aggregates_of_floats(function, numbers, expected):
    text = "declare A() declare B(f: float) declare R(v: float) from A "
    text += f"and $n = {function}(B().f within 9 from A) emit R(v = $n)"
    ((found,),) = values(told(text, *(B(0, number) for number in numbers), A(1)))
    assert found == expected or (math.isnan(found) and math.isnan(expected))


# --- consumption (thesis, 2.3.3 and 2.4.5) --------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("each", [(1,), (2,), (3,)]), ("first", [(1,), (2,), (3,)]), ("last", [(3,), (2,), (1,)])],
)
def test_consumption_passes_over_what_is_consumed(policy, expected):
    """Three triggers: `each` takes all at once and then nothing; the others the next one that is not consumed."""
    text = TYPES + f"from A and {policy} B within 9 from A emit D(x = B.x) consuming B"
    assert values(told(text, B(0, 1), B(1, 2), B(2, 3), A(3, 0), A(4, 0), A(5, 0), A(6, 0))) == expected


def test_consumption_is_a_rule_s_own_and_comes_after_all_matches_of_a_trigger():
    text = (
        TYPES
        + """
from A and each B as B1 within 9 from A and each C within 9 from A emit E(x = B1.x, y = C.x) consuming B1
from A and each B within 9 from A emit D(x = B.x)
"""
    )
    stream = [B(0, 1), C(0, 1), C(0, 2), A(1, 0), A(2, 0)]
    assert told(text, *stream) == [("E", 1, 1, 1), ("E", 1, 1, 2), ("D", 1, 1), ("D", 2, 1)]


def test_only_what_is_emitted_consumes():
    for clause in ("where B.x > 1", "limit 1"):
        text = TYPES + f"from A and each B within 9 from A {clause} emit D(x = B.x) consuming B"
        again = [("D", 3, 1), ("D", 4, 2)] if clause == "limit 1" else [("D", 3, 2)]
        assert told(text, B(0, 1), B(1, 2), A(3, 0), A(4, 0)) == again


def test_negations_and_aggregates_see_what_is_consumed():
    text = (
        TYPES
        + """
from A and last B within 9 from A and $n = COUNT(B within 9 from A) emit D(x = $n) consuming B
from A and not B within 9 from A emit D(x = -1)
"""
    )
    assert values(told(text, B(0, 1), B(1, 2), A(3, 0), A(4, 0), A(5, 0))) == [(2,), (2,)]


def test_a_trigger_that_is_consumed_is_not_selected_later():
    text = TYPES + "from A as New and each A as Old within 9 from New emit E(x = New.x, y = Old.x) consuming New"
    # A(2) is consumed by its own match; A(1) is not.
    assert values(told(text, A(0, 1), A(1, 2), A(2, 3))) == [(2, 1), (3, 1)]


# --- at most once ---------------------------------------------------------------------------------------


def test_at_most_once():
    """Silent while less than 5 has gone by since the last that was emitted, for each x on its own."""
    text = TYPES + "from A emit D(x = A.x) at most once in 5"
    assert told(text, A(0, 1), A(4, 2), A(5, 3), A(6, 4)) == [("D", 0, 1), ("D", 5, 3)]
    each = told(text + " per A.x", A(0, 1), A(1, 2), A(4, 1), A(5, 1), A(5, None), A(6, None), A(6, 2))
    assert each == [("D", 0, 1), ("D", 1, 2), ("D", 5, 1), ("D", 5, None), ("D", 6, 2)]


def test_what_is_suppressed_consumes_nothing_and_counts_within_the_limit():
    text = TYPES + "from A and each B within 9 from A limit 2 emit D(x = B.x) at most once in 5 consuming B"
    # A@1: B1 is emitted, B2 suppressed, B3 over the limit. A@6: B2 is emitted, B3 suppressed. A@7: silent.
    assert told(text, B(0, 1), B(0, 2), B(0, 3), A(1, 0), A(6, 0), A(7, 0)) == [("D", 1, 1), ("D", 6, 2)]


def test_a_pause_of_nothing_is_none():
    text = TYPES + "from A and each B within 9 from A emit D(x = B.x) at most once in 0"
    assert len(told(text, B(0, 1), B(0, 2), A(1, 0))) == 2


# --- absence --------------------------------------------------------------------------------------------

SILENT = TYPES + "from A as Start and absent B(x == Start.x) within 5 after Start emit D(x = Start.x)"


def test_absence_is_told_when_the_clock_has_passed_the_deadline():
    assert told(SILENT, A(0, 1)) == []
    assert told(SILENT, A(0, 1), C(5, 0)) == []
    assert told(SILENT, A(0, 1), C(6, 0)) == [("D", 5, 1)]
    assert told(SILENT, A(0, 1), until=5) == [("D", 5, 1)]
    assert told(SILENT, A(0, 1), until=4) == []


def test_what_comes_up_to_the_deadline_is_no_absence():
    assert told(SILENT, B(0, 1), A(0, 1), until=9) == [("D", 5, 1)]  # before the start
    assert told(SILENT, A(0, 1), B(0, 1), until=9) == []
    assert told(SILENT, A(0, 1), B(5, 1), until=9) == []
    assert told(SILENT, A(0, 1), B(6, 1), until=9) == [("D", 5, 1)]
    assert told(SILENT, A(0, 1), B(5, 2), until=9) == [("D", 5, 1)]


def test_absences_stand_by_deadline_then_rule_then_trigger():
    text = (
        TYPES
        + """
from A as S and absent B within 3 after S emit D(x = S.x)
from A as S and absent B within 2 after S emit D(x = S.x + 100)
from A as S and absent B within 3 after S emit D(x = S.x + 200)
"""
    )
    found = told(text, A(0, 1), A(0, 2), A(1, 3), until=9)
    assert [(time, x) for _, time, x in found] == [
        (2, 101), (2, 102), (3, 1), (3, 2), (3, 103), (3, 201), (3, 202), (4, 3), (4, 203),
    ]  # fmt: skip


def test_an_absence_is_processed_in_full_before_the_next_event():
    """The D of time 5 is in the history of A@6, and keeps the later absence of D away."""
    text = SILENT + "\nfrom A as S and absent D within 3 after S emit E(x = S.x, y = 0)"
    assert told(text, A(0, 1), A(3, 2), until=20) == [("E", 3, 1, 0), ("D", 5, 1), ("D", 8, 2)]


def test_conditions_limit_and_consumption_wait_for_the_deadline():
    """Both starts select B1 when they are processed; the first emission consumes it, the second has it already."""
    text = (
        TYPES
        + """
from A as S and each B within 9 from S and absent C within 5 after S where B.x < 3 limit 1
emit E(x = S.x, y = B.x) consuming B
"""
    )
    stream = [B(0, 9), B(0, 1), B(0, 2), A(1, 1), A(2, 2), A(7, 3)]
    # A@1 fires at 6, before A@7 is processed, and consumes B1. A@2 selected before that.
    assert told(text, *stream, until=20) == [("E", 6, 1, 1), ("E", 7, 2, 1), ("E", 12, 3, 2)]


def test_an_absence_within_no_time_is_told_at_the_same_time():
    text = TYPES + "from A as S and absent B within 0 after S emit D(x = S.x)"
    assert told(text, A(0, 1), A(1, 2), B(1, 0), C(2, 0)) == [("D", 0, 1)]


# --- facts (thesis, 3.3.2) ------------------------------------------------------------------------------

LINES = "declare Late(bus: int)\ndeclare fact Stop(bus: int, place: int, name: string)\ndeclare R(name: string)\n"
Late = Kind("Late")
STOPS = {"Stop": [(1, 2, "b"), (2, 1, "z"), (1, 1, "a"), (1, None, "n"), (1, 2, "c")]}
FACTS = {
    "each": ("each Stop(bus == $b)", ["b", "a", "n", "c"]),
    "first": ("first Stop(bus == $b) ordered by place asc", ["n"]),  # null is before all values
    "last": ("last Stop(bus == $b) ordered by place asc", ["c"]),  # of those with place 2, the later row
    "first desc": ("first Stop(bus == $b) ordered by place desc", ["b"]),  # of those with place 2, the earlier row
    "last desc": ("last Stop(bus == $b) ordered by place desc", ["n"]),
    "two": ("first Stop(bus == $b) ordered by place desc, name desc", ["c"]),
    "ordered each": ("each Stop(bus == $b) ordered by place desc", ["b", "c", "a", "n"]),
}


@pytest.mark.parametrize(("predicate", "names"), FACTS.values(), ids=FACTS)
def test_facts(predicate, names):
    text = LINES + f"from Late[$b = bus] and {predicate} emit R(name = Stop.name)"
    assert values(told(text, Late(0, 1), facts=STOPS)) == [(name,) for name in names]


def test_facts_in_negations_and_aggregates():
    text = LINES + "declare N(n: int, m: int)\nfrom Late[$b = bus] and not Stop(bus == $b) emit R(name = 'none')\n"
    text += (
        "from Late[$b = bus] and $n = COUNT(Stop(bus == $b)) and $m = MAX(Stop(bus == $b).place) emit N(n = $n, m = $m)"
    )
    assert told(text, Late(0, 1), Late(0, 3), facts=STOPS) == [("N", 0, 4, 2), ("R", 0, "none"), ("N", 0, 0, None)]
    assert told(text, Late(0, 3)) == [("R", 0, "none"), ("N", 0, 0, None)]


def test_a_fact_may_be_in_a_match_twice():
    """There is no l0 != l1 in the formulas of facts, as in a join of a table with itself."""
    text = (
        LINES
        + "from Late and each Stop as S1 and each Stop(bus == S1.bus + 1) as S2 and each Stop as S3 emit R(name = 'a')"
    )
    assert len(told(text, Late(0, 1), facts=STOPS)) == 4 * 1 * 5


# --- what T-Rex does (reference: its probes) ------------------------------------------------------------

OTHER = TYPES + "declare F(v: float)\n"
PROBES = {
    "the end of a window": (
        "from A and each B within 3 from A emit D(x = B.x)",
        [B(2, 1), B(3, 2), A(5, 0)], [(1,), (2,)], [(2,)],
    ),
    "equal times": ("from A and each B within 3 from A emit D(x = B.x)", [B(5, 1), A(5, 0)], [(1,)], []),
    "first, ties by arrival": (
        "from A and first B within 3 from A emit D(x = B.x)", [B(4, 1), B(4, 2), A(5, 0)], [(1,)], [(1,)],
    ),
    "last, ties by arrival": (
        "from A and last B within 3 from A emit D(x = B.x)", [B(4, 1), B(4, 2), A(5, 0)], [(2,)], [(2,)],
    ),
    "a window hangs on what it names": (
        "from A and last B within 5 from A and last C within 5 from B emit D(x = C.x)",
        [C(1, 7), B(5, 0), A(9, 0)], [(7,)], [(7,)],
    ),
    "no way back to an older partner": (
        "from A and last B within 5 from A and last C within 2 from B emit D(x = C.x)",
        [C(1, 7), B(2, 0), B(5, 0), A(6, 0)], [], [],
    ),
    "a negation's ends": (
        "from A and last B within 9 from A and not C between B and A emit D(x = 1)",
        [C(1, 0), B(1, 0), C(1, 0), A(2, 0)], [], [(1,)],
    ),
    "an aggregate does not see the trigger": (
        "from A as T and $n = COUNT(A within 3 from T) emit D(x = $n)", [A(1, 0), A(4, 0)], [(0,), (1,)], [(0,), (0,)],
    ),
    "consumed as one thing, not as another": (
        "from A and first B as One within 9 from A and last B as Two within 9 from A "
        "emit E(x = One.x, y = Two.x) consuming One",
        # At the third trigger One is B3. As Two, only T-Rex still selects B2, which was consumed as One.
        [B(0, 1), B(1, 2), B(2, 3), A(3, 0), A(4, 0), A(5, 0)], [(1, 3), (2, 3)], [(1, 3), (2, 3), (3, 2)],
    ),
    "consuming the trigger does nothing there": (
        "from A as New and each A as Old within 9 from New emit E(x = New.x, y = Old.x) consuming New",
        [A(0, 1), A(1, 2), A(2, 3)], [(2, 1), (3, 1)], [(2, 1), (3, 1), (3, 2)],
    ),
    "windows that are no whole numbers": (
        "from A and each B within 1.5 .. 3.5 from A emit E(x = A.x, y = B.x)",
        # 1.5 <= ago <= 3.5 and 1.5 < ago < 3.5 are both 2 and 3 ago, for times are whole numbers.
        [B(0, 4), B(1, 3), B(2, 2), B(3, 1), A(4, 0)], [(0, 3), (0, 2)], [(0, 3), (0, 2)],
    ),
    "false = false": ("from A(false == false) emit D(x = A.x)", [A(0, 1)], [(1,)], [(1,)]),
}  # fmt: skip
"""Text, events, what it means, and what it means compatibly with T-Rex; other differences of it are not imitated."""


@pytest.mark.parametrize("compat", ["", "trex"])
@pytest.mark.parametrize("probe", PROBES)
def test_probes_of_trex(probe, compat):
    text, events, ours, theirs = PROBES[probe]
    assert values(told(OTHER + text, *events, compat=compat)) == (theirs if compat else ours)


def test_nothing_in_the_window_is_null_where_trex_has_no_number():
    text = OTHER + "from A and $m = AVG(B().x within 3 from A) emit F(v = $m)"
    assert values(told(text, A(0, 0))) == [(None,)]
    filtered = OTHER + "from A and $m = MIN(B(x > 5).x within 3 from A) emit D(x = $m)"
    assert values(told(filtered, B(0, 1), A(0, 0))) == [(None,)]


def test_more_composites_than_trex_lets_through():
    """There the limit of 10 counts all that one event causes: of 20 composites only 5 second ones come."""
    text = TYPES + "from A and each B within 99 from A emit C(x = B.x) from C emit D(x = C.x)"
    found = told(text, *(B(0, x) for x in range(20)), A(1, 0))
    assert [kind for kind, *_ in found] == ["C", "D"] * 20


# --- bad input ------------------------------------------------------------------------------------------


def test_events_that_cannot_be():
    for events, phrase in {
        (A(1, 0), A(0, 0)): "goes back from 1 to 0",
        (Kind("Aa")(0, 0),): "no type 'Aa'",
        (A(0, 0, 0),): "has 2 values",
    }.items():
        with pytest.raises(InputError, match=phrase):
            told(TYPES, *events)


def test_events_of_a_composite_s_type_come_from_outside_too():
    text = TYPES + "from A emit D(x = A.x) from D emit E(x = D.x, y = 0)"
    outside = Occurrence("D", 1, (7,), number=99, sources=(5,), rule="else")
    found = meaning(parse_rules(text), [A(0, 1), outside])
    assert [(each.type, each.number, each.sources, each.rule) for each in found] == [
        ("D", 1, (0,), "rule 1"), ("E", 2, (1,), "rule 2"), ("E", 4, (3,), "rule 2"),
    ]  # fmt: skip


def test_a_policy_takes_what_its_row_says(monkeypatch):
    """With `first` as the second that fits: of 1, 3 and 5 it is 3, which is consumed, then 5, then none."""
    text = TYPES + "from B and first A(x == B.x) within 9 from B emit C(x = TIME(A)) consuming A"
    monkeypatch.setattr(t.Policy.FIRST, "takes", slice(1, 2))
    monkeypatch.setattr(t.Policy.FIRST, "oldest", False)
    monkeypatch.delitem(POLICIES, t.Policy.FIRST)
    assert told(text, A(1, 1), A(2, 9), A(3, 1), A(5, 1), B(8, 1), B(9, 1), B(10, 1)) == [("C", 8, 3), ("C", 9, 5)]
    with pytest.raises(Refused, match="no policy: first"):
        rule_engine(parse_rules(text), "compiled")
    with pytest.raises(Refused, match="models have no policy 'first'"):
        build_models([parse_rules(text)])
