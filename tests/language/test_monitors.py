"""Monitor statements: what they say, and what is wrong with them."""

from pathlib import Path

import pytest

from workbench.errors import LanguageError
from workbench.language import parse, read_file

P = "pipeline p<k = 2>(n: int, price: {low: int, high: int}) -> bool { return n < k }\n"


def test_what_a_statement_says() -> None:
    text = """
monitor "a.smv", "sub/b.smv"   # two systems
monitor "a.smv" {
    n = "count + 1" when "count > 0"
    price.low = "case c : 1; TRUE : 2; esac"
    price.high = "3"
    price when "ready"
    check often-true
    check always (n < k)
}
"""
    plain, full = parse(P + text, "x.pipe").get("p", k=5).monitors
    assert plain.names == ("a.smv", "sub/b.smv")
    assert (plain.bind, plain.when, plain.checks) == ({}, {}, ())
    assert full.bind == {"n": "count + 1", "price.low": "case c : 1; TRUE : 2; esac", "price.high": "3"}
    assert full.when == {"n": "count > 0", "price": "ready"}
    assert [str(check) for check in full.checks] == ["often-true", "always (n < k)"]


def test_a_statement_is_about_the_pipeline_above_it() -> None:
    source = parse(P + 'monitor "a.smv"\npipeline q(x: int) -> int { return x }\ncheck liveness\nmonitor "b.smv" {}\n')
    assert [m.names for m in source.get("p").monitors] == [("a.smv",)]
    assert [m.names for m in source.get("q").monitors] == [("b.smv",)]


def test_files_lie_in_folders_that_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "systems" / "a.smv").write_text("")
    (tmp_path / "deep" / "b.smv").write_text("")
    path = tmp_path / "deep" / "er" / "p.pipe"
    path.write_text(P + f'monitor "systems/a.smv", "b.smv", "{tmp_path}/deep/b.smv"\n')
    monkeypatch.chdir(tmp_path)
    include = [tmp_path, tmp_path / "deep"]
    (watched,) = read_file(path, include=include).get("p").monitors
    assert watched.systems == ("systems/a.smv", "deep/b.smv", "deep/b.smv")
    assert [watched.watches(name) for name in ("systems/a.smv", "deep/b.smv", "systems/c.smv")] == [True, True, False]
    with pytest.raises(LanguageError, match=r"p\.pipe:2:1: '.*b\.smv' lies outside"):
        _ = read_file(path).get("p").monitors[0].systems


def test_a_file_that_is_not_there_is_missed_when_it_is_asked_for() -> None:
    loaded = parse(P + 'monitor "nowhere.smv"', "x.pipe").get("p")
    with pytest.raises(LanguageError, match=r"x.pipe:2:1: there is no file 'nowhere.smv'"):
        _ = loaded.monitors[0].systems


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ('monitor "a.smv"\n' + P, "1:1: this monitor statement is above every pipeline"),
        (P + "monitor a", "2:9: expected a text in quotes, found 'a'"),
        (P + 'monitor "a.smv" { m = "x" }', r"2:19: pipeline p has no input 'm'(.|\n)*n, price"),
        (P + 'monitor "a.smv" { n "x" }', "2:21: expected .*'when'.*, found"),
        (P + 'monitor "a.smv" { n = x }', "2:23: expected a text in quotes, found 'x'"),
        (P + 'monitor "a.smv" { check oftn-true }', "'often-true'"),
        (P + 'monitor "a.smv" { check always (m < 2) }', "no pipe 'm'"),
        ("pipeline monitor(x: int) -> int { return x }", "1:10: expected a name"),
    ],
)
def test_mistakes(text: str, phrase: str) -> None:
    with pytest.raises(LanguageError, match=phrase):
        parse(text, "x.pipe").get("p")


def test_when_is_a_name_elsewhere() -> None:
    loaded = parse('pipeline p(when: int) -> int { return when + 1 }\nmonitor "a.smv" { when = "n" when "m" }').get()
    assert loaded.monitors[0].bind == {"when": "n"}
    assert loaded.monitors[0].when == {"when": "m"}
