"""What is said of all runs of up to some steps where a limit was met: held to all streams that are as short."""

import itertools
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.faulty_rules import FAULTY
from tests.examples import examples
from tests.tesla.model.test_machine import DECLARED, RULES, choices, says
from workbench.cli.output import headline
from workbench.conformance.generate.rule_cases import random_case
from workbench.errors import EngineMissing, Overflow, PipelineError, Refused
from workbench.executors.reference.executor import Reference
from workbench.smv.engines.sat import COMMANDS, Commands
from workbench.tesla.check import parse_rules
from workbench.tesla.model.build import RuleBounds, build_models
from workbench.verify import rules as r
from workbench.verify.answer.check import make_undecided
from workbench.verify.answer.problem import check
from workbench.verify.answer.verdict import Depth, Outcome
from workbench.verify.decide.explicit import decider, machine
from workbench.verify.decide.table import get_engine
from workbench.verify.rules import rule_order
from workbench.verify.rules.problems import depth_of_all, rule_comparison, rule_problem
from workbench.verify.rules.rule_subject import WITH_TIME, RuleSubject

MINUTE = 60 * 10**6


@contextmanager
def searched(states):
    """Settings with which states are searched one by one, until there are more than so many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "available", lambda: False)
        patch.setattr(decider._Run, "_count_states", lambda _, steps: 1)
        patch.setattr(decider, "PLAIN_BYTES", 2**30 / (states + 1))
        yield replace(WITH_TIME, engine="explicit", memory_mb=1024)


@contextmanager
def unrolled(steps):
    """Settings with which the SAT solver looks at runs of up to so many steps."""
    known = COMMANDS["bmc"].by_kind["invar"]
    assert " -k 1000 " in known
    with pytest.MonkeyPatch.context() as patch:
        try:
            commands = Commands("nusmv", {"invar": known.replace("-k 1000", f"-k {steps - 1}")})
            patch.setattr(get_engine("bmc"), "commands", commands)
        except EngineMissing as error:
            pytest.skip(error.what)
        yield replace(WITH_TIME, engine="bmc")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [name for name, each in FAULTY.items() if each.steps > 1])
def test_faulty_rules_are_right_for_a_step_less_than_it_takes_to_see_it(name):
    """It is said of streams of one step less than the shortest that tells them from the right ones, not of as many."""
    steps = FAULTY[name].steps
    with unrolled(steps - 1) as settings:
        verdict = rule_comparison(*FAULTY[name].rule_sets, RuleBounds(tick=MINUTE), settings).decide()
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.depth.steps == steps - 1


@given(st.integers(0, 2**32), st.integers(1, 200))
@examples(12)
def test_what_is_said_of_random_rules_is_so_of_all_short_streams(seed, states):
    """Where it is not known whether anything is emitted: nothing is, on any stream that is as short as is said."""
    case = random_case(seed)
    try:
        (model,) = build_models(
            [replace(case.rules, rules=case.rules.rules[:1])], RuleBounds(capacity=1, facts=case.facts)
        )
        with searched(states) as settings:
            verdict = check(model, f"can({model.nodes[0].processor.results_named[0]})", settings)
    except (Refused, PipelineError):
        return
    if verdict.depth is not None:
        silent(model, verdict.depth)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["each", "last", "count", "silence", "times"])
def test_what_is_said_of_rules_is_so_of_all_short_streams(name):
    """With memory for few states and for more; something is said, and never of as many steps as it takes."""
    (model,) = build_models([parse_rules(DECLARED + RULES[name], "found")], RuleBounds())
    shortest, said = len(check(model, "can(C)", WITH_TIME).counterexample.steps), set()
    for states in (1, 2, 4, 16, 64):
        with searched(states) as settings:
            verdict = check(model, "can(C)", settings)
        if verdict.depth is not None and verdict.depth not in said:
            said.add(verdict.depth)
            silent(model, verdict.depth)
    assert said
    assert max(each.steps for each in said) < shortest


def silent(model, depth):
    """No stream of so many steps makes rules emit anything, by `meaning`, but for what may not happen before."""
    streams = choices(model)
    longest = max((n for n in range(1, depth.steps + 1) if len(streams) ** n <= 400), default=0)
    for stream in itertools.product(streams, repeat=longest):
        assert not says(model, stream) or (depth.unless and overflows(model, stream))


def overflows(model, stream):
    running = Reference(model, {})
    try:
        for events in stream:
            running.step(events)
    except Overflow:
        return True
    return False


@pytest.mark.sampled(2)
@pytest.mark.parametrize("states", [1, 30, 100, 300, 1000])
def test_events_that_are_exchanged_count_once(states, monkeypatch):
    """An A and a B differ in either order, a stream of two; the model has two steps more, for the exchange."""
    monkeypatch.setattr(rule_order, "_find_two_events", lambda model: ())  # two are tried before the model is asked
    text = "from B[$x = x] and each A(x == $x) within 2 from B emit C(x = $x, n = 1)"
    with searched(states) as settings:
        (found,) = r.order(RuleSubject(parse_rules(DECLARED + text), RuleBounds(capacity=1), settings, deepen=False))
    depth = found.verdict.depth
    assert found.runs or depth is None or depth.steps == 1


def test_how_far_one_got_is_told():
    """In a line, for people, and as data."""
    text = parse_rules(DECLARED + RULES["count"], "found")
    with searched(3) as settings:
        verdict = rule_problem(text, "can(C)", RuleBounds(), settings, deepen=False).decide()
        told = r.fires(RuleSubject(text, RuleBounds(), settings, deepen=False))[0]
    steps = verdict.depth.steps
    assert str(verdict.depth).startswith(f"no run of up to {steps} step")
    assert verdict.to_json()["depth"]["steps"] == told.to_json()["depth"]["steps"] == steps
    assert str(verdict.depth) in told.says
    assert headline(verdict).startswith(f"? unknown  can(C)  of found: {verdict.depth}; ")


def test_of_all_is_known_what_is_known_of_each():
    """As many steps as of the least known, unless something happens that could hide one; decided parts do not count."""
    unknown = make_undecided("rules", "can(C)", WITH_TIME)
    near, far = (replace(unknown, depth=each) for each in (Depth(3), Depth(5, unless="a queue overflows")))
    decided, bounded = (replace(unknown, outcome=each) for each in (Outcome.HOLDS, Outcome.WITHIN_BOUNDS))
    assert depth_of_all([near, decided]) == Depth(3)
    assert depth_of_all([near, far]) == Depth(3, unless="a queue overflows")
    assert depth_of_all([near, unknown]) is depth_of_all([near, bounded]) is depth_of_all([decided]) is None
