"""Build pynusmv and the `NuSMV` executable from one source tree.

pynusmv 1.0rc8 is a source package that holds NuSMV 2.5.4, CUDD and MiniSat. Built as it comes on a current
system it breaks, or succeeds and then fails at import; this module is the recipe that works. The result is a
folder with a wheel and an executable, which were tried after their build tree had been removed.

The rule of this module: its text is the recipe, so a hash of the file names the result (`key`).
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path

REQUIREMENT = "pynusmv==1.0rc8"
SHA256 = "35af7cdd25dfc8dc357770f0764b2cb726aed219200bba2e58c25318b2425aa1"
PYPARSING = "pyparsing>=3,<3.3"  # pynusmv uses names that later versions warn of
SETUPTOOLS = "setuptools==84.2.1"  # the version the recipe was tried with
CHECK = Path(__file__).with_name("check_nusmv.py")

# CUDD's makefiles take their flags from here only. -DHAVE_IEEE_754 and the sizes are what its configuration
# would find out on the systems of its day; -fcommon because old C code defines its globals in headers.
CUDD_FLAGS = (
    "-DHAVE_IEEE_754", "-DBSD", "-DNUSMV_SIZEOF_VOID_P=8", "-DNUSMV_SIZEOF_LONG=8", "-DNUSMV_SIZEOF_INT=4",
    "-D__SVR4", "-fcommon", "-w",
)  # fmt: skip
COMPILERS = {"CC": "gcc -fcommon -w -O2", "CXX": "g++ -std=gnu++98 -w"}
# What a calling make or a user's shell may have set, and the recipe must not see.
NOT_INHERITED = (
    "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEFILES", "MAKEOVERRIDES", "CFLAGS", "CPPFLAGS", "CXXFLAGS",
    "LDFLAGS", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV",
)  # fmt: skip

Run = Callable[..., None]
"""`run(command, cwd=..., env=...)`: runs it, keeps its output in a log, raises when it fails."""


def key() -> str:
    """Name of the result: changes with the recipe, the Python it is for, and the system's C library."""
    recipe = hashlib.sha256(Path(__file__).read_bytes() + CHECK.read_bytes()).hexdigest()[:12]
    libc = "".join(platform.libc_ver())
    return f"nusmv-{sysconfig.get_config_var('SOABI')}-{libc}-{recipe}"


def build_environment(tools: Path, inherited: Mapping[str, str]) -> dict[str, str]:
    """Environment of the build; `tools` is the folder whose `python3` the makefiles are to find first."""
    environment = {name: value for name, value in inherited.items() if name not in NOT_INHERITED}
    environment |= COMPILERS
    environment["MAKEFLAGS"] = "XCFLAGS=" + "\\ ".join(CUDD_FLAGS)
    environment["PATH"] = f"{tools}{os.pathsep}{inherited.get('PATH', os.defpath)}"
    return environment


def build(folder: Path, run: Run) -> Path:
    """Build in `folder` (empty, its path without spaces) and return the folder of the results."""
    venv, source, result = folder / "venv", folder / "source", folder / "result"
    python = str(venv / "bin" / "python")
    environment = build_environment(venv / "bin", os.environ)
    run([sys.executable, "-m", "venv", str(venv)], cwd=folder, env=environment)
    run([python, "-m", "pip", "install", SETUPTOOLS, PYPARSING], cwd=folder, env=environment)
    unpack(fetch(folder, python, run, environment), source, run)
    shutil.rmtree(source / "tests")  # else they are installed as a top-level package named `tests`
    (source / "setup.cfg").write_text(f"[build_ext]\nparallel = {os.cpu_count() or 1}\n", encoding="utf-8")
    pip_wheel = [python, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--use-pep517"]
    run([*pip_wheel, "--verbose", "--wheel-dir", str(result), "."], cwd=source, env=environment)
    program = source / "dependencies" / "NuSMV" / "NuSMV-2.5.4" / "nusmv" / "NuSMV"
    run(["strip", "--strip-debug", "-o", str(result / "NuSMV"), str(program)], cwd=folder, env=environment)
    (result / "NuSMV").chmod(0o755)
    shutil.rmtree(source)  # what follows shows that the results do not need it
    run([python, "-m", "pip", "install", "--no-deps", str(wheel_in(result))], cwd=folder, env=environment)
    check(python, result / "NuSMV", run)
    return result


def fetch(folder: Path, python: str, run: Run, environment: Mapping[str, str]) -> Path:
    """Download the source package and compare its checksum."""
    pip = [python, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
    run([*pip, "--use-pep517", "--dest", str(folder / "sdist"), REQUIREMENT], cwd=folder, env=environment)
    (archive,) = (folder / "sdist").iterdir()
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != SHA256:
        raise RuntimeError(f"{archive.name} is not the file this recipe is for: its SHA-256 is {found}")
    return archive


def unpack(archive: Path, source: Path, run: Run) -> None:
    """Unpack `archive` so that its one top-level folder becomes `source`."""
    source.mkdir()
    run(["tar", "-xzf", str(archive), "-C", str(source), "--strip-components=1"], cwd=source)


def wheel_in(result: Path) -> Path:
    """Return the wheel in a folder of results."""
    (wheel,) = result.glob("pynusmv-*.whl")
    return wheel


def check(python: str, program: Path, run: Run) -> None:
    """Try both results on a small model."""
    run([python, str(CHECK), str(program)], cwd=program.parent)
