"""The command line: the common handling of options, errors and the end of all commands (`cli/commands`).

The rule of this module: in every case a script gets an exit code (0 holds, 1 fails, 2 the input or the
installation is at fault, 3 undecided, 130 interrupted, 143 ended by SIGTERM), a person gets one message, and
`WORKBENCH_DEBUG=1` shows the traceback. A command is imported when it is named, and its dependencies when it
runs, so that it starts fast.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import errno
import gc
import importlib
import itertools
import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, NoReturn

from workbench import __version__, interrupts
from workbench.budget import Budget, Interrupt, phase
from workbench.cli import supervised
from workbench.cli.commands import helps
from workbench.cli.help_pages import PagedParser, UsageError
from workbench.errors import LimitMet, Location, WorkbenchError, did_you_mean
from workbench.extras import install_extra

INTERRUPTED = 128 + signal.SIGINT
"""The exit code after Ctrl-C for callers of `run`; the program itself uses the number of the signal."""
BROKEN_PIPE = 141
DEFECT = 3
YOUNG = 100_000
"""Number of new objects between two garbage collections: nearly all that is imported and composed stays."""
PROGRAMS = ("file", "left", "right")
"""The arguments that name programs."""
READ = ("input", "facts", "rules_control")
"""The options that name other files which are read, by their Python names."""
WRITTEN = ("--output", "--html", "--to-test", "--certificate", "--state", "--bad-rows", "--late-output")
"""The options that name files which are written."""
EPILOG = """exit codes: 0 success, 1 a property fails or results differ, 2 the input or the installation is at fault,
3 undecided, 130 and 143 interrupted (`workbench docs` has them by command). WORKBENCH_DEBUG=1 shows the traceback
of an error."""


class _Parser(PagedParser):
    """A parser whose usage errors are ordinary errors."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see {self.prog} --help")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Flush the output, and exit."""
        sys.stdout.flush()
        super().exit(status, message)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments; the error for extra words considers a pattern that the shell expanded."""
        arguments, others = self.parse_known_args(args, namespace)
        if others:
            hint = self._find_named(sys.argv[1:] if args is None else args)._suggest(others[0], self._spellings())
            if all(os.path.exists(word.partition(":")[0]) for word in others):
                log = hasattr(arguments, "input")
                hint = "put a pattern in quotes: --input 'logs/*.csv'" if log else "write the files before the options"
            raise UsageError(f"unrecognized arguments: {' '.join(others)}", hint=hint)
        return arguments

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse known arguments; a misspelt option is reported as such, not as a missing one."""
        try:
            return super().parse_known_args(args, namespace)
        except UsageError as error:
            known = [] if self._subparsers else list(self._spellings())
            for word in itertools.takewhile("--".__ne__, args or ()):
                name = word.partition("=")[0]
                unknown = known and name.startswith("--") and not any(each.startswith(name) for each in known)
                if unknown and (hint := self._suggest(word, known)).startswith("did"):
                    raise UsageError(f"unrecognized arguments: {word}", hint=hint) from None
            needed = any(each.required and each.dest == "input" for each in self._actions)
            if needed and not any(word.startswith(("--in", "--help")) for word in args or ()):
                hint = f"--input - reads the standard input; {error.hint}"
                raise UsageError(error.what, hint=hint) from None
            raise

    def _match_argument(self, action: argparse.Action, arg_strings_pattern: str) -> int:
        """Match the words after an option; one without its value has a hint about values with dashes."""
        try:
            return super()._match_argument(action, arg_strings_pattern)
        except argparse.ArgumentError as error:
            if arg_strings_pattern and action.option_strings:
                hint = f"a value that begins with a dash: {action.option_strings[-1]}=VALUE; see {self.prog} --help"
                raise UsageError(str(error), hint=hint) from None
            raise

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Return the value of an argument; argparse removes a value `--` after `=`."""
        if not action.option_strings or arg_strings != ["--"]:
            return super()._get_values(action, arg_strings)
        value = self._get_value(action, "--")
        self._check_value(action, value)
        return value

    def _find_named(self, args: Sequence[str]) -> _Parser:
        """Return the parser of the command that these words name, such as `lab list`."""
        command_parser = self
        for word in args:
            below = (each.choices for each in command_parser._actions if isinstance(each, argparse._SubParsersAction))
            command_parser = next(below, {}).get(word, command_parser)
        return command_parser

    def _suggest(self, word: str, elsewhere: Iterable[str]) -> str:
        """Return a hint for an unknown word: the option with a similar spelling, if there is one.

        Parameters
        ----------
        elsewhere: the options of all commands.
        """
        name = word.partition("=")[0]
        if name in elsewhere:
            return f"other commands have {name}; see {self.prog.partition(' ')[0]} COMMAND --help"
        known = {each.lstrip("-"): each for each in self._spellings()}  # dashes make any two options similar
        from difflib import get_close_matches

        close = get_close_matches(name.lstrip("-"), known, n=1, cutoff=0.65)
        return f"did you mean '{known[close[0]]}'? (see {self.prog} --help)" if close else f"see {self.prog} --help"

    def _spellings(self) -> Iterator[str]:
        """Yield the options of this command, and of its subcommands."""
        for action in self._actions:
            yield from action.option_strings
            if isinstance(action, argparse._SubParsersAction):
                for one in action.choices.values():
                    yield from one._spellings()

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Raise UsageError for a value that is not one of the choices, with the closest one as a hint."""
        if action.choices is not None and value not in action.choices:
            name = "/".join(action.option_strings) or action.metavar or action.dest
            likely = did_you_mean(str(value), map(str, action.choices))
            raise UsageError(f"argument {name}: there is no {value!r}", hint=f"{likely} (see {self.prog} --help)")


def command(name: str) -> ModuleType:
    """Import the module of a command on use: the other commands would cost a tenth of a second."""
    return importlib.import_module(f"workbench.cli.commands.{name}")


def parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Build the parser of all commands, with the options of those that a command line names."""
    top = _Parser(prog="workbench", description="Check, compare and run event-stream pipelines.", epilog=EPILOG)
    top.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, line in helps().items():
        one = commands.add_parser(name, help=line, epilog=EPILOG)
        if name in argv:
            module = command(name)
            one.description = (module.__doc__ or "").partition("\n")[0]
            module.options(one)
    return top


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"workbench {__version__}")
        parser.exit()


def run(argv: Sequence[str] | None) -> int:
    """Run a command line, and return its exit code. Without arguments, run as the program."""
    _openable()
    _encodable()
    gc.set_threshold(YOUNG)
    if argv is None:  # numpy would start threads that spin for a tenth of a second
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        code = _run_command(sys.argv[1:] if argv is None else list(argv), program=argv is None)
        number = interrupts.finish()
    except KeyboardInterrupt:  # it came during the exit: nothing more is raised
        code, number = INTERRUPTED, interrupts.came()
    supervised.report_end(128 + number if number else code)
    if number:
        atexit._run_exitfuncs()  # removes temporary files and processes; Python's own shutdown is slow
        interrupts.leave(number)
    interrupts.end()
    if argv is None and "duckdb" not in sys.modules:  # which reports objects that are not freed
        gc.freeze()  # the process ends anyway, so a garbage collection would be wasted
    return code


def _run_command(argv: list[str], *, program: bool) -> int:
    """Run a command, and return the exit code, however it ends."""
    try:
        args = parser(argv).parse_args(argv, argparse.Namespace(argv=argv))
        code = _execute_bounded(args, program=program) if hasattr(args, "bounded") else _execute(args)
        sys.stdout.flush()
        return code
    except SystemExit as end:  # --help, --version
        return end.code if isinstance(end.code, int) else 0
    except Interrupt as interrupt:  # it came at the moment at which its budget ended
        return _fail(interrupt.met, argv)
    except KeyboardInterrupt:
        _debug()
        interrupts.report_interrupt()
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has closed it
        _close_output()
        return BROKEN_PIPE
    except WorkbenchError as error:
        return _fail(error, argv)
    except OSError as error:
        full = "standard output" if error.errno == errno.ENOSPC else ""
        location = str(error.filename or full)
        return _fail(WorkbenchError(error.strerror or str(error), where=location), argv)
    except Exception as error:
        if interrupts.came():  # the interrupt has become another error on its way
            return INTERRUPTED
        if isinstance(error, ModuleNotFoundError) and (missing := _missing(error)):
            return _fail(missing, argv)
        defect = WorkbenchError(
            f"unexpected {type(error).__name__}: {error}",
            hint="this is a defect of workbench, please report it; WORKBENCH_DEBUG=1 shows where",
        )
        defect.exit_code = DEFECT
        return _fail(defect, argv)


def _missing(error: ModuleNotFoundError) -> WorkbenchError | None:
    """Return the error for a package that is not installed; None for one of our own."""
    from workbench.cli.commands.doctor import EXTRAS

    package = (error.name or "").partition(".")[0]
    if package in ("", "workbench"):
        return None
    extra = next((extra for name, extra, _ in EXTRAS if name == package), "fast")
    hint = f"{install_extra(extra)}; workbench doctor lists what else is missing"
    return WorkbenchError(f"this needs the package {package}, which is not installed", hint=hint)


def _execute(args: argparse.Namespace) -> int:
    from workbench.named_files import allow  # not at the top: --help needs none
    from workbench.python_files import allow_python

    interrupts.begin()
    _protect_files(args)
    include, python = getattr(args, "include", ()), getattr(args, "allow_python", False)
    with allow(include), allow_python(python), _report_progress(args):
        return int(command(args.command).execute(args))


def _protect_files(args: argparse.Namespace) -> None:
    """Raise InputError if an option would overwrite what the command reads, or the file of another option."""
    files = dict[str, str]()
    for option in WRITTEN:
        values = getattr(args, option[2:].replace("-", "_"), None)
        for value in values if isinstance(values, list) else [values]:
            name, equals, file = str(value or "").partition("=")
            is_named = equals and isinstance(values, list) and name.isidentifier()  # NAME=FILE
            files |= {f"{option} {name}": file} if is_named else {option: value} if value else {}
    if files:
        from workbench.events.inputs import see_apart

        read, programs = ([getattr(args, name, None) for name in names] for names in (READ, PROGRAMS))
        see_apart(read, files, programs)


def _report_progress(args: argparse.Namespace) -> contextlib.AbstractContextManager[object]:
    """Return the progress display of a command that decides something."""
    if not hasattr(args, "decides"):
        return contextlib.nullcontext()
    from workbench.cli.progress import Progress

    return Progress(None, always=True, quiet=getattr(args, "quiet", False), limit=args.timeout)


def _execute_bounded(args: argparse.Namespace, *, program: bool) -> int:
    """Execute a command within its limits; the program runs it in a child process, which can be killed."""
    limits = args.timeout, args.memory
    terminal = "-" in getattr(args, "input", ()) and sys.stdin.isatty()
    code = supervised.attend(*limits, terminal=terminal) if program else None
    if code is not None:
        return code
    with Budget(*limits), phase("starting"):
        return _execute(args)


def _openable() -> None:
    """Open closed standard streams on /dev/null, so that using them fails and no other file gets their numbers."""
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        if getattr(sys, name) is None:
            with contextlib.suppress(OSError):
                os.fstat(number)  # another file has this number, which Python does not know
                continue
            wrong = os.O_RDONLY if name == "stdout" else os.O_WRONLY
            os.dup2(opened := os.open(os.devnull, wrong), number)
            if opened != number:
                os.close(opened)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _encodable() -> None:
    """Let characters that the terminal's encoding lacks become question marks instead of errors."""
    for stream in (sys.stdout, sys.stderr):
        change = getattr(stream, "reconfigure", None)
        if change is not None:
            change(errors="replace")


def _fail(error: WorkbenchError, argv: Sequence[str]) -> int:
    _debug()
    if interrupts.came():  # the interrupt has become another error on its way
        return INTERRUPTED
    if "--json" in argv:
        with contextlib.suppress(OSError):
            print(json.dumps(error_object(error)), flush=True)
    try:
        sys.stdout.flush()
    except OSError:  # the message and the exit code are ours, not Python's
        _close_output()
    for text in (error.message, *getattr(error, "__notes__", ())):
        print(f"workbench: {text}", file=sys.stderr)
    return error.exit_code


def _close_output() -> None:
    """Redirect standard output to /dev/null, so that nothing fails at the end of the process."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def error_object(error: WorkbenchError) -> dict[str, object]:
    """Return the object that `--json` prints for an error."""
    fields: dict[str, object] = {
        "error": error.message,
        "what": error.what,
        "where": str(error.where),
        "hint": error.hint,
        "exit_code": error.exit_code,
    }
    if isinstance(error.where, Location):
        fields |= {"file": error.where.file, "line": error.where.line, "column": error.where.column}
    if isinstance(error, LimitMet):
        fields |= {"verdict": "unknown", "reason": error.what, "phase": error.phase}
    if error.others:
        fields["others"] = [error_object(other) for other in error.others]
    return fields


def _debug() -> None:
    if os.environ.get("WORKBENCH_DEBUG", "0") not in ("", "0"):
        import traceback

        traceback.print_exc()
