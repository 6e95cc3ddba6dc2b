"""Promises of money before training, and the verdict on a trained model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.forecast.prediction import quantiles
from learning.phrases import read_limit
from learning.privacy.promises import weakest_claims

Content = Mapping[str, Any]
STANDARD_ERRORS = 3
SIGNIFICANT = 0.01  # p-value up to which records count as of another kind
# Relative fitness that counts as none: what the best error of labels is certified to.
ROUNDING = 1e-8
LEVEL = 0.9  # of the interval of the gain: from its 5 % to its 95 % quantile
LIKELIER = 0.5  # chance above which buying may be said to pay


def summarise_runs(fitness: NDArray[np.float64]) -> dict[str, float]:
    """Mean, standard error and quantiles over the trained runs, of relative fitness or of money."""
    levels = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
    std_error = float(fitness.std(ddof=1) / np.sqrt(len(fitness)))
    named = zip(levels, np.quantile(fitness, list(levels.values())).tolist(), strict=True)
    return {"mean": float(fitness.mean()), "std_error": std_error, **dict(named)}


def forecast_agrees(runs: Content, interval: tuple[float, float]) -> bool:
    """Test whether the trained mean lies in the widened interval of the forecast.

    The interval is widened by three standard errors, and for rounding, where nothing is random, by
    1e-9 of the mean and by `ROUNDING`.
    """
    mean = runs["mean"]
    low, high = interval
    slack = STANDARD_ERRORS * runs["std_error"] + 1e-9 * abs(mean) + ROUNDING
    return bool(low - slack <= mean <= high + slack)


def agrees_on_money(surplus: Content, learner: Content) -> bool:
    """Test the learner's mean surplus against its promise, within three standard errors.

    The promise is that buying pays, or that it does not, and an interval of the gain: so the mean
    must lie on the promised side of 0, and in the interval (which should hold nine markets of ten).
    Where buying is not said to pay, no side is promised if the forecast itself has a gain, or if
    records may be of several kinds.

    Parameters
    ----------
    surplus: what `summarise_runs` says of the learner's surplus over the trained runs, money.
    learner: what was promised before training: ``buying_pays``, ``surplus`` and the ``interval`` of
        its ``gain``.
    """
    mean = surplus["mean"]
    slack = STANDARD_ERRORS * surplus["std_error"]
    low, high = learner["gain"]["interval"]
    slack_inside = slack + 1e-9 * (abs(low) + abs(high)) + ROUNDING * learner["value"]
    if learner["buying_pays"]:
        side = mean + slack > 0
    else:
        open_side = learner["surplus"] > 0 or learner.get("kinds_in_doubt")
        side = open_side or mean - slack <= 0
    return bool(side and low - slack_inside <= mean <= high + slack_inside)


def promises_kept(content: Content) -> bool:
    """Test whether the equilibrium is certified, and forecast and money came true."""
    checked = content["validation"]
    kept = checked is None or (checked["agrees"] and checked["agrees_on_money"])
    return bool(content["equilibrium"]["converged"] and kept)


def z_score(runs: Content, oracle: Content) -> float | None:
    """Trained mean against the oracle law, in standard errors of both.

    None where nothing is random.
    """
    error = float(np.hypot(runs["std_error"], oracle["std_error"]))
    if error <= 1e-9 * abs(runs["mean"]):
        return None
    return (runs["mean"] - oracle["relative_fitness"]) / error


def explain_difference(
    runs: Content, forecast: Content, *, projected: float
) -> list[dict[str, Any]]:
    """Causes of the difference between the trained mean and the forecast.

    Parameters
    ----------
    runs: what `summarise_runs` says of the trained runs.
    forecast: as the result has it: interval, bias, noise, best error, and the same by the law on
        the pooled records.
    projected: share of the coordinates that were moved back into the ball that training is kept in.

    Returns
    -------
    list of dict
        Facts, each with a ``cause``. The first is inside_interval, near_interval (within three
        standard errors of it) or outside_interval. Differences (``amount``) are in units of
        relative fitness, the largest cause first.
    """
    mean = runs["mean"]
    point = forecast["bias"] + forecast["noise"]
    low, high = forecast["interval"]
    where = {"mean": mean, "point": point, "interval": [low, high]}
    oracle = forecast["oracle"]
    if forecast_agrees(runs, (low, high)):
        inside = low - ROUNDING <= mean <= high + ROUNDING
        return [{"cause": "inside_interval" if inside else "near_interval"} | where]
    edge = high if mean > high else low
    parts = {f"{part}_differs": oracle[part] - forecast[part] for part in ("bias", "noise")}
    ordered = sorted(parts.items(), key=lambda part: -abs(part[1]))
    facts = [{"cause": "outside_interval"} | where | {"edge": edge, "amount": mean - edge}]
    facts += [
        {"cause": name, "amount": part}
        for name, part in ordered
        if abs(part) > 0.1 * abs(mean - point)
    ]
    best = {"pooled": oracle["optimum"], "forecast": forecast["optimum"]}
    if abs(best["pooled"] / best["forecast"] - 1) > 0.1:
        facts.append({"cause": "best_error_differs"} | best)
    z = z_score(runs, oracle)
    unexplained = mean - oracle["relative_fitness"]
    if z is not None and abs(z) > STANDARD_ERRORS and abs(unexplained) > ROUNDING:
        facts.append({"cause": "unexplained", "amount": unexplained, "projected": projected})
    return facts


def explain_by_kind(owners: float, public: float) -> dict[str, Any]:
    """Cause of a failed forecast: records that differ in kind, or chance, by tests.

    Parameters
    ----------
    owners: p-value of the test that all owners' records are of one kind.
    public: p-value of the test that the public rows are of the owners' kind.

    Returns
    -------
    dict
        A fact: owners_differ, public_sample_differs or public_sample_by_chance, with the p-value
        that says so.
    """
    if owners <= SIGNIFICANT:
        return {"cause": "owners_differ", "p_value": owners}
    if public <= SIGNIFICANT:
        return {"cause": "public_sample_differs", "p_value": public}
    return {"cause": "public_sample_by_chance", "p_value": public}


def promised_and_sold(result: Content) -> list[tuple[float, float]]:
    """Epsilon promised and epsilon sold, of each owner for whom they differ.

    Over several periods, promises are of all that was sold, and owners' rows of one period; of
    noise that owners make together, they are of what all of it gives.
    """
    if result.get("time") or result.get("trust"):
        return []
    sold = {owner["name"]: read_limit(owner["epsilon"]) for owner in result["owners"]}
    own = weakest_claims(claim for claim in result["claims"] if not claim.get("joint"))
    pairs = [(read_limit(own[name]["epsilon"]), sold[name]) for name in own if name in sold]
    return [
        pair for pair in pairs if pair[0] != pair[1] and abs(pair[0] - pair[1]) > 1e-3 * pair[1]
    ]


def weaker_than_sold(result: Content) -> list[dict[str, Any]]:
    """Warning that noise as a paper prints it protects less than the budget sold."""
    pairs = promised_and_sold(result)
    given, asked = max(pairs, key=lambda pair: pair[0] / pair[1], default=(0.0, 0.0))
    if given <= asked:
        return []
    fact = {"cause": "weaker_than_sold", "epsilon": given, "sold": asked}
    bound = (result.get("protocol") or {}).get("given_bound")
    return [fact if bound is None else fact | {"given_bound": bound}]


def gain_part(possible: Array) -> dict[str, Any]:
    """Describe the learner's gain in each possible world, (m,), each on average over trainings.

    Returns
    -------
    dict
        ``mean`` and ``median``; ``interval``, in which the gain lies with chance ``level``;
        ``chance_pays``, that it is above 0.
    """
    low, high = quantiles(possible, LEVEL)
    return {
        "mean": float(np.mean(possible)),
        "median": float(np.median(possible)),
        "interval": [low, high],
        "level": LEVEL,
        "chance_pays": chance_above(possible),
    }


def buying_pays(gain: Mapping[str, Any], surplus: float) -> bool:
    """Decide whether buying is said to pay: likely, and a gain on average.

    Chance and mean are of the same worlds. The forecast's own gain, which the market is played on,
    must be above 0 too.

    Parameters
    ----------
    gain: of `gain_part`.
    surplus: the learner's gain as forecast, money.
    """
    return bool(gain["chance_pays"] > LIKELIER and gain["mean"] > 0 and surplus > 0)


def chance_above(possible: Array, amount: float = 0.0) -> float:
    """Chance that the gain is above an amount: (k + 1/2)/(m + 1) where k of m worlds are above.

    The half is Jeffreys' prior: however many worlds agree, worlds that differ make nothing certain.

    >>> chance_above(np.array([-1.0, 2.0, 3.0])), chance_above(np.array([2.0, 2.0]))
    (0.625, 1.0)
    """
    above = int(np.sum(possible > amount))
    if possible.min() == possible.max():
        return float(above > 0)
    return (above + 0.5) / (len(possible) + 1)
