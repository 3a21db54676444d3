"""Rules as a processor: what streams feed them and what they feed, in `.pipe` files and in Python."""

import pickle
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples, scaled
from tests.tesla.rule_cases import rule_cases
from workbench.builder import Builder
from workbench.conformance import Nullable, Record
from workbench.conformance.compare.search import Search
from workbench.conformance.generate.pipelines import long_traces
from workbench.conformance.generate.rule_cases import RuleCase, random_case
from workbench.core.domain import FLOAT, INT, STR
from workbench.core.function import ADD
from workbench.core.processor import events_of
from workbench.core.unfolding import Unfolding
from workbench.errors import InputError, PipelineError, Refused, TypingError, WorkbenchError
from workbench.language.depth import raise_recursion_limit
from workbench.show.draw import draw
from workbench.tesla.rule_memory import LEAST, RuleMemory
from workbench.tesla.rule_processor import RuleProcessor

raise_recursion_limit()
RULES = """
declare Temp(area: string, value: float)
declare Smoke(area: string)
declare Fire(area: string, value: float)
declare Mean(area: string, value: float)
rule fire:
from Smoke[$a = area] and last Temp[$v = value](area == $a, value > 45) as Hot within 5 min from Smoke
emit Fire(area = $a, value = $v)
rule mean:
from Smoke[$a = area] and $m = AVG(Temp(area == $a).value within 5 min from Smoke)
emit Mean(area = $a, value = $m)
"""
PIPE = """
pipeline alarms(temp: {area: str, value: float}, smoke: str) -> str, float, int {
    found = rules("fire.tesla", temp, Smoke = smoke)
    return found.Fire.area, value_or(found.Mean.value, 0.0), cumulate(turn(found.all, 1), +)
}
pipeline outside(smoke: str, temp: {area: str, value: float}) -> fires: str, alarms: int {
    a, m, n = alarms(temp, smoke)
    return a, n
}
"""
ROWS: list[dict[str, Any]] = [
    {"time": 0, "smoke": "hall"},
    {"time": 60, "temp": ("hall", 50.0)},
    {"time": 120, "temp": ("hall", 40.0), "smoke": "hall"},
    {"time": 361, "smoke": "hall"},
]
SHOWN = [
    {"out2": 0.0, "out3": 1},
    {"out1": "hall", "out2": 45.0, "out3": 2},
    {"out3": 3},
    {"out2": 40.0, "out3": 4},
]
"""Of the first smoke only an average over nothing, of the second two composites; the fire is 301 s old at the third."""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "fire.tesla").write_text(RULES)
    (tmp_path / "p.pipe").write_text(PIPE)
    return tmp_path


def refused(folder: Path, text: str, kind: type[WorkbenchError] = WorkbenchError) -> str:
    (folder / "wrong.pipe").write_text(f"pipeline p(x: str, y: {{area: str, value: float}}) -> any {{ {text} }}")
    with pytest.raises(kind) as found:
        wb.load(folder / "wrong.pipe")
    return str(found.value)


@pytest.mark.parametrize("backend", ["reference", "threaded"])
def test_in_a_pipeline(folder, backend):
    assert wb.run(folder / "p.pipe:alarms", ROWS, backend=backend, time_unit="s") == SHOWN
    outside = wb.load(folder / "p.pipe:outside").pipeline
    assert {port.name: port.clock for port in outside.ports.inputs} == {"smoke": "", "temp": "", "time": "us"}
    made = wb.run(outside, ROWS, backend=backend, time_unit="s")
    assert [row["fires"] for row in made if "fires" in row] == ["hall"]


def test_times_of_logs(folder):
    (folder / "log.csv").write_text(
        "when,temp.area,temp.value,smoke\n2024-05-01T10:00:00,hall,50,\n2024-05-01T10:05:00,,,hall\n"
    )
    made = list(wb.run(folder / "p.pipe:alarms", folder / "log.csv", time="when"))
    when = "2024-05-01T10:05:00"  # of the smoke, at which both composites come
    assert made == [{"when": when, "out1": "hall", "out2": 50.0, "out3": 1}, {"when": when, "out3": 2}]
    keyed = sorted(({**row, "key": "ab"[i % 2]} for i, row in enumerate(ROWS)), key=lambda row: row["key"])
    fires = [row for row in wb.run(folder / "p.pipe:alarms", keyed, key="key", time_unit="s") if "out1" in row]
    assert fires == []  # its temperature belongs to another key, whose rows come behind
    with pytest.raises(InputError, match=r"(?s)'time'.*expected a date, or a number .*--time-unit s"):
        wb.run(folder / "p.pipe:alarms", ROWS)
    (folder / "early.jsonl").write_text('{"time": 2, "smoke": "a"}\n')
    (folder / "late.jsonl").write_text('{"time": 1, "smoke": "a"}\n')
    with pytest.raises(InputError, match=r"step 1: .*on time = 1000000: the time goes back from 2000000 to 1000000"):
        list(wb.run(folder / "p.pipe:alarms", [str(folder / f"{n}.jsonl") for n in ("early", "late")], time_unit="s"))
    with pytest.raises(InputError, match="the time goes back from 60000000 to 0"):
        wb.run(folder / "p.pipe:alarms", [ROWS[1], ROWS[0]], time_unit="s")
    plain = wb.parse("pipeline p(x: int) -> int { return x }").get()
    with pytest.raises(InputError, match="for rules and pipelines with a clock only: --time-unit"):
        wb.run(plain, [{"x": 1}], time_unit="s")
    (folder / "bare.tesla").write_text(
        "declare A(x: int) declare B(x: int) from A[$x = x] emit B(x = $x) at most once in 5"
    )
    (folder / "bare.pipe").write_text('pipeline p(a: int) -> int { return rules("bare.tesla", a).B.x }')
    rows = [{"time": time, "a": time} for time in (0, 4, 5)]
    assert [row["out"] for row in wb.run(folder / "bare.pipe", rows, time_unit="h")] == [0, 5]
    with pytest.raises(InputError, match="expected a number, since the windows of the rules have no units"):
        wb.run(folder / "bare.pipe", [{"time": "2024-05-01", "a": 1}])


@pytest.mark.slow
def test_conformance_and_drawings(folder, tmp_path):
    program = wb.load(folder / "p.pipe:alarms")
    outcomes = {
        each.backend: each
        for each in wb.conform(program, ["specification", "threaded", "compiled"], Search(examples=20))
    }
    assert {name for name, each in outcomes.items() if not each.refused} == {"specification", "threaded"}
    assert all(each.failure is None for each in outcomes.values())
    assert "rules retain an unbounded number of events" in outcomes["compiled"].refused
    assert "fire" in draw(program)
    (folder / "whole.tesla").write_text("declare A(x: int) declare B(x: int) from A emit B(x = A.x + 2)")
    (folder / "whole.pipe").write_text('pipeline p(a: int) -> int { return rules("whole.tesla", A = a).B.x }')
    whole = wb.load(folder / "whole.pipe")
    assert str(wb.check(whole, "liveness").outcome) == "holds"
    assert wb.run(whole, [{"a": 3}], integers=wb.Integer(4)) == [{"out": 1}]


def test_in_python():
    rules = wb.rules.parse_rules(RULES, "fire")
    builder = Builder("p")
    temp, smoke = (builder.input("temp", Record((STR, INT), ("area", "value"))), builder.input("smoke", STR))
    found = rules(temp, Smoke=smoke)
    pipeline = builder.build({"fires": found.Fire, "everything": found.all})
    assert str(pipeline.ports.outputs_by_name["fires"]) == "{area: str, value: float}"
    assert (
        str(pipeline.ports.outputs_by_name["everything"]) == "{type: {Fire, Mean}, time: int, area: str, value: float?}"
    )
    running = wb.executors.Reference(pipeline)
    running.step({"time": 0, "temp": ("a", 50)})
    assert running.step({"time": 1, "smoke": "a"}).outputs == {
        "fires": [("a", 50.0)], "everything": [("Fire", 1, "a", 50.0), ("Mean", 1, "a", 50.0)]
    }  # fmt: skip
    with pytest.raises(
        PipelineError, match=r"rules\(fire, Temp, Smoke\) has no output 'Fir'\s*hint: did you mean 'Fire'"
    ):
        _ = found.Fir


def test_a_rule_set_is_a_program():
    rules = wb.rules.parse_rules(RULES, "fire")
    assert [(port.name, str(port.domain)) for port in rules.ports.inputs] == [
        ("time", "int"), ("Temp", "{area: str?, value: float?}"), ("Smoke", "{area: str?}")
    ]  # fmt: skip
    assert [port.name for port in rules.ports.outputs] == ["Fire", "Mean", "all"]
    running = wb.executors.Reference(rules)
    assert (running.pipeline, rules.pipeline.ports.of) == (rules, "rule set fire")
    running.step({"time": 0, "Temp": (None, 50.0)})
    assert running.step({"time": 1, "Smoke": (None,)}).outputs["Mean"] == [(None, None)]


def test_mistakes(folder):
    assert "did you mean 'Fire'?" in refused(folder, 'return rules("fire.tesla", y, x).Fires')
    assert "read 'Smoke', but no stream is given for it" in refused(folder, 'return rules("fire.tesla", y).Fire')
    assert "has no events 'Smok'" in refused(folder, 'return rules("fire.tesla", y, Smok = x).Fire')
    assert "two streams are given for 'Temp'" in refused(folder, 'return rules("fire.tesla", y, x, Temp = y).Fire')
    assert "takes 2 streams, 3 are given" in refused(folder, 'return rules("fire.tesla", y, x, x).Fire')
    assert 'write rules("FILE", x, Name = y)' in refused(folder, "return rules(y, x).Fire")
    assert "cannot read" in refused(folder, 'return rules("fir.tesla", y, x).Fire')
    assert "Temp has 2 attributes, but events of str one" in refused(
        folder, 'return rules("fire.tesla", x, x).Fire', TypingError
    )
    several = refused(folder, 'return rules("fire.tesla", y, x) + 1')
    assert "has 3 streams where one is needed" in several
    assert ".Fire" in several
    may = refused(folder, 'return rules("fire.tesla", y, x).Mean.value + 1.0')
    assert "write value_or(NAME, 0)" in may
    (folder / "fire.tesla").write_text(
        RULES + "\nrule r: from Fire and last Temp() within 5 from Fire emit Fire(area = 'a', value = 1.0)"
    )
    assert "5 needs a unit: other windows have units" in refused(
        folder, 'return rules("fire.tesla", y, x).Fire', PipelineError
    )


def test_rules_have_the_facts_of_the_run(folder, tmp_path):
    """In groups, too; what a fact has may be null."""
    (folder / "fire.tesla").write_text(
        "declare fact F(x: int, y: int) declare A(x: int) declare B(y: int) from A and each F(x == A.x) emit B(y = F.y)"
    )
    (folder / "outer.pipe").write_text(
        'pipeline inner(x: int) -> int? { return rules("fire.tesla", x).B.y }\n'
        "pipeline outer(x: int) -> int? { return inner(x) }\n"
    )
    pipeline = wb.load(folder / "outer.pipe:outer")
    rows: list[dict[str, Any]] = [{"time": 1, "x": 7}, {"time": 2, "x": 8}]
    with pytest.raises(Refused, match="it needs facts of type F: add --facts"):
        wb.run(pipeline, rows)
    facts: list[dict[str, Any]] = [{"x": 7, "y": 1}, {"x": 9, "y": 2}, {"x": 8, "y": None}]
    assert [row["out"] for row in wb.run(pipeline, rows, facts={"F": facts})] == [1, None]
    frame = pytest.importorskip("pandas").DataFrame({"x": [7, 9, 8], "y": [4, 5, None], "note": [1, "a", None]})
    frame = frame.astype({"y": "Int64"})
    assert [row["out"] for row in wb.run(pipeline, rows, facts={"F": frame})] == [4, None]
    with sqlite3.connect(tmp_path / "f.db") as made:
        made.execute("CREATE TABLE F (x INTEGER, y INTEGER)")
        made.execute("INSERT INTO F VALUES (7, 3)")
    assert [row["out"] for row in wb.run(pipeline, rows, facts=tmp_path / "f.db")] == [3]
    with pytest.raises(InputError, match="for programs that query facts only: --facts"):
        wb.run(wb.load("models/tesla/kitchen.pipe"), [], facts={"F": facts})


# --- meaning and operation --------------------------------------------------------------------------------------


def held(case: RuleCase) -> None:
    """Steps say what the denotation says, and every event is in the domain of its output."""
    processor = RuleProcessor(case.rules, case.rules.events, facts=case.facts)
    declared = [case.rules.declarations[name].domains for name in case.rules.events]
    shapes = (INT, *(Record(tuple(map(Nullable, each.values())), tuple(each)) for each in declared))
    processor = processor.specialise(shapes)
    fronts: list[tuple[int, Any]] = [(0, -1)]
    for event in case.events:
        fronts += [(0, event.time), (1 + case.rules.events.index(event.type), event.values)]
    fronts += [(0, (case.events[-1].time if case.events else 0) + 9)]
    domains, state = processor.results(shapes), processor.initial()
    made: list[list[Any]] = [[] for _ in domains]
    for front in fronts:
        state, emitted = processor.step(state, front)
        for events, each in zip(made, emitted, strict=True):
            events += events_of(each)
    assert repr(made) == repr(list(processor.denote((fronts,))))  # NaN is no float that equals itself
    assert all(value in domain for events, domain in zip(made, domains, strict=True) for value in events)


def test_steps_say_what_rules_mean():
    for seed in range(scaled(100, 400)):
        held(random_case(seed))


@given(rule_cases())
@examples(15)
def test_steps_say_what_random_rules_mean(case):
    held(case)


SAMPLES = RuleProcessor.samples()
BEFORE = [
    lambda x, _: x, lambda x, y: x + y, lambda x, _: wb.processors.Trim(1)(x), lambda x, _: wb.processors.Stutter(2)(x),
    lambda x, y: wb.processors.Multiplex()(x, y), lambda x, _: wb.processors.Filter()(x, x > 1),
    lambda x, _: wb.processors.CountDecimate(2)(x),
]  # fmt: skip
AFTER = [
    lambda found, _: found[0], lambda found, _: found.all, lambda found, x: wb.processors.TurnInto(1)(found[1]) + x,
    lambda found, _: wb.processors.Cumulate(ADD)(wb.processors.TurnInto(1)(found.all)),
    lambda found, _: wb.processors.Stutter(2)(found[0]),
]  # fmt: skip


@st.composite
def surrounded(draw):
    """A pipeline with rules, what feeds them, and what they feed; and a trace."""
    builder, rules = Builder("p"), draw(st.sampled_from(SAMPLES))
    x, y = builder.input("x", INT), builder.input("y", INT)
    found = rules(*(draw(st.sampled_from(BEFORE))(*draw(st.permutations((x, y)))) for _ in rules.fed))
    after = {f"out{i}": draw(st.sampled_from(AFTER))(found, x) for i in range(draw(st.integers(1, 3)))}
    pipeline = builder.build({name: wb.processors.Passthrough()(stream) for name, stream in after.items()})
    return pipeline, draw(long_traces(pipeline, 16))


@given(surrounded())
@examples(20)
def test_pipelines_around_rules_run_as_they_are_meant(case):
    pipeline, steps = case
    meant = Unfolding(pipeline)
    running, threaded = wb.executors.Reference(pipeline), wb.executors.Threaded(pipeline, wb.executors.ThreadManager(2))
    threads = threaded.records(iter(steps))
    for step in steps:
        added = meant.step(step)
        shown = {name: added[pipe] for name, pipe in pipeline.outputs}
        assert running.step(step).outputs == next(threads).outputs == shown


def test_states_are_values():
    processor = RuleProcessor.samples()[0].specialise((INT, INT, INT))
    state, states = processor.initial(), []
    for time in range(2 * LEAST):
        states.append(state)
        state, _ = processor.step(state, (0, time))
        state, _ = processor.step(state, (1, time % 7))
    for old, after in ((states[3], states[4]), (states[-2], states[-1])):
        again, _ = processor.step(processor.step(old, (0, after[0]))[0], (1, (after[0]) % 7))
        assert again == after
    saved = pickle.loads(pickle.dumps(state))
    assert isinstance(state[1], RuleMemory)
    assert saved == state
    assert len(saved[1]) < 4000  # what windows hold, and not what has happened
    for old in (state, saved):
        assert [*events_of(processor.step(old, (2, 9))[1][0])] == [(9, 6, 3)]  # the last but one was 6, and 0 is none


def test_a_run_goes_on_from_a_snapshot(folder):
    program = wb.load(folder / "p.pipe:alarms").pipeline
    steps: list[dict[str, Any]] = [{**row, "time": row["time"] * 1_000_000} for row in ROWS]
    for cut in range(len(steps)):
        running, other = wb.executors.Reference(program), wb.executors.Reference(program)
        whole = wb.executors.Reference(program).trace(steps)
        running.trace(steps[:cut])
        other.restore(running.snapshot())
        assert other.trace(steps[cut:]) == whole[cut:]


# --- null -------------------------------------------------------------------------------------------------------


def test_null_in_logs(tmp_path):
    source = wb.parse(
        "pipeline p(e: {a: int?, s: str?, b: int}) -> {a: int?, s: str?, b: int}, bool { return e, is_null(e.s) }"
    )
    program = source.get().pipeline
    assert str(program.ports.domains["e"]) == "{a: int?, s: str?, b: int}"
    events = [(1, None, 2), (None, "12", 3), (None, None, 4)]
    rows = [{"e": each} for each in events]
    made = wb.run(program, rows)
    assert [row["out1"] for row in made] == events
    assert [row["out2"] for row in made] == [True, False, True]
    for name in ("l.csv", "l.jsonl", "l.parquet"):
        wb.run(program, rows, output=tmp_path / name)
        again = wb.run(program, tmp_path / name, columns={"e": "out1"})
        assert [row["out1"] for row in again] == events, name
    (tmp_path / "columns.csv").write_text("e.a,e.s,e.b\n1,,2\n,x,3\n,,\n")
    assert [row["out1"] for row in wb.run(program, tmp_path / "columns.csv")] == [(1, None, 2), (None, "x", 3)]
    told = wb.parse("""
        function filled(e) = value_or(e.a, 0) + (if is_null(e.s) then 10 else 20)
        pipeline p(e: {a: int?, s: str?}) -> int, float { return filled(e), value_or(e.a, 0.5) }
    """)
    assert wb.run(told.get().pipeline, [{"e": (1, None)}, {"e": (None, "")}]) == [
        {"out1": 11, "out2": 1.0}, {"out1": 20, "out2": 0.5},
    ]  # fmt: skip
    (tmp_path / "e.jsonl").write_text('{"e": {"b": 4}}\n')
    assert [row["out1"] for row in wb.run(program, tmp_path / "e.jsonl")] == [(None, None, 4)]
    (tmp_path / "columns.csv").write_text("e.a,e.s,e.b\n1,x,\n")
    with pytest.raises(InputError, match=r"'e\.b' is empty, and other fields are not"):
        list(wb.run(program, tmp_path / "columns.csv"))
    assert FLOAT not in {Nullable(INT)}
    with pytest.raises(WorkbenchError, match=r"a model has no null: replace it first, with value_or"):
        wb.check(program, "liveness")
