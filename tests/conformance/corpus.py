"""Reading the corpus: pipelines with what comes in and what has to come out, step by step.

A case is a title, where the expected output is defined, perhaps how BeepBeep `differs`, which backends have
`refused` it and why its numbers are `unbounded`, the text of a pipeline (`p`), and a line per input and output: an
entry per step, then `|`, then what comes at the end. `.` is no event, `1,2` are two events of one step, `T` and `F`
truth values, `{1:5;2:3}` a map.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.core.domain import Anything, Bool, Domain, Enum
from workbench.core.fields import FrozenMap, Map, Tuple
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END, show_carried
from workbench.language import parse
from workbench.processors.held.group import flatten

FOLDER = Path(__file__).parents[1] / "corpus"


@dataclass(frozen=True)
class Case:
    """One case of the corpus."""

    file: str
    title: str
    source: str
    refused: frozenset[str]
    unbounded: bool
    """Whether its numbers are not those of a small finite domain."""
    text: str
    rows: dict[str, tuple[list[str], str]]
    """Input or output to its entries: a step each, and the end."""

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline, with `int` unbounded."""
        return parse(self.text, self.file).get("p").pipeline

    def steps(self, pipeline: Pipeline) -> list[Any]:
        """What comes in, with the end."""
        domains = dict(pipeline.inputs)
        length = max(len(entries) for entries, _ in self.rows.values())
        steps: list[Any] = [{} for _ in range(length)]
        for name, domain in domains.items():
            for step, entry in zip(steps, self.rows[name][0], strict=True):
                if entry != ".":
                    step[name] = value(entry, domain)
        return [*steps, END]

    def outputs(self, pipeline: Pipeline) -> list[dict[str, Any]]:
        """What has to come out in each step, the end included, on the pipes that the outputs show."""
        flat = flatten(pipeline)
        found: list[dict[str, Any]] = []
        for i in range(len(self.steps(pipeline))):
            shown = {}
            for name, pipe in flat.outputs:
                entries, last = self.rows[name]
                entry = entries[i] if i < len(entries) else last or "."
                events = [] if entry == "." else [value(each, flat.domains[pipe]) for each in apart(entry, ",")]
                shown[pipe] = show_carried(events, flat.widths[pipe])
            found.append(shown)
        return found


def cases() -> list[Case]:
    """All of them."""
    return [case for path in sorted(FOLDER.glob("*.txt")) for case in read(path)]


def read(path: Path) -> Iterator[Case]:
    """The cases of a file."""
    _, *blocks = re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for block in blocks:
        title, source, *lines = block.strip().splitlines()
        rows = {}
        text: list[str] = []
        refused: set[str] = set()
        for line in lines:
            if row := re.fullmatch(r"(\w+) *: (.*)\|(.*)", line):
                rows[row[1]] = row[2].split(), row[3].strip()
            elif line.startswith("refused: "):
                refused.update(line.removeprefix("refused: ").split())
            elif not line.startswith(("differs: ", "unbounded: ")):
                text.append(line)
        unbounded = any(line.startswith("unbounded: ") for line in lines)
        yield Case(path.stem, title, source, frozenset(refused), unbounded, "\n".join(text), rows)


def apart(text: str, sign: str) -> list[str]:
    """The parts between signs that stand in no parentheses."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "({") - (c in ")}")
        if c == sign and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts if text else []


def value(text: str, domain: Domain) -> Any:
    """A value of a domain."""
    if isinstance(domain, Enum):
        return text
    if isinstance(domain, Map):
        pairs = (apart(pair, ":") for pair in apart(text[1:-1], ";"))
        return FrozenMap({value(k, domain.key): value(v, domain.value) for k, v in pairs})
    if text.startswith("("):
        parts = apart(text[1:-1], ",")
        domains = domain.fields if isinstance(domain, Tuple) else [domain] * len(parts)
        return tuple(value(part, each) for part, each in zip(parts, domains, strict=True))
    if isinstance(domain, Bool) or (isinstance(domain, Anything) and text in "TF"):
        return {"T": True, "F": False}[text]
    return float(text) if "." in text else int(text)
