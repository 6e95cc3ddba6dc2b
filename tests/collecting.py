"""A learner's folder laid for tests, and everybody answering in it until the model is there."""

import pytest
from commands import dpmarket  # noqa: F401
from exchanges import Owners, small_contract

from exchange.folder import CONTRACT, MODEL, answer_name, latest_query


def give(folder, *answers):
    for one in answers:
        (folder / answer_name(one.round, one.owner)).write_bytes(one.raw)


def play(contract, folder, call):
    """Everybody answers until the model is there; what each call returned."""
    owners = Owners(contract)
    said = []
    for _ in range(contract.rounds + 1):
        said.append(call())
        if (folder / MODEL).exists():
            return said
        give(folder, *owners.all(latest_query(folder, contract)))
    raise AssertionError("no model")


@pytest.fixture
def laid(tmp_path):
    """A contract in the exchange's folder."""

    def lay(**given):
        contract = small_contract(**given)
        (tmp_path / "x").mkdir()
        (tmp_path / "x" / CONTRACT).write_bytes(contract.raw)
        return contract, tmp_path / "x"

    return lay
