"""Every command on each form of the six queries: it works, or says why not and what to do."""

import json
import random
from pathlib import Path

import pytest

import workbench as wb
from workbench.cli.main import main
from workbench.core.domain import BOOL, FLOAT, STR, Enum, Integer, ModelScope, SomeFloats, SomeTexts
from workbench.core.fields import FrozenMap, Map
from workbench.executors.reference.executor import Reference
from workbench.ir.compose import compose
from workbench.ir.simulate import Simulator

MODELS = Path(__file__).parents[2] / "models" / "crv2016"
FORMS: dict[str, dict[str, int | None]] = {
    "auction:auctions": {}, "candidates:chosen": {}, "candidates:naive": {}, "sql:verdict": {},
    "sql:culprit": dict.fromkeys(("apply.left", "apply.right", "filter.data", "filter.condition"), 0),
    "spontaneous:spontaneous": {"fine.left": 1, "fine.right": 0}, "bashing:bashing": {"fine.left": 1, "fine.right": 0},
    "bashing:naive": {"forall.pending": None}, "turn_around:naive": {"forall.left": 1, "forall.right": 0},
    "turn_around:turn_around": {"forall.first": 1, "forall.second": 0, "forall.third": 1},
}  # fmt: skip
"""The forms, with the capacities of their queues: an event waits for what comes one event later, by `trim`."""
SMALL = ["-N", "2", "--values", "float=-1..1", "--timeout", "60"]


def told(capsys, *words):
    code = main(list(map(str, words)))
    said = capsys.readouterr()
    return code, said.out, said.err


def path(form):
    file, _, name = form.partition(":")
    return f"{MODELS / file}.pipe:{name}"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("form", FORMS)
def test_buffers(form, capsys):
    code, out, err = told(capsys, "buffers", path(form), *SMALL, "--json", "--quiet")  # no progress on a slow machine
    assert (code, err) == (int(form == "bashing:naive"), "")
    found = json.loads(out)
    capacities = {each["queue"]: each["capacity"] for each in found["queues"]}
    assert sorted(map(str, capacities.values())) == sorted(map(str, FORMS[form].values()))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("words", [["check", "-Q", "1", "--quiet"], ["export"]], ids=["check", "export"])
def test_models(form, words, capsys):
    command, *rest = words
    code, out, err = told(capsys, command, path(form), "-p", "no-overflow", *rest, *SMALL)
    if form == "bashing:naive":  # whose positions wait for as long as somebody bashes
        assert code == 2
        assert "nothing bounds how many positions wait; write forall(..., pending = 4)" in err
        code, out, err = told(capsys, command, path(form), "-p", "no-overflow", *rest, *SMALL, "-Q", "forall.pending=1")
        assert (code, err) == (int(command == "check"), "")
        assert ("✗ fails  no-overflow" if command == "check" else "MODULE main") in out
    else:
        assert (code, err) == (0, "")
        assert ("✓ holds  no-overflow" if command == "check" else "MODULE main") in out


@pytest.mark.sampled(8)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("words", [["draw"], ["analyse", "--only", "order,states", *SMALL]], ids=["draw", "analyse"])
def test_what_says_something_of_all_of_them(form, words, capsys):
    command, *rest = words
    code, out, err = told(capsys, command, path(form), *rest)
    assert (code, err) == (0, "")
    assert ("digraph" if command == "draw" else "there is one input: nothing to interleave") in out


def test_floats_want_values(capsys):
    for command in ("check", "buffers", "export", "analyse", "monitor"):
        system = ["smv/systems/token_ring.smv"] if command == "monitor" else []
        code, _, err = told(capsys, command, *system, path("turn_around:naive"))
        assert code == 2
        assert "list the whole numbers that a float may be: --values float=0..6" in err


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        (
            "auction:auction",
            [
                "new is followed by low, wrong, new (itself)",
                "low is followed by reached, closed, wrong, low (itself)",
                "reached is followed by closed, wrong, reached (itself)",
                "closed is followed by wrong, closed (itself)",
                "wrong is followed by wrong (itself), for ever",
            ],
        ),
        (
            "sql:untainted",
            ["fine is followed by wrong, fine (itself)", "wrong is followed by wrong (itself), for ever"],
        ),
    ],
)
def test_what_may_follow_what(form, lines, capsys):
    """As the text of the machines says: no transition of theirs is idle, and only `wrong` is final."""
    code, out, _ = told(capsys, "analyse", path(form), "--only", "states", "--quiet", "-N", "3")
    assert (code, out.splitlines()) == (0, ["states  (Q = 2, N = 3)", *(f"    machine: {line}" for line in lines)])


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "file",
    ["auction", "bashing", "candidates", "spontaneous", "sql", pytest.param("turn_around", marks=pytest.mark.slow)],
)
def test_what_the_queries_ask_of_themselves(file):
    settings = wb.Settings(n=2, floats=(-1, 1))
    asked = [each for each in wb.problems(MODELS / f"{file}.pipe", settings) if "equivalent" not in each.text]
    assert len(asked) >= 2
    assert {each.text: str(each.decide().outcome) for each in asked} == {each.text: "holds" for each in asked}


def test_what_a_verdict_on_texts_rests_on():
    culprit = wb.read_file(MODELS / "sql.pipe").get("culprit")
    verdict = wb.check(culprit, 'never(out != "")', wb.Settings(n=2))
    assert (str(verdict.outcome), verdict.for_every_n) == ("fails", False)
    assert "str is one of a, b, the empty text: this shows nothing about more texts" in verdict.rests_on
    assert verdict.counterexample.replay == "confirmed by execution"
    assert wb.check(culprit, "no-overflow", wb.Settings(texts=("x",))).for_every_n


@pytest.mark.parametrize("body", ["x != 5", "x != 0.5", "x + x != 9.0", "x < 2.5"])
def test_what_floats_of_a_model_are_not_is_not_known(body):
    """Each holds of the floats of the model and not of all, though the model can do without a look at them."""
    made = wb.parse(f"pipeline p(x: float) -> bool {{ return {body} }}").get().pipeline
    verdict = wb.check(made, "never-false", wb.Settings(floats=(-1, 2)))
    assert (str(verdict.outcome), verdict.for_every_n) == ("holds", False)
    assert "float is a whole number from -1 to 2: this shows nothing about others" in verdict.rests_on


@pytest.mark.parametrize("body", ['turn(x, "q")', 'cumulate(x, later, "q")', 'insert(x, "q")'])
def test_texts_that_processors_name_are_texts_of_the_model(body):
    text = f'function later(a, b) = if b = "a" then a else b\npipeline p(x: str) -> str {{ return {body} }}'
    verdict = wb.check(wb.parse(text).get().pipeline, 'always (out != "q")', wb.Settings(n=2))
    assert str(verdict.outcome) == "fails"
    assert verdict.counterexample.replay == "confirmed by execution"


def test_keys_of_maps_that_come_in_are_values():
    """With one Pingu nobody appears beside it; so verdicts are about as many as there are, and say so."""
    spontaneous = wb.read_file(MODELS / "spontaneous.pipe").get("spontaneous")
    two = "always (out or all_values(ids) or not all_values(ids))"
    for n in (1, 2):
        verdict = wb.check(spontaneous, two, wb.Settings(n=n))
        assert not verdict.for_every_n
    examined = wb.examine(wb.check(spontaneous, "never-false", wb.Settings(n=2))).examined
    assert [str(each.finding) for each in examined if each.kind == "every N"] == ["unknown"]


MAPS = """
function size_of(e) = size(e.seen)
function same(a, b) = a = b
pipeline maps(e: {seen: map(str, {far: map(int, bool), at: float}), last: str}) -> int, bool {
    return apply(e, size_of), apply(e, trim(e, 1), same_last)
}
function same_last(a, b) = a.last = b.last and size(a.seen) = size(b.seen)
"""


@pytest.mark.parametrize("seed", range(5))
def test_a_system_whose_input_is_a_map_does_what_the_pipeline_does(seed):
    scope = ModelScope(Integer(2), SomeTexts(("a", "b")), SomeFloats(-1, 1))
    pipeline = wb.parse(MAPS).get("maps").pipeline.resolve(scope)
    (_, domain), chance = pipeline.inputs[0], random.Random(seed)

    def drawn(of):
        if isinstance(of, Map):
            return FrozenMap({key: drawn(of.value) for key in of.key.values() if chance.random() < 0.5})
        return tuple(map(drawn, of.fields)) if hasattr(of, "fields") else chance.choice(list(of.values()))

    simulator, running = Simulator(compose(pipeline, 9)), Reference(pipeline)
    for _ in range(20):
        events = {"e": drawn(domain)} if chance.random() < 0.8 else {}
        shown, record = simulator.step(events), running.step(events)
        assert shown.pipes == {name: m.value if m.present else None for name, m in record.pipes.items()}


@pytest.mark.slow
def test_all_engines_say_the_same_of_maps_that_come_in():
    spontaneous = wb.read_file(MODELS / "spontaneous.pipe").get("spontaneous")
    for asked, outcome in (("never-false", "fails"), ("response", "holds"), ("always (not fine -> not out)", "holds")):
        assert str(wb.check(spontaneous, asked, wb.Settings(n=2, engine="all")).outcome) == outcome


def test_what_stands_for_a_type():
    scope = ModelScope(texts=SomeTexts(("a",)))
    assert [scope.of(each) for each in (STR, FLOAT, BOOL, Enum(("a",)))] == [scope.texts, FLOAT, BOOL, Enum(("a",))]
    assert scope.texts != Enum(("a",))
