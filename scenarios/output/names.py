"""Default names of folders, which say what a command was asked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

LONGEST = 120  # characters of a name


def name_folder(subject: str, told: Iterable[str] = (), before: str = "") -> str:
    """Name a folder after what a command was given, so that another command does not replace it.

    A name is ``subject,KEY=VALUE,...``. Brackets, quotes and spaces are dropped, and whatever a
    file system may refuse is an underscore. A longer name is cut, and ends in a hash of the whole.

    Parameters
    ----------
    subject : a file or a name of the library; its folder and its ending are left out.
    told : what else the command was given, such as ``seed=3``.
    before : words before the subject.

    >>> name_folder("markets/banks.toml")
    'banks'
    >>> name_folder("banks", ["policy.budget=500", "owners.epsilon=[0.1, 10.0]"])
    'banks,policy.budget=500,owners.epsilon=0.1_10.0'
    >>> name_folder("banks", ["title='" + "a" * 200 + "'"])[-14:]
    'aaaaa,3f6f7456'
    """
    parts = [Path(subject).stem, *told]
    cleaned = [re.sub(r"[^\w.=+-]+", "_", re.sub(r"[][{}()'\"\s]", "", part)) for part in parts]
    name = before + ",".join(cleaned)
    if len(name.encode()) > LONGEST:
        digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:8]
        name = f"{name.encode()[: LONGEST - 9].decode(errors='ignore')},{digest}"
    return name
