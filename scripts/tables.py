"""Writes the tables of docs/ that are drawn from tables of the program: `python scripts/tables.py`.

A table stands below a line `<!-- drawn: NAME -->`; `--check` changes nothing, and ends with 1 where one is out of date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def commands() -> list[Sequence[str]]:
    """The commands, with what each is for."""
    from workbench.cli.commands import helps

    pages = {name: page.name for page in DOCS.glob("reference/cli-*.md") for name in _headings(page)}
    links = {name: f"[`workbench {name}`]({page}#{name})" for name, page in pages.items()}
    rows = ((links.get(n, f"`workbench {n}`"), line) for n, line in helps().items())  # extensions have no page
    return [("command", "what it is for"), *rows]


def _headings(page: Path) -> list[str]:
    return re.findall(r"^## (\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)


def backends() -> list[Sequence[str]]:
    """What runs programs, with the options that are its own."""
    from workbench.executors.table import backend_rows

    rows = [row for row in backend_rows().values() if row.runs]
    return [
        ("`--backend`", "what", "runs", "options of its own", "needs"),
        *((f"`{r.name}`", r.what, r.programs, _code(o.flag for o in r.options), _code(r.needs)) for r in rows),
    ]


def contenders() -> list[Sequence[str]]:
    """What `conform` compares."""
    from workbench.conformance.compare.contenders import contenders
    from workbench.executors.table import backend_row

    head = ("backend", "what is compared with the reference executor")
    return [head, *((f"`{name}`", backend_row(name).compared) for name in contenders())]


def engines() -> list[Sequence[str]]:
    """What decides properties."""
    from workbench.verify.decide.table import engine_rows

    rows = engine_rows().values()
    return [("`--engine`", "what", "decides"), *((f"`{row.name}`", row.what, row.decides) for row in rows)]


def formats() -> list[Sequence[str]]:
    """What logs are read from and written to."""
    from workbench.events.table import format_rows

    head = ("`--format`", "files", "what", "pipes", "needs")
    rows = format_rows().values()
    return [
        head,
        *((f"`{r.name}`", _code(r.endings), r.what, "yes" if r.piped else "no", _code(r.needs)) for r in rows),
    ]


def aggregates() -> list[Sequence[str]]:
    """The aggregates of rules, with their types over values of each type."""
    from workbench.core.types import TYPES
    from workbench.tesla.aggregate_table import aggregate_rows

    found = []
    for row in aggregate_rows().values():
        types = {each.domain: each.names[0] for each in TYPES}
        kinds = (f"{types[of]}: {types[result]}" for of in types if (result := row.result(of)) is not None)
        found.append((f"`{row.name}`", row.doc, ", ".join(kinds), "null" if row.nullable else "0"))
    return [("aggregate", "what", "its type over values of a type", "over nothing"), *found]


def processors() -> list[Sequence[str]]:
    """The processors that the language names, and how each is called."""
    from workbench.language.arguments import signature
    from workbench.processors import PROCESSORS

    lines = ((signature(kind), (kind.__doc__ or "").partition("\n")[0]) for _, kind in sorted(PROCESSORS.items()))
    return [("call", "gives"), *((f"`{call}`", line) for call, line in lines)]


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


TABLES: dict[str, Callable[[], list[Sequence[str]]]] = {
    "commands": commands,
    "backends": backends,
    "contenders": contenders,
    "engines": engines,
    "formats": formats,
    "processors": processors,
    "aggregates": aggregates,
}


def drawn(name: str) -> str:
    """A table as Markdown."""
    head, *rows = ([cell.replace("|", "\\|") for cell in row] for row in TABLES[name]())
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, *rows)).replace("\n", f"\n|{'---|' * len(head)}\n", 1)


def redrawn(text: str) -> str:
    """A page with its tables as they are now."""
    return re.sub(r"(<!-- drawn: (\w+) -->\n)(?:\|.*\n)*", lambda found: found[1] + drawn(found[2]), text)


def main() -> int:
    """Write what is out of date, or name it."""
    old = {
        page: text for page in sorted(DOCS.glob("*/*.md")) if redrawn(text := page.read_text(encoding="utf-8")) != text
    }
    for page, text in old.items():
        print(page.relative_to(DOCS.parent))
        if "--check" not in sys.argv:
            page.write_text(redrawn(text), encoding="utf-8")
    return int(bool(old) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
