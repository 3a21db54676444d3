"""The processors, one file each, found automatically: those with inner processors in `held`, slices in `slices`.

`PROCESSORS` maps a processor's name in the language to its class; two processors with one name are an error.
To add one, write a module in this package with a subclass of `Processor`, and its test. A module in the folder
`processors` of an extension works as well, and so does a class that a plugin names.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from workbench.core.processor import Processor
from workbench.errors import PipelineError
from workbench.extensions import PartTable, extension_folders

__path__.extend(extension_folders("processors"))


ELSEWHERE = {"rules": "workbench.tesla.rule_processor"}
"""Modules outside this package with a processor, by its keyword; they are imported on request."""


class ProcessorTable(PartTable[type[Processor]]):
    """The classes of processors by their names."""

    def __init__(self, classes: Mapping[str, type[Processor]], name: Callable[[type[Processor]], str]) -> None:
        self._imported: dict[str, type[Processor]] = {}
        known: dict[str, Any] = {**dict.fromkeys(ELSEWHERE), **classes}
        super().__init__(known, Processor, name)

    def __getitem__(self, name: str) -> type[Processor]:
        if name not in ELSEWHERE:
            return super().__getitem__(name)
        if name not in self._imported:
            self._imported[name] = dict(_classes(ELSEWHERE[name]))[name]
        return self._imported[name]


def _discover() -> dict[str, type[Processor]]:
    classes: dict[str, type[Processor]] = {}
    for home in sorted(info.name for info in pkgutil.walk_packages(__path__, f"{__name__}.")):
        for key, item in _classes(home):
            if key in classes or key in ELSEWHERE:
                raise PipelineError(
                    f"two processors are called '{key}': {classes.get(key) or ELSEWHERE[key]} and {item}"
                )
            classes[key] = item
    return classes


def _classes(home: str) -> Iterator[tuple[str, type[Processor]]]:
    """Yield the processors of a module, with their keywords."""
    for _, item in sorted(vars(importlib.import_module(home)).items()):
        if not isinstance(item, type) or item.__module__ != home or not issubclass(item, Processor):
            continue
        if not inspect.isabstract(item):
            yield _name(item), item


def _name(kind: type[Processor]) -> str:
    return kind.keyword or kind.__name__


_DISCOVERED = _discover()
CLASSES = ProcessorTable(_DISCOVERED, _name)
"""Every processor class, by keyword (by class name where the language has no keyword for it)."""

PROCESSORS = ProcessorTable({key: item for key, item in _DISCOVERED.items() if item.keyword}, attrgetter("keyword"))
"""The processors that the language names."""

__all__ = sorted(item.__name__ for item in _DISCOVERED.values())
globals().update({item.__name__: item for item in _DISCOVERED.values()})


def __dir__() -> list[str]:
    """Return the names that users import; the tables are for the package."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]


# fmt: off
# isort: off
if TYPE_CHECKING:
    from workbench.processors.apply import ApplyFunction as ApplyFunction
    from workbench.processors.cast import Cast as Cast
    from workbench.processors.changes import Changes as Changes
    from workbench.processors.combine_latest import CombineLatest as CombineLatest
    from workbench.processors.count_decimate import CountDecimate as CountDecimate
    from workbench.processors.cumulate import Cumulate as Cumulate
    from workbench.processors.filter import Filter as Filter
    from workbench.processors.fork import Fork as Fork
    from workbench.processors.freeze import Freeze as Freeze
    from workbench.processors.held.group import Group as Group
    from workbench.processors.held.history import History as History
    from workbench.processors.held.quantifiers import Exists as Exists, ForAll as ForAll
    from workbench.processors.held.reset_last import ResetLast as ResetLast
    from workbench.processors.held.spawn import EventuallyOf as EventuallyOf, GloballyOf as GloballyOf
    from workbench.processors.held.window import Window as Window
    from workbench.processors.insert import Insert as Insert
    from workbench.processors.keep_last import KeepLast as KeepLast
    from workbench.processors.lagging import Lagging as Lagging
    from workbench.processors.moore import Moore as Moore, Transition as Transition, Variable as Variable
    from workbench.processors.multiplex import Multiplex as Multiplex
    from workbench.processors.pack import Pack as Pack
    from workbench.processors.passthrough import Passthrough as Passthrough
    from workbench.processors.past import (
        Historically as Historically, Once as Once, Since as Since, Yesterday as Yesterday,
    )
    from workbench.processors.prefix import Prefix as Prefix
    from workbench.processors.sample import Sample as Sample
    from workbench.processors.slices.slice import Slice as Slice
    from workbench.processors.slices.slice_last import SliceLast as SliceLast
    from workbench.processors.stutter import Stutter as Stutter
    from workbench.processors.stutter_by import StutterBy as StutterBy
    from workbench.processors.temporal import (
        Eventually as Eventually, Eventually3 as Eventually3, Globally as Globally, Globally3 as Globally3,
        Next as Next, Next3 as Next3, Release as Release, Release3 as Release3, Until as Until, Until3 as Until3,
    )
    from workbench.processors.trim import Trim as Trim
    from workbench.processors.turn_into import TurnInto as TurnInto
    from workbench.processors.unpack import Unpack as Unpack
# fmt: on
# isort: on
