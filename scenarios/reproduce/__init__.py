"""Published tables and figures, one file each, and what the program makes of them (STUDIES)."""

from __future__ import annotations

from scenarios.reproduce import protocol

STUDIES = {"protocol": protocol.study}
