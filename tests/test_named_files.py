"""What the text of a program names is read from its folder or below, or where the user allows; and never shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.cli.main import main
from workbench.errors import WorkbenchError
from workbench.named_files import allow, find_named, follow_links

SECRET = "hidden:word:0:0:never"
RULES = "declare A(x: int)\ndeclare B(x: int)\nfrom A emit B(x = A.x)\n"
PIPE = 'pipeline p(x: int) -> int {{ return rules("{}", x).B.x }}\n'
SYSTEM = "MODULE main\nVAR n : boolean;\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A program's folder with others around it: `home` is that of the program."""
    for name in ("home/sub", "home-2", "other"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("home", "home/sub", "home-2", "other"):
        (tmp_path / name / "good.tesla").write_text(RULES)
        (tmp_path / name / "secret.txt").write_text(SECRET)
        (tmp_path / name / "system.smv").write_text(SYSTEM)
    (tmp_path / "home" / "link").symlink_to(tmp_path / "other")
    (tmp_path / "home" / "link.tesla").symlink_to(tmp_path / "other" / "good.tesla")
    (tmp_path / "home" / "loop.tesla").symlink_to(tmp_path / "home" / "loop.tesla")
    os.mkfifo(tmp_path / "home" / "pipe.tesla")
    return tmp_path


def by_pipe(home: Path, name: str, include: list[Path]) -> object:
    (home / "p.pipe").write_text(PIPE.format(name))
    return wb.load(home / "p.pipe", include=include)


def by_include(home: Path, name: str, include: list[Path]) -> object:
    (home / "p.tesla").write_text(f'include "{name}"\n')
    return wb.rules.load_rules(home / "p.tesla", include=include)


def by_both(home: Path, name: str, include: list[Path]) -> object:
    """The rules lie below, and what they include is theirs to name."""
    (home / "sub" / "p.tesla").write_text(f'include "../{name}"\n' if name[0] != "/" else f'include "{name}"\n')
    return by_pipe(home, "sub/p.tesla", include)


def by_run(home: Path, name: str, include: list[Path]) -> object:
    (home / "p.pipe").write_text(PIPE.format(name))
    return wb.run(home / "p.pipe", [{"x": 1}], include=include)


def by_control(home: Path, name: str, include: list[Path]) -> object:
    (home / "control.csv").write_text(f"time,do,rule,text,file\n1,add,,,{name}\n")
    rules = wb.rules.parse_rules("declare C(x: int) declare D(x: int) rule c: from C emit D(x = 1)")
    rows = [{"type": "C", "time": 2, "x": 1}]
    return wb.run(rules, rows, rules_control=home / "control.csv", include=include)


WAYS = [by_pipe, by_include, by_both, by_run, by_control]
Way = Callable[[Path, str, list[Path]], object]


@pytest.mark.parametrize("way", WAYS)
def test_files_beside_and_below_are_read(folder: Path, way: Way) -> None:
    for name in ("good.tesla", "sub/good.tesla", "sub/../good.tesla", str(folder / "home" / "sub" / "good.tesla")):
        way(folder / "home", name, [])


@pytest.mark.parametrize("way", WAYS)
def test_others_are_not(folder: Path, way: Way) -> None:
    home = folder / "home"
    outside = ["../other/good.tesla", "link/good.tesla", "link.tesla", "../home-2/good.tesla", str(folder / "other")]
    for name in [*outside, "sub/../../other/good.tesla", "/etc/passwd", "/no/such/file", "/dev/zero", "/"]:
        with pytest.raises(WorkbenchError, match=r"lies outside the folder of the program(.|\n)*--include DIR"):
            way(home, name, [])
    for name in ("loop.tesla", "pipe.tesla", "sub", "fine.tesla", "n" * 300):
        with pytest.raises(WorkbenchError, match=r"is not a file|cannot read|there is no"):
            way(home, name, [])


@pytest.mark.parametrize("way", WAYS)
def test_the_user_allows_more(folder: Path, way: Way) -> None:
    for name in ("../other/good.tesla", "link/good.tesla", str(folder / "other" / "good.tesla")):
        way(folder / "home", name, [folder / "other"])
    (folder / "other" / "found.tesla").write_text(RULES)
    if way is not by_both:
        way(folder / "home", "found.tesla", [folder / "other"])


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_program_is_not_shown(folder: Path, way: Way) -> None:
    home = folder / "home"
    (home / "text.tesla").symlink_to(home / "secret.txt")
    for name in ("secret.txt", "text.tesla", "../other/secret.txt"):
        with pytest.raises(WorkbenchError) as found:
            way(home, name, [folder / "other"])
        told = f"{found.value} {[str(each) for each in found.value.others]}".replace(str(folder), "")
        assert "secret.txt" in told or "text.tesla" in told
        assert not any(word in told for word in ("hidden", "word", "never"))


@pytest.mark.parametrize(
    ("name", "said"), [("peaks.py", "is Python: run it with python"), ("n.csv", "is a log: name the program first")]
)
def test_what_is_no_program_by_its_name_is_told_as_what_it_is(tmp_path: Path, name: str, said: str) -> None:
    path = tmp_path / name
    for content in (b"x = 1\n", b"\xff\xfe"):
        path.write_bytes(content)
        with pytest.raises(WorkbenchError, match=f"{name} {said}") as found:
            wb.load(path)
        assert "mistake" not in str(found.value)
    path.write_text("pipeline p(x: int) -> int { return x }")  # whatever it is called
    assert wb.load(path).name == "p"


def test_systems_are_named_likewise(folder: Path) -> None:
    home = folder / "home"
    for name, fine in {"system.smv": True, "../other/system.smv": False, "/etc/passwd": False}.items():
        (home / "m.pipe").write_text(f'pipeline p(n: bool) -> bool {{ return n }}\nmonitor "{name}"\n')
        (monitor,) = wb.load(home / "m.pipe").monitors
        if fine:
            assert len(monitor.systems) == 1
        else:
            with pytest.raises(WorkbenchError, match="lies outside"):
                _ = monitor.systems


@pytest.mark.parametrize("command", [["check"], ["rules", "check"], ["run", "--input", "-"], ["monitor"], ["conform"]])
def test_commands_tell_nothing(folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Neither of what a program names, nor of what is called one and is not."""
    (folder / "home" / "p.pipe").write_text(PIPE.format("/etc/passwd"))
    (folder / "home" / "p.tesla").write_text('include "/etc/passwd"')
    for name in ("p.tesla" if command[0] == "rules" else "p.pipe", "secret.txt"):
        assert main([*command, str(folder / "home" / name)]) == 2
        told = "".join(capsys.readouterr())
        assert "root:" not in told
        assert ":x:" not in told
    shown = capsys.readouterr()
    assert main([*command[: 2 if command[0] == "rules" else 1], "--help"]) == 0
    assert "--include DIR" in capsys.readouterr().out
    assert not shown.err


def test_a_text_that_includes_is_told_where_to_look(folder: Path) -> None:
    with pytest.raises(WorkbenchError, match="only a file includes others"):
        wb.rules.parse_rules('include "good.tesla"')
    assert wb.rules.parse_rules('include "good.tesla"', include=[folder / "other"]).composites == ("B",)


PARTS = st.sampled_from(
    ["..", ".", "sub", "other", "home", "link", "good.tesla", "secret.txt", "", "/", "\0", "ü", "~"]
)


@examples(200)
@given(st.lists(PARTS, min_size=1, max_size=6))
def test_no_name_leads_out(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    root = tmp_path_factory.getbasetemp() / "names"
    if not root.exists():
        for name in ("home/sub", "other"):
            (root / name).mkdir(parents=True)
            (root / name / "good.tesla").write_text(RULES)
        (root / "home" / "link").symlink_to(root / "other")
    with allow([root / "home"]):
        try:
            found = find_named("/".join(parts), root / "home", "")
        except WorkbenchError:
            return
    assert follow_links(found).is_relative_to(follow_links(root / "home"))
