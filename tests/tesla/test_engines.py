"""The two engines of the papers: their figures step by step, how much they keep, and what costs nothing.

What they say is held against the meaning of rules wherever `told` is called (test_meaning.py).
"""

import math
import random

import pytest

from tests.examples import scaled
from tests.tesla.events import ENGINES, A, B, C, Kind, minutes, rule_engine
from tests.tesla.test_meaning import FIGURE_3, R1, R4, TYPES
from workbench.errors import InputError, PipelineError, Refused
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.table import rule_engines
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.aip.automaton import Automaton
from workbench.tesla.engines.aip.matcher import AIPMatcher
from workbench.tesla.engines.cdp.matcher import CDPMatcher
from workbench.tesla.engines.columns import make_aggregated_column
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.rule_plan import RulePlan
from workbench.tesla.engines.runner import MatcherStart
from workbench.tesla.occurrence import Occurrence, in_units
from workbench.tesla.tree import Aggregate

MINUTE = 60 * 10**6


def plan(text: str, unit: str | None = None) -> RulePlan:
    made = in_units(parse_rules(text), unit)
    return RulePlan(made.resolved[0])


def numbered(*events: Occurrence) -> list[Occurrence]:
    return [Occurrence(each.type, each.time, each.values, number) for number, each in enumerate(events)]


@pytest.fixture(params=ENGINES)
def engine(request):
    """The name of an engine."""
    return request.param


def test_the_engines_are_a_table():
    assert set(ENGINES) <= set(rule_engines())
    with pytest.raises(PipelineError, match="did you mean 'cdp'"):
        rule_engine(parse_rules(TYPES), "cpd")


# --- figures 2 and 3: automata --------------------------------------------------------------------------


def test_figure_3_step_by_step():
    """Time to the readings held by instances in state T, the newest first, and to those that reach state S."""
    matcher = AIPMatcher(MatcherStart(plan(R1.format(policy="each"), "min"), {}))
    seen = {}
    for event in numbered(*minutes(*FIGURE_3)):
        start = matcher.plan.start(event)
        fires = [] if start is None else [match[2] for match in matcher.matches(start)]
        matcher.add(event)
        waiting = [each.holdings[0].time // MINUTE for each in matcher.instances[1].in_turn(None)]
        seen[event.time // MINUTE] = waiting, [each.time // MINUTE for each in fires]
    assert seen == {
        1: ([1], []),  # A1 with T1
        2: ([2, 1], []),  # A2 with T2
        5: ([2, 1], []),  # S1 is of another area
        7: ([7, 2], []),  # A1 is deleted, A3 with T3
        8: ([7], [7]),  # A2 is deleted, A31 with T3 and S2
        9: ([7], [7]),  # A32 with T3 and S3
    }


def states(text: str) -> set[frozenset[str]]:
    """The states that an automaton can reach, as names."""
    automaton = Automaton(plan(TYPES + text), trex=False)
    found: set[int] = set()
    todo = [0]
    while todo:
        state = todo.pop()
        after = (automaton.leads_on(state, bit) for bit in range(len(automaton.steps)))
        todo += {each for each in after if each is not None} - found
        found.update(todo)
    names = [step.part.name for step in automaton.steps]
    return {frozenset(name for bit, name in enumerate(names) if state >> bit & 1) for state in found}


def test_states():
    """A chain has one after the other; `last` on the way what it chooses from; else sets; or automata side by side."""
    chain = "from D and {} C within 9 from D and each B within 9 from C and each A within 9 from {} emit D(x = 1)"
    a, b, c = "A", "B", "C"
    assert states(chain.format("each", "B")) == {frozenset(each) for each in ([a], [a, b], [a, b, c])}
    assert states(chain.format("last", "B")) == {frozenset(each) for each in ([a], [a, b], [a, b, c], [c])}
    assert states(chain.format("each", "C")) == {frozenset(each) for each in ([a], [b], [a, b], [a, b, c])}
    # B within C is one, A is another.
    assert states(chain.format("each", "D")) == {frozenset(each) for each in ([a], [b], [b, c])}
    between = "from D and each C within 9 from D and each B between C and D emit D(x = 1)"
    assert states(between) == {frozenset([c]), frozenset([b, c])}


def test_a_single_selection_duplicates_one_instance():
    """Algorithm 1, line 12: B takes the newest A of its key; the trigger's own constraint on A forbids that."""
    text = "from C and last B within 9 from C and last A{} within 9 from B emit D(x = 1)"
    for constraint, instances in {"": 1, "(x < 9)": 1, "(x <= B.x)": 1, "(x < C.x)": 3, "(x > C.x + B.x)": 3}.items():
        matcher = AIPMatcher(MatcherStart(plan(TYPES + text.format(constraint)), {}))
        for event in numbered(A(1, 0), A(2, 0), A(3, 0), B(4, 7)):
            matcher.add(event)
        assert len(matcher.instances[0b11]) == instances, constraint


def test_an_automaton_with_too_many_states_is_refused():
    """Fifteen predicates before one that itself hangs on the trigger: each set of them is a state."""
    many = " ".join(f"and each A as A{i} within 9 from B" for i in range(15))
    text = TYPES + f"rule wide: from C and each B within 9 from C {many} emit D(x = 1)"
    with pytest.raises(Refused, match=r"'wide' has more than 10000 states"):
        rule_engine(parse_rules(text), "aip")
    assert rule_engine(parse_rules(text), "cdp").process(C(0, 0)) == []


# --- figures 4 and 5: columns ---------------------------------------------------------------------------


def test_figures_4_and_5_step_by_step():
    """C@15 deletes the Bs before 7 and, B@8 being the first left, the As before 5; then sequences grow by B, then A."""
    column_a = {1: 5, 4: 4, 7: 1, 9: 2, 12: 3, 14: 3}
    column_b = {2: 2, 3: 4, 6: 3, 8: 1, 11: 3, 13: 3}
    stream = [A(time, p) for time, p in column_a.items()] + [B(time, p, 11) for time, p in column_b.items()]
    partial = []
    matcher = CDPMatcher(MatcherStart(plan(R4, "min"), {}, counted=partial.append))
    events = numbered(*minutes(*sorted([*stream, B(10, 3, 10), C(15, 3)], key=lambda event: event.time)))
    for event in events[:-1]:
        matcher.add(event)
    shown = [[event.time // MINUTE for event in column.column] for column in matcher.columns.values()]
    assert shown == [list(column_b), list(column_a)]  # B@10 with v = 10 is in none
    start = matcher.plan.start(events[-1])
    assert start is not None
    found = list(matcher.matches(start))
    shown = [[event.time // MINUTE for event in column.column] for column in matcher.columns.values()]
    assert shown == [[8, 11, 13], [7, 9, 12, 14]]

    def times(matches):
        return [[item.time // MINUTE for item in match if isinstance(item, Occurrence)] for match in matches]

    assert sorted(times(partial)) == [[15, 11], [15, 13], [15, 13, 12]]
    assert times(found) == [[15, 13, 12]]


# --- what is kept ---------------------------------------------------------------------------------------

KEPT = """
from D and each B within 20 from D and last A(x == B.x) within 10 from B and not C between A and B
  and $n = COUNT(C(x > 1) within 5 from B) emit E(x = $n, y = 0)
"""

BY_COUNT = KEPT.replace("20", "60 events").replace("10", "30 events").replace(
    "emit", "and $m = COUNT(C within 9 events from A) emit"
) + "consuming A, B"  # fmt: skip


def kept(running) -> int:
    """How many events, instances and what else a rule holds."""
    if isinstance(running, CompiledRules):  # rows of all columns, and entries that are not yet forgotten
        columns, state = running.memory.history.columns, running.memory.state
        return int((columns.appended - columns.first).sum()) + state.consumed + state.silences
    (runner,) = running.runners
    matcher = runner.matcher
    held = sum(len(column.column.events) for column in matcher.columns.values())
    held += sum(len(each.events) for each in getattr(matcher, "instances", {}).values())
    held += sum(map(len, (runner.consumed or {}).values())) + len(runner.emitted)
    absent = [] if runner.absences is None else runner.absences.column.column.events
    return held + len(running.waiting) + len(absent)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("types", ["ABC", "ABCD"])
@pytest.mark.parametrize(
    "rule", ["KEPT", "consuming", "at most once", "absent", "forgotten keys", "by count", "by both"]
)
def test_memory_is_bounded_by_windows(engine, types, rule):
    """Three events at a tick; windows reach 30 ticks. It makes no difference whether the trigger ever comes."""
    text = {
        "KEPT": KEPT,
        "consuming": KEPT + "consuming A, B",
        "at most once": "from A emit D(x = 1) at most once in 20 per TIME(A)",
        "absent": "from A and absent B(x == A.x + 3) within 20 after A emit D(x = 1)",
        "by count": BY_COUNT.replace("5 from", "15 events from"),
        "by both": BY_COUNT,
        "forgotten keys": "from D[$t = x] and each A[$k = x](x == $t) within 30 from D emit E(x = 1, y = 0)",
    }[rule]
    made, most = parse_rules(TYPES + text), 0
    if engine == "compiled":  # which forgets what is old when there is no room
        running, count = CompiledRules(made, {}, EngineSettings(plain=True), capacity=16), scaled(900, 1500)
    else:
        running, count = rule_engine(made, engine), 6000
    for at in range(count):
        event = Kind(types[at % len(types)])(at // 3, at if rule == "forgotten keys" else at % 7)
        running.process(event)
        most = max(most, kept(running))
    # At 3 events a tick no window has more than 90; lists are cut when half of them is old, and instances are pairs;
    # tables of compiled rules are swept when they are full.
    assert (
        0 < most < (4000 if engine == "aip" and "KEPT" in rule else scaled(700, 1000) if engine == "compiled" else 800)
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("engine", ["cdp", "aip"])
def test_a_burst_costs_nothing_where_no_rule_needs_it(engine):
    """20,000 events of one instant between which no rule looks at all pairs: each would be 400 million."""
    text = (
        TYPES
        + """
from A[$x = x] and last B within 5 from A and last C within 5 from B emit D(x = B.x) at most once in 5
from A[$x = x] and each B(x == $x) within 0 from A emit E(x = $x, y = 1)
from B as S and absent A(x == S.x) within 3 after S emit D(x = S.x)
from A and $n = COUNT(B within 5 from A) limit 1 emit E(x = $n, y = 2)
from A and $s = SUM(B().x within 5 from A) and $n = COUNT(B().x within 5 from A) emit E(x = $s - $n, y = 3)
"""
    )
    running = rule_engine(parse_rules(text), engine)
    found = []
    for at in range(20_000):
        found += running.process((A, B, C)[at % 3](0, at - at % 3))
    found += running.advance(3)
    kinds = [(each.type, *each.values[1:]) for each in found]
    # Only the B of 19998 has no A of its number behind it; no A comes after the B of its number either.
    assert [kinds.count(kind) for kind in (("E", 2), ("E", 3), ("E", 1), ("D",))] == [6667, 6667, 0, 6668]
    # The Bs before the last A are 0, 3, .. 19995: 6666 of them.
    assert [each.values[0] for each in found if each.values[1:] == (3,)][-1] == 3 * sum(range(6666)) - 6666


def test_sums_of_what_is_left(engine):
    """Sums, averages and numbers of whole numbers are differences; what was forgotten is in none of them."""
    text = (
        TYPES
        + """
from D and each C within 3 from D and $s = SUM(A().x within 3 from C) and $n = COUNT(A().x within 3 from C)
  and $m = AVG(B(x == D.x).x within 3 from D) emit E(x = $s * 1000 + $n, y = TIME(C)) at most once in 7 per $m
"""
    )
    running = rule_engine(parse_rules(text), engine)
    found = []
    for at in range(0, 700, 7):
        stream = [A(at, 1), A(at + 1, None), A(at + 2, at), B(at + 2, 5), C(at + 3, 0), A(at + 3, 9)]
        stream.append(Kind("D")(at + 5, at % 5))
        found += [each for event in numbered(*stream) for each in running.process(event)]
    assert [each.values for each in found] == [((1 + at) * 1000 + 2, at + 3) for at in range(0, 700, 7)]


# --- numbers, errors ------------------------------------------------------------------------------------


def test_whole_numbers_and_floats_meet_without_an_error(engine):
    """A whole number that is too large for a float is infinite there; compared, it is exact."""
    text = TYPES + "declare F(v: float, w: float)\n"
    text += "from A emit F(v = A.x + 0.5, w = A.x / 3)\nfrom A(x > 1e308) emit B(x = A.x * 2)"
    large = 10**400
    found = rule_engine(parse_rules(text), engine).process(A(0, large))
    assert [each.values for each in found] == [(math.inf, math.inf), (2 * large,)]


def test_long_expressions(engine):
    """Python's own parser gives up at 200 parentheses."""
    deep = "(" * 150 + "x" + " + 1)" * 150
    text = TYPES + f"from A({deep} == 150, x == x) emit D(x = {deep.replace('x', 'A.x')})"
    found = rule_engine(parse_rules(text), engine).process(A(0, 0))
    assert [each.values for each in found] == [(150,)]


@pytest.mark.sampled(1)
def test_many_predicates(engine):
    """A chain of 60, each a tick before the next."""
    chain = " ".join(f"and last A(x == {i}) as A{i} within 1 from A{i - 1}" for i in range(1, 60))
    running = rule_engine(parse_rules(TYPES + f"from A(x == 0) as A0 {chain} emit D(x = TIME(A0) - TIME(A59))"), engine)
    found = [each for at in range(60) for each in running.process(A(at, 59 - at))]
    assert [each.values for each in found] == [(59,)]


def test_the_clock_and_events(engine):
    running = rule_engine(parse_rules(TYPES), engine)
    running.process(A(3, 0))
    with pytest.raises(InputError, match="goes back from 3 to 2"):
        running.process(A(2, 0))
    assert running.advance(5) == []
    with pytest.raises(InputError, match="time 5 comes after the clock has passed 5"):
        running.process(A(5, 0))
    assert running.process(A(6, 0)) == []


def test_what_a_rule_costs_is_counted_when_asked(engine):
    text = TYPES + "rule r: from C and each A within 5 from C and each B within 5 from C where A.x > 1 emit D(x = 1)"
    stream = [A(0, 1), A(0, 2), B(0, 0), B(1, 0), C(2, 0), Kind("E")(2, 0, 0)]
    running = rule_engine(parse_rules(text), engine, settings=EngineSettings(profiled=True))
    for event in stream:
        running.process(event)
    (cost,) = running.profile()
    # Five events are looked at; the trigger, two As and four pairs are partial matches; automata have one for each
    # A and B before. Four pairs are matches, two pass the condition.
    instances = 4 if engine == "aip" else 0
    assert (cost.rule, cost.events, cost.matches, cost.composites) == ("r", 5, 4, 2)
    assert cost.partial == 1 + 2 + 4 + instances
    for _ in range(10_000):  # the clock may stand still for some of them
        if running.profile()[0].seconds > 0:
            break
        running.process(C(2, 0))
    assert running.profile()[0].seconds > 0
    assert rule_engine(parse_rules(text), engine).profile() == []


# --- aggregates that are known --------------------------------------------------------------------------

NUMBERS = (0.1, 1e16, 2.5, -3.75, None, 1e308, 5e-324, 1e-9, 7.0)
STRANGE = (math.inf, -math.inf, math.nan)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("function", ["COUNT", "SUM", "AVG", "MIN", "MAX", "JOINED"])
@pytest.mark.parametrize(("declared", "pool"), [
    ("x: int", (None, 3, -7, 2**70, 5)), ("x: float", NUMBERS + STRANGE), ("x: float", NUMBERS),
    ("x: string", (None, "b", "a", "", "ab")),
])  # fmt: skip
def test_columns_know_what_the_formulas_compute(function, declared, pool):
    """Of any stretch, over several blocks, while old events are forgotten."""
    made = f"declare A({declared}) declare B(v: {{}}) from A and $v = {function}(A().x within 5 from A) emit B(v = $v)"
    kind = "int" if function == "COUNT" else "float" if function == "AVG" else declared[3:]
    if (declared == "x: string" and function in ("SUM", "AVG")) or (declared != "x: string" and function == "JOINED"):
        return
    joined = 'declare aggregate JOINED(a: string, b: string) = a + b from ""'
    step = plan(made.format(kind) + joined).steps[1]
    assert isinstance(step.part, Aggregate)
    row, made_of = aggregate_row(step.part), make_aggregated_column(step)
    assert made_of is not None
    column, choose = made_of(), random.Random(function + declared)
    strange = 0.003 if STRANGE[0] in pool else 0.0
    for number in range(9000):
        usual = [each for each in pool if each not in STRANGE and each == each]
        column.add(Occurrence("A", number, (choose.choice(STRANGE if choose.random() < strange else usual),), number))
        if number % 300 == 299:
            column.forget(choose.choice([0, 1, 200]))
            ends = range(column.start, len(column.events) + 1)
            low, high = sorted(choose.choices([*ends[:2], *ends[-70:-60], choose.choice(ends), ends[-1]], k=2))
            values = [event.values[0] for event in column.events[low:high]]
            meant = row.over(values, step.values)
            assert repr(column.running.over(low, high)) == repr(meant).replace("-0.0", "0.0"), (low, high)
