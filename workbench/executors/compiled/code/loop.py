"""The loop of a compiled executor: the step of a transition system over whole columns of events, as Python source.

What comes out is one function over arrays (or lists), which runs as it is and which numba compiles. Its rules: an
absent event's column entry is never looked at; outputs are written one after the other, and one place more than there
are events is there to be written to (an output that is absent is written and not counted, which needs no jump).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.domain import BOOL, Domain, Reals
from workbench.core.fields import scalars
from workbench.core.ops import OR
from workbench.core.term import FALSE, TRUE, Change, Others, Term, leaves, var
from workbench.executors.compiled.code.early import EARLIER, rows_soon
from workbench.executors.compiled.code.step import StepCode, Target, step_code
from workbench.executors.compiled.lower.rows import ROW_NAME, over_rows
from workbench.executors.compiled.lower.system import fixed, hazards
from workbench.executors.compiled.lower.tables import array_names, cell, first_length, full
from workbench.executors.compiled.lower.tape import Past
from workbench.ir.ring import ENDLESS
from workbench.ir.system import Pipe, System

AHEAD = 4
"""An event that is repeated is written so often without asking how often it is, which saves jumps."""

Substitution = Mapping[Term, Term]
"""Constants for variables and inputs."""


@dataclass(frozen=True)
class Shape:
    """The parameters of the loop of a system, in their order, after `first` and `last`, the steps to be made.

    Attributes
    ----------
    whole, real: numbers of the variables that lie in the arrays of integers and of floats.
    memories: name, domain, first length and `Array.blank` of each array of a memory.
    values: name and domain of each scalar column of the inputs.
    inputs: the inputs, each with a column that says whether an event is present.
    results: per output its name and its scalar columns' domains.
    """

    whole: tuple[int, ...]
    real: tuple[int, ...]
    memories: tuple[tuple[str, Domain, int, bool], ...]
    values: tuple[tuple[str, Domain], ...]
    inputs: tuple[str, ...]
    results: tuple[tuple[str, tuple[Domain, ...]], ...]


def shape(system: System) -> Shape:
    """The parameters of the loops of a system."""
    domains = [v.domain for v in system.variables]
    return Shape(
        tuple(i for i, domain in enumerate(domains) if not isinstance(domain, Reals)),
        tuple(i for i, domain in enumerate(domains) if isinstance(domain, Reals)),
        tuple(
            (column.name, domain, first_length(memory), memory.domain.blank)
            for memory in system.memories
            for column, (_, domain) in zip(memory.columns, scalars(memory.domain.element), strict=True)
        ),
        tuple((leaf.name, leaf.domain) for source in system.inputs for leaf in leaves(source.value)),
        tuple(source.name for source in system.inputs),
        tuple((name, _fields(system.pipes[pipe])) for name, pipe in system.outputs),
    )


def _fields(pipe: Pipe) -> tuple[Domain, ...]:
    fields = tuple(leaf.domain for leaf in leaves(pipe.slots[0].value))
    return fields if rows_of(pipe) is pipe.rows else (*fields, BOOL)


def rows_of(pipe: Pipe) -> Others | None:
    """What a step can bring of many rows of a table: events of a pipe, or changes of the map that is its event."""
    value = pipe.slots[0].value
    return value.content.others if isinstance(value, Change) else pipe.rows


def dense(system: System) -> dict[Term, Term]:
    """What is known of a step in which every input has an event."""
    open_ = {end.over: FALSE for end in system.ends.values()}
    return {source.present: TRUE for source in system.inputs} | open_ | sparse(system)


def sparse(system: System) -> dict[Term, Term]:
    """What is known of a step that is not the end of a stream."""
    over = {end.over: FALSE for end in system.ends.values() if len(system.inputs) == 1}
    return fixed(system) | {end.now: FALSE for end in system.ends.values()} | over


def ending(system: System, names: Container[str] | None = None) -> dict[Term, Term]:
    """What is known of the step at which these inputs end: by default all that have not."""
    now = {end.now: TRUE if names is None or name in names else FALSE for name, end in system.ends.items()}
    return sparse(system) | {source.present: FALSE for source in system.inputs} | now


def known(system: System, kind: str) -> dict[Term, Term]:
    """What is known of every step of a loop of this kind: `dense`, `sparse`, `ending`, `ending NAME` of one input."""
    _, _, name = kind.partition(" ")
    if name:
        return ending(system, [name])
    return {"dense": dense, "sparse": sparse, "ending": ending}[kind](system)


def loop_source(
    system: System,
    phases: Sequence[Substitution],
    *,
    places: bool = False,
    target: Target = "python",
    watch: bool = True,
    ahead: bool = False,
    pasts: Sequence[Past] = (),
    keyed: bool = False,
) -> str:
    """Source of `run(first, last, whole, real, counts, memories..., values..., presents..., outputs..., places...)`.

    It makes the steps `first` .. `last` - 1 and returns whether a hazard occurred, or an output, a table or a queue
    without a capacity would have needed more room than it has; whatever it has written is then void. `whole` and `real`
    hold the state, `counts` how many events each output has, or would have.

    Parameters
    ----------
    phases: what is known of successive steps, over and over: `last` - `first` is a multiple of their number. A
        variable that is known here is neither read nor written. Inputs known to be present have no column for it.
    places: whether to write the step of each output event.
    target: what the loop is for: see `step_code`.
    watch: whether to look for hazards at all.
    ahead: whether the events of all phases are read before any output is written: memory that is slow to answer, as
        that of a GPU, is asked for many at a time. (A compiler cannot do this: outputs might lie where inputs do.)
    pasts: of a system that is `taped`, what it reads of earlier rows; the first row is then the first step's.
    keyed: whether there is a state for each key. Arrays of the state then have a row per key; behind the numbers of
        `whole` stands how many steps the key has made. The last parameter, `codes`, says for each step whose it is;
        steps of keys other than `part` modulo `parts` are passed over. It stops before the first step in which a hazard
        occurs, and returns its number, or `last`. For one phase, and systems without tables.
    """
    form = shape(system)
    labels = _labels(system, watch=watch)
    codes = [step_code(system, labels, given, target=target) for given in phases]
    constant = {v.name for v in system.variables if var(v.name, v.domain) in phases[0]}
    named = [v.name not in constant for v in system.variables]
    names = parameters(system, phases[0], places=places)
    if keyed:
        names = ["part", "parts", *(f"{name}_of" if name.startswith("m") else name for name in names), "codes"]
    lines = [f"def run({', '.join(names)}):"]
    of_key = "own, " if keyed else ""
    states = [
        (f"{array}[{of_key}{place}]", i)
        for array, group in (("whole", form.whole), ("real", form.real))
        for place, i in enumerate(group)
    ]
    loads, saves = [], []
    for state, i in states:
        if named[i]:
            test = " != 0" if system.variables[i].domain == BOOL else ""
            loads.append(f"s{i} = {state}{test}")
            saves.append(f"{state} = s{i}")
    if keyed:
        loads = [
            f"soon(whole, codes[at(min(i + {EARLIER}, last - 1))])",
            "own = at(codes[at(i)])",
            "if parts > 1 and own % at(parts) != at(part):",
            "    continue",
            *loads,
        ]
        loads += [f"{name} = {name}_of[own]" for name in array_names(system).values()]
        saves.append(f"whole[own, {len(form.whole)}] += 1")
    else:
        lines += [f"    {load}" for load in loads]
    lines += [f"    n{j} = counts[{j}]" for j in range(len(form.results))]
    many = [j for j, (_, pipe) in enumerate(system.outputs) if rows_of(system.pipes[pipe]) is not None]
    lines += [f"    r{j} = room(y{j}_0)" for j in many]
    lines += ["    stop = last"] * keyed
    lines += ["    bad = False", f"    for {'i' if len(codes) == 1 else 'start'} in range(first, last, {len(codes)}):"]
    before: list[str] = []
    bodies: list[str] = []
    stores: list[str] = []
    for number, (code, given) in enumerate(zip(codes, phases, strict=True)):
        here = "i" if len(codes) == 1 else f"start + {number}"
        body = [f"i = {here}"] if len(codes) > 1 else []
        made, written = _body(system, code, named, places, str(number) if ahead else "")
        used = set(re.findall(r"\bi\d+\b", " ".join(made + written)))
        for arrival, (read, early) in _arrivals(system, form, code, given, pasts).items():
            if arrival not in used:
                continue
            if ahead and early:
                before.append(f"{arrival}_{number} = {read.format(here)}")
                body.append(f"{arrival} = {arrival}_{number}")
            else:
                body.append(f"{arrival} = {read.format('i')}")
        bodies += body + made
        stores += written
    if keyed:
        happens = next((k for k, line in enumerate(bodies) if line.startswith("bad = ")), None)
        if happens is not None:
            bodies[happens + 1 : happens + 1] = ["if bad:", "    stop = i", "    break"]
        lines += [f"        {line}" for line in loads + bodies + saves]
    else:
        if target == "cpu" and len(codes) == 1 and not _rowless(system, phases[0]):
            arrivals = _arrivals(system, form, codes[0], phases[0], pasts)
            before += rows_soon(system, bodies, {name: read for name, (read, _) in arrivals.items()})
        lines += [f"        {line}" for line in before + bodies + stores or ["pass"]]
        lines += [f"    {save}" for save in saves]
    lines += [f"    counts[{j}] = n{j}" for j in range(len(form.results))]
    lines += [f"    bad = bad | (n{j} > r{j})" for j in many]
    return "\n".join([*lines, "    return stop" if keyed else "    return bad"]) + "\n"


def parameters(system: System, given: Substitution, *, places: bool) -> list[str]:
    """The names of the parameters of a loop."""
    form = shape(system)
    names = ["first", "last", "whole", "real", "counts", *array_names(system).values()]
    names += [f"x{k}" for k in range(len(form.values))]
    names += [f"p{k}" for k, source in enumerate(system.inputs) if source.present not in given]
    for j, (_, fields) in enumerate(form.results):
        names += [f"y{j}_{k}" for k in range(len(fields))]
    return names + ([f"z{j}" for j in range(len(form.results))] if places else [])


def _labels(system: System, *, watch: bool) -> list[Term]:
    """What a step shows: the hazard, presence and leaves of each output slot, the parts of all writing to memory."""
    hazard: Term = FALSE
    for each in hazards(system) if watch else ():
        hazard = OR(hazard, each.happens)
    for memory in system.memories:
        hazard = OR(hazard, system.inlined(full(memory)))
    for queue in system.queues.values():
        if queue.capacity == ENDLESS:
            hazard = OR(hazard, system.inlined(queue.overflow))
    shown = []
    for _, name in system.outputs:
        pipe = system.pipes[name]
        rows = rows_of(pipe)
        others = () if rows is None else system.inlined(tuple(rows[:3]))
        shown.append((pipe.slots, () if pipe.more is None else pipe.more, others))
    writes = tuple(tuple(write[:3]) for memory in system.memories for write in memory.writes)
    updates = tuple(tuple(update[:3]) for memory in system.memories for update in memory.updates)
    return [hazard, *leaves((tuple(shown), writes, updates))]


class _Texts:
    """The labels of a step one after the other, with what each needs in a loop over rows; the names of arrays."""

    def __init__(self, system: System, code: StepCode) -> None:
        self.arrays = array_names(system)
        self._rest = iter(zip(code.labels, code.inside, strict=True))

    def take(self, count: int) -> list[str]:
        """The next expressions."""
        return self.within(count)[0]

    def within(self, count: int) -> tuple[list[str], list[str]]:
        """The next expressions, and the assignments before them in a loop over rows."""
        taken = list(itertools.islice(self._rest, count))
        return [text for text, _ in taken], list(dict.fromkeys(line for _, lines in taken for line in lines))


def _body(
    system: System, code: StepCode, named: Sequence[bool], places: bool, suffix: str
) -> tuple[list[str], list[str]]:
    """The statements of one step, number `i`, behind its arrivals; with a suffix, apart, those that write outputs."""
    lines = [*code.early, *code.late]
    texts = _Texts(system, code)
    stores: list[str] = []
    (hazard,) = texts.take(1)
    if hazard != "False":
        lines.append(f"bad = bad | {hazard}")
    for j, (_, name) in enumerate(system.outputs):
        shown, later = _shown(j, system.pipes[name], texts, places, suffix)
        lines += shown
        stores += later
    computed, written = _writes(system, texts)
    updated = _updates(system, texts)
    changed = [(f"s{i}", after) for i, after in enumerate(code.after) if named[i] and after != f"s{i}"]
    # Statements of their own, not one of tuples: numba takes no conditional inside a long tuple. All of the state is
    # read before any is written, and so are tables, some of which are written for the state after the step.
    computed += [f"v{k} = {after}" for k, (_, after) in enumerate(changed)]
    computed += [*updated, *(f"{state} = v{k}" for k, (state, _) in enumerate(changed))]
    return lines + computed + written, stores


def _shown(j: int, pipe: Pipe, texts: _Texts, places: bool, suffix: str) -> tuple[list[str], list[str]]:
    """Statements that write what an output carries; with a suffix, those that keep it, and that write it later."""
    lines: list[str] = []
    stores: list[str] = []
    count = len(list(leaves(pipe.slots[0].value)))
    place = [(f"z{j}", "i")] if places else []
    rows = rows_of(pipe)
    for number, _ in enumerate(pipe.slots):
        present, *values = texts.take(1 + count)
        columns = [(f"y{j}_{k}", value) for k, value in enumerate(values)] + place
        if pipe.more is not None:
            lines += _repeated(j, present, texts.take(1)[0], columns)
        elif rows is not None:
            lines += _many(j, present, columns, rows, texts, events=pipe.rows is not None)
        elif present != "False":
            at = f"n{j}"
            if suffix:
                at = f"n{j}_{number}_{suffix}"
                kept = [(array, f"o{array}_{number}_{suffix}", value) for array, value in columns]
                lines += [f"{at} = n{j}", *(f"{name} = {value}" for _, name, value in kept)]
                columns = [(array, name) for array, name, _ in kept]
            (stores if suffix else lines).extend(f"{array}[at({at})] = {value}" for array, value in columns)
            lines.append(f"n{j} += {'1' if present == 'True' else present}")
    return lines, stores


def _many(
    j: int, present: str, columns: Sequence[tuple[str, str]], rows: Others, texts: _Texts, *, events: bool
) -> list[str]:
    """Statements that write an event, and what comes of many rows, as far as there is room.

    Either these are events as well, in the order of keys; or all are changes of one map, and say so but for the first.
    """
    fields = [array for array, _ in columns if array.startswith("y")]
    here = f"[at(min(n{j}, r{j}))]"
    again = [] if events else [f"y{j}_{len(fields)}{here} = "]
    (happens,) = texts.take(1)
    (which, *values), inside = texts.within(1 + len(fields))
    rest = [f"{array}{here} = {value}" for array, value in columns if array not in fields]
    rest += [f"{start}True" for start in again]
    stores = [f"{array}{here} = {value}" for array, value in zip(fields, values, strict=True)]
    body = [*inside, f"if {which}:", *(f"    {line}" for line in (*stores, *rest, f"n{j} += 1"))]
    first = [*(f"{array}{here} = {value}" for array, value in columns), *(f"{start}False" for start in again)]
    first.append(f"n{j} += {present}")
    used, keys = texts.arrays[rows.used], texts.arrays[rows.keys]
    if events:
        return [*first, *over_rows(used, happens, body, keys=keys)]
    return [*first, *over_rows(used, f"{present} and {happens}", body)]


def _repeated(j: int, present: str, more: str, columns: Sequence[tuple[str, str]]) -> list[str]:
    """Statements that write an event so many times."""
    names = [f"r{j}_{k}" for k in range(len(columns))]
    lines = [f"{name} = {value}" for name, (_, value) in zip(names, columns, strict=True)]
    stores = [f"{array}[at({{}})] = {name}" for name, (array, _) in zip(names, columns, strict=True)]
    lines += [store.format(f"n{j} + {ahead}" if ahead else f"n{j}") for ahead in range(AHEAD) for store in stores]
    lines += [f"e{j} = n{j} + (1 + {more} if {present} else 0)", f"for k in range(n{j} + {AHEAD}, e{j}):"]
    return [*lines, *(f"    {store.format('k')}" for store in stores), f"n{j} = e{j}"]


def spare(pipe: Pipe) -> int:
    """How many places more than there are events an output needs."""
    return 1 if pipe.more is None else AHEAD


def _writes(system: System, texts: _Texts) -> tuple[list[str], list[str]]:
    """Statements that compute what is written to memory, and that write it: all of a step is read before."""
    computed: list[str] = []
    written: list[str] = []
    for memory in system.memories:
        for write in memory.writes:
            number = len(computed)
            arrays = [texts.arrays[each] for each in memory.columns[write.first :]][: len(list(leaves(write.value)))]
            happens, position, *values = texts.take(2 + len(arrays))
            if happens == "False":
                continue
            names = [f"w{number}_{k}" for k in range(len(values))]
            computed += [f"{name} = {value}" for name, value in zip(names, values, strict=True)]
            computed.append(f"a{number} = {position}")
            if happens != "True":
                computed.append(f"h{number} = {happens}")
                written.append(f"if h{number}:")
            indent = "" if happens == "True" else "    "
            places = [cell(memory.domain, array, f"a{number}") for array in arrays]
            written += [f"{indent}{place} = {name}" for place, name in zip(places, names, strict=True)]
    return computed, written


def _updates(system: System, texts: _Texts) -> list[str]:
    """Statements that write many rows of a table."""
    lines: list[str] = []
    for memory in system.memories:
        for update in memory.updates:
            arrays = [texts.arrays[each] for each in memory.columns[update.first :]]
            (happens,) = texts.take(1)
            (which, *values), inside = texts.within(1 + len(arrays))
            if happens == "False":
                continue
            body = [*inside, *(f"w_{k} = {value}" for k, value in enumerate(values)), f"if {which}:"]
            body += [f"    {array}[at({ROW_NAME})] = w_{k}" for k, array in enumerate(arrays)]
            lines += over_rows(texts.arrays[memory.columns[0]], happens, body)
    return lines


def _arrivals(
    system: System, form: Shape, code: StepCode, given: Substitution, pasts: Sequence[Past]
) -> dict[str, tuple[str, bool]]:
    """What a step can read of the inputs, in this row and in earlier ones: by the name that code has for it.

    With each comes its source, given the number of the step, and whether that needs no state.
    """
    over = _rowless(system, given)
    values = {name: f"x{k}" for k, (name, _) in enumerate(form.values)}
    columns = values | {source.present.name: f"p{k}" for k, source in enumerate(system.inputs)}
    texts = {name: (f"{column}[at({'0' if over else '{0}'})]", True) for name, column in columns.items()}
    state = {v.name: f"s{i}" for i, v in enumerate(system.variables)}
    for past in pasts:
        back = given.get(past.back, past.back)
        rows = back.payload if back.is_const else f"max({state[back.name]}, 1)" if over else state[back.name]
        read = f"{values[past.leaf]}[at(max({{0}} - {rows}, 0))]" if past.leaf else f"({{0}} >= {rows})"
        texts[past.symbol.name] = read, back.is_const
    named = zip(code.inputs, system.free, strict=True)
    return {parameter: texts[leaf] for parameter, leaf in named if leaf in texts}


def _rowless(system: System, given: Substitution) -> bool:
    """Whether steps have no rows of their own."""
    return all(given.get(source.present) is FALSE for source in system.inputs)


def executable(source: str, scope: Mapping[str, Any], name: str = "run") -> Any:
    """The function of a source."""
    names = dict(scope)
    exec(compile(source, "<compiled pipeline>", "exec"), names)
    return names[name]
