"""The table of properties, and the reading of their arguments."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.core.contract import Contract, ContractKind
from workbench.core.domain import Value
from workbench.core.function import LIBRARY
from workbench.errors import did_you_mean, listed
from workbench.extensions import later
from workbench.language import syntax as s
from workbench.language.evaluate import Evaluator
from workbench.language.parser import is_property, parse_check

OBLIGATION = "stays-in-range"
"""The property to check where types do not guarantee that numbers stay in their ranges."""
CONTRACTS: Mapping[str, Callable[[Contract], bool]] = {
    "guarantee": lambda each: each.kind is ContractKind.GUARANTEE and not each.call,
    "meets": lambda each: each.kind is ContractKind.ASSUME and bool(each.call),
}
"""The properties that are about one of a pipeline's contracts, by its number, and which contracts are numbered."""
CTL = frozenset({"AG", "AF", "AX", "EG", "EF", "EX", "AU", "EU"})
LTL = frozenset({"G", "F", "X", "U", "R"})


@dataclass(frozen=True)
class ArgumentRow:
    """A kind of argument.

    Attributes
    ----------
    words: its name in messages; `example`: a property with such an argument.
    read: the function that turns a parsed argument into its value.
    operators: the temporal operators that it may contain.
    other: the hint for any other operator, a format string over the property's `name`, the `operator` and its `logic`.
    """

    words: str
    example: str
    read: Callable[[s.Check, s.Expression, Mapping[str, Value]], Any]
    operators: frozenset[str] = frozenset()
    other: str = ""


@dataclass(frozen=True)
class PropertyRow:
    """A row of the table of properties.

    Attributes
    ----------
    build: builds the property from its argument, if it has one; from another pipeline and the mode for a comparison.
    argument: the kind of its argument; None: it takes none.
    mode: the sense in which it compares two pipelines; empty where it does not.
    compared: its name in a verdict on two pipelines.
    one_step: whether it is about single steps.
    presence: whether the bare name of a pipe that is not Boolean means that the pipe carries an event.
    wanted: whether a single run proves it; else a single run refutes it.
    opposite: the property that holds where this one does not.
    of_queues: whether it is about queues, not about outputs.
    """

    name: str
    build: Callable[..., Any]
    argument: ArgumentRow | None = None
    mode: str = ""
    compared: str = ""
    one_step: bool = False
    presence: bool = False
    wanted: bool = False
    opposite: str = ""
    of_queues: bool = False


def parse_property(text: str, file: str = "<property>") -> s.PropertySyntax:
    """Parse a property written outside of a file, as in `-p 'always (y >= 0)'`."""
    return elaborate(parse_check(text, file), {})


def elaborate(check: s.Check, constants: Mapping[str, Value]) -> s.PropertySyntax:
    """Resolve the argument of a property; `constants` are the parameters of its pipeline."""
    row = PROPERTIES.get(check.name)
    if row is None:
        hint = did_you_mean(check.name, PROPERTIES, f"{suggest_property(check.text)}; properties are: ".lstrip("; "))
        raise check.error(f"there is no property '{check.name}'", hint)
    kind = row.argument
    if (kind is None) != (check.argument is None):
        what = f"takes a {kind.words}" if kind else "takes no argument"
        raise check.error(f"the property '{check.name}' {what}", f"write {kind.example if kind else check.name}")
    argument = None if kind is None or check.argument is None else kind.read(check, check.argument, constants)
    return s.PropertySyntax(check.name, argument, check.text, where=check.where)


_TEMPORAL = re.compile(r"(?:[AE]?[GFX])(?=\s*\(|\s+(?!(?:and|or|mod|div)\b)[A-Za-z!])|[AE](?=\s*\[)")
"""A temporal operator at the start of a formula; a comparison may begin with an input of that name."""


SPELLED_OUT = {"globally": "G", "eventually": "F", "finally": "F", "next": "X"}
"""Words for temporal operators, with the operator."""


def suggest_property(text: str) -> str:
    """Return a hint for a condition in place of a property, with or without a name; empty if that does not parse."""
    if events := re.match(r"[\w-]*response\s*\(\s*([\w.]+)\s*,\s*([\w.]+)", text):
        return f"write ltl(G ({events[1]}.present -> F {events[2]}.present))"
    if operator := _TEMPORAL.match(text):
        return f"write {'ltl' if operator[0] in ('G', 'F', 'X') else 'ctl'}({text})"
    called = re.fullmatch(r"([\w-]+)\s*(\(.*\))?", text, re.DOTALL)
    if called and called[2] and called[1] in SPELLED_OUT:
        return f"write ltl({SPELLED_OUT[called[1]]} {called[2]})"
    if called and ("-" in called[1] or (called[2] and called[1] not in LIBRARY)):
        return ""  # the name of a property, not a subtraction or a function
    word, _, rest = text.partition(" ")
    text = f"{word} ({rest})" if (row := PROPERTIES.get(word)) and row.argument else f"always ({text})"
    return f"write {text}" if is_property(text) else ""


def read_parameters(
    parameters: tuple[s.ParameterArgument, ...], constants: Mapping[str, Value]
) -> tuple[tuple[str, Value], ...]:
    """Return the parameters of a pipeline in a property; one that is given by its position has an empty name."""
    scope = Evaluator(constants, LIBRARY, {})
    return tuple((item.name or "", scope.value(item.value)) for item in parameters)


def _number(check: s.Check, e: s.Expression, constants: Mapping[str, Value]) -> int:
    value = Evaluator(constants, LIBRARY, {}).value(e)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise e.error(f"the property '{check.name}' takes a number of steps, not {value}", f"write {NUMBER.example}")
    return value


def _pipeline(check: s.Check, e: s.Expression, constants: Mapping[str, Value]) -> s.PipelineReference:
    if isinstance(e, s.Identifier):
        return s.PipelineReference(e.name, (), where=e.where)
    if isinstance(e, s.Instantiation):
        return s.PipelineReference(e.name, read_parameters(e.parameters, constants), where=e.where)
    what = f"the property '{check.name}' takes the name of a pipeline, not '{e}'"
    raise e.error(what, f"write {check.name}(other) or {check.name}(other<k = 3>)")


def _formula(check: s.Check, e: s.Expression, constants: Mapping[str, Value]) -> s.Expression:
    kind = PROPERTIES[check.name].argument
    for part in s.walk(e):
        if kind is not None and isinstance(part, s.Temporal) and part.operator not in kind.operators:
            what = f"'{part.operator}' has no meaning in {check.name}(...)"
            logic = "ctl" if part.operator in CTL else "ltl"
            raise part.error(what, kind.other.format(name=check.name, operator=part.operator, logic=logic))
    return substitute(e, constants)


NUMBER = ArgumentRow("number", "bounded-liveness(3)", _number)
PIPELINE = ArgumentRow("pipeline", "equivalent(other)", _pipeline)
CONDITION = ArgumentRow(
    "condition", "always (y.present -> y >= 0)", _formula,
    other="{name}(...) is about one step; use {logic}(...)",
)  # fmt: skip
CTL_FORMULA = ArgumentRow(
    "CTL formula", "ctl(AG EF out.present)", _formula, CTL,
    "in CTL every temporal operator has a path quantifier: A{operator} or E{operator}",
)  # fmt: skip
LTL_FORMULA = ArgumentRow(
    "LTL formula", "ltl(G F x.present -> G F out.present)", _formula, LTL,
    "LTL has no path quantifiers: write G, F, X, U, or use ctl(...)",
)  # fmt: skip
"""The kinds of arguments."""


def _asks(function: str, *args: Any, module: str = "properties") -> Callable[..., Any]:
    return later(f"workbench.verify.ask.{module}", function, *args)


def _make_written(function: str, *args: Any) -> Callable[..., Any]:
    return _asks(function, *args, module="labels")


ROWS = (
    PropertyRow("liveness", _asks("liveness")),
    PropertyRow("response", _asks("response")),
    PropertyRow("bounded-liveness", _asks("bounded_liveness"), NUMBER),
    PropertyRow("no-overflow", _asks("no_overflow"), of_queues=True),
    PropertyRow(OBLIGATION, _asks("stays_in_range")),
    PropertyRow("no-full-queues", _asks("no_full_queues"), of_queues=True),
    *(PropertyRow(name, _asks("contract_property", name, module="contracts"), NUMBER) for name in CONTRACTS),
    PropertyRow("never-false", _asks("never_false")),
    PropertyRow("often-true", _asks("often_true")),
    PropertyRow("always", _make_written("always_expressed"), CONDITION, one_step=True),
    PropertyRow("never", _make_written("never_expressed"), CONDITION, one_step=True, presence=True, opposite="can"),
    PropertyRow("can", _make_written("can_expressed"), CONDITION, one_step=True, presence=True, wanted=True),
    PropertyRow("ctl", _make_written("formula_expressed", "ctl"), CTL_FORMULA),
    PropertyRow("ltl", _make_written("formula_expressed", "ltl"), LTL_FORMULA),
    PropertyRow(
        "equivalent", _asks("equivalent_to", module="equivalence"), PIPELINE, "sequence", "sequence-equivalent"
    ),
    PropertyRow(
        "stepwise-equivalent", _asks("equivalent_to", module="equivalence"), PIPELINE, "stepwise", "stepwise-equivalent"
    ),
    PropertyRow("approximates", _asks("equivalent_to", module="equivalence"), PIPELINE, "approximates", "approximates"),
    PropertyRow("tolerates", _asks("tolerating", module="equivalence"), mode="sequence"),
)
PROPERTIES = {row.name: row for row in ROWS}
"""Every property by its name."""


def substitute(e: s.Expression, constants: Mapping[str, Value]) -> s.Expression:
    """Return the expression with parameters replaced by their values."""
    if isinstance(e, s.Identifier) and e.name in constants:
        return s.Literal(constants[e.name], where=e.where)
    changed: dict[str, Any] = {}
    for item in dataclasses.fields(e):
        value = getattr(e, item.name)
        if isinstance(value, s.Expression):
            changed[item.name] = substitute(value, constants)
        elif isinstance(value, tuple) and value and isinstance(value[0], s.Expression):
            changed[item.name] = tuple(substitute(v, constants) for v in value)
    return dataclasses.replace(e, **changed) if changed else e


def join_dotted(e: s.Expression) -> str | None:
    """Return `a.b.c` for a name or a chain of fields, else None."""
    if isinstance(e, s.Identifier):
        return e.name
    if isinstance(e, s.Field):
        inner = join_dotted(e.value)
        return None if inner is None else f"{inner}.{e.name}"
    return None


def suggest_pipe(
    e: s.Expression, name: str, scope: Evaluator, pipes: Collection[str], processors: Iterable[str] = ()
) -> str:
    """Return a hint for an unknown name in a property: the closest one that fits, or the pipes and the labels."""
    is_condition = isinstance(scope.around(e), s.Temporal | None)
    hint = scope.suggest(e, [*pipes, *processors, *({} if is_condition else scope.labels)], name)
    if hint.startswith("did you mean"):
        return hint
    kinds = {"pipes": pipes, "labels": scope.labels}
    return "; ".join(f"{kind}: {listed(dict.fromkeys(names))}" for kind, names in kinds.items() if names)


def constant(e: s.Expression) -> Value:
    """Return the value of an expression of literals; a bare word is a text."""
    if isinstance(e, s.Identifier):
        return e.name
    return Evaluator({}, LIBRARY, {}).value(e)
