"""Monitors: a pipeline that watches an SMV system, on all runs of the system (TIME 2021, 4.3).

A monitor usually sees one run and emits false when it goes wrong. Inside a model checker it sees every run: if it
never emits false, no run of the system violates what it watches for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from workbench.budget import Budget, phase
from workbench.core.program import Program
from workbench.core.units import ELAPSED
from workbench.errors import InputError
from workbench.ir.compose import outline
from workbench.language import PROPERTIES, AnyProgram, PropertySyntax, program_of
from workbench.smv.system import SmvSystem, read_system
from workbench.verify.answer.problem import Problem, problem
from workbench.verify.answer.settings import Settings, refuse_loose_settings, require_settings
from workbench.verify.answer.verdict import Ground, Outcome, Verdict
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.equivalence import Equivalence
from workbench.verify.ask.properties import Property, never_false, silent
from workbench.verify.decide.part import remaining_limits
from workbench.verify.monitor.binding import Undecided, drive
from workbench.verify.monitor.driven_inputs import Driven


@refuse_loose_settings
def monitor(
    system: SmvSystem | str,
    pipeline: AnyProgram,
    prop: Property | PropertySyntax | str | None = None,
    *,
    bind: Mapping[str, str] | None = None,
    when: Mapping[str, str] | None = None,
    settings: Settings | None = None,
) -> Verdict:
    """Decide whether a property of a pipeline (by default: it is never false) holds on all runs of a system.

    Parameters
    ----------
    system: an SMV system, or the path of its file.
    bind: input to the SMV expression, over the states of the system, whose value it carries. An input that is not
        named carries the variable or definition of its own name. `input.field` binds a field of a record.
    when: input to the condition under which it carries an event; by default it does at every step.
    settings: as for `check`; the system takes the place of its environment.

    Raises
    ------
    InputError, LanguageError, TypingError, DomainError: the inputs cannot be bound, or a value does not fit.
    EngineError: the system is defective: it has no initial state, deadlocks, or has no fair run.
    WorkbenchError: everything else that `check` raises.
    """
    pipeline = program_of(pipeline)
    watch = Watching(pipeline, system, bind or {}, when or {}, require_settings(settings).fit(pipeline))
    return watch.problem(prop or never_false()).decide()


@dataclass(frozen=True, eq=False)
class Watching:
    """A system with the pipeline that watches it, of which several properties can be checked; see `monitor`."""

    subject: Program
    system: SmvSystem | str
    bind: Mapping[str, str] = field(default_factory=dict)
    when: Mapping[str, str] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        if self.subject.pipeline.clocks:  # the system decides how much time passes, which may be none
            from workbench.tesla.model.build import RuleBounds

            rules = replace(self.settings.rules or RuleBounds(), still=True)
            object.__setattr__(self, "settings", replace(self.settings, rules=rules))

    @cached_property
    def environment(self) -> Driven:
        """The environment in which the system drives the inputs."""
        source = self.system if isinstance(self.system, SmvSystem) else read_system(self.system)
        settings = self.settings
        if settings.environment != Environment():
            raise InputError(
                "the system defines when inputs carry events, so nothing else can be assumed of them",
                hint="define it with when, or leave out --inputs and --fair",
            )
        flat = settings.flat(self.subject)
        self._check_time(source)
        with Budget(settings.seconds, settings.memory_mb), phase("binding the inputs to the system"):
            return drive(source, flat, self.bind, self.when, settings.engine, remaining_limits())

    def _check_time(self, source: SmvSystem) -> None:
        """Refuse a system that does not define how much time its steps take, if there are rules."""
        if self.subject.pipeline.clocks and ELAPSED not in self.bind and ELAPSED not in source.names:
            what = f"rules in {self.subject.pipeline.name} need the time, and {source.path} does not define it"
            hint = f"--bind {ELAPSED}=1: a tick passes in each step; --tick '1 min' sets the length of a tick"
            raise InputError(what, hint=hint)

    def problem(self, prop: Property | Equivalence | PropertySyntax | str) -> MonitorProblem:
        """Make the problem of a property; it takes what `check` takes, except comparisons."""
        row = PROPERTIES.get(str(prop).partition("(")[0])
        if row is not None and row.mode:
            raise InputError(f"'{prop}' compares two pipelines; `workbench equiv` decides it")
        subject_problem = problem(self.subject, prop, self.settings)
        path = self.system.path if isinstance(self.system, SmvSystem) else self.system
        return MonitorProblem(
            self.subject, subject_problem.prop, self.settings, subject_problem.syntax, system=path, watch=self
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class MonitorProblem(Problem):
    """A property of a pipeline that watches a system."""

    watch: Watching

    @property
    def environment(self) -> Driven:
        """The environment in which the system drives the inputs."""
        return self.watch.environment

    @property
    def fitting(self) -> Settings:
        """The settings as they are: the possible bindings depend on N."""
        return self.settings

    def validate(self) -> None:
        """Build the question and bind the inputs, without a query."""
        question = self.pose(self.settings)[1].question(outline(self.pipeline, self.settings.q))
        with contextlib.suppress(Undecided):  # `decide` reports it for this property, and goes on to the next
            self.watch.environment.adapt(question)

    def decide(self) -> Verdict:
        """Return the verdict; for `never-false` also whether the monitor emits anything."""
        try:
            verdict = super().decide()
        except Undecided as error:  # the inputs could not even be bound
            return replace(self.make_undecided(error.what), engine=self.settings.engine)
        if self.prop.name != never_false().name or not verdict.outcome.is_proved:
            return verdict
        heard = Problem(self.subject, silent(), replace(self.settings, environment=self.environment)).decide()
        return replace(
            verdict,
            grounds=(*verdict.grounds, _report_speech(heard)),
            seconds=verdict.seconds + heard.seconds,
            cpu_seconds=verdict.cpu_seconds + heard.cpu_seconds,
        )


def _report_speech(verdict: Verdict) -> Ground:
    """Report whether a monitor emits anything: a silent one never emits false either."""
    trace = verdict.counterexample
    if verdict.outcome is Outcome.FAILS and trace:
        first = "first " if trace.shortest else ""
        return Ground("speech", f"the monitor emits events: {first}in step {len(trace.steps) - 1} of some run", True)
    if verdict.outcome is Outcome.HOLDS:
        return Ground("speech", "VACUOUS: the monitor never emits a verdict, on any run of the system", False)
    return Ground("speech", "it was not decided whether the monitor ever emits a verdict")
