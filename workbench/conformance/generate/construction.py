"""A pipeline under construction, to which drawn processors are added one after another.

The rule of this module: each processor reads earlier pipes whose domains suit it; nothing is generated and then
rejected. Everything stays small enough for a model checker: domains of at most `MOST_VALUES` values and at most
`max_bits` bits of state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from workbench.builder import Builder, BuiltStream
from workbench.conformance.generate import functions as g
from workbench.conformance.generate.domains import integers, scalars, values
from workbench.conformance.generate.samples import fitting
from workbench.core import function as f
from workbench.core.domain import Bool, Domain, Integer, Range
from workbench.core.fields import Map, Tuple
from workbench.core.join import Join
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Machine, Processor, Slot
from workbench.processors.apply import ApplyFunction
from workbench.processors.cast import Cast
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter
from workbench.processors.fork import Fork
from workbench.processors.freeze import Freeze
from workbench.processors.held.group import Group, flatten
from workbench.processors.held.holding import bits
from workbench.processors.held.quantifiers import Exists, ForAll
from workbench.processors.held.reset_last import ResetLast
from workbench.processors.held.window import Window
from workbench.processors.insert import Insert
from workbench.processors.keep_last import KeepLast
from workbench.processors.moore import Moore, Transition, Variable
from workbench.processors.multiplex import Multiplex
from workbench.processors.passthrough import Passthrough
from workbench.processors.past import Historically, Once, Since, Yesterday
from workbench.processors.prefix import Prefix
from workbench.processors.slices.slice import Slice
from workbench.processors.slices.slice_last import SliceLast
from workbench.processors.stutter import Stutter
from workbench.processors.stutter_by import StutterBy
from workbench.processors.temporal import (
    Eventually,
    Eventually3,
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

MOST_EVENTS = 4
"""The most events that a pipe carries in one step."""

MOST_VALUES = 36
"""Size of the largest domain of a pipe: exact arithmetic on ranges makes them grow."""

Draw = Callable[[Any], Any]


class DrawnPipe(NamedTuple):
    """A pipe under construction and what it carries."""

    stream: BuiltStream
    domain: Domain


# --- processors ---------------------------------------------------------------------------------------------


def _numbers(domain: Domain) -> bool:
    return isinstance(domain, Integer | Range)


def _unary(draw: Draw, domain: Domain) -> f.Function:
    """A function of one event of this domain."""
    choices: list[f.Function] = []
    if _numbers(domain):
        constant = draw(values(domain))
        choices += [
            f.EVEN,
            f.ODD,
            *(g.fixed_right(n, constant) for n in ("+", "=", "<", ">=", "-", "mod", "div")),
        ]
        choices += [g.fixed_left("-", constant), f.NEG, f.ABS, g.fixed_right("*", constant), g.WIGGLE]
    elif isinstance(domain, Bool):
        choices += [f.NOT, g.WIGGLE]
    elif isinstance(domain, Tuple):
        choices += [g.field(i) for i in range(len(domain.fields))] + [g.SWAP]
    elif isinstance(domain, Map):
        choices += [f.SIZE]
        if not isinstance(domain.value, Tuple | Map):
            choices.append(g.entry(draw(values(domain.key)), draw(values(domain.value))))
        if isinstance(domain.value, Bool):
            choices += [f.ALL_VALUES, f.ANY_VALUE]
        if _numbers(domain.value):
            choices.append(f.SUM_VALUES)
    else:
        constant = draw(values(domain))
        choices += [g.fixed_right("=", constant), g.fixed_right("!=", constant)]
    return draw(st.sampled_from(choices))  # type: ignore[no-any-return]


def _binary(draw: Draw, left: Domain, right: Domain) -> f.Function:
    """A function of two events of these domains."""
    choices: list[f.Function] = []
    if _numbers(left) and (left == right or (isinstance(left, Range) and isinstance(right, Range))):
        choices += [f.ADD, f.SUB, f.LT, f.MAX, f.MIN, f.MUL, f.GE, f.EQ, f.NE, f.GT, f.LE, f.DIV, f.MOD, g.CLASH]
    elif isinstance(left, Bool) and isinstance(right, Bool):
        choices += [f.AND, f.OR, f.IMPLIES, f.EQ, g.CLASH]
    elif left == right:
        choices += [f.EQ, f.NE]
    choices.append(g.PAIR)
    return draw(st.sampled_from(choices))  # type: ignore[no-any-return]


def _windowed(draw: Draw, domain: Domain) -> Cumulate:
    """A cumulation for a window: it may be one that leaves every range without it."""
    if isinstance(domain, Range):
        return Cumulate(draw(st.sampled_from([f.MAX, f.MIN, f.ADD, f.SUB, f.MUL])))
    return _cumulation(draw, domain)


def _cumulation(draw: Draw, domain: Domain) -> Cumulate:
    if isinstance(domain, Integer):
        start = draw(values(domain))
        return draw(  # type: ignore[no-any-return]
            st.sampled_from(
                [Cumulate(f.ADD), Cumulate(f.MAX), Cumulate(f.MUL), Cumulate(f.MIN), Cumulate(f.SUB, start)]
            )
        )
    if isinstance(domain, Range):
        return Cumulate(draw(st.sampled_from([f.MAX, f.MIN])))
    if isinstance(domain, Bool):
        return Cumulate(draw(st.sampled_from([f.OR, f.AND, f.IMPLIES])), draw(st.booleans()))
    counted = draw(integers)
    return Cumulate(g.COUNT, domain=counted)


def _single(draw: Draw, domain: Domain) -> Processor:
    """A processor of one input and one output, without anything inside."""
    kinds: list[Callable[[], Processor]] = [
        lambda: ApplyFunction(_unary(draw, domain)),
        lambda: Trim(draw(st.integers(1, 3))),
        lambda: _cumulation(draw, domain),
        lambda: CountDecimate(draw(st.integers(2, 3)), draw(st.booleans())),
        lambda: _turned(draw, domain),
        lambda: _cast(draw, domain),
        Freeze,
        lambda: Prefix(draw(st.integers(0, 2))),
        lambda: Stutter(draw(st.integers(1, 2))),
        lambda: Insert(draw(values(domain)), draw(st.integers(0, 2))),
        Unpack if isinstance(domain, Tuple) and len(set(domain.fields)) == 1 else Passthrough,
        KeepLast,
        Passthrough,
    ]
    if isinstance(domain, Bool):
        known = Next(), Once(), Historically(), Yesterday(), Globally3(), Eventually3(), Next3()
        kinds += [
            lambda: draw(st.sampled_from([Globally, Eventually]))(draw(st.integers(1, 3))),
            lambda: draw(st.sampled_from(known)),
        ]
    return draw(st.sampled_from(kinds))()  # type: ignore[no-any-return]


def _turned(draw: Draw, domain: Domain) -> Processor:
    target = draw(st.one_of(st.just(domain), scalars))
    return TurnInto(draw(values(target)), target)


def _cast(draw: Draw, domain: Domain) -> Processor:
    if not isinstance(domain, Integer | Range):
        return Passthrough()
    lo = domain.lo + draw(st.integers(-1, 1))
    other = Range(lo, max(lo, domain.hi + draw(st.integers(-1, 1))))
    return Cast(draw(st.one_of(integers, st.just(other))))


def _few(domain: Domain) -> bool:
    """Whether the values may be keys of slices."""
    return (domain.size or 5) <= 4


def _counts(domain: Domain) -> bool:
    """Whether the values say how often something is done, and never very often."""
    return isinstance(domain, Integer | Range) and 0 <= domain.hi <= 2


RULED = {item for item in list(vars().values()) if isinstance(item, type) and issubclass(item, Processor)}
"""The classes that a kind is about; of all others there are samples."""


class Growing:
    """A pipeline that gets one processor after another."""

    def __init__(
        self,
        draw: Draw,
        name: str,
        inputs: Sequence[Domain],
        depth: int,
        max_bits: int,
        most_events: int = MOST_EVENTS,
    ) -> None:
        self.draw, self.depth, self.max_bits, self.most_events = draw, depth, max_bits, most_events
        self.builder = Builder(name)
        self.pipes = [DrawnPipe(self.builder.input("xyz"[i], d), d) for i, d in enumerate(inputs)]
        self.widths = {pipe.stream.pipe: 1 for pipe in self.pipes}
        self.spent = 0

    def pick(self, suits: Callable[[Domain], bool] = lambda _: True) -> DrawnPipe:
        """An earlier pipe, the latest ones first."""
        return self.draw(  # type: ignore[no-any-return]
            st.sampled_from([pipe for pipe in reversed(self.pipes) if suits(pipe.domain)])
        )

    def has(self, suits: Callable[[Domain], bool]) -> bool:
        return any(suits(pipe.domain) for pipe in self.pipes)

    def grow(self) -> None:
        """One more processor (none where it would make the model too large)."""
        kinds: list[Callable[[], tuple[Processor, list[DrawnPipe]]]] = [self.single, self.binary]
        if self.has(lambda d: isinstance(d, Bool)):
            kinds += [self.filter, self.conditional]
        if self.has(_counts):
            kinds.append(self.repeated)
        kinds += [self.fork, self.multiplex]
        if self.depth:
            kinds += [self.sample, self.window, self.group]
            if self.has(lambda d: isinstance(d, Integer)):
                kinds.append(self.quantifier)
            if self.has(_few):
                kinds.append(self.slice)
        kinds.append(self.machine)
        if self.has(lambda d: isinstance(d, Bool)):
            kinds += [self.temporal, self.batches]
        processor, read = self.draw(st.sampled_from(kinds))()
        inputs = tuple(pipe.domain for pipe in read)
        typed = processor.typed(inputs)
        results = typed.results(inputs)
        if any((domain.size or MOST_VALUES + 1) > MOST_VALUES for domain in results):
            return
        widths = [self.widths[pipe.stream.pipe] for pipe in read]
        width = max(1, (typed.most_events(inputs, typed.most_fronts(widths)) or 0) + typed.finishes)
        if width > self.most_events or (self.most_events == 1 and (typed.finishes or typed.timed)):
            return
        cost = state_bits(typed, inputs)
        if self.spent + cost > self.max_bits:
            return
        self.spent += cost
        made = self.builder.add(processor, [pipe.stream for pipe in read])
        streams = made if isinstance(made, tuple) else (made,)
        self.pipes += [DrawnPipe(stream, domain) for stream, domain in zip(streams, results, strict=True)]
        self.widths.update((stream.pipe, width) for stream in streams)

    # --- the kinds ---

    def sample(self) -> tuple[Processor, list[DrawnPipe]]:
        found = fitting([pipe.domain for pipe in self.pipes], RULED)
        if not found:
            return self.single()
        processor, places = self.draw(st.sampled_from(found))
        return processor, [self.pipes[place] for place in places]

    def single(self) -> tuple[Processor, list[DrawnPipe]]:
        pipe = self.pick()
        return _single(self.draw, pipe.domain), [pipe]

    def binary(self) -> tuple[Processor, list[DrawnPipe]]:
        left, right = self.pick(), self.pick()
        return ApplyFunction(_binary(self.draw, left.domain, right.domain)), [left, right]

    def filter(self) -> tuple[Processor, list[DrawnPipe]]:
        return Filter(), [self.pick(), self.pick(lambda d: isinstance(d, Bool))]

    def repeated(self) -> tuple[Processor, list[DrawnPipe]]:
        return StutterBy(), [self.pick(), self.pick(_counts)]

    def batches(self) -> tuple[Processor, list[DrawnPipe]]:
        pipe = self.pick()
        inner = _cumulation(self.draw, pipe.domain) if self.draw(st.booleans()) else _single(self.draw, pipe.domain)
        return ResetLast(inner), [pipe, self.pick(lambda d: isinstance(d, Bool))]

    def conditional(self) -> tuple[Processor, list[DrawnPipe]]:
        condition, then = self.pick(lambda d: isinstance(d, Bool)), self.pick()
        return ApplyFunction(f.IF), [condition, then, self.pick(lambda d: d == then.domain)]

    def temporal(self) -> tuple[Processor, list[DrawnPipe]]:
        waiting = self.draw(st.integers(1, 3))
        operators = [Until(waiting), Release(waiting), Since(), Until3(), Release3()]
        read = [self.pick(lambda d: isinstance(d, Bool)) for _ in range(2)]
        return self.draw(st.sampled_from(operators)), read

    def fork(self) -> tuple[Processor, list[DrawnPipe]]:
        return Fork(2), [self.pick()]

    def multiplex(self) -> tuple[Processor, list[DrawnPipe]]:
        first = self.pick()
        return Multiplex(), [first, self.pick(lambda d: d == first.domain)]

    def machine(self) -> tuple[Processor, list[DrawnPipe]]:
        pipe = self.pick()
        names = ("a", "b", "c")[: self.draw(st.integers(1, 3))]
        states = tuple((name, self.draw(st.sampled_from([None, g.VARIABLE]))) for name in names)
        transitions: list[Transition] = []
        for _ in range(self.draw(st.integers(0, 4))):
            source, target = self.draw(st.sampled_from(names)), self.draw(st.sampled_from(names))
            if not any(t.source == source and t.guard is None for t in transitions):
                guard = self.draw(st.sampled_from([None, g.of_event(self.condition(pipe.domain))]))
                updates = self.draw(st.sampled_from([(), (("n", g.UP),)]))
                transitions.append(Transition(source, target, guard, updates))
        return Moore(states, tuple(transitions), (Variable("n", Range(0, 2), 0),)), [pipe]

    def group(self) -> tuple[Processor, list[DrawnPipe]]:
        read = [self.pick() for _ in range(self.draw(st.integers(1, 2)))]
        return Group(self.inner([pipe.domain for pipe in read], 2)), read

    def window(self) -> tuple[Processor, list[DrawnPipe]]:
        width = self.draw(st.integers(2, 3))
        encoding = self.draw(st.sampled_from(["auto", "events", "copies"]))
        inside = self.draw(st.sampled_from(["cumulate", "single", "group", "window"]))
        if inside == "group":
            read = [self.pick() for _ in range(self.draw(st.integers(1, 2)))]
            return Window(width, self.inner([pipe.domain for pipe in read], 1), encoding), read
        pipe = self.pick()
        if inside == "cumulate":
            inner: Processor = _windowed(self.draw, pipe.domain)
        elif inside == "single":
            inner = _single(self.draw, pipe.domain)
        else:
            inner = Window(2, _windowed(self.draw, pipe.domain))
        return Window(width, inner, encoding), [pipe]

    def slice(self) -> tuple[Processor, list[DrawnPipe]]:
        pipe = self.pick(_few)
        key = self.draw(st.sampled_from([g.ITSELF, *([f.EVEN] if _numbers(pipe.domain) else [])]))
        inner = _cumulation(self.draw, pipe.domain) if self.draw(st.booleans()) else _single(self.draw, pipe.domain)
        (result,) = inner.typed((pipe.domain,)).results((pipe.domain,))
        to_all = self.draw(st.sampled_from([None, self.condition(pipe.domain)]))
        until = self.draw(st.sampled_from([None, self.condition(result)]))
        if self.draw(st.booleans()):
            return SliceLast(key, inner, to_all, until), [pipe]
        return Slice(key, inner, to_all, until, until is not None and self.draw(st.booleans())), [pipe]

    def quantifier(self) -> tuple[Processor, list[DrawnPipe]]:
        pipe = self.pick(lambda d: isinstance(d, Integer))
        inner = ApplyFunction(self.draw(st.sampled_from([f.LT, f.NE, f.GE])))
        return self.draw(st.sampled_from([ForAll, Exists]))(g.NEIGHBOURS, inner), [pipe]

    def condition(self, domain: Domain) -> f.Function:
        """A condition on one event of this domain."""
        if isinstance(domain, Bool):
            return f.NOT
        if _numbers(domain):
            return self.draw(st.sampled_from([f.ODD, f.EVEN]))  # type: ignore[no-any-return]
        return g.NEVER if isinstance(domain, Map | Tuple) else g.fixed_right("=", self.draw(values(domain)))

    def inner(self, inputs: Sequence[Domain], most_outputs: int) -> Pipeline:
        """A pipeline to be put into a group or a window."""
        name = f"inner{len(self.pipes)}"
        growing = Growing(self.draw, name, inputs, self.depth - 1, self.max_bits)
        for _ in range(self.draw(st.integers(1, 3))):
            growing.grow()
        return growing.finished(most_outputs)

    def finished(self, most_outputs: int) -> Pipeline:
        """The pipeline; the latest pipe is shown, and others perhaps."""
        outputs = {"out": self.pipes[-1].stream}
        if most_outputs > 1 and self.draw(st.booleans()):
            outputs["more"] = self.pick().stream
        return self.builder.build(outputs)


CAPACITY = 2
"""Capacity of the queues whose state is counted."""


def state_bits(processor: Processor, inputs: Sequence[Domain]) -> int:
    """Bits of state of a typed processor, with its queues."""
    if isinstance(processor, Group):
        flat = flatten(processor.body)
        parts = ((flat.typed[n.name], [flat.domains[p] for p in n.inputs]) for n in flat.nodes)
        return sum(state_bits(inner, domains) for inner, domains in parts)
    total = bits(processor.machine(tuple(inputs)))
    if len(inputs) > 1:
        slots: tuple[Slot, ...] = Join(tuple(inputs), (CAPACITY,) * len(inputs)).slots()
        total += bits(Machine(slots, processor.step))
    return total
