"""Executors of pipelines: `wb.run` chooses one of them; here they can be run step by step."""

from __future__ import annotations

TYPE_CHECKING = False
"""The constant of `typing`, whose import takes a while."""

# fmt: off
# isort: off
if TYPE_CHECKING:
    from workbench.executors.compiled.execute.executor import Compiled as Compiled
    from workbench.executors.compiled.gpu.batch import Batch as Batch
    from workbench.executors.compiled.gpu.parallel import ParallelGpu as ParallelGpu
    from workbench.executors.compiled.parallel.executor import Parallel as Parallel
    from workbench.executors.dataflow.executor import Dataflow as Dataflow
    from workbench.executors.processes.executor import Processes as Processes
    from workbench.executors.reference.executor import Reference as Reference
    from workbench.executors.reference.refutation import Refutations as Refutations
    from workbench.executors.threaded.certificate import Certificate as Certificate
    from workbench.executors.threaded.executor import Threaded as Threaded
    from workbench.executors.threaded.manager import ThreadManager as ThreadManager
    from workbench.executors.threaded.pipelined import Pipelined as Pipelined, vouch as vouch
    from workbench.executors.threaded.placement import Placement as Placement
    from workbench.executors.threaded.pulled_pipeline import PullGroup as PullGroup
# fmt: on
# isort: on

if not TYPE_CHECKING:  # a type checker that saw this would accept any name
    from workbench.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)
