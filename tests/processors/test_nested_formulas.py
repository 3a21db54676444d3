"""Random formulas of nested operators against their definitions, position by position and step by step.

The i-th verdict of an operator is known from the verdicts of its operands that are known (paper, section 4.2): each
operator here is a sentence over positions, none is a state that changes.
"""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench import parse
from workbench.conformance.compare.differential import Terms, check
from workbench.conformance.compare.executables import CompiledRun, Denoting, Running
from workbench.conformance.compare.models import Evaluated
from workbench.errors import Refused
from workbench.executors import Reference
from workbench.executors.compiled.execute.executor import Compiled
from workbench.ir.compose import compose
from workbench.processors.held.group import flatten

WRITTEN = {"G": "globally", "F": "eventually", "U": "until", "R": "release", "X": "next", "O": "once",
           "H": "historically", "S": "since", "Y": "yesterday"}  # fmt: skip
UNARY, BINARY = ("not", "G", "F", "X", "O", "H", "Y"), ("and", "or", "->", "U", "R", "S")
ATOMS = st.sampled_from("ab").map(lambda name: (name,))


def formulas(depth):
    if not depth:
        return ATOMS
    below = formulas(depth - 1)
    unary = st.tuples(st.sampled_from(UNARY), below)
    return st.one_of(unary, st.tuples(st.sampled_from(BINARY), below, below), ATOMS)


def text(formula, option=""):
    operator, *operands = formula
    if not operands:
        return operator
    parts = [text(operand, option) for operand in operands]
    if operator in WRITTEN:
        return f"{WRITTEN[operator]}({', '.join(parts)}{option if operator in 'GFUR' else ''})"
    return f"(not {parts[0]})" if operator == "not" else f"({parts[0]} {operator} {parts[1]})"


# the verdict at position i, of verdicts x (and y) that are known up to position n
AT_ONCE = {
    "not": lambda i, n, x, y: not x[i],
    "and": lambda i, n, x, y: x[i] and y[i],
    "or": lambda i, n, x, y: x[i] or y[i],
    "->": lambda i, n, x, y: not x[i] or y[i],
    "Y": lambda i, n, x, y: i > 0 and x[i - 1],
    "O": lambda i, n, x, y: any(x[: i + 1]),
    "H": lambda i, n, x, y: all(x[: i + 1]),
    "S": lambda i, n, x, y: any(y[j] and all(x[j + 1 : i + 1]) for j in range(i + 1)),
}
HOLDS = {
    "X": lambda i, n, x, y: i + 1 < n and x[i + 1],
    "G": lambda i, n, x, y: False,
    "F": lambda i, n, x, y: any(x[i:n]),
    "U": lambda i, n, x, y: any(y[j] and all(x[i:j]) for j in range(i, n)),
    "R": lambda i, n, x, y: any(x[j] and all(y[i : j + 1]) for j in range(i, n)),
}
FAILS = {
    "X": lambda i, n, x, y: i + 1 < n and not x[i + 1],
    "G": lambda i, n, x, y: not all(x[i:n]),
    "F": lambda i, n, x, y: False,
    "U": lambda i, n, x, y: any(not x[j] and not any(y[i : j + 1]) for j in range(i, n)),
    "R": lambda i, n, x, y: any(not y[j] and not any(x[i:j]) for j in range(i, n)),
}


def verdict(operator, *known):
    if operator in AT_ONCE:
        return AT_ONCE[operator](*known)
    return True if HOLDS[operator](*known) else False if FAILS[operator](*known) else None


def known(formula, trace):
    """The verdicts that are known after these events."""
    operator, *operands = formula
    if not operands:
        return [event[operator] for event in trace]
    streams = [known(operand, trace) for operand in operands]
    n, out = min(map(len, streams)), []
    for i in range(n):
        found = verdict(operator, i, n, streams[0], streams[-1])
        if found is None:
            break
        out.append(found)
    return out


def added(formula, trace):
    """What each event makes known."""
    prefixes = [known(formula, trace[:n]) for n in range(len(trace) + 1)]
    return [after[len(before) :] for before, after in pairwise(prefixes)]


def piped(formula, option=""):
    source = f"pipeline p(a: bool, b: bool) -> y: bool {{ y = passthrough({text(formula, option)}) return y }}"
    return parse(source).get().pipeline


def carried(value):
    return [] if value is None else value if isinstance(value, list) else [value]


TRACES = st.lists(st.fixed_dictionaries({"a": st.booleans(), "b": st.booleans()}), max_size=9)


def compiled(pipeline):
    """The compiled executor, where something bounds how many verdicts each operator gets at once."""
    try:
        return [Compiled(pipeline, {queue: 10 for node in pipeline.nodes for queue in node.queues}, machine=False)]
    except Refused:
        return []


@examples(50)
@given(formulas(3), TRACES)
def test_verdicts_and_their_steps(formula, trace):
    pipeline = piped(formula)
    executors = [Reference(pipeline), *compiled(pipeline)]
    for executor in executors:
        steps = [executor.step(event).pipes["y"] for event in trace]
        assert [carried(shown.value if shown.present else None) for shown in steps] == added(formula, trace)
        assert not any(executor.end().values())


@examples(20)
@given(formulas(2), TRACES.map(lambda trace: trace[:4]))
def test_the_model_says_the_same(formula, trace):
    pipeline = piped(formula, ", pending = 4")
    model = Evaluated(pipeline, {queue: 5 for node in pipeline.nodes for queue in node.queues})
    assert [carried(shown.pipes["y"]) for shown in model.trace(trace)] == added(formula, trace)


def test_compiled_code_takes_formulas_without_nesting():
    plain = [(operator, ("a",), ("b",)) if operator in BINARY else (operator, ("a",)) for operator in UNARY + BINARY]
    assert all(compiled(piped(formula)) for formula in plain)


STEPS = st.lists(st.fixed_dictionaries({}, optional={"a": st.booleans(), "b": st.booleans()}), max_size=8)


@examples(40)
@given(formulas(3), st.integers(1, 3), st.integers(0, 2), STEPS)
def test_few_may_wait(formula, pending, capacity, steps):
    """Where little may wait, in operators and at joins, all say the same, and overflow at the same step."""
    pipeline = flatten(piped(formula, f", pending = {pending}"))
    queues = dict.fromkeys(pipeline.queues, capacity)
    for other in (Evaluated(pipeline, queues), CompiledRun(pipeline, queues)):
        check(pipeline, steps, Running(pipeline, queues), other, Terms(strict=True))
    check(pipeline, steps, Running(pipeline), Denoting(pipeline))


def nested(operators):
    if not operators:
        return ("a",)
    operator, inner = operators[0], nested(operators[1:])
    return (operator, ("and", ("b",), inner)) if operator in "GF" else (operator, ("b",), inner)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("operators", [("G", "F", "F"), ("R", "U", "G"), ("F", "U", "F", "G", "R")])
@pytest.mark.parametrize("pending", [1, 4, 16])
def test_a_model_grows_with_the_sum_of_what_may_wait(operators, pending):
    """An event decides all positions that wait, once: what a step emits is not a product over nested operators."""
    pipeline = flatten(piped(nested(operators), f", pending = {pending}"))
    assert pipeline.widths["y"] == 1 + len(operators) * pending
    assert sum(len(pipe.slots) for pipe in compose(pipeline).pipes.values()) < 6 * len(operators) * (pending + 3)
