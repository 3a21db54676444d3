"""Convert values of a domain to and from JSON data and the texts of CSV cells.

The rule of this module: it alone defines the form of a cell, for every reader, and a domain's values read back as they
were written. `UnreadableError` states what was expected; the reader adds the place.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from workbench.core.domain import Anything, Bool, Domain, Enum, Integer, Integers, Range, Reals, Texts, Value
from workbench.core.fields import FrozenMap, Map, Nullable, Record, Tuple, resolve
from workbench.core.program import Ports
from workbench.core.units import MICROSECONDS
from workbench.errors import InputError
from workbench.events.clock import Clock, Times
from workbench.events.date_formats import UntimedError

INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf|nan")
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}")
DATE_REMEDY = "--time-format auto reads dates in inputs of numbers as seconds since 1970"
GROUPED = re.compile(r"[+-]?[0-9]{1,3}([.,][0-9]{3})+([.,][0-9]+)?")
NOTHING = frozenset(("na", "n/a", "-", "null", "none", "nil", "nan", "?", "(null)", "\\n", "missing"))
"""Texts that many logs have in place of a missing number."""
DEEPEST = 200
"""Maximum nesting of a JSON value of any type."""
TRUTH = {"true": True, "false": False, "1": True, "0": False}


class UnreadableError(ValueError):
    """The error for a text that is not a value of the domain; the message describes what was expected."""

    def __init__(self, expected: str, hint: str = "") -> None:
        super().__init__(expected)
        self.hint = hint

    def refusal(self, whose: str, text: str, where: str = "") -> InputError:
        """Return the error for the user: `whose` value it is, its text, and the place, unless that is added later."""
        return InputError(f"{whose}: expected {self}, not {text}", where=where, hint=self.hint)


@dataclass(frozen=True)
class Unheld:
    """A number of JSON that no Python number represents; no domain has it."""

    text: str
    expected: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class KeyTexts(Texts):
    """Texts that identify or order rows; in JSON also numbers and truth values, as they are written."""


@dataclass(frozen=True)
class CopiedCells(Anything):
    """Cells that are copied to the output: values of JSON, texts of formats without types, or of a typed column.

    Attributes
    ----------
    kind: the Arrow type of the column; None: texts, or values of any type.
    """

    kind: Any = None


@dataclass(frozen=True)
class Int64(Integers):
    """Whole numbers of 64 bits."""

    def __contains__(self, value: Value) -> bool:
        return super().__contains__(value) and -(2**63) <= value < 2**63


def limit_to_64_bits(ports: Ports) -> Ports:
    """Restrict whole numbers on inputs to 64 bits."""
    return replace(ports, inputs=tuple(replace(port, domain=resolve(port.domain, Int64())) for port in ports.inputs))


def short(text: str) -> str:
    """Return a text, shortened if it is long."""
    text = text.strip()
    return text if len(text) <= 60 else text[:57] + "..."


def short_json(data: Any) -> str:
    """Return JSON data as text, shortened if it is long."""
    try:
        return short(str(data) if isinstance(data, Unheld) else json.dumps(data, default=str))
    except RecursionError:
        return "a deep one"


def parse_json(text: str) -> Any:
    """Parse JSON text without changing a number; numbers that Python cannot represent are `Unheld`.

    Raises
    ------
    ValueError: it is not JSON; the message has the reason.
    """
    try:
        try:
            return _DECODER.decode(text)
        except (json.JSONDecodeError, UnreadableError):
            raise
        except ValueError:  # a number has too many digits: the slower decoder checks each
            return _CAREFUL.decode(text)
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at").rstrip(": ")  # some messages end with "at", some with what comes next
        raise ValueError(f"not a JSON value: {what} at column {error.colno}: {short(text)}") from error
    except UnreadableError as error:
        raise ValueError(f"{error}: {short(text)}") from error
    except RecursionError as error:
        raise ValueError(f"not a JSON value: it is nested too deeply: {short(text)}") from error


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise UnreadableError("not a JSON value: a key occurs twice in one object")
    return members


def double(number: str | int) -> float:
    """Convert a number to the nearest float; only `inf` is infinite."""
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if math.isinf(value) and "inf" not in str(number):
        raise UnreadableError("a number that a float can hold")
    return value


def whole(text: str) -> int:
    """Convert digits to the whole number."""
    try:
        return int(text)
    except ValueError as error:
        raise UnreadableError(_digits()) from error


def _make_cell_reader(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def number(text: str) -> Any:
        try:
            return read(text)
        except UnreadableError as error:
            return Unheld(text, str(error))

    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_float=_make_cell_reader(double))
_CAREFUL = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_float=_make_cell_reader(double), parse_int=_make_cell_reader(whole)
)


def _digits() -> str:
    return f"a whole number of at most {sys.get_int_max_str_digits()} digits"


def describe_domain(domain: Domain) -> str:
    """Describe the domain for an error message."""
    if isinstance(domain, Enum):
        return f"one of {', '.join(domain.labels)}"
    return next(text for kind, text in _EXPECTED if isinstance(domain, kind)).format(domain)


_EXPECTED: tuple[tuple[type[Domain], str], ...] = (
    (Bool, "true or false (or 1 or 0)"),
    (Integer, "an integer 0..{0.hi}"),
    (Range, "an integer {0}"),
    (Integers, "a whole number"),
    (Reals, "a number"),
    (Record, "an object {0}"),
    (Tuple, "an array {0}"),
    (Map, "an object {0}"),
    (KeyTexts, "a text or a number"),
    (Texts, "a text"),
    (Domain, "{0}"),
)


def padding(domain: Domain) -> Value | None:
    """Return the value of an empty field with `--null zero`: 0, false, the empty text, a record of these; or None."""
    if isinstance(domain, Texts | Bool | Reals):
        return domain.default
    if isinstance(domain, Tuple):
        parts = tuple(map(padding, domain.fields))
        return None if None in parts else parts
    return 0 if domain.numeric and not isinstance(domain, Times) and 0 in domain else None


def from_json(data: Any, domain: Domain) -> Value:
    """Convert JSON data to a value of the domain; values of Python are converted in the same way, also inside of it."""
    if data is None and not isinstance(domain, Nullable | Anything | Times):
        raise UnreadableError(describe_domain(domain), f"declare a value that may be null with a ?, as {domain}?")
    return _member(_read_typed(data, domain), domain)


def _member(value: Value, domain: Domain) -> Value:
    """Check that a value that was read is of the domain; `int` has no floats in a log."""
    fraction = isinstance(domain, Integers) and isinstance(value, float)
    if fraction or value not in domain:
        if isinstance(value, Decimal):
            return from_json(decimal_to_number(value), domain)
        if isinstance(value, Unheld):
            raise UnreadableError(value.expected)
        if isinstance(domain, Int64) and type(value) is int:
            raise UnreadableError("a whole number of 64 bits", "the reference backend has integers of any size")
        hint = "declare the input as float" if fraction else ""
        if domain.numeric and (isinstance(value, date) or (isinstance(value, str) and DATE.match(value))):
            hint = DATE_REMEDY
        if isinstance(domain, KeyTexts) and isinstance(value, dict | list):
            hint = "a key is a text or a number, not an object"
        raise UnreadableError(describe_domain(domain), hint)
    return value


def date_to_seconds(cell: Any, domain: Domain, clock: Clock) -> Value | None:
    """Convert a date to seconds since 1970 in UTC, where the domain has numbers; None if it is a number, or has none.

    Raises
    ------
    UnreadableError: it is not a date, or has a fraction of a second where numbers are whole.
    """
    numbers = domain.of if isinstance(domain, Nullable) else domain
    cell = datetime.combine(cell, time()) if isinstance(cell, date) and not isinstance(cell, datetime) else cell
    text = isinstance(cell, str) and not NUMBER.fullmatch(cell.strip())
    if not (text or isinstance(cell, datetime)) or not isinstance(numbers, Integer | Integers | Range | Reals):
        return None
    try:
        seconds, rest = divmod(clock.read(cell), MICROSECONDS["s"])
    except UntimedError as error:
        raise UnreadableError(str(error), error.hint) from error
    if isinstance(numbers, Reals):
        return seconds + rest / MICROSECONDS["s"]
    if rest:
        raise UnreadableError("a date of a whole second", "declare the input as float")
    return _member(seconds, domain)


def decimal_to_number(value: Decimal) -> int | float:
    """Convert a decimal to a number: a whole one if it has no fraction."""
    return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)


def _read_typed(data: Any, domain: Domain) -> Value:
    if isinstance(domain, _STRUCTURED):
        return _read_structured(data, domain)
    if isinstance(domain, Bool):
        return bool(data) if type(data) is int and data in (0, 1) else data
    if isinstance(domain, Reals):
        return double(data) if type(data) is int else data
    if isinstance(domain, Times):
        return _time(data, domain)
    if isinstance(data, str):
        return _whole_text(data)
    return json.dumps(data) if isinstance(domain, KeyTexts) and isinstance(data, int | float) else data


def _whole_text(data: str) -> str:
    """Check that a text can be encoded."""
    if not is_encodable(data):
        raise UnreadableError("a text of whole characters", "half of a surrogate pair is not a character of Unicode")
    return data


def is_encodable(text: str) -> bool:
    """Whether a text consists of whole characters of Unicode: JSON and Python also have halves of surrogate pairs."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _time(data: Any, domain: Times) -> int:
    """Convert a time in the form of JSON, CSV or a typed column."""
    if isinstance(data, bool) or not isinstance(data, str | int | float | Unheld | datetime):
        raise UnreadableError("a time")
    try:
        return domain.read(data if isinstance(data, datetime) else str(data))
    except UntimedError as error:
        raise UnreadableError(str(error), error.hint) from error


def _read_structured(data: Any, domain: Domain) -> Value:
    if isinstance(data, tuple | FrozenMap) and data in domain:  # JSON has neither
        return data
    if isinstance(domain, Record):
        fields = dict(zip(domain.labels, domain.fields, strict=True))
        if not isinstance(data, dict):
            raise UnreadableError(describe_domain(domain))
        members = {name: None for name, field in fields.items() if isinstance(field, Nullable)} | data
        if lacking := next((name for name in fields if name not in members), ""):
            remedy = f"the object has no '{lacking}'; a field that may be missing is declared with a ?, as int?"
            raise UnreadableError(describe_domain(domain), remedy)
        return tuple(from_json(members[n], f) for n, f in fields.items())
    if isinstance(domain, Tuple):
        if not isinstance(data, list | tuple) or len(data) != len(domain.fields):
            raise UnreadableError(describe_domain(domain))
        return tuple(from_json(d, f) for d, f in zip(data, domain.fields, strict=True))
    if isinstance(domain, Map):
        if not isinstance(data, dict | FrozenMap):
            raise UnreadableError(describe_domain(domain))
        return FrozenMap({_read_key(key, domain.key): from_json(item, domain.value) for key, item in data.items()})
    if isinstance(domain, Nullable):
        return None if data is None else from_json(data, domain.of)
    return _hashable(data)


def _read_key(key: Any, domain: Domain) -> Value:
    """Convert the key of an entry: a text in JSON, any value in Python."""
    return from_text(key, domain) if isinstance(key, str) else from_json(key, domain)


def _hashable(data: Any, level: int = 0) -> Value:
    if isinstance(data, Unheld):
        raise UnreadableError(data.expected)
    if isinstance(data, str):
        return _whole_text(data)
    if level > DEEPEST:  # comparing and writing it recurse as deep
        raise UnreadableError(f"a value of at most {DEEPEST} levels")
    if isinstance(data, dict):
        for key, item in data.items():
            _whole_text(str(key))
            _hashable(item, level + 1)  # checks that every number can be held
    return tuple(_hashable(item, level + 1) for item in data) if isinstance(data, list) else data


_STRUCTURED = (Tuple, Map, Nullable, Anything)
"""The domains whose values are JSON text in a cell."""


def from_text(cell: str, domain: Domain) -> Value:
    """Convert the text of a cell to a value of the domain."""
    return _member(_parse_cell(cell, cell.strip(), domain), domain)


def _parse_cell(cell: str, text: str, domain: Domain) -> Value:
    if isinstance(domain, Texts | CopiedCells):
        return cell
    if isinstance(domain, Times):
        return _time(text, domain)
    if isinstance(domain, Enum):
        return text
    if isinstance(domain, Bool):
        if text.lower() not in TRUTH and text.isidentifier():
            raise UnreadableError(
                describe_domain(domain), f"the type {{{text}, ...}} has labels: x = {text} is true or false"
            )
        return TRUTH.get(text.lower())
    if isinstance(domain, _STRUCTURED):
        try:
            return from_json(parse_json(text), domain)
        except ValueError as error:
            if isinstance(domain, Anything):
                return cell
            if isinstance(domain, Nullable):
                return from_text(cell, domain.of)
            if isinstance(error, UnreadableError):
                raise
            return None
    integer = INTEGER.fullmatch(text)
    if not integer and not NUMBER.fullmatch(text):
        if GROUPED.fullmatch(text) or DECIMAL_COMMA.fullmatch(text):
            raise UnreadableError(describe_domain(domain), _explain_marks(text))
        if DATE.match(text):
            raise UnreadableError(describe_domain(domain), DATE_REMEDY)
        if text.lower() in NOTHING:
            raise UnreadableError(
                describe_domain(domain), f"--null {shlex.quote(text)} makes cells with this text empty"
            )
        return None
    if isinstance(domain, Reals):
        return double(text)
    return whole(text) if integer else float(text)


def _explain_marks(text: str) -> str:
    """Return a hint for a number with commas, or with several points."""
    marks = [each for each in text if each in ".,"]
    if len(set(marks)) > 1 or marks[0] == ".":
        grouped, decimal = marks[0], marks[-1] if marks[-1] != marks[0] else ","
        return f"--thousands {grouped} --decimal {decimal} reads such numbers"
    if len(marks) > 1:
        return "--thousands , reads numbers with commas between thousands"
    either = f"; --thousands , takes '{text}' for {text.replace(',', '')}" if GROUPED.fullmatch(text) else ""
    return f"--decimal , reads numbers with a decimal comma{either}"


def to_json(value: Value, domain: Domain) -> Any:
    """Convert a value to JSON data: records to objects, tuples to arrays."""
    if isinstance(domain, Record):
        fields = zip(domain.labels, value, domain.fields, strict=True)
        return {label: to_json(item, field) for label, item, field in fields}
    if isinstance(domain, Tuple):
        return [to_json(item, field) for item, field in zip(value, domain.fields, strict=True)]
    if isinstance(domain, Map):
        return {_key_text(key, domain.key): to_json(value[key], domain.value) for key in domain.sort_keys(value)}
    if isinstance(domain, Nullable) and value is not None:
        return to_json(value, domain.of)
    if isinstance(domain, CopiedCells):
        return _cell_to_json(value)
    if isinstance(domain, Anything) and not _plain(value):
        return repr(value)
    return value


def _cell_to_json(value: Any) -> Any:
    """Convert a cell of JSON or of Arrow to JSON data."""
    if isinstance(value, dict):
        return {str(key): _cell_to_json(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return list(map(_cell_to_json, value))
    if isinstance(value, date | time):
        return date_text(value)
    if isinstance(value, Decimal):
        return decimal_to_number(value)
    return value if _plain(value) else repr(value)


def date_text(value: date | time) -> str:
    """Return a date or a time of day in the form of ISO 8601, in UTC if it has a time zone."""
    return (value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value).isoformat()


def _key_text(key: Value, domain: Domain) -> str:
    """Return the key of a map as the name of a JSON field."""
    data = to_json(key, domain)
    return data if isinstance(data, str) else repr(data) if isinstance(data, float) else dump_json(data)


def _plain(value: Value) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _plain(item) for key, item in value.items())
    return value is None or isinstance(value, bool | int | float | str)


def to_text(value: Value, domain: Domain) -> str:
    """Convert a value to the text of a cell."""
    data = to_json(value, domain)
    if isinstance(data, str) and isinstance(domain, CopiedCells):
        return data
    if isinstance(data, str) and not isinstance(domain, Anything | Nullable):
        if not data.strip():
            raise InputError(
                f"the text {data!r} cannot be distinguished from an empty cell of CSV", hint="write JSON lines instead"
            )
        return data
    if isinstance(data, float) and not isinstance(domain, Anything):
        return repr(data)
    return dump_json(data)


def standard_json(data: Any) -> Any:
    """Return JSON data with null for NaN and infinities, which the standard (RFC 8259) does not have."""
    if isinstance(data, dict):
        return {key: standard_json(item) for key, item in data.items()}
    if isinstance(data, list | tuple):
        return list(map(standard_json, data))
    return None if isinstance(data, float) and not math.isfinite(data) else data


def dump_json(data: Any) -> str:
    """Convert JSON data to text; NaN and infinities are written as Python does, for cells that are read back.

    Raises
    ------
    InputError: a number has more digits than can be read back.
    """
    try:
        return json.dumps(data, ensure_ascii=False)
    except ValueError as error:
        hint = "numbers stay small in a finite domain, e.g. -N 1000"
        raise InputError(f"what comes out is not {_digits()}", hint=hint) from error
