"""Rules with slots for names: the values that the specification has by names, of the types that they say."""

import random

import pytest

from workbench.conformance.generate.rule_cases import make_varied_case, random_case
from workbench.core.domain import BOOL, FLOAT, INT, STR
from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.check import parse_rules
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.operators import apply_operator, row_of
from workbench.tesla.resolved import OWN, TIME, RuleSlot, domain_of, exact_text, expand_parameters, move_to_part, slots
from workbench.tesla.resolved import unresolve as written_rule
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.values import Selected, value

VALUES = {INT: (None, -1, 0, 3), FLOAT: (None, -0.5, 0.0, 2.5), STR: (None, "", "a", "b"), BOOL: (None, False, True)}
PYTHON = {INT: int, FLOAT: float, STR: str, BOOL: bool}


def of_slots(expression, found):
    """What a resolved expression is worth, given its slots."""
    if isinstance(expression, t.Literal):
        return expression.value
    if isinstance(expression, RuleSlot):
        return found[expression.part, expression.name]
    return apply_operator(row_of(expression), [of_slots(each, found) for each in expression.operands])


class Comparison:
    """A match of random values, by names and by places."""

    def __init__(self, rules: RuleSet, rule: t.Rule, draw: random.Random) -> None:
        self.draw, self.selected, self.found = draw, Selected(), {}
        resolved = next(each for each in rules.resolved if each.name == rule.name)
        for place, (part, made) in enumerate(zip(rule.parts, resolved.parts, strict=True)):
            self.part(rules.declarations[part.type], part, made, place)
        pairs = [*zip(rule.where_clause, resolved.where_clause, strict=True), *zip(rule.per, resolved.per, strict=True)]
        pairs += [(a.value, b.value) for a, b in zip(rule.evaluations, resolved.evaluations, strict=True)]
        for pair in pairs:
            self.compare(*pair, None)

    def part(self, declared, part, made, place) -> None:
        own = {name: self.draw.choice(VALUES[domain]) for name, domain in declared.domains.items()}
        self.found |= {(OWN, name): each for name, each in own.items()}
        before = self.selected
        parameters = dict(before.parameters)
        for written, resolved in zip(part.assignments, made.assignments, strict=True):
            self.compare(written.value, resolved.value, own)
            parameters[written.name] = value(written.value, self.selected, own)
            self.found[OWN, f"${written.name}"] = parameters[written.name]
            self.selected = Selected(values=before.values, named=before.named, parameters=parameters)
        for written, resolved in zip(part.constraints, made.constraints, strict=True):
            self.compare(written, resolved, own)
        if isinstance(part, t.Aggregate):
            domain = aggregate_row(part).result(declared.domains.get(part.attribute))
            assert domain is not None
            parameters[part.parameter] = self.found[place, f"${part.parameter}"] = self.draw.choice(VALUES[domain])
        elif not part.policy.binds:
            self.selected = before
            return
        else:
            time = self.draw.randrange(9)
            self.found |= {(place, name): self.found[OWN, name] for name in (*own, *(f"${n}" for n in parameters))
                           if (OWN, name) in self.found} | {(place, TIME): time}  # fmt: skip
            named = {**before.named, part.name: Occurrence(part.type, time, ())}
            self.selected = Selected(values={**before.values, part.name: own}, named=named, parameters=parameters)
            return
        self.selected = Selected(values=before.values, named=before.named, parameters=parameters)

    def compare(self, written, resolved, own) -> None:
        expected = value(written, self.selected, own)
        assert str(resolved) == str(written)
        assert repr(of_slots(resolved, self.found)) == repr(expected)
        assert repr(of_slots(expand_parameters(resolved), self.found)) == repr(expected)
        assert expected is None or type(expected) is PYTHON[domain_of(resolved)]


@pytest.mark.sampled(40)
@pytest.mark.parametrize("seed", range(150))
def test_slots_have_the_values_of_names(seed):
    made = (random_case if seed % 2 else make_varied_case)(seed).rules
    for rule in made.rules:
        Comparison(made, rule, random.Random(seed))


TYPES = "declare A(x: int)\ndeclare B(x: int, y: float)\n"


def test_a_parameter_is_seen_through_from_everywhere():
    text = "from A[$a = x]() and last B[$b = y + $a](x == $a, $b > 2.0) within 5 from A where $b < B.y emit A(x = $a)"
    (rule,) = parse_rules(TYPES + text).resolved
    equation, bound = rule.parts[1].constraints
    assert [(slot.part, slot.name) for slot in slots(equation)] == [(OWN, "x"), (0, "$a")]
    assert [(slot.part, slot.name) for slot in slots(expand_parameters(equation))] == [(OWN, "x"), (0, "x")]
    assert str(expand_parameters(bound, own=True)) == "y + $a > 2.0"
    assert [slot.part for slot in slots(move_to_part(expand_parameters(bound), 1))] == [1, 0]
    assert exact_text(expand_parameters(rule.where_clause[0])) == "1.y + 0.x < 1.y"
    assert domain_of(bound) == BOOL
    assert domain_of(rule.where_clause[0].parts[0]) == FLOAT


def test_a_resolved_rule_knows_its_events_by_their_places():
    text = """
    declare fact F(x: int)
    from A as T and each F(x == T.x) and last B as C within 2 .. 5 from T and not A() between C and T
      and $n = COUNT(B() within 3 from C) and absent B() within 4 after T
    emit A(x = $n) at most once in 9 consuming C, T
    """
    made = parse_rules(TYPES + text)
    (rule,) = made.resolved
    assert {place: part.name for place, part in rule.events.items()} == {0: "T", 2: "C"}
    assert rule.consumed == (2, 0)
    assert rule.anchors == ((), (), (0,), (2, 0), (2,), (0,))
    assert list(map(str, rule.durations)) == ["5", "2", "3", "4", "9"]
    assert (written_rule(rule),) == made.rules
