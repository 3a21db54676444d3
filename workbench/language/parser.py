"""The parser of the language of pipelines, from text to tree.

The grammar is `pipe.lark`. Names are not resolved here; only double definitions in one file are refused.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from lark import Token

from workbench.errors import LanguageError, Location
from workbench.extensions import later
from workbench.language import syntax as s
from workbench.language.front import EXPRESSIONS, Dialect, SemanticAction, TreeBuilder, of_type, read
from workbench.language.lalr import Extent, Reduction, Unread
from workbench.language.mistakes import PIPE


def parse_file(text: str, file: str = "<text>") -> s.FileSyntax:
    """Parse the definitions of a `.pipe` file; all mistakes in it are reported at once."""
    tree: s.FileSyntax = read(text, file, LANGUAGE)
    return tree


def parse_expression(text: str, file: str = "<expression>") -> s.Expression:
    """Parse one expression, temporal operators included."""
    tree: s.Expression = read(text, file, LANGUAGE, "formula")
    return tree


def parse_check(text: str, file: str = "<property>") -> s.Check:
    """Parse one property, as written after `check`."""
    tree: s.Check = read(text, file, LANGUAGE, "property")
    return tree


def parse_trouble(text: str, file: str = "<fault>") -> s.FaultSyntax:
    """Parse one fault, as written after `fault`."""
    try:
        tree: s.FaultSyntax = read(text, file, LANGUAGE, "trouble")
    except LanguageError as error:
        hint = error.hint or "write lose y, or delay y by 3 at most 2 when y > 0"
        raise LanguageError(error.what, where=error.where, hint=hint) from None
    return tree


_ROWS: dict[str, SemanticAction] = {
    **EXPRESSIONS,
    "parameters": lambda c, *_: tuple(each for each in c if isinstance(each, s.Parameter)),
    "parameter": lambda c, _, at: s.Parameter(str(c[0]), c[2], where=at(c[0])),
    "port": lambda c, extent, at: s.PortSyntax(str(c[0]), c[1], where=at(extent)),
    "entry": lambda c, extent, at: s.PortSyntax(str(c[0]), c[1], where=at(extent)),
    "output": lambda c, extent, at: s.PortSyntax(c[0] and str(c[0]), c[1], where=at(extent)),
    "variable": lambda c, _, at: s.VariableSyntax(str(c[0]), c[1], c[3], where=at(c[0])),
    "state": lambda c, _, at: s.StateSyntax(str(c[0]), c[1], where=at(c[0])),
    "transition": lambda c, _, at: s.TransitionSyntax(
        str(c[0]), str(c[2]), c[4], _without_none(c[5:]), at(c[2]), where=at(c[0])
    ),
    "use": lambda c, _, at: tuple(s.UsedFunction(str(each), str(c[0])[1:-1], where=at(each)) for each in c[1:]),
    "update": lambda c, _, at: s.UpdateSyntax(str(c[0]), c[2], c[1], where=at(c[0])),
    "result": lambda c, _, at: s.Return(tuple(c[1:]), where=at(c[0])),
    "fault": lambda c, *_: c[1],
    "trouble": lambda c, _, at: s.FaultSyntax(str(c[0]), str(c[1]), *c[3:8:2], where=at(c[0]), location=at(c[1])),
    "check": lambda c, *_: c[0],
    # types
    "plain_type": lambda c, extent, at: s.Identifier(str(c[0]), where=at(extent)),
    "finite_type": lambda c, extent, at: s.FiniteType(str(c[0]), str(c[1]), c[2], where=at(extent)),
    "range_type": lambda c, extent, at: s.RangeType(*c, where=at(extent)),
    "enum_type": lambda c, extent, at: s.EnumType(tuple(map(str, c)), where=at(extent)),
    "map_type": lambda c, extent, at: s.MapType(str(c[0]), c[1], c[2], where=at(extent)),
    "nullable_type": lambda c, extent, at: s.NullableType(s.Identifier(str(c[0]), where=at(extent)), where=at(extent)),
    "tuple_type": lambda c, extent, at: s.TupleOf(tuple(c), where=at(extent)),
    # expressions
    "name": lambda c, extent, at: s.Identifier(str(c[0]), where=at(extent)),
    "sign": lambda c, extent, at: s.Sign(str(c[0]), where=at(extent)),
    "binary_temporal": lambda c, _, at: s.Temporal(str(c[1]), (c[0], c[2]), where=at(c[1])),
    "temporal": lambda c, extent, at: s.Temporal(str(c[0]), (c[1],), where=at(extent)),
    "choice": lambda c, extent, at: s.Operation("if", tuple(c[1:]), where=at(extent)),
    "tuple_of": lambda c, extent, at: s.TupleOf(tuple(c[1:]), where=at(extent)),
    "field": lambda c, _, at: s.Field(c[0], str(c[2]), where=at(c[2])),
    "index": lambda c, extent, at: s.Index(c[0], c[1], where=at(extent)),
    "table": lambda c, _, at: s.TableSyntax(str(c[0]), tuple(c[2:]), where=at(c[0])),
    "call": lambda c, extent, at: s.Call(str(c[0]), _without_none(c[1:]), where=at(extent)),
    "generic_call": lambda c, extent, at: s.Call(str(c[0]), _without_none(c[2:]), c[1], where=at(extent)),
    "instance": lambda c, extent, at: s.Instantiation(str(c[0]), c[1], where=at(extent)),
    "given": lambda c, *_: tuple(each for each in c if isinstance(each, s.ParameterArgument)),
    "value": lambda c, extent, at: s.ParameterArgument(c[0] and str(c[0]), c[2], where=at(extent)),
}
"""Semantic actions of rules (or aliases) that take one line; see `TreeBuilder`."""


class _PipeBuilder(TreeBuilder):
    """The semantic actions of the grammar of pipelines."""

    rows = _ROWS

    def _on_one_line(self, extent: Extent) -> str:
        """Return the source of a construct on one line, without comments."""
        lines = self.text[slice(*extent)].splitlines()
        return " ".join(" ".join(line.split("#")[0] for line in lines).split())

    # --- files ---

    def start(self, items: list[Any], extent: Extent) -> s.FileSyntax:
        pipelines: list[s.PipelineSyntax] = []
        functions: list[s.FunctionSyntax] = []
        tables: list[s.TableSyntax] = []
        used: list[s.UsedFunction] = []
        for item in items:
            if isinstance(item, s.PipelineSyntax):
                pipelines.append(item)
            elif isinstance(item, s.FunctionSyntax):
                functions.append(item)
            elif isinstance(item, s.TableSyntax):
                tables.append(item)
            elif isinstance(item, tuple):
                used += item
            elif not pipelines:
                what = "monitor statement" if isinstance(item, s.MonitorSyntax) else "check"
                hint = "write it inside the braces of a pipeline, or below it"
                self.mistake(f"this {what} is above every pipeline", item.where, hint)
            elif isinstance(item, s.MonitorSyntax):
                last = pipelines[-1]
                pipelines[-1] = dataclasses.replace(last, monitors=(*last.monitors, item))
            else:
                last = pipelines[-1]
                pipelines[-1] = dataclasses.replace(last, checks=(*last.checks, item))
        self._refuse_doubles([*pipelines, *functions, *tables, *used])
        return s.FileSyntax(tuple(pipelines), tuple(functions), tuple(used), tuple(tables))

    def pipeline(self, children: list[Any], extent: Extent) -> s.PipelineSyntax:
        arrow = next(i for i, child in enumerate(children) if _is_arrow(child))
        outputs = [c for c in children[arrow:] if isinstance(c, s.PortSyntax)]
        return self._definition(children, extent, children[2:arrow], outputs)

    def machine(self, children: list[Any], extent: Extent) -> s.PipelineSyntax:
        inputs, outputs = [c for c in children if isinstance(c, s.PortSyntax)], []
        if any(map(_is_arrow, children)):
            outputs = [inputs.pop()]
        kinds = (s.VariableSyntax, s.StateSyntax, s.TransitionSyntax)
        body = s.MachineSyntax(*(of_type(children, kind) for kind in kinds))
        return self._definition(children, extent, inputs, outputs, body)

    def _definition(
        self,
        children: list[Any],
        extent: Extent,
        inputs: list[s.PortSyntax],
        outputs: list[s.PortSyntax],
        machine: s.MachineSyntax | None = None,
    ) -> s.PipelineSyntax:
        name, parameters, *_ = children
        return s.PipelineSyntax(
            str(name), parameters or (), tuple(inputs), tuple(outputs), of_type(children, s.Binding, s.Return),
            of_type(children, s.Check), self.comment_above(extent).strip(), machine=machine,
            capacities=of_type(children, s.CapacitySyntax), faults=of_type(children, s.FaultSyntax),
            contracts=of_type(children, s.ContractSyntax), closing=extent.end - 1, where=self.locate(name),
        )  # fmt: skip

    def binding(self, children: list[Any], extent: Extent) -> s.Binding:
        *names, _, value = children
        return s.Binding(tuple(map(str, names)), tuple(map(self.locate, names)), value, where=self.locate(extent))

    def capacity(self, children: list[Any], extent: Extent) -> s.CapacitySyntax:
        _, queue, equal, size = children
        text = self.text[equal.end_pos : extent.end]
        span = (extent.end - len(text.lstrip()), extent.end)
        return s.CapacitySyntax(str(queue), size, span, where=self.locate(queue))

    def contract(self, children: list[Any], extent: Extent) -> s.ContractSyntax:
        kind, condition = children
        text = self._on_one_line(extent).removeprefix(str(kind)).lstrip()
        return s.ContractSyntax(str(kind), condition, text, where=self.locate(extent))

    def place(self, children: list[Token], extent: Extent) -> Token:
        first: Token = children[0]
        return first.update(value="".join(children))

    def function(self, children: list[Any], extent: Extent) -> s.FunctionSyntax:
        name, *arguments = children[:-2]
        names = tuple(map(str, arguments))
        for i, token in enumerate(arguments):
            if str(token) in names[:i]:
                self.mistake(f"two arguments are called '{token}'", token, "rename one")
        return s.FunctionSyntax(str(name), names, children[-1], where=self.locate(name))

    def monitor(self, children: list[Any], extent: Extent) -> s.MonitorSyntax:
        systems = tuple(str(c)[1:-1] for c in children if isinstance(c, Token) and c.type == "STRING")
        return s.MonitorSyntax(
            systems, of_type(children, s.WireSyntax), of_type(children, s.Check), where=self.locate(children[0])
        )

    def wire(self, children: list[Any], extent: Extent) -> s.WireSyntax:
        tokens = [c for c in children if c is not None]
        name = ".".join(str(c) for c in tokens if c.type == "NAME")
        texts = {a.type: str(b)[1:-1] for a, b in pairwise(tokens) if b.type == "STRING"}
        return s.WireSyntax(name, texts.get("EQUAL"), texts.get("WHEN"), where=self.locate(extent))

    def property(self, children: list[Any], extent: Extent) -> s.Check:
        name, argument = children
        return s.Check(str(name), argument, self._on_one_line(extent), where=self.locate(name))

    def record_type(self, children: list[s.PortSyntax], extent: Extent) -> s.RecordType:
        names = [port.name for port in children]
        for i, port in enumerate(children):
            if port.name in names[:i]:
                self.mistake(f"two fields of this record are called '{port.name}'", port.where, "rename one")
        return s.RecordType(tuple(children), where=self.locate(extent))

    def _refuse_doubles(
        self, definitions: list[s.PipelineSyntax | s.FunctionSyntax | s.TableSyntax | s.UsedFunction]
    ) -> None:
        locations: dict[str, Location] = {}
        for item in sorted(definitions, key=lambda d: d.where.line):
            if item.name in locations:
                what = f"'{item.name}' is defined twice, first in line {locations[item.name].line}"
                self.mistake(what, item.where, "rename one")
            locations.setdefault(item.name, item.where)

    # --- expressions ---

    def integer(self, children: list[Any], extent: Extent) -> s.Literal:
        return s.Literal(self._whole(children[0]), where=self.locate(extent))

    def _whole(self, token: Token) -> int:
        limit = sys.get_int_max_str_digits()
        if limit and len(token) > limit:
            what = f"a whole number has {len(token)} digits; at most {limit} can be read"
            where = self.locate(token)._replace(text="", length=1)  # the line is too long to show
            self.mistake(what, where, "write it as a product, or let Python read more: PYTHONINTMAXSTRDIGITS=0")
            return 0
        return int(token)

    def path(self, children: list[Any], extent: Extent) -> s.Temporal:
        letter, inside = children
        if not isinstance(inside, s.Temporal) or inside.operator != "U":
            hint = f"write {letter}[p U q], or {letter}F, {letter}G, {letter}X without brackets"
            self.mistake(f"{letter}[...] needs an until inside, not '{inside}'", letter, hint)
            return s.Temporal(f"{letter}F", (inside,), where=self.locate(letter))
        return s.Temporal(f"{letter}U", inside.operands, where=self.locate(letter))


def _without_none(children: list[Any]) -> tuple[Any, ...]:
    return tuple(c for c in children if c is not None)


def _is_arrow(child: Any) -> bool:
    return isinstance(child, Token) and child.type == "ARROW"


_NAME = r"[A-Za-z_][A-Za-z0-9_]*"


class _PipeDialect(Dialect):
    """The dialect of pipelines, with hints for a condition in place of a property."""

    def explain(self, text: str, file: str, whole: str, start: str) -> LanguageError:
        """Return the first mistake, with a hint for the property that the line may mean."""
        mistake = super().explain(text, file, whole, start)
        line = getattr(mistake.where, "text", "").partition("#")[0].strip()
        if start != "property" and not line.startswith("check "):
            return mistake
        suggest: Callable[[str], str] = later("workbench.language.properties", "suggest_property")
        return LanguageError(
            mistake.what, where=mistake.where, hint=suggest(line.removeprefix("check ")) or mistake.hint
        )


def is_property(text: str) -> bool:
    """Whether a text can follow `check`."""
    try:
        LANGUAGE.reader.read(text, "property", Reduction)
    except Unread:
        return False
    return True


LANGUAGE = _PipeDialect(
    Path(__file__).with_name("pipe.lark"),
    ("start", "property", "formula", "trouble"),
    _PipeBuilder,
    PIPE,
    rf"(?P<item>pipeline|machine|function|table)\b|(?:return|check|monitor|fault|assume|guarantee|capacity|state|var|use)\b"
    rf"|{_NAME}(?:[ \t]*,[ \t]*{_NAME})*[ \t]*=(?!=)|{_NAME}[ \t]*->",
)
"""The language of pipelines."""
