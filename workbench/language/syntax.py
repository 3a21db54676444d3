"""The tree of a `.pipe` file: frozen dataclasses, each with its location in the text.

One expression type serves streams, functions and properties; the readers of the tree (`elaborate`, `properties`,
and the checkers of `verify`) decide which of its forms are allowed where. `str` of an expression is text that
parses to the same tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from workbench.errors import LanguageError, Location
from workbench.language.unparse import show

NOWHERE = Location()


@dataclass(frozen=True)
class Placed:
    """A part of a text, with its location."""

    where: Location = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    def error(self, what: str, hint: str = "") -> LanguageError:
        """Build an error at this location."""
        return LanguageError(what, where=self.where, hint=hint)


@dataclass(frozen=True)
class Expression(Placed):
    """The base class of all expressions."""

    within: ClassVar[tuple[str, ...]] = ()
    """The names of the fields that contain expressions."""

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The direct subexpressions."""
        fields = [getattr(self, name) for name in self.within]
        return tuple(each for item in fields for each in (item if isinstance(item, tuple) else (item,)))

    def __str__(self) -> str:
        return show(self)


def is_short(expression: Expression, levels: int = 4) -> bool:
    """Whether an expression has few levels, so that a message can show it."""
    return levels > 0 and all(is_short(part, levels - 1) for part in expression.parts)


def walk(e: Expression) -> Iterator[Expression]:
    """Yield an expression and all its subexpressions, outermost first."""
    todo = [e]
    while todo:
        expression = todo.pop()
        yield expression
        if expression.within:
            todo += reversed(expression.parts)


@dataclass(frozen=True)
class Literal(Expression):
    """A number, truth value or text."""

    value: Any


@dataclass(frozen=True)
class Identifier(Expression):
    """The name of a stream, parameter, function, processor, pipeline or label, or of a pipe in a property."""

    name: str


@dataclass(frozen=True)
class Field(Expression):
    """`value.name`: a field of a tuple or record; in a property also `y.present`, `g.add.present`."""

    within: ClassVar[tuple[str, ...]] = ("value",)
    value: Expression
    name: str


@dataclass(frozen=True)
class Index(Expression):
    """`value[index]`: an entry of a constant table, or an item of an array."""

    within: ClassVar[tuple[str, ...]] = ("value", "index")
    value: Expression
    index: Expression


@dataclass(frozen=True)
class ItemUpdate(Expression):
    """The array `array` with another value at an index."""

    within: ClassVar[tuple[str, ...]] = ("array", "index", "value")
    array: Expression
    index: Expression
    value: Expression


@dataclass(frozen=True)
class AppliedOperator(Expression):
    """An operator applied to its operands."""

    within: ClassVar[tuple[str, ...]] = ("operands",)
    operator: str
    operands: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.operands


class Operation(AppliedOperator):
    """An operator of `core.function.LIBRARY`: `+`, `neg`, `not`, `->`, `if`, ..."""


class Temporal(AppliedOperator):
    """A temporal operator: AG AF AX EG EF EX AU EU (CTL), G F X U R (LTL)."""


@dataclass(frozen=True)
class TupleOf(Expression):
    """`(a, b)`: a tuple of the values of its items; as a type, the tuple type."""

    within: ClassVar[tuple[str, ...]] = ("items",)
    items: tuple[Expression, ...]


@dataclass(frozen=True)
class ParameterArgument(Expression):
    """A value for a parameter, `k = 3` or `3`, between the angle brackets of a call."""

    within: ClassVar[tuple[str, ...]] = ("value",)
    name: str | None
    value: Expression


@dataclass(frozen=True)
class Call(Expression):
    """`name<given>(arguments)`."""

    within: ClassVar[tuple[str, ...]] = ("arguments",)
    name: str
    arguments: tuple[Expression, ...]
    parameters: tuple[ParameterArgument, ...] = ()

    @property
    def name_place(self) -> Location:
        """The location of the name alone."""
        return self.where._replace(length=len(self.name))


@dataclass(frozen=True)
class Instantiation(Expression):
    """`name<given>`: a pipeline with parameters, named but not applied."""

    name: str
    parameters: tuple[ParameterArgument, ...]


@dataclass(frozen=True)
class Sign(Expression):
    """An operator used as a function, as in `cumulate(x, +)`."""

    symbol: str


# --- types, which are expressions too: cast(x, int mod 5) -----------------------------------------------


@dataclass(frozen=True)
class FiniteType(Expression):
    """`int mod 5`, `int sat 5`, `int checked 5`."""

    base: str
    kind: str
    bound: Expression


@dataclass(frozen=True)
class RangeType(Expression):
    """`0..7`."""

    lo: Expression
    hi: Expression


@dataclass(frozen=True)
class EnumType(Expression):
    """`{red, green}`."""

    labels: tuple[str, ...]


@dataclass(frozen=True)
class PortSyntax(Expression):
    """`name: type`: an input, an output (its name may be left out) or a field of a record."""

    name: str | None
    type: Expression


@dataclass(frozen=True)
class RecordType(Expression):
    """`{price: int, sold: bool}`; with values in place of the types, a record of them."""

    within: ClassVar[tuple[str, ...]] = ("ports",)
    ports: tuple[PortSyntax, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return tuple(port.type for port in self.ports)


@dataclass(frozen=True)
class MapType(Expression):
    """`map(int, bool)`: maps from keys to values."""

    within: ClassVar[tuple[str, ...]] = ("key", "value")
    base: str
    key: Expression
    value: Expression


@dataclass(frozen=True)
class NullableType(Expression):
    """`int?`: the values of a type, and null."""

    within: ClassVar[tuple[str, ...]] = ("of",)
    of: Expression


# --- statements and definitions -------------------------------------------------------------------------


@dataclass(frozen=True)
class Binding(Placed):
    """`name, ... = expression`."""

    names: tuple[str, ...]
    locations: tuple[Location, ...]
    value: Expression

    @property
    def values(self) -> tuple[Expression, ...]:
        """The bound expression, as a tuple like that of a return."""
        return (self.value,)


@dataclass(frozen=True)
class Return(Placed):
    """`return expression, ...`."""

    values: tuple[Expression, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it binds: none."""
        return ()


@dataclass(frozen=True)
class Check(Placed):
    """`check property(argument)`, before its name and argument are resolved."""

    name: str
    argument: Expression | None
    text: str


@dataclass(frozen=True)
class WireSyntax(Placed):
    """`input = "EXPRESSION" when "CONDITION"` in a monitor statement; either part may be missing."""

    input: str
    expression: str | None
    condition: str | None


@dataclass(frozen=True)
class MonitorSyntax(Placed):
    """`monitor "SYSTEM.smv", ... { wires and checks }`: the SMV systems that the pipeline above watches."""

    systems: tuple[str, ...]
    wires: tuple[WireSyntax, ...]
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class CapacitySyntax(Placed):
    """`capacity queue(add.left) = 3`: the maximum number of events in a queue of the running pipeline."""

    queue: str
    size: Expression
    span: tuple[int, int] = field(default=(0, 0), compare=False, repr=False)
    """The span of the size in the text: the offsets of its first character and after its last."""

    def __str__(self) -> str:
        return f"capacity queue({self.queue}) = {self.size}"


@dataclass(frozen=True)
class FaultSyntax(Placed):
    """`fault delay y by 3 at most 2 when y > 0`: a fault of the events on a pipe."""

    kind: str
    pipe: str
    by: Expression | None = None
    at_most: Expression | None = None
    when: Expression | None = None
    location: Location = field(default=NOWHERE, compare=False, repr=False, kw_only=True)
    """The location of the pipe's name."""

    def __str__(self) -> str:
        parts = (("by", self.by), ("at most", self.at_most), ("when", self.when))
        return " ".join(
            ["fault", self.kind, self.pipe, *(f"{word} {part}" for word, part in parts if part is not None)]
        )


@dataclass(frozen=True)
class ContractSyntax(Placed):
    """`assume x <= 100`, `guarantee out >= 0`: a condition on the inputs of a pipeline, or on its outputs, too."""

    kind: str
    condition: Expression
    text: str


@dataclass(frozen=True)
class Parameter(Placed):
    """`k = 3` in the head of a pipeline; without a default the caller has to give a value."""

    name: str
    default: Expression | None

    def __str__(self) -> str:
        return self.name if self.default is None else f"{self.name} = {self.default}"


@dataclass(frozen=True)
class VariableSyntax(Placed):
    """`var last: int = 0` in a machine; a map has no start value: it begins empty."""

    name: str
    type: Expression
    start: Expression | None


@dataclass(frozen=True)
class StateSyntax(Placed):
    """`state open: true` in a machine, with its output."""

    name: str
    output: Expression | None


@dataclass(frozen=True)
class UpdateSyntax(Placed):
    """`last := e.amount` in a transition; `ring[i] := e.amount` for an item of an array."""

    name: str
    value: Expression
    index: Expression | None = None


@dataclass(frozen=True)
class TransitionSyntax(Placed):
    """`idle -> open when e.kind = create / last := 0`."""

    source: str
    target: str
    guard: Expression | None
    updates: tuple[UpdateSyntax, ...]
    target_at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class MachineSyntax:
    """The body of a machine."""

    variables: tuple[VariableSyntax, ...]
    states: tuple[StateSyntax, ...]
    transitions: tuple[TransitionSyntax, ...]


@dataclass(frozen=True)
class PipelineSyntax(Placed):
    """A pipeline as written; a machine is one whose statements are its states and transitions."""

    name: str
    parameters: tuple[Parameter, ...]
    inputs: tuple[PortSyntax, ...]
    outputs: tuple[PortSyntax, ...]
    statements: tuple[Binding | Return, ...]
    checks: tuple[Check, ...]
    doc: str
    monitors: tuple[MonitorSyntax, ...] = ()
    capacities: tuple[CapacitySyntax, ...] = ()
    faults: tuple[FaultSyntax, ...] = ()
    contracts: tuple[ContractSyntax, ...] = ()
    closing: int = field(default=0, compare=False, repr=False)
    """The offset of the closing brace in the text."""
    machine: MachineSyntax | None = None

    @property
    def variables(self) -> tuple[VariableSyntax, ...]:
        """The variables of a machine."""
        return self.machine.variables if self.machine is not None else ()

    @property
    def signature(self) -> str:
        """The call syntax of the pipeline: `window_sum<k = 3>(x: int)`."""
        parameters = f"<{', '.join(map(str, self.parameters))}>" if self.parameters else ""
        return f"{self.name}{parameters}({', '.join(map(str, self.inputs))})"


@dataclass(frozen=True)
class FunctionSyntax(Placed):
    """`function name(v, ...) = expression`."""

    name: str
    arguments: tuple[str, ...]
    body: Expression


@dataclass(frozen=True)
class TableSyntax(Placed):
    """`table name = [1, 2, 4]`: numbers that are read by their position."""

    name: str
    entries: tuple[Expression, ...]


@dataclass(frozen=True)
class UsedFunction(Placed):
    """A function of a Python file: `use "FILE": name`."""

    name: str
    file: str


@dataclass(frozen=True)
class FileSyntax:
    """A whole file: definitions by name, in the order they are written."""

    pipelines: tuple[PipelineSyntax, ...]
    functions: tuple[FunctionSyntax, ...]
    used: tuple[UsedFunction, ...] = ()
    tables: tuple[TableSyntax, ...] = ()


@dataclass(frozen=True)
class PipelineReference(Placed):
    """A pipeline that a property names, with values for its parameters: `equivalent(other<k = 3>)`.

    A parameter that is given by its position has an empty name.
    """

    name: str
    params: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        params = ", ".join(f"{name} = {value}" if name else str(value) for name, value in self.params)
        return f"{self.name}<{params}>" if params else self.name


@dataclass(frozen=True)
class PropertySyntax(Placed):
    """A property: its name, its argument, its text on one line, and where it was written.

    The argument is None, an int (`bounded-liveness(3)`), an expression (`always`, `ctl`, `ltl`) or a pipeline
    (`equivalent`, `stepwise-equivalent`), as `properties.PROPERTIES` says.
    """

    name: str
    argument: int | Expression | PipelineReference | None
    text: str

    def __str__(self) -> str:
        return self.text
