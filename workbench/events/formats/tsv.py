"""TSV: CSV with tabs for commas."""

from workbench.events.table import FormatRow
from workbench.extensions import later


def _begins(start: bytes) -> bool:
    line = start.partition(b"\n")[0]
    return b"\t" in line.strip() and b"," not in line


ROW = FormatRow(
    "tsv",
    "the same with tabs",
    (".tsv", ".tab"),
    later("workbench.events.csv", "TsvReader"),
    later("workbench.events.csv_writer", "TsvWriter"),
    _begins,
    text=True,
    takes=("header",),
    rank=1,
)
