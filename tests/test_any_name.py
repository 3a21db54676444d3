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


@pytest.mark.parametrize("name", [*NAMES, "now", "happened", "machine", "present", "value", "input"])
def test_an_input_of_a_machine_may_have_any_name(name: str) -> None:
    """In the SMV text its name must not meet that of a parameter, a variable or an instance of the model."""
    text = f"machine m({name}: 0..3) -> bool {{ var seen: 0..4 = 0\n state a: false\n a -> a / seen := {name} + 1 }}"
    source = wb.parse(text)
    for backend in ("reference", "compiled"):
        assert wb.run(source.get(), {name: [1, 3]}, backend=backend) == {"out": [False, False]}
    for engine in ("explicit", "nusmv", "pynusmv"):
        assert str(wb.check(source, "never(out)", wb.Settings(engine=engine)).outcome) == "holds"
