"""Parquet."""

from workbench.events.table import PYARROW, FormatRow
from workbench.extensions import later

ROW = FormatRow(
    "parquet",
    "typed columns; a null is no event",
    (".parquet",),
    later("workbench.events.parquet", "ParquetReader"),
    later("workbench.events.parquet", "ParquetWriter"),
    lambda start: start.startswith(b"PAR1"),
    piped=False,
    needs=PYARROW,
    rank=3,
)
