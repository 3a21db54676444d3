"""Named tuples of arrays that numba functions take by reference. Imports numba.

The rule of this module: a reference is the address of consecutive descriptors, one per array. They do not change while
a function runs, so a descriptor is loaded once, whatever is stored meanwhile. By value numba would pass about seven
words per array in each call.

Source: numba's documentation, "Low-level extension API".
"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-incomplete-defs, disable-error-code="misc"
# numba has no types.

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_builtin, lower_getattr_generic, register_model
from numba.np.arrayobj import getitem_array_tuple, getitem_arraynd_intp, setitem_array


class TableArray(types.Array):
    """An array whose indices are never negative, so that no access tests for negative indices."""


register_model(TableArray)(models.ArrayModel)


@lower_builtin(operator.getitem, TableArray, types.Integer)
def _get_item(context, builder, signature, args):
    return getitem_arraynd_intp(context, builder, *_without_sign(context, builder, signature, args))


@lower_builtin(operator.getitem, TableArray, types.BaseTuple)
def _get_item_at(context, builder, signature, args):
    return getitem_array_tuple(context, builder, *_without_sign(context, builder, signature, args))


@lower_builtin(operator.setitem, TableArray, types.Any, types.Any)
def _set_item(context, builder, signature, args):
    return setitem_array(context, builder, *_without_sign(context, builder, signature, args))


def _without_sign(context, builder, signature, args):
    """Return the signature and the arguments of an access with unsigned indices."""
    kind, index, *values = signature.args
    if isinstance(index, types.BaseTuple):
        unsigned = types.Tuple([types.uintp] * len(index))
        index_value = context.cast(builder, args[1], index, unsigned)
    else:
        unsigned, index_value = types.uintp, context.cast(builder, args[1], index, types.uintp)
    return signature.return_type(kind, unsigned, *values), [args[0], index_value, *args[2:]]


class TablesType(types.Type):
    """The type of a reference to a named tuple of arrays."""

    def __init__(self, name: str, arrays: Mapping[str, TableArray]) -> None:
        self.arrays = dict(arrays)
        super().__init__(f"{type(self).__name__}({name})")

    @property
    def key(self) -> Any:
        return self.name, *self.arrays.items()


@register_model(TablesType)
class _AddressModel(models.PrimitiveModel):
    def __init__(self, manager, type_) -> None:
        arrays = [manager.lookup(each).get_value_type() for each in type_.arrays.values()]
        super().__init__(manager, type_, ir.LiteralStructType(arrays).as_pointer())


def load_reference(context: Any, builder: Any, tables: TablesType, address: Any) -> Any:
    """Load a reference from a word, and mark the descriptors as always readable for LLVM."""
    pointer = context.get_value_type(tables)
    reference = builder.load(builder.bitcast(address, pointer.as_pointer()))
    size = ir.IntType(64)(context.get_abi_sizeof(pointer.pointee))
    for name, values in (("dereferenceable", [size]), ("invariant.load", [])):
        reference.set_metadata(name, builder.module.add_metadata(values))
    return reference


@infer_getattr
class _ArrayOfTables(AttributeTemplate):
    key = TablesType

    def generic_resolve(self, tables, name):
        return tables.arrays.get(name)


@lower_getattr_generic(TablesType)
def _load_array(context, builder, tables, address, name):
    """Load the descriptor of an array word by word, so that unused words are dropped."""
    del context
    descriptor = cgutils.gep_inbounds(builder, address, 0, list(tables.arrays).index(name))
    return _load_words(builder, descriptor, builder.module.add_metadata([]))


def _load_words(builder, address, nothing):
    kind = address.type.pointee
    if not isinstance(kind, ir.Aggregate):
        word = builder.load(address)
        word.set_metadata("invariant.load", nothing)
        return word
    aggregate = ir.Constant(kind, ir.Undefined)
    for k in range(len(kind)):
        word = _load_words(builder, cgutils.gep_inbounds(builder, address, 0, k), nothing)
        aggregate = builder.insert_value(aggregate, word, k)
    return aggregate
