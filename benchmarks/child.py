"""A benchmark in a process of its own, and the memory that it takes there."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path


def peak() -> int:
    """Most bytes this process ever held resident.

    Linux counts in ru_maxrss what the parent held when it started this process, so its own count is read there.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * next(int(line.split()[1]) for line in status.read_text().splitlines() if line[:6] == "VmHWM:")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def in_a_process(module: str, *arguments: str) -> dict:
    """What a module tells when it is called with some arguments."""
    folder = Path(__file__).resolve().parent.parent
    command = [sys.executable, "-m", module, *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout)
