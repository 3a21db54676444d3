"""The programs of models/practical: each check has the outcome that the file argues for, in each size."""

from __future__ import annotations

import datetime
import random
from itertools import groupby
from typing import Any

import pytest

import workbench as wb
from experiments.practical import ROOT, SECONDS, Question, decide, files, questions, sizes, source

QUESTIONS = [question for file in files() for question in questions(file)]
SECONDS_HERE = 60
"""Enough on a machine that is loaded."""
LONG = {"crc"}
"""Files whose small size takes seconds as well."""
QUICK = list({(each.file, each.faulty): each for each in QUESTIONS if each.file not in LONG}.values())
"""A question of the correct variant of each file, and one of the faulty variant."""


def name(question: Question) -> str:
    return f"{question.file}-{question.asked}"


def check(question: Question, size: str, seconds: float) -> str:
    verdict = decide(question, size, seconds=seconds)
    if verdict.outcome != "unknown":
        assert verdict.outcome == question.expected
    if verdict.counterexample:
        assert verdict.counterexample.replay.startswith("confirmed by execution")
    return str(verdict.outcome)


@pytest.mark.parametrize(
    "question", [pytest.param(q, marks=[pytest.mark.slow] * (q not in QUICK), id=name(q)) for q in QUESTIONS]
)
def test_small(question: Question) -> None:
    assert check(question, "small", SECONDS_HERE) == question.expected


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=name)
def test_middle(question: Question) -> None:
    check(question, "middle", SECONDS["middle"])


def test_each_file_has_a_correct_and_a_faulty_variant() -> None:
    assert len(files()) >= 24
    for file in files():
        outcomes = {variant: {q.expected for q in questions(file) if q.faulty is variant} for variant in (False, True)}
        assert outcomes[False] & {"holds", "holds-within-bounds"}, file
        assert "fails" in outcomes[True], file
        assert len({question.asked for question in questions(file)}) == len(questions(file))


@pytest.mark.parametrize("file", files())
def test_a_size_gives_a_value_to_each_parameter(file: str) -> None:
    """The first size is that of the defaults, so that `workbench check FILE` checks it."""
    small = {key: value for key, value in sizes(file)["small"].items() if key not in ("Q", "tick")}
    assert all(values.keys() == sizes(file)["small"].keys() for values in sizes(file).values())
    known: set[str] = set()
    for pipeline in {question.pipeline for question in questions(file)}:
        defaults = source(file).parameters(pipeline)
        known |= defaults.keys()
        assert {key: small[key] for key in defaults} == defaults, pipeline
    assert small.keys() <= known


# --- the programs do what their heads say ---


def run(file: str, pipeline: str, events: list[Any], **parameters: int) -> list[Any]:
    """Return the first output of a pipeline with one input."""
    program = source(file).get(pipeline, **parameters).pipeline
    outputs: dict[str, list[Any]] = wb.executors.Reference(program).run(events)
    return next(iter(outputs.values()))


@pytest.mark.parametrize(("width", "expected"), [(8, 0xF4), (16, 0x31C3), (32, 0x765E7680 ^ 0xFFFFFFFF)])
@pytest.mark.parametrize("pipeline", ["bitwise", "table_driven"])
def test_check_values_of_redundancy_checks(pipeline: str, width: int, expected: int) -> None:
    """Those of SMBus, of XMODEM, and of POSIX' cksum without its final complement, of the text that catalogues use."""
    halves = [half for byte in b"123456789" for half in (byte >> 4, byte & 15)]
    program = source("crc").get(pipeline, width=width, max=2**width - 1).pipeline
    assert wb.executors.Reference(program).run(halves)["out"][-1] == expected


def test_the_calendar_is_that_of_python() -> None:
    first, last = 1995, 2005
    days = (datetime.date(last, 12, 31) - datetime.date(first, 1, 1)).days
    program = source("calendar").get("days_pass", first=first, last=last).pipeline
    found = wb.executors.Reference(program).run([True] * days)["out"]
    assert found == [(year, datetime.date(year, 1, 1).weekday()) for year in range(first + 1, last + 1)]


def test_medians() -> None:
    draw = random.Random(1)
    values = [draw.randrange(8) for _ in range(200)]
    triples = [sorted(values[i : i + 3])[1] for i in range(len(values) - 2)]
    for pipeline in ("network", "comparisons", "dual"):
        assert run("median3", pipeline, values) == triples


def test_a_run_is_a_value_and_how_often_it_comes() -> None:
    draw = random.Random(2)
    values = [draw.randrange(2) for _ in range(200)]
    program = source("run_length").get("encode", top=1, longest=63).pipeline
    runs = [(value, len(list(group))) for value, group in groupby(values)]
    assert wb.executors.Reference(program).run(values)["out"] == runs[:-1]


def test_a_bucket_by_hand() -> None:
    """A client that asks at each step: the burst, then one of three."""
    program = source("token_bucket").get("bucket", size=2, every=3).pipeline
    passed = wb.executors.Reference(program).run([True] * 9)["out"]
    assert passed == [True, True, True, False, False, True, False, False, True]


def test_the_example_of_the_page_fails_as_it_says() -> None:
    page = (ROOT / "docs" / "explanation" / "practical.md").read_text()
    text = page.partition("```pipe\n")[2].partition("```")[0]
    loaded = wb.parse(text).get()
    assert wb.check(loaded, loaded.checks[0]).outcome == "fails"
    assert all(f"`{file}`" in page for file in files())
