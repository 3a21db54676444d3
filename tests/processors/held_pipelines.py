"""Hypothesis strategies for pipelines in which one processor holds another, on each side of every specialisation.

The rule of this module: what is held is small and odd. It reads its second input, one input twice or one not at all,
its inputs have different types, and its folds are not commutative or start anywhere; windows are as wide as stacks and
sliding sums need; and several events of a step can reach the holder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from workbench.builder import Builder, BuiltStream
from workbench.core import function as f
from workbench.core.domain import BOOL, INT, Bool, Domain, Integer, Overflowing, Range
from workbench.core.function import Function, user_function
from workbench.core.ops import ADD, EQ, GT, MOD, SUB
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END, Processor
from workbench.errors import DomainError, TypingError
from workbench.processors.apply import ApplyFunction
from workbench.processors.changes import Changes
from workbench.processors.combine_latest import CombineLatest
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter
from workbench.processors.freeze import Freeze
from workbench.processors.held.group import Group
from workbench.processors.held.history import History
from workbench.processors.held.quantifiers import Exists, ForAll
from workbench.processors.held.reset_last import ResetLast
from workbench.processors.held.spawn import EventuallyOf, GloballyOf
from workbench.processors.held.window import Window
from workbench.processors.insert import Insert
from workbench.processors.keep_last import KeepLast
from workbench.processors.passthrough import Passthrough
from workbench.processors.past import Once, Yesterday
from workbench.processors.prefix import Prefix
from workbench.processors.sample import Sample
from workbench.processors.slices.slice import Slice
from workbench.processors.slices.slice_last import SliceLast
from workbench.processors.stutter import Stutter
from workbench.processors.temporal import Eventually, Globally, Next, Until
from workbench.processors.trim import Trim
from workbench.processors.turn_into import TurnInto

Draw = Callable[[st.SearchStrategy[Any]], Any]

FIRST, SECOND = Function("first", 2, lambda a, b: a), Function("second", 2, lambda a, b: b)
BACKWARDS = Function("backwards", 2, lambda a, b: SUB(b, a))
OWN_SUM = Function("own sum", 2, lambda a, b: ADD(a, b))
PYTHON = user_function(lambda a, b: a * 2 - b, result=INT, name="python")
COUNT = Function("count", 2, lambda n, _: n + 1, start=0)
FOLDS = (f.ADD, f.MAX, f.MIN, f.SUB, f.MUL, FIRST, SECOND, BACKWARDS, OWN_SUM)

N5, FEW = Integer(5), Range(-2, 3)
CHECKED = Integer(9, Overflowing.CHECKED)
NUMBERS = (INT, N5, FEW)
MODELLED = (N5, FEW)


def of_domain(domain: Domain) -> st.SearchStrategy[Any]:
    """Values of a domain, which are few."""
    if isinstance(domain, Bool):
        return st.booleans()
    return st.integers(-3, 4) if domain == INT else st.sampled_from(tuple(domain.values()))


def cumulation(draw: Draw, domain: Domain, *, within: bool = False) -> Cumulate:
    """A fold of events of this domain, perhaps from somewhere else than its neutral value.

    `within` a window it may leave its range.
    """
    if isinstance(domain, Bool):
        return Cumulate(draw(st.sampled_from((f.AND, f.OR, f.IMPLIES, FIRST, SECOND))), draw(st.booleans()))
    folds = (
        (*FOLDS, PYTHON) if domain == INT else (f.MAX, f.MIN, FIRST, SECOND) if domain == FEW and not within else FOLDS
    )
    found = draw(st.sampled_from(folds))
    start = draw(of_domain(domain)) if found.start is None or draw(st.booleans()) else None
    return Cumulate(found, start)


class Body:
    """A pipeline to be held, under construction."""

    def __init__(self, draw: Draw, inputs: Sequence[Domain]) -> None:
        self.draw, self.builder = draw, Builder("inner")
        self.pipes = [(self.builder.input("xyzw"[i], domain), domain) for i, domain in enumerate(inputs)]

    def pick(self, kind: type[Domain] | None = None) -> tuple[BuiltStream, Domain]:
        """One of the pipes, of one kind if there is one."""
        suited = [pipe for pipe in self.pipes if kind is None or isinstance(pipe[1], kind)]
        return self.draw(st.sampled_from(suited or self.pipes))

    def add(self, processor: Processor, *read: tuple[BuiltStream, Domain]) -> None:
        """One more processor, if it can read these."""
        domains = tuple(domain for _, domain in read)
        try:
            (result,) = processor.specialise(domains).results(domains)
        except (TypingError, DomainError):
            return
        self.pipes.append((self.builder.add(processor, [stream for stream, _ in read]), result))

    def single(self) -> None:
        """A processor of one stream."""
        read = self.pick()
        domain = read[1]
        self.add(
            self.draw(
                st.sampled_from(
                    (
                        cumulation(self.draw, domain),
                        Trim(1),
                        CountDecimate(2, self.draw(st.booleans())),
                        Insert(self.draw(of_domain(domain)), self.draw(st.integers(0, 2))),
                        Stutter(2),
                        Prefix(self.draw(st.integers(0, 3))),
                        Changes(),
                        Freeze(),
                        KeepLast(),
                        TurnInto(1, INT) if domain == INT else TurnInto(True, BOOL),
                        Window(self.draw(st.sampled_from((2, 5))), cumulation(self.draw, domain, within=True)),
                        History(2, cumulation(self.draw, domain)),
                        self.temporal(),
                    )
                )
            ),
            read,
        )

    def temporal(self) -> Processor:
        """A formula over a stream of truth values, which is known at once, later, or perhaps never."""
        waiting = self.draw(st.sampled_from((None, 1, 3)))
        return self.draw(st.sampled_from((Eventually(waiting), Globally(waiting), Next(), Once(), Yesterday())))

    def double(self) -> None:
        """A processor of two streams, which may be one."""
        left, right = self.pick(), self.pick()
        number = self.draw(st.sampled_from((SECOND, FIRST, BACKWARDS, f.ADD, f.LT, f.EQ)))
        self.draw(
            st.sampled_from(
                (
                    lambda: self.add(ApplyFunction(number), left, right),
                    lambda: self.add(CombineLatest(number), left, right),
                    lambda: self.add(CombineLatest(number, (self.start(left), self.start(right))), left, right),
                    lambda: self.add(Sample(), left, right),
                    lambda: self.add(Filter(), left, self.pick(Bool)),
                    lambda: self.add(Until(self.draw(st.sampled_from((None, 2)))), left, right),
                    lambda: self.add(ResetLast(cumulation(self.draw, left[1])), left, self.pick(Bool)),
                    lambda: self.add_slices(left),
                )
            )
        )()

    def add_slices(self, read: tuple[BuiltStream, Domain]) -> None:
        """Slices of a stream, unless a fold of them leaves the range of its events."""
        with suppress(TypingError):
            self.add(self.slice(read[1]), read)

    def slice(self, domain: Domain) -> Processor:
        """Slices, of which there is said what all of them together come to."""
        builder = Builder("slices")
        key = f.NOT if isinstance(domain, Bool) else f.EVEN
        found = Slice(key, cumulation(self.draw, domain))(builder.input("s", domain))
        found = self.draw(st.sampled_from((Passthrough(), Freeze(), Trim(1), KeepLast(), Stutter(2))))(found)
        of = self.draw(st.sampled_from((f.SIZE, f.ANY_VALUE if isinstance(domain, Bool) else f.SUM_VALUES)))
        return Group(builder.build(ApplyFunction(of)(found)))

    def start(self, pipe: tuple[BuiltStream, Domain]) -> Any:
        """A value of what a pipe carries."""
        return self.draw(of_domain(pipe[1]))

    def built(self) -> Pipeline:
        """The pipeline, whose latest pipe is shown."""
        return self.builder.build(self.pipes[-1][0])


def inner(draw: Draw, inputs: Sequence[Domain], *, truth: bool = False, within: bool = False) -> Processor | Pipeline:
    """What is held: a bare cumulation, a pipeline of a single processor, or of up to three."""
    if len(inputs) == 1 and not truth and draw(st.booleans()):
        return cumulation(draw, inputs[0], within=within)
    body = Body(draw, inputs)
    if draw(st.booleans()):
        read = draw(st.sampled_from(body.pipes))
        body.add(cumulation(draw, read[1]), read)
    else:
        for _ in range(draw(st.integers(1, 3))):
            draw(st.sampled_from((body.single, body.double)))()
    if truth:
        stream, domain = body.pipes[-1]
        if not isinstance(domain, Bool):
            body.add(ApplyFunction(Function("positive", 1, lambda a: GT(a, 0))), (stream, domain))
    elif len(body.pipes) == len(inputs):
        body.add(Trim(0), body.pipes[-1])
    return body.built()


PAIRS: dict[int, Callable[..., Any]] = {
    1: lambda a: (a, a),
    2: lambda a, b: (a, a),
    3: lambda a, b, c: (a, a),
}


def holder(draw: Draw, inputs: Sequence[Domain], kinds: Sequence[str]) -> tuple[Processor, list[Domain]]:
    """A holder of what reads such inputs, and what it reads itself."""
    kind, reads, arity = draw(st.sampled_from(kinds)), list(inputs), len(inputs)
    if kind == "window":
        return Window(draw(st.sampled_from((1, 2, 3, 4, 5, 6, 9, 10, 12))), inner(draw, inputs, within=True)), reads
    if kind == "history":
        return History(draw(st.integers(1, 3)), inner(draw, inputs)), reads
    if kind == "batches":
        return ResetLast(inner(draw, inputs)), [*reads, BOOL]
    if kind == "spawn":
        return draw(st.sampled_from((GloballyOf, EventuallyOf)))(inner(draw, inputs, truth=True)), reads
    if kind == "quantifier":
        pending = draw(st.integers(1, 3))
        held = inner(draw, (inputs[0], *inputs), truth=True)
        given = Function("twice", arity, PAIRS[arity])
        return draw(st.sampled_from((ForAll, Exists)))(given, held, pending), reads
    place = draw(st.integers(0, arity - 1))
    key = Function(f"input {place}", arity, lambda *front: front[place])
    if reads[place] == INT:
        key = Function(f"input {place} mod 3", arity, lambda *front: MOD(front[place], 3))
    to_all = None
    if draw(st.booleans()):
        first = inputs[0]
        to_all = Function("some", arity, lambda a, *_: a if isinstance(first, Bool) else EQ(a, 1))
    held = inner(draw, inputs)
    if draw(st.booleans()):
        return SliceLast(key, held, to_all), reads
    return Slice(key, held, to_all), reads


KINDS = ("window", "history", "batches", "spawn", "quantifier", "slice")


@st.composite
def held_pipelines(draw: st.DrawFn, numbers: Sequence[Domain] = NUMBERS, kinds: Sequence[str] = KINDS) -> Pipeline:
    """A pipeline with a holder of what reads up to three inputs; several events of a step may reach it."""
    inputs = draw(st.lists(st.sampled_from((*numbers, BOOL)), min_size=1, max_size=3))
    processor, domains = holder(draw, inputs, kinds)
    builder = Builder("p")
    streams = [builder.input("abcd"[i], domain) for i, domain in enumerate(domains)]
    if draw(st.sampled_from((False, False, True))):
        widened = [Stutter(2)(stream) for stream in streams]
    else:
        widened = [Insert(draw(of_domain(d)), 2)(s) if draw(st.integers(0, 5)) == 5 else s
                   for s, d in zip(streams, domains, strict=True)]  # fmt: skip
    return builder.build(builder.add(processor, widened))


@st.composite
def steps_of(draw: st.DrawFn, pipeline: Pipeline, most: int = 14) -> list[Any]:
    """Steps of its inputs, which mostly come together; the last one may be the end."""
    values = {name: of_domain(domain) for name, domain in pipeline.inputs}
    some = st.fixed_dictionaries({}, optional=values) if draw(st.booleans()) else st.fixed_dictionaries(values)
    found = draw(st.lists(some, max_size=most))
    return [*found, END] if draw(st.booleans()) else found
