"""Hypothesis strategies for pipelines that are executed and not modelled: slices over all integers, endless waiting.

The rule of this module: integers are few and small, so that slices meet again, and what is generated is supported by
the compiled backend.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from workbench.builder import Builder
from workbench.conformance.generate import functions as g
from workbench.core import function as f
from workbench.core.domain import BOOL, INT, Integer, Overflowing, Value
from workbench.core.function import Function
from workbench.core.ops import ADD, MOD, MUL, SUB
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END, Processor
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.group import Group
from workbench.processors.held.quantifiers import Exists, ForAll
from workbench.processors.held.window import Window
from workbench.processors.moore import Moore, Transition, Variable
from workbench.processors.passthrough import Passthrough
from workbench.processors.slices.slice import Slice
from workbench.processors.slices.slice_last import SliceLast
from workbench.processors.stutter import Stutter
from workbench.processors.temporal import Eventually, Globally, Release, Until
from workbench.processors.trim import Trim
from workbench.processors.turn_into import TurnInto

KEYS = (
    Function("itself", 1, lambda a: a),
    Function("far apart", 1, lambda a: MUL(a, -1000)),
    Function("mod 3", 1, lambda a: MOD(a, 3)),
    f.EVEN,
    g.fix_right("<", 1),
)
"""Which slice: three functions that make integers, two that make truth values."""

_UP = Function("up", 2, lambda a, n: n + a)
_COUNTER = Moore(
    (("low", Function("n", 2, lambda _, n: n)), ("high", None)),
    (Transition("low", "high", Function("large", 2, lambda a, _: a > 4), (("n", _UP),)), Transition("high", "low")),
    (Variable("n", INT, 1),),
    result=INT,
)


def _moore() -> Pipeline:
    """What a machine emits, without its states."""
    builder = Builder("counter")
    _, said = _COUNTER(builder.input("x", INT))
    return builder.build(said)


FEW = Integer(5, Overflowing.CHECKED)
"""Numbers of which a count runs out."""

INNER: tuple[Processor, ...] = (
    Cumulate(f.ADD),
    Passthrough(),
    Trim(1),
    CountDecimate(2),
    Stutter(2),
    TurnInto(1, INT),
    Cumulate(f.MAX, 3),
    Window(2, Cumulate(f.ADD)),
    ApplyFunction(g.fix_left("-", 5)),
    Group(_moore()),
)


@st.composite
def _inner(draw: st.DrawFn) -> Processor:
    """A processor of integers: one, or a chain of them, perhaps with a count at its end that can leave its domain."""
    chain = draw(st.lists(st.sampled_from(INNER), min_size=1, max_size=2))
    if draw(st.sampled_from((False, False, True))):
        chain += [TurnInto(1, FEW), Cumulate(f.ADD)]
    if len(chain) == 1:
        return chain[0]
    builder = Builder("chain")
    stream = builder.input("x", INT)
    for processor in chain:
        stream = processor(stream)
    return Group(builder.build(stream))


WHOLE = st.lists(st.sampled_from((f.SIZE, f.SUM_VALUES)), min_size=1, max_size=2, unique=True)
"""Functions of all entries of a map of integers."""


VALUES = (
    g.NEIGHBOURS,
    Function("four", 1, lambda a: (MUL(a, 2), MOD(a, 3), SUB(2, a), ADD(a, 1))),
    Function("one", 1, lambda a: (a,)),
)
"""Values of an integer to range over."""


@st.composite
def _condition(draw: st.DrawFn) -> Processor:
    """A condition on a value and an integer, which is known at once."""
    compared = ApplyFunction(draw(st.sampled_from((f.LT, f.NE, f.GE))))
    if draw(st.booleans()):
        return compared
    builder = Builder("condition")
    value, x = builder.input("v", INT), builder.input("x", INT)
    changed = draw(st.sampled_from((Cumulate(f.ADD), TurnInto(1, INT), ApplyFunction(g.fix_left("-", 5)))))(x)
    return Group(builder.build(compared(value, changed)))


def _truths(inner: Processor) -> Pipeline:
    """Whether what a processor emits is small."""
    builder = Builder("truths")
    return builder.build(ApplyFunction(g.fix_right("<", 4))(inner(builder.input("x", INT))))


@st.composite
def unbounded(draw: st.DrawFn) -> Pipeline:
    """A pipeline over `x: int` and `b: bool`, whose queues never hold a map."""
    builder = Builder("p")
    x, b = builder.input("x", INT), builder.input("b", BOOL)
    kind = draw(st.sampled_from(("verdict", "verdicts", "quantifier", "map", "entry", "whole", "truths", "last")))
    if kind in ("verdict", "verdicts"):
        low = ApplyFunction(g.fix_right("<", draw(st.integers(-1, 5))))(x)
        if kind == "verdict":
            found = draw(st.sampled_from((Globally(), Eventually())))(draw(st.sampled_from((low, b))))
        else:
            found = draw(st.sampled_from((Until(), Release())))(low, b)
        return builder.build(ApplyFunction(f.NOT)(found) if draw(st.booleans()) else found)
    if kind == "quantifier":
        return builder.build(
            draw(st.sampled_from((ForAll, Exists)))(draw(st.sampled_from(VALUES)), draw(_condition()))(x)
        )
    key, inner = draw(st.sampled_from(KEYS)), draw(_inner())
    until = draw(st.sampled_from((None, f.EVEN, g.fix_right("<", 3))))
    to_all = draw(st.sampled_from((None, f.ODD, g.fix_right("<", 0))))
    if kind == "last":
        found = SliceLast(key, inner, to_all, until)(x)
        return builder.build({"said": found, "of": ApplyFunction(g.field(draw(st.integers(0, 1))))(found)})
    forget = until is not None and draw(st.booleans())
    slices = Slice(key, inner, to_all, until, forget)(x)
    if kind == "map":
        return builder.build(slices)
    if kind == "whole":
        return builder.build({f"out{i}": ApplyFunction(each)(slices) for i, each in enumerate(draw(WHOLE))})
    if kind == "truths":
        truths = Slice(key, Group(_truths(inner)), to_all, until and f.NOT, forget)(x)
        return builder.build(ApplyFunction(draw(st.sampled_from((f.ALL_VALUES, f.ANY_VALUE))))(truths))
    other = ApplyFunction(draw(st.sampled_from(KEYS[:3] if key in KEYS[:3] else KEYS[3:])))(Trim(0)(x))
    asked = Function("entry", 2, lambda m, k: f.GET(m, k, 3)) if draw(st.booleans()) else f.HAS
    return builder.build(ApplyFunction(asked)(slices, other))


def steps_of(*, max_steps: int = 14) -> st.SearchStrategy[list[Any]]:
    """Steps of the inputs of such a pipeline; the last one may be `END`."""
    values: dict[str, st.SearchStrategy[Value]] = {"x": st.integers(-3, 9), "b": st.booleans()}
    some = st.lists(st.fixed_dictionaries({}, optional=values), max_size=max_steps)
    every = st.lists(st.fixed_dictionaries(values), max_size=max_steps)
    return st.builds(lambda found, ends: [*found, END] if ends else found, st.one_of(some, every), st.booleans())


__all__ = ["steps_of", "unbounded"]
