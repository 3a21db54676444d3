"""One place for the looks that pages share."""

import re

import pytest

from workbench.lab.report_files import environment
from workbench.show.style import asset, style

SETS = re.compile(r"(?<=[{;])\s*(--[a-z]+):")


@pytest.mark.parametrize("page", ["explorer", "demo", "lab", "explanation"])
def test_a_page_changes_no_colour_that_all_share(page):
    shared = set(SETS.findall(asset("page.css"))) - {"--c"}  # that of an outcome, set for what speaks of it
    assert {"--bg", "--ink", "--holds"} <= shared
    assert not shared & set(SETS.findall(asset(f"{page}.css")))
    assert style(page).startswith(asset("page.css"))


@pytest.mark.parametrize("page", ["explorer", "demo", "lab", "explanation"])
def test_a_page_uses_the_colours_that_there_are(page):
    used = set(re.findall(r"var\((--[a-z]+)\)", style(page)))
    assert used <= {*SETS.findall(style(page)), "--c"}


def test_the_pages_of_the_lab_have_its_style():
    pytest.importorskip("jinja2")
    assert style("lab") in environment().from_string("{% extends 'base.html' %}").render()
