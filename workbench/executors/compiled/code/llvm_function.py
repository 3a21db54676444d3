"""A function in Python on numbers and arrays as LLVM text, in a hundredth of the time that numba takes.

The rule of this module: what a variable holds follows from what is assigned to it, and is the widest of these: a truth
value, a whole number, a float. What a function is called with is part of it: it is made once for each.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from workbench.executors.compiled.code.llvm_values import (
    INT,
    NOTHING,
    TRUTH,
    Called,
    LlvmKind,
    LlvmResult,
    LlvmValue,
    LlvmValues,
    result_type,
)


class LlvmFunction(LlvmValues):
    """A function for arguments of some kinds.

    Parameters
    ----------
    node: its text in Python.
    name: what it is called in LLVM.
    kinds: of its arguments.
    constants: numbers that it may name.
    called: tells the functions that it may call.

    Attributes
    ----------
    result: what it gives back.
    text: in LLVM.
    """

    def __init__(
        self, node: ast.FunctionDef, name: str, kinds: Sequence[LlvmKind], constants: Mapping[str, int | float],
        called: Called,
    ) -> None:  # fmt: skip
        given = [LlvmValue(f"%{each.arg}", kind) for each, kind in zip(node.args.args, kinds, strict=True)]
        super().__init__(node.name, given, constants, called)
        self._node = node
        self._results: list[LlvmResult] = []
        self._write()
        while self._late:
            self._write()
        self.result: LlvmResult = self._results[-1] if self._results else ()
        slots = [f"  %v.{each} = alloca {kind}\n" for each, kind in (self._variables | self._slots).items()]
        slots += [f"  store {kind} {NOTHING[kind]}, ptr %v.{each}\n" for each, kind in self._variables.items()]
        head = f"define internal {result_type(self.result)} @{name}({', '.join(each.given for each in given)})"
        self.text = f"{head} nounwind {{\nentry:\n{''.join(slots)}{''.join(self._lines)}}}\n"

    def _write(self) -> None:
        self._begun()
        self._slots: dict[str, str] = {}
        self._loops: list[tuple[str, str]] = []
        for each in self._given:
            if isinstance(each.kind, str):
                self._assign_name(each.text[1:], each)
        self._body(self._node.body)
        if self._block:
            if any(self._results):
                raise self._refusal(self._node, "an end without a value")
            self._end("ret void")

    # --- statements -------------------------------------------------------------------------------------

    def _body(self, statements: Sequence[ast.stmt]) -> None:
        for each in statements:
            if self._block:
                self._statement(each)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target]):
                self._assign(target, self._values(node.value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self._values(value))
            case ast.AugAssign():
                self._augment(node)
            case ast.If():
                yes, no, behind = self._labels("then", "else", "behind")
                self._test(node.test, yes, no)
                for label, body in (yes, node.body), (no, node.orelse):
                    self._begin(label)
                    self._body(body)
                    self._jump(behind)
                self._begin(behind)
            case ast.While():
                head, inside, otherwise, behind = self._labels("head", "inside", "otherwise", "behind")
                self._begin(head)
                self._test(node.test, inside, otherwise)
                self._begin(inside)
                self._loop(node.body, head, behind)
                self._jump(head)
                self._begin(otherwise)
                self._body(node.orelse)
                self._begin(behind)
            case ast.For(iter=ast.Call(func=ast.Name("range"), args=given), target=ast.Name(name), orelse=[]):
                self._for(name, given, node.body)
            case ast.Break():
                self._jump(self._loops[-1][1])
            case ast.Continue():
                self._jump(self._loops[-1][0])
            case ast.Return():
                self._return(self._values(node.value) if node.value else [])
            case ast.Expr(value=ast.Call() as call):
                self._call(call)
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                raise self._refusal(node)

    def _loop(self, body: Sequence[ast.stmt], again: str, behind: str) -> None:
        self._loops.append((again, behind))
        self._body(body)
        self._loops.pop()

    def _for(self, name: str, given: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        numbers = [self._as(self._value(each), INT).text for each in given]
        first, last = ("0", *numbers) if len(numbers) == 1 else numbers[:2]
        step = numbers[2] if len(numbers) == 3 else "1"
        head, inside, again, behind = self._labels("head", "inside", "again", "behind")
        slot = f"turn.{self._count}"
        self._slots[slot] = INT
        self._add(f"store i64 {first}, ptr %v.{slot}")
        self._begin(head)
        turn = self._made(f"load i64, ptr %v.{slot}", INT).text
        if step.startswith(("%", "-")):
            up = self._made(f"icmp sgt i64 {step}, 0", TRUTH).text
            less, more = (self._made(f"icmp {sign} i64 {turn}, {last}", TRUTH).text for sign in ("slt", "sgt"))
            test = self._made(f"select i1 {up}, i1 {less}, i1 {more}", TRUTH)
        else:
            test = self._made(f"icmp slt i64 {turn}, {last}", TRUTH)
        self._branch(test, inside, behind)
        self._begin(inside)
        self._assign_name(name, LlvmValue(turn, INT))
        self._loop(body, again, behind)
        self._begin(again)
        if self._block:
            more = self._made(f"add i64 {turn}, {step}", INT).text
            self._add(f"store i64 {more}, ptr %v.{slot}")
            self._jump(head)
        self._begin(behind)

    def _return(self, values: Sequence[LlvmValue]) -> None:
        kinds = tuple(str(each.kind) for each in values)
        before = self._results[-1] if self._results else kinds
        if len(before) != len(kinds):
            raise self._refusal(self._node, "results of several forms")
        wider = tuple(map(self._widest, kinds, before))
        if not self._results or wider != before:
            self._late = self._late or bool(self._results)
            self._results.append(wider)
        made = [self._as(*each) for each in zip(values, wider, strict=True)]
        if len(made) < 2:
            self._end(f"ret {made[0].given}" if made else "ret void")
            return
        found, kind = "poison", result_type(wider)
        for at, each in enumerate(made):
            found = self._made(f"insertvalue {kind} {found}, {each.given}, {at}", kind).text
        self._end(f"ret {kind} {found}")

    def _assign(self, target: ast.expr, values: Sequence[LlvmValue]) -> None:
        if isinstance(target, ast.Tuple) and len(target.elts) == len(values):
            for part, value in zip(target.elts, values, strict=True):
                self._assign(part, [value])
        elif isinstance(target, ast.Name) and len(values) == 1:
            self._assign_name(target.id, values[0])
        elif isinstance(target, ast.Subscript) and len(values) == 1:
            self._store(self._place(target), values[0])
        else:
            raise self._refusal(target)

    def _augment(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            before = self._value(ast.Name(node.target.id))
            self._assign_name(node.target.id, self._operated(node, node.op, before, self._value(node.value)))
        elif isinstance(node.target, ast.Subscript):
            place = self._place(node.target)
            before = self._loaded(place)
            self._store(place, self._operated(node, node.op, before, self._value(node.value)))
        else:
            raise self._refusal(node)
