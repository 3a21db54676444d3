"""What a user may write: it runs, and a strict type checker knows the type of everything in it."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import workbench as wb
from workbench import BuiltStream, Loaded, Program, Settings, Source, StepRecord, Verdict

TEXT = """
pipeline total(x: int) -> int { return cumulate(x, +) }
pipeline late<k>(x: int) -> int { return x + trim(x, k) }
"""


@wb.pipeline(x=wb.INT, y=wb.BOOL)
def kept(x: BuiltStream, y: BuiltStream) -> BuiltStream:
    """Sums of what is kept."""
    assert_type(x + 1, BuiltStream)
    assert_type(wb.functions.EVEN(x), BuiltStream)
    left, right = wb.processors.Fork(2)(x)
    assert_type(left, BuiltStream)
    return wb.processors.Cumulate(wb.functions.ADD)(wb.processors.Filter()(right, y))


def programs() -> None:
    assert_type(kept, wb.Pipeline)
    source = wb.parse(TEXT)
    assert_type(source, Source)
    assert_type(source.get("late", k=1), Loaded)
    assert_type(source.get("total").pipeline, wb.Pipeline)
    assert_type(wb.faults.faulty(source.get("total"), "lose x"), wb.Pipeline)
    assert_type(wb.Builder("p").input("x"), BuiltStream)
    takes(kept)
    takes(source.get("total"))


def takes(program: Program) -> None:
    assert_type(program.pipeline.name, str)


def verdicts() -> None:
    late = wb.parse(TEXT).get("late", k=1)
    verdict = wb.check(late, "no-overflow", Settings(q=0, integers="checked"))
    assert_type(verdict, Verdict)
    assert_type(verdict.outcome, wb.Outcome)
    assert_type(verdict.run, wb.Trace | None)
    assert_type(wb.properties.liveness(), wb.properties.Property)
    assert_type(wb.equiv(kept, kept, "stepwise"), Verdict)
    assert_type([v for _, v in wb.check_all([wb.problem(late, wb.properties.liveness())])], list[Verdict])
    found = wb.buffers(late)
    assert_type(found, wb.Buffers)
    assert_type(found.queues, tuple[wb.Buffer, ...])
    assert_type(found.capacities, dict[str, int])
    assert_type(wb.explorer([verdict]), str)


def runs() -> None:
    total = wb.parse(TEXT).get("total")
    running = wb.executors.Reference(total)
    assert_type(running.run(range(3)), dict[str, list[wb.Value]])
    assert_type(running.snapshot(), bytes)
    assert_type(wb.executors.Reference(total).step({"x": 1}), StepRecord)
    fast = wb.executors.Compiled(total)
    made = fast.feed(np.arange(3), steps=True)
    assert_type(made, dict[str, wb.OutputColumn])
    assert_type(made["out"].array, NDArray[Any])
    assert_type(made["out"].events(), list[wb.Value])


def data() -> None:
    total = wb.load(Path(__file__).with_name("total.pipe"), faults=["lose x"])
    assert_type(total, Loaded)
    assert_type(wb.run(total, {"x": np.arange(3)}), dict[str, NDArray[Any]])
    assert_type(wb.run(total, {"x": [1, None]}, backend="reference"), dict[str, list[wb.Value]])
    assert_type(wb.run(total, [{"x": 1}]), list[dict[str, wb.Value]])
    assert_type(wb.run(total, ({"x": i} for i in range(3))), Iterator[dict[str, wb.Value]])
    with TemporaryDirectory() as folder:
        written = wb.run(total, {"x": [1, 2]}, output=f"{folder}/out.csv")
        assert_type(written, Path)
        found = wb.run(total, written, columns={"x": "out"})
        assert_type(found, wb.RunOutputs)
        assert_type(list(found), list[dict[str, wb.Value]])
        assert_type(wb.run(total, Table(found.to_arrow()), columns={"x": "out"}), Table)


class Table:
    """Stands for tables and frames, of which a type checker knows nothing but what they offer."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def mistakes() -> None:
    wb.nonsense()  # type: ignore[attr-defined]
    wb.check(kept)  # type: ignore[call-arg]
    Settings(integers="wrong")  # type: ignore[arg-type]
    wb.run(kept, {"x": [1]}, bakend="compiled")  # type: ignore[call-overload]
    wb.equiv(kept, kept, "rougly")  # type: ignore[arg-type]


if __name__ == "__main__":
    programs()
    verdicts()
    runs()
    data()
