"""Which backend `auto` chooses, and what it reports."""

import math
from functools import partial

import pytest

from workbench.cli.main import main
from workbench.events.inputs import estimate_rows
from workbench.executors.table import RunSize
from workbench.runner.choice import choose_engine
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.engine import EngineSettings, rule_engine

TYPES = "declare A(x: int, s: string) declare P(x: int)\n"
LAST = "from A[$x = x] and last A(x == $x) as Old within 40 from A emit P(x = Old.x)"
PYTHON = "from A and $g = GCD(A.x within 9 from A) emit P(x = $g)"


def choice(text, events, *, keyed=False, threads=1, singly=False):
    made, how = parse_rules(TYPES + text, aggregates={"GCD": (math.gcd, 0)}), EngineSettings(threads=threads)
    size = RunSize(events, len(made.rules), threads, keyed)
    return choose_engine(size, partial(rule_engine, made, facts={}, settings=how), singly=singly).name


def test_machine_code_runs_what_is_worth_its_start():
    four = " ".join(f"rule r{i}: {LAST}" for i in range(4))
    found = [(choice(LAST, n), choice(four, n)) for n in (0, 100, 3000, 6000, 15_000, 20_000, 10**8)]
    assert [one for one, _ in found] == ["cdp"] * 5 + ["compiled"] * 2
    assert [many for _, many in found] == ["cdp"] * 3 + ["compiled"] * 4
    assert choice(LAST, 100, threads=2) == "compiled"
    assert choice(LAST, 10**8, singly=True) == "compiled"
    assert choice(LAST, 10**8, keyed=True) == "cdp"


def test_what_machine_code_does_not_have_is_for_cdp():
    assert choice(f"rule one: {LAST} rule other: {PYTHON}", 10**8) == "cdp"


def test_files_tell_about_how_many_rows_they_have(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x" * 5000)
    (tmp_path / "b.csv.gz").write_bytes(b"x" * 5000)
    assert estimate_rows(str(tmp_path / "a.csv")) == 200
    assert estimate_rows([f"A={tmp_path / 'a.csv'}", str(tmp_path / "b.csv.gz")]) == 1000
    (tmp_path / "long.log").write_text("a line of forty bytes, and its new line\n" * 10_000)
    assert estimate_rows(str(tmp_path / "long.log")) == 10_000
    assert estimate_rows("-") is None
    assert estimate_rows([{"x": 1}]) == 1
    assert estimate_rows({"x": [1, 2]}) == 2
    assert estimate_rows(iter([{"x": 1}])) is None


def test_auto_says_what_it_has_chosen_where_that_is_not_the_usual_one(tmp_path, monkeypatch, capsys):
    (tmp_path / "r.tesla").write_text(TYPES + LAST)
    (tmp_path / "log.csv").write_text("type,time,x\nA,1,7\nA,2,7\n" + "A,3,7\n" * 8)
    given = ["run", str(tmp_path / "r.tesla"), "--input", str(tmp_path / "log.csv"), "--backend"]
    told = []
    for engine in ("auto", "cdp"):
        assert main([*given, engine]) == 0
        told.append(capsys.readouterr())
    assert told[0] == told[1]
    monkeypatch.setattr("workbench.executors.backends.compiled.START", 0)
    assert main([*given, "auto"]) == 0
    found = capsys.readouterr()
    assert found.out == told[1].out
    assert "chose backend compiled, the fastest for about 11 rows" in found.err


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--key", "k"], ""),
        (["--rules-control", "changes.jsonl"], "chose backend compiled, the fastest for about "),
    ],
)
def test_auto_chooses_for_keys_and_for_rules_that_change(more, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.tesla").write_text(TYPES + f"rule old: {LAST}")
    (tmp_path / "changes.jsonl").write_text('{"time": 9, "do": "remove", "rule": "old"}\n')
    (tmp_path / "log.csv").write_text("type,time,x,k\n" + "".join(f"A,{i},{i % 7},{i % 3}\n" for i in range(50_000)))
    told = []
    for engine in ("auto", "cdp"):
        assert main(["run", "r.tesla", "--input", "log.csv", "--backend", engine, *more]) == 0
        told.append(capsys.readouterr())
    assert told[0].out == told[1].out
    assert said in told[0].err
    assert told[0].out.count("\n") > 2
