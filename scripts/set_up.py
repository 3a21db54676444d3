"""Make `.venv` in this clone: Debian packages, the Python environment, NuSMV. `make setup` runs it.

Its rules: nothing is taken for finished before it is (a result is made aside and renamed, a stamp comes
last); a run with nothing to do reads a few files and ends; long output goes to a log, and a failure shows
the end of it.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # noqa: UP036  an older Python gets here, and should be told
    sys.exit("workbench needs Python 3.11 or newer; name one: make setup PYTHON=python3.12")

import argparse
import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

sys.dont_write_bytecode = True
import debian  # noqa: E402
import nusmv  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
MARKS = VENV / ".workbench"
READY, BUSY, NUSMV_MARK = MARKS / "ready", MARKS / "busy", MARKS / "nusmv"
STATE = ROOT / ".setup"
LOG = STATE / "setup.log"
NEEDED = (PYTHON, VENV / "bin" / "workbench", VENV / "bin" / "NuSMV", VENV / "bin" / "pytest")
HEARTBEAT = 30.0
LINES_SHOWN = 25
locks: list[int] = []
"""The lock of this run. Commands inherit it, so that it is held while one of them lives, even without us."""


class CommandFailedError(RuntimeError):
    """A command ended badly; the log says how."""


def say(text: str) -> None:
    """Tell the user where the set-up is."""
    print(f"setup: {text}", flush=True)


def fingerprint() -> str:
    """Hash of everything the result depends on: scripts, project file, this folder, the Python used."""
    parts = [ROOT / "pyproject.toml", *sorted(ROOT.glob("scripts/*.py")), VENV / "pyvenv.cfg"]
    whole = hashlib.sha256(str(ROOT).encode())
    for part in parts:
        whole.update(part.read_bytes() if part.exists() else b"-")
    return whole.hexdigest()


def is_ready() -> bool:
    """Whether an earlier run has done everything, and it is still there."""
    if not READY.exists() or BUSY.exists() or not all(path.exists() for path in NEEDED):
        return False
    return READY.read_text(encoding="utf-8") == fingerprint()


def run(command: Sequence[str], cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> None:
    """Run a command with its output in the log; now and then say that it still runs; stop it if we are."""
    with LOG.open("ab") as log:
        log.write(f"\n$ {' '.join(command)}\n".encode())
        log.flush()
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=locks,
        )
        start = time.monotonic()
        try:
            while process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(HEARTBEAT)
                    break
                say(f"   ... {time.monotonic() - start:.0f} s")
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    if process.returncode:
        raise CommandFailedError(f"{Path(command[0]).name} ended with exit code {process.returncode}")


def clean_environment() -> dict[str, str]:
    """Environment for pip, without what would send it elsewhere than into `.venv`."""
    unwanted = {*nusmv.NOT_INHERITED, "PIP_TARGET", "PIP_PREFIX", "PIP_USER"}
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    return environment | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}


def pip(*arguments: str) -> None:
    """Run `.venv`'s pip; while it runs a mark says that `.venv` may be half written."""
    MARKS.mkdir(exist_ok=True)
    BUSY.touch()
    try:
        run([str(PYTHON), "-m", "pip", *arguments], env=clean_environment())
    except CommandFailedError:
        BUSY.unlink()  # pip ended by itself, and then undoes what it had begun
        raise
    BUSY.unlink()


def venv_settings() -> dict[str, str]:
    """What `.venv/pyvenv.cfg` says, empty when there is none."""
    with contextlib.suppress(FileNotFoundError):
        lines = (VENV / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
        return {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}
    return {}


def reason_to_make_venv(python_was_named: bool) -> str | None:
    """Why `.venv` has to be made anew, or None when it can be kept."""
    settings = venv_settings()
    if not settings or not PYTHON.exists():
        return "there is none" if not VENV.exists() else "it is incomplete"
    if BUSY.exists():
        return "an installation into it was interrupted"
    made_for = settings.get("command", str(VENV)).split(" -m venv ")[-1].split()[-1]
    if made_for != str(VENV):
        return f"it was made in another folder ({made_for})"
    version = ".".join(map(str, sys.version_info[:3]))
    if python_was_named and settings.get("version") != version:
        return f"it has Python {settings.get('version')}, and {version} is wanted"
    works = subprocess.run([str(PYTHON), "-m", "pip", "--version"], capture_output=True, check=False)
    return "its pip does not run" if works.returncode else None


def make_venv(python_was_named: bool) -> None:
    """Make `.venv` unless a good one is there."""
    reason = reason_to_make_venv(python_was_named)
    if reason is None:
        return
    say(f"making .venv with Python {sys.version.split()[0]} ({reason})")
    if VENV.exists():  # one half removed could pass for a good one, one renamed cannot
        old = Path(tempfile.mkdtemp(prefix="old-venv-", dir=STATE))
        VENV.rename(old / "venv")
        shutil.rmtree(old)
    run([getattr(sys, "_base_executable", sys.executable), "-m", "venv", str(VENV)], env=clean_environment())


def install_project() -> None:
    """Install workbench from this folder, with the tools for its tests."""
    say("installing workbench and its tools with pip (half a minute to a few minutes)")
    pip("install", "--editable", ".[dev,fast,lab,smt]")


def compile_project() -> None:
    """Keep what commands would make anew at every start where the environment forbids Python to write."""
    environment = clean_environment()
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    run([str(PYTHON), "-m", "compileall", "-q", "workbench"], env=environment)
    run([str(PYTHON), "-c", "from workbench.language.parser import parse_file; parse_file('')"], env=environment)


def compile_kernel() -> None:
    """Compile what runs rules; without that, the first long run of rules does it."""
    say("compiling the kernel of rules (20 seconds; once on this machine)")
    try:
        run([str(VENV / "bin" / "workbench"), "doctor", "--compile"], env=clean_environment())
    except CommandFailedError as problem:
        say(f"going on without it: {problem}")


def install_spark() -> None:
    """Install what sweeps on a cluster need; all the rest works without it."""
    say("installing Spark, 450 MB (for `workbench lab --on spark`)")
    try:
        pip("install", "--editable", ".[spark]")
    except CommandFailedError as problem:
        say(f"going on without Spark: {problem}")


def cache_folder() -> Path:
    """Folder outside the clone where built engines are kept for the next clone."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "workbench"


@contextlib.contextmanager
def build_folder() -> Iterator[Path]:
    """Temporary folder, removed in every case; old makefiles cannot live in a path with spaces."""
    base = tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix="workbench-nusmv-", dir="/tmp" if " " in base else base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def keep(result: Path, place: Path) -> None:
    """Put the results into the cache in one move; a cache that cannot be written is only a pity."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=".incoming-", dir=place.parent))
        try:
            shutil.copytree(result, aside / "it")
            shutil.rmtree(place, ignore_errors=True)
            (aside / "it").rename(place)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as problem:
        say(f"the built NuSMV could not be kept in {place.parent}: {problem}")


def install_nusmv(result: Path) -> None:
    """Install the wheel and the executable of a folder of results into `.venv`, and try them there."""
    pip("install", nusmv.PYPARSING)
    pip("install", "--force-reinstall", "--no-deps", str(nusmv.wheel_in(result)))
    program = VENV / "bin" / "NuSMV"
    aside = program.with_name(".NuSMV.incoming")
    shutil.copy2(result / "NuSMV", aside)
    aside.rename(program)
    nusmv.check(str(PYTHON), program, run)
    NUSMV_MARK.write_text(nusmv.key(), encoding="utf-8")


def nusmv_is_installed() -> bool:
    """Whether `.venv` has the engines of the present recipe, and they work."""
    if not NUSMV_MARK.exists() or NUSMV_MARK.read_text(encoding="utf-8") != nusmv.key():
        return False
    try:
        nusmv.check(str(PYTHON), VENV / "bin" / "NuSMV", run)
    except (CommandFailedError, OSError):
        return False
    return True


def provide_nusmv() -> None:
    """Bring pynusmv and NuSMV into `.venv`: from the cache when it has them and they work, else built."""
    if nusmv_is_installed():
        return
    cached = cache_folder() / nusmv.key()
    if cached.is_dir():
        say(f"installing pynusmv and NuSMV, built earlier ({cached})")
        try:
            install_nusmv(cached)
            return
        except (CommandFailedError, ValueError, OSError):
            say("what was built earlier does not work here; building again")
            shutil.rmtree(cached, ignore_errors=True)
    debian.require(debian.FOR_NUSMV, run, say)
    say("building pynusmv and NuSMV 2.5.4 (about 3 minutes; once on this machine)")
    with build_folder() as folder:
        result = nusmv.build(folder, run)
        keep(result, cached)
        say("installing pynusmv and NuSMV")
        install_nusmv(result)


def needed_packages() -> debian.Needs:
    """Debian packages for what is left to do: the compilers only when there is something to compile."""
    is_built = (cache_folder() / nusmv.key()).is_dir() or NUSMV_MARK.exists()
    return debian.ALWAYS if is_built else {**debian.ALWAYS, **debian.FOR_NUSMV}


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Hold this clone's lock: two set-ups at once would write the same files."""
    STATE.mkdir(exist_ok=True)
    with (STATE / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up of this clone is running; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        locks.append(lock.fileno())
        yield


def set_up(python_was_named: bool) -> None:
    """Do what is missing, in order."""
    if is_ready() and not reason_to_make_venv(python_was_named):
        return
    READY.unlink(missing_ok=True)
    LOG.write_bytes(b"")
    start = time.monotonic()
    debian.require(needed_packages(), run, say)
    make_venv(python_was_named)
    install_project()
    compile_project()
    provide_nusmv()
    compile_kernel()
    debian.ask_for(debian.USEFUL, run, say)
    install_spark()
    aside = READY.with_suffix(".incoming")
    aside.write_text(fingerprint(), encoding="utf-8")
    aside.rename(READY)
    say(f"done in {time.monotonic() - start:.0f} s")


def show_log() -> None:
    """Print the end of the log."""
    lines = LOG.read_text(encoding="utf-8", errors="replace").splitlines() if LOG.exists() else []
    for line in lines[-LINES_SHOWN:]:
        print(f"  | {line}", file=sys.stderr)
    print(f"setup: the whole log is in {LOG.relative_to(ROOT)}", file=sys.stderr)


def go_on_with_python_of_venv() -> None:
    """Run this again with the Python that `.venv` was made with, when that is another one (3.12, say)."""
    settings = venv_settings()
    base = settings.get("executable", "")
    other = settings.get("version", "").split(".")[:2] != [str(part) for part in sys.version_info[:2]]
    if other and os.access(base, os.X_OK) and not Path(base).samefile(sys.executable):
        os.execv(base, [base, *sys.argv])


def main() -> None:
    """Read the command line, and turn a failure into a message."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--switch", action="store_true", help="make .venv anew if its Python is another version")
    python_was_named = parser.parse_args().switch
    if is_ready() and not python_was_named:
        return
    if not python_was_named:
        go_on_with_python_of_venv()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("setup: stopped"))
    try:
        with alone():
            set_up(python_was_named)
    except KeyboardInterrupt:
        sys.exit("\nsetup: interrupted; the next run goes on from here")
    except (CommandFailedError, RuntimeError, OSError) as problem:
        show_log()
        sys.exit(f"setup: failed: {problem}")
    except debian.PackagesMissingError as problem:
        sys.exit(f"setup: {problem}")


if __name__ == "__main__":
    main()
