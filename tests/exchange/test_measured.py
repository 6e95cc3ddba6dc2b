"""What only who holds all records can say of exchanges."""

import random

import numpy as np
import pytest
from exchanges import SUMS, records, small_contract, table

from exchange.messages import Gradient, Query, Sums
from exchange.owner.accepting import Permissions, accept_contract
from exchange.owner.answers import answer_query
from exchange.owner.table import Records
from exchange.rehearsal.measured import (
    compare_with_law,
    find_secrets,
    noiseless_answers,
    search_wire,
)
from learning.data.owner_data import OwnerData
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.release import release

LAW = {"forecast": {"oracle": {"relative_fitness": 0.02, "std_error": None}}}

AGAIN = Permissions(max_epsilon=6.0, sold_before=True)


def test_exchanged_models_are_held_against_the_law_in_standard_errors_of_their_mean():
    simulated = np.array([0.01, 0.02, 0.03, 0.02])
    told = compare_with_law(np.array([0.02, 0.03, 0.04]), LAW, simulated)
    deviation = np.sqrt(2 / 3) * 0.01
    assert told["z_score"] == pytest.approx(0.01 / (deviation / np.sqrt(3)))
    assert told["simulated"] == {
        "runs": 4,
        "mean": pytest.approx(0.02),
        "deviation": pytest.approx(deviation),
    }
    assert compare_with_law(np.array([0.02]), LAW, np.array([0.02]))["z_score"] is None
    other = {"forecast": {"oracle": {"relative_fitness": 0.02, "std_error": 0.01}}}
    assert compare_with_law(np.array([0.03]), other, np.array([0.02]))["z_score"] == pytest.approx(
        1
    )


def test_z_scores_of_honest_exchanges_have_deviation_one():
    rng = np.random.default_rng(1)
    scores = [
        compare_with_law(rng.normal(0.02, 0.005, 20), LAW, rng.normal(0.02, 0.005, 100))["z_score"]
        for _ in range(300)
    ]
    assert np.std(scores) == pytest.approx(1, abs=0.15) and np.mean(scores) == pytest.approx(
        0, abs=0.2
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"clipping": "record", "noise": "gaussian"},
        {"sums": SUMS, "noise": "gaussian"},
        {"sums": SUMS, "noise": "l2"},
    ],
    ids=["parts", "record", "sums", "sums of l2 noise"],
)
def test_files_of_an_exchange_hold_no_value_of_a_record_and_a_planted_one_is_found(
    tmp_path, changes
):
    contract = small_contract(1, **changes)
    query = Query(contract.digest, 1, np.zeros(4), contract.names)
    files = {"contract.json": contract.raw, "round-001.query.json": query.raw}
    tables = {}
    owners = []
    for name in contract.names:
        x, y = records(contract, name)
        ledger = LedgerFile.create(tmp_path / f"{name}.ledger")
        accept_contract(contract, name, Records(x, y), ledger, AGAIN)
        files[f"round-001.{name}.answer.json"] = answer_query(
            contract, name, query, Records(x, y), ledger
        ).answer.raw
        owners.append(OwnerData(name, x, y))
        tables[name] = tmp_path / f"{name}.csv"
        tables[name].write_text(table(contract, name))
    looked = find_secrets(contract, owners, tables, [], query.point[None])
    told = search_wire(files, looked)
    assert told["files"] == 5 and told["values"] > 300 and told["found"] == []

    bare = next(noiseless_answers(owners[1].x, owners[1].y, query.point, contract.terms("Beta")))
    for leak in leaks(contract, query, bare):
        found = search_wire(files | {"round-001.Beta.answer.json": leak}, looked)["found"]
        assert found and all(
            one["owner"] == "Beta" and one["file"] == "round-001.Beta.answer.json" for one in found
        )


def leaks(contract, query, bare):
    """Answers without noise: whole, on one of the sums only, as a mean, or as entries of the matrix."""
    head = contract.digest, query.digest, 1, "Beta"
    if contract.sums is None:
        return [Gradient(*head, bare).raw]
    other = np.random.default_rng(1).normal(size=14) * 100
    mixed = [np.where(np.arange(14) == place, bare, other) for place in range(14)]
    entries = np.append(other[:8], bare[8:] / np.sqrt(2))
    made = [bare, bare / contract.owner("Beta").records, entries, *mixed]
    return [Sums.of(*head, one).raw for one in made]


def test_noise_of_an_exchange_cannot_be_seeded(tmp_path):
    contract = small_contract(1)
    query, (x, y) = (
        Query(contract.digest, 1, np.zeros(4), contract.names),
        records(contract, "Alpha"),
    )
    drawn = []
    for number in range(2):
        ledger = LedgerFile.create(tmp_path / f"{number}.ledger")
        accept_contract(contract, "Alpha", Records(x, y), ledger, AGAIN)
        np.random.seed(1)  # noqa: NPY002
        random.seed(1)
        drawn.append(answer_query(contract, "Alpha", query, Records(x, y), ledger).answer.gradient)
    assert not np.any(drawn[0] == drawn[1])
    other = LedgerFile.create(tmp_path / "other.ledger")
    accept_contract(contract, "Alpha", Records(x, y), other, AGAIN)
    with pytest.raises(TypeError, match="seeded noise is for simulation only"):
        release(
            x, y, query.point, contract.terms("Alpha"), ledger=other, rng=np.random.default_rng(1)
        )
    assert other.accounts[0].answered == 0
