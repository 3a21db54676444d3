"""Checks the declarations of a rule file, and reports all mistakes in them.

The rule of this module: a type is declared once, except that rules of the older grammar may repeat what they define.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.core.mistakes import Mistakes
from workbench.tesla import tree as t

RESERVED = ("time", "type")
"""Column names for the time and the type of an event in rows of a log."""


def collect_declarations(
    file: t.RuleFile, types: Mapping[str, t.Declaration], mistakes: Mistakes
) -> dict[str, t.Declaration]:
    """Collect the types of a file by name, preceded by types that are only declared elsewhere."""
    declarations: dict[str, t.Declaration] = {}
    numbers: dict[int, str] = {}
    for each in file.declarations:
        if each.name == "fact":
            mistakes.report("'fact' is a word of the language, and cannot name a type", each.where, "rename it: Fact")
        before = declarations.get(each.name)
        if before is not None:
            merged = _merge(before, each)
            if merged is None:
                what = f"'{each.name}' is declared twice, first as {before}"
                mistakes.report(what, each.where, "declare it once, or rename one")
            else:
                declarations[each.name] = merged
            continue
        _check_attributes(each, mistakes)
        if each.number is not None and numbers.setdefault(each.number, each.name) != each.name:
            what = f"the id {each.number} is that of '{numbers[each.number]}' already"
            mistakes.report(what, each.where, "give one of them another id, or leave it out")
        declarations[each.name] = each
    return {**{name: each for name, each in types.items() if name not in declarations}, **declarations}


def _check_attributes(declared: t.Declaration, mistakes: Mistakes) -> None:
    """Report attributes of one type that share a name, or have a reserved one."""
    check_unique("attribute", declared.attributes, mistakes)
    for part in declared.attributes:
        if part.name in RESERVED:
            what = f"'{part.name}' cannot be the name of an attribute: every event has its own"
            mistakes.report(what, part.where, "rename it; TIME(A) is the time of A")


def _merge(one: t.Declaration, other: t.Declaration) -> t.Declaration | None:
    """Merge two declarations if they agree, as rules of the older grammar may repeat them; None if they do not."""
    if one.fact != other.fact or [a.name for a in one.attributes] != [b.name for b in other.attributes]:
        return None
    attributes = []
    for a, b in zip(one.attributes, other.attributes, strict=True):
        if None not in (a.domain, b.domain) and a.domain != b.domain:
            return None
        attributes.append(a if a.domain is not None else b)
    if one.number is not None and other.number is not None:
        return None
    return replace(one, attributes=tuple(attributes), number=one.number if other.number is None else other.number)


def check_types(declared: Mapping[str, t.Declaration], mistakes: Mistakes) -> None:
    """Report each attribute whose type is not known."""
    for each in declared.values():
        for part in each.attributes:
            if part.domain is None:
                what = f"nothing shows the type of '{part.name}' of {each.name}"
                mistakes.report(what, part.where, f"write it: {part.name}: int")


def check_unique(what: str, items: Sequence[t.Declaration | t.Attribute | t.Rule], mistakes: Mistakes) -> None:
    """Report each item that has the name of an earlier one."""
    names: set[str] = set()
    for item in items:
        if item.name in names:
            mistakes.report(f"two {what}s are called '{item.name}'", item.where, "rename one")
        names.add(item.name)
