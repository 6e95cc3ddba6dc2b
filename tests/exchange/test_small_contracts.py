"""The small contracts that tests go by are contracts as the program reads them, and say what the training does."""

import numpy as np
import pytest
from exchanges import records, small_contract, training

from exchange.contract import parse_contract
from learning.training import train

VARIANTS = [
    {},
    {"noise": "gaussian", "rounds": 3},
    {"noise": "gaussian", "clipping": "record", "growth": 1.5},
    {"noise": "l2", "returned": "averaged", "names": ("A", "B")},
    {"loss": "logistic", "clipping": "record", "rounds": 1},
    {"loss": "hinge", "clipping": "record", "rule": "without", "hours": 24.0},
]


@pytest.mark.parametrize("given", VARIANTS)
def test_a_small_contract_reads_back_from_its_bytes(given):
    contract = small_contract(**given)
    again = parse_contract(contract.raw, "contract")
    assert again == contract and again.digest == contract.digest
    assert again.claims and not any(claim["simulation"] for claim in again.claims)


@pytest.mark.parametrize("given", VARIANTS)
def test_noise_is_as_wide_in_training_as_for_release(given):
    contract = small_contract(**given)
    task = training(contract)
    for owner in task.owners:
        scales = contract.terms(owner.name).scales
        np.testing.assert_allclose(
            owner.scale * task.relative_scales, scales[: len(task.steps)], rtol=1e-5
        )
    assert (
        records(contract, contract.names[0])[0].shape == (40, 4)
        and np.isfinite(train(task).theta).all()
    )
