"""What is in a `.pipe` file: its pipelines, with the properties and the systems that belong to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from workbench.budget import phase
from workbench.core.domain import Value
from workbench.core.findings import Findings, FollowUp
from workbench.core.function import Function
from workbench.core.pipeline import Pipeline
from workbench.core.program import Ports
from workbench.core.units import ELAPSED
from workbench.display import Displayed
from workbench.errors import LanguageError, Location, did_you_mean
from workbench.language import properties
from workbench.language import syntax as s
from workbench.language.elaborate import Elaborator
from workbench.language.faults import faultless, faulty
from workbench.named_files import Folders, allow, find_named, follow_links
from workbench.processors.held.group import flatten


@dataclass(frozen=True)
class Source:
    """A parsed `.pipe` file, from which pipelines are taken with `get`."""

    file: str
    text: str
    tree: s.FileSyntax = field(repr=False)
    functions: Mapping[str, Function] = field(default_factory=dict, repr=False, hash=False)
    """Python functions that the file may use by name."""
    findings: Findings = field(default_factory=Findings, repr=False, compare=False)
    folders: Folders = field(default=(), repr=False, compare=False)
    """Where files may lie that it names."""

    def __repr__(self) -> str:
        return f"<{self.file}: {', '.join(self.pipelines) or 'no pipeline'}>"

    @property
    def pipelines(self) -> tuple[str, ...]:
        """The names of the pipelines, in the order of the file."""
        return tuple(p.name for p in self.tree.pipelines)

    @property
    def default(self) -> str:
        """The pipeline meant when no name is given: `main`, else the last."""
        if not self.pipelines:
            raise LanguageError(
                "there is no pipeline in this text",
                where=Location(self.file),
                hint="write pipeline NAME(x: int) -> int { return ... }",
            )
        return "main" if "main" in self.pipelines else self.pipelines[-1]

    @cached_property
    def _elaborator(self) -> Elaborator:
        return Elaborator(self.tree, self.functions, self.findings)

    def check_definitions(self) -> None:
        """The file could be read, and the names in function definitions mean something.

        Pipelines are looked into when they are taken, or when the file has a mistake already: all are told at once.
        """
        with self.findings.apart():
            _ = self._elaborator
        if self.findings.errors:
            self._refuse()

    def _refuse(self) -> NoReturn:
        """Raise the mistakes that there are, with those in the other pipelines."""
        if "_elaborator" in vars(self):
            for syntax in self.tree.pipelines:
                if all(parameter.default is not None for parameter in syntax.parameters):
                    with self.findings.apart():
                        self._load(self._elaborator.pipelines[syntax.name], {})
        raise self.findings.together()

    def _syntax(self, name: str | None) -> s.PipelineSyntax:
        name = name or self.default
        if name not in self.pipelines:
            hint = did_you_mean(name, self.pipelines, "its pipelines are: ")
            raise LanguageError(f"there is no pipeline '{name}'", where=Location(self.file), hint=hint)
        return self._elaborator.pipelines[name]

    def parameters(self, name: str | None = None) -> dict[str, Value]:
        """The parameters of a pipeline with their defaults; one without a default is left out."""
        syntax = self._syntax(name)
        given = {p.name: None for p in syntax.parameters if p.default is None}
        values = self._elaborator.parameters(syntax, given, Location(self.file))
        return {key: value for key, value in values.items() if key not in given}

    def get(self, name: str | None = None, /, **params: Value) -> Loaded:
        """A pipeline with values for its parameters, and its checks."""
        syntax = self._syntax(name)
        self._elaborator.again()
        try:
            with phase(f"building pipeline '{syntax.name}'"):
                return self._load(syntax, params)
        except FollowUp:
            self._refuse()

    def _load(self, syntax: s.PipelineSyntax, params: Mapping[str, Value]) -> Loaded:
        """A pipeline with its checks; FollowUp where something is wrong, which is among the findings."""
        place, findings = Location(self.file), self.findings
        constants = self._elaborator.parameters(syntax, params, place)
        known = len(findings.errors)
        with allow(self.folders):
            made = findings.each([params], lambda given: self._elaborator.pipeline(syntax.name, given, place))
        checks = findings.each(syntax.checks, lambda check: properties.elaborate(check, constants))
        if not made:
            raise FollowUp
        (pipeline,) = made
        monitors = findings.each(syntax.monitors, lambda item: _monitor(item, pipeline, self, constants))
        asked = (*checks, *(check for item in monitors for check in item.checks))
        findings.each(asked, lambda check: self._check(pipeline, check))
        if len(findings.errors) > known:
            raise FollowUp
        return Loaded(pipeline, checks, self, monitors, params=dict(params), name=syntax.name)

    def _check(self, pipeline: Pipeline, check: s.PropertySyntax) -> None:
        """The names in a property mean something."""
        if isinstance(check.argument, s.PipelineReference):
            syntax = self._reference(check.argument)
            self._elaborator.parameters(syntax, dict(check.argument.params), check.argument.where)
        elif isinstance(check.argument, s.Expression):
            check_names(check.argument, pipeline, self._elaborator.labels)

    def _reference(self, reference: s.PipelineReference) -> s.PipelineSyntax:
        if reference.name not in self.pipelines:
            hint = did_you_mean(reference.name, self.pipelines, "its pipelines are: ")
            raise reference.error(f"there is no pipeline '{reference.name}' in this file", hint)
        return self._syntax(reference.name)


@dataclass(frozen=True)
class WatchedPipeline:
    """SMV systems that a pipeline watches, with the SMV expressions that drive its inputs.

    Attributes
    ----------
    names: of SMV files, as written.
    bind, when: input to the expression it carries, and to the condition under which it carries an event.
    checks: what is asked; nothing, for the usual.
    file, where: the file that says so, and the place in it.
    folders: where the systems may lie.
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
        LanguageError: there is no such file where it may lie.
        """
        with allow(self.folders):
            found = [find_named(name, Path(self.file).absolute().parent, self.where) for name in self.names]
        for name, path in zip(self.names, found, strict=True):
            if not path.is_file():
                hint = "name it as it is seen from the folder of this file, or from one of --include"
                raise LanguageError(f"there is no file '{name}'", where=self.where, hint=hint)
        return tuple(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path) for path in found)

    def watches(self, system: str | Path) -> bool:
        """Whether one of the names is that of a file, as seen from one of the folders around it."""
        path = follow_links(Path(system))
        return any(path == folder / name for folder in path.parents for name in self.names)


def _monitor(
    item: s.MonitorSyntax, pipeline: Pipeline, source: Source, constants: Mapping[str, Value]
) -> WatchedPipeline:
    """A monitor statement with its properties understood, and its inputs looked up."""
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
    """A pipeline of a file, the properties that the file wants checked of it, and the systems that it monitors."""

    pipeline: Pipeline
    checks: tuple[s.PropertySyntax, ...]
    source: Source = field(repr=False, compare=False)
    monitors: tuple[WatchedPipeline, ...] = ()
    added: tuple[str, ...] = ()
    """Faults that it has beside those of the file."""
    params: Mapping[str, Value] = field(default_factory=dict)
    """The values that were given to its parameters."""
    name: str = ""
    """What the file calls it."""
    sound: bool = False
    """Whether its faults never strike."""

    @property
    def kind(self) -> str:
        """What messages call it."""
        return self.pipeline.kind

    @property
    def ports(self) -> Ports:
        """The inputs and outputs of the pipeline."""
        return self.pipeline.ports

    def __repr__(self) -> str:
        return repr(self.pipeline)

    @property
    def obligations(self) -> tuple[s.PropertySyntax, ...]:
        """What is checked of it though the file does not say so: `stays-in-range`, where types do not show that."""
        asked = any(processor.has_obligations for processor in self.pipeline.typed.values())
        obligation = properties.parse_property(properties.OBLIGATION)
        return (obligation,) if asked and all(check.name != properties.OBLIGATION for check in self.checks) else ()

    def faulty(self, *faults: str) -> Loaded:
        """The same with more faults: `lose y at most 2`."""
        return replace(self, pipeline=faulty(self.pipeline, *faults), added=(*self.added, *faults))

    def faultless(self) -> Loaded:
        """The same where no fault strikes."""
        return replace(self, pipeline=faultless(self.pipeline), sound=True)

    def other(self, reference: s.PipelineReference) -> Loaded:
        """The pipeline that a property of this one names."""
        self.source._reference(reference)
        return self.source.get(reference.name, **dict(reference.params))


def check_names(e: s.Expression, pipeline: Pipeline, labels: Mapping[str, str]) -> None:
    """That every name in a property begins with a pipe, output, processor or constant of its pipeline."""
    flat = flatten(pipeline)
    known = [*pipeline.domains, *dict(pipeline.outputs), *(n.name for n in pipeline.nodes)]
    inside = {word.partition(".")[0] for word in (*flat.domains, *(n.name for n in flat.nodes))}
    for part in s.walk(e):
        if isinstance(part, s.Identifier) and part.name not in {*known, *inside, *labels, "overflow"}:
            what = f"pipeline {pipeline.name} has no pipe '{part.name}'"
            raise part.error(what, did_you_mean(part.name, dict.fromkeys(known)))
