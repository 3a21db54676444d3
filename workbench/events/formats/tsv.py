"""TSV: CSV with tabs instead of commas."""

from workbench.events.csv_writer import CsvWriter
from workbench.events.formats.csv import CsvReader
from workbench.events.reading_options import CELLS, LINES
from workbench.events.table import FormatRow


class TsvReader(CsvReader):
    """A reader of CSV with tabs."""

    between = "\t"


class TsvWriter(CsvWriter):
    """A writer of CSV with tabs."""

    between = "\t"


def _begins(start: bytes) -> bool:
    line = start.partition(b"\n")[0]
    return b"\t" in line.strip() and b"," not in line


ROW = FormatRow(
    "tsv",
    "as csv, with tabs",
    (".tsv", ".tab"),
    TsvReader,
    TsvWriter,
    _begins,
    text=True,
    takes=("header", *CELLS, *LINES),
    rank=1,
)
