"""`workbench dataflow show`."""

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.show.test_flow_moments import PIPE, history
from workbench.show.flow_moments import history_page, history_text


def test_the_command(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "p.pipe").write_text(PIPE)
    (tmp_path / "x.csv").write_text("x\n" + "7\n" * 9)
    given = ("dataflow", "show", tmp_path / "p.pipe", "--input", tmp_path / "x.csv")
    shown = json.loads(workbench(*given, "--json").out)
    assert shown == json.loads(json.dumps(history().to_json()))
    assert [each["name"] for each in shown["vertices"]][:3] == ["log", "turn", "count"]
    assert workbench(*given).out == history_text(history())
    assert workbench(*given, "--phases", 0).code == 2
    done = workbench(*given, "-o", tmp_path / "page.html")
    assert (done.code, done.out) == (0, "")
    assert (tmp_path / "page.html").read_text() == history_page(history())
