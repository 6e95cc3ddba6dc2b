"""Rules or scenarios side by side: gains of owners, learner and treasury on the same draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.prediction import quantiles
from learning.progress import Progress, count_progress, ignore_progress
from learning.threads import one_blas_thread
from market.analysis.welfare import count_votes
from scenarios.features.pricing import money_key
from scenarios.planning import Prepared, prepare
from scenarios.result import Result, to_plain
from scenarios.run import Run
from scenarios.runner import carry_out, result_of
from scenarios.schema.loading import change_scenario, load
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.studies.offers import Scaled, at_fitness, at_spending, of_kind
from scenarios.summary.market import trained_gains
from scenarios.summary.verdict import LEVEL, chance_above
from scenarios.sweeping.cells import planned_on
from scenarios.sweeping.facts import at

SCHEMA = 1
MET = 0.01  # an aim is met where what came of it lies within this part
MOST = 50  # alternatives
KIND = "policy.kind"
OWNER = (
    "name",
    "records",
    "epsilon",
    "epsilon_worth",
    "payment",
    "privacy_cost",
    "tax",
    "surplus",
    "rational",
)
# Facts of a result in the row of an alternative.
FACTS = {
    "payments": "learner.payments",
    "relative_fitness": "forecast.relative_fitness",
    "interval": "forecast.interval",
    "outside": "outside_option.relative_fitness",
    "terms": "learner.terms",
    "errors": "errors",
    "gain": "learner.surplus",
    "gain_median": "learner.gain.median",
    "gain_interval": "learner.gain.interval",
    "chance_pays": "learner.gain.chance_pays",
    "buying_pays": "learner.buying_pays",
    "trained_fitness": "validation.relative_fitness.mean",
    "trained_gain": "validation.money.learner_surplus",
    "agrees": "validation.agrees",
    "past_worth": "learner.past_worth",
}
WARNINGS = {"weaker": "weaker_than_sold", "edge_of_refusal": "edge_of_refusal"}
WELFARE = {
    "owners_surplus": "welfare.owners",
    "treasury": "welfare.treasury",
    "welfare": "welfare.total",
}


@dataclass(frozen=True)
class Alternative:
    """A market to compare.

    Parameters
    ----------
    name: its name.
    scenario: its market.
    filled: whether its policy's money was filled in, to be set to an aim.
    """

    name: str
    scenario: Scenario
    filled: bool = False


@dataclass(frozen=True)
class Carried:
    """An alternative with its result."""

    name: str
    run: Run = field(repr=False)
    result: Result = field(repr=False)
    scaled: Scaled | None = None


@dataclass(frozen=True)
class Aim:
    """Aim that all alternatives are made to meet: the money spent, or the model bought.

    Parameters
    ----------
    spending: money that the learner pays in all, above 0; or None.
    fitness: relative fitness of the model by the forecast, above 0; or None.

    Raises
    ------
    InputError
        If both are given, or one that is not above 0 and finite.
    """

    spending: float | None = None
    fitness: float | None = None

    def __post_init__(self) -> None:
        if self.spending is not None and self.fitness is not None:
            rule = "must not be given together with --at-fitness"
            raise InputError("--at-spending", rule, "both")
        for key, value in (("--at-spending", self.spending), ("--at-fitness", self.fitness)):
            if value is not None and not 0 < value < np.inf:
                raise InputError(key, "must be a number above 0", value)


def read_alternatives(
    sources: Sequence[str | Path], overrides: Sequence[str] = (), **options: Any
) -> list[Alternative]:
    """Read scenarios by name or file, or those of result folders, each with the same changes.

    Raises
    ------
    InputError
        If none is named, or one is no scenario.
    """
    if not sources:
        raise InputError("compare", "needs at least one scenario", "none")
    found: list[Alternative] = []
    for source in sources:
        path = Path(source) / "scenario.toml"
        scenario = load(path if path.is_file() else source, overrides, **options)
        title = Path(source).resolve().name if path.is_file() else Path(source).stem
        if title in [one.name for one in found]:
            title = str(source)
        found.append(Alternative(title, scenario))
    return found


def varied(base: Alternative, changes: Sequence[tuple[str, str]], game: Any) -> list[Alternative]:
    """Vary the base by each change alone, a key and a value in TOML.

    Another kind of policy is filled in.

    Parameters
    ----------
    game: the game of the base; what is filled in suits its owners.
    """
    found: list[Alternative] = []
    for key, text in changes:
        if key == KIND:
            kind = text.strip().strip("\"'")
            if kind != base.scenario.policy.kind:
                found.append(Alternative(kind, of_kind(base.scenario, kind, game), filled=True))
        else:
            scenario = change_scenario(base.scenario, [f"{key}={text}"])
            found.append(Alternative(name_change(key, text, scenario), scenario))
    return found


def name_change(key: str, text: str, scenario: Scenario) -> str:
    """Name a change by the key and its value; of a list of tables, by the names in it."""
    if key not in ("unions", "learners"):
        return f"{key} = {text}"
    return f"{key}: {', '.join(one.name for one in getattr(scenario, key) or ()) or 'none'}"


@one_blas_thread()
def compare(
    alternatives: Sequence[Alternative],
    changes: Sequence[tuple[str, str]] = (),
    aim: Aim | None = None,
    *,
    training: bool = True,
    progress: Progress = ignore_progress,
) -> list[Carried]:
    """Carry out alternatives, and the first of them with each change, planning once for all.

    Policies whose money is filled in get as much as makes the learner spend what it spends under
    the first alternative, unless there is an aim; under an aim every policy gets as much as meets
    it.

    Raises
    ------
    InputError
        On the first rule that a scenario breaks, or where fewer than two, or too many, are to be
        compared.
    """
    plans: dict[str, Prepared] = {}

    def plan(scenario: Scenario) -> Prepared:
        key = planned_on(scenario)
        if key not in plans:
            scenario.learner.check_value("a comparison")
            plans[key] = prepare(scenario, progress=progress)
        return plans[key]

    aim = aim or Aim()
    wanted = list_alternatives(alternatives, changes, plan)
    check_comparable(wanted)
    carried: list[Carried] = []
    did = count_progress(progress, "comparing", len(wanted))
    for one in wanted:
        goal = aim
        if one.filled and aim == Aim():
            goal = Aim(spending=carried[0].result["learner"]["payments"] or None)
        scaled = set_money(one, plan(one.scenario), goal)
        scenario = scaled.scenario if scaled else one.scenario
        run = carry_out(scenario, plan(scenario), training=training)
        carried.append(Carried(one.name, run, result_of(run), scaled))
        did(1)
    return carried


def list_alternatives(
    alternatives: Sequence[Alternative],
    changes: Sequence[tuple[str, str]],
    plan: Callable[[Scenario], Prepared],
) -> list[Alternative]:
    """List alternatives, and the first of them with each change."""
    base = alternatives[0]
    if len(alternatives) == 1 and any(key == KIND for key, _ in changes):  # named by what is varied
        base = replace(base, name=base.scenario.policy.kind)
    wanted = [base, *alternatives[1:]]
    if changes:
        wanted += varied(base, changes, market_game(base.scenario, *plan(base.scenario)))
    return wanted


def check_comparable(wanted: Sequence[Alternative]) -> None:
    """Refuse alternatives that are too few or too many, alike, or of different money or time.

    Raises
    ------
    InputError
    """
    names = [one.name for one in wanted]
    if not 2 <= len(wanted) <= MOST:
        rule = f"needs two to {MOST} alternatives"
        raise InputError("compare", rule, len(wanted), "Name another, or --vary a key.")
    if len(set(names)) < len(wanted):
        raise InputError("compare", "needs alternatives that differ", ", ".join(names))
    if any(one.scenario.time for one in wanted):
        rule = "must be left out of a comparison, because it has one period"
        raise InputError("time", rule, "[time]", "Leave it out.")
    currencies = sorted({str(one.scenario.currency or "none") for one in wanted})
    if len(currencies) > 1:
        rule = "must be the same in all alternatives, so that money can be compared"
        raise InputError("currency", rule, ", ".join(currencies))


def set_money(one: Alternative, prepared: Prepared, aim: Aim) -> Scaled | None:
    """Set the money in an alternative's policy to meet the aim; None where there is none."""
    if aim == Aim():
        return None
    if one.scenario.learners:
        rule = (
            "must be left out if the money of a policy is set: one learner's payments change "
            "what the others buy"
        )
        remedy = "Give each learner its policy, and compare without an aim."
        raise InputError("learners", rule, one.name, remedy)
    if not money_key(one.scenario):
        rule = "must have a number that payments rise with"
        raise InputError(KIND, rule, one.scenario.policy.kind)
    if aim.spending is not None:
        return at_spending(one.scenario, prepared, aim.spending)
    assert aim.fitness is not None
    return at_fitness(one.scenario, prepared, aim.fitness)


# Results, as facts


def comparison(carried: Sequence[Carried], aim: Aim | None = None) -> dict[str, Any]:
    """Collect a comparison: a row for each alternative, differences from the first, the vote."""
    first = carried[0]
    names = [owner["name"] for owner in first.result["owners"]]
    same = all([owner["name"] for owner in one.result["owners"]] == names for one in carried)
    aim = aim or Aim()
    content = {
        "schema": SCHEMA,
        "title": first.result["title"] or first.name,
        "seed": first.run.scenario.seed,
        "currency": first.run.scenario.currency,
        "aim": asdict(aim),
        "alternatives": [row(one, aim) for one in carried],
        "differences": [difference(first, one) for one in carried[1:]],
        "vote": ballot(carried) if same else None,
    }
    return dict(to_plain(content))


def row(one: Carried, aim: Aim) -> dict[str, Any]:
    """Make the row of an alternative."""
    content = one.result.content
    scenario = one.run.scenario
    found = content["equilibrium"]
    causes = {told["cause"]: told for told in reversed(content["warnings"])}
    return {
        "name": one.name,
        "policy": scenario.policy.model_dump(),
        "rules": {k: v for k, v in scenario.regulation.model_dump().items() if v},
        "scaled": one.scaled and scaled_part(one, one.scaled, aim),
        "certified": found["converged"],
        "equilibria": len(found["distinct"]),
        "asks": one.run.asks,
        **{name: at(content, place) for name, place in FACTS.items()},
        **{name: causes.get(cause) for name, cause in WARNINGS.items()},
        "owners": [{k: owner[k] for k in OWNER} for owner in content["owners"]],
        **{name: at(content, place) for name, place in WELFARE.items()},
    }


def scaled_part(one: Carried, scaled: Scaled, aim: Aim) -> dict[str, Any]:
    """Describe the money that the policy was set to, and whether that brought what it should."""
    key = money_key(one.run.scenario)
    met = scaled.met
    if aim.fitness is not None:
        met = met and abs(one.result["forecast"]["relative_fitness"] / aim.fitness - 1) <= MET
    return {
        "key": f"policy.{key}",
        "value": getattr(one.run.scenario.policy, key),
        "met": met,
        "jumps_to": scaled.jumps_to,
    }


def difference(first: Carried, other: Carried) -> dict[str, Any]:
    """Compare what another alternative leaves learner and owners with what the first does.

    Differences of the learner's gain have an interval where both alternatives share their draws: by
    forecast over possible worlds, as trained over trainings with the same noise.
    """
    both = (first, other)
    gains = [one.run.possible_gains(one.result["learner"]["payments"]) for one in both]
    trained = [trained_gains(one.run) for one in both if one.run.trained is not None]
    paired = planned_on(first.run.scenario) == planned_on(other.run.scenario)
    left = [np.array([owner["surplus"] for owner in one.result["owners"]]) for one in both]

    def less(place: str) -> float:
        return float(at(other.result.content, place) - at(first.result.content, place))

    return {
        "name": other.name,
        "paired": paired,
        "learner": less("learner.surplus"),
        "learner_by_world": spread(*gains) if paired else None,
        "learner_trained": spread(*trained) if paired and len(trained) == 2 else None,
        "owners": left[1] - left[0] if len(left[0]) == len(left[1]) else None,
        "treasury": less("welfare.treasury"),
        "welfare": less("welfare.total"),
    }


def spread(first: Array, other: Array) -> dict[str, Any]:
    """Summarise the difference by draw: median, nine tenths, and the chance that it is above 0."""
    sizes = {len(first), len(other)} - {1}
    if len(sizes) > 1 or 0 in sizes:
        return {"median": None, "interval": None, "level": LEVEL, "chance_better": None}
    by_draw = other - first  # one of them may be the same in every draw
    return {
        "median": float(np.median(by_draw)),
        "interval": list(quantiles(by_draw, LEVEL)),
        "level": LEVEL,
        "chance_better": chance_above(by_draw),
    }


def ballot(carried: Sequence[Carried]) -> dict[str, Any]:
    """Count how owners would vote, and where the learner and all together have most."""
    utility = np.array([[owner["surplus"] for owner in one.result["owners"]] for one in carried]).T
    found = count_votes(utility)
    names = [one.name for one in carried]

    def find_best(place: str) -> str:
        return names[int(np.argmax([at(one.result.content, place) for one in carried]))]

    against = zip(names, found.against_first, strict=True)
    return {
        "owners": [names[i] if i >= 0 else None for i in found.first],
        "learner": find_best("learner.surplus"),
        "welfare": find_best("welfare.total"),
        "winner": None if found.winner is None else names[found.winner],
        "votes": {name: int(np.sum(found.first == i)) for i, name in enumerate(names)},
        "against_first": {name: pair.tolist() for name, pair in against},
    }
