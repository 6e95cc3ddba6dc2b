"""What a run will do, and what will leave each owner, told before anything is run."""

from __future__ import annotations

import numpy as np

from learning.privacy.mechanisms import title_of
from scenarios.report.wording import amount, between, counted, number
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData


def steps(scenario: Scenario, data: MarketData) -> str:
    """What a run does, one after the other."""
    learning, market = scenario.learning, scenario.market
    decided = learning.decided
    how = "by the exact law of its training" if learning.by_law else "by rehearsing its training"
    if len(decided) > 1:
        how = f"by rehearsing {counted(len(decided), 'way')} to train and then the one that promises the best model"
    known = (
        f"from {counted(len(data.division.public), 'public row')}"
        if data.public
        else "from all owners' records (no row is public: the simulator's privilege)"
    )
    pricing = scenario.learner.pricing
    moved = "" if pricing is None else f", at up to {counted(pricing.prices, 'price')} that the learner tries"
    rest = f"until none gains by moving{moved}, from {counted(market.starts, 'start')}"
    if scenario.behaviours:
        rest = f"round by round, each as it behaves{moved}"
    return (
        f"A run forecasts {known}, {how}, what model budgets buy; lets the owners choose budgets, paid by policy "
        f'"{scenario.policy.kind}", {rest}; trains the '
        f"model there {scenario.validation.runs:,} times with fresh noise; and sets what came out beside what was forecast."
        f"{again(scenario)}"
    )


def again(scenario: Scenario) -> str:
    """That it does so in every period, and what that does to budgets; empty where the market is held once."""
    time = scenario.time
    if time is None:
        return ""
    told = f" So it does in each of {counted(time.periods, 'period')}"
    if time.composition == "fresh":
        return f"{told}, each with records that were never asked about, so that a record spends its ε once."
    limits = "" if time.lifetime_epsilon is None else f", to at most {amount(time.listed().lifetime_epsilon)}"
    return f"{told}, all of which ask about the same records: what these spend adds up{limits}."


def leaving(scenario: Scenario, data: MarketData) -> str:
    """What leaves each owner, under which promise; and what does not."""
    learning, width = scenario.learning, data.encoder.n_parameters
    algorithms = [one.trains_by for one in learning.decided]
    intervals = np.asarray(scenario.owners.listed().epsilon, dtype=float).reshape(-1, 2)
    budgets = between(intervals.min(), intervals.max(), number)
    delta = "" if learning.delta is None else f", delta = {number(learning.delta)}"
    noise = "the noise that forecasts best" if learning.mechanism == "best" else title_of(learning.mechanism)
    report = f", {number(scenario.owners.report)} of it on a report of its losses" if scenario.owners.report else ""
    size = f", {counted(width, 'number')} each time" if all(one.takes_steps for one in algorithms) else ""
    asked = " of a period" if scenario.time else ""
    provisos = ["by a paper's formula"] if learning.accounting == "printed" else []
    if learning.gradient_bound is not None:
        provisos.append(f"if no record's gradient is larger than the {number(learning.gradient_bound)} given")
    spend = f"spend, {' and '.join(provisos)} (the run says what the noise truly gives)," if provisos else "spend"
    says, names = algorithms[0].says, list(dict.fromkeys(one.name for one in algorithms))
    if len(names) > 1:
        says = f"as {', '.join(names[:-1])} or {names[-1]} asks, whichever promises the best model"
    return (
        f"What leaves an owner: the number of its records, the budget it chooses, and what it is asked under {noise}{size}: "
        f"{says}. All answers{asked} together {spend} the ε that the owner sells, {budgets}{delta}{report}, for "
        f"{scenario.data.promised}. No record leaves."
    )


def duration(seconds: float) -> str:
    """How long a run takes, as a person would say it.

    >>> duration(7.3), duration(100.0), duration(5400.0)
    ('A run takes about 7 seconds of one processor core.', 'A run takes about 2 minutes of one processor core.', \
'A run takes about 1.5 hours of one processor core.')
    """
    if seconds < 90:
        told = f"{number(seconds, 1 if seconds < 10 else 2)} seconds"
    elif seconds < 5400:
        told = f"{number(seconds / 60, 1 if seconds < 600 else 2)} minutes"
    else:
        told = f"{number(seconds / 3600, 2)} hours"
    return f"A run takes about {told} of one processor core."
