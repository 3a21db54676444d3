"""CSV: lines of cells with commas between them."""

from workbench.events.table import FormatRow
from workbench.extensions import later

ROW = FormatRow(
    "csv",
    "a line of names, then a line a step; an empty cell is no event",
    (".csv",),
    later("workbench.events.csv", "CsvReader"),
    later("workbench.events.csv_writer", "CsvWriter"),
    lambda _: True,
    text=True,
    takes=("header",),
    rank=0,
)
