"""Tuples and records as JSON text in columns of Arrow: what `values.dump_json` writes of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from workbench.core.domain import Domain
from workbench.core.fields import Record, Tuple
from workbench.events import compute as pc
from workbench.events.columns import text_array
from workbench.events.texts import constant, float_texts
from workbench.events.values import dump_json


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
