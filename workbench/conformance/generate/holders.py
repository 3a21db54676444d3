"""DrawnNode processors that hold others: windows, batches, slices, quantifiers and groups over one stream or several.

The rule of this module: what is inside reads all of its inputs, some, or one of them twice, in any order; a wide pipe
may come right before. Who holds it must not be told apart from a run of what is inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from workbench.builder import Builder, BuiltStream
from workbench.conformance.generate import functions as g
from workbench.conformance.generate.domains import values
from workbench.conformance.generate.single import Draw, cumulation, numbers, single
from workbench.core import function as f
from workbench.core.domain import Bool, Domain, Integer, Integers
from workbench.core.fields import Map, Tuple
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Processor
from workbench.processors.apply import ApplyFunction
from workbench.processors.held.group import Group
from workbench.processors.held.quantifiers import Exists, ForAll
from workbench.processors.held.reset_last import ResetLast
from workbench.processors.held.window import Window
from workbench.processors.slices.slice import Slice
from workbench.processors.slices.slice_last import SliceLast
from workbench.processors.temporal import Eventually
from workbench.processors.trim import Trim

WIDTHS, WIDE = (2, 3), (2, 3, 4, 5, 6, 9, 11)
"""Widths of windows, and of large ones: stacks begin at 5, sliding sums at 9."""
PENDING = 2
"""Most positions of a quantifier that wait for their verdict."""


class DrawnPipe(NamedTuple):
    """A pipe under construction and what it carries."""

    stream: BuiltStream
    domain: Domain


DrawnNode = tuple[Processor, list[DrawnPipe]]


def few(domain: Domain) -> bool:
    """Whether the values may be keys of slices."""
    return isinstance(domain, Integers) or (domain.size or 5) <= 4


class Holders(ABC):
    """The kinds of processors that hold others, of a pipeline that gets one processor after another."""

    draw: Draw
    large: bool
    pipes: list[DrawnPipe]

    @abstractmethod
    def pick(self, suits: Callable[[Domain], bool] = lambda _: True) -> DrawnPipe:
        """An earlier pipe, the latest ones first."""

    @abstractmethod
    def inner(self, inputs: Sequence[Domain], most_outputs: int, most_nodes: int = 3) -> Pipeline:
        """A pipeline to be put into a processor."""

    @abstractmethod
    def widened(self, pipe: DrawnPipe) -> DrawnPipe:
        """A pipe that carries its events twice, if it may."""

    def several(self, first: DrawnPipe) -> list[DrawnPipe]:
        """Pipes that are read together, one of them wide perhaps."""
        read = [first, *([self.pick()] if self.draw(st.booleans()) else [])]
        if self.draw(st.sampled_from((False, False, False, True))):
            place = self.draw(st.integers(0, len(read) - 1))
            read[place] = self.widened(read[place])
        return read

    def held(self, inputs: Sequence[Domain], width: int | None = None) -> Processor | Pipeline:
        """What is put into a processor, with one output; of several inputs it may read some only."""
        kinds = ["cumulation", "one", "single", "pipeline"] if len(inputs) == 1 else ["one", "pipeline"]
        kind = self.draw(st.sampled_from([*kinds, "window"] if width and len(inputs) == 1 else kinds))
        if kind == "cumulation":
            return cumulation(self.draw, inputs[0], width=width)
        if kind == "single":
            return single(self.draw, inputs[0])
        if kind == "window":
            return Window(2, cumulation(self.draw, inputs[0], width=2))
        if kind == "pipeline":
            return self.inner(inputs, 1)
        if self.draw(st.booleans()):
            return self.inner(inputs, 1, 1)
        builder = Builder("one")
        streams = [builder.input("xyz"[i], domain) for i, domain in enumerate(inputs)]
        place = self.draw(st.integers(0, len(inputs) - 1))
        return builder.build(cumulation(self.draw, inputs[place])(streams[place]))

    def group(self) -> DrawnNode:
        read = self.several(self.pick())
        return Group(self.inner([pipe.domain for pipe in read], 2)), read

    def window(self) -> DrawnNode:
        read = self.several(self.pick())
        width = self.draw(st.sampled_from(WIDE if self.large else WIDTHS))
        encoding = self.draw(st.sampled_from(["auto", "events", "copies"]))
        return Window(width, self.held([pipe.domain for pipe in read], width), encoding), read

    def batches(self) -> DrawnNode:
        read = self.several(self.pick())
        inner = self.held([pipe.domain for pipe in read])
        return ResetLast(inner), [*read, self.pick(lambda d: isinstance(d, Bool))]

    def slice(self) -> DrawnNode:
        read = self.several(self.pick(few))
        domains = tuple(pipe.domain for pipe in read)
        some = g.of_event if len(read) > 1 else lambda function: function
        choices = [g.ITSELF, *([f.EVEN] if numbers(domains[0]) else [])]
        keys = [some(each) for each in choices] + ([g.SECOND] if few(domains[-1]) and len(read) > 1 else [])
        key = self.draw(st.sampled_from(keys))
        held = self.held(domains)
        inner = Group(held) if isinstance(held, Pipeline) else held
        (result,) = inner.typed(domains).results(domains)
        to_all = self.draw(st.sampled_from([None, some(self.condition(domains[0]))]))
        until = self.draw(st.sampled_from([None, self.condition(result)]))
        if self.draw(st.booleans()):
            return SliceLast(key, inner, to_all, until), read
        return Slice(key, inner, to_all, until, until is not None and self.draw(st.booleans())), read

    def quantifier(self) -> DrawnNode:
        """Over a number and the next one; the inner pipeline may look at another stream, and say it later."""
        read = self.several(self.pick(lambda d: isinstance(d, Integer | Integers)))
        domains = [pipe.domain for pipe in read]
        kind, compared = self.draw(st.sampled_from([ForAll, Exists])), self.draw(st.sampled_from([f.LT, f.NE, f.GE]))
        if len(read) == 1 and self.draw(st.booleans()):
            return kind(g.NEIGHBOURS, ApplyFunction(compared)), read
        builder = Builder("condition")
        value, *streams = (builder.input("vxy"[i], domain) for i, domain in enumerate([domains[0], *domains]))
        place = self.draw(st.sampled_from([i for i, each in enumerate(domains) if each == domains[0]]))
        later = self.draw(st.sampled_from(["", "event", "verdict"]))
        said = ApplyFunction(compared)(value, Trim(1)(streams[place]) if later == "event" else streams[place])
        said = Eventually(2)(said) if later == "verdict" else said
        values_of = g.NEIGHBOURS if len(read) == 1 else g.of_event(g.NEIGHBOURS)
        return kind(values_of, builder.build(said), PENDING if later else None), read

    def condition(self, domain: Domain) -> f.Function:
        """A condition on one event of this domain."""
        if isinstance(domain, Bool):
            return f.NOT
        if numbers(domain):
            return self.draw(st.sampled_from([f.ODD, f.EVEN]))  # type: ignore[no-any-return]
        return g.NEVER if isinstance(domain, Map | Tuple) else g.fixed_right("=", self.draw(values(domain)))
