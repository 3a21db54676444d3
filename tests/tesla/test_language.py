"""The rule language: what is read, what it means in the extended grammar, and how mistakes are told."""

from decimal import Decimal

import pytest

from workbench.cli.model_values import read_time
from workbench.core.domain import INT
from workbench.core.units import SPELLINGS
from workbench.errors import InputError, LanguageError
from workbench.events.clock import Clock
from workbench.language.mistakes import name_terminals
from workbench.tesla.check import load_rules, parse_rules
from workbench.tesla.mistakes import TESLA, WORDS
from workbench.tesla.occurrence import in_units
from workbench.tesla.parser import LANGUAGE, parse_rule_file
from workbench.tesla.rule_warnings import find_silent_rules

TYPES = """
declare Temp(area: int, value: int) with id 1
declare Smoke(area: int) with id 2
declare Fire(area: int, value: int) with id 10
declare fact Zone(area: int, name: string) declare aggregate JOINED(a: string, b: string) = a + b from ""
"""

FIRE = """
# The fire of the paper, with all that the language has.
rule fire:
from Smoke[$a = area]
  and last Temp[$v = value](area == $a, value > 45) as Hot within 5 min from Smoke
  and not Temp(area == $a, value < $v - 20) between Hot and Smoke
  and first Zone[$z = name](area == $a) ordered by name desc, area asc
  and $n = COUNT(Temp(area == $a) within 2 min .. 5 min from Smoke)
  and $m = MAX(Temp(area == $a).value within forever from Smoke)
  and $j = JOINED(Zone(area == $a).name)
  and not Smoke within 2 events .. 5 events from Smoke
where $n > 2, $j != "-", not ($m < 200 or $z == "none"), TIME(Hot) + 1 <= TIME(Smoke)
limit 3
emit Fire(area = $a, value = -$v * (2 + 3) % 7) at most once in 10 min per $a, $z
consuming Hot, Smoke

from Smoke as Start
  and absent Temp(area == Start.area) within 90 s after Start
emit Fire(area = Start.area, value = 0)
"""


def test_what_is_printed_reads_back():
    made = parse_rules(TYPES + FIRE)
    assert FIRE.strip() in str(made)
    again = parse_rules(str(made))
    assert (again.declarations, again.rules) == (made.declarations, made.rules)


OLDER = """
declare Smoke(area: string)
declare Temp(area: string, value: float)
declare A(Val: int, att: int, value: int)
declare C(att: int)
Rule R1 define
Fire(area: string, measuredTemp: double)
from
Smoke(area=$a) and each Temp(area=$a and value>45) within 5 min. from Smoke
where
area=Smoke.area and measuredTemp=Temp.value
Rule R3 define Fire(area: string, measuredTemp: double)
from Smoke(area=$a) and 45 < $t=Avg(Temp(area=$a).value within 5 min. from Smoke)
where area=Smoke.area and measuredTemp=$t
define RepA(Times, Val) from A() where Times = 1 and Val = A.Val
define RepA(Times, Val) from A($x) and last RepA(Val <= $x) within 3min from A
where Times = RepA.Times + 1 and Val = $x consuming RepA
define B(Times) from RepA() where Times = RepA.Times
define Quiet from A as A1 and not RepA within 5 min from A1
define CE(att1: int, att2: int)
from C(att=$x) and last A(att=$x) as B within 100000 from C
where att1=$x and att2=1 + Sum(A(att=$x).value within 100000 from B)
"""
NEWER = """
declare Smoke(area: string)
declare Temp(area: string, value: float)
declare A(Val: int, att: int, value: int)
declare C(att: int)
declare Fire(area: string, measuredTemp: float)
declare RepA(Times: int, Val: int)
declare B(Times: int)
declare Quiet()
declare CE(att1: int, att2: int)
rule R1: from Smoke[$a = area] and each Temp(area == $a, value > 45) within 5 min from Smoke
emit Fire(area = Smoke.area, measuredTemp = Temp.value)
rule R3: from Smoke[$a = area] and $t = AVG(Temp(area == $a).value within 5 min from Smoke) where $t > 45
emit Fire(area = Smoke.area, measuredTemp = $t)
from A emit RepA(Times = 1, Val = A.Val)
from A[$x = Val] and last RepA(Val <= $x) within 3 min from A
emit RepA(Times = RepA.Times + 1, Val = $x) consuming RepA
from RepA emit B(Times = RepA.Times)
from A as A1 and not RepA within 5 min from A1 emit Quiet
from C[$x = att] and last A(att == $x) as B within 100000 from C
and $aggregate1 = SUM(A(att == $x).value within 100000 from B) emit CE(att1 = $x, att2 = 1 + $aggregate1)
"""


def test_the_older_grammar_is_translated():
    """Rules R1, R3 and R5 and the iteration of the sources, beside the same in the extended grammar, by hand."""
    old, new = parse_rules(OLDER), parse_rules(NEWER)
    assert dict(old.declarations) == dict(new.declarations)
    assert old.rules == new.rules


def test_as_may_follow_within():
    one, other = (
        parse_rules(TYPES + f"from Smoke and last Temp {text} and not Temp between Hot and Smoke emit Smoke(area = 1)")
        for text in ("as Hot within 5 min from Smoke", "within 5 min from Smoke as Hot")
    )
    assert one.rules == other.rules


def test_a_type_may_be_called_as_an_aggregate_is():
    made = parse_rules("declare Max(x: int) from Max(x == 1) and each Max as Other within 5 from Max emit Max(x = 1)")
    assert made.rules[0].trigger.type == "Max"


def test_the_type_of_what_is_emitted_is_told_by_rules():
    declared = parse_rules(OLDER).declarations["RepA"]
    assert declared.domains == {"Times": INT, "Val": INT}
    with pytest.raises(LanguageError, match="nothing shows the type of 'n' of X"):
        parse_rules("define X(n) from X() where n = X.n")


def test_a_log_tells_types_that_a_text_does_not_declare():
    text = "define Fire(area: string) from Smoke(area=$a) where area = $a"
    with pytest.raises(LanguageError, match="no type 'Smoke' is declared"):
        parse_rules(text)
    known = parse_rules("declare Smoke(area: string)").declarations
    assert parse_rules(text, types=known).declarations["Smoke"] == known["Smoke"]


MISTAKES = {
    "attribute": ("from Smoke(§aera == 1) emit Smoke(area = 1)", "no attribute 'aera'", "did you mean 'area'?"),
    "type": ("from §Smok emit Smoke(area = 1)", "no type 'Smok'", "did you mean 'Smoke'?"),
    "emitted type": ("from Smoke emit §Fir(area = 1)", "no type 'Fir'", "did you mean 'Fire'?"),
    "unbound": ("from Smoke(area == §$a) emit Smoke(area = 1)", "'$a' is not bound", "[$a = attribute]"),
    "local": (
        "from Smoke and not Temp[$v = value]() within 1 from Smoke emit Smoke(area = §$v)", "'$v' is not bound", "bind",
    ),
    "twice": ("from Smoke[$a = area, §$a = area] emit Smoke(area = $a)", "is bound already", "compare"),
    "later": (
        "from Smoke and each Temp within 1 §from Hot and each Temp as Hot within 1 from Smoke emit Smoke(area = 1)",
        "no event 'Hot' is bound here", "Smoke",
    ),
    "ambiguous": (
        "from Smoke and each Temp within 1 from Smoke and each Temp within 1 from Smoke emit Smoke(area = §Temp.area)",
        "two predicates are called 'Temp'", "Temp as Temp1",
    ),
    "equal": ("from Smoke(area §= 1) emit Smoke(area = 1)", "written ==", ""),
    "condition": ("from Smoke(§area) emit Smoke(area = 1)", "this is int", "compare"),
    "operands": ("from Smoke(area §+ true > 1) emit Smoke(area = 1)", "not defined on int and bool", "with and, or"),
    "float": ("from Smoke emit Smoke(area = 1 §/ 2)", "'area' of Smoke is int, but this is float", "float"),
    "missing": ("from Smoke emit §Fire(area = 1)", "'value' of Fire is not given", "value = ..."),
    "surplus": ("from Smoke emit Smoke(area = 1, §aera = 2)", "no attribute 'aera'", "area"),
    "again": ("from Smoke emit Smoke(area = 1, §area = 2)", "given twice", ""),
    "which event": ("from Smoke emit Smoke(area = §area)", "is written without its event", "Smoke.area"),
    "no window": ("from Smoke and each §Temp emit Smoke(area = 1)", "no window", "within"),
    "no value": ("from Smoke and $n = §AVG(Temp() within 1 from Smoke) emit Smoke(area = 1)", "AVG of what", ".attr"),
    "no name": ("from Smoke and §COUNT(Temp() within 1 from Smoke) emit Smoke(area = 1)", "not used", "$n = COUNT"),
    "fact's window": ("from Smoke and each Zone() within 1 §from Smoke emit Smoke(area = 1)", "has no time", "leave"),
    "fact's order": ("from Smoke and last §Zone() emit Smoke(area = 1)", "no order", "ordered by"),
    "fact happens": ("from §Zone emit Smoke(area = 1)", "does not happen", "event"),
    "fact emitted": ("from Smoke emit §Zone(area = 1, name = 'a')", "not emitted", ""),
    "fact consumed": ("from Smoke and each Zone emit Smoke(area = 1) consuming §Zone", "not consumed", ""),
    "ordered events": (
        "from Smoke and each Temp within 1 from Smoke ordered by §area emit Smoke(area = 1)", "order of their own", "",
    ),
    "consumed": ("from Smoke emit Smoke(area = 1) consuming §Temp", "no event 'Temp' is bound", "Smoke"),
    "span": ("from Smoke and each Temp within §5 .. 2 from Smoke emit Smoke(area = 1)", "at least 5 and at most 2", ""),
    "span of events": (
        "from Smoke and each Temp within §5 .. 2 events from Smoke emit Smoke(area = 1)", "2 events away", "smaller",
    ),
    "no events": ("from Smoke and each Temp within §0 events from Smoke emit Smoke(area = 1)", "nothing", "1 event"),
    "half an event": ("from Smoke and not Temp within §1.5 events from Smoke emit Smoke(area = 1)", "not a whole", ""),
    "events and times": (
        "from Smoke and each Temp within §5 s .. 9 events from Smoke emit Smoke(area = 1)", "other end",
        "write two times",
    ),
    "absent events": (
        "from Smoke and absent Temp within §3 events after Smoke emit Smoke(area = 1)", "may never be reached",
        "after Smoke",
    ),
    "silent events": ("from Smoke emit Smoke(area = 1) at most once in §3 events", "silent for a time", "10 min"),
    "absent after": (
        "from Smoke and each Temp within 1 from Smoke and absent Smoke as S within 1 after §Temp emit Smoke(area = 1)",
        "not after 'Temp'", "after Smoke",
    ),
    "time of a fact": ("from Smoke and each Zone emit Smoke(area = §TIME(Zone))", "no time", ""),
    "compared aggregate": (
        "from Smoke and 2 < $n = §COUNT(Temp() within 1 from Smoke) emit Smoke(area = 1)", "where clause", "where",
    ),
    "in an expression": (
        "from Smoke emit Smoke(area = 1 + §COUNT(Temp within 1 from Smoke))", "cannot be part of", "predicate",
    ),
    "no predicate": ("from Smoke and §3 + 4 emit Smoke(area = 1)", "not a predicate", "each, first"),
    "aggregate": (
        "from Smoke and $n = §JOINT(Zone.name) emit Smoke(area = 1)", "no aggregate 'JOINT'", "mean 'JOINED'",
    ),
    "joined numbers": ("from Smoke and $n = §JOINED(Zone.area) emit Smoke(area = 1)", "not defined on int", ""),
    "limit": ("rule §r: from Smoke limit 0 emit Smoke(area = 1)", "limit of 0", ""),
    "syntax": ("from Smoke §emitt Smoke(area = 1)", "found 'emitt'", ""),
    "digits": (f"from Smoke(area > §{'1' * 5000}) emit Smoke(area = 1)", "a number of 5000 digits", "4300"),
    "duration": ("from Smoke and each Temp within §1e99 from Smoke emit Smoke(area = 1)", "out of range", "forever"),
    "aggregate first": (
        "from §COUNT(Temp() within 5 min from Smoke) > 2 emit Smoke(area = 1)", "begins with an event",
        "write from Smoke and $n = COUNT(Temp within 5 min from Smoke) where $n > 2",
    ),
    "aggregate first, older": (
        "define Hot from $t = §Avg(Temp(area == 1).value within 5 min from Smoke) > 45", "begins with an event",
        "write from Smoke and $t = AVG(Temp(area == 1).value within 5 min from Smoke) > 45",
    ),
    "two names": (
        "from Smoke and each Temp as A within 1 from Smoke as §B emit Smoke(area = 1)", "called 'A' and 'B'", "leave",
    ),
    "length": ("from Smoke and not Temp within §X from Smoke emit Smoke(area = 1)", "found 'X'", "state the length"),
    "nothing to begin with": ("from §3 emit Smoke(area = 1)", "expected a name, found '3'", "begins with the event"),
    "brackets behind": ("from Smoke(area > 1)§[$a = area] emit Smoke(area = $a)", "found '['", "before constraints"),
    "condition in brackets": ("from Smoke[§area > 1] emit Smoke(area = 1)", "found 'area'", "brackets bind parameters"),
    "window without an event": (
        "from Smoke and $n = COUNT(Temp within 5 min§) emit Smoke(area = $n)", "found ')'", "within 5 min from NAME",
    ),
    "a range as type": ("define Fire(area: §0..3) from Smoke where area = 1", "found '0'", "int, float, bool, string"),
    "parameters behind a name": (
        "from Smoke as S§[$a = area] emit Smoke(area = $a)", "found '['", "parameters come before 'as': TYPE[",
    ),
    "constraints behind a name": (
        "from Smoke as S§(area == 1) emit Smoke(area = 1)", "found '('", "constraints come before 'as': last TYPE(",
    ),
    "no emit": ("from Smoke(area > 1)§", "found the end", "a rule ends with its composite: emit"),
    "values in a head": (
        "define Fire(area §= Smoke.area, value = 1) from Smoke", "found '='", "where x = B.y",
    ),
    "div": ("from Smoke emit Smoke(area = Smoke.area §div 2)", "found 'div'", "rules divide with /, as floats"),
    "function": ("from Smoke emit Smoke(area = §floor(Smoke.area))", "no function 'floor'", "let a pipeline compute"),
    "function of a parameter": (
        "from Smoke[$a = area] where 1 < abs§($a) emit Smoke(area = 1)", "found '('", "let a pipeline compute",
    ),
    "function of two": (
        "from Smoke where matches(Smoke.area§, 2) emit Smoke(area = 1)", "found ','", "let a pipeline compute",
    ),
    "mod": ("from Smoke emit Smoke(area = Smoke.area §mod 2)", "found 'mod'", "the remainder is written %"),
    "mean": ("from Smoke and $n = §MEAN(Temp.value within 1 from Smoke) emit Smoke(area = 1)", "'MEAN'", "is AVG"),
    "small letters": (
        "from Smoke and $n = §median(Temp.value within 1 from Smoke) emit Smoke(area = 1)", "no aggregate", "'MEDIAN'",
    ),
    "last three": ("from Smoke and last §3 Temp within 1 from Smoke emit Smoke(area = 1)", "found '3'", "one event"),
    "condition behind": (
        "from Smoke and last Temp where value > 45 §within 1 from Smoke emit Smoke(area = 1)", "found 'within'",
        "last Temp(value > 45)",
    ),
    "compared type": (
        "from Smoke and last Temp§.value > 45 within 1 from Smoke emit Smoke(area = 1)", "found '.'",
        "last Temp(value > 45)",
    ),
    "name behind": (
        "from Smoke and AVG(Temp.value within 1 from Smoke) §as n emit Smoke(area = 1)", "found 'as'", "$n = AVG(...)",
    ),
    "null": ("from Smoke where Smoke.area != §null emit Smoke(area = 1)", "not a value", "value == value"),
    "other attribute": ("from Temp where §valeu > 1 emit Smoke(area = 1)", "without its event", "'Temp.value'"),
    "selection": ("from Smoke and Temp §within 1 from Smoke emit Smoke(area = 1)", "found 'within'", "each, first"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "phrase", "hint"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_at_its_place(text, phrase, hint):
    before, _, after = (TYPES + text).partition("§")
    with pytest.raises(LanguageError) as caught:
        parse_rules(before + after)
    error = caught.value
    assert phrase in error.what
    assert hint in error.hint
    assert error.where.line == before.count("\n") + 1
    if phrase not in ("no event 'Hot' is bound here", "has no time", "not after 'Temp'"):
        assert error.where.column == len(before) - before.rfind("\n")
    assert not error.others


def test_all_mistakes_of_a_file_are_told_at_once():
    text = TYPES + "from Smoke(aera == 1) and each Tmp within 1 from Smoke emit Fir()\nfrom Smoke emit Fire()\n"
    with pytest.raises(LanguageError) as caught:
        parse_rules(text)
    assert [error.where.line for error in (caught.value, *caught.value.others)] == [6, 6, 6, 7]
    text = (
        TYPES
        + "from Smoke(aera + $v > 1 and area) and each Temp(vale == $w) within 1 from Smoke emit Fire(area = $x)\n"
    )
    with pytest.raises(LanguageError) as caught:
        parse_rules(text)
    words = [error.what.split("'")[1] for error in (caught.value, *caught.value.others) if "'" in error.what]
    assert words == ["aera", "$v", "vale", "$w", "value", "$x"]
    assert "this is int" in str(caught.value)
    broken = TYPES + "from Smoke emmit Fire()\nrule a: from Smoke emit Fire(\nrule b: from Smoke limt 3 emit Fire()\n"
    with pytest.raises(LanguageError) as caught:
        parse_rule_file(broken)
    assert [error.where.line for error in (caught.value, *caught.value.others)] == [6, 7, 8]


def test_declarations():
    for text, phrase in {
        "declare A(time: int)": "'time' cannot be the name",
        "define fact(x: int) from fact() where x = 1": "'fact' is a word of the language",
        "declare A(x: int, x: int)": "two attributes are called 'x'",
        "declare A(x: int) declare A(y: int)": "declared twice",
        "declare A() with id 1 declare B() with id 1": "id 1 is that of 'A'",
        "declare A(x: it)": "not a type of attributes",
        "declare aggregate Avg(a: int, b: int) = a * b from 1": "'Avg' is a word",
        "declare aggregate P(a: int, b: float) = a * b from 1": "two values of one type",
        "declare aggregate P(a: int, a: int) = a * a from 1": "both values are called 'a'",
        "declare aggregate P(a: int, b: int) = a * c from 1": "no attribute 'c'",
        "declare aggregate P(a: int, b: int) = a / b from 1": "'P' is of int, but this is float",
        "declare aggregate P(a: int, b: int) = a * b from 1.0": "'P' is of int, but this is float",
        "declare aggregate P(a: int, b: int) = a * b from 1 + 0": "starts from a value",
        "declare aggregate P(a: int, b: int) = a from 1 declare aggregate P(a: int, b: int) = b from 0": "two a",
        "declare aggregate P(a: int, b: int) = a - b from 0": r"P\(P\(0, 0\), 1\) is -1, and P\(0, P\(0, 1\)\) is 1",
        "declare aggregate P(a: float, b: float) = (a + b) / 2 from 0": "not associative",
        "declare aggregate P(a: bool, b: bool) = a == (b and a) from true": "not associative",
        # What has a mistake where it is declared has none where it is called.
        "declare A(x: int) declare aggregate P(a: int, b: int) = a - b from 0 from A and $p = P(A.x within 1 from A)"
        " emit A(x = $p)": r"not associative: .*\n.*\n.*\n  hint: .*be the same$",
        "rule a: from A emit A rule a: from A emit A declare A()": "two rules are called 'a'",
    }.items():
        with pytest.raises(LanguageError, match=phrase):
            parse_rules(text)


def test_files_include_others(tmp_path):
    (tmp_path / "types.tesla").write_text("declare A(x: int)\n")
    (tmp_path / "a.tesla").write_text('include "types.tesla"\ninclude "types.tesla"\nfrom A emit A(x = 1)\n')
    assert [rule.emits for rule in load_rules(tmp_path / "a.tesla").rules] == ["A"]
    (tmp_path / "a.tesla").write_text('include "tpes.tesla"\n')
    with pytest.raises(InputError, match=r"did you mean 'types\.tesla'"):
        load_rules(tmp_path / "a.tesla")
    (tmp_path / "a.tesla").write_text('include "b.tesla"\n')
    (tmp_path / "b.tesla").write_text('include "a.tesla"\n')
    with pytest.raises(LanguageError, match="includes itself"):
        load_rules(tmp_path / "a.tesla")


def test_remarks():
    text = "declare A(x: int)\nfrom A(x > 3) and each A(x < 1, x > 2) as B within forever from A emit A(x = 1)"
    assert [warning.what.partition(":")[0] for warning in parse_rules(text).warnings] == [
        "nothing satisfies this predicate about A",
        "all events of type A are retained",
        "nothing can emit A",
        "a cascade of these rules may not end",
    ]
    (remark,) = parse_rules("declare aggregate P(a: int, b: int) = a + b from 1").warnings
    assert "1 is not neutral for 'P': P(1, 0) is 1" in remark.what
    assert not parse_rules("declare aggregate P(a: int, b: int) = (a + b) % 7 from 0").warnings
    two = "declare A() declare B() rule one: from A emit B rule two: from B emit A"
    assert any("one -> two -> one" in warning.what for warning in parse_rules(two).warnings)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("from A(x > 5 and x < 3)", "predicate about A: 'x > 5' and 'x < 3' exclude each other"),
        ("from A[$x = x] where $x > 5 and 3 > A.x", "rule: '$x > 5' and '3 > A.x' exclude each other"),
        ("from A[$x = x](x > 5) and last B(y == $x, $x == 4) within 1 from A", "about B: 'x > 5' and '$x == 4' excl"),
        ('from A(s == "a", s == "b")', "about A: 's == \"a\"' and 's == \"b\"' exclude each other"),
        ("from A and $n = COUNT(B within 1 from A) where $n > 3, $n < 2", "rule: '$n > 3' and '$n < 2' exclude"),
        ("from A(x > 5) and last A(x < 3) as P within 1 from A where P.x < 4", ""),
        ("from A and each B as P within 1 from A and each B as Q within 1 from A where P.y > 5, Q.y < 3", ""),
        ("from A and not B[$y = y]($y > 5) within 1 from A and last B[$y = y]($y < 3) within 1 from A", ""),
        ("from D as q and last D(q > 5) within 1 from q and not D(q < 3) as P within 1 from q", ""),
        ("from A(x >= 3, x <= 3, s != 'a', s != 'b')".replace("'", '"'), ""),
    ],
)
def test_remarks_about_what_excludes_itself(rule, words):
    found = parse_rules(
        f"declare A(x: int, s: string) declare B(y: int) declare C() declare D(q: int) {rule} emit C"
    ).warnings
    assert [words in each.what for each in found] == ([True, False] if words else [])
    assert not words or found[1].what.startswith("nothing can emit C")


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (
            "from A(x < 60) emit C(n = A.x)",
            "from C(n > 60)",
            "about C: 'x < 60' of one and 'n > 60' exclude each other",
        ),
        (
            "from A[$x = x] where $x > 3 emit C(n = $x)",
            "from C as D where D.n < 1",
            "'$x > 3' of one and 'D.n < 1' excl",
        ),
        ("from A emit C(n = 5)", "from C(n == 6)", "about C: 'n = 5' of one and 'n == 6' exclude each other"),
        ("from A(x < 60) emit C(n = A.x - 40)", "from C(n >= 25)", "about C: 'x < 60' of one and 'n >= 25' excl"),
        ("from A[$x = x](x < 60) emit C(n = 3 + $x - 1)", "from C(n > 62)", "about C: 'x < 60' of one and 'n > 62'"),
        ("from A(x < 60) emit C(n = A.x - 40)", "from C(n >= 20)", ""),  # floats may round
        ("from A(x < 60) emit C(n = 40 - A.x)", "from C(n > 60)", ""),
        ("from A(x < 60) emit C(n = A.x)", "from C(n > 50)", ""),
        ("from A(x < 60) emit C(n = A.x) rule too: from A(x > 70) emit C(n = A.x)", "from C(n > 60)", ""),
        ("from A(x < 60) emit C(n = A.x) rule too: from C emit C(n = C.n + 9)", "from C(n > 60)", ""),
    ],
)
def test_remarks_about_what_another_rule_excludes(first: str, second: str, words: str) -> None:
    text = f"declare A(x: int) declare C(n: int) declare E() rule one: {first} rule two: {second} emit E"
    warnings = [each.what for each in parse_rules(text).warnings if "cascade" not in each.what]
    assert [words in each for each in warnings] == ([True, False] if words else [])
    assert not words or warnings[1] == "nothing can emit E: two never fires"
    assert all(each.hint for each in parse_rules(text).warnings if words in each.what)  # the log may have such events
    assert find_silent_rules(parse_rules(text)) == ({"two"} if words else frozenset())


def test_what_a_chain_of_rules_excludes_names_the_rule_that_states_it() -> None:
    chain = " ".join(f"rule r{i}: from C{i}[$n = n] emit C{i + 1}(n = $n)" for i in range(3000))
    types = " ".join(f"declare C{i}(n: int)" for i in range(3001))
    text = f"declare A(x: int) {types} declare E() rule one: from A(x < 60) emit C0(n = A.x) {chain}"
    first, _ = parse_rules(f"{text} rule last: from C3000(n > 60) emit E").warnings
    assert "'x < 60' of one and 'n > 60' exclude each other" in first.what


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_units_are_read_as_people_write_them_and_shown_short(spelling):
    found = parse_rules(f"declare A() from A and each A as B within 60 {spelling} from A emit A")
    assert str(found.rules[0].predicates[0].window.maximum) == f"60 {SPELLINGS[spelling]}"
    clock = Clock(unit=spelling, late=f"30 {spelling}")
    assert (clock.unit, clock.duration(f"30 {spelling}")) == (SPELLINGS[spelling], 30 * clock.scale)
    assert read_time(f"30 {spelling}", "--tick") == 30 * clock.scale


def test_who_asks_for_an_attribute_time_is_told_of_the_function():
    for asked, hint in (("B.time", "TIME(B) is its time"), ("time", "write TIME(B)"), ("Zone.time", "Zone has: ")):
        text = f"from Smoke as B and last Zone ordered by name where {asked} > 3 emit Smoke(area = 1)"
        with pytest.raises(LanguageError) as caught:
            parse_rules(TYPES + text)
        assert caught.value.hint.startswith(hint)


def test_windows_in_the_unit_of_times():
    text = "declare A() from A and each A as B within {} from A emit A"

    def most(window, unit):
        (rule,) = in_units(parse_rules(text.format(window)), unit).rules
        window = rule.predicates[0].window
        return window.minimum and window.minimum.amount, window.maximum and window.maximum.amount

    assert most("5 min", "s") == (None, Decimal(300_000_000))
    assert most("1.5", "s") == (None, Decimal(1_500_000))
    assert most("0.5 us", "s") == (None, Decimal(0))
    assert most("1.5 .. 2.5 us", "s") == (Decimal(2), Decimal(2))
    assert most("5", None) == (None, Decimal(5))
    assert most("2.5", None) == (None, Decimal(2))
    assert most("forever", None) == (None, None)
    assert most("2 .. 5 events", None) == most("2 .. 5 events", "s") == (Decimal(2), Decimal(5))
    with pytest.raises(InputError, match="the times of the log have none"):
        most("5 min", None)
    with pytest.raises(InputError, match=r"no time is 0\.5 us after 'A'"):
        in_units(parse_rules("declare A() from A and absent A as B within 0.5 us after A emit A"), "s")
    with pytest.raises(InputError, match="5 needs a unit"):
        in_units(parse_rules(text.format("5")), dates=True)


def test_times_in_expressions_are_microseconds():
    text = "declare A(x: int) from A and last A as B within 1 h from A where TIME(A) - TIME(B) {} emit A(x = 1)"
    conditions = {"< 30 s": "< 30000000", "> 0.5 min": "> 30000000", "< 2 * 1.5 ms": "< 2 * 1500", "< 0 s": "< 0"}
    for written, number in conditions.items():
        rules = parse_rules(text.format(written))
        assert str(rules.rules[0].where_clause[0]).endswith(written), "a rule is printed as it was written"
        assert parse_rules(str(rules)) == rules
        for scaled in (in_units(rules, "s"), in_units(rules, "ms", tick=1000), in_units(rules, dates=True)):
            assert str(scaled.rules[0].where_clause[0]).endswith(number)


@pytest.mark.parametrize(
    ("written", "what", "hint"),
    [
        ("3 events", "3 events is not a time", "write a time, 30 s, or a number"),
        ("0.25 us", "no time is 0.25 us", "write 1 us"),
        ("1e999 s", "out of range", "durations are between"),
    ],
)
def test_what_is_no_time_in_an_expression_is_refused(written, what, hint):
    text = f"declare A() from A and last A as B within 1 h from A where TIME(A) - TIME(B) < {written} emit A"
    with pytest.raises(LanguageError, match=what) as caught:
        parse_rules(text)
    assert hint in caught.value.hint


def test_times_in_expressions_need_a_log_whose_times_have_a_unit():
    text = "declare A() from A and last A as B within forever from A where TIME(A) - TIME(B) < 5 s emit A"
    with pytest.raises(InputError, match="the times of the log have none"):
        in_units(parse_rules(text))


def test_every_terminal_has_words():
    terminals = LANGUAGE.reader.lark.terminals
    names = name_terminals((each for each in terminals if each.name not in LANGUAGE.reader.ignored), TESLA)
    assert {each.name for each in terminals} > set(WORDS) - {"$END"}
    assert (names["NEGATION"], names["BY"], names["SAME"], names["FOREVER"]) == ("'not'", "'by'", "'=='", "'forever'")
    assert "''" not in names.values()
