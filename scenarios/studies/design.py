"""The learner's problem for a scenario: a policy, the money in it, and the owners to ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from learning.errors import InputError
from learning.forecast.fitness import worth_of_all
from learning.phrases import toml_value
from learning.progress import Progress, count_progress, ignore_progress
from learning.threads import one_blas_thread
from market.analysis.design import Design
from market.analysis.policy_search import Study
from market.game.game import Game
from market.policies.base import Policy
from scenarios.features.inputs import list_assumed
from scenarios.features.pricing import fix_price, money_key, scale_money
from scenarios.planning import Prepared, choose_measure, prepare
from scenarios.result import Result
from scenarios.run import Run
from scenarios.runner import carry_out, result_of
from scenarios.schema.kinds import KINDS
from scenarios.schema.loading import change_scenario
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.studies.asking import (
    Joining,
    adds_data,
    bound_sales,
    choose_owners,
    list_joining,
    restrict_owners,
    settle_owners,
)
from scenarios.studies.attitude import Alternative, Attitude, Pick, best_of_kind, judge, pick
from scenarios.studies.money import POINTS, PRECISION, survey_money, with_best_money
from scenarios.studies.offers import at_spending, of_kind, solved, starts_at
from scenarios.summary.worth import past_worth_part

FIRST_POINTS = 5  # every other one of them: at first where whole profiles are settled
LEAST = 0.02  # the least that is paid in the survey of a policy, as a part of the most
NEGLIGIBLE = 1e-6  # of what the best model is worth: no gain
CAPPED = 3  # times that what owners may sell is cut to what is worth buying
HOPELESS = 0.5  # of the best gain: a kind that gains less on the survey is not searched finely
SLOW = 8  # owners beyond which policies that settle whole profiles must be named


EXPECTED = Attitude()


@dataclass(frozen=True)
class Tried:
    """A kind of policy with the money that is best in it, and all that was tried.

    Attributes
    ----------
    kind : its name
    variant : parameters besides its money with which it was tried; none where it was tried as it
        stands
    stated : the scenario under it, before any factor on its money
    study : what was tried; None where no money brings anything
    refused : reason why it was not tried, else empty
    between : factors on its money, between those surveyed, to be surveyed only if it is hopeful
    """

    kind: str
    variant: Mapping[str, Any] = field(default_factory=dict)
    stated: Scenario | None = field(default=None, repr=False)
    study: Study | None = field(default=None, repr=False)
    refused: str = ""
    between: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """Its kind, and what sets it apart from others of that kind."""
        return ", ".join([self.kind, *(f"{key} {value}" for key, value in self.variant.items())])

    @property
    def best(self) -> Design:
        """The best of it."""
        assert self.study is not None
        return self.study.best

    @property
    def gain(self) -> float:
        """Gain of the learner; minus infinity where it was not tried, or somebody would leave."""
        if self.study is None or not self.best.feasible:
            return -np.inf
        return self.best.surplus


@dataclass(frozen=True)
class Search:
    """Data, game and limits of a search for a policy.

    Attributes
    ----------
    prepared : data and planner
    game : the game of the scenario
    budget : money that may be spent at most
    named : whether kinds were named, so that one that cannot pay is an error
    optimistic : whether the best of several equilibria counts, else the worst
    """

    prepared: Prepared
    game: Game
    budget: float
    named: bool
    optimistic: bool


@dataclass(frozen=True)
class Designed:
    """The learner's best policy for a scenario.

    Attributes
    ----------
    tried : every kind, the best first
    rows : the alternatives to choose among, one of each kind, and of fewer owners
    picked : the one chosen, and those as good; None where nothing is worth buying
    attitude : the learner's attitude to risk
    scenario : the scenario as chosen; None where nothing is worth buying
    joining : for each owner, whether to ask it, and what that adds to the learner's gain
    beyond : how the learner would fare that also bought more than is worth buying; None where
        nobody would sell so much
    run, result : the chosen scenario carried out, without training; the given one where nothing is
        worth buying
    """

    tried: tuple[Tried, ...]
    rows: tuple[Alternative, ...]
    picked: Pick | None
    attitude: Attitude
    scenario: Scenario | None
    joining: tuple[Joining, ...]
    run: Run = field(repr=False)
    result: Result = field(repr=False)
    beyond: Run | None = field(default=None, repr=False)


@one_blas_thread()
def design_scenario(
    scenario: Scenario,
    *,
    kinds: Sequence[str] = (),
    budget: float | None = None,
    optimistic: bool = False,
    attitude: Attitude = EXPECTED,
    progress: Progress = ignore_progress,
) -> Designed:
    """Search the policies, the owners in equilibrium, for the one by which the learner gains most.

    What is searched of each kind is the money in it; its other parameters are the scenario's, or
    those it is tried with. Only what every owner would take part in counts, within the budget.
    Owners whom the learner is better off not to ask are then left out, one after the other, and the
    money is searched again; and so it is where somebody would sell more than is worth buying of it,
    with that as the most that it may sell. A learner who would learn its price has no need to.

    Parameters
    ----------
    kinds : names of policies; all that can pay these owners unless given.
    budget : money that may be spent at most; ``learner.budget`` unless given.
    optimistic : whether the learner counts on the best of several equilibria, and not on the worst.
    attitude : the learner's attitude to risk; the largest expected gain unless given.

    Raises
    ------
    InputError
        On the first rule that the scenario breaks.
    """
    scenario = _without_assumed_policy(fix_price(scenario))
    limit = scenario.learner.budget if budget is None else budget
    spending = np.inf if limit is None else float(limit)
    if not spending > 0:
        raise InputError("--budget", "must be a number above 0", spending)
    each_for_itself(scenario)
    scenario.learner.check_value("a design")
    prepared = prepare(scenario, progress=progress)
    scenario = prepared.data.in_order(scenario)
    search = Search(prepared, market_game(scenario, *prepared), spending, bool(kinds), optimistic)
    worth = NEGLIGIBLE * abs(best_worth(scenario, prepared, search.game))
    names = list(kinds) or candidates(scenario, prepared)
    tried = try_kinds(search, scenario, names, worth, progress)
    if tried[0].gain <= worth:
        less = without_noisiest(scenario, prepared, tried)
        if less is not None:
            tried = try_kinds(search, less, names, worth, progress)
    return choose(search, scenario, tried, attitude, worth)


def _without_assumed_policy(scenario: Scenario) -> Scenario:
    """Drop assumed keys of the policy, whose money the design chooses."""
    assumed = list_assumed(scenario)
    kept = [key for key in assumed if not key.startswith("policy.")]
    if kept == assumed:
        return scenario
    return change_scenario(scenario, [f"inputs.assumed={kept}"])


def choose(
    search: Search, stated: Scenario, tried: Sequence[Tried], attitude: Attitude, worth: float
) -> Designed:
    """Choose among the offers tried, by an attitude; settle the choice by a run.

    Fewer owners are tried under every offer that comes to be chosen.
    """
    prepared = search.prepared
    offers = (judge_kind(one, prepared, attitude, worth) for one in tried)
    rows = [one for one in offers if one is not None]
    joining: dict[str, tuple[Joining, ...]] = {}
    while rows:
        picked = pick(rows, attitude, stated, worth)
        # Fewer owners may pay with a chance with which all of them do not.
        one = picked.chosen if picked else best_of_kind(rows, attitude)
        if one.name not in joining:
            fewer, joining[one.name] = choose_owners(one, prepared, search.budget, worth)
            if fewer is not one.scenario:
                epsilon = settle_owners(market_game(fewer, *prepared), fewer.seed)
                rows.append(judge(one.name, fewer, prepared, epsilon))
        elif picked is None or one.confirmed:
            break
        else:
            there = confirm(one, search)
            rows = [there if row is one else row for row in rows]
    picked = pick(rows, attitude, stated, worth)
    rows.sort(key=lambda one: -float(attitude.score(one.gains)))
    known = (tuple(tried), tuple(rows), picked, attitude)
    if picked is None:
        run = carry_out(stated, prepared, training=False)
        return Designed(*known, None, (), run, result_of(run))
    chosen = picked.chosen
    # What an owner who is asked adds is that under the offer chosen, not under the one before.
    missed = {one.name: one for one in joining[chosen.name] if not one.joins}
    joins = list_joining(chosen.scenario, prepared)
    if set(missed) == set(chosen.left_out):
        joins = tuple(missed.get(one.name, one) for one in joins)
    result = result_of(chosen.run)
    return Designed(*known, chosen.scenario, joins, chosen.run, result, chosen.beyond)


def confirm(one: Alternative, search: Search) -> Alternative:
    """Settle an offer by a run, which may be worse than all that the search met."""
    run = carry_out(one.scenario, search.prepared, training=False)
    scenario, run, beyond = not_beyond(run, search.prepared, search.budget)
    there = judge(one.name, scenario, search.prepared, run.epsilon)
    return replace(there, run=run, beyond=beyond)


def judge_kind(
    one: Tried, prepared: Prepared, attitude: Attitude, worth: float
) -> Alternative | None:
    """Judge offers of a kind that all owners take part in, at the money surveyed; take the best.

    For the largest expected gain it climbs, from the offer that gains most by the forecast, while
    more or less money is better; else all are judged. None where no offer gains.
    """
    if one.study is None or one.stated is None or one.gain <= worth:
        return None
    base = one.stated
    open_ = [design for design in one.study.surveyed if design.feasible and design.surplus > worth]
    open_.sort(key=lambda design: float(design.parameters[0]))

    @cache
    def judge_at(place: int) -> Alternative:
        design = open_[place]
        offered = scale_money(base, float(design.parameters[0]))
        return judge(one.name, offered, prepared, design.equilibrium.epsilon)

    if attitude != EXPECTED:
        return best_of_kind([judge_at(place) for place in range(len(open_))], attitude)
    at = max(range(len(open_)), key=lambda place: open_[place].surplus)
    while True:
        near = range(max(at - 1, 0), min(at + 2, len(open_)))
        higher = max(near, key=lambda place: float(attitude.score(judge_at(place).gains)))
        if higher == at:
            return judge_at(at)
        at = higher


def not_beyond(run: Run, prepared: Prepared, budget: float) -> tuple[Scenario, Run, Run | None]:
    """Cut what owners may sell to what is worth buying, and set the money anew.

    It is done up to `CAPPED` times, since less is worth buying of an owner once the others sell
    less.

    Returns
    -------
    The scenario and the run after that, and the run given; None for it if nobody sold more.
    """
    first = run
    for _ in range(CAPPED):
        if not past_worth_part(run)["owners"]:
            break
        market = run.game.owners
        enough = worth_of_all(run.planner.forecast, market.epsilon_min, run.epsilon)
        most = np.minimum(market.epsilon_max, np.maximum(enough, market.epsilon_min))
        if np.array_equal(most, market.epsilon_max):  # bound to sell more
            break
        chosen = bound_sales(run.scenario, market.epsilon_min, most)
        chosen = with_best_money(chosen, prepared, budget)
        run = carry_out(chosen, prepared, training=False)
    return run.scenario, run, None if run is first else first


def each_for_itself(scenario: Scenario) -> None:
    """Refuse what a search for a policy does not settle.

    Raises
    ------
    InputError
        If owners are not all rational, choose as one, or have something in common, or there are
        several learners or periods.
    """
    for key in ("behaviours", "unions", "learners", "externalities", "time"):
        if getattr(scenario, key):
            rule = (
                "must be left out of a search for a policy, which needs rational owners, "
                "each for itself, one learner and one period"
            )
            remedy = (
                "Compare policies instead: dpmarket compare SCENARIO --vary "
                "policy.kind=proportional,marginal."
            )
            raise InputError(key, rule, f"[{key}]", "Leave it out." if key == "time" else remedy)


def candidates(scenario: Scenario, prepared: Prepared) -> list[str]:
    """List kinds of policy with money in them: the own one first, slow ones for few owners."""
    few = len(prepared.data.owners) <= SLOW
    kinds: dict[str, Any] = dict(KINDS["policy"])
    usual = {kind: one for kind, one in kinds.items() if getattr(one, "money", "") and one.usual}
    known = [kind for kind, one in usual.items() if few or one.additive]
    own = scenario.policy.kind
    return [*([own] if own in known else []), *(kind for kind in known if kind != own)]


def try_kinds(
    search: Search, scenario: Scenario, kinds: Sequence[str], worth: float, progress: Progress
) -> list[Tried]:
    """Try kinds of policy, each as it stands or in its variants, the best first.

    All are surveyed: those that settle whole profiles at `FIRST_POINTS`, and at `POINTS` only if
    they then gain `HOPELESS` of the best. From the best survey on, each is narrowed down: roughly
    if it gains less than ``worth`` or than the best so far, and not at all if its survey gains less
    than `HOPELESS` of that.
    """
    policies: Any = KINDS["policy"]
    versions = [
        (kind, variant)
        for kind in kinds
        for variant in getattr(policies.get(kind), "study_variants", Policy.study_variants)()
    ]
    did = count_progress(progress, "trying policies", 2 * len(versions))
    tried: list[Tried] = []
    for kind, variant in versions:
        tried.append(survey_kind(search, scenario, kind, variant))
        did(1)
    hopeful = HOPELESS * max(one.gain for one in tried)
    for one in tried:
        if one.study is not None and one.between and one.gain >= hopeful:
            one.study.survey_policies(one.between)
    tried.sort(key=lambda one: one.gain, reverse=True)
    best = -np.inf
    for one in tried:
        if one.study is not None and one.gain >= HOPELESS * best:
            one.study.narrow_down(max(best, worth))
            best = max(best, one.gain)
        did(1)
    return sorted(tried, key=lambda one: one.gain, reverse=True)


def survey_kind(search: Search, scenario: Scenario, kind: str, variant: Mapping[str, Any]) -> Tried:
    """Survey the money in one kind of policy.

    A kind that cannot pay these owners is an error only where it was named.
    """
    prepared = search.prepared
    base = scenario
    try:
        if kind != scenario.policy.kind:
            base = of_kind(scenario, kind, search.game)
        changes = [f"policy.{key}={toml_value(value)}" for key, value in variant.items()]
        base = change_scenario(base, changes)
        if not money_key(base):
            raise InputError("policy.kind", "must have a number that payments rise with", kind)
    except InputError as error:
        if search.named:
            raise
        return Tried(kind, variant, refused=str(error))
    most = min(search.budget, best_worth(base, prepared, search.game))
    if not most > 0:
        return Tried(kind, variant, refused="the best model is worth nothing to the learner")
    reach = at_spending(base, prepared, most, settled=solved, close=PRECISION).factor
    low = min(starts_at(base, prepared, LEAST * most, reach), reach / 2)
    slow = not market_game(base, *prepared).additive
    points = FIRST_POINTS if slow else POINTS
    options: dict[str, Any] = {"points": points, "optimistic": search.optimistic}
    study = survey_money(base, prepared, (low, reach), budget=search.budget, **options)
    between = np.geomspace(low, reach, POINTS)[1::2].tolist() if slow else []
    return Tried(kind, variant, base, study, between=tuple(between))


def best_worth(scenario: Scenario, prepared: Prepared, game: Game) -> float:
    """Compute the worth of the best possible model to the learner, over its own."""
    best = float(choose_measure(scenario, prepared.planner)(0.0))
    return game.value * (game.forecast.outside - best)


def without_noisiest(
    scenario: Scenario, prepared: Prepared, tried: Sequence[Tried]
) -> Scenario | None:
    """Leave out the owners who sell nothing, or add more noise than data, in one of the offers.

    Of the offers tried in which there are such owners, and others, it is the one of the largest
    factor on its policy's money; None where there is no such offer.
    """
    offers = [one for policy in tried if policy.study is not None for one in policy.study.tried]
    for design in sorted(offers, key=lambda one: float(one.parameters[0]), reverse=True):
        epsilon = design.equilibrium.epsilon
        asked = (epsilon > 0) & adds_data(prepared.data.sizes, epsilon)
        if asked.any() and not asked.all():
            return restrict_owners(scenario, prepared, asked)
    return None
