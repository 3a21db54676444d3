"""`--pass TYPE`: events of the log among the composites, each before what it causes."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from tests.runner.random_runs import RULES as TEXT
from tests.runner.random_runs import random_run, without
from tests.runner.test_one_runner import SMALL, cut, ran
from workbench.errors import InputError

FIRE = wb.rules.parse_rules(
    "declare Temp(area: string, value: float)\ndeclare Smoke(area: string)\ndeclare Fire(area: string)\n"
    "declare Calm(area: string)\n"
    "rule fire: from Smoke[$a = area] and last Temp(area == $a, value > 45.0) within 50 from Smoke"
    " emit Fire(area = $a)\n"
    "rule calm: from Smoke as S and absent Smoke(area == S.area) within 5 after S emit Calm(area = S.area)"
)  # fmt: skip
LOG = """type,time,area,value,k
Temp,1,a,50,u
Smoke,2,a,,u
Smoke,2,b,,v
Temp,3,b,20,v
Temp,7,a,60,u
Smoke,8,a,,u
"""
PASSED = [
    {"type": "Smoke", "time": 2, "area": "a"}, {"type": "Fire", "time": 2, "area": "a"},
    {"type": "Smoke", "time": 2, "area": "b"},
    {"type": "Calm", "time": 7, "area": "a"}, {"type": "Calm", "time": 7, "area": "b"},
    {"type": "Smoke", "time": 8, "area": "a"}, {"type": "Fire", "time": 8, "area": "a"},
]  # fmt: skip
"""An absence ends at 7, after the events of 7, and before that of 8."""
OF_RULES = (each for each in map(random_run, range(600)) if each.program == "rules" and not each.odd)
RUNS = [*itertools.islice(OF_RULES, 6)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    return path


@pytest.mark.parametrize("backend", ["cdp", "aip", "compiled"])
def test_an_event_comes_before_what_it_causes(backend: str, log: Path) -> None:
    assert list(wb.run(FIRE, log, passed=["Smoke"], backend=backend)) == PASSED


@pytest.mark.parametrize("backend", ["cdp", "aip"])
def test_events_of_all_keys(backend: str, log: Path) -> None:
    """Composites of a key come when its clock has gone on."""
    found = list(wb.run(FIRE, log, passed=["Temp", "Smoke"], key="k", backend=backend))
    rows = [line.split(",") for line in LOG.splitlines()[1:]]
    log_events = [(row[0], int(row[1]), row[4]) for row in rows]
    assert [(e["type"], e["time"], e["k"]) for e in found if e["type"] in ("Temp", "Smoke")] == log_events
    assert [{**e} for e in found if e["type"] == "Fire"] == [
        {"type": "Fire", "time": time, "area": "a", "k": "u"} for time in (2, 8)
    ]


@pytest.mark.parametrize("backend", ["cdp", "aip", "compiled"])
def test_an_event_has_its_row_for_a_source(backend: str, log: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    wb.run(FIRE, log, passed=["Temp", "Smoke"], with_sources=True, backend=backend, output=output)
    found = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(row["type"], row.get("id"), row["sources"]) for row in found] == [
        ("Temp", None, ["1"]), ("Smoke", None, ["2"]), ("Fire", 1, ["2", "1"]), ("Smoke", None, ["3"]),
        ("Temp", None, ["4"]), ("Temp", None, ["5"]), ("Calm", 2, ["2"]), ("Calm", 3, ["3"]), ("Smoke", None, ["6"]),
        ("Fire", 4, ["6", "5"]),
    ]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", RUNS, ids=map(str, range(6)))
def test_every_engine_and_any_cut(case, monkeypatch, tmp_path):
    """The same rows; without those of the log they are those of a run that passes nothing on."""
    plain = replace(case, output="jsonl", options=without(case.options, "--engine", "--head", "--progress"))
    passing = replace(plain, options=[*plain.options, "--pass", "Smoke", "--pass", "Temp"])
    with_engine = {
        name: replace(passing, options=[*passing.options, "--backend", name])
        for name in ("cdp", "aip", *(["compiled"] if "--key" not in case.options else []))
    }
    wanted, without_events = ran(with_engine["cdp"], tmp_path), ran(plain, tmp_path)
    rows = [json.loads(line) for line in (wanted.get("out.jsonl") or b"").splitlines()]
    composites = [row for row in rows if row["type"] not in ("Smoke", "Temp")]
    assert composites == [json.loads(line) for line in (without_events.get("out.jsonl") or b"").splitlines()]
    if "out.jsonl" in wanted and "--key" not in case.options:
        assert [row["time"] for row in rows] == sorted(row["time"] for row in rows)
    for name, each in with_engine.items():
        assert ran(each, tmp_path) == wanted, name
        for size in SMALL:
            with monkeypatch.context() as patched:
                cut(patched, size)
                assert ran(each, tmp_path) == wanted, (name, size)


def test_several_threads(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    rows = [
        {"type": ("Temp", "Smoke")[i % 3 == 0], "time": i // 2, "area": i % 7, "value": i % 100} for i in range(20_000)
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    rules = wb.rules.parse_rules(TEXT[: TEXT.index("rule counts")])
    one, two = (list(wb.run(rules, path, passed=["Smoke"], backend="compiled", threads=threads)) for threads in (1, 2))
    assert one == two == list(wb.run(rules, path, passed=["Smoke"], backend="cdp"))


def test_types_of_the_log_have_files_of_their_own(log: Path, tmp_path: Path) -> None:
    output = {"Fire": tmp_path / "fire.csv", "Smoke": tmp_path / "smoke.csv"}
    wb.run(FIRE, log, passed=["Smoke"], output=output)
    assert output["Smoke"].read_text() == "type,time,area\nSmoke,2,a\nSmoke,2,b\nSmoke,8,a\n"
    assert output["Fire"].read_text() == "type,time,area\nFire,2,a\nFire,8,a\n"


def test_rules_that_change(log: Path) -> None:
    control = [{"time": 5, "do": "remove", "rule": "fire"}]
    found = list(wb.run(FIRE, log, passed=["Smoke"], rules_control=control))
    assert found == [row for row in PASSED if row["time"] != 8 or row["type"] != "Fire"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"passed": ["Smok"]}, r"no events of type 'Smok': --pass Smok\n  hint: did you mean 'Smoke'"),
        ({"passed": ["Smoke"], "matches": "count"}, "--matches and --pass cannot be combined"),
        ({"passed": ["Smoke"], "backend": "spark"}, "not for the spark backend: --pass"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_passed_on(options, message: str, log: Path) -> None:
    with pytest.raises(InputError, match=message):
        wb.run(FIRE, log, **options)
