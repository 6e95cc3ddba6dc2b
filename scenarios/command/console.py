"""What the command prints: short tables for a terminal, plain text when piped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from learning.data.overlap import overlap
from learning.forecast.planner import Planner
from learning.forecast.weighting import best_coalition
from scenarios.report.sentences_learning import MEASURES, NOUNS, WEIGHTS, loss_of, plan_line
from scenarios.report.sentences_model import reasons, training_outcome, warnings, weaker_words
from scenarios.reproduce.study import Study
from scenarios.schema.loading import Scenario
from scenarios.studies.audit import Audit
from scenarios.tables.dataset import MarketData

GROUPS = ("owners", "learner", "treasury", "total")
WIDEST = 40  # owners printed; the rest stand in owners.csv


def console() -> Console:
    """Standard output; never narrower than a table when it is no terminal."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=120, soft_wrap=True)


def table(title: str, *columns: str) -> Table:
    """A table with the first column left and the rest right."""
    made = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(columns):
        made.add_column(name, justify="left" if i == 0 else "right")
    return made


def number(value: float | None) -> str:
    """Three significant digits, thousands separated.

    >>> number(12345.6), number(0.0123456), number(None), number(0.0)
    ('12,346', '0.0123', '-', '0')
    """
    if value is None:
        return "-"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def percent(value: float) -> str:
    """A share in percent, three significant digits; what is only rounding is 0.

    >>> percent(0.0123456), percent(-7e-16), percent(-0.02), percent(123.4)
    ('1.23 %', '0 %', '-2 %', '12,340 %')
    """
    return f"{number(0.0 if -1e-5 < value < 1e-10 else 100 * value)} %"


def print_result(content: Mapping[str, Any], folder: Path) -> None:
    """Owners, learner, verdict, and where the report is."""
    out = console()
    owners = content["owners"]
    tax = ["tax"] if any(row.get("tax") for row in owners) else []
    columns = ["owner", "records", "epsilon", "paid", "privacy cost", *tax, "surplus"]
    shown = table(content["title"] or "Owners", *columns)
    for row in owners[:WIDEST]:
        shown.add_row(
            row["name"],
            f"{row['records']:,}",
            number(row["epsilon"]),
            number(row["payment"]),
            number(row["privacy_cost"]),
            *(number(row[name]) for name in tax),
            number(row["surplus"]),
        )
    out.print(shown)
    if len(owners) > WIDEST:
        out.print(f"... and {len(owners) - WIDEST:,} more in owners.csv")
    out.print()
    for line in summary_lines(content):
        out.print(line, highlight=False)
    found = content["data"].get("identical_records")  # results of earlier versions have none
    warning = overlap_line(found, content["scenario"]["learning"]["overlap"]) if found else None
    if warning:
        out.print(f"warning      {warning}", highlight=False)
    out.print(f"\nreport: {folder / 'report.html'}", highlight=False)


def summary_lines(content: Mapping[str, Any]) -> list[str]:
    """What came out, a line each: equilibrium, learner, forecast, training."""
    found, learner, predicted = content["equilibrium"], content["learner"], content["forecast"]
    outside, trained = content["outside_option"], content["validation"]
    settled = "certified" if found["converged"] else f"NOT certified ({found['reason']})"
    more = len(found["distinct"]) - 1
    lines = [
        f"equilibrium  {settled}: by moving alone nobody gains more than {number(found['max_regret'])} "
        f"(relative {found['max_relative_regret']:.1g})" + (f"; {more} more found" if more > 0 else ""),
        f"forecast     {percent(predicted['relative_fitness'])} above {best_error(loss_of(content))} "
        f"[{percent(predicted['interval'][0])} to {percent(predicted['interval'][1])}], "
        f"{predicted['basis']} basis, {made_by(predicted['kind'])}",
        f"plan         {plan_line(content)}",
        f"learner      alone {percent(outside['relative_fitness'])}; buying is worth {number(learner['gross_value'])}, "
        f"costs {number(learner['payments'])}: " + ("it pays" if learner["buying_pays"] else "IT DOES NOT PAY"),
    ]
    unwilling = [row["name"] for row in content["owners"] if row.get("rational") is False]
    if unwilling:
        lines.append(f"owners       {len(unwilling):,} of {len(content['owners']):,} WOULD RATHER NOT TAKE PART")
    if learner.get("within_budget") is False:
        lines.append(f"             OVER ITS BUDGET of {number(learner['budget'])}")
    rules = content.get("regulation")
    if rules:
        told = [f"{who} {number(rules['after'][who])} ({number(rules['before'][who])})" for who in GROUPS]
        lines.append(f"rules        with them (without): {', '.join(told)}")
    if predicted["relative_fitness"] >= outside["relative_fitness"]:
        lines.append("             what is bought does not beat the learner's own rows")
    weaker = weaker_words(dict(content)).replace("ε", "epsilon")
    lines += [f"warning      {warning}" for warning in [*warnings(dict(content)), weaker] if warning]
    if predicted["projection_may_bind"]:
        lines.append("             the noise reaches the edge of the ball: the exact law may not hold there")
    if trained is not None:
        told = [training_outcome(dict(content)), *reasons(dict(content))]
        if predicted["step_size"] == 0:
            mean, best = trained["relative_fitness"]["mean"], best_error(loss_of(content))
            told = [f"none: the model kept is {percent(mean)} above {best}, measured on all records"]
        lines += [f"{'' if i else 'training':12} {sentence}" for i, sentence in enumerate(told)]
        agreed = "forecast and training agree" if trained["agrees"] else "forecast and training DISAGREE"
        z = trained["z_score"]
        lines.append(f"verdict      {agreed}" + (f"; oracle z = {z:.2f}" if z is not None else ""))
    return lines


def best_error(loss: str) -> str:
    """What relative fitness is counted from."""
    return f"the best {MEASURES[loss]} found" if loss == "network" else f"the best possible {MEASURES[loss]}"


def made_by(kind: str) -> str:
    """How a forecast was made."""
    return "exact law" if kind == "exact" else "rehearsed"


def print_forecast(data: MarketData, planner: Planner, budgets: np.ndarray, part: Mapping[str, Any]) -> None:
    """A forecast at given budgets."""
    out = console()
    zero = "the best found" if planner.coordinates.loss == "network" else "the best possible"
    rows = table("", f"relative fitness (0 = {zero})", "value", "interval")
    low, high = part["interval"]
    rows.add_row(
        f"model at these budgets ({made_by(part['kind'])}, {part['basis']} basis)",
        percent(part["relative_fitness"]),
        f"{percent(low)} to {percent(high)}",
    )
    rows.add_row("  left to optimise", percent(part["bias"]), "")
    rows.add_row("  noise that survives", percent(part["noise"]), "")
    oracle = part["oracle"]
    rows.add_row(
        "the same law on the pooled records (oracle)"
        if part["kind"] == "exact"
        else "trained on the pooled records at other noise (oracle)",
        percent(oracle["relative_fitness"]),
        f"+- {percent(oracle['std_error'])} (std. error)" if oracle["std_error"] else "",
    )
    low, high = planner.outside_interval()
    rows.add_row(
        "learner alone, on its public rows" if part["basis"] == "public" else "learner alone, from its start",
        percent(planner.forecast.outside),
        f"{percent(low)} to {percent(high)}",
    )
    out.print(rows)
    out.print(plan_words(part, planner), highlight=False)
    bound = part["published_bound"]
    if bound is not None and "excess" in bound:
        out.print(
            f"{bound['theorem']} as published (large T, p dropped): excess fitness at most {bound['excess']:.3g}; "
            f"the exact law says {part['excess']:.3g}",
            highlight=False,
        )
    elif bound is not None:
        out.print(
            f"{bound['theorem']} as published leaves its constant open; the exact law meets it at c2 = "
            f"{bound['constant']:.3g}",
            highlight=False,
        )
    if part["projection_may_bind"]:
        out.print("the noise reaches the edge of the ball: the exact law may not hold there", highlight=False)
    sentence = coalition_words(data, planner, budgets)
    if sentence:
        out.print(sentence, highlight=False)
    for name, budget in zip(data.names, budgets, strict=True):
        if budget == np.inf:
            out.print(f"{name} adds no noise: nothing is promised about its records", highlight=False)


def plan_words(part: Mapping[str, Any], planner: Planner) -> str:
    """The plan of a forecast, its noise and what that is scaled to."""
    if part["step_size"] == 0:
        return "no query is worth its noise: the learner keeps its own model"
    algorithm, mechanism = part["algorithm"], planner.mechanism
    words = [algorithm, f"T = {part['horizon']:,}" + (f" {NOUNS[algorithm]}s" if algorithm in NOUNS else "")]
    if algorithm != "adassp":
        words += [f"step size {part['step_size']:.3g}", f"returns the {part['returned']} point"]
    noise = f"{mechanism.name} noise" + ("" if mechanism.accounting == "basic" else f" ({mechanism.accounting})")
    bound = "Xi" if planner.coordinates.norm == 1 else "G"
    weighed = f"{WEIGHTS[planner.forecast.weighting.kind]}; " if algorithm not in ("sgd1", "adassp") else ""
    return f"plan: {', '.join(words)}; {weighed}{noise}, {bound} = {planner.coordinates.gradient_bound:.3g}"


def overlap_line(found: Mapping[str, Any], stated: int) -> str | None:
    """A warning where more owners hold the same row than the scenario states; None where all is as stated."""
    if found["kappa"] <= stated:
        return None
    return (
        f"{found['rows']:,} records are identical to another owner's, one row sits with {found['kappa']} owners, and "
        f"learning.overlap = {stated}: chance in coded data, or one person with several owners? Then set it to "
        f"{found['kappa']}"
    )


def print_audit(found: Audit) -> None:
    """Per owner, what its answers may spend, what they were seen to spend at least, and the verdict."""
    out = console()
    if found.findings:
        rows = table("", "owner", "records", "claimed", "all answers", "seen >=", "one answer", "seen >=", "verdict")
        for f in found.findings:
            cells = (f.claimed, f.charged, f.bound, f.answer_charged, f.answer_bound)
            rows.add_row(f.owner, f"{f.records:,}", *map(number, cells), f.verdict)
        out.print(rows)
        first = found.findings[0]
        delta = f" at delta = {first.delta:.3g}" if first.delta else ""
        out.print(
            f"epsilon{delta}, T = {first.horizon} ({first.answers} asked), {first.draws:,} draws of all answers in each "
            f"of two neighbouring worlds; with {found.confidence:.0%} confidence no claim is wrongly refuted, and none is "
            "proved",
            highlight=False,
        )
        if min(f.share for f in found.findings) < 0.995:
            out.print(
                f"the worst pair of records found moves answers by {min(f.share for f in found.findings):.0%} of what "
                "noise is added for: the attack is that much weaker",
                highlight=False,
            )
    elif found.asks:
        out.print("nothing to audit: no owner answers under a promise", highlight=False)
    else:
        out.print("nothing to audit: no query is worth its noise, so none is asked", highlight=False)
    notes = {"not audited": found.unheard, "add no noise, so nothing is promised about their records": found.unpromised}
    for what, names in notes.items():
        if names:
            out.print(f"{what}: {', '.join(names)}", highlight=False)


def coalition_words(data: MarketData, planner: Planner, budgets: np.ndarray) -> str:
    """Who adds more noise than data, where anybody does and answers count by records; empty otherwise."""
    if planner.forecast.weighting.kind != "size" or planner.forecast.plan(budgets).algorithm == "adassp":
        return ""
    term = np.where(budgets > 0, planner.mechanism.noise_term(budgets), np.inf)
    kept = best_coalition(data.sizes, term)
    out = [name for name, k, e in zip(data.names, kept, budgets, strict=True) if e > 0 and not k]
    if not out:
        return ""
    sharing = budgets > 0
    noise = [term[who].sum() / data.sizes[who].sum() ** 2 for who in (sharing, kept)]
    return (
        f"{', '.join(out[:5])}{' and others' if len(out) > 5 else ''} would add more noise than data: "
        f"without, the noise is {noise[0] / noise[1]:.3g} times lower"
        if noise[1] > 0
        else f"{', '.join(out[:5])} would add noise to answers that carry none"
    )


def print_check(scenario: Scenario, data: MarketData) -> None:
    """What a scenario would work with."""
    out = console()
    division, encoder = data.division, data.encoder
    out.print(
        f"{scenario.title or 'scenario'}: good. {len(data.owners)} owners, {data.sizes.sum():,} records, "
        f"{len(division.public):,} public rows, {len(division.holdout):,} held out, "
        f"{encoder.n_parameters} parameters.",
        highlight=False,
    )
    notes = {
        "columns constant in the public rows, dropped": encoder.dropped,
        "owners with too few records left out": division.too_small,
    }
    for what, names in notes.items():
        if names:
            out.print(f"{what}: {', '.join(names)}", highlight=False)
    warning = overlap_line(asdict(overlap(data.owners)), scenario.learning.overlap)
    if warning:
        out.print(f"warning: {warning}", highlight=False)
    if data.table.n_dropped:
        out.print(f"rows dropped for missing cells: {data.table.n_dropped:,}", highlight=False)
    if division.left_over:
        out.print(f"rows left over: {division.left_over:,}", highlight=False)


def print_study(study: Study) -> None:
    """A reproduced table with its status."""
    out = console()
    rows = table(study.title, "", *study.columns, "reference", "status")
    for row in study.rows:
        status = {True: "holds", False: "FAILS", None: "-"}[row.holds]
        rows.add_row(row.name, *row.values, row.reference, status)
    out.print(rows)
    for note in study.notes:
        out.print(note, highlight=False)
    out.print()
