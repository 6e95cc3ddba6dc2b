"""The words of the page: where the market stands, whether buying pays, the numbers at a glance; as HTML fragments."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from scenarios.dashboard.charts import sure
from scenarios.dashboard.rounds import Played, Round
from scenarios.dashboard.training import Training, verdict
from scenarios.report.facts_outcome import gain_outcome, model_outcome
from scenarios.report.facts_owners import asks_nothing, epsilon_of, sellers
from scenarios.report.phrases import render_phrase
from scenarios.report.wording import (
    count_noun,
    format_percent,
    format_range,
    format_small,
    in_money,
)

LITTLE = 1e-3  # money that nobody moves for
MOVING = {"cycle found": "the owners keep circling through the same choices"}


def standing(played: Played, now: Round) -> str:
    """How far the market is, and whether its owners have come to rest."""
    found = played.run.equilibrium
    rounds = played.rounds[-1].number
    if not now.last:
        return f"Round {now.number} of {rounds}: owners are still answering each other."
    if found.converged:
        how = f"after {count_noun(rounds, 'round')}" if rounds else "at once"
        left = (
            f" (by more than {format_small(found.max_regret)})" if found.max_regret > LITTLE else ""
        )
        return f"At rest {how}: nobody gains by moving alone{left}."
    if played.run.scenario.behaviours:
        could = format_small(found.max_regret)
        return (
            f"After {count_noun(rounds, 'round')} somebody could still gain {could} by moving "
            "alone: not all are rational."
        )
    why = MOVING.get(found.reason, "they were still moving")
    return (
        f"Not settled after {count_noun(rounds, 'round')}: {why}. The numbers here are no "
        "equilibrium."
    )


def answer(played: Played, now: Round, error: str = "") -> str:
    """The first lines of the page."""
    settled = played.run.equilibrium.converged or not now.last
    lines = [
        paragraph(standing(played, now), "" if settled else "warn"),
        paragraph(render_phrase("market", "who_sells", now.facts)),
        buying(now),
    ]
    fault = f'<p class="warn" role="alert">{escape(error)}</p>' if error else ""
    return fault + "".join(lines) + paragraph(if_rational(played))


def buying(now: Round) -> str:
    """Whether buying pays, by the forecast."""
    return paragraph(render_phrase("buying", "by_the_forecast", now.facts))


def if_rational(played: Played) -> str:
    """What the owners would sell were they all rational; empty where they are."""
    found = played.rational
    return (
        ""
        if found is None
        else f"Were all owners rational, they would sell ε of {format_range(found.tolist())}."
    )


def paragraph(sentence: str, kind: str = "") -> str:
    """A sentence as a paragraph; nothing where it is empty."""
    return f'<p class="{kind}">{escape(sentence)}</p>' if sentence else ""


def tiles(now: Round) -> str:
    """The numbers at a glance."""
    facts = now.facts
    money = in_money(facts)
    learner = facts["learner"]
    made = facts["forecast"]
    sold = [epsilon_of(row) for row in sellers(facts)]
    idle = asks_nothing(facts)
    made_of = model_outcome(facts)
    left = gain_outcome(facts)
    rows = [
        (
            "Privacy budget ε",
            format_range(sold) if sold else "none",
            f"{len(sold):,} of {count_noun(len(now.owners), 'owner')}",
            "",
        ),
        (
            "Paid in all",
            money(learner["payments"]),
            "nothing is asked" if idle else "by the learner",
            "",
        ),
        (
            "Error above the best",
            format_percent(made["relative_fitness"]),
            f"forecast {render_phrase('model', 'interval', made)}",
            made_of,
        ),
        (
            "Learner's gain",
            money(learner["surplus"]),
            f"nine times in ten {render_phrase('gain', 'gain_interval', facts)}",
            left,
        ),
    ]
    shown = "".join(
        f'<div class="{kind}"><dt>{escape(title)}</dt><dd>{escape(value)}<small>{escape(more)}</small></dd></div>'
        for title, value, more, kind in rows
    )
    pays = render_phrase("gain", "chance", facts) or (
        "certain" if learner["surplus"] > 0 else "none"
    )
    last = f"<div><dt>Chance that buying pays</dt><dd>{escape(pays)}{sure(facts)}</dd></div>"
    return f'<dl class="numbers">{shown}{last}</dl>'


def checked(training: Training, *, stale: bool) -> str:
    """What training came to, and whether it agrees with what was forecast and promised."""
    if training.error:
        return f'<p class="warn" role="alert">{escape(training.error)}</p>'
    if training.result is None:
        return (
            "<p>Nothing is trained yet: all numbers are forecasts from the learner's public "
            "rows. Training executes the "
            "protocol with real noise at the budgets that owners settled on, many times over, "
            "and checks both promises.</p>"
        )
    old = (
        '<p class="warn">This training was of the market before you moved a slider.</p>'
        if stale
        else ""
    )
    return old + "".join(_verdict(*one) for one in verdict(training.result))


def _verdict(title: str, agrees: bool, sentence: str) -> str:
    mark, word = ("✓", "agrees with the forecast") if agrees else ("✗", "contradicts the forecast")
    kind = "gain" if agrees else "loss"
    head = f'<h3 class="{kind}"><span aria-hidden="true">{mark} </span>{title} {word}</h3>'
    return f'<div class="verdict">{head}<p>{escape(sentence)}</p></div>'


def legend(rows: Sequence[tuple[str, str]]) -> str:
    """What colours and marks stand for."""
    return (
        '<p class="legend">'
        + "".join(f'<span class="{kind}">{escape(said)}</span>' for kind, said in rows)
        + "</p>"
    )


def together(drawings: Sequence[tuple[str, str]]) -> str:
    """Small drawings, each under its name."""
    figures = (
        f"<figure><figcaption>{escape(name)}</figcaption>{drawing}</figure>"
        for name, drawing in drawings
    )
    return f'<div class="small-ones">{"".join(figures)}</div>'
