"""From text to tree.

The grammar is `pipe.lark`; what it cannot read is explained by `mistakes`. Nothing is looked up here,
except that a name is not defined twice in one file.
"""

from __future__ import annotations

import dataclasses
import sys
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


def read(text: str, file: str, start: str) -> Any:
    """The tree of `text` as the grammar's `start`; LanguageError where it cannot be read."""
    make_room()
    refuse_brackets(text, file)
    try:
        tree = grammar().parse(text, start=start)
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
    """One method per rule (or alias) of the grammar."""

    def __init__(self, text: str, file: str, findings: Findings) -> None:
        super().__init__()
        self._text, self._file, self._findings = text, file, findings
        self._lines = text.splitlines()

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
                pipelines[-1] = _with_check(last, item)
        self._once([*pipelines, *functions])
        return s.FileSyntax(tuple(pipelines), tuple(functions))

    def pipeline(self, meta: Meta, children: list[Any]) -> s.PipelineSyntax:
        name, parameters, *rest = children
        arrow = next(i for i, child in enumerate(rest) if isinstance(child, Token))
        inputs = tuple(rest[:arrow])
        outputs = tuple(c for c in rest[arrow:] if isinstance(c, s.PortSyntax))
        body = tuple(c for c in rest[arrow:] if isinstance(c, s.Binding | s.Return))
        checks = tuple(c for c in rest[arrow:] if isinstance(c, s.Check))
        sizes = tuple(c for c in rest[arrow:] if isinstance(c, s.CapacitySyntax))
        faults = tuple(c for c in rest[arrow:] if isinstance(c, s.FaultSyntax))
        doc, where, closing = self._comment_above(meta.line), self._place(name), meta.end_pos - 1
        return s.PipelineSyntax(
            str(name), parameters or (), inputs, outputs, body, checks, doc, where,
            capacities=sizes, faults=faults, closing=closing,
        )  # fmt: skip

    def machine(self, meta: Meta, children: list[Any]) -> s.PipelineSyntax:
        name, parameters, *rest = (child for child in children if not _is_arrow(child))
        state = next((i for i, c in enumerate(rest) if not isinstance(c, s.PortSyntax)), len(rest))
        arrow = any(map(_is_arrow, children))
        inputs, outputs = (rest[: state - 1], rest[state - 1 : state]) if arrow else (rest[:state], [])
        body = s.MachineSyntax(
            tuple(c for c in rest if isinstance(c, s.VariableSyntax)),
            tuple(c for c in rest if isinstance(c, s.StateSyntax)),
            tuple(c for c in rest if isinstance(c, s.TransitionSyntax)),
        )
        return s.PipelineSyntax(
            str(name),
            parameters or (),
            tuple(inputs),
            tuple(outputs),
            (),
            tuple(c for c in rest if isinstance(c, s.Check)),
            self._comment_above(meta.line),
            self._place(name),
            capacities=tuple(c for c in rest if isinstance(c, s.CapacitySyntax)),
            closing=meta.end_pos - 1,
            machine=body,
        )

    def variable(self, meta: Meta, children: list[Any]) -> s.VariableSyntax:
        name, kind, _, start = children
        return s.VariableSyntax(str(name), kind, start, self._place(name))

    def state(self, meta: Meta, children: list[Any]) -> s.StateSyntax:
        name, output = children
        return s.StateSyntax(str(name), output, self._place(name))

    def transition(self, meta: Meta, children: list[Any]) -> s.TransitionSyntax:
        source, _, target, _, guard, *updates = children
        found = tuple(update for update in updates if update is not None)
        return s.TransitionSyntax(str(source), str(target), guard, found, self._place(source))

    def update(self, meta: Meta, children: list[Any]) -> s.UpdateSyntax:
        name, value = children
        return s.UpdateSyntax(str(name), value, self._place(name))

    def _comment_above(self, line: int) -> str:
        """The block of `#` lines right above a line."""
        block: list[str] = []
        for text in reversed(self._lines[: line - 1]):
            if not text.lstrip().startswith("#"):
                break
            block.append(text.strip().removeprefix("#").removeprefix(" "))
        return "\n".join(reversed(block)).strip()

    def parameters(self, meta: Meta, children: list[Any]) -> tuple[s.Parameter, ...]:
        return tuple(c for c in children if isinstance(c, s.Parameter))

    def parameter(self, meta: Meta, children: list[Any]) -> s.Parameter:
        return s.Parameter(str(children[0]), children[2], self._place(children[0]))

    def port(self, meta: Meta, children: list[Any]) -> s.PortSyntax:
        return s.PortSyntax(str(children[0]), children[1], where=self._place(meta))

    def output(self, meta: Meta, children: list[Any]) -> s.PortSyntax:
        name = None if children[0] is None else str(children[0])
        return s.PortSyntax(name, children[1], where=self._place(meta))

    def binding(self, meta: Meta, children: list[Any]) -> s.Binding:
        names = [c for c in children[:-1] if c.type == "NAME"]
        return s.Binding(tuple(map(str, names)), tuple(map(self._place, names)), children[-1], self._place(meta))

    def result(self, meta: Meta, children: list[Any]) -> s.Return:
        return s.Return(tuple(children[1:]), self._place(children[0]))

    def capacity(self, meta: Meta, children: list[Any]) -> s.CapacitySyntax:
        _, queue, equal, size = children
        text = self._text[equal.end_pos : meta.end_pos]
        span = (meta.end_pos - len(text.lstrip()), meta.end_pos)
        return s.CapacitySyntax(str(queue), size, span, self._place(queue))

    def place(self, meta: Meta, children: list[Token]) -> Token:
        first: Token = children[0]
        return first.update(value="".join(children))

    def fault(self, meta: Meta, children: list[Any]) -> s.FaultSyntax:
        found: s.FaultSyntax = children[1]
        return found

    def trouble(self, meta: Meta, children: list[Any]) -> s.FaultSyntax:
        kind, pipe, _, by, _, most, _, when = children
        return s.FaultSyntax(str(kind), str(pipe), by, most, when, self._place(kind), self._place(pipe))

    def function(self, meta: Meta, children: list[Any]) -> s.FunctionSyntax:
        name, *arguments = children[:-2]
        names = tuple(map(str, arguments))
        for i, token in enumerate(arguments):
            if str(token) in names[:i]:
                what = f"two arguments are called '{token}'"
                self._findings.add(LanguageError(what, where=self._place(token), hint="rename one"))
        return s.FunctionSyntax(str(name), names, children[-1], self._place(name))

    def check(self, meta: Meta, children: list[Any]) -> s.Check:
        found: s.Check = children[0]
        return found

    def monitor(self, meta: Meta, children: list[Any]) -> s.MonitorSyntax:
        systems = tuple(str(c)[1:-1] for c in children if isinstance(c, Token) and c.type == "STRING")
        wires = tuple(c for c in children if isinstance(c, s.WireSyntax))
        checks = tuple(c for c in children if isinstance(c, s.Check))
        return s.MonitorSyntax(systems, wires, checks, self._place(children[0]))

    def wire(self, meta: Meta, children: list[Any]) -> s.WireSyntax:
        tokens = [c for c in children if c is not None]
        name = ".".join(str(c) for c in tokens if c.type == "NAME")
        texts = {a.type: str(b)[1:-1] for a, b in pairwise(tokens) if b.type == "STRING"}
        return s.WireSyntax(name, texts.get("EQUAL"), texts.get("WHEN"), self._place(meta))

    def property(self, meta: Meta, children: list[Any]) -> s.Check:
        name, argument = children
        return s.Check(str(name), argument, self._called(meta, meta.start_pos), self._place(name))

    def _once(self, definitions: list[s.PipelineSyntax | s.FunctionSyntax]) -> None:
        seen: dict[str, Location] = {}
        for item in sorted(definitions, key=lambda d: d.where.line):
            if item.name in seen:
                what = f"'{item.name}' is defined twice, first in line {seen[item.name].line}"
                self._findings.add(LanguageError(what, where=item.where, hint="rename one"))
            seen.setdefault(item.name, item.where)

    # --- types ---

    def plain_type(self, meta: Meta, children: list[Any]) -> s.Identifier:
        return s.Identifier(str(children[0]), where=self._place(meta))

    def finite_type(self, meta: Meta, children: list[Any]) -> s.FiniteType:
        base, kind, bound = children
        return s.FiniteType(str(base), str(kind), bound, where=self._place(meta))

    def range_type(self, meta: Meta, children: list[Any]) -> s.RangeType:
        return s.RangeType(*children, where=self._place(meta))

    def enum_type(self, meta: Meta, children: list[Any]) -> s.EnumType:
        return s.EnumType(tuple(map(str, children)), where=self._place(meta))

    def record_type(self, meta: Meta, children: list[Any]) -> s.RecordType:
        return s.RecordType(tuple(children), where=self._place(meta))

    def map_type(self, meta: Meta, children: list[Any]) -> s.MapType:
        base, key, value = children
        return s.MapType(str(base), key, value, where=self._place(meta))

    def tuple_type(self, meta: Meta, children: list[Any]) -> s.TupleOf:
        return s.TupleOf(tuple(children), where=self._place(meta))

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

    def real(self, meta: Meta, children: list[Any]) -> s.Literal:
        return s.Literal(float(children[0]), where=self._place(meta))

    def string(self, meta: Meta, children: list[Any]) -> s.Literal:
        return s.Literal(str(children[0])[1:-1], where=self._place(meta))

    def true(self, meta: Meta, children: list[Any]) -> s.Literal:
        return s.Literal(True, where=self._place(meta))

    def false(self, meta: Meta, children: list[Any]) -> s.Literal:
        return s.Literal(False, where=self._place(meta))

    def name(self, meta: Meta, children: list[Any]) -> s.Identifier:
        return s.Identifier(str(children[0]), where=self._place(meta))

    def sign(self, meta: Meta, children: list[Any]) -> s.Sign:
        return s.Sign(str(children[0]), where=self._place(meta))

    def binary(self, meta: Meta, children: list[Any]) -> s.Operation:
        left, sign, right = children
        word = _SPELLINGS.get(str(sign), str(sign))
        return s.Operation(word, (left, right), where=self._place(sign))

    def binary_temporal(self, meta: Meta, children: list[Any]) -> s.Temporal:
        left, sign, right = children
        return s.Temporal(str(sign), (left, right), where=self._place(sign))

    def prefix(self, meta: Meta, children: list[Any]) -> s.Operation:
        word = "neg" if children[0].type == "MINUS" else "not"
        return s.Operation(word, (children[1],), where=self._place(meta))

    def temporal(self, meta: Meta, children: list[Any]) -> s.Temporal:
        return s.Temporal(str(children[0]), (children[1],), where=self._place(meta))

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

    def choice(self, meta: Meta, children: list[Any]) -> s.Operation:
        return s.Operation("if", tuple(children[1:]), where=self._place(meta))

    def tuple_of(self, meta: Meta, children: list[Any]) -> s.TupleOf:
        return s.TupleOf(tuple(children[1:]), where=self._place(meta))

    def field(self, meta: Meta, children: list[Any]) -> s.Field:
        value, _, name = children
        return s.Field(value, str(name), where=self._place(name))

    def call(self, meta: Meta, children: list[Any]) -> s.Call:
        name, *arguments = children
        return s.Call(str(name), _present(arguments), where=self._place(meta))

    def generic_call(self, meta: Meta, children: list[Any]) -> s.Call:
        name, given, *arguments = children
        return s.Call(str(name), _present(arguments), given, where=self._place(meta))

    def instance(self, meta: Meta, children: list[Any]) -> s.Instantiation:
        return s.Instantiation(str(children[0]), children[1], where=self._place(meta))

    def given(self, meta: Meta, children: list[Any]) -> tuple[s.Given, ...]:
        return tuple(c for c in children if isinstance(c, s.Given))

    def value(self, meta: Meta, children: list[Any]) -> s.Given:
        name, _, value = children
        return s.Given(None if name is None else str(name), value, where=self._place(meta))


def _present(children: list[Any]) -> tuple[Any, ...]:
    return tuple(c for c in children if c is not None)


def _is_arrow(child: Any) -> bool:
    return isinstance(child, Token) and child.type == "ARROW"


def _with_check(pipeline: s.PipelineSyntax, check: s.Check) -> s.PipelineSyntax:
    return dataclasses.replace(pipeline, checks=(*pipeline.checks, check))
