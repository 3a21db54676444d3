"""Programs that name functions of Python files: run with the option, and told what it would do without."""

from pathlib import Path

from tests.cli.conftest import Run

RISKY = "docs/examples/risky.pipe"


def test_a_python_file_is_run_with_the_option_alone(workbench: Run, tmp_path: Path) -> None:
    log = tmp_path / "payments.csv"
    log.write_text("amount,country\n900,fr\n900,de\n5,xx\n")
    refused = workbench("run", RISKY, "--input", log)
    assert (refused.code, refused.out) == (2, "")
    assert "would run the Python file 'risk.py'" in refused.err
    assert "add --allow-python" in refused.err
    done = workbench("run", RISKY, "--input", log, "--allow-python")
    assert (done.code, done.out) == (2, "out\ntrue\nfalse\n")
    assert "step 2: " in done.err
    assert "failed on 5.0, 'xx': KeyError: 'xx', in " in done.err
    assert "docs/examples/risk.py:8" in done.err
