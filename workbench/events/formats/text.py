"""Lines of text in which a pattern finds what belongs to a row."""

from workbench.events.table import FormatRow
from workbench.extensions import later

ROW = FormatRow(
    "text",
    "a line a step, with a column for each named group of `--pattern`",
    (".log",),
    later("workbench.events.text", "TextReader"),
    None,
    lambda _: False,
    text=True,
    takes=("pattern",),
    rank=3,
)
