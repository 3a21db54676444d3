"""Files with the runs of verdicts: the explorer (`--html`) and tests (`--to-test`)."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING

from workbench.errors import EngineMissing, InputError, LimitMet, Refused
from workbench.events.files import check_page_name, write_atomically
from workbench.extras import install_extra

if TYPE_CHECKING:
    from workbench.verify.answer.verdict import Verdict

NOTHING = "no run to show, so {} is not written"


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options for files with runs."""
    parser.add_argument("--html", metavar="FILE", help="write a page on which the runs can be walked through")
    parser.add_argument(
        "--to-test",
        metavar="FILE",
        help="write a pytest file that reproduces the runs: it passes until they are repaired",
    )


def certificate_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for certificates."""
    parser.add_argument(
        "--certificate", metavar="FILE.smt2", help="write proofs of verdicts; `workbench certify` confirms them"
    )


def check_writable(args: argparse.Namespace) -> None:
    """Raise InputError or EngineMissing early if a file could not be written after a long check."""
    paths = {"--html": args.html, "--to-test": args.to_test, "--certificate": getattr(args, "certificate", None)}
    if paths["--certificate"] and find_spec("z3") is None:
        raise EngineMissing("certificates need the Python package z3", hint=install_extra("smt"))
    if args.html:
        check_page_name(args.html)
    for path in filter(None, paths.values()):
        folder = Path(path).parent
        if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
            continue  # a pipe, a device
        if not folder.is_dir():
            hint = f"create it: mkdir -p {shlex.quote(str(folder))}"
            raise InputError("cannot write there: there is no such folder", where=str(path), hint=hint)
        if Path(path).is_dir():
            raise InputError("cannot write there: it is a folder", where=str(path))
        if not os.access(folder, os.W_OK):
            raise InputError("cannot write there: the folder is not writable", where=str(path))


def write(args: argparse.Namespace, verdicts: Sequence[Verdict]) -> None:
    """Write the requested files and print what was written; an error in the first does not prevent the second."""
    from workbench.core.readable import plural

    failed: list[InputError] = []
    stream = sys.stderr if args.json else sys.stdout
    runs = sum(verdict.run is not None for verdict in verdicts)
    for path, text in ((args.html, _html), (args.to_test, _test)):
        if path and not runs:
            print(NOTHING.format(path), file=stream)
        elif path:
            try:
                write_atomically(path, text(args, verdicts))
            except InputError as error:
                failed.append(error)
            else:
                print(f"{path}: {plural(runs, 'run')}", file=stream)
    if getattr(args, "certificate", None):
        _write_certificates(args, verdicts, stream)
    if failed:
        what = "; ".join(dict.fromkeys(error.what for error in failed))
        raise InputError(what, where=", ".join(str(error.where) for error in failed))


def _write_certificates(args: argparse.Namespace, verdicts: Sequence[Verdict], stream: IO[str]) -> None:
    """Write the certificates of verdicts, and print which verdicts have none."""
    from workbench.budget import Budget
    from workbench.cli.progress import Progress
    from workbench.core.readable import plural
    from workbench.verify.proof.certificate import RESET, certificate

    certificates: list[str] = []
    for verdict in verdicts:
        try:
            with Budget(args.timeout, args.memory), Progress(f"certificate of {verdict.property}"):
                certificates.append(certificate(verdict))
        except (Refused, LimitMet) as error:
            print(f"no certificate of {verdict.property}: {error.what}", file=stream)
    if certificates:
        write_atomically(args.certificate, RESET.join(certificates))
    written = plural(len(certificates), "certificate") if certificates else "no certificate, so it is not written"
    print(f"{args.certificate}: {written}", file=stream)


def _html(args: argparse.Namespace, verdicts: Sequence[Verdict]) -> str:
    from workbench.show.explorer import explorer

    del args
    return explorer(verdicts)


def _test(args: argparse.Namespace, verdicts: Sequence[Verdict]) -> str:
    from workbench.conformance.written_tests.counterexamples import to_test

    run_verdicts = [verdict for verdict in verdicts if verdict.run]
    return to_test(run_verdicts, shlex.join(["workbench", *args.argv]), Path(args.to_test).parent)
