"""Programs as people have them, right and with a fault that people make, in three sizes: what is decided, and how fast.

Each file of models/practical gives its sizes in its head, and behind each `check` what is expected, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.lab import Limits, Output, Region, Suite, fails, maximum, median, number, ok, only, total, warns
from workbench.lab.claim import Judgement
from workbench.lab.data import Data
from workbench.language import Source
from workbench.tesla.model.build import RuleBounds
from workbench.verify.answer.verdict import Verdict
from workbench.verify.ask.labels import property_from

suite = Suite(
    "practical",
    "Programs as people have them",
    """
The programs of models/practical, correct and with a fault that people make, in three sizes: small, as people have them,
and about ten times that. Times are CPU time of the whole process tree, for everything that a check takes, replay
included. A check of a small program may take 1 s, one of the middle size 10 s, a large one 60 s; it is `unknown`
otherwise. A verdict that contradicts the one that the file argues for is wrong.
""",
    depends=["models/practical", "smv/practical"],
)
ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "models" / "practical"
SECONDS = {"small": 1.0, "middle": 10.0, "large": 60.0}
"""The sizes, with the seconds that a check of a program of that size may take."""
ENGINES = ["explicit", "pynusmv", "invariants", "spacer"]
"""The engines that are asked alone, of the small size."""

_SIZE = re.compile(r"^# (?P<size>small|middle|large): +(?P<values>.*)$", re.MULTILINE)
_VALUE = re.compile(r"(?P<name>\w+) = (?P<value>\d+)")
_EXPECTED = re.compile(r"# (?P<outcome>holds-within-bounds|holds|fails)\b")


@dataclass(frozen=True)
class Question:
    """A `check` line of a file, with the outcome that the comment behind it expects.

    Attributes
    ----------
    text: the property, as written.
    monitor: which monitor statement of the pipeline has it: its systems are those of the three sizes.
    faulty: whether the name of the pipeline, or of the systems that it monitors, says so.
    """

    file: str
    pipeline: str
    text: str
    expected: str
    faulty: bool
    monitor: int | None = None

    @property
    def asked(self) -> str:
        """The question in one line, which no other of the file has."""
        variant = ", faulty system" if self.faulty and self.monitor is not None else ""
        return f"{self.pipeline}: {self.text}{variant}"


@cache
def source(file: str) -> Source:
    """Read a file of models/practical."""
    return wb.read_file(FOLDER / f"{file}.pipe", include=[ROOT])


@cache
def sizes(file: str) -> Mapping[str, Mapping[str, int]]:
    """Return what the head of a file gives to its parameters in each size; `Q` and `tick` are bounds of the model."""
    text = source(file).text
    found = {
        match["size"]: {value["name"]: int(value["value"]) for value in _VALUE.finditer(match["values"])}
        for match in _SIZE.finditer(text)
    }
    if tuple(found) != tuple(SECONDS):
        raise ValueError(f"{file}.pipe does not give its sizes: {', '.join(SECONDS)}")
    return found


def files() -> list[str]:
    """Return the names of the programs."""
    return sorted(path.stem for path in FOLDER.glob("*.pipe"))


@cache
def questions(file: str) -> tuple[Question, ...]:
    """Return the questions of a file, in its order."""
    return tuple(_questions(file))


def _questions(file: str) -> Iterator[Question]:
    tree, lines = source(file).tree, source(file).text.splitlines()

    def expected(line: int) -> str:
        match = _EXPECTED.search(lines[line - 1])
        if match is None:
            raise ValueError(f"{file}.pipe:{line}: the check does not say what is expected: # holds: ..., # fails: ...")
        return match["outcome"]

    for pipeline in tree.pipelines:
        for check in pipeline.checks:
            faulty = "faulty" in pipeline.name
            yield Question(file, pipeline.name, check.text, expected(check.where.line), faulty)
        for position, monitor in enumerate(pipeline.monitors):
            faulty = all("faulty" in system for system in monitor.systems)
            for check in monitor.checks:
                yield Question(file, pipeline.name, check.text, expected(check.where.line), faulty, position)


def decide(question: Question, size: str, engine: str = "auto", seconds: float | None = None) -> Verdict:
    """Decide a question for a size."""
    given = sizes(question.file)[size]
    settings = wb.Settings(engine=engine, seconds=seconds or SECONDS[size], grow=0)
    if "Q" in given:
        settings = replace(settings, q=given["Q"])
    if "tick" in given:
        settings = replace(settings, rules=RuleBounds(tick=given["tick"]))
    program = source(question.file)
    known = program.parameters(question.pipeline)
    loaded = program.get(question.pipeline, **{name: given[name] for name in known if name in given})
    if question.monitor is None:
        (check,) = (check for check in loaded.checks if check.text == question.text)
        return wb.check(loaded, check, settings)
    statement = loaded.monitors[question.monitor]
    (check,) = (check for check in statement.checks if check.text == question.text)
    system = statement.systems[list(SECONDS).index(size)]
    return wb.monitor(
        system, loaded.pipeline, property_from(check), bind=statement.bind, when=statement.when, settings=settings
    )


def region() -> Region:
    """Return the points: every question in every size, and the small ones with each engine by itself."""
    found = None
    for file in files():
        for faulty in (False, True):
            asked = [question.asked for question in questions(file) if question.faulty is faulty]
            for sizes_, engines in ((list(SECONDS), ["auto"]), (["small"], ENGINES)):
                part = Region(
                    file=[file], variant=["faulty" if faulty else "correct"], asked=asked, size=sizes_, engine=engines
                )
                found = part if found is None else found + part
    assert found is not None
    return found


def is_weaker(verdict: Verdict, question: Question) -> bool:
    """Whether a verdict leaves open what is expected: all of it, or only whether a bound is ever met."""
    open_bound = verdict.outcome == "holds-within-bounds" and verdict.ground("overflow") is None
    return verdict.outcome == "unknown" or (open_bound and question.expected == "holds")


def load() -> None:
    """Start the engine."""
    wb.check(wb.parse("pipeline p(x: int) -> int { return x }").get(), "liveness")


@suite.experiment(
    region(),
    limits=Limits(seconds=150, memory_mb=4000), persistent=True, warm_up=load,
    expected=lambda: {"agrees": True},
    verdict=Output("what was decided", kind=str),
    wanted=Output("what the file argues for", kind=str),
    agrees=Output("whether the verdict is that, or a weaker one", kind=bool),
    decided=Output("1 if the verdict is that", kind=int),
    by=Output("the engine that decided", kind=str),
    steps=Output("steps of the run that is shown, -1 without one", "steps", int),
    replayed=Output("whether the run shown was confirmed by execution", kind=bool),
    shortest=Output("whether no shorter run shows it", kind=bool),
    bounded=Output("steps for which an undecided property was decided, -1 without any", "steps", int),
)  # fmt: skip
def check(file: str, asked: str, size: str, engine: str) -> dict[str, Any]:
    """A `check` of a program, within the seconds that its size may take."""
    question = next(question for question in questions(file) if question.asked == asked)
    verdict = decide(question, size, engine)
    run, outcome = verdict.counterexample, str(verdict.outcome)
    return {
        "verdict": outcome,
        "wanted": question.expected,
        "agrees": is_weaker(verdict, question) or outcome == question.expected,
        "decided": int(outcome == question.expected),
        "by": verdict.engine,
        "steps": len(run.steps) if run else -1,
        "replayed": bool(run and run.replay.startswith("confirmed")),
        "shortest": bool(run and run.shortest),
        "bounded": verdict.depth.steps if verdict.depth else -1,
    }


GROWTH = {"window": [5, 10, 20, 50, 100], "range": [10, 100, 1_000, 10_000, 100_000, 1_000_000],
          "depth": [10, 100, 1_000, 10_000, 100_000]}  # fmt: skip
"""How large the window of a mean becomes, the range of its values, and the count of a watchdog."""


def growing(what: str) -> Region:
    """Return the points at which one quantity grows, for `auto` and each engine that decides small ones quickly."""
    return Region(what=[what], value=GROWTH[what], engine=["auto", "pynusmv", "bmc", "explicit", "spacer"])


@suite.experiment(
    growing("window") + growing("range") + growing("depth"),
    limits=Limits(seconds=40, memory_mb=4000), persistent=True, warm_up=load,
    verdict=Output("what was decided", kind=str), by=Output("the engine that decided", kind=str),
)  # fmt: skip
def growth(what: str, value: int, engine: str) -> dict[str, Any]:
    """A proof, while one quantity grows: a steady mean (window of 10 of 0..1000), two watchdogs that are equivalent."""
    settings = wb.Settings(engine=engine, seconds=20, grow=0)
    if what == "depth":
        down, up = (source("watchdog").get(name, limit=value) for name in ("down", "up"))
        verdict = wb.equiv(down, up, "stepwise", settings)
    else:
        k, top = (value, 1000) if what == "window" else (10, value)
        steady = source("moving_average").get("steady", k=k, top=top, low=top * 3 // 10, high=top * 7 // 10)
        verdict = wb.check(steady, "never-false", settings)
    return {"verdict": str(verdict.outcome), "by": verdict.engine}


suite.table(
    "growth", of=growth, rows=["what", "value"], columns="engine",
    cells={"CPU, s": median("cpu_seconds"), "verdict": only("verdict")}, title="How proofs grow",
)  # fmt: skip
for quantity in GROWTH:
    suite.plot(
        f"growth-{quantity}", of=growth, x="value", y=median("cpu_seconds"), series="engine", log="xy",
        where={"what": quantity}, title=f"CPU time by {quantity}; undecided at 20 s",
    )  # fmt: skip
suite.table(
    "summary", of=check, rows=["size", "variant"], where={"engine": "auto"},
    cells={"checks": number(), "decided": total("decided"), "CPU, s": median("cpu_seconds"),
           "most, s": maximum("cpu_seconds")},
    title="How many are decided within the limit",
)  # fmt: skip
suite.table(
    "checks", of=check, rows=["file", "asked"], columns="size", where={"engine": "auto"},
    cells={"CPU, s": median("cpu_seconds"), "verdict": only("verdict")}, title="Every check",
)  # fmt: skip
suite.table(
    "faults", of=check, rows=["file", "asked"], columns="size", where={"engine": "auto", "variant": "faulty"},
    cells={"verdict": only("verdict"), "steps": only("steps"), "shortest": only("shortest"), "by": only("by")},
    title="Runs that show the faults",
)  # fmt: skip
suite.table(
    "engines", of=check, rows="engine", columns="variant", where={"size": "small"},
    cells={"checks": number(), "decided": total("decided"), "CPU, s": median("cpu_seconds")},
    title="Engines by themselves, small programs",
)  # fmt: skip


@suite.claim("No verdict differs from the one that the file argues for")
def right(data: Data) -> Judgement:
    rows = data.rows(check, status="ok")
    wrong = [f"{row['file']} {row['asked']} ({row['size']}, {row['engine']})" for row in data.rows(check)
             if row["agrees"] is False]  # fmt: skip
    return fails("; ".join(wrong)) if wrong else ok(f"{sum(row['decided'] for row in rows)} of {len(rows)} decided")


@suite.claim("Every counterexample is confirmed by execution")
def replayed(data: Data) -> Judgement:
    rows = [row for row in data.rows(check, status="ok") if row["steps"] >= 0]
    gaps = [f"{row['file']} {row['asked']}" for row in rows if not row["replayed"]]
    return (
        fails("; ".join(gaps)) if gaps else ok(f"{len(rows)}, {sum(row['shortest'] for row in rows)} of them shortest")
    )


def share(data: Data, goal: float, **where: str) -> Judgement:
    """Return the judgement on the share of points that are decided."""
    rows = data.rows(check, engine="auto", **where)
    decided = sum(bool(row["decided"]) for row in rows)
    return (ok if decided >= goal * len(rows) else warns)(f"{decided} of {len(rows)}")


@suite.claim("All small programs are decided, within a second")
def small(data: Data) -> Judgement:
    return share(data, 1, size="small")


@suite.claim("Nine of ten programs as people have them are decided, within ten seconds")
def middle(data: Data) -> Judgement:
    return share(data, 0.9, size="middle")


@suite.claim("Six of ten programs of ten times that are decided, within a minute")
def large(data: Data) -> Judgement:
    return share(data, 0.6, size="large")


@suite.claim("The faults of programs as people have them are found, within ten seconds")
def faults(data: Data) -> Judgement:
    return share(data, 1, size="middle", variant="faulty")
