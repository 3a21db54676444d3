"""What tests of rules on a GPU do in the process whose device runs PTX; a few rules do for all."""

from __future__ import annotations

from tests.executors.compiled import ptx_device
from tests.executors.compiled.ptx import Kernel
from tests.tesla.test_stretches import published
from workbench.conformance.compare.rule_engines import same_occurrence
from workbench.conformance.generate.rule_streams import stream_case
from workbench.executors.compiled.rules.cuda_device import CudaDevice
from workbench.executors.compiled.rules.trigger_batches import BatchedRules
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.engine import EngineSettings, rule_engine
from workbench.tesla.occurrence import Facts, Occurrence

TYPES = """
declare A(p: int, v: float, s: string) declare B(p: int, v: float, s: string) declare C(p: int)
declare Made(b: int, a: int) declare Sum(b: int, s: int, v: float) declare Texts(s: string) declare fact G(p: int)
"""
RULES = (
    "rule each: from C and each B within 20 from C and each A(p == B.p) within 20 from C emit Made(b = B.p, a = A.p)\n"
    "rule last: from C and each B within 20 from C and last A(p == B.p) within 20 from C"
    " and $s = SUM(A(p > C.p).p within 20 from C) emit Sum(b = B.p, s = $s, v = B.v)\n"
    "rule rest: from C and first B(v * 2.0 < p % 3) within 9 from C and not A(p > B.p + 1) between B and C"
    " and last G(p >= B.p) ordered by p asc and $m = AVG(B.v within 9 from C)"
    " and $s = SUM(A.v within 9 from C) where $m < 1.5 + $s emit Made(b = B.p, a = G.p)\n"
    "rule texts: from B and each A(s < B.s) within 30 from B and $m = MAX(A.s within 20 from B) limit 2"
    ' emit Texts(s = A.s + "-" + $m)\n'
)


def engine(text: str = RULES, facts: Facts | None = None, stretch: int = 30) -> BatchedRules:
    """Rules on a device with few threads."""
    return BatchedRules(parse_rules(TYPES + text), facts or {}, EngineSettings(), CudaDevice(2, 4), batch_size=stretch)


def conformance(seeds: int) -> None:
    """Several rules at once, in blocks and stretches, threads in either order: what `cdp` tells, order included."""
    made, composites = parse_rules(TYPES + RULES), 0
    for seed in range(seeds):
        case = stream_case(made, seed, 70)
        Kernel.reverse = seed % 2 == 1
        cdp = rule_engine(made, "cdp", case.facts)
        expected = [each for event in case.events for each in cdp.process(event)]
        found = published(engine(facts=case.facts, stretch=(9, 30, 1000)[seed % 3]), case.events, [20, 45])
        assert len(found) == len(expected), seed
        assert all(map(same_occurrence, found, expected)), seed
        composites += len(found)
    Kernel.reverse = False
    assert composites > 40 * seeds
    assert len(ptx_device.launched) >= 2 * seeds


def large_numbers() -> None:
    """A sum with more than 64 bits: the stretch is taken back, and `cdp` goes on with exact numbers."""
    text = "rule sum: from C and $s = SUM(A.p within 9 from C) where $s > C.p emit Made(b = C.p, a = 1)"
    events = [Occurrence("A", 0, (1, 0.0, "")), Occurrence("C", 1, (0,)), Occurrence("A", 2, (2**63 - 1, 0.0, ""))]
    gpu = engine(text)
    assert [each.values for each in published(gpu, [*events, Occurrence("C", 3, (5,))], [1])] == [(0, 1), (5, 1)]
