"""Exchanges of sums: one question, one answer, one charge; what the learner makes of them and what it suspects."""

import numpy as np
import pytest
from exchanges import SUMS, Owners, small_contract

from exchange.learner.collector import collect_answers
from learning.training.engine import train

KINDS = [
    pytest.param({"noise": noise, "sums": SUMS | {"alike": alike}}, id=f"{noise}-{alike}")
    for noise in ("gaussian", "l2")
    for alike in (True, False)
]


def sums_contract(**given):
    return small_contract(1, **{"noise": "gaussian", "sums": SUMS} | given)


@pytest.mark.parametrize("given", KINDS)
def test_the_model_is_that_of_the_simulated_training(given):
    contract = sums_contract(**given)
    owners = Owners(contract)
    asked = collect_answers(contract, [], []).query
    assert not asked.point.any() and asked.round == contract.rounds == 1
    found = collect_answers(contract, [asked], owners.all(asked), accepted=contract.names)
    simulated = train(owners.task).theta[0]
    np.testing.assert_allclose(contract.coordinates.model(found.phi), simulated, rtol=1e-9)
    assert found.query is None and len(found.path) == 2
