"""Writes what docs/ shows of the program: tables, entries of processors, drawings, and the outputs of the tour.

`python -m scripts.pages [WORD ...]` writes the files that are out of date, of those with such a word in their path.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import workbench as wb
from scripts.grammar_diagrams import Grammar
from workbench.cli.commands import helps
from workbench.conformance.compare.contenders import contenders
from workbench.core.fields import resolve
from workbench.core.form import Form
from workbench.core.readable import plural
from workbench.core.types import TYPES
from workbench.events.table import format_rows
from workbench.executors.table import backend_row, backend_rows
from workbench.language.arguments import signature, slots
from workbench.processors import PROCESSORS
from workbench.processors.held.inner_processor import bits
from workbench.show.draw import svg
from workbench.tesla.aggregate_table import aggregate_rows
from workbench.tesla.engines.set_plan import SetPlan
from workbench.verify.answer.trace import TraceStep
from workbench.verify.decide.table import engine_rows

ROOT = Path(__file__).resolve().parent.parent
DOCS, RULES = ROOT / "docs", ROOT / "models" / "tesla"


def commands() -> Iterable[Sequence[Any]]:
    """Yield the commands, with a link to the page of each; those of extensions have none."""
    pages = {n: p.name for p in DOCS.glob("reference/cli-*.md") for n in re.findall(r"^## (\w+)$", p.read_text(), re.M)}
    for name, line in helps().items():
        yield f"[`workbench {name}`]({pages[name]}#{name})" if name in pages else f"workbench {name}", line


def aggregates() -> Iterable[Sequence[Any]]:
    """Yield the aggregates of rules, with their types over values of each type."""
    words = {each.domain: each.names[0] for each in TYPES}
    for row in aggregate_rows().values():
        types = (f"{words[of]}: {words[result]}" for of in words if (result := row.result(of)) is not None)
        yield row.name, row.doc, ", ".join(types), "null" if row.nullable else "0"


def pick(fields: str, rows: Iterable[object]) -> Iterable[Sequence[Any]]:
    """Return these fields of rows."""
    return map(attrgetter(*fields.split()), rows)


TABLES: dict[str, Callable[[], Iterable[Sequence[Any]]]] = {
    "commands": commands,
    "backends": lambda: pick("name what programs options needs", (r for r in backend_rows().values() if r.runs)),
    "contenders": lambda: pick("name compared", map(backend_row, contenders())),
    "engines": lambda: pick("name what decides", engine_rows().values()),
    "formats": lambda: pick("name endings what piped needs", format_rows().values()),
    "processors": lambda: ((signature(kind), document(kind).partition("\n")[0]) for kind in KINDS),
    "aggregates": aggregates,
}
"""The rows of tables, whose headings are in the pages."""


def cell(value: Any) -> str:
    """Return a field as a cell of a table."""
    if not isinstance(value, bool | str):
        value = ", ".join(f"`{getattr(each, 'flag', each)}`" for each in value)
    return str({True: "yes", False: "no"}.get(value, value)).replace("|", "\\|")


def table(name: str) -> str:
    """Return the rows of a table as Markdown; the first column is code."""
    rows = ((first if "`" in first else f"`{first}`", *rest) for first, *rest in TABLES[name]())
    return "".join(f"| {' | '.join(map(cell, row))} |\n" for row in rows)


KINDS: list[type[wb.Processor]] = [PROCESSORS[keyword] for keyword in sorted(PROCESSORS)]
WORDS = {kind.__name__: kind.keyword for kind in KINDS} | {"True": "true"}
DOMAINS = {str(each.domain): each.domain for each in TYPES} | {
    "enumerations": wb.Enum(("red", "green")), "maps": wb.Map(wb.BOOL, wb.INT), "records": wb.Record((wb.INT,), ("a",)),
    "tuples": wb.Tuple((wb.BOOL, wb.INT)), "tuples of one type": wb.Tuple((wb.INT, wb.INT)),
}  # fmt: skip
STREAMS: dict[wb.Domain, Sequence[Sequence[Any]]] = {
    wb.INT: ((3, 1, 4, 4, 5), (2, 0, 1, 3, 1)),
    wb.BOOL: ((True, True, False, True, False), (False, True, False, False, True)),
    DOMAINS["tuples of one type"]: (((3, 1), (1, 4)),) * 2,
}
"""What comes on the first stream of a domain, and on later ones."""


def document(kind: type[wb.Processor]) -> str:
    """Return the docstring of a processor as Markdown."""
    text = inspect.cleandoc(kind.__doc__ or "").replace("\nParameters\n----------\n", "\n")
    return re.sub(r"^(\w+(?:, \w+)*): ", r"- `\1`: ", text, flags=re.MULTILINE)


def names(sample: wb.Processor) -> list[str]:
    """Return the names of the inputs, as in the signature."""
    return ["x" if port == "in" else port for port in sample.ports]


def call(sample: wb.Processor) -> str:
    """Return a call of a sample as the language writes it, with the parameters that are not the default ones."""
    values = ((slot, getattr(sample, slot.name)) for slot in slots(type(sample)))
    changed = [(slot, value) for slot, value in values if value != getattr(type(sample), slot.name, None)]
    texts = (str(value) if slot.required else f"{slot.name} = {value}" for slot, value in changed)
    text = f"{sample.keyword}({', '.join([*names(sample), *texts])})"
    return re.sub(r"Group\((\w+)\)|[A-Z]\w+", lambda found: found[1] or WORDS.get(found[0], found[0]), text)


def fitting(sample: wb.Processor, domains: Iterable[wb.Domain]) -> Iterator[tuple[wb.Domain, ...]]:
    """Yield the inputs that a sample takes, of these domains."""
    for inputs in itertools.product(domains, repeat=sample.in_arity):
        with contextlib.suppress(wb.WorkbenchError):
            if sample.specialise(inputs).results(inputs):
                yield inputs


def specialise(sample: wb.Processor, form: Form) -> tuple[tuple[wb.Domain, ...], wb.Processor]:
    """Return the first inputs that a sample takes, and it typed for them; in a model `int` has four values."""
    inputs = next(fitting(sample, STREAMS))
    if form == Form.MODEL:
        inputs, sample = tuple(resolve(each, wb.Integer(4)) for each in inputs), sample.resolve(wb.Integer(4))
    return inputs, sample.specialise(inputs)


def run(sample: wb.Processor, turn: int) -> wb.Trace:
    """Run a sample, and compare what it emits with its denotation.

    `turn` takes the other stream of each domain. If the steps matter, some inputs have no event in some.
    """
    inputs, typed = specialise(sample, Form.VALUES)
    ports, builder = names(sample), wb.Builder("run")
    pipeline = builder.build(builder.add(sample, [*map(builder.input, ports, inputs)], "out"))
    fronts = [*zip(*(STREAMS[domain][min(i, 1) ^ turn] for i, domain in enumerate(inputs)), strict=True)]
    steps: list[Any] = [
        {ports[i]: event for i, event in enumerate(front) if not sample.is_timed or n == 0 or (i + n) % 2}
        for n, front in enumerate(fronts)
    ]
    records = wb.executors.Reference(pipeline).trace([*steps, wb.END])
    if not sample.is_timed:
        emitted = [[event for record in records for event in record.outputs[name]] for name, _ in pipeline.outputs]
        assert emitted == [*map(list, typed.denote(tuple(zip(*fronts, strict=True))))], sample
    pipes = [{pipe: each.value if each.present else None for pipe, each in record.pipes.items()} for record in records]
    shown = [TraceStep(step, carried, {}) for step, carried in zip(steps, pipes, strict=False)]
    if any(records[-1].outputs.values()):
        shown.append(TraceStep(wb.END, pipes[-1], {}, ends=True))
    return wb.Trace(tuple(shown), domains=pipeline.domains, pipeline=pipeline)


def choose(samples: Sequence[wb.Processor]) -> tuple[wb.Processor, wb.Trace]:
    """Return a sample and its run: the first one that emits something new, on the livelier streams."""
    runs = []
    for (i, sample), turn in itertools.product(enumerate(samples), (0, 1)):
        with contextlib.suppress(wb.errors.Overflow):
            trace = run(sample, turn)
            carried = {pipe: [str(step.pipes[pipe]) for step in trace.steps] for pipe in trace.domains}
            inputs = [carried.pop(pipe) for pipe in trace.inputs]
            dull = any(each in inputs or {*each} == {"None"} for each in carried.values())
            runs.append(((dull, i, -sum(len({*each}) for each in carried.values())), sample, trace))
    return min(runs, key=lambda each: each[0])[1:]


def model(sample: wb.Processor) -> str:
    """Return the variables of a sample in a model; empty if it has no model."""
    inputs, typed = specialise(sample, Form.MODEL)
    if typed.refusal(Form.MODEL):
        return ""
    machine = typed.machine(inputs)
    variables = ", ".join(f"`{slot.name}: {slot.domain}`" for slot in machine.slots)
    return f"`{call(sample)}` has " + (f"{variables} ({plural(bits(machine), 'bit')})" if variables else "no variables")


def notes(shown: wb.Processor, samples: Sequence[wb.Processor]) -> Iterator[str]:
    """Yield the model, the types that each input of a sample takes unless it takes all, and what samples refuse."""
    yield f"in a model where `int` is 0..3: {next(filter(None, map(model, (shown, *samples))), 'none')}"
    for name, taken in zip(names(shown), zip(*fitting(shown, DOMAINS.values()), strict=True), strict=True):
        if len({*taken}) < len(DOMAINS):
            words = ", ".join(word for word, domain in DOMAINS.items() if domain in taken)
            yield f"`{name}` in `{call(shown)}` takes {words}"
    refused = dict[str, str]()
    for (form, where), each in itertools.product(((Form.MODEL, "models"), (Form.ARRAYS, "compiled code")), samples):
        if why := specialise(each, form)[1].refusal(form):
            text = refused.setdefault(why, f"`{call(each)}` is refused in {where}")
            if text.startswith(f"`{call(each)}`") and where not in text:
                refused[why] = f"{text} and in {where}"
    yield from (f"{text}: {why}" for why, text in refused.items())


def entry(kind: type[wb.Processor]) -> str:
    """Return the entry of a processor."""
    head = f"## {kind.keyword}\n\n`{signature(kind)}`, in Python `wb.processors.{kind.__name__}`\n\n"
    if kind.keyword == "rules":
        more = "[Rules in pipelines](rules-in-pipelines.md) has runs, the model and what is refused."
        return f"{head}{document(kind).partition(chr(10))[0]}\n\n{more}\n"
    sample, trace = choose(kind.samples())
    items = "".join(f"- {note}\n" for note in notes(sample, kind.samples()))
    text = wb.render_timeline(trace, trace.pipeline, 120).rstrip("▲ \n")
    return f"{head}{document(kind)}\n\n`{call(sample)}`:\n\n```text\n{text}\n```\n\n{items}"


TEXTS = {
    "starts": ("tutorial/cold-room.md", r"pipe siren.pipe\n"),
    "by_hand": ("tutorial/cold-room.md", r"pipe three.pipe\n"),
    "late": ("howto/figures.md", r"pipe late.pipe\n"),
    "rise": ("howto/smallest-buffers.md", r"pipe rise.pipe\n"),
    "rules-fire": ("reference/rules.md", r"\n(?=declare )"),
}
"""The pipelines and rules of pages that are drawn: the page, and how the block begins."""


def draw_text(name: str, page: str, begin: str) -> str:
    """Draw a pipeline of this name, or rules, in a block of a page, with the repair that the tutorial makes."""
    blocks = re.findall(rf"^```{begin}(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    text = blocks[0].replace("when t < 3\n", "when t < 3 / warm := 0\n")
    return svg(wb.rules.parse_rules(text) if "rules" in name else wb.parse(text).get(name).pipeline)


def drawings() -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the names of the drawings, and how each is drawn."""
    yield from ((name, partial(draw_text, name, *text)) for name, text in TEXTS.items())
    yield "rules-silence", lambda: svg(wb.rules.load_rules(RULES / "silence.tesla"))
    yield "rules-plan", lambda: svg(SetPlan(wb.rules.load_rules(RULES / "fire.tesla")))
    for language, file in (("pipe", "language/pipe.lark"), ("rules", "tesla/tesla.lark")):
        grammar = Grammar((ROOT / "workbench" / file).read_text(encoding="utf-8"))
        for part in filter(grammar.parts.get, grammar.parts):
            yield f"grammar-{language}-{part.replace(' ', '-')}", partial(grammar.picture, part)


ENTRIES, TOUR = DOCS / "reference" / "every-processor.md", DOCS / "tour.ipynb"
FORMS = {"text/plain": "__repr__", "text/html": "_repr_html_"}
"""The forms in which a notebook stores a value, and the methods that return them."""


def fill(page: Path) -> str:
    """Return a page with the rows of its tables, which stand below `<!-- drawn: NAME -->` and their headings."""
    found = re.compile(r"(<!-- drawn: (\w+) -->\n(?:\|.*\n){2})(?:\|.*\n)*")
    return found.sub(lambda each: each[1] + table(each[2]), page.read_text(encoding="utf-8"))


def fill_tour() -> str:
    """Return the notebook with the value of the last expression of each cell."""
    notebook, scope = json.loads(TOUR.read_text(encoding="utf-8")), {"__name__": "__main__"}
    for each in (cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
        values: list[Any] = [None]
        statements = ast.Interactive(ast.parse("".join(each["source"])).body)
        with contextlib.chdir(DOCS), patch("sys.displayhook", values.append):
            exec(compile(statements, "<cell>", "single"), scope)
        forms = {form: getattr(values[-1], method, None) for form, method in FORMS.items()}
        data = {form: show().splitlines(keepends=True) for form, show in forms.items() if show}
        shown = {"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"}
        each["outputs"] = [] if values[-1] is None else [shown]
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def files() -> dict[Path, Callable[[], str]]:
    """Return the files, and what makes the text of each."""
    pages = {page: partial(fill, page) for page in sorted(DOCS.glob("*/*.md"))}
    head = ENTRIES.read_text(encoding="utf-8").partition("\n## ")[0]
    pictures = {DOCS / "pictures" / f"{name}.svg": draw for name, draw in drawings()}
    return {**pages, ENTRIES: lambda: "\n".join([head, *map(entry, KINDS)]), TOUR: fill_tour, **pictures}


def is_current(path: Path, text: str) -> bool:
    """Whether a file has this text, apart from where graphviz places texts, and from the pages in the tour."""
    texts = [path.read_text(encoding="utf-8") if path.exists() else "", text]
    if path.suffix == ".svg" and "graphviz" in text:
        texts = [str(sorted(re.findall(r"<text[^>]*>([^<]*)<", each))) for each in texts]
    html = re.compile(r'"text/html": \[.*?^ *\]', re.MULTILINE | re.DOTALL)
    return len({html.sub("", each) for each in texts}) == 1


if __name__ == "__main__":
    for path, make in files().items():
        if any(word in str(path) for word in sys.argv[1:] or [""]) and not is_current(path, text := make()):
            print(path)
            path.write_text(text, encoding="utf-8")
