"""Random processors without inner processors, for pipes of given domains; and samples of all others.

The rule of this module: a processor suits the domain of its input; simplest ones come first. Processors for which the
generator has no rule of its own are drawn from their `samples`, so that pipelines include every registered one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import product
from typing import Any

from hypothesis import strategies as st

from workbench.conformance.generate import functions as g
from workbench.conformance.generate.domains import integers, scalars, values
from workbench.core import function as f
from workbench.core.domain import Bool, Domain, Integer, Integers, Range, Reals, Texts
from workbench.core.fields import Map, Tuple
from workbench.core.form import Form
from workbench.core.processor import Processor
from workbench.core.typing_rules import has_bits
from workbench.errors import WorkbenchError
from workbench.processors import CLASSES
from workbench.processors.apply import ApplyFunction
from workbench.processors.cast import Cast
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.freeze import Freeze
from workbench.processors.insert import Insert
from workbench.processors.keep_last import KeepLast
from workbench.processors.passthrough import Passthrough
from workbench.processors.past import Historically, Once, Yesterday
from workbench.processors.prefix import Prefix
from workbench.processors.stutter import Stutter
from workbench.processors.temporal import Eventually, Eventually3, Globally, Globally3, Next, Next3
from workbench.processors.trim import Trim
from workbench.processors.turn_into import TurnInto
from workbench.processors.unpack import Unpack

Draw = Callable[[Any], Any]


def numbers(domain: Domain) -> bool:
    """Whether the values of a domain are whole numbers."""
    return isinstance(domain, Integer | Integers | Range)


def unary(draw: Draw, domain: Domain) -> f.Function:
    """Draw a function of one event of this domain."""
    choices: list[f.Function] = []
    if numbers(domain):
        constant = draw(values(domain))
        choices += [f.EVEN, f.ODD, *(g.fix_right(n, constant) for n in ("+", "=", "<", ">=", "-", "mod", "div"))]
        choices += [g.fix_left("-", constant), f.NEG, f.ABS, g.fix_right("*", constant)]
        choices += [g.WIGGLE, g.HALF] if domain.finite else [g.fix_right("/", constant)]
        if has_bits(domain):
            choices += [g.fix_right(n, constant) for n in ("xor", "bit_and", "bit_or")]
            choices += [g.fix_right(n, 2) for n in ("shift_left", "shift_right")]
    elif isinstance(domain, Reals):
        constant = draw(values(domain))
        choices += [*(g.fix_right(n, constant) for n in ("+", "<", ">=", "-", "*", "/", "pow")), f.NEG, f.ABS]
        choices += [f.NAMED[n] for n in ("sqrt", "exp", "log", "round", "floor", "ceil")]
        choices.append(g.fix_left("/", constant))
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
        if numbers(domain.value):
            choices.append(f.SUM_VALUES)
    else:
        constant = draw(values(domain))
        choices += [g.fix_right("=", constant), g.fix_right("!=", constant)]
        choices += of_text(draw) if isinstance(domain, Texts) else []
    return draw(st.sampled_from(choices))  # type: ignore[no-any-return]


def of_text(draw: Draw) -> list[f.Function]:
    """Draw functions of a text: they differ in a text that they search for."""
    part = draw(st.text("abc", max_size=2))
    tests = [g.fix_right(name, part) for name in ("contains", "starts_with", "ends_with", "matches")]
    return [*tests, g.fix_right("+", part), *(f.NAMED[name] for name in ("length", "lower", "upper"))]


def binary(draw: Draw, left: Domain, right: Domain) -> f.Function:
    """Draw a function of two events of these domains."""
    choices: list[f.Function] = []
    if numbers(left) and (left == right or (isinstance(left, Range) and isinstance(right, Range))):
        choices += [f.ADD, f.SUB, f.LT, f.MAX, f.MIN, f.MUL, f.GE, f.EQ, f.NE, f.GT, f.LE, f.DIV, f.MOD]
        choices += [f.XOR, f.BIT_AND, f.BIT_OR] if has_bits(left) and has_bits(right) else []
        choices += [g.CLASH] if left.finite else []
    elif isinstance(left, Reals) and left == right:
        choices += [f.ADD, f.SUB, f.LT, f.MAX, f.MIN, f.MUL, f.GE, f.NAMED["/"], f.NAMED["pow"]]
    elif isinstance(left, Bool) and isinstance(right, Bool):
        choices += [f.AND, f.OR, f.IMPLIES, f.EQ, g.CLASH]
    elif left == right:
        choices += [f.EQ, f.NE]
    choices.append(g.PAIR)
    return draw(st.sampled_from(choices))  # type: ignore[no-any-return]


def cumulation(draw: Draw, domain: Domain, *, width: int | None = None) -> Cumulate:
    """Draw a cumulation of events of this domain.

    Parameters
    ----------
    width: the number of events to cumulate, so that results may leave a range; None: all events.
    """
    start = draw(values(domain))
    odd = [Cumulate(g.FIRST, start), Cumulate(g.SECOND, start)]
    if isinstance(domain, Integer | Integers | Reals):
        plain = [Cumulate(f.ADD), Cumulate(f.MUL), Cumulate(f.SUB, start), Cumulate(f.MAX, start)]
        plain += [Cumulate(f.MAX), Cumulate(f.MIN)] if domain.finite else []
        odd += [Cumulate(g.REVERSED, start), Cumulate(f.ADD, start), Cumulate(f.MUL, start)]
    elif isinstance(domain, Range):
        plain = [Cumulate(f.MAX), Cumulate(f.MIN), *(Cumulate(each) for each in (f.ADD, f.SUB, f.MUL) if width)]
        odd += [Cumulate(each, start) for each in (f.MAX, *((f.ADD, f.MUL, g.REVERSED) if width else ()))]
    elif isinstance(domain, Texts):
        plain = [Cumulate(f.ADD)]
    elif isinstance(domain, Bool):
        plain = [Cumulate(each, start) for each in (f.OR, f.AND, f.IMPLIES)]
    else:
        plain, odd = [Cumulate(g.COUNT, domain=draw(integers))], []
    if isinstance(domain, Bool | Integer | Range):
        odd.append(Cumulate(g.MIX, draw(st.integers(0, 3)), Range(0, 3)))
    return draw(st.sampled_from(odd if odd and draw(st.booleans()) else plain))  # type: ignore[no-any-return]


def single(draw: Draw, domain: Domain) -> Processor:
    """Draw a processor with one input and one output, without inner processors."""
    kinds: list[Callable[[], Processor]] = [
        lambda: ApplyFunction(unary(draw, domain)),
        lambda: Trim(draw(st.integers(1, 3))),
        lambda: cumulation(draw, domain),
        lambda: CountDecimate(draw(st.integers(2, 3)), draw(st.booleans())),
        lambda: _draw_turn(draw, domain),
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


def _draw_turn(draw: Draw, domain: Domain) -> Processor:
    target = draw(st.one_of(st.just(domain), scalars))
    return TurnInto(draw(values(target)), target)


def _cast(draw: Draw, domain: Domain) -> Processor:
    if not isinstance(domain, Integer | Range):
        return Passthrough()
    lo = domain.lo + draw(st.integers(-1, 1))
    other = Range(lo, max(lo, domain.hi + draw(st.integers(-1, 1))))
    return Cast(draw(st.one_of(integers, st.just(other))))


def fitting(domains: Sequence[Domain], ruled: Collection[type[Processor]]) -> list[tuple[Processor, tuple[int, ...]]]:
    """Return the samples that have a model on pipes of these domains, each with the positions of its input pipes."""
    integers = next((domain for domain in reversed(domains) if isinstance(domain, Integer)), Integer(4))
    samples = (sample for kind in CLASSES.values() if kind not in ruled for sample in kind.samples())
    able = [sample.resolve(integers) for sample in samples if not sample.refusal(Form.MODEL)]
    indices = range(len(domains) - 1, -1, -1)
    tried = ((sample, read) for sample in able for read in product(indices, repeat=sample.in_arity))
    return [(sample, read) for sample, read in tried if _suits(sample, tuple(domains[index] for index in read))]


def _suits(processor: Processor, inputs: tuple[Domain, ...]) -> bool:
    try:
        processor.specialise(inputs).machine(inputs)
    except WorkbenchError:
        return False
    return True
