"""Checks before a model is handed over: the contract's rule of buying it, and the learner's rows.

The rule is computed from the contract and the released sums alone, so every party can check it.
"""

from __future__ import annotations

import numpy as np

from exchange.contract import Contract
from exchange.learner.collector import Collected
from exchange.learner.sums import gather_sums
from exchange.owner.table import Records
from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.gain_seen import see_gain_of_sums
from learning.forecast.public_check import check_on_public_rows
from learning.forecast.public_sample import PublicSample
from learning.losses.losses import LOSSES
from scenarios.features.go import Decision


def decide_by_contract(contract: Contract, found: Collected) -> Decision | None:
    """Decide by the contract's rule whether the model of the collected sums is bought.

    The model is worth ``worth`` times the fall of the mean cost from the learner's own model, as
    the sums show it, in money. Of that and the forecast the learner expects the mean, each by its
    precision, and buys if it is more than (1 + margin) of the payments to the owners who answered.

    Returns
    -------
    The decision; None where the contract has no such rule, or there is no model yet.
    """
    rule = contract.go
    if rule is None or found.phi is None:
        return None
    (used,) = found.used
    seen = see_gain_of_sums(gather_sums(contract, used))
    prior = rule.worth * rule.forecast, (rule.worth * rule.deviation) ** 2
    payments = sum(owner.payment for owner in contract.owners if owner.name in used)
    return Decision(
        rule.worth * seen.cost, rule.worth * seen.std_error, prior, payments, rule.margin
    )


def fails_on_rows(contract: Contract, theta: Array, rows: Records) -> bool:
    """Test whether a model is clearly worse than guessing or the learner's own on its rows.

    Raises
    ------
    InputError
        If training does not start from the learner's own model, or the rows are too few.
    """
    if not np.any(contract.bounds.start):
        rule = "needs the learner's own model in the contract, which it may keep"
        raise InputError("--public", rule, "none", "Leave --public out.")
    loss = LOSSES[contract.loss.name]
    sample = PublicSample(rows.x, rows.y, contract.training.regularisation, loss)
    check = check_on_public_rows(sample, theta[None])
    return check is not None and bool(check.failed[0])
