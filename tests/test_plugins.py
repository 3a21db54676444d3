"""Installed packages add parts by entry points; one that fails is named, and all others work."""

import configparser
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from workbench.extensions import GROUP

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "experiments" / "plugin"
PIPELINE = "pipeline p(x: int, y: int) -> int { return percent(alternate(x), alternate(y)) }\n"
LOG = "x;y\n1;4\n7;7\n3;4\n"
WANTED = "out\n25\n75\n"
BAD = {
    "absent": ("absent:PART", "", "ModuleNotFoundError: No module named 'absent'"),
    "raising": ("raising:PART", "raise OSError('no licence')", "OSError: no licence"),
    "second": (
        "second:PARTS",
        "from workbench_example import SEMICOLONS\nfrom dataclasses import replace\n"
        "PARTS = [replace(SEMICOLONS, name='csv'), replace(SEMICOLONS, name='bars', endings=('.bars',))]",
        "'csv' exists already",
    ),
    "odd": ("odd:PART", "PART = 42", "workbench has no table for 42"),
}
"""Entry points that are wrong: what each names, its module, and what is said of it."""
ASK = """
import contextlib, io, json, sys
from workbench.cli.main import main
found = []
for argv in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(argv)
    found.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(found))
"""
RULES = """declare Temp(area: int, value: int) with id 1
declare Smoke(area: int) with id 2
declare Wide(spread: int) with id 3
rule wide: from Smoke and $s = SPREAD(Temp().value within 10 from Smoke) emit Wide(spread = $s)
"""
EVENTS = "type,time,area,value\nTemp,1,1,20\nTemp,2,1,47\nTemp,3,1,31\nSmoke,5,1,\n"
RULED = ["run", "r.tesla", "--input", "events.csv", "--output", "-"]
RUN = ["run", "p.pipe", "--input", "log.ssv"]
COMMANDS = {
    "doctor": ["doctor"],
    "reference": [*RUN, "--backend", "reference"],
    "threaded": [*RUN, "--backend", "threaded"],
    "machine code": [*RUN, "--backend", "compiled"],
    "dataflow": [*RUN, "--backend", "dataflow"],
    "tracing": [*RUN, "--backend", "tracing"],
    "check": ["check", "q.pipe", "-p", "always (out <= 90)", "-p", "always (out <= 80)"],
    "format": [*RUN, "--output", "out.ssv"],
    "--format": ["run", "p.pipe", "--input", "log", "--format", "semicolons"],
    "bars": ["run", "p.pipe", "--input", "log", "--format", "bars"],
    "csv": ["run", "p.pipe", "--input", "log.csv"],
    "unknown": ["run", "p.pipe", "--input", "log", "--format", "semicolon"],
    "cdp": [*RULED, "--backend", "cdp"],
    "aip": [*RULED, "--backend", "aip"],
    "compiled": [*RULED, "--backend", "compiled"],
    "backends": ["run", "--help", "backends"],
    "formats": ["run", "--help", "formats"],
}


def install(site: Path, package: str, points: dict[str, str]) -> None:
    """Have a package there as pip would have it."""
    home = site / f"{package.replace('-', '_')}-1.0.dist-info"
    home.mkdir()
    (home / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    written = configparser.ConfigParser(delimiters="=")
    written[GROUP] = points
    with (home / "entry_points.txt").open("w") as file:
        written.write(file)


def asked(folder, site):
    """The exit codes of the commands, and what they print, by their names."""
    path = os.pathsep.join([str(site), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", ASK, json.dumps(list(COMMANDS.values()))], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(COMMANDS, json.loads(done.stdout), strict=True)), done.stderr


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder, site = tmp_path_factory.mktemp("work"), tmp_path_factory.mktemp("site")
    shutil.copy(EXAMPLE / "workbench_example.py", site)
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    install(site, project["name"], project["entry-points"][GROUP])
    for name, (_, text, _) in BAD.items():
        if text:
            (site / f"{name}.py").write_text(text)
    install(site, "bad-parts", {name: named for name, (named, *_) in BAD.items()})
    (folder / "p.pipe").write_text(PIPELINE)
    (folder / "r.tesla").write_text(RULES)
    (folder / "q.pipe").write_text("pipeline q(x: 0..9) -> 0..90 { return percent(alternate(x), 10) }")
    (folder / "events.csv").write_text(EVENTS)
    (folder / "log").write_text(LOG)
    (folder / "log.ssv").write_text(LOG)
    (folder / "log.csv").write_text(LOG.replace(";", ","))
    found, warned = asked(folder, site)
    return found, warned, folder


@pytest.mark.parametrize("name", ["reference", "threaded", "machine code", "dataflow", "tracing", "--format", "bars"])
def test_parts_run_on_every_backend(answers, name):
    code, out, err = answers[0][name]
    assert (code, out) == (0, WANTED), err


def test_a_backend_is_the_packages_own(answers):
    assert "in: {'x': 7, 'y': 7}" in answers[0]["tracing"][2]


@pytest.mark.parametrize("engine", ["cdp", "aip"])
def test_an_aggregate_runs_on_every_engine(answers, engine):
    code, out, err = answers[0][engine]
    assert code == 0, err
    assert out.splitlines()[1:] == ["Wide,5,27"]


def test_an_engine_that_has_no_aggregates_of_others_says_so(answers):
    code, out, err = answers[0]["compiled"]
    assert (code, out) == (2, "")
    assert "SPREAD" in err


def test_parts_are_checked(answers):
    code, out, err = answers[0]["check"]
    assert code == 1, err
    assert ["✓ holds" in line for line in out.splitlines() if "always" in line][:2] == [True, False]


def test_a_format_is_read_and_written_by_its_ending(answers):
    found, _, folder = answers
    assert found["format"][0] == 0, found["format"][2]
    assert (folder / "out.ssv").read_text() == WANTED
    assert found["csv"][:2] == [0, WANTED], "workbench's own stays what it is"


def test_unknown_names_and_help_know_them(answers):
    found = answers[0]
    assert found["unknown"][0] == 2
    assert "did you mean 'semicolons'" in found["unknown"][2]
    assert "semicolons" in found["formats"][1]
    assert "tracing the reference executor, which says what comes in" in " ".join(found["backends"][1].split())


def test_doctor_lists_plugins_and_what_is_wrong_with_them(answers):
    code, out, _ = answers[0]["doctor"]
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert code == 0
    assert "✓ percent workbench-example 1.0: Function percent" in lines
    assert "✓ alternate workbench-example 1.0: Processor alternate" in lines
    assert "✓ spread workbench-example 1.0: AggregateRow SPREAD" in lines
    assert "✓ semicolons workbench-example 1.0: FormatRow semicolons" in lines
    assert "✓ tracing workbench-example 1.0: BackendRow tracing" in lines
    for name, (_, _, wrong) in BAD.items():
        assert any(line.startswith(f"- {name} bad-parts 1.0: ") and wrong in line for line in lines), (name, lines)


def test_what_fails_is_said_once_with_its_package(answers):
    said = "".join([answers[1], *(err for _, _, err in answers[0].values())])
    for name, wrong in (("absent", "No module named 'absent'"), ("raising", "OSError: no licence")):
        assert said.count(f"plugin '{name}' of the package bad-parts 1.0 is left out: ") == 1
        assert wrong in said


def test_nobody_waits_where_there_are_none(tmp_path):
    (tmp_path / "other-1.0.dist-info").mkdir()
    (tmp_path / "other-1.0.dist-info" / "entry_points.txt").write_text("[console_scripts]\nother = other:main\n")
    text = (
        "import sys; from workbench.core.function import LIBRARY; from workbench.processors import PROCESSORS\n"
        "assert 'nothing' not in LIBRARY and 'nothing' not in PROCESSORS and len(LIBRARY) > 20\n"
        "print('importlib.metadata' in sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_page_shows_the_example():
    page = (ROOT / "docs" / "reference" / "plugins.md").read_text()
    points = (EXAMPLE / "pyproject.toml").read_text().partition("[project.entry-points")
    assert f"```toml\n{points[1]}{points[2]}```" in page
    assert f"```python\n{(EXAMPLE / 'workbench_example.py').read_text()}```" in page
