"""Tuples and records as JSON text in columns of Arrow, both ways.

The rule of this module: what is written is what `values.dump_json` writes of each, and what is read is plain JSON, with
the fields of a record in their order; all else is left to who reads texts one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from workbench.core.domain import Bool, Domain, Enum, Integer, Integers, Range, Reals, Texts
from workbench.core.fields import Record, Tuple, scalars
from workbench.events import compute as pc
from workbench.events.columns import arrow_type, has_array, text_array
from workbench.events.texts import constant, float_texts
from workbench.events.values import Words, dump_json, parse_json

SPACE = r"[ \t\n\r]*"
WHOLE = r"-?(?:0|[1-9][0-9]*)"
PATTERNS: tuple[tuple[type[Domain] | tuple[type[Domain], ...], str], ...] = (
    (Bool, "(?P<{}>true|false)"),
    (Reals, rf"(?P<{{}}>{WHOLE}(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"),
    ((Enum, Texts), r'(?P<{}>"(?:[^"\\\x00-\x1f]|\\.)*")'),
    ((Integer, Integers, Range), f"(?P<{{}}>{WHOLE})"),
)
"""How the values of scalar domains are plainly written in JSON, with a place for the name of the group."""


def tuple_texts(domain: Tuple, fields: Iterator[Any]) -> Any:
    """Tuples as JSON; null where the fields are.

    Parameters
    ----------
    fields: a column for each scalar in the tuple, in their order, texts among them as JSON already.
    """
    pieces: list[Any] = []
    for piece in _tuple_pieces(domain, fields):
        if isinstance(piece, str) and pieces and isinstance(pieces[-1], str):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pc.binary_join_element_wise(*(constant(p) if isinstance(p, str) else p for p in pieces), constant(""))


def _tuple_pieces(domain: Domain, fields: Iterator[Any]) -> Iterator[Any]:
    if not isinstance(domain, Tuple):
        yield _json_texts(next(fields))
        return
    names = [f"{dump_json(label)}: " for label in domain.labels] if isinstance(domain, Record) else None
    yield "{" if names else "["
    for i, field in enumerate(domain.fields):
        yield (", " if i else "") + (names[i] if names else "")
        yield from _tuple_pieces(field, fields)
    yield "}" if names else "]"


def _json_texts(column: Any) -> Any:
    """Numbers and truth values as JSON, and texts, which are JSON already."""
    if not pa.types.is_floating(column.type):
        return column.cast(pa.string())
    texts, odd = float_texts(column), pc.invert(pc.is_finite(column))
    if not pc.any(odd).as_py():
        return texts
    odd = pc.fill_null(odd, False)
    return pc.replace_with_mask(texts, odd, text_array(map(dump_json, column.filter(odd).to_pylist())))


def tuple_parts(domain: Tuple, texts: Any) -> list[Any] | None:
    """A column for each scalar field of tuples that are JSON texts; None where some are not plainly such."""
    parts = [part for _, part in scalars(domain)]
    if not parts or not all(has_array(part) and not isinstance(part, Words) for part in parts):
        return None
    found = pc.extract_regex(texts, rf"\A{SPACE}{_pattern(domain, iter(range(len(parts))))}{SPACE}\z")
    if found.null_count > texts.null_count:
        return None
    try:
        return [_read(found.field(i), part) for i, part in enumerate(parts)]
    except (ValueError, UnicodeEncodeError):  # of Arrow, too
        return None


def _read(texts: Any, domain: Domain) -> Any:
    """The values of a scalar domain that are written plainly; of texts each different one is read."""
    if not isinstance(domain, Enum | Texts):
        return texts.cast(arrow_type(domain))
    column = texts.dictionary_encode()
    names = [None if text is None else parse_json(text) for text in column.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(column.indices, text_array(names))


def _pattern(domain: Domain, numbers: Iterator[int]) -> str:
    if not isinstance(domain, Tuple):
        return next(pattern for kind, pattern in PATTERNS if isinstance(domain, kind)).format(f"f{next(numbers)}")
    named = isinstance(domain, Record)
    names = [f"{re.escape(dump_json(name))}{SPACE}:{SPACE}" if named else "" for name in domain.names()]
    fields = (name + _pattern(field, numbers) for name, field in zip(names, domain.fields, strict=True))
    inside = f"{SPACE},{SPACE}".join(fields)
    begin, end = (r"\{", r"\}") if named else (r"\[", r"\]")
    return f"{begin}{SPACE}{inside}{SPACE}{end}"
