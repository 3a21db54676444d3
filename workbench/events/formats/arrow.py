"""Arrow's file, which is Feather, too."""

from workbench.events.table import PYARROW, FormatRow
from workbench.extensions import later

ROW = FormatRow(
    "arrow",
    "the same as a file of Arrow or Feather",
    (".arrow", ".feather"),
    later("workbench.events.arrow", "ArrowFileReader"),
    later("workbench.events.arrow", "ArrowFileWriter"),
    lambda start: start.startswith((b"ARROW1", b"FEA1")),
    piped=False,
    needs=PYARROW,
    rank=4,
)
