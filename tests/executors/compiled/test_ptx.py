"""The kernels as a GPU gets them: compiled by NVIDIA's compiler, and their PTX run by the CPU."""

from __future__ import annotations

import pytest

from tests.executors.compiled.conftest import Run, needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]  # the simulator runs the same kernels in test_batch


def test_queues_windows_gaps_ends_and_groups(run: Run) -> None:
    assert "Overflow" in run(
        """
from tests.executors.compiled.test_batch import TEXT, compared
compared(Batch(wb.parse(TEXT).get().pipeline, device="gpu"))
full = wb.parse("pipeline q(x: int) -> int { third = decimate(x, 3)  both = third + x"
                "  capacity queue(both.left) = 0  capacity queue(both.right) = 6  return both }").get().pipeline
try:
    Batch(full, device="gpu").run(np.zeros((12, 3), np.int64))
except wb.errors.Overflow as error:
    print("Overflow", error)
"""
    )


def test_pipelines_of_the_benchmark(run: Run) -> None:
    """They are the benchmark's for a GPU, and read nothing but their inputs."""
    run(
        """
import bench_gpu
random = np.random.default_rng(2)
columns = [random.integers(-9, 1000, (steps, 33)) for steps in (1, 99, 100, 101, 260)]
source = wb.parse(bench_gpu.source(260))
for name in source.pipelines:
    same(source.get(name).pipeline, *columns)
    for kernel in ptx_device.compiled:
        assert "local" not in kernel.text
"""
    )


def test_floats_are_rounded_as_on_a_processor(run: Run) -> None:
    """A product and a sum are two results, and no `fma` of the device."""
    made = run(
        """
text = "pipeline p(x: float) -> float { return cumulate(x * x + x - 2.5 * x, +) }"
same(wb.parse(text).get().pipeline, np.random.default_rng(1).normal(size=(300, 4)))
print(sum("fma" in kernel.text for kernel in ptx_device.compiled), len(ptx_device.compiled) > 2)
"""
    )
    assert made.split() == ["0", "True"]


def test_numbers_at_the_ends_of_a_word(run: Run) -> None:
    """What overflows is seen, and nothing else."""
    made = run(
        """
for text, given in (("x + 1", 2**63 - 1), ("x - 1", -(2**63)), ("x * 3", 2**62), ("x div -1", -(2**63))):
    p = wb.parse(f"pipeline p(x: int) -> int {{ return {text} }}").get().pipeline
    gpu = same(p, np.array([[5, given // 4]]))
    try:
        gpu.run(np.array([[5, given]]))
    except wb.errors.Overflow as error:
        print(error.what.split(",")[0])
"""
    )
    assert made.splitlines() == ["trace 1"] * 4


def test_operators_at_extreme_numbers(run: Run) -> None:
    """They are Python's: also signs of zeros, infinities, remainders of large quotients, negative numbers."""
    run(
        """
import itertools, math
def compared(numbers, others, *bodies):
    kinds = ", ".join("float" if isinstance(each[0], float) else "int" for each in (numbers, others))
    text = f"a = x.0  b = x.1  return {', '.join(bodies)}"
    text = f"pipeline p(x: ({kinds})) -> {', '.join(['any'] * len(bodies))} {{ {text} }}"
    pipeline = wb.parse(text).get().pipeline
    pairs = list(itertools.product(numbers, others))
    made = Batch(pipeline, device="gpu").run(tuple(np.array([row]) for row in zip(*pairs)))
    expected = wb.executors.Reference(pipeline).run({"x": pairs})
    for body, name in zip(bodies, expected):
        for trace, pair in enumerate(pairs):
            (ours,), theirs = made[name].events(trace), expected[name][trace]
            assert repr(ours) == repr(theirs), (body, pair, ours, theirs)

both = "a div b", "a mod b", "min(a, b)", "max(a, b)", "a < b", "a <= b", "a = b", "a != b"
floats = [0.0, 1.0, 3.0, 0.1, 7.5, 5e-324, 1e-300, 2.0**53, 2.0**63, 1.7976931348623157e308, math.inf]
floats = [*floats, *(-x for x in floats), math.nan]
compared(floats, floats, *both, "a + b", "a - b", "a * b",
    "a * b + b", "a mod 0.7", "3 div b")
words = [0, 1, -2, 3, 7, -7, 20, -20, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)]
compared(words, floats, "a < b", "a <= b", "a > b", "a >= b", "a = b", "a != b", "b < a", "b <= a", "b >= a", "b = a")
compared(words, words, *both, "a mod 8", "a div -8", "a mod 10", "cast(a, float)", "cast(a, int mod 7)",
    "cast(a, int sat 9)")
"""
    )


@pytest.mark.parametrize(
    "bodies",
    [
        ("cumulate(x, +)", "window(x, 12, cumulate(+))"),
        pytest.param(("cumulate(window(x, 3, cumulate(max)), +)", "decimate(x, 3)"), marks=pytest.mark.slow),
    ],
)
def test_one_stream_in_blocks(run: Run, bodies: tuple[str, str]) -> None:
    run(
        f"bodies = {bodies}"
        """
for body in bodies:
    pipeline = wb.parse(f"pipeline p(x: int) -> int {{ return {body} }}").get().pipeline
    x = np.random.default_rng(7).integers(-99, 99, 5000)
    blocks = ParallelGpu(pipeline, blocks=8, shortest=100, warm_up_steps=-1)
    ours, theirs = blocks.feed(x, steps=True)["out"], wb.executors.Compiled(pipeline).feed(x, steps=True)["out"]
    assert blocks.blocks, body
    assert ours.events() == theirs.events() and (ours.steps == theirs.steps).all(), body
"""
    )


def test_random_pipelines(run: Run) -> None:
    """As `workbench conform` compares them."""
    run(
        """
from dataclasses import replace
from workbench.conformance.compare.conform import conform_random
from workbench.conformance.compare.search import Search
from workbench.conformance.compare.contenders import CONTENDERS
gpu = replace(next(each for each in CONTENDERS if each.backend == "gpu"), share=1)
outcome = conform_random([gpu], Search(examples=30))
assert outcome.failure is None and outcome.agreements > 10, outcome
"""
    )
