"""Writes docs/reference/every-processor.md, an entry for each processor: `python scripts/entries.py`.

Signature, docstring, a run of one of its `samples` on the reference executor, which is compared with `denote`, the
variables of its `machine`, and what `specialise` and `refusal` refuse.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
import workbench as wb  # noqa: E402
from workbench.core.domain import Integer  # noqa: E402
from workbench.core.fields import resolve  # noqa: E402
from workbench.core.form import Form  # noqa: E402
from workbench.core.function import Function, TypedFunction  # noqa: E402
from workbench.core.kinds import FileProcessor  # noqa: E402
from workbench.core.processor import Processor  # noqa: E402
from workbench.core.readable import plural, show_value  # noqa: E402
from workbench.executors.reference.executor import Reference  # noqa: E402
from workbench.language.arguments import signature  # noqa: E402
from workbench.processors import PROCESSORS  # noqa: E402
from workbench.processors.held.group import Group  # noqa: E402
from workbench.processors.held.inner_processor import bits  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "every-processor.md"
PAIR = wb.Tuple((wb.BOOL, wb.INT))
STREAMS: dict[wb.Domain, Sequence[Sequence[Any]]] = {
    wb.INT: ((3, 1, 4, 4, 5), (2, 0, 1, 3, 1)),
    wb.BOOL: ((True, True, False, True, False), (False, True, False, False, True)),
    PAIR: (((True, 3), (False, 1), (True, 4)),) * 2,
    wb.Tuple((wb.INT, wb.INT)): (((3, 1), (1, 4)),) * 2,
}
"""What comes on the first stream of a domain, and on later ones."""
TYPES = {
    "bool": wb.BOOL, "int": wb.INT, "float": wb.FLOAT, "str": wb.STR, "enumerations": wb.Enum(("red", "green")),
    "tuples": PAIR, "tuples of one type": wb.Tuple((wb.INT, wb.INT)), "records": wb.Record((wb.INT,), ("a",)),
    "maps": wb.Map(wb.BOOL, wb.INT),
}  # fmt: skip
HEAD = """# Every processor

For people who look up one processor: its call, what it emits, a run, its variables in a model, and what it refuses.
[Processors](processors.md) has the table of all, with examples, and [semantics](../explanation/semantics.md#processors)
the formula of each output. `scripts/entries.py` makes this page from the classes in `workbench/processors`.

In a run, a column is a step and `end` is the end of the streams. A dot is no event, and several events of a step stand
in brackets. The reference executor computes the runs; the script compares them with the specifications of the classes.
"""


def text(value: Any) -> str:
    """Return a parameter as the language writes it."""
    if isinstance(value, Function | TypedFunction):
        return value.name
    if isinstance(value, Group):
        return value.body.name
    if isinstance(value, Processor):
        given = list(parameters(value))
        return f"{value.keyword}({', '.join(given)})" if given else value.keyword
    return show_value(value) if isinstance(value, bool) else str(value)


def parameters(processor: Processor) -> Iterator[str]:
    """Yield the parameters of a processor that are not the default ones, from the first optional one on by name."""
    for item in dataclasses.fields(processor):
        value = getattr(processor, item.name)
        if item.name in ("ways", "integers") or value == item.default:
            continue
        yield text(value) if item.default is dataclasses.MISSING else f"{item.name} = {text(value)}"


def ready(sample: Processor) -> tuple[tuple[wb.Domain, ...], Processor]:
    """Return the first input domains that suit a sample, and it typed for them."""
    for inputs in itertools.product(STREAMS, repeat=sample.in_arity):
        with suppress(wb.WorkbenchError):
            return inputs, sample.specialise(inputs)
    raise AssertionError(f"no types suit {sample}")


def bounded(sample: Processor) -> tuple[tuple[wb.Domain, ...], Processor]:
    """Return the same for a model in which `int` has four values."""
    domains = tuple(resolve(domain, Integer(4)) for domain in ready(sample)[0])
    return domains, sample.resolve(Integer(4)).specialise(domains)


def names(sample: Processor) -> list[str]:
    """Return the names of the streams, as in the signature."""
    return ["x" if port == "in" else port for port in sample.ports]


def run(sample: Processor, turn: int) -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows of the inputs and of the outputs of a run; what comes is compared with the denotation.

    `turn` takes the other stream of each domain. If the steps matter, some inputs have no event in some.
    """
    inputs, typed = ready(sample)
    builder = wb.Builder("run")
    streams = [builder.input(name, domain) for name, domain in zip(names(sample), inputs, strict=True)]
    pipeline = builder.build(builder.add(sample, streams, "out"))
    columns = [STREAMS[domain][min(i, 1) ^ turn] for i, domain in enumerate(inputs)]
    fronts = list(zip(*columns, strict=False))
    steps = [dict(zip(names(sample), front, strict=True)) for front in fronts]
    if sample.is_timed:
        comes = [[n == 0 or (i + n) % 2 for i in range(sample.in_arity)] for n in range(len(fronts))]
        steps = [dict(itertools.compress(step.items(), some)) for step, some in zip(steps, comes, strict=True)]
    executor = Reference(pipeline)
    came: list[dict[str, list[Any]]] = [*executor.emitted(steps), executor.end()]
    if not sample.is_timed:
        emitted = [[event for each in came for event in each.get(name, [])] for name, _ in pipeline.outputs]
        assert emitted == list(map(list, typed.denote(tuple(zip(*fronts, strict=True))))), sample
    above = [
        [name, *(cell([step[name]] if name in step else [], domain) for step in steps)]
        for name, domain in zip(names(sample), inputs, strict=True)
    ]
    outputs = zip(pipeline.outputs, typed.results(inputs), strict=True)
    return above, [[name, *(cell(each.get(name, []), domain) for each in came)] for (name, _), domain in outputs]


def choose(samples: Sequence[Processor]) -> tuple[Processor, str]:
    """Return a sample and its run: the first one that emits something else than its input, on the livelier streams."""
    runs = []
    for sample, turn in itertools.product(samples, (0, 1)):
        with suppress(wb.errors.Overflow):
            above, below = run(sample, turn)
            same = any(each[1:-1] in [row[1:] for row in above] for each in below)
            dull = same or not any(set(each[1:]) - {"·"} for each in below)
            runs.append((dull, samples.index(sample), -sum(len(set(each)) for each in below), above, below))
    _, chosen, _, above, below = min(runs, key=lambda each: each[:3])
    ends = any(each[-1] != "·" for each in below)
    head = ["step", *map(str, range(len(above[0]) - 1)), *["end"] * ends]
    rows = [head, *([*row, *[""] * ends] for row in above), *(row if ends else row[:-1] for row in below)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(each.ljust(width) for each, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return samples[chosen], "\n".join(lines)


def cell(events: Sequence[Any], domain: wb.Domain) -> str:
    """Return the events of a step."""
    shown = [show_value(event, domain) for event in events]
    return "·" if not shown else shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"


def model(sample: Processor) -> str:
    """Return the variables of a sample in a model in which `int` has four values; empty if it has no model."""
    domains, typed = bounded(sample)
    if typed.refusal(Form.MODEL):
        return ""
    machine = typed.machine(domains)
    slots = ", ".join(f"`{slot.name}: {slot.domain}`" for slot in machine.slots)
    return (
        f"`{call(sample)}` has {slots} ({plural(bits(machine), 'bit')})"
        if slots
        else f"`{call(sample)}` has no variables"
    )


def call(sample: Processor) -> str:
    """Return a call of a sample."""
    return f"{sample.keyword}({', '.join([*names(sample), *parameters(sample)])})"


def types(sample: Processor) -> Iterator[str]:
    """Yield the types that each input takes, beside some types of the others, unless it takes all."""
    fit = [words for words in itertools.product(TYPES, repeat=sample.in_arity) if suits(sample, words)]
    for i, name in enumerate(names(sample)):
        taken = [word for word in TYPES if any(words[i] == word for words in fit)]
        if len(taken) < len(TYPES):
            yield f"- `{name}` in `{call(sample)}` takes {', '.join(taken)}\n"


def suits(sample: Processor, words: Sequence[str]) -> bool:
    """Whether a sample takes these types."""
    inputs = tuple(TYPES[word] for word in words)
    with suppress(wb.WorkbenchError):
        return bool(sample.specialise(inputs).results(inputs))
    return False


def refusals(samples: Sequence[Processor]) -> Iterator[str]:
    """Yield the forms in which samples cannot run, with the reasons."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for form, where in ((Form.MODEL, "models"), (Form.ARRAYS, "compiled code")):
        for sample in samples:
            if why := (bounded if form == Form.MODEL else ready)(sample)[1].refusal(form):
                reasons.setdefault((why, call(sample)), []).append(where)
    shown = set[str]()
    for (why, which), places in reasons.items():
        if why not in shown:
            yield f"- `{which}` is refused in {' and in '.join(places)}: {why}\n"
        shown.add(why)


def documentation(kind: type[Processor]) -> str:
    """Return the docstring as Markdown, with the parameters as a list."""
    lines = inspect.cleandoc(kind.__doc__ or "").replace("\nParameters\n----------\n", "\n")
    if issubclass(kind, FileProcessor):
        return lines.partition("\n")[0]
    return re.sub(r"^(\w+(?:, \w+)*): ", r"- `\1`: ", lines, flags=re.MULTILINE)


def entry(kind: type[Processor]) -> str:
    """Return the entry of a processor."""
    head = f"## {kind.keyword}\n\n`{signature(kind)}`, in Python `wb.processors.{kind.__name__}`\n\n"
    head += f"{documentation(kind)}\n"
    if issubclass(kind, FileProcessor):
        return f"{head}\n[Rules in pipelines](rules-in-pipelines.md) has runs, the model and what is refused.\n"
    samples = kind.samples()
    shown, lines = choose(samples)
    modelled = next((found for sample in (shown, *samples) if (found := model(sample))), "none")
    notes = "".join([*types(shown), *refusals(samples)])
    return f"{head}\n`{call(shown)}`:\n\n```text\n{lines}\n```\n\n- in a model where `int` is 0..3: {modelled}\n{notes}"


def page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *(entry(kind) for _, kind in sorted(PROCESSORS.items()))])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
