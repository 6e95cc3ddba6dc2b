"""Compare chances that buying pays with how often it paid, over many tables, with owners alike and owners that differ.

PYTHONPATH=.:tests python -m chances --data DIR --out DIR
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from chances.reliability import study
from learning.display import show_stages
from reproduction.command import print_study
from reproduction.study import Options

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="chances", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("build/chances"))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    with show_stages() as progress:
        table = study(Options(**vars(parser.parse_args())), progress)
    print_study(table)
