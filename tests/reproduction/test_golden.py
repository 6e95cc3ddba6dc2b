"""Every item of the reproduction book, computed by the command, against golden tables: each number within its tolerance.

`golden/quick.csv` is what `dpmarket reproduce all --quick` finds on generated stand-ins, the book's
own `docs/reproduction/checks.csv` what `dpmarket reproduce all --data DIR` finds on the published
tables: each the table ``reproduction/checks.csv`` of such a run. To take a change over, look at it,
say in the changelog why, and copy that table. A tolerance is how far another seed or processor may
move a number.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from reproduction.items import ITEMS
from scenarios.schema.data import DATA_VARIABLE

ROOT = Path(__file__).resolve().parents[2]
ROUNDING = 1e-6  # of a number that nothing is drawn for: another processor adds up in another order
NOTHING = 1e-9  # what is zero but for rounding
DATA = os.environ.get(DATA_VARIABLE)
KEYS = [item.key for item in ITEMS]

pytestmark = [pytest.mark.golden, pytest.mark.slow]
with_data = pytest.mark.skipif(
    not DATA, reason=f"needs {DATA_VARIABLE}, a folder with the published tables, and 20 minutes"
)


def checks_of(folder: Path, *options: str) -> pd.DataFrame:
    """The table of checks of all items, as the command writes it."""
    environment = {name: value for name, value in os.environ.items() if name != DATA_VARIABLE}
    command = [
        sys.executable,
        "-c",
        "from scenarios.command.main import main; main()",
        "reproduce",
        "all",
        *options,
    ]
    subprocess.run(
        [*command, "--out", str(folder)],
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return pd.read_csv(folder / "reproduction" / "checks.csv")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return checks_of(tmp_path_factory.mktemp("quick"), "--quick")


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return checks_of(tmp_path_factory.mktemp("full"), "--data", str(DATA))


QUICK = Path(__file__).parent / "golden" / "quick.csv"
FULL = ROOT / "docs" / "reproduction" / "checks.csv"


def compare(found: pd.DataFrame, expected: pd.DataFrame, key: str) -> None:
    """The same checks with the same status, and each number within its tolerance."""
    found, expected = (frame[frame["item"] == key].set_index("what") for frame in (found, expected))
    assert list(found.index) == list(expected.index)
    assert set(found["status"]) == set(expected["status"])
    allowed = expected["tolerance"] + ROUNDING * expected["found"].abs() + NOTHING
    moved = (found["found"] - expected["found"]).abs()
    unlike = ~(
        (moved <= allowed)
        | (found["found"] == expected["found"])
        | (found["found"].isna() & expected["found"].isna())
    )
    assert not unlike.any(), pd.DataFrame(
        {"found": found["found"], "golden": expected["found"], "allowed": allowed}
    )[unlike]


@pytest.mark.parametrize("key", KEYS)
def test_an_item_on_stand_ins_is_as_it_was(quick, key):
    compare(quick, pd.read_csv(QUICK), key)


@with_data
@pytest.mark.parametrize("key", KEYS)
def test_an_item_on_published_tables_is_as_it_was(full, key):
    compare(full, pd.read_csv(FULL), key)


@pytest.mark.parametrize("table", [QUICK, FULL])
def test_golden_tables_hold_no_other_item(table):
    assert set(pd.read_csv(table)["item"]) <= set(KEYS)
