"""The executor, the specification and the machines agree on generated pipelines."""

from contextlib import suppress

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from experiments.stream_check import check_streams
from tests.examples import examples
from tests.found import program
from tests.machines import GroupMachine, MachineRun
from workbench import conformance
from workbench.builder import Builder
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import Denoting, Running, Seen
from workbench.conformance.generate import functions
from workbench.conformance.generate.construction import state_bits
from workbench.conformance.generate.pipelines import pipelines, pipelines_and_traces, traces
from workbench.conformance.generate.python_source import body
from workbench.core.determinism import same
from workbench.core.domain import Range
from workbench.core.function import Function
from workbench.core.pipeline import Pipeline
from workbench.errors import Overflow, PipelineError
from workbench.processors.held.group import flatten
from workbench.processors.held.window import Window
from workbench.processors.stutter import Stutter


@examples(150)
@given(pipelines_and_traces())
def test_every_pipe_and_queue_at_every_step(given_):
    pipeline, steps = given_
    check(pipeline, steps, Running(pipeline), Denoting(pipeline))


@examples(40)
@given(pipelines_and_traces(large=True))
def test_wide_windows_and_numbers_without_bounds(given_):
    pipeline, steps = given_
    check(pipeline, steps, Running(pipeline), Denoting(pipeline))
    check_streams(pipeline, steps)


def test_a_value_outside_of_the_domain_of_its_pipe_is_an_error():
    """No second executor is needed to see that."""
    builder = Builder("p")
    x = builder.input("x", Range(0, 3))
    running = Running(builder.build(Stutter(2)(x)))
    assert [seen.pipes for seen in running.trace([{"x": 3}, {}])] == [
        {"x": 3, "stutter": [3, 3]},
        {"x": None, "stutter": None},
    ]
    assert running.check_domains(Seen({"x": None, "stutter": []}, {})) is not None
    for pipe, carried in (("stutter", [3, 4]), ("x", 4), ("x", True)):
        with pytest.raises(PipelineError, match=r"emits (4|True), which is not a value of 0\.\.3"):
            running.check_domains(Seen({pipe: carried}, {}))


@examples(100)
@given(pipelines_and_traces())
def test_output_streams(given_):
    """Denotation on the received prefixes, push mode, pull mode, and a second run after reset."""
    pipeline, steps = given_
    for length in {0, len(steps) // 2, len(steps)}:
        check_streams(pipeline, steps[:length])


@examples(60)
@given(st.data())
def test_a_pipeline_as_one_machine(data):
    pipeline = data.draw(pipelines())
    steps = data.draw(traces(pipeline, together=True))
    check(pipeline, steps, Running(pipeline), GroupMachine(pipeline, max(len(steps), 1)))


@examples(40)
@given(st.data())
def test_windows_of_pipelines(data):
    inner = data.draw(pipelines(depth=1, max_nodes=4))
    inner = Pipeline(inner.name, inner.inputs, inner.nodes, inner.outputs[:1])
    width = data.draw(st.integers(1, 3))
    steps = data.draw(traces(inner, together=True))
    for encoding in ("events", "copies"):
        builder = Builder("w")
        streams = [builder.input(name, domain) for name, domain in inner.inputs]
        outer = builder.build(builder.add(Window(width, inner, encoding), streams, name="w"))
        check(outer, steps, Running(outer), Denoting(outer))
        machine = MachineRun(outer.typed["w"].machine(outer.input_domains), outer.input_domains)
        shown = Running(outer).trace(steps)
        for events in steps:
            try:
                expected = next(shown).pipes["w"]
            except Overflow:
                break
            assert same(machine.step([events[name] for name, _ in outer.inputs])[0], expected)


@examples(60)
@given(pipelines_and_traces())
def test_pipelines_print_as_programs(given_):
    pipeline, steps = given_
    scope: dict = {}
    exec(program(body(pipeline)), scope)
    again = scope["pipeline"]
    assert [node.name for node in again.nodes] == [node.name for node in pipeline.nodes]
    assert again.domains == pipeline.domains
    assert again.queues == pipeline.queues
    check(pipeline, steps, Running(pipeline), Running(again))


def test_printed_programs_may_name_every_function_that_is_drawn():
    drawn = {name for name, each in vars(functions).items() if isinstance(each, Function)}
    assert {"PAIR", "LOW"} <= drawn <= set(conformance.__all__)


@examples(100)
@given(pipelines(max_bits=16))
def test_generated_pipelines_are_small(pipeline):
    assert all(domain.finite and domain.size <= 36 for domain in pipeline.domains.values())
    flat = flatten(pipeline)
    parts = ((flat.typed[n.name], [flat.domains[p] for p in n.inputs]) for n in flat.nodes)
    assert sum(state_bits(processor, domains) for processor, domains in parts) <= 16


@examples(50)
@given(pipelines_and_traces())
def test_traces_carry_events_of_the_inputs(given_):
    pipeline, steps = given_
    domains = dict(pipeline.inputs)
    assert all(value in domains[name] for events in steps for name, value in events.items())
    assert sum(map(len, pipeline.ports.received(steps).values())) == sum(map(len, steps))


@pytest.mark.slow
def test_every_kind_of_processor_is_generated():
    wanted = {"Trim", "CountDecimate", "Filter", "Cumulate", "ApplyFunction", "TurnInto", "Window", "Group", "Fork",
              "Cast", "Passthrough"}  # fmt: skip
    wanted |= {"Window of Group", "Window of Cumulate", "Window of Window"}
    seen: set[str] = set()

    def complete(pipeline):
        for node in pipeline.nodes:
            seen.add(type(node.processor).__name__)
            if isinstance(node.processor, Window):
                seen.add(f"Window of {type(node.processor.inner).__name__}")
        return seen >= wanted

    few = settings(max_examples=900, database=None, derandomize=True, phases=[Phase.generate])
    with suppress(NoSuchExample):
        find(pipelines(), complete, settings=few)
    assert wanted - seen == set()


@pytest.mark.slow
@examples(3000)
@given(pipelines_and_traces(max_nodes=8, max_bits=60))
def test_larger_pipelines(given_):
    pipeline, steps = given_
    check(pipeline, steps, Running(pipeline), Denoting(pipeline))
    check_streams(pipeline, steps)
