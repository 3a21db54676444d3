"""Continue on the reference executor when compiled code of `auto` meets a large number or an error.

The rule of this module: the reference executor repeats all rows so far. So rows that cannot be read twice are left to
it from the first one on, unless no whole number can have more than 64 bits and nothing can overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import TYPE_CHECKING

from workbench.core.domain import Integers
from workbench.core.fields import scalars
from workbench.core.program import Ports
from workbench.errors import WorkbenchError
from workbench.events.account import Reporter
from workbench.events.batch import LogBatch
from workbench.events.rows import LogBlock
from workbench.executors.pending import Pool
from workbench.executors.session import BATCH, BatchOutput, Session
from workbench.runner.batching import BatchPace, batches_of

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.executor import Compiled


class FallbackSession(Session):
    """A compiled session that is replaced by the reference executor where a number has more than 64 bits.

    It is also replaced where compiled code has met an error that the reference executor describes better.

    Parameters
    ----------
    compiled: the session that runs first.
    reference: makes the session that replaces it, before the first row.
    read_again: reads the rows again, from the first one on.
    say: reports the replacement to the user.
    """

    def __init__(
        self,
        compiled: Session,
        reference: Callable[[], Session],
        read_again: Callable[[Reporter], Generator[LogBlock]],
        say: Callable[[str], object],
    ) -> None:
        self.running, self._reference, self._read_again, self._say = compiled, reference, read_again, say
        self.threads, self.numbered = compiled.threads, compiled.numbered
        self._rows, self._given_way = 0, False

    @property
    def outputs(self) -> Ports:  # type: ignore[override]
        """The columns of the output."""
        return self.running.outputs

    @property
    def takes(self) -> frozenset[str]:  # type: ignore[override]
        """The forms of batches that the running session takes."""
        return self.running.takes

    def step_batch(self, batch: LogBatch) -> BatchOutput:
        output = self.running.step_batch(batch)
        if self._is_for(output.failed):
            self._give_way(output.failed)
            output = self.running.step_batch(batch)
        self._rows += output.computed + sum(output.ignored.values())
        return output

    def end(self) -> BatchOutput:
        output = self.running.end()
        if self._is_for(output.failed):
            self._give_way(output.failed)
            output = self.running.end()
        return output

    def notes(self) -> Iterable[str]:
        return self.running.notes()

    def share(self, pool: Pool) -> None:
        self.running.share(pool)

    def _is_for(self, error: WorkbenchError | None) -> bool:
        """Whether the reference executor takes over after this error."""
        return error is not None and not self._given_way and (error.exceeds_64_bits or error.by_compiled)

    def _give_way(self, error: WorkbenchError | None) -> None:
        """Let the reference executor repeat the rows that have been run, and continue from there."""
        if error is not None and error.exceeds_64_bits:
            self._say(f"continuing on the reference backend: {error.what}")
        self.running, self._given_way, left, reporter = self._reference(), True, self._rows, Reporter()
        with closing(self._read_again(reporter)) as blocks:
            pace = BatchPace(BATCH, waited=False)
            for batch in batches_of(blocks, self.running, pace, reporter.account) if left else ():
                output = self.running.step_batch(batch if len(batch) <= left else batch.before(left))
                left -= output.computed + sum(output.ignored.values())
                if output.failed is not None:
                    raise output.failed
                if not left:
                    return


def may_fail(backend: Compiled) -> bool:
    """Whether inputs may have whole numbers of more than 64 bits, or something may overflow."""
    from workbench.executors.compiled.lower.system import hazards

    parts = (part for _, domain in backend.flat.inputs for _, part in scalars(domain))
    return any(isinstance(part, Integers) for part in parts) or bool(hazards(backend.system))
