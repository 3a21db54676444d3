"""A pipeline under construction, to which drawn processors are added one after another.

The rule of this module: each processor reads earlier pipes with suitable domains; nothing is generated and then
rejected. Everything stays small enough for a model checker: domains of at most `MAX_VALUES` values and at most
`max_bits` bits of state. An inner pipeline reads all of its inputs, some, or one of them twice, in any order; a wide
pipe may come directly before it. A processor that holds another must behave like a run of the inner one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from workbench.builder import Builder, BuiltStream
from workbench.conformance.generate import functions as g
from workbench.conformance.generate import single
from workbench.conformance.generate.domains import values
from workbench.conformance.generate.single import Draw, cumulation, fitting, numbers
from workbench.core import function as f
from workbench.core.domain import Bool, Domain, Integer, Integers, Range
from workbench.core.fields import IndexedTuple, Map, Tuple
from workbench.core.join import Join
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Machine, Processor, Slot
from workbench.errors import Refused
from workbench.processors.apply import ApplyFunction
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter
from workbench.processors.fork import Fork
from workbench.processors.held.group import Group, flatten
from workbench.processors.held.inner_processor import bits
from workbench.processors.held.quantifiers import Exists, ForAll
from workbench.processors.held.reset_last import ResetLast
from workbench.processors.held.window import Window
from workbench.processors.moore import Moore, Transition, Variable
from workbench.processors.multiplex import Multiplex
from workbench.processors.past import Since
from workbench.processors.slices.slice import Slice
from workbench.processors.slices.slice_last import SliceLast
from workbench.processors.stutter import Stutter
from workbench.processors.stutter_by import StutterBy
from workbench.processors.temporal import Eventually, Release, Release3, Until, Until3
from workbench.processors.trim import Trim

MAX_EVENTS = 4
"""Maximum number of events that a pipe carries in one step."""

MAX_VALUES = 36
"""Size of the largest domain of a pipe: exact arithmetic on ranges makes domains grow."""

WIDTHS, WIDE = (2, 3), (2, 3, 4, 5, 6, 9, 11)
"""Widths of windows, and of large windows: stacks begin at 5, sliding sums at 9."""
PENDING = 2
"""Maximum number of pending positions of a quantifier."""


class DrawnPipe(NamedTuple):
    """A pipe under construction, and its domain."""

    stream: BuiltStream
    domain: Domain


DrawnNode = tuple[Processor, list[DrawnPipe]]


def is_small(domain: Domain) -> bool:
    """Whether slices may have keys of this domain: whole numbers without bounds, or few values."""
    return isinstance(domain, Integers) or (domain.size or 5) <= 4


def _counts(domain: Domain) -> bool:
    """Whether the values may be counts of repetitions, all of them small."""
    return isinstance(domain, Integer | Range) and 0 <= domain.hi <= 2


RULED = {
    item
    for module in (globals(), vars(single))
    for item in list(module.values())
    if isinstance(item, type) and issubclass(item, Processor)
}
"""The classes with a kind of their own; all others are drawn from their samples."""


class Growing:
    """A pipeline under construction, to which one processor after another is added."""

    def __init__(
        self,
        draw: Draw,
        name: str,
        inputs: Sequence[Domain],
        depth: int,
        max_bits: int,
        most_events: int = MAX_EVENTS,
        *,
        large: bool = False,
    ) -> None:
        self.large = large
        self.leaves_ranges = True
        """Whether numbers may leave their ranges; the model's terms for that grow with each event of a step."""
        self.draw, self.depth, self.max_bits, self.most_events = draw, depth, max_bits, most_events
        self.builder = Builder(name)
        self.pipes = [DrawnPipe(self.builder.input("xyz"[i], d), d) for i, d in enumerate(inputs)]
        self.widths = {pipe.stream.pipe: 1 for pipe in self.pipes}
        self.spent = 0

    def pick(self, suits: Callable[[Domain], bool] = lambda _: True) -> DrawnPipe:
        """Draw an earlier pipe, the latest ones first."""
        candidates = [pipe for pipe in reversed(self.pipes) if suits(pipe.domain)]
        return candidates[self.draw(st.integers(0, len(candidates) - 1))]

    def has(self, suits: Callable[[Domain], bool]) -> bool:
        return any(suits(pipe.domain) for pipe in self.pipes)

    def grow(self) -> None:
        """Add one processor, unless it would make the model too large."""
        self.add(*self.draw(st.sampled_from(self.kinds()))())

    def kinds(self) -> list[Callable[[], DrawnNode]]:
        """Return functions that draw a processor and its input pipes, one for each kind that the pipes allow."""
        kinds: list[Callable[[], DrawnNode]] = [self.single, self.binary]
        if self.has(lambda d: isinstance(d, Bool)):
            kinds += [self.filter, self.conditional]
        if self.has(_counts):
            kinds.append(self.repeat_node)
        kinds += [self.fork, self.multiplex]
        kinds.append(self.sample)
        if self.depth > 0:
            kinds += [self.window, self.group]
            if self.has(lambda d: isinstance(d, Integer | Integers)):
                kinds.append(self.quantifier)
            if self.has(is_small):
                kinds.append(self.slice)
        kinds += [self.machine, self.ring]
        if self.leaves_ranges and self.has(lambda d: isinstance(d, Range)):
            kinds.append(self.total)
        if self.has(lambda d: isinstance(d, Bool)):
            kinds += [self.temporal, self.batches] if self.depth > 0 else [self.temporal]
        return kinds

    def add(self, processor: Processor, read: list[DrawnPipe]) -> bool:
        """Add a processor, unless it would make the model too large; return whether it was added."""
        inputs = tuple(pipe.domain for pipe in read)
        typed = processor.specialise(inputs)
        results = typed.results(inputs)
        if not all(self.holds(domain) for domain in results):
            return False
        widths = [self.widths[pipe.stream.pipe] for pipe in read]
        width = max(1, (typed.bound_events(inputs, typed.bound_fronts(widths)) or 0) + typed.finishes)
        if width > self.most_events or (self.most_events == 1 and (typed.finishes or typed.is_timed)):
            return False
        try:
            cost = 0 if self.large else state_bits(typed, inputs)
        except Refused:  # batches and slices have no model if queues inside are unbounded
            return False
        if self.spent + cost > self.max_bits:
            return False
        self.spent += cost
        outputs = self.builder.add(processor, [pipe.stream for pipe in read])
        streams = outputs if isinstance(outputs, tuple) else (outputs,)
        self.pipes += [DrawnPipe(stream, domain) for stream, domain in zip(streams, results, strict=True)]
        self.widths.update((stream.pipe, width) for stream in streams)
        return True

    def holds(self, domain: Domain) -> bool:
        """Whether a pipe may have this domain."""
        if self.large and not domain.finite:
            return True
        return (domain.size or MAX_VALUES + 1) <= MAX_VALUES

    def widen(self, pipe: DrawnPipe) -> DrawnPipe:
        return self.pipes[-1] if self.add(Stutter(2), [pipe]) else pipe

    def inner(self, inputs: Sequence[Domain], most_outputs: int, most_nodes: int = 3) -> Pipeline:
        name = f"inner{len(self.pipes)}"
        growing = Growing(self.draw, name, inputs, self.depth - 1, self.max_bits, large=self.large)
        growing.leaves_ranges = False
        for _ in range(self.draw(st.integers(1, most_nodes))):
            growing.grow()
        return growing.finish(most_outputs)

    # --- the kinds ---

    def sample(self) -> DrawnNode:
        candidates = fitting([pipe.domain for pipe in self.pipes], RULED)
        if not candidates:
            return self.single()
        processor, indices = self.draw(st.sampled_from(candidates))
        return processor, [self.pipes[index] for index in indices]

    def single(self) -> DrawnNode:
        pipe = self.pick()
        return single.single(self.draw, pipe.domain), [pipe]

    def binary(self) -> DrawnNode:
        left, right = self.pick(), self.pick()
        return ApplyFunction(single.binary(self.draw, left.domain, right.domain)), [left, right]

    def filter(self) -> DrawnNode:
        return Filter(), [self.pick(), self.pick(lambda d: isinstance(d, Bool))]

    def repeat_node(self) -> DrawnNode:
        return StutterBy(), [self.pick(), self.pick(_counts)]

    def conditional(self) -> DrawnNode:
        condition, then = self.pick(lambda d: isinstance(d, Bool)), self.pick()
        return ApplyFunction(f.IF), [condition, then, self.pick(lambda d: d == then.domain)]

    def temporal(self) -> DrawnNode:
        waiting = self.draw(st.integers(1, 3))
        operators = [Until(waiting), Release(waiting), Since(), Until3(), Release3()]
        read = [self.pick(lambda d: isinstance(d, Bool)) for _ in range(2)]
        return self.draw(st.sampled_from(operators)), read

    def fork(self) -> DrawnNode:
        return Fork(2), [self.pick()]

    def multiplex(self) -> DrawnNode:
        first = self.pick()
        return Multiplex(), [first, self.pick(lambda d: d == first.domain)]

    def machine(self) -> DrawnNode:
        pipe = self.pick()
        names = ("a", "b", "c")[: self.draw(st.integers(1, 3))]
        states = tuple((name, self.draw(st.sampled_from([None, g.VARIABLE]))) for name in names)
        transitions: list[Transition] = []
        for _ in range(self.draw(st.integers(0, 4))):
            source, target = self.draw(st.sampled_from(names)), self.draw(st.sampled_from(names))
            if not any(t.source == source and t.guard is None for t in transitions):
                guard, update = self.draw(st.sampled_from(self.moves(pipe)))
                transitions.append(Transition(source, target, guard, (("n", update),) if update else ()))
        return Moore(states, tuple(transitions), (Variable("n", Range(0, 2), 0),)), [pipe]

    def ring(self) -> DrawnNode:
        """Draw a machine with an array, whose items are read and written at computed indices, also beyond its ends."""
        pipe = self.pick()
        states = tuple((name, self.draw(st.sampled_from([g.ITEM, g.BESIDE]))) for name in ("a", "b"))
        leaving = [g.STEP] if self.leaves_ranges and self.widths[pipe.stream.pipe] == 1 else []
        writes = st.sampled_from([g.WRITE, g.COPY, *leaving])
        moves = (("a", "b", g.of_event(self.condition(pipe.domain), 2)), ("a", "a", None), ("b", "a", None))
        transitions = tuple(
            Transition(source, target, guard, (("ring", self.draw(writes)), ("n", g.TURN)))
            for source, target, guard in moves
        )
        variables = Variable("ring", IndexedTuple.of(0, 2, Range(0, 2)), (0, 1, 2)), Variable("n", Range(0, 2), 0)
        return Moore(states, transitions, variables), [pipe]

    def total(self) -> DrawnNode:
        """Draw a sum in a declared range, which it may leave; for a pipe with several events in a step, a maximum."""
        pipe = self.pick(lambda d: isinstance(d, Range))
        single_events = self.widths[pipe.stream.pipe] == 1
        return Cumulate(f.ADD, 0, Range(-1, 4)) if single_events else Cumulate(f.MAX), [pipe]

    def moves(self, pipe: DrawnPipe) -> list[tuple[f.Function | None, f.Function | None]]:
        """Return pairs of a guard and an update for a variable in 0..2, some of which may leave this range."""
        domain, condition = pipe.domain, g.of_event(self.condition(pipe.domain))
        moves = [(guard, update) for update in (None, g.UP) for guard in (None, condition)]
        moves.append((g.LOW, g.NEXT))
        numbers = isinstance(domain, Integers) or (isinstance(domain, Range) and domain.lo <= 2 and domain.hi >= -2)
        moves += [(g.ENOUGH, g.TAKE)] if numbers else []
        if self.leaves_ranges and self.widths[pipe.stream.pipe] == 1:
            moves += [(None, g.NEXT), (condition, g.NEXT)] + ([(condition, g.TAKE)] if numbers else [])
        return moves

    # --- the kinds that contain others ---

    def several(self, first: DrawnPipe) -> list[DrawnPipe]:
        """Draw pipes that are read together, one of them possibly wide."""
        read = [first, *([self.pick()] if self.draw(st.booleans()) else [])]
        if self.draw(st.sampled_from((False, False, False, True))):
            index = self.draw(st.integers(0, len(read) - 1))
            read[index] = self.widen(read[index])
        return read

    def draw_inner(self, inputs: Sequence[Domain], width: int | None = None) -> Processor | Pipeline:
        """Draw an inner processor with one output, which may ignore some of several inputs."""
        kinds = ["cumulation", "one", "single", "pipeline"] if len(inputs) == 1 else ["one", "pipeline"]
        kind = self.draw(st.sampled_from([*kinds, "window"] if width and len(inputs) == 1 else kinds))
        if kind == "cumulation":
            return cumulation(self.draw, inputs[0], width=width)
        if kind == "single":
            return single.single(self.draw, inputs[0])
        if kind == "window":
            return Window(2, cumulation(self.draw, inputs[0], width=2))
        if kind == "pipeline":
            return self.inner(inputs, 1)
        if self.draw(st.booleans()):
            return self.inner(inputs, 1, 1)
        builder = Builder("one")
        streams = [builder.input("xyz"[i], domain) for i, domain in enumerate(inputs)]
        index = self.draw(st.integers(0, len(inputs) - 1))
        return builder.build(cumulation(self.draw, inputs[index])(streams[index]))

    def group(self) -> DrawnNode:
        read = self.several(self.pick())
        return Group(self.inner([pipe.domain for pipe in read], 2)), read

    def window(self) -> DrawnNode:
        read = self.several(self.pick())
        width = self.draw(st.sampled_from(WIDE if self.large else WIDTHS))
        encoding = self.draw(st.sampled_from(["auto", "events", "copies"]))
        return Window(width, self.draw_inner([pipe.domain for pipe in read], width), encoding), read

    def batches(self) -> DrawnNode:
        read = self.several(self.pick())
        inner = self.draw_inner([pipe.domain for pipe in read])
        return ResetLast(inner), [*read, self.pick(lambda d: isinstance(d, Bool))]

    def slice(self) -> DrawnNode:
        read = self.several(self.pick(is_small))
        domains = tuple(pipe.domain for pipe in read)
        some = g.of_event if len(read) > 1 else lambda function: function
        choices = [g.ITSELF, *([f.EVEN] if numbers(domains[0]) else [])]
        keys = [some(each) for each in choices] + ([g.SECOND] if is_small(domains[-1]) and len(read) > 1 else [])
        key = self.draw(st.sampled_from(keys))
        held = self.draw_inner(domains)
        inner = Group(held) if isinstance(held, Pipeline) else held
        (result,) = inner.specialise(domains).results(domains)
        to_all = self.draw(st.sampled_from([None, some(self.condition(domains[0]))]))
        until = self.draw(st.sampled_from([None, self.condition(result)]))
        if self.draw(st.booleans()):
            return SliceLast(key, inner, to_all, until), read
        return Slice(key, inner, to_all, until, until is not None and self.draw(st.booleans())), read

    def quantifier(self) -> DrawnNode:
        """Draw a quantifier over a number and its successor; the body may read another stream, and answer later."""
        read = self.several(self.pick(lambda d: isinstance(d, Integer | Integers)))
        domains = [pipe.domain for pipe in read]
        kind, compared = self.draw(st.sampled_from([ForAll, Exists])), self.draw(st.sampled_from([f.LT, f.NE, f.GE]))
        if len(read) == 1 and self.draw(st.booleans()):
            return kind(g.NEIGHBOURS, ApplyFunction(compared)), read
        builder = Builder("condition")
        value, *streams = (builder.input("vxy"[i], domain) for i, domain in enumerate([domains[0], *domains]))
        index = self.draw(st.sampled_from([i for i, each in enumerate(domains) if each == domains[0]]))
        later = self.draw(st.sampled_from(["", "event", "verdict"]))
        condition = ApplyFunction(compared)(value, Trim(1)(streams[index]) if later == "event" else streams[index])
        condition = Eventually(2)(condition) if later == "verdict" else condition
        values_of = g.NEIGHBOURS if len(read) == 1 else g.of_event(g.NEIGHBOURS)
        return kind(values_of, builder.build(condition), PENDING if later else None), read

    def condition(self, domain: Domain) -> f.Function:
        """Draw a condition on one event of this domain."""
        if isinstance(domain, Bool):
            return f.NOT
        if numbers(domain):
            return self.draw(st.sampled_from([f.ODD, f.EVEN]))  # type: ignore[no-any-return]
        return g.NEVER if isinstance(domain, Map | Tuple) else g.fix_right("=", self.draw(values(domain)))

    def finish(self, most_outputs: int) -> Pipeline:
        """Build the pipeline; it shows the latest pipe, and possibly another one."""
        outputs = {"out": self.pipes[-1].stream}
        if most_outputs > 1 and self.draw(st.booleans()):
            outputs["more"] = self.pick().stream
        return self.builder.build(outputs)


CAPACITY = 2
"""Capacity of the queues whose state bits are counted."""


def state_bits(processor: Processor, inputs: Sequence[Domain]) -> int:
    """Return the number of state bits of a typed processor, with its queues."""
    if isinstance(processor, Group):
        flat = flatten(processor.body)
        parts = ((flat.typed[n.name], [flat.domains[p] for p in n.inputs]) for n in flat.nodes)
        return sum(state_bits(inner, domains) for inner, domains in parts)
    total = bits(processor.machine(tuple(inputs)))
    if len(inputs) > 1:
        slots: tuple[Slot, ...] = Join(tuple(inputs), (CAPACITY,) * len(inputs)).slots()
        total += bits(Machine(slots, processor.step))
    return total
