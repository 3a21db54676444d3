"""Help in pages: one screen for everyday use, and `--help PAGE` for the rest.

The rule of this module: a page adds its options to the parser, so the command accepts exactly the described options.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from workbench.errors import WorkbenchError, did_you_mean


class UsageError(WorkbenchError):
    """An error in the command line itself."""


class Page(NamedTuple):
    """A group of options that the command's own help omits.

    Parameters
    ----------
    title: the purpose of the options.
    add: adds them to the parser of the command; None: another page does.
    everyday: the options that the command's own help shows nevertheless, with their help; "": the help of the page.
    show: fills the page, if it has more than the options of `add`.
    """

    title: str
    add: Callable[[argparse.ArgumentParser], object] | None = None
    everyday: Mapping[str, str] | None = None
    show: Callable[[argparse.ArgumentParser], object] | None = None


class PagedParser(argparse.ArgumentParser):
    """A parser whose `--help` accepts the name of a page, if it has pages."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **{**named, "add_help": False})
        self.register("type", "positive", positive)
        self.register("action", None, _StoreOnce)
        self.once: dict[str, object] = {}
        """The values of options that are not repeatable, which have been read."""
        self.pages: dict[str, Page] = {}
        self._help = self.add_argument("-h", "--help", action=_Help, nargs=0, help="show this help message and exit")

    def add_pages(self, pages: Mapping[str, Page], usage: str) -> None:
        """Add the options of all pages; help begins with `usage`, and lists the pages."""
        self.usage, self.pages = usage, dict(pages)
        self._help.nargs, self._help.metavar = "?", "PAGE"
        self._help.help = f"show this, or a page with more: {', '.join(pages)}"
        for name, page in pages.items():
            actions, groups = len(self._actions), len(self._action_groups)
            if page.add is not None:
                page.add(self)
            everyday = page.everyday or {}
            for action in self._actions[actions:]:
                flag = action.option_strings[-1]
                action.help = (everyday[flag] or action.help) if flag in everyday else argparse.SUPPRESS
            for group in self._action_groups[groups:]:
                group.description = None
                group.title = f"{group.title} (all: --help {name})"

    def page(self, name: str) -> argparse.ArgumentParser:
        """Return the parser that prints a page; raise UsageError if there is none."""
        if name not in self.pages:
            hint = did_you_mean(name, self.pages)
            raise UsageError(f"there is no page '{name}' of help", hint=f"{hint}; see {self.prog} --help")
        page = self.pages[name]
        parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, description=page.title, add_help=False)
        parser.register("type", "positive", positive)
        fill = page.show or page.add
        if fill is not None:
            fill(parser)
        return parser


class _StoreOnce(argparse.Action):
    """Stores the value of an option that is not repeatable; a second value would silently replace the first."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, spelling: str | None = None
    ) -> None:
        flag = self.option_strings[-1] if spelling else ""  # the canonical spelling: -o is --output
        if flag and isinstance(parser, PagedParser) and parser.once.setdefault(flag, values) != values:
            from workbench.executors.run_options import TWO_COLUMNS

            hint = f"leave out one; {TWO_COLUMNS}" if flag == "--key" else "leave out one"
            raise UsageError(f"{flag} is given twice: {parser.once[flag]} and {values}", hint=hint)
        setattr(namespace, self.dest, values)


class _Help(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, namespace: object, values: object, flag: object = None) -> None:
        del namespace, flag
        if isinstance(parser, PagedParser) and isinstance(values, str):
            parser.page(values).print_help()
        else:
            parser.print_help()
        parser.exit()


def positive(text: str) -> int:
    """Parse a number from 1 on, as the type "positive" of an option."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return int(text)


def help_line(doc: str) -> str:
    """Return the first line of a docstring as help."""
    text = doc.partition("\n")[0].rstrip(".")
    return text[:1].lower() + text[1:]
