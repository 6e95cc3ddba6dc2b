"""The reverse of a forecast: budgets and money that reach an error or a gain, with a chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from learning.errors import InputError
from learning.forecast.decisions import Decisions
from learning.forecast.measures import RELATIVE, Measure
from learning.forecast.prediction import Prediction
from learning.phrases import format_number, format_percent, toml_value
from learning.progress import Progress, ignore_progress
from learning.threads import one_blas_thread
from learning.workers import keep_workers
from market.game.game import Game
from scenarios.features.pricing import fix_price, money_key, scale_money
from scenarios.planning import Prepared, choose_measure, prepare
from scenarios.result import to_plain
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.studies.design import each_for_itself
from scenarios.studies.offers import solved

SURE = 0.9  # chance wanted, unless stated
SPAN = 1e-3, 1e3  # money searched, times that of the scenario
LEAST = 1e-3  # smallest budget searched, as a part of the largest
STEPS = 10  # halvings of a range in logarithms: of money to 1.4 %, of a budget to 0.7 %
SCANNED = 17  # points of a range at which a gain is looked for, which rises and falls

Path = Callable[[float], tuple[np.ndarray, float]]


@dataclass(frozen=True)
class Target:
    """An error or a gain that is wanted, and the chance with which it is wanted.

    Parameters
    ----------
    kind : "error", in the target's units or wrong labels; "fitness", relative; or "gain", money.
    amount : the most error, or the least gain, that will do.
    chance : probability with which it is to be reached, above 0 and below 1.
    """

    kind: str
    amount: float
    chance: float = SURE

    @property
    def limit(self) -> float:
        """Largest loss that will do: the error, or just below minus the gain, which is exceeded."""
        if self.kind == "gain":
            return float(np.nextafter(-self.amount, -np.inf))
        return self.amount


def make_target(
    error: float | None = None,
    fitness: float | None = None,
    gain: float | None = None,
    chance: float | None = None,
) -> Target:
    """Make the target of one amount; a chance alone is that of any gain at all.

    Raises
    ------
    InputError
        If not exactly one amount is given, or a number is out of its range.
    """
    given = {"error": error, "fitness": fitness, "gain": gain}
    wanted = {kind: float(one) for kind, one in given.items() if one is not None}
    if not wanted and chance is not None:
        wanted = {"gain": 0.0}
    if len(wanted) != 1:
        rule = "give one of --error, --fitness and --gain, or --chance alone"
        raise InputError("need", rule, " and ".join(f"--{kind}" for kind in wanted) or "none")
    (kind, amount), *_ = wanted.items()
    if not np.isfinite(amount) or (kind != "gain" and amount <= 0):
        rule = "must be a finite number" if kind == "gain" else "must be a number above 0"
        raise InputError(f"--{kind}", rule, amount)
    sure = SURE if chance is None else float(chance)
    if not 0 < sure < 1:
        raise InputError("--chance", "must be above 0 and below 1", sure)
    return Target(kind, amount, sure)


@dataclass(frozen=True, eq=False)
class Way:
    """Budgets and money, and what they reach.

    Parameters
    ----------
    name : "policy", the scenario's at other money; "equal", one epsilon for all; "fewest" owners.
    epsilon : array (n_owners,), the budgets.
    money : payments under the policy; else what the budgets cost their owners.
    loss : error, or minus the gain, that is kept to with the chance wanted.
    chance : chance that the target is reached.
    factor : money of the policy, times that of the scenario; None elsewhere.
    """

    name: str
    epsilon: np.ndarray
    money: float
    loss: float
    chance: float
    factor: float | None = None


def rank(way: Way) -> tuple[float, float]:
    """Rank a way by its chance, then by what it keeps to."""
    return way.chance, -way.loss


@dataclass
class Search:
    """Data and game of a scenario, and the target to reach in it.

    Parameters
    ----------
    scenario : the scenario, in the order of its data.
    prepared : its data and planner.
    target : what is wanted.
    """

    scenario: Scenario
    prepared: Prepared
    target: Target
    game: Game = field(init=False)
    measure: Measure = field(init=False)
    _seen: dict[bytes, Prediction] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.game = market_game(self.scenario, *self.prepared)
        self.measure = target_measure(self.scenario, self.prepared, self.target)

    def losses(self, epsilon: np.ndarray, money: float) -> np.ndarray:
        """Error, or minus the learner's gain, in each possible world, (m,)."""
        key = epsilon.tobytes()
        if key not in self._seen:
            self._seen[key] = self.prepared.planner.predict(epsilon)
        found = self._seen[key]
        if self.target.kind == "gain":
            return -found.gain(self.game.value, money, self.measure)
        return self.measure.in_worlds(found.trained)

    def judge(self, name: str, epsilon: np.ndarray, money: float) -> Way:
        """Judge budgets and money by the target."""
        losses = self.losses(epsilon, money)
        loss = kept_loss(losses, self.target.chance)
        return Way(name, epsilon, money, loss, chance_within(losses, self.target.limit))

    def reaches(self, way: Way) -> bool:
        """Test whether a way reaches the target with the chance wanted."""
        return way.loss <= self.target.limit

    def least(self, name: str, path: Path) -> Way:
        """Find the first point of a path, from 0 to 1, that reaches the target, else the best.

        An error falls along a path, and its point is found by halving. A gain rises and falls: its
        first point is looked for among `SCANNED`, then around the best of these, then by halving.
        """
        rises = self.target.kind == "gain"
        points = np.linspace(0, 1, SCANNED if rises else 2)
        tried = [self.judge(name, *path(point)) for point in points]
        if rises and not any(map(self.reaches, tried)):
            top = tried.index(max(tried, key=rank))
            ends = points[max(top - 1, 0)], points[min(top + 1, SCANNED - 1)]
            points = np.linspace(*ends, SCANNED)
            tried = [self.judge(name, *path(point)) for point in points]
        good = [i for i, way in enumerate(tried) if self.reaches(way)]
        if not good:
            return max(tried, key=rank)
        best = tried[good[0]]
        if good[0] == 0:
            return best
        low = points[good[0] - 1]
        high = points[good[0]]
        for _ in range(STEPS):
            middle = (low + high) / 2
            way = self.judge(name, *path(middle))
            if self.reaches(way):
                best = way
                high = middle
            else:
                low = middle
        return best


def target_measure(scenario: Scenario, prepared: Prepared, target: Target) -> Measure:
    """Measure that a target is stated in."""
    if target.kind == "gain":
        return choose_measure(scenario, prepared.planner)
    if target.kind == "fitness":
        return RELATIVE
    if scenario.learning.labels:
        return prepared.planner.measure(Decisions())
    if scenario.learning.regularisation > 0:
        rule = "must be 0 with --error: a penalty on large parameters is not an error"
        found = scenario.learning.regularisation
        raise InputError("learning.regularisation", rule, found, "Set it to 0, or use --fitness.")
    return prepared.planner.measure()


def chance_within(losses: np.ndarray, limit: float) -> float:
    """Chance that a loss is at most ``limit``: (k + 1/2)/(m + 1) where that of k of m worlds is.

    >>> chance_within(np.array([1.0, 2.0, 3.0]), 2.0)
    0.625
    """
    within = int(np.sum(losses <= limit))
    if losses.min() == losses.max():
        return float(within > 0)
    return (within + 0.5) / (len(losses) + 1)


def kept_loss(losses: np.ndarray, chance: float) -> float:
    """Smallest loss that `chance_within` says is kept to with a chance; infinite without one.

    >>> kept_loss(np.array([3.0, 1.0, 2.0]), 0.6), kept_loss(np.array([3.0, 1.0, 2.0]), 0.9)
    (2.0, inf)
    """
    if losses.min() == losses.max():
        return float(losses[0])
    needed = int(np.ceil(chance * (len(losses) + 1) - 0.5 - 1e-9))
    if needed > len(losses):
        return np.inf
    return float(np.sort(losses)[max(needed, 1) - 1])


@keep_workers()
@one_blas_thread()
def find_need(
    scenario: Scenario, target: Target, *, progress: Progress = ignore_progress
) -> tuple[Search, Way, list[Way]]:
    """Find the least money and budgets that reach a target.

    Possible worlds are those of the forecast, on average over trainings in each. The first way is
    the scenario's policy with the least money that reaches the target; then come the least epsilon
    that is equal for all owners, and the fewest owners, the largest first, at an equal epsilon.

    Returns
    -------
    The search; the learner's own model as a way that asks nobody; and the ways that were tried, of
    which at least one reaches the target. None is tried where the own model reaches it.

    Raises
    ------
    InputError
        If no way reaches the target, with the best that one does; or as `each_for_itself`.
    """
    scenario = fix_price(scenario)
    each_for_itself(scenario)
    if target.kind == "gain":
        scenario.learner.check_value("a gain")
    prepared = prepare(scenario, progress=progress)
    progress("searching budgets")
    search = Search(prepared.data.in_order(scenario), prepared, target)
    nobody = np.zeros(len(prepared.data.owners))
    alone = search.judge("alone", nobody, 0.0)
    if np.isinf(alone.loss):
        worlds = len(search.losses(nobody, 0.0))
        rule = f"must be at most {(worlds + 0.5) / (worlds + 1):.3f}"
        found = f"{target.chance:g}, and a forecast from {worlds} samples of the public rows"
        raise InputError("--chance", rule, found)
    if search.reaches(alone):
        return search, alone, []
    tried = list(list_ways(search))
    if not any(map(search.reaches, tried)):
        raise not_reached(search, [alone, *tried])
    return search, alone, tried


def list_ways(search: Search) -> Iterator[Way]:
    """Try the policy of the scenario, an equal epsilon for all, and the fewest owners."""
    if money_key(search.scenario):
        yield search_policy(search)
    able = search.game.owners.epsilon_max > 0
    yield search.least("equal", equal_path(search, able))
    order = np.argsort(-search.game.owners.sizes, kind="stable")
    order = order[able[order]]
    fewest = count_fewest(search, order)
    if fewest < len(order):
        asked = np.isin(np.arange(len(able)), order[:fewest])
        yield search.least("fewest", equal_path(search, asked))


def search_policy(search: Search) -> Way:
    """Find the least money in the scenario's policy that reaches the target."""
    factors: dict[bytes, float] = {}

    def path(point: float) -> tuple[np.ndarray, float]:
        factor = float(SPAN[0] * (SPAN[1] / SPAN[0]) ** point)
        game = market_game(scale_money(search.scenario, factor), *search.prepared)
        epsilon = solved(search.scenario, game)
        money = float(game.payments(epsilon).sum())
        factors[epsilon.tobytes() + np.float64(money).tobytes()] = factor
        return epsilon, money

    way = search.least("policy", path)
    factor = factors[way.epsilon.tobytes() + np.float64(way.money).tobytes()]
    return Way("policy", way.epsilon, way.money, way.loss, way.chance, factor)


def equal_path(search: Search, asked: np.ndarray) -> Path:
    """Path of an equal epsilon of those asked (n_owners,), within what each may sell."""
    owners = search.game.owners
    most = float(owners.epsilon_max[asked].max())
    least = max(float(owners.epsilon_min[asked].min()), LEAST * most)

    def path(point: float) -> tuple[np.ndarray, float]:
        level = least * (most / least) ** point
        epsilon = np.where(asked, np.clip(level, owners.epsilon_min, owners.epsilon_max), 0.0)
        return epsilon, float(search.game.costs(epsilon).sum())

    return path


def count_fewest(search: Search, order: np.ndarray) -> int:
    """Count the owners, in an order, that reach the target; all of them where fewer do not."""
    low = 0
    high = len(order)
    while high - low > 1:
        middle = (low + high) // 2
        asked = np.isin(np.arange(len(search.game.owners)), order[:middle])
        path = equal_path(search, asked)
        if search.target.kind == "gain":
            way = search.least("fewest", path)
        else:
            way = search.judge("fewest", *path(1.0))
        if search.reaches(way):
            high = middle
        else:
            low = middle
    return high


def not_reached(search: Search, tried: list[Way]) -> InputError:
    """Error that says how much of the target can be reached."""
    target = search.target
    best = min(tried, key=lambda way: way.loss)
    most = max(tried, key=rank)
    sure = format_percent(target.chance, 2)
    show = format_percent if target.kind == "fitness" else format_number
    loss = show(-best.loss if target.kind == "gain" else best.loss)
    bound = "at most" if target.kind == "gain" else "at least"
    less = "larger" if target.kind == "gain" else "smaller"
    rule = f"must be {bound} {loss}: nothing {less} has a chance of {sure}"
    found = f"{show(target.amount)}, with a chance of at most {format_percent(most.chance, 2)}"
    easier = "smaller" if target.kind == "gain" else "larger"
    remedy = f"Ask for a {easier} {target.kind}, or a lower --chance."
    return InputError(f"--{target.kind}", rule, found, remedy)


def need_part(search: Search, alone: Way, ways: list[Way]) -> dict[str, Any]:
    """Collect what is needed, as plain facts.

    Returns
    -------
    dict
        ``target``: kind, amount and chance; ``unit``: "rmse", "wrong_label", "fitness" or "money";
        ``alone``: the chance that the learner's own model reaches it; ``ways``: each with whether
        it is ``reached``, its owners' ``epsilon``, ``money``, ``chance``, what it keeps to with the
        chance wanted (``amount``), ``relative_fitness``, and, of the scenario's policy, its table
        and ``set``, the change of the scenario that makes it so.
    """
    target = search.target
    unit = {"gain": "money", "fitness": "fitness"}.get(target.kind, "rmse")
    if unit == "rmse" and search.scenario.learning.labels:
        unit = "wrong_label"
    return dict(
        to_plain(
            {
                "title": search.scenario.title,
                "currency": search.scenario.currency,
                "target": {"kind": target.kind, "amount": target.amount, "chance": target.chance},
                "unit": unit,
                "alone": alone.chance,
                "ways": [way_part(search, way) for way in ways],
            }
        )
    )


def way_part(search: Search, way: Way) -> dict[str, Any]:
    """Facts of a way, as `need_part` describes them."""
    policy = None
    change = None
    if way.factor is not None:
        policy = scale_money(search.scenario, way.factor).policy.model_dump()
        key = money_key(search.scenario)
        change = f"policy.{key}={toml_value(to_plain(policy[key]))}"
    names = search.prepared.data.names
    return {
        "way": way.name,
        "reached": search.reaches(way),
        "owners": [
            {"name": name, "epsilon": epsilon}
            for name, epsilon in zip(names, way.epsilon, strict=True)
        ],
        "money": way.money,
        "chance": way.chance,
        "amount": -way.loss if search.target.kind == "gain" else way.loss,
        "relative_fitness": search.prepared.planner.at(way.epsilon),
        "policy": policy,
        "set": change,
    }
