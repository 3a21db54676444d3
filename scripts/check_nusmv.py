"""See that pynusmv (in the Python that runs this) and a NuSMV executable (the argument) can check a model.

Exit code 0 and one line when both can; otherwise it says what went wrong.
"""

from __future__ import annotations

import collections
import collections.abc
import subprocess
import sys
import tempfile
from pathlib import Path

MODEL = """\
MODULE main
VAR b : boolean; w : unsigned word[3];
ASSIGN
  init(b) := FALSE; next(b) := !b;
  init(w) := 0ud3_0; next(w) := w + 0ud3_1;
CTLSPEC AG (b -> AX !b)
CTLSPEC AG w != 0ud3_7
LTLSPEC G F b
INVARSPEC bool(w[0:0]) = b
"""
EXPECTED = [True, False, True, True]


def verdicts_of_program(program: str, model: Path) -> list[bool]:
    """Verdicts that the executable gives; it goes through the kinds in the order of `MODEL`."""
    done = subprocess.run([program, str(model)], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        sys.exit(f"{program} ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    lines = [line for line in done.stdout.splitlines() if line.startswith(("-- spec", "-- invariant"))]
    return [line.endswith("is true") for line in lines]


def verdicts_of_pynusmv(model: Path) -> list[bool]:
    """Verdicts that pynusmv gives on the two CTL specifications and the LTL one."""
    for name in collections.abc.__all__:  # pynusmv takes these from where Python < 3.10 had them
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    from pynusmv import glob, mc  # type: ignore[import-not-found, unused-ignore]
    from pynusmv.init import init_nusmv  # type: ignore[import-not-found, unused-ignore]

    with init_nusmv():
        glob.load_from_file(str(model))
        glob.compute_model()
        database = glob.prop_database()
        fsm = database.master.bddFsm
        ctl = [mc.check_ctl_spec(fsm, database[place].expr) for place in (0, 1)]
        return [*ctl, mc.check_ltl_spec(database[2].expr)]


def main(program: str) -> None:
    """Check the model with both and compare with what is known."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.smv"
        model.write_text(MODEL, encoding="utf-8")
        if (found := verdicts_of_program(program, model)) != EXPECTED:
            sys.exit(f"{program} gives wrong verdicts: {found} instead of {EXPECTED}")
        if (found := verdicts_of_pynusmv(model)) != EXPECTED[:3]:
            sys.exit(f"pynusmv gives wrong verdicts: {found} instead of {EXPECTED[:3]}")
    print(f"pynusmv and {program} both check a model")


if __name__ == "__main__":
    main(sys.argv[1])
