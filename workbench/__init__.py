"""workbench: formal verification and simulation of event-stream pipelines.

    import workbench as wb

    program = wb.load("models/time2021/sum_of_odds.pipe")
    verdict = wb.check(program, "liveness")
    print(verdict.outcome, verdict.rests_on)
    print(wb.run(program, {"x": [1, 2, 3, 4, 5, 6]}))

What users import stands below, once: type checkers read it as it is, and at run time each name is imported when it is
first used, so that `import workbench` is cheap.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""As `typing` has it, which takes a while to import."""
__version__ = "0.1.0"

# fmt: off
# isort: off
if TYPE_CHECKING:
    from workbench.builder import Builder as Builder, BuiltStream as BuiltStream, pipeline as pipeline
    from workbench.conformance.compare.conform import conform as conform, conform_random as conform_random
    from workbench.conformance.written_tests.counterexamples import to_test as to_test
    from workbench.core.domain import (
        ANY as ANY, BOOL as BOOL, FLOAT as FLOAT, INT as INT, STR as STR, Domain as Domain, Enum as Enum,
        Integer as Integer, Overflowing as Overflowing, Range as Range, Value as Value,
    )
    from workbench.core.fault import Fault as Fault, delay as delay, duplicate as duplicate, lose as lose
    from workbench.core.fields import FrozenMap as FrozenMap, Map as Map, Record as Record, Tuple as Tuple
    from workbench.core.function import (
        ABS as ABS, ADD as ADD, ALL_VALUES as ALL_VALUES, AND as AND, ANY_VALUE as ANY_VALUE, DIV as DIV,
        EQ as EQ, EVEN as EVEN, GE as GE, GET as GET, GT as GT, HAS as HAS, IF as IF, IMPLIES as IMPLIES,
        LE as LE, LT as LT, MAX as MAX, MIN as MIN, MOD as MOD, MUL as MUL, NE as NE, NEG as NEG, NOT as NOT,
        ODD as ODD, OR as OR, SIZE as SIZE, SUB as SUB, SUM_VALUES as SUM_VALUES, Function as Function,
        ite as ite, user_function as user_function,
    )
    from workbench.core.named_functions import (
        ceil as ceil, contains as contains, divide as divide, ends_with as ends_with, exp as exp, floor as floor,
        is_null as is_null, length as length, log as log, lower as lower, matches as matches, pow as pow,
        replace as replace, round as round, sqrt as sqrt, starts_with as starts_with, substring as substring,
        to_float as to_float, to_int as to_int, to_text as to_text, upper as upper, value_or as value_or,
    )
    from workbench.core.pipeline import Node as Node, Pipeline as Pipeline
    from workbench.core.processor import END as END, Processor as Processor
    from workbench.core.program import Program as Program
    from workbench.errors import WorkbenchError as WorkbenchError
    from workbench.executors.backend import StepRecord as StepRecord
    from workbench.executors.compiled.execute.columns import OutputColumn as OutputColumn
    from workbench.executors.compiled.execute.executor import Compiled as Compiled
    from workbench.executors.compiled.gpu.batch import Batch as Batch
    from workbench.executors.compiled.gpu.parallel import ParallelGpu as ParallelGpu
    from workbench.executors.compiled.parallel.executor import Parallel as Parallel
    from workbench.executors.reference.executor import Reference as Reference
    from workbench.executors.reference.random_faults import RandomFaults as RandomFaults
    from workbench.executors.spark.dataframe import run_keyed as run_keyed
    from workbench.executors.threaded.certificate import Certificate as Certificate
    from workbench.executors.dataflow.executor import Dataflow as Dataflow
    from workbench.executors.processes.executor import Processes as Processes
    from workbench.executors.reference.refutation import Refutations as Refutations
    from workbench.executors.threaded.executor import Threaded as Threaded
    from workbench.executors.threaded.manager import ThreadManager as ThreadManager
    from workbench.executors.threaded.pipelined import Pipelined as Pipelined, vouch as vouch
    from workbench.executors.threaded.placement import Placement as Placement
    from workbench.executors.threaded.pulled import PullGroup as PullGroup
    from workbench.ir.compose import compose as compose
    from workbench.language import (
        Loaded as Loaded, Source as Source, load as load, parse as parse, parse_property as parse_property,
        read_file as read_file,
    )
    from workbench.language.faults import faultless as faultless, faulty as faulty
    from workbench.runner.call import run as run
    from workbench.executors.run_options import RunOptions as RunOptions
    from workbench.runner.answers import RunOutputs as RunOutputs
    from workbench.processors.apply import ApplyFunction as ApplyFunction
    from workbench.processors.cast import Cast as Cast
    from workbench.processors.changes import Changes as Changes
    from workbench.processors.combine_latest import CombineLatest as CombineLatest
    from workbench.processors.count_decimate import CountDecimate as CountDecimate
    from workbench.processors.cumulate import Cumulate as Cumulate
    from workbench.processors.filter import Filter as Filter
    from workbench.processors.fork import Fork as Fork
    from workbench.processors.freeze import Freeze as Freeze
    from workbench.processors.held.group import Group as Group
    from workbench.processors.held.history import History as History
    from workbench.processors.held.quantifiers import Exists as Exists, ForAll as ForAll
    from workbench.processors.held.reset_last import ResetLast as ResetLast
    from workbench.processors.held.spawn import EventuallyOf as EventuallyOf, GloballyOf as GloballyOf
    from workbench.processors.held.window import Window as Window
    from workbench.processors.insert import Insert as Insert
    from workbench.processors.keep_last import KeepLast as KeepLast
    from workbench.processors.lagging import Lagging as Lagging
    from workbench.processors.moore import Moore as Moore, Transition as Transition, Variable as Variable
    from workbench.processors.multiplex import Multiplex as Multiplex
    from workbench.processors.pack import Pack as Pack
    from workbench.processors.passthrough import Passthrough as Passthrough
    from workbench.processors.past import (
        Historically as Historically, Once as Once, Since as Since, Yesterday as Yesterday,
    )
    from workbench.processors.prefix import Prefix as Prefix
    from workbench.processors.sample import Sample as Sample
    from workbench.processors.slices.slice import Slice as Slice
    from workbench.processors.slices.slice_last import SliceLast as SliceLast
    from workbench.processors.stutter import Stutter as Stutter
    from workbench.processors.stutter_by import StutterBy as StutterBy
    from workbench.processors.temporal import (
        Eventually as Eventually, Eventually3 as Eventually3, Globally as Globally, Globally3 as Globally3,
        Next as Next, Next3 as Next3, Release as Release, Release3 as Release3, Until as Until,
        Until3 as Until3,
    )
    from workbench.processors.trim import Trim as Trim
    from workbench.processors.turn_into import TurnInto as TurnInto
    from workbench.processors.unpack import Unpack as Unpack
    from workbench.show.explorer import explorer as explorer
    from workbench.show.timeline import render_timeline as render_timeline
    from workbench.tesla.check import load_rules as load_rules, rules as rules
    from workbench.tesla.rule_explanation import RuleExplanation as RuleExplanation
    from workbench.tesla.live import RunningRules as RunningRules
    from workbench.tesla.rule_set import RuleSet as RuleSet
    from workbench.verify.analyses import (
        constants as constants, dead_paths as dead_paths, latencies as latencies, latency as latency,
        longest_silence as longest_silence, order as order, states as states,
    )
    from workbench.verify.analyses.certify import certify as certify, certify_nodes as certify_nodes
    from workbench.verify.answer.settings import Settings as Settings
    from workbench.verify.answer.check_all import check_all as check_all
    from workbench.verify.answer.examine import examine as examine
    from workbench.verify.answer.problem import (
        Problem as Problem, check as check, comparison as comparison, equivalent as equivalent,
        problem as problem, problems as problems, tolerates as tolerates,
    )
    from workbench.verify.answer.trace import Trace as Trace
    from workbench.verify.answer.verdict import Outcome as Outcome, Verdict as Verdict
    from workbench.verify.ask.environment import Environment as Environment
    from workbench.verify.ask.equivalence import (
        equivalent_to as equivalent_to, side_by_side as side_by_side, tolerating as tolerating,
    )
    from workbench.verify.ask.labels import property_from as property_from
    from workbench.verify.ask.properties import (
        Property as Property, always as always, bounded_liveness as bounded_liveness, liveness as liveness,
        never_false as never_false, no_full_queues as no_full_queues, no_overflow as no_overflow,
        often_true as often_true, response as response, stays_in_range as stays_in_range, temporal as temporal,
    )
    from workbench.verify.buffers.buffers import Buffer as Buffer, Buffers as Buffers, buffers as buffers
    from workbench.verify.monitor.monitor import monitor as monitor
# fmt: on
# isort: on

if not TYPE_CHECKING:  # who sees this takes any name for one of ours
    import functools
    import importlib

    @functools.cache
    def _homes() -> dict[str, str]:
        """The module that each name is imported from, above."""
        import ast

        body = ast.parse(__spec__.loader.get_source(__name__)).body
        listed = next(node.body for node in body if isinstance(node, ast.If))
        return {alias.name: each.module for each in listed for alias in each.names}

    def __getattr__(name: str) -> object:
        if name != "__all__" and (name.startswith("__") or name not in _homes()):
            import sys

            raise AttributeError(f"workbench has no '{name}'", name=name, obj=sys.modules[__name__])
        found = sorted(_homes()) if name == "__all__" else getattr(importlib.import_module(_homes()[name]), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*_homes(), *(name for name in globals() if name.startswith("__"))})
