"""A cache of machine code: functions that numba has compiled once, called in later processes without numba.

The rule of this module: cached code is loaded only if it was made from this source by these versions for this
processor, is intact, needs only symbols that this process has, and no other user can have written it; otherwise it is
compiled anew. A function is called with the address of words: its numbers, and for each array the address, the lengths
and, if it is not contiguous, the strides. So it takes numbers, arrays of at most two axes (one, if not contiguous) and
named tuples of these, returns an integer, and raises nothing.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
from llvmlite import binding

from workbench.core import floats
from workbench.errors import InputError, StateError
from workbench.events.files import replacing
from workbench.executors.compiled.code import comparisons
from workbench.executors.compiled.lower import tables
from workbench.stored import FORM, checksum, seal, unseal

LARGEST = 256 << 20
"""Maximum total size in bytes of all files of machine code: the oldest are removed."""
ENTRY = "entry"
"""The name of the function in an object file."""

Kinds = tuple[tuple[str, int], ...]
"""For each argument its type (letter and size, as in numpy) and its number of axes; -1: one, not contiguous.

For a named tuple its class, as `module:name`, and its number of fields, which follow.
"""


LIBM = {name: f"workbench_{name}" for name in ("exp", "log", "pow")}
"""Functions of the C library, with their names in machine code; Python calls the same."""


@cache
def offer_libm() -> None:
    """Register the functions of the C library under these names for machine code."""
    for name, symbol in LIBM.items():
        binding.add_symbol(symbol, binding.address_of_symbol(name))


class ObjectFile(NamedTuple):
    """A function as an object file.

    Attributes
    ----------
    symbols: external symbols that the process must have.
    code: contents of the file.
    """

    symbols: tuple[str, ...]
    code: bytes

    @property
    def complete(self) -> bool:
        """Whether this process has all symbols."""
        offer_libm()
        return all(binding.address_of_symbol(symbol) for symbol in self.symbols)


def load_cached(source: str, kinds: Kinds) -> ObjectFile | None:
    """Load the function `run` of a source for these kinds of arguments, if it is cached."""
    mark = _mark(source, kinds)
    unblocked = os.O_NOFOLLOW | os.O_NONBLOCK  # a named pipe would wait for a writer
    try:
        if not _is_own_folder(cache_folder()):
            return None
        with open(_path(mark), "rb", opener=lambda path, flags: os.open(path, flags | unblocked)) as file:
            if not _is_private(os.fstat(file.fileno()), _path(mark), stat.S_ISREG):
                return None
            symbols, _, code = unseal(mark, file.read()).partition(b"\n")
    except (OSError, StateError):
        return None
    return ObjectFile(tuple(json.loads(symbols)), code)


def keep(source: str, kinds: Kinds, file: ObjectFile) -> None:
    """Cache an object file if possible; otherwise the next process compiles it again."""
    mark = _mark(source, kinds)
    with suppress(OSError, InputError):
        _make_folder()
        if not _is_own_folder(cache_folder()):
            return
        with replacing(_path(mark)) as aside:
            aside.chmod(0o600)
            aside.write_bytes(seal(mark, json.dumps(file.symbols).encode() + b"\n" + file.code))
        _bound_folder()


@contextmanager
def alone() -> Iterator[None]:
    """Wait until no other process with the same cache folder is in such a block."""
    import fcntl

    opened_folder = None
    with suppress(OSError):  # without a cache there is nothing to wait for
        _make_folder()
        opened_folder = os.open(cache_folder(), os.O_RDONLY)
        fcntl.flock(opened_folder, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if opened_folder is not None:
            os.close(opened_folder)


def _make_folder() -> None:
    cache_folder().parent.mkdir(parents=True, exist_ok=True)
    cache_folder().mkdir(mode=0o700, exist_ok=True)


def cache_folder() -> Path:
    """Return the cache folder of machine code: `workbench/loops` in the user's cache; may be removed at any time."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "workbench" / "loops"


def _is_own_folder(folder: Path) -> bool:
    """Whether only this user can have written into the folder; also makes it private."""
    if not _is_private(status := os.lstat(folder), folder, stat.S_ISDIR):
        return False
    if stat.S_IMODE(status.st_mode) != 0o700:
        folder.chmod(0o700)
    return True


def _is_private(status: os.stat_result, path: Path, is_kind: Callable[[int], bool]) -> bool:
    """Whether this is of the right kind, and only this user owns it and may write there; logs a warning if not."""
    if not is_kind(status.st_mode):
        what = f"{path} is no {'folder' if is_kind is stat.S_ISDIR else 'regular file'}"
    elif status.st_uid != os.geteuid() or status.st_mode & 0o022:
        what = f"others own {path}, or may write there (chmod 700 it)"
    else:
        return True
    _warn(f"machine code is not cached, and none is loaded: {what}")
    return False


@cache  # once per text
def _warn(text: str) -> None:
    logging.getLogger("workbench").warning(text)


def _bound_folder() -> None:
    """Remove the oldest files where their total size is too large; other things are left alone."""
    every = ((path, path.lstat()) for path in cache_folder().iterdir())
    files = [(status.st_mtime, status.st_size, path) for path, status in every if stat.S_ISREG(status.st_mode)]
    size = sum(length for _, length, _ in files)
    for _, length, path in sorted(files):
        if size <= LARGEST:
            return
        path.unlink(missing_ok=True)
        size -= length


def code_of(module: str, name: str, *others: str) -> str:
    """Return a source whose `run` is a function of a module; its hash covers the modules of the callees."""
    texts = b""
    for each in (module, *others):
        spec = find_spec(each)
        assert spec is not None
        assert spec.origin is not None
        texts += Path(spec.origin).read_bytes()
    return f"from {module} import {name} as run  # {checksum(texts).hex()}\n"


def host_machine() -> Any:
    """Create the compiler for this processor; an engine takes ownership of it."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    cpu, features = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    kind = {"opt": 3, "reloc": "pic", "jit": True}  # code may be anywhere in memory
    return binding.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, **kind)


def optimise_module(module: Any, machine: Any, *, long_loops: bool = True) -> None:
    """Optimise a module with LLVM: loops for many iterations, or for few."""
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.loop_unrolling = long_loops
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)


class ObjectFunction:
    """A loaded function of an object file, which is valid as long as this object.

    Attributes
    ----------
    address: of its code: given the addresses of a result, an error and its words, it returns 0 on success.
    """

    def __init__(self, file: ObjectFile) -> None:
        offer_libm()
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), host_machine())
        self._engine.add_object_file(binding.ObjectFileRef.from_data(file.code))
        self._engine.finalize_object()
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)
        self.address = int(self._engine.get_function_address(ENTRY))
        self._code = kind(self.address)

    def __call__(self, words: bytes) -> int:
        buffer = (ctypes.c_int64 * 2)()
        result = ctypes.addressof(buffer)
        if self._code(result, result + 8, words):  # other threads run meanwhile
            raise MemoryError("there is no memory for sorting in a loop")
        return int(buffer[0])


def _path(mark: bytes) -> Path:
    return cache_folder() / f"loop_{mark.hex()}.o"


def _mark(source: str, kinds: Kinds) -> bytes:
    """Return the hash that identifies an object file."""
    return checksum("\0".join((*_makers(), source, repr(kinds))).encode())


@cache
def _makers() -> tuple[str, ...]:
    """Return all that determines the code of a source: versions, settings, the processor, and the called kernels."""
    import numpy as np

    spec = find_spec("numba")
    assert spec is not None
    assert spec.origin is not None
    numba = Path(spec.origin)
    versions = sorted(path.name for path in numba.parents[1].glob("numba-*-info"))  # its import costs 15 ms
    called = (Path(__file__).with_name("kernels.py"), comparisons.__file__, tables.__file__, floats.__file__)
    settings = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("NUMBA_"))
    return (
        str(FORM), *versions, str(numba.stat().st_mtime_ns), llvmlite.__version__, np.__version__, sys.version,
        *settings,
        binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten(),
        *(Path(each).read_text(encoding="utf-8") for each in called if each),
    )  # fmt: skip
