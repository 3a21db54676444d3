"""Programs are known by their ports: a pipeline, and one written by hand that is none."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import pytest

import workbench as wb
from workbench.builder import Builder
from workbench.cli.main import main
from workbench.conformance.compare.contenders import choose_contenders
from workbench.conformance.compare.search import Search
from workbench.core.domain import BOOL, INT, Domain, Integer
from workbench.core.fault import Fault, Kind
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Maybe, show_carried
from workbench.core.program import Port, Ports, Program
from workbench.errors import InputError, LanguageError, PipelineError, Refused
from workbench.events.read import read_events
from workbench.events.reading_options import Reading
from workbench.events.write import write_events
from workbench.executors.backend import Backend, StepRecord
from workbench.executors.table import BackendRow, backend_rows
from workbench.extensions import PartTable
from workbench.processors.held.group import flatten
from workbench.processors.passthrough import Passthrough
from workbench.show.draw import draw


class MergeGraph(Pipeline):
    kind = "rule set"


class Merge:
    """A program but no pipeline: all events of both inputs, `x` first, several in one step; at the end the last."""

    def __init__(self, domain: Domain = INT, name: str = "merge") -> None:
        inputs = (("x", domain), ("y", domain))
        nodes = (
            Node("merge", wb.processors.Multiplex(), ("x", "y"), ("all",)),
            Node("last", wb.processors.KeepLast(), ("all",), ("last",)),
        )
        self.pipeline = MergeGraph(name, inputs, nodes, (("all", "all"), ("last", "last")))
        ports = tuple(Port(name, domain) for name in ("x", "y", "all", "last"))
        self.name, self.kind, self.ports = name, "rule set", Ports(name, ports[:2], ports[2:], "rule set")


class Merging:
    """What runs it, and crawls no graph."""

    def __init__(self, pipeline: Program) -> None:
        self.pipeline = pipeline
        self.last: list[Any] = []

    def step(self, events: Mapping[str, Any]) -> StepRecord:
        for name in events:
            self.pipeline.ports.position(name)
        found = [events[name] for name in self.pipeline.ports.domains if name in events]
        self.last = found[-1:] or self.last
        pipes = {name: Maybe(name in events, events.get(name)) for name in self.pipeline.ports.domains}
        pipes |= {"all": Maybe(bool(found), show_carried(found, 2)), "last": Maybe(False, None)}
        return StepRecord(pipes, {"all": found, "last": []}, {})

    def trace(self, steps: Iterable[Mapping[str, Any]]) -> list[StepRecord]:
        return [self.step(events) for events in steps]

    def run(self, streams: Any) -> dict[str, list[Any]]:
        given = {name: list(stream) for name, stream in self.pipeline.ports.streams(streams).items()}
        rows = range(max(map(len, given.values())))
        made = self.trace([{name: events[i] for name, events in given.items() if i < len(events)} for i in rows])
        return {"all": [value for record in made for value in record.outputs["all"]], "last": self.end()["last"]}

    def end(self, name: str | None = None) -> dict[str, list[Any]]:
        return {"all": [], "last": self.last}

    def reset(self) -> None:
        self.last = []


STEPS: list[Mapping[str, int]] = [{"x": 3, "y": 4}, {"y": 1}, {}, {"x": 2}]
MADE = {"all": [3, 4, 1, 2], "last": [2]}


@pytest.fixture
def merging(monkeypatch):
    """A backend for rule sets only, in the table."""
    row = BackendRow("merging", "merges", lambda program, start: Merging(program), kinds=("rule set",))
    table = cast("PartTable[BackendRow]", backend_rows())
    monkeypatch.setitem(cast("dict[str, BackendRow]", table._own), "merging", row)
    return row


@pytest.fixture
def squares():
    return wb.parse("pipeline squares(x: int) -> int { return x * x }").get()


def test_what_is_no_pipeline_is_read_run_and_written(tmp_path):
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("y,x\n3,\n5,4\n,\n")
    merge = Merge()
    running = Merging(merge)
    assert isinstance(running, Backend)
    with write_events(target, merge) as writer:
        for record in running.trace(read_events(source, merge)):
            writer.write(record.outputs)
        writer.write(running.end())
    assert target.read_text() == "all,last\n3,\n4,\n5,\n,5\n"
    assert running.run({"y": [1, 2], "x": [3]}) == {"all": [3, 1, 2], "last": [2]}


def test_unknown_inputs_of_any_program(tmp_path):
    merge, source = Merge(), tmp_path / "in.jsonl"
    with pytest.raises(PipelineError, match=r"rule set merge has no input 'yy'\s*hint: did you mean 'y'\?"):
        Merging(merge).run({"yy": [1]})
    with pytest.raises(PipelineError, match=r"rule set merge has 2 inputs \(x, y\), 1 stream given"):
        Merging(merge).run([[1]])
    for executor in (wb.executors.Reference, wb.executors.Compiled):
        with pytest.raises(PipelineError, match="rule set merge has no input 'yy'"):
            executor(merge).step({"yy": 1})
    source.write_text('{"xx": 1}\n')
    with pytest.raises(InputError, match=r":1: key 'xx' is not an input of the rule set\s*hint: did you mean 'x'\?"):
        list(read_events(source, merge, Reading(strict=True)))


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


def test_what_is_no_pipeline_is_checked(squares):
    merge, settings = Merge(), wb.Settings(n=3)
    assert wb.check(merge, "always (all.present -> x.present or y.present)", settings).outcome is wb.Outcome.HOLDS
    failing = wb.check(merge, "always (all.present -> x.present)", settings)
    assert (failing.outcome, failing.pipeline) == (wb.Outcome.FAILS, "merge")
    assert failing.counterexample.steps[-1].inputs.keys() == {"y"}
    assert "def test_shows_that_always_of_merge" in wb.to_test([failing])
    hint = "only pipelines have faults, and a pipeline may contain rules"
    with pytest.raises(PipelineError, match=rf"rule set merge has no faults that .*\n  hint: {hint}"):
        wb.faults.tolerates(merge, settings)
    with pytest.raises(LanguageError, match=r"rule set merge has no pipe 'merge\.foo'"):
        wb.check(merge, "always (merge.foo = 1)", settings)
    swapped = wb.parse("pipeline p(x: int, y: int) -> int, int { z = multiplex(y, x) return z, keep_last(z) }")
    assert wb.equiv(merge, Merge(), "stepwise", settings).outcome is wb.Outcome.HOLDS
    assert wb.equiv(merge, swapped.get(), "stepwise", settings).outcome is wb.Outcome.FAILS
    losing = wb.problem(merge, "always (x.present -> all.present)", settings, ["lose all"])
    assert [lost.outcome for _, lost in wb.check_all([losing])] == [wb.Outcome.FAILS]
    assert wb.check(squares, "always (x.present -> out.present)").outcome is wb.Outcome.HOLDS


def test_what_is_no_pipeline_is_analysed():
    merge, settings = Merge(), wb.Settings(n=3)
    assert (found := wb.buffers(merge, settings)).pipeline == "merge"
    assert found.queues == ()
    assert {item.about: item.answer for item in wb.constants(merge, settings)}["all"] == "varies"
    assert wb.latency(merge, "x", "all", settings)["steps"] == 0
    assert "merge" in draw(merge)
    assert wb.compose(Merge(Integer(2))).name == "merge"


def streams(rows):
    """The events of each output."""
    return {name: [row[name] for row in rows if name in row] for name in MADE}


def test_what_is_no_pipeline_is_run(merging, squares):
    merge = Merge()
    for backend in ("reference", "threaded", "compiled", "merging"):
        assert streams(wb.run(merge, STEPS, backend=backend)) == MADE, backend
        assert streams(wb.run(merge, STEPS, backend=backend, integers=Integer(5))) == MADE, backend
    assert wb.run(squares, [{"x": 3}]) == [{"out": 9}]


@pytest.mark.slow
def test_a_backend_for_some_programs_refuses_others(merging, squares, capsys):
    refused = (
        r"pipeline squares is not supported by backend 'merging': it runs rule sets only; available on: reference,"
    )
    with pytest.raises(Refused, match=refused):
        wb.run(squares, iter(()), backend="merging")
    main(["run", "--help", "backends"])
    assert "merging merges (rule sets)" in " ".join(capsys.readouterr().out.split())
    main(["doctor"])
    assert "merges (rule sets)" in capsys.readouterr().out


def test_what_is_no_pipeline_is_compared(merging, squares):
    few = Search(examples=10)
    outcomes = wb.conform(Merge(), ["specification", "compiled, step by step", "model", "merging"], few)
    assert {each.backend for each in outcomes} > {"specification", "compiled, step by step", "merging"}
    assert {(each.pipeline, each.refused, each.failure) for each in outcomes} == {("merge", "", None)}
    assert "merging" in {each.name for each in choose_contenders((), "rule set")}
    assert "merging" not in {each.name for each in choose_contenders(())}
    (outcome,) = wb.conform(squares, ["merging"], few)
    assert outcome.refused.startswith("pipeline squares is not supported by backend 'merging'")
