"""The same as `words`, compiled: imports numba."""

# mypy: allow-untyped-defs
# numba finds the types.

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

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


def put_machine_functions(scope: dict[str, Any], modules: Sequence[ModuleType] = COMPILED) -> None:
    """Put what generated code calls into its scope: all compiled as they are called."""
    more = {"helper": helper, "scattered": scattered, "word_at": _loads(64), "byte_at": _loads(8), "ticks": ticks}
    more |= {"answer": answer, "put_word": put_word, "fetch": fetch, "wrapped": wrapped}
    scope.update({**SCOPE, **more})
    put_functions(scope, modules, helper)
