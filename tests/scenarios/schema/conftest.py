"""The least scenario as a file."""

from pathlib import Path

import pytest
from minimal import MINIMAL


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.toml"
    path.write_text(MINIMAL)
    return path
