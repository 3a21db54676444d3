"""The pipeline language: `.pipe` files and properties (docs/reference/language.md).

    loaded = load("models/time2021/sum_of_odds.pipe:sum_of_odds")
    loaded.pipeline.denote([[7, 7, 7, 7]])
    loaded.checks

The modules that give a text its meaning are imported on first use, because they import all processors.
"""

from importlib import import_module
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

_MODULE = {
    **dict.fromkeys(("PROPERTIES", "join_dotted", "parse_property"), "properties"),
    **dict.fromkeys(("Loaded", "WatchedPipeline", "Source"), "source"),
}


if not TYPE_CHECKING:  # a type checker that saw this would accept any name

    def __getattr__(name: str) -> object:
        if name not in _MODULE:
            raise AttributeError(f"workbench.language has no '{name}'")
        return getattr(import_module(f"workbench.language.{_MODULE[name]}"), name)
