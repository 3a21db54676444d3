"""The corpus (tests/corpus): what BeepBeep's own tests pin down, on every contender that can run it."""

from __future__ import annotations

import pytest

from tests.conformance.corpus import Case, cases
from tests.examples import scaled
from workbench.conformance.compare.contenders import CONTENDERS, LOOPS, Contender, Match
from workbench.conformance.compare.differential import agree
from workbench.conformance.compare.executables import InputSequence, Running, Seen, Streams
from workbench.conformance.compare.threaded import Plan
from workbench.core.pipeline import Pipeline
from workbench.errors import Refused
from workbench.executors.threaded.placement import balance_cuts

CASES = cases()
N = 256
"""`int` is 0..255 in the model."""
NAMED = {each.name: each for each in CONTENDERS}
BY_WORD: dict[str, tuple[Contender, ...]] = {
    "specification": (NAMED["specification"],),
    "pull": (NAMED["pull"],),
    "threaded": (NAMED["threaded"], NAMED["dataflow"]),
    "compiled": (NAMED["compiled, step by step"], LOOPS),
    "model": (NAMED["model"],),
}


class Expected:
    """What the case says."""

    def __init__(self, case: Case, pipeline: Pipeline) -> None:
        self.outputs = case.outputs(pipeline)

    def trace(self, steps: InputSequence) -> list[Seen]:
        return [Seen(shown, {}) for shown in self.outputs]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    """On the reference executor, and on contenders of all kinds; in `make test` on two kinds, others for each case."""
    pipeline = case.pipeline
    assert agree(pipeline, case.steps(pipeline), Expected(case, pipeline), Running(pipeline)) is None
    place = CASES.index(case)
    for word in [*BY_WORD, *BY_WORD][place % len(BY_WORD) :][: scaled(2, len(BY_WORD))]:
        if not (case.unbounded and word == "model"):
            for contender in BY_WORD[word]:
                run(case, pipeline, word, contender)


def run(case: Case, pipeline: Pipeline, word: str, contender: Contender) -> None:
    """A case on a contender, which refuses it if the case says so, and only then."""
    if word in case.refused:
        with pytest.raises(Refused):
            Match(contender, pipeline, N, 8)
        return
    match = Match(contender, pipeline, N, 8)
    plan = Plan(balance_cuts(match.flat, 2), (), 2, 2, 1)
    expected = Expected(case, match.pipeline)
    left = expected if contender.steps else Streams(expected, match.pipeline)
    steps = case.steps(match.pipeline)
    found = agree(match.pipeline, steps, left, match.executables(plan)[1], match.terms)
    assert found is None, str(found)


def test_the_corpus_is_large_and_says_where_it_comes_from() -> None:
    assert len(CASES) >= 150
    assert len({str(case) for case in CASES}) == len(CASES)
    assert all(case.source.startswith(("§", "the past operators")) for case in CASES)


def test_a_wrong_expectation_is_noticed() -> None:
    """Each expected event counts: with another one, or none, the case fails."""
    for case in CASES[::5]:
        pipeline = case.pipeline
        expected = Expected(case, pipeline)
        for i, shown in enumerate(expected.outputs):
            for pipe, content in shown.items():
                expected.outputs[i] = {**shown, pipe: "wrong" if content is None else None}
                assert agree(pipeline, case.steps(pipeline), expected, Running(pipeline)) is not None
                expected.outputs[i] = shown
