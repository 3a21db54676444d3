"""Rules that no times satisfy: against all times in a small range, which the conditions are tried on one by one."""

import operator
from random import Random

import numpy as np
import pytest

import workbench as wb
from tests.examples import scaled
from workbench.tesla.time_bounds import have_no_times

SIGNS = {"<": operator.lt, "<=": operator.le, "==": operator.eq, ">": operator.gt, ">=": operator.ge}
NAMES = "DCBA"
FARTHEST = 15


def random_rule(random: Random) -> tuple[str, list]:
    """A rule of four events in a chain or a star, and its conditions on their four times."""
    parts, conditions, text = [], [], []
    for index, name in enumerate(NAMES[1:], 1):
        of, far, near = random.choice(NAMES[:index]), random.randint(1, 5), random.choice((0, 0, 1, 3))
        near = min(near, far)
        window = f"{near} .. {far}" if near else f"{far}"
        parts.append(f"and {random.choice(('each', 'last', 'first'))} {name} within {window} from {of}")
        conditions.append((of, name, lambda d, near=near, far=far: (near <= d) & (d <= far)))
    for _ in range(random.randint(0, 4)):
        one, other = random.sample(NAMES, 2)
        sign, number = random.choice([*SIGNS]), random.randint(-2, 8)
        mirrored = random.random() < 0.3
        difference = f"TIME({one}) - TIME({other})"
        if number == 0 and random.random() < 0.5:
            text.append(f"TIME({one}) {sign} TIME({other})")
        else:
            text.append(f"{number} {sign} {difference}" if mirrored else f"{difference} {sign} {number}")
            if mirrored:
                conditions.append((one, other, lambda d, s=sign, n=number: SIGNS[s](n, d)))
                continue
        conditions.append((one, other, lambda d, s=sign, n=number: SIGNS[s](d, n)))
    where = f" where {' and '.join(text)}" if text else ""
    declared = " ".join(f"declare {name}()" for name in (*NAMES, "Met"))
    return f"{declared} rule met: from D {' '.join(parts)}{where} emit Met", conditions


def is_possible(conditions: list) -> bool:
    """Whether some times of the four events satisfy the conditions: quarters suffice for whole numbers."""
    quarters = np.arange(-4 * FARTHEST, 1) / 4
    times = np.meshgrid(np.zeros(1), *[quarters] * 3)
    at = dict(zip(NAMES, times, strict=True))
    return bool(np.logical_and.reduce([holds(at[one] - at[other]) for one, other, holds in conditions]).any())


@pytest.mark.parametrize("seed", range(scaled(3, 40)))
def test_rules_are_silent_where_no_times_satisfy_them(seed: int) -> None:
    random, verdicts = Random(seed), []
    while len(verdicts) < 12:
        text, conditions = random_rule(random)
        verdicts.append(have_no_times(wb.rules.parse_rules(text).rules[0]))
        assert verdicts[-1] != is_possible(conditions), text
    assert True in verdicts
