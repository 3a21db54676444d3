"""Problems: a property of a pipeline, and the settings to decide it with. All questions about pipelines start here."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from workbench.budget import Budget, remaining
from workbench.core.domain import Texts
from workbench.core.fault import Fault
from workbench.core.fields import within
from workbench.core.kinds import Deferring, Keeping
from workbench.core.pipeline import Node, Pipeline
from workbench.core.program import Program
from workbench.errors import DomainError, InputError, LimitMet, Refused
from workbench.extensions import later
from workbench.ir.compose import outline
from workbench.language import AnyProgram, Loaded, PropertySyntax, Source, parse_property, read_file
from workbench.language.faults import faulty
from workbench.language.properties import PROPERTIES
from workbench.language.source import check_names, refuse_variables
from workbench.language.syntax import Expression
from workbench.language.types import labels_within
from workbench.processors.held.group import flatten
from workbench.processors.held.warnings import report_warnings
from workbench.tesla.rule_set import RuleSet, rules_or_program
from workbench.verify.answer.check import NO_RUN, decide, make_undecided
from workbench.verify.answer.prepare import prepare
from workbench.verify.answer.settings import Settings, refuse_loose_settings, require_settings
from workbench.verify.answer.verdict import Outcome, Verdict, grow
from workbench.verify.ask.abstraction import find_calls
from workbench.verify.ask.contracts import ContractHolds
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.equivalence import COMPARISONS, Equivalence, EquivalenceMode, equivalent_to, tolerating
from workbench.verify.ask.labels import make_question
from workbench.verify.ask.properties import Property, no_overflow
from workbench.verify.decide.part import remaining_limits


@dataclass(frozen=True, eq=False)
class Problem:
    """A property of a pipeline, to be decided; `problem` and `problems` make it.

    Attributes
    ----------
    subject: the pipeline; a pipeline of a file has its text, from which tests are written.
    prop: the property.
    settings: how to decide it.
    syntax: the parsed property, if it was written as text.
    title: the name of the pipeline in verdicts, if not its own.
    system: the SMV system that drives the inputs, if any.
    has_models: whether it was decided in several models.
    """

    subject: Program
    prop: Property | Equivalence
    settings: Settings = field(default_factory=Settings)
    syntax: PropertySyntax | None = None
    title: str = ""
    system: str = ""
    has_models: bool = False

    def __repr__(self) -> str:
        return f"<{self.text} of {self.name}, not decided>"

    @property
    def text(self) -> str:
        """The question, as the user wrote it."""
        return str(self.syntax or self.prop)

    @property
    def program(self) -> object:
        """The program that the question is about, as it was given."""
        return self.subject

    def is_opposite_of(self, other: Problem) -> bool:
        """Whether this is `never(P)`, and the other one is `can(P)` of the same program and settings: one question."""
        if self.syntax is None or other.syntax is None or PROPERTIES[self.syntax.name].opposite != other.syntax.name:
            return False
        same = self.program is other.program and self.settings == other.settings
        return same and str(self.syntax.argument) == str(other.syntax.argument)

    def turn_verdict(self, verdict: Verdict) -> Verdict:
        """Turn the verdict whether something can happen into the verdict that it never happens."""
        outcome = Outcome.WITHIN_BOUNDS if verdict.within_bounds else verdict.outcome.opposite
        question = verdict.problem and replace(verdict.problem, prop=self.prop, syntax=self.syntax)
        opposite = replace(verdict, property=self.text, outcome=outcome, problem=question, examined=())
        if outcome is Outcome.UNKNOWN and verdict.vacuity is None:  # a limit was met
            return replace(opposite, depth=verdict.depth and replace(verdict.depth, wanted=False))
        reason = "; ".join(each for each in verdict.reason.split("; ") if not each.startswith(NO_RUN))
        grounds = tuple(each for each in verdict.grounds if each.kind != "undecided")
        return replace(opposite, reason=reason, grounds=grounds, phase="", depth=None, reached=())

    @property
    def name(self) -> str:
        """The name of the pipeline in verdicts."""
        return self.title or self.subject.pipeline.name

    @property
    def sides(self) -> tuple[Program, ...]:
        """The pipelines that the question is about: two for a comparison."""
        return self.prop.sides(self.subject)

    def pose(self, settings: Settings) -> tuple[Pipeline, Property]:
        """Return the pipeline over finite domains, and the property to ask of it; both are made anew for every N."""
        return self.prop.pose(self.subject, settings.over)

    @property
    def environment(self) -> Environment:
        """The assumptions about the inputs."""
        return self.settings.environment

    @cached_property
    def fitting(self) -> Settings:
        """The settings adjusted to the question: with enough integers, and capacities for queues side by side."""
        self._check_names()
        settings = replace(self.settings, abstract=()).fit(*self.sides, properties=[self.syntax])
        try:
            settings = replace(settings, abstract=self._choose_calls(settings))
            pipeline, _ = self.pose(settings)
        except DomainError as error:
            settings, pipeline = self._with_enough_values(settings, error)
        return settings if len(self.sides) == 1 else _with_spread_capacities(settings, pipeline)

    def _check_names(self) -> None:
        """Raise LanguageError for an unknown name in the property, which a model that is refused would hide."""
        e = self.syntax and self.syntax.argument
        domains = [part for domain in flatten(self.subject).domains.values() for part in within(domain)]
        if isinstance(e, Expression) and not any(isinstance(part, Texts) for part in domains):  # else texts are labels
            check_names(e, self.subject.pipeline, labels_within(domains))

    def _with_enough_values(self, settings: Settings, error: DomainError) -> tuple[Settings, Pipeline]:
        """Return the pipeline, and settings with the N that a constant needs, if the verdict is the same for every N.

        Raises
        ------
        DomainError: the property reads data.
        """
        needs = error.needs
        while needs is not None and needs > settings.n:
            settings = replace(settings, n=needs)
            try:
                pipeline, prop = self.pose(settings)
                if settings.domain not in prepare(pipeline, prop, settings).model.integers:
                    return settings, pipeline
                break
            except DomainError as other:
                needs = other.needs
        raise error

    @cached_property
    def pipeline(self) -> Pipeline:
        """The flat pipeline over finite domains whose runs are the counterexamples."""
        return flatten(self.pose(self.fitting)[0])

    def validate(self) -> None:
        """Raise an error if the question is invalid, before any engine is queried."""
        prop = self.pose(self.fitting)[1]
        prop.question(outline(self.pipeline, self.fitting.q))

    def suggest_capacity(self, queues: Mapping[str, int]) -> str:
        """Return the option for the capacity that these queues need, by the text of rules, if it is larger; else ""."""
        del queues
        return ""

    def make_undecided(self, reason: str = "") -> Verdict:
        """Return the verdict of a problem that has not been decided."""
        verdict = make_undecided(self.name, self.text, self.settings, reason, system=self.system)
        return replace(verdict, problem=self)

    def decide(self) -> Verdict:
        """Return the verdict, under the names the user wrote; it raises the errors of `check`."""
        start = time.monotonic()
        try:
            with Budget(self.settings.seconds, self.settings.memory_mb):
                if remaining().seconds == 0.0:  # many questions, and no time is left for this one
                    raise LimitMet(remaining_limits().time, "the time went to other properties")
                settings = replace(self.fitting, environment=self.environment)
                verdict = self._decide(settings)
                larger = (partial(self._decide, each) for each in settings.larger())
                verdict = grow(verdict, larger, settings.grow)
        except LimitMet as met:
            verdict = self.make_undecided().give_up(met)
        return replace(verdict, seconds=time.monotonic() - start)

    def _choose_calls(self, whole: Settings) -> Sequence[str]:
        """Return the calls to replace: none unless a step of a run breaks the property, without regard to bounds."""
        if not self.settings.abstract or len(self.sides) > 1:
            return ()
        find_calls(self.subject, self.settings.abstract)
        row = PROPERTIES.get(str(self.prop))
        if (row and row.of_queues) or (isinstance(self.prop, ContractHolds) and self.prop.of == "meets"):
            return ()
        pipeline, prop = self.pose(whole)
        question = prop.question(outline(pipeline, whole.q))
        others = question.about_overflow or question.about_ranges or question.compares
        return self.settings.abstract if question.kind == "invar" and not others else ()

    def _decide(self, settings: Settings) -> Verdict:
        verdict = decide(*self.pose(settings), settings)
        same = (settings.q, settings.abstract) == (self.settings.q, self.settings.abstract)
        question = self if same else replace(self, settings=settings)
        return replace(verdict, pipeline=self.name, property=self.text, system=self.system, problem=question)


def _with_spread_capacities(settings: Settings, pipeline: Pipeline) -> Settings:
    """Return settings in which the capacity of one pipeline's queue applies to it in the model of both."""
    if not isinstance(settings.q, Mapping):
        return settings
    queues, spread = flatten(pipeline).every_queue, dict[str, int]()
    for name, size in settings.q.items():
        inside = [queue for queue in queues if queue.endswith(f".{name}")]
        spread |= dict.fromkeys([name] if name in queues else inside or [name], size)
    return replace(settings, q=spread)


@refuse_loose_settings
def problem(
    subject: AnyProgram | RuleSet,
    prop: Property | Equivalence | PropertySyntax | str,
    settings: Settings | None = None,
    faults: Sequence[str | Fault] = (),
) -> Problem:
    """Make a problem of a property of a pipeline or of rules, for `check_all`. It takes the arguments of `check`."""
    subject = rules_or_program(subject)
    if isinstance(subject, RuleSet):
        if faults:
            raise InputError("rules have no faults", where=subject.name, hint="leave them out")
        rule_problem: Problem = later("workbench.verify.rules.problems", "problem_of_rules")(subject, prop, settings)
        return rule_problem
    if faults:
        faults = (faults,) if isinstance(faults, str | Fault) else faults
        subject = subject.faulty(*map(str, faults)) if isinstance(subject, Loaded) else faulty(subject, *faults)
    syntax = parse_property(prop) if isinstance(prop, str) else prop if isinstance(prop, PropertySyntax) else None
    if syntax is not None and isinstance(syntax.argument, Expression):
        refuse_variables(syntax.argument, subject.pipeline)
    if syntax is not None:
        prop = make_question(syntax, subject if isinstance(subject, Loaded) else None)
    if not isinstance(prop, Property | Equivalence):
        raise InputError(f"{prop!r} is not a property", hint='write it: "no-overflow", "always (y >= 0)", ...')
    return Problem(subject, prop, require_settings(settings), syntax)


@refuse_loose_settings
def problems(
    source: AnyProgram | RuleSet, settings: Settings | None = None, more: Sequence[str] = ()
) -> tuple[Problem, ...]:
    """List the problems of a program: of a `.pipe` file its `check` lines, and `stays-in-range` where types need it.

    Parameters
    ----------
    source: a pipeline of a file, or the file, read or by its path: then all its pipelines, except those with
        parameters that have no default. Rules, and pipelines that were built in Python, have no `check` lines.
    more: properties to check for every program, before those in the file, in the same syntax.

    Raises
    ------
    InputError, LanguageError: the file cannot be read, or a property is invalid.
    """
    if isinstance(source, str | Path) and not str(source).endswith(".tesla"):
        source = read_file(source)
    if isinstance(source, Source):
        return tuple(each for name in source.complete for each in problems(source.get(name), settings, more))
    source, properties = rules_or_program(source), [parse_property(text) for text in more]
    if isinstance(source, Loaded):
        properties += [syntax for syntax in (*source.checks, *source.obligations) if str(syntax) not in more]
    return tuple(problem(source, syntax, settings) for syntax in properties)


@refuse_loose_settings
def check(
    program: AnyProgram | RuleSet,
    prop: Property | Equivalence | PropertySyntax | str,
    settings: Settings | None = None,
    faults: Sequence[str | Fault] = (),
) -> Verdict:
    """Decide a property of a pipeline, whatever its faults (and the additional `faults`) do, or of rules.

        wb.check("p.pipe:name", "always (y >= 0)")
        wb.check("kitchen.tesla", "never(Fire)", wb.Settings(rules=wb.rules.RuleBounds(tick=60 * 10**6)))

    Parameters
    ----------
    program: a pipeline or rules; the property of a pipeline from a file (`load("p.pipe:name")` or `"p.pipe:name"`) may
        name other pipelines in the file.
    prop: `liveness()`, `equivalent_to(other)`, `tolerating()` and so on, or the text of one: `"always (y >= 0)"`.

    Raises
    ------
    LanguageError: the text is not a property. PipelineError, TypingError: two pipelines cannot be compared.
    Refused, DomainError, TypingError: the pipeline has no finite model over these domains.
    EngineError, EngineMissing: the engine cannot be used. Limits and crashes are the outcome `unknown`.
    """
    question = problem(program, prop, settings, faults)
    report_warnings(question.subject.pipeline)
    return question.decide()


@refuse_loose_settings
def comparison(
    left: AnyProgram | RuleSet,
    right: AnyProgram | RuleSet,
    mode: EquivalenceMode | None = None,
    settings: Settings | None = None,
) -> Problem:
    """Make the problem whether two programs compute the same, for `check_all`. It takes the arguments of `equiv`."""
    left, right = rules_or_program(left), rules_or_program(right)
    if isinstance(left, RuleSet) and isinstance(right, RuleSet):
        compare = later("workbench.verify.rules.problems", "comparison_of_rules")
        rule_comparison: Problem = compare(left, right, mode or "stepwise", settings)
        return rule_comparison
    mode = mode or "sequence"
    subject, prop, title = left, equivalent_to(right, mode), f"{left.pipeline.name}, {right.pipeline.name}"
    if COMPARISONS[mode].implies:
        subject, prop = right, equivalent_to(left, mode)
    return Problem(
        subject, replace(prop, name=COMPARISONS[mode].written.compared), require_settings(settings), title=title
    )


@refuse_loose_settings
def equiv(
    left: AnyProgram | RuleSet,
    right: AnyProgram | RuleSet,
    mode: EquivalenceMode | None = None,
    settings: Settings | None = None,
) -> Verdict:
    """Decide whether two pipelines, or two rule sets, compute the same; `equivalent_to` is the property form.

    Parameters
    ----------
    mode: the sense in which; None: `sequence` for pipelines, `stepwise` for rules.

    Raises
    ------
    PipelineError: the numbers of inputs or outputs differ. TypingError: the domains differ.
    """
    return comparison(left, right, mode, settings).decide()


@refuse_loose_settings
def tolerates(
    pipeline: AnyProgram,
    settings: Settings | None = None,
    mode: EquivalenceMode = "sequence",
    faults: Sequence[str | Fault] = (),
) -> Verdict:
    """Decide whether a pipeline with its faults, and `faults`, is equivalent to itself without them (`tolerating`)."""
    return check(pipeline, tolerating(mode), settings, faults)


def refuse_full_columns(flat: Pipeline, settings: Settings) -> None:
    """Refuse a model in which rules may retain more events than fit, since queues then hold other events.

    Rules are checked by themselves, on any streams: the result then applies wherever they are used.
    """
    free = replace(settings, q=settings.q if isinstance(settings.q, int) else {}, environment=Environment())
    for node in flat.nodes:
        is_retaining = isinstance(node.processor, Keeping) and not isinstance(node.processor, Deferring)
        if is_retaining and check(_alone(flat, node), no_overflow(), free).outcome is not Outcome.HOLDS:
            raise Refused(
                f"{node.processor} may retain more events than fit, and the next ones are not known",
                where=node.where,
                hint="`check -p no-overflow` answers within bounds; proofs need rules that select the newest events",
            )


def _alone(flat: Pipeline, node: Node) -> Pipeline:
    inputs = tuple((f"in{i}", flat.domains[pipe]) for i, pipe in enumerate(node.inputs))
    alone = replace(node, inputs=tuple(name for name, _ in inputs))
    return Pipeline(node.name, inputs, (alone,), tuple((pipe, pipe) for pipe in node.outputs))
