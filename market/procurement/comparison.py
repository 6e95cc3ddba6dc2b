"""Mechanisms side by side: made to spend the same, run on the same owners with the same chances.

Where misreporting can pay, at an equilibrium in reports; and what an owner could gain by misreporting, and lose by taking
part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from learning.progress import Did, unnoticed
from market.analysis.welfare import gini
from market.procurement.mechanism import ProcurementMechanism
from market.procurement.mechanisms import checked_costs, surplus_of
from market.procurement.reports import (
    equilibria_in_reports,
    misreports_given,
    who_misreports,
)
from market.procurement.spending import AtBudget
from market.procurement.valuation import count_error

SEARCHED = 3  # markets in which a truthful mechanism is put to the test
TRIED = 2500  # owners who put it to the test times owners in the market, at most
SETTLED = 40  # markets at most in which an equilibrium in reports is looked for
HIGH = 3.0  # other reports from which best responses start, in units of the costs
ROUNDING = 1e-9  # money below which a gain is rounding


class Estimate(NamedTuple):
    """A mean over markets drawn independently, and its standard error; nan from one market alone."""

    mean: float
    std_error: float


@dataclass(frozen=True)
class ComparisonRow:
    """How one mechanism did over several markets.

    Attributes
    ----------
    name : str
    reports : str, what owners report: "truth", "equilibrium", or "bound"
        At "bound" best responses came to no rest in some markets; these stand with the reports that leave the learner
        least among those that best responses led to.
    fitness : Estimate, relative fitness of what was bought; lower is better
    spend : Estimate, money
    net_gain : Estimate, money, the learner's: value times (outside - fitness), less what is spent
    surplus : Estimate, money left with all owners together
    lie : Estimate, money, the most that one owner could gain by misreporting while all others tell the truth
    truth : Estimate, relative fitness if all told the truth, whether that is likely or not
    elsewhere : Estimate, relative fitness at the equilibria that best responses lead to from reports thrice the costs
        Over the markets in which they lead to one; the fitness at the truth where that is an equilibrium by proof.
    count_error : Estimate, error of a count, as a part of the owners (`market.procurement.valuation.count_error`)
    selling : Estimate, part of the owners who sell
    gini : Estimate, inequality of payments: 0 all alike, towards 1 all to one
    largest_spend : float, money, in any market
    largest_loss : float, money, the worst that taking part did to an owner
    largest_gain : float, money, the most by which an owner could still gain at these reports
    found : float, part of the markets in which an equilibrium was found; 1 at the truth where it is proved to be one
    tried : float, part of the owners who tried to misreport, the cheapest of each market
    markets : int, how many the row was computed on
    truthful : bool, whether misreporting is proved never to help
    equal : bool, whether the mechanism spends the budget on average over the law of costs
    """

    name: str
    reports: str
    fitness: Estimate
    spend: Estimate
    net_gain: Estimate
    surplus: Estimate
    lie: Estimate
    truth: Estimate
    elsewhere: Estimate
    count_error: Estimate
    selling: Estimate
    gini: Estimate
    largest_spend: float
    largest_loss: float
    largest_gain: float
    found: float
    tried: float
    markets: int
    truthful: bool
    equal: bool


ESTIMATES = tuple(name for name, kind in ComparisonRow.__annotations__.items() if kind == "Estimate")


@dataclass(frozen=True)
class Appraisal:
    """What a purchase is worth, and to whom.

    Parameters
    ----------
    forecast : market.game.deviations.Forecast
        Tells the fitness of what was bought.
    value : float, money per unit of relative fitness, the learner's
    """

    forecast: Any
    value: float

    def __call__(
        self, mechanism: ProcurementMechanism, costs: np.ndarray, reports: np.ndarray, chances: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Figures of markets (n_markets,) each, when owners with these costs report these; (n_markets, n_owners)."""
        epsilon, payments = mechanism.settle(reports, chances)
        surplus, spend = surplus_of(epsilon, payments, costs), payments.sum(axis=1)
        forecast = self.forecast
        fitness = np.array([float(forecast.excess(forecast.terms(one).sum(axis=0))) for one in epsilon])
        return {
            "fitness": fitness,
            "spend": spend,
            "net_gain": self.value * (forecast.outside - fitness) - spend,
            "surplus": surplus.sum(axis=1),
            "count_error": np.array([count_error(one) for one in epsilon]),
            "selling": (epsilon > 0).mean(axis=1),
            "gini": np.array([gini(one) for one in payments]),
            "loss": np.maximum(-surplus, 0.0).max(axis=1),
        }


def compare(
    mechanisms: Mapping[str, AtBudget],
    costs: Any,
    *,
    forecast: Any,
    value: float,
    seed: int,
    did: Did = unnoticed,
) -> list[ComparisonRow]:
    """Run mechanisms on the same owners with the same chances, market by market.

    Owners report the truth where misreporting is proved never to help and no lie that helps was found: lies are searched
    for in the first three markets. Elsewhere they report an equilibrium of each market, of at most the first 40: others'
    reports and the chances known, the one that best responses lead to from the truth. Of more than 50 and 100 owners,
    only the cheapest of a market misreport.

    Parameters
    ----------
    mechanisms : dict of AtBudget by name, as from `market.procurement.spending.at_budget`
    costs : (n_owners,) or (n_markets, n_owners), money per unit of epsilon
    forecast : market.game.deviations.Forecast
        Tells the fitness of what each bought.
    value : float, money per unit of relative fitness, the learner's
    seed : int
        Chances of market m are drawn from (seed, m), for every mechanism alike.
    did : called with 1 after each mechanism, optional

    Returns
    -------
    list of ComparisonRow, in the order of ``mechanisms``
    """
    markets, rows = np.atleast_2d(checked_costs(costs)), []
    for name, made in mechanisms.items():
        parts = [_figures(version, markets, Appraisal(forecast, value), seed) for version in made.versions]
        rows.append(_row(name, made, parts))
        did(1)
    return rows


def _row(name: str, made: AtBudget, parts: list[dict[str, np.ndarray]]) -> ComparisonRow:
    """The figures of a mechanism's versions as one row: in each market their mean by the odds of the versions."""

    def estimate(figure: str) -> Estimate:
        each = np.sum([odds * part[figure] for odds, part in zip(made.odds, parts, strict=True)], axis=0)
        each = each[np.isfinite(each)]
        spread = each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
        return Estimate(float(each.mean()) if len(each) else np.nan, float(spread))

    def most(figure: str) -> float:
        return float(max(part[figure].max() for part in parts))

    found = min(float(part["found"].mean()) for part in parts)
    truth = all(part["at_truth"].all() for part in parts)
    return ComparisonRow(
        name,
        "truth" if truth else "equilibrium" if found == 1 else "bound",
        **{figure: estimate(figure) for figure in ESTIMATES},
        largest_spend=most("spend"),
        largest_loss=most("loss"),
        largest_gain=most("gain"),
        found=found,
        tried=float(parts[0]["tried"][0]),
        markets=len(parts[0]["spend"]),
        truthful=made.truthful,
        equal=made.equal,
    )


def _figures(
    mechanism: ProcurementMechanism, markets: np.ndarray, appraise: Appraisal, seed: int
) -> dict[str, np.ndarray]:
    """Figures of every market: at the truth where that is an equilibrium by proof, at an equilibrium elsewhere."""
    n_owners = markets.shape[1]
    chances = np.stack([mechanism.draw(n_owners, rng=np.random.default_rng([seed, m])) for m in range(len(markets))])
    owners = who_misreports(markets[:SEARCHED], TRIED)
    lies = misreports_given(mechanism, markets[:SEARCHED], chances[:SEARCHED], owners)
    if not mechanism.truthful or lies.gain.max() > ROUNDING:
        return _at_equilibrium(mechanism, markets[:SETTLED], chances[:SETTLED], appraise)
    truth = appraise(mechanism, markets, markets, chances)
    proved = {"at_truth": True, "found": True, "lie": 0.0, "gain": 0.0, "tried": owners.shape[1] / n_owners}
    constant = {name: np.full(len(markets), known) for name, known in proved.items()}
    return {**truth, **constant, "truth": truth["fitness"], "elsewhere": truth["fitness"]}


def _at_equilibrium(
    mechanism: ProcurementMechanism, markets: np.ndarray, chances: np.ndarray, appraise: Appraisal
) -> dict[str, np.ndarray]:
    """Figures at the equilibria found from the truth, or else from high reports, or else at the worst met on the way."""
    owners, rows = who_misreports(markets), np.arange(len(markets))

    def figures(reports: np.ndarray) -> dict[str, np.ndarray]:
        return appraise(mechanism, markets, reports, chances)

    near = equilibria_in_reports(mechanism, markets, chances, owners=owners)
    high = markets.copy()
    np.put_along_axis(high, owners, HIGH * np.take_along_axis(markets, owners, axis=1), axis=1)
    far = equilibria_in_reports(mechanism, markets, chances, owners=owners, start=high)
    use, reports = near.found | ~far.found, near.reports
    if not near.found.all():
        worst = np.argmin([figures(one)["net_gain"] for one in near.visited], axis=0)
        reports = np.where(near.found[:, None], reports, near.visited[worst, rows])
    return {
        **figures(np.where(use[:, None], reports, far.reports)),
        "at_truth": np.zeros(len(markets), dtype=bool),
        "tried": np.full(len(markets), owners.shape[1] / markets.shape[1]),
        "found": near.found | far.found,
        "gain": np.where(use, near.gain, far.gain),
        "lie": misreports_given(mechanism, markets, chances, owners).gain.max(axis=1),
        "truth": figures(markets)["fitness"],
        "elsewhere": np.where(far.found, figures(far.reports)["fitness"], np.nan),
    }
