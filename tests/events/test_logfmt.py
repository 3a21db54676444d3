"""logfmt is what kr's grammar says, with the errors of go-logfmt; what is wrong is a bad row, with its reason."""

import gzip
import io

import pytest

import workbench as wb
from workbench.core.program import Port, Ports
from workbench.errors import InputError
from workbench.events.account import Reporter
from workbench.events.read import read_events
from workbench.events.reading_options import Reading
from workbench.events.write import write_events

TEXTS = Ports("p", tuple(Port(name, wb.STR) for name in ("a", "b", "ƒ", "c%d")))
USER = wb.Record((wb.STR, wb.INT), ("user", "n"))
SUMS = wb.parse("pipeline sums(x: int) -> int { return cumulate(x, +) }").get("sums").pipeline


def read(text, ports=TEXTS, **options):
    stdin = io.BytesIO(text.encode())
    return list(read_events("-", ports, Reading(format="logfmt", **options), stdin=stdin))


@pytest.mark.parametrize(
    ("line", "pairs"),
    [  # the second is one of go-logfmt's tests, the third kr's example
        ("a=1", {"a": "1"}),
        ('a=1 b="bar" ƒ=2h3s r="esc\\t" d x=sf   ', {"a": "1", "b": "bar", "ƒ": "2h3s"}),
        ('foo=bar a=14 b="hello kitty" c%d=bro f %^asdf', {"a": "14", "b": "hello kitty", "c%d": "bro"}),
        ("y=f(x) a=f(x)", {"a": "f(x)"}),
        ("a=,b b=it's", {"a": ",b", "b": "it's"}),
        ("  a=1\t \x01b=2  ", {"a": "1", "b": "2"}),
        (r'a="\"\\\/\n\r\t\b\f\u0041\ud83d\ude00" b="\u00e9"', {"a": '"\\/\n\r\t\b\fA\U0001f600', "b": "é"}),
        ('a="x=y z" b="tab\there"', {"a": "x=y z", "b": "tab\there"}),
        ('a= b="" c%d=null', {"b": ""}),
        ('a="null" b=nullable', {"a": "null", "b": "nullable"}),
        ("a", {"a": "true"}),
    ],
)
def test_lines(line, pairs):
    assert read(f"{line}\n") == read(f"\n{line}\r\n \n") == [pairs]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("=bar", "expected key=value, not =bar"),
        ('b=1 "a"=1', 'expected key=value, not "a"=1'),
        ("b=1 a=x=y c", "expected key=value, not a=x=y c"),
        ('a=x"y"', 'expected key=value, not a=x"y"'),
        ('a="x"y', 'expected key=value, not a="x"y'),
        ('b=2 a="x y', 'expected key=value, not a="x y'),
        ('a="x\\"', 'expected key=value, not a="x\\"'),
        ('a="\\q"', 'not a value of logfmt, it has an invalid escape: "\\q"'),
        ('a="\\ud800"', "half of a surrogate pair"),
        ("a=1 b=2 a=3", "the key 'a' occurs twice in one line"),
    ],
)
def test_a_line_that_is_wrong_is_a_bad_row(line, reason):
    with pytest.raises(InputError) as told:
        read(f"a=1\n\n{line}\n")
    assert told.value.where == "<stdin>:3"
    assert told.value.what.startswith(reason)
    kept = []
    text = f"a=1\n\n{line}\na=2\n"
    found = read_events(
        "-", TEXTS, Reading(format="logfmt", bad_rows="kept"), stdin=io.BytesIO(text.encode()),
        reporter=Reporter(keep=kept.append),
    )  # fmt: skip
    assert list(found) == [{"a": "1"}, {"a": "2"}]
    assert [(file, number, row) for file, number, _, row in kept] == [("<stdin>", 3, line)]


def test_options_of_columns():
    one = Ports("p", (Port("x", wb.INT), Port("e", USER)))
    found = read('v=1 user="a b" n=2\nv=3\n', one, columns={"x": "v"})
    assert found == [{"x": 1, "e": ("a b", 2)}, {"x": 3}]
    with pytest.raises(InputError, match="key 'y' is not an input"):
        read("x=1 y=2\n", one, strict=True)
    with pytest.raises(InputError, match="'e' is empty"):
        read("x=1\n", one, null="error")
    with pytest.raises(InputError, match="no row has a key 'w'"):
        read("x=1\n", one, columns={"x": "w"})
    with pytest.raises(InputError) as error:
        read("x=1 kk=2\nx=2 jj=3\n", Ports("p", (Port("x", wb.INT),)), columns={"x": "w"})
    assert error.value.hint == "there are: x, kk, jj"  # in the order in which they come
    with pytest.raises(InputError, match=r"<stdin>:2: input 'x': expected a whole number, not '1.5'"):
        read("x=1\nx=1.5\n", one)


def test_it_is_known_by_its_beginning(tmp_path):
    path = tmp_path / "log"
    for text in ("x=1 y=2\n", 'x="1"\n', " x=1\r\n", "x=1"):
        path.write_text(text)
        assert list(read_events(path, SUMS)) == [{"x": 1}]
    for text in ("x\n1\n", "x,a=b\n1,2\n", "x\ta=b\n1\t2\n", '{"x": 1, "a=b": 2}\n'):
        path.write_text(text)
        assert list(read_events(path, SUMS)) == [{"x": 1}], "is something else"


def test_what_is_written_is_read_back(tmp_path):
    domains = {"s": wb.STR, "x": wb.INT, "f": wb.FLOAT, "b": wb.BOOL, "e": USER}
    ports = Ports("p", tuple(Port(n, d) for n, d in domains.items()), tuple(Port(n, d) for n, d in domains.items()))
    steps: list[dict[str, object]] = [
        {"s": text} for text in ("", " ", "a b", 'a"b\\', "null", "=", "\n", "é\x7f", "true", "\x00\x85\u2028")
    ]
    steps += [{"x": -3, "f": 0.1, "b": True}, {}, {"e": ("a b", 1)}, {"f": float("inf")}]
    for name in ("a.logfmt", "a.logfmt.gz", "a.logfmt.zst"):
        with write_events(tmp_path / name, ports) as writer:
            for step in steps:
                writer.row(step)
        assert list(read_events(tmp_path / name, ports)) == steps
    lines = (tmp_path / "a.logfmt").read_text().split("\n")
    assert lines[:5] == ['s=""', 's=" "', 's="a b"', 's="a\\"b\\\\"', 's="null"']
    assert lines[10:] == ["x=-3 f=0.1 b=true", "s=", 'e="{\\"user\\": \\"a b\\", \\"n\\": 1}"', "f=inf", ""]


def test_runs_with_keys_and_rules(tmp_path):
    path = tmp_path / "a.logfmt.gz"
    path.write_bytes(gzip.compress(b"k=u x=1\nk=v x=2\nk=u x=3\nk=u x=bad\n"))
    found = wb.run(SUMS, path, key="k", bad_rows="skip")
    assert found.to_dict() == {"k": ["u", "v", "u"], "out": [1, 2, 4]}
    rules = wb.rules.parse_rules("""declare Smoke(area: int) with id 1
declare Fire(area: int) with id 2
rule fire: from Smoke[$a = area](area > 1) emit Fire(area = $a)""")
    (tmp_path / "e.logfmt").write_text('type=Smoke time=1 area=1\ntype=Smoke time=2 area="2"\ntype=Other time=3\n')
    assert wb.run(rules, tmp_path / "e.logfmt").to_dict()["area"] == [2]
