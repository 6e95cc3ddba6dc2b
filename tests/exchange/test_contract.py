"""A contract that is read: what it says must be what is carried out under it."""

import json

import pytest
from exchanges import small_contract

from exchange.contract import Contract, compute_claims, parse_contract
from learning.canonical import encode_canonical
from learning.errors import InputError

CONTRACT = small_contract()


def read(**changes):
    """The contract with values changed, by dotted keys with "__" for dots, its claims what follows from it."""
    content = json.loads(CONTRACT.raw)
    for key, value in changes.items():
        *above, last = key.split("__")
        part = content
        for name in above:
            part = part[name]
        part[last] = value
    content["claims"] = compute_claims(Contract.model_validate(content))
    return parse_contract(encode_canonical(content), "c")


@pytest.mark.parametrize(
    "kinds", [{}, {"noise": "gaussian"}, {"noise": "l2", "growth": 2.0}, {"loss": "hinge"}], ids=str
)
def test_a_contract_reads_back_to_its_own_bytes(kinds):
    made = small_contract(**kinds, clipping="record" if "loss" in kinds else "parts")
    assert parse_contract(made.raw, "c").raw == made.raw


def test_what_changes_nothing_of_what_is_carried_out_may_be_said():
    assert (
        read(
            title="another",
            noise__overlap=2,
            owners=[CONTRACT.owners[0].model_dump()],
            missing__at_least=1,
        ).title
        == "another"
    )


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"noise__accounting": ""}, "c: noise: must be the mechanism"),
        ({"noise__delta": 1e-9}, "c: noise: must be the mechanism"),
        ({"training__algorithm": "asynchronous"}, "training.algorithm: must be one of"),
        ({"training__algorithm": "magic"}, "training.algorithm: must be one of"),
        ({"columns__target__labels": ["0", "1"]}, "columns.target: must be two labels if"),
        ({"columns__person": "kind"}, "columns.person: must be a column of its own"),
        ({"columns__written": {}}, "columns.written: must name every column of numbers"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_contract_that_says_what_is_not_done_is_refused(changes, found):
    with pytest.raises(InputError, match=found):
        read(**changes)


def test_claims_must_be_those_that_follow():
    content = json.loads(CONTRACT.raw)
    content["claims"][0]["epsilon"] *= 0.5
    with pytest.raises(InputError, match="c: claims: must follow from the other terms"):
        parse_contract(encode_canonical(content), "c")
