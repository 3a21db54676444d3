"""Generated loops as machine code: kept from an earlier process, or compiled, in this process or another."""

from __future__ import annotations

import json
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from workbench.executors.compiled.code.objects import Kinds, ObjectFile, ObjectFunction, keep, kept

if TYPE_CHECKING:
    import subprocess

_ASIDE = threading.Lock()
"""Who has another process compile: one at a time, however many programs there are."""


class MachineLoop:
    """The function `run` of a source, compiled for the kinds of arguments that it is called with.

    Parameters
    ----------
    source: Python, which may call what its maker knows.
    maker: the module whose `object_file` compiles it: `kernels` by numba, `llvm_program` without.
    """

    def __init__(self, source: str, maker: str = f"{__package__}.kernels") -> None:
        self._source, self._maker = source, maker
        self._made: dict[Kinds, ObjectFunction] = {}
        self._lock = threading.Lock()
        self.compiled = 0
        """How often it has been compiled in this process: it was not kept."""

    def __call__(self, *given: Any) -> int:
        return self.bound(*given)()

    def bound(self, *given: Any) -> Callable[[], int]:
        """The same as a call for later ones with the same arguments, whose arrays have to stay where they are."""
        kinds, words = _passed(given)
        return partial(self._function(kinds), words)

    def before(self, *last: Any) -> Callable[..., int]:
        """What is called with the other arguments, those before these; their arrays have to stay where they are."""
        kinds, words = _passed(last)

        def run(*first: Any) -> int:
            more, begin = _passed(first)
            return self._function(more + kinds)(begin + words)

        return run

    def located(self, *given: Any) -> tuple[int, list[int]]:
        """The same for machine code: where it lies, as long as this object lives, and the words that it takes."""
        kinds, words = _passed(given)
        return self._function(kinds).address, list(struct.unpack(f"={len(words) // 8}q", words))

    def _function(self, kinds: Kinds) -> ObjectFunction:
        if kinds not in self._made:
            with self._lock:
                if kinds not in self._made:
                    self._made[kinds] = self._kept(kinds) or self._compiled(kinds)
        return self._made[kinds]

    def fetch(self, given: Sequence[Any]) -> None:
        """Have what is kept for arguments of these kinds, and have another process compile it, if need be."""
        kinds, _ = _passed(given)
        function = self._kept(kinds)
        if function is None:
            with _ASIDE:
                function = self._kept(kinds)
                if function is None:
                    _build_aside(self._maker, self._source, kinds).wait()
                    function = self._kept(kinds)
        if function is not None:
            self._made[kinds] = function

    def ready(self, given: Sequence[Any]) -> bool:
        """Whether there is code for arguments of these kinds, or it has been kept."""
        kinds, _ = _passed(given)
        if kinds not in self._made and (function := self._kept(kinds)) is not None:
            self._made[kinds] = function
        return kinds in self._made

    def _kept(self, kinds: Kinds) -> ObjectFunction | None:
        found = kept(self._source, kinds)
        if found is None:
            return None
        if not found.complete:
            from workbench.executors.compiled.code.kernels import runtime

            runtime()
        return ObjectFunction(found) if found.complete else None

    def _compiled(self, kinds: Kinds) -> ObjectFunction:
        self.compiled += 1
        return ObjectFunction(build(self._maker, self._source, kinds))


def build(maker: str, source: str, kinds: Kinds) -> ObjectFile:
    """Compile a function, and keep it where that is possible."""
    made: ObjectFile = import_module(maker).object_file(source, kinds)
    keep(source, kinds, made)
    return made


def build_asked() -> None:
    """`build` what the standard input says."""
    maker, source, kinds = json.load(sys.stdin)
    build(maker, source, tuple((kind, axes) for kind, axes in kinds))


def _passed(given: Sequence[Any]) -> tuple[Kinds, bytes]:
    """The kinds of some arguments, and the words that say where they are."""
    kinds, words = [], []
    for each in given:
        if isinstance(each, bool):
            kinds.append(("b1", 0))
            words.append(int(each))
        elif isinstance(each, float):
            kinds.append(("f8", 0))
            words.append(int.from_bytes(struct.pack("=d", each), sys.byteorder, signed=True))
        elif not hasattr(each, "dtype") or not each.ndim:
            kinds.append(("i8", 0))
            words.append(int(each))
        else:
            whole = each.flags.c_contiguous
            kinds.append((f"{each.dtype.kind}{each.dtype.itemsize}", each.ndim if whole else -1))
            words += [each.__array_interface__["data"][0], *each.shape, *(() if whole else each.strides)]
    return tuple(kinds), struct.pack(f"={len(words)}q", *words)


def _build_aside(maker: str, source: str, kinds: Kinds) -> subprocess.Popen[bytes]:
    """A process that compiles a function, and keeps it."""
    import subprocess
    import tempfile

    with tempfile.TemporaryFile() as asked:  # a pipe might have no room for it
        asked.write(json.dumps((maker, source, kinds)).encode())
        asked.seek(0)
        nice = 5 if maker.endswith("kernels") else 0  # who waits for events comes first, but for a second
        path = f"import os, sys; os.nice({nice}); sys.path[:] = {sys.path!r}"
        code = f"{path}; from {__name__} import build_asked; build_asked()"
        return subprocess.Popen(
            [sys.executable, "-c", code], stdin=asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
