"""Where numba keeps machine code of its own, and whether it may be loaded from there.

The rule of this module: files of numba's cache hold pickled objects, and numba runs what they hold. So they are used
only where nobody else can have written them; what cannot be read is removed and compiled again.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numba

from workbench.executors.compiled.code.objects import may_load_all


def cache_folder(function: Callable[..., object]) -> Path | None:
    """Where numba keeps machine code of a function's module; None where it may not load it, or writes nowhere."""
    with suppress(RuntimeError, AttributeError):  # it may write nowhere, or compiles nothing
        folder = Path(numba.njit(cache=True)(function).stats.cache_path)
        beside = Path(inspect.getfile(function)).with_name("__pycache__")  # who writes there can change the code, too
        return folder if folder == beside or may_load_all(folder) else None
    return None


def drop_unreadable(folder: Path, modules: Sequence[str]) -> None:
    """Remove each index of some modules that numba would fail on, as where records in it have other names now."""
    for index in (each for module in modules for each in folder.glob(f"{module}.*.nbi")):
        try:
            with index.open("rb") as file:
                if pickle.load(file) == numba.__version__:  # else numba reads no more of it
                    pickle.load(file)
        except FileNotFoundError:  # another process has removed it
            continue
        except Exception:  # a cache is only a cache: whatever cannot be read of it is compiled again
            index.unlink(missing_ok=True)
