"""The compiled executor that runs one long stream in several threads (docs/reference/parallel.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.program import Program
from workbench.errors import PipelineError
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.parallel.block_threads import SHORTEST, InBlocks
from workbench.executors.threaded.manager import ThreadManager

COSTLY = 25e-9
"""Seconds per step above which blocks pay off: more than half the time to read and write a row of a log."""


class Parallel(Compiled):
    """A compiled pipeline that runs the steps of a long piece in several threads.

    It does so where every input has an event in every step; other pieces run in one thread, as in `Compiled`.

    Parameters
    ----------
    pipeline, capacities, warm_up_steps, machine: as for `Compiled`.
    threads: number of blocks that run at a time: one in the caller, the others in threads of the manager.
    reassociate: whether sums and products of floats may be computed in another order; results then differ by rounding.
    shortest: minimum number of steps of a block.
    manager: provides threads; None for one of its own. Blocks for which it grants no thread run in the caller.
    costly: minimum cost of a step in seconds for which blocks are used; 0: always.

    Raises
    ------
    Refused: the state of the pipeline at the start of a block cannot be precomputed; names the processor.
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
        """Number of blocks that have run concurrently so far."""
        return self.in_blocks.made
