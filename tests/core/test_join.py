"""The finite queues of a join against a plain deque per input."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.domain import BOOL, Domain, Enum, Integer, Range
from workbench.core.evaluate import compile_terms
from workbench.core.fields import Tuple
from workbench.core.join import Join
from workbench.core.ops import as_term
from workbench.core.processor import Maybe
from workbench.core.term import leaves, var

DOMAINS: list[Domain] = [Integer(3), BOOL, Range(-1, 2), Enum(("red", "green")), Tuple((BOOL, Integer(2)))]


class Compiled:
    """`Join.step` run on symbols once, compiled, and run on values."""

    def __init__(self, join: Join) -> None:
        self.join = join
        self.slots = join.slots()
        state = tuple(var(f"s{i}", slot.domain) for i, slot in enumerate(self.slots))
        arrivals = [Maybe(var(f"p{i}", BOOL), var(f"v{i}", d)) for i, d in enumerate(join.domains)]
        result = join.step(state, arrivals)
        self.sizes = [len(list(leaves(x))) for x in (state, result.front)]
        after = tuple(as_term(new, slot.domain) if isinstance(slot.domain, Tuple) else new
                      for new, slot in zip(result.state, self.slots, strict=True))  # fmt: skip
        flags = [as_term(result.fires, BOOL), *(as_term(o, BOOL) for o in result.overflows)]
        outputs = [*after, *result.front, *flags, *result.lengths]
        self.run = compile_terms([as_term(o, Range(0, 9)) if isinstance(o, int) else o for o in outputs],
                                 [state, *arrivals])  # fmt: skip
        self.state = tuple(leaves(tuple(slot.initial for slot in self.slots)))

    def step(self, arrivals):
        given = [x for present, value in arrivals for x in (present, *leaves(value))]
        flat = list(self.run(*self.state, *given))
        n, arity = self.sizes[0], len(arrivals)
        self.state = tuple(flat[:n])
        front, rest = flat[n : n + self.sizes[1]], flat[n + self.sizes[1] :]
        return rest[0], front, rest[1 : 1 + arity], rest[1 + arity :]

    def contents(self):
        """What the slots hold, by name."""
        flat, found = iter(self.state), {}
        for slot in self.slots:
            width = len(list(leaves(slot.initial)))
            part = [next(flat) for _ in range(width)]
            found[slot.name] = tuple(part) if isinstance(slot.domain, Tuple) else part[0]
        return found


@st.composite
def joins(draw, arity, same):
    first = draw(st.sampled_from(DOMAINS))
    domains = tuple(first if same else draw(st.sampled_from(DOMAINS)) for _ in range(arity))
    return Join(domains, tuple(draw(st.integers(0, 3)) for _ in range(arity)))


@st.composite
def scenarios(draw, arity, same):
    join = draw(joins(arity, same))
    values = [st.sampled_from(tuple(d.values())) for d in join.domains]
    step = st.tuples(*(st.tuples(st.booleans(), v) for v in values))
    return join, draw(st.lists(step, max_size=12))


def check(join, steps):
    compiled = Compiled(join)
    queues = [deque() for _ in join.domains]
    for arrivals in steps:
        fires, front, overflows, lengths = compiled.step(arrivals)
        for queue, (present, value) in zip(queues, arrivals, strict=True):
            if present:
                queue.append(value)
        consumed = tuple(q.popleft() for q in queues) if all(queues) else None
        assert fires is (consumed is not None)
        if consumed is not None:
            assert tuple(front) == tuple(leaves(consumed))
        full = [len(q) > c for q, c in zip(queues, join.capacities, strict=True)]
        assert overflows == full
        if any(full):
            return
        assert lengths == [len(q) for q in queues]
        check_canonical(join, compiled.contents(), queues)


def check_canonical(join, contents, queues):
    """Waiting events sit oldest first; a slot that is not used holds its domain's default."""
    if len(queues) != 2:
        stores = [[contents[f"slot{i}_{k}"] for k in range(q)] for i, q in enumerate(join.capacities, 1)]
        assert [contents[f"length{i}"] for i in range(1, len(queues) + 1)] == [len(q) for q in queues]
    else:
        assert contents["lead"] == len(queues[0]) - len(queues[1])
        if "slot0" in contents or not any(name.startswith(("left", "right")) for name in contents):
            shared = [contents[f"slot{k}"] for k in range(max(join.capacities))]
            waiting = queues[0] or queues[1]
            assert shared == [*waiting] + [join.domains[0].default] * (len(shared) - len(waiting))
            return
        stores = [[contents[f"{side}{k}"] for k in range(q)]
                  for side, q in zip(("left", "right"), join.capacities, strict=True)]  # fmt: skip
    for store, queue, domain in zip(stores, queues, join.domains, strict=True):
        assert store == [*queue] + [domain.default] * (len(store) - len(queue))


@given(scenarios(2, True))
def test_binary_joins_of_one_domain(scenario):
    check(*scenario)


@given(scenarios(2, False))
def test_binary_joins_of_two_domains(scenario):
    check(*scenario)


@given(scenarios(3, False))
def test_ternary_joins(scenario):
    check(*scenario)


@pytest.mark.parametrize("capacities", [(0, 0), (1, 0), (0, 2), (2, 2)])
def test_the_number_of_slots(capacities):
    same = Join((BOOL, BOOL), capacities).slots()
    assert len(same) == 1 + max(capacities)
    assert same[0].domain == Range(-capacities[1], capacities[0])
    assert len(Join((BOOL, Integer(2)), capacities).slots()) == 1 + sum(capacities)


def test_an_event_that_is_consumed_in_its_step_needs_no_slot():
    """`x + trim(x, 1)` needs one slot on the left and none on the right."""
    compiled = Compiled(Join((Integer(3), Integer(3)), (1, 0)))
    assert compiled.step(((True, 1), (False, 0)))[0] is False
    for value in (2, 0, 1):
        fires, _, overflows, lengths = compiled.step(((True, value), (True, value)))
        assert (fires, overflows, lengths) == (True, [False, False], [1, 0])
