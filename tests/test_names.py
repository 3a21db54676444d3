"""One noun per idea: a reader who looks for a public name finds one thing."""

import ast
from collections import defaultdict
from pathlib import Path

import workbench

ROOT = Path(workbench.__file__).parent


def _names(path: Path) -> set[str]:
    """The public classes and aliases of types that a file defines."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        name = node.name if isinstance(node, ast.ClassDef) else ""
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
        if name[:1].isupper() and (isinstance(node, ast.ClassDef) or not name.isupper()):
            found.add(name)
    return found


def test_a_public_name_stands_for_one_thing():
    homes = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for name in _names(path):
            homes[name].append(path.relative_to(ROOT).as_posix())
    twice = {name: where for name, where in homes.items() if len(where) > 1}
    assert twice == {}, "choose a name that says which"
