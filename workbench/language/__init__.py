"""The pipeline language: `.pipe` files and properties (docs/reference/language.md).

    loaded = load("models/time2021/sum_of_odds.pipe:sum_of_odds")
    loaded.pipeline.denote([[7, 7, 7, 7]])
    loaded.checks

The modules that give a text its meaning are imported on first use, because they import all processors.
"""

from typing import TYPE_CHECKING

from workbench.language.load import AnyProgram, load, parameters, parse, program_of, read_file, split_reference
from workbench.language.parser import parse_expression
from workbench.language.syntax import PipelineReference, PropertySyntax

if TYPE_CHECKING:
    from workbench.language.properties import PROPERTIES, join_dotted, parse_property
    from workbench.language.source import Loaded, Source, WatchedPipeline

__all__ = [
    "PROPERTIES", "AnyProgram", "Loaded", "PipelineReference", "PropertySyntax", "Source", "WatchedPipeline",
    "join_dotted", "load", "parameters", "parse", "parse_expression", "parse_property", "program_of", "read_file",
    "split_reference",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker that saw this would accept any name
    from workbench.lazy_names import lazy_names

    __getattr__, _ = lazy_names(__name__)
