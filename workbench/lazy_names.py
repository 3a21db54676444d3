"""Import the names that a module offers on first use.

The rule of this module: such names are listed once, under `if TYPE_CHECKING:` of the module that offers them, where
type checkers read them as they are (`from somewhere import name`). At run time each is imported on first use,
so that importing the module is cheap.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""The flag of `typing`, whose import takes a while."""

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def lazy_names(module: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Build the `__getattr__` and `__dir__` of a module from the imports under its `if TYPE_CHECKING:`."""
    import sys

    namespace = vars(sys.modules[module])
    homes: dict[str, tuple[str, str]] = {}

    def find_homes() -> dict[str, tuple[str, str]]:
        """Return the module that has each name, and the name that it has there."""
        if not homes:
            import ast

            body = ast.parse(namespace["__spec__"].loader.get_source(module)).body
            listed: Any = next(node for node in body if isinstance(node, ast.If))
            homes.update(
                (alias.asname or alias.name, (each.module, alias.name)) for each in listed.body for alias in each.names
            )
        return homes

    def offer(name: str) -> object:
        import importlib

        if name == "__all__":
            member: object = sorted(find_homes())
        elif name.startswith("__") or name not in find_homes():
            from workbench.errors import UnknownAttribute, did_you_mean

            raise UnknownAttribute(f"{module} has no '{name}'", hint=did_you_mean(name, find_homes()))
        else:
            home, own = homes[name]
            is_part = home == module
            member = (
                importlib.import_module(f"{home}.{own}") if is_part else getattr(importlib.import_module(home), own)
            )
        namespace[name] = member
        return member

    def list_names() -> list[str]:
        return sorted({*find_homes(), *(name for name in namespace if name.startswith("__"))})

    return offer, list_names
