"""The names of dpmarket's packages, taken by somebody else's file or folder: one line, at import and at the command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
IMPORT = "import dpmarket"
COMMAND = "from dpmarket_packages import main; main()"  # as the installed command does
LAYOUTS = {
    "file": "{name}.py",
    "package": "{name}/__init__.py",
}


def run_beside(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program whose own folder comes before dpmarket's on the path of imports."""
    script = folder / "script.py"
    script.write_text(program)
    path = os.pathsep.join([str(folder), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=60
    )


def check_line(error: str, name: str) -> None:
    line = error.strip().splitlines()[-1]
    assert f"dpmarket: the name {name} must lead to dpmarket's own package; found " in line, error
    assert line.endswith("give dpmarket an environment of its own.")


@pytest.mark.parametrize("name", ["agents", "market", "learning", "scenarios"])
@pytest.mark.parametrize("layout", ["file", "package"])
def test_a_taken_name_is_one_line_with_the_remedy(tmp_path, name, layout):
    taken = tmp_path / LAYOUTS[layout].format(name=name)
    taken.parent.mkdir(exist_ok=True)
    taken.write_text('"""Something else."""\nfrom nowhere import nothing\n')
    imported = run_beside(tmp_path, IMPORT)
    assert imported.returncode == 1 and str(taken) in imported.stderr
    check_line(imported.stderr, name)
    assert imported.stderr.strip().splitlines()[-1].startswith("ImportError: ")
    commanded = run_beside(tmp_path, COMMAND, "--version")
    assert commanded.returncode == 2 and commanded.stdout == ""
    assert len(commanded.stderr.splitlines()) == 1
    check_line(commanded.stderr, name)


def test_a_package_that_another_one_wrote_over_is_seen_too(tmp_path):
    """Two packages installed under one name share a folder, and the later one's __init__.py stands in it."""
    folder = tmp_path / "site"
    folder.mkdir()
    for name in ("learning", "market", "scenarios", "dpmarket.py", "dpmarket_packages.py"):
        (folder / name).symlink_to(ROOT / name)
    shared = folder / "agents"
    shared.mkdir()
    for path in (ROOT / "agents").iterdir():
        (shared / path.name).symlink_to(path)
    (shared / "__init__.py").unlink()
    (shared / "__init__.py").write_text("from .model import Agent\n")
    check_line(run_beside(folder, IMPORT).stderr, "agents")


def test_a_folder_without_code_takes_no_name(tmp_path):
    (tmp_path / "market").mkdir()
    done = run_beside(tmp_path, COMMAND, "--version")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("dpmarket ")


def test_each_package_begins_with_the_words_it_is_known_by():
    from dpmarket_packages import PACKAGES

    for name, opening in PACKAGES.items():
        assert (ROOT / name / "__init__.py").read_text().startswith(f'"""{opening}')
