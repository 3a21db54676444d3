"""The little that engines must know about SMV text itself."""

from __future__ import annotations

import re

_MAIN = re.compile(r"^[ \t]*MODULE[ \t]+main\b(?:[ \t]*\([ \t]*\))?", re.MULTILINE)


def insert_into_main(model: str, sections: str) -> str:
    """The model with more sections at the start of its module main.

    They go on the line of `MODULE main`, so that the line numbers in an engine's messages stay
    those of the caller's text. A text without a module main is returned as it is: an engine has
    its own words for that.
    """
    found = _MAIN.search(model)
    return model if found is None else f"{model[: found.end()]} {sections} {model[found.end() :]}"
