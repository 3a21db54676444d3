"""Generated loops as machine code: loaded from a cache, or compiled, in this process or another."""

from __future__ import annotations

import struct
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from workbench.executors.compiled.code.objects import Kinds, ObjectFile, ObjectFunction, alone, keep, load_cached


class MachineLoop:
    """The function `run` of a source, compiled for the kinds of its arguments.

    Parameters
    ----------
    source: Python, which may call the functions that its maker provides.
    maker: the module whose `object_file` compiles it.
    """

    def __init__(self, source: str, maker: str = f"{__package__}.kernels") -> None:
        self.source, self.maker = source, maker
        self._made: dict[Kinds, ObjectFunction] = {}
        self._lock = threading.Lock()
        self.compiled = 0
        """Number of compilations in this process: of functions that were not cached."""

    def __call__(self, *arguments: Any) -> int:
        return self.bound(*arguments)()

    def bound(self, *arguments: Any) -> Callable[[], int]:
        """Return a call with these arguments, whose arrays must stay where they are."""
        kinds, words = _describe_arguments(arguments)
        return partial(self._function(kinds), words)

    def located(self, *arguments: Any) -> tuple[int, list[int]]:
        """Return the address of the code, valid as long as this object lives, and the argument words."""
        kinds, words = _describe_arguments(arguments)
        return self._function(kinds).address, list(struct.unpack(f"={len(words) // 8}q", words))

    def _function(self, kinds: Kinds) -> ObjectFunction:
        if kinds not in self._made:
            with self._lock:
                if kinds not in self._made:
                    self._made[kinds] = self._load_cached(kinds) or self._compile(kinds)
        return self._made[kinds]

    def ready(self, arguments: Sequence[Any]) -> bool:
        """Whether there is code for arguments of these kinds, here or in the cache."""
        kinds, _ = _describe_arguments(arguments)
        if kinds not in self._made and (function := self._load_cached(kinds)) is not None:
            self._made[kinds] = function
        return kinds in self._made

    def _load_cached(self, kinds: Kinds) -> ObjectFunction | None:
        object_file = load_cached(self.source, kinds)
        if object_file is None:
            return None
        if not object_file.complete:
            from workbench.executors.compiled.code.kernels import runtime

            runtime()
        return ObjectFunction(object_file) if object_file.complete else None

    def _compile(self, kinds: Kinds) -> ObjectFunction:
        """Compile the function, and cache it if possible."""
        self.compiled += 1
        object_file: ObjectFile = import_module(self.maker).object_file(self.source, kinds)
        keep(self.source, kinds, object_file)
        return ObjectFunction(object_file)


def compile_alone(calls: Sequence[tuple[MachineLoop, Sequence[Any]]]) -> None:
    """Compile the functions that are not cached for their arguments; while another process does so, wait for it."""
    with alone():
        for loop, arguments in calls:
            loop.bound(*arguments)


def run_aside(statements: str) -> None:
    """Run statements in another process, and wait for it; runs that wait for events take precedence."""
    import subprocess

    path = f"import os, sys; os.nice(5); sys.path[:] = {sys.path!r}"
    nothing = subprocess.DEVNULL
    command = [sys.executable, "-c", f"{path}; {statements}"]
    subprocess.run(command, stdin=nothing, stdout=nothing, stderr=nothing, check=False)


def _describe_arguments(arguments: Sequence[Any]) -> tuple[Kinds, bytes]:
    """Return the kinds of arguments, and the words that locate them."""
    kinds, words, left = [], [], list(arguments)[::-1]
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
