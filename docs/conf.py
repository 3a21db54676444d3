"""How Sphinx makes the site (`make docs`): the pages in Markdown, the API from the docstrings."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, words
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, Text, Whitespace
from sphinx.application import Sphinx

import workbench
from workbench.processors import PROCESSORS

project = "workbench"
author = "the maintainers of workbench"
release = version = workbench.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_design", "sphinx_copybutton"]
exclude_patterns = ["examples", "_templates"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
autodoc_typehints = "none"  # the signatures in the code have them; here they would hide the parameters' names
autodoc_member_order = "bysource"
default_role = "literal"  # as docstrings mean `name`
# only what a person types is copied, not the prompt and not what the command prints
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "workbench"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "show_prev_next": True,
    "navbar_center": [],  # the side bar has all pages
}
html_sidebars = {"**": ["all-pages.html"]}
html_show_sourcelink = False
html_copy_source = False
nitpick_ignore = [("py:class", "immutables._map.Map")]  # the base of a class, which has no page


class ProgramLexer(RegexLexer):
    """Colours of pipelines and rules."""

    name = "workbench"
    keywords = (
        "pipeline machine monitor function use check var state when if then else return capacity fault by true false "
        "rule Rule define from where within between and or not as each first last absent consuming emit declare fact "
        "aggregate include limit per forever order ordered implies int float bool str text sat checked mod div"
    ).split()
    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"#.*", Comment.Single),
            (r"\"[^\"\n]*\"|'[^'\n]*'", String),
            (words(keywords, prefix=r"\b", suffix=r"\b"), Keyword),
            (words(sorted(PROCESSORS), prefix=r"\b", suffix=r"\b"), Name.Builtin),
            (r"\$?[A-Za-z_]\w*", Name),
            (r"\d+(\.\d+)?", Number),
            (r"[^\w\s]", Operator),
        ]
    }


class ConsoleLexer(RegexLexer):
    """Colours of commands and what they print; a `#` there begins no command, as the usual lexer has it."""

    name = "console"
    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [(r"^\$ ", Generic.Prompt), (r"(?<=^\$ ).*\n", Text), (r".*\n", Generic.Output)]
    }


class TestedLexer(TextLexer):
    """Blocks that the tests read: what is printed, and the contents of files."""

    name = "tested"


def setup(app: Sphinx) -> None:
    """Name the languages of the pages, and copy the reports into the site, where the pages link to them."""
    for language in ("pipe", "tesla"):
        app.add_lexer(language, ProgramLexer)
    app.add_lexer("console", ConsoleLexer)
    for language in ("run", "csv", "log", "message", "mistake"):
        app.add_lexer(language, TestedLexer)
    here = Path(__file__).parent
    shutil.copytree(
        here.parent / "reports", here / "reports", ignore=shutil.ignore_patterns("*.jsonl"), dirs_exist_ok=True
    )
    app.connect("source-read", link_reports)
    app.connect("autodoc-process-docstring", mark_fields)


def link_reports(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Have links of a page to the reports lead to those of the site."""
    source[0] = re.sub(r"\]\((\.\./)+reports/", "](/reports/", source[0])


FIELDS = {"Parameters": "param", "Attributes": "ivar", "Raises": "raises"}
ITEM = re.compile(r"(\w+(?:, \w+)*): (.*)")


def mark_fields(_app: Sphinx, _what: str, _name: str, _item: object, _options: object, lines: list[str]) -> None:
    """Turn the sections of a docstring, whose items are lines `name: text`, into fields of reStructuredText."""
    field, found = "", list[str]()
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        item = ITEM.fullmatch(line)
        if re.fullmatch("-+", below) and line:
            field = FIELDS.get(line, "")
            found += ["", *([] if field else [f"**{line}**"])]
        elif re.fullmatch("-+", line):
            found.append("")
        elif item and field:
            found += [f":{field} {name}: {item[2]}" for name in item[1].split(", ")]
        else:
            found += ["", line] if field and line and not line.startswith(" ") else [line]
    lines[:] = [*found, ""]
