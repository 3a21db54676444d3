"""The compiled functions that generated code calls, and its compilation to machine code. Imports numba.

The rule of this module: an overflow test may give a false alarm near the limits, but never misses an overflow. The
caller of a loop verifies an alarm in exact arithmetic.
"""

# mypy: allow-untyped-defs
# numba infers the types: integers are int64, floats float64.

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import count
from typing import Any

import numba
import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from workbench.core import floats
from workbench.executors.compiled.code import comparisons
from workbench.executors.compiled.code.linking import link_functions
from workbench.executors.compiled.code.objects import ENTRY, LIBM, Kinds, ObjectFile, host_machine, optimise_module
from workbench.executors.compiled.code.printer import executable
from workbench.executors.compiled.code.table_references import TablesType, load_reference
from workbench.executors.compiled.lower import tables
from workbench.executors.compiled.lower.tables import DIRECT, SCATTER

NEARLY = 9.22337203685477e18
"""A little less than 2**63: the relative error of a product of two floats is three parts in 2**53."""


@numba.njit(nogil=True)
def at(position):
    """Convert to an unsigned index, which needs no test for negative values."""
    return np.uintp(position)


@numba.njit(nogil=True)
def get_output_capacity(array):
    """Return the capacity of an output: its array has one entry more, which may be overwritten."""
    return len(array) - 1


def _sum_overflows(a, b):
    """Whether a + b leaves 64 bits: the signs of both differ from that of the sum (Hacker's Delight, 2-13)."""
    total = a + b
    return ((a ^ total) & (b ^ total)) < 0


def _difference_overflows(a, b):
    """Whether a - b leaves 64 bits."""
    difference = a - b
    return ((a ^ b) & (a ^ difference)) < 0


def _product_overflows(a, b):
    """Whether a * b leaves 64 bits; a false alarm is possible."""
    return abs(np.float64(a) * np.float64(b)) > NEARLY


def _flag(operation: str) -> Any:
    """Build an overflow test from the processor's flag: half the cost of a formula."""

    def overflows(context, a, b):
        del context, a, b

        def code(_, builder, __, args):
            return builder.extract_value(getattr(builder, operation)(*args), 1)

        return types.boolean(types.int64, types.int64), code

    return intrinsic(overflows)


sum_overflows, difference_overflows = _flag("sadd_with_overflow"), _flag("ssub_with_overflow")
product_overflows = _flag("smul_with_overflow")


@numba.njit(nogil=True)
def quotient_overflows(a, b):
    """Whether a div b leaves 64 bits."""
    return (b == -1) & (a == -(2**63))


int_same, int_below, int_above = (
    numba.njit(nogil=True)(each) for each in (comparisons.int_same, comparisons.int_below, comparisons.int_above)
)


@intrinsic
def pick(context, condition, then, otherwise):
    """`then if condition else otherwise` without a jump, which would depend on data, and be unpredictable.

    Otherwise the compiler turns chains of conditionals into jumps, at a third of the speed.
    """
    del condition
    kind = context.unify_types(types.unliteral(then), types.unliteral(otherwise))

    def select(_, builder, __, args):
        choice = builder.select(*args)
        choice.set_metadata("unpredictable", builder.module.add_metadata([]))
        return choice

    return kind(types.boolean, kind, kind), select


def _address(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Return the address of an entry, or of a row, of an array."""
    held = make_array(kind)(context, builder, array)
    begins = builder.bitcast(held.data, ir.IntType(8).as_pointer())
    return builder.gep(begins, [builder.mul(index, builder.extract_value(held.strides, 0))])


@intrinsic
def soon(context, array, row):
    """Prefetch a row of an array for reading and writing."""
    del context

    def code(context, builder, signature, args):
        where, number = _address(context, builder, signature.args[0], *args), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [where.type, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [where.type], kind)
        builder.call(fetch, [where, number(1), number(3), number(1)])  # to write data that are used again
        return context.get_dummy_value()

    return types.void(array, row), code


@intrinsic
def eight(context, letters, offset):
    """Read eight bytes from an offset on, as a word."""
    del context

    def code(context, builder, signature, args):
        where = _address(context, builder, signature.args[0], *args)
        word = builder.load(builder.bitcast(where, ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.uint64(letters, offset), code


cycles = types.ExternalFunction("llvm.readcyclecounter", types.int64())
"""Reads the processor's cycle counter, of which only differences have a meaning."""
calloc = types.ExternalFunction("calloc", types.int64(types.int64, types.int64))
free = types.ExternalFunction("free", types.void(types.int64))
"""Memory of the C library: numba's arrays would need its runtime."""
exp, log = (types.ExternalFunction(LIBM[name], types.float64(types.float64)) for name in ("exp", "log"))
power = types.ExternalFunction(LIBM["pow"], types.float64(types.float64, types.float64))
"""See `core.floats`: under names unknown to LLVM, which would otherwise compute them differently."""


@numba.njit(nogil=True)
def scatter(key):
    """Return the upper half of the hash of a key."""
    return np.int64((np.uint64(np.int64(key)) * np.uint64(SCATTER)) >> np.uint64(32))


@numba.njit(nogil=True)
def scatter_pair(a, b):
    """Return the upper half of the hash of a pair of keys."""
    mixed = np.uint64(np.int64(a)) * np.uint64(SCATTER)
    mixed = (mixed ^ (mixed >> np.uint64(32)) ^ np.uint64(np.int64(b))) * np.uint64(SCATTER)
    return np.int64(mixed >> np.uint64(32))


@numba.njit(nogil=True)
def order_rows(used, keys):
    """Return the used rows of a table, sorted by key."""
    rows: Any = np.flatnonzero(used[1:]) + 1
    return rows[np.argsort(keys[rows])]


@numba.njit(nogil=True)
def read_link(address, keys, index):
    """Return a link of a table with these keys."""
    return np.int64(numba.carray(view_address(address, np.uint32), (2 * len(keys) - 1 - DIRECT,))[at(index)])


_linked = {tables.at: at, tables.scatter: scatter, tables.scatter_pair: scatter_pair, tables.read_link: read_link}
first_row, first_row_of_pair, find, find_pair, find_entry, first_linked, next_linked = (
    link_functions(each, lambda copied, _: numba.njit(nogil=True)(copied), _linked)
    for each in (
        tables.first_row, tables.first_row_of_pair, tables.find, tables.find_pair, tables.find_entry,
        tables.first_linked, tables.next_linked,
    )
)  # fmt: skip


@numba.njit(nogil=True)
def link_rows(used, keys):
    """Link the used rows into chains; return the address of the links, to be freed (`free`). See `lower.tables`."""
    capacity = len(used) - 1 - DIRECT
    address = calloc(capacity + len(used), 4)
    if address == 0:
        raise MemoryError
    links = numba.carray(view_address(address, np.uint32), (capacity + len(used),))
    for row in range(1, len(used)):
        if used[row]:
            home = at(first_row(used, keys[row]) - 1 - DIRECT)
            links[capacity + row], links[home] = links[home], row
    return address


divide, sqrt, round_even, round_down, round_up = (
    numba.njit(nogil=True)(each)
    for each in (floats.divide, floats.sqrt, floats.round_even, floats.round_down, floats.round_up)
)

_CALLED = (
    at, find, find_entry, find_pair, first_linked, first_row, first_row_of_pair, int_above, int_below, int_same,
    link_rows, next_linked, order_rows, pick, quotient_overflows, get_output_capacity, soon,
    divide, sqrt, round_even, round_down, round_up,
)  # fmt: skip
SCOPE = {f.__name__: f for f in _CALLED} | {
    "sum_overflows": sum_overflows,
    "difference_overflows": difference_overflows,
    "product_overflows": product_overflows,
    "free": free,
    "exp": exp,
    "log": log,
    "power": power,
}
"""The functions that generated code may call."""

_PLAIN = (at, quotient_overflows, int_same, int_below, int_above, divide, sqrt, round_even, round_down, round_up)
DEVICE = {f.__name__: f.py_func for f in _PLAIN} | {
    f.__name__[1:]: f for f in (_sum_overflows, _difference_overflows, _product_overflows)
}
"""Plain Python versions of some of them, for other devices."""


@intrinsic
def view_address(context, address, kind):
    """Cast an address to a pointer to numbers of a type."""
    del context, address
    pointer = types.CPointer(kind.dtype)

    def code(context, builder, _, args):
        return builder.inttoptr(args[0], context.get_value_type(pointer))

    return pointer(types.int64, kind), code


def runtime() -> None:
    """Initialize numba's runtime in this process."""
    rtsys.initialize(cpu_target.target_context)


def object_file(source: str, kinds: Kinds) -> ObjectFile:
    """Compile the function `run` of a source for arguments of these kinds."""
    run = executable(source, SCOPE)
    run = run if hasattr(run, "overloads") else numba.njit(nogil=True, error_model="numpy")(run)
    left = iter(kinds)
    passed = [_argument_type(kind, size, left) for kind, size in left]
    return compile_entry(run, passed)


def compile_entry(run: Any, passed: Iterable[Any], *, long_loops: bool = True, **options: Any) -> ObjectFile:
    """Compile a function with its callees for arguments of these types; see `optimise_module`."""
    arguments = _argument_reader(tuple(passed))

    def entry(words):
        return np.int64(run(*arguments(words)))

    signature = types.int64(types.CPointer(types.int64))
    options = {**options, "nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    (overload,) = numba.njit(signature, **options)(entry).overloads.values()
    return _alone(binding.parse_assembly(overload.library.get_llvm_str()), overload.fndesc.llvm_func_name, long_loops)


def _argument_reader(passed: tuple[Any, ...]) -> Any:
    """Build an intrinsic that reads the arguments of `run` from the words passed to an entry; see `objects`."""

    def arguments(context, words):
        del context

        def code(context, builder, _, args):
            pointers = (builder.gep(args[0], [ir.IntType(64)(index)]) for index in count())
            values = [_read_argument(context, builder, kind, map(builder.load, pointers)) for kind in passed]
            return context.make_tuple(builder, types.Tuple(passed), values)

        return types.Tuple(passed)(words), code

    return intrinsic(arguments)


def _argument_type(kind: str, axes: int, fields: Iterator[tuple[str, int]]) -> Any:
    """Return the type of an argument; the types of the fields of a named tuple follow in `fields`."""
    module, _, name = kind.partition(":")
    if name:
        return types.NamedTuple(
            [_argument_type(*next(fields), fields) for _ in range(axes)], getattr(import_module(module), name)
        )
    item = numba.from_dtype(np.dtype(kind))
    return types.Array(item, abs(axes), "C" if axes > 0 else "A") if axes else item


def _read_argument(context: Any, builder: Any, kind: Any, words: Iterator[Any]) -> Any:
    """Read a number, an array or a named tuple of these from the next words."""
    if isinstance(kind, types.NamedTuple):
        return context.make_tuple(builder, kind, [_read_argument(context, builder, each, words) for each in kind.types])
    first = next(words)
    if isinstance(kind, TablesType):
        return load_reference(context, builder, kind, first.operands[0])
    if not isinstance(kind, types.Array):
        if kind == types.boolean:
            return builder.icmp_signed("!=", first, first.type(0))
        return builder.bitcast(first, context.get_value_type(kind))
    shape, size = [next(words) for _ in range(kind.ndim)], context.get_abi_sizeof(context.get_data_type(kind.dtype))
    if kind.layout == "C":
        strides = [first.type(size)]
        for length in shape[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
    else:
        strides = [next(words)]
    held = make_array(kind)(context, builder)
    data = builder.inttoptr(first, held.data.type)
    populate_array(held, data, shape, strides, size, None)
    return held._getvalue()


def _alone(module: Any, name: str, long_loops: bool) -> ObjectFile:
    """Compile one function of a module, with its callees, to an object file."""
    for each in (*module.functions, *module.global_variables):
        if each.name == name:
            each.name = ENTRY
        elif not each.is_declaration:
            each.linkage = "internal"
    machine = host_machine()
    optimise_module(module, machine, long_loops=long_loops)
    outside = (each.name for each in (*module.functions, *module.global_variables) if each.is_declaration)
    symbols = tuple(symbol for symbol in outside if not symbol.startswith("llvm."))
    return ObjectFile(symbols, machine.emit_object(module))
