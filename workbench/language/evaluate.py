"""Evaluation of expressions: the common part of constants, function bodies and stream expressions.

An `Evaluator` walks an expression and leaves two operations to its subclasses: resolving a name, and applying
a function. Constants are computed, function bodies are built over terms, streams are lifted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from functools import cache
from typing import Any

from workbench.core.domain import Domain, Value
from workbench.core.fields import Map, Record, Tuple
from workbench.core.fold import map_leaves
from workbench.core.function import LIBRARY, READ_ITEM, WRITE_ITEM, Function, NumberTable
from workbench.core.mistakes import FollowUp, Mistakes
from workbench.core.readable import plural
from workbench.core.term import Fields, Items, Term, const, domain_of, is_symbolic, leaves, var
from workbench.core.typing_rules import literal_domain
from workbench.errors import LanguageError, Location, WorkbenchError, did_you_mean
from workbench.language import syntax as s


@contextmanager
def at(where: Location) -> Iterator[None]:
    """Add this location to errors raised in the context that have none."""
    try:
        yield
    except WorkbenchError as error:
        if isinstance(error.where, Location) and error.where.line:
            raise
        raise error.retold(where=where) from error


RESERVED = frozenset("pipeline function check return if then else and or not div mod true false".split())
"""The reserved words, which are never names (the grammar's NAME excludes them)."""


FOREIGN_FUNCTIONS = {
    "int": "value_or(to_int(x), 0) converts a fraction or a text; 5 is a whole number already",
    "float": "value_or(to_float(x), 0.0) converts a text to a float, x / 1 a whole number",
    "str": "to_text(x) converts a number to a text",
    "bool": "a comparison is true or false: x != 0",
    "len": "the number of letters is length(x)",
    **dict.fromkeys(("coalesce", "ifnull", "nvl", "fillna"), "a value in place of null is value_or(x, 0)"),
    **dict.fromkeys(("where", "iff", "ifelse"), "a choice is written if b then x else y"),
    **dict.fromkeys(
        ("lag", "pre", "prev", "previous"),
        "only streams have earlier events: write insert(x, 0) in a pipeline, or a variable in a machine",
    ),
}
"""Functions that other languages have, with a hint how to write each in this one."""


def words(names: Iterable[str]) -> list[str]:
    """Return the names that are neither signs nor reserved words."""
    return [name for name in names if name.isidentifier() and name not in RESERVED]


def compute(function: Function, arguments: Sequence[Value]) -> Value:
    """Apply a function to constants. It is computed on terms, because terms are type-checked."""
    scalar = not any(isinstance(a, tuple) for a in arguments)
    if function.opaque:
        return function.called(arguments)
    if not scalar:
        return function(*arguments)
    result = function.build(*(const(a, literal_domain(a)) for a in arguments))
    if is_symbolic(result) and all(leaf.is_const for leaf in leaves(result) if isinstance(leaf, Term)):
        return map_leaves(lambda leaf: leaf.payload if isinstance(leaf, Term) else leaf, result)
    return function.build(*arguments)


def apply_untyped(function: Function, arguments: Sequence[Any]) -> Any:
    """Apply a function to terms or values; raise TypingError for constants on which it is not defined."""
    try:
        return function(*arguments) if function.opaque else function.build(*arguments)
    except WorkbenchError:
        raise
    except Exception:  # as Python computes it: constants alone have no types
        if is_symbolic(tuple(arguments)):
            raise
        return compute(function, arguments)


def tuple_function(size: int, labels: Sequence[str] = ()) -> Function:
    """Return the function that makes a tuple of its arguments; with labels for them, a record."""

    def build(*items: Any) -> Any:
        if not is_symbolic(items):
            return items
        terms = tuple(i if is_symbolic(i) else const(i, literal_domain(i)) for i in items)
        return Fields.of(Record(tuple(map(domain_of, terms)), tuple(labels)), terms) if labels else terms

    return Function("record" if labels else "tuple", size, build)


def projection(position: int, label: str) -> Function:
    """Return the function that takes one field of a tuple."""
    return Function(f".{label}", 1, lambda value: value[position])


NAMES_HERE = "the names here are: "
"""The beginning of a hint about an unknown name without a similar one."""


class Evaluator:
    """The evaluator of expressions in a scope."""

    whole: tuple[s.Expression, ...] = ()
    """The expressions under evaluation, for advice about an unknown name in them."""

    def __init__(self, scope: Mapping[str, Any], functions: Mapping[str, Function], labels: Mapping[str, str]) -> None:
        self.scope = dict(scope)
        self.functions = functions
        self.labels = labels
        """The constants of the enumerations in the file, which evaluate to themselves (see `types.constants`)."""

    def value(self, e: s.Expression) -> Any:
        """Return the value of an expression."""
        if isinstance(e, s.Literal):
            return e.value
        if isinstance(e, s.Identifier):
            return self.named(e)
        if isinstance(e, s.Operation):
            return self.apply(LIBRARY[e.operator], self.values(e.operands), e)
        if isinstance(e, s.TupleOf):
            return self.apply(tuple_function(len(e.items)), self.values(e.items), e)
        if isinstance(e, s.RecordType):
            labels = [port.name or "" for port in e.ports]
            return self.apply(tuple_function(len(labels), labels), self.values(e.parts), e)
        if isinstance(e, s.Call):
            return self.call(e)
        if isinstance(e, s.Field):
            return self.field(e)
        if isinstance(e, s.Index):
            return self.index(e)
        if isinstance(e, s.ItemUpdate):
            return self.apply(WRITE_ITEM, self.values(e.parts), e)
        raise e.error(f"'{e}' is not a value", _explain_misplaced(e))

    def values(self, parts: Iterable[s.Expression]) -> list[Any]:
        """Return the values of several expressions."""
        return [self.value(part) for part in parts]

    def apply(self, function: Function, arguments: list[Any], e: s.Expression) -> Any:
        """Apply a function to values; constants are computed."""
        with at(e.where):
            return compute(function, arguments)

    def named(self, e: s.Identifier) -> Any:
        """Return the value of a name."""
        if e.name in self.scope:
            return self.scope[e.name]
        if e.name in self.labels:
            return self.labels[e.name]
        raise self.unknown(e)

    def unknown(self, e: s.Identifier) -> LanguageError:
        """Build the error about a name that is not defined here."""
        hint = self.suggest(e, [*self.scope, *self.labels])
        if self.is_table(e):
            hint = f"'{e.name}' is a table: read an entry, {e.name}[0]"
        elif e.name in self.functions:
            hint = f"'{e.name}' is a function: apply it, {e.name}(...)"
        return e.error(f"there is no '{e.name}' here", hint)

    def suggest(self, e: s.Expression, known: Iterable[str], name: str = "") -> str:
        """Return a hint for an unknown name (by default that of `e`): the closest one that fits, or all names."""
        name = name or str(e)
        fits = self.test_around(e)
        hint = did_you_mean(name, known, NAMES_HERE, fits)
        if hint.startswith("did you mean"):
            return hint
        if name.lower() in ("null", "none"):
            return "null has no literal: is_null(x) tests for it, and value_or(x, 0) replaces it"
        constant = did_you_mean(name.lower(), ("true", "false"), fits=fits)
        return constant if constant.startswith("did you mean") and len(name) > 3 else hint

    def around(self, e: s.Expression) -> s.Expression | None:
        """Return the expression of which `e` is a part, if it is not the whole."""
        inside = (each for whole in self.whole for each in s.walk(whole))
        return next((each for each in inside if any(part is e for part in each.parts)), None)

    def test_around(self, e: s.Expression) -> Callable[[str], bool]:
        """Return a test: whether the operation or function around `e` has a meaning with a name in place of `e`."""
        around = self.around(e)
        function = None if around is None else self.function_of(around)
        if around is None or function is None:
            return lambda _: True
        parts, whole = around.parts, around

        @cache
        def trial() -> tuple[Evaluator, list[Any]]:
            probe = self.probe()
            with suppress(WorkbenchError):
                return probe, [None if part is e else probe.value(part) for part in parts]
            return probe, []

        def fits(name: str) -> bool:
            probe, values = trial()
            if not values or (name in self.scope and name not in probe.scope):
                return True  # types are not known
            try:
                value = name == "true" if name in RESERVED else probe.value(s.Identifier(name))
                probe.apply(function, [value if each is None else each for each in values], whole)
            except WorkbenchError:
                return False
            return True

        return fits

    def probe(self) -> Evaluator:
        """Return an evaluator of the names whose types are known, for trials: streams stand for any of their values."""
        probe = copy(self)
        probe.whole, probe.scope = (), {name: value for name, value in self.scope.items() if value is not None}
        return probe

    def function_of(self, e: s.Expression) -> Function | None:
        """Return the function that an expression applies to its parts, if it does."""
        if isinstance(e, s.Operation):
            return LIBRARY[e.operator]
        function = self.functions.get(e.name) if isinstance(e, s.Call) else None
        return function if function is not None and function.arity == len(e.parts) else None

    def call(self, e: s.Call) -> Any:
        """Apply a function to the values of its arguments."""
        function = self.functions.get(e.name)
        if function is None:
            raise self.no_function(e)
        return self.apply_function(function, e, self.values(e.arguments))

    def no_function(self, e: s.Call) -> LanguageError:
        """Build the error about a call of an unknown function."""
        hint = FOREIGN_FUNCTIONS.get(e.name) or did_you_mean(e.name, words(self.functions), "functions are: ")
        from workbench.processors import PROCESSORS  # all of them: a text may need none

        if e.name in PROCESSORS:
            hint = f"'{e.name}' is a processor, which reads streams: apply it in a pipeline, and read its result here"
        return LanguageError(f"there is no function '{e.name}'", where=e.name_place, hint=hint)

    def apply_function(self, function: Function, e: s.Call, arguments: list[Any]) -> Any:
        """Apply a function that is called by name; raise LanguageError for a wrong number of arguments."""
        if e.parameters:
            raise e.error(f"the function '{e.name}' has no parameters in < >")
        if len(arguments) != function.arity:
            what = f"the function '{e.name}' takes {plural(function.arity or 'no', 'argument')}, {len(arguments)} given"
            raise e.error(what, f"write {e.name}({', '.join('abcdefgh'[: function.arity])})")
        return self.apply(function, arguments, e)

    def is_table(self, e: s.Expression) -> bool:
        """Whether an expression is the name of a constant table."""
        if not isinstance(e, s.Identifier) or e.name in self.scope:
            return False
        return isinstance(self.functions.get(e.name), NumberTable)

    def index(self, e: s.Index) -> Any:
        """Return an entry of a table, or an item of an array."""
        if isinstance(e.value, s.Identifier) and self.is_table(e.value):
            return self.call(s.Call(e.value.name, (e.index,), where=e.where))
        value = self.value(e.value)
        if isinstance(value, Items):
            return self.apply(READ_ITEM, [value, self.value(e.index)], e)
        hint = f"the event before is insert({e.value}, 0); tables have entries: table NAME = [1, 2, 4]"
        if isinstance(getattr(value, "domain", None), Map):
            hint = f"an entry of a map is get({e.value}, {e.index}, 0)"
        raise e.value.error(f"'{e.value}' has no entries", hint)

    def field(self, e: s.Field) -> Any:
        """Return a field of a record by its name, of a tuple by its position."""
        value = self.value(e.value)
        names = value.domain.labels if isinstance(value, Fields) else ()
        if e.name in names:
            return value[names.index(e.name)]
        if names and not e.name.isdigit():
            raise e.error(f"'{e.value}' has no field '{e.name}'", did_you_mean(e.name, names, "its fields are: "))
        if not isinstance(value, tuple) or not e.name.isdigit() or int(e.name) >= len(value):
            what = f"'{e.value}' has no field '{e.name}' here"
            raise e.error(what, "inside a function the fields of a tuple are numbered: v.0, v.1, ...")
        return value[int(e.name)]


class FunctionBody(Evaluator):
    """The body of a `function` definition, evaluated on values and on terms alike."""

    def apply(self, function: Function, arguments: list[Any], e: s.Expression) -> Any:
        with at(e.where):
            return apply_untyped(function, arguments)

    def check_names(self, body: s.Expression, expected: Domain | None = None) -> None:
        """Check that all names in a body, whose value has a domain, are defined; mistakes are raised together."""
        self.whole = (body,)
        if expected is not None and not isinstance(expected, Tuple | Map):
            self.whole = (s.Operation("=", (body, s.Literal(var("", expected)))),)
        Mistakes().all((e for e in s.walk(body) if not self.is_table(e)), self._check_name)

    def _check_name(self, e: s.Expression) -> None:
        if isinstance(e, s.Identifier):
            self.named(e)
        elif isinstance(e, s.Call) and e.name not in self.functions:
            raise self.no_function(e)


def define_functions(
    file: s.FileSyntax, known: Mapping[str, Function], labels: Mapping[str, str], mistakes: Mistakes
) -> dict[str, Function]:
    """Return the functions of a file and those known already; names and recursion are checked at once.

    A function with a mistake, which is stored, raises FollowUp when it is applied.
    """
    functions = dict(known)
    written = {f.name: f for f in file.functions}
    wrong: set[str] = set()
    for definition in file.functions:
        functions[definition.name] = _define(definition, functions, labels)
    for definition in file.functions:
        try:
            FunctionBody(dict.fromkeys(definition.arguments), functions, labels).check_names(definition.body)
            cycle = _find_cycle(definition, written)
        except LanguageError as error:
            mistakes.add(error)
            wrong.add(definition.name)
            continue
        if cycle and not wrong & set(cycle):
            mistakes.add(recursive("functions", cycle, definition.where))
        wrong.update(cycle)
    return functions | {name: _without_meaning(written[name]) for name in wrong}


def define_tables(tables: Iterable[s.TableSyntax], mistakes: Mistakes) -> dict[str, Function]:
    """Return the constant tables of a file; store their mistakes."""

    def entry(e: s.Expression) -> int:
        value = Evaluator({}, LIBRARY, {}).value(e)
        if not isinstance(value, int) or isinstance(value, bool):
            raise e.error(f"the entry '{e}' of a table is not a whole number")
        return value

    return {t.name: NumberTable.of(t.name, mistakes.each(t.entries, entry)) for t in tables}


def _without_meaning(f: s.FunctionSyntax) -> Function:
    def build(*_: Any) -> Any:
        raise FollowUp

    return Function(f.name, len(f.arguments), build)


def _define(f: s.FunctionSyntax, functions: Mapping[str, Function], labels: Mapping[str, str]) -> Function:
    def build(*arguments: Any) -> Any:
        scope = dict(zip(f.arguments, arguments, strict=True))
        return FunctionBody(scope, functions, labels).value(f.body)

    return Function(f.name, len(f.arguments), build)


def _find_cycle(f: s.FunctionSyntax, written: Mapping[str, s.FunctionSyntax]) -> tuple[str, ...]:
    """Return the functions through which a function calls itself; empty if it does not."""

    def visit(name: str, path: tuple[str, ...]) -> tuple[str, ...]:
        called = [e.name for e in s.walk(written[name].body) if isinstance(e, s.Call) and e.name in written]
        if f.name in called:
            return (*path, f.name)
        cycles = (visit(each, (*path, each)) for each in called if each not in path)
        return next(filter(None, cycles), ())

    return visit(f.name, (f.name,))


def recursive(kind: str, cycle: Sequence[str], where: Location) -> LanguageError:
    """Build the error about definitions that call each other in a cycle."""
    return LanguageError(
        f"{kind} cannot call themselves: {' -> '.join(cycle)}",
        where=where,
        hint="use cumulate for what depends on earlier events",
    )


def _explain_misplaced(e: s.Expression) -> str:
    if isinstance(e, s.Temporal):
        return "temporal operators belong in ctl(...) and ltl(...)"
    if isinstance(e, s.Instantiation):
        return f"apply it to streams: {e}(...)"
    if isinstance(e, s.Sign):
        return "an operator alone can only be an argument that is a function: cumulate(x, +)"
    return "types belong in the head of a pipeline, and in calls of processors such as cast"
