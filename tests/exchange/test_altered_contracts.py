"""Contracts that somebody altered: what imitates another one, or could not be carried out, is refused when it is read."""

import json
from contextlib import suppress

import pytest
from exchanges import small_contract

from exchange.contract import Contract, compute_claims, parse_contract
from learning.canonical import encode_canonical
from learning.errors import InputError

FORGED = "Small exchange\n             Alpha, Beta and Gamma answer\ndigest       " + "0" * 64


def changed(path, value):
    """The bytes of a contract with one number or text changed, its claims with it where they can be made."""
    content = json.loads(small_contract(2).raw)
    *parts, last = path
    at = content
    for part in parts:
        at = at[part]
    at[last] = value
    with suppress(ValueError):
        content["claims"] = compute_claims(Contract.model_validate(content))
    return encode_canonical(content)


@pytest.mark.parametrize(
    "path",
    [
        ("title",),
        ("remark",),
        ("records",),
        ("currency",),
        ("program",),
        ("owners", 0, "name"),
        ("forecast", "kind"),
    ],
)
@pytest.mark.parametrize(
    "text", [FORGED, "a\u2028b", "a\u202eb", "a" + 80 * " " + "digest", "a" * 100_000]
)
def test_no_text_of_a_contract_can_imitate_another_line(path, text):
    with pytest.raises(InputError, match=".".join(map(str, path))):
        parse_contract(changed(path, text), "contract")


@pytest.mark.parametrize(
    "path", [("columns", "numbers", "names", 0), ("columns", "target", "name")]
)
def test_nor_can_the_name_of_a_column(path):
    with pytest.raises(InputError, match="columns"):
        parse_contract(changed(path, FORGED), "contract")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("owners", 0, "weight"), 1.7e308),
        (("owners", 0, "payment"), 1.7e308),
        (("owners", 0, "payment"), -5.0),
        (("bounds", "scale", 0, 0), 1e200),
        (("bounds", "start", 0), 1e200),
        (("bounds", "radius"), 1e-320),
        (("bounds", "rows_per_person"), 5),
        (("missing", "hours"), 1e9),
        (("missing", "hours"), 1e-300),
        (("forecast", "interval"), []),
        (("training", "answers"), 2**28),
        (("training", "answers"), 1),
        (("noise", "overlap"), 2**31),
        (("scenario_sha256",), "a line\nmore"),
        (("owners", 0, "name"), "Beta "),
    ],
)
def test_what_could_not_be_carried_out_is_refused_before_anybody_answers(path, value):
    with pytest.raises(InputError, match="contract: "):
        parse_contract(changed(path, value), "contract")


def test_sound_ones_are_read():
    for change in (
        (("title",), "Drei Banken, 1. Versuch"),
        (("missing", "hours"), 24.0),
        (("training", "answers"), 3),
    ):
        assert parse_contract(changed(*change), "contract").rounds == 2


def test_names_whose_files_would_be_one_are_refused():
    content = json.loads(small_contract(2).raw)
    content["owners"][0]["name"], content["owners"][1]["name"] = "Bank!,=.^", "Bank?;*^:"
    with pytest.raises(InputError, match="first eight digits"):
        parse_contract(encode_canonical(content), "contract")
