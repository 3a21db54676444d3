"""The command `analyse`, and `--rests-on`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import MODELS, Run
from workbench import check, parse
from workbench.cli.analyse_report import section
from workbench.verify.analysis import analyses
from workbench.verify.finding import Finding


def test_every_analysis_is_reported(workbench: Run) -> None:
    ended = workbench("analyse", MODELS / "sum_of_odds.pipe")
    assert ended.code == 0
    titles = [line for line in ended.out.splitlines() if line and not line.startswith(" ")]
    assert titles == ["dead paths", "latency", "longest silence", "constant pipes", "order of arrival"]
    assert "even: needed; without it 'out' would emit nothing at step 1" in ended.out
    assert ended.out.count("confirmed by execution") == 2


def test_json_is_one_object_per_analysis(workbench: Run) -> None:
    ended = workbench("analyse", MODELS / "passthrough_against_delay.pipe:delay", "--json", "-Q", 3, "-N", 2)
    assert [found["analysis"] for found in ended.objects] == list(analyses("pipeline"))[:-1]  # no state machine
    dead, latency, silence, constants, order = ended.objects
    assert all((found["pipeline"], found["Q"], found["N"]) == ("delay", 3, 2) for found in ended.objects)
    assert dead["deletable"] == ["later", "turn", "filter"]
    assert dead["reduced"] == {
        "removed": ["later", "turn", "filter"],
        "kept": [],
        "mode": "up to pace",
        "verdict": "holds",
    }
    (measured,) = latency["latency"]
    assert (measured["input"], measured["output"], measured["steps"]) == ("x", "out", 1)
    assert measured["witness"]["replay"] == "confirmed by execution"
    assert [found["steps"] for found in silence["silence"]] == [1]
    assert [found["kind"] for found in constants["pipes"]] == ["varies", "constant", "varies"]
    assert order["determined"] is True


def test_only(workbench: Run) -> None:
    ended = workbench("analyse", MODELS / "passthrough.pipe", "--only", "order, silence", "--quiet")
    assert ended.out.splitlines()[0::2] == ["longest silence  (Q = 2, N = 4)", "order of arrival  (Q = 2, N = 4)"]
    ended = workbench("analyse", MODELS / "passthrough.pipe", "--only", "speed")
    assert ended.code == 2
    assert "there is no analysis 'speed'" in ended.err


def test_what_is_not_decided_has_its_exit_code(workbench: Run, hard: Path, pipe: Callable[[str], Path]) -> None:
    ended = workbench("analyse", hard, "--only", "constants", "-N", 4096, "--timeout", 30)
    assert ended.code == 0  # random runs decide it
    late = pipe("pipeline p(x: int) -> int { return x + trim(x, 3) }")
    assert workbench("analyse", late, "--only", "dead-paths").code == 0
    ended = workbench("analyse", late, "--only", "dead-paths", "-Q", 1)
    assert ended.code == 3
    assert "? trim: queues overflow in the first steps: too little is known; choose a larger Q" in ended.out


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("pipeline p(x: int) -> int { return x }", "there is no processor"),
        ("pipeline p(x: int, y: int) -> int { return x + y }", "queue add.left overflows: in some orders"),
        ("pipeline p(x: int) -> int { y = x + 1\n return x }", "y: can be deleted; no output depends on it"),
        ("pipeline p(x: int) -> int { return filter(x, x < x) }", "filter = out never carries an event"),
        ("pipeline p(x: int) -> int { return filter(x, x < x) }", "silence: unbounded"),
        ("pipeline p(x: int) -> int { return filter(x, x < x) }", "latency from x to out: none"),
    ],
)
def test_what_it_says(workbench: Run, pipe: Callable[[str], Path], text: str, line: str) -> None:
    ended = workbench("analyse", pipe(text))
    assert ended.code == 0
    assert line in ended.out


def test_examined_verdicts(workbench: Run) -> None:
    ended = workbench("check", MODELS / "sum_of_odds.pipe", "-p", "equivalent(squares)", "--rests-on", "--json")
    (found,) = ended.objects
    items = {item["aspect"]: item for item in found["rests_on_checked"]}
    assert items["vacuity"]["finding"] == "confirmed"
    assert items["vacuity"]["witness"]["replay"] == "confirmed by execution"
    assert items["N + 1"] == {"aspect": "N + 1", "finding": "weak", "text": "fails for N = 5", "witness": None}
    assert found["rests_on"]["wraps"] is True
    assert found["rests_on"]["overflow"] is True


def test_overflow_as_data(workbench: Run) -> None:
    for q, overflows in ((0, True), (1, False)):
        options = ("-p", "no-overflow", "-Q", q, "--json")
        (found,) = workbench("check", MODELS / "window_sum_of_2.pipe:trim_sum_of_2", *options).objects
        assert found["rests_on"]["overflow"] is overflows


def test_equivalences_are_examined_too(workbench: Run) -> None:
    file = MODELS / "passthrough_against_delay.pipe"
    ended = workbench("equiv", file, f"{file}:delay", "--rests-on")
    assert ended.code == 0
    # x, two slots in front of the filter, two in front of the comparison, and the 0 of empty slots
    assert "every N: the same for N = 6, and so for every N >= 6" in ended.out


def test_approximation_in_a_file(workbench: Run, pipe: Callable[[str], Path]) -> None:
    file = pipe(
        "pipeline either(x: bool, y: bool) -> bool { return x or y }\n"
        "pipeline both(x: bool, y: bool) -> bool { return x and y\n check approximates(either) }\n"
        "pipeline wrong(x: bool, y: bool) -> bool { return x or y\n check approximates(both) }\n"
    )
    assert workbench("check", f"{file}:both").code == 0
    ended = workbench("check", f"{file}:wrong")
    assert ended.code == 1
    assert "approximates(both)  of wrong" in ended.out
    assert workbench("equiv", f"{file}:either", f"{file}:both", "--mode", "approximates").code == 0


def test_where_a_pipe_delays_the_other_analyses_go_on(workbench: Run) -> None:
    ended = workbench("analyse", MODELS.parent / "faults" / "delays.pipe:joined", "--quiet")
    assert ended.code == 3
    assert "latency from p to out: 2 steps" in ended.out
    assert "? the longest silence is not measured where a pipe delays events" in ended.out
    assert "order of arrival" in ended.out


def test_grounds_that_findings_do_not_share_are_listed_with_these() -> None:
    grounds = {"R1": ("b", "a"), "R2": ("b", "c"), "R3": ("b", "a"), "R4": ()}
    findings = [Finding(name, "fires", "can fire", grounds=each) for name, each in grounds.items()]
    assert section(analyses("rules")["fires"], findings).details == ("this rests on:\n- b\n- a (R1; R3)\n- c (R2)",)


def test_a_section_knows_what_is_vacuous_in_it() -> None:
    """Also where it is only a part of what was found."""
    pipeline = parse("pipeline p(x: bool) -> bool, bool { return filter(x, x and not x), x }").get().pipeline
    vacuous = check(pipeline, "always (out1 -> out2)")
    assert vacuous.vacuity is not None
    part = Finding("always", "holds", "it holds", vacuous)
    row = analyses("pipeline")["silence"]
    assert section(row, [part]).vacuous
    for parts in ((part,), {"x": part}):
        assert section(row, [Finding("all", "holds", "it holds", data={"parts": parts}, form={})]).vacuous
    assert not section(row, [Finding("none", "holds", "it holds")]).vacuous
    assert not section(row, [part]).within_bounds


@pytest.mark.parametrize(
    ("name", "text", "asked"),
    [
        # of numbers below 4 none is greater than 3: that no event of x comes out late is said of none
        ("p.pipe", "pipeline p(x: int) -> int { return filter(x, x > 3) }", ["latency", "-N", 4]),
        # no number is both: the rule never fires, so the order of events cannot matter to it
        (
            "r.tesla",
            "declare A(x: int)\ndeclare D(x: int)\nfrom A where A.x > 5 and A.x < 5 emit D(x = 1)",
            ["order"],
        ),
    ],
)
def test_strict_vacuity(workbench: Run, tmp_path: Path, name: str, text: str, asked: list[object]) -> None:
    file = tmp_path / name
    file.write_text(text)
    assert workbench("analyse", file, "--only", *asked).code == 0
    assert workbench("analyse", file, "--only", *asked, "--strict-vacuity").code == 3


def test_rules_are_asked_other_questions(workbench: Run, tmp_path: Path) -> None:
    file = tmp_path / "pairs.tesla"
    file.write_text(
        "declare A(x: int)\ndeclare B(x: int)\ndeclare C(x: int)\n"
        "rule pairs: from B and last A(x == B.x) within 2 from B emit C(x = A.x) consuming A"
    )
    ended = workbench("analyse", file, "--only", "fires,competition", "--values", "A.x=1", "--values", "B.x=1")
    assert ended.code == 0
    assert "pairs: triggers compete for A" in ended.out
    assert "  -> C(x = 1) at 0 by pairs" in ended.out
    ended = workbench("analyse", file, "--json", "--only", "fires")
    (stream,) = ended.objects[0]["findings"][0]["streams"].values()
    assert [event["type"] for event in stream["events"]] == ["A", "B"]
    ended = workbench("analyse", file, "--only", "latency")
    assert ended.code == 2
    assert "there is no analysis 'latency'" in ended.err
