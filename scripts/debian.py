"""Debian packages that the set-up needs: find the missing ones, install them where that is allowed.

Its rule: a package is asked for only when the thing it is wanted for (a command, a header, a module) is not
there, so a machine that has it by other means is left alone.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path

Run = Callable[..., None]
Say = Callable[[str], None]
Needs = Mapping[str, Callable[[], bool]]
"""Package name to whether what it is wanted for is there."""

VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


class PackagesMissingError(Exception):
    """Packages are missing and may not, or cannot, be installed from here."""


def has_command(name: str) -> Callable[[], bool]:
    """Test for a command on PATH."""
    return lambda: shutil.which(name) is not None


def has_headers() -> bool:
    """Whether C extensions can be compiled for this Python."""
    return Path(sysconfig.get_path("include"), "Python.h").exists()


def has_c_library() -> bool:
    """Whether C programs can be compiled at all (gcc only recommends the package that this is in)."""
    return Path("/usr/include/stdio.h").exists()


ALWAYS: Needs = {
    f"python{VERSION}-venv": lambda: importlib.util.find_spec("ensurepip") is not None,
}
FOR_NUSMV: Needs = {
    **{name: has_command(name) for name in ("swig", "bison", "flex", "patchelf", "unzip", "patch")},
    **{name: has_command(name) for name in ("gcc", "g++", "make")},
    "libc6-dev": has_c_library,
    f"python{VERSION}-dev": has_headers,
}
USEFUL: Needs = {"graphviz": has_command("dot"), "default-jre-headless": has_command("java")}


def missing(needs: Needs) -> list[str]:
    """Packages whose purpose is not served."""
    importlib.invalidate_caches()
    return [package for package, is_there in needs.items() if not is_there()]


def administrator() -> list[str] | None:
    """Prefix of a command that may install packages; None when we may not."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    allowed = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
    return ["sudo", "-n"] if allowed else None


def require(needs: Needs, run: Run, say: Say) -> None:
    """See that nothing is missing; install what is, or raise with what the user can do."""
    packages = missing(needs)
    if not packages:
        return
    also = [package for package in missing(USEFUL) if package not in packages]
    by_hand = f"install them and run this again:\n    sudo apt-get install {' '.join([*packages, *also])}"
    if shutil.which("apt-get") is None:
        raise PackagesMissingError(f"missing (Debian's names; take what your system has instead): {packages}")
    prefix = administrator()
    if prefix is None:
        raise PackagesMissingError(f"Debian packages are missing and this user may not install them; {by_hand}")
    say(f"installing Debian packages: {' '.join(packages)}")
    install(packages, prefix, run)
    if still := missing(needs):
        raise PackagesMissingError(f"still missing for {sys.executable} after installation: {' '.join(still)}")


def ask_for(needs: Needs, run: Run, say: Say) -> None:
    """Like `require`, for what can be done without: a failure is said and is not the end."""
    try:
        require(needs, run, say)
    except (PackagesMissingError, RuntimeError) as problem:
        say(f"going on without {' '.join(missing(needs))}: {problem}")


def install(packages: list[str], prefix: list[str], run: Run) -> None:
    """Install with apt-get, with fresh package lists if it does not work with those that are there."""
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300"]
    command = [*apt, "install", "--yes", "--no-install-recommends", *packages]
    try:
        run(command)
    except RuntimeError:
        with contextlib.suppress(RuntimeError):  # another archive may be out of reach; the packages decide
            run([*apt, "update"])
        run(command)
