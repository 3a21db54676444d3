"""Certificates: that a processor may be pipelined, and what says so (Multiple Threads, section 4.4).

The rule of this module: who runs a pipeline does not trust a claim, and does not check one. It is given a
certificate, made by who has checked (`workbench.verify.certify`), for the processor that it runs, or it refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from workbench.core.domain import Domain, Value
from workbench.core.function import Function, TypedFunction
from workbench.core.processor import Processor, State
from workbench.errors import Refused


@dataclass(frozen=True)
class Certificate:
    """What has been established of a processor.

    Parameters
    ----------
    processor: what it was established of.
    history: what the processor does at a front depends on this many fronts at most, the front itself included:
        it is equivalent to its `History`. 1: it has no memory.
    settled: where this is not None, all that holds only from a state on that has, for one of these, these values at
        these positions: such a state never changes again, and `history` is 1.
    rests_on: how it was established, and over which domains.
    """

    processor: Processor
    history: int
    rests_on: str
    settled: tuple[Mapping[int, Value], ...] | None = None

    def check(self, processor: Processor) -> None:
        """Refused unless it was made for this processor."""
        if not _same(self.processor, processor):
            raise Refused(
                f"`{processor}` cannot be pipelined with a certificate of `{self.processor}`",
                hint="certify the processor itself: workbench.certify(pipeline)",
            )

    def has_settled(self, state: State) -> bool:
        """Whether it holds from this state on."""
        if self.settled is None:
            return True
        return any(all(state[i] == value for i, value in values.items()) for values in self.settled)

    def __str__(self) -> str:
        if self.settled is not None:
            what = "has no memory once it has settled"
        elif self.history == 1:
            what = "has no memory"
        else:
            what = f"depends on the last {self.history} events"
        return f"{self.processor} {what}: {self.rests_on}"


def _same(a: Any, b: Any) -> bool:
    """Equal parameters, whatever domains the functions among them are typed for, and those taken from them."""
    if isinstance(a, TypedFunction):
        a = a.function
    if isinstance(b, TypedFunction):
        b = b.function
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if is_dataclass(a) and type(a) is type(b) and not isinstance(a, Function | Domain):
        return all(_same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.compare)
    if None in (a, b) and isinstance(a or b, Domain):
        return True
    return bool(a == b)
