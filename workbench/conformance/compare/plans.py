"""Hypothesis strategies for how threads are used in a run."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import strategies as st

from workbench.conformance.compare.schedules import Switches
from workbench.conformance.compare.threaded import Plan
from workbench.core.pipeline import Pipeline


@st.composite
def plans(draw: st.DrawFn, /, flat: Pipeline, certified: Collection[str] = (), *, seeded: bool = False) -> Plan:
    """How threads are used: few cuts, threads and switches first; schedules that are `seeded` switch often."""

    def some(names: Collection[str]) -> tuple[str, ...]:
        return tuple(name for name in names if draw(st.booleans()))

    points = st.one_of(st.integers(0, 8), st.integers(0, 60))
    switches = st.lists(st.tuples(points, st.integers(0, 3)), max_size=6).map(tuple)
    schedule: int | Switches = draw(st.integers(0, 2**16)) if seeded else draw(switches)
    return Plan(
        some([node.name for node in flat.nodes]),
        some(certified),
        draw(st.sampled_from((1, 2, 3, None))),
        draw(st.sampled_from((1, 2, 5))),
        schedule,
    )
