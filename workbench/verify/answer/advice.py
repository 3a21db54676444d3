"""What to do about a property that was not decided: what makes its model large, and who else could be asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from workbench.ir.system import System, instance_of
from workbench.smv.engines.engine import Reached
from workbench.smv.printer import bit_count
from workbench.verify.answer.prepare import Prepared
from workbench.verify.answer.settings import Settings

_NAMED = 3
"""How many of the largest parts of a state are named."""
_LONGER = 10
"""How many times longer the next try should be allowed to take."""


def advise(prepared: Prepared, reached: Sequence[Reached]) -> Iterator[str]:
    """What makes it likelier that the next try decides a property, one sentence each.

    `reached` says how far each engine got.
    """
    model, settings = prepared.model, prepared.settings
    yield _state(model.system)
    if settings.domain in model.integers and settings.n > 2:
        yield f"fewer integers: -N {max(2, settings.n // 2)} (N = {settings.n} now)"
    roomy = [queue for queue in model.queues if queue.capacity > 1]
    if roomy:
        yield f"shorter queues: -Q 1 ({max(queue.capacity for queue in roomy)} now)"
    yield from _advise_engines(settings, reached)
    if settings.seconds is not None:
        yield f"more time: --timeout {_LONGER * settings.seconds:g}"
    if settings.memory_mb is not None:
        yield f"more memory: --memory {2 * settings.memory_mb}"


def _state(system: System) -> str:
    """How large a state is, and which parameter, window or number of slices makes it so."""
    bits: Counter[str] = Counter()
    for variable in system.variables:
        bits[instance_of(variable.name)] += max(1, bit_count(variable.domain))
    largest = ", ".join(f"{name} ({count})" for name, count in bits.most_common(_NAMED))
    whole = f"a state has {bits.total()} bits"
    return f"a smaller window, k or range where the state is: {whole}, most of them in {largest}" if largest else whole


def _advise_engines(settings: Settings, reached: Sequence[Reached]) -> Iterator[str]:
    """One engine for all of the time, where it has come some way in its share of it; otherwise all of them."""
    going = {each.engine for each in reached if each.further}
    if settings.engine not in ("auto", "all"):
        yield "every engine in turn: --engine auto"
    elif "bmc" in going:
        yield "all the time for a short counterexample or proof: --engine bmc"
    elif "explicit" in going:
        yield "all the time for the states, one by one: --engine explicit"
