"""Rules or scenarios side by side: what each owner, the learner and the treasury gain under each, on the same draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast.bootstrap import quantiles
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
from scenarios.summary.verdict import LEVEL, chance_above

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


@dataclass(frozen=True)
class Alternative:
    """What is compared.

    Parameters
    ----------
    name: how it is called.
    scenario: its market.
    filled: whether its policy's money was filled in, and stands for nothing yet.
    """

    name: str
    scenario: Scenario
    filled: bool = False


@dataclass(frozen=True)
class Carried:
    """An alternative with what came of it."""

    name: str
    run: Run = field(repr=False)
    result: Result = field(repr=False)
    scaled: Scaled | None = None


@dataclass(frozen=True)
class Aim:
    """What all alternatives are made to have in common: the money that is spent, or the model that is bought.

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
            raise InputError(
                "--at-spending", "must not be given together with --at-fitness", "both"
            )
        for key, value in (("--at-spending", self.spending), ("--at-fitness", self.fitness)):
            if value is not None and not 0 < value < np.inf:
                raise InputError(key, "must be a number above 0", value)


def read_alternatives(
    sources: Sequence[str | Path], overrides: Sequence[str] = (), **options: Any
) -> list[Alternative]:
    """Scenarios by name or file, or those of result folders, each with the same changes.

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
        names = [one.name for one in found]
        title = Path(source).resolve().name if path.is_file() else Path(source).stem
        found.append(Alternative(title if title not in names else str(source), scenario))
    return found


def varied(base: Alternative, changes: Sequence[tuple[str, str]], game: Any) -> list[Alternative]:
    """The base with each change by itself, a key and a value in TOML; another kind of policy is filled in.

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
            found.append(Alternative(called(key, text, scenario), scenario))
    return found


def called(key: str, text: str, scenario: Scenario) -> str:
    """What a change is called: the key and its value; of a list of tables, the names in it."""
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
    """Carry out alternatives, and the first of them with each change; what they share is computed once.

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

    def prepared(scenario: Scenario) -> Prepared:
        key = shared_key(scenario)
        if key not in plans:
            plans[key] = prepare(scenario, progress=progress)
        return plans[key]

    aim = aim or Aim()
    base = alternatives[0]
    if len(alternatives) == 1 and any(key == KIND for key, _ in changes):  # named by what is varied
        base = replace(base, name=base.scenario.policy.kind)
    wanted = [base, *alternatives[1:]]
    if changes:
        wanted += varied(base, changes, market_game(base.scenario, *prepared(base.scenario)))
    if not 2 <= len(wanted) <= MOST:
        raise InputError(
            "compare",
            f"needs two to {MOST} alternatives",
            len(wanted),
            "Name another, or --vary a key.",
        )
    if len({one.name for one in wanted}) < len(wanted):
        raise InputError(
            "compare", "needs alternatives that differ", ", ".join(one.name for one in wanted)
        )
    if any(one.scenario.time for one in wanted):
        raise InputError(
            "time",
            "must be left out of a comparison, which looks at one period",
            "[time]",
            "Leave it out.",
        )
    currencies = {one.scenario.currency for one in wanted}
    if len(currencies) > 1:
        found = ", ".join(sorted(str(currency or "none") for currency in currencies))
        raise InputError(
            "currency", "must be the same under all alternatives: money is compared", found
        )
    carried: list[Carried] = []
    did = count_progress(progress, "comparing", len(wanted))
    for one in wanted:
        goal = (
            aim
            if not one.filled or aim != Aim()
            else Aim(spending=carried[0].result["learner"]["payments"] or None)
        )
        scaled = set_money(one, prepared(one.scenario), goal)
        scenario = one.scenario if scaled is None else scaled.scenario
        run = carry_out(scenario, prepared(scenario), training=training)
        carried.append(Carried(one.name, run, result_of(run), scaled))
        did(1)
    return carried


def set_money(one: Alternative, prepared: Prepared, aim: Aim) -> Scaled | None:
    """The alternative with as much money in its policy as meets the aim; None where there is none."""
    if aim == Aim():
        return None
    if one.scenario.learners:
        rule = (
            "must be left out where the money of a policy is set: what one learner pays moves "
            "what the others buy"
        )
        raise InputError(
            "learners", rule, one.name, "Give each learner its policy, and compare without an aim."
        )
    if not money_key(one.scenario):
        raise InputError(
            KIND, "must have a number that payments rise with", one.scenario.policy.kind
        )
    if aim.spending is not None:
        return at_spending(one.scenario, prepared, aim.spending)
    assert aim.fitness is not None
    return at_fitness(one.scenario, prepared, aim.fitness)


def shared_key(scenario: Scenario) -> str:
    """What data and planner depend on: scenarios with the same one share them."""
    whole = scenario.model_dump(include={"seed", "data", "learning", "trust"})
    return repr(
        (
            whole,
            scenario.owners.epsilon,
            scenario.owners.report,
            scenario.data_folder,
            scenario.folder,
        )
    )


# What came of it, as facts


def comparison(carried: Sequence[Carried], aim: Aim | None = None) -> dict[str, Any]:
    """Everything that a comparison holds: a row for each alternative, paired differences from the first, and the vote."""
    first = carried[0]
    names = [owner["name"] for owner in first.result["owners"]]
    same = all([owner["name"] for owner in one.result["owners"]] == names for one in carried)
    aim = aim or Aim()
    return dict(
        to_plain(
            {
                "schema": SCHEMA,
                "title": first.result["title"] or first.name,
                "seed": first.run.scenario.seed,
                "currency": first.run.scenario.currency,
                "aim": {"spending": aim.spending, "fitness": aim.fitness},
                "alternatives": [row(one, aim) for one in carried],
                "differences": [difference(first, one) for one in carried[1:]],
                "vote": ballot(carried) if same else None,
            }
        )
    )


def row(one: Carried, aim: Aim) -> dict[str, Any]:
    """What an alternative comes to."""
    content = one.result.content
    run = one.run
    learner, forecast, found, checked = (
        content[k] for k in ("learner", "forecast", "equilibrium", "validation")
    )
    money = (checked or {}).get("money")
    return {
        "name": one.name,
        "policy": run.scenario.policy.model_dump(),
        "rules": {k: v for k, v in run.scenario.regulation.model_dump().items() if v},
        "scaled": None if one.scaled is None else scaled_part(one, aim),
        "certified": found["converged"],
        "equilibria": len(found["distinct"]),
        "asks": run.asks,
        "payments": learner["payments"],
        "relative_fitness": forecast["relative_fitness"],
        "interval": forecast["interval"],
        "outside": content["outside_option"]["relative_fitness"],
        "terms": learner["terms"],
        "gain": learner["surplus"],
        "gain_median": learner["gain"]["median"],
        "gain_interval": learner["gain"]["interval"],
        "chance_pays": learner["gain"]["chance_pays"],
        "buying_pays": learner["buying_pays"],
        "trained_fitness": None if checked is None else checked["relative_fitness"]["mean"],
        "trained_gain": None if money is None else money["learner_surplus"],
        "agrees": None if checked is None else checked["agrees"],
        "past_worth": learner["past_worth"],
        "weaker": next(
            (told for told in content["warnings"] if told["cause"] == "weaker_than_sold"), None
        ),
        "edge_of_refusal": next(
            (told for told in content["warnings"] if told["cause"] == "edge_of_refusal"), None
        ),
        "owners": [{k: owner[k] for k in OWNER} for owner in content["owners"]],
        "owners_surplus": content["welfare"]["owners"],
        "treasury": content["welfare"]["treasury"],
        "welfare": content["welfare"]["total"],
    }


def scaled_part(one: Carried, aim: Aim) -> dict[str, Any]:
    """What the policy's money was set to, and whether that brought what it should."""
    assert one.scaled is not None
    key = money_key(one.run.scenario)
    came = one.result["forecast"]["relative_fitness"]
    wanted, had = (
        (aim.fitness, came)
        if aim.fitness is not None
        else (None, one.result["learner"]["payments"])
    )
    met = one.scaled.met and (wanted is None or abs(had / wanted - 1) <= MET)
    return {"key": f"policy.{key}", "value": getattr(one.run.scenario.policy, key), "met": met} | {
        "jumps_to": one.scaled.jumps_to
    }


def difference(first: Carried, other: Carried) -> dict[str, Any]:
    """What another alternative leaves the learner and each owner beyond the first, with an interval where draws are shared.

    The forecast's are over possible worlds, the trained ones over trainings with the same noise.
    """
    gains = [one.run.possible_gains(one.result["learner"]["payments"]) for one in (first, other)]
    trained = [trained_gains(one.run) for one in (first, other) if one.run.trained is not None]
    paired = shared_key(first.run.scenario) == shared_key(other.run.scenario)
    left = [
        np.array([owner["surplus"] for owner in one.result["owners"]]) for one in (first, other)
    ]
    return {
        "name": other.name,
        "paired": paired,
        "learner": other.result["learner"]["surplus"] - first.result["learner"]["surplus"],
        "learner_by_world": spread(*gains) if paired else None,
        "learner_trained": spread(*trained) if paired and len(trained) == 2 else None,
        "owners": left[1] - left[0] if len(left[0]) == len(left[1]) else None,
        "treasury": other.result["welfare"]["treasury"] - first.result["welfare"]["treasury"],
        "welfare": other.result["welfare"]["total"] - first.result["welfare"]["total"],
    }


def trained_gains(run: Run) -> Array:
    """What the learner gains by each training after paying, (runs,)."""
    worth = run.game.value * (run.own_error - run.errors) if run.asks else np.zeros(len(run.errors))
    return np.asarray(worth - run.game.payments(run.epsilon).sum())


def spread(first: Array, other: Array) -> dict[str, Any]:
    """The difference by draw: its median, where nine in ten lie, and the chance that it is above 0."""
    if len(first) != len(other):  # one of them is the same in every draw
        first, other = (
            np.broadcast_arrays(first, other)
            if 1 in (len(first), len(other))
            else (first[:0], other[:0])
        )
    if not len(first):
        return {"median": None, "interval": None, "level": LEVEL, "chance_better": None}
    by_draw = other - first
    told = {
        "median": float(np.median(by_draw)),
        "interval": list(quantiles(by_draw, LEVEL)),
        "level": LEVEL,
    }
    return told | {"chance_better": chance_above(by_draw)}


def ballot(carried: Sequence[Carried]) -> dict[str, Any]:
    """How owners would vote by what each alternative leaves them, and where the learner and all together have most."""
    utility = np.array([[owner["surplus"] for owner in one.result["owners"]] for one in carried]).T
    found = count_votes(utility)
    learner = [one.result["learner"]["surplus"] for one in carried]
    names = [one.name for one in carried]
    return {
        "owners": [names[i] if i >= 0 else None for i in found.first],
        "learner": names[int(np.argmax(learner))],
        "welfare": names[int(np.argmax([one.result["welfare"]["total"] for one in carried]))],
        "winner": None if found.winner is None else names[found.winner],
        "votes": {name: int(np.sum(found.first == i)) for i, name in enumerate(names)},
        "against_first": {
            name: pair.tolist() for name, pair in zip(names, found.against_first, strict=True)
        },
    }
