"""Comparison of mechanisms at equal spending, on the same owners with the same chances.

Owners report an equilibrium where misreporting can pay. The comparison includes the gain by
misreporting and the loss by taking part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from learning.progress import ReportWork, ignore_work
from market.analysis.welfare import gini
from market.columns import Array
from market.procurement.mechanism import ProcurementMechanism, check_costs, surplus_of
from market.procurement.reports import cheapest_owners, equilibria_in_reports, misreports_given
from market.procurement.spending import AtBudget
from market.procurement.valuation import count_error

# Markets in which a truthful mechanism is tested.
SEARCHED = 3
# Owners who test it times owners in the market, at most.
TRIED = 2500
# Markets at most in which an equilibrium in reports is searched.
SETTLED = 40
# Other first reports of best responses, in units of the costs.
HIGH = 3.0
# Money below which a gain is rounding.
ROUNDING = 1e-9
Figures = dict[str, Array]


class Estimate(NamedTuple):
    """A mean over independent markets, and its standard error; nan from one market alone."""

    mean: float
    std_error: float


def estimate_mean(each: Array) -> Estimate:
    """Mean of values by market (n_markets,) and its standard error."""
    spread = each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
    return Estimate(float(each.mean()) if len(each) else np.nan, float(spread))


def mix_versions(odds: Sequence[float], parts: Sequence[Figures], figure: str) -> Array:
    """Mean of a figure (n_markets,) over the versions of a lottery."""
    return np.sum([chance * part[figure] for chance, part in zip(odds, parts, strict=True)], axis=0)


@dataclass(frozen=True)
class ComparisonRow:
    """Figures of one mechanism over several markets.

    Attributes
    ----------
    name : str
    reports : str, "truth", "equilibrium", or "bound", where best responses do not rest in some
        markets; these have the reports that leave the learner least among those visited
    fitness : Estimate, relative fitness of the model; lower is better
    spend : Estimate, money
    net_gain : Estimate, money, the learner's: value times (outside - fitness), less the spending
    surplus : Estimate, money, of all owners together
    lie : Estimate, money, the largest gain of one owner by misreporting while all others tell the
        truth
    truth : Estimate, relative fitness if all told the truth
    elsewhere : Estimate, relative fitness at the equilibria that best responses lead to from three
        times the costs, over the markets where they rest; that at the truth where it is proved an
        equilibrium
    count_error : Estimate, error of a count, as a part of the owners
        (`market.procurement.valuation.count_error`)
    selling : Estimate, part of the owners who sell
    gini : Estimate, inequality of payments
    largest_spend : float, money, in any market
    largest_loss : float, money, of any owner by taking part
    largest_gain : float, money, of any owner by another report
    found : float, part of the markets in which an equilibrium was found
    tried : float, part of the owners who tried to misreport, the cheapest of each market
    markets : int
    truthful : bool, whether the mechanism is proved incentive compatible
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


ESTIMATES = tuple(name for name, kind in ComparisonRow.__annotations__.items() if kind is Estimate)


@dataclass(frozen=True)
class Appraisal:
    """Evaluation of purchases.

    Parameters
    ----------
    forecast : market.game.Forecast, of the fitness
    value : float, money per unit of relative fitness, the learner's
    """

    forecast: Any
    value: float

    def __call__(
        self, mechanism: ProcurementMechanism, costs: Array, reports: Array, chances: Array
    ) -> Figures:
        """Figures of markets (n_markets,) at these costs and reports (n_markets, n_owners)."""
        epsilon, payments = mechanism.settle(reports, chances)
        surplus = surplus_of(epsilon, payments, costs)
        spend = payments.sum(axis=1)
        forecast = self.forecast
        sums = [forecast.terms(one).sum(axis=0) for one in epsilon]
        fitness = np.array([float(forecast.excess(one)) for one in sums])
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


def compare_mechanisms(
    mechanisms: Mapping[str, AtBudget],
    costs: Any,
    *,
    forecast: Any,
    value: float,
    seed: int,
    did: ReportWork = ignore_work,
) -> list[ComparisonRow]:
    """Run mechanisms on the same owners with the same chances, market by market.

    Owners report the truth where the mechanism is proved truthful and no profitable lie was found
    in the first three markets. Otherwise they report an equilibrium of each of at most 40 markets,
    reached by best responses from the truth, with others' reports and the chances known. In large
    markets only the cheapest owners misreport.

    Parameters
    ----------
    mechanisms : dict of AtBudget by name, as from `market.procurement.spending.at_budget`
    costs : (n_owners,) or (n_markets, n_owners), money per unit of epsilon
    forecast : market.game.Forecast, of the fitness
    value : float, money per unit of relative fitness, the learner's
    seed : int; the chances of market m are drawn from (seed, m) for every mechanism
    did : called with 1 after each mechanism, optional

    Returns
    -------
    list of ComparisonRow, in the order of ``mechanisms``
    """
    markets = np.atleast_2d(check_costs(costs))
    appraise = Appraisal(forecast, value)
    rows = []
    for name, made in mechanisms.items():
        parts = [_market_figures(version, markets, appraise, seed) for version in made.versions]
        rows.append(_comparison_row(name, made, parts))
        did(1)
    return rows


def _comparison_row(name: str, made: AtBudget, parts: list[Figures]) -> ComparisonRow:
    """Row of a mechanism: in each market the mean over its versions."""

    def estimate_figure(figure: str) -> Estimate:
        each = mix_versions(made.odds, parts, figure)
        return estimate_mean(each[np.isfinite(each)])

    def largest_figure(figure: str) -> float:
        return float(max(part[figure].max() for part in parts))

    found = min(float(part["found"].mean()) for part in parts)
    reports = "equilibrium" if found == 1 else "bound"
    if all(part["at_truth"].all() for part in parts):
        reports = "truth"
    return ComparisonRow(
        name,
        reports,
        **{figure: estimate_figure(figure) for figure in ESTIMATES},
        largest_spend=largest_figure("spend"),
        largest_loss=largest_figure("loss"),
        largest_gain=largest_figure("gain"),
        found=found,
        tried=float(parts[0]["tried"][0]),
        markets=len(parts[0]["spend"]),
        truthful=made.truthful,
        equal=made.equal,
    )


def _market_figures(
    mechanism: ProcurementMechanism, markets: Array, appraise: Appraisal, seed: int
) -> Figures:
    """Figures of every market: at the truth where it is proved an equilibrium, or at one found."""
    count, n_owners = markets.shape
    draws = [np.random.default_rng([seed, m]) for m in range(count)]
    chances = np.stack([mechanism.draw(n_owners, rng=rng) for rng in draws])
    owners = cheapest_owners(markets[:SEARCHED], TRIED)
    lies = misreports_given(mechanism, markets[:SEARCHED], chances[:SEARCHED], owners)
    if not mechanism.truthful or lies.gain.max() > ROUNDING:
        return _figures_at_equilibrium(mechanism, markets[:SETTLED], chances[:SETTLED], appraise)
    truth = appraise(mechanism, markets, markets, chances)
    tried = owners.shape[1] / n_owners
    proved = {"at_truth": True, "found": True, "lie": 0.0, "gain": 0.0, "tried": tried}
    constant = {name: np.full(count, known) for name, known in proved.items()}
    return {**truth, **constant, "truth": truth["fitness"], "elsewhere": truth["fitness"]}


def _figures_at_equilibrium(
    mechanism: ProcurementMechanism, markets: Array, chances: Array, appraise: Appraisal
) -> Figures:
    """Figures at equilibria found from the truth, or from high reports, or at the worst visited."""
    owners = cheapest_owners(markets)
    rows = np.arange(len(markets))

    def figures_at(reports: Array) -> Figures:
        return appraise(mechanism, markets, reports, chances)

    near = equilibria_in_reports(mechanism, markets, chances, owners=owners)
    high = markets.copy()
    np.put_along_axis(high, owners, HIGH * np.take_along_axis(markets, owners, axis=1), axis=1)
    far = equilibria_in_reports(mechanism, markets, chances, owners=owners, start=high)
    use = near.found | ~far.found
    reports = near.reports
    if not near.found.all():
        worst = np.argmin([figures_at(one)["net_gain"] for one in near.visited], axis=0)
        reports = np.where(near.found[:, None], reports, near.visited[worst, rows])
    return {
        **figures_at(np.where(use[:, None], reports, far.reports)),
        "at_truth": np.zeros(len(markets), dtype=bool),
        "tried": np.full(len(markets), owners.shape[1] / markets.shape[1]),
        "found": near.found | far.found,
        "gain": np.where(use, near.gain, far.gain),
        "lie": misreports_given(mechanism, markets, chances, owners).gain.max(axis=1),
        "truth": figures_at(markets)["fitness"],
        "elsewhere": np.where(far.found, figures_at(far.reports)["fitness"], np.nan),
    }
