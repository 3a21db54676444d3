"""PTX run by the CPU: what numba's GPU compiler makes of a kernel, executed thread by thread, without a GPU.

Numba's own simulator runs the Python source of a kernel; this runs the code that a device would get, after type
inference and NVIDIA's optimiser. It knows the part of the instruction set ("PTX ISA", chapter 9) that generated loops
need, and refuses anything else: a register is a word of its size in memory, an instruction a few lines of LLVM. The
threads of a block run in turn from one barrier to the next, and all of them have to meet at the same one.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import llvmlite.binding as llvm

_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}
_REGISTERS = {"pred": "i1", "b16": "i16", "b32": "i32", "b64": "i64", "f64": "double"}
_COMPARED = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_SPECIAL = {"%tid.x": "%tid", "%ntid.x": "%ntid", "%ctaid.x": "%ctaid", "%nctaid.x": "%blocks"}
_ATOMIC = {"add": "add", "and": "and", "or": "or", "xor": "xor", "exch": "xchg", "min": "min", "max": "max"}
_INTEGERS = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor"}
_FLOATS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


class UnknownError(Exception):
    """An instruction that is not known here."""


def _kind(suffix: str) -> str:
    """The LLVM type of a PTX type."""
    if suffix == "pred":
        return "i1"
    return "double" if suffix == "f64" else f"i{suffix[1:]}"


def _halves(text: str) -> list[str]:
    """The names in `{%lower, %upper}`, the halves of a word."""
    return [name.strip() for name in text.strip("{}").split(",")]


class _Function:
    """A kernel, being translated."""

    def __init__(self, body: str, parameters: Sequence[str], shared: Mapping[str, int]) -> None:
        self.parameters = {name: position for position, name in enumerate(parameters)}
        self.lines: list[str] = []
        self.types: dict[str, str] = {}
        self.count = self.barriers = 0
        self.shared = shared
        meets = "bar.sync" in body  # then registers outlive a turn
        for kind, prefix, count in re.findall(r"\.reg \.(\w+)\s+%(\w+)<(\d+)>;", body):
            for number in range(int(count)):
                name, held = f"%{prefix}{number}", _REGISTERS[kind]
                kept = f"getelementptr i64, ptr %frame, i64 {len(self.types)}"
                self.types[name] = held
                self.lines.append(f"{name} = {kept if meets else f'alloca {held}'}")
        turns = " ".join(f"i32 {n}, label %turn{n}" for n in range(1, body.count("bar.sync") + 1))
        self.lines += [f"switch i32 %turn, label %turn0 [{turns}]", "turn0:"]
        for line in re.sub(r"//.*", "", body).replace(";", ";\n").splitlines():
            text = line.strip()
            if text.endswith(":"):
                self.lines += [f"br label %{text[1:-1]}", f"{text[1:-1]}:"]
            elif text.endswith(";") and not text.startswith("."):
                self._instruction(text[:-1])
        self.lines.append("unreachable")

    # --- values ---

    def new(self, text: str) -> str:
        """The name of the result of an LLVM instruction."""
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def get(self, operand: str, kind: str) -> str:
        """An operand as a value of this type."""
        if operand in _SPECIAL:
            return self.cast(_SPECIAL[operand], "i32", kind)
        if operand in self.types:
            held = self.types[operand]
            return self.cast(self.new(f"load {held}, ptr {operand}"), held, kind)
        if operand.startswith("0d"):
            return f"0x{operand[2:]}" if kind == "double" else str(int(operand[2:], 16))
        if operand in self.shared:
            return self.new(f"ptrtoint ptr @{operand} to i64")
        if re.fullmatch(r"-?\d+", operand):
            return str(int(operand)) if kind != "i1" else str(bool(int(operand))).lower()
        raise UnknownError(operand)

    def put(self, register: str, value: str, kind: str, *, signed: bool = False) -> None:
        """Set a register; a value that is wider than it, or narrower, is fitted."""
        held = self.types[register]
        self.lines.append(f"store {held} {self.cast(value, kind, held, signed=signed)}, ptr {register}")

    def cast(self, value: str, source: str, target: str, *, signed: bool = False) -> str:
        """The same bits as another type, cut or extended."""
        if source == target:
            return value
        if "double" in (source, target):
            if {source, target} == {"double", "i64"}:
                return self.new(f"bitcast {source} {value} to {target}")
            raise UnknownError(f"{source} as {target}")
        wider = int(target[1:]) > int(source[1:])
        how = ("sext" if signed else "zext") if wider else "trunc"
        return self.new(f"{how} {source} {value} to {target}")

    def address(self, operand: str) -> str:
        """A place in memory, from `[register+offset]`."""
        found = re.fullmatch(r"\[(%?\w+)(?:\+(-?\d+))?\]", operand)
        if not found:
            raise UnknownError(operand)
        base = self.get(found[1], "i64")
        return self.new(f"inttoptr i64 {self.new(f'add i64 {base}, {found[2] or 0}')} to ptr")

    # --- instructions ---

    def _instruction(self, text: str) -> None:
        guard = re.match(r"@(!?)(%\w+)\s+", text)
        if guard:
            condition = self.get(guard[2], "i1")
            self.count += 1
            do, skip = f"do{self.count}", f"skip{self.count}"
            ways = (skip, do) if guard[1] else (do, skip)
            self.lines += [f"br i1 {condition}, label %{ways[0]}, label %{ways[1]}", f"{do}:"]
            self._instruction(text[guard.end() :])
            self.lines += [f"br label %{skip}", f"{skip}:"]
            return
        operation, _, rest = text.partition(" ")
        name, *modifiers = operation.strip().split(".")
        operands = [each.strip() for each in re.findall(r"{.*}|[^,{}]+", rest) if each.strip()]
        method = partial(self._arithmetic, name) if name in _INTEGERS else getattr(self, f"on_{name}", None)
        if method is None:
            raise UnknownError(text)
        try:
            method(modifiers, operands)
        except (UnknownError, KeyError, ValueError) as error:
            raise UnknownError(text) from error

    def on_ret(self, _: list[str], __: list[str]) -> None:
        self._jump("ret i32 -1")

    def on_bar(self, _: list[str], __: list[str]) -> None:
        self.barriers += 1
        self.lines += [f"ret i32 {self.barriers}", f"turn{self.barriers}:"]

    def on_atom(self, modifiers: list[str], operands: list[str]) -> None:
        name, suffix = modifiers[-2:]
        kind = _kind(suffix)
        what = ("u" if suffix[0] == "u" and name in ("min", "max") else "") + _ATOMIC[name]
        place, value = self.address(operands[-2]), self.get(operands[-1], kind)
        found = self.new(f"atomicrmw {what} ptr {place}, {kind} {value} seq_cst")
        if len(operands) == 3:
            self.put(operands[0], found, kind)

    on_red = on_atom

    def on_bra(self, _: list[str], operands: list[str]) -> None:
        self._jump(f"br label %{operands[-1][1:]}")

    def _jump(self, text: str) -> None:
        self.count += 1
        self.lines += [text, f"after{self.count}:"]  # nothing comes here, but a block has one end only

    def on_mov(self, modifiers: list[str], operands: list[str]) -> None:
        target, source = operands
        if target.startswith("{"):
            value = self.get(source, "i64")
            for name, part in zip(_halves(target), (value, self.new(f"lshr i64 {value}, 32")), strict=True):
                if name in self.types:  # else it is of a block of its own, and not needed
                    self.put(name, part, "i64")
        elif source.startswith("{"):
            low, high = (self.cast(self.get(name, "i32"), "i32", "i64") for name in _halves(source))
            self.put(target, self.new(f"or i64 {self.new(f'shl i64 {high}, 32')}, {low}"), "i64")
        else:
            kind = _kind(modifiers[-1])
            self.put(target, self.get(source, kind), kind)

    on_cvta = on_mov

    def on_ld(self, modifiers: list[str], operands: list[str]) -> None:
        kind = _kind(modifiers[-1])
        if "param" in modifiers:
            position = self.parameters[operands[1][1:-1]]
            place = self.new(f"getelementptr i64, ptr %parameters, i64 {position}")
        else:
            place = self.address(operands[1])
        self.put(operands[0], self.new(f"load {kind}, ptr {place}"), kind, signed=modifiers[-1].startswith("s"))

    def on_st(self, modifiers: list[str], operands: list[str]) -> None:
        kind = _kind(modifiers[-1])
        place = self.address(operands[0])
        self.lines.append(f"store {kind} {self.get(operands[1], kind)}, ptr {place}")

    def on_setp(self, modifiers: list[str], operands: list[str]) -> None:
        compare, suffix = modifiers  # with more, it would combine the result with another
        kind = _kind(suffix)
        a, b = (self.get(each, kind) for each in operands[1:])
        if kind == "double":
            code = {"ne": "one", "neu": "une", "nan": "uno", "num": "ord"}.get(
                compare, f"u{compare[:2]}" if len(compare) > 2 else f"o{compare}"
            )
            found = self.new(f"fcmp {code} double {a}, {b}")
        else:
            sign = "s" if suffix.startswith("s") else "u"
            code = compare if compare in ("eq", "ne") else sign + _COMPARED[compare]
            found = self.new(f"icmp {code} {kind} {a}, {b}")
        self.put(operands[0], found, "i1")

    def on_selp(self, modifiers: list[str], operands: list[str]) -> None:
        kind = _kind(modifiers[-1])
        a, b = (self.get(each, kind) for each in operands[1:3])
        value = self.new(f"select i1 {self.get(operands[3], 'i1')}, {kind} {a}, {kind} {b}")
        self.put(operands[0], value, kind)

    def _binary(self, name: str, modifiers: list[str], operands: list[str]) -> None:
        kind = _kind(modifiers[-1])
        a, b = (self.get(each, kind) for each in operands[1:])
        self.put(operands[0], self.new(f"{name} {kind} {a}, {b}"), kind)

    def _arithmetic(self, name: str, modifiers: list[str], operands: list[str]) -> None:
        self._binary((_FLOATS if modifiers[-1] == "f64" else _INTEGERS)[name], modifiers, operands)

    def on_not(self, modifiers: list[str], operands: list[str]) -> None:
        self._binary("xor", modifiers, [*operands, "1" if modifiers[-1] == "pred" else "-1"])

    def on_neg(self, modifiers: list[str], operands: list[str]) -> None:
        kind = _kind(modifiers[-1])
        value = self.get(operands[1], kind)
        text = f"fneg double {value}" if kind == "double" else f"sub {kind} 0, {value}"
        self.put(operands[0], self.new(text), kind)

    def on_abs(self, modifiers: list[str], operands: list[str]) -> None:
        kind = _kind(modifiers[-1])
        value = self.get(operands[1], kind)
        call = f"@llvm.fabs.f64(double {value})" if kind == "double" else f"@llvm.abs.{kind}({kind} {value}, i1 false)"
        self.put(operands[0], self.new(f"call {kind} {call}"), kind)

    def on_copysign(self, _: list[str], operands: list[str]) -> None:
        sign, value = (self.get(each, "double") for each in operands[1:])
        call = f"call double @llvm.copysign.f64(double {value}, double {sign})"
        self.put(operands[0], self.new(call), "double")

    def on_shl(self, modifiers: list[str], operands: list[str]) -> None:
        self._shift("shl", modifiers, operands)

    def on_shr(self, modifiers: list[str], operands: list[str]) -> None:
        self._shift("ashr" if modifiers[-1].startswith("s") else "lshr", modifiers, operands)

    def _shift(self, name: str, modifiers: list[str], operands: list[str]) -> None:
        kind, bits = _kind(modifiers[-1]), int(modifiers[-1][1:])
        by = self.get(operands[2], "i32")
        few = self.new(f"icmp ult i32 {by}, {bits}")  # more is as much as there is
        amount = self.cast(self.new(f"select i1 {few}, i32 {by}, i32 {bits - 1}"), "i32", kind)
        value = self.get(operands[1], kind)
        shifted = self.new(f"{name} {kind} {value}, {amount}")
        beyond = shifted if name == "ashr" else "0"
        self.put(operands[0], self.new(f"select i1 {few}, {kind} {shifted}, {kind} {beyond}"), kind)

    def on_bfi(self, modifiers: list[str], operands: list[str]) -> None:
        kind = _kind(modifiers[-1])
        inserted, into = (self.get(each, kind) for each in operands[1:3])
        at, length = map(int, operands[3:])
        mask = ((1 << length) - 1) << at
        bits = self.new(f"and {kind} {self.new(f'shl {kind} {inserted}, {at}')}, {mask}")
        self.put(operands[0], self.new(f"or {kind} {bits}, {self.new(f'and {kind} {into}, {~mask}')}"), kind)

    def on_min(self, modifiers: list[str], operands: list[str]) -> None:
        self._extreme("min", modifiers, operands)

    def on_max(self, modifiers: list[str], operands: list[str]) -> None:
        self._extreme("max", modifiers, operands)

    def _extreme(self, name: str, modifiers: list[str], operands: list[str]) -> None:
        kind = _kind(modifiers[-1])
        a, b = (self.get(each, kind) for each in operands[1:])
        sign = "s" if modifiers[-1].startswith("s") else "u"
        call = f"llvm.{name}num.f64" if kind == "double" else f"llvm.{sign}{name}.{kind}"
        self.put(operands[0], self.new(f"call {kind} @{call}({kind} {a}, {kind} {b})"), kind)

    def on_mul(self, modifiers: list[str], operands: list[str]) -> None:
        suffix = modifiers[-1]
        if suffix == "f64":
            self._binary("fmul", modifiers, operands)
        elif modifiers[0] == "lo":
            self._binary("mul", modifiers, operands)
        else:
            self._double(modifiers[0], suffix, operands)

    def _double(self, part: str, suffix: str, operands: list[str]) -> None:
        """A product of twice the size, or the upper half of it."""
        kind, bits, signed = _kind(suffix), int(suffix[1:]), suffix.startswith("s")
        wide = f"i{2 * bits}"
        a, b = (self.cast(self.get(each, kind), kind, wide, signed=signed) for each in operands[1:])
        product = self.new(f"mul {wide} {a}, {b}")
        if part == "hi":
            product = self.new(f"lshr {wide} {product}, {bits}")
            self.put(operands[0], self.cast(product, wide, kind), kind)
        elif part == "wide":
            self.put(operands[0], product, wide)
        else:
            raise UnknownError(part)

    def on_mad(self, modifiers: list[str], operands: list[str]) -> None:
        kind = _kind(modifiers[-1])
        a, b, c = (self.get(each, kind) for each in operands[1:])
        if modifiers[0] != "lo":
            raise UnknownError(modifiers[0])
        self.put(operands[0], self.new(f"add {kind} {self.new(f'mul {kind} {a}, {b}')}, {c}"), kind)

    def on_fma(self, _: list[str], operands: list[str]) -> None:
        a, b, c = (self.get(each, "double") for each in operands[1:])
        call = f"call double @llvm.fma.f64(double {a}, double {b}, double {c})"
        self.put(operands[0], self.new(call), "double")

    def on_div(self, modifiers: list[str], operands: list[str]) -> None:
        self._quotient("div", modifiers, operands)

    def on_rem(self, modifiers: list[str], operands: list[str]) -> None:
        self._quotient("rem", modifiers, operands)

    def _quotient(self, name: str, modifiers: list[str], operands: list[str]) -> None:
        if modifiers[-1] == "f64":
            self._binary(f"f{name}", modifiers, operands)
            return
        kind, sign = _kind(modifiers[-1]), modifiers[-1][0]
        a, b = (self.get(each, kind) for each in operands[1:])
        # where the result is not defined, a processor would stop and a device does not
        odd = self.new(f"icmp eq {kind} {b}, 0")
        if sign == "s":
            least = self.new(f"icmp eq {kind} {a}, {-(2 ** (int(kind[1:]) - 1))}")
            largest = self.new(f"and i1 {least}, {self.new(f'icmp eq {kind} {b}, -1')}")
            odd = self.new(f"or i1 {odd}, {largest}")
        safe = self.new(f"select i1 {odd}, {kind} 1, {kind} {b}")
        self.put(operands[0], self.new(f"{'s' if sign == 's' else 'u'}{name} {kind} {a}, {safe}"), kind)

    def on_cvt(self, modifiers: list[str], operands: list[str]) -> None:
        target, source = modifiers[-2:]
        value, signed = self.get(operands[1], _kind(source)), source.startswith("s")
        if _kind(target) == _kind(source) == "double":
            how = {"rmi": "floor", "rpi": "ceil", "rzi": "trunc", "rni": "rint"}[modifiers[0]]
            value = self.new(f"call double @llvm.{how}.f64(double {value})")
        elif _kind(target) == "double":
            value = self.new(f"{'s' if signed else 'u'}itofp {_kind(source)} {value} to double")
        elif _kind(source) == "double":
            if modifiers[0] != "rzi":
                raise UnknownError(modifiers[0])
            sign = "s" if target.startswith("s") else "u"
            value = self.new(f"call {_kind(target)} @llvm.fpto{sign}i.sat.{_kind(target)}.f64(double {value})")
        else:
            value = self.cast(value, _kind(source), _kind(target), signed=signed)
        self.put(operands[0], value, _kind(target), signed=target.startswith("s"))


def entry(text: str) -> tuple[list[str], str]:
    """The names of the parameters of the only kernel of a PTX file, and its body."""
    found = re.findall(r"\.visible \.entry \w+\(([^)]*)\)[^{]*\{(.*?)\n\}", text, re.DOTALL)
    if len(found) != 1 or ".func" in text:
        raise UnknownError(f"{len(found)} kernels, or functions that are called")
    return re.findall(r"\.param \.\w+ (\w+)", found[0][0]), found[0][1]


_GRID = """
define i32 @grid(ptr %parameters, i32 %blocks, i32 %ntid, ptr %frames, ptr %turns, i32 %last) {
  br label %block
block:
  %b = phi i32 [0, %0], [%b1, %next]
  %across = sub i32 %blocks, 1
  %other = sub i32 %across, %b
  %down = icmp sgt i32 %last, 0
  %ctaid = select i1 %down, i32 %other, i32 %b
  br label %round
round:
  %before = phi i32 [0, %block], [%at, %after]
  br label %thread
thread:
  %t = phi i32 [0, %round], [%t1, %ran]
  %met = phi i32 [-2, %round], [%at, %ran]
  %reversed = sub i32 %last, %t
  %tid = select i1 %down, i32 %reversed, i32 %t
  %mine = getelementptr i32, ptr %turns, i32 %t
  %there = load i32, ptr %mine
  %first = icmp eq i32 %before, 0
  %turn = select i1 %first, i32 0, i32 %there
  %place = mul i32 %t, FRAME
  %frame = getelementptr i64, ptr %frames, i32 %place
  %over = icmp eq i32 %turn, -1
  br i1 %over, label %ran, label %run
run:
  %came = call i32 @kernel(ptr %parameters, ptr %frame, i32 %turn, i32 %tid, i32 %ntid, i32 %ctaid, i32 %blocks)
  store i32 %came, ptr %mine
  br label %ran
ran:
  %end = phi i32 [-1, %thread], [%came, %run]
  %alone = icmp eq i32 %met, -2
  %same = icmp eq i32 %met, %end
  %fine = or i1 %alone, %same
  %at = select i1 %fine, i32 %end, i32 -3
  %t1 = add i32 %t, 1
  %more = icmp ult i32 %t1, %ntid
  br i1 %more, label %thread, label %after
after:
  %again = icmp sgt i32 %at, 0
  br i1 %again, label %round, label %over_all
over_all:
  %bad = icmp eq i32 %at, -3
  br i1 %bad, label %failed, label %next
next:
  %b1 = add i32 %b, 1
  %others = icmp ult i32 %b1, %blocks
  br i1 %others, label %block, label %done
failed:
  ret i32 1
done:
  ret i32 0
}
"""


class Kernel:
    """A kernel of a PTX file; called with numbers and numpy's arrays, as numba passes them."""

    reverse = False
    """Whether the threads of a block and the blocks run from the last to the first."""

    def __init__(self, text: str) -> None:
        self.text = text
        names, body = entry(text)
        shared = {name: int(size) for name, size in re.findall(r"\.shared \.align \d+ \.b8 (\w+)\[(\d+)\];", text)}
        made = _Function(body, names, shared)
        lines = [f"  {line}" for line in made.lines]
        source = [
            *(f"@{name} = global [{size} x i8] zeroinitializer, align 16" for name, size in shared.items()),
            "define internal i32 @kernel(ptr %parameters, ptr %frame, i32 %turn,"
            " i32 %tid, i32 %ntid, i32 %ctaid, i32 %blocks) {",
            *lines,
            "}",
            _GRID.replace("FRAME", str(len(made.types))),
        ]
        calls = sorted(set(re.findall(r"call (\w+) (@llvm[.\w]+)\(([^)]*)\)", "\n".join(lines))))
        declared = {
            name: f"declare {result} {name}({', '.join(each.split()[0] for each in given.split(', '))})"
            for result, name, given in calls
        }
        self._engine = _compiled("\n".join([*declared.values(), *source]))
        address = self._engine.get_function_address("grid")
        self._run = ctypes.CFUNCTYPE(
            ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p,
            ctypes.c_int32,
        )(address)  # fmt: skip
        self._shared = [(self._engine.get_global_value_address(name), size // 8) for name, size in shared.items()]
        self._words, self._frame = len(names), len(made.types) if made.barriers else 0

    @property
    def shared(self) -> list[list[int]]:
        """The words that the last block has left in each array of shared memory."""
        return [list((ctypes.c_int64 * count).from_address(address)) for address, count in self._shared]

    def __call__(self, blocks: int, threads: int, arguments: Sequence[Any]) -> None:
        words: list[int] = []
        for argument in arguments:
            for each in argument if isinstance(argument, tuple) else (argument,):
                words += [int(each)] if isinstance(each, int) else _array(each)
        assert len(words) == self._words, "the parameters are not those of the kernel"
        parameters = (ctypes.c_int64 * len(words))(*words)
        frames, turns = (ctypes.c_int64 * (threads * self._frame + 1))(), (ctypes.c_int32 * threads)()
        given = (ctypes.addressof(each) for each in (frames, turns))
        last = threads - 1 if self.reverse else 0
        apart = self._run(ctypes.addressof(parameters), blocks, threads, *given, last)
        assert not apart, "the threads of a block meet at different barriers"


def _array(array: Any) -> list[int]:
    """What numba passes for an array: owner, parent, entries, bytes of an entry, address, shape and strides."""
    return [0, 0, array.size, array.itemsize, array.ctypes.data, *array.shape, *array.strides]


def _compiled(source: str) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
    module = llvm.parse_assembly(source)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    llvm.create_pass_builder(machine, options).getModulePassManager().run(
        module, llvm.create_pass_builder(machine, options)
    )
    return llvm.create_mcjit_compiler(module, machine)
