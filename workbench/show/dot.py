"""DOT texts: the common parts of all pictures, and graphviz, which draws them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable

from workbench.errors import WorkbenchError

INK, FAINT, FILL, PALE = "#1f2d3d", "#7a8794", "#f3f7fb", "#fff8e7"


def digraph(name: str, lines: Iterable[str], layout: str, size: int) -> str:
    """Return a graph as DOT text.

    Parameters
    ----------
    lines: its nodes, edges and clusters.
    layout: attributes of the layout.
    size: font size of nodes, in points.
    """
    body = "\n".join(lines)
    return f"""digraph "{quote(name)}" {{
    {layout}
    fontname="Helvetica"; fontsize=11; fontcolor="{FAINT}"; labeljust=l;
    node [fontname="Helvetica", fontsize={size}, fontcolor="{INK}", color="{INK}", shape=plain];
    edge [fontname="Helvetica", fontsize=9, fontcolor="{FAINT}", color="{INK}", arrowsize=0.6];
{body}
}}
"""


def quote(text: str) -> str:
    """Escape a text for double quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def run_graphviz(name: str, text: str, kind: str) -> bytes:
    """Draw DOT text with graphviz, and return the file of this kind; `name` is for the error message.

    Raises
    ------
    WorkbenchError: graphviz is not installed, or cannot draw the text.
    """
    program = shutil.which("dot")
    if program is None:
        raise WorkbenchError(
            "the program 'dot' of graphviz is not installed",
            hint="install it (apt-get install graphviz), or write a .dot file instead",
        )
    done = subprocess.run([program, f"-T{kind}"], input=text.encode(), capture_output=True, check=False)
    if done.returncode:
        raise WorkbenchError(f"graphviz could not draw {name}: {done.stderr.decode().strip()}")
    return done.stdout
