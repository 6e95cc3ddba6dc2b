"""Each rival as its authors run it: an example or a known answer of theirs, computed here."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from learning.privacy.gaussian import exact_distance
from reproduction.beside.written import find_distance, newton_steps, solve_adassp

FOLDER = "adult"
DRAWS = 10  # of an example with noise


@dataclass(frozen=True)
class Known:
    """An answer that is known.

    Parameters
    ----------
    rival, what : whose it is, and what is computed.
    published : the number that is printed.
    within : the most that ours may differ by.
    compute : gives ours, from the folder of the data sets.
    needs : package to be installed; empty for none.
    reads : True if it reads the table of adults.
    """

    rival: str
    what: str
    published: float
    within: float
    compute: Callable[[Any], float]
    needs: str = ""
    reads: bool = False

    def lacks(self, data: Path | None) -> str:
        """What it cannot be computed without; empty where nothing is missing."""
        if self.needs and find_spec(self.needs) is None:
            return self.needs
        return "" if not self.reads or (data and (data / FOLDER).is_dir()) else "table adult"


def _read_adults(data: Path) -> list[Any]:
    """Five numbers of each adult, scaled to [0, 1] by the training rows, and labels, twice."""
    names = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    parts = [pd.read_csv(data / FOLDER / f"adult_{part}.csv.gz") for part in ("train", "test")]
    low, high = parts[0][names].min(), parts[0][names].max()
    return [((one[names] - low) / (high - low), one["income"]) for one in parts]


def _score_adults(data: Path, epsilon: float) -> float:
    """Test accuracy of diffprivlib's logistic regression in percent, a mean over draws."""
    from diffprivlib.models import LogisticRegression

    (x, y), (fresh, truth) = _read_adults(data)
    found = []
    for seed in range(1 if np.isinf(epsilon) else DRAWS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its example takes the norm from the records
            norm = float(np.linalg.norm(x, axis=1).max())
            model = LogisticRegression(epsilon=epsilon, data_norm=norm, random_state=seed)
            found.append(100 * model.fit(x.to_numpy(), y).score(fresh.to_numpy(), truth))
    return float(np.mean(found))


def _count_opacus(data: object) -> float:
    """Epsilon of Opacus's own test: 90 epochs at a rate of 0.04 and a multiplier of 1.5."""
    from opacus.accountants import RDPAccountant

    accountant = RDPAccountant()
    for _ in range(int(90 / 0.04)):
        accountant.step(noise_multiplier=1.5, sample_rate=0.04)
    return float(accountant.get_epsilon(delta=1e-5))


def _find_multiplier(data: object) -> float:
    """Noise multiplier of Opacus's own test at epsilon = 8."""
    from opacus.accountants.utils import get_noise_multiplier

    keys: dict[str, Any] = {"target_epsilon": 8, "target_delta": 1e-5, "sample_rate": 0.04}
    return float(get_noise_multiplier(**keys, epochs=90, accountant="rdp"))


def _measure_zcdp(data: object) -> float:
    """OpenDP's zCDP budget of Gaussian noise as wide as the sensitivity."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    return float(dp.m.make_gaussian(*space, scale=1.0).map(d_in=1.0))


def _find_ebm_noise(data: object) -> float:
    """Noise of one query of DP-EBM at epsilon 1 and delta 1e-6, for sensitivity 1."""
    from interpret.utils._privacy import calc_gdp_noise_multi

    return float(calc_gdp_noise_multi(1, 1.0, 1e-6))


def _count_steps(volumes: list[float], start: int) -> float:
    """Steps to instability in the test of TukeyEM's authors, at epsilon 1.1 and delta 0.5."""
    return find_distance(np.log(volumes), 1.1, 0.5, start)


def _miss_least_squares(data: object) -> float:
    """Distance of AdaSSP without noise from least squares."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((500, 4))
    y = x @ np.arange(4) + rng.standard_normal(500)
    theta = solve_adassp(x.T @ x, x.T @ y, (0, 0, 0), 4.0, rng)
    return float(np.abs(theta - np.linalg.lstsq(x, y, rcond=None)[0]).max())


def _miss_logistic(data: object) -> float:
    """Largest share of the gradient that private Newton leaves where its budget is huge."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((4000, 3)) / 4
    y = np.where(rng.random(4000) < 1 / (1 + np.exp(-3 * x[:, 0])), 1.0, -1.0)

    def gradient(theta: Any) -> Any:
        return (x * y[:, None]).T @ (1 / (1 + np.exp(y * (x @ theta))))

    theta = newton_steps(x, y, 1e9, rng)
    return float(np.abs(gradient(theta)).max() / np.abs(gradient(np.zeros(3))).max())


DENSE = [128, 64, 1, *(1 - i / 1000 for i in range(1, 14))]
SPARSE = [128.0, 64, 32, 16, 8, 4, 2, 1]
LOGISTIC = "diffprivlib, logistic"
ACCURACY = "test accuracy of its notebook on adults, %"
KNOWN = (
    Known(LOGISTIC, f"{ACCURACY}, no noise", 81.04, 0.05,
          lambda data: _score_adults(data, np.inf), "diffprivlib", True),
    Known(LOGISTIC, f"{ACCURACY}, ε = 1 (one draw there, ten here)", 80.84, 0.6,
          lambda data: _score_adults(data, 1.0), "diffprivlib", True),
    Known("Opacus DP-SGD", "ε of its own test, δ = 1e-5", 7.32911117143, 1e-6, _count_opacus,
          "opacus"),
    Known("Opacus DP-SGD", "noise multiplier of its own test, by a search", 1.425307617, 0.02,
          _find_multiplier, "opacus"),
    Known("OpenDP, noisy sums", "zCDP budget of noise as wide as the sensitivity", 0.5, 1e-9,
          _measure_zcdp, "opendp"),
    Known("DP-EBM", "noise of one query at ε = 1, δ = 1e-6, by the closed form",
          1 / float(exact_distance(1.0, 1e-6)), 1e-3, _find_ebm_noise, "interpret"),
    Known("TukeyEM", "steps to instability, its own test of dense points", 1, 0,
          lambda data: _count_steps(DENSE, 6)),
    Known("TukeyEM", "the same of sparse points", -1, 0, lambda data: _count_steps(SPARSE, 4)),
    Known("AdaSSP", "distance from least squares without noise", 0, 1e-9, _miss_least_squares),
    Known("private Newton", "share of the gradient left at a huge budget", 0, 1e-4,
          _miss_logistic),
)  # fmt: skip
