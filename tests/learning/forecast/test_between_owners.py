"""How far owners lie apart by public rows with their names: by chance, on average, and where weights then lead."""

import numpy as np
import pytest
from scipy import stats

from learning.forecast.homogeneity import analyse_variance

NAMES = tuple("abcdefgh")


def named_rows(rng, ratio, rows=(20, 30, 40, 10, 25, 15, 35, 25), width=4, tails=4):
    """Gradients of public rows of eight owners whose means vary by a ratio, and whose they are; heavy tails."""
    owner = np.repeat(NAMES, rows)
    means = rng.normal(0, np.sqrt(ratio * tails / (tails - 2)), (8, width))
    return np.repeat(means, rows, axis=0) + rng.standard_t(tails, (sum(rows), width)), owner, means


@pytest.mark.slow
def test_a_permutation_of_names_is_uniform_and_the_ratio_right_on_average():
    found = [[], []]
    for seed in range(30):
        for place, ratio in enumerate((0.0, 0.3)):
            rng = np.random.default_rng([seed, place])
            gradients, owner, _ = named_rows(rng, ratio)
            found[place].append(analyse_variance(gradients, owner, NAMES, rng=rng))
    alike, apart = found
    assert stats.kstest([one.test.p_value for one in alike], "uniform").pvalue > 0.005
    assert np.mean([np.quantile(one.ratios, 0.025) > 0 for one in alike]) <= 0.025 + 3 * np.sqrt(
        0.025 * 0.975 / 30
    )
    ratios = np.array([one.ratio for one in apart])
    assert abs(ratios.mean() - 0.3) <= 3 * ratios.std() / np.sqrt(30)


def test_where_a_shift_of_weights_leads_is_covered():
    """Weights away from records by the owners' own direction, as where small owners are of one kind, and at random."""
    inside = []
    for seed in range(25):
        rng = np.random.default_rng([seed, 9])
        gradients, owner, means = named_rows(rng, 0.3)
        found = analyse_variance(gradients, owner, NAMES, rng=rng)
        for away in (np.sign(means[:, 0]) * 0.05, rng.normal(0, 0.05, 8)):
            away = away - away.mean()
            low, high = np.quantile(found.draw_shifts(away, 400, rng=rng), [0.025, 0.975])
            inside.append(low <= np.sum((away @ means) ** 2) / (4 * 4 / 2) <= high)
    assert np.mean(inside) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 50)


def test_rows_of_one_owner_or_of_nobody_in_the_market_tell_nothing():
    rng = np.random.default_rng(0)
    gradients, owner, _ = named_rows(rng, 0.3)
    assert analyse_variance(gradients, owner, ("a", "z"), rng=rng) is None
    found = analyse_variance(gradients, owner, ("b", "z", "a"), rng=rng)
    assert found.rows.tolist() == [30, 0, 20] and not found.means[1].any()
    few = owner == "a"
    assert analyse_variance(gradients[few][:2], np.array(["a", "b"]), NAMES, rng=rng) is None
