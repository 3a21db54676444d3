"""The processors, one file each, found automatically: what holds other processors in `held`, the slices in `slices`.

`PROCESSORS` maps a processor's name in the language to its class; two processors with one name are an error.
Adding one takes a module in this package with a subclass of `Processor`, and its test; a module in the folder
`processors` of an extension is as good.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from workbench.core.processor import Processor
from workbench.errors import PipelineError
from workbench.extensions import extended

__path__.extend(extended("processors"))


ELSEWHERE = ("workbench.tesla.rule_processor",)
"""Modules with a processor that lie with what it is about."""


def _discover() -> dict[str, type[Processor]]:
    found: dict[str, type[Processor]] = {}
    for home in [*sorted(info.name for info in pkgutil.walk_packages(__path__, f"{__name__}.")), *ELSEWHERE]:
        for _, item in sorted(vars(importlib.import_module(home)).items()):
            if not isinstance(item, type) or item.__module__ != home or not issubclass(item, Processor):
                continue
            if inspect.isabstract(item):
                continue
            key = item.keyword or item.__name__
            if key in found:
                raise PipelineError(f"two processors are called '{key}': {found[key]} and {item}")
            found[key] = item
    return found


CLASSES = _discover()
"""Every processor class, by keyword (by class name where the language has no keyword for it)."""

PROCESSORS = {key: item for key, item in CLASSES.items() if item.keyword}
"""The processors that the language names."""

__all__ = ["CLASSES", "PROCESSORS", *sorted(item.__name__ for item in CLASSES.values())]
globals().update({item.__name__: item for item in CLASSES.values()})
