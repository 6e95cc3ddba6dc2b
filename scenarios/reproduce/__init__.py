"""Published tables and the program's own promises, one file each, and what the program makes of them (STUDIES)."""

from __future__ import annotations

from scenarios.reproduce import calibration, protocol

STUDIES = {"protocol": protocol.study, "calibration": calibration.study}
