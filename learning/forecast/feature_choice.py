"""Choice of the kind of features by the forecast of total held-out error, its parts apart.

The total error of a kind, at the reference budgets, is what its best model misses, what that is
missed by more for the owners' records being finite, what noise adds, and what clipping adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from learning.arrays import Array
from learning.data.encoding import Columns, Encoder
from learning.data.rows import Rows
from learning.forecast.choice import FIRST, find_loud, least_noisy, screen_ways
from learning.forecast.held import HeldShares, find_held_shares
from learning.forecast.inputs import PlanningInputs
from learning.forecast.kept import load_or_compute
from learning.forecast.public_sample import curved_dispersion, dispersion
from learning.forecast.round_search import forecast_near, search_rounds
from learning.forecast.ways import REPEATS, Way, list_open_ways
from learning.losses.loss import Loss
from learning.losses.ridge import fit_ridge

FOLDS = 10  # of the public rows, each left out once
NEAR = 0.002  # of the least total error: kinds that tie with it have no more beyond it
PENALTIES = (1e-3, 1e-2, 1e-1)  # tried for losses of labels, beside the stated one


@dataclass(frozen=True)
class OwnFit:
    """The learner's own model of one kind of features, and how good it is on other rows.

    Parameters
    ----------
    kind : name of the kind.
    encoder : public facts that it encodes rows with.
    theta : array (p,), its parameters.
    lost : array (n,), loss of each public row under the model of the other folds.
    stated : array (n,), the same under the stated penalty, which the market trains with.
    scores : array (2, n), what those two models predict of each public row.
    held : array (2, n), their losses if predicted numbers are held to the target's range.
    seen : mean loss of the public rows under the model of all of them, at the stated penalty, with
        predictions held.
    rows : features (n, p) and target (n,) of the public rows.
    wrong : share of labels that cross-validation gets wrong; None where the target is a number.
    """

    kind: str
    encoder: Encoder = field(repr=False)
    theta: Array = field(repr=False)
    lost: Array = field(repr=False)
    stated: Array = field(repr=False)
    scores: Array = field(repr=False)
    held: Array = field(repr=False)
    seen: float
    rows: tuple[Array, Array] = field(repr=False)
    wrong: float | None = None

    @property
    def error(self) -> float:
        """Held-out error of the learner's own model of this kind, by cross-validation."""
        return float(self.held[0].mean())


@dataclass(frozen=True)
class KindForecast:
    """Forecast of the total held-out error of one kind of features, in the unit of the loss.

    Parameters
    ----------
    own : the learner's own model of this kind.
    missed : error of the best model of this kind.
    records : what is lost because the owners' records are finite, C/n.
    noise : what the noise adds at the reference budgets.
    clipping : what bounds on records, and few rounds, add.
    """

    own: OwnFit
    missed: float
    records: float
    noise: float
    clipping: float

    @property
    def total(self) -> float:
        """Sum of all parts."""
        return self.missed + self.records + self.noise + self.clipping


def fit_own(
    kind: str,
    fit: Callable[[Rows], Encoder],
    columns: Columns,
    rows: Rows,
    loss: Loss,
    penalty: float,
    *,
    rng: np.random.Generator,
) -> OwnFit:
    """Fit the learner's own ridge regression of one kind, and cross-validate it.

    Knots, categories and products are fitted without the rows that are left out.

    Parameters
    ----------
    kind : its name.
    fit : fits an encoder to some public rows.
    columns : the table's columns.
    rows : the public rows, (n,).
    loss : the loss that is trained.
    penalty : r of the training cost; under losses of labels `PENALTIES` are tried, too.
    rng : parts the rows in folds.
    """
    whole = fit(rows)
    target = whole.target.encode(columns, rows)[0] + whole.target.centre
    fold = rng.permutation(len(rows)) % FOLDS
    penalties = sorted({penalty, *PENALTIES}) if loss.labels else [penalty]
    said, held = np.empty((2, len(penalties), len(rows)))
    for number in range(FOLDS):
        out = fold == number
        encoder = fit(rows[~out])
        x, y, _ = encoder.records(columns, rows[~out])
        models = fit_penalties(loss, x, y, penalties)
        centre = 0.0 if loss.labels else encoder.target.centre
        found = loss.predicted(encoder.records(columns, rows[out])[0], models)
        said[:, out] = found + centre
        held[:, out] = hold(loss, found, encoder) + centre
    lost = count_losses(loss, said, target)
    best = int(lost.mean(axis=1).argmin())
    stated = penalties.index(penalty)
    x, y, _ = whole.records(columns, rows)
    theta = fit_penalties(loss, x, y, [penalties[best], penalty])
    shown = hold(loss, loss.predicted(x, theta[-1:]), whole)
    seen = float(count_losses(loss, shown, y).mean())
    wrong = None
    if loss.labels:
        wrong = float(np.mean(np.where(said[best] >= 0, 1.0, -1.0) != target))
    both = [best, stated]
    held = count_losses(loss, held[both], target)
    losses = lost[best], lost[stated], said[both], held
    return OwnFit(kind, whole, theta[0], *losses, seen, (x, y), wrong)


def hold(loss: Loss, said: Array, encoder: Encoder) -> Array:
    """Hold predicted numbers to the target's public range; scores of labels stay as they are."""
    return said if loss.labels else np.clip(said, *encoder.target.ends)


def fit_penalties(loss: Loss, x: Array, y: Array, penalties: Sequence[float]) -> Array:
    """Fit a model for each penalty (k, p); under squared loss `fit_ridge` chooses it."""
    if loss.quadratic:
        return fit_ridge(x, y)
    return np.stack([loss.fit(x, y, penalty)[0] for penalty in penalties])


def count_losses(loss: Loss, said: Array, y: Array) -> Array:
    """Losses (k, n) of predictions (k, n) of a target (n,)."""
    return np.asarray(loss.value(y * said if loss.labels else said - y))


def forecast_kind(own: OwnFit, inputs: PlanningInputs) -> KindForecast:
    """Forecast the total error of one kind by the quick forecast of steps along gradients.

    What is missed is the error by cross-validation, less the C/m that a model from m rows loses,
    and no less than that on the rows themselves. Both errors are those of the model at the stated
    penalty: a model that shrinks more loses less than C/m, so a wide kind would seem to miss
    nothing. One release of moments is forecast only if no steps are open: its bounds take long to
    choose, and kinds differ in much the same order. Predictions of numbers count as held to the
    target's range, also in what is added to that error (`find_held_shares`). Forecasts are kept on
    disk.
    """
    ways = list_open_ways(inputs)
    shown = own.kind, own.held, own.seen, *own.rows
    parts = load_or_compute(
        lambda: _forecast_parts(own, inputs, ways),
        "kind",
        *shown,
        *inputs.key_of([(way.inputs.settings, way.mechanism) for way in ways]),
    )
    return KindForecast(own, *map(float, parts["parts"]))


def _forecast_parts(own: OwnFit, inputs: PlanningInputs, ways: Sequence[Way]) -> dict[str, Array]:
    """Forecast the parts of `KindForecast`, in their order."""
    ways = [way for way in ways if way.inputs.settings.trains_by.takes_steps] or ways
    ways = screen_ways(ways)
    quiet = least_noisy([way for way in ways if way.mechanism.horizon is None]) or ways[:1]
    loud = find_loud(quiet)
    some = [way for way in quiet if way.settings_and_norm not in loud]
    best_way = min(some, key=lambda way: forecast_near(way, FIRST).relative_fitness)
    (best,) = search_rounds(best_way, FIRST)
    assert best.plan is not None
    sample = inputs.public
    whole = best.way.own_rehearsal.rehearse_plan(best.plan, np.zeros(1), REPEATS)
    optimum = float(sample.fitness.optimum)
    clipping = min(float(whole.mean()), best.relative_fitness) * optimum
    x, y = sample.population()
    shares = HeldShares()
    if sample.loss.quadratic:
        shares = find_held_shares(sample, np.arange(len(y))[None])
        spread = dispersion(x, y, sample.truth)
    else:
        spread = curved_dispersion(sample.loss, x, y, sample.truth, sample.regularisation)
    spread *= shares.few
    few = spread / (len(y) * (1 - 1 / FOLDS))
    missed = max(float(own.held[1].mean()) - few, own.seen)
    records = spread / float(inputs.owners.sizes.sum())
    noise = shares.noise * (best.relative_fitness * optimum - clipping)
    return {"parts": np.array([missed, records, noise, shares.noise * clipping])}


def choose_kind(found: Sequence[KindForecast]) -> KindForecast:
    """Choose the kind of least total error, or one with fewer parameters that ties with it.

    Two tie where they differ by no more than one standard error of their difference in errors by
    cross-validation, row by row, nor by more than `NEAR` of the error: where a few rows decide all
    errors, chance alone would excuse a kind that is much worse.
    """
    best = min(found, key=lambda one: one.total)
    tied = []
    for one in found:
        chance = standard_error(one.own.held[1] - best.own.held[1])
        if one.total - best.total <= min(chance, NEAR * best.total):
            tied.append(one)
    return min(tied, key=lambda one: (one.own.encoder.n_parameters, one.total))


def standard_error(values: Array) -> float:
    """Standard error of the mean of values (n,)."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))
