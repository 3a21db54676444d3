"""The machine of rules does what the rules do: held to the running engine and to `meaning`, step by step."""

import contextlib
import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples, scaled
from workbench.conformance.compare.executables import Denoting
from workbench.conformance.compare.models import Evaluated, Simulated
from workbench.conformance.generate.rule_cases import random_case
from workbench.core.domain import Overflowing, Value
from workbench.errors import Overflow, PipelineError, Refused
from workbench.executors.reference.executor import Reference
from workbench.ir.compose import outline
from workbench.ir.reduce import escape_in
from workbench.ir.simulate import Simulator
from workbench.tesla.check import load_rules, parse_rules
from workbench.tesla.model.build import RuleBounds, align_types, build_models
from workbench.verify.answer.problem import check, equiv
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.verdict import Outcome
from workbench.verify.ask.environment import Environment
from workbench.verify.rules.problems import rule_problem
from workbench.verify.rules.stream import RuleStream, find_modelled

SETTINGS = Settings({}, environment=Environment("one"), engine="explicit")

DECLARED = """
declare A(x: int)
declare B(x: int, y: int)
declare C(x: int, n: int)
declare D(n: int)
"""
RULES = {
    "each": "from B[$x = x] and each A(x == $x) within 2 from B emit C(x = $x, n = 1)",
    "last": "from B and last A(x > 0) within 1 .. 3 from B emit C(x = A.x, n = B.y) consuming A",
    "first": "from B as Now and first A within 3 from Now and not A(x == 1) between A and Now emit C(x = 0, n = A.x)",
    "chain": "from B and last A within 2 from B and last B(y == A.x) as Before within 2 from A emit C(x = 1, n = 1)",
    "count": "from B and $n = COUNT(A(x == B.x) within 4 from B) where $n > 1 emit C(x = B.x, n = $n)",
    "average": "from B and $m = AVG(A.x within 3 from B) and $k = MAX(A.x within 3 from B) where 2 * $m == $k "
    "emit C(x = $k, n = 0)",
    "silence": "from A as Start and absent B(x == Start.x) within 2 after Start emit C(x = Start.x, n = 0)",
    "pause": "from A emit C(x = A.x, n = 0) at most once in 3 per A.x",
    "times": "from B and last A within 3 from B and last A as Before within 3 from A where TIME(B) - TIME(Before) > 3 "
    "emit C(x = TIME(A) - TIME(Before), n = 0)",
    "order": "from B and each A(x == B.x) within 2 events from B and not A as Other within 2 events from A "
    "emit C(x = A.x, n = 0)",
    "ever": "from B and last A(x == B.x) within forever from B emit C(x = A.x, n = 0)",
    "oldest": "from B and first A(x == B.x) within forever from B and not D within forever from B "
    "emit C(x = A.x, n = 0)",
    "late": "from A and each B(x == A.x) within 1 from A and absent D within 1 after A limit 1 "
    "emit C(x = A.x, n = 0) consuming B",
    "cascade": "from A emit C(x = A.x, n = 1)\n"
    "from C(n < 4) and last C(x == C.x) as Before within 2 from C emit C(x = C.x, n = C.n + Before.n)\n"
    "from C(n > 2) emit D(n = C.n)",
}


NULLS: dict[tuple[str, str], list[Value | None]] = {
    ("A", "x"): [0, None, 2], ("A", "f"): [0.5, None, 1.0], ("B", "x"): [None, 1, 2], ("B", "s"): ["a", None, "null"],
    ("C", "b"): [True, None, False],
}  # fmt: skip
"""Values of the events of random rules, null among them."""


def modelled_rules(text, **bounds):
    (found,) = build_models([parse_rules(DECLARED + text, "found")], RuleBounds(**bounds))
    return found


def test_machines_of_random_rules_do_what_engines_do():
    """Random rules of all kinds: what is emitted, what columns hold, and where bounds are met, at each step."""
    compared = 0
    for seed in range(scaled(25, 70)):
        case, chosen = random_case(seed), random.Random(seed)
        try:
            trex = [0] if case.trex else []
            given = {"F": 2, "G": 1} if seed % 3 == 0 else {}
            changing = ["F"] if seed % 6 == 0 else []
            facts = {} if given else case.facts
            room, values = chosen.choice([1, 2]), NULLS if seed % 2 else {}
            bounds = RuleBounds(
                capacity=room, values=values, facts=facts, any_facts=given, changing=changing, trex=trex
            )
            (model,) = build_models([case.rules], bounds)
            system = outline(model, {})
        except Refused:
            continue
        for _ in range(2):
            first = [(name, domain) for name, domain in model.inputs if name in given]
            inputs = [
                {name: chosen.choice(list(domain.values()))}
                for name, domain in [*chosen.choices(first, k=3 if first else 0), *chosen.choices(model.inputs, k=15)]
            ]
            compared += same_steps(model, system, inputs)
    assert compared > scaled(150, 500)


def same_steps(model, system, inputs):
    """How many steps both make in the same way, up to a bound that both meet."""
    simulator = Simulator(system, [escape_in(system, set(system.names()), Overflowing.CHECKED)])
    running = Reference(model, {})
    for number, events in enumerate(inputs):
        step = simulator.step(events)
        if step.overflows or step.labels[0]:
            with pytest.raises(Overflow) as full:
                running.step(events)
            assert full.value.queue in step.overflows or step.labels[0]
            return number
        record = running.step(events)
        assert {pipe: maybe.value if maybe.present else None for pipe, maybe in record.pipes.items()} == step.pipes
        assert dict(record.queues) == dict(step.queues)
    return len(inputs)


@given(st.integers(0, 2**32))
@examples(12)
def test_models_of_random_rules_do_what_the_rules_mean(seed):
    """Evaluated by Python, and as they are printed simulated by NuSMV: up to a bound that both meet, `meaning`."""
    case, chosen = random_case(seed), random.Random(seed)
    try:
        values, given = NULLS if seed % 2 else {}, {"F": 2} if seed % 3 == 0 else {}
        facts = {name: rows for name, rows in case.facts.items() if name not in given}
        bounds = RuleBounds(capacity=2, values=values, facts=facts, any_facts=given, changing=given)
        (model,) = build_models([case.rules], bounds)
        evaluated = Evaluated(model, {})
    except Refused:
        return
    inputs = [{name: chosen.choice(list(domain.values()))} for name, domain in chosen.choices(model.inputs, k=8)]
    seen = until_full(evaluated, inputs)
    assert until_full(Simulated(model, {}), inputs) == seen
    meant = itertools.islice(Denoting(model).trace(inputs), len(seen))
    assert [each.pipes for each in meant] == [each.pipes for each in seen]


def until_full(executable, inputs):
    """What is seen of a run, up to an overflow."""
    seen = []
    with contextlib.suppress(Overflow):
        for each in executable.trace(inputs):
            seen.append(each)  # those before an overflow, too
    return seen


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", RULES)
def test_whether_rules_can_fire_is_what_all_short_streams_say(name):
    """The shortest stream on which a rule fires is as long as the shortest of all streams, by `meaning`."""
    model = modelled_rules(RULES[name])
    verdict = check(model, "can(C)", SETTINGS)
    shortest = next(
        length
        for length in itertools.count(1)
        if any(says(model, stream) for stream in itertools.product(choices(model), repeat=length))
    )
    assert verdict.outcome is Outcome.HOLDS
    assert len(verdict.counterexample.steps) == shortest
    assert verdict.counterexample.replay == "confirmed by execution"


@given(st.integers(0, 2**32))
@examples(8)
def test_verdicts_on_random_rules_are_what_all_short_streams_say(seed):
    """Whether anything is emitted, and on how short a stream, or nothing on any that is as short.

    Where more matches wait, or events are kept, than the model has room for, it says nothing of longer streams.
    """
    case = random_case(seed)
    try:
        (model,) = build_models([replace(case.rules, rules=case.rules.rules[:1])], RuleBounds(facts=case.facts))
        verdict = check(model, f"can({model.nodes[0].processor.results_named[0]})", SETTINGS)
    except (Refused, PipelineError):
        return
    found = len(verdict.counterexample.steps) if verdict.outcome is Outcome.HOLDS else None
    streams = choices(model)
    longest = next(n for n in itertools.count(1) if len(streams) ** (n + 1) > 1000)
    if verdict.within_bounds and found is None:
        longest = min(longest, verdict.count_known_steps or 0)
    for length in range(1, longest + 1):
        says_so = any(says(model, stream) for stream in itertools.product(streams, repeat=length))
        assert says_so == (found is not None and found <= length)
        if says_so:
            break


def choices(model):
    return [{name: value} for name, domain in model.inputs for value in domain.values()]


def says(model, stream):
    """Whether a composite comes of a stream, by the denotation, which is `meaning`."""
    (node,) = model.nodes
    names = [name for name, _ in model.inputs]
    processor = model.typed[node.name]
    events = [(names.index(name), value) for step in stream for name, value in step.items()]
    return any(processor.denote((events,)))


def test_matches_are_told_as_they_grow():
    """The first A is found, and consumed; the second B finds none. No D comes within a tick after either A."""
    text = """rule pairs: from B and each A(x == B.x) within 2 from B emit C(x = 0, n = 0) consuming A
    rule alone: from A as Start and absent D within 1 after Start emit C(x = 1, n = 1)"""
    (node,) = modelled_rules(text).nodes
    steps = [{"A": (1,)}, {"A": (0,)}, {"B": (1, 0)}, {"elapsed": 2}, {"B": (1, 0)}]
    assert node.processor.growing(steps) == {
        "pairs": ["A 0", "A 0", "A 0, B 2 ✓", "", "B 4 ✗ each A(x == B.x) within 2 from B"],
        "alone": ["Start 0", "Start 0 | Start 1", "Start 0 | Start 1", "Start 0 ✓ | Start 1 ✓", ""],
    }


SMOKE = "declare Temp(area: string, value: float)\ndeclare Smoke(area: string)\n"
NEWER = """declare Fire(area: string, value: float)
from Smoke[$a = area]() and POLICY Temp[$v = value](area == $a, value > 45) within 5 min from Smoke
emit Fire(area = $a, value = $v)
"""
OLDER = """Rule R1
define Fire(area: string, value: double)
from Smoke(area=$a) and each Temp(area=$a and value>45) within 5 min. from Smoke
where area=Smoke.area and value=Temp.value
"""


EACH = NEWER.replace("POLICY", "each")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("left", "right", "steps"),
    [
        (OLDER, EACH, None),
        (EACH, "trex", 2),  # warm, and smoke at the same time
        (EACH.replace("within 5", "within 1 .. 5"), "trex", 3),  # warm, and smoke a minute later, or five
        (NEWER.replace("POLICY", "last"), EACH, 3),  # two warm events, and smoke
        (NEWER.replace("POLICY", "last"), NEWER.replace("POLICY", "first"), 3),  # of different warmth
        (EACH, EACH.replace("5 min", "4 min"), 3),  # warm, a pause, smoke
        (EACH, EACH.replace("area == $a, ", ""), 2),
    ],
)
def test_rules_differ_on_the_shortest_stream(left, right, steps):
    """What tells two rules from each other, as argued beside them; the older grammar says the same as the newer."""
    trex = [1] if right == "trex" else []
    both = align_types(parse_rules(SMOKE + left, "left"), parse_rules(SMOKE + (left if trex else right), "right"))
    minute = 60 * 10**6
    one, other = build_models(both, RuleBounds(tick=minute, trex=trex))
    verdict = equiv(one, other, "stepwise", SETTINGS)
    if steps is None:
        assert verdict.outcome in (Outcome.HOLDS, Outcome.WITHIN_BOUNDS)
        assert verdict.counterexample is None
    else:
        assert verdict.outcome is Outcome.FAILS
        assert len(verdict.counterexample.steps) == steps
        assert verdict.counterexample.replay == "confirmed by execution"


def test_runs_show_what_columns_hold():
    """The events of each, oldest first, with how many ticks ago they came; what is too old is gone."""
    late = "declare A(x: int)\ndeclare Late(x: int)\ndeclare B(x: int)\n"
    text = "from B and first A within 2 .. 3 from B emit Late(x = A.x)"
    verdict = check(build_models([parse_rules(late + text, "late")], RuleBounds(tick=1))[0], "can(Late)", SETTINGS)
    steps = verdict.counterexample.steps
    assert verdict.counterexample.domains["late.A"].labels == ("age", "x")
    assert [next(iter(step.inputs)) for step in steps] == ["A", "elapsed", "B"]
    waited = steps[1].inputs["elapsed"]
    (x,) = steps[0].inputs["A"]
    assert waited in (2, 3)
    assert [step.contents["late.A"] for step in steps] == [[(0, x)], [(waited, x)], [(waited, x)]]


@pytest.mark.parametrize(("rows", "steps"), [(1, None), (2, 3)])  # one row: no two to choose from; two, and a late bus
def test_rules_that_join_facts_differ_for_the_smallest_table(rows, steps):
    text = """declare Late(bus: int)
declare fact Runs(bus: int, line: string)
declare Notice(line: string)
from Late and POLICY Runs(bus == Late.bus) ordered by line asc emit Notice(line = Runs.line)
"""
    both = [parse_rules(text.replace("POLICY", policy), policy) for policy in ("first", "each")]
    one, other = build_models(both, RuleBounds(any_facts={"Runs": rows}))
    verdict = equiv(one, other, "stepwise", SETTINGS)
    if steps is None:
        assert verdict.outcome is Outcome.HOLDS
    else:
        assert verdict.outcome is Outcome.FAILS
        assert [name for step in verdict.counterexample.steps for name in step.inputs] == ["Runs", "Runs", "Late"]
        assert verdict.counterexample.replay == "confirmed by execution"


@pytest.mark.parametrize(("changing", "found"), [((), []), (("Zone",), ["Doubt"])])
def test_rules_that_ask_the_same_facts_twice_have_other_answers_only_in_between(changing, found):
    """A table that changes is another one for another event, and the same for all that one event asks."""
    limits = load_rules("models/tesla/limits.tesla")
    bounds = RuleBounds(any_facts={"Zone": 1}, changing=changing)
    verdicts = {name: rule_problem(limits, f"never({name})", bounds).decide() for name in ("Doubt", "Never")}
    assert [name for name, each in verdicts.items() if each.outcome is Outcome.FAILS] == found
    for run in (verdicts[name].counterexample for name in found):
        inputs = [step.inputs for step in run.steps]
        assert [name for each in inputs for name in each] == ["Zone", "Reading", "Zone_gone", "Smoke"]
        assert run.replay == "confirmed by execution"
        (model,) = build_models([limits], bounds)
        stream = RuleStream.of(find_modelled(model), inputs)
        assert stream.confirmed == ("meaning", "cdp", "aip", "compiled")
        assert "now there is no Zone" in stream.text().splitlines()
        assert stream.to_json()["facts_change"] == [{"behind": 1, "types": ["Zone"], "facts": []}]


def test_texts_of_other_alphabets_have_names_in_a_model():
    """Names in the printed model have letters of ASCII only, and different texts different ones."""
    text = "declare A(s: string)\ndeclare T(s: string)\nfrom A(s == 'é' or s == 'ü') emit T(s = A.s)".replace("'", '"')
    (model,) = build_models([parse_rules(text, "texts")])
    inputs = [{"A": (each,)} for each in ("é", "ü", "é")]
    assert [step.pipes["texts_T"] for step in Simulated(model, {}).trace(inputs)] == [("é",), ("ü",), ("é",)]


def test_a_model_is_refused_where_several_events_come_at_a_step():
    """Its machine has no meaning there, so that a verdict would say nothing."""
    with pytest.raises(Refused, match="takes one event at a step, and the inputs are free"):
        check(modelled_rules(RULES["each"]), "never(C)")
