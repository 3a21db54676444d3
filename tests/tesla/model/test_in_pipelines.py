"""Rules in a pipeline: their model does what they do there, held to the pipeline as it runs, time and all."""

import random
from pathlib import Path

import pytest

import workbench as wb
from tests.examples import scaled
from tests.tesla.model.test_machine import same_steps
from tests.tesla.rule_pipelines import INTEGERS, random_rule_pipeline
from workbench.conformance.written_tests.counterexamples import to_test
from workbench.core.domain import BOOL, Enum, Range, Unknown
from workbench.core.fields import Record
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import events_of
from workbench.core.units import ELAPSED
from workbench.errors import DomainError, InputError, Refused
from workbench.executors.reference.executor import Reference
from workbench.ir.compose import outline
from workbench.ir.simulate import Simulator
from workbench.tesla.model.build import RuleBounds
from workbench.tesla.model.encoding import ticks_of
from workbench.tesla.model.paced_inputs import PacedInputs
from workbench.tesla.model.pipeline_models import model_pipelines
from workbench.tesla.model.rates import EventRate, RuleRate
from workbench.tesla.model.rules_in_pipeline import RulesInPipeline
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.environment import Environment
from workbench.verify.monitor.monitor import monitor

RULES = """declare Temp(value: int)
declare Smoke(area: string, density: float)
declare Fire(area: string, value: int, told: int)
declare Mean(value: float)
rule fire: from Smoke(density > 0.2) and last Temp(value > 2) as Hot within 2 min from Smoke
emit Fire(area = Smoke.area, value = Hot.value, told = TIME(Smoke))
rule mean: from Smoke and $m = AVG(Temp.value within 2 min from Smoke) emit Mean(value = $m)
"""
INPUTS = "temp: int, smoke: {area: str, density: float}"


MINUTE = 60 * 10**6


@pytest.fixture
def pipe(tmp_path):
    """Makes a pipeline of a body, in which `found` is what the rules emit."""

    def made(body, inputs=INPUTS, outputs="any", rules=RULES):
        (tmp_path / "fire.tesla").write_text(rules)
        text = f'pipeline p({inputs}) -> {outputs} {{ found = rules("fire.tesla", temp, smoke) {body} }}'
        (tmp_path / "p.pipe").write_text(text)
        return wb.load(tmp_path / "p.pipe")

    return made


def test_models_of_random_pipelines_with_rules_do_what_the_pipelines_do():
    """Several events at a step, on any inputs: the machine, the model as it runs, and the pipeline with its time."""
    compared = emitting = 0
    for seed in range(scaled(14, 45)):
        chosen = random.Random(seed)
        pipeline = random_rule_pipeline(seed)
        try:
            (model,) = model_pipelines(
                [pipeline], INTEGERS, RuleBounds(capacity=chosen.choice([1, 2])), still=seed % 2 == 0
            )
        except Refused:
            continue
        system, running = outline(model, {}), pipeline.resolve(INTEGERS)
        for _ in range(2):
            inputs = [
                {name: chosen.choice(list(domain.values())) for name, domain in model.inputs if chosen.random() < 0.5}
                for _ in range(9)
            ]
            count = same_steps(model, system, inputs)
            compared += count
            emitting += same_outputs(model, running, inputs[:count])
    assert compared > scaled(45, 250)
    assert emitting > scaled(3, 25)


def same_outputs(model, pipeline, inputs):
    """At how many steps both emit something, and the same but for what a model does not have."""
    (tick,) = {node.processor.tick for node in model.nodes if isinstance(node.processor, RulesInPipeline)}
    modelled, running = Reference(model, {}), Reference(pipeline, {})
    now = emitting = 0
    for events in inputs:
        now += ticks_of(events.get(ELAPSED, 0)) * tick
        ours = modelled.step(events)
        theirs = running.step({**{name: value for name, value in events.items() if name != ELAPSED}, "time": now})
        for pipe, domain in pipeline.domains.items():
            if pipe != "time":
                found = [known(value, domain, model.domains[pipe]) for value in carried(theirs.pipes[pipe])]
                assert [fitted(value, domain, model.domains[pipe]) for value in carried(ours.pipes[pipe])] == found
        emitting += any(carried(theirs.pipes[pipe]) for _, pipe in pipeline.outputs)
    return emitting


def carried(pipe):
    found = events_of(pipe)
    return list(found[0]) if len(found) == 1 and isinstance(found[0], list) else list(found)


def known(value, domain, modelled):
    """What a model has of an event: no times, and nothing that may be null; texts and fractions by name."""
    if not isinstance(domain, Record) or not isinstance(modelled, Record):
        return value
    parts = zip(value, modelled.fields, strict=True)
    return tuple(
        "unknown" if isinstance(part, Unknown) else str(each) if isinstance(part, Enum) else each
        for each, part in parts
    )


def fitted(value, domain, modelled):
    """The numbers of a model that are beyond `int` are exact, where the pipeline's are not."""
    if not isinstance(domain, Record) or not isinstance(modelled, Record):
        return value
    assert modelled.labels == domain.labels
    parts = zip(value, modelled.fields, domain.fields, strict=True)
    return tuple(each if isinstance(part, Enum) else own.fit(each) for each, part, own in parts)


def test_verdicts_rest_on_what_they_say(pipe):
    """The values of inputs that only rules read are what these compare them with; a run of one step shows a fire."""
    verdict = wb.check(pipe("return found.Fire"), "can(out)", Settings(n=5))
    assert str(verdict.outcome) == "holds"
    (step,) = verdict.counterexample.steps
    assert step.inputs["temp"] in (3, 4)
    assert float(step.inputs["smoke"][1]) > 0.2
    assert verdict.counterexample.replay == "confirmed by execution"
    assert "times are multiples of 2 min, and pauses of more than 2 of them count as 2" in verdict.rests_on
    assert verdict.n == 5
    never = Settings(n=5, rules=RuleBounds(values={("temp", ""): [0, 1, 2]}))
    assert str(wb.check(pipe("return found.Fire"), "never(out)", never).outcome) == "holds-within-bounds"


def test_queues_behind_rules_are_bounded_only_where_columns_have_room_for_all(pipe):
    """Means keep all temperatures; without them the newest is enough, and the queues of a sum grow for ever."""
    body = "return found.Fire.value + temp"
    with pytest.raises(Refused, match="may retain more events than fit"):
        wb.buffers(pipe(body), Settings(n=5))
    newest = wb.buffers(pipe(body, rules=RULES.partition("rule mean")[0].replace("declare Mean(value: float)\n", "")))
    assert [str(each.status) for each in newest.queues] == ["unbounded", "unbounded"]


def test_runs_are_written_as_tests_of_the_pipeline_itself(pipe):
    """With times where it has ticks, and fractions that it has by name."""
    loaded = pipe("return found.Fire")
    verdict = wb.check(loaded, "can(out)", Settings(n=5))
    names: dict = {"__file__": str(Path.cwd() / "test_it.py")}
    exec(to_test([verdict]), names)
    next(each for name, each in names.items() if name.startswith("test_shows_that_can"))()


def test_inputs_that_are_synchronised_bring_time_that_may_stand_still(pipe):
    """Then `elapsed` may be 0, so that two steps have the same time."""
    settings = Settings(n=5, environment=Environment("synchronised"))
    (model,) = settings.over(pipe("return found.Fire"))
    assert list(dict(model.inputs)[ELAPSED].values()) == [0, 1, 2]
    verdict = wb.check(pipe("return found.Fire"), "can(out)", settings)
    assert set(verdict.counterexample.steps[0].inputs) == {"temp", "smoke", ELAPSED}


def test_how_many_ticks_pass_in_a_step_is_said_where_that_is_not_any_number(pipe):
    waits = "declare Late(x: int)\nfrom Temp as Now and absent Smoke within 2 min after Now emit Late(x = 1)"
    texts = {waits: "one of which passes in a step at most", "": "1, 2, 4, 8, 16, 21 of them pass in a step"}
    for rules, said in texts.items():
        rested = Settings(n=5, rules=RuleBounds(tick=6 * 10**6))
        (model,) = rested.over(pipe("return found.Mean", rules=RULES + rules))
        (processor,) = (node.processor for node in model.nodes if isinstance(node.processor, RulesInPipeline))
        assert said in processor.assumes[0]


@pytest.mark.slow
def test_pipelines_are_told_apart_by_the_shortest_run(pipe):
    """One more is another value; means keep all temperatures, so that nothing is said beyond the room for them."""
    once = pipe("return found.Fire.value").pipeline
    again = pipe("x = found.Fire.value return x + 1").pipeline
    verdict = wb.equiv(once, again, "stepwise", Settings(n=5))
    assert str(verdict.outcome) == "fails"
    assert len(verdict.counterexample.steps) == 1
    assert str(wb.equiv(once, once, "stepwise", Settings(n=5)).outcome) == "holds-within-bounds"


COUNTS = """declare Temp(value: int) declare Smoke(area: string, density: float) declare Fire(value: int)
from Temp and $n = COUNT(Temp within 2 min from Temp) where $n >= 5 emit Fire(value = 1)"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("room", [2, 3])
@pytest.mark.parametrize("mode", ["sequence", "stepwise"])
def test_nothing_is_said_of_what_rules_emit_where_they_have_no_room_to(pipe, room, mode):
    """Five events do not fit where there is room for three: what comes of their count is neither equal nor other."""
    one, other = (pipe(f"return turn(found.Fire, {each})", rules=COUNTS).pipeline for each in (1, 2))
    asked = pipe("return found.Fire.value", rules=COUNTS)
    given = Settings(room)
    found = [wb.equiv(one, other, mode, given), wb.check(asked, "always (out = 2)", given)]
    for verdict in found:
        assert (str(verdict.outcome), verdict.exit_code, verdict.vacuity.bound) == ("unknown", 3, f"Q = {room}")
    roomier = [wb.equiv(one, other, mode), wb.check(asked, "always (out = 2)")]
    assert [(str(each.outcome), len(each.counterexample.steps)) for each in roomier] == [("fails", 6)] * 2


@pytest.mark.parametrize(
    ("body", "change", "message"),
    [
        ("return found.Fire.told + 1", {}, "not values of unknown.*no times"),
        ("return changes(found.Fire)", {}, "=.*no times"),
        ("return value_or(found.Mean.value, 0.0)", {}, "is_null.*nothing that may be null"),
        ("return found.Fire, time + temp", {"inputs": f"time: int, {INPUTS}", "outputs": "any, any"},
         "reads the time of day: a model knows only how much time has passed"),
        ("return found.Fire", {"inputs": f"elapsed: int, {INPUTS}"},
         "an input is called 'elapsed'"),
    ],
)  # fmt: skip
def test_what_has_no_finite_model_is_refused(pipe, body, change, message):
    with pytest.raises(Refused, match=f"(?s){message}"):
        wb.check(pipe(body, **change), "liveness", Settings(n=5))


@pytest.mark.parametrize(("rows", "null"), [([(1, 2), (1, 3), (2, 0)], False), ([(1, 2), (1, None)], True)])
def test_facts_are_those_that_are_given(tmp_path, rows, null):
    """What they have no null of, the model has: the greatest line is 3."""
    (tmp_path / "lines.tesla").write_text(
        "declare Late(bus: int) declare fact Runs(bus: int, line: int) declare Notice(line: int)\n"
        "from Late and each Runs(bus == Late.bus) ordered by line asc emit Notice(line = Runs.line)"
    )
    text = 'pipeline p(late: int) -> int { return value_or(rules("lines.tesla", late).Notice.line, 0) }'
    (tmp_path / "p.pipe").write_text(text)
    settings = Settings(n=4, rules=RuleBounds(facts={"Runs": rows}))
    if null:
        with pytest.raises(Refused, match="nothing that may be null"):
            wb.check(tmp_path / "p.pipe", "can(out)", settings)
    else:
        found = [wb.check(tmp_path / "p.pipe", f"never(out > {most})", settings).outcome for most in (3, 2)]
        assert list(map(str, found)) == ["holds", "fails"]


def test_values_that_a_model_lacks_are_told(pipe):
    with pytest.raises(DomainError, match=r"names 2, which int mod 2 does not have\n  hint: .*-N 4"):
        wb.check(pipe("return found.Fire"), "can(out)", Settings(n=2))
    with pytest.raises(InputError, match=r"no input is 'tmp'\n.*temp"):
        wb.check(pipe("return found.Fire"), "liveness", Settings(n=5, rules=RuleBounds(values={("tmp", ""): [1]})))


TWICE = """declare Temp(value: int) declare Smoke(area: string, density: float) declare Twice()
from Smoke and $n = COUNT(Temp within 2 min from Smoke) where $n > 1 emit Twice()"""


def rated(**rates):
    return Settings(
        rules=RuleBounds(rates={name: RuleRate(each[0], each[1], united=True) for name, each in rates.items()})
    )


@pytest.mark.parametrize(
    ("most", "minutes", "come"), [(1, 3, "fails"), (1, 2, "holds"), (2, 5, "holds"), (None, 0, "holds")]
)
def test_rates_are_assumed_of_inputs(pipe, most, minutes, come):
    """Two within two minutes, both ends counted: three minutes apart there are none, two apart there are."""
    settings = rated(**({"temp": (most, minutes * MINUTE)} if most else {}))
    verdict = wb.check(pipe("return found.Twice", rules=TWICE), "can(out)", settings)
    assert str(verdict.outcome) == come
    assert any(each.startswith(f"at most {most} temp come in any") for each in verdict.rests_on) == bool(most)
    if verdict.counterexample:
        assert verdict.counterexample.replay == "confirmed by execution"


def test_columns_of_inputs_have_the_room_that_rates_need(pipe):
    """At most two in any two minutes: four in a window of two; without a rate a column is full some day."""
    each = TWICE.replace("$n = COUNT(Temp within 2 min from Smoke) where $n > 1", "each Temp within 2 min from Smoke")
    found = pipe("return found.Twice", rules=each)
    assert str(wb.check(found, "no-overflow", rated(temp=(2, 2 * MINUTE))).outcome) == "holds"
    assert str(wb.check(found, "no-overflow").outcome) == "fails"


@pytest.mark.parametrize("seed", range(12))
def test_what_comes_keeps_the_rates_and_whatever_keeps_them_comes(seed):
    """Held to counting the events of each stretch, on random runs in which events and time come at the same steps."""
    chosen, rates = random.Random(seed), {"a": (1, 3), "b": (2, 4)}
    domains = [Range(1, 5), BOOL, BOOL]
    paced = PacedInputs({name: EventRate(*each) for name, each in rates.items()})
    node = Node("paced", paced, ("elapsed", "a", "b"), ())
    pipeline = Pipeline("p", tuple(zip(("elapsed", "a", "b"), domains, strict=True)), (node,), (("a", "a"),))
    system = outline(pipeline, {})
    simulator = Simulator(system, system.assumptions)
    now, came = 0, {"a": [], "b": []}
    for _ in range(60):
        step = {"elapsed": chosen.randint(1, 5)} if chosen.random() < 0.6 else {}
        now += step.get("elapsed", 0)
        may = {name: sum(t > now - ticks for t in came[name]) < most for name, (most, ticks) in rates.items()}
        wanted = {name for name in rates if chosen.random() < 0.5}
        asked = {name for name in wanted if may[name]} if chosen.random() < 0.7 else wanted
        kept = all(simulator.step({**step, **dict.fromkeys(asked, True)}).labels)
        assert kept == all(may[name] for name in asked)
        if not kept:
            break
        for name in asked:
            came[name].append(now)


@pytest.mark.parametrize(
    ("period", "elapsed", "outcome"),
    [(3, "1", "holds"), (2, "1", "fails"), (3, "n = 0 ? 0 : 1", "fails"), (9, "0", "fails")],
)
def test_rules_watch_a_system_that_says_how_much_time_passes(pipe, tmp_path, period, elapsed, outcome):
    """A Temp in every so many steps: of two within two minutes, both ends counted, none is three steps of one away."""
    rules = TWICE.replace("Smoke(area: string, density: float)", "Smoke(on: bool)")
    found = pipe("return found.Twice", inputs="temp: int, smoke: bool", rules=rules)
    (tmp_path / "clock.smv").write_text(
        f"MODULE main\nVAR n : 0..{period - 1};\nASSIGN init(n) := 0; next(n) := (n + 1) mod {period};\n"
    )
    bound = {"temp": "0", "smoke": "TRUE", "elapsed": elapsed}
    settings = Settings(rules=RuleBounds(tick=MINUTE))
    verdict = monitor(
        str(tmp_path / "clock.smv"), found, "never(out)", bind=bound, when={"temp": "n = 0"}, settings=settings
    )
    assert str(verdict.outcome) == outcome
    if verdict.counterexample:
        assert verdict.counterexample.replay.startswith("confirmed by execution")
    with pytest.raises(InputError, match="need the time"):
        monitor(str(tmp_path / "clock.smv"), found, bind={"temp": "0", "smoke": "TRUE"})
