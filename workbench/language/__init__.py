"""The pipeline language: `.pipe` files and properties (design section 9; docs/language.md).

loaded = load("models/time2021/sum_of_odds.pipe:sum_of_odds") loaded.pipeline.denote([[7, 7, 7, 7]])
loaded.checks
"""

from workbench.language.parser import parse_expression
from workbench.language.properties import PROPERTIES, dotted, parse_property
from workbench.language.source import Loaded, Monitor, Source, load, parameters, parse, read_file, split_reference
from workbench.language.syntax import (
    Call,
    Expression,
    Field,
    Literal,
    Name,
    Operation,
    PipelineReference,
    PropertySyntax,
    Temporal,
    TupleOf,
)

__all__ = [
    "PROPERTIES",
    "Call",
    "Expression",
    "Field",
    "Literal",
    "Loaded",
    "Monitor",
    "Name",
    "Operation",
    "PipelineReference",
    "PropertySyntax",
    "Source",
    "Temporal",
    "TupleOf",
    "dotted",
    "load",
    "parameters",
    "parse",
    "parse_expression",
    "parse_property",
    "read_file",
    "split_reference",
]
