"""The contents of a `.pipe` file: its pipelines, with their properties and the systems that they monitor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from workbench.budget import phase
from workbench.core.domain import Range, Value
from workbench.core.function import LIBRARY, Function
from workbench.core.mistakes import FollowUp, Mistakes
from workbench.core.pipeline import Pipeline
from workbench.core.program import Ports
from workbench.core.term import var
from workbench.core.units import ELAPSED
from workbench.display import Displayed
from workbench.errors import LanguageError, Location, did_you_mean
from workbench.language import properties
from workbench.language import syntax as s
from workbench.language.elaborate import Elaborator
from workbench.language.evaluate import Evaluator, FunctionBody
from workbench.language.faults import faultless, faulty
from workbench.language.types import labels_within
from workbench.named_files import Folders, allow, find_named, follow_links
from workbench.processors.held.group import flatten
from workbench.processors.moore import Moore, Variable, name_variables


@dataclass(frozen=True)
class Source:
    """A parsed `.pipe` file, whose pipelines `get` returns."""

    file: str
    text: str
    tree: s.FileSyntax = field(repr=False)
    functions: Mapping[str, Function] = field(default_factory=dict, repr=False, hash=False)
    """Python functions that the file may use by name."""
    mistakes: Mistakes = field(default_factory=Mistakes, repr=False, compare=False)
    folders: Folders = field(default=(), repr=False, compare=False)
    """The folders that may contain the files that it names."""

    def __repr__(self) -> str:
        return f"<{self.file}: {', '.join(self.pipelines) or 'no pipeline'}>"

    @property
    def pipelines(self) -> tuple[str, ...]:
        """The names of the pipelines, in the order of the file."""
        return tuple(p.name for p in self.tree.pipelines)

    @property
    def complete(self) -> tuple[str, ...]:
        """The names of the pipelines whose parameters all have defaults, in the order of the file."""
        return tuple(p.name for p in self.tree.pipelines if all(each.default is not None for each in p.parameters))

    @property
    def default(self) -> str:
        """The pipeline for a reference without a name: `main`, else the last."""
        if not self.pipelines:
            raise LanguageError(
                "there is no pipeline in this text",
                where=Location(self.file),
                hint="write pipeline NAME(x: int) -> int { return ... }",
            )
        return "main" if "main" in self.pipelines else self.pipelines[-1]

    @cached_property
    def _elaborator(self) -> Elaborator:
        return Elaborator(self.tree, self.functions, self.mistakes)

    def check_definitions(self) -> None:
        """Raise the mistakes in the function definitions of the file.

        Pipelines are checked by `get`, or here if the file has a mistake already: all are reported at once.
        """
        with self.mistakes.apart():
            _ = self._elaborator
        if self.mistakes.errors:
            self._refuse()

    def _refuse(self) -> NoReturn:
        """Raise the mistakes found so far, together with those in the other pipelines."""
        if "_elaborator" in vars(self):
            for syntax in self.tree.pipelines:
                if all(parameter.default is not None for parameter in syntax.parameters):
                    with self.mistakes.apart():
                        self._load(self._elaborator.pipelines[syntax.name], {})
        raise self.mistakes.together()

    def _syntax(self, name: str | None) -> s.PipelineSyntax:
        name = name or self.default
        if name not in self.pipelines:
            hint = did_you_mean(name, self.pipelines, "its pipelines are: ")
            raise LanguageError(f"there is no pipeline '{name}'", where=Location(self.file), hint=hint)
        return self._elaborator.pipelines[name]

    def parameters(self, name: str | None = None) -> dict[str, Value]:
        """Return the parameters of a pipeline with their defaults, without those that have none."""
        syntax = self._syntax(name)
        without_default = {p.name: None for p in syntax.parameters if p.default is None}
        values = self._elaborator.parameters(syntax, without_default, Location(self.file))
        return {key: value for key, value in values.items() if key not in without_default}

    def get(self, name: str | None = None, /, **params: Value) -> Loaded:
        """Return a pipeline with values for its parameters, and its checks."""
        syntax = self._syntax(name)
        self._elaborator.again()
        try:
            with phase(f"building pipeline '{syntax.name}'"):
                return self._load(syntax, params)
        except FollowUp:
            self._refuse()

    def _load(self, syntax: s.PipelineSyntax, params: Mapping[str, Value]) -> Loaded:
        """Return a pipeline with its checks; raise FollowUp where it has a mistake, which is stored."""
        location, mistakes = Location(self.file), self.mistakes
        constants = self._elaborator.parameters(syntax, params, location)
        known = len(mistakes.errors)
        with allow(self.folders):
            pipelines = mistakes.each(
                [params], lambda own_params: self._elaborator.pipeline(syntax.name, own_params, location)
            )
        checks = mistakes.each(syntax.checks, lambda check: properties.elaborate(check, constants))
        if not pipelines:
            raise FollowUp
        (pipeline,) = pipelines
        monitors = mistakes.each(syntax.monitors, lambda item: _monitor(item, pipeline, self, constants))
        all_checks = (*checks, *(check for item in monitors for check in item.checks))
        mistakes.each(all_checks, lambda check: self._check(pipeline, check))
        if len(mistakes.errors) > known:
            raise FollowUp
        return Loaded(pipeline, checks, self, monitors, params=dict(params), name=syntax.name)

    def _check(self, pipeline: Pipeline, check: s.PropertySyntax) -> None:
        """Raise LanguageError for an unknown name in a property."""
        if isinstance(check.argument, s.PipelineReference):
            syntax = self._reference(check.argument)
            self._elaborator.parameters(syntax, self._parameters_of(check.argument), check.argument.where)
        elif isinstance(check.argument, s.Expression):
            check_names(check.argument, pipeline, self._elaborator.labels)

    def _reference(self, reference: s.PipelineReference) -> s.PipelineSyntax:
        if reference.name not in self.pipelines:
            hint = did_you_mean(reference.name, self.pipelines, "its pipelines are: ")
            raise reference.error(f"there is no pipeline '{reference.name}' in this file", hint)
        return self._syntax(reference.name)

    def _parameters_of(self, reference: s.PipelineReference) -> dict[str, Value]:
        """Return the parameters that a property gives to the pipeline that it names."""
        items = (
            s.ParameterArgument(name or None, s.Literal(value), where=reference.where)
            for name, value in reference.params
        )
        return self._elaborator.read_parameters(self._reference(reference), tuple(items), Evaluator({}, {}, {}))


@dataclass(frozen=True)
class WatchedPipeline:
    """The SMV systems that a pipeline watches, with the SMV expressions that drive its inputs.

    Attributes
    ----------
    names: the SMV files, as written.
    bind, when: input to the expression it carries, and to the condition under which it carries an event.
    checks: the properties to check; empty for the default ones.
    file, where: the file of the monitor statement, and its location.
    folders: the folders that may contain the systems.
    """

    names: tuple[str, ...] = ()
    bind: Mapping[str, str] = field(default_factory=dict)
    when: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[s.PropertySyntax, ...] = ()
    file: str = ""
    where: Location = field(default_factory=Location, compare=False)
    folders: Folders = field(default=(), compare=False)

    @property
    def systems(self) -> tuple[str, ...]:
        """The paths of the SMV files.

        Raises
        ------
        LanguageError: a file does not exist in any of the folders.
        """
        with allow(self.folders):
            paths = [find_named(name, Path(self.file).absolute().parent, self.where) for name in self.names]
        for name, path in zip(self.names, paths, strict=True):
            if not path.is_file():
                hint = "name it relative to the folder of this file, or to one of --include"
                raise LanguageError(f"there is no file '{name}'", where=self.where, hint=hint)
        return tuple(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path) for path in paths)

    def watches(self, system: str | Path) -> bool:
        """Whether a file is one of the systems, named relative to one of the folders around it."""
        path = follow_links(Path(system))
        return any(path == folder / name for folder in path.parents for name in self.names)


def _monitor(
    item: s.MonitorSyntax, pipeline: Pipeline, source: Source, constants: Mapping[str, Value]
) -> WatchedPipeline:
    """Build a monitor: elaborate its properties and check that its inputs exist."""
    inputs = [ELAPSED if name in pipeline.clocks else name for name, _ in pipeline.inputs]
    for wire in item.wires:
        if wire.input.partition(".")[0] not in inputs:
            what = f"pipeline {pipeline.name} has no input '{wire.input}'"
            raise wire.error(what, did_you_mean(wire.input, inputs, "its inputs are: "))
    bind = {wire.input: wire.expression for wire in item.wires if wire.expression is not None}
    when = {wire.input.partition(".")[0]: wire.condition for wire in item.wires if wire.condition is not None}
    checks = tuple(properties.elaborate(check, constants) for check in item.checks)
    return WatchedPipeline(item.systems, bind, when, checks, source.file, item.where, source.folders)


@dataclass(frozen=True)
class Loaded(Displayed):
    """A pipeline of a file, the properties to check on it, and the systems that it monitors."""

    pipeline: Pipeline
    checks: tuple[s.PropertySyntax, ...]
    source: Source = field(repr=False, compare=False)
    monitors: tuple[WatchedPipeline, ...] = ()
    added: tuple[str, ...] = ()
    """Faults besides those of the file."""
    params: Mapping[str, Value] = field(default_factory=dict)
    """The given values of its parameters."""
    name: str = ""
    """The name of the pipeline in the file."""
    sound: bool = False
    """Whether its faults never strike."""

    @property
    def kind(self) -> str:
        """The kind of program, as messages name it."""
        return self.pipeline.kind

    @property
    def ports(self) -> Ports:
        """The inputs and outputs of the pipeline."""
        return self.pipeline.ports

    def get(self, name: str | None = None, /, **params: Value) -> Loaded:
        """Return another pipeline of the same file; see `Source.get`."""
        return self.source.get(name, **params)

    def __repr__(self) -> str:
        return repr(self.pipeline)

    @property
    def obligations(self) -> tuple[s.PropertySyntax, ...]:
        """The properties that are checked without a `check`.

        They are its guarantees, the assumptions of the pipelines that it uses, and `stays-in-range` where types do not
        guarantee it.
        """
        obligations: list[s.PropertySyntax] = []
        for name, select in properties.CONTRACTS.items():
            for number, each in enumerate(filter(select, flatten(self.pipeline).contracts), 1):
                text = str(each) if name == each.kind else f"{name} {each}"
                where = each.where if isinstance(each.where, Location) else Location()
                obligations.append(s.PropertySyntax(name, number, text, where=where))
        if any(processor.has_obligations for processor in self.pipeline.typed.values()):
            obligations.append(properties.parse_property(properties.OBLIGATION))
        known = {(check.name, check.argument) for check in self.checks}
        return tuple(each for each in obligations if (each.name, each.argument) not in known)

    def faulty(self, *faults: str) -> Loaded:
        """Return the pipeline with more faults: `lose y at most 2`."""
        return replace(self, pipeline=faulty(self.pipeline, *faults), added=(*self.added, *faults))

    def faultless(self) -> Loaded:
        """Return the pipeline without its faults."""
        return replace(self, pipeline=faultless(self.pipeline), sound=True)

    def other(self, reference: s.PipelineReference) -> Loaded:
        """Return the pipeline that a property of this one names."""
        return self.source.get(reference.name, **self.source._parameters_of(reference))


def check_names(e: s.Expression, pipeline: Pipeline, labels: Mapping[str, str]) -> None:
    """Raise LanguageError unless every name in a property starts with a pipe, output, processor or constant."""
    refuse_variables(e, pipeline)
    flat = flatten(pipeline)
    pipes, processors = [*pipeline.domains, *dict(pipeline.outputs)], [node.name for node in pipeline.nodes]
    inside = {word.partition(".")[0] for word in (*flat.domains, *(n.name for n in flat.nodes))}
    domains = {**flat.domains, **{name: flat.domains[pipe] for name, pipe in flat.outputs}}
    scope = _Pipes({name: var(name, domain) for name, domain in domains.items()}, LIBRARY, labels)
    scope.whole = (e,)
    for part in s.walk(e):
        if isinstance(part, s.Identifier) and part.name not in {*pipes, *processors, *inside, *labels, "overflow"}:
            what = f"pipeline {pipeline.name} has no pipe '{part.name}'"
            raise part.error(what, properties.suggest_pipe(part, part.name, scope, pipes, processors))


class _Pipes(FunctionBody):
    """An evaluator of the expressions in a property, in which pipes stand for any event that they may carry."""

    def value(self, e: s.Expression) -> Any:
        path = properties.join_dotted(e)
        return self.scope[path] if path in self.scope else super().value(e)


def refuse_variables(e: s.Expression, pipeline: Pipeline) -> None:
    """Raise LanguageError if a property reads a variable of a machine."""
    flat = flatten(pipeline)
    variables, labels = name_variables(flat.nodes), labels_within(flat.domains.values())
    known = {*pipeline.domains, *dict(pipeline.outputs), *(n.name for n in pipeline.nodes), *labels}
    for part in s.walk(e):
        path = properties.join_dotted(part)
        if path in variables and path not in known:
            _, machine, position = variables[path]
            hint = _advise_variable(machine, machine.variables[position])
            raise part.error(f"'{path}' is a variable of the machine, but properties read pipes", hint)


def _advise_variable(machine: Moore, variable: Variable) -> str:
    """Return the advice about a variable of a machine in a property."""
    ranged = f"types or stays-in-range show that it stays in {variable.domain}; to state more, "
    hint = f"emit it, e.g. state {machine.names[0]}: {variable.name}, and read the output"
    return ranged * isinstance(variable.domain, Range) + hint
