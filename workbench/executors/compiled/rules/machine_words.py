"""The same as `words`, compiled: imports numba."""

# mypy: allow-untyped-defs
# numba finds the types.

from __future__ import annotations

import operator
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, models, register_model
from numba.np.arrayobj import load_item, make_array, store_item

from workbench.executors.compiled.code.kernels import SCOPE
from workbench.executors.compiled.rules.program import COMPILED, put_functions
from workbench.executors.compiled.rules.words import ODD

HALF, SCATTER = np.uint64(32), np.uint64(ODD)
POSITIVE = np.uint64((1 << 63) - 1)

helper = numba.njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


@helper
def scattered(mixed, word):
    """A hash of a word and of the hash of those before it, not negative."""
    both = (np.uint64(mixed) ^ np.uint64(word)) * SCATTER
    return np.int64((both ^ (both >> HALF)) & POSITIVE)


@helper
def wrapped(number):
    """A whole number as it is in 64 bits."""
    return number


@intrinsic
def ticks(context):
    """A clock that only its differences mean something of."""
    del context

    def code(_, builder, __, ___):
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", (), kind), [])

    return types.int64(), code


def _loads(bits: int) -> Any:
    @intrinsic
    def load(context, address, place):
        del context, address, place

        def code(_, builder, __, args):
            pointer = builder.inttoptr(args[0], ir.IntType(bits).as_pointer())
            found = builder.load(builder.gep(pointer, [args[1]]))
            return found if bits == 64 else builder.zext(found, ir.IntType(64))

        return types.int64(types.int64, types.int64), code

    return load


@intrinsic
def put_word(context, address, place, word):
    """Write a word at a place behind an address."""
    del context, address, place, word

    def code(context, builder, _, args):
        pointer = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        builder.store(args[2], builder.gep(pointer, [args[1]]))
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), code


@intrinsic
def fetch(context, array, place):
    """Have a word at hand soon."""
    del context, place

    def code(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        pointer = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        flags = [ir.IntType(32)] * 3
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, *flags])
        called = builder.module.declare_intrinsic("llvm.prefetch", (pointer.type,), kind)
        builder.call(called, [pointer, *(flag(value) for flag, value in zip(flags, (0, 3, 1), strict=True))])
        return context.get_dummy_value()

    return types.none(array, types.int64), code


@intrinsic
def answer(context, address, what, one, other):
    """What a function says that lies at an address."""
    del context, address, what, one, other

    def code(_, builder, __, args):
        kind = ir.FunctionType(ir.IntType(64), [ir.IntType(64)] * 3)
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.int64(*[types.int64] * 4), code


class ForwardArray(types.Array):  # type: ignore[misc]  # numba has no types
    """An array no index of which counts from the end, so that nobody looks which do; what its type says is the same."""

    def __init__(self, array: Any) -> None:
        super().__init__(array.dtype, array.ndim, array.layout, name=f"forward {array.name}")


register_model(ForwardArray)(models.ArrayModel)


def _entry(context: Any, builder: Any, kind: Any, array: Any, index_kind: Any, index: Any) -> Any:
    """Where an entry of a whole array lies."""
    held, several = make_array(kind)(context, builder, array), isinstance(index_kind, types.BaseTuple)
    kinds, parts = (index_kind, cgutils.unpack_tuple(builder, index)) if several else ([index_kind], [index])
    place = ir.Constant(ir.IntType(64), 0)
    for part, one, size in zip(parts, kinds, cgutils.unpack_tuple(builder, held.shape), strict=True):
        place = builder.add(builder.mul(place, size), context.cast(builder, part, one, types.intp))
    return builder.gep(held.data, [place])


@lower_builtin(operator.getitem, ForwardArray, types.Integer)
@lower_builtin(operator.getitem, ForwardArray, types.BaseTuple)
def _read(context, builder, signature, args):
    kind, index = signature.args
    return load_item(context, builder, kind, _entry(context, builder, kind, args[0], index, args[1]))


@lower_builtin(operator.setitem, ForwardArray, types.Integer, types.Any)
@lower_builtin(operator.setitem, ForwardArray, types.BaseTuple, types.Any)
def _write(context, builder, signature, args):
    kind, index, value = signature.args
    found = context.cast(builder, args[2], value, kind.dtype)
    store_item(context, builder, kind, found, _entry(context, builder, kind, args[0], index, args[1]))


@intrinsic
def forward(context, arrays):
    """The same arrays, no index of which counts from the end."""
    del context
    kinds = types.Tuple([ForwardArray(each) for each in arrays])

    def code(context, builder, signature, args):
        return context.make_tuple(builder, signature.return_type, cgutils.unpack_tuple(builder, args[0]))

    return kinds(arrays), code


def forwarded(run: Any) -> Any:
    """A function that is given numbers, and then arrays which it indexes from their beginning only."""

    @helper
    def given(mode, first, last, *arrays):
        return run(mode, first, last, *forward(arrays))

    return given


def put_machine_functions(scope: dict[str, Any], modules: Sequence[ModuleType] = COMPILED) -> None:
    """Put what generated code calls into its scope: all compiled as they are called."""
    more = {"helper": helper, "scattered": scattered, "word_at": _loads(64), "byte_at": _loads(8), "ticks": ticks}
    more |= {"answer": answer, "put_word": put_word, "fetch": fetch, "wrapped": wrapped}
    scope.update({**SCOPE, **more})
    put_functions(scope, modules, helper)
    scope["run"] = forwarded(scope["run"])
