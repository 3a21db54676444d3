"""XML: an element a step, named by `--xml`."""

from workbench.events.table import FormatRow
from workbench.extensions import later

ROW = FormatRow(
    "xml",
    "an element of the name that `--xml` gives a step; columns are paths in it",
    (".xml",),
    later("workbench.events.xml", "XmlReader"),
    None,
    lambda start: start.lstrip().startswith(b"<"),
    text=True,
    takes=("xml",),
    rank=4,
)
