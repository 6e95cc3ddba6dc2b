"""Files damaged on purpose: bytes, lines, JSON and tables of which one thing is other than it was."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from broken import ODD_VALUES
from hypothesis import strategies as st

ODD_JSON = [value for value in ODD_VALUES if not (isinstance(value, int) and abs(value) > 10**300)]
JUNK = [
    b"",
    b"\0",
    b"{}",
    b"[]",
    b"null",
    b"{",
    b"\xff\xfe",
    b"PAR1",
    b"a,b\n1\n",
    b"\xef\xbb\xbf{}",
    b"[" * 5000,
]
HOW = [
    "junk",
    "cut",
    "byte",
    "gone",
    "folder",
    "large",
    "link",
    "inside",
    "inside",
    "inside",
    "inside",
    "twice",
]


def places_of(content: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Each place in nested tables and lists, of long lists the first two."""
    inner = (
        content.items()
        if isinstance(content, dict)
        else enumerate(content[:2])
        if isinstance(content, list)
        else ()
    )
    return [
        place for key, part in inner for place in [(*above, key), *places_of(part, (*above, key))]
    ]


def alter_json(draw: st.DrawFn, raw: bytes) -> bytes:
    """JSON in which one value is another, or gone, written as this program writes it."""
    content = json.loads(raw)
    *above, key = draw(st.sampled_from(places_of(content)))
    part = content
    for step in above:
        part = part[step]
    odd = draw(st.sampled_from([*ODD_JSON, "gone", "gone"]))
    if odd == "gone":
        del part[key]
    else:
        part[key] = odd
    return (json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode(
        "utf-8", "surrogatepass"
    )


def alter_table(draw: st.DrawFn, raw: bytes) -> bytes:
    """A text in which one cell is another, or one line is gone."""
    lines = [line.split(",") for line in raw.decode().split("\n")]
    at = draw(st.integers(0, len(lines) - 1))
    column = draw(st.integers(0, len(lines[at]) - 1))
    lines[at][column] = draw(
        st.sampled_from(["", "x", "nan", "1e999", '"', "a,b", "\x1b[31m", "-1", "\0", "é"])
    )
    if draw(st.booleans()):
        lines[at] = lines[at][:column]
    return "\n".join(map(",".join, lines)).encode()


@st.composite
def damages(draw: st.DrawFn, folder: Path, names: list[str]) -> str:
    """Damage one file of a folder in one way; says what was done."""
    name = draw(st.sampled_from(names))
    how = draw(st.sampled_from(HOW))
    path = folder / name
    raw = path.read_bytes()
    at = draw(st.integers(0, len(raw)))
    match how:
        case "junk":
            path.write_bytes(draw(st.sampled_from(JUNK)))
        case "cut":
            path.write_bytes(raw[:at])
        case "byte":
            path.write_bytes(raw[:at] + draw(st.binary(min_size=1, max_size=3)) + raw[at:])
        case "gone":
            path.unlink()
        case "folder":
            path.unlink()
            path.mkdir()
        case "large":
            os.truncate(path, 2**40)  # sparse: none of it lies on the disk
        case "link":
            path.unlink()
            path.symlink_to("nowhere")
        case "twice":
            other = folder / draw(st.sampled_from(names))
            if other != path:
                shutil.copy(other, path)
        case _:
            altered = (
                alter_json(draw, raw)
                if name.endswith(".json") and raw[:1] in b"{["
                else alter_table(draw, raw)
            )
            path.write_bytes(altered)
    return f"{name}: {how}"
