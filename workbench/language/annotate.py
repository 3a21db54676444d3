"""Writing capacities into the text of a `.pipe` file; the rest of the text stays unchanged."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.errors import LanguageError, Location
from workbench.language import syntax as s
from workbench.language.load import parse
from workbench.language.source import Source


def annotate(source: Source, name: str | None, capacities: Mapping[str, int]) -> str:
    """Return the text of a file in which a pipeline states the given capacities.

    A capacity that the text already states is changed in place; the others are inserted before the closing brace.
    Capacities of queues that are not mentioned stay.

    Parameters
    ----------
    source: the file; its text keeps its line ends.
    name: the pipeline, None for the default one.
    capacities: queue name to its capacity; queues inside groups are called `group.add.left`.

    Raises
    ------
    LanguageError: a queue has a name that cannot be written in the language, or the pipeline does not have it.
    """
    name = name or source.default
    syntax = next(p for p in source.tree.pipelines if p.name == name)
    stated = source.get(name).pipeline.capacities
    edits: list[tuple[int, int, str]] = []
    for statement in syntax.capacities:
        size = capacities.get(statement.queue)
        if size is not None and size != stated[statement.queue]:
            edits.append((*statement.span, str(size)))
    new = [s.CapacitySyntax(queue, s.Literal(size)) for queue, size in capacities.items() if queue not in stated]
    if new:
        edits.append(_insertion(source.text, syntax, [str(statement) for statement in new]))
    text = source.text
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    _read_back(text, source, name, {**stated, **capacities})
    return text


def _insertion(text: str, syntax: s.PipelineSyntax, lines: list[str]) -> tuple[int, int, str]:
    """Return the edit that inserts the statements before the closing brace, on their own lines if it has one."""
    start = text.rfind("\n", 0, syntax.closing) + 1
    if text[start : syntax.closing].strip():
        gap = "" if text[syntax.closing - 1].isspace() else " "
        return syntax.closing, syntax.closing, gap + " ".join(lines) + " "
    end = "\r\n" if text[:start].endswith("\r\n") else "\n"
    last = syntax.statements[-1].where.text if syntax.statements else ""
    indent = last[: len(last) - len(last.lstrip())] or " " * 4
    return start, start, "".join(indent + line + end for line in lines)


def _read_back(text: str, source: Source, name: str, new_capacities: Mapping[str, int]) -> None:
    """Raise LanguageError unless the new text states the wanted capacities."""
    capacities = parse(text, source.file, source.functions).get(name).pipeline.capacities
    if dict(capacities) != dict(new_capacities):
        what = f"the capacities of pipeline {name} cannot be written"
        raise LanguageError(what, where=Location(source.file), hint="write them by hand")
