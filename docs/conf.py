"""How Sphinx makes the site (`make docs`): the pages in Markdown, the API from the docstrings."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from pygments.lexer import RegexLexer, words
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, Text, Whitespace
from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, NumpyDocstring

import workbench
from workbench.processors import PROCESSORS

project = "workbench"
release = version = workbench.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_design", "sphinx_copybutton"]
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
# the side bar has all pages
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": True, "navbar_center": []}
html_sidebars = {"**": ["all-pages.html"]}
html_copy_source = False
nitpick_ignore = [("py:class", "immutables._map.Map")]  # the base of a class, which has no page


def make_lexer(*rows: tuple[str, object]) -> type[RegexLexer]:
    """Return what colours a language, by patterns."""
    return type("Colours", (RegexLexer,), {"name": "workbench", "tokens": {"root": [*rows]}})


FOLDER = Path(__file__).parent
GRAMMARS = "".join(path.read_text(encoding="utf-8") for path in FOLDER.parent.glob("workbench/*/*.lark"))
WORDS = [*re.findall(r'(?:"|: /)(\w{2,})\b', GRAMMARS), *"rule Rule ordered implies int float bool str text".split()]
PROGRAM = make_lexer(
    (r"\s+", Whitespace),
    (r"#.*", Comment.Single),
    (r"\"[^\"\n]*\"|'[^'\n]*'", String),
    (words(WORDS, prefix=r"\b", suffix=r"\b"), Keyword),
    (words(sorted(PROCESSORS), prefix=r"\b", suffix=r"\b"), Name.Builtin),
    (r"\$?[A-Za-z_]\w*", Name),
    (r"\d+(\.\d+)?", Number),
    (r"[^\w\s]", Operator),
)
LANGUAGES = {
    **dict.fromkeys(("pipe", "tesla"), PROGRAM),
    # a `#` begins no command, as the usual lexer has it
    "console": make_lexer((r"^\$ ", Generic.Prompt), (r"(?<=^\$ ).*\n", Text), (r".*\n", Generic.Output)),
    **dict.fromkeys(("run", "csv", "log", "message", "mistake"), TextLexer),
}


def setup(app: Sphinx) -> None:
    """Name the languages of the pages, and copy the reports into the site, where the pages link to them."""
    for language, lexer in LANGUAGES.items():
        app.add_lexer(language, lexer)
    ignore = shutil.ignore_patterns("*.jsonl")
    shutil.copytree(FOLDER.parent / "reports", FOLDER / "reports", ignore=ignore, dirs_exist_ok=True)
    app.connect("source-read", link_reports)
    app.connect("autodoc-process-docstring", mark_fields)


def link_reports(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Have links of a page to the reports lead to those of the site."""
    source[0] = re.sub(r"\]\((\.\./)+reports/", "](/reports/", source[0])


ITEM = re.compile(r"^([\w.]+(?:, [\w.]+)*): (.*(?:\n .*)*)", re.MULTILINE)
NAPOLEON = Config(napoleon_use_ivar=True, napoleon_custom_sections=["Returns", "Class attributes"])


def mark_fields(_app: Sphinx, _what: str, _name: str, _item: object, _options: object, lines: list[str]) -> None:
    """Turn the items of a docstring's sections, lines `name: text`, into those of numpydoc, and these into fields."""
    head, rule, sections = "\n".join(lines).partition("\n---")
    flat = re.sub(r"\n +", "\n    ", sections)
    items = ITEM.sub(lambda i: "\n".join(f"{name}\n    {i[2]}" for name in i[1].split(", ")), flat)
    lines[:] = str(NumpyDocstring(head + rule + items, NAPOLEON)).split("\n")
