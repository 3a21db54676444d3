"""NonBlocking: copies of a processor stepped in threads (Multiple Threads, section 4.2).

    "The window processor first calls push() on each copy in rapid-fire succession. Each copy of φ can update its state
    in a separate thread, thus exhibiting parallel processing. The processor then waits for each of these calls to be
    finished."

The rule of this module: holders know nothing of threads. They give the work on their copies to whatever executes them;
this is what the threaded executor does with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from workbench.core.kinds import Push, stepping
from workbench.core.processor import Processor, State, Stepped
from workbench.executors.pending import Done
from workbench.executors.threaded.manager import ThreadManager

T = TypeVar("T")


class NonBlocking:
    """Does work on copies in threads of a manager's; where none is granted, it is done by whoever asked (an `Each`)."""

    def __init__(self, manager: ThreadManager) -> None:
        self.manager = manager

    def __call__(self, work: Callable[..., T], jobs: Iterable[tuple[Any, ...]], /) -> Iterator[T]:
        """All work begins before any is waited for, and all is done on return, whatever fails."""
        begun = [self.manager.start(partial(work, *job)) for job in jobs]
        return map(Done.wait_for, [Done(each.wait_for) for each in begun])

    def step(self, processor: Processor) -> Push:
        """The step of a (typed) processor, its copies stepped so: as long as the manager would grant a thread."""
        manager, plain, overlapping = self.manager, processor.step, stepping(processor, self)

        def step(state: State, front: tuple[Any, ...]) -> Stepped:
            return overlapping(state, front) if manager.grants else plain(state, front)

        return step
