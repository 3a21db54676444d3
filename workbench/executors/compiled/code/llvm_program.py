"""Programs of functions in Python on numbers and arrays as object files: without numba, in a tenth of its time.

The rule of this module: a program's text says with `from package import modules` whose functions and numbers it names;
what `run` calls is compiled, and nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from llvmlite import binding

from workbench.executors.compiled.code.llvm_function import LlvmFunction
from workbench.executors.compiled.code.llvm_values import INT, REAL, TRUTH, Callee, LlvmKind, LlvmValue, MachineArray
from workbench.executors.compiled.code.objects import ENTRY, Kinds, ObjectFile, host_machine, optimised

WRITTEN = {
    "wrapped": ((INT,), (INT,), "ret i64 %0"),
    "ticks": ((), (INT,), """
        %now = call i64 @llvm.readcyclecounter()
        ret i64 %now"""),
    "scattered": ((INT, INT), (INT,), """
        %mixed = xor i64 %0, %1
        %both = mul i64 %mixed, -7046029254386353131
        %high = lshr i64 %both, 32
        %all = xor i64 %both, %high
        %found = and i64 %all, 9223372036854775807
        ret i64 %found"""),
    "word_at": ((INT, INT), (INT,), """
        %begin = inttoptr i64 %0 to ptr
        %place = getelementptr i64, ptr %begin, i64 %1
        %found = load i64, ptr %place
        ret i64 %found"""),
    "byte_at": ((INT, INT), (INT,), """
        %begin = inttoptr i64 %0 to ptr
        %place = getelementptr i8, ptr %begin, i64 %1
        %byte = load i8, ptr %place
        %found = zext i8 %byte to i64
        ret i64 %found"""),
    "put_word": ((INT, INT, INT), (), """
        %begin = inttoptr i64 %0 to ptr
        %place = getelementptr i64, ptr %begin, i64 %1
        store i64 %2, ptr %place
        ret void"""),
    "fetch": ((MachineArray("i8", 1), INT), (), """
        %place = getelementptr i64, ptr %0, i64 %2
        call void @llvm.prefetch.p0(ptr %place, i32 0, i32 3, i32 1)
        ret void"""),
    "answer": ((INT, INT, INT, INT), (INT,), """
        %function = inttoptr i64 %0 to ptr
        %found = call i64 %function(i64 %1, i64 %2, i64 %3)
        ret i64 %found"""),
    "sum_overflows": ((INT, INT), (TRUTH,), """
        %both = call {i64, i1} @llvm.sadd.with.overflow.i64(i64 %0, i64 %1)
        %found = extractvalue {i64, i1} %both, 1
        ret i1 %found"""),
    "difference_overflows": ((INT, INT), (TRUTH,), """
        %both = call {i64, i1} @llvm.ssub.with.overflow.i64(i64 %0, i64 %1)
        %found = extractvalue {i64, i1} %both, 1
        ret i1 %found"""),
    "product_overflows": ((INT, INT), (TRUTH,), """
        %both = call {i64, i1} @llvm.smul.with.overflow.i64(i64 %0, i64 %1)
        %found = extractvalue {i64, i1} %both, 1
        ret i1 %found"""),
    "floor_quotient": ((INT, INT), (INT,), """
        %zero = icmp eq i64 %1, 0
        %minus = icmp eq i64 %1, -1
        %odd = or i1 %zero, %minus
        %by = select i1 %odd, i64 1, i64 %1
        %quotient = sdiv i64 %0, %by
        %rest = srem i64 %0, %by
        %signs = xor i64 %rest, %by
        %differ = icmp slt i64 %signs, 0
        %some = icmp ne i64 %rest, 0
        %down = and i1 %some, %differ
        %less = zext i1 %down to i64
        %floor = sub i64 %quotient, %less
        %negative = sub i64 0, %0
        %there = select i1 %minus, i64 %negative, i64 %floor
        %found = select i1 %zero, i64 0, i64 %there
        ret i64 %found"""),
    "floor_rest": ((INT, INT), (INT,), """
        %zero = icmp eq i64 %1, 0
        %minus = icmp eq i64 %1, -1
        %odd = or i1 %zero, %minus
        %by = select i1 %odd, i64 1, i64 %1
        %rest = srem i64 %0, %by
        %signs = xor i64 %rest, %by
        %differ = icmp slt i64 %signs, 0
        %some = icmp ne i64 %rest, 0
        %down = and i1 %some, %differ
        %more = select i1 %down, i64 %by, i64 0
        %found = add i64 %rest, %more
        ret i64 %found"""),
    "real_rest": ((REAL, REAL), (REAL,), """
        %rest = call double @fmod(double %0, double %1)
        %negative = fcmp olt double %rest, 0.0
        %other = fcmp olt double %1, 0.0
        %differ = xor i1 %negative, %other
        %more = fadd double %rest, %1
        %found = select i1 %differ, double %more, double %rest
        %none = fcmp oeq double %rest, 0.0
        %zero = call double @llvm.copysign.f64(double 0.0, double %1)
        %all = select i1 %none, double %zero, double %found
        ret double %all"""),
}  # fmt: skip
"""Functions that are written in LLVM: their arguments, what they give back, and what they do."""
DECLARED = """
declare i64 @llvm.readcyclecounter()
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare {i64, i1} @llvm.sadd.with.overflow.i64(i64, i64)
declare {i64, i1} @llvm.ssub.with.overflow.i64(i64, i64)
declare {i64, i1} @llvm.smul.with.overflow.i64(i64, i64)
declare double @llvm.copysign.f64(double, double)
declare double @fmod(double, double)
"""
COMPARISONS = "workbench.executors.compiled.code.comparisons"
NUMBERS = {"i8": INT, "f8": REAL, "b1": TRUTH}


@cache
def functions_of(module: ModuleType) -> dict[str, ast.FunctionDef]:
    """The functions of a module."""
    assert module.__file__ is not None
    text = Path(module.__file__).read_text(encoding="utf-8")
    return {each.name: each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)}


class LlvmProgram:
    """The functions of a source that are called, for the kinds of arguments that they are called with.

    Attributes
    ----------
    texts: of the functions in LLVM.
    """

    def __init__(self, source: str) -> None:
        self._functions: dict[str, ast.FunctionDef] = {}
        self._constants: dict[str, int | float] = {}
        self._made: dict[tuple[str, tuple[LlvmKind, ...]], Callee] = {}
        self.texts: list[str] = []
        tree = ast.parse(f"from {COMPARISONS.rpartition('.')[0]} import comparisons\n" + source)
        for each in tree.body:
            if isinstance(each, ast.ImportFrom):
                for part in each.names:
                    self._take(import_module(f"{each.module}.{part.name}"))
        self._functions |= {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}

    def _take(self, module: ModuleType) -> None:
        self._functions |= functions_of(module)
        self._constants |= {name: each for name, each in vars(module).items() if isinstance(each, int | float)}

    def called(self, name: str, kinds: Sequence[LlvmKind]) -> Callee | None:
        """A function for arguments of these kinds."""
        if name in WRITTEN:
            given, result, _ = WRITTEN[name]
            return Callee(name, given, result)
        if name not in self._functions:
            return None
        key = name, tuple(kinds)
        if key not in self._made:
            own = f"{name}.{len(self._made)}"
            self._made[key] = Callee(own, kinds, ())  # none of them calls itself
            made = LlvmFunction(self._functions[name], own, kinds, self._constants, self.called)
            self._made[key] = Callee(own, kinds, made.result)
            self.texts.append(made.text)
        return self._made[key]


def object_file(source: str, kinds: Kinds) -> ObjectFile:
    """The function `run` of a source, compiled for arguments of these kinds.

    Raises
    ------
    UnsupportedNode: it has what `LlvmFunction` does not.
    """
    program, machine = LlvmProgram(source), host_machine()
    passed = [
        LlvmValue(f"%a{n}", MachineArray(kind, axes) if axes else NUMBERS[kind]) for n, (kind, axes) in enumerate(kinds)
    ]
    run = program.called("run", [each.kind for each in passed])
    assert run is not None
    lines = [f'target triple = "{machine.triple}"', f'target datalayout = "{machine.target_data}"', DECLARED]
    lines += [_written(name) for name in WRITTEN]
    lines += [*program.texts, _entry(run, passed)]
    module = binding.parse_assembly("\n".join(lines))
    optimised(module, machine)
    symbols = tuple(each.name for each in module.functions if each.is_declaration and not each.name.startswith("llvm."))
    return ObjectFile(symbols, machine.emit_object(module))


def _written(name: str) -> str:
    kinds, result, body = WRITTEN[name]
    given = [part for kind in kinds for part in ([kind] if isinstance(kind, str) else ["ptr", "i64"])]
    kind = result[0] if result else "void"
    return f"define internal {kind} @{name}({', '.join(given)}) alwaysinline nounwind {{\n{body}\n}}\n"


def _entry(run: Callee, passed: Sequence[LlvmValue]) -> str:
    """What is called from outside: it takes the arguments of `run` from words; see `objects`."""
    lines, place = [f"define i32 @{ENTRY}(ptr %result, ptr %error, ptr %words) nounwind {{"], 0
    for each in passed:
        ends = [""] if isinstance(each.kind, str) else each.kind.parts
        for end in ends:
            kind = "ptr" if not isinstance(each.kind, str) and not end else "i64" if each.kind != REAL else REAL
            name = f"{each.text}{end}"
            lines.append(f"  {name}.at = getelementptr i64, ptr %words, i64 {place}")
            if each.kind == TRUTH:
                lines += [f"  {name}.word = load i64, ptr {name}.at", f"  {name} = icmp ne i64 {name}.word, 0"]
            else:
                lines.append(f"  {name} = load {kind}, ptr {name}.at")
            place += 1
    lines.append(f"  %found = call i64 @{run.name}({', '.join(each.given for each in passed)})")
    return "\n".join([*lines, "  store i64 %found, ptr %result", "  ret i32 0", "}\n"])
