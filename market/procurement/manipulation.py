"""Mechanisms by what owners make of them: the best liar's gain, what they learn to report, and who pays for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from learning.progress import Did, unnoticed
from learning.randomness import Streams
from market.procurement.certificate import REPORTS
from market.procurement.comparison import Appraisal, Estimate
from market.procurement.played import Played, play
from market.procurement.reports import drawn_chances
from market.procurement.spending import AtBudget
from market.procurement.strategies import ReportingGame, draw_levels

FIGURES = ("fitness", "spend", "surplus", "net_gain", "welfare")


@dataclass(frozen=True)
class PlayedRow:
    """How one mechanism did where owners, who know the law of costs and their own, learned what to report.

    Attributes
    ----------
    name : str
    learning : str, how the strategy was learned: a name in `market.procurement.played.LEARNING`
    honest : bool, whether they settled on the truth
    lie : Estimate, money, what the owner who gains most by a false report expects to gain while all others tell the truth
    loss : Estimate, money, the most that an owner gains by leaving what they settled on: nothing, at a Bayes-Nash equilibrium
    bound : float, money, which nobody gains more than with 95 % confidence, by the reports that were searched
    each : float, money, what an owner is left with on average where they settled
    manipulable : bool, whether some liar gains, by more than four standard errors
    markup : float, by how much reports exceed costs, as a part of the costs
    truth_fitness, fitness : Estimate, relative fitness of what was bought if all told the truth, and as played
    truth_spend, spend : Estimate, money
    truth_surplus, surplus : Estimate, money left with all owners together: their information rents
    truth_net_gain, net_gain : Estimate, money, the learner's: value times (outside - fitness), less what is spent
    truth_welfare, welfare : Estimate, money, the learner's net gain and the owners' surplus
    lost : Estimate, money, welfare at the truth less as played, in the same markets: what lies waste
    rounds : int, of learning
    markets : int, that figures are means over
    searched : int, markets that loss and lie were searched in
    equal : bool, whether the mechanism spends the budget on average, by `market.procurement.spending`
    """

    name: str
    learning: str
    honest: bool
    lie: Estimate
    loss: Estimate
    bound: float
    each: float
    manipulable: bool
    markup: float
    truth_fitness: Estimate
    fitness: Estimate
    truth_spend: Estimate
    spend: Estimate
    truth_surplus: Estimate
    surplus: Estimate
    truth_net_gain: Estimate
    net_gain: Estimate
    truth_welfare: Estimate
    welfare: Estimate
    lost: Estimate
    rounds: int
    markets: int
    searched: int
    equal: bool


def compare_played(
    mechanisms: Mapping[str, AtBudget],
    problem: Any,
    *,
    value: float,
    markets: int,
    seed: int,
    searched: int = REPORTS,
    did: Did = unnoticed,
) -> list[PlayedRow]:
    """Let owners learn what to report to each mechanism, and compare it with the truth in the same markets.

    Parameters
    ----------
    mechanisms : dict of AtBudget by name, as from `market.procurement.spending.at_budget`
        Of a lottery each version is played by owners who know which was drawn.
    problem : ProcurementProblem, whose law, number of owners and forecast count
    value : float, money per unit of relative fitness, the learner's
    markets : int, that figures are means over
    seed : int
    searched : int, optional
        Reports settled for each certificate, at most.
    did : called with parts of 1 for each mechanism as the work goes on, optional

    Returns
    -------
    list of PlayedRow, in the order of ``mechanisms``
    """
    streams, rows = Streams(seed, "played"), []
    levels, mixing = draw_levels(problem.n_owners, markets, rng=streams.rng("costs"))
    costs, appraise = problem.law.quantile(levels), Appraisal(problem.forecast, value)
    for name, made in mechanisms.items():
        played, figures, markups = [], [], []
        for version in made.versions:
            game = ReportingGame(version, problem.law, problem.n_owners)
            found = play(game, seed=seed, searched=searched, did=partial(_part, did, 1 / len(made.versions)))
            reports = found.strategy.report(costs, mixing)
            chances = drawn_chances(version, markets, problem.n_owners, rng=streams.rng("chances"))
            at_truth, as_played = (_figures(appraise(version, costs, one, chances)) for one in (costs, reports))
            played.append(found)
            figures.append({**{f"truth_{key}": one for key, one in at_truth.items()}, **as_played})
            markups.append(reports.mean() / costs.mean() - 1)
        means = {
            key: np.sum([odds * one[key] for odds, one in zip(made.odds, figures, strict=True)], axis=0)
            for key in figures[0]
        }
        rows.append(_row(name, made, played, means, float(np.dot(made.odds, markups))))
    return rows


def _part(did: Did, part: float, work: float) -> None:
    did(part * work)


def _figures(appraised: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is compared, by market."""
    known = {**appraised, "welfare": appraised["net_gain"] + appraised["surplus"]}
    return {name: known[name] for name in FIGURES}


def _row(name: str, made: AtBudget, played: list[Played], means: dict[str, np.ndarray], markup: float) -> PlayedRow:
    """One row; of a lottery's versions the one counts that is farthest from an equilibrium, and the one lied to most."""
    worst = max((one.certificate for one in played), key=lambda one: one.loss)
    liar = max((one.truth for one in played), key=lambda one: one.loss)

    def estimate(each: np.ndarray) -> Estimate:
        spread = each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
        return Estimate(float(each.mean()), float(spread))

    return PlayedRow(
        name,
        played[0].learning,
        not any(one.strategy.markups.any() for one in played),
        Estimate(liar.loss, liar.std_error),
        Estimate(worst.loss, worst.std_error),
        max(one.certificate.bound for one in played),
        worst.surplus,
        liar.gains,
        markup,
        **{key: estimate(each) for key, each in means.items()},
        lost=estimate(means["truth_welfare"] - means["welfare"]),
        rounds=max(one.rounds for one in played),
        markets=len(means["spend"]),
        searched=worst.markets,
        equal=made.equal,
    )
