"""Open the documentation in a browser."""

from __future__ import annotations

import argparse
import sys
from importlib.resources import files
from pathlib import Path

SITE = "site"
"""The folder of the pages in a wheel; a clone has them in `build/docs`."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--print", action="store_true", dest="only_print", help="only print its path")


def execute(args: argparse.Namespace) -> int:
    """Open the pages, and print their path."""
    from workbench.errors import InputError

    package = Path(str(files("workbench")))
    paths = [package / SITE / "index.html", package.parent / "build" / "docs" / "index.html"]
    page = next(filter(Path.is_file, paths), None)
    if page is None:
        raise InputError(
            "this installation has no pages",
            hint="releases have them; in a clone, make docs builds them, and docs/ has them as Markdown",
        )
    print(page)
    if not args.only_print and sys.stdout.isatty():
        import webbrowser

        webbrowser.open(page.as_uri())
    return 0
