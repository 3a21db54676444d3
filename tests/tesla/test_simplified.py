"""Rules made simpler: laws keep what rules mean, and faulty ones are told; the model is asked for the rest."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.tesla.redundant import redundant_case
from workbench.conformance.compare.rule_engines import run_engine
from workbench.conformance.compare.simplified_rules import has_difference
from workbench.conformance.generate.rule_cases import RuleCase
from workbench.conformance.generate.rule_streams import stream_case
from workbench.errors import InputError
from workbench.executors.table import rule_engines
from workbench.tesla import tree as t
from workbench.tesla.check import parse_rules
from workbench.tesla.meaning import meaning
from workbench.tesla.rewriting import implications, laws, merging
from workbench.tesla.rewriting.law_application import rewrite_by_laws

STREAMS = 3


def streams(case, seed):
    """The case, and its rules on streams of few values, some of them null."""
    yield case.events, case.facts, case.until
    for number in range(STREAMS):
        found, chosen = stream_case(case.rules, 10 * seed + number, 12), random.Random(seed)
        values = [tuple(chosen.choice((None, *[x] * 9)) for x in each.values) for each in found.events]
        events = [replace(each, values=some) for each, some in zip(found.events, values, strict=True)]
        yield events, found.facts, found.until


def told(rule_set, stream):
    """The composites, with the events that they are made of."""
    events, facts, until = stream
    try:
        return plain(meaning(rule_set, events, facts, until=until))
    except InputError as endless:
        return endless.what
    except KeyError as unbound:  # what a faulty law makes reads what is not bound there
        return str(unbound)


def plain(made):
    """Composites without the names of rules, two of which may be one."""
    return made if isinstance(made, str) else [(each.type, each.time, repr(each.values), each.sources) for each in made]


def broken(case, seeds):
    """The first law that makes something else of rules, if there is one."""
    made = [(law.name, other) for law in laws.LAWS for other in law.makes(case.rules)]
    for stream in (each for seed in seeds for each in streams(case, seed)) if made else ():
        meant = told(case.rules, stream)
        for name, other in made:
            if told(other, stream) != meant:
                return name
    return None


@given(st.integers(0, 2**32))
@examples(40)
def test_laws_keep_what_rules_mean(seed):
    """One step of each law, wherever it can be made, on random streams."""
    assert broken(redundant_case(seed), [seed]) is None


@given(st.integers(0, 2**32))
@examples(15)
def test_rules_that_laws_have_simplified_read_back_and_run_the_same(seed):
    """All steps one after the other; the running engine on the rules that were read back from their text."""
    case = redundant_case(seed)
    made = [after for _, after in rewrite_by_laws(case.rules)][-1:]
    for simpler in made:
        again = parse_rules(str(simpler))
        assert (again.declarations, again.rules) == (simpler.declarations, simpler.rules)
        assert told(again, next(streams(case, seed))) == told(case.rules, next(streams(case, seed)))
        before, after = (
            plain(run_engine(replace(case, rules=each), rule_engines()["cdp"])) for each in (case.rules, again)
        )
        assert after == before
        assert next(rewrite_by_laws(again), None) is None


def true_of_itself(self, sign, one, other):
    return sign in ("==", "<=", ">=") if one == other else FOLLOWS(self, sign, one, other)


FOLLOWS = implications.Known._follows
TYPES = "declare A(x: int, y: int) declare B(x: int, y: int) declare P(n: int)\n"
FAULTY = {
    "x == x holds": (
        (implications.Known, "_follows", true_of_itself), "from A(x == x) emit P(n = 1)",
    ),
    "a or b follows from a": (
        (implications.Known, "never_null", lambda self, each: True), "from A(x > 0, x > 0 or y > 0) emit P(n = 1)",
    ),
    "what is larger than 0 is larger than 1": (
        (implications, "implies_bound", lambda one, other: one[0][0] == other[0][0]),
        "from A(x > 0, x > 1) emit P(n = 1)",
    ),
    "null beside or": (
        (merging, "_null_together", lambda held, one, other: True),
        "from A(x == 1) emit P(n = 1) from A(x == 2 and y == 2) emit P(n = 1)",
    ),
    "both rules": (
        (merging, "Known", lambda held: implications.Known([t.Literal(False)])),
        "from A(x > 0) emit P(n = 1) from A(x > 1) emit P(n = 1)",
    ),
    "a rule between": (
        (merging, "_is_triggered_between", lambda between, one: False),
        "from A(x == 1) emit P(n = 1) from A emit P(n = 2) from A(x == 2) emit P(n = 1)",
    ),
    "what is consumed": (
        (merging, "_remembers", lambda rule: False),
        "".join(f"from A(x == {x}) and last B within 5 from A emit P(n = 1) consuming B " for x in (1, 2)),
    ),
    "a condition on the last": (
        (t.Policy, "single", False), "from A and last B within 9 from A where B.x > 0 emit P(n = B.x)",
    ),
    "a not before what it reads": (
        (laws, "read_by", lambda part, sight: {0}),
        "from A and each B within 9 from A and $n = COUNT(B(x == B.x) within 9 from A) emit P(n = $n)",
    ),
    "a wider not": (
        (laws, "_includes", lambda *windows: True),
        "from A and not B within 2 from A and not B within 4 from A emit P(n = 1)",
    ),
    "a not of what it is about": (
        (laws, "_weaker", lambda *parts: True),
        "from A and each B within 9 from A and not B(x > 0) within 4 .. 9 from A emit P(n = B.x)",
    ),
    "a not behind the last": (
        (laws, "_weaker", lambda *parts: True),
        "from A and last B(x > 0) within 9 from A and not B between B and A emit P(n = 1)",
    ),
    "consumed by other predicates": (
        (t.Policy.LAST, "selects", False), "from A and last B within 9 from A emit P(n = B.x) consuming B",
    ),
    "unread where it is read": (
        (laws, "_parameters", lambda rule: set()), "from A and $n = COUNT(B within 9 from A) emit P(n = $n)",
    ),
}  # fmt: skip
"""What must not be believed, and rules that it would change."""


@pytest.mark.parametrize(("fault", "text"), FAULTY.values(), ids=FAULTY)
def test_faulty_laws_are_told(fault, text, monkeypatch):
    """Streams that find nothing against the laws find something against each faulty one."""
    case = RuleCase(parse_rules(TYPES + text), ())
    assert broken(case, range(30)) is None
    monkeypatch.setattr(*fault)
    assert broken(case, range(30))


def test_what_streams_tell_apart_is_not_believed():
    """The model has no values on which these differ, x = 2, where nobody names them: random streams do."""
    one, other = (parse_rules(TYPES + f"from A({text}) emit P(n = 1)") for text in ("x < 9, x * x != 4", "x < 9"))
    assert has_difference(one, other)
