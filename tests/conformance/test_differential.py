"""The differential runner finds what differs, and says so readably."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis.errors import FailedHealthCheck

import workbench as wb
from experiments.stream_check import check_streams
from tests.found import program
from workbench.builder import Builder, pipeline
from workbench.conformance.compare.contenders import terms
from workbench.conformance.compare.differential import agree, check
from workbench.conformance.compare.executables import Denoting, Pulled, Running, Seen, Streams
from workbench.conformance.compare.schedules import Deadlock
from workbench.conformance.generate.functions import fix_right
from workbench.conformance.generate.pipelines import pipelines_and_traces
from workbench.conformance.generate.python_source import body
from workbench.core import function as f
from workbench.core.determinism import same
from workbench.core.domain import BOOL, Enum, Integer, Overflowing, Range
from workbench.core.fields import Record
from workbench.core.processor import Maybe
from workbench.errors import Overflow, PipelineError
from workbench.processors.apply import ApplyFunction
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.group import flatten
from workbench.processors.held.window import Window
from workbench.processors.trim import Trim


@pipeline(x=Integer(4))
def sums(x):
    return (x + Trim(1)(x)).named("sum")


STEPS = [{"x": 1}, {"x": 2}, {}, {"x": 3}]


class Changed:
    """The reference executor with one observation changed."""

    def __init__(self, step, pipes=None, queues=None):
        self.step, self.pipes, self.queues = step, pipes or {}, queues or {}

    def trace(self, steps):
        for i, seen in enumerate(Running(sums).trace(steps)):
            change = i == self.step
            yield Seen(seen.pipes | self.pipes if change else seen.pipes,
                       seen.queues | self.queues if change else seen.queues)  # fmt: skip


def test_agreement():
    assert agree(sums, STEPS, Running(sums), Denoting(sums)) is None


@pytest.mark.parametrize(
    ("other", "step", "what"),
    [
        (Changed(1, {"sum": 0}), 1, "pipe 'sum'"),
        (Changed(1, {"sum": None}), 1, "pipe 'sum'"),
        (Changed(0, {"sum": 0}), 0, "pipe 'sum'"),
        (Changed(0, {"x": True}), 0, "pipe 'x'"),
        (Changed(3, queues={"sum.left": 2}), 3, "queue 'sum.left'"),
    ],
)
def test_disagreements(other, step, what):
    for sides in ((Running(sums), other), (other, Running(sums))):
        found = agree(sums, STEPS, *sides)
        assert (found.step, found.what) == (step, what)


def test_a_disagreement_can_be_read_and_run_again():
    with pytest.raises(AssertionError) as caught:
        check(sums, STEPS, Running(sums), Changed(1, {"sum": 0}))
    text = str(caught.value)
    assert text.startswith("reference and Changed differ at step 1, pipe 'sum':\n  reference  3\n  Changed    0\n")
    assert "  step 0: {'x': 1}\n→ step 1: {'x': 2}" in text.replace("  → ", "→ ")
    assert "b0 = Builder('sums')\nb0.input('x', Integer(4, 'modular'))\n" in text


class Failing:
    def __init__(self, error, after=1, as_list=False):
        self.error, self.after, self.as_list = error, after, as_list

    def trace(self, steps):
        return self.all(steps) if self.as_list else self.lazily(steps)

    def lazily(self, steps):
        for i, seen in enumerate(Changed(0, {"sum": 3}).trace(steps)):
            if i == self.after:
                raise self.error
            yield seen

    def all(self, steps):
        return list(self.lazily(steps))


def test_an_overflow_ends_the_comparison_at_its_step():
    """The steps before it are compared, even where the executable makes its list at once."""
    for as_list in (False, True):
        found = agree(sums, STEPS, Running(sums), Failing(Overflow("full"), 1, as_list))
        assert (found.step, found.what) == (0, "pipe 'sum'")
        assert agree(sums, STEPS, Running(sums), Failing(Overflow("full"), 0, as_list)) is None


def test_other_errors_are_disagreements():
    found = agree(sums, STEPS, Running(sums), Failing(RuntimeError("broken"), 0))
    assert (found.step, found.what) == (0, "the run")
    assert "broken" in str(found)
    assert "runs on" in str(found)


@dataclass
class Fixed:
    seen: list

    def trace(self, steps):
        return self.seen


def test_a_trace_that_is_too_short_is_a_disagreement():
    found = agree(sums, STEPS, Running(sums), Fixed(list(Running(sums).trace(STEPS[:2]))))
    assert found.step == 2
    assert "ends after 2 of 4 steps" in str(found)


def test_outputs_must_be_seen():
    found = agree(sums, STEPS, Running(sums), Fixed([Seen({"x": 1}, {})] * 4))
    assert (found.step, found.what) == (0, "pipe 'sum'")


def test_equality_tells_true_from_one():
    assert same((1, (True,)), (1, (True,)))
    assert not same(1, True)
    assert not same((1, (True,)), (1, (1,)))
    assert not same((1,), (1, 2))


class Lazy(Trim):
    """A processor whose step forgets an event that its denotation keeps."""

    def step(self, state, front):
        (seen,) = state
        return (min(seen + 1, self.count + 1),), (Maybe(seen > self.count, front[0]),)


def test_a_wrong_processor_is_found_and_the_failure_shrinks():
    builder = Builder("p")
    wrong = builder.build(Lazy(1)(builder.input("x", Integer(4))))
    found = agree(wrong, [{"x": 1}] * 4, Running(wrong), Denoting(wrong))
    assert (found.step, found.left[1], found.right[1]) == (1, None, 1)
    with pytest.raises(AssertionError, match=r"the denotation gives {'out': \[1\]}, push mode gives {'out': \[\]}"):
        check_streams(wrong, [{"x": 1}, {"x": 1}])


@pytest.mark.slow
def test_failures_shrink_to_few_processors():
    """A fault in one kind of processor is shown on a pipeline with hardly anything else."""
    smallest = []

    @settings(max_examples=300, database=None, derandomize=True, report_multiple_bugs=False)
    @given(pipelines_and_traces())
    def find(given_):
        pipeline, _ = given_
        if any(isinstance(n.processor, Window) and n.processor.width == 3 for n in flatten(pipeline).nodes):
            smallest[:] = [pipeline]
            raise AssertionError

    with pytest.raises((AssertionError, FailedHealthCheck)):
        find()
    assert len(smallest[0].nodes) <= 2


def test_programs_of_every_kind_of_parameter():
    builder = Builder("p")
    x = builder.input("x", Record((Range(0, 3), BOOL), ("price", "sold")))
    y = builder.input("y", Enum(("red", "green")))
    z = builder.input("z", Integer(3, Overflowing.SATURATING))
    inner = Builder("inner")
    plus = ApplyFunction(fix_right("+", 1))(inner.input("z", Integer(3, Overflowing.SATURATING)))
    group = inner.build(Cumulate(f.ADD, 1)(plus))
    made = builder.build([Window(2, group)(z), ApplyFunction(fix_right("=", "red"))(y), Trim(1)(x)])
    scope: dict = {}
    exec(program(body(made)), scope)
    assert scope["pipeline"].domains == made.domains
    streams: list = [[(1, True), (2, False)], ["red", "green"], [1, 2, 0]]
    assert scope["pipeline"].denote(streams) == made.denote(streams)


def test_unknown_functions_are_named():
    builder = Builder("p")
    text = program(body(builder.build(builder.input("x", Integer(3)) + 1)))
    assert "ApplyFunction(function=unknown('+ 1'))" in text
    with pytest.raises(PipelineError, match=r"the source of the function '\+ 1' is not known"):
        exec(text, {})


UNREAD = """
pipeline unread(x: int checked 4) -> bool {
    total = cumulate(x, +)
    return even(x)
}
"""


def test_what_pulling_does_not_ask_for_overflows_only_where_it_is_pushed() -> None:
    pipeline = wb.parse(UNREAD).get().pipeline
    steps = [{"x": 3}, {"x": 3}, wb.END]
    ours = Streams(Running(pipeline, {}), pipeline)
    assert agree(pipeline, steps, ours, Pulled(pipeline), terms(pipeline)) is None
    again = agree(pipeline, steps, ours, Streams(Lenient(pipeline), pipeline), terms(pipeline))
    assert again
    assert (again.what, again.step) == ("the run", 2)


class Lenient:
    """Runs on where something overflows."""

    name = "lenient"

    def __init__(self, pipeline: wb.Pipeline) -> None:
        self.running = Running(pipeline, {})

    def trace(self, steps):
        try:
            yield from self.running.trace(steps)
        except Overflow:
            return


class Interrupted(Running):
    """Ctrl-C comes while it runs, and what cleans up behind it fails."""

    def trace(self, steps):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise Deadlock("no thread can go on") from None


def test_an_interrupt_is_no_difference():
    """Scheduled threads cannot be joined once their caller has been interrupted: a deadlock, and no finding."""
    passed = wb.parse("pipeline p(x: int) -> int { return x + 1 }").get().pipeline
    with pytest.raises(KeyboardInterrupt):
        agree(passed, [{"x": 1}], Running(passed), Interrupted(passed))
