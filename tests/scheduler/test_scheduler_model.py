"""The scheduler as a model: it does what the listings do, its claims hold, and each broken variant breaks some."""

from random import Random

import pytest

from experiments.scheduler.claims import CLAIMS, check_scheduler, scheduler_part
from experiments.scheduler.graphs import enumerate_graphs
from experiments.scheduler.interleaving import Interleaving
from experiments.scheduler.listings import Listings, Variant
from experiments.scheduler.model import SchedulerModel
from experiments.scheduler.replay import CONFIRMED
from workbench.errors import InputError
from workbench.executors.dataflow.numbering import NumberedGraph
from workbench.ir.simulate import Simulator


def graph(*predecessors):
    return NumberedGraph(tuple(map(frozenset, predecessors)))


DIAMOND = graph((), (1,), (1,), (2, 3))
TRIANGLE = graph((), (1,), (1, 2))
LATE_SOURCE = graph((), (), (1, 2), ())
"""Vertex 4 is a source, which the additional restriction puts before vertex 3."""


def named(what, pair):
    return what if what == "begin" else f"{what}_v{pair[0]}p{pair[1]}"


def flags(state, name, pairs):
    return {(v, p) for v, p in pairs if state[f"{name}:v{v}p{p}"]}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("variant", [Variant.WHOLE, *Variant])
@pytest.mark.parametrize("shape", [DIAMOND, TRIANGLE, LATE_SOURCE], ids=["diamond", "triangle", "late source"])
def test_it_does_what_the_listings_do(shape, variant):
    variant |= Variant.WHOLE if shape.satisfactory else Variant.NUMBERING
    model = SchedulerModel(shape, 3, 2, variant)
    for seed in range(4):
        random, running = Random(seed), Simulator(model.system)
        sent = {(v, p): [w for w in shape.successors[v] if random.random() < 0.7] for v, p in model.pairs}
        threads = Interleaving(Listings(shape, variant), working(sent), variant)
        while choices := threads.choices(2, 3):
            choice = random.choice(choices)
            after = shape.successors[choice.pair[0]] if choice.what == "end" else ()
            bits = [i < len(after) and after[i] in sent[choice.pair] for i, _ in enumerate(model.messages)]
            if not one_step(model, running, threads, choice, bits):
                break


def working(sent):
    return lambda pair: lambda: sent[pair]


def one_step(model, running, threads, choice, bits):
    """Do it in both; whether they can go on."""
    running.step({"choice": (named(choice.what, choice.pair), *bits)})
    threads.do(choice)
    state = dict(zip((v.name for v in model.system.variables), running.state, strict=True))
    if state["seen:twice"]:
        return False
    for name in ("partial", "full", "ready"):
        assert flags(state, name, model.pairs) == getattr(threads.sets, name), name
    assert flags(state, "queue", model.pairs) == set(threads.queue)
    assert [state[f"x:p{p}"] for p in (1, 2, 3)] == [threads.sets.x(p) for p in (1, 2, 3)]
    assert state["begun:phases"] == threads.sets.begun
    return True


def failing(shape, variant, phases=2, threads=2):
    found = check_scheduler(SchedulerModel(shape, phases, threads, variant))
    assert all(each.replay == CONFIRMED for each in found if each.outcome == "fails")
    return {each.claim: each.run.lines() for each in found if each.outcome != "holds"}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("size", "threads"), [(1, 1), (2, 2), (3, 2)])
def test_all_claims_hold_on_all_small_graphs(size, threads):
    graphs = [each for each in enumerate_graphs(size) if each.satisfactory]
    assert len(graphs) == {1: 1, 2: 2, 3: 7}[size]
    for each in graphs:
        assert failing(each, Variant.WHOLE, 2, threads) == {}


BROKEN = {
    Variant.NUMBERING: (LATE_SOURCE, {"definitions", "one-at-a-time", "in-order", "exactly-once", "serialisable"}),
    Variant.OVERTAKING: (TRIANGLE, {"definitions", "one-at-a-time", "in-order", "serialisable"}),
    Variant.ANY_PHASE: (graph(()), {"definitions", "one-at-a-time", "in-order", "serialisable"}),
    Variant.UNLOCKED: (
        graph((), (), (1, 2)),
        {"definitions", "one-at-a-time", "in-order", "serialisable", "exactly-once"},
    ),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("variant", BROKEN)
def test_each_part_of_the_algorithm_is_needed(variant):
    shape, wrong = BROKEN[variant]
    assert set(failing(shape, variant)) == wrong


def test_a_shortest_run_in_words():
    """Vertex 1 sends phase 2 to 3, which starts it while phase 1 waits at vertex 2."""
    assert failing(TRIANGLE, Variant.OVERTAKING)["serialisable"] == [
        "phase 1 begins",
        "phase 2 begins",
        "thread 0 takes (1, 1)",
        "thread 0 ends (1, 1), with messages to 2",
        "thread 0 takes (1, 2)",
        "thread 0 ends (1, 2), with messages to 3",
        "thread 0 takes (3, 2)",
    ]


def test_what_is_harmless_is_shown_to_be():
    """Where x_p > x_(p-1) only where nothing waits, nothing is ready too early, though x is not as defined."""
    assert set(failing(graph((), (1,), (1,)), Variant.OVERTAKING)) == {"definitions"}
    assert set(failing(graph((), (1,), ()), Variant.NUMBERING)) == {"definitions"}


def test_engines_agree():
    for variant in (Variant.WHOLE, Variant.ANY_PHASE):
        model = SchedulerModel(graph((), (1,)), 2, 2, variant)
        found = {engine: check_scheduler(model, engine=engine) for engine in ("explicit", "nusmv")}
        explicit, smv = ([(each.claim, each.outcome) for each in verdicts] for verdicts in found.values())
        assert explicit == smv
        assert all(each.replay == CONFIRMED for each in found["nusmv"] if each.run)


def test_the_text_reads_like_the_listings():
    text = scheduler_part(SchedulerModel(TRIANGLE, 2, 2, Variant.OVERTAKING)).smv.text
    assert text.startswith(
        "-- Listings 1 and 2 of Zimmerman and Chandy for 3 vertices, 2 phases and 2 threads, without x_p"
    )
    assert "-- vertex 3: fed by 1, 2" in text
    assert "fills_v3p1 := settles & partial_v3p1 & (x_p1 >= 2);" in text


def test_too_many_states_are_not_known_and_no_text_is_made_of_them(monkeypatch):
    """The limit bounds all that is done; dozens of vertices have a text of megabytes, which only a run would want."""
    monkeypatch.setattr("workbench.smv.printer._Printer._write", lambda *_: pytest.fail("printed"))
    chain = graph((), *((v,) for v in range(1, 40)))
    found = check_scheduler(SchedulerModel(chain, phases=2, threads=2), ["in-order", "ends"], seconds=0.2)
    assert [str(each.outcome) for each in found] == ["unknown", "unknown"]
    assert all("time limit of 0.2 s" in each.reason for each in found)


def test_a_claim_that_is_none():
    with pytest.raises(InputError, match="serializable"):
        check_scheduler(SchedulerModel(TRIANGLE, 2, 2), ["serializable"])
    assert list(CLAIMS)[-1] == "ends"
