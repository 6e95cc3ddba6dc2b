"""The command `contract`: what all sign, and what it says in plain words."""

import hashlib
import json

import pytest
from commands import call, lay
from exchanges import small_contract
from quick import quick_module

from exchange.command.contract import print_contract
from exchange.contract import Contract, compute_claims, parse_contract
from exchange.sentences import contract_lines
from learning.canonical import encode_canonical
from learning.errors import InputError
from scenarios.planning import prepare
from scenarios.result import save_result
from scenarios.runner import carry_out, with_protocol
from scenarios.schema.loading import load

__all__ = ["quick_module"]
pytestmark = pytest.mark.designed  # as the fixtures of this module


@pytest.fixture(scope="module")
def result(tmp_path_factory, quick_module):
    """A result folder of a market that settled, beside another whose answers are not released."""
    folder = tmp_path_factory.mktemp("settled")
    scenario = load(lay(folder, 120), ["title=Two banks"])
    save_result(
        with_protocol(carry_out(scenario, prepare(scenario), training=False)),
        folder / "r",
        lambda _: None,
    )
    return folder / "r"


def test_a_contract_is_made_signed_and_shown(result, dpmarket, tmp_path):
    status, out, err = dpmarket(
        "contract", result, "--missing", "without", "--hours", 24, "--records", "loans 2025"
    )
    made = tmp_path / "contract.json"
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    assert (
        status == 0
        and err == ""
        and digest in out
        and "dpmarket contract show contract.json" in out
    )
    assert "the forecast was not tested" in out
    status, shown, err = dpmarket("contract", "show", made)
    assert status == 0 and err == "" and digest in shown
    for word in (
        "Two banks",
        "owner 1",
        "owner 2",
        "within 24 hours",
        "provided that 2 of the 2",
        "loans 2025",
        "Laplace noise",
    ):
        assert word in shown, word


def test_a_contract_is_not_written_over_another(result, dpmarket, tmp_path):
    first = dpmarket("contract", result)[0], (tmp_path / "contract.json").read_bytes()
    again = dpmarket("contract", result)[0], (tmp_path / "contract.json").read_bytes()
    assert first == again and first[0] == 0
    status, _, err = dpmarket("contract", result, "--records", "others")
    assert status == 2 and "must be a new file, or the same contract" in err
    assert (tmp_path / "contract.json").read_bytes() == first[1]
    assert dpmarket("contract", result, "--records", "others", "--force")[0] == 0
    assert (tmp_path / "contract.json").read_bytes() != first[1]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("show",), "CONTRACT: must be named"),
        (("a", "b"), "takes one result, or the word show and a contract"),
        (("show", "."), "must be a file; found a folder"),
        (("nowhere",), "must be a result folder"),
        (("r", "--missing", "never"), 'must be "wait" or "without"'),
        (("r", "--hours", 3), "needs --missing without"),
        (("r", "--out", "no/such/folder"), "No such file or directory"),
    ],
)
def test_every_fault_is_one_line(result, capsys, monkeypatch, arguments, found):
    monkeypatch.chdir(result.parent)
    status, out, err = call("contract", *arguments, capsys=capsys, monkeypatch=monkeypatch)
    assert status == 2 and out == "" and err.count("\n") == 1 and found in err
    assert not (result.parent / "contract.json").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"rounds": 1},
            (
                "The learner asks each owner once.",
                "everybody waits for it",
                "4 public numbers",
                "age 20 to 70 (45)",
            ),
        ),
        (
            {"noise": "gaussian"},
            ("apart from delta = 1e-6", "counted by zCDP", "epsilon and delta limit"),
        ),
        (
            {"growth": 2.0},
            ("The answers spend 33.3 to 66.7 % of its budget", "of its first answer"),
        ),
        (
            {"loss": "logistic", "clipping": "record"},
            ('claims: "no" or "yes"', "each record's gradient is shortened to 2"),
        ),
        ({"noise": {"overlap": 2}}, ("A record may sit with 2 of the owners",)),
        (
            {"clipping": "record", "bounds": {"target_bound": None}},
            ("further than 0.8 from the start in any", "No refusal depends on a record"),
        ),
        ({"currency": "EUR"}, ("EUR in all",)),
    ],
    ids=str,
)
def test_terms_are_said_in_plain_words(capsys, changes, words):
    if isinstance(changes.get("noise"), dict):
        contract = small_contract()
        changed = contract.noise.model_copy(update=changes["noise"])
        content = json.loads(contract.raw) | {"noise": changed.model_dump()}
        contract = Contract.model_validate(content)
        contract = Contract.model_validate(content | {"claims": compute_claims(contract)})
    else:
        contract = small_contract(**changes)
    print_contract(contract)
    out = " ".join(capsys.readouterr().out.split())
    for word in (*words, *contract.names, contract.digest):
        assert word in out, word
    assert all(line and line == line.strip() for _, line in contract_lines(contract))


def changed(**changes):
    """A small contract with parts changed, its claims with it."""
    content = json.loads(small_contract(noise="gaussian", clipping="record").raw)
    for part, new in changes.items():
        content[part] = content[part] | new if isinstance(content[part], dict) else new
    return Contract.model_validate(
        content | {"claims": compute_claims(Contract.model_validate(content))}
    )


def said(capsys, contract, *limits):
    print_contract(contract, *limits)
    return " ".join(capsys.readouterr().out.split())


def test_budgets_beyond_an_owners_limits_are_marked(capsys):
    """Alpha sells 2, Beta 3, Gamma 4; delta is 1e-6."""
    out = said(capsys, changed())
    assert out.count("(beyond limits)") == 1 and "4 (beyond limits)" in out
    assert (
        "Gamma: dpmarket accept --max-epsilon: allows at most epsilon = 3" in out
        and "--max-epsilon 4." in out
    )
    assert "beyond limits" not in said(capsys, changed(), 4.0, None)
    assert said(capsys, changed(), 1.0, None).count("(beyond limits)") == 3
    assert said(capsys, changed(), None, 1e-9).count("--max-delta 1e-06") == 3


def test_a_delta_that_promises_nothing_is_called_so(capsys):
    out = said(capsys, changed(noise={"delta": 0.5}))
    assert (
        out.count("all but certain (missing)") == 3
        and "moderate" not in out
        and "strong" not in out
    )
    assert "the guarantee allows publishing a whole record outright" in out
    fine = said(
        capsys, changed(noise={"delta": 1 / 81})
    )  # below one over Gamma's 80 alone is not enough
    assert fine.count("(missing)") == 0
    assert said(capsys, changed(noise={"delta": 1 / 79})).count("(missing)") == 1


@pytest.mark.parametrize(
    ("person", "rows", "unit"),
    [
        (None, 1, "one record"),
        ("name", 1, "one person, up to 1 record"),
        ("name", 3, "one person, up to 3 records"),
    ],
)
def test_the_unit_follows_from_the_person_and_free_words_are_a_remark(capsys, person, rows, unit):
    words = "one customer, with all that is held of it"
    made = changed(columns={"person": person}, bounds={"rows_per_person": rows}, remark=words)
    assert made.unit == unit and {claim["unit"] for claim in made.claims} == {unit}
    assert made.terms("Alpha").budget.unit == made.terms("Alpha").claim.unit == unit
    out = said(capsys, made)
    assert f"reveal about {unit}." in out and f"Differential privacy of {unit}:" in out
    assert f'The learner calls a record "{words}". This remark' in out and out.count(words) == 1
    claims = [claim | {"unit": words} for claim in made.claims]
    forged = encode_canonical(json.loads(made.raw) | {"claims": claims})
    with pytest.raises(InputError, match="claims: must follow from the other terms"):
        parse_contract(forged, "c")


def test_a_contract_of_the_earlier_form_is_refused_with_a_remedy():
    content = json.loads(small_contract().raw) | {
        "format": "dpmarket contract 1",
        "unit": "one customer",
    }
    del content["remark"]
    with pytest.raises(
        InputError, match="c: format: must be dpmarket contract 3; .*Make a new contract"
    ):
        parse_contract(encode_canonical(content), "c")
