"""A part is one file in a folder of extensions: a processor, an aggregate, a backend, an engine, a command."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PARTS = {
    "processors/alternate.py": '''
"""Alternate: every other event."""

from dataclasses import dataclass

from workbench.core.domain import BOOL
from workbench.core.ops import NOT
from workbench.core.processor import Maybe, Processor


@dataclass(frozen=True)
class Alternate(Processor):
    """Emits every other event, beginning with the first."""

    keyword = "alternate"

    def denote(self, streams):
        return (list(streams[0][::2]),)

    def initial(self):
        return (True,)

    def slots(self, inputs):
        return (("open", BOOL),)

    def step(self, state, front):
        return (NOT(state[0]),), (Maybe(state[0], front[0]),)

    @classmethod
    def samples(cls):
        return (cls(),)
''',
    "aggregates/spread.py": '''
"""How far apart the greatest and the least value are."""

from workbench.tesla.aggregate import AggregateRow, of_numbers


def compute(domain):
    return lambda values: max(values) - min(values) if values else None


ROW = AggregateRow("SPREAD", "how far apart they are", of_numbers, compute)
''',
    "backends/meaning.py": '''
"""Runs what pipelines mean, and not what they do."""

from workbench.core.processor import END, Maybe
from workbench.core.unfolding import Unfolding
from workbench.processors.held.group import flatten
from workbench.executors.backend import StepRecord
from workbench.executors.table import BackendOption, BackendRow


class Meaning:
    def __init__(self, pipeline, twice):
        self.pipeline, self.twice = flatten(pipeline), twice
        self.reset()

    def reset(self):
        self.unfolding = Unfolding(self.pipeline)

    def step(self, events):
        added = self.unfolding.step(events)
        pipes = {pipe: Maybe(bool(new), new[0] if new else None) for pipe, new in added.items()}
        return StepRecord(pipes, {name: added[pipe] * self.twice for name, pipe in self.pipeline.outputs}, {})

    def end(self, name=None):
        return self.step(END).outputs


ROW = BackendRow(
    "meaning",
    "the specification of every processor",
    lambda pipeline, start: Meaning(pipeline, start.option("twice", 1)),
    options=(BackendOption("--twice", "how often it says so", {"type": int}),),
    needs={"a_package_that_nobody_has": "write it"},
)
''',
    "backends/forgetful.py": '''
"""Says everything but 3."""

from dataclasses import replace

from workbench.core.processor import Maybe
from workbench.executors.reference.executor import Reference
from workbench.executors.table import BackendRow


class Forgetful(Reference):
    def step(self, events):
        made = super().step(events)
        return replace(made, pipes={k: Maybe(False, None) if v.value == 3 else v for k, v in made.pipes.items()})


ROW = BackendRow("forgetful", "all but 3", lambda pipeline, start: Forgetful(pipeline))
''',
    "engines/cautious.py": '''
"""The explicit search, once more."""

from dataclasses import replace

from workbench.verify.decide.explicit.decider import ExplicitDecider
from workbench.verify.decide.table import EngineRow


class Cautious(ExplicitDecider):
    name = "cautious"

    def decide(self, part, limits, *, count_states=False):
        return replace(super().decide(part, limits, count_states=count_states), engine=self.name)


ROW = EngineRow("cautious", "a search that has another name", "what the explicit search does", decider=Cautious)
''',
    "commands/ports.py": '''
"""List the ports of a pipeline."""

from workbench.cli import options as o


def options(parser):
    o.pipeline_argument(parser)


def execute(args):
    ports = o.load(args.file, ()).pipeline.ports
    print("in", *ports.domains, "out", *ports.outputs_by_name)
    return 0
''',
}
PIPELINE = "pipeline p(x: int) -> int { return alternate(x) + 0 }\ncheck always (out.present -> x.present)\n"
RULES = """
declare A(x: int)
declare S(d: int)
from A and $d = SPREAD(A().x within 2 from A) emit S(d = $d)
"""
ASK = """
import contextlib, io, json, sys
from hypothesis import HealthCheck, find, settings
from scripts.pages import TABLES, table
from workbench.cli.main import main
from workbench.conformance.generate.pipelines import pipelines

def printed(argv):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        code = main(argv)
    return [code, out.getvalue()]

asked = [printed(argv) for argv in json.loads(sys.argv[1])]
tables = {name: table(name) for name in TABLES}
having = find(
    pipelines(depth=1), lambda each: any(node.processor.keyword == "alternate" for node in each.nodes),
    settings=settings(max_examples=5000, derandomize=True, database=None),
)
print(json.dumps([asked, tables, [node.processor.keyword for node in having.nodes]]))
"""


class Extended:
    """What workbench says with the extensions."""

    def __init__(self, asked: list[tuple[str, ...]], answer: list[Any]) -> None:
        self.said = {command: tuple(said) for command, said in zip(asked, answer[0], strict=True)}
        self.tables, self.random = answer[1:]


PIPE, LOG, RULE_FILE, EVENTS = "{pipe}", "{log}", "{rules}", "{events}"
ASKED: list[tuple[str, ...]] = [
    ("--help",),
    ("run", "--help", "backends"),
    ("check", "--help"),
    ("ports", PIPE),
    ("doctor",),
    ("run", PIPE, "--input", LOG, "--backend", "reference"),
    ("run", PIPE, "--input", LOG, "--backend", "compiled"),
    ("run", PIPE, "--input", LOG, "--backend", "meaning"),
    ("run", PIPE, "--input", LOG, "--backend", "meaning", "--twice", "2"),
    ("run", PIPE, "--input", LOG, "--twice", "2"),
    ("conform", PIPE, "--backend", "reference", "--backend", "meaning", "--backend", "model", "--examples", "20"),
    ("conform", PIPE, "--backend", "forgetful", "--examples", "50"),
    ("check", PIPE, "--engine", "cautious", "--quiet"),
    ("check", PIPE, "-p", "always (out != 3)", "--engine", "cautious"),
    ("check", PIPE, "--engine", "all"),
    ("run", RULE_FILE, "--input", EVENTS, "--backend", "cdp"),
    ("run", RULE_FILE, "--input", EVENTS, "--backend", "compiled"),
]


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Extended:
    folder = tmp_path_factory.mktemp("extensions")
    for name, text in PARTS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text.lstrip())
    places = {
        PIPE: str(folder / "p.pipe"), LOG: str(folder / "x.csv"), RULE_FILE: str(folder / "r.tesla"),
        EVENTS: str(folder / "a.csv"),
    }  # fmt: skip
    (folder / "r.tesla").write_text(RULES)
    (folder / "a.csv").write_text("type,time,x\nA,1,5\nA,2,1\nA,3,3\nA,4,3\n")
    (folder / "p.pipe").write_text(PIPELINE)
    (folder / "x.csv").write_text("x\n3\n1\n4\n1\n5\n")
    commands = [[places.get(word, word) for word in command] for command in ASKED]
    env = {**os.environ, "WORKBENCH_EXTENSIONS": str(folder), "COLUMNS": "200"}
    given = [sys.executable, "-c", ASK, json.dumps(commands)]
    done = subprocess.run(given, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Extended(ASKED, json.loads(done.stdout))


def test_help_lists_them(extended: Extended) -> None:
    lines = [line.split() for line in extended.said["--help",][1].splitlines()]
    assert "ports list the ports of a pipeline".split() in lines
    _, run = extended.said["run", "--help", "backends"]
    named = {line.split()[0] for line in run.splitlines() if line.strip()}
    assert named >= {"reference", "cdp", "compiled", "spark", "forgetful", "meaning"}
    assert "meaning the specification of every processor" in " ".join(run.split())
    assert "meaning: how often it says so" in run
    assert "spacer,cautious}" in extended.said["check", "--help"][1]


def test_doctor_looks_for_them(extended: Extended) -> None:
    _, said = extended.said["doctor",]
    lines = [line.split() for line in said.splitlines()]
    assert ["✓", "cautious", "built", "in"] in lines
    assert ["-", "meaning", "missing:", "a_package_that_nobody_has"] in lines
    assert ["to", "do:", "write", "it"] in lines
    assert ["✓", "forgetful", "all", "but", "3", "(pipelines)"] in lines


def test_the_tables_of_the_docs_have_them(extended: Extended) -> None:
    tables = extended.tables
    assert "| `workbench ports` | list the ports of a pipeline |\n" in tables["commands"]
    assert "| `alternate(x)` | Emits every other event, beginning with the first. |\n" in tables["processors"]
    assert "| `cautious` | a search that has another name | what the explicit search does |\n" in tables["engines"]
    row = "| `meaning` | the specification of every processor | pipelines | `--twice` | `a_package_that_nobody_has` |\n"
    assert row in tables["backends"]
    assert "| `meaning` | step by step |\n" in tables["contenders"]
    assert "| `SPREAD` | how far apart they are | int: int, float: float | null |\n" in tables["aggregates"]


def test_a_command_works(extended: Extended) -> None:
    assert extended.said["ports", PIPE] == (0, "in x out out\n")


@pytest.mark.parametrize("backend", ["reference", "compiled", "meaning"])
def test_a_processor_runs_on_every_backend_and_a_backend_runs(extended: Extended, backend: str) -> None:
    assert extended.said["run", PIPE, "--input", LOG, "--backend", backend] == (0, "out\n3\n4\n5\n")


def test_an_aggregate_is_computed_or_refused(extended: Extended) -> None:
    code, said = extended.said["run", RULE_FILE, "--input", EVENTS, "--backend", "cdp"]
    assert (code, said) == (0, "type,time,d\nS,1,\nS,2,0\nS,3,4\nS,4,2\n")
    code, said = extended.said["run", RULE_FILE, "--input", EVENTS, "--backend", "compiled"]
    assert code == 2
    assert "backend 'compiled' has no aggregates that are functions of Python: SPREAD (" in said


def test_options_of_a_backend_are_its_own(extended: Extended) -> None:
    said = extended.said["run", PIPE, "--input", LOG, "--backend", "meaning", "--twice", "2"]
    assert said == (0, "out\n3\n3\n4\n4\n5\n5\n")
    code, said = extended.said["run", PIPE, "--input", LOG, "--twice", "2"]
    assert (code, said) == (
        2,
        "workbench: not for the reference backend: --twice\n  hint: leave it out, or add --backend meaning\n",
    )


def test_they_are_compared(extended: Extended) -> None:
    agree, differ = (said for command, said in extended.said.items() if command[0] == "conform")
    assert agree[0] == 0, agree[1]
    for name in ("specification", "pull", "meaning", "model"):
        assert f"✓ agrees   {name}  of p: 20 traces" in agree[1]
    assert differ[0] == 1
    assert "✗ differs  forgetful  of add in p: pipe 'alternate' at step 0" in differ[1]


def test_an_engine_decides(extended: Extended) -> None:
    holds, fails, together = (said for command, said in extended.said.items() if command[:2] == ("check", PIPE))
    assert (holds[0], fails[0], together[0]) == (0, 1, 0)
    assert "✗ fails" in fails[1]
    assert ", cautious\n" in fails[1]
    assert "cautious" in together[1].partition(" agree")[0].split(", ")


def test_a_processor_is_in_random_pipelines(extended: Extended) -> None:
    assert "alternate" in extended.random


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("NOTHING = 0\n", "the module defines no ROW"),
        (PARTS["backends/forgetful.py"].replace('"forgetful"', '"compiled"'), "'compiled' exists already"),
    ],
)
def test_a_file_that_is_no_part_is_named(tmp_path: Path, text: str, wanted: str) -> None:
    (tmp_path / "backends").mkdir()
    (tmp_path / "backends" / "odd.py").write_text(text)
    env = {**os.environ, "WORKBENCH_EXTENSIONS": str(tmp_path)}
    given = [sys.executable, "-m", "workbench.cli.main", "run", "--help"]
    done = subprocess.run(given, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{tmp_path}/backends/odd.py: {wanted}" in done.stderr
