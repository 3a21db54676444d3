"""One noun per idea: a reader who looks for a public name finds one thing."""

import importlib
from collections import defaultdict

from tests.sources import MODULES, ROOT, read_source


def test_a_public_name_stands_for_one_thing():
    homes = defaultdict(list)
    for path in MODULES:
        for name in read_source(path).names:
            homes[name].append(path.relative_to(ROOT).as_posix())
    twice = {name: where for name, where in homes.items() if len(where) > 1}
    assert twice == {}, "choose a name that says which"


def test_the_package_shows_only_what_users_import() -> None:
    package = importlib.import_module("workbench")
    shown = [name for name in dir(package) if not name.startswith("_")]
    assert shown == sorted(package.__all__)
    assert not {"functools", "importlib", "TYPE_CHECKING", "annotations"} & set(shown)
