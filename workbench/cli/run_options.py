"""The options of a run on the command line: their declarations, and their values."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from workbench.cli import options as o
from workbench.cli.help_pages import Page
from workbench.events.reading_options import Null
from workbench.events.table import format_names, format_rows
from workbench.executors import table
from workbench.executors.run_options import AUTO, FLAGS, RunOptions, flag_name
from workbench.executors.table import BackendOption, BackendRow, backend_rows, option_flags

if TYPE_CHECKING:
    from workbench.core.domain import Integer


def run_options(args: argparse.Namespace, **own: Any) -> RunOptions:
    """Return the options of a run from a command line, as far as the command has them; `own` overrides some."""
    values = vars(args)
    special_names = "integers", "more", "outputs"
    options = {name: values.get(flag_name(flag)) for name, flag in FLAGS.items() if name not in special_names}
    others = {name: values.get(name) for name in map(flag_name, option_flags()) if name not in options}
    options["engine"] = values.get("engine")  # the former name of --backend for rules
    return table.run_options({**options, **others, "integers": _integers(args), **own}, o.note)


def _integers(args: argparse.Namespace) -> Integer | None:
    """Return the finite integers that -N or --int request, or None."""
    count, kind = getattr(args, "N", None), getattr(args, "integers", None)
    if count is None and kind is None:
        return None
    from workbench.core.domain import Integer, Overflowing

    return Integer(o.N if count is None else count, Overflowing(kind or o.KINDS[0]))


def log_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `Reading`, and those for the output format and for following a growing log."""
    reading_options(parser)
    parser.add_argument(
        "--follow", action="store_true", help="follow the file as it grows, also when it is rotated, until stopped"
    )
    parser.add_argument(
        "--output-format", choices=format_names(),
        help="format of the output (default: by its name, else that of the input, or else JSON lines)",
    )  # fmt: skip
    parser.add_argument(
        "--output-delimiter", metavar="CHAR", help="the separator of CSV cells in the output (default: a comma)"
    )
    parser.add_argument(
        "--output-decimal", metavar="CHAR",
        help="the decimal mark of CSV cells in the output (default: a point); with a comma, semicolons separate cells",
    )  # fmt: skip


def reading_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `Reading`."""
    parser.add_argument(
        "--format", choices=format_names(), help="format of the input (default: by name or first bytes)"
    )
    group = parser.add_argument_group("columns and rows of the log")
    group.add_argument(
        "--column", action="append", metavar="INPUT=COLUMN",
        help="the column for an input or a field of one: e.user=name (default: the one of the same name; repeatable)",
    )  # fmt: skip
    group.add_argument("--strict", action="store_true", help="report columns that no input uses as an error")
    group.add_argument(
        "--null", action="append", metavar=f"{'|'.join(get_args(Null))}|TEXT",
        help="the meaning of an empty cell, a null or a missing key. absent: no event (default). error: an error."
        " zero: 0, false or the empty text; a record without any field is no event. TEXT: cells with it are empty, too",
    )  # fmt: skip
    group.add_argument(
        "--bad-rows", default="error", metavar="error|skip|FILE",
        help="for rows that cannot be read: an error (default); leave them out; or write them to FILE",
    )  # fmt: skip
    group.add_argument("--header", metavar="NAME,...", help="the columns of a CSV file without a header line")
    group.add_argument(
        "--pattern", metavar="NAME|REGEX",
        help="the pattern of each line: syslog, nginx, apache, haproxy, logfmt, or with a group for each column:"
        " '(?P<user>\\w+) (?P<ms>\\d+)'",
    )  # fmt: skip
    group.add_argument(
        "--xml", metavar="ELEMENT", help="the XML elements that are rows; columns are paths in them: x=position/x"
    )
    group.add_argument("--delimiter", metavar="CHAR", help="the separator of CSV cells (default: detected)")
    group.add_argument("--quote", metavar="CHAR", help="the quote character of CSV cells; '' for none (default: \")")
    group.add_argument("--decimal", metavar="CHAR", help="the decimal mark of numbers: --decimal , (default: .)")
    group.add_argument(
        "--thousands", metavar="CHAR", help="the separator of thousands in numbers: --thousands , (default: none)"
    )
    group.add_argument("--encoding", metavar="NAME", help="encoding of the text: latin-1, cp1252 (default: utf-8)")
    group.add_argument("--skip-lines", type="positive", metavar="N", help="leave out the first N lines of the file")
    group.add_argument("--comment", metavar="TEXT", help="leave out lines that begin with this: --comment '#'")
    group.add_argument("--head", type="positive", metavar="N", help="read only the first N rows")


def backend_option(parser: argparse._ActionsContainer, text: str, default: str = AUTO) -> None:
    """Add `--backend`, and its former name for rules."""
    help = f"the backend that runs the program (default: {default}). {text}"
    parser.add_argument("--backend", metavar="NAME", default=default, help=help)
    parser.add_argument("--engine", metavar="NAME", help="for rules: the former name of --backend")


def backend_options(parser: argparse.ArgumentParser) -> None:
    """Add `--backend`, and the options of all backends, each with the names of its backends."""
    rows = _run_rows()
    backend_option(parser, "With auto, it is chosen by the program and the log")
    group = parser.add_argument_group("options of some backends")
    flags: dict[str, list[tuple[BackendOption, str]]] = {}
    for row in rows:
        for option in row.options:
            if option.help:
                flags.setdefault(option.flag, []).append((option, row.name))
    for flag, users in flags.items():
        helps = dict.fromkeys(option.help for option, _ in users)
        texts = (f"{', '.join(name for option, name in users if option.help == text)}: {text}" for text in helps)
        group.add_argument(flag, help="; ".join(texts), **users[0][0].how)


def backend_pages() -> dict[str, Page]:
    """Return a help page for each backend, with its purpose and its options."""
    return {row.name: Page(f"{row.name}: {row.description}", show=partial(_options_of, row)) for row in _run_rows()}


def show_backends(page: argparse.ArgumentParser) -> None:
    """Show all backends, and all of their options."""
    group = page.add_argument_group("backends")
    for row in _run_rows():
        group.add_argument(row.name, help=row.description)
    backend_options(page)


def show_formats(page: argparse.ArgumentParser) -> None:
    """Show all formats, and the options for reading rows."""
    group = page.add_argument_group("formats, by the endings of file names (also with .gz or .zst)")
    for row in format_rows().values():
        group.add_argument(row.name, help=f"{row.what} ({' '.join(row.endings)})")
    log_options(page)


def _run_rows() -> list[BackendRow]:
    return [row for row in backend_rows().values() if row.runs]


def _options_of(row: BackendRow, page: argparse.ArgumentParser) -> None:
    group = page.add_argument_group("options")
    for option in row.options:
        if option.help:
            group.add_argument(option.flag, help=option.help, **option.how)
