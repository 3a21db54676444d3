"""Link-time optimisation: functions that numba compiles are first linked, and then optimised together, once.

The rule of this module: by default numba optimises each function with all its callees, again for each of its callers,
and emits machine code for each. A function with `pipeline_class=Linked` stays LLVM code, and so do its callees, until
`kernels.compile_entry` makes one object file of them.

Source: numba's documentation, "Customizing the compiler".
"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-incomplete-defs, disable-error-code="misc"
# numba has no types.

from __future__ import annotations

from llvmlite import ir
from numba import _dynfunc, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering


class _LinkedLibrary(JITCodeLibrary):
    """The unoptimised code of a function and of its callees."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _ReferringLower(Lower):
    """Lowering that marks, for LLVM, references as always readable, and functions of `keep_apart`."""

    def setup_function(self, fndesc):
        super().setup_function(fndesc)
        if self.func_ir.func_id.func in _APART:
            self.function.attributes.add("noinline")
        for argument in self.context.call_conv.get_arguments(self.function):
            if isinstance(argument.type, ir.PointerType) and isinstance(argument.type.pointee, ir.LiteralStructType):
                argument.attributes.dereferenceable = self.context.get_abi_sizeof(argument.type.pointee)


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    """Lowering of a function without emitting machine code."""

    _name = "linked_lowering"

    @property
    def lowering_class(self):
        return _ReferringLower

    def run_pass(self, state):
        state.flags.no_compile = True
        super().run_pass(state)
        described, result, library = state.cr.fndesc, state.cr, state.library
        library.finalize()
        # Callers refer to a function by a Python object, which is never called here.
        symbol = _dynfunc.make_function(described.lookup_module(), described.qualname, "", 0, result.env, (library,))
        state.targetctx.insert_user_function(symbol, described, [library])
        state["cr"] = result._replace(cfunc=symbol)
        return True


class Linked(Compiler):
    """A compiler pipeline without machine code."""

    def __init__(self, typing, target, _, *arguments) -> None:
        super().__init__(typing, target, _LinkedLibrary(target.codegen(), "linked"), *arguments)

    def define_pipelines(self):
        (pipeline,) = super().define_pipelines()
        pipeline.passes = [(_LinkedLowering if each is NativeLowering else each, why) for each, why in pipeline.passes]
        return [pipeline]


_APART = set[object]()


def keep_apart(function):
    """Let no caller inline a function, even a single one, so that callers do not pay for its registers."""
    _APART.add(function)


def compile_once(dispatcher):
    """Let numba compile a function once for integers, not again for each constant argument."""
    compile_for = dispatcher.compile
    dispatcher.compile = lambda arguments: compile_for(tuple(map(types.unliteral, arguments)))
    return dispatcher
