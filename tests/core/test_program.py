"""Programs are known by their ports: a pipeline, and one written by hand that is none."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from workbench.builder import Builder
from workbench.core.domain import BOOL, INT
from workbench.core.fault import Fault, Kind
from workbench.core.processor import Maybe
from workbench.core.program import Port, Ports
from workbench.errors import InputError, PipelineError
from workbench.events.read import read_events
from workbench.events.write import write_events
from workbench.processors.held.group import flatten
from workbench.processors.passthrough import Passthrough
from workbench.run.backend import Backend, StepRecord


class Merge:
    """A program that is no pipeline, and what runs it: all events of both inputs, `x` first, several in one step."""

    name, kind = "merge", "rule set"
    ports = Ports(name, (Port("x", INT), Port("y", INT)), (Port("all", INT), Port("late", INT)), kind)

    def __init__(self) -> None:
        self.pipeline, self.steps = self, 0

    def step(self, events: Mapping[str, Any]) -> StepRecord:
        for name in events:
            self.ports.position(name)
        self.steps += 1
        found = [events[name] for name in self.ports.domains if name in events]
        pipes = {name: Maybe(name in events, events.get(name)) for name in self.ports.domains}
        return StepRecord(pipes, {"all": found, "late": []}, {})

    def trace(self, steps: Iterable[Mapping[str, Any]]) -> list[StepRecord]:
        return [self.step(events) for events in steps]

    def run(self, streams: Any) -> dict[str, list[Any]]:
        given = {name: list(stream) for name, stream in self.ports.streams(streams).items()}
        rows = range(max(map(len, given.values())))
        made = self.trace([{name: events[i] for name, events in given.items() if i < len(events)} for i in rows])
        return {"all": [value for record in made for value in record.outputs["all"]], **self.end()}

    def end(self, name: str | None = None) -> dict[str, list[Any]]:
        return {"late": [self.steps]}

    def reset(self) -> None:
        self.steps = 0


def test_what_is_no_pipeline_is_read_run_and_written(tmp_path):
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("y,x\n3,\n5,4\n,\n")
    merge = Merge()
    assert isinstance(merge, Backend)
    with write_events(target, merge) as writer:
        for record in merge.trace(read_events(source, merge)):
            writer.write(record.outputs)
        writer.write(merge.end())
    assert target.read_text() == "all,late\n3,\n4,\n5,\n,3\n"
    assert merge.run({"y": [1, 2], "x": [3]}) == {"all": [3, 1, 2], "late": [5]}


def test_unknown_inputs_of_any_program(tmp_path):
    merge, source = Merge(), tmp_path / "in.jsonl"
    with pytest.raises(PipelineError, match=r"rule set merge has no input 'yy'\s*hint: did you mean 'y'\?"):
        merge.run({"yy": [1]})
    with pytest.raises(PipelineError, match=r"rule set merge has 2 inputs \(x, y\), 1 streams were given"):
        merge.run([[1]])
    source.write_text('{"xx": 1}\n')
    with pytest.raises(InputError, match=r":1: key 'xx' is no input of the rule set\s*hint: did you mean 'x'\?"):
        list(read_events(source, merge))


def test_ports_of_a_pipeline():
    builder = Builder("p")
    x, on = builder.input("x", INT), builder.input("on", BOOL)
    pipeline = builder.build({"y": builder.add(Passthrough(), [x]), "z": on})
    assert pipeline.ports == Ports("p", (Port("x", INT), Port("on", BOOL)), (Port("y", INT), Port("z", BOOL)))
    assert pipeline.ports.streams([[1], [True]]) == {"x": [1], "on": [True]}
    faulty = flatten(pipeline.with_faults([Fault(Kind.LOSE, "x")])).ports
    (oracle,) = (port for port in faulty.inputs if port.oracle)
    assert oracle.name not in faulty.arrivals
    assert faulty.arrivals == ("x", "on")
    assert faulty.streams([[1], [True]]) == {"x": [1], "on": [True]}
