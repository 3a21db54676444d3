"""Rules that come, go and are replaced while events flow; states that go on in another process."""

import math
import random
import subprocess
import sys

import pytest

from tests.tesla.events import ENGINES, A, B, C, Kind, rule_engine
from tests.tesla.test_engines import numbered
from tests.tesla.test_meaning import TYPES
from workbench.errors import LanguageError, PipelineError, StateError
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.occurrence import Occurrence, in_units

D = Kind("D")
COUNTS = "rule counts: from C and $n = COUNT(A within 9 from C) emit D(x = $n)"
LAST = "rule latest: from C and last A within {} from C emit E(x = A.x, y = TIME(A))"


@pytest.fixture(params=ENGINES)
def engine(request):
    """The name of an engine."""
    return request.param


def fed(running, *events: Occurrence) -> list[tuple]:
    return [(each.rule, *each.values) for event in events for each in running.process(event)]


def test_a_rule_comes_with_its_types(engine):
    running = rule_engine(parse_rules(TYPES + COUNTS), engine)
    fed(running, A(0, 7), A(1, 8))
    assert running.add("declare New(x: int)\nfrom C emit New(x = C.x)\nfrom New emit B(x = New.x)") == {
        "rule 2": -math.inf, "rule 3": -math.inf,
    }  # fmt: skip
    assert fed(running, C(2, 5)) == [("counts", 2), ("rule 2", 5), ("rule 3", 5)]
    assert [each.name for each in running.rules.rules] == ["counts", "rule 2", "rule 3"]
    assert "New" in running.rules.declarations


def test_a_rule_begins_with_the_history_that_columns_have(engine):
    """`counts` keeps all As of the last 9: a window of 4 is complete at once, one of 150 later."""
    running, now = rule_engine(parse_rules(TYPES + COUNTS), engine), 1100 if engine == "compiled" else 200
    fed(running, *(A(at, at) for at in range(now)), C(now, 0))
    assert running.add(LAST.format(4)) == {"latest": -math.inf}
    assert fed(running, C(now + 1, 0)) == [("counts", 8), ("latest", now - 1, now - 1)]
    assert fed(running, A(now + 2, 1), C(now + 3, 0)) == [("counts", 7), ("latest", 1, now + 2)]
    running.replace("latest", LAST.format(9))
    assert fed(running, C(now + 5, 0)) == [("counts", 5), ("latest", 1, now + 2)]
    (until,) = running.add("rule far: from C and first A within 150 from C emit E(x = A.x, y = 0)").values()
    # Forgotten is what lies before the last 4 (cdp), or some of it: columns forget now and then, or when they are full.
    assert now + 5 < until <= now - 4 + 150
    assert fed(running, C(int(until), 0))[-1] == ("far", until - 150, 0)


def test_what_no_column_has_is_told(engine):
    """Bs were kept by no rule: what looks back 6 is complete from the first time on at which all were seen."""
    running = rule_engine(parse_rules(TYPES + COUNTS), engine)
    fed(running, B(0, 1), C(5, 0))
    text = "from C and each B within {} from C emit E(x = B.x, y = 0)"
    assert running.add(text.format(6)) == {"rule 2": 5 + 1 + 6}
    assert running.add(text.format("forever")) == {"rule 3": math.inf}
    assert fed(running, B(6, 2), C(6, 0))[1:] == [("rule 2", 2, 0), ("rule 3", 2, 0)]
    assert rule_engine(parse_rules(TYPES), engine).add(COUNTS) == {"counts": -math.inf}


@pytest.mark.parametrize("engine", ["cdp", "aip"])
def test_from_when_on_a_window_by_count_is_complete(engine):
    """What keeps the last 9 events has all that 4 need; for more as many have to come, at a time that is not known."""
    text = TYPES + "rule counts: from C and $n = COUNT(A within 9 events from C) emit D(x = $n)"
    running = rule_engine(parse_rules(text), engine)
    fed(running, *(A(at, at) for at in range(200)), C(200, 0))
    for window, complete in {"9 events": -math.inf, "150 events": math.nan, "4": -math.inf}.items():
        (found,) = running.add(f"from C and first A within {window} from C emit E(x = A.x, y = 0)").values()
        assert repr(found) == repr(complete)
    mixed = "from C and first A within 9 events from C and each A as A1 within {} from A emit E(x = 0, y = 0)"
    assert [*running.add(mixed.format("9 events .. forever")).values()] == [math.inf]
    assert math.isnan(*running.add(mixed.format("900")).values())


def test_the_others_keep_their_state(engine):
    """A replaced rule has its place; others what they consumed, their silence, the absences that they wait for."""
    text = (
        TYPES
        + """
rule takes: from C and last A within 99 from C emit D(x = A.x) consuming A
rule other: from C emit D(x = 0)
rule quiet: from C emit D(x = 1) at most once in 5
rule waits: from C as S and absent B within 5 after S emit D(x = 2)
"""
    )
    running = rule_engine(parse_rules(text), engine)
    assert fed(running, A(0, 7), A(0, 8), C(1, 0)) == [("takes", 8), ("other", 0), ("quiet", 1)]
    assert running.replace("other", "from C emit D(x = 100)") == -math.inf
    running.remove("quiet")
    assert fed(running, C(2, 0)) == [("takes", 7), ("other", 100)]
    assert [(each.rule, each.time) for each in running.advance(20)] == [("waits", 6), ("waits", 7)]


def test_an_absence_goes_with_its_rule(engine):
    text = TYPES + "rule waits: from C as S and absent B within 5 after S emit D(x = 2)"
    running = rule_engine(parse_rules(text), engine)
    fed(running, C(0, 0))
    running.remove("waits")
    assert running.advance(9) == []
    running.add("rule waits: from C as S and absent A within 5 after S emit D(x = 3)")
    assert fed(running, C(10, 0)) == []
    assert [each.values for each in running.advance(15)] == [(3,)]


def test_changes_that_cannot_be(engine):
    running = rule_engine(parse_rules(TYPES + COUNTS), engine)
    for text, phrase in {
        COUNTS: "a rule 'counts' already",
        "declare A(y: int)": "'A' is declared already",
        "from Unknown emit D(x = 1)": "no type 'Unknown'",
    }.items():
        with pytest.raises(LanguageError, match=phrase):
            running.add(text)
    with pytest.raises(LanguageError, match="2 rules cannot replace 'counts'"):
        running.replace("counts", "from A emit D(x = 1) from B emit D(x = 1)")
    for change in (lambda: running.remove("count"), lambda: running.replace("count", COUNTS)):
        with pytest.raises(PipelineError, match="there is no rule 'count'"):
            change()
    assert fed(running, A(0, 0), C(0, 0)) == [("counts", 1)]


def test_windows_of_a_rule_that_comes_are_in_the_units_of_times(engine):
    made = in_units(parse_rules(TYPES + "rule r: from C and each A within 1 min from C emit D(x = A.x)"), "s")
    running = rule_engine(made, engine, settings=EngineSettings(unit="s"))
    running.add("rule s: from C and each A within 2 min from C emit D(x = A.x)")
    second = 10**6
    assert fed(running, A(0, 1), C(60 * second, 0), C(61 * second, 0)) == [("r", 1), ("s", 1), ("s", 1)]


# --- snapshots ------------------------------------------------------------------------------------------

EVERYTHING = (
    TYPES
    + """
declare fact G(k: int, v: float)
rule pairs: from C[$c = x] and each B[$b = x * 0.5](x == $c) within 50 from C and last A within 20 from B
  and first G(k == $c) ordered by v and not A(x == $c) between B and C and $n = COUNT(A(x > $b) within 30 from B)
  emit E(x = $n, y = A.x) at most once in 3 per $c consuming A
rule waits: from B as S and each A within 5 from S and each G and absent C(x == S.x) within 6 after S
  emit D(x = S.x * 100 + A.x)
rule again: from D and last D as Old within 99 from D emit E(x = D.x, y = Old.x)
"""
)
ROWS = {"G": [(0, 1.5), (1, 2.5), (2, 0.5), (1, 0.25)]}
CHANCE = random.Random(3)
STREAM = [Kind(CHANCE.choice("AABBC"))(at // 2, CHANCE.choice([0, 1, 1, 2])) for at in range(120)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("at", [1, 40, pytest.param(77, marks=pytest.mark.slow)])
def test_a_state_goes_on_elsewhere(engine, at, tmp_path):
    """What another process tells of the rest, and the state that it ends in, are those of one that saw it all."""
    whole = rule_engine(parse_rules(EVERYTHING), engine, ROWS)
    told = [each for event in STREAM for each in whole.process(event)] + whole.advance(99)
    assert {each.rule for each in told} == {"pairs", "waits", "again"}
    first = rule_engine(parse_rules(EVERYTHING), engine, ROWS)
    begun = [each for event in STREAM[:at] for each in first.process(event)]
    (tmp_path / "state").write_bytes(first.snapshot())
    (tmp_path / "rules.tesla").write_text(EVERYTHING, encoding="utf-8")
    code = f"""
from pathlib import Path
from tests.tesla.test_changes import ROWS, STREAM
from workbench.tesla.check import load_rules
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.engine import rule_engine
engine = rule_engine(load_rules({str(tmp_path / "rules.tesla")!r}), {engine!r}, ROWS, EngineSettings(plain=True))
engine.restore(Path({str(tmp_path / "state")!r}).read_bytes())
print([each for event in STREAM[{at}:] for each in engine.process(event)] + engine.advance(99))
print(engine.snapshot().hex())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found, state = done.stdout.splitlines()
    assert found == repr(told[len(begun) :])
    assert len(bytes.fromhex(state)) == len(whole.snapshot())


def test_a_state_is_for_the_same_rules_and_engine_and_whole(engine):
    running = rule_engine(parse_rules(TYPES + COUNTS), engine)
    fed(running, A(0, 1))
    state = running.snapshot()
    another = next(each for each in ENGINES if each != engine)
    other = rule_engine(parse_rules(TYPES + COUNTS), another)
    for target, data in {
        other: state,
        rule_engine(parse_rules(TYPES + LAST.format(3)), engine): state,
        running: state[:-1],
        rule_engine(parse_rules(TYPES + COUNTS), engine): b"",
    }.items():
        with pytest.raises(StateError):
            target.restore(data)
    running.restore(state)
    assert fed(running, C(1, 0)) == [("counts", 1)]


def test_a_state_with_many_consumed_events(engine):
    """What is consumed is looked through again where the rule emits nothing."""
    consumes = TYPES + "rule r: from C and each A within 1000 from C emit D(x = A.x) consuming A"
    running, again = (rule_engine(parse_rules(consumes), engine) for _ in range(2))
    assert len(fed(running, *(A(0, number) for number in range(100)), C(1, 0))) == 100
    again.restore(running.snapshot())
    assert fed(again, C(2, 0)) == []


def test_a_state_after_changes(engine):
    """Names, places and history of rules that came later are those of the rule set that runs."""
    running = rule_engine(parse_rules(TYPES + COUNTS), engine)
    fed(running, A(0, 1))
    running.add(LAST.format(9))
    running.remove("counts")
    running.add(COUNTS)
    fed(running, *numbered(A(1, 2)))
    again = rule_engine(running.rules, engine)
    again.restore(running.snapshot())
    assert fed(again, C(2, 0), D(3, 0)) == fed(running, C(2, 0), D(3, 0))
