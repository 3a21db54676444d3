"""The kernel of rules on an NVIDIA GPU: one thread per trigger in a batch of events. Imports numba's CUDA target.

The rule of this module: functions of the kernel become functions of the device unchanged. The history is copied to the
device for each batch; triggers, the states of threads and composites are copied back.

Source: Cugola and Margara, 5.3.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from workbench.errors import EngineMissing
from workbench.executors.compiled.code.linking import link_functions
from workbench.executors.compiled.gpu.available import missing_device
from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.kernel.memory_prefetch import fetch
from workbench.executors.compiled.rules.kernel.trigger_batch import match_triggers
from workbench.executors.compiled.rules.trigger_batches import BatchedRules
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.occurrence import Facts
from workbench.tesla.rule_set import RuleSet

BLOCKS, THREADS = 128, 64
"""Blocks of a launch, and threads per block."""


def gpu_rules(rules: RuleSet, facts: Facts, settings: EngineSettings) -> BatchedRules:
    """Start an engine that matches triggers on a GPU.

    Raises
    ------
    EngineMissing: there is no GPU.
    Refused: a rule cannot run on it.
    """
    if why := missing_device():
        hint = "`workbench doctor` shows devices and their requirements; --backend compiled needs none"
        raise EngineMissing(f"the engine 'gpu' needs an NVIDIA GPU: {why}", hint=hint)
    return BatchedRules(rules, facts, settings, CudaDevice())


class CudaDevice:
    """A GPU that matches triggers.

    Parameters
    ----------
    blocks, block_threads: blocks of a launch, and threads per block; a thread takes one trigger after another.
    """

    def __init__(self, blocks: int = BLOCKS, block_threads: int = THREADS) -> None:
        self._blocks, self._block_threads = blocks, block_threads
        self.threads = blocks * block_threads

    def match(
        self, plan: Any, history: Any, scratches: Any, states: Any, triggers: Any, output: records.CompositeWords
    ) -> None:
        """Match all triggers; see `TriggerDevice`."""
        sent = [_send(each) for each in (plan, history, scratches, states, triggers, output)]
        sent[2] = sent[2]._replace(reals=sent[2].stack.view(np.float64))  # shares memory with the integers
        _kernel()[self._blocks, self._block_threads](*sent)
        for host_array, there in zip((states, triggers, *output), (sent[3], sent[4], *sent[5]), strict=True):
            host_array[...] = there.copy_to_host()


def _send(arrays: Any) -> Any:
    """Copy an array, or a tuple of arrays, to the device."""
    if isinstance(arrays, tuple):
        return type(arrays)(*map(_send, arrays))
    return cuda.to_device(np.ascontiguousarray(arrays))


@cache
def _kernel() -> Any:
    """Compile the function that every thread runs."""
    known = {fetch: cuda.jit(device=True)(_fetch_nothing)}
    match = link_functions(match_triggers, lambda copied, _: cuda.jit(device=True)(copied), known)

    def kernel(plan: Any, history: Any, scratches: Any, states: Any, triggers: Any, output: Any) -> None:
        match(plan, history, scratches, states, triggers, output, cuda.grid(1), cuda.gridsize(1))

    return cuda.jit(kernel)


def _fetch_nothing(array: Any, index: Any) -> None:
    """Skip a prefetch: while a thread waits for memory, a GPU runs others."""
