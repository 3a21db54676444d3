"""The generator makes what specialisations of the executors tell apart: counted over fixed seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from workbench.conformance.generate import functions as g
from workbench.conformance.generate.pipelines import pipelines
from workbench.conformance.generate.rule_cases import AGGREGATES, make_varied_case, random_case
from workbench.core.domain import Integers, Reals
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Processor
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.group import Group
from workbench.processors.held.quantifiers import ForAll
from workbench.processors.held.reset_last import ResetLast
from workbench.processors.held.window import Window
from workbench.tesla import tree as t

FOLDS = {g.FIRST: "fold first", g.SECOND: "fold second", g.REVERSED: "fold b - a", g.MIX: "fold of a user"}
HOLDERS = ("Window", "Slice", "SliceLast", "ResetLast", "ForAll", "Exists")


def holding(processor: Processor) -> Iterator[Processor]:
    """A processor, and those that it holds, one in the other."""
    yield processor
    if isinstance(held := getattr(processor, "inner", None), Processor):
        yield from holding(held)


def of_node(pipeline: Pipeline, node: Node) -> Iterator[str]:
    """What is of interest in a node."""
    outer, *held = holding(node.processor)
    for each in (outer, *held):
        if isinstance(each, Window):
            yield from (f"window from {least}" for least in (4, 5, 9) if each.width >= least)
        if isinstance(each, Cumulate):
            yield from (name for function, name in FOLDS.items() if each.function is function)
            yield from ["start of its own"] if each.start is not None else []
    if not held:
        return
    name = type(outer).__name__
    if outer.in_arity > (2 if isinstance(outer, ResetLast) else 1):
        yield f"{name} of several"
    if any((pipeline.widths[pipe] or 9) > 1 for pipe in node.inputs):
        yield f"{name} behind a wide pipe"
    if isinstance(outer, ForAll) and outer.defers:
        yield "quantifier that waits"
    last = held[-1]
    if isinstance(last, Group):
        yield f"{name} of a pipeline"
        yield from of_body(last.body)


def of_body(body: Pipeline) -> Iterator[str]:
    """What is of interest in a pipeline inside another one."""
    inputs = [name for name, _ in body.inputs]
    read = {pipe for node in body.nodes for pipe in node.inputs}
    if len(body.nodes) == 1 and len(inputs) > 1 and body.nodes[0].inputs == (inputs[1],):
        yield "one node that reads the second input"
    if len(body.nodes) == 1 and len(set(body.nodes[0].inputs)) < len(body.nodes[0].inputs):
        yield "one pipe read twice"
    if len({domain for _, domain in body.inputs}) > 1:
        yield "inputs of different types"
    if not read.issuperset(inputs):
        yield "an input that nobody reads"
    yield from (f"held {type(node.processor).__name__}" for node in body.nodes)


def features(pipeline: Pipeline) -> Iterator[str]:
    """What is of interest in a pipeline, and in those inside."""
    for domain in pipeline.domains.values():
        yield from (kind.__name__ for kind in (Integers, Reals) if isinstance(domain, kind))
    for node in pipeline.nodes:
        yield from of_node(pipeline, node)
        for held in holding(node.processor):
            if isinstance(held, Group):
                yield from features(held.body)


WANTED = {
    *(f"window from {least}" for least in (4, 5, 9)), *FOLDS.values(), "start of its own", "Integers", "Reals",
    *(f"{name} of several" for name in HOLDERS), *(f"{name} of a pipeline" for name in HOLDERS),
    *(f"{name} behind a wide pipe" for name in HOLDERS), "quantifier that waits",
    "one node that reads the second input", "one pipe read twice", "inputs of different types",
    "an input that nobody reads", "held CombineLatest", "held Sample", "held Changes",
}  # fmt: skip


@pytest.mark.slow
def test_large_pipelines_have_every_feature() -> None:
    found = Counter[str]()
    every = settings(
        max_examples=1000, database=None, derandomize=True, phases=[Phase.generate], deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip

    @every
    @given(pipelines(large=True))
    def count(pipeline: Pipeline) -> None:
        found.update(set(features(pipeline)))

    count()
    assert {each for each in WANTED if found[each] < 1} == set()


def test_what_a_number_stands_for_stays_the_same() -> None:
    """Also of rules: a round can be made again."""
    for seed in range(16):
        assert make_varied_case(seed) == make_varied_case(seed)


@pytest.mark.parametrize("seed", range(8))
def test_a_crowd_of_events_meets_rules_that_begin_alike(seed: int) -> None:
    case = random_case(seed, crowded=True)
    assert len(case.events) > 64
    assert len(case.rules.rules) == 5
    assert len({(rule.trigger.type, rule.trigger.constraints) for rule in case.rules.rules}) == 1


def test_aggregates_of_crowds_tell_the_order() -> None:
    """More than 64 events are combined by an aggregate that is not commutative."""
    ordered = {each.name for each in AGGREGATES if each.name in ("NEWEST", "JOINED")}
    used = {
        part.function
        for seed in range(60)
        for rule in random_case(seed, crowded=True).rules.rules
        for part in rule.parts
        if isinstance(part, t.Aggregate)
    }
    assert ordered <= used
