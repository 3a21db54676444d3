"""How many examples a property gets: what it asks for, scaled by hypothesis' profile (`tests/conftest.py`)."""

from typing import Any

from hypothesis import settings


def examples(count: int, **others: Any) -> settings:
    """Settings for so many examples; a profile whose `max_examples` is 50 would halve them all."""
    return settings(max_examples=max(1, count * settings.default.max_examples // 100), **others)


def scaled(quick: int, full: int) -> int:
    """How many cases a loop of a test tries: few for `make test`, all of them for `make test-all` and `make fuzz`."""
    return quick if settings.default.max_examples <= settings.get_profile("default").max_examples else full
