"""The cases of the corpus that searches have found (tests/corpus/found): what random pipelines are held to, again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis.errors import HypothesisDeprecationWarning, UnsatisfiedAssumption

from tests.conformance.corpus import FOLDER
from tests.conformance.test_buffers import compare, without_checked
from tests.conformance.test_verdicts import INVARIANTS, compare_invariant
from tests.found import read
from workbench.conformance.compare.conform import conform
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import Denoting, Running
from workbench.conformance.compare.models import Evaluated
from workbench.conformance.compare.search import Search
from workbench.processors.held.group import flatten

BACKENDS = ("reference", "threaded", "model")
CASES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((FOLDER / "found").iterdir())}
pytestmark = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@contextmanager
def unless_too_large() -> Iterator[None]:
    """Exploring gives up, as it does in a search, on more states than it is made for."""
    try:
        yield
    except (UnsatisfiedAssumption, HypothesisDeprecationWarning):
        pytest.skip("it has too many states")


@pytest.mark.sampled(1)
def test_everything_that_runs_it_agrees(case: str) -> None:
    pipeline, steps = read(case)
    for other in (Denoting(pipeline), Evaluated(pipeline, 4)):
        check(pipeline, steps, Running(pipeline), other)
    for q in range(4):
        check(pipeline, steps, Running(pipeline, dict.fromkeys(flatten(pipeline).queues, q)), Evaluated(pipeline, q))
    assert all(outcome.holds for outcome in conform(pipeline, BACKENDS, Search(examples=20, steps=8)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("together", [False, True])
def test_its_capacities_are_the_greatest_lengths(case: str, together: bool) -> None:
    pipeline, _ = read(case)
    if without_checked(pipeline) and flatten(pipeline).queues:
        with unless_too_large():
            compare(pipeline, together=together)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("prop", INVARIANTS, ids=str)
@pytest.mark.parametrize("q", [0, 1, 2])
def test_what_is_decided_is_what_exploring_says(case: str, prop: Any, q: int) -> None:
    with unless_too_large():
        compare_invariant(read(case)[0], prop, q)
