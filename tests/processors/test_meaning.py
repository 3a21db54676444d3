"""What every processor does, by hand from the papers' definitions."""

import math

import pytest

from tests.processors.common import machined, stepped, typed
from workbench.conformance.generate.functions import COUNT
from workbench.core import function as f
from workbench.core import ops
from workbench.core.domain import BOOL, FLOAT, INT, STR, Enum, Integer, Overflowing, Range
from workbench.core.fields import Record, Tuple
from workbench.core.function import NOT, Function, user_function
from workbench.core.processor import NOTHING, event
from workbench.errors import DomainError, Overflow, PipelineError, TypingError, WorkbenchError
from workbench.executors.reference.executor import Reference
from workbench.language import parse
from workbench.processors import CLASSES, PROCESSORS
from workbench.processors.apply import ApplyFunction
from workbench.processors.cast import Cast
from workbench.processors.changes import Changes
from workbench.processors.combine_latest import CombineLatest
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter
from workbench.processors.fork import Fork
from workbench.processors.freeze import Freeze
from workbench.processors.held.contracts import EnforcedContract
from workbench.processors.held.history import History
from workbench.processors.held.window import Window
from workbench.processors.insert import Insert
from workbench.processors.keep_last import KeepLast
from workbench.processors.lagging import Lagging
from workbench.processors.multiplex import Multiplex
from workbench.processors.passthrough import Passthrough
from workbench.processors.past import Historically, Once, Since, Yesterday
from workbench.processors.prefix import Prefix
from workbench.processors.sample import Sample
from workbench.processors.stutter import Stutter
from workbench.processors.stutter_by import StutterBy
from workbench.processors.temporal import (
    Eventually,
    Eventually3,
    FirstVerdict,
    Globally,
    Globally3,
    Next,
    Next3,
    Release,
    Release3,
    Until,
    Until3,
)
from workbench.processors.trim import Trim
from workbench.processors.turn_into import TurnInto
from workbench.processors.unpack import Unpack

N5, CHECKED, SAT = Integer(5), Integer(5, Overflowing.CHECKED), Integer(5, Overflowing.SATURATING)
T, F = True, False
Y, N = event, NOTHING

EXAMPLES = [
    # processor, input domains, input streams, output streams
    (Passthrough(), [N5], [[1, 2]], [[1, 2]]),
    (Lagging(), [N5], [[1, 2]], [[1, 2]]),
    (Fork(2), [N5], [[1, 2]], [[1, 2], [1, 2]]),
    (Fork(3), [BOOL], [[T]], [[T], [T], [T]]),
    (Trim(0), [N5], [[1, 2, 3]], [[1, 2, 3]]),
    (Trim(2), [N5], [[1, 2, 3, 4]], [[3, 4]]),
    (Trim(2), [N5], [[1]], [[]]),
    (CountDecimate(1), [N5], [[1, 2, 3]], [[1, 2, 3]]),
    (CountDecimate(3), [N5], [[0, 1, 2, 3, 4, 0, 1]], [[0, 3, 1]]),
    (CountDecimate(3, True), [N5], [[0, 1, 2, 3, 4]], [[0, 3, 4]]),
    (Prefix(2), [N5], [[1, 2, 3]], [[1, 2]]),
    (Prefix(2), [N5], [[1]], [[1]]),
    (Freeze(), [N5], [[3, 1, 2]], [[3, 3, 3]]),
    (Freeze(), [N5], [[]], [[]]),
    (KeepLast(), [N5], [[3, 1, 2]], [[2]]),
    (KeepLast(), [N5], [[]], [[]]),
    (Stutter(2), [N5], [[3, 1]], [[3, 3, 1, 1]]),
    (StutterBy(), [N5, Range(-1, 2)], [[3, 1, 4, 2], [2, 0, 1, -1]], [[3, 3, 4]]),
    (Insert(4, 2), [N5], [[1, 2]], [[4, 4, 1, 2]]),
    (Insert(4, 2), [N5], [[]], [[]]),
    (Insert((T, 1)), [Tuple((BOOL, N5))], [[(F, 2)]], [[(T, 1), (F, 2)]]),
    (Multiplex(), [N5, N5], [[1, 2, 3]], [[1, 2, 3]]),  # all its events, as if they came on one input
    # held values: absence means "as before"; Y is an event, N none
    (Sample(), [N5, BOOL], [[(N, Y(T)), (Y(3), N), (N, Y(T)), (Y(4), Y(F)), (N, Y(T))]], [[3, 4, 4]]),
    (CombineLatest(f.SUB), [SAT, SAT], [[(Y(3), N), (N, Y(1)), (Y(4), Y(2)), (N, Y(3))]], [[2, 2, 1]]),
    (CombineLatest(f.SUB, 2), [SAT, SAT], [[(Y(3), N), (N, Y(1)), (Y(4), Y(2))]], [[1, 2, 2]]),
    (CombineLatest(f.IF, (T, 1, 2)), [BOOL, N5, N5], [[(N, N, Y(4)), (Y(F), N, N), (N, Y(0), N)]], [[1, 4, 4]]),
    (CombineLatest(f.EQ, (T, 1)), [Tuple((BOOL, N5))] * 2, [[(Y((T, 1)), N), (N, Y((F, 1)))]], [[T, F]]),
    (Changes(), [N5], [[0, 0, 1, 1, 0]], [[0, 1, 0]]),
    (Changes(), [Tuple((N5, BOOL))], [[(0, F), (0, F), (0, T)]], [[(0, F), (0, T)]]),
    (Unpack(), [Tuple((N5, N5, N5))], [[(1, 2, 3), (4, 0, 1)]], [[1, 2, 3, 4, 0, 1]]),
    (Unpack(), [Record((N5, N5), ("a", "b"))], [[(1, 2)]], [[1, 2]]),
    (TurnInto(1), [N5], [[4, 3]], [[1, 1]]),
    (TurnInto(T), [N5], [[4, 3]], [[T, T]]),
    (Filter(), [N5, BOOL], [[1, 2, 3, 4], [T, F, T]], [[1, 3]]),
    (Filter(), [BOOL, BOOL], [[F, F], [F, F]], [[]]),
    (ApplyFunction(f.ADD), [N5, N5], [[3, 4, 1], [4, 4]], [[2, 3]]),
    (ApplyFunction(f.SUB), [N5, N5], [[1], [3]], [[3]]),
    (ApplyFunction(f.SUB), [SAT, SAT], [[1], [3]], [[0]]),
    (ApplyFunction(f.DIV), [N5, N5], [[4, 4, 3], [2, 0, 4]], [[2, 0, 0]]),
    (ApplyFunction(f.MOD), [N5, N5], [[4, 4, 3], [3, 0, 4]], [[1, 4, 3]]),
    (ApplyFunction(f.DIV), [Range(-7, 7)] * 2, [[-7, 7, -7], [2, -2, 0]], [[-4, -4, 0]]),
    (ApplyFunction(f.MOD), [Range(-7, 7)] * 2, [[-7, 7, -7], [2, -2, 0]], [[1, -1, -7]]),
    (ApplyFunction(f.EVEN), [Range(-3, 3)], [[-3, -2, 0, 1]], [[F, T, T, F]]),
    (ApplyFunction(f.IF), [BOOL, N5, N5], [[T, F], [1, 2], [3, 4]], [[1, 4]]),
    (ApplyFunction(f.EQ), [Tuple((BOOL, N5))] * 2, [[(T, 1), (F, 2)], [(T, 1), (F, 3)]], [[T, F]]),
    (ApplyFunction(f.NE), [Enum(("r", "g"))] * 2, [["r", "g"], ["g", "g"]], [[T, F]]),
    # Cumulate: f(previous output, event), from the function's own start value
    (Cumulate(f.ADD), [N5], [[1, 2, 3, 4]], [[1, 3, 1, 0]]),
    (Cumulate(f.ADD), [SAT], [[1, 2, 3, 4]], [[1, 3, 4, 4]]),
    (Cumulate(f.MUL), [N5], [[2, 3, 4]], [[2, 1, 4]]),
    (Cumulate(f.SUB, 4), [N5], [[1, 2, 3]], [[3, 1, 3]]),
    (Cumulate(f.MIN), [N5], [[3, 4, 1, 2]], [[3, 3, 1, 1]]),
    (Cumulate(f.MAX), [Range(-3, 3)], [[-3, -1, -2]], [[-3, -1, -1]]),
    (Cumulate(f.AND), [BOOL], [[T, F, T]], [[T, F, F]]),
    (Cumulate(f.OR), [BOOL], [[F, T, F]], [[F, T, T]]),
    (Cumulate(f.IMPLIES, F), [BOOL], [[F, F, T]], [[T, F, T]]),
    (Cumulate(COUNT, domain=Integer(3)), [BOOL], [[F, T, F, T]], [[1, 2, 0, 1]]),
    (Cumulate(Function("last", 2, lambda _, e: e), (0, F)), [Tuple((N5, BOOL))], [[(1, T)]], [[(1, T)]]),
    # History: what the processor emits on an event when it has seen the last n only
    (History(1, Cumulate(f.ADD)), [N5], [[1, 2, 3]], [[1, 2, 3]]),
    (History(2, Cumulate(f.ADD)), [N5], [[1, 2, 1, 3]], [[1, 3, 3, 4]]),
    (History(3, Trim(2)), [N5], [[1, 2, 3, 4]], [[3, 4]]),
    (History(2, Trim(2)), [N5], [[1, 2, 3, 4]], [[]]),
    (History(2, Freeze()), [N5], [[1, 2, 3]], [[1, 1, 2]]),
    (History(1, KeepLast()), [N5], [[1, 2, 3]], [[3]]),
    (History(2, CountDecimate(3, True)), [N5], [[1, 2, 3]], [[1, 3]]),
    # verdicts of positions as soon as they are known (BeepBeep 3.13 gives the same on these)
    (Globally(3), [BOOL], [[T, T, F, T, F, F]], [[F, F, F, F, F, F]]),
    (Globally(3), [BOOL], [[T, T]], [[]]),
    (Eventually(3), [BOOL], [[F, F, T, F]], [[T, T, T]]),
    (Until(3), [BOOL, BOOL], [[T, T, F, T], [F, F, T, F]], [[T, T, T]]),
    (Until(3), [BOOL, BOOL], [[T, F, F], [F, F, T]], [[F, F, T]]),
    (FirstVerdict(Until()), [BOOL, BOOL], [[T, T, F, T], [F, F, T, F]], [[T]]),
    (Release(3), [BOOL, BOOL], [[F, T, F, F], [T, T, T, F]], [[T, T, F, F]]),
    (Next(), [BOOL], [[T, F, T]], [[F, T]]),
    (Globally3(), [BOOL], [[T, F, T]], [["unknown", "fails", "fails"]]),
    (Eventually3(), [BOOL], [[F, T, F]], [["unknown", "holds", "holds"]]),
    (Until3(), [BOOL, BOOL], [[T, F, T], [F, T, F]], [["unknown", "holds", "holds"]]),
    (Release3(), [BOOL, BOOL], [[F, F, T], [T, F, T]], [["unknown", "fails", "fails"]]),
    (Next3(), [BOOL], [[T, F, T]], [["unknown", "fails", "fails"]]),
    (Once(), [BOOL], [[F, T, F]], [[F, T, T]]),
    (Historically(), [BOOL], [[T, F, T]], [[T, F, F]]),
    (Since(), [BOOL, BOOL], [[T, F, T, F], [F, T, F, F]], [[F, T, T, F]]),
    (Yesterday(), [BOOL], [[T, F, T]], [[F, T, F]]),
    (Cast(Integer(3)), [N5], [[1, 4]], [[1, 1]]),
    (Cast(Integer(3, Overflowing.SATURATING)), [Range(-2, 9)], [[-2, 9]], [[0, 2]]),
    (Cast(Range(-1, 9)), [N5], [[4]], [[4]]),
    (EnforcedContract(NOT, "assume not x", ("x",)), [BOOL], [[F, F]], [[T, T]]),
]


@pytest.mark.parametrize(("processor", "domains", "streams", "expected"), EXAMPLES, ids=lambda x: str(x)[:40])
def test_examples(processor, domains, streams, expected):
    ready = typed(processor, *domains)
    assert ready.denote(tuple(streams)) == tuple(expected)
    assert stepped(ready, streams) == tuple(expected)
    assert machined(ready, domains, streams) == tuple(expected)


def test_every_processor_has_an_example():
    shown = {type(example[0]) for example in EXAMPLES}
    elsewhere = (
        "window slice slice_last Group globally_of eventually_of forall exists Moore reset_last pack rules".split()
    )
    assert set(CLASSES.values()) - shown == {CLASSES[key] for key in elsewhere}


def test_the_last_event_of_a_decimation():
    """BeepBeep repeats the last event even if it was emitted already; we do not."""
    last = typed(CountDecimate(3, last=True), INT)
    for stream, expected in [([], []), ([1], [1]), ([1, 2], [1, 2]), ([1, 2, 3, 4], [1, 4]),
                             ([1, 2, 3, 4, 5], [1, 4, 5]), ([1, 2, 3], [1, 3])]:  # fmt: skip
        assert last.denote((stream,)) == (expected,)
        assert stepped(last, [stream]) == (expected,)
    every = typed(CountDecimate(1, last=True), INT)
    assert stepped(every, [[1, 2]]) == every.denote(([1, 2],)) == ([1, 2],)


def test_constants_take_the_domain_of_the_stream():
    assert typed(TurnInto(1), N5).results((N5,)) == (N5,)
    assert typed(TurnInto(1), BOOL).results((BOOL,)) == (INT,)
    assert typed(TurnInto("red"), Enum(("red",))).results((N5,)) == (Enum(("red",)),)
    assert typed(TurnInto("red"), INT).results((INT,)) == (STR,)
    assert typed(TurnInto(1).resolve(N5), BOOL).results((BOOL,)) == (N5,)


@pytest.mark.parametrize("processor", [TurnInto(5), Cumulate(f.ADD, 5)])
def test_constants_too_large_for_the_domain(processor):
    with pytest.raises(DomainError, match="-N 6"):
        typed(processor, N5)


@pytest.mark.parametrize("processor", [TurnInto(-1), Cumulate(f.ADD, -1), TurnInto("blue", Enum(("red",)))])
def test_constants_that_no_larger_domain_has(processor):
    with pytest.raises(DomainError, match=r"choose a (domain|start value)"):
        typed(processor, N5)


MEANINGLESS = [
    lambda: Trim(-1),
    lambda: CountDecimate(0),
    lambda: Fork(0),
    lambda: Cumulate(f.NOT),
    lambda: Cumulate("nope"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("make", MEANINGLESS)
def test_parameters_without_meaning(make):
    with pytest.raises(PipelineError):
        make()


def test_accumulators_that_their_function_leaves():
    with pytest.raises(TypingError, match=r"does not fit the accumulated 0\.\.3"):
        typed(Cumulate(f.ADD), Range(0, 3))
    with pytest.raises(PipelineError, match="has no start value"):
        typed(Cumulate(f.DIV), N5)
    with pytest.raises(TypingError, match="accumulator's domain"):
        typed(Cumulate(f.LT, 0), N5)


def test_filters_need_a_condition():
    with pytest.raises(TypingError, match="bool stream, not int mod 5"):
        typed(Filter(), N5, N5)


def test_casts_that_do_not_fit():
    with pytest.raises(Overflow, match=r"4 leaves the domain 0\.\.3"):
        stepped(typed(Cast(Range(0, 3)), N5), [[3, 4]])
    with pytest.raises(TypingError, match="cast converts only numbers"):
        typed(Cast(N5), BOOL)
    with pytest.raises(Overflow, match="9 leaves the domain int checked 5"):
        stepped(typed(Cast(CHECKED), Range(0, 9)), [[9]])
    assert stepped(typed(Cast(Range(0, 3)), INT), [[3]]) == ([3],)


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        (INT, [2, 2, -3, math.inf]), (Range(-3, 2), [2, 2, -3, None]), (CHECKED, [2, 2, None, None]),
        (Integer(5), [2, 2, 2, None]), (Integer(5, Overflowing.SATURATING), [2, 2, 0, 4]),
        (FLOAT, [2.0, 2.5, -2.5, math.inf]),
    ],
)  # fmt: skip
def test_casts_of_fractions_round_down(domain, expected):
    """None: it is an error, as NaN is in all but floats."""
    cast = typed(Cast(domain), FLOAT)
    for value, meant in zip([2.0, 2.5, -2.5, math.inf], expected, strict=True):
        if meant is None:
            with pytest.raises(Overflow, match="leaves the domain"):
                stepped(cast, [[value]])
        else:
            ((found,),) = stepped(cast, [[value]])
            assert (type(found), found) == (type(meant), meant)
            assert cast.denote(([value],)) == ([meant],)
    if domain != FLOAT:
        with pytest.raises(Overflow, match="nan leaves the domain"):
            stepped(cast, [[math.nan]])


def test_checked_sums_raise_where_they_leave():
    total = typed(Cumulate(f.ADD), CHECKED)
    assert stepped(total, [[1, 3]]) == ([1, 4],)
    with pytest.raises(Overflow, match=r"'[+]' on 4, 1 leaves"):
        stepped(total, [[1, 3, 1]])
    with pytest.raises(Overflow):
        total.denote(([1, 3, 1],))


def test_records_flow_like_tuples():
    trade = Record((Range(0, 9), BOOL), ("price", "sold"))
    keep = typed(Filter(), trade, BOOL)
    assert stepped(keep, [[(3, T), (4, F)], [T, F]]) == ([(3, T)],)
    assert keep.results((trade, BOOL)) == (trade,)


def test_ports_name_the_queues():
    assert Filter().ports == ("data", "condition")
    assert ApplyFunction(f.ADD).ports == ("left", "right")
    assert ApplyFunction(f.IF).ports == ("in1", "in2", "in3")
    assert Trim(1).ports == ("in",)


def test_processors_are_values():
    assert Trim(2) == Trim(2)
    assert len({Trim(1), Trim(1), Trim(2), Cumulate(f.ADD), Cumulate(f.ADD)}) == 3
    assert str(Trim(2)) == "Trim(2)"
    assert str(Cumulate(f.ADD)) == "Cumulate(+)"
    assert {"trim", "decimate", "filter", "cumulate", "turn", "fork", "window", "apply"} <= set(PROCESSORS)


def test_a_processor_on_no_stream():
    with pytest.raises(PipelineError, match="apply processors to streams"):
        Trim(1)([1, 2])
    assert ops.EQ("a", "a")


def test_what_held_values_refuse():
    with pytest.raises(PipelineError, match="at least two arguments, 'even' has 1"):
        CombineLatest(f.EVEN)
    with pytest.raises(DomainError, match=r"the start value 9 is not in .*, the domain of 'right'"):
        typed(CombineLatest(f.ADD, (1, 9)), N5, N5)
    with pytest.raises(PipelineError, match="a window gives whole fronts to its processor, and 'Sample' takes"):
        Window(2, Sample())
    boom = user_function(lambda a, b: a // b, result=INT)
    running = Reference(parse("pipeline p(x: int, y: int) -> int { return combine_latest(x, y, boom) }",
                              functions={"boom": boom}).get().pipeline)  # fmt: skip
    running.step({"x": 1})
    with pytest.raises(WorkbenchError, match=r"step 1: processor 'combine_latest' .* on right = 0: "):
        running.step({"y": 0})
    assert running.step({"y": 1}).outputs == {"out": [1]}  # the step that failed is undone
