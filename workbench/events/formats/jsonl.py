"""JSON lines."""

from workbench.events.table import FormatRow
from workbench.extensions import later

ROW = FormatRow(
    "jsonl",
    "an object a step, from names to events",
    (".jsonl", ".ndjson", ".json"),
    later("workbench.events.jsonl", "JsonReader"),
    later("workbench.events.jsonl", "JsonWriter"),
    lambda start: start.lstrip()[:1] in (b"{", b"[", b'"'),
    text=True,
    rank=3,
)
