"""Rivals that are installed packages, each called as its documentation says."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from learning.arrays import Array
from learning.privacy.gaussian import exact_distance, exact_epsilon
from reproduction.beside.rows import Predict, Rows, find_scale
from reproduction.beside.written import CURVATURE, choose_scale

EPOCHS = 5  # of DP-SGD
BATCH = 1024
CLIPPED = 0.9  # quantile of the public gradients' lengths that gradients are clipped at
ON_CURVATURE = 0.25  # share of epsilon, of diffprivlib's logistic regression
LARGEST_SEED = 2**31 - 1


def pack_sums(x: Array, y: Array) -> Array:
    """Sums of xx' and xy as one vector, products off the diagonal by sqrt(2) to keep the length."""
    rows, columns = np.triu_indices(x.shape[1], 1)
    xx = x.T @ x
    return np.concatenate([np.diag(xx), np.sqrt(2) * xx[rows, columns], x.T @ y])


def unpack_sums(packed: Array, width: int) -> tuple[Array, Array]:
    """Matrix and vector of `pack_sums`."""
    rows, columns = np.triu_indices(width, 1)
    xx = np.diag(packed[:width])
    xx[rows, columns] = xx[columns, rows] = packed[width:-width] / np.sqrt(2)
    return xx, packed[-width:]


def fit_opendp(rows: Rows, epsilon: float, delta: float, rng: Generator) -> Predict:
    """Least squares on sums under OpenDP's Gaussian noise, its own conversion from zCDP.

    The sums move by at most sqrt(2 R^4 + 4 R^2 Y^2); their units are AdaSSP's. Half
    the noise's spread is added to the diagonal, so that the matrix seldom has an eigenvalue below
    0.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    scale = choose_scale(rows, delta, float(exact_distance(epsilon, delta)), rng)
    x, y = scale.change_records(rows.pooled)
    radius, bound = scale.radius, scale.bound
    moved = float(np.sqrt(2 * radius**4 + 4 * radius**2 * bound**2))
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)

    def measure(deviation: float) -> Any:
        made = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=deviation))
        return dp.c.make_fix_delta(made, delta)

    deviation = dp.binary_search_param(measure, d_in=moved, d_out=(epsilon, delta), T=float)
    packed = np.array(measure(deviation)(pack_sums(x, y).tolist()))
    xx, xy = unpack_sums(packed, x.shape[1])
    ridge = 2 * deviation * np.sqrt(x.shape[1])  # what noise adds to the largest eigenvalue
    return scale.predict_by(np.linalg.solve(xx + ridge * np.eye(len(xy)), xy))


def fit_diffprivlib_linear(rows: Rows, epsilon: float, delta: float, rng: Generator) -> Predict:
    """LinearRegression of diffprivlib: the functional mechanism, by ranges of public rows."""
    from diffprivlib.models import LinearRegression

    scale = find_scale(rows)
    x = scale.change_columns(rows.pooled[0])[:, :-1]
    model = LinearRegression(
        epsilon=epsilon,
        bounds_X=(scale.box[0], np.maximum(scale.box[1], scale.box[0] + 1e-6)),
        bounds_y=scale.span,
        random_state=int(rng.integers(LARGEST_SEED)),
    )
    model.fit(x, (rows.pooled[1] - scale.middle) / scale.unit)
    return scale.predict_by(np.append(model.coef_, model.intercept_))


def choose_freedom(radius: float, epsilon: float) -> float:
    """Choose C of diffprivlib's logistic regression, for records of at most a length.

    Its ridge of 1/C costs 2 log(1 + c L C) of epsilon, with the largest curvature c, and the length
    L of a record with its constant. At its default, 1, that can be nearly all.
    """
    return float(np.expm1(ON_CURVATURE * epsilon / 2) / (CURVATURE * np.hypot(radius, 1)))


def fit_diffprivlib_logistic(rows: Rows, epsilon: float, delta: float, rng: Generator) -> Predict:
    """LogisticRegression of diffprivlib: objective perturbation of records cut to a length."""
    from diffprivlib.models import LogisticRegression

    scale = find_scale(rows)
    x, y = scale.change_records(rows.pooled)
    norm, free = scale.radius, choose_freedom(scale.radius, epsilon)
    seed = int(rng.integers(LARGEST_SEED))
    model = LogisticRegression(epsilon=epsilon, data_norm=norm, C=free, random_state=seed)
    model.fit(x[:, :-1], y)
    return scale.predict_by(np.append(model.coef_[0], model.intercept_))


def choose_descent(x: Array, y: Array, labels: bool) -> tuple[float, float]:
    """Choose clipping and step of DP-SGD: a quantile of public gradients, 1 over curvature."""
    slope = 0.5 if labels else 2 * abs(y)
    clip = float(np.quantile(slope * np.linalg.norm(x, axis=1), CLIPPED))
    largest = float(np.linalg.eigvalsh(x.T @ x / len(x))[-1])
    return clip, 1 / ((0.25 if labels else 2.0) * largest)


def fit_opacus(rows: Rows, epsilon: float, delta: float, rng: Generator) -> Predict:
    """DP-SGD by Opacus on a linear layer, for a record added or removed."""
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(int(rng.integers(LARGEST_SEED)))
    torch.set_num_threads(1)
    scale = find_scale(rows)
    x, y = scale.change_records(rows.pooled)
    clip, rate = choose_descent(*scale.change_records(rows.public), rows.labels)
    layer: Any = torch.nn.Linear(x.shape[1], 1, bias=False)
    torch.nn.init.zeros_(layer.weight)
    held = TensorDataset(torch.tensor(x).float(), torch.tensor(y).float())
    loss = torch.nn.SoftMarginLoss() if rows.labels else torch.nn.MSELoss()
    layer, optimiser, batches = PrivacyEngine().make_private_with_epsilon(
        module=layer,
        optimizer=torch.optim.SGD(layer.parameters(), lr=rate),
        data_loader=DataLoader(held, batch_size=BATCH),
        target_epsilon=epsilon,
        target_delta=delta,
        epochs=EPOCHS,
        max_grad_norm=clip,
    )
    for _ in range(EPOCHS):
        for inputs, targets in batches:
            optimiser.zero_grad()
            loss(layer(inputs)[:, 0], targets).backward()
            optimiser.step()
    return scale.predict_by(layer._module.weight.detach().numpy()[0].astype(float))


def fit_ebm(rows: Rows, epsilon: float, delta: float, rng: Generator) -> Predict:
    """DP-EBM by interpret, its defaults, at half the Gaussian distance of the guarantee."""
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    half = float(exact_epsilon(exact_distance(epsilon, delta) / 2, delta))
    x, y = rows.pooled
    width = x.shape[1] - 1
    keys: dict[str, Any] = {
        "epsilon": half,
        "delta": delta,
        "feature_types": ["continuous"] * width,
        "privacy_bounds": {f"x{i}": (-reach, reach) for i, reach in enumerate(rows.reach[:-1])},
        "feature_names": [f"x{i}" for i in range(width)],
        "random_state": int(rng.integers(LARGEST_SEED)),
        "n_jobs": 1,
    }
    if rows.labels:
        classifier = DPExplainableBoostingClassifier(**keys).fit(x[:, :-1], y > 0)
        return lambda fresh: classifier.decision_function(fresh[:, :-1])
    ends = {"privacy_target_min": rows.ends[0], "privacy_target_max": rows.ends[1]}
    regressor = DPExplainableBoostingRegressor(**keys, **ends).fit(x[:, :-1], y)
    return lambda fresh: regressor.predict(fresh[:, :-1])


def fit_linear(records: tuple[Array, Array], labels: bool) -> Predict:
    """Fit least squares or logistic regression by scikit-learn."""
    from sklearn.linear_model import LinearRegression, LogisticRegression

    x, y = records
    if labels:
        classifier = LogisticRegression(max_iter=2000).fit(x[:, :-1], y)
        return lambda fresh: classifier.decision_function(fresh[:, :-1])
    regressor = LinearRegression().fit(x[:, :-1], y)
    return lambda fresh: regressor.predict(fresh[:, :-1])


def fit_plain(rows: Rows, epsilon: float, delta: float, rng: Generator) -> Predict:
    """The linear model of all records, without noise."""
    return fit_linear(rows.pooled, rows.labels)


def fit_public(rows: Rows, epsilon: float, delta: float, rng: Generator) -> Predict:
    """The linear model of the public rows."""
    return fit_linear(rows.public, rows.labels)


def fit_trees(rows: Rows, epsilon: float, delta: float, rng: Generator) -> Predict:
    """Boosted trees of all records, without noise."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    x, y = rows.pooled
    seed = int(rng.integers(LARGEST_SEED))
    if rows.labels:
        classifier = HistGradientBoostingClassifier(random_state=seed).fit(x, y)
        return lambda fresh: classifier.decision_function(fresh)
    regressor = HistGradientBoostingRegressor(random_state=seed).fit(x, y)
    return lambda fresh: regressor.predict(fresh)
