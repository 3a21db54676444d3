"""Pipelines whose vertices run in the order of random choices: the whole scheduler, and without one of its parts."""

import random

import pytest

from experiments.scheduler.interleaving import mistakes
from experiments.scheduler.listings import Variant
from experiments.scheduler.scripted import ScriptedDataflow
from tests.executors.dataflow.test_executor import sparse
from tests.executors.threaded.test_executor import STEPS, figure
from workbench.executors.dataflow.executor import Dataflow
from workbench.executors.reference.executor import Reference


def interleaved(running, steps, seed, variant=Variant.WHOLE, threads=3):
    """A run by random choices, and the choices."""
    chance, made = random.Random(seed), []

    def choose(run):
        found = run.choices(threads, len(steps))
        made.extend([chance.choice(found)] if found else [])
        return made[-1] if found else None

    return running.interleaved(steps, choose, variant), made


@pytest.mark.parametrize("seed", range(10))
def test_interleavings_of_choices_are_the_reference(seed):
    steps = STEPS[:6]
    found, choices = interleaved(ScriptedDataflow(figure), steps, seed)
    assert found.outputs == [record.outputs for record in Reference(figure).trace(steps)]
    assert mistakes(Dataflow(figure).vertices.graph, found.run.log) == []
    again = ScriptedDataflow(figure).interleaved(steps, choices)
    assert (again.outputs, again.run.log) == (found.outputs, found.run.log)


@pytest.mark.parametrize("variant", [Variant.OVERTAKING, Variant.ANY_PHASE, Variant.UNLOCKED], ids=lambda v: v.name)
def test_broken_variants_show_in_what_comes_out(variant):
    """The second step reaches the sum at once, the first one by a filter."""
    steps = [{"x": 1}, {"y": 5}, {"x": 3, "y": 7}]
    expected = [record.outputs for record in Reference(sparse).trace(steps)]
    runs = [interleaved(ScriptedDataflow(sparse), steps, seed, variant) for seed in range(60)]
    wrong = [found for found, _ in runs if found.outputs != expected or found.failure.error is not None]
    assert wrong
    assert all(mistakes(Dataflow(sparse).vertices.graph, found.run.log) for found in wrong)
