"""The processors, one file each, found automatically: what holds other processors in `held`, the slices in `slices`.

`PROCESSORS` maps a processor's name in the language to its class; two processors with one name are an error.
Adding one takes a module in this package with a subclass of `Processor`, and its test; a module in the folder
`processors` of an extension is as good.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping

from workbench.core.processor import Processor
from workbench.errors import PipelineError
from workbench.extensions import extended

__path__.extend(extended("processors"))


ELSEWHERE = {"rules": "workbench.tesla.rule_processor"}
"""Modules with a processor that lie with what it is about, by its keyword; they are imported when it is asked for."""


class ProcessorTable(Mapping[str, type[Processor]]):
    """Classes of processors by their names."""

    def __init__(self, found: Mapping[str, type[Processor]]) -> None:
        self._found: dict[str, type[Processor] | None] = dict.fromkeys(ELSEWHERE) | dict(found)

    def __getitem__(self, name: str) -> type[Processor]:
        found = self._found[name]
        if found is None:
            found = self._found[name] = dict(_classes(ELSEWHERE[name]))[name]
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _discover() -> dict[str, type[Processor]]:
    found: dict[str, type[Processor]] = {}
    for home in sorted(info.name for info in pkgutil.walk_packages(__path__, f"{__name__}.")):
        for key, item in _classes(home):
            if key in found or key in ELSEWHERE:
                raise PipelineError(f"two processors are called '{key}': {found.get(key) or ELSEWHERE[key]} and {item}")
            found[key] = item
    return found


def _classes(home: str) -> Iterator[tuple[str, type[Processor]]]:
    """The processors of a module, with their keywords."""
    for _, item in sorted(vars(importlib.import_module(home)).items()):
        if not isinstance(item, type) or item.__module__ != home or not issubclass(item, Processor):
            continue
        if not inspect.isabstract(item):
            yield item.keyword or item.__name__, item


_FOUND = _discover()
CLASSES = ProcessorTable(_FOUND)
"""Every processor class, by keyword (by class name where the language has no keyword for it)."""

PROCESSORS = ProcessorTable({key: item for key, item in _FOUND.items() if item.keyword})
"""The processors that the language names."""

__all__ = ["CLASSES", "PROCESSORS", *sorted(item.__name__ for item in _FOUND.values())]
globals().update({item.__name__: item for item in _FOUND.values()})
