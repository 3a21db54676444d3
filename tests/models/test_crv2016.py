"""The queries of the 2016 competition: on made-up traces with planted faults, on real ones, and as models."""

import csv
import functools
import gzip
import itertools
import json
import random
import re
from html import escape
from itertools import pairwise
from pathlib import Path

import pytest

import workbench as wb
from experiments import by_key as log_by_key
from experiments import candidates_trace, pingus_trace, sql_trace
from workbench import buffers
from workbench.cli.main import main
from workbench.core.fields import FrozenMap
from workbench.executors.reference.executor import Reference
from workbench.executors.reference.refutation import Refutations
from workbench.language import parse, read_file
from workbench.properties import equivalent_to
from workbench.verify.answer.problem import check as verify
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.labels import property_from

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "models" / "crv2016"
SHORT = ROOT.parent / "shared" / "data" / "cand_sel_invalid2_short.csv.gz"


def out(file, pipeline, events):
    return Reference(read_file(MODELS / file).get(pipeline).pipeline).run(events)["out"]


def finite(file, types, more=""):
    """A file with other types for those that are not finite, and what else is in it."""
    text = (MODELS / file).read_text()
    for pattern, instead in types.items():
        text = re.sub(pattern, instead, text)
    return parse(text + more)


def outcomes(file, pipeline, types):
    """What the model says of the properties of a pipeline."""
    loaded = finite(file, types).get(pipeline)
    return [str(verify(loaded.pipeline, property_from(each), Settings(n=3)).outcome) for each in loaded.checks]


def are_equivalent(file, types, one, other, more=""):
    """Whether the model says that two pipelines are."""
    source = finite(file, types, more)
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


def verdicts(tmp_path, game, file, names):
    """What the query says of a game that is written as XML, from its second event on."""
    path, made = tmp_path / "game.xml", tmp_path / "out.csv"
    path.write_text("".join(pingus_trace.as_xml(i, each) for i, each in enumerate(game)))
    program = read_file(MODELS / file).get().pipeline
    wb.run(program, path, output=made, backend="reference", xml="message", columns=names)
    with made.open() as lines:
        return list(csv.DictReader(lines))


def as_events(game):
    """The snapshots as the queries take them, without a file between."""
    places = [{i: dict(zip(("status", "x", "y", "vx"), each, strict=False)) for i, each in e.items()} for e in game]
    return [
        {name: FrozenMap({i: each[name] for i, each in e.items()}) for name in pingus_trace.COLUMNS} for e in places
    ]


def first_false(said):
    """The event after which it says false first; it is silent after the first one."""
    return said.index(False) + 2 if False in said else None


@pytest.fixture(scope="module", params=pingus_trace.FAULTS)
def game(request):
    return request.param, list(pingus_trace.generate(5, 420, request.param))


@pytest.mark.sampled(3)
def test_spontaneous(game, tmp_path):
    fault, events = game
    rows = verdicts(tmp_path, events, "spontaneous.pipe", {"ids": "characters/character/id"})
    first = first_false([row["out"] == "true" for row in rows])
    assert first == pingus_trace.first_appears(events) == (212 if fault == "appears" else None)


@pytest.mark.sampled(3)
def test_bashing(game, tmp_path):
    """The two forms agree: a position without a verdict is one who bashes to the end."""
    fault, events = game
    rows = verdicts(tmp_path, events, "bashing.pipe", {"status": pingus_trace.column("status")})
    so_far = [row["so_far"] == "true" for row in rows if row["so_far"]]
    (at_end,) = [row["at_end"] == "true" for row in rows if row["at_end"]]
    first = first_false(so_far) or (None if at_end else len(events) + 1)
    wanted = {"blocks": 254, "vanishes": 254, "endless": 421}.get(fault)
    assert first == pingus_trace.first_bashing(events) == wanted
    some = [each["status"] for each in as_events(events)[130:260]]
    told = out("bashing.pipe", "naive", some)
    assert (len(told) == len(some) and all(told)) == (fault not in ("blocks", "vanishes", "endless"))


@pytest.mark.sampled(3)
def test_turn_around(game, tmp_path):
    fault, events = game
    names = {f"e.{name}": pingus_trace.column(name) for name in pingus_trace.COLUMNS}
    rows = verdicts(tmp_path, events, "turn_around.pipe", names)
    first = first_false([row["out"] == "true" for row in rows])
    assert first == pingus_trace.first_straight(events)
    assert (first is not None) == (fault == "rebel")
    near = slice(first - 10, first + 10) if first else slice(200, 240)
    some = [tuple(each.values()) for each in as_events(events)[near]]
    assert out("turn_around.pipe", "naive", some) == out("turn_around.pipe", "turn_around", some)


def refuted(file, pipeline, events):
    """What its quantifiers are false of: the number of the event, from 1, and the values, those inside behind them."""
    running = Reference(read_file(MODELS / file).get(pipeline).pipeline)
    found = Refutations(running)
    running.run(events)
    assert all(each.known == each.step for each in found.found)
    return [
        (each.step + 1, {culprit.value: [inner.value for inner in culprit.because] for culprit in each.culprits})
        for each in found.found
    ]


@pytest.mark.sampled(3)
def test_who_did_it(game):
    fault, events = game
    given = as_events(events)
    ids = [FrozenMap(dict.fromkeys(each, True)) for each in events]
    found = {
        "appears": refuted("spontaneous.pipe", "spontaneous", ids),
        "blocks": refuted("bashing.pipe", "bashing", [each["status"] for each in given]),
        "rebel": refuted("turn_around.pipe", "naive", [tuple(each.values()) for each in given[:225]]),
    }
    wanted = {
        "appears": [
            (k, {max(now): []}) for k, (before, now) in enumerate(pairwise(events), 2) if len(now) > len(before)
        ],
        "blocks": {"blocks": [(254, {2: []})], "vanishes": [(254, {2: []})], "endless": [(421, {2: []})]}.get(
            fault, []
        ),
    }
    assert [found["appears"], found["blocks"]] == [wanted["appears"], wanted["blocks"]]
    assert bool(found["rebel"]) == (fault == "rebel")
    if found["rebel"]:
        first, values = found["rebel"][0]
        (rebel,) = values
        (blocker,) = values[rebel]
        assert first == pingus_trace.first_straight(events)
        assert events[first - 2][rebel][0] == events[first - 1][rebel][0] == "WALKER"
        assert events[first - 2][blocker][0] == "BLOCKER"
        assert abs(events[first - 2][rebel][1] - events[first - 2][blocker][1]) < 6


def test_who_has_not_chosen():
    events = [event[:3] for event in candidates_trace.generate(40, 9, "rank", seed=3)]
    ((step, culprits),) = refuted("candidates.pipe", "chosen", events)
    parties = {party for kind, who, party in events if (kind, who) == ("member", "voter39")}
    assert (step, set(culprits)) == (len(events) + 1, {"voter39"})
    assert set(culprits["voter39"]) == parties


def test_positions_that_wait_are_told_where_they_began():
    status = [FrozenMap({1: does}) for does in ("WALKER", "BASHER", "BASHER", "BLOCKER", "WALKER")]
    running = Reference(read_file(MODELS / "bashing.pipe").get("naive").pipeline)
    told = []
    found = Refutations(running, 2, lambda each: told.append(str(each)))
    running.run(status)
    assert [(each.step, each.known) for each in found.found] == [(1, 3), (2, 3)]
    assert told[0] == "step 1: 'forall' is false (known at step 3): id = 1"


@pytest.mark.parametrize("bashes", [True, False])
def test_a_page_says_who_did_it(tmp_path, capsys, bashes):
    log, page = tmp_path / "game.jsonl", tmp_path / "why.html"
    does = ["WALKER", *["BASHER" if bashes else "WALKER"] * 2, "BLOCKER", "WALKER"]
    log.write_text("".join(json.dumps({"status": {"1": each}}) + "\n" for each in does))
    run = ["run", f"{MODELS / 'bashing.pipe'}:naive", "--input", str(log), "--output", str(tmp_path / "out.csv")]
    assert main([*run, "--html", str(page)]) == 0
    told = re.sub("<[^>]*>", "", page.read_text().partition("<header>")[2])
    said = [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()]
    assert len(said) == 2 * bashes
    assert ("No quantifier is false." in told) == (not bashes)
    for line in said:
        heading, _, culprits = line.rpartition(": ")
        assert f"{escape(heading)}\n\n{culprits}\n" in told
    assert main([*run, "--html", str(log)]) == 2
    assert "--html would overwrite what is read" in capsys.readouterr().err
    assert main([*run, "--why", "--key", "status"]) == 2
    assert "--why explains one run" in capsys.readouterr().err


STATES = "{WALKER, BLOCKER, BASHER, GONE}"
SMALL = {
    r"HIDDEN, FALLER, WALKER, BLOCKER, BASHER, BUILDER, BLOWER, FLOATER": "WALKER, BLOCKER, BASHER",
    r"map\(int, float\)": "map({p, q}, -1..1)", r"map\(int,": "map({p, q},", r"(\w+): int,": r"\1: {p, q},",
    r"less_than\(\d+,": "less_than(1,",
}  # fmt: skip
"""Two Pingus in places so near that they collide only where they are at the same."""
GAME = """
function two(m, e, a, b) =
    if e.a.does = GONE then (if e.b.does = GONE then m else put(m, q, b))
    else (if e.b.does = GONE then put(m, p, a) else put(put(m, p, a), q, b))
machine game(e: {a: {does: STATES, at: 0..1, way: -1..1}, b: {does: STATES, at: 0..1, way: -1..1}})
    -> {status: map({p, q}, STATES), x: map({p, q}, -1..1), y: map({p, q}, -1..1), vx: map({p, q}, -1..1)} {
    var nobody: map({p, q}, STATES)
    var nowhere: map({p, q}, -1..1)
    state now: (two(nobody, e, e.a.does, e.b.does), two(nowhere, e, e.a.at, e.b.at), nowhere,
        two(nowhere, e, e.a.way, e.b.way))
}
"""


@pytest.mark.slow
def test_both_forms_of_turning_around():
    around = "pipeline {0}_played(e: {{a: {1}, b: {1}}}) -> bool {{ return {0}(game(e)) }}\n"
    one = "{does: STATES, at: 0..1, way: -1..1}"
    more = (GAME + around.format("turn_around", one) + around.format("naive", one)).replace("STATES", STATES)
    assert are_equivalent("turn_around.pipe", SMALL, "turn_around_played", "naive_played", more)


def test_bashing_two_events_at_a_time_is_what_temporal_logic_says():
    """But for the end: one who bashes for ever has done nothing wrong so far."""
    more = """
    machine alone(does: STATES) -> map({p, q}, STATES) {
        var nobody: map({p, q}, STATES)
        state now: if does = GONE then nobody else put(nobody, p, does)
    }
    pipeline one(does: STATES) -> fine: bool, does_now: STATES {
        fine, at_end = bashing(alone(does))
        return fine, passthrough(does)
    }
    check ltl((G (fine.present -> fine)) -> SAID)
    check ltl(SAID -> (G (fine.present -> fine)))
    """
    bashes, walks = "(does_now.present -> does_now = BASHER)", "(does_now.present and does_now = WALKER)"
    said = f"(G (does_now.present and does_now = BASHER -> ({bashes} U {walks}) or (G {bashes})))"
    loaded = finite("bashing.pipe", SMALL, more.replace("SAID", said).replace("STATES", STATES)).get("one")
    found = [verify(loaded.pipeline, property_from(each), Settings(n=3)) for each in loaded.checks]
    assert [str(each.outcome) for each in found] == ["holds", "holds"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("waiting", "wrong"),
    [(1, ""), (2, ""), pytest.param(2, "until(does = BASHER, does != BASHER)", marks=pytest.mark.slow)],
)
def test_both_forms_of_bashing(waiting, wrong):
    """At the end of the trace, as far as so many positions wait; and not if bashing on were all that is asked."""
    types = SMALL if not wrong else {**SMALL, r"until\(does = BASHER, does = WALKER\)": wrong}
    source = finite("bashing.pipe", types)
    asked = equivalent_to(source.get("naive_whole").pipeline)
    room = Settings(n=3, q={"naive_whole.said.forall.pending": waiting})
    found = verify(source.get("whole").pipeline, asked, room)
    assert str(found.outcome) == ("fails" if wrong else "holds-within-bounds")


@pytest.mark.slow
def test_nothing_bounds_how_long_one_bashes():
    found = buffers(finite("bashing.pipe", SMALL).get("naive").pipeline)
    ((queue, status, growth),) = [(each.queue, str(each.status), each.growth) for each in found.queues]
    assert (queue, status, growth) == ("forall.pending", "unbounded", 1)
    assert found.queues[0].witness.replay == "confirmed by execution"


@functools.cache
def running(file, pipeline):
    return Reference(read_file(MODELS / file).get(pipeline).pipeline)


def by_key(file, rows):
    """What the run of `by_pingu` for each Pingu, the first column, says in the end."""
    found = {}
    for pingu, each in itertools.groupby(sorted(rows), lambda row: row[0]):
        executor = running(file, "by_pingu")
        executor.reset()
        found[pingu] = executor.run([row[1] if len(row) == 2 else tuple(row[1:]) for row in each])["out"][-1]
    return found


def test_a_run_for_each_pingu(game):
    """`by_pingu` says of one Pingu what the query says of all, and who it is."""
    fault, events = game
    rows = list(log_by_key.by_pingu(events))
    bashing = by_key("bashing.pipe", rows)
    assert [name for name, fine in bashing.items() if not fine] == (
        [2] if fault in ("blocks", "vanishes", "endless") else []
    )
    there = by_key("spontaneous.pipe", [row[:2] for row in rows])
    assert all(there.values()) == (pingus_trace.first_appears(events) is None) == (fault != "appears")


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_runs_for_each_pingu_and_queries_agree_on_all_short_games(length):
    """Of one Pingu in up to four events, every game: it can do anything, go and come again."""
    for story in itertools.product(("WALKER", "BASHER", "BLOCKER", None), repeat=length):
        rows = list(log_by_key.by_pingu([{1: (each,)} if each else {} for each in story]))
        for form, of, own in (("bashing", lambda does: does, rows), ("spontaneous", bool, [row[:2] for row in rows])):
            executor = running(f"{form}.pipe", form)
            executor.reset()
            said = executor.run([FrozenMap({1: of(does)} if does else {}) for does in story])
            query = all(value for stream in said.values() for value in stream)
            assert all(by_key(f"{form}.pipe", own).values()) == query, (form, story)
