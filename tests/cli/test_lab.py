"""`workbench lab`: its actions, exit codes and errors."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, command
from tests.lab.test_store import forge

SUITE = """from workbench.lab import *
suite = Suite("tiny", "A suite")

@suite.experiment(Region(n=[1, 2], kind=["a", "b,c"]), y=Output("a number", "m"))
def measure(n, kind):
    '''What it does.'''
    print("printed", n)
    return {"y": float(n)}

suite.table("t", of=measure, rows="n", cells={"y": median("y")})

@suite.claim("it grows")
def grows(data):
    return ok("it does") if len(data.rows(measure)) == 4 else warns("some are missing")
"""
WRONG = """
@suite.experiment(Region(how=["right", "wrong"]), expected=lambda: {"y": 1}, y=Output("", kind=int))
def judge(how):
    return {"y": 1 if how == "right" else 2}
"""
UNDECIDED = """
import workbench as wb
@suite.experiment(Region(which=["same", "other"]), verdict=Output("the outcome", kind=str))
def decide(which):
    one, two = (wb.parse(f"pipeline p(x: int) -> int {{ return {text} }}").get() for text in ("x * 2", "x + x"))
    if which == "same":
        return {"verdict": wb.equiv(one, one)}
    return {"verdict": wb.equiv(one, two, "sequence", wb.Settings(seconds=SECONDS))}
"""
REFUSING = """
from workbench.errors import EngineMissing
@suite.experiment(Region(i=[1, 2]), repeat=3)
def refuse(i):
    raise EngineMissing(f"no engine {i}", hint="install one")
"""
CRASHING = """
@suite.experiment(Region(i=range(12)))
def crash(i):
    raise ValueError(f"number {i}")
"""


@pytest.fixture
def lab(workbench, tmp_path, monkeypatch):
    """Runs `workbench lab` in a folder with a suite."""
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "tiny.py").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    return lambda *args: workbench("lab", *args)


def more(tmp_path, text):
    (tmp_path / "experiments" / "tiny.py").write_text(SUITE + text)


def test_list_run_report_show(lab, tmp_path):
    assert re.search(r"tiny +0 of +4 measured  A suite", lab("list").out)
    done = lab("run", "tiny")
    assert done.code == 0
    assert "4 measurements, 0 of them done, 4 to do" in done.out
    assert re.search(r"run \S+: 4 ok in", done.out)
    assert "0 to do" in lab("run", "tiny").out
    shown = lab("list", "tiny").out
    assert "measure: What it does." in shown
    assert "-> y (m): a number" in shown
    assert re.search(r"\d{8}T\d{6}-\w+  4 measured", shown)
    report = lab("report", "tiny")
    assert report.code == 0
    assert "OK       it grows: it does" in report.out
    page = (tmp_path / "reports" / "tiny" / "tables" / "t.json").read_text()
    key = json.loads(page)["cells"][0]["ids"][0]
    one = lab("show", key).out
    assert "n = 1" in one
    assert "| printed 1" in one
    assert f"workbench lab run tiny --id {key.partition('.')[0]} --again" in one
    assert json.loads(lab("show", key, "--json").out)["point"]["n"] == 1


def test_a_claim_on_a_part_of_its_points_or_on_other_code_is_no_plain_ok(lab, tmp_path):
    assert lab("report", "tiny").code == 3, "there is no data"
    suite = SUITE.replace('else warns("some are missing")', "else ok()")
    (tmp_path / "experiments" / "tiny.py").write_text(suite)
    lab("run", "tiny", "--where", "n=1")
    part = lab("report", "tiny")
    assert part.code == 3
    assert part.out.startswith("OK on 2 of 4 points: it grows\nresults: 2 of 4 points")
    assert "measure all points with the code as it is now: workbench lab run tiny\n" in part.out
    lab("run", "tiny")
    assert lab("report", "tiny").code == 0
    (tmp_path / "experiments" / "tiny.py").write_text(suite.replace("float(n)", "float(2 * n)"))
    old = lab("report", "tiny")
    assert old.code == 3
    assert old.out.startswith("OK on 4 of 4 points, all of them measured with other code: it grows: it does\n")
    assert "4 of 4 points; 4 measured with other code" in old.out
    (tmp_path / "experiments" / "tiny.py").write_text(suite.replace('ok("it does")', 'fails("it does not")'))
    failed = lab("report", "tiny")
    assert (failed.code, "FAILS on 4 of 4 points, all" in failed.out) == (1, True)


def test_an_interrupted_sweep_on_spark_reports_how_to_continue_before_spark_stops(lab, monkeypatch):
    monkeypatch.setattr("workbench.cli.progress.BETWEEN_LINES", 0.1)
    begun = []

    class Session:
        def stop(self):
            print("Spark stops", file=sys.stderr)

    def start(master):
        begun.append(master)
        time.sleep(0.5)
        return Session()

    def sweep(*_):
        yield from ()
        raise KeyboardInterrupt

    monkeypatch.setattr("workbench.lab.spark.session", start)
    monkeypatch.setattr("workbench.lab.spark.sweep", sweep)
    ended = lab("run", "tiny", "--on", "spark")
    assert (ended.code, begun) == (130, ["local[*]"])
    assert "workbench: Spark is starting" in ended.said
    assert "stopped after 0 of 4; run the same command to continue\nSpark stops\n" in ended.err


def test_commands_say_where_suites_and_results_are_if_it_is_elsewhere(lab, tmp_path):
    (tmp_path / "experiments").rename(tmp_path / "else where")
    (tmp_path / "else where" / "tiny.py").write_text(SUITE + CRASHING)
    options = ["--experiments", "else where", "--data", "here"]
    said = lab("run", "tiny", *options, "--where", "i=1").out
    again = shlex.join(options)
    (shown,) = re.findall(rf"workbench lab show {again} (\w+)\.0", said)
    assert f"workbench lab run tiny {again} --id {shown} --again" in lab("show", *options, shown).out
    lab("report", "tiny", *options)
    assert (
        f"workbench lab run tiny {again} --id KEY --again" in (tmp_path / "reports" / "tiny" / "README.md").read_text()
    )
    assert (
        'data-options="--experiments &#39;else where&#39; --data here"'
        in (tmp_path / "reports" / "tiny" / "index.html").read_text()
    )


def test_a_selection(lab):
    assert "1 measurements" in lab("run", "tiny", "--where", "n=2", "--where", "kind=b,c").out
    objects = lab("run", "tiny", "--only", "measure", "--where", "n=1,2", "--json").objects
    assert len(objects) == 3
    assert {o["status"] for o in objects} == {"ok"}
    assert lab("run", "tiny", "--id", objects[0]["key"], "--again", "--json").objects[0]["key"] == objects[0]["key"]
    assert len(lab("run", "tiny", "--repeat", "2", "--jobs", "2", "--json").objects) == 4


def test_exit_codes(lab, tmp_path):
    more(tmp_path, WRONG)
    wrong = lab("run", "tiny", "--only", "judge")
    assert wrong.code == 1
    assert "wrong verdict: judge(how=wrong): y is 2 where 1 is expected" in wrong.out
    assert "--retry wrong-verdict" in wrong.out
    more(tmp_path, CRASHING)
    crashed = lab("run", "tiny")
    assert crashed.code == 3
    assert crashed.out.count("ValueError: number") == 10
    assert "and more" in crashed.out
    assert "12 crash, 4 ok" in crashed.out
    assert "to measure those again: --retry crash\n" in crashed.out
    again = lab("run", "tiny")
    assert "0 to do" in again.out
    assert (again.code, "measured before: 12 crash; details of the first" in again.out) == (3, True)
    assert "12 to do" in lab("run", "tiny", "--retry", "crash").out
    more(tmp_path, "\n@suite.claim('no')\ndef no(data):\n    return fails('indeed')\n")
    assert lab("report", "tiny").code == 1


@pytest.mark.parametrize(("seconds", "status", "code"), [(60.0, "2 ok", 0), (0.0, "1 ok, 1 undecided", 3)])
def test_an_undecided_verdict_is_no_normal_measurement(lab, tmp_path, seconds, status, code):
    more(tmp_path, UNDECIDED.replace("SECONDS", str(seconds)))
    run = lab("run", "tiny", "--only", "decide")
    assert (run.code, status in run.out) == (code, True), run.out
    assert ("undecided: decide(which=other): verdict is unknown: " in run.out) == (code == 3)
    row = json.loads(lab("run", "tiny", "--only", "decide", "--where", "which=same", "--again", "--json").out)
    assert row["outputs"] == {"verdict": "holds"}


def test_a_list_counts_what_did_not_end_well_and_shows_limits(lab, tmp_path):
    more(tmp_path, CRASHING)
    lab("run", "tiny", "--only", "crash", "--where", "i=1,2")
    assert re.search(r"tiny +2 of +16 measured \(2 crash\)  A suite", lab("list").out)
    listed = lab("list", "tiny").out
    assert "2 of 16 measured (2 crash) with the code as it is now" in listed
    assert "12 points; limits of a point: 60 s, 2048 MB" in listed


def test_a_crash_in_the_store_is_not_forgotten_by_what_goes_on(lab, tmp_path):
    """As where a sweep is interrupted after a point that crashed."""
    more(tmp_path, CRASHING.replace("raise", "if i == 3: raise") + "    return {}\n")
    assert lab("run", "tiny", "--where", "i=3").code == 3
    goes_on = lab("run", "tiny")
    assert re.search(r"run \S+: 15 ok in", goes_on.out)
    assert goes_on.code == 3
    shown = re.search(r"measured before: 1 crash; details of the first: workbench (lab show \S+)", goes_on.out)
    assert shown is not None
    assert "number 3" in lab(*shown[1].split()[1:]).out
    assert "--retry crash" in goes_on.out
    as_json = lab("run", "tiny", "--json")
    assert (as_json.code, as_json.out) == (3, "")
    assert "1 crash" in as_json.err
    assert lab("run", "tiny", "--where", "i=1,2").code == 0, "what is not asked for does not count"


def test_what_does_not_end_well_is_told_once_with_what_to_do(lab, tmp_path):
    more(tmp_path, REFUSING)
    done = lab("run", "tiny")
    assert done.code == 3
    assert done.out.count("refused: refuse(i=1): no engine 1  [") == 1
    assert done.out.count("hint: install one") == 2
    assert re.search(r"details: workbench lab show \w+\.0", done.out)
    assert "6 refused" in done.out
    assert "--retry" not in done.out, "they are tried again anyway"
    assert "10 measurements, 10 of them done, 6 to do (6 again)" in lab("run", "tiny").out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["run", "other"], "there are: tiny"),
        (["run", "tiny", "--where", "q=1"], "there are n, kind"),
        (["run", "tiny", "--where", "n=3"], "it is 1, 2"),
        (["run", "tiny", "--where", "kidn=a"], "did you mean 'kind'?"),
        (["run", "tiny", "--where", "n=1,2,kind=a"], "repeat the option for each axis: --where n=1,2 --where kind=a"),
        (["run", "tiny", "--only", "x"], "it has: measure"),
        (["run", "tiny", "--retry", "sad"], "time-out"),
        (["run", "tiny", "--retry", "crsh"], "did you mean 'crash'?"),
        (["run", "tiny", "--id", "abc"], "no point has the key"),
        (["run", "tiny", "--jobs", "0"], "at least 1"),
        (["run", "tiny", "--repeat", "0"], "--repeat 0: expected at least 1"),
        (["run", "tiny", "--jobs", "2", "--master", "local[2]"], "--jobs is for this machine"),
        (["run", "tiny", "--master", "yes"], "'yes' is not a Spark master"),
        (["run", "tiny", "--data", "experiments/tiny.py"], "cannot be stored: Not a directory"),
        (["serve", "other", "--port", "0"], "there are: tiny"),
        (["list", "--experiments", "nowhere"], "no such folder"),
        (["show", "abc"], "no measurement 'abc'"),
        (["compare", "a", "b"], "no run, code version or commit begins with"),
        (["reprot"], "did you mean 'report'?"),
        ([], "ACTION"),
    ],
)
def test_mistakes_are_named(lab, args, said):
    ended = lab(*args)
    assert ended.code == 2
    assert said in ended.err


def test_a_suite_with_an_error_does_not_hide_the_others(lab, tmp_path):
    (tmp_path / "experiments" / "bad.py").write_text("from workbench.lab import *\nsuite = Suite('bad', '')\n1 / 0\n")
    listed = lab("list")
    assert listed.code == 2
    assert "A suite" in listed.out
    assert "bad.py:3" in listed.out
    (tmp_path / "experiments" / "bad.py").write_text("from workbench.lab import *\nsuite = Suite('bad', '')\ndef f(:\n")
    for ended in (lab("list"), lab("run", "bad")):
        assert ended.code == 2
        assert "bad.py:3" in ended.out + ended.err
    region = "Region(n=[1, 0]).excluding(lambda n: 1 / n > 2)"
    text = f"suite = Suite('bad', '')\n@suite.experiment({region})\ndef f(n): return {{}}\n"
    (tmp_path / "experiments" / "bad.py").write_text(f"from workbench.lab import *\n{text}")
    listed = lab("list")
    assert "A suite" in listed.out
    assert "at {'n': 0}: ZeroDivisionError" in listed.out


def test_two_runs_are_compared(lab, tmp_path):
    lab("run", "tiny")
    more(tmp_path, "")
    (tmp_path / "experiments" / "tiny.py").write_text(SUITE.replace("float(n)", "float(n) * (3 if n == 2 else 1)"))
    lab("run", "tiny")
    before, after = re.findall(r"(\d{8}T\d{6}-\w+)  4 measured", lab("list", "tiny").out)
    found = lab("compare", before, after)
    assert found.code == 1
    assert "measure(kind=a, n=2): y 2 -> 6 (x 3.00)" in found.out
    assert "4 points in both runs" in found.out
    assert lab("compare", before, before).code == 0
    assert {o["what"] for o in lab("compare", before, after, "--json").objects} >= {"y"}


def test_a_broken_file_is_named_and_the_rest_used(lab, tmp_path):
    lab("run", "tiny", "--where", "n=1")
    first = sorted((tmp_path / ".workbench" / "lab" / "suite=tiny").glob("part-*"))  # more than one where it took long
    lab("run", "tiny", "--where", "n=2")
    for path in first:
        path.write_bytes(path.read_bytes()[:50])
    again = lab("run", "tiny")
    assert all(path.name in again.err for path in first)
    assert "repeats the measurements that no other file has" in again.err
    assert "2 of them done, 2 to do" in again.out
    assert again.code == 0


@pytest.mark.slow
@pytest.mark.parametrize(("column", "value"), [("outputs", "{"), ("status", "exploded"), ("started", None)])
def test_a_row_that_is_no_result_takes_nothing_down(lab, tmp_path, column, value):
    lab("run", "tiny")
    before = re.findall(r"(\d{8}T\d{6}-\w+)  4 measured", lab("list", "tiny").out)[0]
    path = next((tmp_path / ".workbench" / "lab" / "suite=tiny").glob("part-*"))  # more than one where it took long
    forged = forge(path, lambda rows: rows[0].update({column: value}))
    for args in (["list"], ["list", "tiny"], ["report", "tiny"], ["show", ""], ["compare", before, before]):
        ended = lab(*args)
        assert ended.code == (3 if args[0] == "report" else 0), args
        assert (
            f"left out, since it cannot be read: {'.workbench/lab/suite=tiny' / Path(forged.name)}: row 1: "
            in ended.err
        )
        assert "newer workbench" in ended.err
    assert "3 of them done, 1 to do" in lab("run", "tiny").out


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_interrupting_keeps_what_was_measured(lab, tmp_path, number, code):
    more(
        tmp_path,
        "\nimport time\n@suite.experiment(Region(s=range(100)))\ndef slow(s):\n    time.sleep(0.1)\n    return {}\n",
    )
    process = subprocess.Popen(
        command(["lab", "run", "tiny", "--json"]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    for _ in range(8):
        assert json.loads(process.stdout.readline())["status"] == "ok"
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code
    if err == "interrupted\n":
        pytest.skip("the machine is so busy that nothing was stored within a second, after which it is ended by force")
    assert "run the same command to continue" in err
    measured = 8 + len(out.splitlines())
    assert "4 of them done" in lab("run", "tiny", "--only", "measure").out
    (stored,) = re.findall(r" (\d+) of +104 measured", lab("list").out)
    assert measured <= int(stored) < 104


def test_progress_is_told_without_a_terminal(lab, tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.cli.lab.run.BETWEEN_LINES", 0.2)
    more(
        tmp_path,
        "\nimport time\n@suite.experiment(Region(s=range(10)))\ndef slow(s):\n    time.sleep(0.1)\n    return {}\n",
    )
    begin = time.monotonic()
    err = lab("run", "tiny").err
    assert re.search(r"\d+ of 14, about \d+ s left", err)
    assert time.monotonic() - begin < 60
