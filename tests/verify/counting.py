"""Random rules that fire on few streams only: they count, sum, and look for what lies far apart, in chains."""

from workbench.conformance.generate.rule_streams import stream_case
from workbench.errors import WorkbenchError
from workbench.tesla.check import parse_rules
from workbench.tesla.meaning import meaning
from workbench.tesla.occurrence import in_units

DECLARED = "".join(f"declare {name}(x: int)\n" for name in "ABTPQ")


def counting_rule(rng, number):
    """A rule that emits P, or the next one, which may look at it, Q."""
    trigger, other = rng.choices(["A", "B", "T", *"P"[:number]], k=2)
    window, least = f"within {rng.randint(1, 3)} from Now", rng.randint(2, 6)
    key = rng.choice(("", "(x == Now.x)", "(x > 2)", "(x != Now.x)"))
    kind = rng.choice(("count", "count", "count", "sum", "average", "far", "both", "rising"))
    part, where = {
        "count": (f"$n = COUNT({other}{key} {window})", f"$n {rng.choice(('>=', '>', '=='))} {least}"),
        "sum": (f"$n = SUM({other}{key}.x {window})", f"$n > {rng.choice((3, 10))}"),
        "average": (f"$n = AVG({other}{key}.x {window})", f"2 * $n > {rng.choice((3, 10))}"),
        "far": (f"each {other}{key} as O {window}", f"O.x - Now.x > {rng.choice((2, 7))}"),
        "both": (f"each {other}{key} as O {window} and $n = COUNT({other} {window})", f"$n >= {least}"),
        "rising": (f"last {other} as O {window} and last {other} as P1 within 1 from O", "P1.x > O.x, O.x > Now.x"),
    }[kind]
    asked = rng.choice(("", "", "(x > 1)", "(x < 5)"))
    pause = rng.choice(("", "", "", " at most once in 2"))
    consuming = " consuming O" if " as O " in part and rng.random() < 0.3 else ""
    emits = f"emit {'PQ'[number]}(x = 1){pause}{consuming}"
    return f"rule r{number}: from {trigger}{asked} as Now and {part} where {where} {emits}"


def counting_rules(rng):
    """One or two of them."""
    while True:
        text = "\n".join(counting_rule(rng, number) for number in range(rng.randint(1, 2)))
        try:
            return parse_rules(DECLARED + text, "counting")
        except WorkbenchError:
            continue


def fired(given, streams=100, most=14):
    """The rules that fire on some of so many random streams of events from outside."""
    found = set()
    for seed in range(streams):
        case = stream_case(in_units(given), seed, most)
        events = [each for each in case.events if each.type in given.primitives]
        found |= {each.rule for each in meaning(case.rules, events, case.facts)}
    return found


def another(given, rule):
    """The same rules, of which one emits something else."""
    texts = (str(each).replace("x = 1", "x = 2") if each is rule else str(each) for each in given.rules)
    return parse_rules(DECLARED + "\n".join(texts), "another")
