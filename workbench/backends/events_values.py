"""Values of a domain as JSON data and as the text of a CSV cell, both ways.

The rule of this module: a domain's values read back as they were written. `UnreadableError` carries what
was expected; the reader adds where.
"""

from __future__ import annotations

import json
import re
from typing import Any

from workbench.core.domain import (
    Anything,
    Bool,
    Domain,
    Enum,
    FrozenMap,
    Integer,
    Integers,
    Map,
    Range,
    Reals,
    Record,
    Texts,
    Tuple,
    Value,
)
from workbench.errors import InputError

INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf|nan")
TRUTH = {"true": True, "false": False, "1": True, "0": False}


class UnreadableError(ValueError):
    """Not a value of the domain; the message says what was expected."""


def expected(domain: Domain) -> str:
    """The domain as a reader of an error message wants it."""
    if isinstance(domain, Bool):
        return "true or false (or 1 or 0)"
    if isinstance(domain, Integer):
        return f"an integer 0..{domain.hi}"
    if isinstance(domain, Range):
        return f"an integer {domain}"
    if isinstance(domain, Enum):
        return f"one of {', '.join(domain.labels)}"
    if isinstance(domain, Integers | Reals):
        return "a number"
    if isinstance(domain, Record):
        return f"an object {domain}"
    if isinstance(domain, Tuple):
        return f"an array {domain}"
    if isinstance(domain, Map):
        return f"an object {domain}"
    return "a text" if isinstance(domain, Texts) else str(domain)


def from_json(data: Any, domain: Domain) -> Value:
    """JSON data as a value of the domain."""
    value = _typed(data, domain)
    if value not in domain:
        raise UnreadableError(expected(domain))
    return value


def _typed(data: Any, domain: Domain) -> Value:
    if isinstance(domain, Record):
        if not isinstance(data, dict) or set(data) != set(domain.labels):
            raise UnreadableError(expected(domain))
        return tuple(from_json(data[n], f) for n, f in zip(domain.labels, domain.fields, strict=True))
    if isinstance(domain, Tuple):
        if not isinstance(data, list) or len(data) != len(domain.fields):
            raise UnreadableError(expected(domain))
        return tuple(from_json(d, f) for d, f in zip(data, domain.fields, strict=True))
    if isinstance(domain, Map):
        if not isinstance(data, dict):
            raise UnreadableError(expected(domain))
        return FrozenMap({from_text(key, domain.key): from_json(item, domain.value) for key, item in data.items()})
    if isinstance(domain, Bool) and type(data) is int and data in (0, 1):
        return bool(data)
    if isinstance(domain, Reals) and type(data) is int:
        return float(data)
    return _hashable(data) if isinstance(domain, Anything) else data


def _hashable(data: Any) -> Value:
    return tuple(map(_hashable, data)) if isinstance(data, list) else data


def from_text(cell: str, domain: Domain) -> Value:
    """The text of a cell as a value of the domain."""
    value = _parsed(cell, cell.strip(), domain)
    if value is None or value not in domain:
        raise UnreadableError(expected(domain))
    return value


def _parsed(cell: str, text: str, domain: Domain) -> Value:
    if isinstance(domain, Texts):
        return cell
    if isinstance(domain, Enum):
        return text
    if isinstance(domain, Bool):
        return TRUTH.get(text.lower())
    if isinstance(domain, Tuple | Map | Anything):
        try:
            return from_json(json.loads(text), domain)
        except (json.JSONDecodeError, RecursionError):
            return cell if isinstance(domain, Anything) else None
    if INTEGER.fullmatch(text):
        return float(text) if isinstance(domain, Reals) else int(text)
    if isinstance(domain, Integers | Reals) and NUMBER.fullmatch(text):
        return float(text)
    return None


def to_json(value: Value, domain: Domain) -> Any:
    """A value as JSON data: records as objects, tuples as arrays."""
    if isinstance(domain, Record):
        fields = zip(domain.labels, value, domain.fields, strict=True)
        return {label: to_json(item, field) for label, item, field in fields}
    if isinstance(domain, Tuple):
        return [to_json(item, field) for item, field in zip(value, domain.fields, strict=True)]
    if isinstance(domain, Map):
        return {key: to_json(item, domain.value) for key, item in domain.shown(value)}
    if isinstance(domain, Anything) and not _plain(value):
        return repr(value)
    return value


def _plain(value: Value) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _plain(item) for key, item in value.items())
    return value is None or isinstance(value, bool | int | float | str)


def to_text(value: Value, domain: Domain) -> str:
    """A value as the text of a cell."""
    data = to_json(value, domain)
    if isinstance(data, str) and not isinstance(domain, Anything):
        if not data.strip():
            raise InputError(
                f"the text {data!r} cannot be told from an empty cell of CSV", hint="write JSON lines instead"
            )
        return data
    if isinstance(data, float) and not isinstance(domain, Anything):
        return repr(data)
    return json.dumps(data, ensure_ascii=False)
