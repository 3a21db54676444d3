"""Arrow's stream."""

from workbench.events.table import PYARROW, FormatRow
from workbench.extensions import later

ROW = FormatRow(
    "arrows",
    "the same as a stream of Arrow, also through a pipe",
    (".arrows", ".ipc"),
    later("workbench.events.arrow", "ArrowStreamReader"),
    later("workbench.events.arrow", "ArrowStreamWriter"),
    lambda start: start.startswith(b"\xff\xff\xff\xff"),
    needs=PYARROW,
    rank=5,
)
