"""Makes the pictures of docs/ from the tool: `python scripts/pictures.py`.

`--check` changes nothing, and ends with 1 where one is out of date. Drawings of graphviz are compared by their texts:
other versions place these elsewhere.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]
from railroad import Grammar, picture  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
GRAMMARS = {"pipe": "workbench/language/pipe.lark", "rules": "workbench/tesla/tesla.lark"}


@cache
def grammar(language: str) -> Grammar:
    """Return the grammar of a language."""
    return Grammar((ROOT / GRAMMARS[language]).read_text(encoding="utf-8"))


def diagrams() -> dict[str, Callable[[], str]]:
    """Return the railroad diagrams of the grammars, one picture for each of their parts."""
    return {
        f"grammar-{language}-{part.replace(' ', '-')}": partial(picture, grammar(language), part)
        for language in GRAMMARS
        for part, rules in grammar(language).parts.items()
        if rules
    }


DRAWN: dict[str, Callable[[], str]] = {**diagrams()}


def path(name: str) -> Path:
    """Return the file of a picture."""
    return PICTURES / f"{name}.svg"


def texts(svg: str) -> list[str]:
    """Return what is written in a picture, in no order."""
    return sorted(re.findall(r"<text[^>]*>([^<]*)<", svg))


def is_current(file: Path, svg: str) -> bool:
    """Whether a file has this picture."""
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    return texts(old) == texts(svg) if "graphviz" in svg else old == svg


def main() -> int:
    """Write what is out of date, or name it."""
    code = 0
    for name, draw in DRAWN.items():
        file, svg = path(name), draw()
        if not is_current(file, svg):
            print(file.relative_to(ROOT))
            code = int("--check" in sys.argv)
            if not code:
                file.write_text(svg, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
