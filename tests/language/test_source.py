"""Files, references to their pipelines, and parameters from a command line."""

import pytest

from workbench.errors import InputError, LanguageError
from workbench.language import load, parameters, parse, read_file, split_reference

TWO = "pipeline first(x: int) -> int { return x + 1 }\npipeline second<k = 2>(x: int) -> int { return x + k }\n"


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "two.pipe"
    file.write_text(TWO, encoding="utf-8")
    return file


def test_load(path):
    assert load(f"{path}:first").pipeline.denote([[1]]) == ([2],)
    assert load(path).pipeline.denote([[1]]) == ([3],)
    assert load(f"{path}:second", k=5).pipeline.denote([[1]]) == ([6],)


def test_the_default_is_the_last_pipeline_or_main(path):
    assert read_file(path).default == "second"
    assert read_file(path).pipelines == ("first", "second")
    assert parse("pipeline main(x: int) -> int { return x }\n" + TWO).default == "main"


def test_parameters_of_a_pipeline(path):
    assert read_file(path).parameters() == {"k": 2}
    assert read_file(path).parameters("first") == {}
    assert parse("pipeline p<n, k = 2>(x: int) -> int { return x }").parameters() == {"k": 2}


def test_split_reference(tmp_path):
    assert split_reference("a/b.pipe:sum") == ("a/b.pipe", "sum")
    assert split_reference("a/b.pipe") == ("a/b.pipe", None)
    assert split_reference("C:/a.pipe") == ("C:/a.pipe", None)
    odd = tmp_path / "a:b"
    odd.write_text(TWO, encoding="utf-8")
    assert split_reference(str(odd)) == (str(odd), None)


def test_parameters_on_the_command_line():
    assert parameters(["k=3", "n = -2", "flag=true", "rate=0.5", 'word="a b"', "colour=red"]) == {
        "k": 3, "n": -2, "flag": True, "rate": 0.5, "word": "a b", "colour": "red",
    }  # fmt: skip
    with pytest.raises(InputError, match="write --param k=3"):
        parameters(["3"])
    with pytest.raises(LanguageError, match="--param k"):
        parameters(["k=3 4"])


def test_what_is_not_there(path, tmp_path):
    with pytest.raises(LanguageError, match=r"there is no pipeline 'secnod'\n  hint: did you mean 'second'"):
        load(f"{path}:secnod")
    with pytest.raises(InputError, match="cannot read"):
        load(tmp_path / "none.pipe")
    with pytest.raises(LanguageError, match="no pipeline in this text"):
        _ = parse("# nothing").default


def test_a_pipeline_with_a_mistake_does_not_hide_the_others():
    source = parse("pipeline good(x: int) -> int { return x }\npipeline bad(x: int) -> int { return y }")
    assert source.get("good").pipeline.denote([[1]]) == ([1],)
    with pytest.raises(LanguageError):
        source.get("bad")


def test_a_pipeline_has_the_others_of_its_file() -> None:
    loaded = parse(
        "pipeline one(x: int) -> int { return x }\npipeline two<k = 1>(x: int) -> int { return trim(x, k) }"
    ).get()
    assert loaded.pipeline.name == "two"
    assert loaded.get("one").pipeline.name == "one"
    assert loaded.get("two", k=3).params == {"k": 3}
