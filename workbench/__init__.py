"""workbench: formal verification and simulation of event-stream pipelines.

    import workbench as wb

    program = wb.load("models/time2021/sum_of_odds.pipe")
    verdict = wb.check(program, "liveness")
    print(verdict.outcome, verdict.rests_on)
    print(wb.run(program, {"x": [1, 2, 3, 4, 5, 6]}))

Functions of streams are in `wb.functions`, processors in `wb.processors`, properties in `wb.properties`, rules in
`wb.rules`, faults in `wb.faults`, executors for running step by step in `wb.executors`, and experiments in `wb.lab`.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""The flag of `typing`, whose import takes a while."""
__version__ = "0.1.0"

# fmt: off
# isort: off
if TYPE_CHECKING:
    from workbench import (
        errors as errors, executors as executors, faults as faults, functions as functions, lab as lab,
        processors as processors, properties as properties, rules as rules,
    )
    from workbench.builder import Builder as Builder, BuiltStream as BuiltStream, pipeline as pipeline
    from workbench.conformance.compare.conform import conform as conform, conform_random as conform_random
    from workbench.conformance.written_tests.counterexamples import to_test as to_test
    from workbench.core.domain import (
        ANY as ANY, BOOL as BOOL, FLOAT as FLOAT, INT as INT, STR as STR, Domain as Domain, Enum as Enum,
        Integer as Integer, Overflowing as Overflowing, Range as Range, Value as Value,
    )
    from workbench.core.fields import FrozenMap as FrozenMap, Map as Map, Record as Record, Tuple as Tuple
    from workbench.core.pipeline import Node as Node, Pipeline as Pipeline
    from workbench.core.processor import END as END, Processor as Processor
    from workbench.core.program import Program as Program
    from workbench.errors import WorkbenchError as WorkbenchError
    from workbench.executors.backend import StepRecord as StepRecord
    from workbench.executors.compiled.execute.columns import OutputColumn as OutputColumn
    from workbench.executors.run_options import RunOptions as RunOptions
    from workbench.executors.spark.dataframe import run_keyed as run_keyed
    from workbench.ir.compose import compose as compose
    from workbench.language import (
        Loaded as Loaded, Source as Source, load as load, parse as parse, read_file as read_file,
    )
    from workbench.runner.answers import RunOutputs as RunOutputs
    from workbench.runner.call import run as run
    from workbench.show.explorer import explorer as explorer
    from workbench.show.timeline import render_timeline as render_timeline
    from workbench.verify.analyses import (
        constants as constants, dead_paths as dead_paths, latencies as latencies, latency as latency,
        longest_silence as longest_silence, order as order, states as states,
    )
    from workbench.verify.analyses.certify import certify as certify, certify_nodes as certify_nodes
    from workbench.verify.answer.check_all import check_all as check_all
    from workbench.verify.answer.examine import examine as examine
    from workbench.verify.answer.problem import (
        Problem as Problem, check as check, comparison as comparison, equiv as equiv, problem as problem,
        problems as problems,
    )
    from workbench.verify.answer.settings import Settings as Settings
    from workbench.verify.answer.trace import Trace as Trace
    from workbench.verify.answer.verdict import Outcome as Outcome, Verdict as Verdict
    from workbench.verify.ask.environment import Environment as Environment
    from workbench.verify.ask.equivalence import side_by_side as side_by_side
    from workbench.verify.buffers.buffers import Buffer as Buffer, Buffers as Buffers, buffers as buffers
    from workbench.verify.monitor.monitor import monitor as monitor
    from workbench.verify.proof.certificate import certificate as certificate
    from workbench.verify.proof.check_certificate import check_certificate as check_certificate
# fmt: on
# isort: on

if not TYPE_CHECKING:  # type checkers would take any name for one of ours
    from workbench.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)
