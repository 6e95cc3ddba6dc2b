"""What an owner can tell of the model that it could train alone: nobody shows it any records but the public ones."""

from __future__ import annotations

import numpy as np

from learning.arrays import Array
from learning.forecast.bootstrap import BootstrapSamples

CHANCE = 0.95  # of the resamples that must lose less before an owner takes itself for one of another kind


def isolated_estimate(bootstrap: BootstrapSamples, models: Array, sizes: Array) -> Array:
    """Relative fitness, on all records, of the models that owners could train alone, as each can tell it itself.

    An owner tries its model on the m public rows. It loses Q_l more there than the learner's own model, which was fitted to
    them and so looks C/m better than the best: Q_l - C/m is right on average, whatever kind of records the owner has. Where
    Q_l is no more than 95 % of the resamples would lose if all owners were alike, the few rows tell nothing, and the owner
    expects what one among its like would: C (1/n_l - 1/n).

    Parameters
    ----------
    bootstrap : resamples of the public rows.
    models : array (n_owners, p), the best model on each owner's own records.
    sizes : array (n_owners,), records of each.

    Returns
    -------
    array (n_owners,), in units of f* as the public rows have it.

    Source: ours. Farokhi et al., The Cost of Privacy, Fig. 10, judge the same models on all records, which no owner sees.
    """
    sample, total = bootstrap.sample, float(sizes.sum())
    lost = sample.fitness.value(models) - float(sample.fitness.value(sample.truth))
    by_chance = np.quantile(bootstrap.outside, CHANCE) * (1 + sample.n_records / sizes) / (1 + sample.n_records / total)
    alike = bootstrap.dispersion * (1 / sizes - 1 / total)
    excess = np.where(lost > by_chance, lost - bootstrap.dispersion / sample.n_records, alike)
    return np.asarray(excess / bootstrap.optimum)
