"""The incremental sets, in Python and in machine code, against the listings; these against definitions (7) to (9)."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.scheduler.interleaving import FlowChoice, Interleaving, mistakes, phase_sets
from experiments.scheduler.listings import Listings, PhaseSets, Variant, define_sets
from tests.examples import examples, scaled
from tests.executors.dataflow.told_sets import ToldSets
from workbench.errors import PipelineError
from workbench.executors.dataflow.minima import least_before, next_below, set_least
from workbench.executors.dataflow.numbering import NumberedGraph, number_graph
from workbench.executors.dataflow.scheduler import Scheduler

RANDOM = Variant.WHOLE, Variant.NUMBERING, Variant.OVERTAKING, Variant.ANY_PHASE, Variant.UNLOCKED


def random_graph(chance, size, kahn=True):
    graph = {v: [u for u in range(1, v) if chance.random() < 0.4] for v in range(1, size + 1)}
    return number_graph(graph)[0] if kahn else NumberedGraph(tuple(map(frozenset, graph.values())))


class Messages:
    """Who sends what, decided by a seed; and which pairs have a message and have not finished."""

    def __init__(self, graph, seed, density):
        self.graph, self.seed, self.density = graph, seed, density
        self.waiting = set()

    def begin(self, phase):
        self.waiting |= {(v, phase) for v in self.graph.sources}

    def __call__(self, pair):
        def end():
            v, p = pair
            chance = random.Random(f"{self.seed} {pair}")
            sent = [w for w in self.graph.successors[v] if chance.random() < self.density]
            self.waiting = self.waiting - {pair} | {(w, p) for w in sent}
            return sent

        return end


def together(graph, chance, variant, threads, phases):
    """The listings and the scheduler through the same choices; the sets after each, and the log."""
    seed, density = chance.random(), chance.choice((0.3, 0.7, 1.0))
    work = Messages(graph, seed, density)
    ours = Interleaving(phase_sets(graph, variant), work, variant)
    sets: list[PhaseSets] = [] if variant else [Listings(graph), ToldSets(graph, phases)]
    others = [Interleaving(each, Messages(graph, seed, density), variant) for each in sets]
    while choices := ours.choices(threads, phases):
        choice = chance.choice(choices)
        ours.do(choice)
        if choice.what == "begin":
            work.begin(ours.sets.begun)
        one = ours.sets
        for theirs in others:
            theirs.do(choice)
            other = theirs.sets
            assert (one.partial, one.full, one.ready) == (other.partial, other.full, other.ready), choice
            assert [one.x(p) for p in range(1, phases + 1)] == [other.x(p) for p in range(1, phases + 1)], choice
            assert sorted(ours.queue) == sorted(theirs.queue)
        yield ours, work


@given(st.integers(0, 2**32))
@examples(50)
def test_the_sets_are_those_of_the_listings_and_of_the_definitions(seed):
    chance = random.Random(seed)
    graph = random_graph(chance, chance.randint(1, 7))
    run: Any = None
    for run, work in together(graph, chance, Variant.WHOLE, chance.randint(1, 4), chance.randint(1, 6)):
        now = run.sets
        assert (now.partial, now.full, now.ready) == define_sets(graph, work.waiting, now.begun)
    assert run is not None
    assert mistakes(graph, run.log) == []
    assert run.sets.complete == run.sets.begun
    assert not run.sets.full | run.sets.partial


@pytest.mark.parametrize("variant", RANDOM[1:], ids=lambda v: v.name)
def test_each_variant_makes_mistakes(variant):
    found = set()
    for seed in range(80):
        chance = random.Random(seed)
        graph = random_graph(chance, chance.randint(2, 6), kahn=variant is not Variant.NUMBERING)
        *_, (run, _) = together(graph, chance, variant, 3, 3)
        found.update(mistake.split(")", 1)[1].split("(")[0] for mistake in mistakes(graph, run.log))
    assert found, "harmless?"


def test_many_phases_at_once_in_any_order():
    """Rows of phases with the same x, long ones, and more than there is room for at first."""
    graph, phases = number_graph({v: [v - 1] * (v > 1) for v in range(1, 5)})[0], scaled(70, 150)
    for order in (max, min)[: scaled(1, 2)]:
        kept = Scheduler(graph), ToldSets(graph, phases)
        theirs, *ours = (Interleaving(each, Messages(graph, 1, 0.6)) for each in (Listings(graph), *kept))
        for run in (theirs, *ours):
            for _ in range(phases):
                run.do(FlowChoice("begin"))
        while theirs.queue:
            pair = order(theirs.queue, key=lambda pair: pair[1])
            for run in (theirs, *ours):
                run.replay([FlowChoice("take", 0, pair), FlowChoice("end", 0)])
                assert sorted(run.queue) == sorted(theirs.queue)
        assert [sets.complete for sets in kept] == [phases, phases]


def test_many_vertices_and_phases_in_machine_code():
    """Sets of more numbers than a word has bits, and than so many words have; rows of phases that are used again."""
    chance = random.Random(1)
    graph = number_graph({v: [v // 8] if v >= 8 else [] for v in range(1, 5001)})[0]
    work = Messages(graph, 7, 0.2)
    scheduler, machine = Scheduler(graph), ToldSets(graph, 30)
    runs = [Interleaving(sets, work) for sets in (scheduler, machine)]
    for done in range(scaled(3000, 6000)):
        begins = scheduler.begun - scheduler.complete < 30 and (not runs[0].queue or chance.random() < 0.1)
        pair = (0, 0) if begins else chance.choice(runs[0].queue)
        for run in runs:
            run.replay([FlowChoice("begin")] if begins else [FlowChoice("take", 0, pair), FlowChoice("end", 0)])
        assert sorted(runs[0].queue) == sorted(runs[1].queue), done
    assert scheduler.complete == machine.complete > scaled(20, 60)


def test_a_numbering_that_is_not_satisfactory_is_refused():
    figure = NumberedGraph(tuple(map(frozenset, [(), (), (), (1, 3), (2,)])))
    for sets in (Listings, Scheduler):
        with pytest.raises(PipelineError, match=r"S\(2\) is \[1, 2, 3, 5\]"):
            sets(figure)
    Listings(figure, Variant.NUMBERING)


def test_an_interleaving_refuses_what_cannot_happen():
    run = Interleaving(Scheduler(number_graph({1: (), 2: (1,)})[0]), lambda pair: lambda: ())
    run.do(FlowChoice("begin"))
    with pytest.raises(PipelineError, match=r"thread 0 cannot take \(2, 1\)"):
        run.do(FlowChoice("take", 0, (2, 1)))
    with pytest.raises(PipelineError, match="thread 1 has nothing to end"):
        run.do(FlowChoice("end", 1))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=16), st.data())
def test_minima(numbers, data):
    found = [99] * 32
    for at, number in enumerate(numbers):
        set_least(found, at, data.draw(st.integers(0, 9)))
        set_least(found, at, number)
    padded = numbers + [99] * (16 - len(numbers))
    for at in range(16):
        assert found[16 + at] == padded[at]
        assert least_before(found, at, 99) == min(padded[:at], default=99)
        for bound in (0, 3, 10):
            places = (i for i in range(at, 16) if padded[i] < bound)
            assert next_below(found, at, bound) == next(places, 16)
