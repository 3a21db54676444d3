"""Certificates of what holds: for which checks of models/practical one is found, and confirmed, and how fast."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import workbench as wb
from experiments.practical import SECONDS, decide, files, load, questions
from workbench.budget import Budget
from workbench.errors import LimitMet, Refused
from workbench.lab import Limits, Output, Region, Suite, median, number, ok, total, warns
from workbench.lab.claim import Judgement
from workbench.lab.data import Data
from workbench.verify.proof.check_certificate import UndecidedCertificate

suite = Suite(
    "certificates",
    "Certificates of what holds",
    """
The checks of models/practical that hold, of the small size and as people have them. Each is decided within the limit
of its size, as in the suite `practical`; then a certificate is searched for, and checked by z3 and by random runs of
the program, within 20 s each. Times are wall times.
""",
    depends=["models/practical", "experiments/practical.py"],
)
SIZES = ("small", "middle")
LIMIT = 20.0
"""Seconds for finding a certificate, and for checking it."""


def region() -> Region:
    """Return the points: every question about a pipeline whose answer is that it holds, in two sizes."""
    found = None
    for file in files():
        asked = [each.asked for each in questions(file) if each.expected == "holds" and each.monitor is None]
        if asked:
            part = Region(file=[file], asked=asked, size=list(SIZES))
            found = part if found is None else found + part
    assert found is not None
    return found


@suite.experiment(
    region(),
    limits=Limits(seconds=SECONDS["middle"] + 3 * LIMIT, memory_mb=4000), persistent=True, warm_up=load,
    decided=Output("1 if the check holds, within the limit of its size", kind=int),
    written=Output("1 if a certificate is found", kind=int),
    confirmed=Output("1 if the certificate is confirmed", kind=int),
    conditions=Output("conditions that the solver has decided", kind=int),
    finding=Output("time for finding it", "s", float),
    checking=Output("time for checking it", "s", float),
    size_kb=Output("its length", "kB", float),
    obstacle=Output("why there is none, or why it is not confirmed", kind=str),
)  # fmt: skip
def certify(file: str, asked: str, size: str) -> dict[str, Any]:
    """Decide a check, write its certificate, and confirm that."""
    question = next(question for question in questions(file) if question.asked == asked)
    verdict = decide(question, size)
    holds = verdict.outcome is wb.Outcome.HOLDS
    values: dict[str, Any] = {
        "decided": int(holds), "written": 0, "confirmed": 0, "conditions": 0, "finding": 0.0, "checking": 0.0,
        "size_kb": 0.0, "obstacle": "" if holds else "not decided",
    }  # fmt: skip
    if not holds:
        return values
    with TemporaryDirectory() as folder:
        path, find, confirm = Path(folder, "holds.smt2"), Budget(LIMIT), Budget(LIMIT)
        try:
            with find:
                text = wb.certificate(verdict)
                values |= {"finding": LIMIT - find.left, "written": 1, "size_kb": len(text) / 1000}
            path.write_text(text, encoding="utf-8")
            with confirm:
                confirmations = list(wb.check_certificate(path, verdict.problem))
                values |= {"checking": LIMIT - confirm.left, "confirmed": 1}
            values["conditions"] = sum(each.conditions for each in confirmations)
        except (LimitMet, Refused, UndecidedCertificate) as error:
            values["obstacle"] = error.what
    return values


suite.table(
    "summary", of=certify, rows="size",
    cells={"checks": number(), "decided": total("decided"), "with a certificate": total("written"),
           "confirmed": total("confirmed")},
    title="How many have a certificate",
)  # fmt: skip
suite.table(
    "checks", of=certify, rows=["file", "asked"], columns="size",
    cells={"certificate": total("written"), "confirmed": total("confirmed"), "found in, s": median("finding"),
           "checked in, s": median("checking"), "kB": median("size_kb")},
    title="Every check",
)  # fmt: skip


@suite.claim("Every certificate that is found is confirmed")
def confirmed(data: Data) -> Judgement:
    rows = [row for row in data.rows(certify, status="ok") if row["written"]]
    gaps = [f"{row['file']} {row['asked']} ({row['size']})" for row in rows if not row["confirmed"]]
    summary = f"{len(rows) - len(gaps)} of {len(rows)}"
    return warns(f"{summary}; not decided within {LIMIT:g} s: {'; '.join(gaps)}") if gaps else ok(summary)


def share(data: Data, size: str) -> Judgement:
    """Return how many of the checks that were decided have a certificate."""
    rows = [row for row in data.rows(certify, status="ok", size=size) if row["decided"]]
    written = sum(row["written"] for row in rows)
    return (ok if written == len(rows) else warns)(f"{written} of {len(rows)}")


@suite.claim("Every small check that is decided has a certificate")
def small(data: Data) -> Judgement:
    return share(data, "small")


@suite.claim("Every check as people have it that is decided has a certificate")
def middle(data: Data) -> Judgement:
    return share(data, "middle")
