"""Monitors: a pipeline that watches an SMV system, on all runs of the system (design section 7; TIME 2021, 4.3).

A monitor usually sees one run and says false when it goes wrong. Inside a model checker it sees every run: if it never
says false, no run of the system violates what it watches for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.budget import Budget, phase
from workbench.core.pipeline import Pipeline
from workbench.errors import InputError, LimitMet
from workbench.processors.held.group import flatten
from workbench.smv.system import SmvSystem, read_system
from workbench.verify.answer.check import Settings, check, undecided
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.properties import Property, never_false, silent
from workbench.verify.decide.decision import limits_left
from workbench.verify.monitor.binding import Undecided, drive
from workbench.verify.monitor.driven import Driven


def monitor(
    system: SmvSystem | str,
    pipeline: Pipeline,
    prop: Property | None = None,
    *,
    bind: Mapping[str, str] | None = None,
    when: Mapping[str, str] | None = None,
    settings: Settings | None = None,
) -> Verdict:
    """Whether a property of a pipeline (by default: it never says false) holds on all runs of a system.

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
    Everything that `check` raises.
    """
    settings = settings or Settings()
    source = system if isinstance(system, SmvSystem) else read_system(system)
    prop = prop or never_false()
    try:
        with Budget(settings.seconds, settings.memory_mb):
            return monitored(pipeline, driven(source, pipeline, bind, when, settings), prop, settings)
    except (Undecided, LimitMet) as error:
        return unbound(source.path, pipeline, prop, settings, error)


def driven(
    source: SmvSystem,
    pipeline: Pipeline,
    bind: Mapping[str, str] | None,
    when: Mapping[str, str] | None,
    settings: Settings,
) -> Driven:
    """The environment in which the system drives the pipeline's inputs, for several properties."""
    if settings.environment != Environment():
        raise InputError(
            "the system says when inputs carry events, so nothing else can be assumed of them",
            hint="say it with when, or leave --inputs and --fair out",
        )
    flat = flatten(pipeline.resolve(settings.domain))
    with Budget(settings.seconds, settings.memory_mb), phase("binding the inputs to the system"):
        return drive(source, flat, bind, when, settings.engine, limits_left())


def monitored(pipeline: Pipeline, environment: Driven, prop: Property, settings: Settings) -> Verdict:
    """The verdict on a property of a pipeline that a system drives."""
    settings = replace(settings, environment=environment)
    verdict = replace(check(pipeline, prop, settings), system=environment.source.path)
    if prop.name != never_false().name or verdict.outcome not in (Outcome.HOLDS, Outcome.WITHIN_BOUNDS):
        return verdict
    heard = check(pipeline, silent(), settings)
    return replace(
        verdict,
        rests_on=(*verdict.rests_on, *_heard(heard)),
        seconds=verdict.seconds + heard.seconds,
        cpu_seconds=verdict.cpu_seconds + heard.cpu_seconds,
    )


def unbound(path: str, pipeline: Pipeline, prop: Property, settings: Settings, error: Undecided | LimitMet) -> Verdict:
    """The verdict where even the inputs could not be bound."""
    verdict = replace(undecided(pipeline.name, str(prop), settings, error.what, system=path), engine=settings.engine)
    return verdict.given_up(error) if isinstance(error, LimitMet) else verdict


def _heard(verdict: Verdict) -> tuple[str, ...]:
    """Whether there is anything that a monitor says: a silent one never says false either."""
    trace = verdict.counterexample
    if verdict.outcome is Outcome.FAILS and trace:
        first = "first " if trace.shortest else ""
        return (f"the monitor does speak: {first}in step {len(trace.steps) - 1} of some run",)
    if verdict.outcome is Outcome.HOLDS:
        return ("VACUOUS: the monitor never says anything, on any run of the system",)
    return ("it was not decided whether the monitor ever says anything",)
