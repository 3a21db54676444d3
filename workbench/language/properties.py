"""Properties: which there are, and what their arguments must be (design section 9)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from workbench.core.domain import Value
from workbench.core.function import LIBRARY
from workbench.errors import LanguageError, did_you_mean
from workbench.language import syntax as s
from workbench.language.evaluate import Evaluator, walk
from workbench.language.parser import parse_check

PROPERTIES: dict[str, str] = {
    "liveness": "",
    "response": "",
    "bounded-liveness": "number",
    "no-overflow": "",
    "no-full-queues": "",
    "never-false": "",
    "often-true": "",
    "always": "condition",
    "never": "condition",
    "can": "condition",
    "ctl": "CTL formula",
    "ltl": "LTL formula",
    "equivalent": "pipeline",
    "stepwise-equivalent": "pipeline",
    "approximates": "pipeline",
    "tolerates": "",
}
"""The name of each property and what its argument is (nothing, if empty)."""

CTL = frozenset({"AG", "AF", "AX", "EG", "EF", "EX", "AU", "EU"})
LTL = frozenset({"G", "F", "X", "U", "R"})
_TEMPORAL = {"condition": frozenset[str](), "CTL formula": CTL, "LTL formula": LTL}
_EXAMPLES = {
    "number": "bounded-liveness(3)",
    "condition": "always (y.present -> y >= 0)",
    "CTL formula": "ctl(AG EF out.present)",
    "LTL formula": "ltl(G F x.present -> G F out.present)",
    "pipeline": "equivalent(other)",
}


def parse_property(text: str, file: str = "<property>") -> s.PropertySyntax:
    """A property written outside of a file, as in `-p 'always (y >= 0)'`."""
    return elaborated(parse_check(text, file), {})


def elaborated(check: s.Check, constants: Mapping[str, Value]) -> s.PropertySyntax:
    """A property with its argument understood; `constants` are the parameters of its pipeline."""
    kind = PROPERTIES.get(check.name)
    if kind is None:
        hint = did_you_mean(check.name, PROPERTIES, "properties are: ")
        raise LanguageError(f"there is no property '{check.name}'", where=check.where, hint=hint)
    if bool(kind) != (check.argument is not None):
        what = f"takes a {kind}" if kind else "takes no argument"
        hint = f"write {_EXAMPLES.get(kind, check.name)}"
        raise LanguageError(f"the property '{check.name}' {what}", where=check.where, hint=hint)
    argument = None if check.argument is None else _READERS[kind](check, check.argument, constants)
    return s.PropertySyntax(check.name, argument, check.text, where=check.where)


def given_values(given: tuple[s.Given, ...], constants: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    """The parameters of a pipeline in a property, which must be named."""
    for item in given:
        if item.name is None:
            raise LanguageError(
                f"'{item}' in a property does not say its parameter", where=item.where, hint=f"write k = {item}"
            )
    scope = Evaluator(constants, LIBRARY, {})
    return tuple((str(item.name), scope.value(item.value)) for item in given)


def _number(check: s.Check, e: s.Expression, constants: Mapping[str, Value]) -> int:
    value = Evaluator(constants, LIBRARY, {}).value(e)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        what = f"the property '{check.name}' takes a number of steps, not {value}"
        raise LanguageError(what, where=e.where, hint=f"write {_EXAMPLES['number']}")
    return value


def _pipeline(check: s.Check, e: s.Expression, constants: Mapping[str, Value]) -> s.PipelineReference:
    if isinstance(e, s.Identifier):
        return s.PipelineReference(e.name, (), where=e.where)
    if isinstance(e, s.Instantiation):
        return s.PipelineReference(e.name, given_values(e.given, constants), where=e.where)
    what = f"the property '{check.name}' takes the name of a pipeline, not '{e}'"
    raise LanguageError(what, where=e.where, hint=f"write {check.name}(other) or {check.name}(other<k = 3>)")


def _formula(check: s.Check, e: s.Expression, constants: Mapping[str, Value]) -> s.Expression:
    allowed = _TEMPORAL[PROPERTIES[check.name]]
    for part in walk(e):
        if isinstance(part, s.Temporal) and part.operator not in allowed:
            what = f"'{part.operator}' has no meaning in {check.name}(...)"
            raise LanguageError(what, where=part.where, hint=_other_logic(check.name, part.operator))
    return substituted(e, constants)


def _other_logic(name: str, operator: str) -> str:
    if name in ("always", "never", "can"):
        return f"{name}(...) is about one step; use {'ctl' if operator in CTL else 'ltl'}(...)"
    if name == "ctl":
        return f"in CTL every temporal operator has a path quantifier: A{operator} or E{operator}"
    return "LTL has no path quantifiers: write G, F, X, U, or use ctl(...)"


_READERS: dict[str, Callable[[s.Check, s.Expression, Mapping[str, Value]], Any]] = {
    "number": _number,
    "pipeline": _pipeline,
    **dict.fromkeys(_TEMPORAL, _formula),
}


def substituted(e: s.Expression, constants: Mapping[str, Value]) -> s.Expression:
    """The expression with parameters replaced by their values."""
    if isinstance(e, s.Identifier) and e.name in constants:
        return s.Literal(constants[e.name], where=e.where)
    changed: dict[str, Any] = {}
    for item in dataclasses.fields(e):
        value = getattr(e, item.name)
        if isinstance(value, s.Expression):
            changed[item.name] = substituted(value, constants)
        elif isinstance(value, tuple) and value and isinstance(value[0], s.Expression):
            changed[item.name] = tuple(substituted(v, constants) for v in value)
    return dataclasses.replace(e, **changed) if changed else e


def dotted(e: s.Expression) -> str | None:
    """`a.b.c` for a name or a chain of fields, else None."""
    if isinstance(e, s.Identifier):
        return e.name
    if isinstance(e, s.Field):
        inner = dotted(e.value)
        return None if inner is None else f"{inner}.{e.name}"
    return None


def constant(e: s.Expression) -> Value:
    """The value of an expression of literals; a bare word is a text."""
    if isinstance(e, s.Identifier):
        return e.name
    return Evaluator({}, LIBRARY, {}).value(e)
