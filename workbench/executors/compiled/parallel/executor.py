"""The compiled executor that makes the steps of one long stream in several threads (docs/reference/parallel.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.program import Program
from workbench.errors import PipelineError
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.parallel.in_blocks import SHORTEST, InBlocks
from workbench.executors.threaded.manager import ThreadManager

COSTLY = 25e-9
"""Seconds for a step that are more than half of what a row of a log takes, read and written."""


class Parallel(Compiled):
    """A running pipeline, compiled, that makes the steps of a long piece in several threads.

    That is done where every input has an event in every step; other pieces run in one thread, as in `Compiled`.

    Parameters
    ----------
    pipeline, capacities, patience, machine: as `Compiled` has them.
    threads: how many blocks run at a time: one in the caller, the others in threads of the manager.
    reassociate: whether sums and products of floats may be computed in another order; results then differ by rounding.
    shortest: the fewest steps of a block.
    manager: whom to ask for threads; None for one of its own. Blocks for which it grants none run in the caller.
    costly: the seconds for a step from which on it is made beside others; 0: all are.

    Raises
    ------
    Refused: the state of the pipeline cannot be known before what comes before has been run; it names the processor.
    """

    def __init__(
        self,
        pipeline: Program,
        capacities: Mapping[str, int] | None = None,
        *,
        threads: int = 2,
        reassociate: bool = False,
        shortest: int = SHORTEST,
        manager: ThreadManager | None = None,
        costly: float = 0.0,
        **options: Any,
    ) -> None:
        if threads < 1:
            raise PipelineError(f"a pipeline cannot run in {threads} threads", hint="1 or more")
        blocks = InBlocks(threads, manager, reassociate=reassociate, shortest=shortest, costly=costly)
        super().__init__(pipeline, capacities, maps=False, schedule=blocks, **options)
        blocks.prepare(self)
        self.threads, self.in_blocks = threads, blocks

    @property
    def blocks(self) -> int:
        """How many blocks have run beside others so far."""
        return self.in_blocks.made
