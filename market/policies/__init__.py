"""Policies: payments to owners for their privacy budgets.

A new policy is a frozen dataclass under `Policy`, with `payments`; in POLICIES it can be named in a
scenario file.
"""

from market.policies.base import Policy, ProfilePolicy
from market.policies.brought import Contribution
from market.policies.contributions import Marginal, Shapley
from market.policies.posted import Contracts, CostPlus, Posted, Tiers
from market.policies.proportional import Proportional
from market.policies.thesis import PostedChannel, ThesisGain, ThesisLeakage, ThesisUtility
from market.policies.thesis_loss import ThesisLoss

POLICIES: dict[str, type[Policy]] = {
    "posted": Posted,
    "proportional": Proportional,
    "marginal": Marginal,
    "shapley": Shapley,
    "contribution": Contribution,
    "posted_channel": PostedChannel,
    "tiers": Tiers,
    "contracts": Contracts,
    "cost_plus": CostPlus,
    "thesis_leakage": ThesisLeakage,
    "thesis_utility": ThesisUtility,
    "thesis_gain": ThesisGain,
    "thesis_loss": ThesisLoss,
}

__all__ = [
    "POLICIES",
    "Policy",
    "ProfilePolicy",
    *(policy.__name__ for policy in POLICIES.values()),
]
