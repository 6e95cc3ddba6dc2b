"""Privacy: mechanisms and their accounting, the claims and guarantees they make, ledgers, and answers for release."""

from learning.privacy.budget import Budget
from learning.privacy.claims import Claim
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.privacy.ledger import Ledger
from learning.privacy.ledger_file import LedgerFile
from learning.privacy.mechanism import Mechanism
from learning.privacy.mechanisms import MECHANISMS, candidates
from learning.privacy.noise_law import where_noisy
from learning.privacy.noise_settings import NoiseSettings

__all__ = [
    "MECHANISMS",
    "L2",
    "Budget",
    "Claim",
    "Gaussian",
    "Laplace",
    "Ledger",
    "LedgerFile",
    "Mechanism",
    "NoiseSettings",
    "candidates",
    "where_noisy",
]
