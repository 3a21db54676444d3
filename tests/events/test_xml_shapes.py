"""XML in pieces, and rows of one shape: the same as of rows that are looked at one by one, in a document as a whole."""

import random
from xml.etree import ElementTree

import pytest

import workbench as wb
from workbench.errors import InputError
from workbench.events import xml_paths, xml_shape
from workbench.events.formats import xml
from workbench.events.values import DEEPEST

SOURCE = """
function all(f, n, s, l, z) = (f, n, s, l, z)
pipeline p(f: map(int, float), n: map(int, int), s: map(int, {A, B}), l: map(int, bool), z: float) -> any {
    return apply(f, n, s, l, z, all)
}
"""
COLUMNS = {"f": "each/one[id]/f", "n": "each/one[id]/in/n", "s": "each/one[id]/s", "l": "each/one/id", "z": "z"}
TEXTS = {
    "f": ["1", "-2.5", " 3 ", "1e3", "x", "", "0000000000000000000.5", "1<!-- -->2", "inf"],
    "n": ["1", "-7", "+1", "007", " 8", "1.0", "12345678901234567890", ""],
    "s": ["A", "B", " A", "C", "<b>A</b>", "A&#66;"],
}


def one(chance, number):
    """An element, mostly plain."""
    chosen = {name: chance.choice(texts[:2] if chance.random() < 0.9 else texts) for name, texts in TEXTS.items()}
    parts = [f"<id>{number}</id>", f"<f>{chosen['f']}</f>", f"<s>{chosen['s']}</s>", f"<in><n>{chosen['n']}</n></in>"]
    if chance.random() < 0.1:
        parts.append(chance.choice(parts))
    if chance.random() < 0.1:
        parts.remove(chance.choice(parts))
    return f"<one>{''.join(parts)}</one>"


def row(chance):
    numbers = [chance.randrange(3 if chance.random() < 0.1 else 100) for _ in range(chance.randrange(3))]
    inner = "<row><z>9</z></row>" if chance.random() < 0.1 else ""
    return f"<row><z>{chance.random()}</z><each>{''.join(one(chance, n) for n in numbers)}</each>{inner}</row>"


def document(chance, rows):
    """Rows, at several depths."""
    text = ""
    while rows:
        some, rows = rows[:2], rows[2:]
        text += chance.choice(["{}", "<deep><!-- <row> -->{}</deep>", "<a><b/>{}</a>\n"]).format("".join(some))
    return f"<log>{text}</log>"


@pytest.fixture(scope="module")
def program():
    return wb.parse(SOURCE).get().pipeline


def outcome(program, path, **options):
    try:
        return wb.run(program, path, xml="row", columns=COLUMNS, backend="reference", **options).to_dict()
    except InputError as error:
        return str(error)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(3))
def test_shapes_change_nothing(program, tmp_path, monkeypatch, seed):
    chance, path = random.Random(seed), tmp_path / "log.xml"
    monkeypatch.setattr(xml_shape, "MAXIMUM", 20)
    for _ in range(25):
        path.write_text(document(chance, [row(chance) for _ in range(chance.randrange(1, 6))]))
        with monkeypatch.context() as patch:
            patch.setattr(xml_shape.RowShapes, "cells", lambda *_: None)
            expected = outcome(program, path), outcome(program, path, bad_rows="skip")
        assert (outcome(program, path), outcome(program, path, bad_rows="skip")) == expected


@pytest.mark.parametrize("piece", [1, 7, 50, 1000])
def test_rows_in_pieces_are_those_of_the_document(tmp_path, monkeypatch, piece):
    """The outermost ones, in its order."""
    monkeypatch.setattr(xml, "PIECE", piece)
    program = wb.parse("pipeline p(z: any) -> any { return z }").get().pipeline
    chance, path = random.Random(piece), tmp_path / "log.xml"
    for _ in range(20):
        text = document(chance, [row(chance) for _ in range(chance.randrange(1, 6))])
        path.write_text(text)
        expected = []
        left = [ElementTree.fromstring(text)]
        while left:
            element = left.pop()
            if element.tag == "row":
                expected.append(tuple(float(each.text or "") for each in element.findall("z")))
            else:
                left += reversed(element)
        made = wb.run(program, path, xml="row", columns={"z": "z"}, backend="reference")
        assert made.to_dict()["out"] == expected


@pytest.mark.parametrize("mark", ["<?p ?>", "<!-- -->"])
def test_the_first_element_is_not_looked_for_behind_a_declaration_of_the_document(tmp_path, mark):
    path = tmp_path / "log.xml"
    path.write_text(f"{mark}<!DOCTYPE log><log>{mark}<row><z>1</z></row></log>")
    program = wb.parse("pipeline p(z: int) -> int { return z }").get().pipeline
    assert wb.run(program, path, xml="row", backend="reference").to_dict()["out"] == [1]


BETWEEN = [
    "<!-- </row> -->", "<!-- <row><z>0</z></row>\n--> ", "</deep><deep>", "<a>\n</a>", "&r;", "<![CDATA[</row>]]>",
    "<row/>", "<row><z>5</z></row >", "<?p </row>?>", "<row><!-- </row> --><z>6</z></row>", "<row><z>7</z>\r</row>",
    "<row><row><z>8</z></row><z>9</z></row>", "<row z='</row>'><z>1</z></row>", "<row a='>'><z>1</z></row>",
]  # fmt: skip
PLAIN = ["1", "-2.5", " 3", "1e-05", "7\r\n"]
ODD = ["x", "", "&#49;", "<![CDATA[4]]>", "4<!-- -->", "\u0661", "1>2", "&n;", "1\r2", "\x00"]
"""What stands between rows, and texts in rows."""


def alike(chance):
    """A document whose rows mostly have the same tags."""
    text = '<!DOCTYPE log [<!ENTITY n "12"><!ENTITY r "<row><z>3</z></row><!-- ">]>' if chance.random() < 0.5 else ""
    text += chance.choice(["<log><deep>", '<log xmlns:a="b">\n<deep>'])
    ends, odd = chance.choice(["\n", "\r\n", ""]), chance.choice([0.0, 0.1])
    for _ in range(chance.randrange(4, 30)):
        cells = (chance.choice(ODD if chance.random() < odd else PLAIN) for _ in range(3))
        text += "<row>{3}<z>{0}</z>{3}<q><n>{1}</n>{3}<n>{2}</n></q>{3}</row>{3}".format(*cells, ends)
        text += chance.choice(BETWEEN) if chance.random() < odd else ""
    return text + chance.choice(["</deep></log>", "</deep></log>", "</deep>", "<b></log>"])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(4))
def test_pieces_change_nothing(tmp_path, monkeypatch, seed):
    """Neither values, nor what is said of rows and documents that cannot be read, with the line."""
    program = (
        wb.parse("pipeline p(z: float, n: any, w: str) -> z: any, n: any, w: any { return z, n, w }").get().pipeline
    )
    chance, path = random.Random(seed), tmp_path / "log.xml"

    def said(bad_rows):
        try:
            made = wb.run(
                program, path, xml="row", columns={"n": "q/n", "w": "z"}, backend="reference", bad_rows=bad_rows
            )
            return made.to_dict()
        except InputError as error:
            return str(error)

    found = 0
    for _ in range(40):
        path.write_bytes(alike(chance).encode())
        monkeypatch.setattr(xml, "PIECE", 1 << 20)
        expected = said("error"), said("skip")
        found += isinstance(expected[1], dict)
        monkeypatch.setattr(xml, "PIECE", chance.choice([1, 60, 500]))
        assert (said("error"), said("skip")) == expected
    assert found > 5, "documents were read"


# --- limits ---------------------------------------------------------------------------------------------------


def run_whole(path, text, **options):
    path.write_text(text)
    program = wb.parse("pipeline p(z: int) -> int { return z }").get().pipeline
    return wb.run(program, path, xml="row", backend="reference", **options).to_dict()["out"]


ROW = "<row><z>1</z></row>"


@pytest.mark.parametrize(
    "around", ["<log>{}</log>", "<log><row><z>1</z>{}</row></log>", "<log>" + ROW + "<other>{}</other></log>"]
)
def test_elements_are_nested_only_so_deep(tmp_path, around):
    """Also beside rows, and however many there are: 140,000 of them ended in a traceback once."""
    path = tmp_path / "log.xml"
    inner, before = "" if "<z>" in around else ROW, around.partition("{")[0]
    fits = DEEPEST - (before.count("<") - 2 * before.count("</")) - (2 if inner else 0)
    assert run_whole(path, around.format("<d>" * fits + inner + "</d>" * fits)) == [1]
    for depth in (fits + 1, 140_000):
        with pytest.raises(InputError, match=rf"log\.xml: elements are nested more than {DEEPEST} deep"):
            run_whole(path, around.format("<d>" * depth + inner + "</d>" * depth))


@pytest.mark.parametrize("bad_rows", ["error", "skip"])
@pytest.mark.parametrize("text", ["<row><z>1</z>{}</row>", "{}<row><z>1</z></row>"])
@pytest.mark.parametrize("long", ["<!--{}-->", "<![CDATA[{}]]>", "{}", "<a b='{}'/>", "<{}/>", "<?p {}?>"])
def test_texts_and_tags_are_only_so_long(tmp_path, monkeypatch, text, long, bad_rows):
    monkeypatch.setattr(xml, "LARGEST", 1 << 16)
    path = tmp_path / "log.xml"
    for size in (1 << 15, 1 << 18):
        written = f"<log>{text.format(long.format('x' * size))}{ROW}</log>"
        if size < xml.LARGEST:
            assert run_whole(path, written, bad_rows=bad_rows) == [1, 1]
        else:
            with pytest.raises(InputError, match=r"log\.xml: (a text or a tag|<row>) is longer than"):
                run_whole(path, written, bad_rows=bad_rows)


def test_rows_are_only_so_large_and_documents_as_large_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(xml, "LARGEST", 1 << 16)
    path = tmp_path / "log.xml"
    assert run_whole(path, f"<log>{ROW * 20_000}</log>") == [1] * 20_000
    assert run_whole(path, f"<log>{'<a>x</a>' * 40_000}{ROW}</log>") == [1]
    with pytest.raises(InputError, match=r"log\.xml: <row> is longer than"):
        run_whole(path, f"<log><row><z>1</z>{'<a/>' * 40_000}</row></log>")


def test_paths_are_not_multiplied(tmp_path, monkeypatch):
    """Long names around many others are long paths: of a file of 1 MB gigabytes."""
    monkeypatch.setattr(xml_paths, "LONGEST", 1 << 20)
    name, leaves = "n" * 1000, "".join(f"<a{i}/>" for i in range(3000))
    with pytest.raises(InputError, match=r"log\.xml:1: the paths in <row> have more than"):
        run_whole(tmp_path / "log.xml", f"<log><row><z>1</z><{name}>{leaves}</{name}></row></log>")


def test_paths_are_in_the_order_of_the_document():
    row = ElementTree.fromstring("<row a='1'><b c='1'/><d><e f='1'>1</e><b/></d><b><g/></b></row>")
    assert list(xml_paths.paths_in(row)) == ["@a", "b", "b/@c", "d/e", "d/e/@f", "d/b", "b/g"]
