"""What each fault allows, by a definition in plain Python that knows neither oracles nor processors.

For every short stream of events and silences: the set of outputs that the model allows, over all that its oracles can
say, is the set of outputs that the definition allows. An output is what comes out at each step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

import workbench as wb
from workbench.core.fault import Fault, Kind
from workbench.core.processor import END
from workbench.errors import PipelineError
from workbench.faults.unreliable import struck
from workbench.ir.compose import compose
from workbench.ir.simulate import Simulator
from workbench.processors.held.group import flatten

Steps = Sequence[Sequence[int]]
"""The events that enter a pipe at each step."""
Shown = tuple[tuple[int, ...], ...]
Condition = Callable[[int], bool]

DOMAIN = wb.Range(0, 1)


def at_will(steps: Steps, most: int | None, when: Condition) -> Iterator[frozenset[tuple[int, int]]]:
    """Every choice of events (step and position) that a fault may strike."""
    events = [(t, i) for t, arrived in enumerate(steps) for i, value in enumerate(arrived) if when(value)]
    for size in range(len(events) + 1 if most is None else min(most, len(events)) + 1):
        yield from map(frozenset, itertools.combinations(events, size))


def lost(steps: Steps, most: int | None, when: Condition) -> set[Shown]:
    return {
        tuple(tuple(v for i, v in enumerate(arrived) if (t, i) not in gone) for t, arrived in enumerate(steps))
        for gone in at_will(steps, most, when)
    }


def duplicated(steps: Steps, most: int | None, when: Condition) -> set[Shown]:
    return {
        tuple(
            tuple(v for i, v in enumerate(arrived) for _ in range(1 + ((t, i) in twice)))
            for t, arrived in enumerate(steps)
        )
        for twice in at_will(steps, most, when)
    }


def delayed(steps: Steps, by: int, most: int | None, when: Condition) -> set[Shown]:
    """Every way to let the events out in order, each at most `by` steps after it came.

    An event that comes out later than it came, and later than the one in front of it, has been struck.
    """
    events = [(t, value) for t, arrived in enumerate(steps) for value in arrived]
    found = set()
    for waits in itertools.product(range(by + 1), repeat=len(events)):
        outs = [t + wait for (t, _), wait in zip(events, waits, strict=True)]
        if outs != sorted(outs):
            continue
        before = [0, *outs]
        hit = [v for (t, v), out, last in zip(events, outs, before, strict=False) if out > max(t, last)]
        if all(map(when, hit)) and (most is None or len(hit) <= most):
            by_step = itertools.groupby(sorted(zip(outs, range(len(events)), strict=True)), key=lambda pair: pair[0])
            shown = {t: tuple(events[i][1] for _, i in group) for t, group in by_step}
            found.add(tuple(shown.get(t, ()) for t in range(len(steps))))
    return found


class Modelled:
    """What the output `out` of a pipeline can show at each of some steps."""

    def __init__(self, pipeline: wb.Pipeline) -> None:
        flat = flatten(pipeline)
        self.simulator = Simulator(compose(flat, 9))
        self.shown = dict(flat.outputs)["out"]
        said = {oracle: [None, *flat.domains[oracle].values()] for oracle in flat.oracles}
        self.choices = [dict(zip(said, chosen, strict=True)) for chosen in itertools.product(*said.values())]

    def __call__(self, steps: Sequence[Mapping[str, Any]]) -> set[Shown]:
        return {self.run(steps, chosen) for chosen in itertools.product(self.choices, repeat=len(steps))}

    def run(self, steps: Sequence[Mapping[str, Any]], chosen: Sequence[Mapping[str, Any]]) -> Shown:
        self.simulator.reset()
        shown = []
        for events, voices in zip(steps, chosen, strict=True):
            said = {oracle: value for oracle, value in voices.items() if value is not None}
            step = self.simulator.step(events if events is END else {**events, **said})
            carried = step.pipes[self.shown]
            shown.append(tuple(carried) if isinstance(carried, list) else () if carried is None else (carried,))
        return tuple(shown)


ONE = wb.parse("pipeline p(x: 0..1) -> 0..1 { y = passthrough(x) return y }").get().pipeline
TWO = wb.parse("pipeline p(x: (0..1, 0..1)) -> 0..1 { y = unpack(x) return y }").get().pipeline
STREAMS = [
    [[value] if value is not None else [] for value in stream] for stream in itertools.product([None, 0, 1], repeat=3)
]
WIDE = [
    [list(pair) if pair else [] for pair in stream] for stream in itertools.product([None, (0, 1), (1, 1)], repeat=2)
]


def narrow(steps: Steps) -> list[dict[str, int]]:
    return [{"x": arrived[0]} if arrived else {} for arrived in steps]


def wide(steps: Steps) -> list[dict[str, tuple[int, ...]]]:
    return [{"x": tuple(arrived)} if arrived else {} for arrived in steps]


BOUNDS = [
    (None, "", lambda value: True),
    (1, " at most 1", lambda value: True),
    (2, " at most 2", lambda value: True),
    (None, " when y = 1", lambda value: value == 1),
    (1, " at most 1 when y = 1", lambda value: value == 1),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("most", "text", "when"), BOUNDS)
@pytest.mark.parametrize("pipe", ["y", "x"])
def test_on_one_event_a_step(most: int | None, text: str, when: Condition, pipe: str) -> None:
    text = text.replace("y", pipe)
    kinds = f"lose {pipe}", f"duplicate {pipe}", f"delay {pipe} by 1", f"delay {pipe} by 2"
    lose, duplicate, one, two = (Modelled(wb.faults.faulty(ONE, f"{kind}{text}")) for kind in kinds)
    for steps in STREAMS:
        given = [{"x": arrived[0]} if arrived else {} for arrived in steps]
        assert lose(given) == lost(steps, most, when)
        assert duplicate(given) == duplicated(steps, most, when)
        assert one(given) == delayed(steps, 1, most, when)
        assert two(given) == delayed(steps, 2, most, when)


@pytest.mark.parametrize(("most", "text", "when"), BOUNDS)
def test_on_two_events_a_step(most: int | None, text: str, when: Condition) -> None:
    kinds = "lose y", "duplicate y", "delay y by 1"
    lose, duplicate, delay = (Modelled(wb.faults.faulty(TWO, f"{kind}{text}")) for kind in kinds)
    for steps in WIDE:
        given = [{"x": tuple(arrived)} if arrived else {} for arrived in steps]
        assert lose(given) == lost(steps, most, when)
        assert duplicate(given) == duplicated(steps, most, when)
        assert delay(given) == delayed(steps, 1, most, when)


@pytest.mark.parametrize("by", [1, 2, 3])
def test_what_is_delayed_comes_out_at_the_end(by: int) -> None:
    delay = Modelled(wb.faults.faulty(ONE, f"delay y by {by}"))
    for steps in STREAMS[::4]:
        events = tuple(value for arrived in steps for value in arrived)
        expected = {(*shown, events[sum(map(len, shown)) :]) for shown in delayed(steps, by, None, lambda value: True)}
        assert delay([*({"x": arrived[0]} if arrived else {} for arrived in steps), END]) == expected


def test_faults_on_one_pipe_come_in_the_order_of_the_plan() -> None:
    first = wb.faults.faulty(ONE, "lose y at most 1", "duplicate y")
    second = wb.faults.faulty(ONE, "duplicate y", "lose y at most 1")
    assert () in {shown[0] for shown in Modelled(first)([{"x": 1}])}
    assert Modelled(first)([{"x": 1}]) == {((),), ((1,),), ((1, 1),)}
    # twice, and one of the two is lost: at least one is left of a duplicate
    assert Modelled(second)([{"x": 1}]) == {((),), ((1,),), ((1, 1),)}
    two = [{"x": 1}, {"x": 0}]
    assert ((1,), (0, 0)) in Modelled(second)(two)
    assert ((), ()) not in Modelled(second)(two)


def test_pipes_before_and_after() -> None:
    flat = flatten(wb.faults.faulty(ONE, "lose x", "delay y by 1", "lose y"))
    assert flat.ports.arrivals == ("x",)
    assert list(flat.oracles) == ["x.lost", "y.delayed", "y.lost", "y.lost2"]
    running = wb.executors.Reference(flat)
    record = running.step({"x": 1, "y.delayed": 1})
    assert {pipe for pipe, maybe in record.pipes.items() if maybe.present} == {
        "x", "x.received", "y.sent", "y.delayed"
    }  # fmt: skip
    record = running.step({"x": 0, "y.lost2": "lost", "x.lost": "lost"})
    assert record.outputs == {"out": [1]}
    carried = {pipe: maybe.value if maybe.present else None for pipe, maybe in record.pipes.items()}
    # there is one event on the way, so nothing answers to the second oracle
    assert [str(strike) for strike in struck(flat, carried)] == ["0 on x was lost"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: wb.faults.delay("y", 0), "number of steps"),
        (lambda: Fault(Kind.LOSE, "y", by=2), "number of steps"),
        (lambda: wb.faults.lose("y", at_most=0), "at least one event"),
        (lambda: ONE.with_faults([wb.faults.lose("z")]), "no pipe 'z'"),
    ],
)
def test_faults_without_meaning(wrong: Callable[[], object], said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        wrong()


def test_random_faults_are_the_same_for_the_same_seed() -> None:
    pipeline = wb.faults.faulty(ONE, "lose y", "duplicate x")
    streams = [
        wb.executors.Reference(pipeline, oracle=wb.faults.RandomFaults(pipeline, seed, 0.5)).run([1, 0] * 20)
        for seed in (3, 3, 4)
    ]
    assert streams[0] == streams[1] != streams[2]
    assert wb.executors.Reference(pipeline, oracle=wb.faults.RandomFaults(pipeline, rate=0.0)).run([1, 0]) == {
        "out": [1, 0]
    }
    assert wb.executors.Reference(pipeline, oracle=wb.faults.RandomFaults(pipeline, rate=1.0)).run([1, 0]) == {
        "out": []
    }


def test_inputs_that_end_one_by_one() -> None:
    source = wb.parse("""
    pipeline p(x: 0..1, y: 0..1) -> a: 0..1, b: 0..1 {
        a = passthrough(x)
        b = keep_last(y)
        return a, b
        fault delay a by 3
        fault delay y by 3
    }""")
    running = wb.executors.Reference(source.get().pipeline)
    running.step({"x": 1, "a.delayed": 3, "y": 0, "y.delayed": 3})
    assert running.end("x") == {"a": [1], "b": []}
    assert running.end("y") == {"a": [], "b": [0]}
