"""Published tables and figures, one file each, and what the program makes of them (STUDIES)."""

from __future__ import annotations

from scenarios.reproduce import protocol
from scenarios.reproduce.study import Maker

STUDIES: dict[str, Maker] = {"protocol": protocol.study}
