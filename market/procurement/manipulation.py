"""Comparison of mechanisms under learned reports: gains of liars, reports, and welfare."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from learning.progress import ReportWork, ignore_work
from learning.randomness import Streams
from market.procurement.comparison import (
    Appraisal,
    Estimate,
    Figures,
    estimate_mean,
    mix_versions,
)
from market.procurement.mechanism import draw_chances
from market.procurement.played import Played, play_reporting_game
from market.procurement.spending import AtBudget
from market.procurement.strategies import REPORTS, ReportingGame, draw_levels

FIGURES = ("fitness", "spend", "surplus", "net_gain", "welfare")


@dataclass(frozen=True)
class PlayedRow:
    """Figures of one mechanism where owners with private costs learned their reports.

    Attributes
    ----------
    name : str
    learning : str, the learning rule, a name in `market.procurement.played.LEARNING`
    honest : bool, whether they settled on the truth
    lie : Estimate, money, the largest expected gain by a false report while all others tell the
        truth
    loss : Estimate, money, the largest gain by leaving the learned strategy: 0 at a Bayes-Nash
        equilibrium
    bound : float, money, its upper bound with 95 % confidence, by the reports searched
    each : float, money, an owner's mean surplus
    manipulable : bool, whether some liar gains, by more than four standard errors
    markup : float, reports over costs, less 1
    truth_fitness, fitness : Estimate, relative fitness at the truth, and as played
    truth_spend, spend : Estimate, money
    truth_surplus, surplus : Estimate, money, of all owners together: their information rents
    truth_net_gain, net_gain : Estimate, money, the learner's: value times (outside - fitness), less
        the spending
    truth_welfare, welfare : Estimate, money, the learner's net gain and the owners' surplus
    lost : Estimate, money, welfare at the truth less as played, in the same markets
    rounds : int, of learning
    markets : int, averaged over
    searched : int, markets that loss and lie were searched in
    equal : bool, whether the mechanism spends the budget on average, by
        `market.procurement.spending`
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
    did: ReportWork = ignore_work,
) -> list[PlayedRow]:
    """Let owners learn their reports to each mechanism, and compare with the truth.

    Parameters
    ----------
    mechanisms : dict of AtBudget by name, as from `market.procurement.spending.at_budget`; owners
        know the drawn version of a lottery
    problem : ProcurementProblem, for its law, number of owners and forecast
    value : float, money per unit of relative fitness, the learner's
    markets : int, averaged over
    seed : int
    searched : int, optional, reports settled for each certificate, at most
    did : called with parts of 1 for each mechanism as the work goes on, optional

    Returns
    -------
    list of PlayedRow, in the order of ``mechanisms``
    """
    streams = Streams(seed, "played")
    n_owners = problem.n_owners
    levels, mixing = draw_levels(n_owners, markets, rng=streams.rng("costs"))
    costs = problem.law.quantile(levels)
    appraise = Appraisal(problem.forecast, value)
    rows = []
    for name, made in mechanisms.items():
        report_part = partial(_report_part, did, 1 / len(made.versions))
        played = []
        figures = []
        markups = []
        for version in made.versions:
            game = ReportingGame(version, problem.law, n_owners)
            found = play_reporting_game(game, seed=seed, searched=searched, did=report_part)
            reports = found.strategy.report(costs, mixing)
            chances = draw_chances(version, markets, n_owners, rng=streams.rng("chances"))
            truth = _with_welfare(appraise(version, costs, costs, chances))
            actual = _with_welfare(appraise(version, costs, reports, chances))
            played.append(found)
            figures.append({f"truth_{key}": truth[key] for key in FIGURES} | actual)
            markups.append(reports.mean() / costs.mean() - 1)
        keys = [*(f"truth_{key}" for key in FIGURES), *FIGURES]
        means = {key: mix_versions(made.odds, figures, key) for key in keys}
        rows.append(_played_row(name, made, played, means, float(np.dot(made.odds, markups))))
    return rows


def _report_part(did: ReportWork, part: float, work: float) -> None:
    did(part * work)


def _with_welfare(figures: Figures) -> Figures:
    return figures | {"welfare": figures["net_gain"] + figures["surplus"]}


def _played_row(
    name: str, made: AtBudget, played: list[Played], means: Figures, markup: float
) -> PlayedRow:
    """Row of a mechanism; of a lottery the version with the largest loss and the largest lie."""
    worst = max((one.certificate for one in played), key=lambda one: one.loss)
    liar = max((one.truth for one in played), key=lambda one: one.loss)
    return PlayedRow(
        name,
        learning=played[0].learning,
        honest=not any(one.strategy.markups.any() for one in played),
        lie=Estimate(liar.loss, liar.std_error),
        loss=Estimate(worst.loss, worst.std_error),
        bound=max(one.certificate.bound for one in played),
        each=worst.surplus,
        manipulable=liar.gains,
        markup=markup,
        **{key: estimate_mean(each) for key, each in means.items()},
        lost=estimate_mean(means["truth_welfare"] - means["welfare"]),
        rounds=max(one.rounds for one in played),
        markets=len(means["spend"]),
        searched=worst.markets,
        equal=made.equal,
    )
