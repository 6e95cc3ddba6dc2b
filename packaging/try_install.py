"""Trial of an installed dpmarket, by the Python that runs this file: make installed PYTHON=...

It builds sdist and wheel, installs the wheel into an empty environment in another folder, and runs
every command once, with PATH and HOME alone. The first failure ends it with status 1.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent
STUDY = 'scenario = "three_insurers"\ntraining = false\n[grid]\npolicy.budget = [500, 2000]\n'
PROGRAM = "import dpmarket\nreveal_type(dpmarket.run)\ndpmarket.run(3)\n"
CORE = ["--version", "run three_insurers", "sweep study.toml --workers 2"]
CORE += ["design three_insurers", "reproduce TH-cost --quick"]
REFUSED = {"exchange": "release", "dashboard": "app"}  # without this extra


def call(what: str, command: list, folder: Path, *, status: int = 0) -> str:
    """Run a command, print its seconds, end where it fails; pip alone keeps its user's settings."""
    kept = {} if str(command[0]).endswith("dpmarket") else dict(os.environ)
    bare = kept | {"PATH": os.defpath, "HOME": str(folder)}
    start = time.monotonic()
    asked = [*map(str, command)]
    done = subprocess.run(asked, cwd=folder, env=bare, capture_output=True, text=True, timeout=1800)
    print(f"{what:24}{time.monotonic() - start:7.1f} s", flush=True)
    said = done.stdout + done.stderr
    if done.returncode != status or "Traceback" in said:
        sys.exit(f"{what}: status {done.returncode}\n{said}")
    return said


def print_size(folder: Path) -> None:
    """Print the sum of the sizes of the files below a folder."""
    size = sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{'size':24}{size / 1e6:7.1f} MB", flush=True)


def check(found: bool, what: str) -> None:
    """End with status 1 where something is not as it should be."""
    if not found:
        sys.exit(f"not found: {what}")


def open_dashboard(command: Path, folder: Path) -> None:
    """Start the dashboard, read its page, and end it."""
    bare = {"PATH": os.defpath, "HOME": str(folder), "PYTHONUNBUFFERED": "1"}
    asked = [str(command), "dashboard", "--no-browser", "--port", "0"]
    with subprocess.Popen(asked, cwd=folder, env=bare, stdout=subprocess.PIPE, text=True) as page:
        try:
            lines = iter(page.stdout or ())
            address = next((a[0] for a in (re.findall(r"http://\S+/", x) for x in lines) if a), "")
            check(bool(address), "the address of the dashboard")
            with urlopen(address, timeout=60) as answer:
                check(b"solara-" in answer.read(), "its page")  # a browser draws the rest
        finally:
            page.terminate()
    print("dashboard", flush=True)


def main() -> None:
    """Build; install without extras, then with; try every command."""
    print(f"Python {sys.version.split()[0]}", flush=True)
    with tempfile.TemporaryDirectory(prefix="dpmarket installed ") as name:
        here = Path(name).resolve()
        for environment in ("tools", "fresh"):
            call(f"venv {environment}", [sys.executable, "-m", "venv", environment], here)
        pip = ["-m", "pip", "install", "-q", "--disable-pip-version-check"]
        tools, fresh = here / "tools/bin/python", here / "fresh/bin/python"
        call("install build, mypy", [tools, *pip, "build", "mypy"], here)
        call("build sdist, then wheel", [tools, "-m", "build", "--outdir", here, ROOT], here)
        wheel, dpmarket = next(here.glob("*.whl")), here / "fresh/bin/dpmarket"
        (here / "study.toml").write_text(STUDY)
        (here / "program.py").write_text(PROGRAM)

        call("install the wheel", [fresh, *pip, wheel], here)
        print_size(here / "fresh")
        for line in CORE:
            call(line.split()[0], [dpmarket, *line.split()], here)
        for what, extra in REFUSED.items():
            said = call(f"{what}, refused", [dpmarket, what, "three_insurers"], here, status=2)
            check(f".[{extra}]" in said and len(said.splitlines()) == 1, f"extra {extra}")
        seen = [tools, "-m", "mypy", "--python-executable", fresh, "program.py"]
        said = call("mypy", seen, here, status=1)  # of the wrong argument alone
        check("opened.Result" in said and "Found 1 error" in said, said)

        call("install its extras", [fresh, *pip, f"{wheel}[app,release,sobol]"], here)
        call("pip check", [fresh, "-m", "pip", "check"], here)
        print_size(here / "fresh")
        call("exchange", [dpmarket, "exchange", "three_insurers"], here)
        open_dashboard(dpmarket, here)


if __name__ == "__main__":
    main()
