"""Makes the pictures of docs/ from the tool: `python scripts/pictures.py`.

`--check` changes nothing, and ends with 1 where one is out of date. Drawings of graphviz are compared by their texts:
other versions place these elsewhere. `--browser` takes the pictures of pages, with Chromium, too; look at them.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]
from grammar_diagrams import Grammar, picture  # noqa: E402

import workbench as wb  # noqa: E402
from workbench.show.draw import svg  # noqa: E402
from workbench.tesla.engines.set_plan import SetPlan  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
GRAMMARS = {"pipe": "workbench/language/pipe.lark", "rules": "workbench/tesla/tesla.lark"}


@cache
def grammar(language: str) -> Grammar:
    """Return the grammar of a language."""
    return Grammar((ROOT / GRAMMARS[language]).read_text(encoding="utf-8"))


def diagrams() -> dict[str, Callable[[], str]]:
    """Return the railroad diagrams of the grammars, one picture for each of their parts."""
    return {
        f"grammar-{language}-{part.replace(' ', '-')}": partial(picture, grammar(language), part)
        for language in GRAMMARS
        for part, rules in grammar(language).parts.items()
        if rules
    }


def program(page: str, text: str, name: str, repair: tuple[str, str] = ("", "")) -> str:
    """Draw a pipeline of a text that stands in a page of the docs, below a line such as "```pipe siren.pipe"."""
    blocks = re.findall(r"^```pipe (\S+)\n(.*?)^```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.M | re.S)
    return svg(wb.parse(dict(blocks)[text].replace(*repair)).get(name).pipeline)


def first_rule() -> str:
    """Draw the rule with which the page of the rules begins."""
    found = re.search(
        r"^```\n(declare .*?)^```", (ROOT / "docs/reference/rules.md").read_text(encoding="utf-8"), re.M | re.S
    )
    return svg(wb.rules.parse_rules(found[1] if found else ""))


def rules(file: str) -> wb.rules.RuleSet:
    """Read rules of the examples."""
    return wb.rules.load_rules(ROOT / "models" / "tesla" / file)


DRAWN: dict[str, Callable[[], str]] = {
    **diagrams(),
    "starts": partial(program, "tutorial/cold-room.md", "siren.pipe", "starts", ("t < 3", "t < 3 / warm := 0")),
    "by_hand": partial(program, "tutorial/cold-room.md", "three.pipe", "by_hand"),
    "late": partial(program, "howto/figures.md", "late.pipe", "late"),
    "rise": partial(program, "howto/smallest-buffers.md", "rise.pipe", "rise"),
    "rules-fire": first_rule,
    "rules-silence": lambda: svg(rules("silence.tesla")),
    "rules-plan": lambda: svg(SetPlan(rules("fire.tesla"))),
}


def path(name: str) -> Path:
    """Return the file of a picture."""
    return PICTURES / f"{name}.svg"


COMMANDS = {
    "explorer": "check models/time2021/sum_of_odds.pipe --html {page}",
    "monitor": "monitor smv/systems/peterson_reordered.smv models/monitors/peterson.pipe:mutual_exclusion "
    "--html {page}",
    "explanation": "explain models/tesla/fire.tesla --input models/tesla/fire.jsonl "
    "--missing 'Fire at 12:05:00' --html {page}",
    "demo": "demo --out {folder}",
    "notebook": "",
    "report": "lab report delays --experiments {folder} --data {folder}/results --out {folder}",
}
"""The commands that write the pages of the pictures, as `{page}` or as `{folder}/index.html`."""
SIZES = {
    "explorer": (1240, 1130),
    "monitor": (1100, 900),
    "explanation": (1100, 790),
    "demo": (1100, 900),
    "notebook": (1000, 1100),
    "report": (1100, 880),
}
NOTEBOOK = """<!doctype html><meta charset=utf-8><style>body{font:15px sans-serif;margin:20px 60px;max-width:900px}
.code{background:#f5f5f5;border:1px solid #ddd;padding:8px}table{border-collapse:collapse;margin:auto}
th,td{padding:4px 10px;text-align:right}tr:nth-child(even){background:#f5f5f5}</style>"""
"""How a notebook looks."""
STEPS = {"explorer": "run=4&step=8", "monitor": "step=6"}


def page_of(name: str, folder: Path) -> Path:
    """Write a page with the command that users call, and return its file."""
    if name == "notebook":
        return notebook(folder / "page.html")
    if name == "report":
        text = (ROOT / "docs" / "howto" / "figures.md").read_text(encoding="utf-8")
        code = re.search(r"^```python delays.py\n(.*?)^```", text, re.M | re.S)
        (folder / "delays.py").write_text(code[1] if code else "")
        run(f"lab run delays --experiments {folder} --data {folder}/results")
    page = folder / ("page.html" if "{page}" in COMMANDS[name] else "index.html")
    run(COMMANDS[name].format(page=page, folder=folder))
    return page


def notebook(page: Path) -> Path:
    """Write the first cells of the tour as a notebook shows them."""
    cells = json.loads((ROOT / "docs" / "tour.ipynb").read_text(encoding="utf-8"))["cells"][1:6]
    parts = [NOTEBOOK]
    for cell in cells:
        text = escape("".join(cell["source"])).replace("`", "")
        parts.append(f"<pre class=code>{text}</pre>" if cell["cell_type"] == "code" else f"<p>{text}</p>")
        parts += ["".join(each["data"]["text/html"]) for each in cell.get("outputs", [])]
    page.write_text("".join(parts), encoding="utf-8")
    return page


def run(command: str) -> None:
    """Run a command of workbench; 1 is a property that fails."""
    done = subprocess.run([sys.executable, "-m", "workbench.cli.main", *shlex.split(command)], cwd=ROOT, check=False)
    assert done.returncode <= 1, command


def photograph() -> None:
    """Take the pictures of pages."""
    from tests.verify.browser import chromium

    for name in COMMANDS:
        with tempfile.TemporaryDirectory() as folder, chromium() as browser:
            width, height = SIZES.get(name, (1100, 760))
            browser.send(
                "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
            )
            browser.open(page_of(name, Path(folder)), STEPS.get(name, ""))
            taken = browser.send("Page.captureScreenshot", format="png")["data"]
            (PICTURES / f"{name}.png").write_bytes(base64.b64decode(taken))


def texts(svg: str) -> list[str]:
    """Return what is written in a picture, in no order."""
    return sorted(re.findall(r"<text[^>]*>([^<]*)<", svg))


def is_current(file: Path, svg: str) -> bool:
    """Whether a file has this picture."""
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    return texts(old) == texts(svg) if "graphviz" in svg else old == svg


def main() -> int:
    """Write what is out of date, or name it."""
    code = 0
    for name, draw in DRAWN.items():
        file, svg = path(name), draw()
        if not is_current(file, svg):
            print(file.relative_to(ROOT))
            code = int("--check" in sys.argv)
            if not code:
                file.write_text(svg, encoding="utf-8")
    if "--browser" in sys.argv:
        photograph()
    return code


if __name__ == "__main__":
    sys.exit(main())
