"""The state of a run in a file (`--state`): a run continues from it, and saves it when it stops.

The rule of this module: the state and the output agree. Rows are written before the state that counts them; what the
output of a killed run holds beyond its state is cut off. The file is

        36   the seal, which shows that the file is whole and the state of a run (`workbench.stored`)
    ...  a line of JSON: the program, the backend and the options, the version of workbench, the position in the log,
         the rows held back, the sizes of outputs
    ...  the state of the session
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench import __version__
from workbench.budget import remaining, time_limit, uninterruptible, work
from workbench.core.program import Program
from workbench.errors import InputError, LimitMet, LostRows, StateError, WorkbenchError
from workbench.events.batch import LogBatch
from workbench.events.files import replacing, unwritten
from workbench.events.follow import FileMark, Follower, find_followed_file
from workbench.events.inputs import list_named_files, read_files
from workbench.events.reading_options import columns_of
from workbench.executors.run_options import AUTO, FLAGS, RunOptions
from workbench.executors.session import BatchOutput, Session
from workbench.executors.snapshot import fingerprint
from workbench.executors.table import RULE_SET, Start
from workbench.interrupts import hold
from workbench.processors.held.group import flatten
from workbench.runner.position import LogPosition, is_reread
from workbench.stored import checksum, seal, unseal

if TYPE_CHECKING:
    from workbench.events.writers import EventWriter
    from workbench.runner.order import HoldBack
    from workbench.tesla.event_block import EventBlock
    from workbench.tesla.occurrence import Occurrence

MARK = b"state of one run"
DECISIVE = (
    "columns", "null", "header", "pattern", "xml", "delimiter", "quote", "decimal", "thousands",
    "encoding", "skip_lines", "comment", "integers", "steps", "key", "with_row", "carry", "only_true", "time",
    "time_unit", "time_format", "year", "late", "compat", "with_sources", "passed", "output_format",
    "output_delimiter", "output_decimal",
)  # fmt: skip
"""The options that determine the output, besides those that change the program."""
AFRESH = "name another --state, or remove this one to start afresh"


class RunState:
    """The saved state that a run continues from, and the one that it saves.

    Attributes
    ----------
    is_new: whether no earlier run has begun to run rows.
    had_ended: whether an earlier run has emitted something because the log had ended.
    files: the files of the log.
    position: the position of all runs, this one included.
    undeclared: the number of rows of each undeclared type that this run has read.
    is_consistent: whether the state of the session is that of the position, and all outputs have been yielded.

    Raises
    ------
    StateError: the file is damaged, or not the state of a run. InputError: it cannot be read, or cannot be written.
    """

    def __init__(self, path: Path, start: Start) -> None:
        self.path, self._start = path, start
        self._notes, self._saved = _read(path)
        self.is_new, self.had_ended = "of" not in self._notes, bool(self._notes.get("ended"))
        self.position = LogPosition(**self._notes.get("position", {}))
        self._named = {str(each).rpartition("=")[2] for each in list_named_files(start.options.input) or ()}
        self.files = self._named.union(read_files(start.options.input))
        self.undeclared = Counter[str]()
        self.is_consistent = False
        self._session: Session | None = None
        self._is_read_again = bool(self.files) and (start.options.follow or all(map(is_reread, self.files)))
        self._held: HoldBack[EventBlock, Occurrence] | None = None
        self._sizes = self._notes.get("sizes", {})
        self._written = set[str]()
        self._has_log_ended = False
        """Whether the log has been read to its end, not only to the last row of `--head`."""
        self._has_run_all_rows = False
        """Whether all rows have been run after that, those that were held back among them."""
        self._has_output_of_end = False
        """Whether the end of the log has caused an output."""
        self._captured: tuple[dict[str, Any], bytes] | None = None
        self._saved_note = f"the state is in {path}: run the same command again to continue"
        self._before_rotation = 0, Counter[str]()
        """The counts of rows, and of those of undeclared types, in files that have been rotated away in this run."""
        self._days = self._notes.get("days", {})
        """The days of the last dates before the file that is followed (`Reporter.last_days`)."""
        self._has_failed = False
        """Whether a row could not be read or run, and may be mended."""

    def adopt(self, start: Start) -> Start:
        """Apply the state to a start: its backend, and the rows that have been read."""
        options = start.options
        if options.backend == AUTO and not self.is_new:
            options = replace(options, backend=self._notes["of"]["backend"])
        follower = self._follow(options) if options.follow else None
        if options.head is not None:
            options = replace(options, head=options.head + sum(self.position.read.get(file, 0) for file in self.files))
        start.reporter.reported.update(self.position.bad)
        self._start = replace(start, options=options, stays=self.size, follower=follower)
        return self._start

    def _follow(self, options: RunOptions) -> Follower:
        """Return the reader of the log, from the file that the previous run has read, whatever its name is now."""
        if options.late is not None:
            raise InputError("--follow, --state and --late cannot be combined", hint="leave one out")
        notes, mark = self._notes, None
        if "followed" in notes:
            inode, length = notes["followed"]
            mark = FileMark(inode, length, notes.get("head", "").encode("latin-1"), notes.get("written", math.inf))
        follower = Follower(find_followed_file(options.input), mark, self._forget_file, self._start.report)
        is_there = follower.resume()
        self._start.reporter.last_days = dict(self._days if is_there else notes.get("last_days", {}))
        if not is_there:
            self._forget_file()
        return follower

    def _forget_file(self) -> None:
        """Forget a followed file of which all rows have been run, before the next one is read."""
        reporter, self.position = self._start.reporter, LogPosition()
        reporter.bad.clear()
        reporter.reported.clear()
        self._before_rotation = reporter.account.rows, Counter(self.undeclared)
        self._days = dict(reporter.last_days or {})

    def begin(self, session: Session, program: Program, backend: str) -> None:
        """Let a session continue from the state.

        Raises
        ------
        StateError: it is of another program, or of other options. Refused: such a session has no state.
        """
        self._session = session
        now = {"program": _mark(program), "backend": backend, **_decisive(self._start.options)}
        if self.is_new:
            self._saved = session.save()
        else:
            self._compare(now)
            self._restore(session)
        self._report_position()
        self._notes = {"of": now, "version": __version__}
        if self._has_log_ended:  # all of its rows have been held back
            self._capture()

    def _report_position(self) -> None:
        follower, position = self._start.follower, self.position
        for file in sorted((position.rows.keys() | position.bad) & self.files):
            run, bad = position.rows.get(file, 0), position.bad.get(file, 0)
            parts = f" ({run:,} run, {bad:,} bad)" if bad else ""
            name = follower.file.path if follower and follower.file else file
            self._start.report(f"{name}: resuming after row {run + bad:,}{parts}")

    def _restore(self, session: Session) -> None:
        if self.had_ended:
            return
        try:
            session.restore(self._saved)
        except StateError as error:
            raise error.retold(where=str(self.path)) from error

    def _compare(self, now: Mapping[str, str]) -> None:
        """Raise StateError if the state is of another program, backend or options than these."""
        of: Mapping[str, str] = self._notes["of"]
        name = next((name for name, value in now.items() if of.get(name, "") != value), None)
        if name is None:
            return
        before = of.get(name, "")
        if name == "program":
            what = "this is the state of another program, of other parameters, or of an earlier version of this program"
            hint = AFRESH
        elif name == "backend":
            what, hint = f"this is a state of the {before} backend", f"add --backend {before}, or {AFRESH}"
        else:
            flag = FLAGS[name]
            what = f"this is the state of a run {f'with {flag} {before}' if before else f'without {flag}'}"
            hint = f"give the same options, or {AFRESH}"
        raise StateError(what, where=str(self.path), hint=hint)

    def size(self, path: str | Path) -> int:
        """Return the number of bytes of an output file that earlier runs have written, which stay.

        Raises
        ------
        StateError: the file is shorter than that.
        """
        target = os.path.realpath(path)
        self._written.add(target)
        there = os.path.getsize(target) if os.path.isfile(target) else 0
        stays: int = self._sizes.get(target, there if self._start.live else 0)
        if stays > there:
            what = f"earlier runs have written {stays:,} bytes here, but there are {there:,}"
            raise StateError(what, where=str(path), hint=f"restore the file, or {AFRESH}")
        return stays

    def hold_back(self, held: HoldBack[EventBlock, Occurrence]) -> None:
        """Include the rows that are held back in the state, if the log cannot be read again."""
        if not self._is_read_again:
            self._held = held
            if self._notes.get("held") is not None:
                self._start.reporter.account.read += held.restore(self._notes["held"])

    # --- while it runs --------------------------------------------------------------------------------------

    @uninterruptible
    def step(self, batch: LogBatch, run: Callable[[LogBatch], Iterable[BatchOutput]]) -> Iterator[BatchOutput]:
        """Yield the outputs of the rows of a batch that have not been run; no signal interrupts this.

        Raises
        ------
        StateError: there are rows behind the end of the streams.
        """
        domains = self._running.outputs.domains
        batch = self.position.leave_out(batch, domains, self._start.reporter.account)
        if not len(batch) and batch.failed is None:
            return
        if self.had_ended and len(batch):
            what = "the log has new rows, but output for its end has been written already"
            raise StateError(what, where=str(self.path), hint=f"end runs with --head or Ctrl-C; {AFRESH}")
        done, failed = 0, None
        with hold():
            self.is_consistent = False
            try:
                for output in run(batch):
                    done += output.computed + sum(output.ignored.values())
                    self.see_end(output)
                    yield output
            except WorkbenchError as error:
                failed = error
            self._has_failed = failed is not None
            self.position.advance(batch, len(batch) if failed is batch.failed else done, domains)
            self.is_consistent = failed is batch.failed or self._running.stops_at_errors
            if failed is not None:
                raise failed

    def stop_at_limit(self) -> None:
        """Raise LimitMet if the time is over, before the run is interrupted."""
        left = remaining()
        if left.seconds is not None and left.seconds <= 0:
            raise LimitMet(time_limit(left.of_seconds or 0.0), work().phase)

    def end_log(self) -> bool:
        """Record the end of the log, and return whether its streams end: not where --head has cut it."""
        head = self._start.options.head
        self._has_log_ended = head is None or self._start.reporter.account.rows < head
        if self._session is not None:
            self._capture()
        return self._has_log_ended

    def reach_end(self) -> bool:
        """Record that all rows of the log have been run, and return whether its streams end, which they do once."""
        if self.end_log():
            self.position.check_reached(self.files)
            self._has_run_all_rows = True
        self.is_consistent = not self._has_run_all_rows  # true again when the streams have ended
        return self._has_run_all_rows and not self.had_ended

    def see_end(self, output: BatchOutput) -> None:
        """Note whether the end of the log has caused an output."""
        self._has_output_of_end |= self._has_log_ended and output.events_out > 0

    # --- saving ---------------------------------------------------------------------------------------------

    @contextmanager
    @uninterruptible
    def settling(self, writer: EventWriter) -> Iterator[None]:
        """Write all outputs, and capture the state, at the end of a block that runs a session."""
        self.is_consistent = True
        try:
            yield
            self.is_consistent = True
        except (LostRows, StateError):
            self.is_consistent = False
            raise
        finally:
            if self.is_consistent:
                self.is_consistent = False
                writer.drain()
                if self._has_output_of_end and not self._has_run_all_rows:  # rows that were held back are being written
                    self._captured = None
                self._capture()
                self.is_consistent = True

    @contextmanager
    @uninterruptible
    def saving_position(self) -> Iterator[None]:
        """Save the position if the run is stopped in this block, which reads the first row."""
        try:
            yield
        except Exception:
            raise  # the next run meets it again
        except BaseException as error:
            follower, note = self._start.follower, "nothing has been read: no state is saved"
            if self._start.reporter.account.rows or (follower and follower.file):
                self._captured, note = (self._describe(ended=self.had_ended), self._saved), self._saved_note
                self.save(self._sizes)
            error.add_note(note)
            raise

    @contextmanager
    @uninterruptible
    def saving(self) -> Iterator[None]:
        """Save the state at the end of this block, when all outputs have been written; also after an error."""
        try:
            yield
        except BaseException as error:
            if self.is_consistent:
                self.save()
                error.add_note(self._saved_note)
            elif not self.is_new:
                error.add_note(f"the state in {self.path} is unchanged")
            raise
        self.save()

    def save(self, unopened: Mapping[str, int] | None = None) -> None:
        """Write the state that has been captured; only the position, where the end of the log has caused outputs.

        Parameters
        ----------
        unopened: the sizes of outputs that this run has not opened.
        """
        if self._has_output_of_end and self._has_run_all_rows:
            self._captured = self._describe(ended=True), b""
        assert self._captured is not None
        notes, session = self._captured
        sizes = {file: os.path.getsize(file) for file in self._written if os.path.isfile(file)}
        text = json.dumps({**notes, "sizes": {**(unopened or {}), **sizes}})
        try:
            with replacing(Path(os.path.realpath(self.path))) as name:
                name.write_bytes(seal(MARK, text.encode() + b"\n" + session))
        except OSError as error:
            raise unwritten(error, self.path) from error

    @property
    def _running(self) -> Session:
        assert self._session is not None
        return self._session

    def _capture(self) -> None:
        """Capture the state, unless it has been captured at the end of the log."""
        if self._captured is None:
            self._captured = self._describe(ended=self.had_ended), b"" if self.had_ended else self._running.save()

    def _describe(self, *, ended: bool) -> dict[str, Any]:
        """Return the notes that are saved beside the state of the session."""
        reporter, follower, position = self._start.reporter, self._start.follower, asdict(self.position)
        position["bad"] |= {file: count for file, count in reporter.bad.items() if follower or is_reread(file)}
        read = {file: rows + position["bad"].get(file, 0) for file, rows in self.position.rows.items()}
        if reporter.account.rows_are_events and self._is_read_again:  # some may be held back, or without events
            rows, undeclared = self._before_rotation
            read = dict.fromkeys(self._named, reporter.account.rows - rows)
            position["late"] += reporter.account.late
            position["undeclared"] = self.undeclared - undeclared + Counter(self.position.undeclared)
        position["read"] |= read
        held = None if ended or self._held is None else self._held.save()
        followed = {} if follower is None or follower.file is None else self._identify(follower.file.mark, position)
        return {**self._notes, **followed, "position": position, "ended": ended, "held": held}

    def _identify(self, mark: FileMark, position: Mapping[str, Any]) -> dict[str, Any]:
        """Return what identifies a followed file, without a row that may be mended, and the days of its dates."""
        lines = mark.head.splitlines(keepends=True)
        lines = lines[: sum(position["rows"].values())] if self._has_failed else lines
        notes = {"days": self._days, "last_days": self._start.reporter.last_days, "written": mark.written}
        return {"followed": (mark.inode, mark.length), "head": b"".join(lines).decode("latin-1"), **notes}


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    """Read the notes of a file, and the state of the session; both empty if there is no file yet."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        if os.access(path.parent, os.W_OK):
            return {}, b""
        hint = "name a file in another folder"
        raise InputError("no state can be written there", where=str(path), hint=hint) from None
    except OSError as error:
        raise InputError(f"cannot read the state: {error.strerror}", where=str(path)) from error
    try:
        notes, _, session = unseal(MARK, data, "program", "command").partition(b"\n")
    except StateError as error:
        raise error.retold(where=str(path)) from error
    return json.loads(notes), session


def _mark(program: Program) -> str:
    """Return a fingerprint that identifies a program."""
    if program.kind == RULE_SET:
        return checksum(str(program).encode()).hex()
    return fingerprint("", flatten(program)).hex()


def _decisive(options: RunOptions) -> dict[str, str]:
    """Return the options that determine the output, as texts."""
    values = {name: options.value(name) for name in DECISIVE}
    values["null"] = ", ".join([values["null"]] if isinstance(values["null"], str) else values["null"])
    values["columns"] = ", ".join(f"{name}={column}" for name, column in sorted(columns_of(values["columns"]).items()))
    return {name: "" if value in (None, (), [], False) else str(value) for name, value in values.items()}
