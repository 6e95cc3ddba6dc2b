"""Personal models: the common model combined at home with an owner's own rows.

An owner need not hide from itself. What it computes here of its own records, and keeps, has no
privacy cost; who is shown its personal model sees its records without any noise.
"""

from __future__ import annotations

import numpy as np

from learning.arrays import Array
from learning.forecast.public_sample import dispersion


def personal_model(x: Array, y: Array, common: Array, own: Array) -> Array:
    """Model (p,) of an owner between the common one and its own, nearer to what it can trust.

    Let V be the covariance of the own model around what is best for the owner's kind, and T that of
    the common one around the same, by its noise and by the owners' differences. The combination of
    least error is common + T (T + V)^-1 (own - common). In the metric of the owner's moments M both
    are taken to be alike in all directions. The mean excess cost of the own model is v = tr(M V),
    by its residuals, and D = |common - own|^2_M has the mean v + tr(M T), so

        personal = common + (1 - (p - 2)/p v/D)_+ (own - common),

    which has less mean error than the own model for any common one, from three parameters on; with
    fewer it is the own model itself.

    Parameters
    ----------
    x, y : arrays (n, p) and (n,), the owner's records, whole.
    common : array (p,), the model that it received.
    own : array (p,), the best model on its records.

    Source: James and Stein (1961), its positive part; the combination: Lindley and Smith (1972).
        Personal models under differential privacy: Liu et al., FedHDP.
    """
    away = common - own
    apart = float(np.mean((x @ away) ** 2))
    width = len(own)
    held = shrinkage(width) * dispersion(x, y, own) / len(y)
    if apart <= held:
        return common
    return own + held / apart * away


def shrinkage(width: int) -> float:
    """(p - 2)/p: part of what the best combination gains that is left if it must be estimated.

    With v and c the mean excess costs of the own model and of the common one, alike in all of p
    directions, the personal model gains (p - 2)/p v^2/(v + c), or more where the positive part
    binds; known v and c would give v^2/(v + c).

    Source: James and Stein (1961).
    """
    return max(width - 2, 0) / width
