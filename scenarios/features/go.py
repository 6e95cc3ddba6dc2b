"""Go or no-go: whether the trained model is bought, decided before money moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from learning.errors import InputError
from learning.forecast.gain_seen import GainSeen, see_gain, see_gain_ahead
from learning.phrases import format_value
from learning.privacy.mechanisms import MECHANISMS, all_widen
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from scenarios.features.base import Feature, Topic, rows_of
from scenarios.schema.fields import quote_choices

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

ROUNDS = 12  # in which owners and the learner's chance to buy are settled in turn
NEAR = 0.01  # change of that chance at which both are settled
LEAST = 0.01  # chance that owners count with
LIKELY = 0.4  # chance that buying pays, below which the learner stops at the pilot answers
OTHERWISE = "cost_plus"  # a policy whose payments no parameter scales


@dataclass(frozen=True)
class Decision:
    """Decisions to buy the trained model or not, one for each training.

    Parameters
    ----------
    seen: array (runs,), what the model is worth to the learner more than its own, as the released
        sums show it, money.
    std_error: array (runs,), of that, by the noise on the sums.
    prior: mean and variance of the same over the worlds that the forecast takes for possible.
    payments: money that the owners are paid in all if it is bought.
    margin: part by which it must be worth more than they are.
    failed: mask (runs,) of the models that the learner's public rows speak against.
    pilot: what the pilot answers showed before; None without any.
    """

    seen: np.ndarray
    std_error: np.ndarray
    prior: tuple[float, float]
    payments: float
    margin: float = 0.0
    failed: np.ndarray | bool = False
    pilot: Decision | None = None

    @property
    def forecast_share(self) -> np.ndarray:
        """Weight of the forecast beside the sums, (runs,): each counts by its precision."""
        noise = self.std_error**2
        return np.divide(noise, noise + self.prior[1], out=np.zeros_like(noise), where=noise > 0)

    @property
    def expected(self) -> np.ndarray:
        """Worth by the forecast and the sums together, (runs,), money."""
        return self.seen + self.forecast_share * (self.prior[0] - self.seen)

    @property
    def chance_pays(self) -> np.ndarray:
        """Chance that buying pays, after the answers, (runs,)."""
        deviation = np.sqrt(self.forecast_share * self.prior[1])
        above = self.expected - self.payments
        certain = np.where(above > 0, np.inf, -np.inf)
        return np.asarray(
            scipy.special.ndtr(np.divide(above, deviation, out=certain, where=deviation > 0))
        )

    @property
    def likely(self) -> np.ndarray:
        """Mask of the trainings in which buying is likely enough to pay to go on, (runs,)."""
        return np.asarray(self.chance_pays >= LIKELY)

    @property
    def goes_on(self) -> bool:
        """True unless the first training ends at the pilot answers."""
        return self.pilot is None or bool(self.pilot.likely[0])

    @property
    def bought(self) -> np.ndarray:
        """Mask of the trainings whose model is bought, (runs,), (1 + margin) P being worth it.

        None is that public rows speak against, or that the learner stopped at the pilot answers of.
        """
        worth_it = self.expected > (1 + self.margin) * self.payments
        if self.pilot is not None:
            worth_it = worth_it & self.pilot.likely
        return worth_it & ~np.asarray(self.failed)


def decide_to_buy(run: Run) -> Decision | None:
    """Decide, for each training of a run, whether its model is bought.

    The learner knows the released sums, its own rows, its forecast and the payments agreed. What it
    expects is the mean of two normal laws' product: of the forecast's worlds, and of the sums. It
    takes the best training cost from its forecast. None where it buys every model, or nothing was
    trained.
    """
    trained = run.trained
    public = run.data.public
    task = trained.task if trained else None
    if run.scenario.learner.go == "always" or trained is None or task is None or public is None:
        return None
    own = run.planner.forecast.outside
    before = run.measure.own(own)

    def worth_of(cost: np.ndarray) -> np.ndarray:
        reached = np.maximum(own - cost / run.planner.optimum, -1.0)
        return np.asarray(run.game.value * (before - run.measure(reached)))

    worlds = run.possible_gains(0.0)
    prior = (float(worlds.mean()), float(worlds.var()))
    payments = float(run.game.payments(run.epsilon).sum())
    learner = run.scenario.learner

    def decide(seen: GainSeen) -> Decision:
        up, down = (worth_of(seen.cost + sign * seen.std_error) for sign in (1, -1))
        return Decision(worth_of(seen.cost), (up - down) / 2, prior, payments, learner.margin)

    pilot = None
    if learner.pilot is not None:
        pilot = decide(see_gain_ahead(task, public, learner.pilot))
    decided = decide(see_gain(task, trained.theta, public))
    return replace(decided, failed=run.keeps_own, pilot=pilot)


def settle_by_chance(
    game: Game,
    settle_game: Callable[..., Equilibrium],
    chance_at: Callable[[Equilibrium], float],
    *,
    others: bool,
) -> tuple[Equilibrium, float]:
    """Settle owners who are paid only if the model is bought, and find the chance they count with.

    An owner expects c P - C of a payment P and a cost C, at the chance c that buying pays where the
    owners stand. It takes c for given. Both are sought in turn, c by half of each step.

    Parameters
    ----------
    game : the game, with payments as promised.
    settle_game : settles a game, with ``others`` or without.
    chance_at : the chance that buying pays at an equilibrium.
    others : whether to look for further equilibria.

    Returns
    -------
    The equilibrium, with payments as promised, and c.
    """
    chance = 1.0
    for _ in range(ROUNDS):
        now = chance_at(settle_game(expect_payments(game, chance), others=False))
        if abs(now - chance) <= NEAR:
            break
        chance = max((chance + now) / 2, LEAST)
    found = settle_game(expect_payments(game, chance), others=others)
    path = tuple((k, at, *game.payments_and_payoffs(at)) for k, at, *_ in found.trajectory)
    rivals = tuple(replace(one, payments=game.payments(one.epsilon)) for one in found.others)
    payments = game.payments(found.epsilon)
    return replace(found, payments=payments, others=rivals, trajectory=path), chance


def expect_payments(game: Game, chance: float) -> Game:
    """The game with payments as expected: each times the chance that it is made."""
    if chance == 1:
        return game
    policy = game.policy
    money = np.multiply(chance, getattr(policy, policy.money)).tolist()
    return replace(game, policy=replace(policy, **{policy.money: money}))


class GoNoGo(Feature):
    """A learner that decides by the owners' answers whether it buys the model."""

    key = "learner.go"
    title = 'learner.go = "worth_it"'
    example = ("learner.go=worth_it", "learning.algorithm=one_step", "learning.mechanism=l2")
    refusal = 'must be "always"'
    result = "go"
    sentence = "go.txt.j2"
    topic = Topic("model", 13)
    excludes = {
        "trust": "because it does not support noise that owners make together",
        "owners.benefit": "because owners may then wait for a model that nobody buys",
        "learners": "because it supports one buyer only",
        "pricing": "because it would learn from prices at which nothing is bought",
        "time": "because it supports one period only",
        "policy.user": "because owners then expect only a part of what is promised",
    }

    def is_used(self, scenario: Scenario) -> bool:
        """Test whether the learner decides after the answers."""
        return scenario.learner.go != "always"

    def check_unused(self, scenario: Scenario) -> None:
        """Refuse a margin and pilot answers where nothing is decided."""
        for key in ("margin", "pilot"):
            given = getattr(scenario.learner, key)
            if given != type(scenario.learner).model_fields[key].default:
                raise InputError(
                    f"learner.{key}", f"needs {self.title}", f"{given:g}", "Leave it out."
                )

    def check(self, scenario: Scenario) -> None:
        """Refuse trainings without released sums, and learners without public rows."""
        if scenario.learner.pilot is not None:
            self._check_pilot(scenario)
        if not scenario.ways:
            rule = f'must be "one_step" with {self.title}, because its released sums decide'
            found = format_value(scenario.learning.algorithm)
            remedy = "Change it, or leave out learner.go."
            raise InputError("learning.algorithm", rule, found, remedy)
        if scenario.policy.kind == OTHERWISE:
            rule = f"must pay in proportion to one parameter with {self.title}"
            raise InputError("policy.kind", rule, format_value(scenario.policy.kind))
        if not scenario.data.public_rows:
            rule = "needs public rows: otherwise the learner has no model of its own to keep"
            raise InputError("learner.go", rule, "data.public_rows = 0", "Set data.public_rows.")

    def _check_pilot(self, scenario: Scenario) -> None:
        """Refuse pilot answers of noise that does not widen, and of owners who answer together."""
        if not scenario.learning.widens:
            able = quote_choices([name for name in MECHANISMS if all_widen(name)])
            rule = f"must be {able} with learner.pilot"
            found = format_value(scenario.learning.mechanism)
            remedy = "Change it, or leave out learner.pilot."
            raise InputError("learning.mechanism", rule, found, remedy)
        if scenario.unions:
            rule = "must be left out with learner.pilot: members of a union answer together"
            raise InputError("unions", rule, remedy="Leave out unions or learner.pilot.")

    def facts(self, run: Run, loop: Loop) -> dict[str, Any] | None:
        """Decisions to buy, and what came of them.

        Returns
        -------
        go.seen : Under `learner.go = "worth_it"`, money that the first training's model is worth to
            the learner more than its own, before payments, as the released sums show it; go is
            null unless it decides so, and where nothing is trained.
        go.std_error : Its standard error, by the noise on the sums.
        go.expected : The same with its forecast, each by its precision: what it decides by.
        go.chance_pays : The chance that buying pays, after the answers.
        go.chance_counted : The chance, before any answer, that owners count on being paid with.
        go.payments : Money that is paid if the model is bought.
        go.margin : The part by which the model must be expected to be worth more than that.
        go.bought : Whether that model is bought.
        go.share_bought : The share of the trainings whose model is bought.
        go.share_lost : The share of the trainings in which buying would lose money, measured on
            all records.
        go.losses_prevented : The share of these whose model is not bought; null without any.
        go.gains_missed : Money that models not bought would have gained the learner, on average
            over all trainings, measured.
        go.surplus : The learner's gain after paying, on average over all trainings, measured.
        go.surplus_always : The same if every model were bought.
        go.owners[].name : An owner.
        go.owners[].epsilon_spent : ε that its ledger holds after the first training.
        go.pilot.share : Part of each owner's ε at which it answers first; go.pilot is null unless
            `learner.pilot` asks for that.
        go.pilot.seen : What these answers show the first training's model to be worth to the
            learner more than its own.
        go.pilot.std_error : Its standard error, by the noise on them.
        go.pilot.chance_pays : The chance, after them, that buying pays.
        go.pilot.goes_on : Whether the learner goes on in the first training.
        go.pilot.share_stopped : Share of the trainings that end at these answers.
        go.pilot.losses_prevented : Share of the losses that they prevent; null without any.
        go.pilot.gains_missed : Money that models not bought because of them would have gained,
            on average over all trainings, measured.
        go.pilot.epsilon_spent : Part of their ε that owners spend, on average over the trainings in
            which no model is bought; null where every one is.
        """
        decision = run.decision
        if decision is None:
            return None
        worth = run.game.value * (run.own_error - run.errors)
        gains = worth - decision.payments
        bought = decision.bought
        lost = gains < 0
        names = run.data.names
        return {
            "seen": float(decision.seen[0]),
            "std_error": float(decision.std_error[0]),
            "expected": float(decision.expected[0]),
            "chance_pays": float(decision.chance_pays[0]),
            "chance_counted": run.chance_paid,
            "payments": decision.payments,
            "margin": decision.margin,
            "bought": bool(bought[0]),
            "share_bought": float(bought.mean()),
            "share_lost": float(lost.mean()),
            **stopping_part(~bought, gains),
            "surplus": float(np.mean(np.where(bought, gains, 0.0))),
            "surplus_always": float(gains.mean()),
            "owners": rows_of({"name": names, "epsilon_spent": spent_by(run, names)}),
            "pilot": pilot_part(run.scenario.learner.pilot or 0.0, decision, gains),
        }


def stopping_part(stopped: np.ndarray, gains: np.ndarray) -> dict[str, Any]:
    """Share of losses that stopping prevents, and the money that it misses.

    Parameters
    ----------
    stopped : mask (runs,).
    gains : money that buying gains the learner after payments, (runs,).
    """
    lost = gains < 0
    prevented = None
    if lost.any():
        prevented = float(np.mean(stopped[lost]))
    missed = float(np.mean(np.where(stopped & ~lost, gains, 0.0)))
    return {"losses_prevented": prevented, "gains_missed": missed}


def spent_by(run: Run, owners: Sequence[str]) -> list[float | None]:
    """Epsilon in each owner's ledger after the first training; 0 of who was asked nothing."""
    if run.trained is None:
        return [None] * len(owners)
    accounts = {one.budget.owner: one.budget.epsilon for one in run.ledger.accounts if one.answered}
    return [accounts.get(name, 0.0) for name in owners]


def pilot_part(share: float, decision: Decision, gains: np.ndarray) -> dict[str, Any] | None:
    """Describe what pilot answers showed, and what came of them; None without any."""
    pilot = decision.pilot
    if pilot is None:
        return None
    stopped = ~pilot.likely
    spent = np.where(stopped, share, 1.0)[~decision.bought]
    return {
        "share": share,
        "seen": float(pilot.seen[0]),
        "std_error": float(pilot.std_error[0]),
        "chance_pays": float(pilot.chance_pays[0]),
        "goes_on": bool(pilot.likely[0]),
        "share_stopped": float(stopped.mean()),
        **stopping_part(stopped, gains),
        "epsilon_spent": float(spent.mean()) if len(spent) else None,
    }
