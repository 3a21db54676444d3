"""Copies in worker processes: what comes out, when, and what goes wrong are those of the reference executor."""

import multiprocessing
import os
import re
import signal

import pytest

import workbench as wb
from workbench.builder import Builder
from workbench.core import function as f
from workbench.core.domain import ANY, FLOAT, INT
from workbench.core.function import user_function
from workbench.core.ops import equal
from workbench.core.processor import END
from workbench.errors import InputError, PipelineError, Refused, WorkbenchError
from workbench.executors.processes import executor as module
from workbench.executors.processes.executor import Processes, divided
from workbench.executors.reference.executor import Reference
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.quantifiers import Exists, ForAll
from workbench.processors.held.spawn import GloballyOf
from workbench.processors.held.window import Window
from workbench.processors.keep_last import KeepLast
from workbench.processors.slices.slice import Slice
from workbench.processors.slices.slice_last import SliceLast
from workbench.processors.trim import Trim


def fussy(n):
    if n % 10 == 7:
        raise ValueError(f"not {n}")
    return n * n


FUSSY = ApplyFunction(user_function(fussy, result=INT, name="fussy"))
DIGITS = f.Function("digits", 1, lambda n: (n % 5, n // 5 % 5, n // 25))
LAST_DIGIT = f.Function("last_digit", 1, lambda n: n % 5)
FIVES = f.Function("fives", 1, lambda n: equal(n % 5, 0))


@wb.pipeline(v=INT, x=INT)
def later_greater(v, x):
    """Whether the first event that differs from the value is greater: a verdict that waits."""
    return wb.processors.Filter()(x > v, f.NE(x, v))


@wb.pipeline(v=INT, x=INT)
def no_bigger_square(v, x):
    return FUSSY(x + v) >= 0


def around(*processors, domain=INT):
    """A chain whose output joins its input, so that something comes before, beside and after."""
    builder = Builder("p")
    stream = first = builder.input("x", domain)
    for number, processor in enumerate(processors):
        stream = builder.add(processor, [stream], name=f"it{number}")
    return builder.build({"out": stream, "both": builder.add(ApplyFunction(PAIR), [first, stream])})


PAIR = user_function(lambda a, b: (a, b), result=ANY, name="pair")
DIFFERENCE = Cumulate(f.Function("difference", 2, lambda a, b: a - b), 0)
HOLDERS = {
    "verdicts that wait": ForAll(DIGITS, later_greater),
    "verdicts at once, and errors": Exists(DIGITS, no_bigger_square),
    "windows": Window(3, DIFFERENCE),
    "windows that may be silent": Window(3, CountDecimate(2)),
    "windows that fail": Window(2, FUSSY),
    "slices": Slice(LAST_DIGIT, Cumulate(f.ADD), to_all=FIVES),
    "slices that end": Slice(LAST_DIGIT, Cumulate(f.ADD), to_all=FIVES, until=f.ODD, forget=True),
    "slices that fail": Slice(LAST_DIGIT, FUSSY, to_all=FIVES),
    "last of slices": SliceLast(LAST_DIGIT, CountDecimate(2), to_all=FIVES, until=f.EVEN),
}
STREAM = [3, 3, 8, 5, 41, 2, 2, 60, 19, 4, 30, 1, 0, 77, 5, 8, 21, 34, 55, 12]


def told(running, steps):
    """The records of steps, and how it ends."""
    records = []
    try:
        for record in running.records(steps):
            records.append(record)
    except WorkbenchError as error:
        return records, str(error)
    return records, ""


@pytest.fixture
def started():
    """The child processes that the test has started: others of this process may wait for garbage collection."""
    before = set(multiprocessing.active_children())
    return lambda: set(multiprocessing.active_children()) - before


class Recording(Reference):
    def records(self, steps):
        return map(self.step, steps)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize(("processes", "batch"), [(2, 4), (3, 1)])
def test_all_steps_are_those_of_the_reference_executor(holder, processes, batch, monkeypatch, started):
    monkeypatch.setattr(module, "BATCH", batch)
    program = around(Trim(1), HOLDERS[holder])
    steps = [*({"x": x} for x in STREAM), END]
    expected = told(Recording(program), steps)
    assert bool(expected[1]) == (holder in ("verdicts at once, and errors", "windows that fail", "slices that fail"))
    with Processes(program, processes) as running:
        assert told(running, steps) == expected
        if expected[1]:
            with pytest.raises(PipelineError, match=re.escape("call reset() to start afresh")):
                running.step({"x": 1})
        running.reset()
        if not expected[1]:
            outputs = [record.outputs for record in expected[0]]
            assert list(running.streamed(steps)) == list(Reference(program).emitted(steps)) == outputs
            running.reset()
        whole = STREAM[: len(expected[0])]
        assert [running.push(x) for x in whole] == [dict(record.outputs) for record in expected[0][: len(whole)]]
    assert not started()


def total(a, b):
    if b >= 90:
        raise ValueError(f"after {a}")
    return a + b


def test_the_first_error_is_told_whichever_process_met_it():
    """All slices get what is 90 or more, and all of them fail: the reference executor comes to one of them first."""
    itself, large = f.Function("itself", 1, lambda n: n), f.Function("large", 1, lambda n: n >= 90)
    program = around(Slice(itself, Cumulate(user_function(total, result=INT, name="total"), 0), to_all=large))
    for stream in ([1, 2, 3, 4, 95], [4, 3, 95, 2], [11, 12, 13, 14, 16, 17, 18, 19, 90]):
        with pytest.raises(WorkbenchError) as expected:
            Reference(program).run(stream)
        with Processes(program, 2) as running, pytest.raises(WorkbenchError) as found:
            running.run(stream)
        assert str(found.value) == str(expected.value)


def test_what_cannot_be_divided_is_refused_with_the_reason():
    for processor, reason in (
        (Window(3, Cumulate(f.ADD)), "folded, at the same cost for every width"),
        (Slice(LAST_DIGIT, KeepLast()), "acts at the end of the stream"),
        (GloballyOf(ApplyFunction(f.EVEN)), "its copies depend on each other"),
        (Trim(1), "none of its processors has copies of another one"),
    ):
        with pytest.raises(Refused, match=reason):
            Processes(around(processor), 2)
    chain = around(Window(2, DIFFERENCE), Window(3, DIFFERENCE), domain=FLOAT)
    assert divided(chain) == ("it0",)  # the second one wants all of what the first one says
    with pytest.raises(InputError, match="--processes divides one run, but --key starts many"):
        wb.run(around(HOLDERS["windows"]), [{"k": 1, "x": 2}], key="k", processes=2)


def test_nothing_is_left_when_it_is_interrupted(started):
    program, pids = around(HOLDERS["windows"]), []

    def rows():
        for x in range(10_000):
            if x == 5_000:
                pids.extend(child.pid for child in started())
                os.kill(os.getpid(), signal.SIGINT)
            yield {"x": x}

    with pytest.raises(KeyboardInterrupt):
        list(wb.run(program, rows(), processes=2))
    assert len(pids) == 2
    assert not started()


def test_a_worker_that_dies_is_told():
    with Processes(around(HOLDERS["windows"]), 2) as running:
        assert running.push(1) == {"out": [], "both": []}
        os.kill(running._workers[0].process.pid or 0, signal.SIGKILL)
        with pytest.raises(WorkbenchError, match=r"a worker is lost: the process died \(status -9\)"):
            running.push(2)


def test_a_run_of_a_file_has_what_it_has_in_one_process(tmp_path):
    rows = [{"x": x} for x in range(3000)]
    program = around(HOLDERS["last of slices"])
    assert wb.run(program, rows, processes=2) == wb.run(program, rows)
    bad = tmp_path / "bad.csv"
    bad.write_text("x\n" + "1\n" * 300 + "nonsense\n")
    out = tmp_path / "out.csv"
    with pytest.raises(InputError, match=r"bad\.csv:302"):
        wb.run(around(HOLDERS["windows"]), bad, output=out, processes=2)
