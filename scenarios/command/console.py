"""What the command prints: short tables for a terminal, plain text when piped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from learning.forecast.interval import Prediction
from learning.forecast.planner import Planner
from learning.forecast.weighting import best_coalition
from learning.training.algorithms import ALGORITHMS
from scenarios.command.terminal import PlainTable, Terminal, in_title
from scenarios.report import sentences_learning as training
from scenarios.report.sentences_behaviours import against_rational, cheating, in_secret, no_equilibrium, who_behaves
from scenarios.report.sentences_choice import line as why_so
from scenarios.report.sentences_common import against_apart, spill_words, worse_with_market
from scenarios.report.sentences_compared import compared_lines, curvature_found
from scenarios.report.sentences_gain import in_advance
from scenarios.report.sentences_learners import adds_up, fares, learners, who_buys
from scenarios.report.sentences_leaving import against_bound, who_left
from scenarios.report.sentences_market import agents_play, epsilon_of, listed_first, nothing_trained, unwilling
from scenarios.report.sentences_model import MAY_BIND, interval, published_bound, reasons, training_outcome, unlike
from scenarios.report.sentences_money import (
    gain,
    loses,
    losing_trainings,
    over_budget,
    pays,
    realised,
    unasked,
    why_not_said,
)
from scenarios.report.sentences_network import told as of_networks
from scenarios.report.sentences_pricing import line as pricing_line
from scenarios.report.sentences_privacy import (
    filled_cells,
    joint_promises,
    persons_counted,
    shared_persons,
    shared_records,
    unlike_owners,
    warnings,
)
from scenarios.report.sentences_protection import privacy_line, protected
from scenarios.report.sentences_provision import provision, would_match
from scenarios.report.sentences_terms import in_terms, translation
from scenarios.report.sentences_time import budgets, moves, quality, shown, whole
from scenarios.report.sentences_trust import trust_line
from scenarios.report.sentences_unions import union_words, unions, who_would_leave
from scenarios.report.sentences_worth import past_worth
from scenarios.report.wording import between, in_money, number, percent
from scenarios.tables.dataset import MarketData

if TYPE_CHECKING:  # the studies load statistics that no run shows
    from scenarios.reproduce.study import Study

GROUPS = ("owners", "learner", "treasury", "total")
WIDEST = 20  # owners printed; the rest stand in owners.csv
NO_BETTER = "what is bought does not beat the learner's own rows"


def print_result(content: Mapping[str, Any], folder: Path) -> None:
    """Owners, learner, verdict, and where the report is."""
    out, owners = Terminal(), content["owners"]
    heads = {
        "payment": "paid",
        "privacy_cost": "privacy cost",
        "tax": "tax",
        "transfer": "union" if unions(content) else "ring",
    }
    heads |= {"spillover": "others' sales", "surplus": "surplus"}
    for name in ("tax", "transfer", "spillover"):
        if not any(row.get(name) for row in owners):
            del heads[name]
    rows = PlainTable(in_title(content["title"] or "Owners", content), "owner", "records", "epsilon", *heads.values())
    for row in listed_first(owners, WIDEST, WIDEST):
        numbers = [epsilon_of(row), *(row[name] for name in heads)]
        rows.add_row(row["name"], f"{row['records']:,}", *map(number, numbers))
    out.print(rows)
    if len(owners) > WIDEST:
        out.say(f"... and {len(owners) - WIDEST:,} more, with less money at stake, in owners.csv")
    out.print()
    out.say(*summary_lines(content), titled("warning", shared_records(content), shared_persons(content)))
    out.say(titled("filled", filled_cells(content["data"].get("filled_cells"))))
    out.say(titled("persons", persons_counted(content)))
    out.say(f"\nreport: {folder / 'report.html'}")


def titled(title: str, *lines: str) -> str:
    """Lines beside their title; empty where there is nothing to say."""
    return "\n".join(f"{'' if i else title:12} {line}" for i, line in enumerate(filter(None, lines)))


def summary_lines(content: Mapping[str, Any]) -> list[str]:
    """What came out, a line each: equilibrium, learner, forecast, training."""
    found, learner, predicted = content["equilibrium"], content["learner"], content["forecast"]
    alone, trained, rules = content["outside_option"], content["validation"], content.get("regulation")
    money = in_money(content)
    settled = "certified" if found["converged"] else f"NOT certified ({found['reason']})"
    settled = "no equilibrium" if no_equilibrium(content) else settled
    more, or_together = len(found["distinct"]) - 1, ", or as a union," if unions(content) else ""
    measured = realised(content) is not None and not nothing_trained(content)
    groups = [f"{who} {money(rules['after'][who])} ({money(rules['before'][who])})" for who in GROUPS if rules]
    said = {
        "equilibrium": [
            f"{settled}: by moving alone{or_together} nobody gains more than {money(found['max_regret'])} "
            f"(relative {number(found['max_relative_regret'], 1)})" + (f"; {more} more found" if more > 0 else ""),
            agents_play(content),
        ],
        "behaviours": [*who_behaves(content), cheating(content), in_secret(content), against_rational(content)],
        "privacy": [privacy_line(protected(content)), trust_line(content)],
        "forecast": [
            f"{percent(predicted['relative_fitness'])} above {training.best_error(training.loss_of(content))} "
            f"[{interval(predicted)}], {predicted['basis']} basis, {made_by(predicted['kind'])}"
        ],
        "plan": [training.plan_line(content), why_so(content)],
        "learner": [
            f"alone {percent(alone['relative_fitness'])}; buying is worth {money(learner['gross_value'])}, costs "
            f"{money(learner['payments'])}: {'it pays' if learner['buying_pays'] else 'IT DOES NOT PAY'}"
            f"{', by the forecast' if measured else ''}",
            why_not_said(content) and f"not said to pay: {why_not_said(content)}",
            unasked(content),
            in_advance(content),
            over_budget(content),
            "" if predicted["relative_fitness"] < alone["relative_fitness"] else NO_BETTER,
        ],
        "worth": [past_worth(content)],
        "price": [pricing_line(content, money)],
        "error": [in_terms(content), translation(content)],
        "model": [provision(content), would_match(content, money)],
        "owners": [unwilling(content), who_left(content, money), against_bound(content, money)],
        "time": [whole(content, money), moves(content), budgets(content), quality(content), shown(content)],
        "learners": [who_buys(content), *(f"{fares(one, money)}" for one in learners(content)), adds_up(content)],
        "network": of_networks(content, money),
        "unions": [
            said for union in unions(content) for said in (union_words(union, money), who_would_leave(union, money))
        ],
        "common": [spill_words(content, money), against_apart(content, money), worse_with_market(content)],
        "rules": [f"with them (without): {', '.join(groups)}" if rules else ""],
        "overlap": [joint_promises(content)],
        "warning": [*warnings(content), may_bind(predicted)],
        "training": [training_outcome(content), *reasons(content), *unlike(content)] if trained else [],
        "compared": compared_lines(content),
        "curvature": [curvature_found(content)],
        "money": [money_line(content), losing_trainings(content)] if measured else [],
        "verdict": [verdict(trained)] if trained else [],
    }
    return [titled(title, *lines) for title, lines in said.items()]


def may_bind(predicted: Mapping[str, Any]) -> str:
    """What it means for the forecast that training is held back by its ball; empty where it is not."""
    return MAY_BIND[predicted["kind"]] if predicted["projection_may_bind"] else ""


def money_line(content: Mapping[str, Any]) -> str:
    """What buying came to in truth."""
    paid, left, money = content["learner"]["payments"], gain(content), in_money(content)
    outcome = "it pays" if pays(content) else f"A LOSS of {money(-left)}" if loses(content) else "no gain"
    return f"measured, buying is worth {money(left + paid)}, costs {money(paid)}: {outcome}"


def verdict(trained: Mapping[str, Any]) -> str:
    """Whether forecast and training agree, and how well the oracle law does."""
    agreed = "forecast and training agree" if trained["agrees"] else "forecast and training DISAGREE"
    if not trained.get("agrees_on_money", True):
        agreed += "; on money they DISAGREE"
    z = trained["z_score"]
    return agreed + (f"; oracle z = {z:.2f}" if z is not None else "")


def made_by(kind: str) -> str:
    """How a forecast was made."""
    return "exact law" if kind == "exact" else "rehearsed"


def print_forecast(
    data: MarketData, planner: Planner, budgets: np.ndarray, part: Mapping[str, Any], prediction: Prediction
) -> None:
    """A forecast at given budgets."""
    kind, basis, oracle = part["kind"], part["basis"], part["oracle"]
    pooled = "the same law on the pooled records" if kind == "exact" else "trained on the pooled records at other noise"
    error = f"+- {percent(oracle['std_error'])} (std. error)" if oracle["std_error"] else ""
    own = "on its public rows" if basis == "public" else "from its start"
    zero = f"relative fitness (0 = the {training.best_short(planner.coordinates.loss)})"
    rows = PlainTable("", zero, "value", "interval")
    made = f"model at these budgets ({made_by(kind)}, {basis} basis)"
    rows.add_row(made, percent(part["relative_fitness"]), interval(part))
    rows.add_row("  left to optimise", percent(part["bias"]))
    rows.add_row("  noise that survives", percent(part["noise"]))
    rows.add_row(f"{pooled} (oracle)", percent(oracle["relative_fitness"]), error)
    alone = between(*prediction.outside_interval(), show=percent)
    rows.add_row(f"learner alone, {own}", percent(planner.forecast.outside), alone)
    out, whole = Terminal(), [name for name, e in zip(data.names, budgets, strict=True) if e == np.inf]
    out.print(rows)
    out.say(
        plan_words(part, planner),
        published_bound(part),
        may_bind(part),
        unlike_owners(part),
        coalition_words(data, planner, budgets),
        *(f"{name} adds no noise: nothing is promised about its records" for name in whole),
    )


def plan_words(part: Mapping[str, Any], planner: Planner) -> str:
    """The plan of a forecast, its noise and what that is scaled to."""
    if part["step_size"] == 0:
        return "no query is worth its noise: the learner keeps its own model"
    algorithm, mechanism = training.algorithm_of(part), planner.mechanism
    words = [algorithm.name, training.horizon_words(part), *training.growth_words(part)]
    if algorithm.takes_steps:
        words += [f"step size {part['step_size']:.3g}", f"returns the {part['returned']} point"]
    noise = f"{mechanism.name} noise" + ("" if mechanism.accounting == "basic" else f" ({mechanism.accounting})")
    bound = "Xi" if planner.coordinates.norm == 1 else "G"
    weighed = f"{training.WEIGHTS[planner.forecast.weighting.kind]}; " if algorithm.weighs_owners else ""
    scaled, proved = planner.coordinates.noise_bound, planner.coordinates.gradient_bound
    given = ", given: none is proved, and no epsilon" if np.isinf(proved) else f", given: {proved:.3g} is proved"
    said = f"{noise}, {bound} = {scaled:.3g}{given if scaled < proved else ''}"
    return f"plan: {', '.join(words)}; {weighed}{said}"


def coalition_words(data: MarketData, planner: Planner, budgets: np.ndarray) -> str:
    """Who adds more noise than data, where anybody does and answers count by records; empty otherwise."""
    algorithm = ALGORITHMS[planner.forecast.plan(budgets).algorithm]
    if planner.forecast.weighting.kind != "size" or not algorithm.takes_steps or planner.inputs.trust.secure:
        return ""
    term = np.where(budgets > 0, planner.mechanism.noise_term(budgets), np.inf)
    kept = best_coalition(data.sizes, term)
    out = [name for name, k, e in zip(data.names, kept, budgets, strict=True) if e > 0 and not k]
    if not out:
        return ""
    with_all, without = (term[who].sum() / data.sizes[who].sum() ** 2 for who in (budgets > 0, kept))
    if with_all == 0:
        return ""
    if without == 0:
        return f"{', '.join(out[:5])} would add noise to answers that carry none"
    who = f"{', '.join(out[:5])}{' and others' if len(out) > 5 else ''}"
    return f"{who} would add more noise than data: without, the noise is {with_all / without:.3g} times lower"


def print_study(study: Study) -> None:
    """A reproduced table with its status."""
    rows = PlainTable(study.title, "", *study.columns, "reference", "status")
    for row in study.rows:
        rows.add_row(row.name, *row.values, row.reference, {True: "holds", False: "FAILS", None: "-"}[row.holds])
    out = Terminal()
    out.print(rows)
    out.say(*study.notes)
    out.print()
