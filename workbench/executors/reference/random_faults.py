"""Random faults: a reproducible oracle for the reference executor that makes faults strike at random."""

from __future__ import annotations

import random

from workbench.core.domain import Value
from workbench.core.program import Program
from workbench.errors import InputError
from workbench.processors.held.group import flatten


class RandomFaults:
    """An oracle that makes each fault strike with a probability whenever it can.

    Parameters
    ----------
    seed: the same seed and the same events give the same faults.
    rate: the probability, from 0 to 1.
    """

    def __init__(self, pipeline: Program, seed: int = 0, rate: float = 0.1) -> None:
        if not 0 <= rate <= 1:
            raise InputError(f"the rate of faults is a probability, not {rate}", hint="a number from 0 to 1")
        flat = flatten(pipeline)
        if not flat.oracles:
            pipe = next(iter(pipeline.pipeline.every_pipe))
            raise InputError(f"{pipeline.ports.of} has no faults to inject", hint=f'write --fault "lose {pipe}"')
        self.rate = rate
        self._said = {oracle: tuple(flat.domains[oracle].values()) for oracle in flat.oracles}
        self._random = random.Random(seed)

    def __call__(self, oracle: str) -> Value | None:
        """Return a value of this oracle, or None."""
        if self._random.random() >= self.rate:
            return None
        return self._random.choice(self._said[oracle])
