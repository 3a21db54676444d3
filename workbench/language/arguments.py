"""The parameters of processors: from arguments of a call to fields of a dataclass.

A processor is called with its streams first and then its parameters, in the order of its fields or by name
(`decimate(x, 3, last = true)`). The annotation of a field determines which arguments it accepts, so a new
processor is callable without a change here.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from functools import cache
from typing import Any, Literal

from workbench.builder import BuiltStream, NamedStreams
from workbench.core.domain import Domain, Value
from workbench.core.function import Function, TypedFunction
from workbench.core.kinds import FileProcessor
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Processor
from workbench.core.readable import plural
from workbench.errors import LanguageError, Location, did_you_mean
from workbench.language import evaluate
from workbench.language import syntax as s
from workbench.language.evaluate import Evaluator
from workbench.language.types import domain

_INTERNAL = frozenset({"integers", "max_times", "ways"})
"""Fields that are not parameters: typing fills them in, or the number of streams determines them."""

FOREIGN_NAMES = {
    **evaluate.FOREIGN_FUNCTIONS,
    "int": "cast(x, int) converts other numbers, and value_or(to_int(x), 0) texts; 5 is a whole number already",
    "sum": "a sum is cumulate(x, +), that of a window is window(x, 3, cumulate(+))",
    "count": "a count is cumulate(turn(x, 1), +)",
    **dict.fromkeys(("avg", "average", "mean"), "a mean is window(x, 3, cumulate(+)) / 3"),
    **dict.fromkeys(("rolling", "moving"), "the last three events are window(x, 3, cumulate(+)), with any function"),
    **dict.fromkeys(
        ("lag", "shift", "delay", "pre", "prev", "previous"),
        "the previous event is insert(x, 0), and 0 at first; insert(x, 0, 2) is the one before it",
    ),
    **dict.fromkeys(("lead", "next"), "the next event is trim(x, 1)"),
    **dict.fromkeys(("latest", "last_value"), "the latest event of x at each event of y is sample(x, y)"),
    **dict.fromkeys(("cumsum", "scan", "reduce", "fold", "accumulate"), "write cumulate(x, +), with any function"),
    **dict.fromkeys(("distinct", "unique", "dedup", "drop_duplicates"), "changes(x) drops repeated events"),
    **dict.fromkeys(("merge", "union", "concat"), "multiplex(x, y) has the events of both"),
    **dict.fromkeys(
        ("join", "zip"), "(x, y) pairs the i-th events of two streams, combine_latest(x, y, f) takes the latest"
    ),
    **dict.fromkeys(
        ("groupby", "group_by", "keyBy", "key_by", "partition_by"),
        "slice(x, key, inner) has a copy of inner for each key; run --key COLUMN has one of the whole pipeline",
    ),
    "map": "a function is applied by its name: square(x), with function square(v) = v * v",
    "diff": "the difference from the event before is trim(x, 1) - x",
    "first": "the first event is prefix(x, 1)",
    "last": "the last event is keep_last(x), and window(x, 3, ...) has the last three",
}
"""Names that other systems have, with a hint how to write each in this language."""


@dataclasses.dataclass(frozen=True)
class ParameterSlot:
    """A parameter of a processor class."""

    name: str
    kinds: tuple[Any, ...]
    required: bool

    def __str__(self) -> str:
        return self.name

    @property
    def words(self) -> frozenset[str]:
        """The words that the parameter accepts, where it has a fixed choice."""
        choices = [typing.get_args(k) for k in self.kinds if typing.get_origin(k) is Literal]
        return frozenset(w for words in choices for w in words if isinstance(w, str))


@cache
def slots(cls: type[Processor]) -> tuple[ParameterSlot, ...]:
    """Return the parameters of a processor class."""
    hints = typing.get_type_hints(cls)
    return tuple(
        ParameterSlot(f.name, _alternatives(hints[f.name]), f.default is f.default_factory is dataclasses.MISSING)
        for f in dataclasses.fields(cls)
        if f.init and f.name not in _INTERNAL
    )


def _alternatives(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(k for part in typing.get_args(hint) for k in _alternatives(part))
    return (hint,)


def words(cls: type[Processor]) -> frozenset[str]:
    """Return all words that are values of parameters of a class."""
    return frozenset[str]().union(*(slot.words for slot in slots(cls)))


def signature(cls: type[Processor]) -> str:
    """Return the call syntax of a processor: `cumulate(x, function[, start])`."""
    if issubclass(cls, FileProcessor):
        return f'{cls.keyword}("FILE", x, Name = y)'
    ports = ["x" if port == "in" else port for port in cls.samples()[0].ports]
    needed = [slot.name for slot in slots(cls) if slot.required]
    optional = "".join(f"[, {slot.name}]" for slot in slots(cls) if not slot.required)
    return f"{cls.keyword}({', '.join(ports + needed)}{optional})"


def keyword_argument(cls: type[Processor], e: s.Expression, scope: Evaluator) -> str | None:
    """Return the parameter that `name = value` sets, or None if that is a comparison of streams.

    A constant of the same name, as in `until(x, y, pending = pending)`, is not a stream to compare.
    """
    if isinstance(e, s.Operation) and e.operator == "=" and isinstance(e.operands[0], s.Identifier):
        name = e.operands[0].name
        is_stream = isinstance(scope.scope.get(name), BuiltStream | NamedStreams)
        if not is_stream and any(slot.name == name for slot in slots(cls)):
            return name
    return None


class Reader(Evaluator):
    """An evaluator that also reads the parameters of processors."""

    def fields(self, cls: type[Processor], arguments: tuple[s.Expression, ...], where: Location) -> dict[str, Any]:
        """Return the values of the fields of `cls`; raise LanguageError with the signature where they do not fit."""
        known = {slot.name: slot for slot in slots(cls)}
        order, values = list(known.values()), dict[str, Any]()
        for position, e in enumerate(arguments):
            name = keyword_argument(cls, e, self)
            if name is None and position >= len(order):
                what = f"takes {plural(len(order) or 'no', 'parameter')}, {len(arguments)} given"
                raise self.count_error(cls, what, where)
            slot = known[name] if name else order[position]
            if slot.name in values:
                location = e.parts[0].where if name else e.where
                raise LanguageError(f"'{slot.name}' is given twice", where=location, hint=_write(cls))
            value = e.operands[1] if name and isinstance(e, s.Operation) else e
            values[slot.name] = self._value(cls, slot, value)
        missing = [slot.name for slot in order if slot.required and slot.name not in values]
        if missing:
            raise self.count_error(cls, f"needs '{missing[0]}'", where)
        return values

    def count_error(self, cls: type[Processor], what: str, where: Location) -> LanguageError:
        """Build the error about a wrong number of streams or parameters."""
        return LanguageError(f"'{cls.keyword}' {what}", where=where, hint=_write(cls))

    def _value(self, cls: type[Processor], slot: ParameterSlot, e: s.Expression) -> Any:
        for matches, read in (
            (_holds(slot, Function, TypedFunction), self.function),
            (_holds(slot, Processor, Pipeline), self.inner),
            (_holds(slot, Domain), self.type),
        ):
            if matches:
                return read(f"'{slot}' of {cls.keyword}", e)
        if slot.words and isinstance(e, s.Identifier):
            return self._word(cls, slot, e)
        if isinstance(e, s.Sign):
            raise e.error(f"'{slot}' of {cls.keyword} is not a function", _write(cls))
        return self._constant(cls, slot, e)

    def _word(self, cls: type[Processor], slot: ParameterSlot, e: s.Identifier) -> str:
        if e.name not in slot.words:
            raise e.error(f"'{slot}' of {cls.keyword} cannot be '{e}'", did_you_mean(e.name, sorted(slot.words)))
        return e.name

    def _constant(self, cls: type[Processor], slot: ParameterSlot, e: s.Expression) -> Value:
        kinds = [kind for kind in slot.kinds if kind in _WORDS]
        other = self._no_constant(e)
        value = None if other else self.value(e)
        if other or (kinds and not any(_is(value, kind) for kind in kinds)):
            what = " or ".join(_WORDS[k] for k in kinds) or "a constant"
            raise e.error(f"'{slot}' of {cls.keyword} is {what}, not '{e}'", _write(cls))
        return value

    def _no_constant(self, e: s.Expression) -> bool:
        """Whether an argument is a processor, or the name of one or of a function: a parameter was left out."""
        if isinstance(e, s.Identifier):
            return e.name not in self.scope and e.name not in self.labels and self.is_callable(e.name)
        return isinstance(e, s.Instantiation) or (isinstance(e, s.Call) and e.name not in self.functions)

    def is_callable(self, name: str) -> bool:
        """Whether the name can be called."""
        return name in self.functions

    # --- the kinds that are not constants ----------------------------------------------------------------

    def type(self, what: str, e: s.Expression) -> Domain:
        """Read a type as a parameter."""
        return domain(e, self.value)

    def function(self, what: str, e: s.Expression) -> Function:
        """Read a function as a parameter: its name or sign."""
        name = e.symbol if isinstance(e, s.Sign) else e.name if isinstance(e, s.Identifier) else None
        function = self.functions.get(name) if name else None
        if function is None:
            names = [*evaluate.words(self.functions), *self.scope]
            raise e.error(f"{what} must be a function, and '{e}' is not", self._suggest_function(name or "", names))
        return function

    def _suggest_function(self, name: str, names: list[str]) -> str:
        """Return a hint for where a function is needed; `name` is what was written, empty if that is not a name."""
        if name in FOREIGN_NAMES:
            return FOREIGN_NAMES[name]
        operators = f"functions are + - * div mod = != < <= > >= -> and or not, {', '.join(names)}"
        hint = did_you_mean(name, names, "functions and names are: ") if name else operators
        above = f"write it above: function {name or 'NAME'}(...) = ..."
        return f"{hint} Or {above}" if hint.startswith("did you mean") else f"{above}; {hint}"

    def inner(self, what: str, e: s.Expression) -> Processor:
        """Read a processor as a parameter; a subclass that knows pipelines also reads pipelines."""
        raise e.error(f"{what} is a processor, not '{e}'")


_WORDS = {int: "a whole number", bool: "true or false", float: "a number", str: "a text"}


def _is(value: Value, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _holds(slot: ParameterSlot, *classes: type) -> bool:
    return any(isinstance(kind, type) and issubclass(kind, classes) for kind in slot.kinds)


def _write(cls: type[Processor]) -> str:
    return f"write {signature(cls)}"
