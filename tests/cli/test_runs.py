"""`--html` and `--to-test` of `workbench check` and `workbench equiv`."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import MODELS, Run, command

FIGURE = MODELS / "figure_2a.pipe"
BOTH = ("--html", "--to-test")


def embedded(page: Path) -> list[dict[str, Any]]:
    """The verdicts on a page."""
    found = re.search(r'id="verdicts">(.*?)</script>', page.read_text(encoding="utf-8"))
    assert found
    return json.loads(found[1])


def passing(path: Path) -> list[str]:
    """The tests of a written file, which all pass."""
    names: dict[str, Any] = {"__name__": "written"}
    exec(compile(path.read_text(encoding="utf-8"), path.name, "exec"), names)
    found = [name for name in names if name.startswith("test_")]
    for name in found:
        names[name]()
    return found


def test_one_page_and_one_file_for_all_verdicts(workbench: Run, tmp_path: Path) -> None:
    page, file = tmp_path / "runs.html", tmp_path / "test_runs.py"
    asked = ["-p", "no-overflow", "-p", "always (out.present -> x.present)", "-p", "no-full-queues"]
    done = workbench("check", FIGURE, *asked, "--html", page, "--to-test", file)
    assert done.code == 1
    assert done.out.endswith(f"{page}: 3 runs\n{file}: 3 runs\n")
    assert [v["verdict"] for v in embedded(page)] == ["fails", "holds-within-bounds", "fails"]
    assert len(passing(file)) == 3
    assert f"--to-test {file}" in file.read_text()


def test_json_stays_alone_on_the_standard_output(workbench: Run, tmp_path: Path) -> None:
    page = tmp_path / "runs.html"
    done = workbench("check", FIGURE, "-p", "no-overflow", "--json", "--html", page)
    (shown,) = done.objects
    assert done.err == f"{page}: 1 run\n"
    (there,) = embedded(page)
    assert {key: there[key] for key in shown} == shown


def test_a_run_as_json(workbench: Run) -> None:
    """The schema of docs/explanation/counterexamples.md, key by key, on a run that can be worked out by hand.

    Figure 2a adds x[3 i] to x[i]: x[1], x[2] wait for x[3], then x[2], x[3] for x[6].
    """
    (shown,) = workbench("check", FIGURE, "-p", "no-overflow", "--json").objects
    run = shown["trace"]
    steps = run.pop("steps")
    assert run == {
        "loop": None, "shows": "an event arrives at a full queue", "shortest": True, "replay": "confirmed by execution",
        "inputs": ["x"], "outputs": {"out": "add"}, "capacities": {"add.left": 2, "add.right": 2}, "varies": [],
    }  # fmt: skip
    x = [step["pipes"]["x"] for step in steps]
    waiting = [[], [x[1]], [x[1], x[2]], [x[2], x[3]], [x[2], x[3]]]
    assert [step["contents"] for step in steps] == [{"add.left": [], "add.right": each} for each in waiting]
    assert [step["queues"]["add.right"] for step in steps] == [0, 1, 2, 2, 2]
    assert [step["overflows"] for step in steps] == [[], [], [], [], ["add.right"]]
    assert all(step.keys() == {"pipes", "queues", "contents", "overflows"} for step in steps)


def test_the_keys_of_a_run_are_documented(workbench: Run) -> None:
    text = (MODELS.parents[1] / "docs" / "explanation" / "counterexamples.md").read_text(encoding="utf-8")
    (shown,) = workbench("check", FIGURE, "-p", "no-overflow", "--json").objects
    for key in (*shown["trace"], *shown["trace"]["steps"][0]):
        assert f"\n| `{key}` |" in text


def test_equivalence(workbench: Run, tmp_path: Path) -> None:
    page, file = tmp_path / "runs.html", tmp_path / "test_runs.py"
    left, right = MODELS / "product_of_1_and_kth.pipe", FIGURE
    done = workbench("equiv", left, right, "--param", "k=2", "--html", page, "--to-test", file)
    assert done.code == 1
    assert embedded(page)[0]["property"] == "sequence-equivalent"
    assert len(passing(file)) == 1
    text = file.read_text()
    assert "k=2" in text
    assert "SOURCE_2" in text


def test_checks_of_a_file_with_parameters_and_comparisons(
    workbench: Run, pipe: Callable[[str], Path], tmp_path: Path
) -> None:
    file = tmp_path / "test_runs.py"
    path = pipe(
        "pipeline other<n = 1>(x: int) -> int { return x + n }\n"
        "pipeline main<k = 1>(x: int) -> int { return x + k }\n"
        "check equivalent(other<n = 3>)\ncheck stepwise-equivalent(other)\ncheck always (out != k)\n"
    )
    done = workbench("check", path, "--param", "k=2", "--to-test", file, "--quiet")
    assert done.code == 1
    assert "✗ fails  equivalent(other<n = 3>)" in done.out
    assert len(passing(file)) == 3
    text = file.read_text()
    assert '.get("other", n=3)' in text
    assert '.get("other").pipeline' in text
    assert 'assert not (now["add"] != 2)' in text


def test_nothing_to_write(workbench: Run, tmp_path: Path) -> None:
    page, file = tmp_path / "runs.html", tmp_path / "test_runs.py"
    plain = workbench("check", MODELS / "passthrough.pipe", "-p", "liveness", "--quiet")
    done = workbench(
        "check", MODELS / "passthrough.pipe", "-p", "liveness", "--quiet", "--html", page, "--to-test", file
    )
    assert done.code == plain.code == 0
    assert done.out.removeprefix(plain.out).splitlines() == [
        f"no run to show, so {page} is not written", f"no run to show, so {file} is not written",
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", BOTH)
@pytest.mark.parametrize(("place", "said"), [("none/x", "there is no such folder"), (".", "it is a folder")])
def test_a_place_that_cannot_be_written_is_said_before_the_check(
    workbench: Run, tmp_path: Path, option: str, place: str, said: str
) -> None:
    done = workbench("check", FIGURE, "-p", "no-overflow", option, tmp_path / place)
    assert done.code == 2
    assert done.out == ""
    assert f"cannot write there: {said}" in done.err


@pytest.mark.parametrize("option", BOTH)
def test_a_failing_disk_leaves_what_was_there(
    workbench: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    target = tmp_path / "there"
    target.write_text("before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    done = workbench("check", FIGURE, "-p", "no-overflow", option, target)
    assert done.code == 1  # the verdict's
    assert "No space left" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert target.read_text() == "before"


def test_one_file_for_both_is_refused(workbench: Run, tmp_path: Path) -> None:
    done = workbench("check", FIGURE, "--html", tmp_path / "x", "--to-test", tmp_path / "." / "x")
    assert done.code == 2
    assert "would overwrite --" in done.err


def test_a_page_of_html_has_the_name_of_one(workbench: Run, tmp_path: Path) -> None:
    page, log = tmp_path / "run.pdf", tmp_path / "n.csv"
    log.write_text("x\n1\n")
    rules = ["--input", MODELS.parent / "tesla" / "silence.jsonl", "--event", 1]
    for asked in (
        ["check", FIGURE, "-p", "no-overflow"], ["run", FIGURE, "--input", log],
        ["explain", MODELS.parent / "tesla" / "silence.tesla", *rules],
    ):  # fmt: skip
        done = workbench(*asked, "--html", page)
        assert (done.code, done.out) == (2, "")
        assert done.err == f"workbench: {page}: --html writes a page of HTML\n  hint: name it .html\n"
    assert not page.exists()


def test_a_device_is_written_to(workbench: Run) -> None:
    assert workbench("check", FIGURE, "-p", "no-overflow", "--quiet", "--to-test", os.devnull).code == 1


FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


@needs_full
@pytest.mark.parametrize("option", BOTH)
def test_a_verdict_is_not_lost_when_a_file_cannot_be_written(workbench: Run, option: str) -> None:
    given = ("check", FIGURE, "-Q", 1, "--quiet", option, FULL, "-p")
    done = workbench(*given, "no-overflow")
    assert (done.code, done.out) == (1, "✗ fails  no-overflow  of figure_2a  (Q = 1, every N)\n")
    assert done.err.startswith("workbench: /dev/full: cannot write there: No space left on device")
    done = workbench(*given, "liveness")
    assert (done.code, done.out) == (
        2,
        "≈ holds-within-bounds  liveness  of figure_2a  (Q = 1, every N, k = 2): nothing is known beyond 2 steps\n",
    )
    done = workbench(*given, "no-overflow", "--json")
    assert done.code == 1
    assert [o.get("verdict", o.get("exit_code")) for o in done.objects] == ["fails", 1]


@needs_full
def test_one_file_is_written_when_the_other_cannot_be(workbench: Run, tmp_path: Path) -> None:
    file = tmp_path / "test_runs.py"
    done = workbench("check", FIGURE, "-Q", 1, "--quiet", "-p", "no-overflow", "--html", FULL, "--to-test", file)
    assert done.code == 1
    assert done.out.endswith(f"{file}: 1 run\n")
    assert len(passing(file)) == 1


@pytest.mark.sampled(1)
@needs_full
@pytest.mark.parametrize(
    ("asked", "code", "form"),
    [("no-overflow", 1, "--json"), ("liveness", 2, "--quiet"), *(
        pytest.param(*each, marks=pytest.mark.slow)
        for each in (("no-overflow", 1, "--quiet"), ("liveness", 2, "--json"))
    )],
)  # fmt: skip
def test_a_verdict_that_cannot_be_printed_is_in_the_exit_code(form: str, asked: str, code: int) -> None:
    """With Python's buffer, which the end of the process would write once more, and without."""
    given = command(["check", FIGURE, "-Q", 1, "-p", asked, form])
    for unbuffered in ("", "1"):
        with FULL.open("w") as full:
            env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
            done = subprocess.run(given, stdout=full, stderr=subprocess.PIPE, text=True, env=env, check=False)
        assert done.returncode == code
        *_, last = done.stderr.splitlines()  # on a busy machine, lines of progress come before it
        assert last == "workbench: standard output: cannot write there: No space left on device"


def test_the_page_opens_on_a_verdict_that_fails(workbench: Run, tmp_path: Path) -> None:
    page = tmp_path / "runs.html"
    for asked, first in (("liveness", 1), ("no-overflow", 2)):
        workbench("check", FIGURE, "-Q", 1, "-p", "liveness", "-p", asked, "--html", page)
        assert f'data-first="{first}"' in page.read_text(encoding="utf-8")
