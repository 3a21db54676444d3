"""Files that are written completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from workbench.errors import InputError
from workbench.events.whole import replacing


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
        with replacing(target) as name:
            name.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritten(error, path) from error


def unwritten(error: OSError, path: str | Path = "") -> InputError:
    """The system's word that something cannot be written, as an error of ours."""
    return InputError(f"cannot write there: {error.strerror}", where=str(path or error.filename or "standard output"))
