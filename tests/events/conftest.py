import pytest

from workbench.events import lines


@pytest.fixture(autouse=True)
def columns_of_few_rows(monkeypatch):
    """Columns are looked for in small logs, too."""
    monkeypatch.setattr(lines, "MIN_COLUMN_BYTES", 0)
