"""The market of a result: owners, equilibrium and money, with the tables' rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from learning.forecast.fitness import FitnessForecast
from learning.forecast.measures import RELATIVE
from learning.privacy.promises import weakest_claims
from learning.randomness import Streams
from market.analysis.welfare import at_refusal, gini, individually_rational, participation
from market.costs.leakage import leakage_bits
from market.equilibrium.diagnostics import diagnose, equilibrium_remarks
from scenarios.features.base import rows_of
from scenarios.features.behaviours import describe_rational
from scenarios.planning import isolated_as_known
from scenarios.run import Run
from scenarios.summary.break_even import break_even_part
from scenarios.summary.verdict import buying_pays, gain_part, summarise_runs
from scenarios.summary.worth import past_worth_part, terms_part, worth_columns

BEST = (
    "optimum",
    "optimum_at_most",
    "optimum_epsilon",
    "price_of_anarchy",
    "price_of_anarchy_at_most",
)
WEIGHED = "value", "gross_value", "surplus"  # None where the worth of the model is unknown
CURVE_POINTS = 200
CURVE_OWNERS = 100
TRACED = 10_000  # owners whose path is told
DIAGNOSED = 12  # owners up to which the kind of game is looked into


def owners_part(
    run: Run, fitness: float, claims: Sequence[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Row of each owner: sales, payment, losses and gains, at the model's ``fitness``.

    The bits that a record may leak follow from ``claims``, against whoever sees most, and not from
    the budget sold: by the bound for any (epsilon, delta)-private mechanism.

    The model that an owner could train alone is judged twice: ``isolated_relative_fitness`` on all
    records, which nobody in the market can see, tells who gains; ``isolated_estimate`` on the
    public rows is what owners decide by.
    """
    game = run.game
    epsilon = run.epsilon
    asked = game.asks(epsilon)
    isolated = estimate = np.full(len(game.owners), np.nan)
    if run.data.fits_own_models:
        isolated = run.data.isolated
    if run.data.fits_own_models or not run.data.has_records:
        estimate = isolated_as_known(run.data, run.planner)
    gains: Any = asked & (epsilon > 0) & (fitness < isolated)
    if not run.data.has_records:
        gains = [None] * len(game.owners)
    columns = {
        **account_columns(run, claims),
        "weight": run.weights * asked,
        "isolated_relative_fitness": isolated,
        "isolated_estimate": estimate,
        "as_learner_relative_fitness": as_learner_fitness(run.planner.forecast, epsilon),
        "gains": gains,
    }
    error = game.policy.standard_error(epsilon, game)
    if error is not None:  # payments from a sample
        columns["payment_std_error"] = error
    return rows_of(columns)


def money_columns(run: Run) -> dict[str, Any]:
    """Columns of each owner's money by part, by name."""
    have = run.accounts
    return {
        "payment": have.payments,
        "privacy_cost": have.costs - have.taxes,
        "tax": have.taxes,
        "benefit": have.benefits,
        "transfer": have.transfers,
        "spillover": have.spillovers,
        "surplus": have.surplus,
    }


def account_columns(run: Run, claims: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Columns of what each owner sells, is paid, loses and has in the end, by name."""
    have = run.accounts
    out = run.staying_out
    promised = {name: claim["epsilon"] for name, claim in weakest_claims(claims).items()}
    claimed = np.array([promised.get(name, 0.0) for name in run.data.names])
    delta = max((claim["delta"] for claim in claims), default=0.0)
    leaked = leakage_bits(claimed, run.game.owners.cost.values, delta)
    columns = {
        "name": run.data.names,
        "records": run.data.sizes,
        "epsilon": have.epsilon,
        **worth_columns(run),
        "claimed_epsilon": claimed,
        **money_columns(run),
        "outside_option": out,
        "rational": individually_rational(
            have.surplus - out, have.payments, have.costs, have.transfers, out
        ),
        "leakage_bits": leaked * np.isin(run.data.names, list(promised)),
    }
    if not run.scenario.unions and not run.transfers.any():
        del columns["transfer"]
    if run.scenario.externalities is None:
        del columns["spillover"]
    return columns


def as_learner_fitness(forecast: FitnessForecast, epsilon: np.ndarray) -> np.ndarray:
    """Relative fitness of each owner's own model if it were the learner.

    Source: Wu et al., The Value of Collaboration, section V.
    """
    terms = forecast.terms(epsilon)
    exact = forecast.terms(np.full_like(epsilon, np.inf))
    return np.asarray(forecast.excess(terms.sum(axis=0) - terms + exact))


def equilibrium_part(run: Run) -> dict[str, Any]:
    """Certificate, every distinct equilibrium, and remarks on the profile."""
    found = run.contest.found if run.contest else run.equilibrium
    n_owners = len(run.game.owners)
    profiles = [one.epsilon.reshape(n_owners, -1).sum(axis=1) for one in (found, *found.others)]
    return {
        **certificate_part(run),
        "starts": found.starts,
        "distinct": profiles,
        "remarks": [] if run.contest else equilibrium_remarks(run.game, found),
        "diagnosis": diagnosis_part(run),
        "benchmark": describe_rational(run.game, run.rational),
        "agents": found.agents,
    }


def refusal_part(run: Run) -> list[dict[str, Any]]:
    """Warnings of learners who pay for a model no better than their own."""
    runs: dict[str | None, Run] = {None: run}
    if run.contest:
        runs = dict(zip(run.contest.names, (run, *run.contest.others), strict=True))
    return [
        {
            "cause": "edge_of_refusal",
            "learner": name,
            "payments": float(one.game.payments(one.epsilon).sum()),
            "sellers": int(np.count_nonzero(one.epsilon)),
        }
        for name, one in runs.items()
        if at_refusal(one.game, one.epsilon)
    ]


def certificate_part(run: Run) -> dict[str, Any]:
    """Certificate of the equilibrium, its method, and the largest gain by a deviation."""
    found = run.equilibrium
    return {
        "converged": found.converged,
        "reason": found.reason,
        "method": found.method,
        "iterations": found.iterations,
        "max_regret": found.max_regret,
        "max_relative_regret": found.max_relative_regret,
    }


def diagnosis_part(run: Run) -> dict[str, Any] | None:
    """Kind of game, by samples; None for large markets and non-additive policies."""
    if len(run.game.owners) > DIAGNOSED or not run.playing.additive or not run.simple:
        return None
    found = diagnose(run.game, rng=Streams(run.scenario.seed, "diagnosis").rng())
    return {
        "dominance_solvable": found.dominance.holds,
        "potential_game": found.potential.holds,
        "contraction": found.contraction.holds,
        "modulus": found.contraction.largest,
        "diagonally_concave": found.concavity.holds,
    }


def learner_part(run: Run) -> dict[str, Any]:
    """Learner's account: promises, remedies, and whether it can pay."""
    promised = promised_part(run)
    budget = run.scenario.learner.budget
    within = None
    if budget is not None:
        within = participation(run.game, run.epsilon, budget=budget).within_budget
    return {
        **promised,
        "break_even": break_even_part(run),
        "terms": terms_part(run),
        "remedies": remedies_part(run),
        "past_worth": past_worth_part(run),
        "budget": budget,
        "within_budget": within,
    }


def remedies_part(run: Run) -> list[dict[str, Any]]:
    """Changes under which asking would pay; none where something is asked.

    With several learners none is sought: each would change what the others buy. Nor is one where
    nobody has said what a better model is worth.
    """
    asks = run.planner.forecast.plan(run.epsilon).asks
    settled = asks and np.any(run.epsilon > 0)
    if run.scenario.learners or settled or not run.scenario.learner.knows_value:
        return []
    from scenarios.summary.remedies import list_remedies

    return list_remedies(run)


def promised_part(run: Run) -> dict[str, Any]:
    """Learner's account as promised, with the distribution of its gain."""
    account = account_part(run)
    doubt = run.prediction.without_doubt is not None
    if not run.scenario.learner.knows_value:
        unknown = dict.fromkeys((*WEIGHED, "gain", "buying_pays"))
        return account | unknown | {"kinds_in_doubt": doubt}
    gain = gain_part(run.possible_gains(account["payments"]))
    return {
        **account,
        "gain": gain,
        "kinds_in_doubt": doubt,
        "buying_pays": buying_pays(gain, account["surplus"]),
    }


def account_part(run: Run) -> dict[str, Any]:
    """Value of buying over the learner's own rows, as forecast, less payments."""
    game = run.game
    epsilon = run.epsilon
    paid = float(game.payments(epsilon).sum())
    gross = game.value * (game.forecast.outside - game.fitness(epsilon))
    promised = float(game.promised(epsilon).sum())
    return {
        "value": game.value,
        "gross_value": gross,
        "promised": promised,
        "payments": paid,
        "surplus": gross - paid,
    }


def money_part(run: Run) -> dict[str, Any]:
    """Value of the trained models in money, measured with non-private access."""
    game = run.game
    have = run.accounts
    reached = np.full(len(game.owners), run.errors.mean())
    gain = game.owners.model_gains(isolated_errors(run), reached)
    benefit = np.where(run.has_model, game.owners.benefit * gain, 0.0)
    had = have.payments - have.costs + have.transfers - have.spillovers
    return {
        **learner_money(run),
        "owners": [
            {"name": name, "benefit": gained, "surplus": left}
            for name, gained, left in zip(run.data.names, benefit, had + benefit, strict=True)
        ],
    }


def learner_money(run: Run) -> dict[str, Any]:
    """Learner's surplus over the trained models; None where the worth of a model is unknown."""
    if not run.scenario.learner.knows_value:
        return dict.fromkeys(("learner_surplus", "pays", "chance_of_loss"))
    surplus = trained_gains(run)
    return {
        "learner_surplus": summarise_runs(surplus),
        "pays": bool(surplus.mean() > 0),
        "chance_of_loss": float(np.mean(surplus < 0)),
    }


def trained_gains(run: Run) -> np.ndarray:
    """Learner's gain by each trained model, measured on all records, after paying, (runs,)."""
    worth = np.zeros_like(run.errors)
    if run.asks:
        worth = run.game.value * (run.own_error - run.errors)
    return np.asarray(worth - run.game.payments(run.epsilon).sum())


def isolated_errors(run: Run) -> np.ndarray:
    """Errors of the models that owners could train alone, (n_owners,).

    On all records; of owners who combine models, as forecast on records of their own kind.
    """
    if run.scenario.owners.personal or not run.data.fits_own_models:
        return np.asarray(run.game.owners.isolated)
    if run.measure is RELATIVE or not run.game.owners.benefit.any():
        return run.data.isolated
    return run.counted(run.data.own_models)


def welfare_part(run: Run) -> dict[str, Any]:
    """Welfare at the equilibrium and at the best profile a planner could impose."""
    have = sides_part(run)
    # Otherwise a planner would also divide each budget among learners, count what it tells of
    # others, or choose who stays; and what nobody has valued has no best.
    if not (run.simple and run.scenario.learner.knows_value):
        return have | dict.fromkeys(BEST)
    best = run.optimum
    anarchy: Sequence[float | None] = (None, None)
    if have["total"] > 0:
        anarchy = best.price_of_anarchy(have["total"])
    values = (best.welfare, best.at_most, best.epsilon, *anarchy)
    return have | dict(zip(BEST, values, strict=True))


def sides_part(run: Run) -> dict[str, Any]:
    """Welfare at the equilibrium: in all, and of the owners, the learner and the treasury."""
    have = run.accounts
    known = run.scenario.learner.knows_value
    return {
        "total": have.welfare if known else None,
        "owners": float(have.surplus.sum()),
        "learner": have.worth - float(have.payments.sum()) if known else None,
        "treasury": float(have.taxes.sum()),
        "gini": gini(have.surplus),
    }


def trajectory_rows(run: Run) -> list[dict[str, Any]]:
    """Row of each round and owner: its budget, payment, and what it could gain by moving alone.

    Only the first `TRACED` owners have rows.
    """
    names = run.data.names[:TRACED]
    rows = []
    path = (run.contest.found if run.contest else run.equilibrium).trajectory
    for number, epsilon, payments, _ in path:
        if run.contest is None:
            regret = run.playing.regret(epsilon, np.arange(len(names)))
        else:
            regret = run.contest.market.certificate(epsilon)[0][:TRACED]
            epsilon = epsilon.sum(axis=1)
            payments = payments.sum(axis=1)
        moved = {"epsilon": epsilon[:TRACED], "payment": payments[:TRACED], "regret": regret}
        rows += rows_of({"round": [number] * len(names), "owner": names} | moved)
    return rows


def _deviation_payoffs(run: Run, grid: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Surplus (n, m) of the owners numbered in ``shown`` (n,) at budgets in all (n, m)."""
    if run.contest is None:
        return run.playing.deviation_payoffs(run.epsilon, grid, shown)
    from market.competition.allocation import even_split

    market = run.contest.market
    sold = run.contest.found.epsilon
    total = sold.sum(axis=1, keepdims=True)
    parts = np.divide(sold, total, out=even_split(market.links), where=total > 0)[shown]
    return market.allocations(sold, shown).row_surplus(grid[..., None] * parts[:, None, :])


def payoff_rows(run: Run) -> list[dict[str, Any]]:
    """Surplus at budgets over its whole interval, of each of the owners with most money at stake.

    A budget is divided among several learners as in the equilibrium.
    """
    game = run.game
    have = run.accounts
    stake = np.abs(have.payments) + have.costs
    epsilon = have.epsilon
    shown = np.sort(np.argsort(-stake, kind="stable")[:CURVE_OWNERS])
    low = game.owners.epsilon_min[shown]
    high = game.owners.epsilon_max[shown]
    start = np.maximum(np.where(low > 0, low, 1e-3 * high), 1e-300)[:, None]
    ratio = np.maximum(high, 1e-300)[:, None] / start
    grid = np.where(high[:, None] > 0, start * ratio ** np.linspace(0, 1, CURVE_POINTS), 0.0)
    grid = np.column_stack([low, grid[:, 1:-1], epsilon[shown], high])
    grid.sort(axis=1)
    payoffs = _deviation_payoffs(run, grid, shown)
    return [
        {"owner": game.owners.names[i], "epsilon": e, "payoff": p}
        for i, at, there in zip(shown, grid, payoffs, strict=True)
        for e, p in zip(at, there, strict=True)
    ]
