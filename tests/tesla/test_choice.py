"""Which engine `auto` chooses, and why."""

import math

import pytest

from workbench.cli.main import main
from workbench.logs.rule_choice import expected_events
from workbench.tesla.check import rules
from workbench.tesla.engines.choice import EngineChoice, EngineCosts, chosen_engine, engine_costs, filled, keep_costs
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.occurrence import Occurrence

TYPES = "declare A(x: int, s: string) declare P(x: int)\n"
LAST = "from A[$x = x] and last A(x == $x) as Old within 40 from A emit P(x = Old.x)"
PYTHON = "from A and $g = GCD(A.x within 9 from A) emit P(x = $g)"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def stream(count):
    return [Occurrence("A", 2 * i, (i % 5, "a")) for i in range(count)]


def choice(text, events, count=400):
    made = rules(TYPES + text, aggregates={"GCD": (math.gcd, 0)})
    return chosen_engine(made, {}, EngineSettings(), stream(count), events)


def test_what_is_chosen_depends_on_how_much_there_is():
    assert choice(LAST, 100).engine == "cdp"
    assert choice(LAST, None).engine == "compiled"
    few, many = choice(LAST, 5000), choice(LAST, 10**8)
    assert few.engine in ("cdp", "aip")
    assert "compiled" not in few.seconds
    assert many.engine == "compiled"
    assert many.seconds["cdp"] > 1000 * few.seconds["cdp"]


def test_what_machine_code_does_not_have_is_for_others():
    for events in (None, 10**8):
        found = choice(PYTHON, events)
        assert found.engine in ("cdp", "aip")
        assert "does not compute GCD, a function of Python" in found.why


def test_rules_that_machine_code_does_not_have_do_not_hold_up_the_others():
    two = f"declare B(x: int) declare Q(x: int) rule many: {LAST} rule python: {PYTHON.replace('A', 'B')}"
    found = choice(two, 10**8)
    assert found.engine == "compiled+cdp"
    assert found.why.startswith(
        "compiled for 1 of the rules, cdp for python (the engine 'compiled' does not compute GCD"
    )
    assert found.seconds["compiled+cdp"] < found.seconds["cdp"]
    assert choice(two, None).engine == "cdp"
    fed = two.replace("emit P(x = Old.x)", "emit B(x = Old.x)")
    assert choice(fed, 10**8).engine in ("cdp", "aip")


def test_machine_code_that_has_to_be_made_is_weighed():
    keep_costs(EngineCosts(make=1e9))
    assert engine_costs().make == 1e9
    assert choice(LAST, 10**7).engine in ("cdp", "aip")


def test_windows_are_counted_in_events():
    assert filled(rules(TYPES + LAST), stream(101)) == 20
    assert filled(rules(TYPES + 'from A(s < "b") emit P(x = A.x)'), stream(101)) == 0
    assert filled(rules(TYPES + LAST.replace("within 40", "within forever")), stream(101)) > 10**18


def test_files_tell_about_how_many_rows_they_have(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x" * 5000)
    (tmp_path / "b.csv.gz").write_bytes(b"x" * 5000)
    assert expected_events(str(tmp_path / "a.csv")) == 200
    assert expected_events([f"A={tmp_path / 'a.csv'}", str(tmp_path / "b.csv.gz")]) == 1000
    assert expected_events("-") is None
    assert expected_events([{"x": 1}]) is None


def test_auto_says_what_it_has_chosen(tmp_path, capsys):
    (tmp_path / "r.tesla").write_text(TYPES + LAST)
    (tmp_path / "log.csv").write_text("type,time,x\nA,1,7\nA,2,7\n")
    given = ["run", str(tmp_path / "r.tesla"), "--input", str(tmp_path / "log.csv"), "--engine"]
    told = []
    for engine in ("auto", "cdp"):
        assert main([*given, engine]) == 0
        told.append(capsys.readouterr())
    assert told[0].out == told[1].out
    assert "engine cdp: there are few events" in told[0].err


def test_who_asks_for_no_engine_gets_what_fits_a_long_file(tmp_path, monkeypatch, capsys):
    """And is told of it only where that is not the usual one."""
    (tmp_path / "r.tesla").write_text(TYPES + LAST)
    (tmp_path / "log.csv").write_text("type,time,x,s\n" + "".join(f"A,{i},{i % 7},{'a' * 20}\n" for i in range(6000)))
    given = [
        "run",
        str(tmp_path / "r.tesla"),
        "--input",
        str(tmp_path / "log.csv"),
        "--output",
        str(tmp_path / "o.csv"),
    ]
    outputs = []
    for engine in ("cdp", "aip"):
        found = EngineChoice(engine, "it fits")
        monkeypatch.setattr("workbench.logs.rule_choice.chosen_engine", lambda *_, found=found: found)
        assert main(given) == 0
        assert ("engine aip: it fits" in capsys.readouterr().err) == (engine == "aip")
        outputs.append((tmp_path / "o.csv").read_text())
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") > 5000


@pytest.mark.parametrize("more", [["--key", "k"], ["--rules-control", "changes.jsonl"]])
def test_auto_chooses_for_keys_and_for_rules_that_change(more, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.tesla").write_text(TYPES + f"rule old: {LAST}")
    (tmp_path / "changes.jsonl").write_text('{"time": 9, "do": "remove", "rule": "old"}\n')
    (tmp_path / "log.csv").write_text("type,time,x,k\n" + "".join(f"A,{i},{i % 7},{i % 3}\n" for i in range(6000)))
    told = []
    for engine in ("auto", "cdp"):
        assert main(["run", "r.tesla", "--input", "log.csv", "--engine", engine, *more]) == 0
        told.append(capsys.readouterr())
    assert told[0].out == told[1].out
    assert "aip about" in told[0].err


def test_doctor_keeps_what_it_has_measured(monkeypatch, capsys):
    measured = EngineCosts(load=0.25)
    monkeypatch.setattr("workbench.executors.compiled.rules.calibrating.measured_costs", lambda: measured)
    assert main(["doctor", "--calibrate"]) == 0
    assert "0.25 s to load" in capsys.readouterr().out
    assert engine_costs() == measured
