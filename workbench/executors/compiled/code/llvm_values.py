"""Values in Python on numbers and arrays as LLVM text: what instructions make of them, and what kind each is.

The rule of this module: a value is a truth value, a whole number of 64 bits or a float; an array is an argument only.
Arithmetic is as numba has it: sums wrap around, quotients are rounded down, and a division by zero makes 0 of whole
numbers. What else there is in Python is refused, by name and line.
"""

from __future__ import annotations

import ast
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from workbench.errors import Location, UnsupportedNode

INT, REAL, TRUTH = "i64", "double", "i1"
WIDTHS = {TRUTH: 0, INT: 1, REAL: 2}
NOTHING = {TRUTH: "false", INT: "0", REAL: "0.0"}
LOADED = {
    "i8": ("i64", ""), "u8": ("i64", ""), "f8": ("double", ""), "b1": ("i8", "zext"), "u1": ("i8", "zext"),
    "i1": ("i8", "sext"), "u2": ("i16", "zext"), "i2": ("i16", "sext"), "u4": ("i32", "zext"), "i4": ("i32", "sext"),
}  # fmt: skip
"""Of each type of entries the LLVM type in memory, and how it becomes a word."""
OF_INTS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "shl", ast.RShift: "ashr",
}  # fmt: skip
OF_REALS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
CALLED = {(ast.FloorDiv, INT): "floor_quotient", (ast.Mod, INT): "floor_rest", (ast.Mod, REAL): "real_rest"}
"""Operators that are functions of `llvm_program.WRITTEN`."""
COMPARED = {
    ast.Eq: ("eq", "oeq"), ast.NotEq: ("ne", "une"), ast.Lt: ("slt", "olt"), ast.LtE: ("sle", "ole"),
    ast.Gt: ("sgt", "ogt"), ast.GtE: ("sge", "oge"),
}  # fmt: skip


class MachineArray(NamedTuple):
    """What an array is: the type of its entries, and how many axes it has; -1: one, with gaps."""

    kind: str
    axes: int

    @property
    def parts(self) -> tuple[str, ...]:
        """The ends of the names of what says where an entry is: where the array lies, its lengths or its gaps."""
        return ("", ".0", ".gap") if self.axes < 0 else ("", *(f".{axis}" for axis in range(self.axes)))


LlvmKind = str | MachineArray


class LlvmValue(NamedTuple):
    """A value: its text in LLVM, and what it is; of an array the name."""

    text: str
    kind: LlvmKind

    @property
    def given(self) -> str:
        """As an argument."""
        if isinstance(self.kind, str):
            return f"{self.kind} {self.text}"
        return ", ".join(f"{'i64' if end else 'ptr'} {self.text}{end}" for end in self.kind.parts)


LlvmResult = tuple[str, ...]
"""What a function gives back: nothing, a value, or several."""


class Callee(NamedTuple):
    """A function that is called: its name in LLVM, what its arguments are, and what it gives back."""

    name: str
    kinds: Sequence[LlvmKind]
    result: LlvmResult


Called = Callable[[str, Sequence[LlvmKind]], Callee | None]
"""The function of a name for arguments of such kinds; None: there is none."""


def result_type(result: LlvmResult) -> str:
    """What LLVM calls it."""
    return {0: "void", 1: "".join(result)}.get(len(result), f"{{{', '.join(result)}}}")


class LlvmValues:
    """The lines of a function as they are written, and the values in them.

    Parameters
    ----------
    name: of the function in Python.
    given: its arguments.
    constants: numbers that it may name.
    called: tells the functions that it may call.
    """

    def __init__(
        self, name: str, given: Sequence[LlvmValue], constants: Mapping[str, int | float], called: Called
    ) -> None:
        self._function, self._given, self._constants, self._called = name, given, constants, called
        self._arrays = {each.text[1:]: each for each in given if not isinstance(each.kind, str)}
        self._variables = {each.text[1:]: each.kind for each in given if isinstance(each.kind, str)}
        self._begun()

    def _begun(self) -> None:
        """Write it from the beginning; what is known of variables is known still."""
        self._lines: list[str] = []
        self._reached = {"entry"}
        self._block, self._count = "entry", 0
        self._late = False
        """Whether something has been found to be wider than what has been written of it."""

    def _add(self, line: str) -> None:
        self._lines.append(f"  {line}\n")

    def _made(self, text: str, kind: str) -> LlvmValue:
        """The value of an instruction."""
        self._count += 1
        self._lines.append(f"  %t.{self._count} = {text}\n")
        return LlvmValue(f"%t.{self._count}", kind)

    def _labels(self, *names: str) -> list[str]:
        self._count += 1
        return [f"{name}{self._count}" for name in names]

    def _end(self, line: str) -> None:
        """The last line of a block."""
        self._add(line)
        self._block = ""

    def _jump(self, label: str) -> None:
        if self._block:
            self._reached.add(label)
            self._end(f"br label %{label}")

    def _branch(self, test: LlvmValue, yes: str, no: str) -> None:
        self._reached |= {yes, no}
        self._end(f"br i1 {self._as(test, TRUTH).text}, label %{yes}, label %{no}")

    def _begin(self, label: str) -> None:
        """The next block, if anything leads there."""
        self._jump(label)
        if label in self._reached:
            self._lines.append(f"{label}:\n")
            self._block = label

    def _refusal(self, node: ast.AST, what: str = "") -> UnsupportedNode:
        where = Location(self._function, getattr(node, "lineno", 0), getattr(node, "col_offset", 0) + 1)
        return UnsupportedNode(f"machine code has no {what or type(node).__name__}: {ast.unparse(node)}", where=where)

    # --- variables --------------------------------------------------------------------------------------

    def _assign_name(self, name: str, value: LlvmValue) -> None:
        kind, before = str(value.kind), self._variables.get(name)
        wider = kind if before is None else self._widest(kind, before)
        if wider != before:
            self._variables[name] = wider
            self._late = self._late or before is not None
        self._add(f"store {self._as(value, wider).given}, ptr %v.{name}")

    def _place(self, node: ast.Subscript) -> LlvmValue:
        """Where an entry of an array is; the kind is that of the array."""
        array = self._arrays.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if array is None:
            raise self._refusal(node)
        assert isinstance(array.kind, MachineArray)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(parts) != abs(array.kind.axes):
            raise self._refusal(node)
        place, *more = [self._as(self._value(each), INT).text for each in parts]
        if array.kind.axes < 0:
            place = self._made(f"mul i64 {place}, {array.text}.gap", INT).text
            return LlvmValue(
                self._made(f"getelementptr inbounds i8, ptr {array.text}, i64 {place}", INT).text, array.kind
            )
        for axis, each in enumerate(more, 1):
            row = self._made(f"mul i64 {place}, {array.text}.{axis}", INT).text
            place = self._made(f"add i64 {row}, {each}", INT).text
        entry = LOADED[array.kind.kind][0]
        found = self._made(f"getelementptr inbounds {entry}, ptr {array.text}, i64 {place}", INT).text
        return LlvmValue(found, array.kind)

    def _loaded(self, place: LlvmValue) -> LlvmValue:
        assert isinstance(place.kind, MachineArray)
        entry, how = LOADED[place.kind.kind]
        found = self._made(f"load {entry}, ptr {place.text}", REAL if entry == REAL else INT)
        if how:
            found = self._made(f"{how} {entry} {found.text} to i64", INT)
        return self._as(found, TRUTH) if place.kind.kind == "b1" else found

    def _store(self, place: LlvmValue, value: LlvmValue) -> None:
        assert isinstance(place.kind, MachineArray)
        entry, how = LOADED[place.kind.kind]
        found = self._as(value, REAL if entry == REAL else INT)
        if how:
            found = self._made(f"trunc i64 {found.text} to {entry}", INT)
        self._add(f"store {entry} {found.text}, ptr {place.text}")

    # --- expressions ------------------------------------------------------------------------------------

    @staticmethod
    def _widest(one: str, other: str) -> str:
        return max(one, other, key=WIDTHS.__getitem__)

    def _as(self, value: LlvmValue, kind: LlvmKind) -> LlvmValue:
        """A value as one of another kind."""
        if value.kind == kind or not isinstance(value.kind, str) or not isinstance(kind, str):
            return value
        if kind == TRUTH:
            test = "icmp ne i64" if value.kind == INT else "fcmp une double"
            return self._made(f"{test} {value.text}, {NOTHING[value.kind]}", TRUTH)
        how = {INT: "fptosi" if value.kind == REAL else "zext", REAL: "sitofp" if value.kind == INT else "uitofp"}[kind]
        return self._made(f"{how} {value.given} to {kind}", kind)

    def _value(self, node: ast.expr) -> LlvmValue:
        """The value of an expression that has one."""
        found = self._values(node)
        if len(found) != 1:
            raise self._refusal(node, "value")
        return found[0]

    def _values(self, node: ast.expr) -> Sequence[LlvmValue]:
        match node:
            case ast.Tuple():
                return [self._value(each) for each in node.elts]
            case ast.Call():
                return self._call(node)
            case ast.IfExp():
                return self._chosen(node)
            case ast.Constant(value=bool() | int() | float() as number):
                return [constant(number)]
            case ast.Name():
                return [self._named(node)]
            case ast.Subscript():
                return [self._loaded(self._place(node))]
            case ast.UnaryOp():
                return [self._signed(node)]
            case ast.BinOp():
                return [self._operated(node, node.op, self._value(node.left), self._value(node.right))]
            case ast.Compare(ops=[op], comparators=[other]):
                return [self._compared(node, op, self._value(node.left), self._value(other))]
            case ast.BoolOp() | ast.Compare():
                return [self._truth(node)]
        raise self._refusal(node)

    def _named(self, node: ast.Name) -> LlvmValue:
        if node.id in self._arrays:
            return self._arrays[node.id]
        if node.id in self._variables:
            kind = self._variables[node.id]
            return self._made(f"load {kind}, ptr %v.{node.id}", kind)
        if node.id not in self._constants:
            raise self._refusal(node, "name")
        return constant(self._constants[node.id])

    def _signed(self, node: ast.UnaryOp) -> LlvmValue:
        value = self._value(node.operand)
        if isinstance(node.op, ast.Not):
            return self._made(f"xor i1 {self._as(value, TRUTH).text}, true", TRUTH)
        if isinstance(node.op, ast.USub) and value.kind == REAL:
            return self._made(f"fneg double {value.text}", REAL)
        if isinstance(node.op, ast.USub):
            return self._made(f"sub i64 0, {self._as(value, INT).text}", INT)
        raise self._refusal(node)

    def _operated(self, node: ast.AST, op: ast.operator, one: LlvmValue, other: LlvmValue) -> LlvmValue:
        kinds = {one.kind, other.kind}
        if kinds == {TRUTH} and isinstance(op, BITWISE):
            return self._made(f"{OF_INTS[type(op)]} i1 {one.text}, {other.text}", TRUTH)
        kind = REAL if REAL in kinds or isinstance(op, ast.Div) else INT
        one, other = self._as(one, kind), self._as(other, kind)
        if kind == INT and isinstance(op, ast.FloorDiv | ast.Mod) and (power := power_of_two(other.text)) is not None:
            how = f"ashr i64 {one.text}, {power}" if isinstance(op, ast.FloorDiv) else None
            return self._made(how or f"and i64 {one.text}, {(1 << power) - 1}", INT)
        written = CALLED.get((type(op), kind))
        if written:
            return self._made(f"call {kind} @{written}({one.given}, {other.given})", kind)
        instruction = (OF_REALS if kind == REAL else OF_INTS).get(type(op))
        if instruction is None:
            raise self._refusal(node)
        return self._made(f"{instruction} {one.given}, {other.text}", kind)

    def _compared(self, node: ast.AST, op: ast.cmpop, one: LlvmValue, other: LlvmValue) -> LlvmValue:
        if type(op) not in COMPARED:
            raise self._refusal(node)
        real = REAL in (one.kind, other.kind)
        one, other = (self._as(each, REAL if real else INT) for each in (one, other))
        return self._made(f"{'fcmp' if real else 'icmp'} {COMPARED[type(op)][real]} {one.given}, {other.text}", TRUTH)

    def _test(self, node: ast.expr, yes: str, no: str) -> None:
        """Go one way or the other."""
        match node:
            case ast.Constant(value=bool() as truth):
                self._jump(yes if truth else no)
            case ast.UnaryOp(op=ast.Not()):
                self._test(node.operand, no, yes)
            case ast.BoolOp(values=[*before, last]):
                for each in before:
                    (label,) = self._labels("next")
                    if self._block:
                        self._test(each, *((label, no) if isinstance(node.op, ast.And) else (yes, label)))
                    self._begin(label)
                if self._block:
                    self._test(last, yes, no)
            case ast.Compare(ops=[_, _, *_]):
                value, chain = self._value(node.left), list(zip(node.ops, node.comparators, strict=True))
                for op, each in chain:
                    other = self._value(each)
                    label = yes if each is chain[-1][1] else self._labels("next")[0]
                    self._branch(self._compared(node, op, value, other), label, no)
                    value = other
                    if label is not yes:
                        self._begin(label)
            case _:
                self._branch(self._value(node), yes, no)

    def _truth(self, node: ast.expr) -> LlvmValue:
        """Whether several things are true, of which those are asked that have to be."""
        yes, no, behind = self._labels("yes", "no", "behind")
        self._test(node, yes, no)
        for label in yes, no:
            self._begin(label)
            self._jump(behind)
        self._begin(behind)
        ways = ", ".join(f"[ {way == yes:d}, %{way} ]" for way in (yes, no) if way in self._reached)
        return self._made(f"phi i1 {ways}", TRUTH)

    def _chosen(self, node: ast.IfExp) -> Sequence[LlvmValue]:
        yes, no, behind = self._labels("yes", "no", "behind")
        self._test(node.test, yes, no)
        slots: list[str] = []
        for label, each in (yes, node.body), (no, node.orelse):
            self._begin(label)
            if self._block:
                values = self._values(each)
                slots = [f"if.{node.lineno}.{node.col_offset}.{at}" for at in range(len(values))]
                for slot, value in zip(slots, values, strict=True):
                    self._assign_name(slot, value)
            self._jump(behind)
        self._begin(behind)
        return [self._named(ast.Name(slot)) for slot in slots]

    def _call(self, node: ast.Call) -> Sequence[LlvmValue]:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self._refusal(node)
        given = [self._value(each) for each in node.args]
        match node.func.id, given:
            case "len", [LlvmValue(kind=MachineArray())]:
                return [LlvmValue(f"{given[0].text}.0", INT)]
            case ("float" | "int") as name, [number]:
                return [self._as(number, REAL if name == "float" else INT)]
            case ("min" | "max") as name, [first, *others]:
                op = ast.Lt() if name == "min" else ast.Gt()
                for each in others:
                    first = self._nearer(node, op, first, each)
                return [first]
        callee = self._called(node.func.id, [each.kind for each in given])
        if callee is None:
            raise self._refusal(node, "function")
        texts = ", ".join(self._as(*each).given for each in zip(given, callee.kinds, strict=True))
        text = f"call {result_type(callee.result)} @{callee.name}({texts})"
        if not callee.result:
            self._add(text)
            return []
        if len(callee.result) == 1:
            return [self._made(text, callee.result[0])]
        found, kind = self._made(text, INT).text, result_type(callee.result)
        return [self._made(f"extractvalue {kind} {found}, {i}", each) for i, each in enumerate(callee.result)]

    def _nearer(self, node: ast.Call, op: ast.cmpop, first: LlvmValue, other: LlvmValue) -> LlvmValue:
        """The other one, if it compares so with the first."""
        kind = self._widest(str(first.kind), str(other.kind))
        first, other = self._as(first, kind), self._as(other, kind)
        test = self._compared(node, op, other, first).text
        return self._made(f"select i1 {test}, {other.given}, {first.given}", kind)


def constant(number: int | float) -> LlvmValue:
    """A number as a value."""
    if isinstance(number, bool):
        return LlvmValue(str(number).lower(), TRUTH)
    if isinstance(number, int):
        return LlvmValue(str(number), INT)
    return LlvmValue(f"0x{int.from_bytes(struct.pack('>d', number)):016X}", REAL)


def power_of_two(text: str) -> int | None:
    """Which power of two a text says; None: none."""
    number = int(text) if text.isdigit() else 0
    return number.bit_length() - 1 if number.bit_count() == 1 and number < 1 << 63 else None
