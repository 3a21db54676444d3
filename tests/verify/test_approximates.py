"""Conservative approximation between Boolean pipelines (TIME 2021, section 4.1).

The paper: G (p_b = p'_b and (p_b -> (p'_c -> p_c))), where the primed pipeline approximates the other.
"""

from __future__ import annotations

import itertools

import pytest

from workbench import Outcome, Pipeline, Settings, check, equiv, parse
from workbench.errors import TypingError
from workbench.executors import Reference
from workbench.verify.answer.verdict import Verdict

TEXT = """
pipeline both(x: bool, y: bool) -> bool { return x and y }
pipeline one(x: bool, y: bool) -> bool { return x and (y = y) }
pipeline either(x: bool, y: bool) -> bool { return x or y }
pipeline never(x: bool, y: bool) -> bool { return x and not x and y }
pipeline twice(x: bool, y: bool) -> bool { return trim(x, 1) and trim(y, 1) }
pipeline double(x: bool, y: bool) -> bool { return stutter(x and y, 2) }
pipeline double_one(x: bool, y: bool) -> bool { return stutter(x and (y = y), 2) }
pipeline sometimes(x: bool, y: bool) -> bool { return stutter_by(x and y, cast(if x and y then 1 else 2, 0..2)) }
pipeline number(x: bool, y: bool) -> int { return cast(if x then 1 else 0, int) }
"""
SOURCE = parse(TEXT)
NAMES = ("both", "one", "either", "never", "twice")
WIDE = ("both", "double", "double_one", "sometimes")


def pipeline(name: str) -> Pipeline:
    return SOURCE.get(name).pipeline


def checked(name: str, other: str) -> Verdict:
    return check(SOURCE.get(name), f"approximates({other})", Settings(grow=0.5))


def by_definition(primed: str, name: str, steps: int = 2) -> bool:
    """The paper's formula on every input of a few steps."""
    events = [{}, *({"x": a} for a in (False, True)), *({"y": b} for b in (False, True))]
    events += [{"x": a, "y": b} for a in (False, True) for b in (False, True)]
    for run in itertools.product(events, repeat=steps):
        ours, theirs = Reference(pipeline(primed)), Reference(pipeline(name))
        for given in run:
            said, allowed = (running.step(given).outputs["out"] for running in (ours, theirs))
            if len(said) != len(allowed) or any(x and not y for x, y in zip(said, allowed, strict=True)):
                return False
    return True


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("primed", "name"), [*itertools.product(NAMES, NAMES), *itertools.product(WIDE, WIDE)])
def test_the_definition(primed: str, name: str) -> None:
    verdict = checked(primed, name)
    assert (verdict.outcome is not Outcome.FAILS) == by_definition(primed, name)
    assert verdict.property == f"approximates({name})"
    if verdict.outcome is Outcome.FAILS:
        assert verdict.counterexample is not None
        assert verdict.counterexample.replay == "confirmed by execution"
    # the second of two pipelines is the one that approximates
    assert equiv(pipeline(name), pipeline(primed), "approximates").outcome is verdict.outcome


def test_what_is_known() -> None:
    assert checked("both", "either").outcome is not Outcome.FAILS
    assert checked("either", "both").outcome is Outcome.FAILS
    assert checked("never", "both").outcome is not Outcome.FAILS


def test_only_boolean_pipelines_approximate() -> None:
    with pytest.raises(TypingError, match="bool outputs"):
        checked("number", "number")


def test_in_a_file() -> None:
    loaded = parse(TEXT + "\npipeline same(x: bool, y: bool) -> bool { return x and y\n check approximates(either) }")
    assert [str(item) for item in loaded.get("same").checks] == ["approximates(either)"]
