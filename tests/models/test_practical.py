"""The programs of models/practical: each check has the outcome that the file argues for, in each size."""

from __future__ import annotations

import pytest

from experiments.practical import SECONDS, Question, decide, files, questions, sizes, source

QUESTIONS = [question for file in files() for question in questions(file)]
SECONDS_HERE = 60
"""Enough on a machine that is loaded."""


def check(question: Question, size: str, seconds: float) -> str:
    verdict = decide(question, size, seconds=seconds)
    if verdict.outcome != "unknown":
        assert verdict.outcome == question.expected
    if verdict.counterexample:
        assert verdict.counterexample.replay.startswith("confirmed by execution")
    return str(verdict.outcome)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: f"{question.file}-{question.asked}")
def test_small(question: Question) -> None:
    assert check(question, "small", SECONDS_HERE) == question.expected


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: f"{question.file}-{question.asked}")
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
    small = {name: value for name, value in sizes(file)["small"].items() if name not in ("Q", "tick")}
    assert all(values.keys() == sizes(file)["small"].keys() for values in sizes(file).values())
    known: set[str] = set()
    for name in {question.pipeline for question in questions(file)}:
        defaults = source(file).parameters(name)
        known |= defaults.keys()
        assert {key: small[key] for key in defaults} == defaults, name
    assert small.keys() <= known
