"""What numba keeps of the loops of the compiled search: an index that cannot be read is removed, and fails nothing."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

pytest.importorskip("numba")

import numba

from workbench.executors.compiled.code import numba_cache


def test_an_index_that_cannot_be_read_is_removed(tmp_path: Path) -> None:
    index = {name: tmp_path / f"kernels.{name}-1.py311.nbi" for name in ("renamed", "older", "empty", "vanished")}
    own = pickle.dumps(numba.__version__)
    index["renamed"].write_bytes(own + pickle.dumps(Path).replace(b"Path", b"Pith"))
    index["older"].write_bytes(pickle.dumps("0.1") + b"in another form")  # numba reads the version, and writes it anew
    index["empty"].touch()
    index["vanished"].symlink_to(tmp_path / "nowhere")  # listed, and not there where it is opened
    numba_cache.drop_unreadable(tmp_path, ["kernels"])
    assert {name for name, path in index.items() if path.is_symlink() or path.exists()} == {"older", "vanished"}
