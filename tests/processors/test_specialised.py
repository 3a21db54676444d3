"""Whatever way a holder takes, it computes what its definition says."""

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.processors.held_pipelines import MODELLED, held_pipelines, steps_of
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import CompiledRun, Denoting, Running
from workbench.conformance.compare.models import Evaluated
from workbench.errors import Refused
import pytest

@pytest.mark.parametrize("kind", ["window", "history", "batches", "spawn", "quantifier", "slice"])
@examples(300)
@given(data=st.data())
def test_a(kind, data):
    pipeline = data.draw(held_pipelines(kinds=[kind]))
    steps = data.draw(steps_of(pipeline))
    check(pipeline, steps, Denoting(pipeline), Running(pipeline))
    for seen in Running(pipeline).trace(steps):
        pass
    try:
        c = CompiledRun(pipeline, {})
    except Refused:
        return
    check(pipeline, steps, Running(pipeline), c)

@pytest.mark.parametrize("kind", ["window", "history", "batches", "spawn", "quantifier", "slice"])
@examples(200)
@given(data=st.data())
def test_b(kind, data):
    pipeline = data.draw(held_pipelines(MODELLED, kinds=[kind]))
    steps = data.draw(steps_of(pipeline, 9))
    try:
        c = Evaluated(pipeline, 20)
    except Refused:
        return
    check(pipeline, steps, Running(pipeline), c)
