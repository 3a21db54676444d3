"""What tests of rules on a GPU do in the process whose device runs PTX; a few rules, and so kernels, do for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numba
import numpy as np
import pytest
from numba import cuda

from tests.executors.compiled import ptx_device
from tests.executors.compiled.ptx import Kernel
from workbench.conformance.compare.rule_engines import same_occurrence
from workbench.conformance.generate.rule_streams import stream_case
from workbench.errors import InputError
from workbench.executors.compiled.rules_gpu.costs import TO_ADOPT, kernel_cost
from workbench.executors.compiled.rules_gpu.engine import GpuRules
from workbench.executors.compiled.rules_gpu.kernels import device_scope
from workbench.executors.compiled.rules_gpu.sequences import RuleSequences
from workbench.tesla.check import rules
from workbench.tesla.engines.engine import EngineSettings, rule_engine
from workbench.tesla.event_block import event_block
from workbench.tesla.occurrence import Facts, Occurrence

TYPES = """
declare A(p: int, v: float) declare B(p: int, v: float) declare C(p: int)
declare Made(b: int, a: int) declare Sum(b: int, s: int, v: float) declare Fired(p: int) declare fact G(p: int)
"""
EACH = (
    "rule each: from C and each B within 20 from C and each A(p == B.p) within 20 from C emit Made(b = B.p, a = A.p)\n"
)
LAST = (
    "rule last: from C and each B within 20 from C and last A(p == B.p) within 20 from C"
    " and $s = SUM(A(p > C.p).p within 20 from C) emit Sum(b = B.p, s = $s, v = B.v)\n"
)
REST = (
    "rule rest: from C and first B(v * 2.0 < p % 3) within 9 from C and not A(p > B.p + 1) between B and C"
    " and last G(p >= B.p) ordered by p asc and $m = MIN(B.v within 9 from C)"
    " and $s = SUM(A.v within 9 from C) where $m < 1.5 + $s emit Made(b = B.p, a = G.p)"
    " at most once in 2 per B.p consuming B\n"
)
FED = (
    "rule fed: from Fired and absent A within 2 after Fired emit Sum(b = 0, s = 1, v = 0.5)\n"
    "rule fires: from B emit Fired(p = 1)\n"
)
"""Rules that the host takes."""


def engine(text: str, facts: Facts | None = None, **sizes: int) -> GpuRules:
    """Rules on a device with few threads."""
    sizes = {"threads": 8, "blocks": 3, **sizes}
    return GpuRules(rules(TYPES + text), facts or {}, EngineSettings(), code=False, **sizes)


def told(gpu: GpuRules, events: Sequence[Occurrence], cuts: Sequence[int] = ()) -> list[Occurrence]:
    """What comes of events in blocks that end at these places."""
    found, first = [], 0
    for last in (*cuts, len(events)):
        block = event_block(gpu.rules, events[first:last], gpu.texts.put)
        for part in gpu.process_block(block, sources=True):
            found += part.occurrences(gpu.rules)
        first = last
    return found


@contextmanager
def looked() -> Iterator[list[tuple[int, int, int, int, list[int]]]]:
    """Each time candidates are looked at: the step, mode, blocks and sequences; and the indexes afterwards."""
    found: list[tuple[int, int, int, int, list[int]]] = []
    look = RuleSequences._look

    def seen(self: Any, i: int, mode: int, tiles: int, *given: Any, **more: Any) -> None:
        look(self, i, mode, tiles, *given, **more)
        count, stride = given[2], self.source.stride
        found.append((i, mode, tiles, count, self._values(count)[: count * stride : stride].tolist()))

    with patch.object(RuleSequences, "_look", seen):
        yield found


def column(b: Sequence[int], e: Sequence[int]) -> list[Occurrence]:
    """Events B, which make as many sequences, events A with these values, and C."""
    made = [Occurrence("B", at, (p, 0.0)) for at, p in enumerate(b)]
    made += [Occurrence("A", 6 + at, (p, 0.0)) for at, p in enumerate(e)]
    return [*made, Occurrence("C", 14, (0,))]


def kernels_of_a_stretch() -> None:
    """As many are started as the model says."""
    gpu = engine(EACH)
    cost = kernel_cost(gpu.placement.sources[0])
    events = column([0, 1], [0, 1])
    told(gpu, events[:1])  # the columns are there, with room
    ptx_device.launched.clear()
    assert len(told(gpu, events[1:])) == 2
    grown = cost.columns  # a column that gets more room is copied
    assert len(ptx_device.launched) == cost.kernels + TO_ADOPT * cost.columns + grown


def figure_6a() -> None:
    """Six sequences and seven events are 42 threads; that of E3 and S3 writes the sequence after three others."""
    with looked() as found:
        made = told(engine(EACH, threads=8), column([0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 9, 9, 9]))
    (counted, written) = [each for each in found if each[0] == 2]
    assert counted[:4] == (2, 0, 6, 6)  # a block of 8 threads for each sequence, 7 of which have an event
    assert written[:4] == (2, 1, 6, 6)
    assert len(made) == 4
    assert (made[3].sources, made[3].values) == ((13, 3, 9), (3, 3))  # C, the B of S3, E3


def figure_6b() -> None:
    """The indexes of six sequences, -1 at first; the thread of E4 and S1 puts 4 where 1 was; -1 ends a sequence."""
    with looked() as found:
        made = told(engine(LAST), column([0, 1, 2, 3, 4, 0], [9, 1, 0, 3, 1, 9, 9]))
    (selected,) = [each for each in found if each[0] == 2]
    assert selected[4] == [2, 4, -1, 3, -1, 2]
    assert [each.sources[1:] for each in made] == [(0, 8), (1, 10), (3, 9), (5, 8)]


def figure_7() -> None:
    """Eight events and four threads: 10, 8, 0, 4 are added in shared memory to 10, 12, and these to 22.

    E2 and E6 do not satisfy the constraint, and count as 0.
    """
    stored = [7, 3, 0, 4, 3, 5, 0, 0]
    scope = device_scope()

    def reduced(values: Any, out: Any) -> None:
        shared, t = cuda.shared.array(4, numba.int64), cuda.threadIdx.x
        out[0] = scope_block_sum(shared, t, values[t] + values[t + 4])

    scope_block_sum = scope["block_sum"]
    text, _ = cuda.compile_ptx(reduced, (numba.int64[::1], numba.int64[::1]), cc=(9, 0))
    kernel, out = Kernel(text), np.zeros(1, np.int64)
    kernel(1, 4, [np.array(stored), out])
    assert kernel.shared == [[22, 12, 0, 4]]
    assert out[0] == 22
    events = [Occurrence("A", at, (value, 0.0)) for at, value in enumerate(stored)]
    events.append(Occurrence("B", 8, (7, 0.5)))
    for more, blocks in (([], 1), ([Occurrence("A", 8, (1, 0.0))], 2)):  # four threads look at eight events
        with looked() as found:
            (made,) = told(engine(LAST, threads=4), [*events, *more, Occurrence("C", 9, (0,))])
        assert [each[2] for each in found if each[0] == 3] == [blocks]
        assert made.values == (7, 22 + len(more), 0.5)


def conformance(seeds: int, *, rest: bool) -> None:
    """Several rules at once, in blocks and stretches, threads in either order: what `cdp` tells, order included."""
    text = EACH + LAST + FED + (REST if rest else "")
    made = rules(TYPES + text)
    composites = exact = 0
    for seed in range(seeds):
        case = stream_case(made, seed, 70)
        Kernel.reverse = seed % 2 == 1
        sizes = {"threads": (4, 8)[seed % 2], "stretch": (9, 30, 1000)[seed % 3], "most": (3, 1000)[seed % 2]}
        gpu = engine(text, case.facts, **sizes)
        assert sorted(gpu.placement.host) == [2, 3]
        ptx_device.free[0] = 1 << (5 if seed == 3 else 30)  # columns lie in the host's memory
        cdp = rule_engine(made, "cdp", case.facts)
        end = max((event.time for event in case.events), default=0) + 30
        large = [Occurrence("B", end, (2**63 - 1, -5.0)), Occurrence("A", end, (1, 0.0)), Occurrence("C", end, (0,))]
        events = [*case.events, *(large if rest else [])]
        expected = [each for event in events for each in cdp.process(event)]
        found = told(gpu, events, [20, 45])
        assert len(found) == len(expected), seed
        devices: list[Any] = gpu.parts[1:]
        assert len(devices) == 2  # two of them
        assert any(part.device.elsewhere for part in devices) == (seed == 3)
        assert all(map(same_occurrence, found, expected)), seed
        composites += len(found)
        exact += sum(len(part._exact) for part in devices)
    Kernel.reverse = False
    assert composites > 40 * seeds
    assert (exact > 0) == rest


def large_numbers() -> None:
    """What is said where a sum has more than 64 bits: a device has seen it, `cdp` has computed it."""
    events = [Occurrence("A", 0, (2**63 - 1, 0.0)), Occurrence("A", 1, (1, 0.0)), Occurrence("B", 2, (1, 0.5))]
    gpu = engine(LAST, threads=4)
    assert told(gpu, [*events[1:], Occurrence("C", 3, (0,))])[0].values == (1, 1, 0.5)
    with pytest.raises(InputError) as error:
        told(engine(LAST, threads=4), [*events, Occurrence("C", 3, (0,))])
    print(error.value)
    with pytest.raises(InputError, match="no room for times"):
        told(gpu, [Occurrence("C", 1 << 62, (0,))])
