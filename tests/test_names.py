"""One noun per idea: a reader who looks for a public name finds one thing."""

import importlib
from collections import defaultdict

import pytest

from tests.sources import MODULES, ROOT, read_source


def test_a_public_name_stands_for_one_thing():
    homes = defaultdict(list)
    for path in MODULES:
        for name in read_source(path).names:
            homes[name].append(path.relative_to(ROOT).as_posix())
    twice = {name: where for name, where in homes.items() if len(where) > 1}
    assert twice == {}, "choose a name that says which"


@pytest.mark.parametrize("space", ["", ".functions", ".properties", ".rules", ".faults", ".executors"])
def test_a_module_of_users_shows_only_what_they_import(space: str) -> None:
    package = importlib.import_module(f"workbench{space}")
    shown = [name for name in dir(package) if not name.startswith("_")]
    assert shown == sorted(package.__all__)
    assert not {"functools", "importlib", "TYPE_CHECKING", "annotations"} & set(shown)
