"""What a user says about texts, checked and resolved.

The rule of this module: a name that is none is an error before a file is opened.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.errors import InputError, did_you_mean
from workbench.events.patterns import EMPTY, LOGFMT, find_pattern
from workbench.events.reading import Reading

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
"""What separates cells, by names."""
ENCODINGS = "utf-8", "utf-16", "latin-1", "cp1252", "iso8859-15", "cp1251", "cp437", "shift_jis", "gb18030"
"""Encodings that are suggested."""


def resolve_reading(reading: Reading) -> Reading:
    """A reading with characters, encodings and patterns in the place of their names.

    Raises
    ------
    InputError: there is no such pattern, delimiter, quotation mark, decimal mark or encoding.
    """
    found = replace(reading, delimiter=delimiter_of(reading.delimiter)) if reading.delimiter else reading
    check_marks(found)
    if reading.encoding:
        check_encoding(reading.encoding)
    if reading.pattern == LOGFMT:
        return replace(found, pattern="", format=LOGFMT)
    pattern = find_pattern(reading.pattern) if reading.pattern else None
    return found if pattern is None else replace(found, pattern=pattern, nulls=(*reading.nulls, EMPTY))


def delimiter_of(text: str) -> str:
    """The character that separates cells, of how a user names it.

    Raises
    ------
    InputError: it is none.
    """
    found = DELIMITERS.get(text, text).replace("\\t", "\t")
    if len(found) != 1 or not found.isascii() or found in '"\r\n' or found.isalnum():
        hint = did_you_mean(text, DELIMITERS) if text.isalpha() else "for example --delimiter ';' or --delimiter tab"
        raise InputError(f"--delimiter {text!r}: expected one character", hint=hint)
    return found


def check_marks(reading: Reading) -> None:
    """InputError where the marks that a user names are none, or one is two things."""
    quote, decimal = reading.quote or "", reading.decimal
    if len(quote) > 1 or not quote.isascii() or (quote and quote == reading.delimiter):
        raise InputError(f"--quote {quote!r}: expected another character, or '' for none")
    if decimal not in ("", ".", ","):
        raise InputError(f"--decimal {decimal}: the decimal mark is a point or a comma", hint="write --decimal ,")
    if decimal and decimal == reading.delimiter:
        raise InputError(f"'{decimal}' is the decimal mark, and separates cells", hint="name another --delimiter")


def check_encoding(name: str) -> None:
    """InputError where there is no such encoding of texts."""
    try:
        "".encode(name)
    except LookupError:
        raise InputError(f"--encoding {name}: there is no such encoding", hint=did_you_mean(name, ENCODINGS)) from None
