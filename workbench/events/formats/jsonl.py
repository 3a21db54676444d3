"""JSON lines."""

import re

from workbench.events.table import FormatRow
from workbench.extensions import later

_VALUE = rb'\s*(?:[{[]|"(?:[^"\\]|\\.)*+"?+[ \t]*(?:[\r\n]|$))'
"""A line that begins with a text in quotes and goes on is one of CSV."""

ROW = FormatRow(
    "jsonl",
    "an object a step, from names to events",
    (".jsonl", ".ndjson", ".json"),
    later("workbench.events.jsonl", "JsonReader"),
    later("workbench.events.jsonl", "JsonWriter"),
    lambda start: re.match(_VALUE, start) is not None,
    text=True,
    rank=2,
)
