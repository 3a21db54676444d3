"""Make small mistakes in the code, one at a time, and count those that `make test` notices.

    python scripts/mutants.py
    python scripts/mutants.py --tests REVISION --only 3,17

Each mutant is a copy of the code with one change, of the kinds in `KINDS`. The seed decides which ones, so two sets of
tests can be compared on the same mutants. A mutant runs the tests of its part that are not slow (`TESTS`), up to the
first failure: it is caught, it survives, or the time is over before that is known. The checkout itself is not changed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TESTS = {
    "core": ["core", "processors", "language"],
    "processors": ["processors", "conformance/test_corpus.py"],
    "ir": ["ir", "verify/explicit", "models/test_crv2016.py"],
    "tesla": ["tesla"],
    "executors": ["executors", "conformance/test_corpus.py"],
    "verify": ["verify"],
    "runner": ["runner", "cli/test_run.py"],
}
"""Of each package the tests that are run; of these, first the folder that is called like the module's own folder."""
LEFT_OUT = ("executors/spark/", "executors/compiled/gpu/")
"""What the tests run only where there is Java, or a GPU."""
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
KINDS = ("comparison", "off by one", "and/or", "dropped statement", "constant")
CAUGHT, SURVIVED, UNKNOWN = "caught", "survived", "unknown"


class Mutant(NamedTuple):
    """One change of one file.

    Attributes
    ----------
    path: the file, below `workbench`.
    line: where it is changed.
    start, end: the bytes that are replaced.
    old, new: what stood there, and what stands there now.
    """

    kind: str
    path: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"workbench/{self.path}:{self.line}: {self.kind}: {self.old} -> {self.new}"

    @property
    def package(self) -> str:
        """The first folder of the file."""
        return self.path.partition("/")[0]

    def tests(self, root: Path) -> list[str]:
        """What pytest is given, nearest first."""
        folders = [folder.as_posix() for folder in Path(self.path).parents if (root / "tests" / folder).is_dir()]
        return [f"tests/{name}" for name in dict.fromkeys([*folders[:-1], *TESTS[self.package]])]


def mutants_of(path: str, text: bytes) -> Iterator[Mutant]:
    """Every change of a file that can be made in its functions."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def mutant(kind: str, start: int, end: int, new: str) -> Mutant:
        return Mutant(kind, path, text.count(b"\n", 0, start) + 1, start, end, text[start:end].decode(), new)

    def between(one: ast.expr, other: ast.expr) -> tuple[int, int, str]:
        """The operator between two operands, if nothing but space is around it."""
        assert one.end_lineno is not None
        assert one.end_col_offset is not None
        first = starts[one.end_lineno - 1] + one.end_col_offset
        last = starts[other.lineno - 1] + other.col_offset
        word = text[first:last].strip()
        first = text.index(word, first)
        return first, first + len(word), word.decode()

    for node in _inside_functions(ast.parse(text)):
        if isinstance(node, ast.Compare):
            start, end, word = between(node.left, node.comparators[0])
            if word in COMPARISONS:
                yield mutant("comparison", start, end, COMPARISONS[word])
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            if isinstance(node.right, ast.Constant) and node.right.value == 1:
                start, end, word = between(node.left, node.right)
                if word in ("+", "-"):
                    yield mutant("off by one", start, end + 2, f"{word} 0")
        elif isinstance(node, ast.BoolOp):
            start, end, word = between(node.values[0], node.values[1])
            if word in ("and", "or"):
                yield mutant("and/or", start, end, "or" if word == "and" else "and")
        elif isinstance(node, ast.AugAssign | ast.Expr) and node.lineno == node.end_lineno:
            start, end = (starts[node.lineno - 1] + (offset or 0) for offset in (node.col_offset, node.end_col_offset))
            if isinstance(node, ast.AugAssign) or isinstance(node.value, ast.Call):
                yield mutant("dropped statement", start, end, "pass")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, bool):
            start, end = (starts[node.lineno - 1] + (offset or 0) for offset in (node.col_offset, node.end_col_offset))
            yield mutant(
                "constant", start, end, str(not node.value if isinstance(node.value, bool) else node.value + 1)
            )


def _inside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                if not isinstance(statement, ast.FunctionDef | ast.Raise):
                    yield from (node for node in ast.walk(statement) if hasattr(node, "lineno"))


def chosen(root: Path, seed: int, count: int) -> list[Mutant]:
    """So many mutants: of all packages and kinds in turn, at random places."""
    rest: dict[tuple[str, str], set[Mutant]] = {(package, kind): set() for package in TESTS for kind in KINDS}
    for path in (root / "workbench").rglob("*.py"):
        name = path.relative_to(root / "workbench").as_posix()
        if name.partition("/")[0] in TESTS and not name.startswith(LEFT_OUT):
            for each in mutants_of(name, path.read_bytes()):
                rest[each.package, each.kind].add(each)
    draw, found = random.Random(seed), []
    for number in range(count):
        package, kind = list(TESTS)[number % len(TESTS)], KINDS[(number // len(TESTS) + number) % len(KINDS)]
        found.append(draw.choice(sorted(rest[package, kind])))
        rest[package, kind].discard(found[-1])
    return found


def outcome(mutant: Mutant, tree: Path, seconds: float) -> str:
    """Whether the tests notice the change, which is undone afterwards."""
    path = tree / "workbench" / mutant.path
    text = path.read_bytes()
    path.write_bytes(text[: mutant.start] + mutant.new.encode() + text[mutant.end :])
    options = ["-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-m", "not slow"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *mutant.tests(tree)],
            cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)}, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return UNKNOWN
    finally:
        path.write_bytes(text)
    if done.returncode not in (0, 1, 2):  # 2: a module cannot be imported
        raise RuntimeError(done.stdout.decode() + done.stderr.decode())
    return SURVIVED if done.returncode == 0 else CAUGHT


@contextlib.contextmanager
def copied(revision: str) -> Iterator[Path]:
    """A copy of what git has of this checkout, with the tests of that revision."""
    with tempfile.TemporaryDirectory() as folder:
        for name, paths in (("HEAD", ["."]), (revision, ["tests", "pyproject.toml"])):
            archive = subprocess.run(["git", "archive", name, *paths], cwd=ROOT, capture_output=True, check=True).stdout
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                tar.extractall(folder, filter="data")
        yield Path(folder)


def main() -> int:
    """Exit code 1 if a mutant survives."""
    parser = argparse.ArgumentParser(description="Count the small mistakes in the code that the tests notice.")
    parser.add_argument("--seed", type=int, default=1, help="which mutants")
    parser.add_argument("--count", type=int, default=40, help="how many mutants (default: 40)")
    parser.add_argument("--seconds", type=float, default=120, help="the limit of time of each (default: 120)")
    parser.add_argument("--tests", default="HEAD", help="the tests of this revision (default: HEAD)")
    parser.add_argument("--only", help="the numbers of those to run: 3,17")
    given = parser.parse_args()
    with copied(given.tests) as tree:
        numbered = list(enumerate(chosen(tree, given.seed, given.count)))
        wanted = set(map(int, given.only.split(","))) if given.only else {number for number, _ in numbered}
        found = []
        for number, mutant in numbered:
            if number in wanted:
                found.append(outcome(mutant, tree, given.seconds))
                print(f"{number:3} {found[-1]:8} {mutant}", flush=True)
    print(f"{found.count(CAUGHT)} caught, {found.count(SURVIVED)} survived, {found.count(UNKNOWN)} out of time")
    return int(SURVIVED in found)


if __name__ == "__main__":
    sys.exit(main())
