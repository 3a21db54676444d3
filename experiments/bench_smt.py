"""Benchmark: k-induction over words (SMT, z3) and and-inverter graphs (abc), beside the engines that are there.

    python experiments/bench_smt.py [--limit 20] [--out reports/bench_smt]

Would they decide more? Needs `z3-solver`, which nothing else of workbench does, and shows abc where `berkeley-abc` is
on the PATH (there is a Debian package of that name); it is given netlists that z3 makes, and runs `scorr` and `pdr`.
By z3 invariants are looked at from both sides, as by the engine `bmc`: for a run of k steps to a bad state, and for a
proof by induction over k steps, without the restriction to runs on which no state occurs twice. Numbers are bit vectors
as wide as their domain needs, and arithmetic is that of words. All get the same limit, abc twice that for its commands.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.core.domain import Bool, Enum, Integer, Overflowing
from workbench.core.encoding import encode, exact_ends
from workbench.core.fold import Fold
from workbench.core.pipeline import Pipeline
from workbench.core.term import Term, var
from workbench.processors.held.group import flatten
from workbench.smv.engines.engine import EngineLimits
from workbench.verify.answer.prepare import prepare
from workbench.verify.ask.equivalence import side_by_side
from workbench.verify.ask.labels import property_from
from workbench.verify.ask.properties import Property
from workbench.verify.decide.deciders import get_decider
from workbench.verify.decide.part import Part

ROOT = Path(__file__).resolve().parent.parent
DEEPEST = 40
SOURCE = """
pipeline factor(x: int, y: int) -> int { return cumulate(x * 2 + y * 2, +) }
pipeline terms(x: int, y: int) -> int { return cumulate((x + y) * 2, +) }
pipeline distributed(x: int, y: int) -> int { return x * x + x * y }
pipeline factored(x: int, y: int) -> int { return x * (x + y) }
pipeline square(x: int, y: int) -> int { return cumulate(x + y, +) * cumulate(x + y, +) }
pipeline binomial(x: int, y: int) -> int {
    a = cumulate(x, +)
    b = cumulate(y, +)
    return a * a + a * b * 2 + b * b
}
pipeline together(x: int, y: int) -> int { return cumulate(x + y, +) }
pipeline apart(x: int, y: int) -> int { return cumulate(x, +) + cumulate(y, +) }
pipeline window_sum(x: int) -> int { return window(x, 3, cumulate(+)) }
pipeline running(x: int) -> int {
    total = cumulate(x, +)
    return trim(total, 3) - total
}
pipeline running_from_window(x: int) -> int { return trim(window(x, 3, cumulate(+)), 1) }
pipeline doubles(x: int) -> int { return cumulate(x * 2, +) }
pipeline products(x: int, y: int) -> int {
    a = cumulate(x * y, +)
    return a * a * y
}
"""
EQUAL = (
    ("factor", "terms"),
    ("distributed", "factored"),
    ("square", "binomial"),
    ("together", "apart"),
    ("running", "running_from_window"),
)
ALWAYS = (("doubles", "always (even(out))"), ("products", "always (out != 3)"))


@dataclass
class Row:
    """One question and what each engine says."""

    what: str
    n: int
    answers: dict[str, str]
    seconds: dict[str, float]


def questions(n: int) -> Iterator[tuple[str, Part]]:
    """The questions for one N."""
    settings = wb.Settings(n=n, q=2)
    source = wb.parse(SOURCE)

    def part(pipeline: Pipeline, prop: Property) -> Part:
        main = prepare(flatten(pipeline.resolve(settings.domain)), prop, settings).main
        return main.without([role for role in main.questions if role != "property"])

    for left, right in EQUAL:
        pair = [source.get(name).pipeline.resolve(settings.domain) for name in (left, right)]
        yield f"{left} = {right}", part(*side_by_side(pair[0], pair[1], "stepwise"))
    for name, text in ALWAYS:
        yield f"{name}: {text}", part(source.get(name).pipeline, property_from(wb.properties.parse_property(text)))
    for file, other in (("sum_of_odds", "squares"),):
        loaded = wb.read_file(ROOT / "models" / "time2021" / f"{file}.pipe")
        pair = [loaded.get(name).pipeline.resolve(settings.domain) for name in (file, other)]
        yield f"{file} = {other}, sequence", part(*side_by_side(pair[0], pair[1], "sequence"))


# --- terms as bit vectors ---------------------------------------------------------------------------------------


def width(domain: Any) -> int:
    """Bits of a signed bit vector that holds every value."""
    if isinstance(domain, Enum):
        return len(domain.labels).bit_length() + 1
    return wide([domain.lo, domain.hi])


def ends_of(domain: Any) -> tuple[int, int]:
    """The least and the greatest number that stands for a value."""
    return (0, len(domain.labels) - 1) if isinstance(domain, Enum) else (domain.lo, domain.hi)


def wide(ends: list[int]) -> int:
    """Bits of a signed bit vector that holds these numbers."""
    return max((end if end >= 0 else -end - 1).bit_length() for end in ends) + 1


class Words(Fold[Any]):
    """Terms as z3 expressions: bools, and signed bit vectors as wide as the domain needs."""

    def __init__(self, z3: Any, given: Mapping[Term, Any]) -> None:
        super().__init__()
        self.z3 = z3
        self.memo.update(given)

    def on_const(self, term: Term) -> Any:
        if isinstance(term.domain, Bool):
            return self.z3.BoolVal(bool(term.payload))
        return self.z3.BitVecVal(encode(term.domain, term.payload), width(term.domain))

    def default(self, term: Term, *args: Any) -> Any:
        assert term.op is not None, term
        name = term.op.name
        if name in ("add", "sub", "mul"):
            return self._arithmetic(term, name, *args)
        if name in ("lt", "le", "gt", "ge"):
            a, b = self._even(*args)
            return {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[name]
        return super().default(term, *args)

    def _arithmetic(self, term: Term, name: str, a: Any, b: Any) -> Any:
        domain = term.domain
        if isinstance(domain, Integer) and domain.overflow is Overflowing.MODULAR and domain.n & domain.hi == 0:
            bits = domain.hi.bit_length()
            a, b = (self.z3.Extract(bits - 1, 0, self._to(each, bits + 1)) for each in (a, b))
            return self.z3.ZeroExt(1, {"add": a + b, "sub": a - b, "mul": a * b}[name])
        size = wide(exact_ends(term))
        a, b = self._to(a, size), self._to(b, size)
        return self._fit(term, {"add": a + b, "sub": a - b, "mul": a * b}[name])

    def _fit(self, term: Term, exact: Any) -> Any:
        domain = term.domain
        if isinstance(domain, Integer):
            if domain.overflow is not Overflowing.MODULAR:
                raise NotImplementedError(f"this benchmark translates modular integers only, not {domain}")
            exact = self.z3.SRem(exact, self.z3.BitVecVal(domain.n, exact.size()))
        return self._to(exact, width(domain))

    def on_cast(self, term: Term, a: Any) -> Any:
        return self._fit(term, a)

    def on_eq(self, _: Term, a: Any, b: Any) -> Any:
        a, b = self._even(a, b)
        return a == b

    def on_ne(self, _: Term, a: Any, b: Any) -> Any:
        a, b = self._even(a, b)
        return a != b

    def on_not(self, _: Term, a: Any) -> Any:
        return self.z3.Not(a)

    def on_and(self, _: Term, a: Any, b: Any) -> Any:
        return self.z3.And(a, b)

    def on_or(self, _: Term, a: Any, b: Any) -> Any:
        return self.z3.Or(a, b)

    def on_implies(self, _: Term, a: Any, b: Any) -> Any:
        return self.z3.Implies(a, b)

    def on_even(self, _: Term, a: Any) -> Any:
        return self.z3.Extract(0, 0, a) == 0

    def on_odd(self, _: Term, a: Any) -> Any:
        return self.z3.Extract(0, 0, a) == 1

    def on_ite(self, term: Term, c: Any, a: Any, b: Any) -> Any:
        if not isinstance(term.domain, Bool):
            a, b = (self._to(each, width(term.domain)) for each in (a, b))
        return self.z3.If(c, a, b)

    def _even(self, a: Any, b: Any) -> tuple[Any, Any]:
        if self.z3.is_bool(a):
            return a, b
        size = max(a.size(), b.size())
        return self._to(a, size), self._to(b, size)

    def _to(self, a: Any, size: int) -> Any:
        if a.size() < size:
            return self.z3.SignExt(size - a.size(), a)
        return self.z3.Extract(size - 1, 0, a) if a.size() > size else a


def induction(part: Part, limit: float) -> str:
    """What z3 says of the property."""
    import z3

    system, asked = part.model.system, part.questions["property"]
    assert asked.formula.term is not None
    good, assume = system.inline(asked.formula.term), system.inline(tuple(part.assume))
    following = dict(zip(system.variables, system.inline(tuple(v.next for v in system.variables)), strict=True))
    base, step = z3.SolverFor("QF_BV"), z3.SolverFor("QF_BV")
    end = time.monotonic() + limit

    def fresh(name: str, domain: Any) -> Any:
        return z3.Bool(name) if isinstance(domain, Bool) else z3.BitVec(name, width(domain))

    def legal(symbol: Any, domain: Any) -> Any:
        low, high = ends_of(domain)
        return z3.And(symbol >= low, symbol <= high)

    def instant(k: int, state: dict[Term, Any], solver: Any, tag: str) -> tuple[Any, dict[Term, Any]]:
        given = dict(state)
        for name, domain in system.free.items():
            given[var(name, domain)] = symbol = fresh(f"{tag}{name}@{k}", domain)
            if not isinstance(domain, Bool):
                solver.add(legal(symbol, domain))
        words = Words(z3, given)
        for condition in assume:
            solver.add(words(condition))
        after = {}
        for variable, term in following.items():
            value = words(term)
            if not isinstance(variable.domain, Bool):
                value = words._to(value, width(variable.domain))
            after[var(variable.name, variable.domain)] = value
        return words(good), after

    first: dict[Term, Any] = {}
    for v in system.variables:
        symbol = fresh(f"s.{v.name}", v.domain)
        first[var(v.name, v.domain)] = symbol
        if not isinstance(v.domain, Bool):
            step.add(legal(symbol, v.domain))
    start = {var(v.name, v.domain): Words(z3, {}).on_const(_const(v)) for v in system.variables}
    for k in range(DEEPEST):
        for solver, tag, truth in ((base, "b.", False), (step, "s.", True)):
            state = start if solver is base else first
            holds, state = instant(k, state, solver, tag)
            if solver is base:
                start = state
            else:
                first = state
            solver.set("timeout", max(1, int((end - time.monotonic()) * 1000)))
            found = solver.check(z3.Not(holds))
            if solver is base and found == z3.sat:
                return f"false at {k + 1} steps"
            if solver is step and found == z3.unsat:
                return f"true, {k}-inductive"
            if found == z3.unknown or time.monotonic() > end:
                return "undecided"
            solver.add(holds)
            del truth
    return "undecided"


def _const(variable: Any) -> Term:
    from workbench.core.term import const

    term: Term = const(variable.initial, variable.domain)
    return term


# --- AIGs for abc -------------------------------------------------------------------------------------------------


def blif(part: Part) -> str:
    """The question as a netlist with latches, bit-blasted by z3; its output says that the property is false."""
    import z3

    system, asked = part.model.system, part.questions["property"]
    names: dict[str, Any] = {}

    def leaf(name: str, domain: Any) -> Any:
        if isinstance(domain, Bool):
            return names.setdefault(name, z3.Bool(name))
        one, zero = z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)
        bits = [names.setdefault(f"{name}[{i}]", z3.Bool(f"{name}[{i}]")) for i in reversed(range(width(domain)))]
        return z3.Concat(*(z3.If(bit, one, zero) for bit in bits))

    given = {var(v.name, v.domain): leaf(v.name, v.domain) for v in system.variables}
    latched = set(names)
    given |= {var(name, domain): leaf(name, domain) for name, domain in system.free.items()}
    words = Words(z3, given)
    legal = [words(system.inline(a)) for a in part.assume]
    for name, domain in system.free.items():
        if not isinstance(domain, Bool):
            low, high = ends_of(domain)
            legal += [given[var(name, domain)] >= low, given[var(name, domain)] <= high]
    allowed = z3.And(z3.Bool("allowed"), *legal)
    wanted = {
        "allowed": (allowed, True),
        "bad": (z3.And(allowed, z3.Not(words(system.inline(asked.formula.term)))), None),
    }
    for v in system.variables:
        value, initial = words(system.inline(v.next)), encode(v.domain, v.initial)
        if isinstance(v.domain, Bool):
            wanted[v.name] = value, bool(initial)
        else:
            value = words._to(value, width(v.domain))
            for i in range(width(v.domain)):
                wanted[f"{v.name}[{i}]"] = z3.Extract(i, i, value) == 1, bool(initial >> i & 1)
    blast = z3.Then("simplify", z3.With("bit-blast", blast_full=True))
    bits = {}
    for name, (term, _) in wanted.items():
        goal = z3.Goal()
        goal.add(term)
        bits[name] = z3.And(*blast(goal)[0], z3.BoolVal(True))
    return _netlist(z3, bits, names.keys() - latched, {name: start for name, (_, start) in wanted.items()})


def _netlist(z3: Any, bits: dict[str, Any], inputs: Any, wanted: dict[str, Any]) -> str:
    lines: list[str] = []
    memo: dict[int, str] = {}

    def gate(rows: str, *args: str) -> str:
        lines.append(f".names {' '.join(args)} g{len(lines)}\n{rows}")
        return f"g{len(lines) - 1}"

    def named(text: str) -> str:
        return text.replace(" ", "_").replace("[", "<").replace("]", ">")

    def visit(e: Any) -> str:
        key = e.get_id()
        if key not in memo:
            args = [visit(child) for child in e.children()]
            memo[key] = made(e, args)
        return memo[key]

    def fold(rows: str, args: list[str]) -> str:
        found = args[0]
        for arg in args[1:]:
            found = gate(rows, found, arg)
        return found

    def made(e: Any, args: list[str]) -> str:
        kind = e.decl().kind()
        if z3.is_true(e) or z3.is_false(e):
            return gate(" 1" if z3.is_true(e) else " 0")
        if kind == z3.Z3_OP_UNINTERPRETED:
            return named(e.decl().name())
        if kind == z3.Z3_OP_NOT:
            return gate("0 1", *args)
        if kind == z3.Z3_OP_AND:
            return fold("11 1", args)
        if kind == z3.Z3_OP_OR:
            return fold("1- 1\n-1 1", args)
        if kind == z3.Z3_OP_XOR:
            return fold("10 1\n01 1", args)
        if kind in (z3.Z3_OP_EQ, z3.Z3_OP_IFF):
            return gate("11 1\n00 1", *args)
        if kind == z3.Z3_OP_ITE:
            return gate("11- 1\n0-1 1", *args)
        raise NotImplementedError(f"bit-blasting left an operator that has no gate here: {e.decl()}")

    sys.setrecursionlimit(100_000)
    ends = {name: visit(term) for name, term in bits.items()}
    latches = [f".latch {ends[n]} {named(n)} {int(start)}" for n, start in wanted.items() if start is not None]
    head = [".model m", f".inputs {' '.join(map(named, sorted(inputs)))}", ".outputs bad"]
    last = f".names {ends['bad']} bad\n1 1"
    return "\n".join([*head, *latches, *lines, last, ".end", ""])


def abc(part: Part, limit: float) -> tuple[str, float]:
    """What abc's scorr and pdr say, and its CPU seconds."""
    import resource
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.blif"
        path.write_text(blif(part))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        script = f"read_blif {path}; strash; dc2; scorr; dc2; pdr -T {limit:g}"
        try:
            done = subprocess.run([ABC, "-c", script], capture_output=True, text=True, timeout=2 * limit, check=False)
        except subprocess.TimeoutExpired:
            return "undecided", resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before.ru_utime
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime
    if "Property proved" in done.stdout:
        return "true", cpu
    return ("false" if "was asserted" in done.stdout else "undecided"), cpu


# --- the benchmark ------------------------------------------------------------------------------------------------


def said(name: str, part: Part, limit: float) -> tuple[str, float]:
    """An engine's answer and its CPU seconds."""
    begin = time.process_time()
    if name == "z3":
        return induction(part, limit), time.process_time() - begin
    if name == "abc":
        return abc(part, limit)
    decision = get_decider(name).decide(part, EngineLimits(seconds=limit))
    truth = decision.answers["property"].truth
    return {True: "true", False: "false", None: "undecided"}[truth], decision.cpu_seconds


ABC = shutil.which("berkeley-abc") or shutil.which("abc") or ""
ENGINES = ("z3", *(["abc"] if ABC else []), "pynusmv", "bmc", "algebra")


def measured(limit: float, only: str, sizes: list[int]) -> Iterator[Row]:
    """All questions for each N."""
    for n in sizes:
        for what, part in questions(n):
            if only not in what:
                continue
            found = {name: said(name, part, limit) for name in ENGINES}
            truths = {answer.split()[0].rstrip(",") for answer, _ in found.values()} - {"undecided"}
            assert len(truths) <= 1, (what, n, found)
            yield Row(what, n, {k: a for k, (a, _) in found.items()}, {k: round(s, 3) for k, (_, s) in found.items()})


def main() -> None:
    """Measure and print."""
    import z3

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=float, default=20.0, metavar="S", help="seconds for each question and engine")
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "bench_smt")
    parser.add_argument("--only", default="", metavar="TEXT", help="only questions with this text")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2**8, 2**16, 2**32], metavar="N")
    args = parser.parse_args()
    rows = []
    for row in measured(args.limit, args.only, args.sizes):
        rows.append(row)
        print(row, file=sys.stderr, flush=True)
    lines = [
        "# SMT over words and netlists, beside the engines",
        "",
        f"Command: `python experiments/bench_smt.py --limit {args.limit:g}`, {time.strftime('%Y-%m-%d')}, "
        f"z3 {z3.get_version_string()}, Python {platform.python_version()}. CPU seconds; the limit is wall-clock time.",
        "",
        "| question | N | " + " | ".join(f"{name} | s" for name in ENGINES) + " |",
        "|---|---|" + "---|---|" * len(ENGINES),
    ]
    for row in rows:
        cells = " | ".join(f"{row.answers[name]} | {row.seconds[name]:.2f}" for name in ENGINES)
        lines.append(f"| {row.what} | {row.n} | {cells} |")
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (args.out / "data.json").write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
