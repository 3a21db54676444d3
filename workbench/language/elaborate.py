"""Elaboration: from the tree of a file to pipelines of the core.

Every name that the user defines becomes the name of a pipe and, where it has one output, of its processor. Other
processors get names from the Builder, never one that the user defines elsewhere in the pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.builder import BuiltStream
from workbench.core.domain import Domain, Enum, Reals, Texts, Value
from workbench.core.function import LIBRARY, Function, is_part
from workbench.core.mistakes import FollowUp, Mistakes
from workbench.core.pipeline import Pipeline
from workbench.core.readable import plural
from workbench.errors import LanguageError, Location, WorkbenchError, did_you_mean
from workbench.language import syntax as s
from workbench.language.body import Body
from workbench.language.contracts import contract
from workbench.language.evaluate import Evaluator, define_functions, define_tables, recursive, words
from workbench.language.faults import fault
from workbench.language.machines import machine
from workbench.language.python_functions import load_functions
from workbench.language.types import constants, enumerations
from workbench.processors import PROCESSORS


class Elaborator:
    """The definitions of one file, and the pipelines built from them so far."""

    def __init__(self, file: s.FileSyntax, functions: Mapping[str, Function], mistakes: Mistakes) -> None:
        self.pipelines = {p.name: p for p in file.pipelines}
        functions = {**functions, **load_functions(file.used, mistakes), **define_tables(file.tables, mistakes)}
        ports = [port.type for p in file.pipelines for port in (*p.inputs, *p.outputs)]
        bodies = [e for p in file.pipelines for x in p.statements for e in x.values]
        machines = [p.machine for p in file.pipelines if p.machine is not None]
        ports += [v.type for p in file.pipelines for v in p.variables]
        called = {part.name for e in bodies for part in s.walk(e) if isinstance(part, s.Call)}
        label_sets = (PROCESSORS[name].constants for name in sorted(called) if name in PROCESSORS)
        states = (tuple(dict.fromkeys(state.name for state in machine.states)) for machine in machines)
        self.labels = constants(
            [enumeration for e in (*ports, *bodies) for enumeration in enumerations(e)],
            [Enum(words) for words in (*label_sets, *states) if words],
        )
        self.own = frozenset({*functions, *(f.name for f in file.functions)})
        """Functions that take precedence over processors of the same name, unlike those of the library."""
        self.mistakes = mistakes
        self.functions = define_functions(file, {**LIBRARY, **functions}, self.labels, mistakes)
        self._made: dict[tuple[str, str], Pipeline | None] = {}
        """The pipelines built so far; None for one with a mistake, which is stored."""
        self._open: list[str] = []

    # --- names ---

    def labels_in(self, syntax: s.PipelineSyntax) -> dict[str, str]:
        """Return the constants in a pipeline: of its outputs, else of its inputs and variables, else of the file."""
        within = [*(port.type for port in syntax.inputs), *(v.type for v in syntax.variables)]
        groups = ([port.type for port in syntax.outputs], within)
        return {**self.labels, **constants(*([e for t in types for e in enumerations(t)] for types in groups))}

    def callables(self) -> list[str]:
        """Return all names that can be called."""
        return [*self.pipelines, *PROCESSORS, *words(self.functions)]

    def is_pipeline(self, name: str) -> bool:
        """Whether a name refers to a pipeline of this file (inside `p`, `p` means the processor of that name)."""
        return name in self.pipelines and not (self._open[-1:] == [name] and name in PROCESSORS)

    # --- parameters ---

    def parameters(self, syntax: s.PipelineSyntax, params: Mapping[str, Value], where: Location) -> dict[str, Value]:
        """Return the value of each parameter: the given one, or its default."""
        known = [p.name for p in syntax.parameters]
        for name in params:
            if name not in known:
                remedy = f"write {syntax.signature}" if where.line else f"it has no parameters: leave '{name}' out"
                hint = did_you_mean(name, known, "its parameters are: ") or remedy
                raise LanguageError(
                    f"pipeline {syntax.name} has no parameter '{name}'",
                    where=where,
                    hint=hint + _list_names(hint, known),
                )
        values: dict[str, Value] = {}
        for parameter in syntax.parameters:
            values[parameter.name] = self._parameter(syntax, parameter, params, values, where)
        return values

    def _parameter(
        self,
        syntax: s.PipelineSyntax,
        parameter: s.Parameter,
        params: Mapping[str, Value],
        before: Mapping[str, Value],
        where: Location,
    ) -> Value:
        name = parameter.name
        if parameter.default is None:
            if name not in params:
                option = f"add --param {name}=3 ({name}=3 in Python)"
                raise LanguageError(
                    f"pipeline {syntax.name} needs a value for '{name}'",
                    where=where if where.line else parameter.where,
                    hint=f"{f'write {syntax.name}<{name} = 3>' if where.line else option}, or give a default",
                )
            return params[name]
        default = Evaluator(before, self.functions, self.labels).value(parameter.default)
        value = params.get(name, default)
        if isinstance(value, bool) != isinstance(default, bool) or isinstance(value, str) != isinstance(default, str):
            raise LanguageError(
                f"the parameter '{name}' of {syntax.name} is a value like {_show_value(default)}, "
                f"not {_show_value(value)}",
                where=where if where.line else parameter.where,
            )
        return value

    def read_parameters(
        self, syntax: s.PipelineSyntax, items: tuple[s.ParameterArgument, ...], scope: Evaluator
    ) -> dict[str, Value]:
        """Return the parameters between the angle brackets of a call: by position, then by name."""
        names = [p.name for p in syntax.parameters]
        values: dict[str, Value] = {}
        for position, item in enumerate(items):
            if item.name is None and position >= len(names):
                what = f"pipeline {syntax.name} has {plural(len(names) or 'no', 'parameter')}, {len(items)} given"
                raise item.error(what, f"write {syntax.signature}")
            name = item.name or names[position]
            if name in values:
                raise item.error(f"the parameter '{name}' is given twice")
            value = scope.value(item.value)
            if isinstance(value, BuiltStream):
                hint = "parameters are constants; streams go in the parentheses"
                raise item.error(f"the parameter '{name}' is a stream, '{item.value}'", hint)
            values[name] = value
        return values

    # --- pipelines ---

    def pipeline(self, name: str, params: Mapping[str, Value], where: Location) -> Pipeline:
        """Build the pipeline `name` with these parameters."""
        if name in self._open:
            raise recursive("pipelines", [*self._open[self._open.index(name) :], name], where)
        syntax = self.pipelines[name]
        values = self.parameters(syntax, params, where)
        key = (name, repr(values))
        if key not in self._made:
            self._open.append(name)
            self._made[key] = None
            try:
                with self.mistakes.apart():
                    self._made[key] = self._make(syntax, values)
            finally:
                self._open.pop()
        pipeline = self._made[key]
        if pipeline is None:
            raise FollowUp
        return pipeline

    def again(self) -> None:
        """Clear the mistakes, and forget the pipelines that failed."""
        self.mistakes.errors.clear()
        self._made = {key: pipeline for key, pipeline in self._made.items() if pipeline is not None}

    def _make(self, syntax: s.PipelineSyntax, values: Mapping[str, Value]) -> Pipeline:
        known = dict(values), self.functions, self.labels
        if syntax.machine is not None:
            pipeline, scope = machine(self, syntax, values), Evaluator(*known)
        else:
            scope = body = Body(self, syntax, values)
            try:
                pipeline = self._build(syntax, body)
            except WorkbenchError:
                body.judge_types()
                raise
        capacities = self.mistakes.each(syntax.capacities, lambda each: _capacity(each, syntax, pipeline, scope))
        faults = self.mistakes.each(syntax.faults, lambda each: fault(each, pipeline, *known))
        contracts = self.mistakes.each(syntax.contracts, lambda each: contract(self, syntax, each, pipeline, values))
        written = (syntax.capacities, syntax.faults, syntax.contracts)
        if len(capacities) + len(faults) + len(contracts) < sum(map(len, written)):
            raise FollowUp
        pipeline = pipeline.with_capacities(dict(capacities)) if capacities else pipeline
        pipeline = pipeline.with_contracts(contracts) if contracts else pipeline
        return pipeline.with_faults(faults) if faults else pipeline

    def _build(self, syntax: s.PipelineSyntax, body: Body) -> Pipeline:
        """Build the pipeline of a body."""
        streams = body.run()
        names = _output_names(syntax)
        if len(streams) != len(names):
            location = next(x.where for x in syntax.statements if isinstance(x, s.Return))
            returns = plural(len(streams) or "no", "stream")
            what = f"pipeline {syntax.name} returns {returns}, but its head declares {len(names)}"
            raise LanguageError(what, where=location, hint="write one type after '->' for each stream that is returned")
        outputs = dict(zip(names, streams, strict=True))
        pipeline = body.builder.build(outputs, doc=syntax.doc)
        written = next(x.values for x in syntax.statements if isinstance(x, s.Return))

        def check(i: int) -> None:
            port, name, pipe = syntax.outputs[i], names[i], streams[i].pipe
            returned = str(written[i]) if len(written) == len(names) and s.is_short(written[i]) else pipe
            _check_output(syntax, port, body.domain(port.type), pipeline.domains[pipe], returned)
            if name in pipeline.domains and pipe != name:
                kind, other = ("input", "the input") if name in dict(pipeline.inputs) else ("pipe", "another pipe")
                what = f"the output '{name}' shows '{returned}', but {other} is called '{name}'"
                free = f"give the output another name, e.g. {name}_out"
                named = free if kind == "input" else "give the pipe or the output another name"
                raise port.error(what, named if port.name else f"rename the {kind}, or name the output: -> name: TYPE")

        Mistakes().all(range(len(names)), check)
        return pipeline


def _capacity(
    statement: s.CapacitySyntax, syntax: s.PipelineSyntax, pipeline: Pipeline, scope: Evaluator
) -> tuple[str, int]:
    """Return the queue and the capacity that a statement sets."""
    if statement.queue not in pipeline.every_queue:
        hint = did_you_mean(statement.queue, pipeline.every_queue, "its queues are: ") or "it has no queues"
        raise statement.error(f"pipeline {syntax.name} has no queue '{statement.queue}'", hint)
    if any(each.queue == statement.queue for each in syntax.capacities[: syntax.capacities.index(statement)]):
        raise statement.error(f"the capacity of queue '{statement.queue}' is given twice", "remove one")
    size = scope.value(statement.size)
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        description = "a stream" if isinstance(size, BuiltStream) else _show_value(size)
        raise LanguageError(
            f"the capacity of queue '{statement.queue}' is a number of events, not {description}",
            where=statement.size.where if statement.size.where.line else statement.where,
            hint=f"write capacity queue({statement.queue}) = 3; 0 is the least",
        )
    return statement.queue, size


def _output_names(syntax: s.PipelineSyntax) -> list[str]:
    many = len(syntax.outputs) > 1
    names = [p.name or (f"out{i}" if many else "out") for i, p in enumerate(syntax.outputs, 1)]
    for i, (name, port) in enumerate(zip(names, syntax.outputs, strict=True)):
        if name in names[:i]:
            raise port.error(f"two outputs are called '{name}'", "rename one")
    return names


def _check_output(
    syntax: s.PipelineSyntax, port: s.PortSyntax, declared: Domain, carried: Domain, returned: str
) -> None:
    if is_part(carried, declared):
        return
    hint = f"declare {f'{port.name}: ' if port.name else '-> ' * (len(syntax.outputs) == 1)}{carried}"
    if declared.numeric and carried.numeric:
        hint += f", or return cast({returned}, {declared})"
    if isinstance(carried, Reals) and declared.numeric and " / " in returned:
        hint += "; / divides floats, and div whole numbers"
    if isinstance(declared, Enum) and isinstance(carried, Texts):
        hint = f"several types have such constants: write the 'if' in the pipeline, or {hint}"
    raise port.error(f"pipeline {syntax.name} is declared to return {declared}, but it returns {carried}", hint)


def _list_names(hint: str, known: list[str]) -> str:
    return f" (its parameters are: {', '.join(known)})" if hint.startswith("did you mean") else ""


def _show_value(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
