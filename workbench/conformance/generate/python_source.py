"""Printing of a pipeline as the Python program that builds it, to show failures and keep them as tests."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from workbench.conformance.generate.functions import source_of
from workbench.core.domain import Domain
from workbench.core.fault import Fault
from workbench.core.fields import FrozenMap
from workbench.core.function import Function
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Processor
from workbench.processors.held.group import Group
from workbench.processors.moore import Transition, Variable
from workbench.tesla.rule_set import RuleSet

STANDARD = {"random": "import random", "Path": "from pathlib import Path", "pytest": "import pytest"}
WIDE = 100
"""Maximum number of characters in an import line; longer ones are split into one name per line."""


def body(pipeline: Pipeline) -> str:
    """Return a program that assigns an equal pipeline to the variable `pipeline`, without its imports."""
    lines: list[str] = []
    name = _define(pipeline, {}, lines)
    return "\n".join([*lines, f"pipeline = {name}"])


def imports(text: str, own: Iterable[str] = ()) -> str:
    """Return the import lines for the names that a program uses, from modules with stable paths.

    Parameters
    ----------
    own: import lines for a user's own names, kept if the program uses the name.
    """
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    lines = [line for name, line in STANDARD.items() if name in used]
    lines += [line for line in own if line.split()[-1] in used]
    lines += ["import workbench as wb"] if "wb" in used else []
    for home in ("workbench.conformance", "workbench.processors"):
        names = sorted(used.intersection(import_module(home).__all__))
        used = used.difference(names)
        line = f"from {home} import {', '.join(names)}"
        if len(line) > WIDE:
            line = "\n".join([f"from {home} import (", *(f"    {name}," for name in names), ")"])
        lines += [line] if names else []
    return "\n".join(lines)


def _define(pipeline: Pipeline, variables: dict[Pipeline, str], lines: list[str]) -> str:
    for node in pipeline.nodes:
        inner = _inner(node.processor)
        if inner is not None and inner not in variables:
            variables[inner] = _define(inner, variables, lines)
    variable = f"p{len(variables)}"
    builder = f"b{len(variables)}"
    lines.append(f"{builder} = Builder({pipeline.name!r})")
    for name, domain in pipeline.inputs:
        lines.append(f"{builder}.input({name!r}, {literal(domain)})")
    for node in pipeline.nodes:
        streams = ", ".join(f"{builder}.stream({pipe!r})" for pipe in node.inputs)
        lines.append(f"{builder}.add({_processor(node.processor, variables)}, [{streams}], name={node.name!r})")
    outputs = ", ".join(f"{name!r}: {builder}.stream({pipe!r})" for name, pipe in pipeline.outputs)
    faults = ", ".join(_fault(each) for each in pipeline.faults)
    planned = f".with_faults([{faults}])" if faults else ""
    lines.append(f"{variable} = {builder}.build({{{outputs}}}){planned}")
    return variable


def _fault(fault: Fault) -> str:
    when = "None" if fault.when is None else source_of(fault.when)
    return f"Fault(Kind.{fault.kind.name}, {fault.pipe!r}, {fault.by}, {fault.at_most}, {when})"


def _inner(processor: Processor) -> Pipeline | None:
    """Return the pipeline inside a processor, through windows and slices, or None."""
    while isinstance(held := getattr(processor, "inner", None), Processor):
        processor = held
    return processor.body if isinstance(processor, Group) else None


def _processor(processor: Processor, variables: dict[Pipeline, str]) -> str:
    if isinstance(processor, Group):
        return f"Group({variables[processor.body]})"
    arguments = []
    for item in dataclasses.fields(processor):
        value = getattr(processor, item.name)
        if item.default is not dataclasses.MISSING and value == item.default:
            continue
        arguments.append(f"{item.name}={_parameter(value, variables)}")
    return f"{type(processor).__name__}({', '.join(arguments)})"


def _parameter(value: Any, variables: dict[Pipeline, str]) -> str:
    if isinstance(value, Function):
        return source_of(value)
    if isinstance(value, Processor):
        return _processor(value, variables)
    if isinstance(value, tuple):
        return "(" + "".join(f"{_parameter(part, variables)}, " for part in value) + ")"
    if isinstance(value, Transition | Variable):
        arguments = (
            f"{i.name}={_parameter(getattr(value, i.name), variables)}" for i in dataclasses.fields(value) if i.compare
        )
        return f"{type(value).__name__}({', '.join(arguments)})"
    if isinstance(value, FrozenMap):
        return f"FrozenMap({dict(value)!r})"
    if isinstance(value, RuleSet):
        return f"wb.rules.parse_rules({str(value)!r}, {value.name!r})"
    return literal(value) if isinstance(value, Domain) else repr(value)


def literal(domain: Domain) -> str:
    """Return a domain as Python source."""
    arguments = []
    for item in dataclasses.fields(domain):
        value = getattr(domain, item.name)
        if item.name == "fields":
            arguments.append("(" + "".join(f"{literal(part)}, " for part in value) + ")")
        elif isinstance(value, Domain):
            arguments.append(literal(value))
        else:
            arguments.append(repr(str(value)) if item.name == "overflow" else repr(value))
    return f"{type(domain).__name__}({', '.join(arguments)})"
