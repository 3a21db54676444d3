"""The compiled executor: columns in, columns out; what it refuses, and what it says when something goes wrong."""

from __future__ import annotations

import itertools
import math
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.domain import ANY, BOOL, FLOAT, INT, Integer, Overflowing
from workbench.core.fields import Tuple
from workbench.core.function import user_function
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.errors import DomainError, InputError, Overflow, PipelineError, Refused
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.execute.loops import BLOCK
from workbench.executors.compiled.lower.system import translate

MODELS = Path(__file__).resolve().parents[3] / "models" / "time2021"


def parsed(text: str) -> Pipeline:
    return wb.parse(text).get().pipeline


def plainly(pipeline: Pipeline, **options: Any) -> Compiled:
    """The executor whose generated loops Python runs."""
    return Compiled(pipeline, warm_up_steps=-1, machine=False, **options)


SUM = parsed("pipeline p(x: int) -> int { return cumulate(x, +) }")
ODDS = wb.parse((MODELS / "sum_of_odds.pipe").read_text()).get("sum_of_odds").pipeline
ROOM = {"kept.data": 1, "kept.condition": 0}


# --- machine code -------------------------------------------------------------------------------------------


def test_machine_code_agrees_with_the_reference_executor() -> None:
    """Each kind of loop once: steady rounds of several steps, memory, events in some steps only, several outputs."""
    pipeline = parsed(
        """pipeline p(x: int, y: float, b: bool) -> int, int, float, bool {
            third = decimate(x, 3)
            sums = third + trim(x, 2)
            capacity queue(sums.left) = 4
            capacity queue(sums.right) = 2000
            both = b and trim(b, 1)
            capacity queue(both.left) = 1
            capacity queue(both.right) = 0
            return sums, window(x, 20, cumulate(max)), cumulate(y, +), both
        }"""
    )
    random = np.random.default_rng(3)
    x, y, b = random.integers(-50, 50, 1000), random.normal(size=1000), random.random(1000) < 0.5
    present = {"x": np.arange(1000) % 7 != 3, "y": random.random(1000) < 0.3}
    executor, reference = Compiled(pipeline, warm_up_steps=-1), wb.executors.Reference(pipeline)
    full = executor.feed({"x": x, "y": y, "b": b}, steps=True)
    some = executor.feed({"x": x, "y": y, "b": b}, present, steps=True)
    made: dict[str, list[tuple[Any, int]]] = {name: [] for name in full}
    for step in range(2000):
        i = step % 1000
        events = {"x": int(x[i]), "y": float(y[i]), "b": bool(b[i])}
        if step >= 1000:
            events = {name: value for name, value in events.items() if name not in present or present[name][i]}
        for name, values in reference.step(events).outputs.items():
            made[name] += [(value, step) for value in values]
    for name, expected in made.items():
        parts = [part[name] for part in (full, some)]
        assert [pair for part in parts for pair in zip(part.events(), part.steps.tolist(), strict=True)] == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("expression", "bad"),
    [
        ("x + 1", 2**63 - 1), ("0 - x", -(2**63)), ("x * 3", 2**62), ("x * x", -(2**32)), ("x div (0 - 1)", -(2**63)),
        ("cumulate(x, *)", 2**62),
    ],
)  # fmt: skip
def test_words_do_not_wrap_silently(expression: str, bad: int) -> None:
    pipeline = parsed(f"pipeline p(x: int) -> int {{ return {expression} }}")
    stream = np.full(300, 2)
    stream[7:] = bad
    reference = wb.executors.Reference(pipeline).run([2] * 3, end=False)["out"]
    for executor in (Compiled(pipeline, warm_up_steps=-1), plainly(pipeline)):
        if expression.startswith("cumulate"):
            assert executor.feed(stream[:7])["out"].array.tolist()[:3] == reference
            executor.reset()
        with pytest.raises(Overflow, match=r"step 7: processor '\w+': a result leaves the 64 bits"):
            executor.feed(stream)
        assert executor.steps == 0  # what is fed happens completely or not at all
        assert executor.feed(stream[:3])["out"].array.tolist() == reference


def test_what_nearly_leaves_a_word_does_not() -> None:
    """The test for products is one of floats, which cannot tell: a false alarm is looked into, and is none."""
    pipeline = parsed("pipeline p(x: int) -> int { return x * 1 * (0 - 7) }")
    largest = (2**63 - 1) // 7
    executor = Compiled(pipeline, warm_up_steps=-1)
    assert executor.feed(np.array([largest, -largest, 1]))["out"].array.tolist() == [-7 * largest, 7 * largest, -7]


def test_threads_do_not_disturb_each_other() -> None:
    executors = [Compiled(SUM, warm_up_steps=-1) for _ in range(2)]
    found: list[Any] = [None, None]

    def work(number: int) -> None:
        for _ in range(20):
            found[number] = executors[number].feed(np.full(50_000, number + 1))["out"].array[-1]

    workers = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [1_000_000, 2_000_000]


# --- columns ------------------------------------------------------------------------------------------------


def test_a_stream_is_fed_piece_by_piece() -> None:
    executor, stream = plainly(ODDS, capacities=ROOM), np.zeros(10, np.int64)
    pieces = [executor.feed(stream[a:b], steps=True)["out"] for a, b in ((0, 1), (1, 1), (1, 4), (4, 10))]
    assert [piece.array.tolist() for piece in pieces] == [[], [], [1, 4], [9, 16, 25]]
    assert [piece.steps.tolist() for piece in pieces] == [[], [], [1, 3], [5, 7, 9]]
    executor.reset()
    assert executor.feed(stream)["out"].array.tolist() == [1, 4, 9, 16, 25]


def test_blocks_do_not_show() -> None:
    executor = Compiled(SUM, warm_up_steps=-1)
    stream = np.ones(2 * BLOCK + 5, np.int64)
    assert (executor.feed(stream)["out"].array == np.arange(1, 2 * BLOCK + 6)).all()
    stream[BLOCK + 3] = 2**63 - 1
    with pytest.raises(Overflow, match=f"step {2 * BLOCK + 5 + BLOCK + 3}: "):
        executor.feed(stream)
    assert executor.feed(np.ones(1, np.int64))["out"].array.tolist() == [2 * BLOCK + 6]


def test_what_is_reused_is_overwritten() -> None:
    executor = plainly(SUM)
    first = executor.feed(np.array([1, 2]), reuse=True)["out"].array
    second = executor.feed(np.array([3, 4]), reuse=True)["out"].array
    assert first.tolist() == second.tolist() == [6, 10]
    assert executor.feed(np.array([5]))["out"].array is not first


def test_tuples_are_columns() -> None:
    record = "{price: 0..99, light: {red, green}}"
    executor = plainly(parsed(f"pipeline p(x: {record}) -> y: {record}, price: 0..99 {{ return trim(x, 1), x.price }}"))
    prices, lights = np.array([5, 6, 7]), np.array([0, 1, 1])
    found = executor.feed((prices, lights))
    assert found["y"].events() == [(6, "green"), (7, "green")]
    assert [field.tolist() for field in found["y"].fields] == [[6, 7], [1, 1]]
    assert executor.feed([(8, "red")])["price"].array.tolist() == [8]
    with pytest.raises(DomainError, match="step 5: 2 on input 'x' is not a value of"):
        executor.feed((np.array([1, 1]), np.array([1, 2])))


@pytest.mark.parametrize(
    ("domain", "array", "message"),
    [
        (INT, np.array([0.5]), "carries int, not an array of float64"),
        (INT, np.array([1], np.uint64), "an array of uint64"),
        (BOOL, np.array([1]), "carries bool, not an array of int64"),
        (INT, np.zeros((2, 2), np.int64), r"shapes \(2, 2\)"),
    ],
)
def test_arrays_of_other_types_are_refused(domain: Any, array: Any, message: str) -> None:
    builder = wb.Builder("p")
    executor = plainly(builder.build(wb.processors.Trim(1)(builder.input("x", domain))))
    with pytest.raises(InputError, match=message):
        executor.feed(array)


@pytest.mark.parametrize("value", [True, 0.5, 2**63, "1"])
def test_values_that_are_no_words(value: Any) -> None:
    with pytest.raises(DomainError, match=r"step 1: .* on input 'x'"):
        plainly(SUM).feed([1, value])


def test_events_outside_their_domain_come_after_what_comes_before_them() -> None:
    pipeline = parsed("pipeline p(x: 0..9) -> int checked 12 { return cumulate(cast(x, int checked 12), +) }")
    executor = plainly(pipeline)
    with pytest.raises(DomainError, match=r"step 2: 10 on input 'x' is not a value of 0\.\.9"):
        executor.feed(np.array([1, 2, 10, 1]))
    with pytest.raises(Overflow, match=r"step 1: processor 'cumulate': a result leaves its checked domain"):
        executor.feed(np.array([9, 9, 10]))
    assert executor.feed(np.array([9, 2]))["out"].array.tolist() == [9, 11]


def test_lengths_and_names_must_fit() -> None:
    executor = plainly(parsed("pipeline p(x: int, y: int) -> int, int { return x, y }"))
    with pytest.raises(PipelineError, match="x has 2, y has 1"):
        executor.feed({"x": np.array([1, 2]), "y": np.array([1])})
    with pytest.raises(PipelineError, match="no input 'z'"):
        executor.feed({"z": np.array([1])})
    with pytest.raises(InputError, match="has 2 events, and 'present' 3 entries"):
        executor.feed({"x": np.array([1, 2])}, {"x": [True] * 3})
    with pytest.raises(InputError, match="has 2 events, and 'present' 1 entries"):
        executor.feed({"x": [1, 2]}, {"x": [True]})
    with pytest.raises(InputError, match="has 2 events, and 'present' 1 x 2 entries"):
        executor.feed({"x": [1, 2]}, {"x": [[True, False]]})
    with pytest.raises(PipelineError, match="input 'y' has events, but none are given"):
        executor.feed({"x": [1, 2]}, {"y": [True, False]})
    with pytest.raises(InputError, match="input 'x' needs a stream, not 5"):
        executor.feed({"x": 5})
    with pytest.raises(InputError, match=r"has arrays of shapes \(\)"):
        executor.feed({"x": np.array(5)})
    found = executor.feed({"y": np.array([3])})
    assert (found["out1"].events(), found["out2"].events()) == ([], [3])


# --- as the reference executor ------------------------------------------------------------------------------


def test_the_end() -> None:
    pipeline = parsed("pipeline p(x: int) -> int, int { return keep_last(x), x }")
    executor = plainly(pipeline)
    assert executor.run([4, 5]) == {"out1": [5], "out2": [4, 5]}
    with pytest.raises(PipelineError, match="have ended"):
        executor.feed([1])
    with pytest.raises(PipelineError, match="have ended"):
        executor.step({"x": 1})
    executor.reset()
    executor.step({"x": 7})
    assert executor.step(END).outputs == {"out1": [7], "out2": []}


def test_streams_of_different_lengths() -> None:
    pipeline = parsed(
        "pipeline p(x: int, y: int) -> int { return x + y  capacity queue(add.left) = 5 capacity queue(add.right) = 0 }"
    )
    streams = {"x": [1, 2, 3], "y": [10]}
    assert plainly(pipeline).run(streams) == wb.executors.Reference(pipeline).run(streams) == {"out": [11]}


def test_inputs_end_one_after_the_other() -> None:
    """What reads x alone finishes with x, what reads both when both have ended."""
    last = "keep_last(x), keep_last(y), keep_last(multiplex(x, y))"
    executor = plainly(parsed(f"pipeline p(x: int, y: int) -> int, int, int {{ return {last} }}"))
    executor.feed({"x": [1, 2], "y": [8, 9]})
    assert executor.end("x") == {"out1": [2], "out2": [], "out3": []}
    with pytest.raises(PipelineError, match="step 3: input 'x' has ended"):
        executor.feed({"x": [3], "y": [7]})
    with pytest.raises(PipelineError, match="step 3: input 'x' has ended"):
        executor.outputs([{"y": 7}, {"x": 3}])
    other = plainly(executor.flat)
    other.restore(executor.snapshot())
    for each in (executor, other):
        assert each.feed({"x": [0, 0], "y": [6, 7]}, {"x": [False, False]})["out2"].events() == []
        assert each.end("y") == {"out1": [], "out2": [7], "out3": [7]}
        with pytest.raises(PipelineError, match="have ended"):
            each.end()
    executor.reset()
    executor.feed({"x": [1], "y": [2]})
    assert executor.end() == {"out1": [1], "out2": [2], "out3": [2]}


def test_a_full_queue() -> None:
    executor = plainly(ODDS, capacities={"kept.data": 0, "kept.condition": 0})
    with pytest.raises(
        Overflow, match=r"step 0: queue 'kept\.data' of pipeline sum_of_odds overflows: its capacity is 0"
    ):
        executor.feed([1, 1])


# --- refusals -----------------------------------------------------------------------------------------------


def test_a_capacity_of_no_queue_is_refused() -> None:
    with pytest.raises(PipelineError, match=r"no queue 'kept\.dat'"):
        Compiled(ODDS, {"kept.dat": 1})


def test_queues_that_never_hold_an_event_need_no_capacity() -> None:
    plainly(parsed("pipeline p(x: int) -> int { return filter(x * turn(x, 2), even(x)) }"))


def test_what_compiled_code_cannot_hold_is_refused() -> None:
    def one(domain: Any, processor: Any) -> Pipeline:
        builder = wb.Builder("p")
        return builder.build(processor(builder.input("x", domain)))

    with pytest.raises(Refused, match="pipe 'x' of pipeline p carries any"):
        translate(one(ANY, wb.processors.Trim(1)), "compiled")
    with pytest.raises(Refused, match="carries any"):
        translate(one(Tuple((INT, ANY)), wb.processors.Trim(1)), "compiled")
    opaque = user_function(lambda a: a + 1, result=INT, arity=1, name="next")
    with pytest.raises(
        Refused, match=r"not supported by backend 'compiled': function 'next' has no translation.*reference"
    ):
        translate(one(INT, wb.processors.ApplyFunction(opaque)), "compiled")
    for domain, processor in ((FLOAT, wb.processors.Cast(INT)), (FLOAT, wb.processors.Cast(Integer(5)))):
        with pytest.raises(Refused, match="makes a fraction int"):
            plainly(one(domain, processor))
    with pytest.raises(Refused, match="any number of events"):
        translate(parsed("pipeline p(x: int) -> int { return stutter_by(x, x) }"), "compiled")
    for kind in ("map(int, int)", "map({a, b}, bool)", "(int, map({a, b}, bool))"):
        with pytest.raises(
            Refused, match=r"input 'm' of pipeline p carries .*, but backend 'compiled' takes no .*maps"
        ):
            translate(parsed(f"pipeline p(m: {kind}) -> {kind} {{ return m }}"), "compiled")
    waits = "pipeline p(x: bool) -> bool { return globally(eventually(x, pending = 5)) }"
    with pytest.raises(Refused, match=r"(?s)processor 'globally'.* any number of events .*may wait: pending = 4"):
        translate(parsed(waits), "compiled")
    translate(parsed(waits.replace("= 5)", "= 5), pending = 7")), "compiled")
    slices = (
        "pipeline same(x: int) -> int { return x }"
        "pipeline p(x: int) -> map(int, int) { return trim(slice(x, abs, same), 1) }"
    )
    with pytest.raises(Refused, match=r"(?s)processor 'trim' holds map\(int, int\).*only functions, and outputs"):
        translate(wb.parse(slices).get("p").pipeline, "compiled")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pipeline p(x: int) -> float { return cast(x, float) }", [3.0, -1.0]),
        ("pipeline p(x: -5..5) -> float { return insert(cast(x - 3, float), 7) }", [7.0, 0.0, -4.0]),
        ("pipeline p(x: int) -> float { return cumulate(cast(x, float), max, 5) }", [5.0, 5.0]),
        ("pipeline p(x: int) -> float { return window(cast(x, float), 1, cumulate(min, 2)) }", [2.0, -1.0]),
        ("function at_least(a, b) = if b > a then 1 else 0\n"
         "pipeline p(x: int) -> float { return cumulate(cast(x, float), at_least, 2.5) }", [1.0, 0.0]),
        ("machine p(x: int) -> float { var n: float = 4\n state a: n\n a -> a when x < 0 / n := 9 }", [4.0, 9.0]),
        ("machine p(x: int) -> float { state a: 1\n state b: 2\n a -> b when x < 0 }", [1.0, 2.0]),
    ],
)  # fmt: skip
def test_whole_numbers_that_a_pipeline_writes_on_a_stream_of_floats_are_floats(
    text: str, expected: list[float]
) -> None:
    pipeline = wb.parse(text).get().pipeline
    stream = [3, -1]
    results = [plainly(pipeline).run(stream)["out"], wb.executors.Reference(pipeline).run(stream)["out"]]
    results.append(list(pipeline.denote([stream])[0]))
    assert [[repr(value) for value in found] for found in results] == [[repr(value) for value in expected]] * 3


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("x - 9223372036854775808", "processor 'sub'"),
        ("if x < 10000000000000000000 then x else 0", "processor 'lt'"),
        ("cumulate(x, +, 10000000000000000000)", "processor 'cumulate'"),
        ("insert(x, -9223372036854775809)", "processor 'insert'"),
        ("window(x, 3, cumulate(+, 10000000000000000000))", "processor 'window'"),
        ("cast(cumulate(cast(x, int mod 4294967296), *), int)", "processor 'cumulate'"),
    ],
)
def test_numbers_that_are_too_long_for_a_word_are_refused_and_the_processor_is_named(text: str, where: str) -> None:
    with pytest.raises(Refused, match=f"{where}: compiled code has integers of 64 bits"):
        plainly(parsed(f"pipeline p(x: int) -> int {{ return {text} }}"))


def test_the_input_whose_type_is_too_large_for_a_word_is_named() -> None:
    with pytest.raises(Refused, match="input 'x': compiled code has integers of 64 bits"):
        plainly(parsed("pipeline p(x: 0..9223372036854775808) -> bool { return x > 1 }"))


def test_the_ends_of_a_word_are_numbers_like_others() -> None:
    pipeline = parsed("pipeline p(x: int) -> bool, bool { return x = 9223372036854775807, x = -9223372036854775808 }")
    stream = [2**63 - 1, -(2**63), 0]
    assert plainly(pipeline).run(stream) == wb.executors.Reference(pipeline).run(stream)


def test_finite_domains_are_those_of_the_reference_executor() -> None:
    for kind in Overflowing:
        pipeline = SUM.resolve(Integer(5, kind))
        if kind is Overflowing.CHECKED:
            with pytest.raises(Overflow, match="step 2"):
                plainly(pipeline).feed([2, 2, 2])
        else:
            assert plainly(pipeline).run([2, 2, 2, 4]) == wb.executors.Reference(pipeline).run([2, 2, 2, 4])


def test_floats_are_those_of_python() -> None:
    pipeline = parsed(
        "pipeline p(x: float) -> float, float, float, bool { return cumulate(x, +), x div 0.3, x mod 0.3, x = 0.0 }"
    )
    stream = [0.1, 0.2, -0.7, 1e300, float("inf"), 0.0, -0.0]
    expected = wb.executors.Reference(pipeline).run(stream[:4])
    assert Compiled(pipeline, warm_up_steps=-1).run(stream[:4]) == expected
    assert plainly(pipeline).run(stream[:4]) == expected
    assert FLOAT in dict(pipeline.inputs).values()


def test_whole_numbers_and_floats_are_compared_exactly() -> None:
    """Where floats are so far apart that both sides would be one of them, too."""
    pairs = (("n", "x"), ("x", "n"), ("9007199254740993", "x"))
    bodies = [f"{a} {sign} {b}" for sign in ("=", "!=", "<", "<=", ">", ">=") for a, b in pairs]
    head = f"pipeline p(e: (int, float)) -> {', '.join(['bool'] * len(bodies))}"
    pipeline = parsed(f"{head} {{ n = e.0 x = e.1 return {', '.join(bodies)} }}")
    whole = [0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1, 10**18, 10**18 + 1, 2**63 - 1, -(2**63)]
    floats = [0.0, 0.5, -0.5, 2.0**53, -(2.0**53), 2.0**53 + 2, 1e18, 2.0**63, -(2.0**63), 1e300]
    events = list(itertools.product(whole, [*floats, float("inf"), -float("inf"), float("nan")]))
    expected = wb.executors.Reference(pipeline).run({"e": events})
    assert expected["out1"][events.index((2**63 - 1, 2.0**63))] is False
    assert plainly(pipeline).run({"e": events}) == expected
    assert Compiled(pipeline, warm_up_steps=-1).run({"e": events}) == expected


@pytest.mark.slow
def test_a_conditional_in_a_state_of_many_parts() -> None:
    sums = [f"cumulate(x * {k}.5, +)" for k in range(40)]
    pipeline = parsed(f"""
        machine rest(x: float) -> float {{
            var q: float = 1.0
            state a: 0.0
            a -> a when q > x / q := q mod x
        }}
        pipeline p(x: float) -> {", ".join(["float"] * 41)} {{ return {", ".join(sums)}, rest(x) }}
    """)
    stream = [0.5, 2.0, 0.25, 0.0]
    assert Compiled(pipeline, warm_up_steps=-1).run(stream) == wb.executors.Reference(pipeline).run(stream)


@pytest.mark.parametrize("name", ["even", "odd"])
def test_the_parity_of_floats(name):
    """Only whole numbers are even or odd."""
    program = wb.parse(f"pipeline p(x: float) -> bool {{ return {name}(x) }}").get()
    values = [2.0, 2.5, 4.0, -1.0, -3.0, -0.0, 1e300, math.inf, -math.inf, math.nan] * 500
    right = [value % 2 == (name == "odd") for value in values]
    for backend in ("compiled", "reference", "auto"):
        assert wb.run(program, {"x": values}, backend=backend) == {"out": right}
    assert list(wb.run(program, {"x": np.array(values)}, backend="compiled")["out"]) == right
