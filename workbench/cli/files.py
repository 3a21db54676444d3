"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from workbench.errors import InputError


def write_atomically(path: str | Path, text: str) -> None:
    """Write a file that appears under its name only when it is complete.

    Raises
    ------
    InputError: it cannot be written there.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file() and not target.is_dir():  # a pipe, a device
            target.write_text(text, encoding="utf-8")
            return
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InputError(f"cannot write there: {error.strerror}", where=str(path)) from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except OSError as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise InputError(f"cannot write there: {error.strerror}", where=str(path)) from error
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
