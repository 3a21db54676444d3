"""From text to tree.

The grammar is `pipe.lark`; what it cannot read is explained by `mistakes`. Nothing is looked up here,
except that a name is not defined twice in one file.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from lark import Token, UnexpectedInput, v_args
from lark.exceptions import VisitError
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from workbench.errors import LanguageError, Location
from workbench.language import syntax as s
from workbench.language.depth import make_room, refuse_brackets, refuse_depth
from workbench.language.findings import Findings
from workbench.language.grammar import grammar
from workbench.language.mistakes import explain
from workbench.language.quick import parsed


def read(text: str, file: str, start: str) -> Any:
    """The tree of `text` as the grammar's `start`; LanguageError where it cannot be read."""
    make_room()
    refuse_brackets(text, file)
    try:
        tree = parsed(grammar(), text, start)
    except UnexpectedInput as error:
        if start == "start":
            from workbench.language.recovery import mistakes

            raise mistakes(error, text, file) from None
        raise explain(error, text, file) from None
    findings = Findings()
    builder = _Builder(text, file, findings)
    refuse_depth(tree, builder._place)
    try:
        made = builder.transform(tree)
    except VisitError as error:  # lark's wrapper around what the builder raised
        raise error.orig_exc from None
    findings.refuse()
    return made


def parse_file(text: str, file: str = "<text>") -> s.FileSyntax:
    """The definitions of a `.pipe` file; all mistakes in it are told at once."""
    tree: s.FileSyntax = read(text, file, "start")
    return tree


def parse_expression(text: str, file: str = "<expression>") -> s.Expression:
    """One expression, temporal operators included."""
    tree: s.Expression = read(text, file, "formula")
    return tree


def parse_check(text: str, file: str = "<property>") -> s.Check:
    """One property, as it stands after `check`."""
    tree: s.Check = read(text, file, "property")
    return tree


def parse_trouble(text: str, file: str = "<fault>") -> s.FaultSyntax:
    """One fault, as it stands after `fault`."""
    try:
        tree: s.FaultSyntax = read(text, file, "trouble")
    except LanguageError as error:
        hint = error.hint or "write lose y, or delay y by 3 at most 2 when y > 0"
        raise LanguageError(error.what, where=error.where, hint=hint) from None
    return tree


_SPELLINGS = {"&": "and", "|": "or", "!": "not"}


@v_args(meta=True)
class _Builder(Transformer_NonRecursive[Token, Any]):
    """What rules of the grammar stand for: a row of `_RULES`, or a method for what takes more than a line."""

    def __init__(self, text: str, file: str, findings: Findings) -> None:
        super().__init__()
        self._text, self._file, self._findings = text, file, findings
        self._lines = text.splitlines()

    def __default__(self, data: Token, children: list[Any], meta: Meta) -> Any:
        return _RULES[data](children, meta, self._place)

    def _place(self, item: Token | Meta) -> Location:
        line, column = item.line or 1, item.column or 1
        shown = self._lines[line - 1] if line <= len(self._lines) else ""
        end = (item.end_column or column) if item.end_line == line else len(shown.split("#")[0].rstrip()) + 1
        return Location(self._file, line, column, shown, max(1, end - column))

    def _called(self, meta: Meta, start: int) -> str:
        """The source of a construct on one line, comments left out."""
        lines = self._text[start : meta.end_pos].splitlines()
        return " ".join(" ".join(line.split("#")[0] for line in lines).split())

    # --- files ---

    def start(self, meta: Meta, items: list[Any]) -> s.FileSyntax:
        pipelines: list[s.PipelineSyntax] = []
        functions: list[s.FunctionSyntax] = []
        for item in items:
            if isinstance(item, s.PipelineSyntax):
                pipelines.append(item)
            elif isinstance(item, s.FunctionSyntax):
                functions.append(item)
            elif not pipelines:
                what = "monitor statement" if isinstance(item, s.MonitorSyntax) else "check"
                error = LanguageError(
                    f"this {what} stands above every pipeline",
                    where=item.where,
                    hint="write it inside the braces of a pipeline, or below it",
                )
                self._findings.add(error)
            elif isinstance(item, s.MonitorSyntax):
                last = pipelines[-1]
                pipelines[-1] = dataclasses.replace(last, monitors=(*last.monitors, item))
            else:
                last = pipelines[-1]
                pipelines[-1] = dataclasses.replace(last, checks=(*last.checks, item))
        self._once([*pipelines, *functions])
        return s.FileSyntax(tuple(pipelines), tuple(functions))

    def pipeline(self, meta: Meta, children: list[Any]) -> s.PipelineSyntax:
        arrow = next(i for i, child in enumerate(children) if _is_arrow(child))
        outputs = [c for c in children[arrow:] if isinstance(c, s.PortSyntax)]
        return self._definition(meta, children, children[2:arrow], outputs)

    def machine(self, meta: Meta, children: list[Any]) -> s.PipelineSyntax:
        inputs, outputs = [c for c in children if isinstance(c, s.PortSyntax)], []
        if any(map(_is_arrow, children)):
            outputs = [inputs.pop()]
        kinds = (s.VariableSyntax, s.StateSyntax, s.TransitionSyntax)
        body = s.MachineSyntax(*(_of(children, kind) for kind in kinds))
        return self._definition(meta, children, inputs, outputs, body)

    def _definition(
        self,
        meta: Meta,
        children: list[Any],
        inputs: list[s.PortSyntax],
        outputs: list[s.PortSyntax],
        machine: s.MachineSyntax | None = None,
    ) -> s.PipelineSyntax:
        name, parameters, *_ = children
        return s.PipelineSyntax(
            str(name), parameters or (), tuple(inputs), tuple(outputs), _of(children, s.Binding, s.Return),
            _of(children, s.Check), self._comment_above(meta.line), capacities=_of(children, s.CapacitySyntax),
            faults=_of(children, s.FaultSyntax), closing=meta.end_pos - 1, machine=machine, where=self._place(name),
        )  # fmt: skip

    def _comment_above(self, line: int) -> str:
        """The block of `#` lines right above a line."""
        block: list[str] = []
        for text in reversed(self._lines[: line - 1]):
            if not text.lstrip().startswith("#"):
                break
            block.append(text.strip().removeprefix("#").removeprefix(" "))
        return "\n".join(reversed(block)).strip()

    def binding(self, meta: Meta, children: list[Any]) -> s.Binding:
        names = [c for c in children[:-1] if c.type == "NAME"]
        return s.Binding(tuple(map(str, names)), tuple(map(self._place, names)), children[-1], where=self._place(meta))

    def capacity(self, meta: Meta, children: list[Any]) -> s.CapacitySyntax:
        _, queue, equal, size = children
        text = self._text[equal.end_pos : meta.end_pos]
        span = (meta.end_pos - len(text.lstrip()), meta.end_pos)
        return s.CapacitySyntax(str(queue), size, span, where=self._place(queue))

    def place(self, meta: Meta, children: list[Token]) -> Token:
        first: Token = children[0]
        return first.update(value="".join(children))

    def function(self, meta: Meta, children: list[Any]) -> s.FunctionSyntax:
        name, *arguments = children[:-2]
        names = tuple(map(str, arguments))
        for i, token in enumerate(arguments):
            if str(token) in names[:i]:
                what = f"two arguments are called '{token}'"
                self._findings.add(LanguageError(what, where=self._place(token), hint="rename one"))
        return s.FunctionSyntax(str(name), names, children[-1], where=self._place(name))

    def monitor(self, meta: Meta, children: list[Any]) -> s.MonitorSyntax:
        systems = tuple(str(c)[1:-1] for c in children if isinstance(c, Token) and c.type == "STRING")
        return s.MonitorSyntax(
            systems, _of(children, s.WireSyntax), _of(children, s.Check), where=self._place(children[0])
        )

    def wire(self, meta: Meta, children: list[Any]) -> s.WireSyntax:
        tokens = [c for c in children if c is not None]
        name = ".".join(str(c) for c in tokens if c.type == "NAME")
        texts = {a.type: str(b)[1:-1] for a, b in pairwise(tokens) if b.type == "STRING"}
        return s.WireSyntax(name, texts.get("EQUAL"), texts.get("WHEN"), where=self._place(meta))

    def property(self, meta: Meta, children: list[Any]) -> s.Check:
        name, argument = children
        return s.Check(str(name), argument, self._called(meta, meta.start_pos), where=self._place(name))

    def _once(self, definitions: list[s.PipelineSyntax | s.FunctionSyntax]) -> None:
        seen: dict[str, Location] = {}
        for item in sorted(definitions, key=lambda d: d.where.line):
            if item.name in seen:
                what = f"'{item.name}' is defined twice, first in line {seen[item.name].line}"
                self._findings.add(LanguageError(what, where=item.where, hint="rename one"))
            seen.setdefault(item.name, item.where)

    # --- expressions ---

    def integer(self, meta: Meta, children: list[Any]) -> s.Literal:
        return s.Literal(self._whole(children[0]), where=self._place(meta))

    def _whole(self, token: Token) -> int:
        most = sys.get_int_max_str_digits()
        if most and len(token) > most:
            where = self._place(token)
            raise LanguageError(
                f"a whole number of {len(token)} digits; at most {most} can be read",
                where=Location(where.file, where.line, where.column),  # no line: it is too long to be shown
                hint="write it as a product, or let Python read more: PYTHONINTMAXSTRDIGITS=0",
            )
        return int(token)

    def negative(self, meta: Meta, children: list[Any]) -> s.Operation:
        inner = s.Literal(self._whole(children[1]), where=self._place(children[1]))
        return s.Operation("neg", (inner,), where=self._place(meta))

    def path(self, meta: Meta, children: list[Any]) -> s.Temporal:
        letter, inside = children
        if not isinstance(inside, s.Temporal) or inside.operator != "U":
            place = self._place(letter)
            error = LanguageError(
                f"{letter}[...] needs an until inside, not '{inside}'",
                where=place,
                hint=f"write {letter}[p U q], or {letter}F, {letter}G, {letter}X without brackets",
            )
            self._findings.add(error)
            return s.Temporal(f"{letter}F", (inside,), where=place)
        return s.Temporal(f"{letter}U", inside.operands, where=self._place(letter))


_At = Callable[[Token | Meta], Location]
_RULES: dict[str, Callable[[list[Any], Meta, _At], Any]] = {
    "parameters": lambda c, *_: tuple(each for each in c if isinstance(each, s.Parameter)),
    "parameter": lambda c, _, at: s.Parameter(str(c[0]), c[2], where=at(c[0])),
    "port": lambda c, meta, at: s.PortSyntax(str(c[0]), c[1], where=at(meta)),
    "output": lambda c, meta, at: s.PortSyntax(_name(c[0]), c[1], where=at(meta)),
    "variable": lambda c, _, at: s.VariableSyntax(str(c[0]), c[1], c[3], where=at(c[0])),
    "state": lambda c, _, at: s.StateSyntax(str(c[0]), c[1], where=at(c[0])),
    "transition": lambda c, _, at: s.TransitionSyntax(str(c[0]), str(c[2]), c[4], _present(c[5:]), where=at(c[0])),
    "update": lambda c, _, at: s.UpdateSyntax(str(c[0]), c[1], where=at(c[0])),
    "result": lambda c, _, at: s.Return(tuple(c[1:]), where=at(c[0])),
    "fault": lambda c, *_: c[1],
    "trouble": lambda c, _, at: s.FaultSyntax(str(c[0]), str(c[1]), *c[3:8:2], where=at(c[0]), place=at(c[1])),
    "check": lambda c, *_: c[0],
    # types
    "plain_type": lambda c, meta, at: s.Identifier(str(c[0]), where=at(meta)),
    "finite_type": lambda c, meta, at: s.FiniteType(str(c[0]), str(c[1]), c[2], where=at(meta)),
    "range_type": lambda c, meta, at: s.RangeType(*c, where=at(meta)),
    "enum_type": lambda c, meta, at: s.EnumType(tuple(map(str, c)), where=at(meta)),
    "record_type": lambda c, meta, at: s.RecordType(tuple(c), where=at(meta)),
    "map_type": lambda c, meta, at: s.MapType(str(c[0]), c[1], c[2], where=at(meta)),
    "nullable_type": lambda c, meta, at: s.NullableType(s.Identifier(str(c[0]), where=at(meta)), where=at(meta)),
    "tuple_type": lambda c, meta, at: s.TupleOf(tuple(c), where=at(meta)),
    # expressions
    "real": lambda c, meta, at: s.Literal(float(c[0]), where=at(meta)),
    "string": lambda c, meta, at: s.Literal(str(c[0])[1:-1], where=at(meta)),
    "true": lambda _, meta, at: s.Literal(True, where=at(meta)),
    "false": lambda _, meta, at: s.Literal(False, where=at(meta)),
    "name": lambda c, meta, at: s.Identifier(str(c[0]), where=at(meta)),
    "sign": lambda c, meta, at: s.Sign(str(c[0]), where=at(meta)),
    "binary": lambda c, _, at: s.Operation(_SPELLINGS.get(str(c[1]), str(c[1])), (c[0], c[2]), where=at(c[1])),
    "binary_temporal": lambda c, _, at: s.Temporal(str(c[1]), (c[0], c[2]), where=at(c[1])),
    "prefix": lambda c, meta, at: s.Operation("neg" if c[0].type == "MINUS" else "not", (c[1],), where=at(meta)),
    "temporal": lambda c, meta, at: s.Temporal(str(c[0]), (c[1],), where=at(meta)),
    "choice": lambda c, meta, at: s.Operation("if", tuple(c[1:]), where=at(meta)),
    "tuple_of": lambda c, meta, at: s.TupleOf(tuple(c[1:]), where=at(meta)),
    "field": lambda c, _, at: s.Field(c[0], str(c[2]), where=at(c[2])),
    "call": lambda c, meta, at: s.Call(str(c[0]), _present(c[1:]), where=at(meta)),
    "generic_call": lambda c, meta, at: s.Call(str(c[0]), _present(c[2:]), c[1], where=at(meta)),
    "instance": lambda c, meta, at: s.Instantiation(str(c[0]), c[1], where=at(meta)),
    "given": lambda c, *_: tuple(each for each in c if isinstance(each, s.Given)),
    "value": lambda c, meta, at: s.Given(_name(c[0]), c[2], where=at(meta)),
}
"""What a rule (or alias) of the grammar stands for: of its children, its own place, and what tells the place of any."""


def _name(token: Token | None) -> str | None:
    return None if token is None else str(token)


def _present(children: list[Any]) -> tuple[Any, ...]:
    return tuple(c for c in children if c is not None)


def _of(children: list[Any], *kinds: type) -> tuple[Any, ...]:
    return tuple(c for c in children if isinstance(c, kinds))


def _is_arrow(child: Any) -> bool:
    return isinstance(child, Token) and child.type == "ARROW"
