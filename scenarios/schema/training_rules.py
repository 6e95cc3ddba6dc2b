"""Rules of the [learning] table on the loss, its bounds and the algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learning.errors import InputError
from learning.losses.losses import LOSSES
from learning.phrases import format_value
from learning.privacy.noise import STEEPEST, share_ratio
from learning.training.aggregation import NormCheck
from learning.training.algorithms import ALGORITHMS
from learning.training.clocks import Clocks
from scenarios.schema.fields import OPTIMAL, names_with, quote_choices
from scenarios.schema.learning_refusals import goes_with, must_be, says
from scenarios.schema.noise_rules import check_mechanism, kinds_by

if TYPE_CHECKING:
    from scenarios.schema.learning import Learning


def check_loss(learning: Learning) -> None:
    """Refuse a loss, clip, start or regularisation that does not go with the rest."""
    algorithm = learning.trains_by
    _check_parameters(learning)
    if not algorithm.trains(learning.objective):
        able = [name for name, loss in LOSSES.items() if algorithm.trains(loss)]
        raise must_be(learning, "loss", quote_choices(able), says(learning, "algorithm"))
    if learning.clip == "none" and learning.clips_gradients:
        cause = "loss" if learning.objective.clips_gradients else "clipping"
        raise must_be(learning, "clip", '"optimal" or a number above 0', says(learning, cause))
    if learning.start == "shrunk" and not learning.objective.quadratic:
        raise must_be(learning, "start", '"public" or "zero"', says(learning, "loss"))
    if learning.start == "shrunk" and learning.regularisation:
        raise must_be(learning, "start", '"public" or "zero"', says(learning, "regularisation"))
    needs = []
    if learning.labels:
        needs.append(f"{says(learning, 'loss')}: without it the best model may not exist")
    if algorithm.needs_strong_convexity:
        needs.append(f"{says(learning, 'algorithm')}, which needs a strongly convex cost")
    if learning.regularisation == 0 and needs:
        rule = f"must be above 0 with {needs[0]}"
        raise InputError("learning.regularisation", rule, "0", "Set it, such as 0.001.")


def _check_parameters(learning: Learning) -> None:
    """Fill in the parameters of the loss, and refuse those of others."""
    own = LOSSES[learning.loss].parameters
    for key in {key for loss in LOSSES.values() for key in loss.parameters}:
        given = getattr(learning, key)
        if key in own and given is None:
            learning.__dict__[key] = getattr(LOSSES[learning.loss], key)
        elif key not in own and given is not None:
            having = [name for name, loss in LOSSES.items() if key in loss.parameters]
            found = f"{given} with {says(learning, 'loss')}"
            raise goes_with(learning, key, f"loss = {quote_choices(having)}", found)
    for key in ("frequencies", "bandwidth"):
        if getattr(learning, key) is not None and learning.features != "kernel":
            raise goes_with(learning, key, 'features = "kernel"')


def check_bounds(learning: Learning) -> None:
    """Refuse noise without a scale, and bounds that the algorithm does not support."""
    algorithm = learning.trains_by
    unbounded = learning.theta_max == "none"
    given = learning.gradient_bound is not None
    if learning.clipping not in algorithm.clippings:
        supported = quote_choices(algorithm.clippings)
        raise must_be(learning, "clipping", supported, says(learning, "algorithm"))
    if unbounded and learning.objective.quadratic and not (learning.clips_gradients or given):
        where = f"{says(learning, 'loss')} has no bound"
        rule = f'must be given with theta_max = "none", under which {where}'
        raise InputError("learning.gradient_bound", rule, "none", "Set it, or theta_max.")
    if not algorithm.takes_steps and (unbounded or given):
        key = "theta_max" if unbounded else "gradient_bound"
        raise goes_with(learning, key, "algorithms that take steps along gradients")
    checks = learning.aggregation is not None and learning.combines.name == NormCheck.name
    if unbounded and checks and not learning.clips_gradients:
        where = "a check of norms, which goes by the longest gradient in it"
        raise must_be(learning, "theta_max", "a ball", where)


def check_algorithm(learning: Learning) -> None:
    """Refuse what the algorithm does not support."""
    named = says(learning, "algorithm")
    algorithm = learning.trains_by
    check_mechanism(learning)
    if learning.weights != "size" and not algorithm.weighs_owners:
        raise must_be(learning, "weights", '"size"', named)
    _check_aggregation(learning)
    for key in ("horizon", "step_size", "step_decline", "returned"):
        if not algorithm.takes_steps and getattr(learning, key) not in (OPTIMAL, None):
            rule = f"{named}, which asks once and takes no steps"
            raise must_be(learning, key, 'left at "optimal"', rule)
    _check_rounds(learning)
    _check_growth(learning)
    if algorithm.clocked and learning.clocks is None:
        learning.__dict__["clocks"] = Clocks()
    if learning.clocks is not None and not algorithm.clocked:
        clocked = f"algorithm = {names_with(ALGORITHMS, 'clocked')}"
        raise goes_with(learning, "clocks", clocked, f"a table with {named}")


def _check_aggregation(learning: Learning) -> None:
    """Refuse aggregations of rounds in which not all owners answer, and two of them."""
    if not (learning.combines.sums or learning.trains_by.aggregates):
        able = names_with(ALGORITHMS, "aggregates")
        where = f"algorithm = {able}, under which all owners answer in a round"
        if learning.aggregation is None:
            raise goes_with(learning, "weights", where)
        raise goes_with(learning, "aggregation", where, format_value(learning.combines.name))
    if learning.weights == "observed" and learning.aggregation is not None:
        rule = 'must be left out with weights "observed"'
        raise InputError("learning.aggregation", rule, format_value(learning.aggregation.kind))


def _check_rounds(learning: Learning) -> None:
    """Refuse steps that no paper states, and numbers of rounds that the algorithm cannot go."""
    algorithm = learning.trains_by
    low, high = algorithm.rounds
    if learning.printed_step and not algorithm.prints_step:
        able = names_with(ALGORITHMS, "prints_step")
        where = f"algorithm = {able}; the other papers leave it open"
        raise goes_with(learning, "step_size", where)
    if learning.printed_step and learning.horizon == OPTIMAL:
        raise must_be(learning, "horizon", "a number of rounds", says(learning, "step_size"))
    if isinstance(learning.horizon, int) and not low <= learning.horizon <= high:
        what = f'"optimal" or a whole number of rounds from {low} to {high}'
        raise must_be(learning, "horizon", what, says(learning, "algorithm"))
    rounds = learning.horizon if isinstance(learning.horizon, int) else high
    if learning.returned == "averaged" and not algorithm.trial_points(["averaged"], rounds):
        where = f"{says(learning, 'horizon')}, of which the mean is the start itself"
        raise must_be(learning, "returned", '"last"', where)


def _check_growth(learning: Learning) -> None:
    """Refuse shares that grow where answers must be equal, or that grow too fast."""
    algorithm = learning.trains_by
    own = algorithm.growth
    if own is not None:
        if "growth" in learning.model_fields_set and learning.growth not in (own, OPTIMAL):
            raise must_be(learning, "growth", f"{own:g}", says(learning, "algorithm"))
        learning.__dict__["growth"] = own
    if learning.growth == 1:
        return
    if not algorithm.shares_may_grow:
        able = names_with(ALGORITHMS, "shares_may_grow")
        where = f"algorithm = {able}, whose owners answer in every round"
        raise goes_with(learning, "growth", where)
    if learning.printed_step:
        where = f"{says(learning, 'step_size')}, which takes answers to be alike"
        raise must_be(learning, "growth", "1", where)
    if not any(kind.share_power is not None for kind in kinds_by(learning, learning.accounting)):
        how = f" and {says(learning, 'accounting')}" if learning.accounting else ""
        where = f"{says(learning, 'mechanism')}{how}, of which all answers are alike"
        raise must_be(learning, "growth", "1", where)
    asked = algorithm.queries(learning.horizon) if isinstance(learning.horizon, int) else 1
    if not isinstance(learning.growth, str) and share_ratio(learning.growth, asked) > STEEPEST:
        most = f"at most {STEEPEST:g} times the first"
        what = f"a growth under which the last of {asked} answers gets {most}"
        raise must_be(learning, "growth", what, f"horizon {learning.horizon}")
