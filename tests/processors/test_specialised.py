"""Faster ways of a general construct: their conditions, on both sides of each, and that they compute the same.

The rule of this module: a condition is tested on instances where it just holds and on instances where it just does not,
and both against the definition.
"""

from contextlib import contextmanager
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.processors.common import machined, stepped, typed
from tests.processors.held_pipelines import (
    BACKWARDS,
    CHECKED,
    FEW,
    KINDS,
    MODELLED,
    N5,
    OWN_SUM,
    SECOND,
    held_pipelines,
    of_domain,
    steps_of,
)
from workbench.builder import Builder
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import CompiledRun, Denoting, Running
from workbench.conformance.compare.models import Evaluated
from workbench.core import function as f
from workbench.core.domain import BOOL, FLOAT, INT, Integer, Range
from workbench.core.fold import postorder
from workbench.core.kinds import Divisible, stepping
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END, events_of
from workbench.errors import Overflow, Refused
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.parallel.executor import Parallel
from workbench.executors.reference.executor import Reference
from workbench.ir.compose import compose
from workbench.ir.lookback import find_history_bound
from workbench.language.load import parse
from workbench.processors.apply import ApplyFunction
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter
from workbench.processors.held import sliding
from workbench.processors.held.cumulate_window import associative, cumulation, fold_of
from workbench.processors.held.group import Group, flatten
from workbench.processors.held.history import History
from workbench.processors.held.window import Window
from workbench.processors.insert import Insert
from workbench.processors.keep_last import KeepLast
from workbench.processors.past import Yesterday
from workbench.processors.slices.slice import Slice
from workbench.processors.slices.slice_machine import MapMachine
from workbench.processors.stutter import Stutter
from workbench.processors.trim import Trim
from workbench.processors.turn_into import TurnInto

SUM = Cumulate(f.ADD)


def reading(place, domains, *processors, shown=None):
    """A pipeline in which processors follow each other, the first of which reads the input of this number."""
    builder = Builder("held")
    streams = [builder.input("xyz"[i], domain) for i, domain in enumerate(domains)]
    stream = streams[place]
    for processor in processors:
        stream = processor(stream)
    return builder.build(stream if shown is None else streams[shown])


# --- conditions ---------------------------------------------------------------------------------------------

FOLDED = [
    (SUM, [INT], True),
    (Group(reading(0, [INT], SUM)), [INT], True),
    (Group(reading(0, [INT, INT], SUM)), [INT, INT], False),
    (Group(reading(1, [INT, INT], SUM)), [INT, INT], False),
    (Group(reading(1, [BOOL, INT], SUM)), [BOOL, INT], False),
    (Group(reading(0, [INT], SUM, SUM)), [INT], False),
    (Group(reading(0, [INT], SUM, shown=0)), [INT], False),
    (Trim(1), [INT], False),
]


@pytest.mark.parametrize(("inner", "domains", "holds"), FOLDED, ids=count())
def test_what_a_window_folds(inner, domains, holds):
    ready = typed(inner, *domains)
    assert (cumulation(ready) is not None) is (fold_of(5, ready) is not None) is holds


STACKED = [
    (f.ADD, INT, True),
    (f.ADD, N5, True),
    (f.ADD, FLOAT, False),
    (f.ADD, CHECKED, False),
    (f.MAX, CHECKED, True),
    (f.SUB, INT, False),
    (OWN_SUM, INT, False),
    (SECOND, INT, False),
    (BACKWARDS, INT, False),
]


@pytest.mark.parametrize(("function", "domain", "holds"), STACKED, ids=count())
def test_what_is_associative(function, domain, holds):
    assert (associative(typed(Cumulate(function, 1), domain)) is not None) is holds


SLIDING = [
    (f.ADD, INT, "removes"),
    (f.ADD, Range(0, 3), "removes"),
    (f.ADD, Range(1, 3), "folds"),  # what has not come yet is 1, which would be taken out
    (f.MAX, INT, "doubles"),
    (f.MAX, Range(1, 3), "folds"),  # the start is another value than all that come
    (f.MUL, N5, "doubles"),
    (f.MUL, INT, "folds"),  # a product of some of the events may leave a word where that of all is 0
    (f.SUB, INT, "folds"),
]


@pytest.mark.parametrize(("function", "domain", "way"), SLIDING, ids=count())
def test_how_windows_slide(function, domain, way):
    start = 0 if domain == Range(1, 3) else None
    window = typed(Window(9, Cumulate(function, start)), domain)
    cumulate = associative(window.inner)
    assert (cumulate is not None and sliding.can_remove(cumulate, domain)) is (way == "removes")
    assert (window.stored((domain,)) is None) is (way == "folds")
    stream = [1, 3, 2, 2, 1, 3, 1, 1, 2, 3, 1, 2, 1]
    builder = Builder("p")
    whole = builder.build(Window(9, Cumulate(function, start))(builder.input("x", domain)))
    run = Running(whole), CompiledRun(whole)
    check(whole, [{"x": x} for x in stream], Denoting(whole), run[0])
    check(whole, [{"x": x} for x in stream], *run)


KEPT = [(SUM, True), (TurnInto(1, N5), False), (Trim(1), False), (KeepLast(), False)]


@pytest.mark.parametrize(("inner", "holds"), KEPT, ids=str)
def test_where_a_slice_keeps_its_last_event_once(inner, holds):
    ready = typed(Slice(f.EVEN, inner), N5)
    copies = MapMachine(ready, ready._inner.machine((N5,)), (N5,))
    assert (copies.retained_slot is not None) is holds


LOCKSTEP = [
    ((SUM, ApplyFunction(f.EVEN)), True, False),
    ((ApplyFunction(f.NEG), ApplyFunction(f.EVEN)), True, True),
    ((SUM, Trim(1)), False, False),
    ((Stutter(2), SUM), False, False),
]


@pytest.mark.parametrize(("chain", "steps", "values"), LOCKSTEP, ids=count())
def test_what_steps_together(chain, steps, values):
    group = Group(reading(0, [INT], *chain))
    assert (group.together is not None) is steps
    assert (group.on_values is not None) is values
    assert stepped(group, [[3, 1, 2]]) == group.denote(([3, 1, 2],))


SHORT = [
    ((Trim(1), Trim(3)), (2, 0)),
    ((Trim(1), Filter()), None),  # nobody knows how far a filter is behind
    ((Trim(0), Trim(9)), (4, 0)),  # no longer than there are fronts before the last
]


@pytest.mark.parametrize(("sides", "room"), SHORT, ids=count())
def test_queues_inside_are_as_long_as_lags_make_them(sides, room):
    builder = Builder("join")
    x, c = builder.input("x", N5), builder.input("c", BOOL)
    left, right = (side(x, c) if isinstance(side, Filter) else side(x) for side in sides)
    window = typed(Window(5, builder.build(left - right)), N5, BOOL)
    _, join = window.inner._part(window.inner.flat.nodes[-1], 5)
    assert join.capacities == (room or (4, 4))
    streams = [[1, 2, 3, 4, 0, 1, 3, 3], [True, False, True, True, True, False, True, True]]
    assert machined(window, [N5, BOOL], streams) == stepped(window, streams) == window.denote(tuple(streams))


# --- named cases -------------------------------------------------------------------------------------------


def pipeline(text) -> Pipeline:
    return parse(text).get("p").pipeline


def outputs(executor, columns):
    rows = [dict(zip("xyz", values, strict=False)) for values in zip(*columns, strict=True)]
    return [value for row in executor.outputs(rows) for value in row["out"]]


def referred(whole, columns):
    executor = Reference(whole)
    rows = [dict(zip("xyz", values, strict=False)) for values in zip(*columns, strict=True)]
    return [value for row in rows for value in executor.step(row).outputs["out"]]


SECONDS = "pipeline second(x: {0}, y: int) -> int {{ return cumulate(y, +) }}\n"
TENS = [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]]


@pytest.mark.parametrize(
    ("width", "expected"),
    [(2, [30, 50, 70, 90, 110, 130, 150, 170, 190]), (5, [150, 200, 250, 300, 350, 400]), (9, [450, 540])],
)
def test_a_window_of_the_second_input(width, expected):
    whole = pipeline(
        SECONDS.format("int") + f"pipeline p(x: int, y: int) -> int {{ return window(x, y, {width}, second) }}"
    )
    assert referred(whole, TENS) == expected
    for executor in (
        Compiled(whole, machine=False),
        Parallel(whole, threads=2, shortest=3, warm_up_steps=-1, machine=False),
    ):
        assert outputs(executor, TENS) == expected


def test_windows_of_inputs_of_other_types_and_of_three():
    whole = pipeline(SECONDS.format("bool") + "pipeline p(x: bool, y: int) -> int { return window(x, y, 2, second) }")
    columns = [[True] * 3, [10, 20, 30]]
    assert referred(whole, columns) == outputs(Compiled(whole, machine=False), columns) == [30, 50]
    whole = pipeline(
        "pipeline third(x: int, y: int, z: int) -> int { return cumulate(z, max) }\n"
        "pipeline p(x: int, y: int, z: int) -> int { return window(x, y, z, 3, third) }"
    )
    columns = [[9, 9, 9, 9], [8, 8, 8, 8], [1, 3, 2, 0]]
    assert referred(whole, columns) == outputs(Compiled(whole, machine=False), columns) == [3, 3]


LARGE = (1 << 63) - 1


@pytest.mark.parametrize(
    ("stream", "fit"),
    [
        ([LARGE, *[0] * 8, LARGE, *[0] * 8, -LARGE], 11),
        ([-LARGE - 1, *[0] * 8, -LARGE - 1, 0], 3),
        ([LARGE, -LARGE, *[0] * 7, LARGE, LARGE, -LARGE], 2),
        ([LARGE, -LARGE, *[0] * 7, -LARGE, 0], 1),
        ([LARGE, *[0] * 7, 1, 0], 0),
    ],
    ids=count(),
)
def test_sums_that_fit_into_words(stream, fit):
    """A sum of a window is an error exactly where it is too large itself."""
    whole = pipeline("pipeline p(x: int) -> int { return window(x, 9, cumulate(+)) }")
    assert referred(whole, [stream]) == [sum(stream[i : i + 9]) for i in range(len(stream) - 8)]
    executor, made = Compiled(whole, machine=False), []
    for value in stream:
        try:
            made += outputs(executor, [[value]])
        except Overflow:
            made.append(None)
            break
    sums = referred(whole, [stream])
    assert made == (sums if fit == len(sums) else [*sums[:fit], None])
    assert fit == len(sums) or abs(sums[fit]) > LARGE


MAPS = [
    ("stutter(b, 2)", "cumulate(turn(b, 1), +)", False),
    ("b", "keep_last(cumulate(turn(b, 1), +))", False),
    ("b", "cumulate(turn(b, 1), +)", True),
    ("stutter(b, 2)", "cumulate(b, or)", True),
    ("b", "keep_last(b)", True),
]


@pytest.mark.parametrize(("read", "inner", "compiled"), MAPS, ids=count())
def test_maps_that_change_several_times_a_step(read, inner, compiled):
    kind = "bool" if "+" not in inner else "int"
    whole = pipeline(
        f"function same(b) = b\npipeline inner(b: bool) -> {kind} {{ return {inner} }}\n"
        f"pipeline p(b: bool) -> map(bool, {kind}) {{ return slice({read}, same, inner) }}"
    )
    steps = [{"b": True}, {"b": False}, {"b": True}, END]
    check(whole, steps, Denoting(whole), Running(whole))
    if compiled:
        check(whole, steps, Running(whole), CompiledRun(whole))
    else:
        with pytest.raises(Refused, match="several events of a step"):
            CompiledRun(whole)


def test_copies_that_wait_are_composed_quickly():
    """The time grew with the square of the room, since each copy had queues of that length."""
    texts = [
        "function near(x) = (x, x + 1)\n"
        "pipeline high(v: int, x: int) -> bool { return filter(x > v, window(x, 5, cumulate(+)) > v) }\n"
        f"pipeline p(x: int) -> bool {{ return exists(x, near, high, pending = {room}) }}"
        for room in (4, 12)
    ]
    sizes = [len(compose(pipeline(text).resolve(Integer(4))).variables) for text in texts]
    assert sizes[1] < 4 * sizes[0]


def test_the_model_of_positions_that_wait_grows_little_faster_than_they():
    """Those that are not decided move up by any number of places: n log n choices, and not one for each pair."""

    def size(room):
        text = "function near(x) = (x, x + 1)\npipeline late(v: int, x: int) -> bool { return trim(x > v, 1) }\n"
        text += f"pipeline p(x: int) -> bool {{ return exists(x, near, late, pending = {room}) }}"
        system = compose(pipeline(text).resolve(Integer(4)))
        return sum(1 for _ in postorder([variable.next for variable in system.variables]))

    assert size(32) < 6 * size(8)


def test_an_insertion_beside_what_is_narrower():
    """At the first event of a window the condition is known, and the domain of what it chooses is -2..-2."""
    builder = Builder("held")
    x, c = builder.input("x", FEW), builder.input("c", BOOL)
    lowest = TurnInto(-2, Range(-2, -2))(c)
    held = builder.build(Insert(-1, 2)(ApplyFunction(f.IF)(Yesterday()(c), x, lowest)))
    window, streams = typed(Window(2, held), FEW, BOOL), [[1, 2, 3, 3], [True, True, False, True]]
    assert machined(window, [FEW, BOOL], streams) == window.denote(tuple(streams)) == ([2, 3, -2],)


# --- random ------------------------------------------------------------------------------------------------


@contextmanager
def refusals():
    """What is not supported may be refused, but not for what went wrong on the way."""
    try:
        yield
    except Refused as error:
        if "symbolic term" in str(error) or "run on symbols" in str(error):
            raise


def backwards(work, jobs):
    """Copies are stepped in the other order."""
    return reversed([work(*job) for job in reversed(list(jobs))])


def domains_hold(whole, steps):
    """Whether every event lies in the domain of its pipe, up to an overflow."""
    domains = flatten(whole).domains
    try:
        for seen in Running(whole).trace(steps):
            events = ((pipe, each if isinstance(each, list) else [each]) for pipe, each in seen.pipes.items())
            assert all(value in domains[pipe] for pipe, values in events for value in values if value is not None)
    except Overflow:
        pass


@pytest.fixture(params=[False, True], ids=["late", "early"])
def early(request, monkeypatch):
    """The faster ways are taken for narrow windows as well."""
    if request.param:
        monkeypatch.setattr("workbench.processors.held.cumulate_window.FLAT", 1)
        monkeypatch.setattr("workbench.processors.held.sliding.NARROW", 1)
        monkeypatch.setattr("workbench.ir.ring_buffer.MAX_VARIABLES", 0)


@pytest.mark.usefixtures("early")
@pytest.mark.parametrize("kind", KINDS)
@examples(14)
@given(data=st.data())
def test_holders_do_what_they_are_defined_to_do(kind, data):
    whole = data.draw(held_pipelines(kinds=(kind,)))
    steps = data.draw(steps_of(whole))
    check(whole, steps, Denoting(whole), Running(whole))
    domains_hold(whole, steps)
    with refusals():
        check(whole, steps, Running(whole, {}), CompiledRun(whole, {}))


@pytest.mark.usefixtures("early")
@pytest.mark.parametrize("kind", KINDS)
@examples(10)
@given(data=st.data())
def test_models_do_what_is_run(kind, data):
    whole = data.draw(held_pipelines(MODELLED, kinds=(kind,)))
    with refusals():
        check(whole, data.draw(steps_of(whole, 9)), Running(whole, {}), Evaluated(whole, 9))


@pytest.mark.usefixtures("early")
@examples(20)
@given(data=st.data())
def test_copies_in_any_order_and_place(data):
    whole = data.draw(held_pipelines(kinds=("window", "quantifier", "slice")))
    holder = whole.typed[whole.nodes[-1].name]
    names = [name for name, _ in whole.inputs]  # steps have them in any order
    fronts = [tuple(map(step.get, names)) for step in data.draw(steps_of(whole)) if step and len(step) == len(names)]

    def run(step, state):
        shown = []
        for front in fronts:
            try:
                state, out = step(state, front)
            except Overflow:
                return [*shown, "overflow"]
            shown.append([events_of(each) for each in out])
        return shown

    expected = run(holder.step, holder.initial())
    assert run(stepping(holder, backwards), holder.initial()) == expected
    if isinstance(holder, Divisible) and not holder.undivided:
        places = data.draw(st.integers(1, 3))
        parts, (joined, join) = [holder.share(i, places) for i in range(places)], holder.joint(places)

        def shared(state, front):
            held, whole = state
            stepped = [part(each, front) for (_, part), each in zip(parts, held, strict=True)]
            whole, out = join(whole, [said for _, said in stepped])
            return ([after for after, _ in stepped], whole), out

        assert run(shared, ([state for state, _ in parts], joined)) == expected


@pytest.mark.usefixtures("early")
@examples(20)
@given(data=st.data())
def test_what_is_said_to_be_forgotten_is(data):
    """A processor that depends on the last n fronts does what it does when it has seen these only."""
    whole = data.draw(held_pipelines(kinds=("window", "batches", "quantifier", "slice")))
    node = whole.nodes[-1]
    domains = [whole.domains[pipe] for pipe in node.inputs]
    holder = whole.typed[node.name]
    events = find_history_bound(holder, domains)
    if events is not None and not holder.finishes:
        streams = tuple(data.draw(st.lists(of_domain(d), min_size=9, max_size=14)) for d in domains)
        assert stepped(History(events, holder), streams) == stepped(holder, streams)


@pytest.mark.usefixtures("early")
@examples(14)
@given(data=st.data())
def test_blocks_of_a_stream(data):
    """Every input has an event in every step, so that a stream can be run in blocks at the same time."""
    whole = data.draw(held_pipelines(kinds=("window", "history", "batches", "slice")))
    values = st.fixed_dictionaries({name: of_domain(domain) for name, domain in whole.inputs})
    rows, reference = data.draw(st.lists(values, min_size=12, max_size=20)), Reference(whole)
    with refusals():
        parallel = Parallel(whole, threads=3, shortest=3, warm_up_steps=-1, machine=False)
        assert parallel.outputs(rows) == [dict(reference.step(row).outputs) for row in rows]


def test_a_scan_behind_a_wide_pipe_runs_in_blocks():
    whole = pipeline("pipeline p(x: int) -> int { return cumulate(stutter(x, 2), max) }")
    parallel = Parallel(whole, threads=2, shortest=2, warm_up_steps=-1, machine=False)
    assert outputs(parallel, [[1, 3, 2, 5]]) == [1, 1, 3, 3, 3, 3, 5, 5]
