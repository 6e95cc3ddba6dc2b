"""Market features by name (FEATURES), each one declaration; with settings, what excludes what."""

from __future__ import annotations

from typing import Any

from scenarios.features.audit import Audit
from scenarios.features.bargaining import Bargains
from scenarios.features.base import Choice, Feature
from scenarios.features.behaviours import Behaviours
from scenarios.features.contributions import OwnersContributions
from scenarios.features.externalities import Externalities
from scenarios.features.go import GoNoGo
from scenarios.features.gossip import ByGossip
from scenarios.features.inputs import StatedInputs
from scenarios.features.learners import Learners
from scenarios.features.malicious import Malicious
from scenarios.features.network import Networks
from scenarios.features.participation import Participation
from scenarios.features.personal import PersonalModels
from scenarios.features.pricing import LearnedPrice
from scenarios.features.public_good import PublicGood
from scenarios.features.regulation import Rules
from scenarios.features.settings import SETTINGS
from scenarios.features.sizes import SizesAlone
from scenarios.features.targets import MoreTargets
from scenarios.features.time import Periods
from scenarios.features.trust import SecureAggregation
from scenarios.features.unions import Unions
from scenarios.features.withdrawal import Withdrawal

__all__ = ["FEATURES", "Choice", "Feature", "choices", "features_in_use"]

FEATURES: dict[str, Feature] = {
    "trust": SecureAggregation(),
    "behaviours": Behaviours(),
    "audit": Audit(),
    "unions": Unions(),
    "learners": Learners(),
    "externalities": Externalities(),
    "network": Networks(),
    "gossip": ByGossip(),
    "regulation": Rules(),
    "participation": Participation(),
    "public_good": PublicGood(),
    "personal": PersonalModels(),
    "pricing": LearnedPrice(),
    "bargaining": Bargains(),
    "go": GoNoGo(),
    "time": Periods(),
    "contributions": OwnersContributions(),
    "withdrawal": Withdrawal(),
    "malicious": Malicious(),
    "sizes": SizesAlone(),
    "inputs": StatedInputs(),
    "targets": MoreTargets(),
}


def choices() -> dict[str, Choice]:
    """Features and settings by name, between which one may exclude another."""
    return {**FEATURES, **SETTINGS}


def features_in_use(scenario: Any) -> list[Feature]:
    """Features that a scenario uses, in the order of FEATURES."""
    return [feature for feature in FEATURES.values() if feature.is_used(scenario)]
