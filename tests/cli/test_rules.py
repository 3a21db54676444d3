"""`workbench rules`: rules are checked, and printed in the extended grammar."""

from tests.tesla.test_language import OLDER
from workbench.tesla.check import load_rules


def test_the_command_checks_and_prints(workbench, tmp_path):
    (tmp_path / "old.tesla").write_text(OLDER)
    done = workbench("rules", "check", tmp_path / "old.tesla")
    assert (done.code, done.out) == (0, f"{tmp_path / 'old.tesla'}: 6 rules, 8 types\n")
    (tmp_path / "new.tesla").write_text(workbench("rules", "format", tmp_path / "old.tesla").out)
    assert load_rules(tmp_path / "new.tesla").rules == load_rules(tmp_path / "old.tesla").rules
    (tmp_path / "old.tesla").write_text(OLDER.replace("Val <= $x", "Vel <= $x"))
    done = workbench("rules", "check", tmp_path / "old.tesla")
    assert done.code == 2
    assert "RepA has no attribute 'Vel'" in done.err
