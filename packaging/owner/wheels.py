"""Lists of a folder of wheels, for whoever deploys an owner's program.

    python wheels.py pin FOLDER     requirements with the SHA-256 of each wheel, for pip
    python wheels.py trust FOLDER   a table of what is trusted: package, version, licence, what for

Everything is read from the wheels themselves; nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import re
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

PURPOSES = {
    "dpmarket-owner": "the owner's program",
    "numpy": "sums over records",
    "scipy": "functions of the normal distribution in claims, logistic slopes",
    "pydantic": "form of contracts and messages",
    "opendp": "exact noise from the system's random source",
    "cryptography": "signatures, sealed answers, masks",
    "typer": "the command line",
    "rich": "lines on a terminal",
    "pyarrow": "tables in Parquet",
}  # of those that the program imports itself; of all others, who needs them is read


def read_metadata(wheel: Path) -> Message:
    """Metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        name = next(one for one in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", one))
        return Parser().parsestr(archive.read(name).decode("utf-8"))


def plain_name(name: str) -> str:
    """Name of a package as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def licence_of(about: Message) -> str:
    """Licence that a package states, in a line."""
    stated = about["License-Expression"]
    classes = [one for one in about.get_all("Classifier", []) if one.startswith("License ::")]
    named = [one.rpartition(" :: ")[2] for one in classes]
    first = (about["License"] or "").strip().partition("\n")[0]
    return stated or ", ".join(named) or first[:60] or "not stated"


def needed_names(about: Message) -> set[str]:
    """Packages that a package always needs."""
    lines = [one for one in about.get_all("Requires-Dist", []) if "extra ==" not in one]
    return {plain_name(re.split(r"[ ;<>=~!(\[]", one)[0]) for one in lines}


def pin(wheels: list[Path]) -> str:
    """Requirements of exactly these wheels."""
    lines = []
    for wheel in wheels:
        about = read_metadata(wheel)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        lines.append(f"{plain_name(about['Name'])}=={about['Version']} --hash=sha256:{digest}")
    return "\n".join(lines)


def trust(wheels: list[Path]) -> str:
    """Table, in Markdown, of what is trusted and what for."""
    known = [read_metadata(wheel) for wheel in wheels]
    rows = ["| package | version | licence | what for |", "|---|---|---|---|"]
    for about in known:
        name = plain_name(about["Name"])
        users = [one["Name"] for one in known if name in needed_names(one)]
        purpose = PURPOSES.get(name) or f"needed by {', '.join(users) or 'nothing'}"
        rows.append(f"| {name} | {about['Version']} | {licence_of(about)} | {purpose} |")
    return "\n".join(rows)


def main(arguments: list[str]) -> int:
    """Print a list; status 2 with a line if the folder or the list is unknown."""
    lists = {"pin": pin, "trust": trust}
    if len(arguments) != 2 or arguments[0] not in lists:
        print(__doc__, file=sys.stderr)
        return 2
    wheels = sorted(Path(arguments[1]).glob("*.whl"))
    if not wheels:
        print(f"wheels.py: {arguments[1]}: must be a folder with wheels", file=sys.stderr)
        return 2
    print(lists[arguments[0]](wheels))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
