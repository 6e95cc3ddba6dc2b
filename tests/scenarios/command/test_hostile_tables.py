"""An owner's commands on tables with hostile cells: for neighbouring tables the same words, status, files and charge."""

import json

import numpy as np
import pytest
from commands import call
from exchanges import small_contract, table
from hostile import files_in, fixed_noise, many

from exchange.folder import answer_name, query_name
from exchange.messages import Query, read_answer

__all__ = ["fixed_noise"]
NAME = "Alpha"
OWN = ("--data", "own.csv", "--owner", NAME, "--ledger", "bank.ledger")
CELLS = (
    *(
        "nan",
        "NaN",
        "inf",
        "-inf",
        "Infinity",
        "1e308",
        "-1.7976931348623157e308",
        "1e400",
        "5e-324",
        "-5e-324",
        "-0",
    ),
    *(
        "",
        " ",
        "abc",
        "1,5",
        "0x10",
        "1e",
        "9" * 400,
        "0." + "0" * 400 + "1",
        "１２",
        "public",
        "no",
        "yes",
        "\u202e7",
    ),
    *("1_000", "+3", "3.", "NULL", "None", "true", "2026-01-01", "=1+1", "a;b", "😀"),
)
KINDS = [
    {},
    {"noise": "gaussian", "clipping": "record"},
    {"noise": "l2", "growth": 2.0},
    {"loss": "logistic", "clipping": "record"},
    {"loss": "hinge", "clipping": "record", "noise": "gaussian"},
]


def written(rng, row):
    """A row of as many cells, some or all of them hostile."""
    cells = row.split(",")
    chosen = [str(rng.choice(CELLS)) if rng.random() < 0.6 else cell for cell in cells]
    return ",".join(f'"{cell}"' if set(cell) & {",", ";", '"'} else cell for cell in chosen)


def without_fingerprints(raw):
    """A ledger without its key and the fingerprint of its records, which only its owner can read; other files whole."""
    if not raw.startswith(b"dpmarket ledger 2"):
        return raw
    lines = [json.loads(line) for line in raw.decode().splitlines()[1:-1]]
    return [{key: line[key] for key in ("budget", "lines")} for line in lines if "budget" in line]


def commands(folder, contract, rows, points, capsys, monkeypatch):
    """What each command says and leaves, from `accept` to the statement of the ledger."""
    (folder / "shared").mkdir(parents=True)
    monkeypatch.chdir(folder)
    (folder / "contract.json").write_bytes(contract.raw)
    (folder / "own.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    monkeypatch.setenv("DPMARKET_REGISTRY", str(folder.parent / f"registry of {folder.name}"))
    seen = []

    def run(*arguments):
        status, out, err = call(*arguments, capsys=capsys, monkeypatch=monkeypatch)
        private = (
            arguments[0] == "accept" or "--dry-run" in arguments
        )  # counts for the owner's own eyes
        left = [
            (name, without_fingerprints(raw)) for name, raw in files_in(folder) if name != "own.csv"
        ]
        seen.append((arguments, status, "" if private else out, err, left))

    run("accept", "contract.json", *OWN)
    before = None
    for number, point in enumerate([np.zeros(4), *points], start=1):
        told = (
            {} if before is None else {"answers": {NAME: before.digest}, "previous": before.query}
        )
        number = 1 if before is None else before.round + 1
        query = Query(contract.digest, number, point, contract.names, **told)
        place = folder / "shared" / query_name(number)
        place.write_bytes(query.raw)
        run("answer", "contract.json", "shared", *OWN, "--dry-run")
        run(
            "answer",
            "contract.json",
            "shared",
            *OWN,
            *(["--follow"] if number == contract.rounds else []),
        )
        run("answer", "contract.json", f"shared/{query_name(number)}", *OWN)
        answered = folder / "shared" / answer_name(number, NAME)
        before = read_answer(answered, contract) if answered.exists() else before
    run(
        "state",
        "contract.json",
        "--owner",
        NAME,
        "--ledger",
        "bank.ledger",
        "--out",
        "statement.json",
    )
    return seen


@pytest.mark.parametrize("number", range(min(many(5), 200)))
def test_neighbouring_tables_get_the_same_from_every_command(
    tmp_path, fixed_noise, capsys, monkeypatch, number
):
    rng = np.random.default_rng([30, number])
    contract = small_contract(3, names=(NAME,), **KINDS[number % len(KINDS)])
    inside = contract.bounds.theta_max / 2 * np.array([1, -1, 0.9, -0.9])
    points = [np.array([1e308, -1e308, 0.0, 0.0]), np.full(4, 5e-324), inside]
    header, *rows = table(contract, NAME).splitlines()
    place = int(rng.integers(len(rows)))
    worlds = []
    for name in ("a", "b"):
        held = [*rows[:place], written(rng, rows[place]), *rows[place + 1 :]]
        worlds.append(
            commands(tmp_path / name, contract, [header, *held], points, capsys, monkeypatch)
        )
    assert worlds[0] == worlds[1]
    assert [status for _, status, *_ in worlds[0]] == [0, 0, 0, 2, 2, 2, 2, 0, 0, 2, 0, 0, 2, 0]
    assert all(len(err.splitlines()) == (status == 2) for _, status, _, err, _ in worlds[0])
