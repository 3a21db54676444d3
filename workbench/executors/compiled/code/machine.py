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

from workbench.executors.compiled.code.objects import Kinds, ObjectFile, ObjectFunction, alone, keep, kept

if TYPE_CHECKING:
    import subprocess

_ASIDE = threading.Lock()
"""Who has another process compile: one at a time, however many programs there are."""


class MachineLoop:
    """The function `run` of a source, compiled for the kinds of arguments that it is called with.

    Parameters
    ----------
    source: Python, which may call what its maker knows.
    maker: the module whose `object_file` compiles it.
    """

    def __init__(self, source: str, maker: str = f"{__package__}.kernels") -> None:
        self.source, self.maker = source, maker
        self._made: dict[Kinds, ObjectFunction] = {}
        self._lock = threading.Lock()
        self.compiled = 0
        """How often it has been compiled in this process: it was not kept."""

    def __call__(self, *given: Any) -> int:
        return self.bound(*given)()

    def bound(self, *given: Any) -> Callable[[], int]:
        """The same as a call for later ones with the same arguments, whose arrays have to stay where they are."""
        kinds, words = _describe_arguments(given)
        return partial(self._function(kinds), words)

    def located(self, *given: Any) -> tuple[int, list[int]]:
        """The same for machine code: where it lies, as long as this object lives, and the words that it takes."""
        kinds, words = _describe_arguments(given)
        return self._function(kinds).address, list(struct.unpack(f"={len(words) // 8}q", words))

    def _function(self, kinds: Kinds) -> ObjectFunction:
        if kinds not in self._made:
            with self._lock:
                if kinds not in self._made:
                    self._made[kinds] = self._load_cached(kinds) or self._compile(kinds)
        return self._made[kinds]

    def fetch(self, given: Sequence[Any]) -> None:
        """Have what is kept for arguments of these kinds, and have another process compile it, if need be."""
        fetch_together([(self, given)])

    def ready(self, given: Sequence[Any]) -> bool:
        """Whether there is code for arguments of these kinds, or it has been kept."""
        return self.finds(_describe_arguments(given)[0])

    def finds(self, kinds: Kinds) -> bool:
        """The same, given the kinds."""
        if kinds not in self._made and (function := self._load_cached(kinds)) is not None:
            self._made[kinds] = function
        return kinds in self._made

    def _load_cached(self, kinds: Kinds) -> ObjectFunction | None:
        found = kept(self.source, kinds)
        if found is None:
            return None
        if not found.complete:
            from workbench.executors.compiled.code.kernels import runtime

            runtime()
        return ObjectFunction(found) if found.complete else None

    def _compile(self, kinds: Kinds) -> ObjectFunction:
        self.compiled += 1
        return ObjectFunction(build(self.maker, self.source, kinds))


def fetch_together(wanted: Sequence[tuple[MachineLoop, Sequence[Any]]]) -> None:
    """Have what is kept of functions for their arguments; another process compiles the others, one after the other."""
    asked = [(loop, _describe_arguments(given)[0]) for loop, given in wanted]
    with _ASIDE:
        missing = [(loop.maker, loop.source, kinds) for loop, kinds in asked if not loop.finds(kinds)]
        if missing:
            _build_aside(missing).wait()
    for loop, kinds in asked:
        loop.finds(kinds)


def build(maker: str, source: str, kinds: Kinds) -> ObjectFile:
    """Compile a function, and keep it where that is possible."""
    made: ObjectFile = import_module(maker).object_file(source, kinds)
    keep(source, kinds, made)
    return made


def build_asked() -> None:
    """`build` what the standard input says, unless another process does so, which is waited for."""
    asked = json.load(sys.stdin)
    with alone():
        for maker, source, listed in asked:
            kinds = tuple((kind, axes) for kind, axes in listed)
            if kept(source, kinds) is None:
                build(maker, source, kinds)


def _describe_arguments(given: Sequence[Any]) -> tuple[Kinds, bytes]:
    """The kinds of some arguments, and the words that say where they are."""
    kinds, words, left = [], [], list(given)[::-1]
    while left:
        each = left.pop()
        if isinstance(each, tuple):
            kinds.append((f"{type(each).__module__}:{type(each).__qualname__}", len(each)))
            left += each[::-1]
        elif isinstance(each, bool):
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


def _build_aside(functions: Sequence[tuple[str, str, Kinds]]) -> subprocess.Popen[bytes]:
    """A process that compiles functions, given their makers, sources and kinds of arguments, and keeps them."""
    import subprocess
    import tempfile

    with tempfile.TemporaryFile() as asked:  # a pipe might have no room for it
        asked.write(json.dumps(functions).encode())
        asked.seek(0)
        path = f"import os, sys; os.nice(5); sys.path[:] = {sys.path!r}"  # who waits for events comes first
        code = f"{path}; from {__name__} import build_asked; build_asked()"
        return subprocess.Popen(
            [sys.executable, "-c", code], stdin=asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
