"""An owner's program in an exchange: tables that are neighbours get the same answers, refusals, files and charges."""

import json
import shutil
import warnings
from collections import Counter
from functools import lru_cache

import numpy as np
import pytest
from exchanges import small_contract
from hostile import LINEAR, TINY, files_in, fixed_noise, many, numbers, pair, question, size

from exchange.messages import Query
from exchange.owner.accepting import Permissions, accept_contract
from exchange.owner.answers import answer_query
from exchange.owner.table import Records
from learning.errors import InputError
from learning.privacy import ledger_file
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.registry import Registry

__all__ = ["fixed_noise"]
CONTRACTS = 40  # that pairs are drawn under


@pytest.fixture(autouse=True)
def fixed_key(monkeypatch):
    """One secret key for every ledger, so that bytes of ledgers can be compared."""
    monkeypatch.setattr(ledger_file.secrets, "token_bytes", bytes)


def opened(folder, name, contract, records):
    """A ledger in a folder, with the account of a contract that was accepted for some records."""
    ledger = LedgerFile.create(folder / f"{name}.ledger")
    registry = Registry(folder.with_name(f"{folder.name} {name} registry"))
    accept_contract(contract, "Alpha", records, ledger, Permissions(1e12, 0.999, registry=registry))
    return ledger


@lru_cache(maxsize=CONTRACTS)
def contract_number(number):
    """A contract of one owner and few records, its width, loss, clipping, noise and bounds drawn."""
    rng = np.random.default_rng([28, number])
    width = int(rng.choice([1, 2, 4, 9, 24, 60])) if number % 2 else int(rng.integers(1, 61))
    noise = str(
        rng.choice(["laplace", "gaussian", "l2"] if width <= 24 else ["laplace", "gaussian"])
    )
    clipping = str(rng.choice(["parts", "record"]))
    loss = "squared" if clipping == "parts" else LINEAR[number % len(LINEAR)].name
    most = int(rng.choice([1, 1, 2]))
    names = [f"column {k}" for k in range(width - 1)]
    labels = loss != "squared"
    columns = {
        "numbers": {
            "names": names,
            "low": [0.0] * len(names),
            "high": [1.0] * len(names),
            "fill": [0.0] * len(names),
            "reach": [1.0] * len(names),
        },
        "categories": {"names": [], "categories": [], "places": False},
        "mean": [0.0] * width,
        "written": dict.fromkeys(names, "point") | ({} if labels else {"claims": "point"}),
        "person": "whose" if most > 1 else None,
    }
    scale = (
        np.eye(width)
        if rng.random() < 0.5
        else np.clip(rng.normal(size=(width, width)) * 1e15, -1e15, 1e15)
    )
    bounds = {
        "start": (rng.uniform(-1, 1, width) * rng.choice([0.0, 1.0, 1e15])).tolist(),
        "scale": scale.tolist(),
        "radius": size(rng, 1e-50, 1e15),
        "target_bound": size(rng, 1e-50, 1e15),
        "theta_max": size(rng, 1e-50, 1e15),
        "rows_per_person": most,
    }
    return small_contract(
        3,
        names=("Alpha",),
        noise=noise,
        loss=loss,
        clipping=clipping,
        growth=float(rng.choice([1.0, 2.0])),
        columns=columns,
        bounds=bounds,
        owners=[
            {
                "name": "Alpha",
                "records": int(rng.integers(1, 7)),
                "epsilon": 2.0,
                "payment": 5.0,
                "weight": 1.0,
            }
        ],
    )


def outcomes(folder, contract, accepted, table, persons, points):
    """All that can be seen of an owner's program after `accept`, question by question, each asked twice.

    The contract was accepted for the same table in either world; only the one that answers differs.
    """
    folder.mkdir(parents=True)
    records = Records(*table, persons=persons)
    ledger = opened(folder, "bank", contract, Records(*accepted, persons=persons))
    seen = []
    before = None
    for point in points:
        number = 1 if before is None else before.round + 1
        told = {} if before is None else {"Alpha": before.digest}
        asked = Query(
            contract.digest,
            number,
            point,
            ("Alpha",),
            None if before is None else before.query,
            told,
        )
        for _ in range(2):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                try:
                    given = answer_query(contract, "Alpha", asked, records, ledger)
                    found = (given.answer.raw, given.again, given.account.answered)
                    before = given.answer
                except InputError as error:
                    found = (str(error).replace(str(folder), ""),)
            seen.append((found, [str(one.message) for one in said], files_in(folder)))
    shutil.rmtree(folder.parent)  # a ledger states its place, which is the same in either world
    return seen


def test_neighbouring_tables_get_the_same_from_an_owners_program(tmp_path, fixed_noise):
    """At the start, and then at two hostile points; each question twice: the second time the same bytes, at no charge."""
    count = Counter()
    for number in range(many(50)):
        rng = np.random.default_rng([29, number])
        contract = contract_number(number % CONTRACTS)
        coordinates = contract.coordinates
        width = len(contract.bounds.start)
        tables = pair(rng, width, coordinates, contract.owner("Alpha").records)
        points = [np.zeros(width), *(question(rng, coordinates, numeric=True) for _ in range(3))]
        first, second = (
            outcomes(
                tmp_path / f"{number}" / "bank",
                contract,
                tables.first,
                table,
                tables.persons,
                points,
            )
            for table in (tables.first, tables.second)
        )
        assert first == second, number
        assert not any(said for _, said, _ in first), number
        assert first[0][0][1:] == (False, 1) and first[1][0] == (first[0][0][0], True, 1), number
        count.update(
            "answered" if len(found) == 3 else found[0].partition(":")[0] for found, _, _ in first
        )
    print(dict(count))
    assert count["answered"] > count["query.point"] > 0
    assert set(count) <= {
        "answered",
        "query.point",
        "query.round",
    }  # by the form of the question, or its turn


def test_a_full_disk_refuses_an_answer_whatever_its_digits_are(tmp_path, monkeypatch, fixed_noise):
    """The room that is asked for before an answer is kept is the same for all answers of as many numbers."""
    from exchange.owner import kept

    asked = []
    true = kept.write_atomically
    monkeypatch.setattr(
        kept,
        "write_atomically",
        lambda *given, **named: (asked.append(named["room"]), true(*given, **named)),
    )
    contract = small_contract(1)
    for number, scale in enumerate((1.0, 1e-300, 1 / 3)):
        rows = Records(np.ones((40, 4)), np.ones(40))
        ledger = opened(tmp_path, number, contract, rows)
        monkeypatch.setattr(
            "hostile.FixedNoise.invoke", lambda self, values, scale=scale: [-scale] * len(values)
        )
        made = answer_query(
            contract, "Alpha", Query(contract.digest, 1, np.zeros(4), contract.names), rows, ledger
        ).answer
        (path,) = kept.kept_folder(ledger).iterdir()
        assert path.read_bytes() == made.raw and len(made.raw) <= asked[-1]
    assert len(set(asked)) == 1


def test_contracts_without_a_ball_are_refused_when_they_are_read():
    from exchange.contract import parse_contract
    from learning.canonical import encode_canonical

    content = json.loads(small_contract(2, clipping="record").raw)
    content["bounds"]["theta_max"] = None
    with pytest.raises(
        InputError,
        match="^contract: bounds.theta_max: must be a number: nothing is answered at a point",
    ):
        parse_contract(encode_canonical(content), "contract")


def test_numbers_at_the_edge_are_drawn():
    """The pairs hold what they are named for."""
    drawn = np.concatenate([numbers(np.random.default_rng(k), 60) for k in range(20)])
    assert (
        np.isnan(drawn).any()
        and np.isinf(drawn).any()
        and (np.abs(drawn) == TINY).any()
        and np.signbit(drawn).any()
    )
    payloads = drawn.view(np.uint64)[np.isnan(drawn)]
    assert len(set(payloads.tolist())) > 2
