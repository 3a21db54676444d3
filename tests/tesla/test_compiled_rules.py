"""The compiled engine: machine code says what Python says, blocks what single events say, and what it refuses."""

import math
import re
from dataclasses import replace
from random import Random

import pytest

import workbench as wb
from tests.tesla.events import KeptCode, rule_engine
from workbench.conformance.compare.rule_engines import same_occurrence
from workbench.errors import InputError, Refused
from workbench.events import lines
from workbench.executors.compiled.rules import arrays, asking, matching, orders, pages, spans
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.outputs import composites
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.executors.compiled.rules.runs import kept
from workbench.show.rule_set_plan import plan_text
from workbench.tesla.check import rules
from workbench.tesla.engines import engine as engine_module
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.rule_prefixes import shared_prefixes
from workbench.tesla.engines.rule_sample import sample_rules
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


def alike(one, other):
    return len(one) == len(other) and all(map(same_occurrence, one, other))


FACTS = {"G": [(1, 0.5), (0, None), (1, 2.5)]}


def told(engine, stream):
    return [each for event in stream for each in engine.process(event)]


def test_blocks_and_states_say_what_single_events_say(monkeypatch):
    text, stream = rules(MANY_KINDS), events(600)
    expected = told(rule_engine(text, "cdp", FACTS), stream)
    assert len(expected) > 100
    engine = CompiledRules(text, FACTS, EngineSettings(), code=False)
    block = event_block(text, stream, engine.texts.put)
    found = []
    for first in range(0, len(block), 250):
        for part in engine.process_block(block.part(first, first + 250), sources=True):
            found += part.occurrences(text)
    assert alike(found, expected)
    monkeypatch.setattr(matching, "MUCH_OUTPUT", 50)
    engine = CompiledRules(text, FACTS, EngineSettings(), code=False)
    parts = list(engine.process_block(event_block(text, stream, engine.texts.put), sources=True))
    assert len(parts) > 10
    assert alike([each for part in parts for each in part.occurrences(text)], expected)
    middle, other = (CompiledRules(text, FACTS, EngineSettings(), code=False) for _ in range(2))
    early = told(middle, stream[:300])
    other.restore(middle.snapshot())
    assert alike(early + told(other, stream[300:]), expected)


def test_the_code_takes_over_what_cdp_knows(monkeypatch):
    """It has been kept: so it is there when there are some events, and nothing is made."""
    monkeypatch.setattr(RuleProgram, "machine", lambda self: KeptCode(self))
    text, stream = rules(MANY_KINDS), events(600)
    engine = CompiledRules(text, FACTS, EngineSettings(profiled=True))
    cdp = engine_module.rule_engine(text, "cdp", FACTS, EngineSettings(profiled=True))
    expected = told(cdp, stream)
    assert alike(told(engine, stream[:200]), [each for each in expected if each.time < 100])
    assert not engine.takes_block(1)
    found, at = [], 200
    for size in (50, 300, 50):
        block, at = event_block(text, stream[at : at + size], engine.texts.put), at + size
        for part in engine.process_block(block, sources=True):
            found += part.occurrences(text)
    assert engine.takes_block(1)
    assert alike(found, [each for each in expected if each.time >= 100])
    assert [replace(each, seconds=0) for each in engine.profile()] == [
        replace(each, seconds=0) for each in cdp.profile()
    ]
    other = CompiledRules(text, FACTS, EngineSettings())
    other.restore(CompiledRules(text, FACTS, EngineSettings()).snapshot())
    assert alike(told(other, stream), expected)


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


@pytest.mark.parametrize("trex", [False, True])
def test_matches_that_differ_in_their_last_event_are_written_together(monkeypatch, trex):
    """One by one, in blocks that are given out in parts, and each on its own, as threads put them together."""
    monkeypatch.setattr(at, "MANY_COMPOSITES", 50)
    text, stream, settings = rules(TYPES + RUNS), events(110), EngineSettings(trex=trex)
    expected = told(rule_engine(text, "cdp", settings=settings), stream)
    assert len(expected) > 500

    def engine():
        return CompiledRules(text, {}, settings, code=False)

    assert list(engine().program.runs) == [1, 2, 3, 4, 5, 8, 9]
    assert alike(told(engine(), stream), expected)
    for sources in (True, False):
        running = engine()
        parts = list(running.process_block(event_block(text, stream, running.texts.put), sources=sources))
        assert len(parts) > 10
        found = [each for part in parts for each in part.occurrences(text)]
        assert alike(found, expected if sources else [replace(each, sources=()) for each in expected])
    running = engine()
    parts = list(running.parts_of(event_block(text, stream, running.texts.put), kept, list))
    found = [each for part in parts for each in composites(part, running.program, running.texts.by_code)]
    assert alike(found, expected)


def test_rows_that_have_made_room_for_others_are_in_no_column():
    rule = "rule p: from A and each A(x > 4) as Old within 9 from A emit P(x = Old.x)"
    text = rules(f"declare A(x: int) declare P(x: int) {rule}")
    stream = [Occurrence("A", i, (5 if i == 10 else 0,)) for i in range(300)]  # more than there is room for at first
    found = told(CompiledRules(text, {}, EngineSettings(), code=False), stream)
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


def test_sorted_columns_find_what_is_there(monkeypatch):
    """Blocks of two events, which are made at once, so that there are many of them; values at the ends of 64 bits.

    Keys have two groups, so that there are others' events in one.
    """
    small = {"LEAF": 2, "NEAR": 1, "FEW_HITS": 2, "DENSE": 2, "LEAST_WORTH": 0, "MOST_WORTH": 0, "GROUPS": 1}
    for name, value in small.items():
        monkeypatch.setattr(orders, name, value)
    ends, numbers = [-(2**63), 1 - 2**63, 2**63 - 1, 2**53 + 1, None], [float("nan"), float("inf"), -0.0, 2.0**53, None]
    rng = Random(1)
    for part in BANDS:
        text = rules(f"""declare A(x: int, f: float) declare B(x: int, g: float) declare P(x: int, n: int)
            from A[$x = x, $f = f] and {part} limit 9 emit P(x = E.x, n = {"$n" if "$n" in part else "1"})""")
        engine, cdp, made = CompiledRules(text, {}, EngineSettings(), code=False), rule_engine(text, "cdp"), 0
        for time in range(120):
            type, odd = rng.choice("AB"), rng.random() < 0.1
            x = rng.choice(ends[3 * (type == "A") :]) if odd else rng.randrange(9)
            f = rng.choice(numbers) if odd else rng.randrange(18) / 2
            event = Occurrence(type, time, (x, f))
            expected = cdp.process(event)
            assert alike(engine.process(event), expected), (part, time)
            made += len(expected)
        states = engine.running.memory.K[len(engine.running.plan.columns) : -1, at.ORDER_STATE]
        assert made > 10
        assert all(engine.running.memory.H[states + at.MADE_TO] > 20), part


def test_what_each_does_not_decide_is_looked_for_once():
    rule = """from A[$x = x] and each B(x > $x) within 9 from A and last B(x == $x) as O within 9 from A
      and $n = COUNT(B(x < $x) within 9 from A) and $m = MAX(A(x < B.x).x within 9 from A)
      and not A(x > $n + 2) within 9 from A emit P(x = $n + $m, f = 0, s = B.s) """
    text = rules(
        TYPES + rule + rule.replace("last B(", "last A(") + "consuming B\n" + rule.replace("last B(", "last A(")
    )
    assert [set(SetPlan(text).once(i)) for i in range(3)] == [{3, 5}, {3, 5}, {2, 3, 5}]
    expected = told(rule_engine(text, "cdp"), events(200))
    assert len(expected) > 20
    assert alike(told(CompiledRules(text, {}, EngineSettings(), code=False), events(200)), expected)


def test_a_clock_beyond_all_words_goes_on():
    text = rules("declare A() declare B() declare P() from A as S and absent B within 5 after S emit P")
    engine = CompiledRules(text, {}, EngineSettings(), code=False)
    assert engine.process(Occurrence("A", 0, ())) == []
    assert [each.time for each in engine.advance(2**62)] == [5]


def test_no_number_is_the_same_key_behind_a_snapshot():
    text = rules("declare A(f: float) declare P() from A emit P at most once in 9 per A.f")
    first, other = (CompiledRules(text, {}, EngineSettings(), code=False) for _ in range(2))
    assert len(first.process(Occurrence("A", 0, (math.nan,)))) == 1
    other.restore(first.snapshot())
    assert other.process(Occurrence("A", 1, (-math.nan,))) == []


def test_one_trigger_may_consume_more_than_there_is_room_for():
    text = rules("declare A() declare B() declare P() from B and each A within 999 from B emit P consuming A")
    stream = [Occurrence("A", i, ()) for i in range(200)] + [Occurrence("B", 200 + i, ()) for i in range(2)]
    assert len(told(CompiledRules(text, {}, EngineSettings(), code=False), stream)) == 200


LONG_WINDOWS = """
declare O(i: int, n: int, s: float, m: float, l: float, k: int)
from B[$x = x] and $i = SUM(A(x == $x).x within 400 from B) and $n = COUNT(A(x == $x) within 300 from B)
  and $s = AVG(A().f within 90 from B) and $m = MAX(A(x == $x).f within 5 .. 300 from B)
  and $l = MIN(A().f within 200 events from B) and $k = MAX(A().x within 200 from B)
emit O(i = $i, n = $n, s = $s, m = $m, l = $l, k = $k)
"""


@pytest.mark.slow
def test_machine_code_says_what_python_says():
    """Compiled anew, it takes seconds: there is nothing smaller that has all kinds of code in it."""
    text, stream = rules(MANY_KINDS + LONG_WINDOWS), events(900)
    machine = CompiledRules(text, FACTS, EngineSettings(), code=True)
    assert alike(told(machine, stream), told(rule_engine(text, "cdp", FACTS), stream))
    there = machine.memory.H[machine.memory.V[at.SPANS] :][: len(machine.program.spans.planned)]
    assert (there >= 0).sum() == 6  # those of the long windows


def test_rules_that_are_written_alike_are_one_function():
    rule = "rule r{0}: from A[$x = x](f > {0}.5) and last B(x == $x) within {0} from A emit P(x = {0}, f = 0, s = B.s)"
    lines = map(rule.format, range(1, 100))
    program = RuleProgram(SetPlan(rules(TYPES + "\n".join(lines))), EngineSettings())
    assert program.source.count("def fire_") == 1
    assert len(program.plan.columns) == 1


def test_rules_share_what_they_begin_with():
    """Whatever names they give it, and as far as it costs more than a list."""
    sums = "and {0} = SUM(A(x == {1}).x within 9 from B) and last B(x == {1}, x < 9 + {1}) as O within 9 from B"
    one = [f"from B[$x = x] {sums.format('$n', '$x')} where $n > {i} emit P(x = $n, f = 0, s = O.s) " for i in range(4)]
    other = "from B[$y = x](x > 0) {} and each A(f > {}.5) within 9 from B emit P(x = $m, f = A.f, s = 'a') "
    many = [other.format(sums.format("$m", "$y"), i // 4) for i in range(8)]
    more = [one[0] + "consuming O ", many[0].replace("emit", "limit 1 emit")]
    text = rules(TYPES + "".join([*one, *many, *more]).replace("'", '"'))
    found = shared_prefixes(SetPlan(text))
    assert all((found[i].length, len(found[i].rules), found[i].before) == (1, 14, None) for i in (0, 1, 2, 3, 12))
    assert all((found[i].length, len(found[i].rules), found[i].before) == (2, 9, found[0]) for i in (4, 11, 13))
    cdp, stream = rule_engine(text, "cdp"), events(200)
    assert alike(told(CompiledRules(text, {}, EngineSettings(), code=False), stream), told(cdp, stream))


def test_many_constants_are_part_of_a_key():
    """Of a filter that is no equation candidates are asked, and so they are of equations: hashes may be the same."""
    parts = ["last B(x == {0}, s == $s)", "each B(x == {0}.0) as O within 9 from A and not B({0} - 2 == x, s < $s)",
             "not B(x == {0}, s == 'a')", "last B(s == 'b', x > {0})"]  # fmt: skip
    rule = """from B[$x = x, $s = s] and last A within 9 from B and {1} within 9 from A
      and $n = COUNT(B(x == {0}) within 30 from A) emit P(x = {0}, f = $n, s = $s) """
    texts = [rule.format(i % 7, parts[i % 4].format(i % 7)).replace("'", '"') for i in range(28)]
    text, stream = rules(TYPES + "".join(texts)), events(300)
    keys = {(each.filters, tuple(map(str, each.keys))) for each in SetPlan(text).columns}
    assert keys == {((), ()), ((), ("s", "x")), ((), ("x",)), ((), ("s",))}
    expected = told(rule_engine(text, "cdp"), stream)
    assert len({each.values[0] for each in expected}) == 7
    assert alike(told(CompiledRules(text, {}, EngineSettings(), code=False), stream), expected)


def test_an_index_finds_the_rules_that_an_event_triggers():
    lines = [f"rule e{i}: from B(x == {i}) emit P(x = {i}, f = 0, s = B.s)" for i in range(20)]
    lines += [f"rule g{i}: from B({i} <= x, s == 'ab') emit P(x = {-i}, f = 0, s = 'a')" for i in range(20)]
    text = rules(TYPES + "\n".join(lines).replace("'", '"'))
    plan = SetPlan(text)
    assert {plan.index(i).operator for i in range(40)} == {"=="}
    text = rules(TYPES + "\n".join(lines).replace(", s == 'ab'", "").replace("'", '"'))
    assert {SetPlan(text).index(i).operator for i in range(40)} == {"==", ">="}
    more = rules(TYPES + "".join(line.replace("B(x", "B(s == 'ab', x").replace("'", '"') for line in lines[:20]))
    assert {SetPlan(more).index(i).attribute for i in range(20)} == {0}  # which tells them apart
    stream = [Occurrence("B", i, (x, "ab")) for i, x in enumerate((3, None, 19, -1, 25))]
    cdp, compiled = (rule_engine(text, name) for name in ("cdp", "compiled"))
    for event in stream:
        assert alike(compiled.process(event), cdp.process(event))


SUM_OF_KEY = "from E[$k = k] and $s = SUM(D(k == $k).x within {} from E) emit S(x = $s, f = 0)"
LONG = """
declare D(k: int, x: int, f: float) declare E(k: int) declare S(x: int, f: float)
"""


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
def test_long_windows_are_put_together_of_spans(rule):
    """Of so many events as are not walked through; of what has no room in a span, too."""
    text, choose = rules(LONG + rule), Random(rule)
    large, strange = (2**62, -(2**62), 2**61), (math.nan, math.inf, 1e300, 5e-324, -0.0)
    stream = []
    for i in range(800):
        rare = choose.random() < 0.005 and i > 400
        x = choose.choice(large if rare else (0, 3, -7, None, 1000))
        f = choose.choice(strange if rare else (0.1, 1e16, 2.5, -3.75, None, 1e-9))
        k = choose.choice((1, 1, 2, None))
        stream.append(Occurrence("D", i // 3, (k, x, f)) if choose.random() < 0.8 else Occurrence("E", i // 3, (k,)))
    engine, cdp, seen = rule_engine(text, "compiled"), rule_engine(text, "cdp"), 0
    for i, event in enumerate(stream):
        if i == 300:
            state, engine = engine.snapshot(), rule_engine(text, "compiled")
            engine.restore(state)
        assert alike(engine.process(event), cdp.process(event))
        memory = engine.memory
        seen += bool((memory.H[memory.V[at.SPANS] :][: len(engine.program.spans.planned)] >= 0).all())
    assert seen > 200


def test_numbers_of_more_than_64_bits_are_exact():
    """`cdp` goes on where words do not suffice, and gives back what it knows."""
    text = rules(TYPES + "from A and last A(x > 0) as Old within 5000 from A emit P(x = A.x + Old.x, f = A.f, s = '')"
                 .replace("'", '"'))  # fmt: skip
    stream = [Occurrence("A", i, (2**62 if i == 4 else i, 0.5)) for i in range(3000)]
    stream[5] = replace(stream[5], values=(2**62, 0.5))
    stream[6] = replace(stream[6], values=(2**70, 0.5))
    engine, cdp = CompiledRules(text, {}, EngineSettings(), code=False), rule_engine(text, "cdp")
    for event in stream:
        assert alike(engine.process(event), cdp.process(event))


@pytest.mark.parametrize("sources", [False, True])
def test_composites_of_a_block_may_have_more_than_64_bits(sources, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "FEW", 0)
    text = rules(TYPES + 'from A emit P(x = A.x * A.x, f = A.f, s = "")')
    log = tmp_path / "log.csv"
    log.write_text("type,time,x,f\n" + "".join(f"A,{i},{2**62 if i == 2 else i},1\n" for i in range(5)))
    cdp, found = (list(wb.run(text, log, engine=engine, with_sources=sources)) for engine in ("cdp", "compiled"))
    assert found == cdp
    assert cdp[2]["x"] == 2**124


def test_what_comes_before_an_endless_chain_is_told():
    text = rules(
        TYPES
        + """
        from A emit P(x = A.x, f = 1, s = "a")
        from P(x == 5) emit P(x = P.x, f = 1, s = "b")
    """
    )
    engine = CompiledRules(text, {}, EngineSettings(), code=False)
    stream, found = [Occurrence("A", i, (i, 1.0)) for i in range(9)], []
    made = engine.process_block(event_block(text, stream, engine.texts.put), sources=True)
    with pytest.raises(InputError, match="more than 1000"):
        found.extend(each for part in made for each in part.occurrences(text))
    assert alike(found, told(rule_engine(text, "cdp"), stream[:5]))
    assert len(found) == 5


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("from B and $g = GCD(B().x within 5 from B) emit P(x = $g, f = 1, s = B.s)", "GCD, a function of Python"),
        ("from B(x < 9223372036854775808) emit P(x = 1, f = 1, s = B.s)", "no numbers such as 9223372036854775808"),
    ],
)
def test_what_is_refused_is_told_before_the_first_event(rule, told):
    text = rules(TYPES + rule.replace("'", '"'), aggregates={"GCD": (math.gcd, 0)})
    with pytest.raises(Refused, match=told):
        rule_engine(text, "compiled")
    shown = plan_text(SetPlan(text), text, timed=False)
    assert "\nengine\n  cdp (the engine 'compiled' " in shown
    assert told in shown


def test_times_of_a_block_do_not_go_back():
    text = rules(TYPES + 'from A emit P(x = 1, f = A.f, s = "a")')
    engine = CompiledRules(text, {}, EngineSettings())
    block = event_block(text, [Occurrence("A", 5, (1, 1.0)), Occurrence("A", 4, (1, 1.0))], engine.texts.put)
    with pytest.raises(InputError, match="goes back from 5 to 4"):
        engine.process_block(block)


def test_what_is_fetched_ahead_is_where_events_are_looked_up_or_put(monkeypatch):
    """By numbers and texts of their own; not by what is computed, or by what an event binds that is found first."""
    text = rules(
        TYPES + "from A[$x = x] and last A(x == $x, f == A.f) as One within 9 from A"
        " and last B(x == One.x) within 9 from A emit P(x = 0, f = 0.0, s = B.s)\n"
        "from B and last B(s == B.s) as Old within 9 from B emit P(x = 0, f = 0.0, s = B.s)\n"
        "from A and last B(x + 1 == A.x) within 9 from A emit P(x = 0, f = 0.0, s = B.s)"
    )
    engine = CompiledRules(text, {}, EngineSettings(), code=False)
    fetched = set()
    monkeypatch.setitem(engine.loop.scope, "LARGE", 0)
    monkeypatch.setitem(engine.loop.scope, "spread", lambda *_: True)
    monkeypatch.setitem(engine.loop.scope, "fetch", lambda array, place: fetched.add((len(array), place)))
    stream = [Occurrence("AB"[i % 2], i, (i % 3, ("ab"[i % 3 > 1], i % 3 / 2)[i % 2 == 0])) for i in range(40)]
    list(engine.process_block(event_block(text, stream, engine.texts.put)))
    memory, missed = engine.memory, []
    for column in engine.program.columns:
        begin, mask = memory.K[column.number, at.HEADS : at.HEADS_MASK + 1].tolist()
        used = {(len(memory.H), begin + i) for i in range(mask + 1) if memory.H[begin + i] >= 0}
        missed += [] if used <= fetched else [str(column)]
    assert missed == ["B by x + 1"]
    for row in memory.T[:2]:  # of some of the events in the middle the rows, first and last word
        begin, width = int(row[at.BASE]), int(row[at.WIDTH])
        assert any({(len(memory.W), begin + i * width + n) for n in (0, width - 1)} <= fetched for i in range(5, 15))


@pytest.mark.parametrize("enough", [20, 4096])
def test_constraints_are_asked_in_the_order_that_takes_least(enough, monkeypatch):
    """Whatever is written first, and though one of them leaves 64 bits for events that another one refuses."""
    monkeypatch.setattr(asking, "ENOUGH", enough)
    text = rules("""declare A(x: int, y: int) declare B(x: int) declare P(x: int, y: int)
      from B[$x = x] and each A(x * 3 != $x, (y + $x) % 7 == 3) within 99 from B and $n = COUNT(A(y + $x > 9,
      x * y != $x) within 99 from B) emit P(x = A.x, y = $n)""")
    engine = CompiledRules(text, {}, EngineSettings(), code=False)
    stream = [Occurrence("A", i, (i, None if i % 9 == 5 else i)) for i in range(40)]
    stream += [Occurrence("B", 40 + i, (i,)) for i in range(5)]
    stream += [Occurrence("A", 50, (2**62, -4)), Occurrence("B", 52, (1,))]
    cdp = rule_engine(text, "cdp")
    expected = told(cdp, stream)
    assert len(expected) == 32
    assert alike(told(engine, stream), expected)
    assert engine.takes_block(1)  # cdp has not taken over
    chosen = [engine.program.C[begin] for begin in firsts(engine.program)]
    assert chosen == ([1, 0] if enough == 20 else [-1, -1])
    stream = [Occurrence("A", 60, (2**62, 2)), Occurrence("B", 61, (1,))]
    assert alike(told(engine, stream), told(cdp, stream))
    assert not engine.takes_block(1)


def test_the_plan_tells_which_constraint_comes_first():
    """The one that nearly all candidates fail, though it is written behind another one."""
    text = rules("""declare A(x: int, y: int) declare B(x: int) declare P(x: int)
      from B[$x = x] and each A(x - $x > 0, y - $x > 18) within 20 from B emit P(x = A.x)""")
    stream = [Occurrence("A", i, (i % 2, i % 20)) for i in range(40)] + [Occurrence("B", 40, (0,))]
    shown = plan_text(SetPlan(text), text, timed=False, sample=sample_rules(text, {}, stream))
    assert "compiled asks this one first after 4,096 candidates: y - $x > 18\n" in shown


def test_what_no_window_holds_is_forgotten_before_there_is_no_room():
    text = rules(TYPES + "from B[$x = x] and each A(x == $x) within 9 from B emit P(x = 0, f = 0.0, s = B.s)")
    engine = CompiledRules(text, {}, EngineSettings(), code=False)
    for i in range(40):
        engine.process(Occurrence("A", i, (i % 3, 0.5)))
    assert [each[at.TIME] for each in engine.memory.rows_of(0).tolist()] == list(range(30, 40))


def firsts(program):
    """Where it is said which constraint comes first."""
    return [int(each) for each in re.findall(r"asked_first\(c \+ (\d+)", program.source)]


def test_what_lies_far_back_is_not_there(monkeypatch):
    """As far as there are rows: no event before another lies so far back here, but ends of spans do."""
    monkeypatch.setattr(spans, "FAR_BACK", 256)
    text, choose, seen = rules(LONG + SUM_OF_KEY.format(50)), Random(1), 0
    stream = []
    for i in range(2500):
        key = choose.choice((1, 1, 2))
        stream.append(Occurrence("D", i // 4, (key, i, 0.5)) if i % 5 else Occurrence("E", i // 4, (key,)))
    engine, cdp = CompiledRules(text, {}, EngineSettings(), code=False), rule_engine(text, "cdp")
    for first in range(0, len(stream), 100):
        part = stream[first : first + 100]
        assert alike(told(engine, part), told(cdp, part))
        memory, (_, y, words) = engine.memory, engine.program.spans.planned[0]
        begin, rows = int(memory.H[memory.V[at.SPANS]]), int(memory.T[y, at.MASK]) + 1
        assert rows <= 256
        there = memory.W[begin : begin + rows * words].reshape(rows, words)[:, spans.SPAN_BACK] if begin >= 0 else 0
        seen += ((there >> spans.HALF) == 256).sum()
    assert seen > 5


def test_old_rows_take_no_room(monkeypatch):
    """They and their spans are zero but for the page or two at each end; answers are those of `cdp` all the same."""
    monkeypatch.setattr(pages, "LARGE", 4096)
    monkeypatch.setattr(arrays, "MUCH", 4096)
    monkeypatch.setattr(arrays, "SELDOM", 50)
    text, seen = rules(LONG + SUM_OF_KEY.format(700)), 0
    stream = [Occurrence("D", i, (i % 3, i, 0.5)) if i % 5 else Occurrence("E", i, (i % 3,)) for i in range(1, 4001)]
    engine, cdp = CompiledRules(text, {}, EngineSettings(), code=False), rule_engine(text, "cdp")
    for first in range(0, len(stream), 100):
        part = stream[first : first + 100]
        found = [each for made in engine.process_block(event_block(text, part, engine.texts.put), sources=True)
                 for each in made.occurrences(text)]  # fmt: skip
        assert alike(found, told(cdp, part))
        memory, (_, y, words) = engine.memory, engine.program.spans.planned[0]
        (start, end), (width, base, mask) = memory.H[2 * y : 2 * y + 2].tolist(), memory.T[y, : at.MASK + 1].tolist()
        old = [place & mask for place in range(max(0, end - mask - 1), start)]
        for begin, size in ((base, width), (int(memory.H[memory.V[at.SPANS]]), words)):
            left = memory.W[begin : begin + (mask + 1) * size].reshape(mask + 1, size)[old].any(axis=1).sum()
            assert left * size * 8 <= 5 * 4096
            seen += len(old) * size * 8 > 6 * 4096
    assert seen > 10


def test_rows_that_have_moved_leave_nothing_behind():
    """What is in no rows and no spans of now is zero: rows and their sums have grown, and old ones been given back."""
    text = rules(LONG + SUM_OF_KEY.format(5000))
    engine = CompiledRules(text, {}, EngineSettings(), code=False)
    told(engine, [Occurrence("E", i, (1,)) if i % 9 == 8 else Occurrence("D", i, (1, i, 0.5)) for i in range(3000)])
    memory, planned = engine.memory, engine.program.spans.planned
    used = [(row[at.BASE], (row[at.MASK] + 1) * row[at.WIDTH]) for row in memory.T[:-1].tolist()]
    assert max(size for _, size in used) > 20 * 64  # more than at first
    begins = memory.H[memory.V[at.SPANS] :][: len(planned)].tolist()
    assert begins != [-1]
    used += [
        (begin, words * (int(memory.T[y, at.MASK]) + 1)) for begin, (_, y, words) in zip(begins, planned, strict=True)
    ]
    rest = memory.W.copy()
    for begin, size in used:
        rest[begin : begin + size] = 0
    assert not rest.any()
