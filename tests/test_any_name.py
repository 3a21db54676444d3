"""A processor may have any name of the language: what backends, models and observers add is called otherwise."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.verify.analyses.measure import latency

NAMES = ("log", "overflow", "silence", "latency", "events", "exchanged", "main", "init", "self", "end", "lambda")
TEXT = """
pipeline p(x: 0..3) -> 0..8 {{ {0} = x + 1  return {0} + {0} }}
check always (out >= 2)
check bounded-liveness(3)
check no-overflow
"""


@pytest.mark.parametrize("name", NAMES)
def test_a_processor_may_have_any_name(name: str) -> None:
    source = wb.parse(TEXT.format(name))
    for backend in ("reference", "threaded", "dataflow"):
        assert wb.run(source.get(), {"x": [1, 2, 3]}, backend=backend) == {"out": [4, 6, 8]}
    for engine in ("explicit", "auto"):
        verdicts = [problem.decide() for problem in wb.problems(source, wb.Settings(q=1, engine=engine))]
        assert [str(verdict.outcome) for verdict in verdicts] == ["holds"] * 3
    assert latency(source.get(), "x", "out").says == "0 steps"
