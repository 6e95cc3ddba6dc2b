"""Privacy: mechanisms and their accounting, the claims and guarantees they make, the ledger, and answers for release."""

from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.ledger import Ledger
from learning.privacy.mechanism import Claim, Mechanism, NoiseSettings, where_noisy
from learning.privacy.mechanisms import MECHANISMS, candidates

__all__ = [
    "MECHANISMS",
    "Claim",
    "Gaussian",
    "Laplace",
    "Ledger",
    "Mechanism",
    "NoiseSettings",
    "candidates",
    "where_noisy",
]
