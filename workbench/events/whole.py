"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from workbench.errors import InputError


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """An empty file beside `target`, with its suffix, that takes its name at the end, or vanishes.

    Raises
    ------
    InputError: it cannot be made there.
    """
    name = target.with_name(f".{target.stem}.{os.urandom(4).hex()}{target.suffix}")
    try:  # around the making, too: whenever this is interrupted, nothing is left behind
        try:
            name.touch(exist_ok=False)
        except OSError as error:
            raise InputError(f"cannot write there: {error.strerror}", where=str(target)) from error
        yield name
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            name.unlink()
        raise
