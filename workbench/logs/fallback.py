"""What `auto` does where compiled code has too short numbers, or meets an error: the reference executor goes on.

The rule of this module: it makes the rows so far once more, so rows that cannot be read twice are left to it from the
first one on, unless no whole number can have more than 64 bits and nothing can overflow.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from workbench.core.domain import Integers
from workbench.core.fields import scalars
from workbench.core.program import Program
from workbench.errors import WorkbenchError
from workbench.events.account import Reporter
from workbench.events.rows import InputEvents, LogBlock
from workbench.executors.table import Start, backend_row

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.executor import Compiled
    from workbench.executors.keyed import KeyedSteps
    from workbench.executors.reference.executor import Reference


class Fallback:
    """What goes on with a run where a number has more than 64 bits, or tells of an error what the reference does.

    Attributes
    ----------
    read_again: reads the rows once more, from the first one on; None: nothing goes on.
    """

    def __init__(self, program: Program, start: Start) -> None:
        self._program, self._start = program, start
        self.read_again: Callable[[Reporter], Iterator[LogBlock]] | None = None

    def is_for(self, error: WorkbenchError) -> bool:
        """Whether a run that has come to this error goes on."""
        return (error.beyond_words or error.by_compiled) and self.read_again is not None

    def rows(self, first: int, last: float) -> Iterator[tuple[int, InputEvents]]:
        """The rows of these numbers, from 1 on, read once more; the account of the run does not count them."""
        assert self.read_again is not None
        reporter = Reporter()
        with contextlib.closing(cast(Any, self.read_again(reporter))) as blocks:
            numbered = ((reporter.account.rows, step) for block in blocks for step in block.steps())
            yield from itertools.takewhile(lambda row: row[0] <= last, (row for row in numbered if row[0] >= first))

    def reference(self, error: WorkbenchError, steps: int) -> Reference:
        """The reference executor after so many steps of the log; the error is raised where it is another one."""
        self._see(error)
        made = cast("Reference", cast(Any, backend_row("reference").make)(self._program, self._start))
        rows = itertools.islice(self.rows(1, float("inf")), steps)
        deque(made.emitted(step for _, step in rows), 0)
        return made

    def keyed_reference(self, error: WorkbenchError) -> KeyedSteps:
        """The reference executor for the keys of a log, before its first row."""
        self._see(error)
        return cast("KeyedSteps", cast(Any, backend_row("reference").keyed)(self._program, self._start))

    def _see(self, error: WorkbenchError) -> None:
        if not self.is_for(error):
            raise error
        if error.beyond_words:
            self._start.say(f"the reference backend goes on: {error.what}")


def may_fail(backend: Compiled) -> bool:
    """Whether whole numbers of more than 64 bits may come in, or something may overflow."""
    from workbench.executors.compiled.lower.system import hazards

    parts = (part for _, domain in backend.flat.inputs for _, part in scalars(domain))
    return any(isinstance(part, Integers) for part in parts) or bool(hazards(backend.system))
