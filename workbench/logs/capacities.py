"""Queues of compiled runs: how many events each holds, where the file does not say.

The rule of this module: a log in which all inputs come together needs nothing from its user. Capacities are proven for
such logs, the executor enforces them, and a log with gaps that would need more is told so at the step where it does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from workbench.core.domain import Integer
from workbench.errors import NoCapacity, Overflow, WorkbenchError

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.table import Start
    from workbench.verify.buffers.buffers import Buffer

T = TypeVar("T")

SMALL = 4
"""The N to ask about where the run is over plain numbers."""
SECONDS = 20.0
"""How long may be looked for the capacity of a queue."""
TOGETHER = "where all inputs come together"
OTHERWISE = "the reference backend needs no capacities"


def allocated(make: Callable[[Program], T], pipeline: Program, start: Start, integers: Integer | None) -> T:
    """What `make` makes of a pipeline, with the capacities that it turns out to need.

    Raises
    ------
    NoCapacity: one is needed that is not known, even for inputs that come together.
    """
    try:
        return make(pipeline)
    except NoCapacity as error:
        refused, pipeline = error, pipeline.pipeline
    asked = integers or Integer(SMALL)
    found = _computed(pipeline, refused, asked, start)
    exact = integers is not None  # the domain asked about is that of the run
    proven = {b.queue: b.capacity for b in found.values() if b.capacity is not None and (b.for_every_n or exact)}
    try:
        return make(pipeline.with_capacities({**proven, **pipeline.capacities}))
    except NoCapacity as error:
        hopeless = (buffer for buffer in found.values() if buffer.growth and buffer.queue not in pipeline.capacities)
        raise _explained(next(hopeless, found[error.queue]), pipeline, asked, start) from None


def _computed(pipeline: Program, refused: NoCapacity, asked: Integer, start: Start) -> dict[str, Buffer]:
    """What is known of each queue where all inputs come together."""
    from workbench.verify.answer.check import Settings
    from workbench.verify.ask.environment import Environment
    from workbench.verify.buffers.buffers import buffers

    together = Environment("synchronised")
    settings = Settings(n=asked.n, integers=asked.overflow, environment=together, seconds=SECONDS)
    try:
        with start.progress(f"capacities of the queues of {pipeline.name}"):
            return {buffer.queue: buffer for buffer in buffers(pipeline, settings).queues}
    except WorkbenchError as error:
        what = f"{refused.what}; none could be computed: {error.what}"
        hint = f"write `capacity queue({refused.queue}) = ...` into the file; {OTHERWISE}"
        raise NoCapacity(what, where=error.where, hint=hint, queue=refused.queue) from error


def _explained(buffer: Buffer, pipeline: Program, asked: Integer, start: Start) -> NoCapacity:
    """Why a queue has no capacity, and what to do about it."""
    what = f"queue '{buffer.queue}' of {pipeline.ports.of}"
    by_hand = f"write `capacity queue({buffer.queue}) = ...` into the file"
    if buffer.growth:
        return NoCapacity(f"{what} grows without bound, also {TOGETHER}", hint=OTHERWISE, queue=buffer.queue)
    if buffer.capacity is None:
        what += f" has no known capacity, also {TOGETHER}: {buffer.reason}"
        return NoCapacity(what, hint=f"{by_hand}; {OTHERWISE}", queue=buffer.queue)
    what += (
        f" needs a capacity that depends on values: with integers 0..{asked.n - 1} it is {buffer.capacity}, {TOGETHER}"
    )
    wider = f"`workbench buffers {start.option('file', 'FILE')} --inputs synchronised -N 256 --annotate`"
    return NoCapacity(what, hint=f"{wider} asks about larger ones, or {by_hand}; {OTHERWISE}", queue=buffer.queue)


@contextlib.contextmanager
def told(pipeline: Program) -> Iterator[None]:
    """Say what a capacity rests on that is not the user's, where it turns out to be too small."""
    try:
        yield
    except Overflow as error:
        graph = pipeline.pipeline
        if error.queue not in graph.every_queue or error.queue in graph.capacities:  # or in one that is held
            raise
        hint = (
            "the capacity is proven for inputs that all come together, and this log has gaps; `workbench buffers FILE"
            f" --annotate` finds one for any log, if there is one; {OTHERWISE}"
        )
        raise Overflow(error.what, where=error.where, hint=hint, queue=error.queue) from error
