"""XML in pieces, and rows of one shape: the same as of rows that are looked at one by one, in a document as a whole."""

import random
from xml.etree import ElementTree

import pytest

import workbench as wb
from workbench.errors import InputError
from workbench.events import xml, xml_shape, xml_written

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


@pytest.mark.parametrize("seed", range(3))
def test_shapes_change_nothing(program, tmp_path, monkeypatch, seed):
    chance, path = random.Random(seed), tmp_path / "log.xml"
    monkeypatch.setattr(xml_shape, "MOST", 20)
    for _ in range(25):
        path.write_text(document(chance, [row(chance) for _ in range(chance.randrange(1, 6))]))
        with monkeypatch.context() as patch:
            patch.setattr(xml_shape.RowShapes, "cells", lambda *_: None)
            patch.setattr(xml_written.WrittenRows, "_row", lambda *_: None)
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


@pytest.mark.parametrize("seed", range(4))
def test_rows_without_a_parser_are_those_that_it_reads(tmp_path, monkeypatch, seed):
    """Values, and what is said of rows and documents that cannot be read, with the line."""
    program = (
        wb.parse("pipeline p(z: float, n: any, w: str) -> z: any, n: any, w: any { return z, n, w }").get().pipeline
    )
    chance, path, found = random.Random(seed), tmp_path / "log.xml", 0
    monkeypatch.setattr(xml, "PIECE", chance.choice([1 << 13, 60]))

    def said(bad_rows):
        try:
            made = wb.run(
                program, path, xml="row", columns={"n": "q/n", "w": "z"}, backend="reference", bad_rows=bad_rows
            )
            return made.to_dict()
        except InputError as error:
            return str(error)

    plain = xml_written.WrittenRows._row

    def counted(rows, *where):
        nonlocal found
        row = plain(rows, *where)
        found += row is not None
        return row

    for _ in range(80):
        path.write_bytes(alike(chance).encode())
        with monkeypatch.context() as patch:
            patch.setattr(xml_written.WrittenRows, "_row", lambda *_: None)
            expected = said("error"), said("skip")
        with monkeypatch.context() as patch:
            patch.setattr(xml_written.WrittenRows, "_row", counted)
            assert (said("error"), said("skip")) == expected
    assert found > 200, "rows were read that way"
