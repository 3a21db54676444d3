"""A pytest file: pipelines as constants and functions, and tests that use them.

The rule of this module: a file stands alone, can be read by a person, and imports only what it uses.
"""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import indent

import workbench.conformance
from workbench.conformance.generate.python_source import imports
from workbench.conformance.written_tests.recipe import Recipe

LOCAL = "capacities", "running", "both", "left", "right", "steps", "seen", "events", "event", "ours", "theirs", "now"
"""What tests call things of their own."""


class WrittenFile:
    """What the tests of a file share: texts, functions that build pipelines, and names.

    Parameters
    ----------
    about: what the file is.
    command: the command that writes it.
    own: lines that import what is a user's own.
    """

    def __init__(self, about: str, command: str = "", own: Iterable[str] = ()) -> None:
        self.about = about + (f"\n\nWritten by `{command}`." if command else "")
        self.own = own
        self.texts: dict[str, str] = {}
        self.built: dict[Recipe, str] = {}
        self.tests: list[str] = []
        self.taken = {"wb", *LOCAL, *workbench.conformance.__all__}

    def pipeline(self, recipe: Recipe) -> str:
        """The name of the function that builds it."""
        if recipe.text and recipe.text not in self.texts:
            self.texts[recipe.text] = "SOURCE" if not self.texts else f"SOURCE_{len(self.texts) + 1}"
        if recipe not in self.built:
            self.built[recipe] = self._fresh(recipe.name)
        return self.built[recipe]

    def test(self, name: str, doc: str, lines: Iterable[str]) -> None:
        """One more test."""
        body = indent("\n".join(lines), "    ")
        self.tests.append(f'def {self._fresh(name)}():\n    """{_plain(doc)}."""\n{body}')

    def __str__(self) -> str:
        quoted = (
            (name, text.strip("\n").replace("\\", "\\\\").replace('"""', '""\\"')) for text, name in self.texts.items()
        )
        constants = [f'{name} = """\n{text}\n"""' for name, text in quoted]
        functions = [recipe.function(self.texts.get(recipe.text, ""), name) for recipe, name in self.built.items()]
        uses = imports("\n".join([*functions, *self.tests]), self.own)
        head = "\n\n".join([f'"""{_plain(self.about)}\n"""', uses, *constants])
        return "\n\n\n".join([head, *functions, *self.tests]) + "\n"

    def _fresh(self, name: str) -> str:
        """The name, with a number where it is taken."""
        names = (name if i == 1 else f"{name}_{i}" for i in range(1, len(self.taken) + 2))
        chosen = next(each for each in names if each not in self.taken)
        self.taken.add(chosen)
        return chosen


def _plain(text: str) -> str:
    """Text that may stand in a docstring."""
    return text.replace("\\", "\\\\").replace('"""', "'''")
