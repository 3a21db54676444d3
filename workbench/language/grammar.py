"""The parser that lark makes of `pipe.lark`.

Its tables take lark a fifth of a second, a third of the time of a small command, so they are kept where Python
keeps compiled modules. The rule of this module: they are believed only where they were made of this grammar by this
lark, and are whole; where they cannot be kept, they are made anew.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from functools import cache
from importlib.util import cache_from_source, source_hash
from pathlib import Path

import lark

STARTS = ("start", "property", "formula", "trouble")
SOURCE = Path(__file__).with_name("pipe.lark")


@cache
def grammar() -> lark.Lark:
    """The parser, read or made on first use."""
    text = SOURCE.read_text(encoding="utf-8")
    origin = source_hash(f"{lark.__version__} {STARTS} {text}".encode())
    tables = _kept(origin)
    if tables is not None:
        return lark.Lark.load(io.BytesIO(tables))
    made = lark.Lark(text, parser="lalr", start=list(STARTS), propagate_positions=True, maybe_placeholders=True)
    if not sys.dont_write_bytecode:
        _keep(origin, made)
    return made


def _path() -> Path:
    return Path(cache_from_source(str(SOURCE))).with_suffix(".tables")


def _kept(origin: bytes) -> bytes | None:
    """The tables that were kept, if they are what they should be."""
    try:
        data = _path().read_bytes()
    except OSError:
        return None
    size = len(origin)
    tables = data[2 * size :]
    return tables if data[: 2 * size] == origin + source_hash(tables) else None


def _keep(origin: bytes, made: lark.Lark) -> None:
    """Keep the tables for the next start, where that is possible."""
    buffer = io.BytesIO()
    made.save(buffer)
    tables = buffer.getvalue()
    path = _path()
    draft = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):  # a read-only installation starts more slowly
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(origin + source_hash(tables) + tables)
        draft.replace(path)
