"""Notebooks keep their outputs, name no machine, and run through."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@every_notebook
def test_a_notebook_keeps_its_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1)), (
        "run all cells once, in order"
    )
    outputs = [output for cell in code for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert all(
        output.get("name") != "stderr" and output.output_type != "error" for output in outputs
    )
    assert not [
        place
        for place in ("/home/", "/root/", "/Users/", "/tmp/", "site-packages")
        if place in path.read_text()
    ]


@pytest.mark.slow
@pytest.mark.notebook
@every_notebook
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::RuntimeWarning"
)  # of Jupyter's own
def test_a_notebook_runs_through(path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
    ).execute()


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 5
