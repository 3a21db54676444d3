"""Variables of machines that stay in their ranges: because of guards, or as an obligation."""

import pytest

import workbench as wb
from tests.processors.common import machined, stepped
from workbench.conformance.compare.differential import check as compare
from workbench.conformance.compare.executables import Denoting, Running
from workbench.conformance.compare.models import Evaluated, Simulated
from workbench.errors import Overflow, TypingError
from workbench.executors.compiled.execute.executor import Compiled
from workbench.language import load, parse
from workbench.show.timeline import timeline
from workbench.verify.answer.problem import check, problems
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.verdict import Outcome

MACHINE = """
function up(v) = if v < 3 then v + 1 else 0
machine m(x: 0..2, b: bool) -> int {{
    var n: 0..3 = 0
    var p: (0..3, bool) = (0, false)
    state s: n
    state t: n
    {}
}}
"""
PROVED = {
    "guard": "s -> s when n < 3 / n := n + 1",
    "the update in the guard": "s -> s when n + 1 <= 3 / n := n + 1",
    "another variable": "s -> s when n >= x / n := n - x",
    "its order": "s -> s when x + n < 4 / n := n + x",
    "not equal": "s -> s when n != 0 / n := n - 1",
    "both": "s -> s when b and n > 1 / n := n - 2",
    "the negation above": "s -> t when n = 3  s -> s / n := n + 1",
    "two negations": "s -> t when n = 3 or b  s -> t when n = 0  s -> s when x < 2 / n := n + 1  s -> s / n := n - 1",
    "if": "s -> s / n := if n < 3 then n + 1 else n",
    "a function": "s -> s / n := up(n)",
    "min": "s -> s / n := min(n + x, 3)",
    "absolute": "s -> s / n := abs(n - 3)",
    "a field": "s -> s when p.0 < 3 / p := (p.0 + 1, b)",
    "not both": "s -> t when b and n = 3  s -> s when b / n := n + 1",
    "never taken": "s -> s when n < 0 / n := n - 1",
}
OBLIGED = {
    "no guard": "s -> s / n := n + 1",
    "another state's": "t -> s when n = 3  s -> s / n := n + 1",
    "the transition below": "s -> s / n := n + 1",
    "the wrong way": "s -> s when n > 0 / n := n + 1",
    "not this negation": "s -> t when n = 3 and b  s -> s / n := n + 1",
    "a field": "s -> s / p := (p.0 + 1, b)",
    "all that is known": "s -> t when n != 3  s -> s / n := n + 1",
}


@pytest.mark.parametrize("transitions", PROVED.values(), ids=PROVED)
def test_guards_show_it(transitions):
    loaded = parse(MACHINE.format(transitions)).get()
    assert not loaded.obligations
    (ready,) = loaded.pipeline.typed.values()
    streams = ([0, 1, 2, 2, 1, 0, 1], [False, True, False, False, True, True, False])
    inputs = [domain for _, domain in loaded.pipeline.inputs]
    assert stepped(ready, streams) == machined(ready, inputs, streams) == ready.denote(streams)


@pytest.mark.parametrize("transitions", OBLIGED.values(), ids=OBLIGED)
def test_else_it_is_an_obligation(transitions):
    assert [str(each) for each in parse(MACHINE.format(transitions)).get().obligations] == ["stays-in-range"]


def test_it_is_asked_once():
    text = MACHINE.format(OBLIGED["no guard"])
    assert parse(text + "check stays-in-range").get().obligations == ()
    assert [each.text for each in problems(parse(text))] == ["stays-in-range"]
    assert [each.text for each in problems(parse(text), more=["stays-in-range"])] == ["stays-in-range"]


@pytest.mark.parametrize("inner", ["m(x, b)", "window(x, b, 2, m)", "slice(x, b, first, m)", "call(x, b)"])
def test_wherever_the_machine_is(inner):
    text = f"""
    {MACHINE.format(OBLIGED["no guard"])}
    function first(x, b) = x
    pipeline call(x: 0..2, b: bool) -> int {{ return m(x, b) }}
    pipeline all(x: 0..2, b: bool) -> any {{ return {inner} }}
    """
    assert parse(text).get("all").obligations


COUNT = """
machine count(e: bool) -> 0..3 {
    var n: 0..3 = 0
    state s: n
    s -> s when e / n := n + 1
}
check always (out < 3)
check always (out < 4)
check liveness
"""
TRUE = {"e": True}


@pytest.mark.parametrize("other", [Denoting, Evaluated, Simulated])
def test_a_run_ends_where_a_number_leaves_its_range(other):
    pipeline = parse(COUNT).get().pipeline
    compare(pipeline, [TRUE, TRUE, {"e": False}, TRUE, TRUE], Running(pipeline), other(pipeline))
    with pytest.raises(Overflow, match=r"step 3: .* the transition s -> s: 'n' of 0\.\.3 gets 4") as caught:
        list(Running(pipeline).trace([TRUE] * 4))
    assert caught.value.where.line == 5


@pytest.mark.parametrize(
    ("use", "name"), [("", "n"), ("pipeline call(e: bool) -> any { c = count(e)\n return c }\n", "c.n")]
)
def test_a_counterexample_shows_the_variable(use, name):
    text = COUNT.partition("check")[0].replace("s -> s when e / n := n + 1", "s -> s / n := n + 1")
    pipeline = parse(text + use).get("call" if use else None).pipeline
    run = check(pipeline, wb.properties.stays_in_range()).counterexample
    assert run is not None
    assert [step.variables for step in run.steps] == [{name: n} for n in (1, 2, 3, 3)]
    assert [step["variables"] for step in run.to_json()["steps"]] == [{name: n} for n in (1, 2, 3, 3)]
    (row,) = (row for row in timeline(run, pipeline).rows if row.kind == "var")
    assert (row.name, row.cells) == (name, ("1", "2", "3", "3"))


def test_compiled_code_says_the_same():
    running = Compiled(parse(COUNT).get().pipeline, machine=False)
    for _ in range(3):
        running.step(TRUE)
    with pytest.raises(Overflow, match=r"step 3: processor 'machine': 'n' of 0\.\.3 gets 4"):
        running.step(TRUE)
    text = MACHINE.format("s -> s when b / p := (p.0 - 1, b), n := n + 1  s -> s / p := (p.0 + 2, b)")
    running = Compiled(parse(text).get().pipeline, machine=False)
    running.step({"x": 0, "b": False})
    with pytest.raises(Overflow, match=r"'p\.0' of 0\.\.3 gets 4"):
        running.step({"x": 0, "b": False})


def test_a_result_may_leave_its_range():
    text = COUNT.replace("state s: n", "state s: n - 1").replace("0..3 {", "0..2 {")
    pipeline = parse(text).get().pipeline
    with pytest.raises(Overflow, match=r"state s of 0\.\.2 emits -1"):
        list(Running(pipeline).trace([{"e": False}]))


def test_what_leaves_its_range_may_come_from_the_fields_of_a_record():
    text = """
    function add(e, n) = n + e.a
    machine sum(e: {a: 0..3, b: bool}) -> 0..5 { var n: 0..5 = 0  state s: n  s -> s / n := add(e, n) }
    """
    steps = [{"e": (3, True)}] * 2
    with pytest.raises(Overflow, match=r"'n' of 0\.\.5 gets 6"):
        list(Running(parse(text).get().pipeline).trace(steps))


@pytest.mark.parametrize("engine", ["pynusmv", "explicit", "bmc"])
def test_a_counterexample_is_shown(engine):
    verdict = check(parse(COUNT).get(), "stays-in-range", Settings(engine=engine))
    assert verdict.outcome is Outcome.FAILS
    run = verdict.counterexample
    assert [step.pipes["e"] for step in run.steps] == [True] * 4
    assert run.shows == "a number leaves its range: the transition s -> s: 'n' of 0..3 gets 4"
    assert run.replay == "confirmed by execution"


def test_other_properties_rest_on_it():
    below, within, live, obligation = [each.decide() for each in problems(parse(COUNT).get())]
    assert (below.outcome, obligation.outcome) == (Outcome.FAILS, Outcome.FAILS)
    for each in within, live:
        assert each.outcome is Outcome.WITHIN_BOUNDS
        assert "a number leaves its range on some input; the verdict covers nothing after that" in each.rests_on
    guarded = parse(COUNT.replace("when e /", "when e and n + 1 <= 2 /")).get()
    assert [str(each.decide().outcome) for each in problems(guarded)] == ["holds"] * 3


@pytest.mark.parametrize("text", ["always (true)", "always (out = out)", "never(false)", "can(true)", "ctl(AG true)"])
def test_what_is_true_by_construction_does_not_ask_about_ranges(text):
    assert check(parse(COUNT).get(), text).outcome in (Outcome.HOLDS, Outcome.WITHIN_BOUNDS)


def test_nothing_is_shown_behind_a_number_that_leaves_its_range():
    """n becomes 4 at the fourth event: the run ends there, and a window of 4 emits nothing."""
    text = """
    machine dies(e: {go}) -> bool { var n: 0..3 = 0  state on: true  on -> on / n := n + 1 }
    pipeline full(e: {go}) -> bool { return window(dies(e), 4, cumulate(and)) }
    """
    running = Running(parse(text).get("full").pipeline)
    with pytest.raises(Overflow):
        list(running.trace([{"e": "go"}] * 4))
    for width, outcomes in ((4, (Outcome.UNKNOWN, Outcome.WITHIN_BOUNDS)), (3, (Outcome.HOLDS, Outcome.FAILS))):
        program = parse(text.replace(", 4,", f", {width},")).get("full")
        assert tuple(check(program, each).outcome for each in ("can(out)", "never(out)")) == outcomes


BUCKET = """
machine bucket<size = 3>(e: {kind: {tick, request}, cost: 1..2}) -> bool {
    var tokens: 0..size = size
    state granted: true
    state denied: false
    granted -> granted when e.kind = tick and tokens < size / tokens := tokens + 1
    granted -> granted when e.kind = tick
    granted -> granted when tokens >= e.cost / tokens := tokens - e.cost
    granted -> denied
    denied -> granted when e.kind = tick and tokens < size / tokens := tokens + 1
    denied -> granted when e.kind = tick
    denied -> granted when tokens >= e.cost / tokens := tokens - e.cost
}
check always (e.kind = tick -> out)
"""
DEBOUNCER = """
machine debounce(raw: bool) -> bool {
    var count: 0..3 = 0
    state low: false
    state high: true
    low -> high when raw and count = 2 / count := 0
    low -> low when raw / count := count + 1
    low -> low / count := 0
    high -> low when not raw and count = 2 / count := 0
    high -> high when not raw / count := count + 1
    high -> high / count := 0
}
check liveness
"""
LOCK = """
machine lock(key: {right, wrong}) -> bool {
    var failed: 0..3 = 0
    state closed: false
    state opened: true
    state blocked: false
    closed -> opened when key = right / failed := 0
    closed -> blocked when failed + 1 >= 3 / failed := failed + 1
    closed -> closed / failed := failed + 1
    opened -> closed
}
check liveness
"""
TEXTBOOK = [
    (BUCKET, [("request", 2), ("request", 2), ("tick", 1), ("request", 2), ("tick", 1)], "TFTTT", []),
    (DEBOUNCER, [True, True, False, True, True, True, False, False, False], "FFFFFTTTF", ["stays-in-range"]),
    (LOCK, ["wrong", "right", "wrong", "wrong", "wrong", "wrong", "right"], "FTFFFFF", ["stays-in-range"]),
]


@pytest.mark.parametrize(("text", "events", "expected", "obligations"), TEXTBOOK)
def test_programs_as_in_a_textbook(text, events, expected, obligations):
    loaded = parse(text).get()
    assert loaded.pipeline.denote([events]) == ([letter == "T" for letter in expected],)
    assert [str(each) for each in loaded.obligations] == obligations
    assert {each.text: str(each.decide().outcome) for each in problems(loaded)} == dict.fromkeys(
        [str(each) for each in (*loaded.checks, *loaded.obligations)], "holds"
    )


def test_a_model_proves_it():
    """In `closed` there are at most two failures: that is no matter of types, nor of the guards there."""
    live, obligation = [each.decide() for each in problems(parse(LOCK).get())]
    assert obligation.outcome is Outcome.HOLDS
    assert "no number leaves its range on any run (stays-in-range)" in live.rests_on
    assert "range" not in " ".join(obligation.rests_on)


@pytest.mark.parametrize(("text", "outcome"), [("x", Outcome.FAILS), ("if x < 4 then x else 0", Outcome.HOLDS)])
def test_what_leaves_its_range_may_be_an_input(text, outcome):
    """Whether it does depends on no variable, and the model has the variable all the same."""
    machine = "machine keep(x: int) -> 0..3 {{ var n: 0..3 = 0  state s: n  s -> s when x > 6 / n := {} }}"
    loaded = parse(machine.format(text)).get()
    verdict = check(loaded, "stays-in-range", Settings(n=8))
    assert verdict.outcome is outcome
    if verdict.counterexample:
        assert verdict.counterexample.replay == "confirmed by execution"
        assert verdict.counterexample.shows.endswith("the transition s -> s: 'n' of 0..3 gets 7")


@pytest.mark.parametrize(("back", "outcome"), [("n - 1", Outcome.WITHIN_BOUNDS), ("n", Outcome.FAILS)])
def test_queues_may_overflow_first(back, outcome):
    """What a model knows of numbers behind a queue it knows until that overflows."""
    text = f"""
    machine swing(x: bool, y: bool) -> int {{
        var n: 0..1 = 0
        state s: n
        state t: n
        s -> t when x and y / n := n + 1
        t -> s when x / n := {back}
    }}
    pipeline p(x: bool, y: bool) -> int {{ return swing(trim(x, 1), y) }}
    """
    verdict = check(parse(text).get("p"), "stays-in-range", Settings(q=2))
    assert verdict.outcome is outcome
    assert verdict.run.replay == "confirmed by execution"
    assert any("a queue overflows on some input" in ground for ground in verdict.rests_on)


def test_what_it_is_not_for():
    with pytest.raises(TypingError, match=r"state s emits 4\.\.7, not 0\.\.3"):
        parse(COUNT.replace("state s: n", "state s: n + 4")).get()
    assert load("models/time2021/sum_of_odds.pipe:squares").obligations == ()


def test_a_number_that_leaves_its_range_says_what_helps() -> None:
    text = "machine m(x: 0..9) -> 0..{} {{ var n: 0..{} = 0\n state a: n\n a -> a when {} / n := n + x }}"
    wrong, guarded, larger = (
        wb.parse(text.format(most, most, guard)).get()
        for most, guard in ((20, "x > 3"), (20, "x > 3 and n < 12"), (30, "x > 3 and n < 22"))
    )
    for prop in ("stays-in-range", "never(out = 3)"):
        hint = "a bound where the number is computed, as in min(n + x, 20), a condition (when, if), or a larger range"
        assert wb.check(wrong, prop).advice == (hint,)
        for mended in (guarded, larger):
            verdict = wb.check(mended, prop)
            assert (verdict.outcome, verdict.advice) == ("holds", ())


def test_the_bound_is_the_one_that_is_passed() -> None:
    program = wb.parse(
        "machine m(x: bool) -> 0..8 { var n: 0..8 = 8\n state a: n\n a -> a when x and n >= 2 / n := n - 3 }"
    ).get()
    verdict = wb.check(program, "stays-in-range")
    assert verdict.counterexample.shows.endswith("'n' of 0..8 gets -1")
    assert "as in max(n - 3, 0)," in verdict.advice[0]
    with pytest.raises(Overflow) as caught:
        wb.run(program, {"x": [True, True, True]}, backend="reference")
    assert "as in max(n - 3, 0)," in caught.value.hint
