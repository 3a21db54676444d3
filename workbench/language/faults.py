"""Translation of written faults, `delay y by 3 at most 2 when y > 0`, into faults of the core.

In the condition the name of the pipe stands for the event. Otherwise only parameters, functions of the file and
constants of enumerations are allowed: a fault depends on one event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.core.domain import Bool, Domain, Value
from workbench.core.fault import Fault, Kind
from workbench.core.fields import Tuple
from workbench.core.function import LIBRARY, Function
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.core.term import const, is_symbolic, var
from workbench.errors import LanguageError, PipelineError, did_you_mean
from workbench.language import syntax as s
from workbench.language import types
from workbench.language.evaluate import Evaluator, FunctionBody, at
from workbench.language.parser import parse_trouble
from workbench.language.properties import join_dotted
from workbench.processors.held.group import flatten


def faulty(pipeline: Program, *faults: str | Fault) -> Pipeline:
    """Return the pipeline with more faults: `faulty(p, "lose y at most 2", "delay z by 3 when z > 0")`.

    Raises
    ------
    LanguageError: a text is not a fault of the pipeline. PipelineError: a `Fault` is on a pipe that does not exist.
    """
    pipeline = pipeline.pipeline
    labels = types.labels_within(pipeline.every_pipe.values())
    more = [
        each if isinstance(each, Fault) else fault(parse_trouble(each), pipeline, {}, LIBRARY, labels)
        for each in faults
    ]
    return pipeline.with_faults((*pipeline.faults, *more)) if more else pipeline


def faultless(pipeline: Program) -> Pipeline:
    """Return the pipeline without its faults, its groups flattened; it is called `faultless`.

    Raises
    ------
    PipelineError: it has no faults.
    """
    if not flatten(pipeline).oracles:
        loss = f"lose {next(iter(pipeline.pipeline.every_pipe))}"
        hint = f'write fault {loss} in it, or --fault "{loss}"'
        if pipeline.kind != "pipeline":
            hint = "only pipelines have faults, and a pipeline may contain rules"
        raise PipelineError(f"{pipeline.ports.of} has no faults that it could tolerate", hint=hint)
    return replace(flatten(pipeline, faults=False), name="faultless")


def fault(
    syntax: s.FaultSyntax,
    pipeline: Pipeline,
    constants: Mapping[str, Value],
    functions: Mapping[str, Function],
    labels: Mapping[str, str],
) -> Fault:
    """Build a fault of a pipeline; `constants` are its parameters."""
    if syntax.kind not in tuple(Kind):
        raise syntax.error(f"there is no fault '{syntax.kind}'", did_you_mean(syntax.kind, tuple(Kind), "a pipe may: "))
    kind = Kind(syntax.kind)
    known: dict[str, Domain] = {**pipeline.every_pipe, **{o: pipeline.domains[p] for o, p in pipeline.outputs}}
    if syntax.pipe not in known:
        raise LanguageError(
            f"{pipeline.ports.of} has no pipe '{syntax.pipe}'",
            where=syntax.location,
            hint=did_you_mean(syntax.pipe, known, "its pipes are: "),
        )
    if (kind is Kind.DELAY) != (syntax.by is not None):
        what = "needs a" if kind is Kind.DELAY else "takes no"
        raise syntax.error(
            f"'{kind} {syntax.pipe}' {what} number of steps",
            f"write {kind} {syntax.pipe}" + (" by 2, for at most 2 steps" if kind is Kind.DELAY else ""),
        )
    scope = Evaluator(constants, functions, labels)
    when = None if syntax.when is None else _condition(syntax, syntax.when, known[syntax.pipe], scope)
    by, limit = (_number(part, scope) for part in (syntax.by, syntax.at_most))
    return Fault(kind, syntax.pipe, by or 0, limit, when, syntax.where)


def _number(e: s.Expression | None, scope: Evaluator) -> int | None:
    if e is None:
        return None
    value = scope.value(e)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise e.error(f"expected a number of at least 1, not '{e}'", "write a whole number, such as 2")
    return value


def _condition(syntax: s.FaultSyntax, e: s.Expression, domain: Domain, scope: Evaluator) -> Function:
    def build(event: Any) -> Any:
        condition = _Condition(syntax.pipe, domain, event, scope).value(e)
        return const(condition, Bool()) if is_symbolic(event) and isinstance(condition, bool) else condition

    function = Function(str(e), 1, build)
    _mentions(syntax, e, _Condition(syntax.pipe, domain, var(syntax.pipe, domain), scope))
    with at(e.where):
        typed = function.specialise((domain,))
    if not isinstance(typed.result, Bool):
        raise e.error(f"'{e}' is not a condition", f"compare it, {syntax.pipe} > 0")
    return function


def _mentions(syntax: s.FaultSyntax, e: s.Expression, scope: _Condition) -> None:
    """Raise LanguageError for an unknown name in a condition."""
    first, scope.whole = syntax.pipe.partition(".")[0], (e,)
    for part in s.walk(e):
        if isinstance(part, s.Identifier) and part.name != first and part.name not in {*scope.scope, *scope.labels}:
            hint = scope.suggest(part, [syntax.pipe, *scope.scope, *scope.labels])
            raise part.error(f"a fault of '{syntax.pipe}' reads its event, not '{part.name}'", hint)


class _Condition(FunctionBody):
    """A condition on an event, evaluated on values and on terms alike."""

    def __init__(self, pipe: str, domain: Domain, event: Any, scope: Evaluator) -> None:
        super().__init__(scope.scope, scope.functions, scope.labels)
        self.pipe, self.domain, self.event = pipe.split("."), domain, event

    def value(self, e: s.Expression) -> Any:
        path = join_dotted(e)
        parts = path.split(".") if path is not None else []
        if parts[: len(self.pipe)] != self.pipe:
            return super().value(e)
        value, domain = self.event, self.domain
        for label in parts[len(self.pipe) :]:
            if not isinstance(domain, Tuple) or label not in domain.names():
                raise e.error(f"'{'.'.join(self.pipe)}' ({domain}) has no '{label}'")
            position = domain.names().index(label)
            value, domain = value[position], domain.fields[position]
        return value
