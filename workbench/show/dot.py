"""Pictures as DOT texts: what all of them share, and graphviz, which draws them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable

from workbench.errors import WorkbenchError

INK, FAINT, FILL, PALE = "#1f2d3d", "#7a8794", "#f3f7fb", "#fff8e7"


def digraph(name: str, lines: Iterable[str], layout: str, size: int) -> str:
    """A graph as text.

    Parameters
    ----------
    lines: its nodes, edges and clusters.
    layout: attributes that say how they are laid out.
    size: points of the letters of nodes.
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
    """A text that may stand inside quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def run_graphviz(name: str, text: str, kind: str) -> bytes:
    """The file of some kind that graphviz makes of the DOT text of what is called so.

    Raises
    ------
    WorkbenchError: it is not installed, or cannot draw it.
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
