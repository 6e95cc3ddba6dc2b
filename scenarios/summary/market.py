"""What a result holds of the market: owners, equilibrium, money, and the rows of the tables beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from learning.forecast.fitness import FitnessForecast
from learning.forecast.measures import RELATIVE
from learning.privacy.promises import weakest
from learning.randomness import Streams
from market.analysis.assessment import gain_by_coming_back
from market.analysis.optimum import social_optimum
from market.analysis.provision import matching
from market.analysis.refusal import at_refusal
from market.analysis.thesis_games import remarks
from market.analysis.welfare import SLACK, gini, learner_surplus, participation, rational, welfare
from market.competition.allocation import even_split
from market.costs.leakage import leakage_bits
from market.equilibrium.diagnostics import diagnose
from market.equilibrium.solver import solve
from scenarios.planning import isolated_as_known
from scenarios.run import Run
from scenarios.settling.players import union_row
from scenarios.settling.playing import benchmark_part
from scenarios.summary.gain import buying_pays, gain_part
from scenarios.summary.remedies import remedies_part
from scenarios.summary.terms import terms_part
from scenarios.summary.verdict import summary
from scenarios.summary.worth import past_worth_part, worth_columns

BEST = ("optimum", "optimum_at_most", "optimum_epsilon", "price_of_anarchy", "price_of_anarchy_at_most")
APART = 4  # starts of the same market with owners who have nothing in common
CURVE_POINTS = 200
CURVE_OWNERS = 100
TRACED = 10_000  # owners whose path is told
DIAGNOSED = 12  # owners up to which the kind of game is looked into


def owners_part(run: Run, fitness: float, claims: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    """One row per owner: what it sells, is paid, loses and gains, where the model's relative fitness is ``fitness``.

    What a record may leak follows from ``claims``, against who sees most, and not from the budget sold: by the bound that
    holds for whatever is (epsilon, delta)-private.

    What an owner could train alone is given twice: ``isolated_relative_fitness``, judged on all records, which nobody in
    the market can see, tells who gains; by ``isolated_estimate``, tried on the public rows, owners decide.
    """
    game, epsilon = run.game, run.epsilon
    cost, asked, have = game.owners.cost, game.asks(epsilon), run.accounts
    isolated = run.data.isolated if run.data.fits_own_models else np.full(len(game.owners), np.nan)
    promised = weakest(claims)
    claimed = np.array([promised[name]["epsilon"] if name in promised else 0.0 for name in run.data.names])
    delta = max((claim["delta"] for claim in claims), default=0.0)
    columns = {
        "name": run.data.names,
        "records": run.data.sizes,
        "epsilon": have.epsilon,
        **worth_columns(run),
        "claimed_epsilon": claimed,
        "payment": have.payments,
        "privacy_cost": have.costs - have.taxes,
        "tax": have.taxes,
        "benefit": have.benefits,
        "transfer": have.transfers,
        "spillover": have.spillovers,
        "surplus": have.surplus,
        "outside_option": run.staying_out,
        "rational": rational(
            have.surplus - run.staying_out, have.payments, have.costs, have.transfers, run.staying_out
        ),
        "leakage_bits": leakage_bits(claimed, cost.values, delta) * np.isin(run.data.names, list(promised)),
        "weight": run.weights * asked,
        "isolated_relative_fitness": isolated,
        "isolated_estimate": isolated_as_known(run.data, run.planner) if run.data.fits_own_models else isolated,
        "as_learner_relative_fitness": as_learner_fitness(run.planner.forecast, epsilon),
        "gains": asked & (epsilon > 0) & (fitness < isolated),
    }
    if not run.scenario.unions and not run.transfers.any():
        del columns["transfer"]
    if run.scenario.externalities is None:
        del columns["spillover"]
    error = game.policy.standard_error(epsilon, game)
    if error is not None:  # payments from a sample
        columns["payment_std_error"] = error
    return rows_of(columns)


def rows_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Columns (n_rows,) as rows of plain numbers: of arrays, each number would be an object of NumPy's."""
    lists = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def as_learner_fitness(forecast: FitnessForecast, epsilon: np.ndarray) -> np.ndarray:
    """Relative fitness of each owner's own model, were it the learner: its records without noise, the others' as sold.

    Source: Wu et al., The Value of Collaboration, section V.
    """
    terms = forecast.terms(epsilon)
    exact = forecast.terms(np.full_like(epsilon, np.inf))
    return np.asarray(forecast.excess(terms.sum(axis=0) - terms + exact))


def equilibrium_part(run: Run) -> dict[str, Any]:
    """The certificate, every distinct equilibrium, and what is remarkable about where owners settle."""
    found = run.equilibrium if run.contest is None else run.contest.found
    profiles = [one.epsilon if one.epsilon.ndim == 1 else one.epsilon.sum(axis=1) for one in (found, *found.others)]
    return {
        **certificate_part(run),
        "starts": found.starts,
        "distinct": profiles,
        "remarks": remarks(run.game, found) if run.contest is None else [],
        "diagnosis": diagnosis_part(run),
        "benchmark": benchmark_part(run.game, run.rational),
        "agents": found.agents,
    }


def refusal_part(run: Run) -> list[dict[str, Any]]:
    """State, as warnings, which learners stand on the edge of refusing: they pay for a model no better than their own."""
    runs = (run,) if run.contest is None else (run, *run.contest.others)
    names = [None] if run.contest is None else run.contest.names
    return [
        {
            "cause": "edge_of_refusal",
            "learner": name,
            "payments": float(one.game.payments(one.epsilon).sum()),
            "sellers": int(np.count_nonzero(one.epsilon)),
        }
        for name, one in zip(names, runs, strict=True)
        if at_refusal(one.game, one.epsilon)
    ]


def certificate_part(run: Run) -> dict[str, Any]:
    """Whether owners came to rest in an equilibrium, on which way, and what somebody could still gain by moving."""
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
    """What kind of game it is, by samples; None for large markets and those that do not meet in sums alone."""
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
    """The learner's account with what it was promised, what would make buying pay, and whether it can pay."""
    promised, game, budget = promised_part(run), run.game, run.scenario.learner.budget
    return {
        **promised,
        "terms": terms_part(run),
        "remedies": remedies_part(run),
        "past_worth": past_worth_part(run),
        "budget": budget,
        "within_budget": None if budget is None else participation(game, run.epsilon, budget=budget).within_budget,
    }


def promised_part(run: Run) -> dict[str, Any]:
    """The learner's account: what buying adds over its own rows, less what it pays, and how sure that is."""
    account = account_part(run)
    gain = gain_part(run.possible_gains(account["payments"]))
    return {
        **account,
        "gain": gain,
        "kinds_in_doubt": run.prediction.without_doubt is not None,
        "buying_pays": buying_pays(gain, account["surplus"]),
    }


def account_part(run: Run) -> dict[str, float]:
    """What buying adds over the learner's own rows, as forecast, what it pays, and what is left of it."""
    game, epsilon = run.game, run.epsilon
    paid, gross = float(game.payments(epsilon).sum()), game.value * (game.forecast.outside - game.fitness(epsilon))
    promised = float(game.promised(epsilon).sum())
    return {"value": game.value, "gross_value": gross, "promised": promised, "payments": paid, "surplus": gross - paid}


def money_part(run: Run) -> dict[str, Any]:
    """What the trained models came to in money, counted over the learner's own model, measured with non-private access."""
    game, have, paid = run.game, run.accounts, run.game.payments(run.epsilon)
    worth = game.value * (run.own_error - run.errors) if run.asks else np.zeros_like(run.errors)
    surplus = worth - paid.sum()
    gain = np.maximum(isolated_errors(run) - run.errors.mean(), 0.0)
    benefit = np.where(run.has_model, game.owners.benefit * gain, 0.0)
    had = have.payments - have.costs + have.transfers - have.spillovers
    return {
        "learner_surplus": summary(surplus),
        "pays": bool(surplus.mean() > 0),
        "chance_of_loss": float(np.mean(surplus < 0)),
        "owners": [
            {"name": name, "benefit": had, "surplus": left}
            for name, had, left in zip(run.data.names, benefit, had + benefit, strict=True)
        ],
    }


def unions_part(run: Run) -> list[dict[str, Any]] | None:
    """What each union has, how it divides that, and whether anybody would rather leave; None without unions."""
    count = range(len(run.scenario.unions or ()))
    found = [union_row(run.scenario, run.game, run.equilibrium, run.transfers, at) for at in count]
    return found or None


def externalities_part(run: Run) -> dict[str, Any] | None:
    """What owners' sales tell of each other and cost them, and the same market with nothing in common; None without.

    ``told`` counts parts of the variance of what an owner's records tell: by all others, and by all sales.
    """
    if run.scenario.externalities is None:
        return None
    policy, epsilon, have = run.playing.policy, run.epsilon, run.accounts
    by_others, by_all = policy.told(epsilon) if run.game.asks(epsilon) else np.zeros((2, len(epsilon)))
    rng, starts = Streams(run.scenario.seed, "externalities").rng(), min(APART, run.scenario.market.starts)
    apart = solve(run.game, rng=rng, starts=starts).epsilon
    rows = {
        "name": run.data.names,
        "told_by_others": by_others,
        "told": by_all,
        "spillover": have.spillovers,
        "spared": run.game.costs(epsilon) - have.costs,
        "better_without_market": have.surplus < -SLACK * (have.payments + have.costs + have.spillovers),
    }
    return {
        "owners": rows_of(rows),
        "apart": same_market(run, apart),
    }


def participation_part(run: Run) -> dict[str, Any] | None:
    """Who has left a market that owners may leave, and the same market had all been bound to stay; None elsewhere."""
    if run.scenario.market.participation != "free":
        return None
    game, epsilon = run.game, run.epsilon
    gone = np.flatnonzero((epsilon == 0) & (game.owners.epsilon_min > 0))
    back = gain_by_coming_back(game, epsilon, gone)[0] if gone.size else np.empty(0)
    rng, starts = Streams(run.scenario.seed, "participation").rng(), min(APART, run.scenario.market.starts)
    names = run.data.names
    return {
        "left": [{"name": names[i], "by_coming_back": gain} for i, gain in zip(gone, back.tolist(), strict=True)],
        "bound": same_market(run, solve(game, rng=rng, starts=starts).epsilon),
    }


def provision_part(run: Run, best: Mapping[str, Any]) -> dict[str, Any] | None:
    """How much too little owners contribute to a model that goes to all, and what would mend it; None elsewhere.

    Parameters
    ----------
    best: the best profile, as `welfare_part` has it.
    """
    if not run.game.owners.model_for_all:
        return None
    at, enjoys = np.array(best["optimum_epsilon"], dtype=float), run.accounts.benefits > 0
    paid = matching(run.game, at)
    names = np.array(run.data.names, dtype=object)
    return {
        "best_relative_fitness": run.planner.forecast.at(at),
        "riding": names[enjoys & (run.epsilon == 0)].tolist(),
        "matching": paid
        and {
            "certified": paid.certified,
            "payments": float(paid.payments.sum()),
            "owners": rows_of({"name": run.data.names, "share": paid.shares, "payment": paid.payments}),
        },
    }


def same_market(run: Run, epsilon: np.ndarray) -> dict[str, Any]:
    """What the market would come to where owners settled on other budgets."""
    game = run.game
    return {
        "epsilon": epsilon,
        "relative_fitness": run.planner.forecast.at(epsilon),
        "payments": float(game.payments(epsilon).sum()),
        "owners": float(game.payoffs(epsilon).sum()),
        "learner": learner_surplus(game, epsilon),
        "total": welfare(game, epsilon),
    }


def learner_row(
    run: Run, name: str, predicted: Mapping[str, Any], measured: Mapping[str, Any] | None
) -> dict[str, Any]:
    """How one of several learners fares, by its own column of budgets and payments.

    Parameters
    ----------
    predicted: its forecast, as a result has it.
    measured: its validation; None without training.
    """
    told = learner_part(run)
    sold = {"name": run.data.names, "epsilon": run.epsilon, "payment": run.equilibrium.payments}
    return {
        "name": name,
        "policy": run.scenario.policy.model_dump(),
        "asks": run.asks,
        "relative_fitness": predicted["relative_fitness"],
        "interval": predicted["interval"],
        "horizon": predicted["horizon"],
        "trained_fitness": None if measured is None else measured["relative_fitness"]["mean"],
        "agrees": None if measured is None else measured["agrees"],
        "trained_gain": None if measured is None else measured["money"]["learner_surplus"],
        **{key: told[key] for key in ("value", "terms", "gross_value", "payments", "surplus", "gain", "buying_pays")},
        **{key: told[key] for key in ("budget", "within_budget")},
        "owners": rows_of(sold),
    }


def isolated_errors(run: Run) -> np.ndarray:
    """What counts of the models that owners could train alone, (n_owners,): measured where these are fitted."""
    if not run.data.fits_own_models:
        return np.asarray(run.game.owners.isolated)
    if run.measure is RELATIVE or not run.game.owners.benefit.any():
        return run.data.isolated
    return run.counted(run.data.own_models)


def welfare_part(run: Run) -> dict[str, Any]:
    """Welfare at the equilibrium and at the best profile a planner could impose."""
    have = sides_part(run)
    if not run.simple:  # a planner would divide every budget too, count what it tells of others, or choose who stays
        return have | dict.fromkeys(BEST)
    best = social_optimum(run.game, start=run.epsilon)
    anarchy = best.anarchy(have["total"])
    return {
        **have,
        "optimum": best.welfare,
        "optimum_at_most": best.at_most,
        "optimum_epsilon": best.epsilon,
        "price_of_anarchy": anarchy[0] if have["total"] > 0 else None,
        "price_of_anarchy_at_most": anarchy[1] if have["total"] > 0 else None,
    }


def sides_part(run: Run) -> dict[str, float]:
    """Welfare at the equilibrium: in all, and of the owners, the learner and the treasury."""
    have = run.accounts
    return {
        "total": have.welfare,
        "owners": float(have.surplus.sum()),
        "learner": have.worth - float(have.payments.sum()),
        "treasury": float(have.taxes.sum()),
        "gini": gini(have.surplus),
    }


def trajectory_rows(run: Run) -> list[dict[str, Any]]:
    """Round by round: each owner's budget, payment, and what it could still gain by moving alone; of the first TRACED."""
    names, rows = run.data.names[:TRACED], []
    path = run.equilibrium.trajectory if run.contest is None else run.contest.found.trajectory
    for number, epsilon, payments, _ in path:
        if run.contest is None:
            regret = run.playing.regret(epsilon, np.arange(len(names)))
        else:
            regret = run.contest.market.certificate(epsilon)[0][:TRACED]
            epsilon, payments = epsilon.sum(axis=1), payments.sum(axis=1)
        moved = {"epsilon": epsilon[:TRACED], "payment": payments[:TRACED], "regret": regret}
        rows += rows_of({"round": [number] * len(names), "owner": names} | moved)
    return rows


def _payoffs(run: Run, grid: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Surplus (n, m) of the owners numbered in ``shown`` (n,) at budgets in all (n, m)."""
    if run.contest is None:
        return run.playing.deviation_payoffs(run.epsilon, grid, shown)
    market, sold = run.contest.market, run.contest.found.epsilon
    total = sold.sum(axis=1, keepdims=True)
    parts = np.divide(sold, total, out=even_split(market.links), where=total > 0)[shown]
    return market.allocations(sold, shown).surplus(grid[..., None] * parts[:, None, :])


def payoff_rows(run: Run) -> list[dict[str, Any]]:
    """Surplus over the whole interval, the others at the equilibrium, of the owners with most money at stake.

    Among several learners a budget is divided as it is there.
    """
    game, have = run.game, run.accounts
    stake, epsilon = np.abs(have.payments) + have.costs, have.epsilon
    shown = np.sort(np.argsort(-stake, kind="stable")[:CURVE_OWNERS])
    low, high = game.owners.epsilon_min[shown], game.owners.epsilon_max[shown]
    start = np.maximum(np.where(low > 0, low, 1e-3 * high), 1e-300)[:, None]
    ratio = np.maximum(high, 1e-300)[:, None] / start
    grid = np.where(high[:, None] > 0, start * ratio ** np.linspace(0, 1, CURVE_POINTS), 0.0)
    grid = np.column_stack([low, grid[:, 1:-1], epsilon[shown], high])
    grid.sort(axis=1)
    payoffs = _payoffs(run, grid, shown)
    return [
        {"owner": game.owners.names[i], "epsilon": e, "payoff": p}
        for i, at, there in zip(shown, grid, payoffs, strict=True)
        for e, p in zip(at, there, strict=True)
    ]
