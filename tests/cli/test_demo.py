"""`workbench demo`: the table, the report, and how it ends."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.cli.conftest import MODELS, ROOT, Ended, Run, busy, command
from tests.cli.test_docs import DEMO, shows
from workbench.cli.commands.demo import FOLDER, problems_of
from workbench.cli.output import short
from workbench.show.draw import inline

VOID = {"meta", "br"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ended, Path]:
    folder = tmp_path_factory.mktemp("demo") / "report"
    args = ["demo", "--out", folder, "--models", MODELS]
    done = subprocess.run(command(args), capture_output=True, text=True, check=False)
    return Ended(done.returncode, done.stdout, done.stderr), folder


def test_failing_properties_are_expected_results(demo: tuple[Ended, Path]) -> None:
    done, _ = demo
    assert (done.code, done.err) == (0, "")
    assert re.search(r"^figure_2a +no-overflow +✗ fails +Q=2, every N +pynusmv +\d+\.\d\d$", done.out, re.M)
    assert re.search(r"^figure_2a +liveness +≈ holds-within-bounds +Q=2, overflow, every N ", done.out, re.M)
    assert re.search(r"^passthrough +no-overflow +✓ holds +by construction ", done.out, re.M)
    assert re.search(r"^sum_of_odds +equivalent\(squares\) ", done.out, re.M)


def test_the_guide_shows_it(demo: tuple[Ended, Path]) -> None:
    assert shows(DEMO[1], demo[0].out)


@pytest.mark.slow
def test_without_a_model_checker_the_rest_is_decided(tmp_path: Path) -> None:
    """By the engines of the package: all questions but the one that is not of linear time, with exit code 3."""
    code = """
import sys
sys.modules["pynusmv"] = None
from workbench.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
    nowhere = {"WORKBENCH_NUSMV": "/nowhere", "WORKBENCH_NUXMV": "/nowhere"}
    env = {**os.environ, **nowhere, "PYTHONPATH": str(ROOT)}
    args = [sys.executable, "-c", code, "demo", "--out", str(tmp_path), "--models", str(MODELS), "--jobs", "1"]
    done = subprocess.run(args, capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, re.findall(r"(\d+) unknown", done.stdout)) == (3, ["1"])
    assert done.stderr.startswith(
        "output_if_smaller_than_k_saturating, ctl(EF out.present): no installed engine decides it"
    )


def test_every_run_is_confirmed(demo: tuple[Ended, Path]) -> None:
    found = re.search(r"(\d+) of (\d+) runs confirmed by execution", demo[0].out)
    assert found
    assert found[1] == found[2] != "0"


def test_the_rows_are_those_of_the_models_in_order(demo: tuple[Ended, Path]) -> None:
    problems = problems_of(str(MODELS))
    rows = demo[0].out.split("\n\n")[0].splitlines()[2:]
    assert [row.split()[0] for row in rows] == [problem.name for problem in problems]


def test_the_markdown_report(demo: tuple[Ended, Path]) -> None:
    folder = demo[1]
    text = (folder / "README.md").read_text(encoding="utf-8")
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert (folder / picture).is_file()
    assert "| `liveness` | ≈ holds-within-bounds | Q=2, overflow, every N |" in text
    assert "queue add.right" in text
    assert "Confirmed by execution." in text


class _Checker(HTMLParser):
    """That elements are closed in order, and what they name and refer to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "xlink:href"):
                self.links.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_nothing_from_outside(demo: tuple[Ended, Path]) -> None:
    text = (demo[1] / "index.html").read_text(encoding="utf-8")
    checker = _Checker()
    checker.feed(text)
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    inside = {link.removeprefix("#") for link in checker.links if link.startswith("#")}
    assert inside <= set(checker.ids)
    walks = [link.partition("#")[0] for link in checker.links if not link.startswith("#")]
    assert walks
    assert set(walks) == {f"runs/{file.name}" for file in (demo[1] / "runs").iterdir()}
    outside = set(re.findall(r"https?://[^\"'<> ]+", text))
    assert outside <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "url(" not in text
    assert "<script" not in text
    assert "prefers-color-scheme:dark" in text


def test_the_page_says_where_it_comes_from(demo: tuple[Ended, Path]) -> None:
    text = (demo[1] / "index.html").read_text(encoding="utf-8")
    for phrase in ("workbench demo --models", "NuSMV", "Q = 2, N = 4, modular integers", "cores"):
        assert phrase in text
    assert "confirmed by execution" in text
    assert "an event arrives at a full queue" in text


@pytest.mark.skipif(shutil.which("dot") is None, reason="no graphviz")
def test_the_page_has_the_drawings(demo: tuple[Ended, Path]) -> None:
    text = (demo[1] / "index.html").read_text(encoding="utf-8")
    assert text.count("<svg") == len(list((demo[1] / "pictures").glob("*.svg"))) > 10
    assert "<!DOCTYPE svg" not in text


def test_no_file_is_left_half_written(demo: tuple[Ended, Path]) -> None:
    assert sorted(os.listdir(demo[1])) == ["README.md", "index.html", "pictures", "runs"]


def test_by_default_git_does_not_see_the_report() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    tracked = subprocess.run(["git", "ls-files", FOLDER], cwd=ROOT, capture_output=True, text=True, check=True)
    ignored = subprocess.run(["git", "check-ignore", "--quiet", f"{FOLDER}/index.html"], cwd=ROOT, check=False)
    assert (tracked.stdout, ignored.returncode) == ("", 0)


def test_without_graphviz_the_report_has_no_drawings(
    workbench: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = tmp_path / "models"
    models.mkdir()
    shutil.copy(MODELS / "passthrough.pipe", models)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = workbench("demo", "--models", models, "--out", tmp_path / "out", "--jobs", 1)
    assert done.code == 0
    assert "<svg" not in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_what_cannot_be_decided_is_said(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "m.pipe").write_text("pipeline p(x: int) -> int {\n    return turn(x, 9)\n}\ncheck always (out = x)\n")
    done = workbench("demo", "--models", tmp_path, "--out", tmp_path / "out")
    assert done.code == 3
    assert "? unknown" in done.out
    assert "9" in done.err
    assert "unknown" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_a_report_that_cannot_be_written(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "m.pipe").write_text("pipeline p(x: int) -> int { return passthrough(x) }\n")
    (tmp_path / "out").write_text("in the way")
    done = workbench("demo", "--models", tmp_path, "--out", tmp_path / "out", "--jobs", 1)
    assert done.code == 2
    assert "cannot write there" in done.err


@pytest.mark.slow
@pytest.mark.parametrize(("number", "workers"), [(signal.SIGINT, 2), (signal.SIGTERM, 1)])
def test_interrupting_leaves_nothing(tmp_path: Path, number: signal.Signals, workers: int) -> None:
    (tmp_path / "hard.pipe").write_text(
        "pipeline hard(x: int mod 4096, y: int mod 4096) -> int mod 4096 {\n"
        "    a = cumulate(x * y, +)\n    return cumulate(a * a + y, *)\n}\n"
        "check always (out != 3)\ncheck ctl(AG EF (out = 2))\n"
    )
    out = tmp_path / "out"
    process = subprocess.Popen(
        command(["demo", "--models", tmp_path, "--out", out]),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    mine = busy(process.pid, workers)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number]
    assert "Traceback" not in err
    assert not out.exists()
    deadline = time.monotonic() + 30
    while any(map(_alive, mine)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_alive, mine))


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_a_verdict_rests_on_in_short() -> None:
    def said(file: str, asked: str, **given: Any) -> str:
        return short(wb.check(wb.read_file(MODELS / f"{file}.pipe").get(), asked, wb.Settings(**given)))

    assert said("figure_2a", "liveness", q=2) == "Q=2, overflow, every N"
    assert said("figure_2a", "no-overflow", q=1) == "Q=1, every N"
    assert said("passthrough", "no-overflow") == "by construction"
    assert said("passthrough", "always (out = x)") == "N=4"
    assert said("sum_of_odds", "liveness") == "Q=2, N=4, wraps"
    assert said("sum_of_odds", "always (out > 3)", integers="saturating", n=16).endswith("N=16, saturates")


def test_drawings_lose_what_would_clash() -> None:
    svg = '<?xml?>\n<!DOCTYPE svg>\n<!-- x -->\n<svg width="10pt" height="5pt"><g id="a"><title>t</title></g></svg>\n'
    assert inline(svg) == '<svg style="width:10pt"><g></g></svg>'
