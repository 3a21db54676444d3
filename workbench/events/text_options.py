"""Check and resolve the options of a user about texts.

The rule of this module: an unknown name is an error before a file is opened.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.errors import InputError, did_you_mean
from workbench.events.patterns import EMPTY, LOGFMT, find_pattern
from workbench.events.reading_options import Reading

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
"""The delimiters of cells by their names."""
ENCODINGS = "utf-8", "utf-16", "latin-1", "cp1252", "iso8859-15", "cp1251", "cp437", "shift_jis", "gb18030"
"""The encodings that are suggested."""


def resolve_reading(reading: Reading) -> Reading:
    """Replace the names of characters, encodings and patterns in a reading by their meanings.

    Raises
    ------
    InputError: there is no such pattern, delimiter, quotation mark, decimal mark, separator of thousands or encoding.
    """
    new_reading = replace(reading, delimiter=delimiter_of(reading.delimiter)) if reading.delimiter else reading
    check_marks(new_reading)
    if reading.encoding:
        check_encoding(reading.encoding)
    if reading.pattern == LOGFMT:
        return replace(new_reading, pattern="", format=LOGFMT)
    pattern = find_pattern(reading.pattern) if reading.pattern else None
    return new_reading if pattern is None else replace(new_reading, pattern=pattern, nulls=(*reading.nulls, EMPTY))


def delimiter_of(text: str, option: str = "--delimiter") -> str:
    """Return the delimiter that a user names.

    Raises
    ------
    InputError: it is not a delimiter.
    """
    delimiter = DELIMITERS.get(text, text).replace("\\t", "\t")
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n' or delimiter.isalnum():
        hint = did_you_mean(text, DELIMITERS) if text.isalpha() else f"for example {option} ';' or {option} tab"
        raise InputError(f"{option} {text!r}: expected one character", hint=hint)
    return delimiter


def written_marks(text: str, decimal: str) -> tuple[str, str]:
    """Return the delimiter and the decimal mark that a user names for the output, or ""; InputError as for those read.

    The delimiter may be a name.
    """
    _check_decimal(decimal, "--output-decimal")
    delimiter = delimiter_of(text, "--output-delimiter") if text else ""
    if delimiter and delimiter in f"+-.{decimal}":
        raise InputError(f"--output-delimiter {text!r}: numbers contain it", hint="name another one")
    return delimiter, decimal


def _check_decimal(mark: str, option: str) -> None:
    if mark not in ("", ".", ","):
        raise InputError(f"{option} {mark}: the decimal mark is a point or a comma", hint=f"write {option} ,")


def check_marks(reading: Reading) -> None:
    """Raise InputError if a mark of the user is invalid, or has two meanings."""
    quote, decimal, thousands = reading.quote or "", reading.decimal, reading.thousands
    if len(quote) > 1 or not quote.isascii() or (quote and quote == reading.delimiter):
        raise InputError(f"--quote {quote!r}: expected another character, or '' for none")
    _check_decimal(decimal, "--decimal")
    if len(thousands) > 1 or thousands.isalnum() or (thousands and thousands in "+-\r\n"):
        raise InputError(f"--thousands {thousands!r}: expected one character", hint="for example --thousands ,")
    if thousands and thousands == (decimal or "."):
        what = f"'{thousands}' is the decimal mark, and separates thousands"
        raise InputError(what, hint=f"name the decimal mark, too: --decimal {',' if thousands == '.' else '.'}")


def check_encoding(name: str) -> None:
    """Raise InputError if there is no such encoding of texts."""
    try:
        "".encode(name)
    except LookupError:
        raise InputError(f"--encoding {name}: there is no such encoding", hint=did_you_mean(name, ENCODINGS)) from None
