"""Trial of an installed dpmarket: make installed PYTHON=python3.13.

With the Python that runs this file, it builds sdist and wheel, and installs the wheel into an empty
environment, in another folder. Every command runs once with no variables but PATH and HOME.
The first failure ends it with status 1. What it prints has seconds of the clock and MB on disk.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent
STUDY = 'scenario = "three_insurers"\ntraining = false\n[grid]\npolicy.budget = [500, 2000]\n'
PROGRAM = "import dpmarket\nreveal_type(dpmarket.run)\ndpmarket.run(3)\n"
CORE = {  # what an install without extras does
    "version": ["--version"],
    "run": ["run", "three_insurers"],
    "sweep": ["sweep", "study.toml", "--workers", "2"],
    "design": ["design", "three_insurers"],
    "reproduce": ["reproduce", "TH-cost", "--quick"],
}
REFUSED = {"exchange": "release", "dashboard": "app"}  # without this extra


def call(what: str, command: Sequence[object], folder: Path, *, status: int = 0) -> str:
    """Run a command with an empty environment; print how long it took, end where it fails."""
    # pip keeps the settings of who calls it: where packages come from is not what is tried
    kept = {} if str(command[0]).endswith("dpmarket") else dict(os.environ)
    bare = kept | {"PATH": os.defpath, "HOME": str(folder)}
    start = time.monotonic()
    done = subprocess.run(
        [*map(str, command)], cwd=folder, env=bare, capture_output=True, text=True, timeout=1800
    )
    print(f"{what:24}{time.monotonic() - start:7.1f} s", flush=True)
    said = done.stdout + done.stderr
    if done.returncode != status or "Traceback" in said:
        sys.exit(f"{what}: status {done.returncode}\n{said}")
    return said


def measure_folder(folder: Path) -> float:
    """Sum the sizes of the files below a folder, in MB."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def check(found: bool, what: str) -> None:
    """End with status 1 where something is not as it should be."""
    if not found:
        sys.exit(f"not found: {what}")


def open_dashboard(command: Path, folder: Path) -> None:
    """Start the dashboard, read its page, and end it."""
    start = time.monotonic()
    bare = {"PATH": os.defpath, "HOME": str(folder), "PYTHONUNBUFFERED": "1"}
    asked = [str(command), "dashboard", "--no-browser", "--port", "0"]
    with subprocess.Popen(asked, cwd=folder, env=bare, stdout=subprocess.PIPE, text=True) as page:
        try:
            lines = iter(page.stdout or ())
            address = next((a[0] for a in (re.findall(r"http://\S+/", x) for x in lines) if a), "")
            check(bool(address), "the address of the dashboard")
            with urlopen(address, timeout=60) as answer:
                check(answer.status == 200 and b"dpmarket" in answer.read(), "its page")
        finally:
            page.terminate()
    print(f"{'dashboard':24}{time.monotonic() - start:7.1f} s", flush=True)


def main() -> None:
    """Build, install without extras and with, and try every command."""
    print(f"Python {sys.version.split()[0]}", flush=True)
    with tempfile.TemporaryDirectory(prefix="dpmarket installed ") as name:
        here = Path(name).resolve()
        for environment in ("tools", "fresh"):
            call(f"venv {environment}", [sys.executable, "-m", "venv", environment], here)
        pip = ["-m", "pip", "install", "-q", "--disable-pip-version-check"]
        tools, fresh = here / "tools/bin/python", here / "fresh/bin/python"
        call("install build, mypy", [tools, *pip, "build", "mypy"], here)
        call("build sdist, then wheel", [tools, "-m", "build", "--outdir", here, ROOT], here)
        wheel = next(here.glob("*.whl"))
        (here / "study.toml").write_text(STUDY)
        (here / "program.py").write_text(PROGRAM)
        dpmarket = here / "fresh/bin/dpmarket"

        call("install the wheel", [fresh, *pip, wheel], here)
        print(f"{'size':24}{measure_folder(here / 'fresh'):7.1f} MB")
        for what, arguments in CORE.items():
            call(what, [dpmarket, *arguments], here)
        for what, extra in REFUSED.items():
            said = call(f"{what}, refused", [dpmarket, what, "three_insurers"], here, status=2)
            check(f"dpmarket[{extra}]" in said and len(said.splitlines()) == 1, f"extra {extra}")
        seen = [tools, "-m", "mypy", "--python-executable", fresh, "program.py"]
        said = call("mypy", seen, here, status=1)  # of the wrong argument alone
        check("opened.Result" in said and "Found 1 error" in said, said)

        call("install its extras", [fresh, *pip, f"{wheel}[app,release,sobol]"], here)
        call("pip check", [fresh, "-m", "pip", "check"], here)
        print(f"{'size':24}{measure_folder(here / 'fresh'):7.1f} MB")
        call("exchange", [dpmarket, "exchange", "three_insurers"], here)
        open_dashboard(dpmarket, here)


if __name__ == "__main__":
    main()
