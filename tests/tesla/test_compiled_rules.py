"""The compiled engine on rule sets that have been hard for engines: it publishes what `cdp` publishes."""

import math
from dataclasses import replace
from random import Random

import pytest

pytest.importorskip("numba")

import workbench as wb
from tests.examples import scaled
from tests.tesla.events import rule_engine
from workbench.conformance.compare.rule_engines import same_occurrence
from workbench.errors import InputError, Refused
from workbench.events import lines
from workbench.executors.compiled.rules import engine as engine_module
from workbench.executors.compiled.rules.blocks import list_retained_events
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.show.rule_set_plan import plan_text
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.set_plan import SetPlan
from workbench.tesla.event_block import event_block
from workbench.tesla.occurrence import Occurrence

TYPES = """
declare A(x: int, f: float) declare B(x: int, s: string) declare P(x: int, f: float, s: string)
"""
MANY_KINDS = (
    TYPES
    + """
declare fact G(x: int, f: float)
rule one: from A[$x = x] and each B(x == $x) within 9 from A and last A(x == $x) as Old within 9 from B
  and $n = COUNT(B(x > 0) within 20 from A) and $a = AVG(A(x == $x).f within 20 from A)
  where $n > 1 limit 2 emit P(x = $n, f = $a, s = B.s) at most once in 2 per $x consuming B
rule two: from P[$x = x] and first A(x < $x) within forever from P and not B(s == "b") between A and P
  and each G(x == A.x) and $s = SUM(A(x > 0, f < 1.5).f within 12 from P) emit P(x = A.x - 1, f = $s / 3, s = "b")
declare aggregate SCALED(a: float, b: float) = a * b from 1.0
declare aggregate NAMES(a: string, b: string) = a + b from "-"
rule three: from B[$s = s](x > 0, s <= "b") and last B(x == B.x, s + "a" >= $s) as Old within 9 from B
  and $p = SCALED(A(x == B.x).f within 9 from B) and $n = NAMES(B.s within 3 from B) and $m = MAX(B.s within 9 from B)
  where $m > "a" emit P(x = 0, f = $p, s = $n + Old.s)
"""
)


def events(count: int) -> list[Occurrence]:
    """A stream with nulls in it."""
    found = []
    for i in range(count):
        x = None if i % 17 == 3 else i * i % 5
        if i % 3:
            found.append(Occurrence("A", i // 2, (x, None if i % 13 == 1 else i % 7 / 10)))
        else:
            found.append(Occurrence("B", i // 2, (x, "ab"[i % 2])))
    return found


def plain_engine(text, facts=None, **settings):
    """The engine run by Python, whose arrays have room for two."""
    return CompiledRules(text, facts or {}, EngineSettings(plain=True, **settings), capacity=2)


def alike(one, other):
    return len(one) == len(other) and all(map(same_occurrence, one, other))


FACTS = {"G": [(1, 0.5), (0, None), (1, 2.5)]}


def told(engine, stream):
    return [each for event in stream for each in engine.process(event)]


def published(engine, text, stream, size, *, sources=True):
    """What an engine publishes of blocks of so many events, in how many parts."""
    found, parts = [], 0
    for first in range(0, len(stream), size):
        block = event_block(text, stream[first : first + size], engine.texts.put)
        for part in engine.process_block(block, sources=sources):
            found += part if isinstance(part, list) else part.occurrences(text)
            parts += 1
    return found, parts


def test_blocks_and_states_say_what_single_events_say():
    text, stream = parse_rules(MANY_KINDS), events(120)
    expected = told(rule_engine(text, "cdp", FACTS), stream)
    assert len(expected) > 20
    assert alike(published(plain_engine(text, FACTS), text, stream, 50)[0], expected)
    middle, other = (plain_engine(text, FACTS) for _ in range(2))
    early = told(middle, stream[:60])
    other.restore(middle.snapshot())
    assert alike(early + told(other, stream[60:]), expected)


def test_costs_go_on_where_cdp_takes_over_and_gives_back(monkeypatch):
    monkeypatch.setattr(engine_module, "EXACT_EVENTS", 20)
    text, stream = parse_rules(MANY_KINDS), events(120)
    stream[21] = Occurrence("P", stream[21].time, (2**70, 0.5, "a"))  # which no column retains
    engine, cdp = (
        plain_engine(text, FACTS, profiled=True),
        rule_engine(text, "cdp", FACTS, EngineSettings(profiled=True)),
    )
    assert alike(told(engine, stream), told(cdp, stream))
    assert engine.takes_block(1)
    seconds = dict.fromkeys(["seconds"], 0)
    assert [replace(each, **seconds) for each in engine.profile()] == [
        replace(each, **seconds) for each in cdp.profile()
    ]


RUNS = """
declare Q(x: int, f: float, s: string, o: bool) declare N(t: int) declare R(x: int)
from A[$x = x] and each B[$s = s](x == $x) as One within 20 from A and each B as Two within 9 .. 30 from A where $x > 0
  emit N(t = 1)
from A[$x = x] and last B[$s = s] as One within 20 from A and each A as Two between One and A
  emit Q(x = $x, f = Two.f, s = $s, o = Two.x == $x)
from B[$x = x] and each A[$f = f](x > 1) within 3 .. 30 from B where $x > 0
  emit Q(x = A.x - $x, f = $f, s = B.s, o = true)
from A and each B within 9 from A emit P(x = 1, f = A.f, s = B.s)
from B and each A(x < 3) within 9 events from B emit N(t = TIME(A))
from B and each A as One within 9 from B and each B as Two within 9 from One emit N(t = TIME(Two))
from B and last A as Old within 9 from B and each A[$t = TIME(Old)](x > 0) within 19 from B emit N(t = $t)
from A emit R(x = A.x)
from R[$x = x] and each B within 9 from R emit Q(x = $x, f = 0.5, s = B.s, o = B.x == 1)
from A and each B within 0 from A emit Q(x = B.x, f = A.f, s = B.s, o = false)
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("trex", [False, True])
def test_matches_that_differ_in_their_last_event(trex, monkeypatch):
    """One by one, and in blocks that are given out in parts."""
    monkeypatch.setattr(engine_module, "LARGE_OUTPUT", 32)
    text, stream = parse_rules(TYPES + RUNS), events(60)
    expected = told(rule_engine(text, "cdp", settings=EngineSettings(trex=trex)), stream)
    assert len(expected) > 200
    assert alike(told(plain_engine(text, trex=trex), stream), expected)
    found, parts = published(plain_engine(text, trex=trex), text, stream, len(stream), sources=False)
    assert parts > 10
    assert alike(found, [replace(each, sources=()) for each in expected])


def test_rows_that_have_made_room_for_others_are_in_no_column():
    rule = "rule p: from A and each A(x > 4) as Old within 9 from A emit P(x = Old.x)"
    text = parse_rules(f"declare A(x: int) declare P(x: int) {rule}")
    stream = [Occurrence("A", i, (5 if i == 10 else 0,)) for i in range(300)]  # more than there is room for at first
    found = told(plain_engine(text), stream)
    assert [each.time for each in found] == list(range(11, 20))


BANDS = [
    "last B(x > $x, x <= $x + 2) as E within 90 from A", "each A(f >= $f, $f + 1.5 > f) as E within 60 from A",
    "first B(g < $x, x != 3) as E within forever from A", "first B(x >= $f) as E within 3 .. 200 events from A",
    "each B(x < $x - 1.5) as E within 40 from A and not B(x > E.x, x < $x) between E and A",
    "last A(x == x, x < $x) as E within 99 from A and $n = COUNT(A(x >= E.x, x < $x) within 99 from A)",
    "last A as E within 9 from A and $n = COUNT(B(g <= $f) within 70 from A) and $m = MIN(B(x > $x).g within 9 from E)",
    "last B(x == $x, g < $f - 4) as E within 99 from A and $n = COUNT(B(x == $x, g >= $f, g < 4) within 99 from A)",
    "each B(g == $f, x < $x + 3) as E within 60 from A and not B(x > E.x, g == $f, x < $x) between E and A",
    "first A(x == $x, f <= $f) as E within forever from A",
]  # fmt: skip


def test_bounds_find_what_is_there():
    """Values at the ends of 64 bits, whole numbers beside floats, and floats that are none."""
    ends, numbers = [-(2**63), 1 - 2**63, 2**63 - 1, 2**53 + 1, None], [float("nan"), float("inf"), -0.0, 2.0**53, None]
    rng = Random(1)
    for part in BANDS:
        text = parse_rules(f"""declare A(x: int, f: float) declare B(x: int, g: float) declare P(x: int, n: int)
            from A[$x = x, $f = f] and {part} limit 9 emit P(x = E.x, n = {"$n" if "$n" in part else "1"})""")
        engine, cdp, made = plain_engine(text), rule_engine(text, "cdp"), 0
        for time in range(scaled(50, 80)):
            type, odd = rng.choice("AB"), rng.random() < 0.1
            x = rng.choice(ends[3 * (type == "A") :]) if odd else rng.randrange(9)
            f = rng.choice(numbers) if odd else rng.randrange(18) / 2
            event = Occurrence(type, time, (x, f))
            expected = cdp.process(event)
            assert alike(engine.process(event), expected), (part, time)
            made += len(expected)
        assert made > 3, part


def test_what_each_does_not_decide_is_looked_for_once():
    rule = """from A[$x = x] and each B(x > $x) within 9 from A and last B(x == $x) as O within 9 from A
      and $n = COUNT(B(x < $x) within 9 from A) and $m = MAX(A(x < B.x).x within 9 from A)
      and not A(x > $n + 2) within 9 from A emit P(x = $n + $m, f = 0, s = B.s) """
    text = parse_rules(
        TYPES + rule + rule.replace("last B(", "last A(") + "consuming B\n" + rule.replace("last B(", "last A(")
    )
    expected = told(rule_engine(text, "cdp"), events(100))
    assert len(expected) > 20
    assert alike(told(plain_engine(text), events(100)), expected)


def test_a_clock_beyond_all_words_goes_on():
    text = parse_rules("declare A() declare B() declare P() from A as S and absent B within 5 after S emit P")
    engine = plain_engine(text)
    assert engine.process(Occurrence("A", 0, ())) == []
    assert [each.time for each in engine.advance(2**62)] == [5]


def test_no_number_is_the_same_key_behind_a_snapshot():
    text = parse_rules("declare A(f: float) declare P() from A emit P at most once in 9 per A.f")
    first, other = (plain_engine(text) for _ in range(2))
    assert len(first.process(Occurrence("A", 0, (math.nan,)))) == 1
    other.restore(first.snapshot())
    assert other.process(Occurrence("A", 1, (-math.nan,))) == []


def test_one_trigger_may_consume_more_than_there_is_room_for():
    text = parse_rules("declare A() declare B() declare P() from B and each A within 999 from B emit P consuming A")
    stream = [Occurrence("A", i, ()) for i in range(200)] + [Occurrence("B", 200 + i, ()) for i in range(2)]
    assert len(told(plain_engine(text), stream)) == 200


LONG_WINDOWS = """
declare O(i: int, n: int, s: float, m: float, l: float, k: int)
from B[$x = x] and $i = SUM(A(x == $x).x within 400 from B) and $n = COUNT(A(x == $x) within 300 from B)
  and $s = AVG(A().f within 90 from B) and $m = MAX(A(x == $x).f within 5 .. 300 from B)
  and $l = MIN(A().f within 200 events from B) and $k = MAX(A().x within 200 from B)
emit O(i = $i, n = $n, s = $s, m = $m, l = $l, k = $k)
"""


@pytest.mark.slow
def test_machine_code_says_what_python_says():
    """On streams that are longer than those of random cases are."""
    text, stream = parse_rules(MANY_KINDS + LONG_WINDOWS), events(900)
    machine = CompiledRules(text, FACTS, EngineSettings(), capacity=2)
    machine.use_machine_code()
    assert alike(told(machine, stream), told(rule_engine(text, "cdp", FACTS), stream))


def test_rules_that_begin_alike():
    """Whatever names they give what they have in common."""
    sums = "and {0} = SUM(A(x == {1}).x within 9 from B) and last B(x == {1}, x < 9 + {1}) as O within 9 from B"
    one = [f"from B[$x = x] {sums.format('$n', '$x')} where $n > {i} emit P(x = $n, f = 0, s = O.s) " for i in range(4)]
    other = "from B[$y = x](x > 0) {} and each A(f > {}.5) within 9 from B emit P(x = $m, f = A.f, s = 'a') "
    many = [other.format(sums.format("$m", "$y"), i // 4) for i in range(8)]
    more = [one[0] + "consuming O ", many[0].replace("emit", "limit 1 emit")]
    text = parse_rules(TYPES + "".join([*one, *many, *more]).replace("'", '"'))
    cdp, stream = rule_engine(text, "cdp"), events(80)
    assert alike(told(plain_engine(text), stream), told(cdp, stream))


def test_many_constants_are_part_of_a_key():
    """Of a filter that is no equation candidates are asked, and so they are of equations: hashes may be the same."""
    parts = ["last B(x == {0}, s == $s)", "each B(x == {0}.0) as O within 9 from A and not B({0} - 2 == x, s < $s)",
             "not B(x == {0}, s == 'a')", "last B(s == 'b', x > {0})"]  # fmt: skip
    rule = """from B[$x = x, $s = s] and last A within 9 from B and {1} within 9 from A
      and $n = COUNT(B(x == {0}) within 30 from A) emit P(x = {0}, f = $n, s = $s) """
    texts = [rule.format(i % 7, parts[i % 4].format(i % 7)).replace("'", '"') for i in range(28)]
    text, stream = parse_rules(TYPES + "".join(texts)), events(120)
    keys = {(each.filters, tuple(map(str, each.keys))) for each in SetPlan(text).columns}
    assert keys == {((), ()), ((), ("s", "x")), ((), ("x",)), ((), ("s",))}
    expected = told(rule_engine(text, "cdp"), stream)
    assert len({each.values[0] for each in expected}) == 7
    assert alike(told(plain_engine(text), stream), expected)


def test_an_index_finds_the_rules_that_an_event_triggers():
    lines = [f"rule e{i}: from B(x == {i}) emit P(x = {i}, f = 0, s = B.s)" for i in range(20)]
    lines += [f"rule g{i}: from B({i} <= x, s == 'ab') emit P(x = {-i}, f = 0, s = 'a')" for i in range(20)]
    text = parse_rules(TYPES + "\n".join(lines).replace("'", '"'))
    plan = SetPlan(text)
    assert {plan.index(i).operator for i in range(40)} == {"=="}
    text = parse_rules(TYPES + "\n".join(lines).replace(", s == 'ab'", "").replace("'", '"'))
    assert {SetPlan(text).index(i).operator for i in range(40)} == {"==", ">="}
    more = parse_rules(TYPES + "".join(line.replace("B(x", "B(s == 'ab', x").replace("'", '"') for line in lines[:20]))
    assert {SetPlan(more).index(i).attribute for i in range(20)} == {0}  # which tells them apart
    stream = [Occurrence("B", i, (x, "ab")) for i, x in enumerate((3, None, 19, -1, 25))]
    cdp, compiled = (rule_engine(text, name) for name in ("cdp", "compiled"))
    for event in stream:
        assert alike(compiled.process(event), cdp.process(event))


SUM_OF_KEY = "from E[$k = k] and $s = SUM(D(k == $k).x within {} from E) emit S(x = $s, f = 0)"
LONG = """
declare D(k: int, x: int, f: float) declare E(k: int) declare S(x: int, f: float)
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rule", [
    "from E[$k = k] and $s = SUM(D(k == $k).x within 60 from E) and $a = AVG(D(k == $k).f within 90 from E)"
    " emit S(x = $s, f = $a)",
    "from E and last D(k == E.k) as Old within 50 from E and $m = MIN(D(k == E.k, x != 0).x within 40 from Old)"
    " and $a = MAX(D(x > -9).f within 3 .. 70 from E) emit S(x = $m, f = $a)",
    "from E and first D(k == E.k) as Old within 50 from E and $n = COUNT(D(k == E.k) between Old and E)"
    " and $s = SUM(D(x > 0).f within 99 events from E) emit S(x = $n, f = $s)",
    "from E and $s = SUM(D(k == E.k).x within 5 .. 50 from E) and $m = MIN(D().f within 60 from E)"
    " emit S(x = $s, f = $m)",
])  # fmt: skip
def test_aggregates_of_long_windows(rule):
    """Of more events than are walked along; of numbers of which some together leave 64 bits, too."""
    text, choose = parse_rules(LONG + rule), Random(rule)
    large, strange = (2**62, -(2**62), 2**61), (math.nan, math.inf, 1e300, 5e-324, -0.0)
    stream = []
    for i in range(450):
        rare = choose.random() < 0.01 and i > 250
        x = choose.choice(large if rare else (0, 3, -7, None, 1000))
        f = choose.choice(strange if rare else (0.1, 1e16, 2.5, -3.75, None, 1e-9))
        k = choose.choice((1, 1, 2, None))
        stream.append(Occurrence("D", i // 3, (k, x, f)) if choose.random() < 0.8 else Occurrence("E", i // 3, (k,)))
    engine, cdp = rule_engine(text, "compiled"), rule_engine(text, "cdp")
    for i, event in enumerate(stream):
        if i == 200:
            state, engine = engine.snapshot(), rule_engine(text, "compiled")
            engine.restore(state)
        assert alike(engine.process(event), cdp.process(event))


def test_numbers_of_more_than_64_bits_are_exact(monkeypatch):
    """`cdp` goes on where words do not suffice, and gives back what it knows."""
    monkeypatch.setattr(engine_module, "EXACT_EVENTS", 20)
    rule = """from A and last A(x > 0) as Old within 50 from A emit P(x = A.x + Old.x, f = A.f, s = "")"""
    text = parse_rules(TYPES + rule)
    stream = [Occurrence("A", i, (2**62 if i in (4, 5) else 2**70 if i == 6 else i, 0.5)) for i in range(300)]
    engine, cdp = plain_engine(text), rule_engine(text, "cdp")
    for event in stream:
        assert alike(engine.process(event), cdp.process(event))
    assert engine.takes_block(1)


@pytest.mark.parametrize("sources", [False, True])
def test_composites_of_a_block_may_have_more_than_64_bits(sources, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MIN_COLUMN_BYTES", 0)
    text = parse_rules(TYPES + 'from A emit P(x = A.x * A.x, f = A.f, s = "")')
    log = tmp_path / "log.csv"
    log.write_text("type,time,x,f\n" + "".join(f"A,{i},{2**62 if i == 2 else i},1\n" for i in range(5)))
    cdp, found = (list(wb.run(text, log, engine=engine, with_sources=sources)) for engine in ("cdp", "compiled"))
    assert found == cdp
    assert cdp[2]["x"] == 2**124


def test_what_comes_before_an_endless_chain_is_told():
    text = parse_rules(
        TYPES
        + """
        from A emit P(x = A.x, f = 1, s = "a")
        from P(x == 5) emit P(x = P.x, f = 1, s = "b")
    """
    )
    engine = plain_engine(text)
    stream, found = [Occurrence("A", i, (i, 1.0)) for i in range(9)], []
    made = engine.process_block(event_block(text, stream, engine.texts.put), sources=True)
    with pytest.raises(InputError, match="more than 1000"):
        found.extend(one for each in made for one in (each if isinstance(each, list) else each.occurrences(text)))
    assert alike(found, told(rule_engine(text, "cdp"), stream[:5]))
    assert len(found) == 5


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("from B and $g = GCD(B().x within 5 from B) emit P(x = $g, f = 1, s = B.s)", "functions of Python: GCD"),
        ("from B(x < 9223372036854775808) emit P(x = 1, f = 1, s = B.s)", "64 bits in expressions: 922337203685"),
    ],
)
def test_what_is_refused_is_told_before_the_first_event(rule, told):
    text = parse_rules(TYPES + rule.replace("'", '"'), aggregates={"GCD": (math.gcd, 0)})
    with pytest.raises(Refused, match=told):
        rule_engine(text, "compiled")
    shown = plan_text(SetPlan(text), text, timed=False)
    assert "\nengine\n  cdp (backend 'compiled' has no " in shown
    assert told in shown


def test_a_constraint_that_leaves_64_bits_for_what_another_one_refuses():
    """Constraints are evaluated in an order of their own; `cdp` takes over where it has to, and finds the same."""
    text = parse_rules("""declare A(x: int, y: int) declare B(x: int) declare P(x: int, y: int)
      from B[$x = x] and each A(x * 3 != $x, (y + $x) % 7 == 3) within 99 from B and $n = COUNT(A(y + $x > 9,
      x * y != $x) within 99 from B) emit P(x = A.x, y = $n)""")
    engine, cdp = plain_engine(text), rule_engine(text, "cdp")
    stream = [Occurrence("A", i, (i, None if i % 9 == 5 else i)) for i in range(40)]
    stream += [Occurrence("B", 40 + i, (i,)) for i in range(5)]
    stream += [Occurrence("A", 50, (2**62, -4)), Occurrence("B", 52, (1,))]
    expected = told(cdp, stream)
    assert len(expected) == 32
    assert alike(told(engine, stream), expected)
    stream = [Occurrence("A", 60, (2**62, 2)), Occurrence("B", 61, (1,))]
    assert alike(told(engine, stream), told(cdp, stream))
    assert not engine.takes_block(1)


def test_what_no_window_holds_is_forgotten_before_there_is_no_room():
    text = parse_rules(TYPES + "from B[$x = x] and each A(x == $x) within 9 from B emit P(x = 0, f = 0.0, s = B.s)")
    engine = plain_engine(text)
    for i in range(40):
        engine.process(Occurrence("A", i, (i % 3, 0.5)))
    times = [each.time for each in list_retained_events(engine.memory, {})]
    assert times == list(range(40 - len(times), 40))
    assert 10 <= len(times) <= 16  # as a window has, and as there is room for, which doubles
