"""The cache of the parsers that lark builds from our grammars.

Building the tables of `pipe.lark` takes 0.2 s, a third of the time of a small command, so they are stored where Python
stores compiled modules. The rule of this module: stored tables are used only if this version of lark built them from
this grammar and they are complete; where they cannot be stored, they are built again.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from functools import cache
from importlib.util import cache_from_source, source_hash
from pathlib import Path
from typing import Any

import lark

OPTIONS: dict[str, Any] = {"parser": "lalr", "maybe_placeholders": True}


@cache
def grammar(source: Path, starts: tuple[str, ...]) -> lark.Lark:
    """Return the parser of a grammar, loaded or built on first use."""
    text = source.read_text(encoding="utf-8")
    origin = source_hash(f"{lark.__version__} {OPTIONS} {starts} {text}".encode())
    path = Path(cache_from_source(str(source))).with_suffix(".tables")
    tables = _read_tables(path, origin)
    if tables is not None:
        return lark.Lark.load(io.BytesIO(tables))
    parser = lark.Lark(text, start=list(starts), **OPTIONS)
    if not sys.dont_write_bytecode:
        _store_tables(path, origin, parser)
    return parser


def _read_tables(path: Path, origin: bytes) -> bytes | None:
    """Return the stored tables if they are valid, else None."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    size = len(origin)
    tables = data[2 * size :]
    return tables if data[: 2 * size] == origin + source_hash(tables) else None


def _store_tables(path: Path, origin: bytes, parser: lark.Lark) -> None:
    """Store the tables for the next start, where that is possible."""
    buffer = io.BytesIO()
    parser.save(buffer)
    tables = buffer.getvalue()
    draft = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):  # a read-only installation starts more slowly
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(origin + source_hash(tables) + tables)
        draft.replace(path)
