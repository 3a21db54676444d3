"""The queries of the 2016 competition: on made-up traces with planted faults, on real ones, and as models."""

import csv
import gzip
import random
import re
from pathlib import Path

import pytest

from experiments import candidates_trace, sql_trace
from workbench import equivalent_to
from workbench.executors.reference.executor import Reference
from workbench.language import parse, read_file
from workbench.verify.answer.check import Settings
from workbench.verify.answer.problem import check as verify
from workbench.verify.ask.from_syntax import property_from

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "models" / "crv2016"
SHORT = ROOT.parent / "shared" / "data" / "cand_sel_invalid2_short.csv.gz"


def out(file, pipeline, events):
    return Reference(read_file(MODELS / file).get(pipeline).pipeline).run(events)["out"]


def finite(file, types):
    """A file with other types for those that are not finite."""
    text = (MODELS / file).read_text()
    for pattern, instead in types.items():
        text = re.sub(pattern, instead, text)
    return parse(text)


def outcomes(file, pipeline, types):
    """What the model says of the properties of a pipeline."""
    loaded = finite(file, types).get(pipeline)
    return [str(verify(loaded.pipeline, property_from(each), Settings(n=3)).outcome) for each in loaded.checks]


def are_equivalent(file, types, one, other):
    """Whether the model says that two pipelines are."""
    source = finite(file, types)
    asked = equivalent_to(source.get(other).pipeline)
    return str(verify(source.get(one).pipeline, asked, Settings(n=3)).outcome) == "holds"


@pytest.mark.parametrize("broken", ["", "member", "rank"])
def test_candidates(broken):
    events = list(candidates_trace.generate(40, 9, broken, seed=3))
    assert candidates_trace.without_party(iter(events)) == ({"voter39"} if broken else set())
    given = [event[:3] for event in events]
    assert out("candidates.pipe", "chosen", given) == [not broken]
    few = given[:: len(given) // 60]
    assert out("candidates.pipe", "chosen", few) == out("candidates.pipe", "naive", few)


@pytest.mark.skipif(not SHORT.exists(), reason="the trace of the competition is not there")
def test_candidates_of_the_competition():
    """As told with it: 993 of 994 voters have chosen no party."""
    with gzip.open(SHORT, "rt") as file:
        events = [tuple(row[:3]) for row in csv.reader(file)]
    (said,) = Reference(parse((MODELS / "candidates.pipe").read_text() + LAST).get("last").pipeline).run(events)["out"]
    voters = list(said[0])
    chosen = out("candidates.pipe", "has_chosen", {"voter": voters, "said": [said] * len(voters)})
    assert (len(voters), chosen.count(False)) == (994, 993)


LAST = "pipeline last(e: {kind: {member, candidate, rank}, who: str, what: str}) -> any { return keep_last(said(e)) }"


def test_candidates_at_the_end_are_those_of_every_event():
    assert are_equivalent("candidates.pipe", {r"\bstr\b": "{a, b}"}, "chosen", "naive")


def test_the_order_of_what_is_said_plays_no_part():
    events = [event[:3] for event in candidates_trace.generate(12, 5, "", seed=1)]
    random.Random(0).shuffle(events)
    assert out("candidates.pipe", "chosen", events) == [True]


@pytest.mark.parametrize("broken", [0, 1, 3])
def test_sql(broken):
    events = list(sql_trace.generate(600, broken))
    first = sql_trace.first_use(iter(events))
    said = out("sql.pipe", "untainted", events)
    assert out("sql.pipe", "verdict", events) == [not broken]
    if broken:
        assert first is not None
        assert events[first[0] - 1] == ("use", first[1], "")
        assert said == [True] * (first[0] - 1) + [False] * (len(events) - first[0] + 1)
        assert out("sql.pipe", "culprit", events) == [first[1]]
    else:
        assert first is None
        assert all(said)


A, B, C = "ABC"


@pytest.mark.parametrize(
    ("story", "wrong"),
    [
        ("input A sanitise A use A", None),
        ("input A derive A>B derive A>C sanitise C use C", None),
        ("input C use C", 2),
        ("input A derive A>B derive B>C sanitise B use C", 5),
        ("input C sanitise C input C use C", 4),
        ("input A sanitise A derive A>B use B", None),
        ("use A derive A>B use B", 3),
    ],
)
def test_stories_of_the_competition(story, wrong):
    words = story.split()
    events = [(kind, *f"{text}>".split(">")[:2]) for kind, text in zip(words[::2], words[1::2], strict=True)]
    said = out("sql.pipe", "untainted", events)
    assert (said.index(False) + 1 if False in said else None) == wrong


def test_the_machine_of_sql_is_checked():
    assert outcomes("sql.pipe", "untainted", {r"\bstr\b": "{A, B, C}", '""': "A"}) == ["holds"] * 4
